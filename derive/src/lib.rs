//! `#[derive(Record)]` and `#[derive(Element)]` for npymap; see `npymap::Record`
//! and `npymap::Element`.

mod attributes;
mod descr;
mod expand;
mod newtype;
mod typestr;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes a struct an
/// [`Element`](https://docs.rs/npymap/latest/npymap/trait.Element.html): an
/// element of a structured array whose fields are found by name.
///
/// The struct and the dtype must have the same fields, in any order, and each
/// field's type must match its dtype. If they differ, viewing the array is an
/// error that names the field and the difference. A field can be of any
/// element type: numbers, `String`, arrays, tuples, other records. The struct
/// can have type and const parameters: `Pair<T> { a: T, b: [T; 2] }` is a record
/// for every `T` that is an element. A generic record in place must be
/// `#[repr(C, packed)]`, as bytemuck requires. The generated code has no
/// `unsafe`.
///
/// Attributes of the struct:
///
/// | attribute | effect |
/// |---|---|
/// | `#[record(subset)]` | allows the dtype to have other fields, which are ignored when reading and left unchanged when writing; a record that is stored in a borrowed slice replaces also those under its `Pad` fields |
/// | `#[record(typed)]` | also implements `Typed`: `DType::of::<Row>()` is the packed dtype |
/// | `#[record(in_place)]` | also implements `InPlace` and `Typed`: `&[Row]` can be borrowed if fields, offsets and types are the same. Needs `#[repr(C)]` or `#[repr(C, packed)]` and `#[derive(bytemuck::Pod, bytemuck::Zeroable)]`, which reject implicit padding: use `Pad<N>` fields. If you don't depend on bytemuck, use npymap's with `#[bytemuck(crate = "npymap::bytemuck")]` |
/// | `#[record(crate = "path")]` | the path of npymap, if not `::npymap` |
///
/// Attributes of a field:
///
/// | attribute | effect |
/// |---|---|
/// | `#[record(rename = "name")]` | the field's name in the dtype |
/// | `#[record(title = "title")]` | a second name, NumPy's title, that the field has in the record's dtype, so the struct must be `typed` or `in_place`. Stored fields match whether or not they have it |
/// | `#[record(dtype = "<M8[ns]")]` | the field's dtype, where its type doesn't determine it: dates, `String`. Stored fields must have the same kind and unit. It is a type string, a list of fields such as `[('x', '<f8'), ('', 'V4')]`, or a pair of a dtype and a shape such as `('<f8', (3,))`; other text is a compile error |
#[proc_macro_derive(Record, attributes(record))]
pub fn record(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand::record(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a newtype, a struct with one field, an
/// [`Element`](../npymap/trait.Element.html), stored as its field is.
///
/// With `#[repr(transparent)]` it also implements `InPlace` and is read and
/// written as fast as its field. That needs
/// `#[derive(bytemuck::Pod, bytemuck::Zeroable)]`; if you don't depend on
/// bytemuck, use npymap's with `#[bytemuck(crate = "npymap::bytemuck")]`.
/// `Typed` is implemented if the field has it. The struct can have type and
/// const parameters. The generated code has no `unsafe`.
///
/// `#[element(crate = "path")]` is the path of npymap, if not `::npymap`.
#[proc_macro_derive(Element, attributes(element))]
pub fn element(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    newtype::element(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

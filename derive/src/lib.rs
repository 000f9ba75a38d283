//! The derive macros of npymap, which re-exports them as `npymap::Record` and
//! `npymap::Element`.

mod attributes;
mod descr;
mod expand;
mod newtype;
mod typestr;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes a struct an [`Element`](https://docs.rs/npymap/latest/npymap/trait.Element.html), so that you can
/// read and write structured arrays as structs.
///
/// Fields are found by name. The struct and the dtype must have the same fields,
/// in any order, and each field's type must match its dtype. Otherwise, viewing
/// the array returns an error that names the field and the difference. A field
/// can have any element type: numbers, `String`, arrays, tuples, or other
/// records.
///
/// The struct can have type and const parameters. For example, `Pair<T> { a: T,
/// b: [T; 2] }` is a record for every `T` that is an element. A generic record
/// in place must be `#[repr(C, packed)]`, because bytemuck requires this. The
/// generated code has no `unsafe`.
///
/// Attributes of the struct:
///
/// | attribute | effect |
/// |---|---|
/// | `#[record(subset)]` | allows the dtype to have other fields |
/// | `#[record(typed)]` | also implements `Typed`: `DType::of::<Row>()` is the packed dtype |
/// | `#[record(in_place)]` | also implements `InPlace` and `Typed`, so that you can borrow `&[Row]` |
/// | `#[record(crate = "path")]` | sets the path of npymap, if it is not `::npymap` |
///
/// With `subset`, reading ignores the other fields, and writing leaves them
/// unchanged. However, storing a record in a borrowed slice replaces the fields
/// under its `Pad` fields.
///
/// With `in_place`, you can borrow rows if the fields, offsets and types of the
/// file are the same. The struct needs `#[repr(C)]` or `#[repr(C, packed)]`, and
/// `#[derive(bytemuck::Pod, bytemuck::Zeroable)]`. These derives reject implicit
/// padding, so use `Pad<N>` fields. If you don't depend on bytemuck, use
/// npymap's with `#[bytemuck(crate = "npymap::bytemuck")]`.
///
/// Attributes of a field:
///
/// | attribute | effect |
/// |---|---|
/// | `#[record(rename = "name")]` | sets the field's name in the dtype |
/// | `#[record(title = "title")]` | sets NumPy's title, a second name, in the record's dtype |
/// | `#[record(dtype = "<M8[ns]")]` | sets the field's dtype, if its type doesn't determine it, for example for dates and `String` |
///
/// A struct with a `title` must be `typed` or `in_place`. Stored fields will match
/// with or without the title.
///
/// A `dtype` is a type string, a list of fields such as `[('x', '<f8'), ('', 'V4')]`,
/// or a pair of a dtype and a shape such as `('<f8', (3,))`. Any other text is a
/// compile error. Stored fields must have the same kind and unit.
#[proc_macro_derive(Record, attributes(record))]
pub fn record(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand::record(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a newtype an [`Element`](https://docs.rs/npymap/latest/npymap/trait.Element.html), stored like its
/// only field.
///
/// With `#[repr(transparent)]`, this also implements `InPlace`, and the newtype
/// is read and written as fast as its field. For this, you need
/// `#[derive(bytemuck::Pod, bytemuck::Zeroable)]`. If you don't depend on
/// bytemuck, use npymap's with `#[bytemuck(crate = "npymap::bytemuck")]`. This
/// also implements `Typed` if the field does. The struct can have type and const
/// parameters. The generated code has no `unsafe`.
///
/// If npymap has a different path than `::npymap`, pass it by
/// `#[element(crate = "path")]`.
#[proc_macro_derive(Element, attributes(element))]
pub fn element(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    newtype::element(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

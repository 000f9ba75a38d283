//! `#[derive(Record)]` and `#[derive(Element)]` for npymap; see `npymap::Record`
//! and `npymap::Element`.

mod attributes;
mod expand;
mod newtype;
mod typestr;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes a struct an [`Element`](https://docs.rs/npymap/latest/npymap/trait.Element.html): a row of a
/// structured array, its fields found by name.
///
/// The fields of the struct and of the dtype may stand in any order; each must
/// be there on both sides, and be of a type that fits. What doesn't is an
/// error when the array is viewed, that names the field and says how it
/// differs. Fields are numbers, `String`, arrays, tuples and other records:
/// whatever is an element. No `unsafe` code is generated.
///
/// On the struct:
///
/// | attribute | |
/// |---|---|
/// | `#[record(subset)]` | the dtype may have more fields, which are left alone |
/// | `#[record(typed)]` | also `Typed`: `DType::of::<Row>()` is its dtype, packed |
/// | `#[record(in_place)]` | also `InPlace` and `Typed`: `&[Row]` is lent when order, places and types are equal. Asks for `#[repr(C)]` or `#[repr(C, packed)]` and `#[derive(bytemuck::Pod, bytemuck::Zeroable)]`, which refuse padding; name it with `Pad<N>` fields. Without bytemuck among your dependencies, use npymap's with `#[bytemuck(crate = "npymap::bytemuck")]` |
/// | `#[record(crate = "path")]` | where npymap is, if not at `::npymap` |
///
/// On a field:
///
/// | attribute | |
/// |---|---|
/// | `#[record(rename = "name")]` | the field's name in the dtype |
/// | `#[record(dtype = "<M8[ns]")]` | which dtype it is, where its type doesn't say: dates, `String`. Viewing then asks for the same kind and unit |
#[proc_macro_derive(Record, attributes(record))]
pub fn record(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand::record(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a newtype, a struct of one field, an
/// [`Element`](../npymap/trait.Element.html): stored as its field is.
///
/// With `#[repr(transparent)]` it is also `InPlace`, and every way of reading
/// and writing is as fast as for its field. That asks for
/// `#[derive(bytemuck::Pod, bytemuck::Zeroable)]`; without bytemuck among your
/// dependencies, use npymap's with `#[bytemuck(crate = "npymap::bytemuck")]`.
/// `Typed` comes along if the field has it. No `unsafe` code is generated.
///
/// `#[element(crate = "path")]` says where npymap is, if not at `::npymap`.
#[proc_macro_derive(Element, attributes(element))]
pub fn element(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    newtype::element(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

//! `#[derive(Record)]` for npymap; see `npymap::Record`.

mod attributes;
mod expand;

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
/// | `#[record(in_place)]` | also `InPlace` and `Typed`: `&[Row]` is lent when order, places and types are equal. Asks for `#[repr(C)]` or `#[repr(C, packed)]` and `#[derive(bytemuck::Pod, bytemuck::Zeroable)]`, which refuse padding; name it with `Pad<N>` fields |
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

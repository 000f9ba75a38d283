//! What `#[record(…)]` says.

use crate::typestr::is_dtype;
use syn::{Attribute, DeriveInput, Error, Field, LitStr, Path, Result, parse_quote};

/// What is said of the struct.
#[expect(clippy::struct_excessive_bools, reason = "each is an attribute of its own")]
pub(crate) struct Container {
    pub(crate) subset: bool,
    pub(crate) typed: bool,
    pub(crate) in_place: bool,
    pub(crate) packed: bool,
    pub(crate) npymap: Path,
}

impl Container {
    pub(crate) fn of(input: &DeriveInput) -> Result<Container> {
        let (mut subset, mut typed, mut in_place) = (false, false, false);
        let mut npymap: Path = parse_quote!(::npymap);
        for attribute in records(&input.attrs) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("subset") {
                    subset = true;
                } else if meta.path.is_ident("typed") {
                    typed = true;
                } else if meta.path.is_ident("in_place") {
                    in_place = true;
                } else if meta.path.is_ident("crate") {
                    npymap = meta.value()?.parse::<LitStr>()?.parse()?;
                } else {
                    return Err(meta.error("expected `subset`, `typed`, `in_place` or `crate`"));
                }
                Ok(())
            })?;
        }
        let repr = Repr::of(&input.attrs)?;
        if in_place && !repr.is_fixed {
            let message = "a record in place needs `#[repr(C)]` or `#[repr(C, packed)]`, which fix where its fields lie";
            return Err(Error::new_spanned(&input.ident, message));
        }
        Ok(Container { subset, typed: typed || in_place, in_place, packed: repr.packed, npymap })
    }
}

/// What `#[repr(…)]` says.
struct Repr {
    is_fixed: bool,
    packed: bool,
}

impl Repr {
    fn of(attributes: &[Attribute]) -> Result<Repr> {
        let mut repr = Repr { is_fixed: false, packed: false };
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("repr")) {
            attribute.parse_nested_meta(|meta| {
                repr.is_fixed |= meta.path.is_ident("C") || meta.path.is_ident("transparent");
                repr.packed |= meta.path.is_ident("packed");
                if meta.input.peek(syn::token::Paren) {
                    let content;
                    syn::parenthesized!(content in meta.input);
                    content.parse::<proc_macro2::TokenStream>()?;
                }
                Ok(())
            })?;
        }
        Ok(repr)
    }
}

/// What is said of a field.
pub(crate) struct Said {
    pub(crate) rename: Option<LitStr>,
    pub(crate) dtype: Option<LitStr>,
}

impl Said {
    pub(crate) fn of(field: &Field) -> Result<Said> {
        let mut said = Said { rename: None, dtype: None };
        for attribute in records(&field.attrs) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("rename") {
                    said.rename = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("dtype") {
                    let descr: LitStr = meta.value()?.parse()?;
                    if !is_dtype(&descr.value()) {
                        let message = format!("`{}` is not a dtype, expected a type string such as `<f8`, `|S10` or `<M8[ns]`", descr.value());
                        return Err(Error::new_spanned(descr, message));
                    }
                    said.dtype = Some(descr);
                } else {
                    return Err(meta.error("expected `rename = \"name\"` or `dtype = \"<M8[ns]\"`"));
                }
                Ok(())
            })?;
        }
        Ok(said)
    }
}

fn records(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("record"))
}

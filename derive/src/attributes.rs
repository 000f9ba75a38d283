//! Parses `#[record(…)]` and `#[repr(…)]`.

use crate::descr::is_descr;
use crate::typestr::is_typestr;
use syn::{Attribute, DeriveInput, Error, Field, LitStr, Path, Result, parse_quote};

/// The attributes of the struct.
#[expect(clippy::struct_excessive_bools, reason = "each is a separate attribute")]
pub(crate) struct RecordAttributes {
    pub(crate) subset: bool,
    pub(crate) typed: bool,
    pub(crate) in_place: bool,
    pub(crate) packed: bool,
    pub(crate) npymap: Path,
}

impl RecordAttributes {
    pub(crate) fn parse(input: &DeriveInput) -> Result<RecordAttributes> {
        let (mut subset, mut typed, mut in_place) = (false, false, false);
        let mut npymap: Path = parse_quote!(::npymap);
        for attribute in record_attributes(&input.attrs) {
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
        let repr = ReprAttributes::parse(&input.attrs)?;
        if in_place && !repr.is_fixed {
            let message =
                "`in_place` needs a fixed layout: add `#[repr(C)]` or `#[repr(C, packed)]`";
            return Err(Error::new_spanned(&input.ident, message));
        }
        Ok(RecordAttributes {
            subset,
            typed: typed || in_place,
            in_place,
            packed: repr.packed,
            npymap,
        })
    }
}

/// The layout that `#[repr(…)]` asks for.
struct ReprAttributes {
    is_fixed: bool,
    packed: bool,
}

impl ReprAttributes {
    fn parse(attributes: &[Attribute]) -> Result<ReprAttributes> {
        let mut repr = ReprAttributes { is_fixed: false, packed: false };
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

/// The attributes of a field.
pub(crate) struct FieldAttributes {
    pub(crate) rename: Option<LitStr>,
    pub(crate) title: Option<LitStr>,
    pub(crate) dtype: Option<LitStr>,
}

impl FieldAttributes {
    pub(crate) fn parse(field: &Field) -> Result<FieldAttributes> {
        let mut attributes = FieldAttributes { rename: None, title: None, dtype: None };
        for attribute in record_attributes(&field.attrs) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("rename") {
                    attributes.rename = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("title") {
                    attributes.title = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("dtype") {
                    attributes.dtype = Some(check_dtype(meta.value()?.parse()?)?);
                } else {
                    return Err(meta.error(
                        "expected `rename = \"name\"`, `title = \"title\"` or `dtype = \"<M8[ns]\"`",
                    ));
                }
                Ok(())
            })?;
        }
        Ok(attributes)
    }
}

/// Rejects texts that the library does not parse as dtypes.
fn check_dtype(dtype: LitStr) -> Result<LitStr> {
    let text = dtype.value();
    let is_literal = text.trim_start().starts_with(['[', '(', '{', '\'', '"']);
    let is_dtype = if is_literal { is_descr(&text) } else { is_typestr(&text) };
    if is_dtype {
        return Ok(dtype);
    }
    let expected = match text.trim_start().chars().next() {
        Some('{') => "a list of fields with padding such as `('', '|V4')`, not a dictionary",
        _ if is_literal => {
            "fields such as `[('x', '<f8'), ('y', '<i2', (3,))]`, or a dtype and a shape such as `('<f8', (3,))`"
        }
        _ => "a type string such as `<f8`, `|S10` or `<M8[ns]`",
    };
    Err(Error::new_spanned(dtype, format!("`{text}` is not a dtype: expected {expected}")))
}

fn record_attributes(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("record"))
}

//! Expands `derive(Record)`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt as _;
use syn::{Data, DeriveInput, Error, Fields, Ident, LitStr, Result, Type};

use crate::attributes::{FieldAttributes, RecordAttributes};

/// A field of the struct and its name in the dtype.
struct RecordField<'a> {
    ident: &'a Ident,
    /// The field of the generated codec. A name of its own can't clash with
    /// the codec's other fields.
    codec: Ident,
    ty: &'a Type,
    name: LitStr,
    dtype: Option<LitStr>,
}

pub(crate) fn record(input: &DeriveInput) -> Result<TokenStream> {
    if let Some(parameter) = input.generics.params.first() {
        let message = "a record can't have type, lifetime or const parameters: it has one dtype";
        return Err(Error::new_spanned(parameter, message));
    }
    let attributes = RecordAttributes::parse(input)?;
    let fields = record_fields(input)?;
    let element = element(input, &attributes, &fields);
    let in_place = attributes.in_place.then(|| in_place(input, &attributes));
    let typed = attributes.typed.then(|| typed(input, &attributes, &fields));
    Ok(quote! {
        const _: () = {
            #element
            #in_place
            #typed
        };
    })
}

fn record_fields(input: &DeriveInput) -> Result<Vec<RecordField<'_>>> {
    let Data::Struct(data) = &input.data else {
        let message = "`Record` can only be derived for structs";
        return Err(Error::new_spanned(&input.ident, message));
    };
    let Fields::Named(named) = &data.fields else {
        let message = "`Record` finds fields by name: name them, or view the elements as a tuple";
        return Err(Error::new_spanned(&input.ident, message));
    };
    let mut fields: Vec<RecordField<'_>> = Vec::new();
    for field in &named.named {
        let Some(ident) = &field.ident else { continue };
        let FieldAttributes { rename, dtype } = FieldAttributes::parse(field)?;
        let name = rename.unwrap_or_else(|| LitStr::new(&ident.unraw().to_string(), ident.span()));
        if fields.iter().any(|other| other.name.value() == name.value()) {
            let message = format!("two fields are named `{}`", name.value());
            return Err(Error::new_spanned(&name, message));
        }
        let codec = format_ident!("field_{}", fields.len());
        fields.push(RecordField { ident, codec, ty: &field.ty, name, dtype });
    }
    Ok(fields)
}

/// Implements `Element`, with fields found by name.
fn element(
    input: &DeriveInput,
    attributes: &RecordAttributes,
    fields: &[RecordField<'_>],
) -> TokenStream {
    let (record, npymap, subset) = (&input.ident, &attributes.npymap, attributes.subset);
    let title = record.unraw().to_string();
    let codec: Vec<_> = fields.iter().map(|field| &field.codec).collect();
    let ident: Vec<_> = fields.iter().map(|field| field.ident).collect();
    let ty: Vec<_> = fields.iter().map(|field| field.ty).collect();
    let name: Vec<_> = fields.iter().map(|field| &field.name).collect();
    let declared = fields.iter().map(|field| {
        if let Some(descr) = &field.dtype {
            quote!(::core::option::Option::Some(#descr))
        } else {
            quote!(::core::option::Option::None)
        }
    });
    let offset = ident.iter().map(|ident| {
        if attributes.in_place {
            quote!(::core::option::Option::Some(::core::mem::offset_of!(#record, #ident)))
        } else {
            quote!(::core::option::Option::None)
        }
    });
    // Fields of packed structs can't be borrowed, so they are copied first.
    let value = ident.iter().map(|ident| {
        if attributes.packed { quote!(&{ self.#ident }) } else { quote!(&self.#ident) }
    });
    let fast_path = attributes.in_place.then(|| fast_path(attributes));
    let record_codec = attributes.in_place.then(|| record_codec(attributes, &title));
    let read = attributes.in_place.then(|| {
        quote! {
            if codec.mismatch.get().is_none() {
                if let ::core::result::Result::Ok(value) = #npymap::bytemuck::try_pod_read_unaligned(bytes) {
                    return value;
                }
            }
        }
    });
    quote! {
        #[doc(hidden)]
        #[derive(::core::clone::Clone, ::core::fmt::Debug)]
        pub struct __NpymapCodec {
            itemsize: ::core::primitive::usize,
            #[allow(dead_code, reason = "only used by records in place")]
            mismatch: #npymap::__record::StoredMismatch,
            #(#codec: #npymap::__record::FieldCodec<<#ty as #npymap::Element>::Codec>,)*
        }

        #[automatically_derived]
        impl #npymap::Element for #record {
            type Codec = __NpymapCodec;

            fn codec(dtype: &#npymap::DType) -> #npymap::Result<__NpymapCodec> {
                let mut fields = #npymap::__record::FieldMatcher::new(#title, dtype)?;
                #(let #codec = fields.field::<#ty>(#name, #offset, #declared)?;)*
                let mismatch = fields.finish(#subset, ::core::mem::size_of::<#record>())?;
                ::core::result::Result::Ok(__NpymapCodec { itemsize: dtype.itemsize(), mismatch, #(#codec,)* })
            }

            fn itemsize(codec: &__NpymapCodec) -> ::core::primitive::usize {
                codec.itemsize
            }

            fn decode(codec: &__NpymapCodec, bytes: &[::core::primitive::u8]) -> Self {
                #read
                #record { #(#ident: codec.#codec.decode::<#ty>(bytes),)* }
            }

            fn encode(&self, codec: &__NpymapCodec, bytes: &mut [::core::primitive::u8]) -> #npymap::Result<()> {
                #(codec.#codec.encode::<#ty>(#value, bytes)?;)*
                ::core::result::Result::Ok(())
            }

            #fast_path
        }

        #record_codec
    }
}

/// Overrides `Element::fast_path` for records in place.
fn fast_path(attributes: &RecordAttributes) -> TokenStream {
    let npymap = &attributes.npymap;
    quote! {
        fn fast_path() -> impl #npymap::__record::FastPath<Self> {
            #npymap::__record::RecordFastPath
        }
    }
}

/// Implements `RecordCodec`, which the fast path of records in place needs.
fn record_codec(attributes: &RecordAttributes, title: &str) -> TokenStream {
    let npymap = &attributes.npymap;
    quote! {
        #[automatically_derived]
        impl #npymap::__record::RecordCodec for __NpymapCodec {
            const RECORD: &'static ::core::primitive::str = #title;

            fn mismatch(&self) -> ::core::option::Option<&#npymap::__record::FieldMismatch> {
                self.mismatch.get()
            }
        }
    }
}

/// Implements `InPlace`; bytemuck's derive implements its supertrait `Pod`.
fn in_place(input: &DeriveInput, attributes: &RecordAttributes) -> TokenStream {
    let (record, npymap) = (&input.ident, &attributes.npymap);
    quote!(#[automatically_derived] impl #npymap::element::InPlace for #record {})
}

/// Implements `Typed`.
fn typed(
    input: &DeriveInput,
    attributes: &RecordAttributes,
    fields: &[RecordField<'_>],
) -> TokenStream {
    let (record, npymap) = (&input.ident, &attributes.npymap);
    let title = record.unraw().to_string();
    let typed_fields = fields.iter().map(|RecordField { ident, ty, name, dtype, .. }| {
        let dtype = if let Some(descr) = dtype {
            quote!(#npymap::__record::declared_dtype::<#ty>(#title, #name, #descr))
        } else {
            quote!(<#ty as #npymap::element::Typed>::dtype())
        };
        quote!(#npymap::__record::typed_field::<#ty>(#name, ::core::mem::offset_of!(#record, #ident), || #dtype))
    });
    let size = if attributes.in_place {
        quote!(::core::option::Option::Some(::core::mem::size_of::<#record>()))
    } else {
        quote!(::core::option::Option::None)
    };
    quote! {
        #[automatically_derived]
        impl #npymap::element::Typed for #record {
            fn dtype() -> #npymap::DType {
                #npymap::__record::record_dtype(#title, ::std::vec![#(#typed_fields),*], #size)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error for a struct that is not a valid record.
    fn error_of(input: &str) -> String {
        let input = syn::parse_str(input).unwrap();
        record(&input).map(|tokens| tokens.to_string()).unwrap_err().to_string()
    }

    #[test]
    fn invalid_records_are_rejected() {
        for (input, expected) in [
            ("enum Row { A }", "`Record` can only be derived for structs"),
            ("union Row { a: u8 }", "`Record` can only be derived for structs"),
            (
                "struct Row(u8);",
                "`Record` finds fields by name: name them, or view the elements as a tuple",
            ),
            (
                "struct Row;",
                "`Record` finds fields by name: name them, or view the elements as a tuple",
            ),
            (
                "struct Row<T> { x: T }",
                "a record can't have type, lifetime or const parameters: it has one dtype",
            ),
            ("struct Row { a: u8, #[record(rename = \"a\")] b: u8 }", "two fields are named `a`"),
            (
                "#[record(in_place)] struct Row { a: u8 }",
                "`in_place` needs a fixed layout: add `#[repr(C)]` or `#[repr(C, packed)]`",
            ),
            (
                "#[record(inplace)] struct Row { a: u8 }",
                "expected `subset`, `typed`, `in_place` or `crate`",
            ),
            (
                "struct Row { #[record(name = \"b\")] a: u8 }",
                "expected `rename = \"name\"` or `dtype = \"<M8[ns]\"`",
            ),
            ("struct Row { #[record(rename = 1)] a: u8 }", "expected string literal"),
            (
                "struct Row { #[record(dtype = \"<Q9\")] a: u8 }",
                "`<Q9` is not a dtype: expected a type string such as `<f8`, `|S10` or `<M8[ns]`",
            ),
            (
                "struct Row { #[record(dtype = \"[('x', '<Q9')]\")] a: u8 }",
                "`[('x', '<Q9')]` is not a dtype: expected fields such as `[('x', '<f8'), ('y', '<i2', (3,))]`, or a dtype and a shape such as `('<f8', (3,))`",
            ),
            (
                "struct Row { #[record(dtype = \"{'names': []}\")] a: u8 }",
                "`{'names': []}` is not a dtype: expected a list of fields with padding such as `('', '|V4')`, not a dictionary",
            ),
        ] {
            assert_eq!(error_of(input), expected, "{input}");
        }
    }

    #[test]
    fn records_expand_to_safe_code() {
        let input = "#[record(in_place, subset)] #[repr(C, packed(2))] struct Row { r#type: u8, b: [f32; 2] }";
        let tokens = record(&syn::parse_str(input).unwrap()).unwrap().to_string();
        assert!(!tokens.contains("unsafe"), "{tokens}");
        assert!(tokens.contains("\"type\""), "{tokens}");
    }
}

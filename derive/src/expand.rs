//! Expands `derive(Record)`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt as _;
use syn::{
    Data, DeriveInput, Error, Fields, Ident, LitStr, Result, Type, WhereClause, parse_quote,
};

use crate::attributes::{FieldAttributes, RecordAttributes};

/// A field of the struct and its name in the dtype.
struct RecordField<'a> {
    ident: &'a Ident,
    /// The field of the generated codec. A name of its own can't clash with
    /// the codec's other fields.
    codec: Ident,
    ty: &'a Type,
    name: LitStr,
    title: Option<LitStr>,
    dtype: Option<LitStr>,
}

pub(crate) fn record(input: &DeriveInput) -> Result<TokenStream> {
    if let Some(lifetime) = input.generics.lifetimes().next() {
        let message = "a record can't have lifetime parameters: its fields are copied";
        return Err(Error::new_spanned(lifetime, message));
    }
    let attributes = RecordAttributes::parse(input)?;
    let fields = record_fields(input)?;
    let element = element(input, &attributes, &fields);
    if let Some(title) = fields.iter().find_map(|field| field.title.as_ref()) {
        if !attributes.typed {
            let message = "a title is part of the record's dtype: add `#[record(typed)]` or `#[record(in_place)]`";
            return Err(Error::new_spanned(title, message));
        }
    }
    let in_place = attributes.in_place.then(|| in_place(input, &attributes, &fields));
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
        let FieldAttributes { rename, title, dtype } = FieldAttributes::parse(field)?;
        let name = rename.unwrap_or_else(|| LitStr::new(&ident.unraw().to_string(), ident.span()));
        for new in std::iter::once(&name).chain(&title) {
            let mut taken = fields.iter().flat_map(|field| field.title.iter().chain([&field.name]));
            if taken.any(|other| other.value() == new.value()) {
                let message = format!("two fields are named `{}`", new.value());
                return Err(Error::new_spanned(new, message));
            }
        }
        if let Some(title) = title.as_ref().filter(|title| title.value() == name.value()) {
            return Err(Error::new_spanned(title, "a title that is the name of its field"));
        }
        let codec = format_ident!("field_{}", fields.len());
        fields.push(RecordField { ident, codec, ty: &field.ty, name, title, dtype });
    }
    Ok(fields)
}

/// The clauses of an implementation for a generic record: `bound` for each
/// field's type, and what the generated code needs.
fn with_bounds(
    input: &DeriveInput,
    attributes: &RecordAttributes,
    fields: &[RecordField<'_>],
    bound: &TokenStream,
) -> Option<WhereClause> {
    let mut generics = input.generics.clone();
    if generics.params.is_empty() {
        return None;
    }
    let npymap = &attributes.npymap;
    let clause = generics.make_where_clause();
    clause.predicates.push(parse_quote!(Self: 'static));
    for field in fields {
        let ty = field.ty;
        clause.predicates.push(parse_quote!(#ty: #bound));
        if attributes.packed {
            clause.predicates.push(parse_quote!(#ty: ::core::marker::Copy));
        }
    }
    if attributes.in_place {
        clause.predicates.push(parse_quote!(Self: #npymap::bytemuck::Pod));
    }
    generics.where_clause
}

/// Implements `Element`, with fields found by name.
fn element(
    input: &DeriveInput,
    attributes: &RecordAttributes,
    fields: &[RecordField<'_>],
) -> TokenStream {
    let (record, npymap, subset) = (&input.ident, &attributes.npymap, attributes.subset);
    let (impl_generics, ty_generics, _) = input.generics.split_for_impl();
    let clause = with_bounds(input, attributes, fields, &quote!(#npymap::Element));
    let title = record.unraw().to_string();
    let codec: Vec<_> = fields.iter().map(|field| &field.codec).collect();
    let ident: Vec<_> = fields.iter().map(|field| field.ident).collect();
    let ty: Vec<_> = fields.iter().map(|field| field.ty).collect();
    let name: Vec<_> = fields.iter().map(|field| &field.name).collect();
    // The codec is generic over the codecs of its fields: those of a generic
    // record are known only where it is used.
    let parameter: Vec<_> = codec.iter().map(|codec| format_ident!("{codec}_codec")).collect();
    let declared = fields.iter().map(|field| {
        if let Some(descr) = &field.dtype {
            quote!(::core::option::Option::Some(#descr))
        } else {
            quote!(::core::option::Option::None)
        }
    });
    let offset = ident.iter().map(|ident| {
        if attributes.in_place {
            quote!(::core::option::Option::Some(::core::mem::offset_of!(Self, #ident)))
        } else {
            quote!(::core::option::Option::None)
        }
    });
    // Fields of packed structs can't be borrowed, so they are copied first.
    let value = ident.iter().map(|ident| {
        if attributes.packed { quote!(&{ self.#ident }) } else { quote!(&self.#ident) }
    });
    let fast_path = attributes.in_place.then(|| fast_path(attributes));
    let record_codec = attributes.in_place.then(|| record_codec(attributes, &title, &parameter));
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
        #[allow(non_camel_case_types, reason = "the parameters are named after the fields")]
        pub struct __NpymapCodec<#(#parameter),*> {
            itemsize: ::core::primitive::usize,
            #[allow(dead_code, reason = "only used by records in place")]
            mismatch: #npymap::__record::StoredMismatch,
            #(#codec: #npymap::__record::FieldCodec<#parameter>,)*
        }

        #[automatically_derived]
        impl #impl_generics #npymap::Element for #record #ty_generics #clause {
            type Codec = __NpymapCodec<#(<#ty as #npymap::Element>::Codec),*>;

            fn codec(dtype: &#npymap::DType) -> #npymap::Result<Self::Codec> {
                let mut fields = #npymap::__record::FieldMatcher::new(#title, dtype)?;
                #(let #codec = fields.field::<#ty>(#name, #offset, #declared)?;)*
                let mismatch = fields.finish(#subset, ::core::mem::size_of::<Self>())?;
                ::core::result::Result::Ok(__NpymapCodec { itemsize: dtype.itemsize(), mismatch, #(#codec,)* })
            }

            fn itemsize(codec: &Self::Codec) -> ::core::primitive::usize {
                codec.itemsize
            }

            fn decode(codec: &Self::Codec, bytes: &[::core::primitive::u8]) -> Self {
                #read
                Self { #(#ident: codec.#codec.decode::<#ty>(bytes),)* }
            }

            fn encode(&self, codec: &Self::Codec, bytes: &mut [::core::primitive::u8]) -> #npymap::Result<()> {
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
            #npymap::__record::StoredFastPath
        }
    }
}

/// Implements `RecordCodec`, which the fast path of records in place needs.
fn record_codec(attributes: &RecordAttributes, title: &str, parameter: &[Ident]) -> TokenStream {
    let npymap = &attributes.npymap;
    quote! {
        #[automatically_derived]
        #[allow(non_camel_case_types, reason = "the parameters are named after the fields")]
        impl<#(#parameter),*> #npymap::__record::RecordCodec for __NpymapCodec<#(#parameter),*> {
            const RECORD: &'static ::core::primitive::str = #title;

            fn mismatch(&self) -> ::core::option::Option<&#npymap::__record::FieldMismatch> {
                self.mismatch.get()
            }
        }
    }
}

/// Implements `InPlace`; bytemuck's derive implements its supertrait `Pod`.
fn in_place(
    input: &DeriveInput,
    attributes: &RecordAttributes,
    fields: &[RecordField<'_>],
) -> TokenStream {
    let (record, npymap) = (&input.ident, &attributes.npymap);
    let (impl_generics, ty_generics, _) = input.generics.split_for_impl();
    let clause = with_bounds(input, attributes, fields, &quote!(#npymap::Element));
    quote! {
        #[automatically_derived]
        impl #impl_generics #npymap::element::InPlace for #record #ty_generics #clause {}
    }
}

/// Implements `Typed`.
fn typed(
    input: &DeriveInput,
    attributes: &RecordAttributes,
    fields: &[RecordField<'_>],
) -> TokenStream {
    let (record, npymap) = (&input.ident, &attributes.npymap);
    let title = record.unraw().to_string();
    let (impl_generics, ty_generics, _) = input.generics.split_for_impl();
    let clause = typed_clause(input, attributes, fields);
    let typed_fields = fields.iter().map(|RecordField { ident, ty, name, title: field_title, dtype, .. }| {
        let dtype = if let Some(descr) = dtype {
            quote!(#npymap::__record::declared_dtype::<#ty>(#title, #name, #descr))
        } else {
            quote!(<#ty as #npymap::element::Typed>::dtype())
        };
        let field_title = if let Some(text) = field_title {
            quote!(::core::option::Option::Some(#text))
        } else {
            quote!(::core::option::Option::None)
        };
        quote!(#npymap::__record::typed_field::<#ty>(#name, #field_title, ::core::mem::offset_of!(Self, #ident), || #dtype))
    });
    let size = if attributes.in_place {
        quote!(::core::option::Option::Some(::core::mem::size_of::<Self>()))
    } else {
        quote!(::core::option::Option::None)
    };
    quote! {
        #[automatically_derived]
        impl #impl_generics #npymap::element::Typed for #record #ty_generics #clause {
            fn dtype() -> #npymap::DType {
                #npymap::__record::record_dtype(#title, ::std::vec![#(#typed_fields),*], #size)
            }
        }
    }
}

/// The clauses of `Typed` for a generic record: fields without a declared dtype
/// have one of their own.
fn typed_clause(
    input: &DeriveInput,
    attributes: &RecordAttributes,
    fields: &[RecordField<'_>],
) -> Option<WhereClause> {
    let npymap = &attributes.npymap;
    let mut clause = with_bounds(input, attributes, fields, &quote!(#npymap::Element))?;
    for RecordField { ty, .. } in fields.iter().filter(|field| field.dtype.is_none()) {
        clause.predicates.push(parse_quote!(#ty: #npymap::element::Typed));
    }
    Some(clause)
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
                "struct Row<'a> { x: &'a f32 }",
                "a record can't have lifetime parameters: its fields are copied",
            ),
            (
                "struct Row { #[record(title = \"X\")] x: f32 }",
                "a title is part of the record's dtype: add `#[record(typed)]` or `#[record(in_place)]`",
            ),
            (
                "#[record(typed)] struct Row { #[record(title = \"y\")] x: f32, y: f32 }",
                "two fields are named `y`",
            ),
            (
                "#[record(typed)] struct Row { #[record(title = \"x\")] x: f32 }",
                "a title that is the name of its field",
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
                "expected `rename = \"name\"`, `title = \"title\"` or `dtype = \"<M8[ns]\"`",
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

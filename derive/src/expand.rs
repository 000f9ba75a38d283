//! From a struct to its implementations.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt as _;
use syn::{Data, DeriveInput, Error, Fields, Ident, LitStr, Result, Type};

use crate::attributes::{Container, Said};

/// A field, and what is generated for it.
struct Part<'a> {
    ident: &'a Ident,
    /// Its name in the generated codec, which has names of its own.
    own: Ident,
    ty: &'a Type,
    name: LitStr,
    dtype: Option<LitStr>,
}

pub(crate) fn record(input: &DeriveInput) -> Result<TokenStream> {
    if let Some(parameter) = input.generics.params.first() {
        let message = "a record has no parameters: it stands for one dtype";
        return Err(Error::new_spanned(parameter, message));
    }
    let container = Container::of(input)?;
    let parts = parts(input)?;
    let element = element(input, &container, &parts);
    let in_place = container.in_place.then(|| in_place(input, &container));
    let typed = container.typed.then(|| typed(input, &container, &parts));
    Ok(quote! {
        const _: () = {
            #element
            #in_place
            #typed
        };
    })
}

fn parts(input: &DeriveInput) -> Result<Vec<Part<'_>>> {
    let Data::Struct(data) = &input.data else {
        let message = "a record is a struct: its fields are those of the dtype";
        return Err(Error::new_spanned(&input.ident, message));
    };
    let Fields::Named(fields) = &data.fields else {
        let message = "fields are found by name: name them, or view the elements as a tuple";
        return Err(Error::new_spanned(&input.ident, message));
    };
    let mut parts: Vec<Part<'_>> = Vec::new();
    for field in &fields.named {
        let Some(ident) = &field.ident else { continue };
        let Said { rename, dtype } = Said::of(field)?;
        let name = rename.unwrap_or_else(|| LitStr::new(&ident.unraw().to_string(), ident.span()));
        if parts.iter().any(|part| part.name.value() == name.value()) {
            let message = format!("two fields are named `{}`", name.value());
            return Err(Error::new_spanned(&name, message));
        }
        let own = format_ident!("field_{}", parts.len());
        parts.push(Part { ident, own, ty: &field.ty, name, dtype });
    }
    Ok(parts)
}

/// `impl Element`: fields found by name.
fn element(input: &DeriveInput, container: &Container, parts: &[Part<'_>]) -> TokenStream {
    let (record, npymap, subset) = (&input.ident, &container.npymap, container.subset);
    let title = record.unraw().to_string();
    let own: Vec<_> = parts.iter().map(|part| &part.own).collect();
    let ident: Vec<_> = parts.iter().map(|part| part.ident).collect();
    let ty: Vec<_> = parts.iter().map(|part| part.ty).collect();
    let name: Vec<_> = parts.iter().map(|part| &part.name).collect();
    let stated = parts.iter().map(|part| {
        if let Some(descr) = &part.dtype {
            quote!(::core::option::Option::Some(#descr))
        } else {
            quote!(::core::option::Option::None)
        }
    });
    let place = ident.iter().map(|ident| {
        if container.in_place {
            quote!(::core::option::Option::Some(::core::mem::offset_of!(#record, #ident)))
        } else {
            quote!(::core::option::Option::None)
        }
    });
    // Fields of packed structs can't be borrowed; they are copied.
    let value = ident.iter().map(|ident| {
        if container.packed { quote!(&{ self.#ident }) } else { quote!(&self.#ident) }
    });
    let fast_path = container.in_place.then(|| fast_path(container));
    let record_codec = container.in_place.then(|| record_codec(container, &title));
    let read = container.in_place.then(|| {
        quote! {
            if codec.difference.is_none() {
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
            #[allow(dead_code, reason = "only records in place look at it")]
            difference: ::core::option::Option<#npymap::__record::Difference>,
            #(#own: #npymap::__record::Part<<#ty as #npymap::Element>::Codec>,)*
        }

        #[automatically_derived]
        impl #npymap::Element for #record {
            type Codec = __NpymapCodec;

            fn codec(dtype: &#npymap::DType) -> #npymap::Result<__NpymapCodec> {
                let mut fields = #npymap::__record::Fields::new(#title, dtype)?;
                #(let #own = fields.part::<#ty>(#name, #place, #stated)?;)*
                let difference = fields.end(#subset, ::core::mem::size_of::<#record>())?;
                ::core::result::Result::Ok(__NpymapCodec { itemsize: dtype.itemsize(), difference, #(#own,)* })
            }

            fn itemsize(codec: &__NpymapCodec) -> ::core::primitive::usize {
                codec.itemsize
            }

            fn decode(codec: &__NpymapCodec, bytes: &[::core::primitive::u8]) -> Self {
                #read
                #record { #(#ident: codec.#own.decode::<#ty>(bytes),)* }
            }

            fn encode(&self, codec: &__NpymapCodec, bytes: &mut [::core::primitive::u8]) -> #npymap::Result<()> {
                #(codec.#own.encode::<#ty>(#value, bytes)?;)*
                ::core::result::Result::Ok(())
            }

            #fast_path
        }

        #record_codec
    }
}

/// The fast path of records in place.
fn fast_path(container: &Container) -> TokenStream {
    let npymap = &container.npymap;
    quote! {
        fn fast_path() -> impl #npymap::__record::FastPath<Self> {
            #npymap::__record::Records
        }
    }
}

/// What the library asks the codec of a record in place.
fn record_codec(container: &Container, title: &str) -> TokenStream {
    let npymap = &container.npymap;
    quote! {
        #[automatically_derived]
        impl #npymap::__record::RecordCodec for __NpymapCodec {
            const RECORD: &'static ::core::primitive::str = #title;

            fn difference(&self) -> ::core::option::Option<&#npymap::__record::Difference> {
                self.difference.as_ref()
            }
        }
    }
}

/// `impl InPlace`, for what is `Pod` by bytemuck's own derive.
fn in_place(input: &DeriveInput, container: &Container) -> TokenStream {
    let (record, npymap) = (&input.ident, &container.npymap);
    quote!(#[automatically_derived] impl #npymap::element::InPlace for #record {})
}

/// `impl Typed`.
fn typed(input: &DeriveInput, container: &Container, parts: &[Part<'_>]) -> TokenStream {
    let (record, npymap) = (&input.ident, &container.npymap);
    let title = record.unraw().to_string();
    let slots = parts.iter().map(|Part { ident, ty, name, dtype, .. }| {
        let dtype = if let Some(descr) = dtype { quote!(#npymap::__record::stated::<#ty>(#title, #name, #descr)) } else { quote!(<#ty as #npymap::element::Typed>::dtype()) };
        quote!(#npymap::__record::slot::<#ty>(#name, ::core::mem::offset_of!(#record, #ident), || #dtype))
    });
    let size = if container.in_place {
        quote!(::core::option::Option::Some(::core::mem::size_of::<#record>()))
    } else {
        quote!(::core::option::Option::None)
    };
    quote! {
        #[automatically_derived]
        impl #npymap::element::Typed for #record {
            fn dtype() -> #npymap::DType {
                #npymap::__record::dtype(#title, ::std::vec![#(#slots),*], #size)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The message of a struct that is refused.
    fn refusal(input: &str) -> String {
        let input = syn::parse_str(input).unwrap();
        record(&input).map(|tokens| tokens.to_string()).unwrap_err().to_string()
    }

    #[test]
    fn what_can_be_no_record_is_refused_in_words() {
        for (input, expected) in [
            ("enum Row { A }", "a record is a struct: its fields are those of the dtype"),
            ("union Row { a: u8 }", "a record is a struct: its fields are those of the dtype"),
            (
                "struct Row(u8);",
                "fields are found by name: name them, or view the elements as a tuple",
            ),
            ("struct Row;", "fields are found by name: name them, or view the elements as a tuple"),
            ("struct Row<T> { x: T }", "a record has no parameters: it stands for one dtype"),
            ("struct Row { a: u8, #[record(rename = \"a\")] b: u8 }", "two fields are named `a`"),
            (
                "#[record(in_place)] struct Row { a: u8 }",
                "a record in place needs `#[repr(C)]` or `#[repr(C, packed)]`, which fix where its fields lie",
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
                "`<Q9` is not a dtype, expected a type string such as `<f8`, `|S10` or `<M8[ns]`",
            ),
        ] {
            assert_eq!(refusal(input), expected, "{input}");
        }
    }

    #[test]
    fn nothing_generated_is_unsafe() {
        let input = "#[record(in_place, subset)] #[repr(C, packed(2))] struct Row { r#type: u8, b: [f32; 2] }";
        let tokens = record(&syn::parse_str(input).unwrap()).unwrap().to_string();
        assert!(!tokens.contains("unsafe"), "{tokens}");
        assert!(tokens.contains("\"type\""), "{tokens}");
    }
}

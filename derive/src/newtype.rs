//! Expands `derive(Element)`.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};
use syn::{Data, DeriveInput, Error, Field, Index, LitStr, Member, Path, Result, parse_quote};

const NEWTYPE: &str = "`Element` can only be derived for structs with one field: derive `Record` for a structured dtype";

/// Implements `Element`, `Typed` if the field has it, and `InPlace` for
/// `#[repr(transparent)]`.
pub(crate) fn element(input: &DeriveInput) -> Result<TokenStream> {
    if let Some(parameter) = input.generics.params.first() {
        return Err(Error::new_spanned(
            parameter,
            "an element can't have type, lifetime or const parameters",
        ));
    }
    let npymap = npymap(input)?;
    let newtype = &input.ident;
    let (member, field) = only_field(input)?;
    let inner = &field.ty;
    let in_place = is_transparent(input)?.then(|| in_place(input, &npymap, field));
    let fast_path = in_place.is_some().then(|| {
        quote! {
            fn fast_path() -> impl #npymap::__record::FastPath<Self> {
                #npymap::__record::NewtypeFastPath::<#inner>::new()
            }
        }
    });
    Ok(quote! {
        const _: () = {
            #[automatically_derived]
            impl #npymap::Element for #newtype {
                type Codec = <#inner as #npymap::Element>::Codec;

                fn codec(dtype: &#npymap::DType) -> #npymap::Result<Self::Codec> {
                    <#inner as #npymap::Element>::codec(dtype)
                }

                #[inline]
                fn itemsize(codec: &Self::Codec) -> ::core::primitive::usize {
                    <#inner as #npymap::Element>::itemsize(codec)
                }

                #[inline]
                fn decode(codec: &Self::Codec, bytes: &[::core::primitive::u8]) -> Self {
                    Self { #member: <#inner as #npymap::Element>::decode(codec, bytes) }
                }

                #[inline]
                fn encode(
                    &self,
                    codec: &Self::Codec,
                    bytes: &mut [::core::primitive::u8],
                ) -> #npymap::Result<()> {
                    <#inner as #npymap::Element>::encode(&self.#member, codec, bytes)
                }

                #fast_path
            }

            // A false bound on concrete types is an error, unless it has a lifetime:
            // then the field need not be `Typed`.
            #[automatically_derived]
            impl #npymap::element::Typed for #newtype
            where
                for<'__npymap> #inner: #npymap::element::Typed,
            {
                fn dtype() -> #npymap::DType {
                    <#inner as #npymap::element::Typed>::dtype()
                }
            }

            #in_place
        };
    })
}

fn in_place(input: &DeriveInput, npymap: &Path, field: &Field) -> TokenStream {
    let (newtype, inner) = (&input.ident, &field.ty);
    quote! {
        #[automatically_derived]
        impl #npymap::element::InPlace for #newtype {
            fn is_in_place(codec: &Self::Codec) -> ::core::primitive::bool {
                <#inner as #npymap::element::InPlace>::is_in_place(codec)
            }
        }
    }
}

fn only_field(input: &DeriveInput) -> Result<(Member, &Field)> {
    if let Data::Struct(data) = &input.data {
        let mut fields = data.fields.iter();
        if let (Some(field), None) = (fields.next(), fields.next()) {
            let member = match &field.ident {
                Some(name) => Member::Named(name.clone()),
                None => Member::Unnamed(Index::from(0)),
            };
            return Ok((member, field));
        }
    }
    Err(Error::new_spanned(&input.ident, NEWTYPE))
}

fn is_transparent(input: &DeriveInput) -> Result<bool> {
    let mut transparent = false;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            transparent |= meta.path.is_ident("transparent");
            if meta.input.peek(syn::token::Paren) {
                meta.input.parse::<proc_macro2::TokenTree>()?.to_token_stream();
            }
            Ok(())
        })?;
    }
    Ok(transparent)
}

/// The path of the library: `#[element(crate = "path")]`.
fn npymap(input: &DeriveInput) -> Result<Path> {
    let mut npymap = parse_quote!(::npymap);
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("element")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("expected `crate`"));
            }
            npymap = meta.value()?.parse::<LitStr>()?.parse()?;
            Ok(())
        })?;
    }
    Ok(npymap)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(input: &str) -> Result<String> {
        element(&syn::parse_str(input).unwrap()).map(|tokens| tokens.to_string())
    }

    #[test]
    fn other_types_than_newtypes_are_rejected() {
        for (input, expected) in [
            ("enum Id { A }", NEWTYPE),
            ("struct Id;", NEWTYPE),
            ("struct Id(u8, u8);", NEWTYPE),
            ("struct Id<T>(T);", "an element can't have type, lifetime or const parameters"),
            ("#[element(in_place)] struct Id(u8);", "expected `crate`"),
        ] {
            assert_eq!(expanded(input).unwrap_err().to_string(), expected, "{input}");
        }
    }

    #[test]
    fn newtypes_expand_to_safe_code() {
        let tokens = expanded("#[repr(transparent)] struct Id { r#type: u8 }").unwrap();
        assert!(!tokens.contains("unsafe") && tokens.contains("InPlace"), "{tokens}");
        assert!(!expanded("struct Name(String);").unwrap().contains("InPlace"));
    }
}

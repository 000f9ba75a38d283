//! Expands `derive(Element)`.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};
use syn::{
    Data, DeriveInput, Error, Field, Index, LitStr, Member, Path, Result, Type, WhereClause,
    parse_quote,
};

const NEWTYPE: &str = "`Element` can only be derived for structs with one field: derive `Record` for a structured dtype";

/// Implements `Element`, `Typed` if the field has it, and `InPlace` for
/// `#[repr(transparent)]`.
pub(crate) fn element(input: &DeriveInput) -> Result<TokenStream> {
    if let Some(lifetime) = input.generics.lifetimes().next() {
        let message = "an element can't have lifetime parameters: it is a copy";
        return Err(Error::new_spanned(lifetime, message));
    }
    let npymap = npymap(input)?;
    let newtype = &input.ident;
    let (member, field) = only_field(input)?;
    let inner = &field.ty;
    let is_transparent = is_transparent(input)?;
    let (impl_generics, ty_generics, _) = input.generics.split_for_impl();
    let clause = with_bounds(input, &npymap, inner, is_transparent);
    let in_place = is_transparent.then(|| in_place(input, &npymap, inner));
    let own_clauses: Vec<_> =
        input.generics.where_clause.iter().flat_map(|clause| &clause.predicates).collect();
    let fast_path = in_place.is_some().then(|| {
        quote! {
            fn fast_path() -> impl #npymap::__record::FastPath<Self> {
                #npymap::__record::NewtypeFastPath::<#inner>::default()
            }
        }
    });
    Ok(quote! {
        const _: () = {
            #[automatically_derived]
            impl #impl_generics #npymap::Element for #newtype #ty_generics #clause {
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
            impl #impl_generics #npymap::element::Typed for #newtype #ty_generics
            where
                #(#own_clauses,)*
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

/// The clauses of an implementation for a generic newtype.
fn with_bounds(
    input: &DeriveInput,
    npymap: &Path,
    inner: &Type,
    is_transparent: bool,
) -> Option<WhereClause> {
    let mut generics = input.generics.clone();
    if generics.params.is_empty() {
        return None;
    }
    let clause = generics.make_where_clause();
    clause.predicates.push(parse_quote!(Self: 'static));
    if is_transparent {
        clause.predicates.push(parse_quote!(#inner: #npymap::element::InPlace));
        clause.predicates.push(parse_quote!(Self: #npymap::bytemuck::Pod));
    } else {
        clause.predicates.push(parse_quote!(#inner: #npymap::Element));
    }
    generics.where_clause
}

fn in_place(input: &DeriveInput, npymap: &Path, inner: &Type) -> TokenStream {
    let newtype = &input.ident;
    let (impl_generics, ty_generics, _) = input.generics.split_for_impl();
    let clause = with_bounds(input, npymap, inner, true);
    quote! {
        #[automatically_derived]
        impl #impl_generics #npymap::element::InPlace for #newtype #ty_generics #clause {
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
            ("struct Id<'a>(&'a u8);", "an element can't have lifetime parameters: it is a copy"),
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

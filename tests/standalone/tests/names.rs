//! Derives work where the names they might use have another meaning.
#![forbid(unsafe_code)]
#![allow(dead_code, non_camel_case_types)]

use npymap::{DType, MappedArray, bytemuck};

mod other {
    macro_rules! names {
        ($($name:ident)*) => {$(
            #[derive(Clone, Debug, Default, PartialEq, npymap::Record)]
            #[record(typed)]
            pub struct $name {
                pub x: u8,
            }
        )*};
    }

    names!(Codec Result Option Some Part Fields String Vec Box Error DType Self_ usize str);
}

/// Fields whose types have names that a derive might use.
#[derive(Clone, Debug, Default, PartialEq, npymap::Record)]
#[record(typed)]
struct Element {
    a: other::Codec,
    b: other::Result,
    c: other::Option,
    d: other::Some,
    e: other::Part,
    f: other::Fields,
    g: other::String,
    h: other::Vec,
    i: other::Error,
    j: other::DType,
    k: other::usize,
}

mod imported {
    use crate::other::{Box, Codec, DType, Error, Fields, Option, Part, Result, Some, String, Vec};

    #[derive(npymap::Record)]
    #[record(typed)]
    struct Row {
        a: Codec,
        b: Result,
        c: Option,
        d: Some,
        e: Part,
        f: Fields,
        g: String,
        h: Vec,
        i: Error,
        j: DType,
        k: Box,
        codec: f32,
        bytes: f64,
        fields: u8,
        difference: u8,
    }

    #[derive(Clone, Copy, npymap::bytemuck::Pod, npymap::bytemuck::Zeroable, npymap::Element)]
    #[bytemuck(crate = "npymap::bytemuck")]
    #[repr(transparent)]
    struct Element {
        codec: u32,
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[derive(bytemuck::Pod, bytemuck::Zeroable, npymap::Record)]
#[bytemuck(crate = "npymap::bytemuck")]
#[record(in_place)]
#[repr(C)]
struct Codec {
    x: f32,
    id: TokenId,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[derive(bytemuck::Pod, bytemuck::Zeroable, npymap::Element)]
#[bytemuck(crate = "npymap::bytemuck")]
#[repr(transparent)]
struct TokenId(u32);

/// Not in place, with a type that has no single dtype.
#[derive(Clone, Debug, PartialEq, npymap::Element)]
struct Name(String);

#[test]
fn records_whose_types_have_other_names_are_read() {
    let dtype = DType::of::<Element>();
    assert_eq!(dtype.fields().len(), 11);
    let mut array = MappedArray::zeros(&dtype, &[2]).unwrap();
    let row = Element { c: other::Option { x: 5 }, ..Element::default() };
    array.view_mut::<Element>().unwrap().set(1, row.clone()).unwrap();
    assert_eq!(array.view::<Element>().unwrap().to_vec(), [Element::default(), row]);
}

#[test]
fn a_record_named_codec_is_borrowed_in_place() {
    let mut array = MappedArray::zeros(&DType::of::<Codec>(), &[2]).unwrap();
    let row = Codec { x: 1.5, id: TokenId(7) };
    array.as_slice_mut::<Codec>().unwrap()[1] = row;
    assert_eq!(array.view::<Codec>().unwrap().at(1), row);
}

#[test]
fn a_newtype_is_stored_like_its_field() {
    let mut array = MappedArray::zeros(&DType::of::<TokenId>(), &[3]).unwrap();
    array.as_slice_mut::<TokenId>().unwrap()[1] = TokenId(9);
    assert_eq!(array.as_slice::<u32>().unwrap(), [0, 9, 0]);
    let mut names = MappedArray::zeros(&"<U3".parse().unwrap(), &[1]).unwrap();
    names.view_mut::<Name>().unwrap().set(0, Name("abc".to_owned())).unwrap();
    assert_eq!(names.view::<Name>().unwrap().to_vec(), [Name("abc".to_owned())]);
}

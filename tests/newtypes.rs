//! Newtypes are elements like the type they wrap.

use npymap::bytemuck::{Pod, Zeroable};
use npymap::{Be, DType, Element, MappedArray, Record, element::InPlace};

#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable, Element)]
#[repr(transparent)]
struct TokenId(u32);

#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable, Element)]
#[repr(transparent)]
struct Big {
    value: Be<u16>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable, Record)]
#[record(in_place)]
#[repr(C)]
struct Pair {
    token: TokenId,
    tokens: [TokenId; 2],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable, Element)]
#[repr(transparent)]
struct Wrapped(Pair);

/// Implements the traits by hand, including `InPlace`.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
struct ByHand(u32);

impl Element for ByHand {
    type Codec = <u32 as Element>::Codec;

    fn codec(dtype: &DType) -> npymap::Result<Self::Codec> {
        u32::codec(dtype)
    }

    fn itemsize(codec: &Self::Codec) -> usize {
        u32::itemsize(codec)
    }

    fn decode(codec: &Self::Codec, bytes: &[u8]) -> Self {
        ByHand(u32::decode(codec, bytes))
    }

    fn encode(&self, codec: &Self::Codec, bytes: &mut [u8]) -> npymap::Result<()> {
        self.0.encode(codec, bytes)
    }
}

impl InPlace for ByHand {
    fn is_in_place(codec: &Self::Codec) -> bool {
        u32::is_in_place(codec)
    }
}

#[test]
fn a_newtype_reads_and_writes_like_its_field() {
    for dtype in ["<u4", ">u4"] {
        let mut array = MappedArray::zeros(&dtype.parse().unwrap(), &[4, 3]).unwrap();
        let values: Vec<TokenId> = (0..12).map(TokenId).collect();
        let mut view = array.view_mut::<TokenId>().unwrap();
        view.copy_from_slice(&values).unwrap();
        view.map_inplace(|TokenId(id)| TokenId(id + 1)).unwrap();
        let tokens = array.view::<TokenId>().unwrap();
        let numbers = array.view::<u32>().unwrap();
        assert_eq!(inner_numbers(&tokens.to_vec()), (1..13).collect::<Vec<_>>());
        assert_eq!(inner_numbers(&tokens.t().to_vec()), numbers.t().to_vec());
        assert!(tokens.iter().eq(numbers.iter().map(TokenId)));
        let rows = tokens.select(0, &[3_usize, 1]).unwrap();
        assert_eq!(rows.mapv(|token| token.0), numbers.select(0, &[3_usize, 1]).unwrap());
        let native = dtype == if cfg!(target_endian = "big") { ">u4" } else { "<u4" };
        assert_eq!(tokens.as_slice().is_ok(), native);
    }
}

fn inner_numbers(tokens: &[TokenId]) -> Vec<u32> {
    tokens.iter().map(|token| token.0).collect::<Vec<_>>()
}

#[test]
fn a_newtype_can_be_borrowed_by_every_method() {
    let mut array = MappedArray::zeros(&DType::of::<TokenId>(), &[2, 2]).unwrap();
    array.as_slice_mut::<TokenId>().unwrap()[3] = TokenId(7);
    let view = array.view::<TokenId>().unwrap();
    let slice = view.as_slice().unwrap();
    assert_eq!(slice[3], TokenId(7));
    let mut blocks = view.blocks();
    assert_eq!(blocks.next().unwrap().as_ptr(), slice.as_ptr());
    let nd = view.as_ndarray::<npymap::ndarray::Ix2>().unwrap();
    assert_eq!(nd[[1, 1]], TokenId(7));
    let strings = MappedArray::zeros(&">u2".parse().unwrap(), &[3]).unwrap();
    assert_eq!(strings.as_slice::<Big>().unwrap(), [Big::default(); 3]);
}

#[test]
fn newtypes_are_fields_of_records_and_records_of_newtypes() {
    let dtype: DType = "[('token', '<u4'), ('tokens', '<u4', (2,))]".parse().unwrap();
    assert_eq!(DType::of::<Wrapped>().itemsize(), dtype.itemsize());
    let mut array = MappedArray::zeros(&DType::of::<Pair>(), &[3]).unwrap();
    let pair = Pair { token: TokenId(1), tokens: [TokenId(2), TokenId(3)] };
    array.as_slice_mut::<Wrapped>().unwrap()[1] = Wrapped(pair);
    assert_eq!(array.as_slice::<Pair>().unwrap()[1], pair);
    assert_eq!(array.view::<Wrapped>().unwrap().at(1).0, pair);
    let error = MappedArray::zeros(&DType::of::<f32>(), &[3]).unwrap();
    let error = error.as_slice::<TokenId>().map(<[_]>::len).unwrap_err();
    assert!(error.to_string().contains("use `f32`"), "{error}");
}

#[test]
fn a_newtype_without_derive_is_borrowed_in_place() {
    let mut array = MappedArray::zeros(&DType::of::<u32>(), &[2]).unwrap();
    array.as_slice_mut::<ByHand>().unwrap()[1] = ByHand(7);
    assert_eq!(array.view::<ByHand>().unwrap().as_slice().unwrap(), [ByHand(0), ByHand(7)]);
    let foreign = if cfg!(target_endian = "big") { "<u4" } else { ">u4" };
    let foreign = MappedArray::zeros(&foreign.parse().unwrap(), &[2]).unwrap();
    assert!(foreign.as_slice::<ByHand>().is_err());
}

/// A number of any type, in place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Zeroable, Pod, Element)]
#[repr(transparent)]
struct Meters<T>(T);

/// Decoded, as its parameter need not be plain data.
#[derive(Clone, Debug, PartialEq, Element)]
struct Label<T: Clone>(T)
where
    T: PartialEq;

#[derive(Clone, Copy, Debug, PartialEq, Zeroable, Pod, Element)]
#[repr(transparent)]
struct Point<const N: usize>([Be<i16>; N]);

#[test]
fn newtypes_are_generic() {
    let mut array = MappedArray::zeros(&DType::of::<Meters<f32>>(), &[2]).unwrap();
    array.as_slice_mut::<Meters<f32>>().unwrap()[1] = Meters(1.5);
    assert_eq!(array.view::<Meters<f32>>().unwrap().to_vec(), [Meters(0.0), Meters(1.5)]);
    let error = array.as_slice::<Meters<u8>>().unwrap_err();
    assert!(error.to_string().contains("use `f32`"), "{error}");
    let mut names = MappedArray::zeros(&"<U3".parse().unwrap(), &[1]).unwrap();
    names.view_mut::<Label<String>>().unwrap().set(0, Label("abc".to_owned())).unwrap();
    assert_eq!(names.view::<Label<String>>().unwrap().at(0), Label("abc".to_owned()));
    assert_eq!(DType::of::<Label<u8>>().to_string(), "'|u1'");
    assert_eq!(DType::of::<Point<3>>().to_string(), "('>i2', (3,))");
    let points = MappedArray::zeros(&DType::of::<Point<2>>(), &[4]).unwrap();
    assert_eq!(points.as_slice::<Point<2>>().unwrap().len(), 4);
}

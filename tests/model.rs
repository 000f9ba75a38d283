//! The model that views are compared with: an ndarray of positions, which
//! undergoes the same geometry changes, and the values that other code stored
//! at these positions.

use std::fmt::Debug;

use npymap::half::{bf16, f16};
use npymap::ndarray::{ArrayD, IxDyn, ShapeBuilder as _};
use npymap::num_complex::Complex;
use npymap::{
    Be, ByteOrder, DType, Element, Le, Order, View,
    element::{Bool, InPlace, Ticks},
    layout::Layout,
};
use proptest::prelude::*;

/// A dtype, values of it, and their bytes as NumPy stores them.
#[derive(Clone, Debug)]
pub(crate) struct Case<T> {
    /// Little-endian.
    pub(crate) dtype: DType,
    pub(crate) sample: fn(u64) -> T,
    /// The bytes of a value; zeros for padding.
    pub(crate) store: fn(&T, bool) -> Vec<u8>,
    /// Bytes of an element that belong to no field.
    pub(crate) padding: &'static [usize],
    /// Whether the stored bytes are those of `T`, given whether they are
    /// big-endian.
    pub(crate) exact: fn(bool) -> bool,
}

/// An element whose values can be compared.
pub(crate) trait Sample: Element + Clone + PartialEq + Debug + Send + Sync {}
impl<T: Element + Clone + PartialEq + Debug + Send + Sync> Sample for T {}

/// A function that is called with each case.
pub(crate) trait Visitor {
    fn decoded<T: Sample>(&mut self, case: &Case<T>);
    fn in_place<T: Sample + InPlace>(&mut self, case: &Case<T>);
}

fn case<T>(dtype: &str, sample: fn(u64) -> T, store: fn(&T, bool) -> Vec<u8>) -> Case<T> {
    let dtype = dtype.parse().unwrap();
    Case { dtype, sample, store, padding: &[], exact: |_| false }
}

fn native(big: bool) -> bool {
    big == cfg!(target_endian = "big")
}

/// The bytes of a number.
macro_rules! bytes {
    ($value:expr, $big:expr) => {
        if $big { $value.to_be_bytes().to_vec() } else { $value.to_le_bytes().to_vec() }
    };
}

/// Text of up to four characters; `wide` characters take several bytes in
/// UTF-8.
fn text(seed: u64, letters: [char; 4]) -> String {
    let text: String =
        (0..(seed >> 8) % 5).map(|i: u64| letters[(seed >> (2 * i)) as usize % 4]).collect();
    text.trim_end_matches('\0').to_owned()
}

fn part(seed: u64) -> f32 {
    f32::from(seed as i16) / 8.0
}

/// The number of cases of [`visit`], and of [`visit_other`].
pub(crate) const CASES: usize = 19;

/// Calls a method of the visitor with a case of a type that can be borrowed.
macro_rules! exact {
    ($visitor:ident, $case:expr, $exact:expr) => {
        $visitor.in_place(&Case { exact: $exact, ..$case })
    };
}

/// The same for an integer.
macro_rules! integer {
    ($visitor:ident, $type:ty, $dtype:literal, $exact:expr) => {
        exact!(
            $visitor,
            case::<$type>($dtype, |seed| seed as $type, |v, big| bytes!(v, big)),
            $exact
        )
    };
}

/// Calls the visitor with one of the cases: a type of each kind and size.
pub(crate) fn visit(number: usize, visitor: &mut impl Visitor) {
    match number {
        0 => visitor.decoded(&case("|b1", |seed| seed % 2 == 1, |&v, _| vec![u8::from(v)])),
        1 => integer!(visitor, i8, "|i1", |_| true),
        2 => integer!(visitor, u16, "<u2", native),
        3 => integer!(visitor, i32, "<i4", native),
        4 => exact!(
            visitor,
            case("|V2", |seed| bf16::from_f32(part(seed)), |v, _| v.to_le_bytes().to_vec()),
            |_| native(false)
        ),
        5 => {
            exact!(visitor, case("<f8", |seed| f64::from(part(seed)), |v, big| bytes!(v, big)), native);
        }
        6 => exact!(
            visitor,
            case(
                "<c8",
                |seed| Complex::new(part(seed), part(seed >> 7)),
                |v, big| [bytes!(v.re, big), bytes!(v.im, big)].concat()
            ),
            native
        ),
        7 => exact!(visitor, case("<M8[25s]", ticks, |v, big| bytes!(v.0, big)), native),
        8 => exact!(visitor, case("<m8", ticks, |v, big| bytes!(v.0, big)), native),
        9 => exact!(visitor, case::<[u8; 3]>("|S3", raw, |v, _| v.to_vec()), |_| true),
        10 => exact!(visitor, case::<[u8; 0]>("|V0", raw, |v, _| v.to_vec()), |_| true),
        11 => visitor.decoded(&case(
            "|S8",
            |seed| text(seed, ['a', 'é', '\0', 'ß']),
            |v, _| padded(v.bytes(), 8),
        )),
        12 => visitor.decoded(&case(
            "<U4",
            |seed| text(seed, ['a', '整', '\0', '😀']),
            |v, big| {
                let points: Vec<u8> =
                    v.chars().flat_map(|c| bytes!(u32::from(c), big)).collect();
                padded(points.into_iter(), 16)
            },
        )),
        13 => visitor.decoded(&case("|S0", |_| String::new(), |_, _| Vec::new())),
        14 => exact!(
            visitor,
            Case {
                dtype: ">f4".parse().unwrap(),
                ..case::<Be<f32>>(
                    "<f4",
                    |seed| Be::new(part(seed)),
                    |v, _| v.get().to_be_bytes().to_vec()
                )
            },
            |_| true
        ),
        15 => exact!(
            visitor,
            Case {
                dtype: DType::array("<i2".parse().unwrap(), &[3]).unwrap(),
                ..case::<[i16; 3]>("<i2", shorts, |v, big| {
                    v.iter().flat_map(|v| bytes!(v, big)).collect()
                })
            },
            native
        ),
        16 => visitor.decoded(&Case {
            dtype: DType::aligned([
                ("id", DType::of::<u8>()),
                ("x", "<f4".parse().unwrap()),
                ("y", "<i2".parse().unwrap()),
            ])
            .unwrap(),
            padding: &[1, 2, 3, 10, 11],
            ..case::<(u8, f32, i16)>(
                "|u1",
                |seed| (seed as u8, part(seed), seed as i16),
                |v, big| {
                    [vec![v.0, 0, 0, 0], bytes!(v.1, big), bytes!(v.2, big), vec![0; 2]].concat()
                },
            )
        }),
        17 => visitor.decoded(&Case {
            padding: &[5, 6, 7],
            ..case::<(i32, (bool, String), [u16; 2])>(
            "[('a', '<i4'), ('b', [('c', '|b1'), ('', '|V3'), ('d', '|S4')]), ('e', '<u2', (2,))]",
            |seed| {
                let word = text(seed, ['x', 'y', 'z', 'w']);
                (seed as i32, (seed % 2 == 0, word), [seed as u16, (seed >> 16) as u16])
            },
            |v, big| {
                let bool = vec![u8::from(v.1.0), 0, 0, 0];
                let text = padded(v.1.1.bytes(), 4);
                [bytes!(v.0, big), bool, text, bytes!(v.2[0], big), bytes!(v.2[1], big)].concat()
            },
        )}),
        _ => exact!(visitor, case::<[u8; 6]>("[('a', '<u2'), ('b', '<f4')]", raw, |v, _| v.to_vec()), |_| true),    }
}

/// The same with types that are read and written as one of [`visit`] is. Each costs most of
/// a second of compilation, so only `tests/matrix.rs` has them.
#[expect(clippy::too_many_lines, reason = "a table")]
pub(crate) fn visit_other(number: usize, visitor: &mut impl Visitor) {
    match number {
        0 => exact!(
            visitor,
            case("|b1", |seed| Bool::new(seed % 2 == 1), |v, _| vec![u8::from(v.get())]),
            |_| true
        ),
        1 => integer!(visitor, u8, "|u1", |_| true),
        2 => integer!(visitor, i16, "<i2", native),
        3 => integer!(visitor, u32, "<u4", native),
        4 => integer!(visitor, i64, "<i8", native),
        5 => integer!(visitor, u64, "<u8", native),
        6 => exact!(
            visitor,
            case("<f2", |seed| f16::from_f32(part(seed)), |v, big| bytes!(v, big)),
            native
        ),
        7 => exact!(visitor, case("<f4", part, |v, big| bytes!(v, big)), native),
        8 => exact!(
            visitor,
            case(
                "<c16",
                |seed| Complex::new(f64::from(part(seed)), f64::from(part(seed >> 7))),
                |v, big| [bytes!(v.re, big), bytes!(v.im, big)].concat()
            ),
            native
        ),
        9 => exact!(visitor, case::<[u8; 16]>("<c16", raw, |v, _| v.to_vec()), |_| true),
        10 => exact!(
            visitor,
            case::<Le<u32>>("<u4", |seed| Le::new(seed as u32), |v, big| bytes!(v.get(), big)),
            |_| true
        ),
        11 => exact!(
            visitor,
            Case {
                dtype: DType::array("<i2".parse().unwrap(), &[2, 3]).unwrap(),
                ..case::<[[i16; 3]; 2]>(
                    "<i2",
                    |seed| [shorts(seed), shorts(seed >> 5)],
                    |v, big| v.iter().flatten().flat_map(|v| bytes!(v, big)).collect()
                )
            },
            native
        ),
        12 => visitor.decoded(&Case {
            dtype: DType::array("|S2".parse().unwrap(), &[2]).unwrap(),
            ..case::<[String; 2]>(
                "|S2",
                |seed| {
                    [seed, seed >> 3]
                        .map(|seed| text(seed, ['a'; 4]).chars().take(2).collect::<String>())
                },
                |v, _| v.iter().flat_map(|v| padded(v.bytes(), 2)).collect(),
            )
        }),
        13 => visitor.decoded(&case(
            "[('id', '|u1'), ('x', '<f8')]",
            |seed| (seed as u8, f64::from(part(seed))),
            |v, big| [vec![v.0], bytes!(v.1, big)].concat(),
        )),
        14 => exact!(
            visitor,
            Case {
                dtype: ">M8[us]".parse().unwrap(),
                ..case::<Be<Ticks>>(
                    "<M8[us]",
                    |seed| Be::new(ticks(seed)),
                    |v, _| v.get().0.to_be_bytes().to_vec()
                )
            },
            |_| true
        ),
        15 => exact!(
            visitor,
            Case {
                dtype: DType::array("<f4".parse().unwrap(), &[2]).unwrap(),
                ..case::<[Le<f32>; 2]>(
                    "<f4",
                    |seed| [Le::new(part(seed)), Le::new(part(seed >> 9))],
                    |v, _| v.iter().flat_map(|v| v.get().to_le_bytes()).collect()
                )
            },
            |_| true
        ),
        16 => exact!(
            visitor,
            Case {
                dtype: DType::array("<f8".parse().unwrap(), &[0]).unwrap(),
                ..case::<[f64; 0]>("<f8", |_| [], |_, _| Vec::new())
            },
            native
        ),
        17 => visitor.decoded(&case::<(i64,)>(
            "[('only', '<i8')]",
            |seed| (seed as i64,),
            |v, big| bytes!(v.0, big),
        )),
        _ => visitor.decoded(&Case {
            dtype: DType::array("[('a', '<i2'), ('b', '|u1')]".parse().unwrap(), &[2]).unwrap(),
            ..case::<[(i16, u8); 2]>(
                "|u1",
                |seed| [(seed as i16, seed as u8), ((seed >> 4) as i16, (seed >> 9) as u8)],
                |v, big| v.iter().flat_map(|v| [bytes!(v.0, big), vec![v.1]].concat()).collect(),
            )
        }),
    }
}

fn ticks(seed: u64) -> Ticks {
    if seed % 7 == 0 { Ticks::NAT } else { Ticks(seed as i64) }
}

fn shorts(seed: u64) -> [i16; 3] {
    [seed as i16, (seed >> 16) as i16, (seed >> 32) as i16]
}

fn raw<const N: usize>(seed: u64) -> [u8; N] {
    std::array::from_fn(|i| (seed >> (i % 8)) as u8 ^ i as u8)
}

fn padded(bytes: impl Iterator<Item = u8>, size: usize) -> Vec<u8> {
    bytes.chain(std::iter::repeat(0)).take(size).collect()
}

/// Describes an array and the changes to its view.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) case: usize,
    pub(crate) shape: Vec<usize>,
    pub(crate) fortran: bool,
    pub(crate) big: bool,
    pub(crate) lead: usize,
    pub(crate) seed: u64,
    /// Numbers that select the geometry changes.
    pub(crate) steps: Vec<Vec<u32>>,
}

pub(crate) fn specs() -> impl Strategy<Value = Spec> {
    let dim = prop_oneof![1 => Just(0_usize), 3 => Just(1_usize), 12 => 2_usize..7];
    (
        0..CASES,
        prop::collection::vec(dim, 0..5),
        any::<[bool; 2]>(),
        prop_oneof![Just(0_usize), 0_usize..24],
        any::<u64>(),
        prop::collection::vec(prop::collection::vec(any::<u32>(), 14), 0..5),
    )
        .prop_map(|(case, shape, [fortran, big], lead, seed, steps)| Spec {
            case,
            shape,
            fortran,
            big,
            lead,
            seed,
            steps,
        })
}

/// A buffer aligned to 16 bytes that contains an array.
pub(crate) struct Stored<T> {
    words: Vec<u128>,
    len: usize,
    pub(crate) layout: Layout,
    pub(crate) big: bool,
    /// In memory order.
    pub(crate) values: Vec<T>,
    /// The position of each element: its number in memory.
    pub(crate) places: ArrayD<usize>,
}

/// A pseudo-random number.
pub(crate) fn mix(seed: u64, n: usize) -> u64 {
    let x = (seed ^ n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 3
}

impl<T: Sample> Stored<T> {
    pub(crate) fn new(case: &Case<T>, spec: &Spec) -> Stored<T> {
        // Dtypes whose text includes the byte order keep it.
        let order = if spec.big { ByteOrder::Big } else { ByteOrder::Little };
        let turned = case.dtype.with_byte_order(order);
        let (dtype, big) = match T::codec(&turned) {
            Ok(_) => (turned, spec.big),
            Err(_) => (case.dtype.clone(), false),
        };
        let order = if spec.fortran { Order::F } else { Order::C };
        let layout = Layout::new(dtype, &spec.shape, order, spec.lead).unwrap();
        let count = layout.len();
        let values: Vec<T> = (0..count).map(|n| (case.sample)(mix(spec.seed, n))).collect();
        let places: Vec<usize> = (0..count).collect();
        let shape = IxDyn(&spec.shape).set_f(spec.fortran);
        let places = ArrayD::from_shape_vec(shape, places).unwrap();
        // Bytes after the last element do not belong to the array.
        let len = (layout.offset() + layout.nbytes()) + 5;
        let mut stored =
            Stored { words: vec![!0 / 3; len.div_ceil(16)], len, layout, big, values, places };
        for n in 0..count {
            let value = stored.values[n].clone();
            stored.write(case, n, &value);
        }
        stored
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &npymap::bytemuck::cast_slice(&self.words)[..self.len]
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut npymap::bytemuck::cast_slice_mut(&mut self.words)[..self.len]
    }

    pub(crate) fn view(&self) -> View<'_, T> {
        View::from_bytes(self.bytes(), &self.layout).unwrap()
    }

    /// Stores a value in the model.
    pub(crate) fn write(&mut self, case: &Case<T>, place: usize, value: &T) {
        let stored = (case.store)(value, self.big);
        let size = self.layout.dtype().itemsize();
        assert_eq!(stored.len(), size);
        let start = self.layout.offset() + place * size;
        let element = &mut self.bytes_mut()[start..start + size];
        for (at, byte) in stored.into_iter().enumerate() {
            if !case.padding.contains(&at) {
                element[at] = byte;
            }
        }
        self.values[place] = value.clone();
    }

    /// The values at some positions, in C order.
    pub(crate) fn at(&self, places: &ArrayD<usize>) -> ArrayD<T> {
        let values = places.iter().map(|&place| self.values[place].clone()).collect();
        ArrayD::from_shape_vec(places.shape(), values).unwrap()
    }
}

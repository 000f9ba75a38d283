//! The types that can view elements in place, as rows of a table: the dtypes of
//! each, and functions that tests can call without knowing the type.

use npymap::half::{bf16, f16};
use npymap::ndarray::IxDyn;
use npymap::num_complex::Complex;
use npymap::{
    Be, Le, MappedArray, Result,
    element::{Bool, InPlace, Ticks},
    layout::Layout,
};

use crate::support::NATIVE;

/// A type to view elements as.
pub(crate) struct Row {
    /// Its name in errors.
    pub(crate) name: String,
    /// The dtypes that it can view, without byte order; for `[u8; N]`, all of
    /// `N` bytes.
    pub(crate) stands_on: &'static [&'static str],
    /// The byte order that it needs: `<`, `>`, or any.
    pub(crate) order: Option<char>,
    pub(crate) size: usize,
    pub(crate) align: usize,
    /// The values as numbers, by `as_slice`.
    pub(crate) slice: fn(&[u8], &Layout) -> Result<Vec<u128>>,
    /// The values as numbers in C order, by `as_ndarray`.
    pub(crate) ndarray: fn(&[u8], &Layout) -> Result<Vec<u128>>,
    /// Reverses the elements, by `as_slice_mut`.
    pub(crate) reverse: fn(&mut [u8], &Layout) -> Result<()>,
    /// Sets all elements to the last one, by `as_ndarray_mut`.
    pub(crate) fill: fn(&mut [u8], &Layout) -> Result<()>,
}

/// A value as an integer: its bits, for complex numbers those of the parts
/// after each other.
trait Number: InPlace {
    fn number(self) -> u128;
}

fn slice<T: Number>(bytes: &[u8], layout: &Layout) -> Result<Vec<u128>> {
    let array = MappedArray::from_parts(bytes, layout.clone())?;
    Ok(array.as_slice::<T>()?.iter().map(|value| value.number()).collect())
}

fn ndarray<T: Number>(bytes: &[u8], layout: &Layout) -> Result<Vec<u128>> {
    let array = MappedArray::from_parts(bytes, layout.clone())?;
    let view = array.as_ndarray::<T, IxDyn>()?;
    assert_eq!(view.shape(), layout.shape());
    Ok(view.iter().map(|value| value.number()).collect())
}

fn reverse<T: Number>(bytes: &mut [u8], layout: &Layout) -> Result<()> {
    let mut array = MappedArray::from_parts(bytes, layout.clone())?;
    array.as_slice_mut::<T>()?.reverse();
    Ok(())
}

fn fill<T: Number>(bytes: &mut [u8], layout: &Layout) -> Result<()> {
    let mut array = MappedArray::from_parts(bytes, layout.clone())?;
    let mut view = array.as_ndarray_mut::<T, IxDyn>()?;
    let last = view.iter().last().copied();
    if let Some(last) = last {
        view.fill(last);
    }
    Ok(())
}

fn row<T: Number>(
    name: impl Into<String>,
    stands_on: &'static [&'static str],
    order: Option<char>,
) -> Row {
    Row {
        name: name.into(),
        stands_on,
        order,
        size: size_of::<T>(),
        align: align_of::<T>(),
        slice: slice::<T>,
        ndarray: ndarray::<T>,
        reverse: reverse::<T>,
        fill: fill::<T>,
    }
}

impl Number for Bool {
    fn number(self) -> u128 {
        self.get().into()
    }
}

impl<const N: usize> Number for [u8; N] {
    fn number(self) -> u128 {
        self.iter().take(16).rev().fold(0, |number, &byte| number << 8 | u128::from(byte))
    }
}

/// Implements `Number` for a type and its `Le` and `Be`, and defines a function that makes
/// their rows of the table.
macro_rules! numbers {
    ($function:ident: $($type:ty, $name:literal, $stands_on:expr, $number:expr;)*) => {
        $(impl Number for $type {
            fn number(self) -> u128 {
                let number: fn($type) -> u128 = $number;
                number(self)
            }
        }

        impl Number for Le<$type> {
            fn number(self) -> u128 {
                self.get().number()
            }
        }

        impl Number for Be<$type> {
            fn number(self) -> u128 {
                self.get().number()
            }
        })*

        fn $function() -> Vec<Row> {
            vec![$(
                row::<$type>($name, $stands_on, Some(NATIVE)),
                row::<Le<$type>>(concat!("Le<", $name, ">"), $stands_on, Some('<')),
                row::<Be<$type>>(concat!("Be<", $name, ">"), $stands_on, Some('>')),
            )*]
        }
    };
}

const DATES: &[&str] = &["M8", "m8", "M8[ns]", "m8[25s]"];

numbers! {
    numbers:
    i8, "i8", &["i1"], |v| (v as u8).into();
    i32, "i32", &["i4"], |v| (v as u32).into();
    u16, "u16", &["u2"], |v| v.into();
    bf16, "bf16", &["V2"], |v| v.to_bits().into();
    f64, "f64", &["f8"], |v| v.to_bits().into();
    Complex<f32>, "Complex<f32>", &["c8"], |v| u128::from(v.re.to_bits()) << 32 | u128::from(v.im.to_bits());
    Ticks, "Ticks", DATES, |v| (v.0 as u64).into();
}

numbers! {
    other_numbers:
    i16, "i16", &["i2"], |v| (v as u16).into();
    i64, "i64", &["i8"], |v| (v as u64).into();
    u8, "u8", &["u1"], |v| v.into();
    u32, "u32", &["u4"], |v| v.into();
    u64, "u64", &["u8"], |v| v.into();
    f16, "f16", &["f2"], |v| v.to_bits().into();
    f32, "f32", &["f4"], |v| v.to_bits().into();
    Complex<f64>, "Complex<f64>", &["c16"], |v| u128::from(v.re.to_bits()) << 64 | u128::from(v.im.to_bits());
}

/// Makes the rows of `[u8; N]` for some `N`.
macro_rules! bytes {
    ($($n:literal)*) => {
        vec![$(row::<[u8; $n]>(format!("[u8; {}]", $n), &[], None),)*]
    };
}

/// A type of each kind and size, and those that errors about them suggest.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = vec![row::<Bool>("Bool", &["b1"], None)];
    rows.extend(numbers());
    rows.extend(bytes![0 1 2 3 8 9]);
    rows
}

/// All types, for `tests/matrix.rs`.
pub(crate) fn all_rows() -> Vec<Row> {
    let mut rows = rows();
    rows.extend(other_numbers());
    rows.extend(bytes![4 5 10 12 16 24 32]);
    rows
}

//! Test data: numbers in order, and random numbers that are the same on every
//! machine.
//!
//! The random number of an element depends only on the seed and on the element's
//! position in C order, so it is the same in every memory order. The help of
//! `npymap create` documents the generator, so that other programs can compute
//! the same numbers.

use crate::input::array_bytes::ArrayBytes;
use crate::input::lengths::{first_len, to_u64, with_length};
use std::iter;

use npymap::dtype::Kind;
use npymap::element::{Casting, InPlace, Real as _, Typed};
use npymap::half::f16;
use npymap::ndarray::Axis;
use npymap::{DType, MappedArray, MappedArrayMut, Result, Value};

use crate::input::progress::Progress;
use crate::select::cast;

/// Elements that are generated at a time.
const BLOCK: usize = 1 << 20;

/// The numbers of an array.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Numbers {
    /// `start + i * step`.
    IntRange {
        start: i128,
        step: i128,
    },
    FloatRange(FloatRange),
    /// Uniform in `low..high`.
    Uniform {
        seed: u64,
        low: f64,
        high: f64,
    },
    /// Normal, with mean 0 and standard deviation 1.
    Normal {
        seed: u64,
    },
    /// Uniform in `low..low + range`; the range is at most 2⁶⁴.
    Int {
        seed: u64,
        low: i128,
        range: u128,
    },
}

/// Evenly spaced floats, computed as NumPy's `arange` does: from the first two, in
/// single precision for dtypes of single and half precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FloatRange {
    first: f64,
    second: f64,
    is_single: bool,
}

/// Sets all elements of a new array of zeros to a value, and shows progress.
pub(crate) fn write_value(array: MappedArrayMut, value: &Value) -> Result<()> {
    let (dtype, total) = (array.dtype().clone(), array.nbytes());
    if total == 0 {
        return array.close();
    }
    // Their order does not matter: all have the same bytes.
    let count = array.len().min(BLOCK.div_ceil(dtype.itemsize().max(1)));
    let mut block = MappedArray::zeros(&dtype, &[count])?;
    block.dyn_view_mut()?.fill(value)?;
    let block = block.as_bytes()?;
    let (mut all, mut progress) = (ArrayBytes::new(array)?, Progress::new(total));
    let mut left = total;
    while left > 0 {
        let (part, _) = block.split_at(left.min(block.len()));
        all.push(part)?;
        progress.add(part.len());
        left -= part.len();
    }
    all.close()
}

impl FloatRange {
    /// The numbers from `start` on in steps of `step`, for a dtype of floats or complex
    /// numbers.
    pub(crate) fn new(start: f64, step: f64, dtype: &DType) -> Result<FloatRange> {
        let parts = if dtype.kind() == Kind::Complex { 2 } else { 1 };
        let size = dtype.itemsize() / parts;
        let round = |number| -> Result<f64> {
            match size {
                // At once: a number that was rounded to single precision may be a tie.
                2 => {
                    let half = cast_all(1, iter::once(number), &DType::of::<f16>())?;
                    Ok(half.view::<f16>()?.at(0).to_f64())
                }
                4 => Ok(to_single(number).into()),
                _ => Ok(number),
            }
        };
        let (first, second) = (round(start)?, round(start + step)?);
        Ok(FloatRange { first, second, is_single: size < 8 })
    }

    /// Number `at`, from 0.
    pub(crate) fn at(&self, at: u64) -> f64 {
        // Sums and products of single precision that are computed in double precision
        // are rounded to the same numbers.
        let round = |number| if self.is_single { to_single(number).into() } else { number };
        match at {
            0 => self.first,
            1 => self.second,
            at => {
                let step = round(self.second - self.first);
                round(self.first + round(round(at.to_f64()) * step))
            }
        }
    }
}

impl Numbers {
    /// Writes the numbers to a new array.
    pub(crate) fn write(&self, mut array: MappedArrayMut) -> Result<()> {
        let mut progress = Progress::new(array.nbytes());
        if array.is_empty() {
            return array.close();
        }
        if !array.layout().is_c_contiguous() {
            self.write_rows(&mut array, &mut progress)?;
            return array.close();
        }
        let (count, dtype) = (array.len(), array.dtype().clone());
        let mut array = ArrayBytes::new(array)?;
        for first in (0..count).step_by(BLOCK) {
            let block = self.block(first, BLOCK.min(count - first), &dtype)?;
            array.push(block.as_bytes()?)?;
            progress.add(block.nbytes());
        }
        array.close()
    }

    /// Writes the numbers to an array in Fortran order, some rows at a time.
    fn write_rows(&self, array: &mut MappedArrayMut, progress: &mut Progress) -> Result<()> {
        let (shape, dtype) = (array.shape().to_vec(), array.dtype().clone());
        let rows = first_len(&shape);
        let row = array.len() / rows;
        let step = (BLOCK / row).max(1);
        for first in (0..rows).step_by(step) {
            let len = step.min(rows - first);
            let block = self.block(first * row, len * row, &dtype)?;
            let part = with_length(&shape, 0, len);
            let range = cast::axis_range(shape.len(), Axis(0), first, len);
            array.write_slice(range, None, &block.dyn_view()?.reshape(&part)?, Casting::Equiv)?;
            progress.add(block.nbytes());
        }
        Ok(())
    }

    /// The numbers of `count` elements from position `first` on.
    fn block(&self, first: usize, count: usize, dtype: &DType) -> Result<MappedArrayMut> {
        let positions = (first..first + count).map(to_u64);
        match *self {
            Numbers::FloatRange(range) => cast_all(count, positions.map(|at| range.at(at)), dtype),
            Numbers::Uniform { seed, low, high } => {
                let numbers = positions.map(|at| low + (high - low) * unit(random(seed, at)));
                cast_all(count, numbers, dtype)
            }
            Numbers::Normal { seed } => {
                cast_all(count, positions.map(|at| normal(seed, at)), dtype)
            }
            Numbers::IntRange { start, step } => {
                let numbers = positions.map(|at| start + step * i128::from(at));
                integers(count, numbers, dtype)
            }
            Numbers::Int { seed, low, range } => {
                let numbers = positions.map(|at| {
                    let number = low.checked_add_unsigned(bounded(random(seed, at), range));
                    number.expect("it is below the upper bound")
                });
                integers(count, numbers, dtype)
            }
        }
    }
}

const FITS: &str = "the numbers fit the dtype";

/// Integers, which fit the dtype, as an array.
fn integers(
    count: usize,
    numbers: impl Iterator<Item = i128>,
    dtype: &DType,
) -> Result<MappedArrayMut> {
    if dtype.kind() == Kind::UInt {
        let numbers = numbers.map(|number| u64::try_from(number).expect(FITS));
        return cast_all(count, numbers, dtype);
    }
    cast_all(count, numbers.map(|number| i64::try_from(number).expect(FITS)), dtype)
}

/// Numbers as an array of a dtype, in memory.
fn cast_all<T: InPlace + Typed>(
    count: usize,
    numbers: impl Iterator<Item = T>,
    dtype: &DType,
) -> Result<MappedArrayMut> {
    let mut from = MappedArray::zeros(&DType::of::<T>(), &[count])?;
    from.as_slice_mut::<T>()?.iter_mut().zip(numbers).for_each(|(to, number)| *to = number);
    if from.dtype() == dtype {
        return Ok(from);
    }
    let mut to = MappedArray::zeros(dtype, &[count])?;
    to.dyn_view_mut()?.assign_as(&from.dyn_view()?, Casting::Unsafe)?;
    Ok(to)
}

/// Output `at`, from 0, of `SplitMix64` whose state starts with the seed.
fn random(seed: u64, at: u64) -> u64 {
    let state = seed.wrapping_add(at.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// The upper 53 bits of a random number as a fraction, 0 ≤ x < 1.
fn unit(random: u64) -> f64 {
    (random >> 11).to_f64() / 9_007_199_254_740_992.0
}

/// A random number scaled to `0..range`.
fn bounded(random: u64, range: u128) -> u128 {
    (u128::from(random) * range) >> 64
}

/// A normal number by Box and Muller's method, from the random numbers `2 * at`
/// and `2 * at + 1`. The functions of `libm` give the same digits on every
/// machine; those of systems don't.
fn normal(seed: u64, at: u64) -> f64 {
    let [a, b] = [0, 1].map(|part| unit(random(seed, at.wrapping_mul(2).wrapping_add(part))));
    (-2.0 * libm::log(1.0 - a)).sqrt() * libm::cos(2.0 * std::f64::consts::PI * b)
}

/// The nearest number of single precision.
#[allow(clippy::as_conversions, clippy::cast_possible_truncation)]
fn to_single(number: f64) -> f32 {
    number as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_splitmix64() {
        // The reference implementation's outputs for the state 1234567.
        let expected =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([0, 1, 2].map(|at| random(1_234_567, at)), expected);
    }

    #[test]
    fn random_numbers_stay_the_same() {
        assert_eq!(unit(u64::MAX).to_bits(), (1.0 - f64::EPSILON / 2.0).to_bits());
        assert_eq!(
            (bounded(u64::MAX, 10), bounded(0, 10), bounded(u64::MAX, 1 << 64)),
            (9, 0, u128::from(u64::MAX))
        );
        assert_eq!(u64::MAX.to_f64().to_bits(), 18_446_744_073_709_551_616_f64.to_bits());
    }
}

//! Casts between types of numbers.

use half::f16;
use num_complex::Complex;
use num_traits::AsPrimitive as _;

use crate::element::{Element, Typed};

/// A number of any type, during a cast. Every number of every type has an exact
/// representation here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WideNumber {
    /// Signed integers.
    Int(i64),
    /// Unsigned integers, and booleans.
    UInt(u64),
    /// Floats.
    Float(f64),
    /// Complex numbers.
    Complex(f64, f64),
}

/// Types of numbers that can be cast to each other: booleans, integers, floats
/// and complex numbers. Sealed.
///
/// Casts work as in NumPy: integers wrap, floats round, complex numbers lose
/// their imaginary part, and nonzero numbers become true. NumPy leaves casts of
/// floats outside an integer's range undefined: here they saturate, and NaN
/// becomes 0. As dates, all of these are `NaT`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number that can be cast: use `u64` for `usize`, `i64` for `isize`",
    label = "cannot be cast to or from"
)]
pub trait Number: Element + Typed + Copy + PartialEq + sealed::SealedNumber {
    /// Returns the exact value.
    #[doc(hidden)]
    fn widen(self) -> WideNumber;

    /// Casts a value to this type.
    #[doc(hidden)]
    fn narrow(wide: WideNumber) -> Self;

    /// Casts the number to another type.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::element::Number as _;
    ///
    /// assert_eq!(300_i32.cast::<u8>(), 44);
    /// assert_eq!((-1.9_f64).cast::<i16>(), -1);
    /// ```
    #[must_use]
    #[inline]
    fn cast<U: Number>(self) -> U {
        U::narrow(self.widen())
    }
}

mod sealed {
    pub trait SealedNumber {}
}

macro_rules! number {
    ($($type:ty: $widen:expr, $narrow:expr;)*) => {$(
        impl sealed::SealedNumber for $type {}

        impl Number for $type {
            #[inline]
            fn widen(self) -> WideNumber {
                let widen: fn($type) -> WideNumber = $widen;
                widen(self)
            }

            #[inline]
            fn narrow(wide: WideNumber) -> $type {
                let narrow: fn(WideNumber) -> $type = $narrow;
                narrow(wide)
            }
        }
    )*};
}

macro_rules! primitive {
    ($($type:ty, $widen:expr;)*) => {
        number! {$(
            $type: $widen, |wide| match wide {
                WideNumber::Int(value) => value.as_(),
                WideNumber::UInt(value) => value.as_(),
                WideNumber::Float(value) | WideNumber::Complex(value, _) => value.as_(),
            };
        )*}
    };
}

primitive! {
    i8, |value| WideNumber::Int(value.into());
    i16, |value| WideNumber::Int(value.into());
    i32, |value| WideNumber::Int(value.into());
    i64, WideNumber::Int;
    u8, |value| WideNumber::UInt(value.into());
    u16, |value| WideNumber::UInt(value.into());
    u32, |value| WideNumber::UInt(value.into());
    u64, WideNumber::UInt;
    f32, |value| WideNumber::Float(value.into());
    f64, WideNumber::Float;
}

number! {
    bool: |value| WideNumber::UInt(value.into()), |wide| match wide {
        WideNumber::Int(value) => value != 0,
        WideNumber::UInt(value) => value != 0,
        WideNumber::Float(value) => value != 0.0,
        WideNumber::Complex(re, im) => re != 0.0 || im != 0.0,
    };
    // NumPy casts integers to single precision first.
    f16: |value| WideNumber::Float(value.into()), |wide| match wide {
        WideNumber::Int(_) | WideNumber::UInt(_) => f16::from_f32_const(f32::narrow(wide)),
        WideNumber::Float(value) | WideNumber::Complex(value, _) => nearest_half(value),
    };
    Complex<f32>: |value| WideNumber::Complex(value.re.into(), value.im.into()), |wide| match wide {
        WideNumber::Complex(_, im) => Complex::new(f32::narrow(wide), im.as_()),
        _ => Complex::new(f32::narrow(wide), 0.0),
    };
    Complex<f64>: |value| WideNumber::Complex(value.re, value.im), |wide| match wide {
        WideNumber::Complex(re, im) => Complex::new(re, im),
        _ => Complex::new(f64::narrow(wide), 0.0),
    };
}

/// Returns whether a cast preserved a value: NumPy's `same_value`. A NaN is
/// preserved as any NaN.
#[expect(clippy::float_cmp, reason = "the comparison is exact")]
#[inline]
pub(crate) fn is_same_value(before: WideNumber, after: WideNumber) -> bool {
    match (before, after) {
        (WideNumber::Int(before), WideNumber::Int(after)) => before == after,
        (WideNumber::UInt(before), WideNumber::UInt(after)) => before == after,
        (WideNumber::Int(int), WideNumber::UInt(uint))
        | (WideNumber::UInt(uint), WideNumber::Int(int)) => u64::try_from(int) == Ok(uint),
        (WideNumber::Float(before), WideNumber::Float(after)) => {
            before == after || (before.is_nan() && after.is_nan())
        }
        (WideNumber::Complex(re, im), WideNumber::Complex(after_re, after_im)) => {
            is_same_value(WideNumber::Float(re), WideNumber::Float(after_re))
                && is_same_value(WideNumber::Float(im), WideNumber::Float(after_im))
        }
        (WideNumber::Complex(re, im), real) | (real, WideNumber::Complex(re, im)) => {
            im == 0.0 && is_same_value(WideNumber::Float(re), real)
        }
        (WideNumber::Float(float), int) | (int, WideNumber::Float(float)) => is_exactly(float, int),
    }
}

/// Returns whether a float is exactly an integer.
#[expect(clippy::float_cmp, reason = "the comparison is exact")]
#[inline]
fn is_exactly(float: f64, int: WideNumber) -> bool {
    match int {
        WideNumber::Int(int) => {
            let (rounded, back): (f64, i64) = (int.as_(), float.as_());
            // The largest integers round up to 2⁶³, which is not an `i64` but
            // saturates to the largest.
            rounded == float && back == int && float < 9_223_372_036_854_775_808.0
        }
        WideNumber::UInt(int) => {
            let (rounded, back): (f64, u64) = (int.as_(), float.as_());
            rounded == float && back == int && float < 18_446_744_073_709_551_616.0
        }
        WideNumber::Float(other) | WideNumber::Complex(other, _) => float == other,
    }
}

/// Rounds to the nearest half float, in a single rounding.
///
/// The double is first rounded to odd: if it lies between two single floats, to
/// the one with an odd last bit. That is never a tie between two half floats, so
/// rounding it again goes to the right side. `f16::from_f64` does not work here,
/// because it ignores the lower 32 bits of the double.
#[inline]
pub(crate) fn nearest_half(value: f64) -> f16 {
    let near: f32 = value.as_();
    let (back, bits) = (f64::from(near), near.to_bits());
    let is_exact = back.total_cmp(&value).is_eq() || value.is_nan();
    let odd = match bits {
        _ if is_exact || bits & 1 == 1 => bits,
        _ if back.abs() > value.abs() => bits - 1,
        _ => bits + 1,
    };
    f16::from_f32_const(f32::from_bits(odd))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_round_to_the_nearest_half() {
        for bits in 0..0x7bff_u16 {
            let (low, high) = (f16::from_bits(bits), f16::from_bits(bits + 1));
            let middle = f64::midpoint(low.to_f64(), high.to_f64());
            let even = if bits & 1 == 0 { low } else { high };
            assert_eq!((nearest_half(middle), nearest_half(-middle)), (even, -even), "{middle}");
            assert_eq!(nearest_half(f64::from_bits(middle.to_bits() - 1)), low, "{middle}");
            assert_eq!(nearest_half(f64::from_bits(middle.to_bits() + 1)), high, "{middle}");
            assert_eq!(nearest_half(low.to_f64()), low);
        }
        assert_eq!((nearest_half(65519.9), nearest_half(65520.0)), (f16::MAX, f16::INFINITY));
        assert_eq!(
            (nearest_half(1e300), nearest_half(-f64::INFINITY)),
            (f16::INFINITY, f16::NEG_INFINITY)
        );
        assert_eq!(nearest_half(-1e-300).to_bits(), 0x8000);
        assert!(nearest_half(f64::NAN).is_nan());
    }
}

//! The lesser and the greater of two values, as NumPy compares them.
#![expect(clippy::inline_always, reason = "only inlined code is compiled for AVX2")]
#![expect(clippy::needless_bitwise_bool, reason = "loops without branches are vectorized")]
#![expect(clippy::float_cmp, reason = "equal real parts are compared as NumPy does")]

use num_complex::Complex;

use super::{DateTime64, Element, Real, Ticks, TimeDelta64};

/// Values that have a minimum and a maximum in NumPy: booleans, integers,
/// floats, complex numbers, dates and time differences. Sealed.
///
/// NaN and `NaT` propagate: they are the minimum and the maximum of any values that
/// contain them. Complex numbers are ordered by their real parts, then by their
/// imaginary parts.
pub trait MinMax: Element + Copy + Send + Sync + sealed::SealedMinMax {
    /// Whether the extreme of many values depends on their order: NumPy's of
    /// complex numbers is the first that has a NaN in either part.
    #[doc(hidden)]
    const KEEPS_FIRST: bool = false;

    /// NumPy's `minimum`.
    #[doc(hidden)]
    #[must_use]
    fn lesser(self, other: Self) -> Self;

    /// NumPy's `maximum`.
    #[doc(hidden)]
    #[must_use]
    fn greater(self, other: Self) -> Self;
}

mod sealed {
    use super::{Complex, DateTime64, Real, Ticks, TimeDelta64};

    pub trait SealedMinMax {}

    impl<T: Real> SealedMinMax for T {}
    impl SealedMinMax for Complex<f32> {}
    impl SealedMinMax for Complex<f64> {}
    impl SealedMinMax for Ticks {}
    impl SealedMinMax for DateTime64 {}
    impl SealedMinMax for TimeDelta64 {}
}

impl<T: Real> MinMax for T {
    // `|` instead of `||`, because a loop without branches is vectorized.
    #[expect(clippy::eq_op, reason = "NaN is the only value that differs from itself")]
    #[inline(always)]
    fn lesser(self, other: T) -> T {
        if (self <= other) | (self != self) { self } else { other }
    }

    #[expect(clippy::eq_op, reason = "NaN is the only value that differs from itself")]
    #[inline(always)]
    fn greater(self, other: T) -> T {
        if (self >= other) | (self != self) { self } else { other }
    }
}

macro_rules! complex {
    ($($float:ty)*) => {$(
        impl MinMax for Complex<$float> {
            const KEEPS_FIRST: bool = true;

            #[inline(always)]
            fn lesser(self, other: Self) -> Self {
                let is_less = self.re < other.re && !self.im.is_nan() && !other.im.is_nan();
                let is_tie = self.re == other.re && self.im <= other.im;
                if is_less || is_tie || self.is_nan() { self } else { other }
            }

            #[inline(always)]
            fn greater(self, other: Self) -> Self {
                let is_greater = self.re > other.re && !self.im.is_nan() && !other.im.is_nan();
                let is_tie = self.re == other.re && self.im >= other.im;
                if is_greater || is_tie || self.is_nan() { self } else { other }
            }
        }
    )*};
}

complex! { f32 f64 }

impl MinMax for Ticks {
    /// `NaT` is the smallest count, so it needs no case of its own.
    #[inline(always)]
    fn lesser(self, other: Ticks) -> Ticks {
        if self <= other { self } else { other }
    }

    #[inline(always)]
    fn greater(self, other: Ticks) -> Ticks {
        let is_greater = (self >= other) & (other != Ticks::NAT);
        if is_greater | (self == Ticks::NAT) { self } else { other }
    }
}

macro_rules! with_unit {
    ($($name:ident)*) => {$(
        /// Both have the unit of the dtype.
        impl MinMax for $name {
            #[inline(always)]
            fn lesser(self, other: Self) -> Self {
                $name { ticks: self.ticks.lesser(other.ticks), ..self }
            }

            #[inline(always)]
            fn greater(self, other: Self) -> Self {
                $name { ticks: self.ticks.greater(other.ticks), ..self }
            }
        }
    )*};
}

with_unit! { DateTime64 TimeDelta64 }

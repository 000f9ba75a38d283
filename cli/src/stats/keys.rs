//! Numbers as 64-bit keys with the same order, so that elements of any type are
//! counted and selected by the same code.

use crate::input::lengths::to_usize;
use npymap::dtype::Kind;
use npymap::element::Real;
use npymap::half::f16;

/// The bit that separates negative from other numbers.
const SIGN: u64 = 1 << 63;

/// The number of parts into which a range of keys is split, as a power of two:
/// their counts fit in the fastest cache.
pub(crate) const SPLIT_BITS: u32 = 12;

/// A range of keys, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KeyRange {
    pub(crate) first: u64,
    pub(crate) last: u64,
}

impl KeyRange {
    /// By how many bits an offset in the range is shifted to get its part.
    pub(crate) fn shift(self) -> u32 {
        let bits = u64::BITS - (self.last - self.first).leading_zeros();
        bits.max(SPLIT_BITS) - SPLIT_BITS
    }

    /// The number of parts.
    pub(crate) fn parts(self) -> usize {
        to_usize((self.last - self.first) >> self.shift()) + 1
    }

    /// The range of one part.
    pub(crate) fn part(self, number: u64) -> KeyRange {
        let first = self.first + (number << self.shift());
        let rest = (1 << self.shift()) - 1;
        KeyRange { first, last: first + rest.min(self.last - first) }
    }

    /// The offset of a key in the range, if it is inside.
    pub(crate) fn offset(self, key: u64) -> Option<u64> {
        let offset = key.wrapping_sub(self.first);
        (offset <= self.last - self.first).then_some(offset)
    }
}

/// A number with a key. If one number is less than another, so is its key.
pub(crate) trait Key: Real {
    /// Whether zero has two keys, one for each sign.
    const IS_FLOAT: bool;

    /// The key; that of NaN has no meaning.
    fn key(self) -> u64;
}

macro_rules! impl_key {
    ($function:ident, $is_float:literal: $($type:ty),*) => {
        $(impl Key for $type {
            const IS_FLOAT: bool = $is_float;

            fn key(self) -> u64 {
                $function(self.into())
            }
        })*
    };
}

impl_key!(of_unsigned, false: bool, u8, u16, u32, u64);
impl_key!(of_signed, false: i8, i16, i32, i64);
impl_key!(of_float, true: f16, f32, f64);

fn of_unsigned(number: u64) -> u64 {
    number
}

fn of_signed(number: i64) -> u64 {
    number.cast_unsigned() ^ SIGN
}

fn of_float(number: f64) -> u64 {
    let bits = number.to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

/// The keys of all numbers from `min` to `max`. Zeros of both signs are equal, so
/// either may be an extreme.
pub(crate) fn range<T: Key>(min: T, max: T) -> KeyRange {
    let (first, last) = (min.key(), max.key());
    let (negative, positive) = (of_float(-0.0), of_float(0.0));
    KeyRange {
        first: if T::IS_FLOAT && first == positive { negative } else { first },
        last: if T::IS_FLOAT && last == negative { positive } else { last },
    }
}

/// The nearest `f64` to the number of a kind that has this key.
pub(crate) fn to_f64(kind: Kind, key: u64) -> f64 {
    match kind {
        Kind::Float if key & SIGN == 0 => f64::from_bits(!key),
        Kind::Float => f64::from_bits(key ^ SIGN),
        Kind::Int => (key ^ SIGN).cast_signed().to_f64(),
        _ => key.to_f64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_order_of_the_numbers_and_lead_back_to_them() {
        let floats = [f64::NEG_INFINITY, -1e300, -1.5, -0.0, 0.0, 5e-324, 2.0, f64::INFINITY];
        let keys = floats.map(Key::key);
        assert!(keys.is_sorted_by(|a, b| a < b));
        let again = keys.map(|key| to_f64(Kind::Float, key).to_bits());
        assert_eq!(again, floats.map(f64::to_bits));
        let integers = [i64::MIN, -3, -1, 0, 7, i64::MAX];
        let keys = integers.map(Key::key);
        assert!(keys.is_sorted_by(|a, b| a < b));
        let again = keys.map(|key| to_f64(Kind::Int, key).to_bits());
        assert_eq!(again, integers.map(|number| number.to_f64().to_bits()));
        assert_eq!([false.key(), true.key(), 9_u16.key()], [0, 1, 9]);
        assert!((-1_i8).key() < 0_i8.key() && f16::from_f32(0.5).key() < f16::ONE.key());
    }
}

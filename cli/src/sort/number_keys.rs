//! Numbers as bytes that compare in NumPy's order: NaN and `NaT` last, and zeros of
//! both signs equal.

use npymap::element::Ticks;
use npymap::half::f16;
use npymap::num_complex::Complex;
use npymap::{ByteOrder, Element};

/// A number with a key. Keys compare byte by byte as NumPy compares the numbers.
pub(super) trait NumberKey: Element {
    /// The bytes of the key.
    type Key: AsRef<[u8]>;

    /// The length of the key.
    const LEN: usize = size_of::<Self::Key>();

    fn key(self) -> Self::Key;
}

impl NumberKey for bool {
    type Key = [u8; 1];

    fn key(self) -> [u8; 1] {
        [u8::from(self)]
    }
}

macro_rules! unsigned {
    ($($T:ty)*) => {$(
        impl NumberKey for $T {
            type Key = [u8; size_of::<$T>()];

            fn key(self) -> Self::Key {
                self.to_be_bytes()
            }
        }
    )*};
}

macro_rules! signed {
    ($($T:ty)*) => {$(
        impl NumberKey for $T {
            type Key = [u8; size_of::<$T>()];

            fn key(self) -> Self::Key {
                (self ^ <$T>::MIN).to_be_bytes()
            }
        }
    )*};
}

macro_rules! floats {
    ($($T:ty, $Bits:ty;)*) => {$(
        impl NumberKey for $T {
            type Key = [u8; size_of::<$T>()];

            fn key(self) -> Self::Key {
                const SIGN: $Bits = 1 << (<$Bits>::BITS - 1);
                let bits = self.to_bits();
                let key = if self.is_nan() {
                    <$Bits>::MAX
                } else if bits & !SIGN == 0 {
                    SIGN
                } else if bits & SIGN == 0 {
                    bits | SIGN
                } else {
                    !bits
                };
                key.to_be_bytes()
            }
        }
    )*};
}

unsigned!(u8 u16 u32 u64);
signed!(i8 i16 i32 i64);
floats!(f16, u16; f32, u32; f64, u64;);

macro_rules! complex {
    ($($T:ty, $LEN:literal;)*) => {$(
        impl NumberKey for Complex<$T> {
            type Key = [u8; $LEN];

            fn key(self) -> Self::Key {
                let mut key = [0; $LEN];
                write_complex(&mut key, [self.re.key(), self.im.key()]);
                key
            }
        }
    )*};
}

complex!(f32, 9; f64, 17;);

impl NumberKey for Ticks {
    type Key = [u8; 8];

    fn key(self) -> [u8; 8] {
        // NaT is the least number, and follows all others.
        (self.0 ^ i64::MIN).wrapping_sub(1).to_be_bytes()
    }
}

/// The length of the key of an x86-64 long double.
pub(super) const LONG_DOUBLE: usize = 10;

/// Minus zero, with its sign first.
const MINUS_ZERO: [u8; LONG_DOUBLE] = [0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// The key of an x86-64 long double, which has 6 bytes of padding.
pub(super) fn long_double(stored: &[u8], order: ByteOrder) -> [u8; LONG_DOUBLE] {
    let is_big = order == ByteOrder::Big;
    let used = if is_big { stored.last_chunk() } else { stored.first_chunk() };
    let mut bytes: [u8; LONG_DOUBLE] = *used.expect("a long double has 16 bytes");
    if !is_big {
        bytes.reverse();
    }
    // The sign, an exponent of 15 bits, and 64 bits of which the first is before the point.
    let [sign_and_high, low, fraction @ ..] = bytes;
    let fraction = u64::from_be_bytes(fraction);
    let is_special = sign_and_high & 0x7f == 0x7f && low == 0xff;
    if is_special && fraction << 1 != 0 {
        return [0xff; LONG_DOUBLE];
    }
    if bytes == MINUS_ZERO || sign_and_high < 0x80 {
        bytes[0] |= 0x80;
        bytes
    } else {
        bytes.map(|byte| !byte)
    }
}

/// Writes a complex number's key from the keys of its parts. NumPy's order is first by the
/// NaN among the parts: neither part, the imaginary, the real, both.
pub(super) fn write_complex<K: AsRef<[u8]>>(key: &mut [u8], [re, im]: [K; 2]) {
    let [re, im] = [re.as_ref(), im.as_ref()];
    let is_nan = |part: &[u8]| u8::from(part.iter().all(|&byte| byte == 0xff));
    let parts = re.iter().chain(im);
    let rank = 2 * is_nan(re) + is_nan(im);
    key.iter_mut().zip(std::iter::once(&rank).chain(parts)).for_each(|(to, from)| *to = *from);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_numpys_order() {
        let floats = [f64::NEG_INFINITY, -1e300, -1.5, -5e-324, 0.0, 5e-324, 2.0, f64::INFINITY];
        assert!(floats.map(NumberKey::key).is_sorted_by(|a, b| a < b));
        assert!(f64::INFINITY.key() < f64::NAN.key());
        assert_eq!((-0.0_f32).key(), 0.0_f32.key());
        assert_eq!((-f64::NAN).key(), f64::NAN.key());
        assert!([i64::MIN, -3, -1, 0, 7, i64::MAX].map(NumberKey::key).is_sorted_by(|a, b| a < b));
        let ticks = [i64::MIN + 1, -1, 0, 5, i64::MAX, i64::MIN].map(|ticks| Ticks(ticks).key());
        assert!(ticks.is_sorted_by(|a, b| a < b));
        let nan = f64::NAN;
        let complex = [(1.0, 9.0), (2.0, -1.0), (0.0, nan), (1.0, nan), (nan, 0.0), (nan, nan)];
        assert!(complex.map(|(re, im)| Complex::new(re, im).key()).is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn long_doubles_compare_by_value() {
        // -inf, -1, the least, zeros of both signs, 1, 1.5, inf and NaN.
        let numbers = [
            (0xffff_u16, 1_u64 << 63),
            (0xbfff, 1 << 63),
            (0x8000, 1),
            (0, 0),
            (0, 1),
            (0x3fff, 1 << 63),
            (0x3fff, 3 << 62),
            (0x7fff, 1 << 63),
            (0xffff, 3 << 62),
        ];
        let stored = |(high, low): (u16, u64)| {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&low.to_le_bytes());
            bytes[8..10].copy_from_slice(&high.to_le_bytes());
            bytes
        };
        let keys = numbers.map(|number| long_double(&stored(number), ByteOrder::Little));
        assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
        let zero = long_double(&stored((0x8000, 0)), ByteOrder::Little);
        assert_eq!(zero, keys[3]);
        for (number, key) in numbers.into_iter().zip(keys) {
            let mut big = stored(number);
            big.reverse();
            assert_eq!(long_double(&big, ByteOrder::Big), key);
        }
    }
}

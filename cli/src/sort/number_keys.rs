//! Elements as bytes that compare in NumPy's order: NaN and `NaT` last, and zeros of
//! both signs equal.

use npymap::dtype::Kind;
use npymap::{ByteOrder, DType, Error, ErrorKind, Result};

use crate::sort::numbers::NumberFormat;

/// The length of the key of an element.
pub(super) fn size(dtype: &DType) -> Result<usize> {
    match (dtype.kind(), dtype.itemsize()) {
        (Kind::Float, 16) => Ok(LONG_DOUBLE),
        (Kind::Complex, 32) => Ok(2 * LONG_DOUBLE + 1),
        (Kind::Complex, size) => Ok(size + 1),
        (Kind::Struct | Kind::Subarray, _) => {
            let text = format!("elements of dtype {dtype} have no order");
            Err(Error::new(ErrorKind::DTypeMismatch, text))
        }
        (_, size) => Ok(size),
    }
}

/// Writes the key of an element that is no plain number.
pub(super) fn write(dtype: &DType, stored: &[u8], key: &mut [u8]) {
    let order = dtype.byte_order();
    match dtype.kind() {
        Kind::Bool => key.fill(stored.iter().any(|&byte| byte != 0).into()),
        Kind::Float => write_float(order, stored, key),
        Kind::Complex => write_complex(order, stored, key),
        Kind::Unicode => {
            // Code points compare as numbers.
            key.copy_from_slice(stored);
            if order != ByteOrder::Big {
                key.chunks_exact_mut(4).for_each(<[u8]>::reverse);
            }
        }
        _ => key.copy_from_slice(stored),
    }
}

fn write_float(order: ByteOrder, stored: &[u8], key: &mut [u8]) {
    match NumberFormat::new(Kind::Float, stored.len(), order) {
        Some(format) => format.write_key(stored, key),
        None => key.copy_from_slice(&long_double(stored, order)),
    }
}

/// NumPy's order of complex numbers is first by the NaN among the parts: neither part, the
/// imaginary, the real, both.
fn write_complex(order: ByteOrder, stored: &[u8], key: &mut [u8]) {
    let Some((rank, parts)) = key.split_first_mut() else { return };
    let (re, im) = parts.split_at_mut(parts.len() / 2);
    let stored = stored.split_at(stored.len() / 2);
    write_float(order, stored.0, re);
    write_float(order, stored.1, im);
    let is_nan = |part: &[u8]| u8::from(part.iter().all(|&byte| byte == 0xff));
    *rank = 2 * is_nan(re) + is_nan(im);
}

/// The length of the key of an x86-64 long double.
const LONG_DOUBLE: usize = 10;

/// Minus zero, with its sign first.
const MINUS_ZERO: [u8; LONG_DOUBLE] = [0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// The key of an x86-64 long double, which has 6 bytes of padding.
fn long_double(stored: &[u8], order: ByteOrder) -> [u8; LONG_DOUBLE] {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complex_numbers_with_nan_are_last() {
        let nan = f64::NAN;
        let numbers = [(1.0, 9.0), (2.0, -1.0), (0.0, nan), (1.0, nan), (nan, 0.0), (nan, nan)];
        let keys = numbers.map(|(re, im): (f64, f64)| {
            let stored = [re.to_le_bytes(), im.to_le_bytes()].concat();
            let mut key = [0; 17];
            write(&"<c16".parse().unwrap(), &stored, &mut key);
            key
        });
        assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
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

//! Elements as text in tables: CSV and the like. Numbers print as in NumPy, but
//! fast.

use std::fmt::Write as _;

use npymap::half::f16;
use npymap::{Element, Result, Value, element::Ticks, view::DynView, with_type};

use crate::input::float_text;
use crate::input::text_format::is_bytes_literal;

/// The elements of a column, or of several columns of one field, row by row.
pub(crate) trait Cells {
    /// Appends the text of an element.
    fn write(&self, index: usize, out: &mut String);

    /// Returns whether an element is NaN or `NaT`.
    fn is_nan(&self, index: usize) -> bool;
}

/// Decodes the elements of a view, in C order.
pub(crate) fn decode(view: &DynView<'_>) -> Result<Box<dyn Cells>> {
    Ok(with_type!(view.dtype(), real T => Box::new(view.view::<T>()?.to_vec()), _ => {
        Box::new(view.to_vec())
    }))
}

impl<T: Cell> Cells for Vec<T> {
    fn write(&self, index: usize, out: &mut String) {
        if let Some(value) = self.get(index) {
            value.write(out);
        }
    }

    fn is_nan(&self, index: usize) -> bool {
        self.get(index).is_some_and(Cell::is_nan)
    }
}

/// An element with text.
pub(crate) trait Cell: Element {
    fn write(&self, out: &mut String);

    fn is_nan(&self) -> bool {
        false
    }
}

macro_rules! integers {
    ($($T:ty)*) => {$(
        impl Cell for $T {
            fn write(&self, out: &mut String) {
                // Writing to a string cannot fail.
                let _ = write!(out, "{self}");
            }
        }
    )*};
}

integers!(i8 i16 i32 i64 u8 u16 u32 u64);

impl Cell for bool {
    fn write(&self, out: &mut String) {
        out.push_str(if *self { "True" } else { "False" });
    }
}

impl Cell for f16 {
    fn write(&self, out: &mut String) {
        let _ = write!(out, "{}", float_text::text(&Value::F16(*self)));
    }

    fn is_nan(&self) -> bool {
        f16::is_nan(*self)
    }
}

macro_rules! floats {
    ($($T:ident, $Variant:ident, $LARGE:literal;)*) => {$(
        impl Cell for $T {
            fn write(&self, out: &mut String) {
                let is_scientific = is_scientific(f64::from(*self), $LARGE);
                let mut digits = zmij::Buffer::new();
                write_float(out, digits.format(*self), is_scientific, &Value::$Variant(*self));
            }

            fn is_nan(&self) -> bool {
                $T::is_nan(*self)
            }
        }
    )*};
}

floats!(f32, F32, 1e6; f64, F64, 1e16;);

/// Returns whether NumPy prints a float in scientific notation, which starts at
/// `large`.
fn is_scientific(value: f64, large: f64) -> bool {
    value != 0.0 && (value.abs() < 1e-4 || value.abs() >= large)
}

/// Writes a float as NumPy's `str` does, given the shortest digits that identify
/// it: in scientific notation if it is small or large, otherwise not.
fn write_float(out: &mut String, digits: &str, is_scientific: bool, value: &Value) {
    if let Some(rounded) = float_text::rounded(value) {
        return out.push_str(&rounded);
    }
    let is_finite = digits.ends_with(|c: char| c.is_ascii_digit());
    match digits.split_once('e') {
        None if is_finite && !is_scientific => out.push_str(digits),
        Some((mantissa, exponent)) if is_scientific => {
            let (sign, exponent) = exponent
                .strip_prefix('-')
                .map_or(('+', exponent.trim_start_matches('+')), |e| ('-', e));
            let mantissa = mantissa.strip_suffix(".0").unwrap_or(mantissa);
            let _ = write!(out, "{mantissa}e{sign}{exponent:0>2}");
        }
        _ => {
            let _ = write!(out, "{value}");
        }
    }
}

impl Cell for Value {
    fn write(&self, out: &mut String) {
        match self {
            Value::F32(value) => Cell::write(value, out),
            Value::F64(value) => Cell::write(value, out),
            Value::Bytes(bytes) => push_bytes(bytes, out),
            // A count, which a program can read.
            Value::TimeDelta(ticks, _) if *ticks != Ticks::NAT => Cell::write(&ticks.0, out),
            _ => {
                let _ = write!(out, "{}", float_text::text(self));
            }
        }
    }

    fn is_nan(&self) -> bool {
        match self {
            Value::F16(value) => value.is_nan(),
            Value::F32(value) => value.is_nan(),
            Value::F64(value) => value.is_nan(),
            Value::DateTime(ticks, _) | Value::TimeDelta(ticks, _) => *ticks == Ticks::NAT,
            _ => false,
        }
    }
}

/// Appends bytes as text if they are UTF-8, otherwise as Python prints them, and
/// also if the text could be taken for that.
fn push_bytes(bytes: &[u8], out: &mut String) {
    match std::str::from_utf8(bytes) {
        Ok(text) if !is_bytes_literal(text) => out.push_str(text),
        _ => {
            let _ = write!(out, "{}", Value::Bytes(bytes.to_vec()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(cell: &impl Cell) -> String {
        let mut out = String::new();
        cell.write(&mut out);
        out
    }

    #[test]
    fn floats_print_as_by_themselves() {
        let mut state = 1_u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state ^ (state >> 33)
        };
        let bits = (0..20_000).map(|_| f64::from_bits(random()));
        let decimals = (0..20_000).map(|n| f64::from(n) / 1000.0 - 3.0);
        // Halfway between two shortest texts.
        let dyadic = (0..200)
            .map(|n| 1.0 + 2_f64.powi(-n))
            .chain((0..200).map(|n| 3.0 * 2_f64.powi(n - 100)));
        let special = [
            0.0,
            -0.0,
            f64::NAN,
            f64::INFINITY,
            -f64::INFINITY,
            1e-4,
            1e15,
            1e16,
            1e22,
            5e-324,
            f64::MAX,
            123_456_789.0,
        ];
        for value in bits.chain(decimals).chain(dyadic).chain(special) {
            assert_eq!(text(&value), Value::F64(value).to_string());
            #[allow(clippy::cast_possible_truncation, clippy::as_conversions)]
            let single = value as f32;
            assert_eq!(text(&single), Value::F32(single).to_string());
        }
    }

    #[test]
    fn other_values_are_texts_that_programs_read() {
        for (dtype, printed, expected) in [
            ("<m8[ms]", "300 milliseconds", "300"),
            ("<m8[ms]", "NaT", "NaT"),
            ("<M8[D]", "2020-02-29", "2020-02-29"),
            ("|S4", "b'a,b'", "a,b"),
            ("|S4", r"b'\xff'", r"b'\xff'"),
            ("|S9", r#"b"it's\xff""#, r#"b"it's\xff""#),
            ("|S9", r#"b"b'x'""#, r#"b"b'x'""#),
            ("|S9", r#"b" b''""#, r#"b" b''""#),
            ("|S9", r#"b"b'""#, "b'"),
            ("<U3", "'ü'", "ü"),
            ("|b1", "True", "True"),
            ("<f2", "0.1", "0.1"),
            ("<c16", "1+2j", "(1+2j)"),
        ] {
            let value = Value::parse(printed, &dtype.parse().unwrap()).unwrap();
            assert_eq!(text(&value), expected);
            assert_eq!(value.is_nan(), printed == "NaT");
        }
    }
}

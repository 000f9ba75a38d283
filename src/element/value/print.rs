//! Prints values as NumPy does: `str` of scalars, and the style of arrays inside
//! records.

use std::fmt::{self, Write as _};

use super::columns::column;
use super::digits::{Digits, format_complex, format_float};
use super::{Value, date};
use crate::dtype::Unit;
use crate::dtype::literal::{quoted, quoted_bytes};
use crate::element::Ticks;

/// `{}` prints NumPy's `str` of the scalar, `{:#}` prints it as inside a record.
impl fmt::Display for Value {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            _ if f.alternate() => f.write_str(&self.in_record()),
            Value::Bool(true) => f.write_str("True"),
            Value::Bool(false) => f.write_str("False"),
            Value::Int(value) => write!(f, "{value}"),
            Value::UInt(value) => write!(f, "{value}"),
            Value::F16(value) => f.write_str(&format_float(&Digits::half(*value))),
            Value::F32(value) => f.write_str(&format_float(&Digits::single(*value))),
            Value::F64(value) => f.write_str(&format_float(&Digits::double(*value))),
            Value::C64(value) => f.write_str(&format_complex(value, Digits::single)),
            Value::C128(value) => f.write_str(&format_complex(value, Digits::double)),
            Value::Bytes(bytes) => write!(f, "b{}", quoted_bytes(bytes)),
            Value::Text(text) => f.write_str(text),
            Value::Void(bytes) => write_hex(f, bytes),
            Value::DateTime(ticks, unit) => f.write_str(&date_text(*ticks, *unit)),
            Value::TimeDelta(ticks, unit) => f.write_str(&difference_text(*ticks, *unit)),
            Value::Record(_) | Value::Array(_) => f.write_str(&column(&[self], false).concat()),
        }
    }
}

impl Value {
    /// Prints the value as inside a record: text and dates in quotes, the parts of
    /// complex numbers with at most eight digits after the point.
    #[inline]
    pub(super) fn in_record(&self) -> String {
        match self {
            Value::C64(_) | Value::C128(_) => column(&[self], false).concat(),
            Value::Text(text) => quoted(text),
            Value::DateTime(..) => format!("'{self}'"),
            Value::TimeDelta(Ticks::NAT, _) => "'NaT'".to_owned(),
            Value::TimeDelta(Ticks(count), _) => count.to_string(),
            _ => self.to_string(),
        }
    }
}

/// Prints a date, or its count if it has no unit.
#[inline]
pub(crate) fn date_text(ticks: Ticks, unit: Option<Unit>) -> String {
    match (ticks, unit) {
        (Ticks::NAT, _) => "NaT".to_owned(),
        (ticks, Some(unit)) => date::format_date(ticks, unit),
        (Ticks(count), None) => count.to_string(),
    }
}

/// Prints a time difference: `5 seconds`.
#[inline]
pub(crate) fn difference_text(Ticks(count): Ticks, unit: Option<Unit>) -> String {
    if Ticks(count) == Ticks::NAT {
        return "NaT".to_owned();
    }
    let name = unit.map_or("generic time units", |unit| unit.base.texts().1);
    let multiple = unit.map_or(1, |unit| unit.multiple);
    format!("{} {name}", i128::from(count) * i128::from(multiple))
}

/// Writes void as NumPy does: `b'\x00\xFF'`.
#[inline]
fn write_hex(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    f.write_str("b'")?;
    bytes.iter().try_for_each(|byte| write!(f, "\\x{byte:02X}"))?;
    f.write_char('\'')
}

#[cfg(test)]
#[expect(clippy::excessive_precision, reason = "the test is about digits that are rounded")]
mod tests {
    use half::f16;

    use super::*;
    use crate::dtype::DType;

    fn half_text(value: f32) -> String {
        Value::F16(f16::from_f32(value)).to_string()
    }

    fn single_text(value: f32) -> String {
        Value::F32(value).to_string()
    }

    fn double_text(value: f64) -> String {
        Value::F64(value).to_string()
    }

    #[test]
    fn floats_print_as_in_numpy() {
        assert_eq!(
            [999.5, 1000.0, 1001.0, 1e-4, 0.015_625].map(half_text),
            ["999.5", "1e+03", "1.001e+03", "0.0001", "0.01563"]
        );
        assert_eq!([999_999.0, 1e6, 1e-4].map(single_text), ["999999.0", "1e+06", "1e-04"]);
        assert_eq!([1e15, 1e16, 1e-4].map(double_text), ["1000000000000000.0", "1e+16", "0.0001"]);
        // Halfway between two shortest texts, NumPy chooses the even one.
        assert_eq!(single_text(512_313.625), "512313.62");
        assert_eq!(double_text(1_997_596_571_370_196.25), "1997596571370196.2");
    }

    /// Parses text and prints the value.
    fn print(descr: &str, text: &str) -> String {
        let dtype: DType = descr.parse().unwrap();
        Value::parse(text, &dtype).unwrap().to_string()
    }

    #[test]
    fn differences_in_a_unit_of_no_length_have_no_duration() {
        assert!(Value::parse("5 seconds", &"<m8[0s]".parse().unwrap()).is_err());
        assert_eq!(print("<m8[0s]", "5"), "0 seconds");
    }

    #[test]
    fn records_print_as_in_numpy() {
        assert_eq!(print("[('a', '<i4'), ('b', '<f8')]", "(-51, 12)"), "(-51, 12.0)");
        assert_eq!(
            print("[('y', '<i2', (2, 3))]", "([[-88, -51, -14], [23, 60, 97]],)"),
            "([[-88, -51, -14], [ 23,  60,  97]],)"
        );
        assert_eq!(
            print("[('a', '|b1', (2,)), ('b', '|b1')]", "([True, False], True)"),
            "([ True, False], True)"
        );
        assert_eq!(
            print("[('k', [('x', '<i2', (2,))], (2,))]", "([([1, 20],), ([300, 4],)],)"),
            "([([  1,  20],), ([300,   4],)],)"
        );
        assert_eq!(
            print("[('d', '<M8[D]', (2,)), ('c', '<c8')]", "(['2020-02-29', 'NaT'], 1e7-0.5j)"),
            "(['2020-02-29',        'NaT'], 1.e+07-0.5j)"
        );
    }

    #[test]
    fn the_width_of_a_year_includes_its_sign() {
        let dtype: DType = "<M8[Y]".parse().unwrap();
        assert_eq!(Value::DateTime(Ticks(-1970 - 381), dtype.unit()).to_string(), "-381");
    }
}

//! Parses cells as values of a dtype.

use std::str::FromStr;

use npymap::{
    DType, Element, Error, ErrorKind, Result, Value, dtype::Kind, element::Ticks, half::f16,
    num_complex::Complex,
};

use super::facts::{Cell, is_missing, parse_bool, trimmed};
use crate::input::text_format::is_bytes_literal;

/// Stores the value of a cell in the bytes of an element.
pub(super) type CellParser = Box<dyn Fn(Cell<'_>, &DType, &mut [u8]) -> Result<()> + Send + Sync>;

/// Parses numbers as Rust does, which is fast, and everything else as
/// [`store_value`] does.
fn number_parser<T>(dtype: &DType) -> Result<CellParser>
where
    T: Element + FromStr,
    T::Codec: Send + Sync + 'static,
{
    let codec = T::codec(dtype)?;
    Ok(Box::new(move |cell, dtype, to| match trimmed(cell.text).parse::<T>() {
        Ok(value) => value.encode(&codec, to),
        Err(_) => store_value(cell, dtype, to),
    }))
}

/// Parses floats up to a largest one. Those of 32 bits are rounded through those of 64, as
/// by NumPy.
fn float_parser(largest: f64) -> CellParser {
    Box::new(move |cell, dtype, to| match trimmed(cell.text).parse::<f64>() {
        Ok(value) if value.abs() <= largest || value.is_nan() => {
            Value::F64(value).encode(dtype, to)
        }
        // Others are infinite, or outside the range.
        _ => store_value(cell, dtype, to),
    })
}

/// The digits of an integer that an error shows.
const MAX_SHOWN: usize = 40;

/// Parses floats of 64 bits as another parser does, but rejects integers that are rounded.
/// Numbers that would become infinite are rejected with the same advice.
pub(super) fn without_rounding(parse: CellParser) -> CellParser {
    Box::new(move |cell, dtype, to| {
        let text = trimmed(cell.text);
        match rounded(text) {
            Some(other) => Err(would_become(text, &other, dtype)),
            None => parse(cell, dtype, to).map_err(|error| {
                let is_too_large = text.parse().is_ok_and(f64::is_infinite);
                if is_too_large { would_become(text, "inf", dtype) } else { error }
            }),
        }
    })
}

/// The error for a number that the inferred dtype cannot hold.
fn would_become(text: &str, other: &str, dtype: &DType) -> Error {
    let start = text.get(..MAX_SHOWN).unwrap_or(text);
    let dots = if start.len() < text.len() { "…" } else { "" };
    let text = format!(
        "{start}{dots} would become {other} in the inferred dtype {dtype}: choose one with --dtype"
    );
    Error::new(ErrorKind::InvalidValue, text)
}

/// The integer that a text becomes as a float of 64 bits, if it is another one.
fn rounded(text: &str) -> Option<String> {
    let digits = text.trim_start_matches(['-', '+']).trim_start_matches('0');
    // All integers of so few digits are floats.
    if digits.len() <= 15 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let float: f64 = text.parse().ok()?;
    // Some programs print floats with the digits that identify them, and then zeros.
    let is_same = [float.abs().to_string(), format!("{:.0}", float.abs())].contains(&digits.into());
    let is_long = digits.len() > MAX_SHOWN;
    (!is_same).then(|| if is_long { format!("{float:e}") } else { format!("{float:.0}") })
}

pub(super) fn parser(dtype: &DType) -> Result<CellParser> {
    Ok(match (dtype.kind(), dtype.itemsize()) {
        (Kind::Float, 4) => float_parser(f32::MAX.into()),
        (Kind::Float, 8) => float_parser(f64::MAX),
        (Kind::Int, 4) => number_parser::<i32>(dtype)?,
        (Kind::Int, 8) => number_parser::<i64>(dtype)?,
        (Kind::UInt, 1) => number_parser::<u8>(dtype)?,
        (Kind::UInt, 8) => number_parser::<u64>(dtype)?,
        _ => Box::new(store_value),
    })
}

fn store_value(cell: Cell<'_>, dtype: &DType, to: &mut [u8]) -> Result<()> {
    value(cell, dtype)?.encode(dtype, to)
}

/// The value of a cell: text as it is, and NaN or `NaT` for what is missing.
pub(super) fn value(cell: Cell<'_>, dtype: &DType) -> Result<Value> {
    let Cell { text, is_string } = cell;
    let trimmed = trimmed(text);
    let missing = is_missing(text);
    match (dtype.kind(), dtype.itemsize()) {
        (Kind::Unicode, _) => Ok(Value::Text(text.to_owned())),
        // JSON has no bytes, so they are characters of the same code points.
        (Kind::Bytes, _) if is_string => latin1(text).map(Value::Bytes),
        // Long doubles are written as their bytes.
        (Kind::Void, size) | (Kind::Float, size @ 16) | (Kind::Complex, size @ 32) if is_string => {
            let bytes = latin1(text)?;
            if bytes.len() != size {
                let text = format!("has {} bytes, and dtype {dtype} {size}", bytes.len());
                return Err(Error::new(ErrorKind::InvalidValue, text));
            }
            Ok(Value::Void(bytes))
        }
        // Bytes that are not UTF-8 are written in the other form.
        (Kind::Bytes, _) if !is_bytes_literal(text) => Ok(Value::Bytes(text.as_bytes().to_vec())),
        (Kind::Float, 2) if missing => Ok(Value::F16(f16::NAN)),
        (Kind::Float, 4) if missing => Ok(Value::F32(f32::NAN)),
        (Kind::Float, _) if missing => Ok(Value::F64(f64::NAN)),
        (Kind::Complex, _) if missing => Ok(Value::C128(Complex::new(f64::NAN, 0.0))),
        (Kind::DateTime, _) if missing => Ok(Value::DateTime(Ticks::NAT, dtype.unit())),
        (Kind::TimeDelta, _) if missing => Ok(Value::TimeDelta(Ticks::NAT, dtype.unit())),
        (Kind::Bool, _) => match parse_bool(trimmed) {
            Some(value) => Ok(Value::Bool(value)),
            None => Value::parse(trimmed, dtype),
        },
        _ if missing => {
            let text = format!("is empty, and dtype {dtype} has no NaN or NaT: choose a float");
            Err(Error::new(ErrorKind::InvalidValue, text))
        }
        _ => Value::parse(trimmed, dtype),
    }
}

/// The bytes whose values are the code points of a text.
fn latin1(text: &str) -> Result<Vec<u8>> {
    let bytes = text.chars().map(|c| u8::try_from(u32::from(c)).map_err(|_| c));
    bytes.collect::<std::result::Result<_, char>>().map_err(|c| {
        let code = u32::from(c);
        let text = format!("has a character beyond U+00FF, U+{code:04X}, which is not a byte");
        Error::new(ErrorKind::InvalidValue, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_that_floats_have_are_not_rounded() {
        for (text, expected) in [
            ("9007199254740992", None),
            ("9007199254740993", Some("9007199254740992")),
            ("-9007199254740993", Some("-9007199254740992")),
            ("+0009007199254740993", Some("9007199254740992")),
            ("9007199254740993.0", None),
            ("12345678901234567000", None),
            ("12345678901234567168", None),
            ("12345678901234567001", Some("12345678901234567168")),
            ("18446744073709551616", None),
            ("18446744073709551615", Some("18446744073709551616")),
            ("000000000000000000", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(rounded(text).as_deref(), expected, "{text}");
        }
        assert_eq!(rounded(&"9".repeat(300)).as_deref(), Some("1e300"));
        assert_eq!(rounded(&"9".repeat(400)).as_deref(), Some("inf"));
    }
}

//! Parses values from text as people type it.

use num_complex::Complex;

use super::print::difference_text;
use super::{Value, date, to_f32};
use crate::dtype::literal::Reader;
use crate::dtype::{DType, Kind};
use crate::element::cast::nearest_half;
use crate::element::strings::{check_bytes, check_text};
use crate::element::{Element as _, Ticks};
use crate::error::{Error, Result, excerpt};

impl Value {
    /// Parses an element of a dtype.
    ///
    /// | dtype | text |
    /// |---|---|
    /// | numbers, booleans | as in Python: `1e3`, `nan`, `inf`, `1+2j`, `True` |
    /// | `U`, `S` | as it is, including spaces around it, or in quotes, and `S` also as `b'…'` |
    /// | `M8` | an ISO date, or `NaT` |
    /// | `m8` | a count of the dtype's unit, a number with a unit as it is printed (`300 milliseconds`), or `NaT` |
    /// | `V` | `b'\x00…'` |
    /// | structs | `(1, 'a')` |
    /// | subarrays | `[1, 2]` |
    ///
    /// # Errors
    ///
    /// Returns [`InvalidValue`](crate::ErrorKind::InvalidValue) if the text has
    /// a different form, or the value doesn't fit. A number other than `inf`
    /// does not become infinite.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{DType, Value};
    ///
    /// assert_eq!(Value::parse("1e3", &"<f8".parse()?)?, Value::F64(1000.0));
    /// assert!(Value::parse("300", &DType::of::<u8>()).is_err());
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[inline]
    pub fn parse(text: &str, dtype: &DType) -> Result<Value> {
        match dtype.kind() {
            Kind::Struct => parse_record(text.trim(), dtype)?.fit(dtype),
            Kind::Subarray => parse_subarray(text.trim(), dtype)?.fit(dtype),
            _ => {
                let value = Value::parse_unbounded(text, dtype)?;
                if value.is_infinite() && is_finite_text(text) {
                    return Err(parse_error(text.trim(), dtype, "a number in the range"));
                }
                Ok(value)
            }
        }
    }

    /// Parses a value that is not a struct or subarray. As in NumPy, numbers that are too
    /// large become infinite.
    #[inline]
    pub(crate) fn parse_unbounded(text: &str, dtype: &DType) -> Result<Value> {
        let value = parse_scalar(text, dtype);
        value.map_err(|expected| parse_error(text.trim(), dtype, expected))?.fit(dtype)
    }

    #[inline]
    fn is_infinite(&self) -> bool {
        let number = self.as_complex();
        number.is_some_and(|number| number.re.is_infinite() || number.im.is_infinite())
    }
}

/// Returns whether text of a number has neither `inf` nor `nan`.
#[inline]
pub(crate) fn is_finite_text(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    !text.contains("inf") && !text.contains("nan")
}

/// Parses a value that is not a struct or subarray. The error is what was
/// expected.
#[inline]
fn parse_scalar(untrimmed: &str, dtype: &DType) -> Result<Value, &'static str> {
    let text = untrimmed.trim();
    match (dtype.kind(), dtype.itemsize()) {
        (Kind::Bool, _) => match text {
            "True" | "true" | "1" => Ok(Value::Bool(true)),
            "False" | "false" | "0" => Ok(Value::Bool(false)),
            _ => Err("True or False"),
        },
        (Kind::Int, _) => text.parse().map(Value::Int).map_err(|_| "an integer"),
        // `-0` is an integer too.
        (Kind::UInt, _) => {
            let value = text.parse::<i128>().ok().and_then(|value| u64::try_from(value).ok());
            value.map(Value::UInt).ok_or("a non-negative integer")
        }
        (Kind::Float, 2) => {
            parse_float(text).map(|value| Value::F16(nearest_half(value))).ok_or("a number")
        }
        // Through a double, as in NumPy.
        (Kind::Float, 4) => {
            parse_float(text).map(|value| Value::F32(to_f32(value))).ok_or("a number")
        }
        (Kind::Float, 8) => parse_float(text).map(Value::F64).ok_or("a number"),
        (Kind::Complex, 8 | 16) => {
            parse_complex(text).map(Value::C128).ok_or("a number such as 1+2j")
        }
        (Kind::DateTime, _) => parse_date(text, dtype)
            .map(|ticks| Value::DateTime(ticks, dtype.unit()))
            .ok_or("a date that the unit can represent, such as 2020-02-29T12:00, or NaT"),
        (Kind::TimeDelta, _) => parse_difference(text, dtype)
            .map(|ticks| Value::TimeDelta(ticks, dtype.unit()))
            .ok_or("a count of the unit, or NaT"),
        (Kind::Unicode, _) => parse_string(untrimmed).map(Value::Text).ok_or("text"),
        (Kind::Bytes, _) => {
            let bytes = match quoted_bytes(text) {
                Some(quoted) => parse_bytes(quoted),
                None => parse_string(untrimmed).map(String::into_bytes),
            };
            bytes.map(Value::Bytes).ok_or("bytes such as b'abc'")
        }
        _ => {
            let bytes = quoted_bytes(text).and_then(parse_bytes);
            bytes.map(Value::Void).ok_or("bytes such as b'\\x00'")
        }
    }
}

/// Returns the text after the `b` of `b'…'`. Returns `None` if no quote
/// follows.
#[inline]
fn quoted_bytes(text: &str) -> Option<&str> {
    text.strip_prefix('b').filter(|rest| rest.starts_with(['\'', '"']))
}

#[inline]
fn parse_record(text: &str, dtype: &DType) -> Result<Value> {
    let items = split_items(text, '(', ')')
        .ok_or_else(|| parse_error(text, dtype, "a record such as (1, 'a')"))?;
    if items.len() != dtype.fields().len() {
        return Err(parse_error(text, dtype, "a value for each field"));
    }
    let values = items.iter().zip(dtype.fields());
    let values = values.map(|(item, field)| Value::parse(item, &field.dtype));
    values.collect::<Result<_>>().map(Value::Record)
}

#[inline]
fn parse_subarray(text: &str, dtype: &DType) -> Result<Value> {
    match super::nonempty_subarray(dtype) {
        Some((base, shape)) => parse_nested(text, base, shape, dtype),
        None if split_items(text, '[', ']').is_some_and(|items| items.is_empty()) => {
            Ok(Value::Array(Vec::new()))
        }
        None => Err(parse_error(text, dtype, "a value for each element of the subarray")),
    }
}

/// Parses a subarray axis by axis.
#[inline]
fn parse_nested(text: &str, base: &DType, shape: &[usize], dtype: &DType) -> Result<Value> {
    let Some((&first, rest)) = shape.split_first() else { return Value::parse(text, base) };
    let items = split_items(text, '[', ']');
    let items = items.ok_or_else(|| parse_error(text, dtype, "a list such as [1, 2]"))?;
    if items.len() != first {
        return Err(parse_error(text, dtype, "a value for each element of the subarray"));
    }
    let values = items.iter().map(|text| parse_nested(text, base, rest, dtype));
    values.collect::<Result<_>>().map(Value::Array)
}

impl Value {
    /// Rejects a value that doesn't fit the dtype, and rounds a number to the one
    /// that will be stored.
    #[inline]
    fn fit(self, dtype: &DType) -> Result<Value> {
        let room = dtype.itemsize();
        match &self {
            Value::Text(text) => check_text(text, room / 4)?,
            Value::Bytes(bytes) => check_bytes(bytes, room)?,
            Value::Void(bytes) if bytes.len() != room => {
                return Err(parse_error(&self.to_string(), dtype, "a value that fits"));
            }
            Value::Void(_) | Value::Record(_) | Value::Array(_) => {}
            _ => {
                let mut element = vec![0; room];
                self.encode(dtype, &mut element)?;
                return Ok(Value::decode(dtype, &element));
            }
        }
        Ok(self)
    }
}

#[inline]
fn parse_error(text: &str, dtype: &DType, expected: &str) -> Error {
    let expected = format!("{expected}, for {dtype}");
    Error::invalid_value(format_args!("`{}`", excerpt(text)), expected)
}

/// Parses a float as Python does. Rust also accepts `inf` and `nan`.
#[inline]
fn parse_float(text: &str) -> Option<f64> {
    text.to_lowercase().parse().ok()
}

/// Parses `(1+2j)`, `2j` or `1`. Zeros keep their sign.
#[inline]
fn parse_complex(text: &str) -> Option<Complex<f64>> {
    let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(text);
    let Some(inner) = inner.trim().strip_suffix(['j', 'i']) else {
        return Some(Complex::new(parse_float(inner.trim())?, 0.0));
    };
    // The last sign that doesn't belong to an exponent separates the parts.
    let sign = inner
        .rmatch_indices(['+', '-'])
        .map(|(index, _)| index)
        .find(|&index| inner.get(..index).is_some_and(|before| !before.ends_with(['e', 'E'])));
    let (re, im) = inner.split_at(sign.unwrap_or(0));
    let re = if re.trim().is_empty() { 0.0 } else { parse_float(re.trim())? };
    let (sign, im) = match (sign, im.split_at_checked(1)) {
        (Some(_), Some(parts)) => parts,
        _ => ("", im),
    };
    let im = match im.trim() {
        "" => 1.0,
        digits if digits.starts_with(['+', '-']) => return None,
        digits => parse_float(digits)?,
    };
    Some(Complex::new(re, if sign == "-" { -im } else { im }))
}

/// Parses a count of the dtype's unit, or a difference as it is printed, such as
/// `300 milliseconds`.
#[inline]
fn parse_difference(text: &str, dtype: &DType) -> Option<Ticks> {
    if unquoted(text) == "NaT" {
        return Some(Ticks::NAT);
    }
    let Some((count, _)) = text.split_once(' ') else { return text.parse().ok().map(Ticks) };
    let multiple = i128::from(dtype.unit().map_or(1, |unit| unit.multiple));
    let ticks = Ticks(i64::try_from(count.parse::<i128>().ok()?.checked_div(multiple)?).ok()?);
    (difference_text(ticks, dtype.unit()) == text).then_some(ticks)
}

/// A date without the quotes that it has in records and subarrays.
#[inline]
fn unquoted(text: &str) -> &str {
    let quoted = ['\'', '"'].map(|quote| text.strip_prefix(quote)?.strip_suffix(quote));
    quoted.into_iter().flatten().next().unwrap_or(text)
}

#[inline]
fn parse_date(text: &str, dtype: &DType) -> Option<Ticks> {
    let inner = unquoted(text);
    if inner == "NaT" {
        return Some(Ticks::NAT);
    }
    match dtype.unit() {
        Some(unit) => date::parse_date(inner, unit),
        None => inner.parse().ok().map(Ticks),
    }
}

/// Parses text in quotes, or else takes it as it is, with the spaces around it.
#[inline]
fn parse_string(text: &str) -> Option<String> {
    let quoted = text.trim();
    if !quoted.starts_with(['\'', '"']) {
        return Some(text.to_owned());
    }
    let mut reader = Reader::new(quoted, false);
    let string = reader.string().ok()?.into_owned();
    reader.end().ok().map(|()| string)
}

/// Parses quoted bytes: ASCII, and escapes of bytes. Escapes for characters,
/// such as `\u0041`, are not escapes here, as in Python.
#[inline]
fn parse_bytes(quoted: &str) -> Option<Vec<u8>> {
    if !quoted.is_ascii() {
        return None;
    }
    let mut is_escape = false;
    let mut text = String::with_capacity(quoted.len());
    for c in quoted.chars() {
        if is_escape && matches!(c, 'u' | 'U' | 'N') {
            text.push('\\');
        }
        is_escape = c == '\\' && !is_escape;
        text.push(c);
    }
    // The octal `\400` and above are cut to 8 bits.
    parse_string(&text)?.chars().map(|c| u8::try_from(u32::from(c) & 0xff).ok()).collect()
}

/// Splits the text between two brackets at its outermost commas.
#[inline]
fn split_items(text: &str, open: char, close: char) -> Option<Vec<&str>> {
    let inner = text.strip_prefix(open)?.strip_suffix(close)?.trim();
    let inner = inner.strip_suffix(',').unwrap_or(inner);
    if inner.is_empty() {
        return Some(Vec::new());
    }
    let (mut items, mut start, mut depth, mut quote, mut escaped) =
        (Vec::new(), 0, 0_u32, None, false);
    for (index, c) in inner.char_indices() {
        match (quote, c) {
            (Some(_), '\\') => {
                escaped = !escaped;
                continue;
            }
            (Some(open), c) if c == open && !escaped => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth = depth.checked_sub(1)?,
            (None, ',') if depth == 0 => {
                items.push(inner.get(start..index)?.trim());
                start = index + 1;
            }
            _ => {}
        }
        escaped = false;
    }
    items.push(inner.get(start..)?.trim());
    Some(items)
}

//! Reads values from text, as a person would type them.

use num_complex::Complex;

use super::print::difference_text;
use super::{Value, date};
use crate::dtype::literal::Reader;
use crate::dtype::{DType, Kind};
use crate::element::cast::nearest_half;
use crate::element::{Element as _, Ticks};
use crate::error::{DTypeError, Error, Result, excerpt};

impl Value {
    /// Reads an element of a dtype from text.
    ///
    /// Numbers and `True`/`False` as in Python (`nan`, `inf`, `1+2j`); text
    /// plain, spaces around it included, or in quotes, bytes also as `b'…'`; dates as ISO text, time
    /// differences as a count of the dtype's unit or as they are printed
    /// (`300 milliseconds`), both `NaT`; void as
    /// `b'\x00…'`; records as `(1, 'a')` and subarrays as `[1, 2]`.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when the text is none
    /// of these, or doesn't fit.
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
    pub fn parse(text: &str, dtype: &DType) -> Result<Value> {
        let (whole, text) = (text, text.trim());
        let refused = |expected: &str| refused(text, dtype, expected);
        let float = || number(text).ok_or_else(|| refused("a number"));
        let value = match (dtype.kind(), dtype.itemsize()) {
            (Kind::Bool, _) => match text {
                "True" | "true" | "1" => Value::Bool(true),
                "False" | "false" | "0" => Value::Bool(false),
                _ => return Err(refused("True or False")),
            },
            (Kind::Int, _) => Value::Int(text.parse().map_err(|_| refused("an integer"))?),
            (Kind::UInt, _) => {
                Value::UInt(text.parse().map_err(|_| refused("a non-negative integer"))?)
            }
            (Kind::Float, 2) => Value::F16(nearest_half(float()?)),
            (Kind::Float, 4) => {
                Value::F32(text.to_lowercase().parse().map_err(|_| refused("a number"))?)
            }
            (Kind::Float, 8) => Value::F64(float()?),
            (Kind::Complex, 8 | 16) => {
                Value::C128(complex(text).ok_or_else(|| refused("a number such as 1+2j"))?)
            }
            (Kind::DateTime, _) => Value::DateTime(date_ticks(text, dtype)?, dtype.unit()),
            (Kind::TimeDelta, _) => {
                let ticks = difference(text, dtype);
                let ticks = ticks.ok_or_else(|| refused("a count of the unit, or NaT"))?;
                Value::TimeDelta(ticks, dtype.unit())
            }
            (Kind::Unicode, _) => Value::Text(string(whole).ok_or_else(|| refused("text"))?),
            (Kind::Bytes, _) => {
                let plain = text.strip_prefix('b').filter(|rest| rest.starts_with(['\'', '"']));
                Value::Bytes(match plain {
                    Some(quoted) => {
                        latin1(quoted).ok_or_else(|| refused("bytes such as b'abc'"))?
                    }
                    None => {
                        string(whole).ok_or_else(|| refused("bytes such as b'abc'"))?.into_bytes()
                    }
                })
            }
            (Kind::Struct, _) => {
                let items =
                    items(text, '(', ')').ok_or_else(|| refused("a record such as (1, 'a')"))?;
                if items.len() != dtype.fields().len() {
                    return Err(refused("a value for each field"));
                }
                let values = items.iter().zip(dtype.fields());
                Value::Record(
                    values
                        .map(|(item, field)| Value::parse(item, &field.dtype))
                        .collect::<Result<_>>()?,
                )
            }
            (Kind::Subarray, _) => match super::axes(dtype) {
                Some((base, shape)) => nested(text, base, shape, dtype)?,
                None if items(text, '[', ']').is_some_and(|items| items.is_empty()) => {
                    Value::Array(Vec::new())
                }
                None => return Err(refused("a value for each element of the subarray")),
            },
            (Kind::Float | Kind::Complex | Kind::Void, _) => {
                let bytes = text.strip_prefix('b').and_then(latin1);
                Value::Void(bytes.ok_or_else(|| refused("bytes such as b'\\x00'"))?)
            }
        };
        value.fitting(dtype)
    }
}

/// Reads a subarray axis by axis.
fn nested(text: &str, base: &DType, shape: &[usize], dtype: &DType) -> Result<Value> {
    let Some((&first, rest)) = shape.split_first() else { return Value::parse(text, base) };
    let items = items(text, '[', ']');
    let items = items.ok_or_else(|| refused(text, dtype, "a list such as [1, 2]"))?;
    if items.len() != first {
        return Err(refused(text, dtype, "a value for each element of the subarray"));
    }
    let values = items.iter().map(|text| nested(text, base, rest, dtype));
    values.collect::<Result<_>>().map(Value::Array)
}

impl Value {
    /// Refuses now, and not at the store, what doesn't fit; a number becomes
    /// the one that will be stored.
    fn fitting(self, dtype: &DType) -> Result<Value> {
        let room = dtype.itemsize();
        let fits = match &self {
            Value::Text(text) => text.chars().count() <= room / 4,
            Value::Bytes(bytes) => bytes.len() <= room,
            Value::Void(bytes) => bytes.len() == room,
            Value::Record(_) | Value::Array(_) => true,
            _ => {
                let mut element = vec![0; room];
                self.encode(dtype, &mut element)?;
                return Ok(Value::decode(dtype, &element));
            }
        };
        if fits { Ok(self) } else { Err(refused(&self.to_string(), dtype, "a value that fits")) }
    }
}

fn refused(text: &str, dtype: &DType, expected: &str) -> Error {
    let value = format!("`{}`", excerpt(text));
    DTypeError::Value { value, expected: format!("{expected}, for {dtype}") }.into()
}

/// A float as Python reads it; Rust knows `inf` and `nan` too.
fn number(text: &str) -> Option<f64> {
    text.to_lowercase().parse().ok()
}

/// `(1+2j)`, `2j` or `1`; a zero keeps its sign.
fn complex(text: &str) -> Option<Complex<f64>> {
    let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(text);
    let Some(inner) = inner.trim().strip_suffix(['j', 'i']) else {
        return Some(Complex::new(number(inner.trim())?, 0.0));
    };
    let exponent = |at: usize| inner.get(..at).is_some_and(|before| before.ends_with(['e', 'E']));
    let sign = inner.rmatch_indices(['+', '-']).map(|(at, _)| at).find(|&at| !exponent(at));
    let (re, im) = inner.split_at(sign.unwrap_or(0));
    let re = if re.trim().is_empty() { 0.0 } else { number(re.trim())? };
    let (sign, im) = im.split_at_checked(1).filter(|_| sign.is_some()).unwrap_or(("", im));
    let im = match im.trim() {
        "" => 1.0,
        digits if digits.starts_with(['+', '-']) => return None,
        digits => number(digits)?,
    };
    Some(Complex::new(re, if sign == "-" { -im } else { im }))
}

/// A count of the dtype's unit, or the difference as it is printed, such as
/// `300 milliseconds`.
fn difference(text: &str, dtype: &DType) -> Option<Ticks> {
    if text == "NaT" {
        return Some(Ticks::NAT);
    }
    let Some((count, _)) = text.split_once(' ') else { return text.parse().ok().map(Ticks) };
    let multiple = i128::from(dtype.unit().map_or(1, |unit| unit.multiple));
    let ticks = Ticks(i64::try_from(count.parse::<i128>().ok()? / multiple).ok()?);
    (difference_text(ticks, dtype.unit()) == text).then_some(ticks)
}

fn date_ticks(text: &str, dtype: &DType) -> Result<Ticks> {
    let inner = text.trim_matches('\'');
    if inner == "NaT" {
        return Ok(Ticks::NAT);
    }
    let ticks = match dtype.unit() {
        Some(unit) => date::ticks(inner, unit),
        None => inner.parse().ok(),
    };
    ticks.map(Ticks).ok_or_else(|| {
        refused(text, dtype, "a date the unit can hold, such as 2020-02-29T12:00, or NaT")
    })
}

/// Text in quotes, or as it is, with the spaces around it.
fn string(text: &str) -> Option<String> {
    let quoted = text.trim();
    if !quoted.starts_with(['\'', '"']) {
        return Some(text.to_owned());
    }
    let mut reader = Reader::new(quoted, false);
    let string = reader.string().ok()?.into_owned();
    reader.end().ok().map(|()| string)
}

/// Bytes in quotes, each a character.
fn latin1(quoted: &str) -> Option<Vec<u8>> {
    string(quoted)?.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect()
}

/// Parts what stands in brackets at its outermost commas.
fn items(text: &str, open: char, close: char) -> Option<Vec<&str>> {
    let inner = text.strip_prefix(open)?.strip_suffix(close)?.trim();
    let inner = inner.strip_suffix(',').unwrap_or(inner);
    if inner.is_empty() {
        return Some(Vec::new());
    }
    let (mut items, mut start, mut depth, mut quote, mut escaped) =
        (Vec::new(), 0, 0_u32, None, false);
    for (at, c) in inner.char_indices() {
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
                items.push(inner.get(start..at)?.trim());
                start = at + 1;
            }
            _ => {}
        }
        escaped = false;
    }
    items.push(inner.get(start..)?.trim());
    Some(items)
}

//! Prints values as NumPy does: `str` of a scalar by itself, and the style of
//! arrays inside records.

use std::fmt;

use half::f16;
use num_complex::Complex;

use super::{Value, date};
use crate::dtype::{Unit, UnitBase};
use crate::element::Ticks;
use crate::literal::quoted;

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(true) => f.write_str("True"),
            Value::Bool(false) => f.write_str("False"),
            Value::Int(value) => write!(f, "{value}"),
            Value::UInt(value) => write!(f, "{value}"),
            Value::F16(value) => f.write_str(&scalar(&half_digits(*value))),
            Value::F32(value) => f.write_str(&scalar(&format!("{value:e}"))),
            Value::F64(value) => f.write_str(&scalar(&format!("{value:e}"))),
            Value::C64(value) => f.write_str(&complex(value, |part| format!("{part:e}"))),
            Value::C128(value) => f.write_str(&complex(value, |part| format!("{part:e}"))),
            Value::Bytes(bytes) => f.write_str(&byte_text(bytes)),
            Value::Text(text) => f.write_str(text),
            Value::Void(bytes) => f.write_str(&hex_text(bytes)),
            Value::DateTime(ticks, unit) => f.write_str(&date_text(*ticks, *unit)),
            Value::TimeDelta(ticks, unit) => f.write_str(&difference_text(*ticks, *unit)),
            Value::Record(values) => f.write_str(&record(values)),
            Value::Array(values) => write!(f, "[{}]", joined(values)),
        }
    }
}

/// `(1, 'a', 2.5)`, and `(1,)` of one.
fn record(values: &[Value]) -> String {
    match values {
        [one] => format!("({},)", one.inside()),
        _ => format!("({})", joined(values)),
    }
}

fn joined(values: &[Value]) -> String {
    values.iter().map(Value::inside).collect::<Vec<_>>().join(", ")
}

impl Value {
    /// Prints it as NumPy does inside a record: text and dates in quotes,
    /// floats with at most eight digits behind the point.
    fn inside(&self) -> String {
        match self {
            Value::F16(value) => short(&half_digits(*value)),
            Value::F32(value) => short(&format!("{value:e}")),
            Value::F64(value) => short(&format!("{value:e}")),
            Value::C64(value) => pair(&format!("{:e}", value.re), &format!("{:e}", value.im)),
            Value::C128(value) => pair(&format!("{:e}", value.re), &format!("{:e}", value.im)),
            Value::Text(text) => quoted(text),
            Value::DateTime(..) => format!("'{self}'"),
            Value::TimeDelta(Ticks::NAT, _) => "'NaT'".to_owned(),
            Value::TimeDelta(Ticks(count), _) => count.to_string(),
            _ => self.to_string(),
        }
    }
}

pub(crate) fn date_text(ticks: Ticks, unit: Option<Unit>) -> String {
    match (ticks, unit) {
        (Ticks::NAT, _) => "NaT".to_owned(),
        (Ticks(count), Some(unit)) => date::text(count, unit),
        (Ticks(count), None) => count.to_string(),
    }
}

/// `5 seconds`
pub(crate) fn difference_text(Ticks(count): Ticks, unit: Option<Unit>) -> String {
    if Ticks(count) == Ticks::NAT {
        return "NaT".to_owned();
    }
    let name = unit.map_or("generic time units", |unit| match unit.base {
        UnitBase::Year => "years",
        UnitBase::Month => "months",
        UnitBase::Week => "weeks",
        UnitBase::Day => "days",
        UnitBase::Hour => "hours",
        UnitBase::Minute => "minutes",
        UnitBase::Second => "seconds",
        UnitBase::Millisecond => "milliseconds",
        UnitBase::Microsecond => "microseconds",
        UnitBase::Nanosecond => "nanoseconds",
        UnitBase::Picosecond => "picoseconds",
        UnitBase::Femtosecond => "femtoseconds",
        UnitBase::Attosecond => "attoseconds",
    });
    let multiple = unit.map_or(1, |unit| unit.multiple);
    format!("{} {name}", i128::from(count) * i128::from(multiple))
}

/// `b'abc'`, with Python's escapes.
fn byte_text(bytes: &[u8]) -> String {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { '"' } else { '\'' };
    let mut out = format!("b{quote}");
    for &byte in bytes {
        match byte {
            b'\t' => out.push_str("\\t"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\\' => out.push_str("\\\\"),
            _ if char::from(byte) == quote => out.extend(['\\', quote]),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => out.extend(["\\x".to_owned(), format!("{byte:02x}")]),
        }
    }
    out.push(quote);
    out
}

/// `b'\x00\xFF'`, as NumPy prints void.
fn hex_text(bytes: &[u8]) -> String {
    let digits: Vec<_> = bytes.iter().map(|byte| format!("\\x{byte:02X}")).collect();
    format!("b'{}'", digits.concat())
}

/// The fewest digits that tell a half float from its neighbours.
fn half_digits(value: f16) -> String {
    let wide = value.to_f32();
    let candidates = (0..5).map(|digits| format!("{wide:.digits$e}"));
    let same = |text: &String| text.parse::<f32>().is_ok_and(|read| f16::from_f32(read) == value);
    candidates.into_iter().find(same).unwrap_or_else(|| format!("{wide:e}"))
}

/// A number of the form `1.25e-3` in parts: sign, digits, exponent.
fn parts(scientific: &str) -> Option<(&str, String, i32)> {
    let (sign, rest) = scientific.strip_prefix('-').map_or(("", scientific), |rest| ("-", rest));
    let (mantissa, exponent) = rest.split_once('e')?;
    Some((sign, mantissa.replace('.', ""), exponent.parse().ok()?))
}

/// Puts the point among digits: whole part and fraction, which may be empty.
fn placed(digits: &str, exponent: i32) -> (String, String) {
    match usize::try_from(exponent) {
        Err(_) => {
            let zeros = usize::try_from(-exponent - 1).unwrap_or(0);
            ("0".to_owned(), format!("{}{digits}", "0".repeat(zeros)))
        }
        Ok(whole) if digits.len() <= whole + 1 => {
            (format!("{digits}{}", "0".repeat(whole + 1 - digits.len())), String::new())
        }
        Ok(whole) => {
            let (whole, fraction) = digits.split_at(whole + 1);
            (whole.to_owned(), fraction.to_owned())
        }
    }
}

/// `str` of a float: scientific below 1e-4 and from 1e16 on.
fn scalar(scientific: &str) -> String {
    let Some((sign, digits, exponent)) = parts(scientific) else { return special(scientific) };
    if !(-4..16).contains(&exponent) && digits != "0" {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        return format!("{sign}{first}{point}{rest}e{}", signed(exponent));
    }
    let (whole, fraction) = placed(&digits, exponent);
    let fraction = if fraction.is_empty() { "0" } else { &fraction };
    format!("{sign}{whole}.{fraction}")
}

/// A float inside a record: at most eight digits behind the point, and `2.`
/// for a whole number; scientific below 1e-4 and from 1e8 on.
fn short(scientific: &str) -> String {
    let Some((_, digits, exponent)) = parts(scientific) else { return special(scientific) };
    let value: f64 = scientific.parse().unwrap_or(0.0);
    if !(-4..8).contains(&exponent) && digits != "0" {
        let rounded = if digits.len() > 9 { format!("{value:.8e}") } else { scientific.to_owned() };
        let Some((sign, digits, exponent)) = parts(&rounded) else { return rounded };
        let (first, rest) = digits.split_at(1);
        return format!("{sign}{first}.{}e{}", rest.trim_end_matches('0'), signed(exponent));
    }
    let Some((sign, digits, exponent)) = parts(scientific) else { return special(scientific) };
    let (whole, fraction) = placed(&digits, exponent);
    if fraction.len() <= 8 {
        return format!("{sign}{whole}.{fraction}");
    }
    let rounded = format!("{value:.8}");
    rounded.trim_end_matches('0').to_owned()
}

fn special(text: &str) -> String {
    match text {
        "NaN" => "nan".to_owned(),
        other => other.to_owned(),
    }
}

/// At least two digits with a sign.
fn signed(exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{:02}", exponent.unsigned_abs())
}

/// `str` of a complex number: `(1+2j)`, or `2j` alone.
fn complex<T: Copy + num_traits::Float>(value: &Complex<T>, text: impl Fn(T) -> String) -> String {
    let part = |part: T| {
        let text = scalar(&text(part));
        text.strip_suffix(".0").map_or_else(|| text.clone(), ToOwned::to_owned)
    };
    let imaginary = part(value.im);
    if value.re == T::zero() && !value.re.is_sign_negative() {
        return format!("{imaginary}j");
    }
    let plus = if imaginary.starts_with('-') { "" } else { "+" };
    format!("({}{plus}{imaginary}j)", part(value.re))
}

/// A complex number inside a record: `1.+2.j`.
fn pair(re: &str, im: &str) -> String {
    let imaginary = short(im);
    let plus = if imaginary.starts_with('-') { "" } else { "+" };
    format!("{}{plus}{imaginary}j", short(re))
}

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
            Value::F16(value) => {
                f.write_str(&scalar(&half_digits(*value), value.to_f64(), HALF_LIMIT))
            }
            Value::F32(value) => {
                f.write_str(&scalar(&format!("{value:e}"), (*value).into(), SINGLE_LIMIT))
            }
            Value::F64(value) => f.write_str(&scalar(&format!("{value:e}"), *value, DOUBLE_LIMIT)),
            Value::C64(value) => f.write_str(&complex(value, SINGLE_LIMIT)),
            Value::C128(value) => f.write_str(&complex(value, DOUBLE_LIMIT)),
            Value::Bytes(bytes) => f.write_str(&byte_text(bytes)),
            Value::Text(text) => f.write_str(text),
            Value::Void(bytes) => f.write_str(&hex_text(bytes)),
            Value::DateTime(ticks, unit) => f.write_str(&date_text(*ticks, *unit)),
            Value::TimeDelta(ticks, unit) => f.write_str(&difference(*ticks, *unit)),
            Value::Record(_) | Value::Array(_) => {
                texts(&[self], false).iter().try_for_each(|text| f.write_str(text))
            }
        }
    }
}

/// Where scientific notation begins.
const HALF_LIMIT: f64 = 1e3;
const SINGLE_LIMIT: f64 = 1e6;
const DOUBLE_LIMIT: f64 = 1e16;

/// Prints values of one dtype as NumPy does inside a record: what stands in
/// subarrays, also in those around it, is as wide as the widest.
fn texts(values: &[&Value], in_array: bool) -> Vec<String> {
    match values.first() {
        Some(Value::Record(first)) => records(values, first.len(), in_array),
        Some(Value::Array(_)) => {
            let mut items =
                texts(&values.iter().flat_map(|value| value.parts()).collect::<Vec<_>>(), true)
                    .into_iter();
            let array =
                |value: &&Value| items.by_ref().take(value.parts().len()).collect::<Vec<_>>();
            values.iter().map(array).map(|items| format!("[{}]", items.join(", "))).collect()
        }
        _ => {
            let texts: Vec<String> = values.iter().map(|value| value.inside()).collect();
            let width = if in_array { width(values, &texts) } else { 0 };
            texts.into_iter().map(|text| format!("{text:>width$}")).collect()
        }
    }
}

/// `(1, 'a', 2.5)`, and `(1,)` of one.
fn records(values: &[&Value], fields: usize, in_array: bool) -> Vec<String> {
    let mut rows = vec![Vec::new(); values.len()];
    for field in 0..fields {
        let column: Vec<&Value> =
            values.iter().filter_map(|value| value.parts().get(field)).collect();
        rows.iter_mut().zip(texts(&column, in_array)).for_each(|(row, text)| row.push(text));
    }
    let row = |row: Vec<String>| match row.as_slice() {
        [one] => format!("({one},)"),
        _ => format!("({})", row.join(", ")),
    };
    rows.into_iter().map(row).collect()
}

/// How wide NumPy makes the elements of a subarray.
fn width(values: &[&Value], texts: &[String]) -> usize {
    match values.first() {
        Some(Value::Bool(_)) => "False".len(),
        Some(Value::Int(_) | Value::UInt(_) | Value::DateTime(..) | Value::TimeDelta(..)) => {
            texts.iter().map(String::len).max().unwrap_or(0)
        }
        _ => 0,
    }
}

impl Value {
    /// The values it is made of.
    fn parts(&self) -> &[Value] {
        match self {
            Value::Record(values) | Value::Array(values) => values,
            _ => &[],
        }
    }

    /// Prints it as NumPy does inside a record: text and dates in quotes,
    /// complex numbers with at most eight digits behind the point.
    fn inside(&self) -> String {
        match self {
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

fn date_text(ticks: Ticks, unit: Option<Unit>) -> String {
    match (ticks, unit) {
        (Ticks::NAT, _) => "NaT".to_owned(),
        (Ticks(count), Some(unit)) => date::text(count, unit),
        (Ticks(count), None) => count.to_string(),
    }
}

/// `5 seconds`
fn difference(Ticks(count): Ticks, unit: Option<Unit>) -> String {
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
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push(quote);
    out
}

/// `b'\x00\xFF'`, as NumPy prints void.
fn hex_text(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("\\x{byte:02X}")).collect();
    format!("b'{digits}'")
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

/// `str` of a float: scientific below 1e-4 and from a limit on.
fn scalar(scientific: &str, value: f64, limit: f64) -> String {
    let Some((sign, digits, exponent)) = parts(scientific) else { return special(scientific) };
    if !(1e-4..limit).contains(&value.abs()) && digits != "0" {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        return format!("{sign}{first}{point}{rest}e{}", signed(exponent));
    }
    let (whole, fraction) = placed(&digits, exponent);
    let fraction = if fraction.is_empty() { "0" } else { &fraction };
    format!("{sign}{whole}.{fraction}")
}

/// A part of a complex number inside a record: at most eight digits behind the point, and `2.`
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
fn complex<T: num_traits::Float + fmt::LowerExp + Into<f64>>(
    value: &Complex<T>,
    limit: f64,
) -> String {
    let part = |part: T| {
        let text = scalar(&format!("{part:e}"), part.into(), limit);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;

    #[test]
    fn values_print_as_numpys() {
        for (descr, text, printed) in [
            ("<f2", "1000", "1e+03"),
            ("<f2", "999.5", "999.5"),
            ("<f4", "999999.94", "999999.94"),
            ("<f4", "1000000", "1e+06"),
            ("<f4", "0.0001", "1e-04"),
            ("<f8", "0.0001", "0.0001"),
            ("<f8", "9007199254740993", "9007199254740992.0"),
            ("<f8", "1e16", "1e+16"),
            ("<c8", "1e6-0j", "(1e+06-0j)"),
            ("<c16", "(-0-infj)", "(-0-infj)"),
            ("<c16", "2e-5+1.5e+20j", "(2e-05+1.5e+20j)"),
            ("<c16", "-j", "-1j"),
            ("<M8[D]", "-734-09-07", "-734-09-07"),
            (
                "[('a', '<f8'), ('b', '<c8')]",
                "(0.3333333333333333, 1)",
                "(0.3333333333333333, 1.+0.j)",
            ),
            (
                "[('a', '|i1', (2, 2)), ('b', '|b1', (2,))]",
                "([[1, 2], [3, -4]], [True, False])",
                "([[ 1,  2], [ 3, -4]], [ True, False])",
            ),
            (
                "[('a', [('x', '<i2'), ('y', '|S1')], (2,))]",
                "([(1, b'a'), (10, b'')],)",
                "([( 1, b'a'), (10, b'')],)",
            ),
        ] {
            let descr = if descr.starts_with('[') { descr.to_owned() } else { quoted(descr) };
            let dtype: DType = descr.parse().unwrap();
            assert_eq!(Value::parse(text, &dtype).unwrap().to_string(), printed, "{text}");
        }
        for text in ["+-1j", "1+-2j", "1+2", "j+1", "()", "1e5e5j", ""] {
            assert!(Value::parse(text, &"<c16".parse().unwrap()).is_err(), "{text}");
        }
    }
}

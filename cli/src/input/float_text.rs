//! Values as text, with floats rounded to a number of digits.

use std::fmt::Write as _;
use std::sync::OnceLock;

use npymap::Value;

/// The number of digits after the point, if it is limited.
static PRECISION: OnceLock<usize> = OnceLock::new();

/// Limits the digits of all floats that are printed from now on.
pub(crate) fn set_precision(digits: u16) {
    // Only the first call counts.
    let _ = PRECISION.set(digits.into());
}

/// A value in which floats are rounded; `None` if it is printed as it is.
pub(crate) fn rounded(value: &Value) -> Option<String> {
    round_value(value, *PRECISION.get()?)
}

/// A value as text, in which floats are rounded.
pub(crate) fn text(value: &Value) -> String {
    rounded(value).unwrap_or_else(|| value.to_string())
}

fn round_value(value: &Value, digits: usize) -> Option<String> {
    match value {
        Value::F16(number) => Some(round(number.to_f64(), &value.to_string(), digits)),
        Value::F32(number) => Some(round(f64::from(*number), &value.to_string(), digits)),
        Value::F64(number) => Some(round(*number, &value.to_string(), digits)),
        Value::C64(number) => Some(complex([number.re, number.im].map(Value::F32), digits)),
        Value::C128(number) => Some(complex([number.re, number.im].map(Value::F64), digits)),
        Value::Record(values) => {
            let end = if values.len() == 1 { ",)" } else { ")" };
            Some(sequence(values, "(", end, digits))
        }
        Value::Array(values) => Some(sequence(values, "[", "]", digits)),
        _ => None,
    }
}

fn sequence(values: &[Value], start: &str, end: &str, digits: usize) -> String {
    let items = values.iter().map(|value| {
        let text = round_value(value, digits);
        text.unwrap_or_else(|| format!("{value:#}"))
    });
    format!("{start}{}{end}", items.collect::<Vec<_>>().join(", "))
}

/// A complex number as NumPy prints it: whole parts without a point, and no real
/// part that is 0.
fn complex(parts: [Value; 2], digits: usize) -> String {
    let [re, im] = parts.map(|part| round_value(&part, digits).expect("it is a float"));
    let [re, im] = [re, im].map(|part| part.strip_suffix(".0").unwrap_or(&part).to_owned());
    let sign = if im.starts_with('-') { "" } else { "+" };
    if re == "0" { format!("{im}j") } else { format!("({re}{sign}{im}j)") }
}

/// Rounds a number to some digits after the point, or after that of the mantissa
/// if it has an exponent, without zeros at the end. `text` has all its digits.
fn round(number: f64, text: &str, digits: usize) -> String {
    let (mantissa, exponent) = match text.split_once('e') {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let fraction = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    if !number.is_finite() || fraction <= digits.max(1) && (digits > 0 || fraction == 0) {
        return text.to_owned();
    }
    if exponent.is_none() {
        return trimmed(&format!("{number:.digits$}"), 1.min(digits));
    }
    let rounded = format!("{number:.digits$e}");
    let (mantissa, exponent) = rounded.split_once('e').expect("it has an exponent");
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    let mut text = trimmed(mantissa, 0);
    // Writing to a string cannot fail.
    let _ = write!(text, "e{sign}{exponent:0>2}");
    text
}

/// A number without zeros at the end, but with at least some digits after the
/// point.
fn trimmed(text: &str, least: usize) -> String {
    let Some((whole, fraction)) = text.split_once('.') else { return text.to_owned() };
    let kept = fraction.trim_end_matches('0').len().max(least);
    match fraction.get(..kept) {
        Some(fraction) if kept > 0 => format!("{whole}.{fraction}"),
        _ => whole.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_rounded_and_keep_a_digit() {
        for (number, digits, expected) in [
            (2.0 / 3.0, 3, "0.667"),
            (3750.0, 3, "3750.0"),
            (0.1, 20, "0.1"),
            (2.675, 2, "2.67"),
            (0.5004, 3, "0.5"),
            (1.0004, 2, "1.0"),
            (-0.001, 2, "-0.0"),
            (12.7, 0, "13"),
            (1.23456e-7, 3, "1.235e-07"),
            (9.9999e-5, 2, "1e-04"),
            (1.5e300, 1, "1.5e+300"),
            (f64::NAN, 1, "nan"),
            (f64::NEG_INFINITY, 1, "-inf"),
        ] {
            let value = Value::F64(number);
            assert_eq!(round_value(&value, digits).unwrap(), expected, "{number}");
        }
        let record = Value::Record(vec![Value::F32(0.125), Value::Int(3)]);
        assert_eq!(round_value(&record, 1).unwrap(), "(0.1, 3)");
        for (value, expected) in
            [((1.26, 2.0), "(1.3+2j)"), ((0.0, -0.125), "-0.1j"), ((-1.0, 0.04), "(-1+0j)")]
        {
            let value = Value::C128(npymap::num_complex::Complex::new(value.0, value.1));
            assert_eq!(round_value(&value, 1).unwrap(), expected);
        }
        assert_eq!(round_value(&Value::Int(3), 1), None);
    }
}

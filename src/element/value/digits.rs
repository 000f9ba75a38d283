//! Prints floats and complex numbers as NumPy's `str` does.

use std::str::FromStr;

use half::f16;
use num_complex::Complex;

use crate::error::invariant::Invariant;

/// The shortest digits that identify a float, and the thresholds that decide
/// whether it is printed in scientific notation.
pub(super) struct Digits {
    /// The digits, such as `1.25e-3`.
    pub(super) text: String,
    /// The absolute value.
    pub(super) magnitude: f64,
    /// Values from here on print in scientific notation by themselves.
    large: f64,
    /// Values from here on print in scientific notation in records.
    pub(super) large_in_record: f64,
}

impl Digits {
    #[inline]
    pub(super) fn half(value: f16) -> Digits {
        let wide = value.to_f32();
        // Where the nearest text is another number, NumPy takes the one above: below a
        // power of two, numbers are closer.
        let above = f32::from_bits(wide.to_bits().wrapping_add(1));
        let mut candidates =
            (0..5).flat_map(|digits| [format!("{wide:.digits$e}"), format!("{above:.digits$e}")]);
        let text = candidates
            .find(|text| text.parse::<f32>().is_ok_and(|parsed| f16::from_f32(parsed) == value));
        let text = text.unwrap_or_else(|| format!("{wide:e}"));
        Digits { text, magnitude: wide.abs().into(), large: 1e3, large_in_record: 1e3 }
    }

    #[inline]
    pub(super) fn single(value: f32) -> Digits {
        let text = nearest_text(format!("{value:e}"), value, |digits| format!("{value:.digits$e}"));
        Digits { text, magnitude: value.abs().into(), large: 1e6, large_in_record: 1e6 }
    }

    #[inline]
    pub(super) fn double(value: f64) -> Digits {
        let text = nearest_text(format!("{value:e}"), value, |digits| format!("{value:.digits$e}"));
        Digits { text, magnitude: value.abs(), large: 1e16, large_in_record: 1e8 }
    }

    #[inline]
    fn is_scientific(&self, large: f64) -> bool {
        self.magnitude != 0.0 && (self.magnitude < 1e-4 || self.magnitude >= large)
    }
}

/// Of the shortest texts that identify a float, the nearest one. Halfway between
/// two of them, this is the even one, while Rust's `shortest` is the larger.
fn nearest_text<T: Copy + FromStr + PartialEq>(
    shortest: String,
    value: T,
    exact: impl Fn(usize) -> String,
) -> String {
    let digits = shortest.bytes().take_while(|&b| b != b'e').filter(u8::is_ascii_digit).count();
    // `inf` and `NaN` have no digits.
    let rounded = exact(digits.max(1) - 1);
    if rounded.parse::<T>().is_ok_and(|parsed| parsed == value) { rounded } else { shortest }
}

/// Splits a number such as `1.25e-3` into sign, digits and exponent.
#[inline]
pub(super) fn split_scientific(scientific: &str) -> Option<(&str, String, i32)> {
    let (sign, rest) = scientific.strip_prefix('-').map_or(("", scientific), |rest| ("-", rest));
    let (mantissa, exponent) = rest.split_once('e')?;
    Some((sign, mantissa.replace('.', ""), exponent.parse().ok()?))
}

/// Splits digits at the decimal point into whole part and fraction, which can be
/// empty.
#[inline]
pub(super) fn split_at_point(digits: &str, exponent: i32) -> (String, String) {
    match usize::try_from(exponent) {
        Err(_) => {
            let zeros = usize::try_from(-exponent - 1).invariant("the exponent is negative");
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

/// `str` of a float: in scientific notation below 1e-4 and from 1e16 on (1e6 for
/// single and 1e3 for half precision).
#[inline]
pub(super) fn format_float(number: &Digits) -> String {
    let Some((sign, digits, exponent)) = split_scientific(&number.text) else {
        return format_nonfinite(&number.text);
    };
    if number.is_scientific(number.large) {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        // At least two digits.
        let (minus, exponent) = (if exponent < 0 { '-' } else { '+' }, exponent.unsigned_abs());
        return format!("{sign}{first}{point}{rest}e{minus}{exponent:02}");
    }
    let (whole, fraction) = split_at_point(&digits, exponent);
    let fraction = if fraction.is_empty() { "0" } else { &fraction };
    format!("{sign}{whole}.{fraction}")
}

/// NumPy's name of NaN and infinities.
#[inline]
pub(super) fn format_nonfinite(text: &str) -> String {
    match text {
        "NaN" => "nan".to_owned(),
        other => other.to_owned(),
    }
}

/// `str` of a complex number: `(1+2j)`, or `2j` alone.
pub(super) fn format_complex<T: Copy + num_traits::Float>(
    value: &Complex<T>,
    digits: fn(T) -> Digits,
) -> String {
    let imaginary = format_part(&digits(value.im));
    if value.re == T::zero() && !value.re.is_sign_negative() {
        return format!("{imaginary}j");
    }
    let plus = if imaginary.starts_with('-') { "" } else { "+" };
    format!("({}{plus}{imaginary}j)", format_part(&digits(value.re)))
}

/// A part of a complex number, without the `.0` of a whole number.
#[inline]
fn format_part(number: &Digits) -> String {
    let text = format_float(number);
    text.strip_suffix(".0").map_or_else(|| text.clone(), ToOwned::to_owned)
}

//! Prints floats and complex numbers by themselves, as NumPy's `str` does.

use crate::error::invariant::Invariant;
use std::str::FromStr;

use half::f16;
use num_complex::Complex;

/// A float in the fewest digits that tell it, and what decides their form.
pub(super) struct Digits {
    /// As `1.25e-3`.
    pub(super) text: String,
    pub(super) size: f64,
    /// From here on NumPy prints it scientific, by itself and in records.
    large: f64,
    pub(super) large_inside: f64,
}

impl Digits {
    pub(super) fn half(value: f16) -> Digits {
        let wide = value.to_f32();
        let candidates = (0..5).map(|digits| format!("{wide:.digits$e}"));
        let same =
            |text: &String| text.parse::<f32>().is_ok_and(|read| f16::from_f32(read) == value);
        let text = candidates.into_iter().find(same).unwrap_or_else(|| format!("{wide:e}"));
        Digits { text, size: wide.abs().into(), large: 1e3, large_inside: 1e3 }
    }

    pub(super) fn single(value: f32) -> Digits {
        let text = nearest(format!("{value:e}"), value, |digits| format!("{value:.digits$e}"));
        Digits { text, size: value.abs().into(), large: 1e6, large_inside: 1e6 }
    }

    pub(super) fn double(value: f64) -> Digits {
        let text = nearest(format!("{value:e}"), value, |digits| format!("{value:.digits$e}"));
        Digits { text, size: value.abs(), large: 1e16, large_inside: 1e8 }
    }

    fn is_scientific(&self, large: f64) -> bool {
        self.size != 0.0 && (self.size < 1e-4 || self.size >= large)
    }
}

/// Of the shortest texts that tell a float, the one nearest to it, and the
/// even one of two: Rust picks the larger there.
fn nearest<T: Copy + FromStr + PartialEq>(
    shortest: String,
    value: T,
    exact: impl Fn(usize) -> String,
) -> String {
    let digits = shortest.bytes().take_while(|&b| b != b'e').filter(u8::is_ascii_digit).count();
    let rounded = exact(digits.saturating_sub(1));
    if rounded.parse::<T>().is_ok_and(|read| read == value) { rounded } else { shortest }
}

/// A number of the form `1.25e-3` in parts: sign, digits, exponent.
pub(super) fn parts(scientific: &str) -> Option<(&str, String, i32)> {
    let (sign, rest) = scientific.strip_prefix('-').map_or(("", scientific), |rest| ("-", rest));
    let (mantissa, exponent) = rest.split_once('e')?;
    Some((sign, mantissa.replace('.', ""), exponent.parse().ok()?))
}

/// Puts the point among digits: whole part and fraction, which may be empty.
pub(super) fn placed(digits: &str, exponent: i32) -> (String, String) {
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

/// `str` of a float: scientific below 1e-4, and from 1e16 on; from 1e6 and
/// 1e3 on for single and half precision.
pub(super) fn scalar(number: &Digits) -> String {
    let Some((sign, digits, exponent)) = parts(&number.text) else { return special(&number.text) };
    if number.is_scientific(number.large) {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        return format!("{sign}{first}{point}{rest}e{}", signed(exponent));
    }
    let (whole, fraction) = placed(&digits, exponent);
    let fraction = if fraction.is_empty() { "0" } else { &fraction };
    format!("{sign}{whole}.{fraction}")
}

pub(super) fn special(text: &str) -> String {
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
pub(super) fn complex<T: Copy + num_traits::Float>(
    value: &Complex<T>,
    digits: impl Fn(T) -> Digits,
) -> String {
    let part = |part: T| {
        let text = scalar(&digits(part));
        text.strip_suffix(".0").map_or_else(|| text.clone(), ToOwned::to_owned)
    };
    let imaginary = part(value.im);
    if value.re == T::zero() && !value.re.is_sign_negative() {
        return format!("{imaginary}j");
    }
    let plus = if imaginary.starts_with('-') { "" } else { "+" };
    format!("({}{plus}{imaginary}j)", part(value.re))
}

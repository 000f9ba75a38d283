//! Prints values of one type as a column, as NumPy does inside a record.

use super::digits::{Digits, format_nonfinite, split_at_point, split_scientific};
use super::{Value, to_f32};
use crate::error::invariant::Invariant;

/// Subarrays with more elements are abbreviated.
const THRESHOLD: usize = 1000;

/// The number of items printed at each end of an abbreviated axis.
const EDGE_ITEMS: usize = 3;

/// Prints values of one type as NumPy does inside a record: text and dates in
/// quotes, and the elements of subarrays padded to the same width.
#[inline]
pub(super) fn column(values: &[&Value], in_array: bool) -> Vec<String> {
    match values.first() {
        Some(Value::Record(fields)) => records(values, fields.len(), in_array),
        Some(Value::Array(_)) => arrays(values),
        Some(Value::Bool(_)) if in_array => padded(values, 5),
        Some(Value::Int(_) | Value::UInt(_) | Value::DateTime(..) | Value::TimeDelta(..)) => {
            padded(values, 0)
        }
        Some(Value::C64(_) | Value::C128(_)) => complex(values),
        _ => values.iter().map(|value| value.in_record()).collect(),
    }
}

/// Pads values on the left to the same width, at least `min_width`.
#[inline]
fn padded(values: &[&Value], min_width: usize) -> Vec<String> {
    let texts: Vec<_> = values.iter().map(|value| value.in_record()).collect();
    let width = texts.iter().map(String::len).fold(min_width, usize::max);
    texts.into_iter().map(|text| format!("{text:>width$}")).collect()
}

/// Prints records such as `(1, 'a', 2.5)`, or `(1,)` with one field. Each field
/// is a column.
#[inline]
fn records(values: &[&Value], fields: usize, in_array: bool) -> Vec<String> {
    let mut texts = vec![String::from("("); values.len()];
    for number in 0..fields {
        let field = values.iter().filter_map(|value| match value {
            Value::Record(fields) => fields.get(number),
            _ => None,
        });
        let field_texts = column(&field.collect::<Vec<_>>(), in_array);
        for (text, field_text) in texts.iter_mut().zip(field_texts) {
            let comma = if number > 0 { ", " } else { "" };
            text.extend([comma, &field_text]);
        }
    }
    let end = if fields == 1 { ",)" } else { ")" };
    texts.into_iter().map(|text| text + end).collect()
}

/// Prints subarrays such as `[1, 2]`. All their elements are one column.
#[inline]
fn arrays(values: &[&Value]) -> Vec<String> {
    let mut elements = Vec::new();
    for value in values {
        add_elements(value, &mut elements);
    }
    let mut texts = column(&elements, true).into_iter();
    values.iter().map(|value| bracketed(value, count(value) > THRESHOLD, &mut texts)).collect()
}

/// Appends the elements of a subarray with any number of axes, in C order.
#[inline]
fn add_elements<'v>(value: &'v Value, elements: &mut Vec<&'v Value>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| add_elements(item, elements)),
        element => elements.push(element),
    }
}

#[inline]
fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(count).sum(),
        _ => 1,
    }
}

/// Joins the texts of a subarray's elements, in brackets. Takes the text of
/// every element from `texts`, even where the axis is abbreviated.
fn bracketed(value: &Value, abbreviate: bool, texts: &mut impl Iterator<Item = String>) -> String {
    let Value::Array(items) = value else {
        return texts.next().invariant("each element has a text");
    };
    let cut = if abbreviate && items.len() > 2 * EDGE_ITEMS {
        EDGE_ITEMS..items.len() - EDGE_ITEMS
    } else {
        0..0
    };
    let mut parts = Vec::new();
    for (number, item) in items.iter().enumerate() {
        if !cut.contains(&number) {
            parts.push(bracketed(item, abbreviate, texts));
            continue;
        }
        if number == cut.start {
            parts.push("...".to_owned());
        }
        texts.by_ref().take(count(item)).for_each(drop);
    }
    format!("[{}]", parts.join(", "))
}

/// Prints complex numbers such as `1.+2.j`. The real parts are a column, and so
/// are the imaginary parts.
#[inline]
fn complex(values: &[&Value]) -> Vec<String> {
    let parts = values.iter().map(|value| match value {
        Value::C64(value) => {
            (ColumnFloat::from_single(value.re), ColumnFloat::from_single(value.im))
        }
        Value::C128(value) => {
            (ColumnFloat::from_double(value.re), ColumnFloat::from_double(value.im))
        }
        _ => (ColumnFloat::from_double(0.0), ColumnFloat::from_double(0.0)),
    });
    let (real, imaginary): (Vec<_>, Vec<_>) = parts.unzip();
    let (real, imaginary) = (floats(&real, false), floats(&imaginary, true));
    let parts = real.into_iter().zip(imaginary);
    parts
        .map(|(real, imaginary)| {
            let (digits, spaces) = imaginary.split_at(imaginary.trim_end().len());
            format!("{real}{digits}j{spaces}")
        })
        .collect()
}

/// A float and its shortest digits.
struct ColumnFloat {
    value: f64,
    is_single: bool,
    digits: Digits,
}

impl ColumnFloat {
    #[inline]
    fn from_single(value: f32) -> ColumnFloat {
        ColumnFloat { value: value.into(), is_single: true, digits: Digits::single(value) }
    }

    #[inline]
    fn from_double(value: f64) -> ColumnFloat {
        ColumnFloat { value, is_single: false, digits: Digits::double(value) }
    }
}

/// A finite float, split around its decimal point.
struct FloatParts {
    sign: String,
    whole: String,
    fraction: String,
    exponent: i32,
}

impl FloatParts {
    /// Splits a float printed as `1.25e-3`, with at most eight digits after the
    /// point.
    #[inline]
    fn scientific(float: &ColumnFloat) -> FloatParts {
        let text = &float.digits.text;
        let Some((_, digits, _)) = split_scientific(text) else {
            return FloatParts::positional(float);
        };
        let rounded = if digits.len() > 9 { format!("{:.8e}", float.value) } else { text.clone() };
        let Some((sign, digits, exponent)) = split_scientific(&rounded) else {
            return FloatParts::positional(float);
        };
        let (first, rest) = digits.split_at(1);
        FloatParts {
            sign: sign.to_owned(),
            whole: first.to_owned(),
            fraction: rest.trim_end_matches('0').to_owned(),
            exponent,
        }
    }

    /// Splits a float printed as `0.00125`, with at most eight digits after the
    /// point.
    #[inline]
    fn positional(float: &ColumnFloat) -> FloatParts {
        let Some((sign, digits, exponent)) = split_scientific(&float.digits.text) else {
            let whole = float.digits.text.clone();
            return FloatParts { sign: String::new(), whole, fraction: String::new(), exponent: 0 };
        };
        let sign = sign.to_owned();
        let (whole, fraction) = split_at_point(&digits, exponent);
        if fraction.len() <= 8 {
            return FloatParts { sign, whole, fraction, exponent: 0 };
        }
        let rounded = format!("{:.8}", float.value.abs());
        let (whole, fraction) = rounded.split_once('.').unwrap_or((&rounded, ""));
        let fraction = fraction.trim_end_matches('0').to_owned();
        FloatParts { sign, whole: whole.to_owned(), fraction, exponent: 0 }
    }
}

/// Prints floats with at most eight digits after the point, aligned at the point.
/// With `plus`, positive numbers have a sign.
#[inline]
fn floats(values: &[ColumnFloat], plus: bool) -> Vec<String> {
    let mut format = FloatFormat {
        is_scientific: is_scientific(values),
        plus,
        left: 0,
        right: 0,
        fraction_digits: 0,
        exponent_digits: 2,
    };
    let parts: Vec<_> = values.iter().map(|float| format.split(float)).collect();
    format.fit_widths(values, &parts);
    values.iter().zip(&parts).map(|(float, parts)| format.print(float, parts.as_ref())).collect()
}

/// How a column of floats is printed: NumPy's `FloatingFormat`.
struct FloatFormat {
    is_scientific: bool,
    plus: bool,
    /// The width before the point, including the sign.
    left: usize,
    /// The width after the point, including the exponent.
    right: usize,
    fraction_digits: usize,
    exponent_digits: usize,
}

impl FloatFormat {
    #[inline]
    fn split(&self, float: &ColumnFloat) -> Option<FloatParts> {
        if !float.value.is_finite() {
            return None;
        }
        let mut parts = if self.is_scientific {
            FloatParts::scientific(float)
        } else {
            FloatParts::positional(float)
        };
        if self.plus && parts.sign.is_empty() {
            parts.sign.push('+');
        }
        Some(parts)
    }

    /// Makes room for the widest parts.
    #[inline]
    fn fit_widths(&mut self, values: &[ColumnFloat], parts: &[Option<FloatParts>]) {
        for FloatParts { sign, whole, fraction, exponent } in parts.iter().flatten() {
            self.left = self.left.max(sign.len() + whole.len());
            self.fraction_digits = self.fraction_digits.max(fraction.len());
            let digits = exponent.unsigned_abs().to_string().len();
            self.exponent_digits = self.exponent_digits.max(digits);
        }
        self.right = self.fraction_digits;
        if self.is_scientific {
            self.right += self.exponent_digits + "e+".len();
        }
        if parts.iter().any(Option::is_none) {
            let has_sign = self.plus || values.iter().any(|float| float.value == f64::NEG_INFINITY);
            // `nan` and `inf` have three characters, one of them at the point.
            let width = 2 + usize::from(has_sign);
            if self.left + self.right < width {
                self.left = width - self.right;
            }
        }
    }

    #[inline]
    fn print(&self, float: &ColumnFloat, parts: Option<&FloatParts>) -> String {
        let (left, digits) = (self.left, self.fraction_digits);
        match parts {
            None => {
                let name = format_nonfinite(&float.digits.text);
                let sign = if self.plus && !name.starts_with('-') { "+" } else { "" };
                format!("{:>width$}", format!("{sign}{name}"), width = left + self.right + 1)
            }
            Some(parts) if self.is_scientific => self.print_scientific(float, &parts.sign),
            Some(FloatParts { sign, whole, fraction, .. }) => {
                format!("{:>left$}.{fraction:digits$}", format!("{sign}{whole}"))
            }
        }
    }

    #[inline]
    fn print_scientific(&self, float: &ColumnFloat, sign: &str) -> String {
        // All have the same number of digits. Those after the shortest digits of
        // a float are its exact digits, not zeros.
        let exact = format!("{:.digits$e}", float.value.abs(), digits = self.fraction_digits);
        let Some((_, digits, exponent)) = split_scientific(&exact) else { return exact };
        let (first, fraction) = digits.split_at(1);
        let whole = format!("{sign}{first}");
        let exponent_sign = if exponent < 0 { '-' } else { '+' };
        let exponent = exponent.unsigned_abs();
        let (left, width) = (self.left, self.exponent_digits);
        format!("{whole:>left$}.{fraction}e{exponent_sign}{exponent:0width$}")
    }
}

/// Returns whether NumPy prints the floats in scientific notation.
#[inline]
fn is_scientific(values: &[ColumnFloat]) -> bool {
    let nonzero = values.iter().filter(|float| float.value.is_finite() && float.value != 0.0);
    let nonzero: Vec<&ColumnFloat> = nonzero.collect();
    let Some(first) = nonzero.first() else { return false };
    let largest = nonzero.iter().map(|float| float.digits.magnitude).fold(0.0, f64::max);
    let smallest = nonzero.iter().map(|float| float.digits.magnitude).fold(f64::INFINITY, f64::min);
    // NumPy compares in the precision of the floats.
    let (is_small, ratio) = if first.is_single {
        let (largest, smallest) = (to_f32(largest), to_f32(smallest));
        (smallest < 1e-4, f64::from(largest / smallest))
    } else {
        (smallest < 1e-4, largest / smallest)
    };
    largest >= first.digits.large_in_record || is_small || ratio > 1000.0
}

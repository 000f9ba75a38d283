//! Prints values of one type in columns, as NumPy does inside a record.

use super::Value;
use super::digits::{Digits, parts, placed, special};
use crate::error::invariant::Invariant;

/// Subarrays of more elements are shortened.
const THRESHOLD: usize = 1000;

/// What is left of an axis at either end, when it is.
const EDGE: usize = 3;

/// Prints values of one type as NumPy does inside a record: text and dates in
/// quotes, and what stands in subarrays padded to one width.
pub(super) fn column(values: &[&Value], in_array: bool) -> Vec<String> {
    match values.first() {
        Some(Value::Record(fields)) => records(values, fields.len(), in_array),
        Some(Value::Array(_)) => arrays(values),
        Some(Value::Bool(_)) if in_array => padded(values, 5),
        Some(Value::Int(_) | Value::UInt(_) | Value::DateTime(..) | Value::TimeDelta(..)) => {
            padded(values, 0)
        }
        Some(Value::C64(_) | Value::C128(_)) => complex(values),
        _ => values.iter().map(|value| value.inside()).collect(),
    }
}

fn padded(values: &[&Value], least: usize) -> Vec<String> {
    let texts: Vec<_> = values.iter().map(|value| value.inside()).collect();
    let width = texts.iter().map(String::len).fold(least, usize::max);
    texts.into_iter().map(|text| format!("{text:>width$}")).collect()
}

/// `(1, 'a', 2.5)`, and `(1,)` of one; each field is a column.
fn records<'v>(values: &[&'v Value], fields: usize, in_array: bool) -> Vec<String> {
    let mut texts = vec![String::from("("); values.len()];
    for number in 0..fields {
        let part = |value: &&'v Value| match *value {
            Value::Record(parts) => parts.get(number),
            _ => None,
        };
        let parts: Vec<&Value> = values.iter().filter_map(part).collect();
        let parts = column(&parts, in_array);
        for (text, part) in texts.iter_mut().zip(parts) {
            let comma = if number > 0 { ", " } else { "" };
            text.extend([comma, &part]);
        }
    }
    let end = if fields == 1 { ",)" } else { ")" };
    texts.into_iter().map(|text| text + end).collect()
}

/// `[1, 2]`; the elements of all are one column.
fn arrays(values: &[&Value]) -> Vec<String> {
    let mut elements = Vec::new();
    for value in values {
        add_elements(value, &mut elements);
    }
    let mut texts = column(&elements, true).into_iter();
    values.iter().map(|value| joined(value, count(value) > THRESHOLD, &mut texts)).collect()
}

/// The elements of a subarray of any number of axes, in C order.
fn add_elements<'v>(value: &'v Value, elements: &mut Vec<&'v Value>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| add_elements(item, elements)),
        element => elements.push(element),
    }
}

fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(count).sum(),
        _ => 1,
    }
}

/// Puts the texts of its elements into brackets.
fn joined(value: &Value, shorten: bool, texts: &mut impl Iterator<Item = String>) -> String {
    let Value::Array(items) = value else {
        return texts.next().invariant("each element has a text");
    };
    let cut = if shorten && items.len() > 2 * EDGE { EDGE..items.len() - EDGE } else { 0..0 };
    let mut parts = Vec::new();
    for (number, item) in items.iter().enumerate() {
        if !cut.contains(&number) {
            parts.push(joined(item, shorten, texts));
            continue;
        }
        if number == cut.start {
            parts.push("...".to_owned());
        }
        texts.by_ref().take(count(item)).for_each(drop);
    }
    format!("[{}]", parts.join(", "))
}

/// `1.+2.j`: the real parts are a column, and the imaginary ones.
fn complex(values: &[&Value]) -> Vec<String> {
    let both = |value: &&Value| match *value {
        Value::C64(value) => [value.re, value.im].map(Part::single),
        Value::C128(value) => [value.re, value.im].map(Part::double),
        _ => [0.0, 0.0].map(Part::double),
    };
    let (real, imaginary): (Vec<_>, Vec<_>) =
        values.iter().map(both).map(|[real, imaginary]| (real, imaginary)).unzip();
    let (real, imaginary) = (floats(&real, false), floats(&imaginary, true));
    let pair = |(real, imaginary): (String, String)| {
        let digits = imaginary.trim_end().len();
        let (digits, spaces) = imaginary.split_at(digits);
        format!("{real}{digits}j{spaces}")
    };
    real.into_iter().zip(imaginary).map(pair).collect()
}

/// A float, and its fewest digits.
struct Part {
    value: f64,
    is_single: bool,
    digits: Digits,
}

impl Part {
    fn single(value: f32) -> Part {
        Part { value: value.into(), is_single: true, digits: Digits::single(value) }
    }

    fn double(value: f64) -> Part {
        Part { value, is_single: false, digits: Digits::double(value) }
    }
}

/// Prints floats with at most eight digits behind the point, which stands in
/// the same place in all: NumPy's `FloatingFormat`.
fn floats(values: &[Part], plus: bool) -> Vec<String> {
    let is_scientific = is_scientific(values);
    let pieces = |part: &Part| {
        part.value.is_finite().then(|| {
            let (sign, whole, fraction, exponent) =
                if is_scientific { scientific(part) } else { positional(part) };
            let sign = if plus && sign.is_empty() { "+".to_owned() } else { sign };
            (sign + &whole, fraction, exponent)
        })
    };
    let pieces: Vec<_> = values.iter().map(pieces).collect();
    let widest = |of: fn(&(String, String, i32)) -> usize| {
        pieces.iter().flatten().map(of).max().unwrap_or(0)
    };
    let (mut left, digits) = (widest(|piece| piece.0.len()), widest(|piece| piece.1.len()));
    let power = widest(|piece| piece.2.unsigned_abs().to_string().len()).max(2);
    let right = if is_scientific { power + 2 + digits } else { digits };
    if pieces.iter().any(Option::is_none) {
        let minus = plus || values.iter().any(|part| part.value.is_infinite() && part.value < 0.0);
        left = left
            .max(2_usize.saturating_sub(right))
            .max((2 + usize::from(minus)).saturating_sub(right));
    }
    let text = |(piece, part): (Option<(String, String, i32)>, &Part)| match piece {
        None => {
            let name = special(&part.digits.text);
            let sign = if plus && !name.starts_with('-') { "+" } else { "" };
            format!("{:>width$}", format!("{sign}{name}"), width = left + right + 1)
        }
        Some((whole, ..)) if is_scientific => {
            // All have as many digits; those behind the fewest that tell a
            // float are its own, and no zeros.
            let exact = format!("{:.digits$e}", part.value.abs());
            let Some((_, all, exponent)) = parts(&exact) else { return exact };
            let (first, fraction) = all.split_at(1);
            let sign = if whole.starts_with(['-', '+']) { whole.get(..1) } else { None };
            let whole = format!("{}{first}", sign.unwrap_or(""));
            let minus = if exponent < 0 { '-' } else { '+' };
            let exponent = exponent.unsigned_abs();
            format!("{whole:>left$}.{fraction}e{minus}{exponent:0power$}")
        }
        Some((whole, fraction, _)) => format!("{whole:>left$}.{fraction:digits$}"),
    };
    pieces.into_iter().zip(values).map(text).collect()
}

/// Whether all are printed scientific.
fn is_scientific(values: &[Part]) -> bool {
    let sizes = || values.iter().filter(|part| part.value.is_finite() && part.value != 0.0);
    let most = sizes().map(|part| part.digits.size).fold(0.0, f64::max);
    let least = sizes().map(|part| part.digits.size).fold(f64::INFINITY, f64::min);
    let Some(first) = sizes().next() else { return false };
    // NumPy compares in the floats' own precision.
    let (is_small, ratio) = if first.is_single {
        let single = |value: f64| num_traits::ToPrimitive::to_f32(&value).unwrap_or(f32::NAN);
        (single(least) < 1e-4, f64::from(single(most) / single(least)))
    } else {
        (least < 1e-4, most / least)
    };
    most >= first.digits.large_inside || is_small || ratio > 1000.0
}

/// Sign, whole part, fraction and exponent of `1.25e-3`.
fn scientific(part: &Part) -> (String, String, String, i32) {
    let Some((_, digits, _)) = parts(&part.digits.text) else { return positional(part) };
    let rounded =
        if digits.len() > 9 { format!("{:.8e}", part.value) } else { part.digits.text.clone() };
    let Some((sign, digits, exponent)) = parts(&rounded) else { return positional(part) };
    let (first, rest) = digits.split_at(1);
    (sign.to_owned(), first.to_owned(), rest.trim_end_matches('0').to_owned(), exponent)
}

/// The same of `0.00125`.
fn positional(part: &Part) -> (String, String, String, i32) {
    let Some((sign, digits, exponent)) = parts(&part.digits.text) else {
        return (String::new(), part.digits.text.clone(), String::new(), 0);
    };
    let (whole, fraction) = placed(&digits, exponent);
    if fraction.len() <= 8 {
        return (sign.to_owned(), whole, fraction, 0);
    }
    let rounded = format!("{:.8}", part.value.abs());
    let (whole, fraction) = rounded.split_once('.').unwrap_or((&rounded, ""));
    (sign.to_owned(), whole.to_owned(), fraction.trim_end_matches('0').to_owned(), 0)
}

//! Prints elements one after the other, in brackets, without holding them.

use std::io::{self, Write};
use std::path::Path;

use npymap::{DType, DynView, Ticks, Value};
use serde_json::Value as Json;

use crate::failure::Failure;

/// How many elements of no bytes are printed: a header can announce any number.
const NO_BYTES: usize = 1 << 20;

/// Rejects printing more elements of no bytes than that.
pub(crate) fn check_count(path: &Path, itemsize: usize, count: usize) -> Result<(), Failure> {
    if itemsize == 0 && count > NO_BYTES {
        return Err(Failure::NoBytes { path: path.to_owned(), count, most: NO_BYTES });
    }
    Ok(())
}

/// Prints elements as NumPy does: one by itself, more in brackets with a row
/// a line.
pub(crate) fn text(out: &mut impl Write, view: &DynView<'_>) -> io::Result<()> {
    if view.ndim() == 0 {
        return view.iter().try_for_each(|value| writeln!(out, "{value}"));
    }
    let between = |out: &mut _, closed| separate(out, closed, view.ndim());
    nested(out, view, between, |out, value| element(out, &value))
}

/// Prints elements as JSON, in one line.
pub(crate) fn json(out: &mut impl Write, view: &DynView<'_>) -> io::Result<()> {
    let one = |out: &mut _, value| {
        serde_json::to_writer(out, &to_json(&value, view.dtype())).map_err(io::Error::from)
    };
    if view.ndim() == 0 {
        view.iter().try_for_each(|value| one(out, value))?;
        return writeln!(out);
    }
    nested(out, view, |out, _| write!(out, ","), one)
}

/// Goes through all elements in C order and prints brackets around the rows
/// of each axis.
fn nested<W: Write>(
    out: &mut W,
    view: &DynView<'_>,
    between: impl Fn(&mut W, usize) -> io::Result<()>,
    one: impl Fn(&mut W, Value) -> io::Result<()>,
) -> io::Result<()> {
    if view.is_empty() {
        return writeln!(out, "[]");
    }
    let rows = rows(view.shape());
    let opened = |number: usize| rows.iter().filter(|&&row| number.is_multiple_of(row)).count();
    let last = view.len() - 1;
    for (number, value) in view.iter().enumerate() {
        brackets(out, b"[", opened(number))?;
        one(out, value)?;
        brackets(out, b"]", opened(number + 1))?;
        if number < last {
            between(out, opened(number + 1))?;
        }
    }
    writeln!(out)
}

/// The number of elements in a row of each axis.
fn rows(shape: &[usize]) -> Vec<usize> {
    let mut rows: Vec<usize> = shape.to_vec();
    let mut count = 1;
    for row in rows.iter_mut().rev() {
        count *= *row;
        *row = count;
    }
    rows
}

fn brackets(out: &mut impl Write, bracket: &[u8], count: usize) -> io::Result<()> {
    (0..count).try_for_each(|_| out.write_all(bracket))
}

/// Goes on after an element that closed so many rows: on the same line, or
/// on a new one below the row's bracket, with empty lines between tables.
fn separate(out: &mut impl Write, closed: usize, ndim: usize) -> io::Result<()> {
    match closed {
        0 => write!(out, ", "),
        _ => {
            write!(out, ",{}{}", "\n".repeat(closed), " ".repeat(ndim - closed))
        }
    }
}

/// An element among others: numbers as by themselves, so that none loses
/// digits, and the rest as NumPy prints it in arrays.
fn element(out: &mut impl Write, value: &Value) -> io::Result<()> {
    match value {
        Value::Text(_) | Value::DateTime(..) | Value::TimeDelta(..) => write!(out, "{value:#}"),
        _ => write!(out, "{value}"),
    }
}

/// An element, or those of a subarray in brackets, on one line without what
/// would break it.
pub(crate) fn cell(view: &DynView<'_>) -> String {
    let mut text = io::Cursor::new(vec![0; CELL].into_boxed_slice());
    let between = |out: &mut io::Cursor<Box<[u8]>>, _| write!(out, ", ");
    // What there is no room for is an error, and cut off.
    let _ = match view.iter().next() {
        Some(value) if view.ndim() == 0 => write!(text, "{value}"),
        _ => nested(&mut text, view, between, |out, value| element(out, &value)),
    };
    let len = usize::try_from(text.position()).unwrap_or(CELL);
    let mut text = text.into_inner().into_vec();
    text.truncate(len);
    let text = String::from_utf8_lossy(&text);
    text.trim_end().chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// The longest cell, in bytes; no line is as long.
const CELL: usize = 1 << 14;

/// Whether elements print as numbers.
pub(crate) fn is_number(dtype: &DType) -> bool {
    use npymap::Kind as K;
    matches!(dtype.kind(), K::Int | K::UInt | K::Float | K::Complex | K::TimeDelta)
}

/// What stands for a number, a date or a difference in JSON.
pub(crate) fn scalar(value: &Value) -> Json {
    to_json(value, &DType::of::<u8>())
}

/// What stands for a value in JSON, which has no bytes, no NaN and no complex
/// numbers; dates are text.
pub(crate) fn to_json(value: &Value, dtype: &DType) -> Json {
    match value {
        Value::Bool(value) => (*value).into(),
        Value::Int(value) => (*value).into(),
        Value::UInt(value) => (*value).into(),
        Value::F16(_) | Value::F32(_) | Value::F64(_) => number(value),
        Value::C64(value) => [value.re, value.im].map(|part| number(&Value::F32(part))).into(),
        Value::C128(value) => [value.re, value.im].map(|part| number(&Value::F64(part))).into(),
        Value::Bytes(bytes) | Value::Void(bytes) => {
            bytes.iter().copied().map(char::from).collect::<String>().into()
        }
        Value::Text(text) => text.as_str().into(),
        Value::DateTime(ticks, _) | Value::TimeDelta(ticks, _) if *ticks == Ticks::NAT => {
            Json::Null
        }
        Value::TimeDelta(ticks, _) => ticks.0.into(),
        Value::Record(values) => {
            let fields = dtype.fields().iter().zip(values);
            fields
                .map(|(field, value)| (field.name.clone(), to_json(value, &field.dtype)))
                .collect()
        }
        Value::Array(values) => {
            let base = dtype.subarray().map_or(dtype, |(base, _)| base);
            values.iter().map(|value| to_json(value, base)).collect()
        }
        _ => value.to_string().into(),
    }
}

/// A float with the fewest digits that tell it, or its name.
fn number(value: &Value) -> Json {
    let text = value.to_string();
    match text.parse().ok().and_then(serde_json::Number::from_f64) {
        Some(number) => Json::Number(number),
        None => Json::String(text),
    }
}

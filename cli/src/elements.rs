//! Prints elements one after the other, in brackets, without holding them.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use npymap::{DType, Value, element::Ticks, view::DynView};
use serde::{Serialize, Serializer};

use crate::escape::{self, escaped};

use crate::error::CliError;

/// How many elements of no bytes are printed: a header can announce any number.
const NO_BYTES: usize = 1 << 20;

/// Rejects printing more elements of no bytes than that.
pub(crate) fn check_count(path: &Path, itemsize: usize, count: usize) -> Result<(), CliError> {
    if itemsize == 0 && count > NO_BYTES {
        return Err(CliError::NoBytes { path: path.to_owned(), count, most: NO_BYTES });
    }
    Ok(())
}

/// Prints elements as NumPy does: one by itself, more in brackets with a row
/// a line.
pub(crate) fn text(out: &mut impl Write, view: &DynView<'_>) -> io::Result<()> {
    if view.ndim() == 0 {
        return view.iter().try_for_each(|value| {
            alone(out, &value)?;
            writeln!(out)
        });
    }
    let between = |out: &mut _, closed| separate(out, closed, view.ndim());
    nested(out, view, between, element)
}

/// Prints elements as JSON, in one line.
pub(crate) fn json(out: &mut impl Write, view: &DynView<'_>) -> io::Result<()> {
    let one = |out: &mut _, value: &Value| escape::json(out, &JsonValue(value, view.dtype()));
    if view.ndim() == 0 {
        view.iter().try_for_each(|value| one(out, &value))?;
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
    one: impl Fn(&mut W, &Value) -> io::Result<()>,
) -> io::Result<()> {
    if view.is_empty() {
        return writeln!(out, "[]");
    }
    let rows = rows(view.shape());
    let last = view.len() - 1;
    let mut opened = rows.len();
    for (number, value) in view.iter().enumerate() {
        brackets(out, b"[", opened)?;
        one(out, &value)?;
        opened = ended(&rows, number + 1);
        brackets(out, b"]", opened)?;
        if number < last {
            between(out, opened)?;
        }
    }
    writeln!(out)
}

/// For how many axes a row ends after this many elements: a row ends only where
/// the rows inside it do.
fn ended(rows: &[usize], number: usize) -> usize {
    rows.iter().rev().take_while(|&&row| number.is_multiple_of(row)).count()
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

/// An element by itself, on one line: text without quotes.
fn alone(out: &mut impl Write, value: &Value) -> io::Result<()> {
    match value {
        Value::Text(text) => out.write_all(escaped(text).as_bytes()),
        _ => write!(out, "{value}"),
    }
}

/// An element, or those of a subarray in brackets, on one line.
pub(crate) fn cell(view: &DynView<'_>) -> String {
    let mut text = CellBuffer(Vec::new());
    let between = |out: &mut CellBuffer, _| write!(out, ", ");
    // More than there is room for is an error, and cut off.
    let _ = match view.iter().next() {
        Some(value) if view.ndim() == 0 => alone(&mut text, &value),
        _ => nested(&mut text, view, between, element),
    };
    let text = String::from_utf8_lossy(&text.0);
    text.trim_end().to_owned()
}

/// The longest cell, in bytes; no line is as long.
const CELL: usize = 1 << 14;

/// Text up to the length of a cell.
struct CellBuffer(Vec<u8>);

impl Write for CellBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = bytes.len().min(CELL - self.0.len());
        self.0.extend(bytes.iter().take(room));
        // Of none of the bytes this is an error for whoever has more.
        Ok(room)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether elements print as numbers.
pub(crate) fn is_number(dtype: &DType) -> bool {
    use npymap::dtype::Kind as K;
    matches!(dtype.kind(), K::Int | K::UInt | K::Float | K::Complex | K::TimeDelta)
}

/// A value of a dtype as JSON, which has no bytes, no NaN and no complex
/// numbers; dates are text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JsonValue<'a>(pub(crate) &'a Value, pub(crate) &'a DType);

impl Serialize for JsonValue<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let JsonValue(value, dtype) = *self;
        match value {
            Value::Bool(value) => to.serialize_bool(*value),
            Value::Int(value) => to.serialize_i64(*value),
            Value::UInt(value) => to.serialize_u64(*value),
            Value::F16(_) | Value::F32(_) | Value::F64(_) => number(value, to),
            Value::C64(value) => {
                to.collect_seq([value.re, value.im].map(|part| JsonScalar(Value::F32(part))))
            }
            Value::C128(value) => {
                to.collect_seq([value.re, value.im].map(|part| JsonScalar(Value::F64(part))))
            }
            Value::Bytes(bytes) | Value::Void(bytes) => to.collect_str(&Latin1(bytes)),
            Value::Text(text) => to.serialize_str(text),
            Value::DateTime(Ticks::NAT, _) | Value::TimeDelta(Ticks::NAT, _) => to.serialize_none(),
            Value::TimeDelta(ticks, _) => to.serialize_i64(ticks.0),
            Value::Record(values) => {
                let fields = dtype.fields().iter().zip(values);
                to.collect_map(
                    fields.map(|(field, value)| (field.name(), JsonValue(value, &field.dtype))),
                )
            }
            Value::Array(values) => {
                let base = dtype.subarray().map_or(dtype, |(base, _)| base);
                to.collect_seq(values.iter().map(|value| JsonValue(value, base)))
            }
            _ => to.collect_str(value),
        }
    }
}

/// A number, a date or a time difference as JSON.
#[derive(Clone, Debug)]
pub(crate) struct JsonScalar(pub(crate) Value);

impl Serialize for JsonScalar {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        JsonValue(&self.0, &DType::of::<u8>()).serialize(to)
    }
}

/// A float with the fewest digits that identify it, or its name.
fn number<S: Serializer>(value: &Value, to: S) -> Result<S::Ok, S::Error> {
    let text = value.to_string();
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => to.serialize_f64(number),
        _ => to.serialize_str(&text),
    }
}

/// Bytes as the characters of the same numbers.
struct Latin1<'a>(&'a [u8]);

impl fmt::Display for Latin1<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chunks(4096).try_for_each(|bytes| {
            f.write_str(&bytes.iter().copied().map(char::from).collect::<String>())
        })
    }
}

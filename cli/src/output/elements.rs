//! Prints elements one after another, in brackets, without holding them in
//! memory.

use std::io::{self, Write};
use std::path::Path;

use npymap::{DType, MappedArray, Value, array::Outline, view::DynView};

use crate::input::escape::{self, escaped};
use crate::input::json_value::JsonValue;
use crate::input::progress::Progress;
use crate::select::limits;

use crate::input::error::CliError;
use crate::input::float_text;

/// Prints elements as NumPy does: a single element by itself, others in
/// brackets with a line for each row.
pub(crate) fn print(out: &mut impl Write, view: &DynView<'_>) -> io::Result<()> {
    if view.ndim() == 0 {
        return view.iter().try_for_each(|value| {
            write_scalar(out, &value)?;
            writeln!(out)
        });
    }
    write_nested(out, view, Style::Text)
}

/// Elements up to this size are brought into memory at once, in bytes.
const AT_ONCE: usize = 8 << 20;

/// Prints elements of an array by [`print`], or as JSON. They are brought into memory in
/// blocks.
pub(crate) fn print_windows(
    out: &mut impl Write,
    array: &MappedArray,
    part: &Outline<'_>,
    json: bool,
    to_error: &dyn Fn(npymap::Error) -> CliError,
) -> Result<(), CliError> {
    if part.ndim() == 0 || part.nbytes() <= AT_ONCE {
        let window = array.window(part).map_err(to_error)?;
        let view = window.view();
        return Ok(if json { print_json(out, &view) } else { print(out, &view) }?);
    }
    let style = if json { Style::Json } else { Style::Text };
    let mut nested = Nested::new(part);
    // The error of `write`, which is about the output, ends the windows.
    let mut failure = None;
    let read = array.for_each_window(part, |part| {
        nested.write(out, part, style).map_err(|error| {
            let kind = error.kind();
            failure = Some(error);
            npymap::Error::from(io::Error::from(kind))
        })
    });
    if let Some(failure) = failure {
        return Err(failure.into());
    }
    read.map_err(to_error)?;
    Ok(writeln!(out)?)
}

/// Rejects too many elements, or too many empty rows, for [`print_json`].
pub(crate) fn check_json(path: &Path, part: &Outline<'_>) -> Result<(), CliError> {
    limits::check_count(path, part.itemsize(), part.len())?;
    let rows = if part.is_empty() { empty_rows(part.shape()) } else { 0 };
    limits::check_empty_rows(path, rows)
}

/// The number of empty rows of an array without elements, with the rows that
/// they are in.
fn empty_rows(shape: &[usize]) -> usize {
    let (mut rows, mut count) = (1_usize, 1_usize);
    for dim in shape.iter().take_while(|dim| **dim > 0) {
        count *= *dim;
        // There may be several axes of length 1 inside the longest one.
        rows = rows.saturating_add(count);
    }
    rows
}

/// Prints elements as JSON, on one line, in the lists of NumPy's `tolist`.
pub(crate) fn print_json(out: &mut impl Write, view: &DynView<'_>) -> io::Result<()> {
    if view.is_empty() {
        write_empty(out, view.shape())?;
        return writeln!(out);
    }
    if view.ndim() == 0 {
        view.iter().try_for_each(|value| escape::json(out, &JsonValue(&value, view.dtype())))?;
        return writeln!(out);
    }
    write_nested(out, view, Style::Json)
}

/// Writes the lists of an array without elements: `[[],[]]` for shape (2, 0).
fn write_empty(out: &mut impl Write, shape: &[usize]) -> io::Result<()> {
    write_brackets(out, b"[", 1)?;
    if let Some((&len, inner)) = shape.split_first() {
        for number in 0..len {
            out.write_all(if number > 0 { b"," } else { b"" })?;
            write_empty(out, inner)?;
        }
    }
    write_brackets(out, b"]", 1)
}

/// How elements and what is between them are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// With a line for each row.
    Text,
    /// On one line.
    Line,
    Json,
}

impl Style {
    fn write(self, out: &mut impl Write, value: &Value, dtype: &DType) -> io::Result<()> {
        match self {
            Style::Json => escape::json(out, &JsonValue(value, dtype)),
            Style::Text | Style::Line => write_element(out, value),
        }
    }

    /// Separates an element from the previous one, which ended `closed` rows.
    fn separate(self, out: &mut impl Write, closed: usize, ndim: usize) -> io::Result<()> {
        match self {
            // On the same line, or on a new line indented to the row's bracket, with empty
            // lines between matrices.
            Style::Text if closed > 0 => {
                write!(out, ",{}{}", "\n".repeat(closed), " ".repeat(ndim - closed))
            }
            Style::Text | Style::Line => write!(out, ", "),
            Style::Json => write!(out, ","),
        }
    }
}

/// Elements that are written in C order, with brackets around the rows of each axis.
struct Nested {
    rows: Vec<usize>,
    /// How many were written, of all.
    written: usize,
    len: usize,
    /// How many rows end after the last one.
    closed: usize,
    progress: Progress,
}

impl Nested {
    fn new(all: &Outline<'_>) -> Nested {
        let rows = row_lens(all.shape());
        let progress = Progress::new(all.nbytes());
        Nested { closed: rows.len(), rows, written: 0, len: all.len(), progress }
    }

    /// Writes the next elements.
    fn write(&mut self, out: &mut impl Write, part: &DynView<'_>, style: Style) -> io::Result<()> {
        for value in part {
            write_brackets(out, b"[", self.closed)?;
            style.write(out, &value, part.dtype())?;
            self.written += 1;
            self.closed = ended_rows(&self.rows, self.written);
            write_brackets(out, b"]", self.closed)?;
            self.progress.add(part.itemsize());
            if self.written < self.len {
                style.separate(out, self.closed, self.rows.len())?;
            }
        }
        Ok(())
    }
}

/// Writes all elements of a view.
fn write_nested(out: &mut impl Write, view: &DynView<'_>, style: Style) -> io::Result<()> {
    if view.is_empty() {
        return writeln!(out, "[]");
    }
    Nested::new(&view.clone().into()).write(out, view, style)?;
    writeln!(out)
}

/// The number of axes along which a row ends after this many elements. A row
/// ends only where the rows inside it end.
fn ended_rows(rows: &[usize], number: usize) -> usize {
    rows.iter().rev().take_while(|&&row| number.is_multiple_of(row)).count()
}

/// The number of elements in a row of each axis.
fn row_lens(shape: &[usize]) -> Vec<usize> {
    let mut rows: Vec<usize> = shape.to_vec();
    let mut count = 1;
    for row in rows.iter_mut().rev() {
        count *= *row;
        *row = count;
    }
    rows
}

fn write_brackets(out: &mut impl Write, bracket: &[u8], count: usize) -> io::Result<()> {
    (0..count).try_for_each(|_| out.write_all(bracket))
}

/// Writes an element in brackets. Numbers have all digits, as by themselves;
/// text and dates are quoted as NumPy does in arrays.
fn write_element(out: &mut impl Write, value: &Value) -> io::Result<()> {
    match (value, float_text::rounded(value)) {
        (_, Some(rounded)) => out.write_all(rounded.as_bytes()),
        (Value::Text(_) | Value::DateTime(..) | Value::TimeDelta(..), None) => {
            write!(out, "{value:#}")
        }
        (_, None) => write!(out, "{value}"),
    }
}

/// Writes an element by itself, on one line: text without quotes.
fn write_scalar(out: &mut impl Write, value: &Value) -> io::Result<()> {
    match (value, float_text::rounded(value)) {
        (Value::Text(text), _) => out.write_all(escaped(text).as_bytes()),
        (_, Some(rounded)) => out.write_all(escaped(&rounded).as_bytes()),
        (_, None) => write!(out, "{value}"),
    }
}

/// An element, or the elements of a subarray in brackets, on one line.
pub(crate) fn cell(view: &DynView<'_>) -> String {
    let mut text = CellBuffer(Vec::new());
    // Text that does not fit is an error, and cut off.
    let _ = match view.iter().next() {
        Some(value) if view.ndim() == 0 => write_scalar(&mut text, &value),
        _ => write_nested(&mut text, view, Style::Line),
    };
    let text = String::from_utf8_lossy(&text.0);
    text.trim_end().to_owned()
}

/// The maximum length of a cell, in bytes; longer than any line.
const CELL: usize = 1 << 14;

/// A buffer for the text of a cell. Writing more is an error.
struct CellBuffer(Vec<u8>);

impl Write for CellBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = bytes.len().min(CELL - self.0.len());
        self.0.extend(bytes.iter().take(room));
        // Writing none of the bytes makes `write_all` fail.
        Ok(room)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns whether elements are printed as numbers.
pub(crate) fn is_number(dtype: &DType) -> bool {
    use npymap::dtype::Kind as K;
    matches!(dtype.kind(), K::Int | K::UInt | K::Float | K::Complex | K::TimeDelta)
}

//! Writes rows as text that other programs read: CSV, TSV and JSON lines.

use std::io::{self, IsTerminal as _};

use csv::{Writer, WriterBuilder};
use npymap::{DType, Error, ErrorKind, Result, Value, array::Outline, dtype::Kind, view::DynView};

use crate::input::error::{At as _, CliError};
use crate::input::escape;
use crate::input::json_value::JsonValue;
use crate::input::text_format::{MARK, MAX_COLUMNS, TextFormat};
use crate::input::text_input::column_names;
use crate::output::cells::{self, Cells};
use crate::output::sink::Sink;
use crate::select::filter::leading_axes;
use crate::select::rows::RowSelection;

/// How to write rows as text.
#[derive(Clone, Debug)]
pub(crate) struct TextOptions<'a> {
    pub(crate) format: TextFormat,
    /// Whether records have a line with the names of their fields.
    pub(crate) header: bool,
    /// The text of NaN and `NaT`.
    pub(crate) nan: Option<&'a str>,
}

impl TextOptions<'_> {
    /// Writes rows, block by block.
    pub(crate) fn write(&self, rows: &RowSelection<'_>, sink: &mut Sink) -> Result<(), CliError> {
        // On a terminal, text of the file could send commands to it.
        let is_escaped = matches!(sink, Sink::Standard(_)) && io::stdout().is_terminal();
        let mut is_at_start = true;
        let mut write = |text: Vec<u8>| {
            let text = if is_at_start { self.quote_mark(text) } else { text };
            is_at_start &= text.is_empty();
            sink.write(&text)
        };
        if let (TextFormat::Separated(separator), true) = (self.format, self.header) {
            let header = rows.dtype().and_then(|dtype| header(&dtype, separator, is_escaped));
            write(header.at(rows.path)?)?;
        }
        rows.each_block(
            |view| match self.format {
                TextFormat::Separated(separator) => self.lines(view, separator, is_escaped),
                TextFormat::JsonLines => json_lines(view),
            },
            write,
        )
    }

    /// Quotes the first field of a file if it starts like a byte order mark, which
    /// readers would skip. Otherwise, it needs no quotes.
    fn quote_mark(&self, text: Vec<u8>) -> Vec<u8> {
        match self.format {
            TextFormat::Separated(separator) if text.starts_with(MARK) => {
                let ends = |&b: &u8| b == separator || b == b'\n';
                let (field, rest) = text.split_at(text.iter().position(ends).unwrap_or(text.len()));
                [b"\"", field, b"\"", rest].concat()
            }
            _ => text,
        }
    }

    /// The rows of a view as lines of separated fields.
    fn lines(&self, view: &DynView<'_>, separator: u8, is_escaped: bool) -> Result<Vec<u8>> {
        let leading = leading_axes(view.dtype(), view.ndim());
        let count: usize = view.shape().iter().take(leading).product();
        let columns = columns(view, leading)?;
        let mut out = writer(separator);
        let mut text = String::new();
        for row in 0..count {
            for (cells, width) in &columns {
                for index in row * width..(row + 1) * width {
                    text.clear();
                    match self.nan {
                        Some(nan) if cells.is_nan(index) => text.push_str(nan),
                        _ => cells.write(index, &mut text),
                    }
                    write_field(&mut out, &text, is_escaped)?;
                }
            }
            out.write_record(None::<&[u8]>).map_err(Error::other)?;
        }
        into_bytes(out)
    }
}

/// The elements of each field, and how many belong to one row.
fn columns(view: &DynView<'_>, leading: usize) -> Result<Vec<(Box<dyn Cells>, usize)>> {
    let mut leaves = Vec::new();
    add_leaves(&mut leaves, &view.clone().into(), view.ndim())?;
    let columns = leaves.iter().map(|leaf| {
        Ok((cells::decode(&leaf.view()?)?, leaf.shape().iter().skip(leading).product()))
    });
    columns.collect()
}

/// Adds the fields that are not structs, of a field of records that have `ndim` axes. The
/// elements of a subarray of structs are one after another, as `p.0.x`, `p.0.y`, `p.1.x`: in
/// the order of their names in JSON.
fn add_leaves<'a>(found: &mut Vec<Outline<'a>>, view: &Outline<'a>, ndim: usize) -> Result<()> {
    if view.dtype().kind() != Kind::Struct {
        check_columns(found.len() + 1)?;
        found.push(view.clone());
        return Ok(());
    }
    let fields = view.dtype().fields();
    match view.shape().get(ndim) {
        // Without fields, there may be any number of elements.
        Some(&len) if !fields.is_empty() => {
            for at in 0..len {
                let (before, element) = (found.len(), view.index_axis(ndim, at)?);
                add_leaves(found, &element, ndim)?;
                // The others have as many.
                let added = found.len() - before;
                if added == 0 {
                    break;
                }
                check_columns(added.saturating_mul(len))?;
            }
            Ok(())
        }
        _ => fields.iter().try_for_each(|field| {
            let leaf = view.getfield(&field.dtype, field.offset)?;
            add_leaves(found, &leaf, ndim)
        }),
    }
}

/// Rejects more columns than text may have that is read.
fn check_columns(count: usize) -> Result<()> {
    if count <= MAX_COLUMNS { Ok(()) } else { Err(too_many()) }
}

fn too_many() -> Error {
    let text =
        format!("has more than {MAX_COLUMNS} elements in a row, too many for columns: use .jsonl");
    Error::new(ErrorKind::LimitExceeded, text)
}

/// The names of the columns of records: fields, and the indices of subarrays, as
/// `pos.0`. Other arrays have no names.
fn header(dtype: &DType, separator: u8, is_escaped: bool) -> Result<Vec<u8>> {
    if dtype.kind() != Kind::Struct {
        return Ok(Vec::new());
    }
    let mut out = writer(separator);
    for name in column_names(dtype).map_err(|_| too_many())? {
        write_field(&mut out, &name, is_escaped)?;
    }
    out.write_record(None::<&[u8]>).map_err(Error::other)?;
    into_bytes(out)
}

fn writer(separator: u8) -> Writer<Vec<u8>> {
    // Rows without fields are lines too.
    WriterBuilder::new().delimiter(separator).flexible(true).from_writer(Vec::new())
}

fn write_field(out: &mut Writer<Vec<u8>>, text: &str, is_escaped: bool) -> Result<()> {
    let written = if is_escaped {
        out.write_field(escape::escaped(text).as_bytes())
    } else {
        out.write_field(text)
    };
    written.map_err(Error::other)
}

fn into_bytes(out: Writer<Vec<u8>>) -> Result<Vec<u8>> {
    out.into_inner().map_err(|error| npymap::Error::other(error.to_string()))
}

/// The rows of a view as lines of JSON: records are objects, rows of other
/// arrays are arrays, single elements are values.
pub(crate) fn json_lines(view: &DynView<'_>) -> Result<Vec<u8>> {
    let leading = leading_axes(view.dtype(), view.ndim());
    let count: usize = view.shape().iter().take(leading).product();
    let mut values = view.iter();
    let mut out = Vec::new();
    if leading == view.ndim() {
        for value in values {
            escape::json_line(&mut out, &JsonValue(&value, view.dtype()))?;
        }
        return Ok(out);
    }
    let width: usize = view.shape().iter().skip(leading).product();
    for _ in 0..count {
        let row: Vec<Value> = values.by_ref().take(width).collect();
        let row: Vec<_> = row.iter().map(|value| JsonValue(value, view.dtype())).collect();
        escape::json_line(&mut out, &row)?;
    }
    Ok(out)
}

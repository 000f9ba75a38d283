//! `npymap stats`: computes statistics of the elements.

use std::borrow::Cow;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::process::ExitCode;

use clap::Args;
use npymap::ndarray::SliceInfoElem;
use npymap::{MappedArray, Value, npy::MAX_HEADER_LEN, view::DynView};
use serde::Serialize;

use crate::array_path::ArrayPath;
use crate::elements::JsonScalar;
use crate::error::CliError;
use crate::escape::{self, safe};
use crate::progress::Progress;
use crate::selection::{IndexArg, Selected};
use crate::style::LABEL;
use crate::summary::{Sum, Summary};
use crate::table::{self, Column};
use crate::tiles::{self, Tile};
use crate::{leaf_fields, open};

/// Computes count, minimum, mean, maximum and sum of the elements.
///
/// Records are summarized by field, complex numbers by real and imaginary part,
/// and with --axis each column separately. Minimum, mean, maximum and sum
/// ignore NaN and `NaT`. All processors are used, and the file is read once, in
/// order.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap stats embeddings.npy
  npymap stats penguins.npy --axis 0
  npymap stats events.npy :1000.pos
  npymap stats --json events.npy

JSON has a line for each field or column. In it, nan, inf and -inf are strings,
and statistics that do not apply are null.

Exit status: 0 on success, 1 if the file or INDEX was rejected, 2 for a usage
error.")]
pub(crate) struct StatsArgs {
    /// Summarize each column along this axis separately, as NumPy's axis=N
    #[arg(long, value_name = "N")]
    axis: Option<usize>,

    /// Print a line of JSON for each field or column
    #[arg(long)]
    json: bool,

    /// Maximum header length, in characters
    #[arg(long, value_name = "N", default_value_t = MAX_HEADER_LEN)]
    max_header_len: usize,

    /// .npy file, or FILE[MEMBER] of an .npz, .ten or tar file
    file: ArrayPath,

    /// Elements to summarize [default: all]
    #[arg(value_name = "INDEX")]
    selection: Option<IndexArg>,
}

/// The statistics of a field or column.
struct StatsRow {
    field: String,
    /// The index of the column, with `None` for the axis along which it lies.
    index: Option<Vec<Option<usize>>>,
    dtype: String,
    summary: Summary,
}

/// The maximum number of columns: more would not be read, and might not fit
/// into memory.
const MAX_COLUMNS: usize = 1 << 16;

impl StatsArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        let array = open::array(&self.file, self.max_header_len);
        let array = array.map_err(CliError::with_path(self.file.name()))?;
        let all = array.dyn_view().map_err(CliError::with_path(self.file.name()))?;
        let selected = match &self.selection {
            Some(selection) => {
                selection.select(&all).map_err(CliError::with_path(self.file.name()))?
            }
            None => Selected::View(all),
        };
        let view = selected.view().map_err(CliError::with_path(self.file.name()))?;
        if let Some(axis) = self.axis {
            self.check(&view, axis)?;
        }
        let holes = Holes::new(&array);
        let rows = self.rows(&view, &holes).map_err(CliError::with_path(self.file.name()))?;
        let out = &mut BufWriter::new(anstream::stdout().lock());
        if self.json {
            self.print_json(out, &rows)?;
        } else {
            print_table(out, &rows)?;
        }
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }

    /// Checks the axis and the number of columns.
    fn check(&self, view: &DynView<'_>, axis: usize) -> Result<(), CliError> {
        // Fails if the axis is out of range.
        view.split_at(axis, 0).map_err(CliError::with_path(self.file.name()))?;
        let leaves = leaf_fields::find_real(view).map_err(CliError::with_path(self.file.name()))?;
        let columns = leaves.iter().map(|(_, leaf)| columns(leaf.shape(), Some(axis)));
        let count = columns.fold(0_usize, usize::saturating_add);
        if count > MAX_COLUMNS {
            return Err(CliError::TooManyColumns {
                path: self.file.name().to_owned(),
                axis,
                count,
                most: MAX_COLUMNS,
            });
        }
        Ok(())
    }

    /// Computes the statistics of all fields or columns, in one pass over the
    /// elements.
    fn rows(&self, view: &DynView<'_>, holes: &Holes<'_>) -> npymap::Result<Vec<StatsRow>> {
        let leaves = leaf_fields::find_real(view)?;
        let mut rows = Vec::new();
        let mut firsts = Vec::new();
        for (field, leaf) in &leaves {
            firsts.push(rows.len());
            let empty = Summary::compute(&empty_view(leaf)?)?;
            rows.extend((0..columns(leaf.shape(), self.axis)).map(|number| StatsRow {
                field: field.clone(),
                index: self.axis.map(|axis| index(leaf.shape(), axis, number)),
                dtype: leaf.dtype().to_string(),
                summary: empty.clone(),
            }));
        }
        let tiles = Tile::split(view)?;
        let mut progress = Progress::new(view.len().saturating_mul(view.itemsize()));
        tiles::process(
            &tiles,
            |tile| {
                let compute = if holes.contain(&tile.view) {
                    Summary::compute_zeros
                } else {
                    Summary::compute
                };
                let tile_leaves = leaf_fields::find_real(&tile.view)?;
                let pairs = tile_leaves.iter().zip(&leaves);
                pairs
                    .map(|((_, leaf), (_, whole))| {
                        self.summaries(leaf, &tile.origin, whole.shape(), compute)
                    })
                    .collect::<npymap::Result<Vec<_>>>()
            },
            |tile, summaries| {
                for (first, summaries) in firsts.iter().zip(summaries) {
                    for (number, summary) in summaries {
                        if let Some(row) = rows.get_mut(first + number) {
                            row.summary.merge(summary);
                        }
                    }
                }
                progress.add(tile.view.len().saturating_mul(tile.view.itemsize()));
            },
        )?;
        Ok(rows)
    }

    /// The summaries of the columns of a tile, each with the number of the
    /// column in the whole array.
    fn summaries(
        &self,
        leaf: &DynView<'_>,
        origin: &[usize],
        whole: &[usize],
        compute: fn(&DynView<'_>) -> npymap::Result<Summary>,
    ) -> npymap::Result<Vec<(usize, Summary)>> {
        let Some(axis) = self.axis else { return Ok(vec![(0, compute(leaf)?)]) };
        let mut summaries = Vec::new();
        for number in 0..columns(leaf.shape(), Some(axis)) {
            let index = index(leaf.shape(), axis, number);
            let info: Vec<SliceInfoElem> = index.iter().copied().map(element).collect();
            let summary = compute(&leaf.try_slice(info)?)?;
            summaries.push((column_number(&index, origin, whole), summary));
        }
        Ok(summaries)
    }

    fn print_json(&self, out: &mut impl Write, rows: &[StatsRow]) -> std::io::Result<()> {
        rows.iter().try_for_each(|StatsRow { field, index, dtype, summary }| {
            let line = JsonStats {
                path: self.file.path.to_string_lossy(),
                member: self.file.member.as_deref(),
                field: Some(field.as_str()).filter(|field| !field.is_empty()),
                index: index.as_deref(),
                descr: dtype,
                count: summary.count,
                nan: summary.nan,
                nat: summary.nat,
                infinite: summary.infinite,
                min: summary.min.clone().map(JsonScalar),
                max: summary.max.clone().map(JsonScalar),
                sum: summary.sum,
                mean: summary.mean().map(|mean| JsonScalar(Value::F64(mean))),
            };
            escape::json_line(out, &line)
        })
    }
}

/// A line of `--json`.
#[derive(Debug, Serialize)]
struct JsonStats<'a> {
    path: Cow<'a, str>,
    member: Option<&'a str>,
    field: Option<&'a str>,
    index: Option<&'a [Option<usize>]>,
    descr: &'a str,
    count: usize,
    nan: Option<usize>,
    nat: Option<usize>,
    infinite: Option<usize>,
    min: Option<JsonScalar>,
    max: Option<JsonScalar>,
    sum: Option<Sum>,
    mean: Option<JsonScalar>,
}

/// The holes of a sparse file. Their elements are zero and need not be read.
struct Holes<'a> {
    bytes: &'a [u8],
    /// The ranges of those bytes outside holes.
    stored: Vec<Range<usize>>,
}

impl<'a> Holes<'a> {
    fn new(array: &'a MappedArray) -> Holes<'a> {
        let bytes = array.as_bytes().unwrap_or_default();
        // If the holes are not known, everything is read.
        let stored =
            array.stored_ranges().unwrap_or_else(|_| std::iter::once(0..bytes.len()).collect());
        Holes { bytes, stored }
    }

    /// Returns whether a view is contiguous and inside a hole.
    fn contain(&self, view: &DynView<'_>) -> bool {
        let Some(own) = view.memory_order().as_bytes() else { return false };
        let Some(start) = own.as_ptr().addr().checked_sub(self.bytes.as_ptr().addr()) else {
            return false;
        };
        if start + own.len() > self.bytes.len() {
            return false;
        }
        let next = self.stored.partition_point(|range| range.end <= start);
        self.stored.get(next).is_none_or(|range| range.start >= start + own.len())
    }
}

/// The view without its elements.
fn empty_view<'a>(view: &DynView<'a>) -> npymap::Result<DynView<'a>> {
    if view.ndim() == 0 {
        let none = npymap::Indices::parse("None", &[])?;
        return Ok(view.try_slice(none)?.split_at(0, 0)?.0);
    }
    Ok(view.split_at(0, 0)?.0)
}

/// The number of columns along an axis.
fn columns(shape: &[usize], axis: Option<usize>) -> usize {
    let Some(axis) = axis else { return 1 };
    let kept = shape.iter().enumerate().filter(|(other, _)| *other != axis);
    kept.fold(1_usize, |count, (_, dim)| count.saturating_mul(*dim))
}

/// The index of the `number`th column, in C order.
fn index(shape: &[usize], axis: usize, number: usize) -> Vec<Option<usize>> {
    let mut rest = number;
    let mut index: Vec<_> = shape
        .iter()
        .enumerate()
        .rev()
        .map(|(other, &dim)| {
            if other == axis {
                return None;
            }
            let at = rest % dim.max(1);
            rest /= dim.max(1);
            Some(at)
        })
        .collect();
    index.reverse();
    index
}

/// The number of a column in the whole array, given its index relative to
/// `origin`.
fn column_number(index: &[Option<usize>], origin: &[usize], shape: &[usize]) -> usize {
    let origins = origin.iter().copied().chain(std::iter::repeat(0));
    let axes = index.iter().zip(shape).zip(origins);
    axes.fold(0, |number, ((at, dim), origin)| match at {
        Some(at) => number * dim + origin + at,
        None => number,
    })
}

fn element(index: Option<usize>) -> SliceInfoElem {
    match index {
        Some(index) => SliceInfoElem::Index(isize::try_from(index).unwrap_or(isize::MAX)),
        None => SliceInfoElem::Slice { start: 0, end: None, step: 1 },
    }
}

/// Formats a statistic of a row, if the row has it.
type CellFn = fn(&StatsRow) -> Option<String>;

const CELLS: [(&str, CellFn); 11] = [
    ("field", |row| Some(safe(&row.field)).filter(|field| !field.is_empty())),
    ("column", |row| row.index.as_deref().map(index_text)),
    ("dtype", |row| Some(row.dtype.clone())),
    ("count", |row| Some(row.summary.count.to_string())),
    ("NaN", |row| row.summary.nan.map(|count| count.to_string())),
    ("NaT", |row| row.summary.nat.map(|count| count.to_string())),
    ("infinite", |row| row.summary.infinite.map(|count| count.to_string())),
    ("min", |row| row.summary.min.as_ref().map(ToString::to_string)),
    ("mean", |row| row.summary.mean().map(|mean| Value::F64(mean).to_string())),
    ("max", |row| row.summary.max.as_ref().map(ToString::to_string)),
    ("sum", |row| row.summary.sum.map(|sum| sum.to_string())),
];

fn index_text(index: &[Option<usize>]) -> String {
    let axes = index.iter().map(|at| at.map_or_else(|| ":".to_owned(), |at| at.to_string()));
    axes.collect::<Vec<_>>().join(", ")
}

/// Prints a table with a row for each field or column, without statistics that
/// no row has. If a row does not fit the terminal, prints a paragraph for each.
fn print_table(out: &mut impl Write, rows: &[StatsRow]) -> std::io::Result<()> {
    let shown = CELLS.into_iter().filter(|(_, cell)| rows.iter().any(|row| cell(row).is_some()));
    let shown: Vec<_> = shown.collect();
    let mut columns = Vec::new();
    for (heading, cell) in &shown {
        let is_text = ["field", "column", "dtype"].contains(heading);
        let mut column = Column::values(*heading, !is_text);
        for row in rows {
            column.push(cell(row).unwrap_or_else(|| "-".to_owned()));
        }
        columns.push(column);
    }
    match table::terminal_width() {
        Some(width) if table::line_width(&columns) > width => {
            print_paragraphs(out, &columns, rows.len(), width)
        }
        _ => table::print(out, &columns),
    }
}

/// Prints a paragraph for each row, with a line for each statistic.
fn print_paragraphs(
    out: &mut impl Write,
    columns: &[Column],
    rows: usize,
    width: usize,
) -> std::io::Result<()> {
    for row in 0..rows {
        if row > 0 {
            writeln!(out)?;
        }
        for column in columns {
            let cell = column.cells.get(row).map_or("", String::as_str);
            let (heading, cell) =
                (&column.heading, table::truncate_end(cell, width.saturating_sub(12)));
            writeln!(out, "  {LABEL}{heading:8}{LABEL:#}  {cell}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_tiles_are_numbered_as_in_the_whole_array() {
        let shape = [2, 3, 4];
        for axis in 0..3 {
            for number in 0..columns(&shape, Some(axis)) {
                let index = index(&shape, axis, number);
                assert_eq!(index.get(axis), Some(&None));
                assert_eq!(column_number(&index, &[0, 0, 0], &shape), number);
            }
        }
        // The column at (1, 1) of a tile that starts at (0, 1, 2).
        assert_eq!(column_number(&[None, Some(1), Some(1)], &[0, 1, 2], &shape), 11);
    }
}

//! An array as a table: its rows, with a column for each field or index.

use crate::input::text;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use npymap::MappedArray;
use npymap::array::Outline;
use npymap::ndarray::SliceInfoElem;
use npymap::view::DynView;

use crate::input::error::{At as _, CliError};
use crate::input::escape::safe;
use crate::input::lengths::to_isize;
use crate::input::progress::{self, Progress};
use crate::input::row_blocks::{RowBlocks, index};
use crate::output::elements;
use crate::output::table::{self, Column, GAP};
use crate::select::leaf_fields;
use crate::select::origins::AxisIndices;

/// The maximum line length without a terminal.
const DEFAULT_WIDTH: usize = 80;

/// The maximum number of columns: more fit on no terminal.
const MAX_COLUMNS: usize = 500;

/// Rows printed at a time, with column widths that fit them.
const BLOCK: usize = 256;

/// The columns of a printed table, to which more rows may be added.
pub(crate) struct PrintedTable {
    cuts: LineFit,
    columns: Vec<Column>,
}

impl PrintedTable {
    /// Prints headings and some rows, one block at a time, so that output starts
    /// at once and memory is bounded. `width` is the maximum line length, by
    /// default that of the terminal.
    pub(crate) fn print(
        out: &mut impl Write,
        sheet: &Sheet<'_>,
        rows: Range<usize>,
        width: Option<usize>,
    ) -> Result<PrintedTable, CliError> {
        progress::hide_on_terminal();
        let width = width.or_else(table::terminal_width).unwrap_or(DEFAULT_WIDTH);
        let first = rows.start..rows.start + rows.len().min(BLOCK);
        let mut columns = sheet.checked_block(first.clone(), MAX_COLUMNS)?;
        let cuts = LineFit::new(&columns, width);
        cuts.apply(&mut columns);
        table::print_headings(out, &columns)?;
        table::print_rows(out, &columns)?;
        let mut printed = PrintedTable { cuts, columns };
        printed.print_more(out, sheet, first.end..rows.end)?;
        Ok(printed)
    }

    /// Prints more rows.
    pub(crate) fn print_more(
        &mut self,
        out: &mut impl Write,
        sheet: &Sheet<'_>,
        rows: Range<usize>,
    ) -> Result<(), CliError> {
        let row = sheet.view.nbytes() / sheet.rows().max(1);
        let mut progress = Progress::new(rows.len() * row);
        for start in rows.clone().step_by(BLOCK) {
            let range = start..rows.end.min(start + BLOCK);
            progress.add(range.len() * row);
            let mut next = sheet.checked_block(range, self.columns.len())?;
            self.cuts.apply(&mut next);
            next.iter_mut().zip(&self.columns).for_each(|(next, column)| next.widen(column));
            table::print_rows(out, &next)?;
            self.columns = next;
        }
        Ok(())
    }

    /// The number of columns that do not fit the line.
    pub(crate) fn omitted_columns(&self, sheet: &Sheet<'_>) -> usize {
        let values = self.columns.len() - usize::from(sheet.has_index_column());
        sheet.columns() - values
    }
}

/// An array as a sheet of rows and columns.
pub(crate) struct Sheet<'a> {
    /// The path for errors.
    path: &'a Path,
    array: &'a MappedArray,
    view: Outline<'a>,
    /// The indices of the rows and columns in the array.
    axes: Vec<AxisIndices>,
    /// The array, or its fields that are not structs themselves.
    leaves: Leaves<'a>,
    pub(crate) is_record: bool,
    /// The lengths of the axes that enumerate the rows.
    leading: Vec<usize>,
    /// The length of the axis that enumerates the columns, unless fields do.
    across: Option<usize>,
}

impl<'a> Sheet<'a> {
    /// A sheet of a selection of an array, whose axes have these indices in it.
    pub(crate) fn new(
        path: &'a Path,
        array: &'a MappedArray,
        view: Outline<'a>,
        axes: Vec<AxisIndices>,
    ) -> Result<Sheet<'a>, CliError> {
        let is_record = !view.dtype().fields().is_empty();
        let mut leading = view.shape().to_vec();
        let across = if !is_record && leading.len() > 1 { leading.pop() } else { None };
        let leaves = leaves(&view).at(path)?;
        Ok(Sheet { path, array, view, axes, leaves, is_record, leading, across })
    }

    /// The array and what is selected of it.
    pub(crate) fn selected(&self) -> (&'a MappedArray, &Outline<'a>) {
        (self.array, &self.view)
    }

    /// The table of the values of its elements, if these are in another array.
    pub(crate) fn with_values(self, values: Option<&'a MappedArray>) -> Result<Self, CliError> {
        let Some(array) = values else { return Ok(self) };
        Sheet::new(self.path, array, array.outline(), self.axes)
    }

    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.leading.iter().product()
    }

    /// The number of columns, without that of row indices.
    fn columns(&self) -> usize {
        self.across.unwrap_or(self.leaves.len())
    }

    /// Returns whether the first column shows the indices of the rows.
    fn has_index_column(&self) -> bool {
        !self.leading.is_empty()
    }

    /// The index in the array of a position along an axis of the selection.
    fn number(&self, axis: usize, at: usize) -> usize {
        self.axes.get(axis).map_or(at, |axis| axis.at(at))
    }

    /// The heading of a column.
    fn heading(&self, at: usize) -> String {
        self.number(self.leading.len(), at).to_string()
    }

    /// Calls `visit` with each row: its number, a block that is in memory, the leaves of
    /// that block, and the index of the row there.
    fn each_row(
        &self,
        mut rows: Range<usize>,
        mut visit: impl FnMut(usize, &DynView<'_>, &Leaves<'_>, &[usize]) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let row: usize = self.view.shape().iter().skip(self.leading.len()).product();
        let blocks = RowBlocks::new(&self.leading, row * self.view.itemsize());
        while !rows.is_empty() {
            let block = blocks.find(rows.start);
            let (slice, own) = blocks.slice_with(block, self.view.ndim(), rows.clone());
            let window = self.view.slice(slice).and_then(|block| self.array.window(&block));
            let window = window.at(self.path)?;
            let block = window.view();
            let leaves = leaves(&block.clone().into()).at(self.path)?;
            let dims = block.shape().split_at(self.leading.len()).0;
            for number in rows.start..rows.end.min(own.end) {
                visit(number, &block, &leaves, &index(dims, number - own.start))?;
            }
            rows.start = rows.end.min(own.end);
        }
        Ok(())
    }

    /// The first `count` columns of some rows.
    fn checked_block(&self, rows: Range<usize>, count: usize) -> Result<Vec<Column>, CliError> {
        let mut columns = Vec::new();
        columns.extend(self.has_index_column().then(|| Column::indices("")));
        let count = count - columns.len();
        for (name, leaf) in &self.leaves {
            let is_number = elements::is_number(leaf.dtype());
            let headings = self.across.map(|across| (0..across).map(|at| self.heading(at)));
            match headings {
                Some(headings) => columns
                    .extend(headings.take(count).map(|heading| Column::values(heading, is_number))),
                None => columns.push(Column::values(safe(name), is_number)),
            }
        }
        columns.truncate(count + usize::from(self.has_index_column()));
        self.each_row(rows, |number, _, leaves, own| {
            let cells = self.row(number, leaves, own, count);
            for (column, cell) in columns.iter_mut().zip(cells) {
                column.push(cell.at(self.path)?);
            }
            Ok(())
        })?;
        Ok(columns)
    }

    /// The first `count` cells of a row, at an index of a block.
    fn row(
        &self,
        number: usize,
        leaves: &Leaves<'_>,
        own: &[usize],
        count: usize,
    ) -> impl Iterator<Item = npymap::Result<String>> {
        let index = index(&self.leading, number);
        let numbers = index.iter().enumerate().map(|(axis, &at)| self.number(axis, at).to_string());
        let numbers = numbers.collect::<Vec<_>>().join(", ");
        let number = self.has_index_column().then_some(Ok(numbers));
        let cells = (0..count.min(self.columns())).map(move |column| {
            let (leaf, across) = match self.across {
                Some(_) => (leaves.first(), Some(column)),
                None => (leaves.get(column), None),
            };
            let Some((_, leaf)) = leaf else { return Ok(String::new()) };
            let index = own.iter().copied().chain(across);
            let index: Vec<_> = index.map(|at| SliceInfoElem::Index(to_isize(at))).collect();
            Ok(elements::cell(&leaf.slice(index)?.view()?))
        });
        number.into_iter().chain(cells)
    }
}

/// An array, or its fields that are not structs themselves, with their names.
type Leaves<'a> = Vec<(String, Outline<'a>)>;

fn leaves<'a>(view: &Outline<'a>) -> npymap::Result<Leaves<'a>> {
    if view.dtype().fields().is_empty() {
        return Ok(vec![(view.dtype().to_string(), view.clone())]);
    }
    leaf_fields::find(view)
}

/// How columns are cut to fit a line.
struct LineFit {
    /// The number of columns that are kept.
    count: usize,
    /// The maximum widths of the first and the last column.
    first: usize,
    last: usize,
}

impl LineFit {
    fn new(columns: &[Column], width: usize) -> LineFit {
        // Lines start with a space.
        let width = table::left(width, 1);
        let (mut left, mut used, mut count, mut last) = (width, 0, 0_usize, 0);
        for column in columns {
            // The first column, of indices or names, takes half a line at most.
            let limit = if count == 0 { width / 2 } else { usize::MAX };
            let room = column.width.min(limit) + GAP;
            // The last column needs no gap after it.
            if count > 1 && room > left + GAP {
                break;
            }
            left = table::left(left, room);
            used += room;
            last = room;
            count += 1;
        }
        let first = if count > 1 { width / 2 } else { width };
        LineFit { count, first, last: table::left(width, used - last).max(8) }
    }

    fn apply(&self, columns: &mut Vec<Column>) {
        columns.truncate(self.count);
        if let Some(first) = columns.first_mut() {
            first.shorten(self.first);
        }
        if let Some(last) = columns.last_mut() {
            last.shorten(self.last);
        }
    }
}

/// Prints how many rows and columns were left out of the table.
pub(crate) fn print_omitted(
    out: &mut impl Write,
    rows: usize,
    columns: usize,
    fields: bool,
) -> io::Result<()> {
    let counts = [(rows, "more row"), (columns, if fields { "more field" } else { "more column" })];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let texts: Vec<_> = counts.map(|(count, thing)| text::plural(count, thing)).collect();
    if texts.is_empty() { Ok(()) } else { writeln!(out, "… {}", texts.join(" and ")) }
}

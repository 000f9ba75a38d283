//! `npymap head`: prints the first elements as a table.

use std::io::{BufWriter, Write};
use std::ops::Range;
use std::process::ExitCode;

use clap::Args;
use npymap::ndarray::SliceInfoElem;
use npymap::{Result, npy::MAX_HEADER_LEN, view::DynView};

use crate::array_path::ArrayPath;
use crate::error::CliError;
use crate::escape::safe;
use crate::selection::{IndexArg, Selected};
use crate::table::{self, Column, GAP};
use crate::{elements, leaf_fields, open, text};

/// Prints the first elements of an array or a selection as a table.
///
/// Records have a column for each field, other arrays one for each index of the
/// last axis. Columns that do not fit the terminal are left out and counted
/// below the table.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap head penguins.npy
  npymap head -n 3 penguins.npy '::100'
  npymap head events.npy '-5:'
  npymap head --width 200 events.npy .pos

Exit status: 0 on success, 1 if the file or INDEX was rejected, 2 for a usage
error.")]
pub(crate) struct HeadArgs {
    /// Number of rows
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    rows: usize,

    /// Maximum line length, in characters [default: the width of the terminal]
    #[arg(long, value_name = "N")]
    width: Option<usize>,

    /// Maximum header length, in characters
    #[arg(long, value_name = "N", default_value_t = MAX_HEADER_LEN)]
    max_header_len: usize,

    /// .npy file, or FILE[MEMBER] of an .npz, .ten or tar file
    file: ArrayPath,

    /// Elements to select [default: all]
    #[arg(value_name = "INDEX")]
    selection: Option<IndexArg>,
}

/// The maximum line length without a terminal.
const DEFAULT_WIDTH: usize = 80;

/// The maximum number of columns: more fit on no terminal.
const MAX_COLUMNS: usize = 500;

/// Rows printed at a time, with column widths that fit them.
const BLOCK: usize = 256;

impl HeadArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        let to_error = CliError::with_path(self.file.name());
        let array = open::array(&self.file, self.max_header_len).map_err(&to_error)?;
        let all = array.dyn_view().map_err(&to_error)?;
        let selected = match &self.selection {
            Some(selection) => selection.select(&all).map_err(&to_error)?,
            None => Selected::View(all),
        };
        let sheet = selected.view().and_then(Sheet::new).map_err(&to_error)?;
        let out = &mut BufWriter::new(anstream::stdout().lock());
        self.print(out, &sheet)?;
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }

    /// Prints one block of rows at a time, so that output starts at once and
    /// memory is bounded.
    fn print(&self, out: &mut impl Write, sheet: &Sheet<'_>) -> Result<(), CliError> {
        let to_error = CliError::with_path(self.file.name());
        let shown = sheet.rows().min(self.rows);
        let width = self.width.or_else(table::terminal_width).unwrap_or(DEFAULT_WIDTH);
        let mut columns = sheet.block(0..shown.min(BLOCK), MAX_COLUMNS).map_err(&to_error)?;
        let cuts = LineFit::new(&columns, width);
        cuts.apply(&mut columns);
        table::print_headings(out, &columns)?;
        table::print_rows(out, &columns)?;
        for start in (BLOCK..shown).step_by(BLOCK) {
            let range = start..shown.min(start + BLOCK);
            let mut next = sheet.block(range, columns.len()).map_err(&to_error)?;
            cuts.apply(&mut next);
            next.iter_mut().zip(&columns).for_each(|(next, column)| next.widen(column));
            table::print_rows(out, &next)?;
            columns = next;
        }
        let values = columns.len() - usize::from(sheet.has_index_column());
        let left = sheet.columns().saturating_sub(values);
        Ok(print_omitted(out, sheet.rows() - shown, left, sheet.is_record)?)
    }
}

/// An array as a sheet of rows and columns.
struct Sheet<'a> {
    /// The array, or its fields that are not structs themselves.
    leaves: Vec<(String, DynView<'a>)>,
    is_record: bool,
    /// The lengths of the axes that enumerate the rows.
    leading: Vec<usize>,
    /// The length of the axis that enumerates the columns, unless fields do.
    across: Option<usize>,
}

impl<'a> Sheet<'a> {
    fn new(view: DynView<'a>) -> Result<Sheet<'a>> {
        let is_record = !view.dtype().fields().is_empty();
        let mut leading = view.shape().to_vec();
        let across = if !is_record && leading.len() > 1 { leading.pop() } else { None };
        let leaves = if is_record {
            leaf_fields::find(&view)?
        } else {
            vec![(view.dtype().to_string(), view)]
        };
        Ok(Sheet { leaves, is_record, leading, across })
    }

    /// The number of rows.
    fn rows(&self) -> usize {
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

    /// The first `count` columns of some rows.
    fn block(&self, rows: Range<usize>, count: usize) -> Result<Vec<Column>> {
        let mut columns = Vec::new();
        columns.extend(self.has_index_column().then(|| Column::indices("")));
        let count = count.saturating_sub(columns.len());
        for (name, leaf) in &self.leaves {
            let is_number = elements::is_number(leaf.dtype());
            let headings = self.across.map(|across| (0..across).map(|number| number.to_string()));
            match headings {
                Some(headings) => columns
                    .extend(headings.take(count).map(|heading| Column::values(heading, is_number))),
                None => columns.push(Column::values(safe(name), is_number)),
            }
        }
        columns.truncate(count + usize::from(self.has_index_column()));
        for number in rows {
            let index = index(&self.leading, number);
            for (column, cell) in columns.iter_mut().zip(self.row(&index, count)) {
                column.push(cell?);
            }
        }
        Ok(columns)
    }

    /// The first `count` cells of a row.
    fn row(&self, index: &[usize], count: usize) -> impl Iterator<Item = Result<String>> {
        let text = index.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let number = self.has_index_column().then_some(Ok(text));
        let cells = (0..count.min(self.columns())).map(move |column| {
            let (leaf, own) = match self.across {
                Some(_) => (self.leaves.first(), Some(column)),
                None => (self.leaves.get(column), None),
            };
            let index = index
                .iter()
                .copied()
                .chain(own)
                .map(|at| SliceInfoElem::Index(isize::try_from(at).unwrap_or(isize::MAX)));
            let Some((_, leaf)) = leaf else { return Ok(String::new()) };
            Ok(elements::cell(&leaf.try_slice(index.collect::<Vec<_>>())?))
        });
        number.into_iter().chain(cells)
    }
}

/// The index of the `number`th row.
fn index(shape: &[usize], number: usize) -> Vec<usize> {
    let mut rest = number;
    let mut index: Vec<_> = shape
        .iter()
        .rev()
        .map(|&dim| {
            let at = rest % dim.max(1);
            rest /= dim.max(1);
            at
        })
        .collect();
    index.reverse();
    index
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
        let (mut left, mut used, mut count, mut last) = (width, 0, 0_usize, 0);
        for column in columns {
            // The first column, of indices or names, takes half a line at most.
            let limit = if count == 0 { width / 2 } else { usize::MAX };
            let room = column.width().min(limit) + GAP;
            // The last column needs no gap after it.
            if count > 1 && room > left + GAP {
                break;
            }
            left = left.saturating_sub(room);
            used += room;
            last = room;
            count += 1;
        }
        let first = if count > 1 { width / 2 } else { width };
        LineFit { count, first, last: width.saturating_sub(used - last).max(8) }
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

/// `2 more rows`
fn more(count: usize, thing: &str) -> String {
    text::plural(count, &format!("more {thing}"))
}

/// Prints how many rows and columns were left out of the table.
fn print_omitted(
    out: &mut impl Write,
    rows: usize,
    columns: usize,
    fields: bool,
) -> std::io::Result<()> {
    let thing = if fields { "field" } else { "column" };
    match (rows, columns) {
        (0, 0) => Ok(()),
        (rows, 0) => writeln!(out, "… {}", more(rows, "row")),
        (0, columns) => writeln!(out, "… {}", more(columns, thing)),
        (rows, columns) => writeln!(out, "… {} and {}", more(rows, "row"), more(columns, thing)),
    }
}

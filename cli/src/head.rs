//! `npymap head`: the first elements as a table.

use std::io::{BufWriter, Write};
use std::process::ExitCode;

use clap::Args;
use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, Table};
use npymap::ndarray::SliceInfoElem;
use npymap::{DynView, MAX_HEADER_LEN, Result};

use crate::failure::Failure;
use crate::place::Place;
use crate::selection::{Selected, Selection};
use crate::{leaves, open, show, words};

/// Prints the first elements, or the first of a slice, as a table.
///
/// Records have a column for each field, other arrays one for each index of
/// the last axis; what the terminal has no room for is left out, and said.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap head penguins.npy
  npymap head -n 3 penguins.npy '::100'
  npymap head events.npy '-5:'
  npymap head --width 200 events.npy .pos

Exit status: 0 when it was printed, 1 when the file or INDEX is refused, 2 for
wrong usage.")]
pub(crate) struct Head {
    /// How many rows
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    rows: usize,

    /// How many characters a line may have, if not as many as the terminal
    #[arg(long, value_name = "N")]
    width: Option<usize>,

    /// The longest header to read, in characters
    #[arg(long, value_name = "N", default_value_t = MAX_HEADER_LEN)]
    max_header_len: usize,

    /// .npy file, or FILE[MEMBER] of an .npz, .ten or tar file
    file: Place,

    /// Which elements; all without it
    #[arg(value_name = "INDEX")]
    selection: Option<Selection>,
}

/// The width of lines where there is no terminal.
const WIDTH: usize = 80;

/// More columns than these fit on no terminal.
const COLUMNS: usize = 500;

/// Spaces between two columns.
const GAP: usize = 2;

/// A heading and a cell for each row.
struct Column {
    heading: String,
    cells: Vec<String>,
    is_number: bool,
}

impl Column {
    fn width(&self) -> usize {
        let cells = self.cells.iter().chain([&self.heading]);
        cells.map(|cell| words::width(cell)).max().unwrap_or(0)
    }
}

impl Head {
    pub(crate) fn run(&self) -> Result<ExitCode, Failure> {
        let array = open::array(&self.file, self.max_header_len);
        let array = array.map_err(Failure::at(self.file.name()))?;
        let all = array.dyn_view().map_err(Failure::at(self.file.name()))?;
        let selected = match &self.selection {
            Some(selection) => selection.of(&all).map_err(Failure::at(self.file.name()))?,
            None => Selected::View(all),
        };
        let view = selected.view().map_err(Failure::at(self.file.name()))?;
        let out = &mut BufWriter::new(std::io::stdout().lock());
        self.print(out, &view).map_err(Failure::at(self.file.name()))??;
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }

    fn print(&self, out: &mut impl Write, view: &DynView<'_>) -> Result<std::io::Result<()>> {
        let is_record = !view.dtype().fields().is_empty();
        let across = usize::from(!is_record && view.ndim() > 1);
        let Some(leading) = view.shape().get(..view.ndim() - across) else { return Ok(Ok(())) };
        let count: usize = leading.iter().product();
        let shown = count.min(self.rows);
        let indices: Vec<_> = (0..shown).map(|number| index(leading, number)).collect();
        let mut columns = Vec::new();
        if view.ndim() > 0 {
            columns.push(numbers(&indices));
        }
        columns.extend(if is_record {
            fields(view, &indices)?
        } else {
            values(view, &indices, across == 1)?
        });
        let all =
            if is_record { columns.len() - 1 } else { view.shape().last().copied().unwrap_or(1) };
        let width = self.width.unwrap_or_else(|| Table::new().width().map_or(WIDTH, usize::from));
        let columns = fitting(columns, width);
        let left = if across == 1 || is_record { all.saturating_sub(columns.len() - 1) } else { 0 };
        Ok(table(out, &columns, shown).and_then(|()| rest(out, count - shown, left, is_record)))
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

/// The column of the rows' indices.
fn numbers(indices: &[Vec<usize>]) -> Column {
    let text =
        |index: &Vec<usize>| index.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let cells = indices.iter().map(text).collect();
    Column { heading: String::new(), cells, is_number: true }
}

/// A column for each field that is no struct itself.
fn fields(view: &DynView<'_>, indices: &[Vec<usize>]) -> Result<Vec<Column>> {
    let mut columns = Vec::new();
    for (heading, leaf) in leaves::of(view)?.into_iter().take(COLUMNS) {
        let cells = indices.iter().map(|index| cell(&leaf, index)).collect::<Result<_>>()?;
        let is_number = show::is_number(leaf.dtype());
        columns.push(Column { heading, cells, is_number });
    }
    Ok(columns)
}

/// A column for each index of the last axis, or one of all.
fn values(view: &DynView<'_>, indices: &[Vec<usize>], across: bool) -> Result<Vec<Column>> {
    let is_number = show::is_number(view.dtype());
    if !across {
        let cells = indices.iter().map(|index| cell(view, index)).collect::<Result<_>>()?;
        return Ok(vec![Column { heading: view.dtype().to_string(), cells, is_number }]);
    }
    let count = view.shape().last().copied().unwrap_or(0).min(COLUMNS);
    let column = |number: usize| {
        let at = |index: &Vec<usize>| {
            cell(view, &index.iter().copied().chain([number]).collect::<Vec<_>>())
        };
        let cells = indices.iter().map(at).collect::<Result<_>>()?;
        Ok(Column { heading: number.to_string(), cells, is_number })
    };
    (0..count).map(column).collect()
}

/// What stands at an index; a subarray in brackets.
fn cell(view: &DynView<'_>, index: &[usize]) -> Result<String> {
    let signed = |&at: &usize| SliceInfoElem::Index(isize::try_from(at).unwrap_or(isize::MAX));
    let element = view.try_slice(index.iter().map(signed).collect::<Vec<_>>())?;
    Ok(show::cell(&element))
}

/// The columns there is room for, those at the end first to go; the widest
/// cells of what is left are shortened.
fn fitting(columns: Vec<Column>, width: usize) -> Vec<Column> {
    let mut columns = columns;
    if let Some(first) = columns.first_mut().filter(|first| first.width() > width / 2) {
        first.cells.iter_mut().for_each(|cell| *cell = words::ending(cell, width / 2));
    }
    let mut left = width;
    let mut count = 0;
    for column in &columns {
        let own = column.width() + GAP;
        if count > 1 && own > left + GAP {
            break;
        }
        left = left.saturating_sub(own);
        count += 1;
    }
    columns.truncate(count);
    let others: usize = columns.iter().rev().skip(1).map(|column| column.width() + GAP).sum();
    if let Some(last) = columns.last_mut() {
        let room = width.saturating_sub(others).max(8);
        last.cells.iter_mut().for_each(|cell| *cell = words::shortened(cell, room));
        last.heading = words::shortened(&last.heading, room);
    }
    columns
}

fn table(out: &mut impl Write, columns: &[Column], rows: usize) -> std::io::Result<()> {
    let mut table = Table::new();
    table.load_style(NOTHING);
    let side = |column: &Column| {
        if column.is_number { CellAlignment::Right } else { CellAlignment::Left }
    };
    table.set_header(
        columns.iter().map(|column| words::heading(&column.heading).set_alignment(side(column))),
    );
    for row in 0..rows {
        table.add_row(columns.iter().map(|column| {
            let text = column.cells.get(row).map_or("", String::as_str);
            Cell::new(text).set_alignment(side(column))
        }));
    }
    writeln!(out, "{}", table.trim_fmt())
}

/// Says what is not in the table.
fn rest(out: &mut impl Write, rows: usize, columns: usize, fields: bool) -> std::io::Result<()> {
    let thing = if fields { "field" } else { "column" };
    match (rows, columns) {
        (0, 0) => Ok(()),
        (rows, 0) => writeln!(out, "… {} more", words::plural(rows, "row")),
        (0, columns) => writeln!(out, "… {} more", words::plural(columns, thing)),
        (rows, columns) => {
            let columns = words::plural(columns, thing);
            writeln!(out, "… {} and {columns} more", words::plural(rows, "row"))
        }
    }
}

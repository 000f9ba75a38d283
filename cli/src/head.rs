//! `npymap head`: prints the first elements as a table.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::Args;

use crate::array_path::ArrayPath;
use crate::error::CliError;
use crate::input_args::InputArgs;
use crate::selection::IndexArg;
use crate::sheet::{self, PrintedTable, Sheet};
use crate::{open, text};

/// Prints the first elements of an array or a selection as a table.
///
/// Records have a column for each field, other arrays one for each index of the
/// last axis. Columns that do not fit the terminal are left out and counted
/// below the table. Rows and columns are numbered as in the array.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap head penguins.npy
  npymap head -n 3 penguins.npy '::100'
  npymap head events.npy '-5:'
  npymap head --width 200 events.npy .pos
  npymap head --json events.npy

Exit status: 0 on success, 1 if the file or INDEX was rejected, 2 for a usage
error.")]
pub(crate) struct HeadArgs {
    /// Number of rows
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    rows: usize,

    /// Maximum line length, in characters [default: the width of the terminal]
    #[arg(long, value_name = "N")]
    width: Option<usize>,

    /// Print a line of JSON for each row
    #[arg(long, conflicts_with = "width")]
    json: bool,

    #[command(flatten)]
    read: InputArgs,

    /// .npy file, or FILE[MEMBER] of an .npz, .ten or tar file; - is standard
    /// input
    file: ArrayPath,

    /// Elements to select [default: all]
    #[arg(value_name = "INDEX")]
    selection: Option<IndexArg>,
}

impl HeadArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        let path = self.file.name();
        let to_error = CliError::with_path(path);
        let array = open::array(&self.file, self.read.options()).map_err(&to_error)?;
        let all = array.dyn_view().map_err(&to_error)?;
        let selection = self.selection.clone().unwrap_or_default();
        let axes = selection.axis_indices(all.shape()).map_err(&to_error)?;
        let selected = selection.select(&all).map_err(&to_error)?;
        let sheet = Sheet::new(path, selected.view().map_err(&to_error)?, axes)?;
        let out = &mut BufWriter::new(anstream::stdout().lock());
        self.print(out, &sheet)?;
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }

    fn print(&self, out: &mut impl Write, sheet: &Sheet<'_>) -> Result<(), CliError> {
        let shown = sheet.rows().min(self.rows);
        if self.json {
            return sheet::print_json(out, sheet, 0..shown);
        }
        let printed = PrintedTable::print(out, sheet, 0..shown, self.width)?;
        let columns = printed.omitted_columns(sheet);
        Ok(print_omitted(out, sheet.rows() - shown, columns, sheet.is_record)?)
    }
}

/// `2 more rows`
fn more(count: usize, thing: &str) -> String {
    text::plural(count, &format!("more {thing}"))
}

/// Prints how many rows and columns were left out of the table.
pub(crate) fn print_omitted(
    out: &mut impl Write,
    rows: usize,
    columns: usize,
    fields: bool,
) -> io::Result<()> {
    let thing = if fields { "field" } else { "column" };
    match (rows, columns) {
        (0, 0) => Ok(()),
        (rows, 0) => writeln!(out, "… {}", more(rows, "row")),
        (0, columns) => writeln!(out, "… {}", more(columns, thing)),
        (rows, columns) => writeln!(out, "… {} and {}", more(rows, "row"), more(columns, thing)),
    }
}

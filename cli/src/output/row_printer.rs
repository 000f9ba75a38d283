//! What `head` and `tail` print: rows as a table, or in a format.

use std::io::Write;
use std::ops::Range;
use std::path::Path;

use clap::Args;
use npymap::MappedArray;

use crate::input::array_path::ArrayPath;
use crate::input::error::{At as _, CliError};
use crate::output::output_format::OutputFormat;
use crate::output::row_output::{RowFormatArgs, RowOutput};
use crate::output::sheet::{PrintedTable, Sheet};
use crate::select::bfloat16::ReadArgs;
use crate::select::fields::Fields;
use crate::select::filter::Filter;
use crate::select::selection::IndexArg;

/// The array to print, its rows, and their format.
#[derive(Debug, Args)]
pub(crate) struct TableArgs {
    /// Maximum line length, in characters [default: the width of the terminal]
    #[arg(long, value_name = "N", conflicts_with_all = ["json", "format", "output"])]
    width: Option<usize>,

    #[command(flatten)]
    pub(crate) format: RowFormatArgs,

    /// Only rows that match CONDITION, as for `npymap get`. INDEX applies to these
    /// rows
    #[arg(long = "where", value_name = "CONDITION")]
    pub(crate) filter: Option<Filter>,

    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// .npy file, or FILE[MEMBER] of an .npz, .ten or tar file, or - for
    /// standard input
    pub(crate) file: ArrayPath,

    /// Elements to select [default: all]
    #[arg(value_name = "INDEX")]
    selection: Option<IndexArg>,
}

impl TableArgs {
    /// The file, as in messages.
    pub(crate) fn path(&self) -> &Path {
        self.file.name()
    }

    pub(crate) fn array(&self) -> Result<MappedArray, CliError> {
        self.read.input.array(&self.file).at(self.path())
    }

    /// The index, which selects all elements if none is given.
    pub(crate) fn index(&self) -> IndexArg {
        self.selection.clone().unwrap_or_default()
    }

    /// Starts to print rows. If a new file replaces the array, that one is locked from now on.
    pub(crate) fn begin(&self, format: Option<OutputFormat>) -> Result<RowPrinter<'_>, CliError> {
        let output = format.map(|format| self.format.begin(format, self.path())).transpose()?;
        Ok(RowPrinter { args: self, output, table: None })
    }
}

/// Prints rows as a table, unless there is another output.
pub(crate) struct RowPrinter<'a> {
    args: &'a TableArgs,
    output: Option<RowOutput<'a>>,
    /// The table that more rows are added to.
    pub(crate) table: Option<PrintedTable>,
}

impl RowPrinter<'_> {
    /// Prints some rows of a sheet. If this starts a table, returns how many columns it omits.
    pub(crate) fn print(
        &mut self,
        out: &mut impl Write,
        (sheet, fields): (Sheet<'_>, &Fields),
        rows: Range<usize>,
    ) -> Result<Option<usize>, CliError> {
        let path = self.args.path();
        let values = self.args.read.of_rows(sheet.selected(), rows.clone()).at(path)?;
        let sheet = sheet.with_values(values.as_ref())?;
        if let Some(output) = &mut self.output {
            let (array, view) = sheet.selected();
            output.write_rows((Some(array), view), rows, fields)?;
            return output.flush().map(|()| None);
        }
        if let Some(table) = &mut self.table {
            return table.print_more(out, &sheet, rows).map(|()| None);
        }
        let table = PrintedTable::print(out, &sheet, rows, self.args.width)?;
        let omitted = table.omitted_columns(&sheet);
        self.table = Some(table);
        Ok(Some(omitted))
    }

    /// Completes the output.
    pub(crate) fn finish(self) -> Result<(), CliError> {
        self.output.map_or(Ok(()), RowOutput::finish)
    }
}

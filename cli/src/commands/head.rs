//! `npymap head`: prints the first elements as a table.

use std::io::{BufWriter, Write as _};

use clap::Args;
use npymap::{MappedArray, array::Outline};

use crate::input::error::{At as _, CliError};
use crate::input::lengths::first_len;
use crate::input::stream;
use crate::output::row_printer::{RowPrinter, TableArgs};
use crate::output::sheet::{self, Sheet};
use crate::select::fields::Fields;
use crate::select::matching;
use crate::select::origins::AxisIndices;
use crate::select::rows::RowSelection;
use crate::select::selection::IndexArg;

/// Print the first elements of an array or a selection as a table.
///
/// Records have a column per field, and other arrays a column per index of the
/// last axis. Columns that do not fit the terminal are left out and counted
/// below the table. Rows and columns are numbered as in the array. This reads a
/// stream in C order only as far as it prints.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap head penguins.npy
  npymap head -n 3 penguins.npy '::100'
  npymap head events.npy '-5:'
  npymap head --width 200 events.npy pos
  npymap head --json events.npy
  npymap head -n 1000 events.npy -o first.csv
  npymap head events.npy --where 'temp > 27 and sensor == \"alpha\"'

Exit status: 0 on success, 1 if the file or INDEX was rejected, 2 for a usage
error.")]
pub(crate) struct HeadArgs {
    /// Number of rows
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    rows: usize,

    #[command(flatten)]
    table: TableArgs,
}

/// The bytes of a stream that are searched first.
const FIRST_BYTES: usize = 1 << 16;

impl HeadArgs {
    pub(crate) fn run(&self) -> Result<(), CliError> {
        let table = &self.table;
        let mut printer = table.begin(table.format.row_format(table.path())?)?;
        self.print_first(&mut printer)?;
        printer.finish()
    }

    fn print_first(&self, printer: &mut RowPrinter<'_>) -> Result<(), CliError> {
        let (path, index, filter) = (self.table.path(), self.table.index(), &self.table.filter);
        let TableArgs { read, file, .. } = &self.table;
        let streamed = if read.input.file.is_raw() || file.member.is_some() {
            None
        } else {
            stream::array(&file.path).at(path)?
        };
        let Some(array) = streamed else {
            return self.print_array(printer, &self.table.array()?, &index, usize::MAX).map(drop);
        };
        let all = first_len(array.shape());
        let row = array.nbytes() / all.max(1);
        let mut known = match filter {
            // As long as there are too few that match, more and more rows are read.
            Some(_) if index == IndexArg::default() => FIRST_BYTES.div_ceil(row.max(1)).min(all),
            _ => all,
        };
        while !self.print_array(printer, &array, &index, known)? {
            // Both are lengths of an axis, which have at most 63 bits.
            known = (known * 2).min(all);
        }
        Ok(())
    }

    /// Prints what is selected of an array whose first `known` rows can be read. Returns false
    /// if more of them may satisfy the condition, so that they have to be known first.
    fn print_array(
        &self,
        printer: &mut RowPrinter<'_>,
        array: &MappedArray,
        index: &IndexArg,
        known: usize,
    ) -> Result<bool, CliError> {
        let TableArgs { filter, read, .. } = &self.table;
        let path = self.table.path();
        let all = array.outline();
        let values = match filter {
            Some(_) => read.of_indices((array, &all), 0..known).at(path)?,
            None => None,
        };
        let array = values.as_ref().unwrap_or(array);
        let all = array.outline();
        let is_whole = known >= first_len(all.shape());
        let all = if is_whole { all } else { all.split_at(0, known).at(path)?.0 };
        let fields = index.fields(&all).of_selected();
        let shown = |rows: &RowSelection<'_>| rows.first(self.rows);
        let mut is_printed = true;
        let print = |array: &MappedArray, part: Outline<'_>, axes, has_more| {
            is_printed = is_whole || has_more;
            if !is_printed {
                return Ok(());
            }
            self.print_rows(printer, (array, part), axes, (&fields, has_more))
        };
        matching::with_table(path, (array, &all), index, filter.as_ref(), shown, print)?;
        Ok(is_printed)
    }

    fn print_rows(
        &self,
        printer: &mut RowPrinter<'_>,
        (array, part): (&MappedArray, Outline<'_>),
        axes: Vec<AxisIndices>,
        (fields, has_more): (&Fields, bool),
    ) -> Result<(), CliError> {
        let sheet = Sheet::new(self.table.path(), array, part, axes)?;
        let (rows, is_record) = (sheet.rows(), sheet.is_record);
        let shown = rows.min(self.rows);
        let out = &mut BufWriter::new(anstream::stdout().lock());
        if let Some(columns) = printer.print(out, (sheet, fields), 0..shown)? {
            sheet::print_omitted(out, rows - shown, columns, is_record)?;
            if has_more {
                writeln!(out, "… more rows")?;
            }
        }
        Ok(out.flush()?)
    }
}

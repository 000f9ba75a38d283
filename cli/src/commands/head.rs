//! `npymap head`: prints the first elements as a table.

use std::io::{BufWriter, Write as _};
use std::process::ExitCode;

use clap::Args;
use npymap::{MappedArray, array::Outline};

use crate::input::array_path::ArrayPath;
use crate::input::error::CliError;
use crate::input::input_args::InputArgs;
use crate::input::stream_start::StreamStart;
use crate::output::row_output::{RowFormatArgs, RowOutput};
use crate::output::sheet::{self, PrintedTable, Sheet};
use crate::select::fields::Fields;
use crate::select::filter::Filter;
use crate::select::limits;
use crate::select::matching::{self, Shown};
use crate::select::origins::AxisIndices;
use crate::select::rows::RowSelection;
use crate::select::selection::IndexArg;
use crate::select::small_floats::ValueArgs;

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

    /// Maximum line length, in characters [default: the width of the terminal]
    #[arg(long, value_name = "N", conflicts_with_all = ["json", "format", "output"])]
    width: Option<usize>,

    #[command(flatten)]
    format: RowFormatArgs,

    /// Only rows that match CONDITION, as for `npymap get`. INDEX applies to these
    /// rows
    #[arg(long = "where", value_name = "CONDITION")]
    filter: Option<Filter>,

    #[command(flatten)]
    values: ValueArgs,

    #[command(flatten)]
    read: InputArgs,

    /// .npy file, or FILE[MEMBER] of an .npz, .ten or tar file, or - for
    /// standard input
    file: ArrayPath,

    /// Elements to select [default: all]
    #[arg(value_name = "INDEX")]
    selection: Option<IndexArg>,
}

/// The bytes of a stream that are searched first.
const FIRST_BYTES: usize = 1 << 16;

impl HeadArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        let path = self.file.name();
        let format = self.format.row_format(path)?;
        let mut output = format.map(|format| self.format.begin(format, path)).transpose()?;
        self.print_first(&mut output)?;
        output.map_or(Ok(()), RowOutput::finish)?;
        Ok(ExitCode::SUCCESS)
    }

    /// Prints the first rows as a table, unless there is another output.
    fn print_first(&self, output: &mut Option<RowOutput<'_>>) -> Result<(), CliError> {
        let to_error = CliError::with_path(self.file.name());
        let selection = self.selection.clone().unwrap_or_default();
        if let Some(mut stream) = self.open_stream().map_err(&to_error)? {
            if self.filter.is_some() && self.selection.is_none() {
                return self.print_matching_of_stream(output, &mut stream);
            }
            let needed = selection.needed_rows(stream.shape(), self.rows);
            if let (Some(rows), None) = (needed, &self.filter) {
                let array = stream.array(rows).map_err(&to_error)?;
                return self.print_array(output, &array, &selection);
            }
            stream.finish().map_err(CliError::io(self.file.name(), "read"))?;
        }
        let array = self.read.array(&self.file).map_err(&to_error)?;
        self.print_array(output, &array, &selection)
    }

    /// Starts to read a stream whose first rows may be printed before its end.
    fn open_stream(&self) -> npymap::Result<Option<StreamStart>> {
        if self.read.file.is_raw() || self.file.member.is_some() {
            return Ok(None);
        }
        StreamStart::open(&self.file.path, self.read.file.max_header_len)
    }

    fn print_array(
        &self,
        output: &mut Option<RowOutput<'_>>,
        array: &MappedArray,
        selection: &IndexArg,
    ) -> Result<(), CliError> {
        let path = self.file.name();
        let to_error = CliError::with_path(path);
        let all = array.outline();
        let values =
            self.filter.as_ref().map(|_| self.values.of_rows((array, &all), 0..usize::MAX));
        let values = values.transpose().map_err(&to_error)?.flatten();
        let array = values.as_ref().unwrap_or(array);
        let all = array.outline();
        let (fields, shown) = (selection.fields(&all).of_selected(), Shown::First(self.rows));
        matching::with_table(
            path,
            (array, &all),
            selection,
            self.filter.as_ref(),
            shown,
            |array, part, axes, has_more| {
                self.print_rows(output, (array, part), axes, (&fields, has_more))
            },
        )
    }

    fn print_rows(
        &self,
        output: &mut Option<RowOutput<'_>>,
        (array, part): (&MappedArray, Outline<'_>),
        axes: Vec<AxisIndices>,
        (fields, has_more): (&Fields, bool),
    ) -> Result<(), CliError> {
        let to_error = CliError::with_path(self.file.name());
        let sheet = Sheet::new(self.file.name(), array, part, axes)?;
        let shown = sheet.rows().min(self.rows);
        let values = self.values.of_rows(sheet.selected(), 0..shown).map_err(&to_error)?;
        let sheet = sheet.with_values(values.as_ref())?;
        if let Some(output) = output {
            return output.write_rows(sheet.selected(), 0..shown, fields, &to_error);
        }
        let out = &mut BufWriter::new(anstream::stdout().lock());
        let printed = PrintedTable::print(out, &sheet, 0..shown, self.width)?;
        let columns = printed.omitted_columns(&sheet);
        sheet::print_omitted(out, sheet.rows() - shown, columns, sheet.is_record)?;
        if has_more {
            writeln!(out, "… more rows")?;
        }
        Ok(out.flush()?)
    }

    /// Reads more and more of a stream, until there are enough rows that satisfy
    /// the condition.
    fn print_matching_of_stream(
        &self,
        output: &mut Option<RowOutput<'_>>,
        stream: &mut StreamStart,
    ) -> Result<(), CliError> {
        let to_error = CliError::with_path(self.file.name());
        let Some(filter) = &self.filter else { return Ok(()) };
        let all = stream.shape().first().copied().unwrap_or(1);
        let mut known = FIRST_BYTES.div_ceil(stream.row_nbytes().max(1)).min(all);
        loop {
            let array = stream.array(known).map_err(&to_error)?;
            let rows = array.outline();
            let values = self.values.of_indices((&array, &rows), 0..known).map_err(&to_error)?;
            let array = values.as_ref().unwrap_or(&array);
            let rows = array.outline();
            limits::check_count(self.file.name(), rows.itemsize(), rows.len())?;
            let rows =
                if known < all { rows.split_at(0, known).map_err(&to_error)?.0 } else { rows };
            let rows =
                RowSelection::matching(Some(array), rows, filter, IndexArg::default(), Fields::All);
            let first = rows.and_then(|rows| rows.first(self.rows)).map_err(&to_error)?;
            if first.has_more || known == all {
                let axes = first.axes().map_err(&to_error)?;
                let part = first.view().map_err(&to_error)?.into();
                let more = (&Fields::All, first.has_more);
                return self.print_rows(output, (array, part), axes, more);
            }
            known = known.saturating_mul(2).min(all);
        }
    }
}

//! `npymap tail`: prints the last rows as a table, and those that are appended.

use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use clap::Args;
use npymap::{DType, MappedArray, array::Outline};

use crate::input::array_path::ArrayPath;
use crate::input::error::CliError;
use crate::input::input_args::InputArgs;
use crate::input::messages;
use crate::input::platform;
use crate::input::stream;
use crate::input::url;
use crate::output::output_format::OutputFormat;
use crate::output::row_output::{RowFormatArgs, RowOutput};
use crate::output::sheet::{self, PrintedTable, Sheet};
use crate::select::fields::Fields;
use crate::select::filter::Filter;
use crate::select::matching::{self, Shown};
use crate::select::origins::AxisIndices;
use crate::select::selection::IndexArg;
use crate::select::small_floats::ValueArgs;

/// Print the last elements of an array or a selection as a table.
///
/// The table looks like `npymap head`. With --follow, this prints rows as other
/// programs append them, until you interrupt it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap tail log.npy
  npymap tail -n 3 log.npy ':, :2'
  npymap tail -n 100 events.npy --format csv
  npymap tail log.npy ':, 1' --where 'value[0] > 20'

To follow a file, run `npymap tail -f log.npy`, or `npymap tail -f --json
log.npy` in a pipe.

Exit status: 0 on success, 1 if the file or INDEX was rejected, 2 for a usage
error.")]
pub(crate) struct TailArgs {
    /// Number of rows
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    rows: usize,

    /// Print rows as they are appended to the file, as tail -f does for lines
    #[arg(short, long)]
    follow: bool,

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

/// The pause between two checks of a file.
const PAUSE: Duration = Duration::from_millis(100);

/// How long a file may be unreadable while another program writes it.
const PATIENCE: Duration = Duration::from_secs(2);

const MEMBER: &str = "no rows can be appended to a member: name a .npy file, or omit --follow";

const NOT_FOLLOWED: &str =
    "rows are appended at the end: with --follow, the first axis needs a slice such as 10: or ::2";

const PART_OF_ROWS: &str =
    "with --follow and --where, INDEX has to select all rows that match, as `:` and `:, 3` do";

const STREAM: &str = "streams and URLs cannot be followed: omit --follow";

const ENDLESS: &str =
    "--follow has no end, which .npy and JSON need: use --format jsonl, csv, tsv or raw";

const FORTRAN: &str = "grows along its last axis, because it is in Fortran order: omit --follow";

/// The part of a file that was printed.
#[derive(Default)]
struct Printed<'a> {
    /// The output, unless it is a table.
    output: Option<RowOutput<'a>>,
    /// The number of rows in the file when it was last printed.
    rows: usize,
    table: Option<PrintedTable>,
    /// The dtype and the lengths of the axes but the first.
    kind: Option<(DType, Vec<usize>)>,
}

impl TailArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        let out = &mut BufWriter::new(anstream::stdout().lock());
        let format = self.format.row_format(self.file.name())?;
        if self.follow {
            if matches!(format, Some(OutputFormat::Npy | OutputFormat::Json)) {
                return Err(CliError::usage(self.file.name(), ENDLESS));
            }
            self.file.require_file(MEMBER)?;
            let path = &self.file.path;
            if stream::is_standard(path) || platform::is_stream(path) || url::is_url(path) {
                return Err(CliError::usage(self.file.name(), STREAM));
            }
        }
        let output = format.map(|format| self.format.begin(format, self.file.name()));
        let mut printed = Printed { output: output.transpose()?, ..Printed::default() };
        let seen = self.stamp();
        let array = self.read.array(&self.file);
        let array = array.map_err(CliError::with_path(self.file.name()))?;
        let selection = self.selection.clone().unwrap_or_default();
        if self.follow && !selection.grows_at_its_end(array.shape()) {
            return Err(CliError::usage(self.file.name(), NOT_FOLLOWED));
        }
        if let (true, Some(filter)) = (self.follow, &self.filter) {
            let all = array.outline();
            if !matching::keeps_rows(&all, &selection, filter) {
                return Err(CliError::usage(self.file.name(), PART_OF_ROWS));
            }
        }
        self.print(out, &array, &mut printed)?;
        out.flush()?;
        if self.follow && array.ndim() > 1 && !array.layout().is_c_contiguous() {
            let path = self.file.name().to_owned();
            return Err(CliError::Rejected { path, reason: FORTRAN });
        }
        drop(array);
        if self.follow {
            self.print_appended(out, &mut printed, seen)?;
        }
        printed.output.map_or(Ok(()), RowOutput::finish)?;
        Ok(ExitCode::SUCCESS)
    }

    /// Prints rows as they are appended, until the file cannot be read.
    fn print_appended(
        &self,
        out: &mut impl Write,
        printed: &mut Printed<'_>,
        mut seen: Option<(u64, SystemTime)>,
    ) -> Result<(), CliError> {
        let mut failing_since = None;
        // After a change, it is read once more: another one in the same tick of the
        // system's clock does not change the stamp.
        let mut was_changed = true;
        loop {
            thread::sleep(PAUSE);
            let stamp = self.stamp();
            let is_changed = stamp != seen;
            if !is_changed && !was_changed && failing_since.is_none() {
                continue;
            }
            (seen, was_changed) = (stamp, is_changed);
            match self.read.array(&self.file) {
                Ok(array) => {
                    failing_since = None;
                    self.print(out, &array, printed)?;
                    out.flush()?;
                }
                // The file may be replaced, or its header not be written yet.
                Err(error) => {
                    let since = *failing_since.get_or_insert_with(Instant::now);
                    if since.elapsed() > PATIENCE {
                        return Err(CliError::with_path(self.file.name())(error));
                    }
                }
            }
        }
    }

    /// The length of the file and the time of its last change.
    fn stamp(&self) -> Option<(u64, SystemTime)> {
        let metadata = std::fs::metadata(&self.file.path).ok()?;
        Some((metadata.len(), metadata.modified().ok()?))
    }

    /// Prints the last rows, or those after the ones that were printed already.
    fn print(
        &self,
        out: &mut impl Write,
        array: &MappedArray,
        printed: &mut Printed<'_>,
    ) -> Result<(), CliError> {
        let path = self.file.name();
        let to_error = CliError::with_path(path);
        let all = array.outline();
        let selection = self.selection.clone().unwrap_or_default();
        let fields = selection.fields(&all).of_selected();
        let kind = (array.dtype().clone(), array.shape().iter().skip(1).copied().collect());
        let is_other = printed.kind.as_ref().is_some_and(|old| *old != kind);
        if let Some(filter) = &self.filter {
            let count = all.shape().first().copied().unwrap_or(0);
            printed.check(path, is_other || count < printed.rows);
            let (start, is_first) = (printed.rows, printed.kind.is_none());
            let values = self.values.of_indices((array, &all), start..count).map_err(&to_error)?;
            let array = values.as_ref().unwrap_or(array);
            let all = array.outline();
            let (new, shown) = if is_first {
                (all, self.rows)
            } else {
                (all.split_at(0, start).map_err(&to_error)?.1, usize::MAX)
            };
            let before = start.saturating_mul(matching::rows_per_index(&new, filter));
            let shown = Shown::Last(shown);
            let print = |array: &MappedArray, part: Outline<'_>, mut axes: Vec<AxisIndices>, _| {
                if let Some(AxisIndices::List(numbers)) = axes.first_mut() {
                    for number in numbers {
                        *number += before;
                    }
                }
                let sheet = Sheet::new(path, array, part, axes)?;
                let first = if is_first { sheet.rows().saturating_sub(self.rows) } else { 0 };
                let rows = first..sheet.rows();
                self.print_rows(out, (sheet, &fields), rows, printed)
            };
            matching::with_table(path, (array, &new), &selection, Some(filter), shown, print)?;
            (printed.rows, printed.kind) = (count, Some(kind));
            return Ok(());
        }
        let axes = selection.axis_indices(all.shape()).map_err(&to_error)?;
        let selected = selection.outline(array, &all).map_err(&to_error)?;
        let sheet = Sheet::new(path, array, selected.outline().map_err(&to_error)?, axes)?;
        let rows = sheet.rows();
        printed.check(path, is_other || rows < printed.rows);
        let first = match printed.kind {
            Some(_) => printed.rows,
            None => rows.saturating_sub(self.rows),
        };
        self.print_rows(out, (sheet, &fields), first..rows, printed)?;
        (printed.rows, printed.kind) = (rows, Some(kind));
        Ok(())
    }

    fn print_rows(
        &self,
        out: &mut impl Write,
        (sheet, fields): (Sheet<'_>, &Fields),
        rows: Range<usize>,
        printed: &mut Printed<'_>,
    ) -> Result<(), CliError> {
        let to_error = CliError::with_path(self.file.name());
        let values = self.values.of_rows(sheet.selected(), rows.clone()).map_err(&to_error)?;
        let sheet = sheet.with_values(values.as_ref())?;
        if let Some(output) = &mut printed.output {
            output.write_rows(sheet.selected(), rows, fields, &to_error)?;
            return output.flush();
        }
        if let Some(table) = &mut printed.table {
            return table.print_more(out, &sheet, rows);
        }
        let table = PrintedTable::print(out, &sheet, rows, self.width)?;
        if !self.follow {
            let columns = table.omitted_columns(&sheet);
            sheet::print_omitted(out, 0, columns, sheet.is_record)?;
        }
        printed.table = Some(table);
        Ok(())
    }
}

impl Printed<'_> {
    /// Starts again, with a note, if the file was replaced by one with other rows.
    fn check(&mut self, path: &Path, is_other: bool) {
        if is_other {
            let note = format!("{}: was replaced, or has lost rows", path.display());
            messages::print_note(&note);
            *self = Printed { output: self.output.take(), ..Printed::default() };
        }
    }
}

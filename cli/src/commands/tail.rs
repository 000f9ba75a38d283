//! `npymap tail`: prints the last rows as a table, and those that are appended.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use clap::Args;
use npymap::{DType, MappedArray, array::Outline};

use crate::input::error::{At as _, CliError};
use crate::input::lengths::first_len;
use crate::input::messages;
use crate::input::stream;
use crate::input::url;
use crate::output::output_format::OutputFormat;
use crate::output::row_printer::{RowPrinter, TableArgs};
use crate::output::sheet::{self, Sheet};
use crate::select::fields::Fields;
use crate::select::matching;
use crate::select::origins::AxisIndices;
use crate::select::rows::RowSelection;

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

    #[command(flatten)]
    table: TableArgs,
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
struct Printed<'a> {
    printer: RowPrinter<'a>,
    /// The number of rows in the file when it was last printed.
    rows: usize,
    /// The dtype and the lengths of the axes but the first; `None` before anything is printed.
    kind: Option<(DType, Vec<usize>)>,
}

impl TailArgs {
    pub(crate) fn run(&self) -> Result<(), CliError> {
        let out = &mut BufWriter::new(anstream::stdout().lock());
        let path = self.table.path();
        let format = self.table.format.row_format(path)?;
        if self.follow {
            let has_end = matches!(format, Some(OutputFormat::Npy | OutputFormat::Json));
            CliError::usage_if(has_end, path, ENDLESS)?;
            let path = self.table.file.require_file(MEMBER)?;
            CliError::usage_if(stream::is_output(path) || url::is_url(path), path, STREAM)?;
        }
        let mut printed = Printed { printer: self.table.begin(format)?, rows: 0, kind: None };
        let seen = self.stamp();
        let array = self.table.array()?;
        let index = self.table.index();
        let grows = index.grows_at_its_end(array.shape());
        CliError::usage_if(self.follow && !grows, path, NOT_FOLLOWED)?;
        if let (true, Some(filter)) = (self.follow, &self.table.filter)
            && !matching::keeps_rows(&array.outline(), &index, filter)
        {
            return Err(CliError::usage(path, PART_OF_ROWS));
        }
        self.print(out, &array, &mut printed)?;
        out.flush()?;
        let is_fortran = array.ndim() > 1 && !array.layout().is_c_contiguous();
        CliError::rejected_if(self.follow && is_fortran, path, FORTRAN)?;
        drop(array);
        if self.follow {
            self.print_appended(out, &mut printed, seen)?;
        }
        printed.printer.finish()
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
            match self.table.read.input.array(&self.table.file) {
                Ok(array) => {
                    failing_since = None;
                    self.print(out, &array, printed)?;
                    out.flush()?;
                }
                // The file may be replaced, or its header not be written yet.
                Err(error) => {
                    let since = *failing_since.get_or_insert_with(Instant::now);
                    if since.elapsed() > PATIENCE {
                        return Err(CliError::with_path(self.table.path())(error));
                    }
                }
            }
        }
    }

    /// The length of the file and the time of its last change.
    fn stamp(&self) -> Option<(u64, SystemTime)> {
        let metadata = std::fs::metadata(&self.table.file.path).ok()?;
        Some((metadata.len(), metadata.modified().ok()?))
    }

    /// Prints the last rows, or those after the ones that were printed already.
    fn print(
        &self,
        out: &mut impl Write,
        array: &MappedArray,
        printed: &mut Printed<'_>,
    ) -> Result<(), CliError> {
        let TableArgs { filter, read, .. } = &self.table;
        let (path, index) = (self.table.path(), self.table.index());
        let all = array.outline();
        let fields = index.fields(&all).of_selected();
        let kind = (array.dtype().clone(), array.shape().iter().skip(1).copied().collect());
        let is_other = printed.kind.as_ref().is_some_and(|old| *old != kind);
        if let Some(filter) = filter {
            let count = first_len(all.shape());
            printed.check(path, is_other || count < printed.rows);
            let (start, is_first) = (printed.rows, printed.kind.is_none());
            let values = read.of_indices((array, &all), start..count).at(path)?;
            let array = values.as_ref().unwrap_or(array);
            let all = array.outline();
            let (new, shown) = if is_first {
                (all, self.rows)
            } else {
                (all.split_at(0, start).at(path)?.1, usize::MAX)
            };
            // The number of rows of the array, which `Layout` limits.
            let before = start * matching::rows_per_index(&new, filter);
            let print = |array: &MappedArray, part: Outline<'_>, mut axes: Vec<AxisIndices>, _| {
                if let Some(AxisIndices::List(numbers)) = axes.first_mut() {
                    for number in numbers {
                        *number += before;
                    }
                }
                let sheet = Sheet::new(path, array, part, axes)?;
                let first = if is_first { self.first_of(&sheet) } else { 0 };
                self.print_rows(out, (sheet, &fields), first, printed)
            };
            let shown = |rows: &RowSelection<'_>| rows.last(shown);
            matching::with_table(path, (array, &new), &index, Some(filter), shown, print)?;
            (printed.rows, printed.kind) = (count, Some(kind));
            return Ok(());
        }
        let axes = index.axis_indices(all.shape()).at(path)?;
        let selected = index.outline(array, &all).at(path)?;
        let sheet = Sheet::new(path, array, selected.outline(), axes)?;
        let rows = sheet.rows();
        printed.check(path, is_other || rows < printed.rows);
        let first = if printed.kind.is_some() { printed.rows } else { self.first_of(&sheet) };
        self.print_rows(out, (sheet, &fields), first, printed)?;
        (printed.rows, printed.kind) = (rows, Some(kind));
        Ok(())
    }

    /// The first of the last rows.
    fn first_of(&self, sheet: &Sheet<'_>) -> usize {
        sheet.rows() - self.rows.min(sheet.rows())
    }

    fn print_rows(
        &self,
        out: &mut impl Write,
        (sheet, fields): (Sheet<'_>, &Fields),
        first: usize,
        printed: &mut Printed<'_>,
    ) -> Result<(), CliError> {
        let (rows, is_record) = (first..sheet.rows(), sheet.is_record);
        match printed.printer.print(out, (sheet, fields), rows)? {
            Some(columns) if !self.follow => Ok(sheet::print_omitted(out, 0, columns, is_record)?),
            _ => Ok(()),
        }
    }
}

impl Printed<'_> {
    /// Starts again, with a note, if the file was replaced by one with other rows.
    fn check(&mut self, path: &Path, is_other: bool) {
        if is_other {
            let note = format!("{}: was replaced, or has lost rows", path.display());
            messages::print_note(&note);
            self.printer.table = None;
            (self.rows, self.kind) = (0, None);
        }
    }
}

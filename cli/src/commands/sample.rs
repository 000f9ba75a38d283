//! `npymap sample`: draws random rows.

use std::io::{BufWriter, Write as _};

use clap::Args;
use npymap::{CreateOptions, MappedArray, RowSource as _, Sampler};

use crate::input::array_path::ArrayPath;
use crate::input::error::{At as _, CliError};
use crate::input::lengths::with_length;
use crate::input::open::Temporary;
use crate::input::progress::{self, Progress};
use crate::input::text;
use crate::output::row_copy::ArrayRows;
use crate::output::row_output::{RowFormatArgs, RowOutput};
use crate::output::{elements, row_copy};
use crate::select::bfloat16::ReadArgs;
use crate::select::filter::Filter;
use crate::select::limits;
use crate::select::matching;

/// Bytes of rows in memory while writing a file.
const MEMORY: usize = 256 << 20;

/// Bytes of rows in memory while printing them in a format.
const BLOCK: usize = 8 << 20;

/// The most bytes of rows that are printed as text, which has brackets around all of them.
const PRINTED: usize = 1 << 30;

const TOO_MANY: &str = "more than 1 GiB of memory would be needed: request fewer rows, or use --json, --format or --output";

/// Print random rows, or write them to a new file.
///
/// Rows are taken along the first axis, and at most once unless you give
/// --with-replacement. The same seed will draw the same rows on every machine.
/// This reads only the pages that contain the rows, however large the file is.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap sample train.npy
  npymap sample train.npy -n 256 --seed 1 --output batch.npy
  npymap sample weights.npy -n 5 --format csv
  npymap sample train.npy -n 3 --where 'value[0] <= 0'

Exit status: 0 on success, 1 on failure, 2 for a usage error.")]
pub(crate) struct SampleArgs {
    /// .npy file, or FILE[MEMBER], or - for standard input
    file: ArrayPath,

    /// Number of rows
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    rows: usize,

    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Draw with replacement: rows may repeat
    #[arg(long)]
    with_replacement: bool,

    #[command(flatten)]
    format: RowFormatArgs,

    /// Sample only rows that match CONDITION, as for `npymap get`. This copies
    /// them to a temporary file
    #[arg(long = "where", value_name = "CONDITION")]
    filter: Option<Filter>,

    #[command(flatten)]
    read: ReadArgs,
}

impl SampleArgs {
    pub(crate) fn run(&self) -> Result<(), CliError> {
        let path = self.file.name();
        let format = self.format.row_format(path)?;
        // If the output replaces the input, that one is locked before it is read.
        let output = format.map(|format| self.format.begin(format, path)).transpose()?;
        let mut array = self.read.input.array(&self.file).at(path)?;
        if self.filter.is_some() {
            array = self.read.of_array(array).at(path)?;
        }
        let (array, _) = matching::copy_matching(path, array, None, self.filter.as_ref())?;
        let rows = row_copy::open(path, &array)?;
        let indices = self.sampler(&rows)?;
        if self.read.apply(rows.dtype()) {
            let values = self.sampled(&rows, indices).at(path)?;
            let rows = row_copy::open(path, &values)?;
            return self.output(&rows, 0..self.rows, output);
        }
        self.output(&rows, indices, output)
    }

    /// The values of the sampled rows, in a temporary array.
    fn sampled(
        &self,
        rows: &ArrayRows,
        indices: impl Iterator<Item = usize>,
    ) -> npymap::Result<MappedArray> {
        let shape = with_length(rows.shape(), 0, self.rows);
        let file = Temporary::new()?;
        let to = file.create(rows.dtype(), &shape, &CreateOptions::new())?;
        row_copy::write(rows, indices, to, MEMORY)?;
        self.read.of_array(file.open()?)
    }

    fn output(
        &self,
        rows: &ArrayRows,
        indices: impl Iterator<Item = usize>,
        output: Option<RowOutput<'_>>,
    ) -> Result<(), CliError> {
        let path = self.file.name();
        if output.as_ref().is_none_or(|output| output.npy().is_none()) {
            // As many as may be requested.
            let count = self.rows.saturating_mul(rows.row_len());
            limits::check_count(path, rows.dtype().itemsize(), count)?;
            limits::check_empty_rows(path, if rows.row_len() == 0 { self.rows } else { 0 })?;
        }
        match output {
            Some(output) => self.write(rows, indices, output),
            None => self.print(rows, indices),
        }
    }

    /// Writes rows in a format, in the order of the indices.
    fn write(
        &self,
        rows: &ArrayRows,
        mut indices: impl Iterator<Item = usize>,
        mut output: RowOutput<'_>,
    ) -> Result<(), CliError> {
        if let Some(draft) = output.npy() {
            let shape = with_length(rows.shape(), 0, self.rows);
            let to = draft.array(rows.dtype(), &shape, &self.format.options())?;
            row_copy::write(rows, indices, to, MEMORY).at(draft.path())?;
            return output.finish();
        }
        let row_size = row_copy::row_size(rows);
        // For progress: rows may repeat.
        let mut progress = Progress::new(self.rows.saturating_mul(row_size));
        let room = (BLOCK / row_size.max(size_of::<usize>())).max(1);
        loop {
            let next: Vec<usize> = indices.by_ref().take(room).collect();
            let block = row_copy::take(rows, &next).at(self.file.name())?;
            output.write_items(&block.dyn_view().at(self.file.name())?)?;
            progress.add(next.len() * row_size);
            if next.len() < room {
                drop(progress);
                return output.finish();
            }
        }
    }

    fn sampler(&self, rows: &ArrayRows) -> Result<impl Iterator<Item = usize> + use<>, CliError> {
        let sampler = if self.with_replacement {
            Sampler::with_replacement(rows.row_count(), self.rows, self.seed)
        } else {
            Sampler::shuffled(rows.row_count(), self.seed)
        };
        if sampler.len() < self.rows {
            let advice = if self.with_replacement {
                ""
            } else {
                ", or allow repeats with --with-replacement"
            };
            let what = format!(
                "{}, and {} were requested: request fewer{advice}",
                text::plural(rows.row_count(), "row"),
                self.rows
            );
            return Err(CliError::mismatch(self.file.name(), what));
        }
        Ok(sampler.take(self.rows))
    }

    fn print(
        &self,
        rows: &ArrayRows,
        indices: impl Iterator<Item = usize>,
    ) -> Result<(), CliError> {
        progress::hide_on_terminal();
        let out = &mut BufWriter::new(std::io::stdout().lock());
        let row_size = row_copy::row_size(rows);
        let needed = self.rows.checked_mul(row_size.max(size_of::<usize>()));
        let is_too_much = needed.is_none_or(|needed| needed > PRINTED);
        CliError::usage_if(is_too_much, self.file.name(), TOO_MANY)?;
        let array = row_copy::take(rows, &indices.collect::<Vec<_>>()).at(self.file.name())?;
        elements::print(out, &array.dyn_view().at(self.file.name())?)?;
        Ok(out.flush()?)
    }
}

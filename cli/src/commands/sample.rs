//! `npymap sample`: draws random rows.

use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use npymap::{Order, RowSource as _, Rows, Sampler};

use crate::input::array_path::ArrayPath;
use crate::input::error::CliError;
use crate::input::input_args::InputArgs;
use crate::input::text;
use crate::output::draft::Draft;
use crate::output::new_file::NewFileArgs;
use crate::output::output_format;
use crate::output::{elements, row_copy};
use crate::select::filter::Filter;
use crate::select::limits;
use crate::select::matching;

/// Bytes of rows in memory while writing a file.
const MEMORY: usize = 256 << 20;

/// The most bytes of rows that are printed as text, which has brackets around all of them.
const PRINTED: usize = 1 << 30;

const TOO_MANY: &str =
    "more than 1 GiB of memory would be needed: request fewer rows, or use --json or --output";

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
  npymap sample weights.npy -n 5 --json
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

    /// New .npy file, or - for standard output [default: print the rows]
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,

    /// Print a line of JSON for each row
    #[arg(long, conflicts_with = "output")]
    json: bool,

    /// Sample only rows that match CONDITION, as for `npymap get`. This copies
    /// them to a temporary file
    #[arg(long = "where", value_name = "CONDITION")]
    filter: Option<Filter>,

    #[command(flatten)]
    new_file: NewFileArgs,

    #[command(flatten)]
    read: InputArgs,
}

impl SampleArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        if let Some(output) = &self.output {
            output_format::require_npy(output)?;
        }
        let (path, is_file) = (self.file.name(), self.output.is_some());
        self.new_file.check(path, is_file, is_file)?;
        // If the output replaces the input, that one is locked before it is read.
        let draft =
            self.output.as_ref().map(|output| Draft::begin(output, self.new_file.if_exists()));
        let draft = draft.transpose()?;
        let array = self.read.array(&self.file).map_err(CliError::with_path(path))?;
        let (array, _) = matching::copy_matching(path, array, None, self.filter.as_ref())?;
        let rows = row_copy::open(path, &array)?;
        let indices = self.sampler(&rows)?;
        if let Some(draft) = draft {
            let mut shape = rows.shape().to_vec();
            if let Some(first) = shape.first_mut() {
                *first = self.rows;
            }
            let options = self.new_file.options(Order::C);
            let to = draft.array(rows.dtype(), &shape, &options)?;
            let written = row_copy::write(&rows, indices, to, MEMORY);
            written.map_err(CliError::with_path(draft.path()))?;
            draft.commit()?;
        } else {
            let count = self.rows.saturating_mul(rows.row_len());
            limits::check_count(path, rows.dtype().itemsize(), count)?;
            limits::check_empty_rows(path, if rows.row_len() == 0 { self.rows } else { 0 })?;
            self.print(&rows, indices)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn sampler(&self, rows: &Rows) -> Result<impl Iterator<Item = usize> + use<>, CliError> {
        let sampler = if self.with_replacement {
            Sampler::with_replacement(rows.len(), self.rows, self.seed)
        } else {
            Sampler::shuffled(rows.len(), self.seed)
        };
        if sampler.len() < self.rows {
            let path = self.file.name().to_owned();
            let advice = if self.with_replacement {
                ""
            } else {
                ", or allow repeats with --with-replacement"
            };
            let what = format!(
                "{}, and {} were requested: request fewer{advice}",
                text::plural(rows.len(), "row"),
                self.rows
            );
            return Err(CliError::Mismatch { path, what });
        }
        Ok(sampler.take(self.rows))
    }

    fn print(&self, rows: &Rows, indices: impl Iterator<Item = usize>) -> Result<(), CliError> {
        let to_error = CliError::with_path(self.file.name());
        let out = &mut BufWriter::new(std::io::stdout().lock());
        if self.json {
            for row in indices {
                let array = row_copy::take(rows, &[row]).map_err(&to_error)?;
                let row = array.dyn_view().and_then(|all| all.index_axis(0, 0));
                let row = row.map_err(&to_error)?;
                elements::check_json(self.file.name(), &row)?;
                elements::print_json(out, &row)?;
            }
        } else {
            let row_size = rows.row_len().saturating_mul(rows.dtype().itemsize());
            if self.rows.saturating_mul(row_size.max(size_of::<usize>())) > PRINTED {
                return Err(CliError::usage(self.file.name(), TOO_MANY));
            }
            let array = row_copy::take(rows, &indices.collect::<Vec<_>>()).map_err(&to_error)?;
            elements::print(out, &array.dyn_view().map_err(&to_error)?)?;
        }
        out.flush()?;
        Ok(())
    }
}

//! `npymap sample`: rows at random.

use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use npymap::{Order, Rows, Sampler, npy::MAX_HEADER_LEN};

use crate::array_path::ArrayPath;
use crate::draft::Draft;
use crate::error::CliError;
use crate::new_file::NewFileArgs;
use crate::output_format;
use crate::{elements, open, row_copy};

/// Bytes of rows in memory at once on the way to a file.
const MEMORY: usize = 256 << 20;

/// Prints rows at random, or puts them into a new file.
///
/// Rows count along the first axis. No row comes twice, unless --replace
/// allows it; one seed gives the same rows on every machine. However large the
/// file is, only pages with chosen rows are read.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap sample train.npy
  npymap sample train.npy -n 256 --seed 1 --output batch.npy
  npymap sample weights.npy -n 5 --json

Exit status: 0 when all was printed or written, 1 when not, 2 for wrong usage.")]
pub(crate) struct SampleArgs {
    /// .npy file, or FILE[MEMBER]
    file: ArrayPath,

    /// How many rows
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    rows: usize,

    /// Which of all choices
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Let rows come twice
    #[arg(long)]
    replace: bool,

    /// The new .npy file; without it, rows are printed
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,

    /// Print JSON, a line for each row
    #[arg(long, conflicts_with = "output")]
    json: bool,

    #[command(flatten)]
    made: NewFileArgs,

    /// The longest header to read, in characters
    #[arg(long, value_name = "N", default_value_t = MAX_HEADER_LEN)]
    max_header_len: usize,
}

impl SampleArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        if let Some(output) = &self.output {
            output_format::npy(output)?;
        }
        let path = self.file.name();
        // It may replace the input, which is locked before it is read.
        let draft = self.output.as_ref().map(|output| Draft::begin(output, self.made.existing()));
        let draft = draft.transpose()?;
        let array = open::array(&self.file, self.max_header_len).map_err(CliError::at(path))?;
        let rows = row_copy::rows(path, &array)?;
        let chosen = self.chosen(&rows)?;
        if let Some(draft) = draft {
            let mut shape = rows.shape().to_vec();
            if let Some(first) = shape.first_mut() {
                *first = self.rows;
            }
            let made = self.made.options(Order::C);
            let to = draft.array(rows.dtype(), &shape, &made)?;
            let written = row_copy::write(&rows, chosen, to, MEMORY);
            written.map_err(CliError::at(draft.path()))?;
            draft.commit()?;
        } else {
            let count = self.rows.saturating_mul(rows.row_len());
            elements::check_count(path, rows.dtype().itemsize(), count)?;
            self.print(&rows, &chosen.collect::<Vec<_>>())?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn chosen(&self, rows: &Rows) -> Result<impl Iterator<Item = usize> + use<>, CliError> {
        let sampler = if self.replace {
            Sampler::with_replacement(rows.len(), self.rows, self.seed)
        } else {
            Sampler::shuffled(rows.len(), self.seed)
        };
        if sampler.len() < self.rows {
            let path = self.file.name().to_owned();
            let what = format!(
                "{} rows and {} are wanted: take fewer, or let them come twice with --replace",
                rows.len(),
                self.rows
            );
            return Err(CliError::Differs { path, what });
        }
        Ok(sampler.take(self.rows))
    }

    fn print(&self, rows: &Rows, chosen: &[usize]) -> Result<(), CliError> {
        let failed = CliError::at(self.file.name());
        let out = &mut BufWriter::new(std::io::stdout().lock());
        if self.json {
            for row in chosen {
                let array = row_copy::array(rows, &[*row]).map_err(&failed)?;
                let row = array.dyn_view().and_then(|all| all.index_axis(0, 0));
                elements::json(out, &row.map_err(&failed)?)?;
            }
        } else {
            let array = row_copy::array(rows, chosen).map_err(&failed)?;
            elements::text(out, &array.dyn_view().map_err(&failed)?)?;
        }
        out.flush()?;
        Ok(())
    }
}

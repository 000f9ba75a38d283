//! `npymap shuffle`: the rows of an array in another order.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use npymap::{Order, Sampler, npy::MAX_HEADER_LEN};

use crate::array_path::ArrayPath;
use crate::draft::Draft;
use crate::error::CliError;
use crate::new_file::NewFileArgs;
use crate::output_format;
use crate::{open, row_copy};

/// Puts the rows of an array into random order.
///
/// The array may be larger than memory: what fits into --memory is read in the
/// order of IN and written in that of OUT. Rows count along the first axis.
/// One seed gives one order, on every machine. OUT gets its name when it is
/// complete and on the disk, so IN and OUT may be one file.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap shuffle train.npy shuffled.npy
  npymap shuffle train.npy train.npy --overwrite --seed 7
  npymap shuffle huge.npy shuffled.npy --memory 8192

Files of equal length are put into equal order by equal seeds: samples and
their labels stay together.

Exit status: 0 when OUT is complete, 1 when it could not be made, 2 for wrong
usage.")]
pub(crate) struct ShuffleArgs {
    /// .npy file, or FILE[MEMBER]
    #[arg(value_name = "IN")]
    input: ArrayPath,

    /// The new .npy file
    #[arg(value_name = "OUT")]
    output: PathBuf,

    /// Which of all orders
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// How much memory to use for rows, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..))]
    memory: u32,

    #[command(flatten)]
    made: NewFileArgs,

    /// The longest header to read, in characters
    #[arg(long, value_name = "N", default_value_t = MAX_HEADER_LEN)]
    max_header_len: usize,
}

impl ShuffleArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        output_format::npy(&self.output)?;
        let path = self.input.name();
        // It may replace the input, which is locked before it is read.
        let draft = Draft::begin(&self.output, self.made.existing())?;
        let from = open::array(&self.input, self.max_header_len).map_err(CliError::at(path))?;
        let rows = row_copy::rows(path, &from)?;
        let made = self.made.options(Order::C);
        let to = draft.array(from.dtype(), from.shape(), &made)?;
        let memory = usize::try_from(self.memory).unwrap_or(usize::MAX).saturating_mul(1 << 20);
        let order = Sampler::shuffled(rows.len(), self.seed);
        row_copy::write(&rows, order, to, memory).map_err(CliError::at(&self.output))?;
        // What it may take the place of.
        drop((rows, from));
        draft.commit()?;
        Ok(ExitCode::SUCCESS)
    }
}

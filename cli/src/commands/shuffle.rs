//! `npymap shuffle`: writes the rows of an array in random order.

use clap::Args;
use npymap::{Order, Sampler};

use crate::input::array_path::ArrayPath;
use crate::input::error::{At as _, CliError};
use crate::input::input_args::InputArgs;
use crate::input::memory_arg;
use crate::output::draft::Draft;
use crate::output::new_file::NewFileArgs;
use crate::output::out_args::OutArgs;
use crate::output::output_format::{self, OutputFormat};
use crate::output::report::ReportArgs;
use crate::output::row_copy;

/// Write the rows of an array in random order.
///
/// The array may be larger than memory: the rows that fit into --memory are
/// read in the order of IN and written in the order of OUT. Rows are taken
/// along the first axis. The same seed gives the same order on every machine.
/// OUT gets its name only when it is complete and on disk, so IN and OUT may be
/// the same file.
#[derive(Debug, Args)]
#[command(mut_arg("output", |arg| arg.help("New .npy file, or - for standard output")), after_help = "\
Examples:
  npymap shuffle train.npy -o shuffled.npy
  npymap shuffle train.npy train.npy --overwrite --seed 7
  npymap shuffle huge.npy shuffled.npy --memory 8G

With the same seed, arrays of the same length are shuffled in the same way, so
samples and their labels stay together.

Exit status: 0 if OUT was written, 1 if not, 2 for a usage error.")]
pub(crate) struct ShuffleArgs {
    /// .npy file, or FILE[MEMBER], or - for standard input
    #[arg(value_name = "IN")]
    input: ArrayPath,

    #[command(flatten)]
    out: OutArgs,

    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Memory to use for rows, in MiB or with a unit, as in 512M or 2G
    #[arg(long, value_name = "SIZE", default_value = "512M", value_parser = memory_arg::parse)]
    memory: usize,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    new_file: NewFileArgs,

    #[command(flatten)]
    read: InputArgs,
}

impl ShuffleArgs {
    pub(crate) fn run(&self) -> Result<(), CliError> {
        let output = self.out.path();
        output_format::require_npy(output)?;
        self.report.check(output)?;
        let path = self.input.name();
        // If the output replaces the input, that one is locked before it is read.
        let draft = Draft::begin(output, self.new_file.replace)?;
        let from = self.read.options().whole().array(&self.input).at(path)?;
        let rows = row_copy::open(path, &from)?;
        let options = self.new_file.options(Order::C);
        let to = draft.array(from.dtype(), from.shape(), &options)?;
        let order = Sampler::shuffled(rows.row_count(), self.seed);
        row_copy::write(&rows, order, to, self.memory).at(output)?;
        // The output may replace the input, which Windows does not do while it
        // is mapped.
        drop((rows, from));
        draft.commit()?;
        self.report.print(output, OutputFormat::Npy)
    }
}

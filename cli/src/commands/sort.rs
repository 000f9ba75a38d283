//! `npymap sort`: writes the rows of an array in the order of their values.

use std::path::PathBuf;

use clap::Args;
use npymap::array::Outline;

use crate::input::array_path::ArrayPath;
use crate::input::error::{At as _, CliError};
use crate::input::url;
use crate::output::sorting_args::SortingArgs;
use crate::sort::records::Unit;
use crate::sort::sorter::Sorter;

/// Sort the rows of an array of any size.
///
/// Elements have NumPy's order: NaN and `NaT` come last, text is compared by code
/// points, and records field by field. Rows are taken along the first axis, and
/// equal rows keep their order. OUT has the dtype of IN, in C order. If IN does
/// not fit into --memory, sorted parts go to temporary files without names, which
/// take as much disk space as the rows, and are merged. OUT gets its name only
/// when it is complete and on disk, so IN and OUT may be the same file. Without
/// OUT, the rows are printed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap sort doubles.npy sorted.npy
  npymap sort doubles.npy doubles.npy --overwrite --reverse
  npymap sort events.npy -o by-temp.npy --by temp
  npymap sort events.npy -o events.csv --by 'sensor, when'
  npymap sort penguins.npy -o by-mass.npy --by ':, 3' --memory 2G
  npymap sort embeddings.npy unequal.npy --by :
  npymap sort penguins.npy --by ':, [3, 0]' --reverse | head -n 3

NumPy's equivalent of --by ':, 3' is a[np.argsort(a[:, 3], kind='stable')]. With
--reverse, NaN and NaT come first, then the largest, and equal rows still keep
their order. Subarrays are compared element by element.

Exit status: 0 on success, 1 on failure, 2 for a usage error.")]
pub(crate) struct SortArgs {
    /// .npy file, or FILE[MEMBER], a CSV, TSV or JSON lines file, or - for standard
    /// input
    #[arg(value_name = "IN")]
    input: ArrayPath,

    /// New file with an extension that selects the format: .npy, .csv, .tsv, .jsonl or
    /// .bin, or - for standard output [default: print as CSV]
    #[arg(short, long, value_name = "OUT", value_parser = url::parser())]
    output: Option<PathBuf>,

    /// The same as --output OUT
    #[arg(value_name = "OUT", conflicts_with = "output", value_parser = url::parser())]
    last: Option<PathBuf>,

    /// Put the largest first
    #[arg(long)]
    reverse: bool,

    #[command(flatten)]
    sorting: SortingArgs,
}

impl SortArgs {
    pub(crate) fn run(&self) -> Result<(), CliError> {
        let output = self.output.as_deref().or(self.last.as_deref());
        let to_output_error = CliError::with_path(output.unwrap_or(self.input.name()));
        self.sorting.run(
            &self.input,
            output,
            (Unit::Row, self.reverse),
            &|array, options, create| {
                let all = array.outline();
                self.check(&all)?;
                let sorter = Sorter::new(array, all.clone(), *options).at(self.input.name())?;
                sorter.sort(create(all.dtype(), all.shape())?).map_err(&to_output_error)
            },
        )
    }

    /// Rejects arrays without rows, or whose rows could be compared in several ways.
    fn check(&self, part: &Outline<'_>) -> Result<(), CliError> {
        let error = |text: String| Err(CliError::rejected(self.input.name(), text));
        match part.shape() {
            [] => error("has shape (), and no rows to sort".to_owned()),
            [_, inner @ ..] if !inner.is_empty() && self.sorting.by.is_empty() => {
                let count = inner.iter().product::<usize>();
                let first = vec!["0"; inner.len()].join(", ");
                error(format!(
                    "has rows of {count} elements: choose what is compared, such as --by ':, {first}' for the first of each, or --by : for all in turn"
                ))
            }
            _ => Ok(()),
        }
    }
}

//! `npymap unique`: finds the unique values of an array, and counts them.

use std::path::PathBuf;

use clap::Args;

use crate::input::array_path::ArrayPath;
use crate::input::error::{At as _, CliError};
use crate::input::url;
use crate::output::sorting_args::SortingArgs;
use crate::select::selection::IndexArg;
use crate::sort::records::Unit;
use crate::sort::sorter::Sorter;

/// Find the sorted unique values of an array of any size, and count them.
///
/// These are the elements of all axes, like NumPy's unique, or the records. All
/// NaN are equal, and come last. With --by, this finds unique rows: the first of
/// all rows that are equal in INDEX. Values that do not fit into --memory are
/// sorted in temporary files without names. Without --output, the values are
/// printed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap unique labels.npy
  npymap unique labels.npy --counts --format jsonl
  npymap unique events.npy sensor --counts
  npymap unique penguins.npy ':, 0' -o lengths.npy
  npymap unique train.npy --by : -o distinct.npy
  npymap unique events.npy --by 'sensor, when' -o first.npy
  npymap unique labels.npy --counts -o - | npymap sort - --by count --reverse

With --counts, there are two columns, value and count, and a .npy file has
records with these fields.

Exit status: 0 on success, 1 on failure, 2 for a usage error.")]
pub(crate) struct UniqueArgs {
    /// .npy file, or FILE[MEMBER], a CSV, TSV or JSON lines file, or - for standard
    /// input
    file: ArrayPath,

    /// Elements to use [default: all]
    #[arg(value_name = "INDEX")]
    selection: Option<IndexArg>,

    /// Count how many times each value occurs
    #[arg(long)]
    counts: bool,

    /// New file with an extension that selects the format: .npy, .csv, .tsv, .jsonl or
    /// .bin, or - for standard output [default: print as CSV]
    #[arg(short, long, value_name = "OUT", value_parser = url::parser())]
    output: Option<PathBuf>,

    #[command(flatten)]
    sorting: SortingArgs,
}

impl UniqueArgs {
    pub(crate) fn run(&self) -> Result<(), CliError> {
        let output = self.output.as_deref();
        let unit = if self.sorting.by.is_empty() { Unit::Element } else { Unit::Row };
        let to_output_error = CliError::with_path(output.unwrap_or(self.file.name()));
        let index = self.selection.clone().unwrap_or_default();
        self.sorting.run(&self.file, output, (unit, false), &|array, options, create| {
            let all = array.outline();
            let selected = index.outline(array, &all).at(self.file.name())?;
            let sorter = Sorter::new(array, selected.outline(), *options).at(self.file.name())?;
            let unique = sorter.unique().map_err(&to_output_error)?;
            let (dtype, shape) = unique.dtype_and_shape(self.counts).at(self.file.name())?;
            let array = create(&dtype, &shape)?;
            unique.write(array, self.counts).map_err(&to_output_error)
        })
    }
}

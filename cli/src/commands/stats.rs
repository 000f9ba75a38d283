//! `npymap stats`: computes statistics of the elements.

use std::io::{BufWriter, Write};
use std::process::ExitCode;

use crate::stats::places::Unwanted;
use clap::Args;

use crate::input::array_path::ArrayPath;
use crate::input::error::{At as _, CliError};
use crate::input::file_set;
use crate::input::inputs::{Input, Inputs};
use crate::input::messages;
use crate::output::stats_output;
use crate::output::until_closed::UntilClosed;
use crate::select::axis_arg;
use crate::select::bfloat16::ReadArgs;
use crate::select::filter::Filter;
use crate::select::matching;
use crate::select::selection::IndexArg;
use crate::stats::columns::Columns;
use crate::stats::scan::Ignored;
use crate::stats::stats_rows::{self, StatsRow, Wanted};

/// Compute count, minimum, mean, maximum and sum of the elements.
///
/// This summarizes each array of an archive. It summarizes records by field,
/// complex numbers by real and imaginary part, and with --axis each column
/// separately. All statistics but the counts ignore NaN and `NaT`. Minima,
/// maxima and sums of integers are exact. The rest is computed in double
/// precision. Quantiles are exact, even for arrays larger than memory. Each
/// file is read in order: once, and a few more times for --std, --hist and
/// --quantiles.
#[derive(Debug, Args)]
#[command(
    override_usage = "npymap stats [OPTIONS] <FILE>... [INDEX]",
    after_help = "\
Examples:
  npymap stats penguins.npy
  npymap stats penguins.npy --axis 0
  npymap stats penguins.npy ':100, 3' --std --quantiles
  npymap stats penguins.npy ':, 3' --hist
  npymap stats weights.npz 'weights.npz[a]' --quantiles=0.01,0.99
  npymap stats --json --hist=50 penguins.npy
  npymap stats --fail-on nan,inf weights.npz penguins.npy
  npymap stats penguins.npy --where 'value[3] > 4000' --axis 0

JSON has a line per array, field or column. In it, nan, inf and -inf are
strings, and statistics that do not apply are null.

Exit status: 0 on success, 1 if a file or INDEX was rejected or --fail-on found
something, 2 for a usage error."
)]
pub(crate) struct StatsArgs {
    /// Summarize each column along this axis separately, like NumPy's axis=N,
    /// where -1 is the last axis
    #[arg(long, value_name = "N", value_parser = axis_arg::parse)]
    axis: Option<isize>,

    /// Compute the standard deviation, as numpy.std does in double precision
    #[arg(long)]
    std: bool,

    /// Compute quantiles, as numpy.quantile does with the method "linear" in double
    /// precision, but at an infinite element they are infinite rather than nan
    /// [default: 0.25,0.5,0.75]
    #[arg(long, value_name = "Q,…", num_args = 0..=1, require_equals = true,
        value_delimiter = ',', default_missing_values = ["0.25", "0.5", "0.75"],
        value_parser = parse_quantile)]
    quantiles: Vec<f64>,

    /// Count the finite elements in BINS equal bins, as numpy.histogram
    /// [default: 20]
    #[arg(long, value_name = "BINS", num_args = 0..=1, require_equals = true,
        default_missing_value = "20", value_parser = clap::value_parser!(u16).range(1..))]
    hist: Option<u16>,

    /// Ignore infinite elements as well
    #[arg(long)]
    finite: bool,

    /// Exit with status 1 if there are such elements, and print the first
    /// positions
    #[arg(long, value_enum, value_name = "nan|inf", value_delimiter = ',')]
    fail_on: Vec<Unwanted>,

    /// With --fail-on, how many places to print for each array
    #[arg(long, value_name = "N", default_value_t = 10, requires = "fail_on")]
    first: usize,

    /// Print a line of JSON for each array, field or column
    #[arg(long)]
    json: bool,

    /// Use only rows that match CONDITION, as for `npymap get`. INDEX applies to
    /// these rows, which are copied to a temporary file
    #[arg(long = "where", value_name = "CONDITION", conflicts_with = "fail_on")]
    filter: Option<Filter>,

    #[command(flatten)]
    read: ReadArgs,

    /// .npy, .npz, .ten and tar files, FILE[MEMBER], where MEMBER can be a
    /// pattern such as layers.*, directories, quoted patterns, or - for standard
    /// input. The last argument can be an INDEX that selects elements, unless there is a file of that name
    #[arg(required = true, value_name = "FILE")]
    arguments: Vec<ArrayPath>,
}

impl StatsArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        let out = BufWriter::new(anstream::stdout().lock());
        if self.fail_on.is_empty() { self.print(out) } else { self.print(UntilClosed::new(out)) }
    }

    fn print(&self, mut out: impl Write) -> Result<ExitCode, CliError> {
        let (files, selection) = self.split_arguments();
        let (files, failures) = file_set::all_found(files, file_set::files);
        let (mut rows, mut is_ok) = (Vec::new(), failures == 0);
        for file in &files {
            let visited = self.for_each_input(file, |input| {
                let found = self.rows(file, &input, selection.as_ref())?;
                is_ok &= self.report_unwanted(&input, &found);
                if self.json {
                    found.iter().try_for_each(|row| stats_output::print_json(&mut out, row))?;
                } else {
                    rows.extend(found);
                }
                Ok(())
            });
            is_ok &= messages::ok_or_print(visited)?.unwrap_or(false);
        }
        stats_output::print_table(&mut out, &rows)?;
        out.flush()?;
        Ok(if is_ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// The files, and the index if the last argument is one.
    fn split_arguments(&self) -> (&[ArrayPath], Option<IndexArg>) {
        match self.arguments.split_last() {
            Some((last, files)) if !files.is_empty() && !last.path.exists() => {
                match last.name().to_str().and_then(IndexArg::recognize) {
                    Some(index) => (files, Some(index)),
                    None => (&self.arguments, None),
                }
            }
            _ => (&self.arguments, None),
        }
    }

    /// Calls `visit` with each array of a file. Prints errors about an array, and
    /// returns whether there were none.
    fn for_each_input(
        &self,
        file: &ArrayPath,
        mut visit: impl FnMut(Input<'_>) -> Result<(), CliError>,
    ) -> Result<bool, CliError> {
        let inputs = Inputs::open(file, self.read.input.options()).at(file.name())?;
        let mut is_ok = true;
        for input in inputs.arrays()? {
            is_ok &= messages::ok_or_print(visit(input))?.is_some();
        }
        Ok(is_ok)
    }

    /// The statistics of an array.
    fn rows(
        &self,
        file: &ArrayPath,
        input: &Input<'_>,
        selection: Option<&IndexArg>,
    ) -> Result<Vec<StatsRow>, CliError> {
        let array = (input.open)().and_then(|array| self.read.of_array(array)).at(&input.path)?;
        let (array, selection) =
            matching::copy_matching(&input.path, array, selection, self.filter.as_ref())?;
        let all = array.outline();
        let origins =
            selection.as_ref().map(|selection| selection.origins(all.shape())).transpose();
        let origins = origins.at(&input.path)?;
        let selected = selection.unwrap_or_default().select(&array, &all).at(&input.path)?;
        let selected = selected.outline();
        let axis = self.axis.map(|axis| axis_arg::resolve(axis, selected.shape())).transpose();
        let axis = axis.map_err(|what| CliError::mismatch(&input.path, what))?;
        let columns = Columns::new(&array, &selected, axis).at(&input.path)?;
        if let Some(axis) = axis {
            columns.check_count(&input.path, axis)?;
        }
        let mut rows = stats_rows::compute(&columns, &self.wanted()).at(&input.path)?;
        if let Some(origins) = &origins {
            for row in &mut rows {
                row.locate(origins);
            }
        }
        let member = input.member.clone();
        Ok(rows
            .into_iter()
            .map(|row| StatsRow { path: file.path.clone(), member: member.clone(), ..row })
            .collect())
    }

    fn wanted(&self) -> Wanted<'_> {
        Wanted {
            std: self.std,
            quantiles: &self.quantiles,
            bins: self.hist.map(usize::from),
            ignored: if self.finite { Ignored::Infinite } else { Ignored::Nothing },
            unwanted: &self.fail_on,
            places: self.first,
        }
    }

    /// Prints where the elements are with which `--fail-on` fails, and returns
    /// whether there are none.
    fn report_unwanted(&self, input: &Input<'_>, rows: &[StatsRow]) -> bool {
        let mut reports =
            rows.iter().filter_map(|row| row.unwanted_report(&self.fail_on)).peekable();
        let is_ok = reports.peek().is_none();
        reports.for_each(|report| {
            messages::print_error(&format_args!("{}: {report}", input.path.display()));
        });
        is_ok
    }
}

fn parse_quantile(text: &str) -> Result<f64, &'static str> {
    match text.trim().parse() {
        Ok(quantile) if (0.0..=1.0).contains(&quantile) => Ok(quantile),
        _ => Err("expected numbers from 0 to 1, such as 0.25,0.5,0.75"),
    }
}

//! `npymap diff`: compares arrays, archives and directories.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use npymap::MappedArray;

use crate::input::array_path::ArrayPath;
use crate::input::error::CliError;
use crate::input::globs::NamePattern;
use crate::input::input_args::InputArgs;
use crate::input::inputs::{Input, Inputs};
use crate::input::threads::ThreadArgs;
use crate::output::diff_many;
use crate::output::diff_one::{self, DiffReport};
use crate::output::until_closed::UntilClosed;
use crate::stats::compare::Comparison;
use crate::stats::tolerance::{Tolerance, comparable};

/// Compares arrays: dtype, shape and elements.
///
/// Two archives are compared member by member, two directories file by file,
/// and the result is a table with a line for each array. Elements are compared
/// by value, whatever their byte order and memory order; NaN equals NaN, and
/// padding is ignored. Numbers may differ by up to ATOL + RTOL * |b|, as in
/// numpy.isclose: complex ones by their distance, and they are NaN if a part is.
/// Long doubles must have the same significant bits, and integers are compared
/// with floats exactly.
/// The largest difference is that of elements that differ by more; the mean
/// absolute difference and the root of the mean square (rms) are those of all
/// pairs without NaN.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap diff before.npy after.npy
  npymap diff --rtol 1e-5 --atol 1e-8 --values before.npy after.npy
  npymap diff --json --first 0 before.npy after.npy
  npymap diff 'old.npz[w]' 'new.npz[w]'
  npymap diff old.npz new.npz --match 'layers.*' --only-changed
  npymap diff old-run new-run

JSON has an object for each pair of arrays. In it, inf is a string.

Exit status: 0 if the arrays are equal, 1 if they differ, 2 if one cannot be
opened, though the others are compared, or for a usage error.")]
pub(crate) struct DiffArgs {
    /// .npy, .npz, .ten or tar file, FILE[MEMBER], or directory; - is standard
    /// input
    pub(crate) a: ArrayPath,

    /// Input of the same kinds as A
    pub(crate) b: ArrayPath,

    /// Relative tolerance: how much numbers may differ per unit of b
    #[arg(long, value_name = "RTOL", default_value_t = 0.0, value_parser = parse_tolerance)]
    rtol: f64,

    /// Absolute tolerance, added to the relative one
    #[arg(long, value_name = "ATOL", default_value_t = 0.0, value_parser = parse_tolerance)]
    atol: f64,

    /// Compare values only: dtypes may differ
    #[arg(long)]
    values: bool,

    /// Number of differing elements to show
    #[arg(long, value_name = "N", default_value_t = 10)]
    first: usize,

    /// Compare only arrays whose names match a pattern: * and ? match any
    /// characters, including slashes
    #[arg(long = "match", value_name = "GLOB")]
    pub(crate) pattern: Option<NamePattern>,

    /// Leave out arrays that are equal
    #[arg(long)]
    pub(crate) only_changed: bool,

    /// Print a JSON object for each pair of arrays
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    read: InputArgs,
}

impl DiffArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        let out = &mut UntilClosed::new(anstream::stdout().lock());
        let is_directory = |path: &ArrayPath| path.member.is_none() && path.path.is_dir();
        if is_directory(&self.a) || is_directory(&self.b) {
            return Ok(diff_many::directories(self, out)?.exit_code());
        }
        let (a, b) = (self.open_file(&self.a)?, self.open_file(&self.b)?);
        let lists = (members(&a)?, members(&b)?);
        let found = match &lists {
            (Some(a), Some(b)) if self.is_about_many(a, b) => diff_many::archives(self, out, a, b)?,
            _ if self.pattern.is_some() => return Err(CliError::usage(self.a.name(), NO_PATTERN)),
            (first, second) => {
                self.compare_one(out, (&a, first.as_deref()), (&b, second.as_deref()))?
            }
        };
        Ok(found.exit_code())
    }

    pub(crate) fn open_file<'p>(&self, path: &'p ArrayPath) -> Result<Inputs<'p>, CliError> {
        Inputs::open(path, self.read.options()).map_err(CliError::with_path(path.name()))
    }

    /// Returns whether not both of two archives have a single array.
    fn is_about_many(&self, a: &[Input<'_>], b: &[Input<'_>]) -> bool {
        self.pattern.is_some() || self.only_changed || a.len() != 1 || b.len() != 1
    }

    fn compare_one(
        &self,
        out: &mut impl Write,
        a: (&Inputs<'_>, Option<&[Input<'_>]>),
        b: (&Inputs<'_>, Option<&[Input<'_>]>),
    ) -> Result<DiffResult, CliError> {
        let open = |(inputs, members): (&Inputs<'_>, Option<&[Input<'_>]>), path: &ArrayPath| {
            match members {
                // It may be inside a member, and says then why it can't be opened.
                Some([one]) => (one.open)().map_err(CliError::with_path(&one.path)),
                _ => inputs.single().map_err(CliError::with_path(path.name())),
            }
        };
        let (a, b) = (open(a, &self.a)?, open(b, &self.b)?);
        let report = self.compare(&a, &b).map_err(CliError::with_path(self.a.name()))?;
        let names = [&self.a, &self.b].map(|path| path.name().display().to_string());
        if self.only_changed && report.is_equal {
            // Nothing changed.
        } else if self.json {
            diff_one::print_json(out, &names, None, &report)?;
        } else {
            diff_one::print_text(out, &names, &report)?;
        }
        out.flush()?;
        Ok(if report.is_equal { DiffResult::Equal } else { DiffResult::Different })
    }

    /// Compares two arrays of collections.
    pub(crate) fn compare_inputs(
        &self,
        a: &Input<'_>,
        b: &Input<'_>,
    ) -> Result<(DiffReport, [String; 2]), CliError> {
        let first = (a.open)().map_err(CliError::with_path(&a.path))?;
        let second = (b.open)().map_err(CliError::with_path(&b.path))?;
        let report = self.compare(&first, &second).map_err(CliError::with_path(&a.path))?;
        Ok((report, [a, b].map(|input| input.path.display().to_string())))
    }

    fn compare(&self, a: &MappedArray, b: &MappedArray) -> npymap::Result<DiffReport> {
        let (a, b) = (a.dyn_view()?, b.dyn_view()?);
        let tolerance = Tolerance { relative: self.rtol, absolute: self.atol };
        let elements = if a.shape() == b.shape() && comparable(a.dtype(), b.dtype()) {
            let threads = self.threads.count();
            Some(Comparison::compute(&a, &b, tolerance, self.first, threads)?)
        } else {
            None
        };
        let is_same_type = self.values || a.dtype() == b.dtype();
        let are_equal = elements.as_ref().is_some_and(|comparison| comparison.count == 0);
        Ok(DiffReport {
            dtypes: [&a, &b].map(|view| view.dtype().clone()),
            shapes: [&a, &b].map(|view| view.shape().to_vec()),
            is_equal: is_same_type && are_equal,
            is_same_type,
            elements,
        })
    }
}

const NO_PATTERN: &str = "--match is for two archives or two directories";

/// The arrays of an archive; `None` if it is a single array.
fn members<'i>(inputs: &'i Inputs<'_>) -> Result<Option<Vec<Input<'i>>>, CliError> {
    if inputs.is_collection() { inputs.arrays().map(Some) } else { Ok(None) }
}

/// The answer that the exit status gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DiffResult {
    Equal,
    Different,
    /// An array could not be compared.
    Trouble,
}

impl DiffResult {
    fn exit_code(self) -> ExitCode {
        match self {
            DiffResult::Equal => ExitCode::SUCCESS,
            DiffResult::Different => ExitCode::from(1),
            DiffResult::Trouble => ExitCode::from(2),
        }
    }
}

/// Parses a tolerance.
fn parse_tolerance(text: &str) -> Result<f64, &'static str> {
    match text.trim().parse() {
        Ok(tolerance) if tolerance >= 0.0 => Ok(tolerance),
        _ => Err("expected a number that is not negative, such as 1e-5"),
    }
}

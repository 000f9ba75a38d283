//! How arrays are compared and what is printed of them.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use npymap::MappedArray;

use crate::input::array_path::ArrayPath;
use crate::input::error::{At as _, CliError};
use crate::input::globs::NamePattern;
use crate::input::inputs::{Input, Inputs};
use crate::input::url::shown;
use crate::output::diff_one::DiffReport;
use crate::select::bfloat16::ReadArgs;
use crate::select::filter::Filter;
use crate::select::matching;
use crate::stats::compare::Comparison;
use crate::stats::tolerance::{Tolerance, comparable};

/// Options of comparisons.
#[derive(Debug, Args)]
pub(crate) struct DiffOptions {
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

    /// Compare only arrays with a name that matches a pattern. Use * and ? to
    /// match any characters, including slashes
    #[arg(long = "match", value_name = "GLOB")]
    pub(crate) pattern: Option<NamePattern>,

    /// Leave out arrays that are equal
    #[arg(long)]
    pub(crate) only_changed: bool,

    /// Print a JSON object for each pair of arrays
    #[arg(long)]
    pub(crate) json: bool,

    /// Compare only rows that match CONDITION in both A and B, as for `npymap get`.
    /// This copies them to temporary files
    #[arg(long = "where", value_name = "CONDITION")]
    filter: Option<Filter>,

    #[command(flatten)]
    read: ReadArgs,
}

impl DiffOptions {
    pub(crate) fn open_file(&self, path: &ArrayPath) -> Result<Inputs, CliError> {
        Inputs::open(path, self.read.input.options()).at(path.name())
    }

    /// Compares two arrays of collections.
    pub(crate) fn compare_inputs(
        &self,
        a: &Input<'_>,
        b: &Input<'_>,
    ) -> Result<(DiffReport, [String; 2]), CliError> {
        let first = (a.open)().at(&a.path)?;
        let second = (b.open)().at(&b.path)?;
        let (first, second) = (self.rows(&a.path, first)?, self.rows(&b.path, second)?);
        let report = self.compare(&first, &second).at(&a.path)?;
        Ok((report, [a, b].map(|input| shown(&input.path))))
    }

    /// The rows of an array that are compared.
    fn rows(&self, path: &Path, array: MappedArray) -> Result<MappedArray, CliError> {
        let array = self.read.of_array(array).at(path)?;
        Ok(matching::copy_matching(path, array, None, self.filter.as_ref())?.0)
    }

    fn compare(&self, a: &MappedArray, b: &MappedArray) -> npymap::Result<DiffReport> {
        let tolerance = Tolerance { relative: self.rtol, absolute: self.atol };
        let elements = if a.shape() == b.shape() && comparable(a.dtype(), b.dtype()) {
            Some(Comparison::compute([a, b], tolerance, self.first)?)
        } else {
            None
        };
        let is_same_type = self.values || a.dtype() == b.dtype();
        let are_equal = elements.as_ref().is_some_and(|comparison| comparison.count == 0);
        Ok(DiffReport {
            dtypes: [a, b].map(|array| array.dtype().clone()),
            shapes: [a, b].map(|array| array.shape().to_vec()),
            is_equal: is_same_type && are_equal,
            is_same_type,
            elements,
        })
    }
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
    pub(crate) fn exit_code(self) -> ExitCode {
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

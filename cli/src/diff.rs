//! `npymap diff`: compares two arrays.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;
use npymap::{MappedArray, npy::MAX_HEADER_LEN, view::DynView};
use serde_json::{Value as Json, json};

use crate::array_path::ArrayPath;
use crate::compare::{Comparison, Tolerance, comparable};
use crate::error::CliError;
use crate::escape::{self, safe};
use crate::style::{HEADING, LABEL};
use crate::table::{self, Column};
use crate::{elements, open, text};

/// Compares two arrays: dtype, shape and elements.
///
/// Elements are compared by value, whatever their byte order and memory order;
/// NaN equals NaN, and padding is ignored. Numbers may differ by up to ATOL +
/// RTOL * |b|, as in numpy.isclose.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap diff before.npy after.npy
  npymap diff --rtol 1e-5 --atol 1e-8 --values a.npy b.npy
  npymap diff --json --first 0 a.npy b.npy
  npymap diff 'old.npz[w]' 'new.npz[w]'

Exit status: 0 if the arrays are equal, 1 if they differ, 2 if one cannot be
opened or for a usage error.")]
pub(crate) struct DiffArgs {
    /// .npy file, or FILE[MEMBER] of an .npz, .ten or tar file
    a: ArrayPath,

    /// .npy file, or FILE[MEMBER]
    b: ArrayPath,

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

    /// Print a JSON object
    #[arg(long)]
    json: bool,

    /// Maximum header length, in characters
    #[arg(long, value_name = "N", default_value_t = MAX_HEADER_LEN)]
    max_header_len: usize,
}

/// The result of comparing two arrays.
struct DiffReport<'a> {
    a: DynView<'a>,
    b: DynView<'a>,
    equal: bool,
    /// `None` if the elements can't be compared.
    elements: Option<Comparison>,
}

impl DiffArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        let (a, b) = (self.open(&self.a)?, self.open(&self.b)?);
        let a = a.dyn_view().map_err(CliError::with_path(self.a.name()))?;
        let b = b.dyn_view().map_err(CliError::with_path(self.b.name()))?;
        let report = self.compare(a, b).map_err(CliError::with_path(self.a.name()))?;
        let out = &mut anstream::stdout().lock();
        let printed =
            if self.json { self.print_json(out, &report) } else { self.print_text(out, &report) };
        match printed.and_then(|()| out.flush()) {
            // The exit status still answers a caller that has stopped reading.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error.into()),
            _ => {}
        }
        Ok(if report.equal { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn open(&self, path: &ArrayPath) -> Result<MappedArray, CliError> {
        open::array(path, self.max_header_len).map_err(CliError::with_path(path.name()))
    }

    fn compare<'a>(&self, a: DynView<'a>, b: DynView<'a>) -> npymap::Result<DiffReport<'a>> {
        let tolerance = Tolerance { relative: self.rtol, absolute: self.atol };
        let elements = if a.shape() == b.shape() && comparable(a.dtype(), b.dtype()) {
            Some(Comparison::compute(&a, &b, tolerance, self.first)?)
        } else {
            None
        };
        let same_type = self.values || a.dtype() == b.dtype();
        let equal = same_type && elements.as_ref().is_some_and(|comparison| comparison.count == 0);
        Ok(DiffReport { a, b, equal, elements })
    }

    fn print_text(&self, out: &mut impl Write, report: &DiffReport<'_>) -> io::Result<()> {
        let DiffReport { a, b, equal, elements } = report;
        let verdict = if *equal { "equal" } else { "different" };
        writeln!(
            out,
            "{HEADING}{}{HEADING:#} and {HEADING}{}{HEADING:#}: {verdict}",
            safe(self.a.name().display()),
            safe(self.b.name().display())
        )?;
        let dtype = describe_pair(&a.dtype().to_string(), &b.dtype().to_string());
        let shape = describe_pair(&text::shape(a.shape()), &text::shape(b.shape()));
        let count = match elements {
            None => "not compared".to_owned(),
            Some(Comparison { count: 0, .. }) => {
                format!("{} equal", text::plural(a.len(), "element"))
            }
            Some(Comparison { count, largest, .. }) => {
                let by = largest.map_or(String::new(), |most| format!(", by at most {most}"));
                format!("{count} of {} differ{by}", text::plural(a.len(), "element"))
            }
        };
        for (label, text) in [("dtype ", dtype), ("shape ", shape), ("values", count)] {
            writeln!(out, "  {LABEL}{label}{LABEL:#}  {text}")?;
        }
        match elements {
            Some(Comparison { first, .. }) if !first.is_empty() => {
                self.print_pairs(out, report, first)
            }
            _ => Ok(()),
        }
    }

    /// Prints a table of the first pairs that differ.
    fn print_pairs(
        &self,
        out: &mut impl Write,
        report: &DiffReport<'_>,
        first: &[crate::compare::Pair],
    ) -> io::Result<()> {
        let names = [&self.a, &self.b].map(|path| safe(path.name().display()));
        let mut columns = vec![Column::text("index")];
        columns.extend(names.map(Column::text));
        for pair in first {
            let index: Vec<_> = pair.index.iter().map(ToString::to_string).collect();
            let cells = [format!("[{}]", index.join(", ")), safe(&pair.a), safe(&pair.b)];
            columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
        }
        if let Some(width) = table::terminal_width() {
            table::fit(&mut columns, width);
        }
        writeln!(out)?;
        table::print(out, &columns)?;
        let more = report.elements.as_ref().map_or(0, |all| all.count - first.len());
        if more > 0 { writeln!(out, "… and {more} more") } else { Ok(()) }
    }

    fn print_json(&self, out: &mut impl Write, report: &DiffReport<'_>) -> io::Result<()> {
        let DiffReport { a, b, equal, elements } = report;
        let mut line = json!({
            "a": self.a.name().to_string_lossy(),
            "b": self.b.name().to_string_lossy(),
            "equal": equal,
            "descr": [a.dtype().to_string(), b.dtype().to_string()],
            "shape": [a.shape(), b.shape()],
            "differ": elements.as_ref().map(|comparison| comparison.count),
            "largest": elements.as_ref().and_then(|comparison| comparison.largest),
        });
        let pairs = elements.iter().flat_map(|comparison| &comparison.first);
        let first: Vec<Json> = pairs
            .map(|pair| {
                json!({
                    "index": pair.index,
                    "a": elements::JsonValue(&pair.a, a.dtype()),
                    "b": elements::JsonValue(&pair.b, b.dtype()),
                })
            })
            .collect();
        if let Some(line) = line.as_object_mut() {
            line.insert("first".to_owned(), first.into());
        }
        escape::json_line(out, &line)
    }
}

/// The text for two arrays, or for both if it is the same.
fn describe_pair(a: &str, b: &str) -> String {
    if a == b { a.to_owned() } else { format!("{a} against {b}") }
}

/// Parses a tolerance.
fn parse_tolerance(text: &str) -> Result<f64, &'static str> {
    match text.trim().parse() {
        Ok(tolerance) if tolerance >= 0.0 => Ok(tolerance),
        _ => Err("expected a number that is not negative, such as 1e-5"),
    }
}

//! `npymap diff`: compares arrays, archives and directories.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;

use crate::input::array_path::ArrayPath;
use crate::input::error::{At as _, CliError};
use crate::input::file_set::FileSet;
use crate::input::inputs::{Input, Inputs};
use crate::input::url::shown;
use crate::output::diff_many;
use crate::output::diff_one;
use crate::output::diff_options::{DiffOptions, DiffResult};
use crate::output::until_closed::UntilClosed;

/// Compare two arrays, archives or directories.
///
/// This compares two archives member by member, and two directories or patterns
/// file by file. The result is then a table with a line per array. Elements are
/// compared by value, whatever their byte order and memory order. NaN equals
/// NaN, and padding is ignored. Numbers can differ by up to ATOL + RTOL * |b|,
/// like in numpy.isclose. For complex numbers, this is their distance. Long
/// doubles must have the same significant bits, and integers are compared with
/// floats exactly. The largest difference is taken over elements that differ by
/// more. The mean absolute difference and the root of the mean square (rms) are
/// taken over all pairs without NaN.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap diff before.npy after.npy
  npymap diff --rtol 1e-5 --atol 1e-8 --values before.npy after.npy
  npymap diff --json --first 0 before.npy after.npy
  npymap diff 'old.npz[w]' 'new.npz[w]'
  npymap diff old.npz new.npz --match 'layers.*' --only-changed
  npymap diff old-run new-run
  npymap diff before.npy after.npy --where 'value > 0'
  npymap diff 'old-run/*.npy' 'new-run/*.npy'

JSON has an object for each pair of arrays. In it, inf is a string.

Exit status: 0 if the arrays are equal, 1 if they differ, 2 if one cannot be
opened, though the others are compared, or for a usage error.")]
pub(crate) struct DiffArgs {
    /// .npy, .npz, .ten or tar file, FILE[MEMBER], directory or quoted pattern,
    /// or - for standard input
    a: ArrayPath,

    /// Input of the same kinds as A
    b: ArrayPath,

    #[command(flatten)]
    options: DiffOptions,
}

impl DiffArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        let out = &mut UntilClosed::new(anstream::stdout().lock());
        let roots = [&self.a, &self.b];
        match (FileSet::find(&self.a)?, FileSet::find(&self.b)?) {
            (Some(a), Some(b)) => {
                return Ok(diff_many::directories(&self.options, roots, [a, b], out)?.exit_code());
            }
            (None, None) => {}
            (a, _) => {
                let file = if a.is_none() { &self.a } else { &self.b };
                return Err(CliError::rejected(file.name(), ONE_SET));
            }
        }
        let (a, b) = (self.options.open_file(&self.a)?, self.options.open_file(&self.b)?);
        let lists = (members(&a)?, members(&b)?);
        let selects = self.options.pattern.is_some() || self.options.only_changed;
        let found = match &lists {
            (Some(a), Some(b)) if selects || a.len() != 1 || b.len() != 1 => {
                diff_many::archives(&self.options, [&self.a, &self.b], out, a, b)?
            }
            _ if self.options.pattern.is_some() => {
                return Err(CliError::usage(self.a.name(), NO_PATTERN));
            }
            (first, second) => {
                self.compare_one(out, (&a, first.as_deref()), (&b, second.as_deref()))?
            }
        };
        Ok(found.exit_code())
    }

    fn compare_one(
        &self,
        out: &mut impl Write,
        a: (&Inputs, Option<&[Input<'_>]>),
        b: (&Inputs, Option<&[Input<'_>]>),
    ) -> Result<DiffResult, CliError> {
        let open = |(inputs, members): (&Inputs, Option<&[Input<'_>]>), path: &ArrayPath| {
            let array = match members {
                // It may be inside a member, and says then why it can't be opened.
                Some([one]) => (one.open)().at(&one.path),
                _ => inputs.single().at(path.name()),
            };
            self.options.rows(path.name(), array?)
        };
        let (a, b) = (open(a, &self.a)?, open(b, &self.b)?);
        let report = self.options.compare(&a, &b).at(self.a.name())?;
        let names = [&self.a, &self.b].map(|path| shown(path.name()));
        if self.options.only_changed && report.is_equal {
            // Nothing changed.
        } else if self.options.json {
            diff_one::print_json(out, &names, None, &report)?;
        } else {
            diff_one::print_text(out, &names, &report)?;
        }
        out.flush()?;
        Ok(if report.is_equal { DiffResult::Equal } else { DiffResult::Different })
    }
}

const ONE_SET: &str =
    "is one file, and the other argument a set of files: compare two directories or patterns";

const NO_PATTERN: &str = "--match is for two archives or two directories";

/// The arrays of an archive; `None` if it is a single array.
fn members(inputs: &Inputs) -> Result<Option<Vec<Input<'_>>>, CliError> {
    if inputs.is_collection() { inputs.arrays().map(Some) } else { Ok(None) }
}

//! `npymap diff`: compares arrays, archives and directories.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;

use crate::input::array_path::ArrayPath;
use crate::input::error::{At as _, CliError};
use crate::input::file_set::FileSet;
use crate::input::inputs::Input;
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
        let (first, second) = (a.arrays()?, b.arrays()?);
        let selects = self.options.pattern.is_some() || self.options.only_changed;
        let is_one = !selects && first.len() == 1 && second.len() == 1;
        if a.is_collection() && b.is_collection() && !is_one {
            let found = diff_many::archives(&self.options, roots, out, &first, &second)?;
            return Ok(found.exit_code());
        }
        CliError::usage_if(self.options.pattern.is_some(), self.a.name(), NO_PATTERN)?;
        // An archive of several arrays is refused.
        let ([first], [second]) = (first.as_slice(), second.as_slice()) else {
            let (several, path) = if first.len() == 1 { (&b, &self.b) } else { (&a, &self.a) };
            several.single().at(path.name())?;
            return Err(CliError::rejected(path.name(), ONE_SET));
        };
        Ok(self.compare_one(out, first, second)?.exit_code())
    }

    fn compare_one(
        &self,
        out: &mut impl Write,
        a: &Input<'_>,
        b: &Input<'_>,
    ) -> Result<DiffResult, CliError> {
        let (report, _) = self.options.compare_inputs(a, b)?;
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

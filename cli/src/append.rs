//! `npymap append`: adds rows to an array.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use npymap::{ErrorKind, OpenOptions, Order, npy::MAX_HEADER_LEN, write::RecoverOptions};

use crate::array_path::ArrayPath;
use crate::error::CliError;
use crate::escape::safe;
use crate::input_rows::{self, InputRows, RowSpec};
use crate::locking::WaitArgs;
use crate::progress::Progress;
use crate::{signals, text};

/// Adds the rows of other arrays to an array, in its file.
///
/// Rows are added along the first axis, in Fortran order along the last. An
/// array with one axis less is one row. The order of axes and of bytes becomes
/// that of FILE; everything else has to be the same. All rows are added or
/// none, and who reads FILE meanwhile finds one or the other.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap append log.npy today.npy
  npymap append --flush all.npy part-1.npy part-2.npy part-3.npy

FILE is to exist: see `npymap create --shape '(0, 3)'`. When it has bytes behind
its elements, see `npymap recover`.

Exit status: 0 when all was added, 1 when nothing was, 2 for wrong usage.")]
pub(crate) struct AppendArgs {
    /// Wait until it is on the disk
    #[arg(long)]
    flush: bool,

    #[command(flatten)]
    wait: WaitArgs,

    /// The longest header to read, in characters
    #[arg(long, value_name = "N", default_value_t = MAX_HEADER_LEN)]
    max_header_len: usize,

    /// .npy file that gets longer
    file: ArrayPath,

    /// .npy files with its new rows, or FILE[MEMBER]
    #[arg(value_name = "ROWS", required = true)]
    rows: Vec<ArrayPath>,
}

const MEMBER: &str = "a member of another file can't get longer: write the longer array to a .npy of its own with `npymap concat`";

impl AppendArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        let path = self.file.alone(MEMBER)?;
        let failed = CliError::at(path);
        let options = OpenOptions::new().max_header_len(self.max_header_len);
        signals::watch().map_err(CliError::file(path, "open"))?;
        let opened =
            self.wait.locking(path, |locking| options.clone().locking(locking).append(path));
        let mut to = opened.map_err(|error| self.refused(path, error))?;
        let (dtype, shape, order) = (to.dtype().clone(), to.shape().to_vec(), to.order());
        let axis = if order == Order::C { 0 } else { shape.len().saturating_sub(1) };
        let wanted = RowSpec { path, dtype: &dtype, shape: &shape, axis };
        let rows = input_rows::all(&wanted, &self.rows, self.max_header_len)?;
        let count = rows.iter().fold(0_usize, |sum, rows| sum.saturating_add(rows.count));
        let nbytes = rows.iter().map(InputRows::nbytes).fold(0, usize::saturating_add);
        let mut progress = Progress::new(nbytes);
        let added = to.append_parts(count, |put| {
            rows.iter().try_for_each(|rows| {
                rows.blocks(order, &mut |block| {
                    progress.add(block.len());
                    put(block)
                })
            })
        });
        added.and_then(|()| if self.flush { to.sync() } else { to.flush() }).map_err(&failed)?;
        let (count, shape) = (text::plural(count, "row"), text::shape(to.shape()));
        writeln!(std::io::stdout(), "{}: {count} added, shape {shape}", safe(path.display()))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Says why rows can't be added, and what helps if it is a writer that did
    /// not finish.
    fn refused(&self, path: &Path, error: npymap::Error) -> CliError {
        let options = RecoverOptions::new();
        let planned = match error.kind() {
            ErrorKind::Damaged | ErrorKind::Truncated => {
                options.max_header_len(self.max_header_len).plan(path)
            }
            _ => return CliError::at(path)(error),
        };
        match planned {
            Ok(recovery) if !recovery.is_complete() => {
                CliError::Unfinished { path: path.to_owned() }
            }
            _ => CliError::at(path)(error),
        }
    }
}

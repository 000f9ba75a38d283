//! `npymap append`: adds rows to an array.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use npymap::{ErrorKind, OpenOptions, Order, npy::MAX_HEADER_LEN, write::RecoverOptions};

use crate::escape::safe;
use crate::failure::Failure;
use crate::locking::Wait;
use crate::place::Place;
use crate::progress::Progress;
use crate::rows::{self, Rows, Wanted};
use crate::{signals, words};

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
pub(crate) struct Append {
    /// Wait until it is on the disk
    #[arg(long)]
    flush: bool,

    #[command(flatten)]
    wait: Wait,

    /// The longest header to read, in characters
    #[arg(long, value_name = "N", default_value_t = MAX_HEADER_LEN)]
    max_header_len: usize,

    /// .npy file that gets longer
    file: Place,

    /// .npy files with its new rows, or FILE[MEMBER]
    #[arg(value_name = "ROWS", required = true)]
    rows: Vec<Place>,
}

const MEMBER: &str = "a member of another file can't get longer: write the longer array to a .npy of its own with `npymap concat`";

impl Append {
    pub(crate) fn run(&self) -> Result<ExitCode, Failure> {
        let path = self.file.alone(MEMBER)?;
        let failed = Failure::at(path);
        let options = OpenOptions::new().max_header_len(self.max_header_len);
        signals::watch().map_err(Failure::file(path, "open"))?;
        let opened =
            self.wait.locking(path, |locking| options.clone().locking(locking).append(path));
        let mut to = opened.map_err(|error| self.refused(path, error))?;
        let (dtype, shape, order) = (to.dtype().clone(), to.shape().to_vec(), to.order());
        let axis = if order == Order::C { 0 } else { shape.len().saturating_sub(1) };
        let wanted = Wanted { path, dtype: &dtype, shape: &shape, axis };
        let rows = rows::all(&wanted, &self.rows, self.max_header_len)?;
        let count = rows.iter().fold(0_usize, |sum, rows| sum.saturating_add(rows.count));
        let nbytes = rows.iter().map(Rows::nbytes).fold(0, usize::saturating_add);
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
        let (count, shape) = (words::plural(count, "row"), words::shape(to.shape()));
        writeln!(std::io::stdout(), "{}: {count} added, shape {shape}", safe(path.display()))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Says why rows can't be added, and what helps if it is a writer that did
    /// not finish.
    fn refused(&self, path: &Path, error: npymap::Error) -> Failure {
        let options = RecoverOptions::new();
        let planned = match error.kind() {
            ErrorKind::Damaged | ErrorKind::Truncated => {
                options.max_header_len(self.max_header_len).plan(path)
            }
            _ => return Failure::at(path)(error),
        };
        match planned {
            Ok(recovery) if !recovery.is_whole() => Failure::Unfinished { path: path.to_owned() },
            _ => Failure::at(path)(error),
        }
    }
}

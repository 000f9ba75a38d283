//! Where the output of a command goes: standard output, or a new file.

use std::io::{self, StdoutLock, Write as _};
use std::path::Path;

use crate::input::error::CliError;
use crate::input::{progress, stream};
use crate::output::draft::Draft;
use crate::output::overwrite::OverwriteArgs;

/// Text or bytes that are written in order.
#[derive(Debug)]
pub(crate) enum Sink {
    /// Standard output, which is written as the output is made.
    Standard(StdoutLock<'static>),
    /// A new file, complete or absent.
    File(Box<Draft>),
}

impl Sink {
    /// Starts writing to a new file, or to standard output if there is none.
    pub(crate) fn begin(path: Option<&Path>, replace: OverwriteArgs) -> Result<Sink, CliError> {
        match path.filter(|path| !stream::is_standard(path)) {
            None => {
                progress::hide_on_terminal();
                Ok(Sink::Standard(io::stdout().lock()))
            }
            Some(path) => Draft::begin(path, replace).map(|draft| Sink::File(Box::new(draft))),
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), CliError> {
        match self {
            Sink::Standard(out) => Ok(out.write_all(bytes)?),
            Sink::File(draft) => {
                draft.file().write_all(bytes).map_err(CliError::io(draft.path(), "write"))
            }
        }
    }

    /// Shows what was written so far to whoever reads standard output.
    pub(crate) fn flush(&mut self) -> Result<(), CliError> {
        match self {
            Sink::Standard(out) => Ok(out.flush()?),
            Sink::File(_) => Ok(()),
        }
    }

    /// Completes the output.
    pub(crate) fn finish(self) -> Result<(), CliError> {
        match self {
            Sink::Standard(mut out) => Ok(out.flush()?),
            Sink::File(draft) => draft.commit(),
        }
    }
}

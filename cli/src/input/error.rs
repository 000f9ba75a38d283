//! Errors of commands.

use std::borrow::Cow;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use npymap::ErrorKind;

use crate::input::platform;
use crate::input::url::{of_unknown_scheme, shown};

/// Why a command failed, with the file it is about.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// Standard output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    /// An error of the library, to be shown with this path.
    #[error("{}: {}", shown(path), error.message())]
    WithPath { path: PathBuf, error: npymap::Error },
    /// An error of the library that names the file itself.
    #[error(transparent)]
    Library(npymap::Error),
    /// An error of the system.
    #[error("{}: cannot {action}: {error}", shown(path))]
    Io { path: PathBuf, action: &'static str, error: io::Error },
    /// Arguments that do not go together, whatever the file holds.
    #[error("{}: {reason}", shown(path))]
    Usage { path: PathBuf, reason: Cow<'static, str> },
    /// Any other reason, such as an argument that does not suit the file.
    #[error("{}: {reason}", shown(path))]
    Rejected { path: PathBuf, reason: Cow<'static, str> },
}

impl CliError {
    /// Rejects arguments, with the file that they are for.
    pub(crate) fn usage(path: &Path, reason: impl Into<Cow<'static, str>>) -> CliError {
        CliError::Usage { path: path.to_owned(), reason: reason.into() }
    }

    /// Rejects arguments that do not go together.
    pub(crate) fn usage_if(is_wrong: bool, path: &Path, reason: &'static str) -> Result<(), Self> {
        if is_wrong { Err(CliError::usage(path, reason)) } else { Ok(()) }
    }

    /// Rejects arguments for the first reason that applies.
    pub(crate) fn usage_if_any<const N: usize>(
        path: &Path,
        reasons: [(bool, &'static str); N],
    ) -> Result<(), Self> {
        let first = reasons.into_iter().find(|(applies, _)| *applies);
        first.map_or(Ok(()), |(_, reason)| Err(CliError::usage(path, reason)))
    }

    /// Rejects a file that does not suit the command.
    pub(crate) fn rejected_if(
        is_wrong: bool,
        path: &Path,
        reason: &'static str,
    ) -> Result<(), Self> {
        if is_wrong { Err(CliError::rejected(path, reason)) } else { Ok(()) }
    }

    /// Rejects a file, or an argument that does not suit it.
    pub(crate) fn rejected(
        path: impl Into<PathBuf>,
        reason: impl Into<Cow<'static, str>>,
    ) -> CliError {
        CliError::Rejected { path: path.into(), reason: reason.into() }
    }

    /// Rejects a file for what it has, which does not match another file or an argument.
    pub(crate) fn mismatch(path: impl Into<PathBuf>, what: impl Display) -> CliError {
        CliError::rejected(path, format!("has {what}"))
    }

    /// Rejects a new file whose name is taken.
    pub(crate) fn exists(path: impl Into<PathBuf>) -> CliError {
        CliError::rejected(path, EXISTS)
    }

    /// Attaches the path that the user gave: the library may know the file by a
    /// temporary name.
    pub(crate) fn with_path(path: &Path) -> impl Fn(npymap::Error) -> CliError {
        move |error| match error.kind() {
            ErrorKind::AlreadyExists => CliError::exists(path),
            ErrorKind::Locked => CliError::rejected(path, LOCKED),
            // Of the file that was read, not of the one that was written.
            ErrorKind::Changed if error.path().is_some() => CliError::Library(error),
            _ => CliError::WithPath { path: path.to_owned(), error },
        }
    }

    /// Attaches the path of the input to errors about values and dtypes, that of the output to
    /// others, unless the library has named the input.
    pub(crate) fn of_copy(input: &Path, output: &Path) -> impl Fn(npymap::Error) -> CliError {
        move |error| match error.kind() {
            ErrorKind::Io | ErrorKind::Truncated if error.path() == Some(input) => {
                CliError::Library(error)
            }
            ErrorKind::InvalidValue | ErrorKind::InvalidInput | ErrorKind::DTypeMismatch => {
                CliError::with_path(input)(error)
            }
            _ => CliError::with_path(output)(error),
        }
    }

    /// Names the input in an error, unless the library has named the file: it
    /// does not know the name of a stream.
    pub(crate) fn of_input(input: &Path) -> impl Fn(npymap::Error) -> CliError {
        move |error| match error.path() {
            Some(_) => CliError::Library(error),
            None => CliError::WithPath { path: input.to_owned(), error },
        }
    }

    /// Attaches a path and what was attempted: `cannot {action}`.
    pub(crate) fn io(path: &Path, action: &'static str) -> impl Fn(io::Error) -> CliError {
        move |error| match error.kind() {
            io::ErrorKind::AlreadyExists => CliError::exists(path),
            _ => CliError::Io { path: path.to_owned(), action, error },
        }
    }

    /// Names the input whose mapped bytes could not be written, if the system could not read
    /// them.
    pub(crate) fn of_map(self, input: &Path) -> CliError {
        match &self {
            CliError::Io { error, .. } | CliError::Output(error) if platform::is_fault(error) => {
                CliError::rejected(input, VANISHED)
            }
            _ => self,
        }
    }

    /// The error of a report on what was done to a file: that it was done, but the
    /// report cannot be written.
    pub(crate) fn after<E: Into<CliError>>(path: &Path, done: &str) -> impl Fn(E) -> CliError {
        move |error| match error.into() {
            error @ CliError::Output(_) if !error.is_broken_pipe() => {
                CliError::rejected(path, format!("{done}, but {error}"))
            }
            error => error,
        }
    }

    /// Returns whether standard output was closed by its reader.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, CliError::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

const EXISTS: &str = "already exists: choose another name, or replace it with --overwrite";

const LOCKED: &str = "is being written by another process: omit --no-wait to wait for it";

/// Names the file that an error of the library is about.
pub(crate) trait At<T> {
    /// Attaches the path that the user gave, as [`CliError::with_path`].
    fn at(self, path: &Path) -> Result<T, CliError>;
}

impl<T> At<T> for npymap::Result<T> {
    fn at(self, path: &Path) -> Result<T, CliError> {
        self.map_err(CliError::with_path(path))
    }
}

/// What is wrong with a file whose mapped bytes the system cannot read.
pub(crate) const VANISHED: &str = "was truncated while it was read";

const RAW: &str = "--raw DTYPE reads raw elements";

/// The same for commands without `--raw`.
const NO_RAW: &str = "`npymap convert --raw DTYPE` gives raw elements a header";

/// Whether the command has `--raw`.
static READS_RAW: AtomicBool = AtomicBool::new(true);

/// Sets whether the command has `--raw`, which errors advise then.
pub(crate) fn set_reads_raw(reads_raw: bool) {
    READS_RAW.store(reads_raw, Ordering::Relaxed);
}

/// Advice at the end of errors of the library, and the equivalent for this program.
const ADVICE: [(&str, &str); 22] = [
    (
        "allow more by NPYMAP_REQUEST_TIMEOUT or `RemoteOptions::request_timeout`",
        "allow more by NPYMAP_REQUEST_TIMEOUT",
    ),
    (
        "set those of its environment variables, or a header by `RemoteOptions::header`",
        "set those of its environment variables, or a header by -H",
    ),
    (
        "it is compressed with gzip, decompress it first",
        "it is compressed with gzip: `gzip -dc FILE | npymap COMMAND -` reads it",
    ),
    ("copy what `NpzOptions::scan` finds", "`npymap npz recover` copies its members"),
    (
        "the archive was truncated, or is still being written",
        "the archive was truncated, or is still being written: `npymap npz recover` copies its intact members",
    ),
    ("open raw elements with `OpenOptions::raw`", RAW),
    ("open it as a .npy, not with `OpenOptions::raw`", "open it without --raw"),
    // Only casts that keep all values fail so, and not because a text has another form.
    ("can hold exactly", "can hold exactly: allow it to change with --force"),
    (
        "raise it with `max_header_len` if you trust the file",
        "raise it with --max-header-len if you trust the file",
    ),
    (
        "raise it with `max_inflated` if you trust the file",
        "unpack it with `npymap npz extract` if you trust the file",
    ),
    (
        "it was truncated, or is still being written",
        "it was truncated, or is still being written: `npymap recover` keeps the complete rows of a .npy file",
    ),
    ("allow it with `TenWriteOptions::allow_u4`", "allow it with --allow-u4"),
    ("allow replacing it with `CreateOptions::overwrite`", "allow replacing it with --overwrite"),
    (
        "it is a .npy file, open it with `MappedArray::open`",
        "it is a .npy file: name it without a member",
    ),
    (
        "`recover` turns the bytes that follow into rows",
        "`npymap recover` turns the bytes that follow into rows",
    ),
    (
        "`recover` keeps them, and `discard_trailing` drops them",
        "`npymap recover` keeps them, and --discard-trailing drops them",
    ),
    ("`discard_trailing` allows it", "--discard-trailing allows it"),
    (
        "it is a webdataset .ten file, open it with `Ten` or `open_any`",
        "it is a webdataset .ten file, whose arrays are named by position: FILE.ten[0] or FILE.tar[MEMBER.ten[0]]",
    ),
    (
        "it is a zip archive, open an .npz file with `Npz` or `open_any`",
        "it is a zip archive: name an array, FILE.npz[KEY] or FILE.tar[MEMBER.npz[KEY]], or unpack it first",
    ),
    (
        "is empty, so there is nothing to map: for a shape without elements, open it in mode 'r+'",
        "is empty, so there is nothing to map",
    ),
    (
        "mount its directory, or overwrite it in place with `WriteOptions::write_to`",
        "mount its directory, or overwrite it in place, which readers may see half done: write to - and redirect that to FILE",
    ),
    ("store through `view_mut`, or open it with `open_mut`", "convert it to a file of its own"),
];

/// Rephrases a message of the library in terms of this program's commands and
/// options.
pub(crate) fn rephrase_advice(message: &dyn Display) -> String {
    let message = message.to_string();
    if let Some(named) = of_unknown_scheme(&message) {
        return named;
    }
    let ended = ADVICE.iter().find_map(|(library, program)| {
        let found = message.strip_suffix(library)?;
        let lacks_raw = *program == RAW && !READS_RAW.load(Ordering::Relaxed);
        Some(format!("{found}{}", if lacks_raw { NO_RAW } else { program }))
    });
    ended.unwrap_or(message)
}

#[cfg(test)]
mod tests {
    use super::rephrase_advice;

    #[test]
    fn advice_is_at_the_end_and_names_are_kept() {
        let library = "it was truncated, or is still being written";
        let program = "`npymap recover` keeps the complete rows of a .npy file";
        let text = format!("{library}.npy: ends at byte 5: {library}");
        assert_eq!(rephrase_advice(&text), format!("{text}: {program}"));
        let text = format!("{library}.npy: cannot open: permission denied");
        assert_eq!(rephrase_advice(&text), text);
        assert_eq!(rephrase_advice(&format!("a.npy: {program}")), format!("a.npy: {program}"));
    }
}

//! Why a command could not do what it was asked.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use npymap::ErrorKind;

/// Why a command could not do what it was asked, said of the file it is
/// about.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// Standard output takes no more.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    /// The library refused.
    #[error("{}: {}", path.display(), error.message())]
    At { path: PathBuf, error: npymap::Error },
    /// The library refused, and says what.
    #[error(transparent)]
    Library(npymap::Error),
    /// The system refused.
    #[error("{}: cannot {action}: {error}", path.display())]
    File { path: PathBuf, action: &'static str, error: io::Error },
    /// What was asked for doesn't go with the file.
    #[error("{}: {reason}", path.display())]
    Refused { path: PathBuf, reason: &'static str },
    /// A value would become another one.
    #[error("{}: {}: allow it to change with --force", path.display(), error.message())]
    Changed { path: PathBuf, error: npymap::Error },
    /// The length of a file does not fit its header.
    #[error("{}: its last writer did not finish: `npymap recover` repairs it, and shows how with --dry-run", path.display())]
    Unfinished { path: PathBuf },
    /// A file is not as another.
    #[error("{}: has {what}", path.display())]
    Differs { path: PathBuf, what: String },
    /// Nobody reads that many lines.
    #[error("{}: axis {axis} leaves {count} columns, and at most {most} are summarized: select fewer with INDEX", path.display())]
    Columns { path: PathBuf, axis: usize, count: usize, most: usize },
    /// Nobody reads that many, and they say nothing.
    #[error("{}: {count} zero-size elements were requested, and at most {most} are printed: select fewer", path.display())]
    NoBytes { path: PathBuf, count: usize, most: usize },
    /// Others hold the lock on the file.
    #[error("{}: is being written by another process: omit --no-wait to wait for it", path.display())]
    Locked { path: PathBuf },
    /// A file is there already.
    #[error("{}: already exists: choose another name, or replace it with --overwrite", path.display())]
    Exists { path: PathBuf },
}

impl CliError {
    /// Says of `path` what the library refused, whatever passing name it
    /// knows the file by.
    pub(crate) fn at(path: &Path) -> impl Fn(npymap::Error) -> CliError {
        move |error| match error.kind() {
            ErrorKind::AlreadyExists => CliError::Exists { path: path.to_owned() },
            ErrorKind::Locked => CliError::Locked { path: path.to_owned() },
            _ => CliError::At { path: path.to_owned(), error },
        }
    }

    /// What the library refused, said of the file it names itself.
    pub(crate) fn library(error: npymap::Error) -> CliError {
        CliError::Library(error)
    }

    /// Says of `path` what the system refused.
    pub(crate) fn file(path: &Path, action: &'static str) -> impl Fn(io::Error) -> CliError {
        move |error| match error.kind() {
            io::ErrorKind::AlreadyExists => CliError::Exists { path: path.to_owned() },
            _ => CliError::File { path: path.to_owned(), action, error },
        }
    }

    /// True when whoever read the output has seen enough.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, CliError::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// What the library's errors advise, and what does the same here.
const ADVICE: [(&str, &str); 7] = [
    ("raise it with `max_header_len` if", "raise it with --max-header-len if"),
    (
        "raise it with `max_inflated` if you trust the file",
        "unpack it with `npymap npz extract` if you trust the file",
    ),
    (
        "it was truncated, or is still being written",
        "it was truncated, or is still being written: `npymap recover` keeps its whole rows",
    ),
    ("allow replacing it with `CreateOptions::overwrite`", "allow replacing it with --overwrite"),
    (
        "it is a .npy file, open it with `MappedArray::open`",
        "it is a .npy file: name it without a member",
    ),
    (
        "`recover` turns the bytes that follow into rows",
        "`npymap recover` turns the bytes that follow into rows",
    ),
    ("store through `view_mut`, or open it with `open_mut`", "convert it to a file of its own"),
];

/// A message of the library in terms of this program's commands and options.
pub(crate) fn advised(message: &dyn Display) -> String {
    let message = message.to_string();
    ADVICE.iter().fold(message, |message, (library, program)| {
        if message.contains(program) { message } else { message.replace(library, program) }
    })
}

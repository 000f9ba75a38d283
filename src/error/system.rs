//! Refusals of the operating system, and files that cannot be mapped.

use std::io;

use super::{Error, ErrorKind};

#[derive(Debug, thiserror::Error)]
pub(crate) enum SystemError {
    /// A file could not be opened, read, written or replaced.
    #[error("cannot {action}: {source}")]
    Io {
        /// What was tried: `open`, `read the header`, …
        action: &'static str,
        /// What the operating system said.
        source: io::Error,
    },

    /// Reading or writing failed, and the caller's error says all there is.
    #[error("{0}")]
    Plain(io::Error),

    /// Memory could not be mapped, flushed or unmapped.
    #[error("cannot {action} {len} bytes: {source}")]
    Map {
        /// What was tried: `map`, `flush` or `unmap`.
        action: &'static str,
        /// How many bytes.
        len: usize,
        /// What the operating system said.
        source: io::Error,
    },

    /// The path leads to a directory, pipe or device.
    #[error("is {found}, not a regular file: only those can be mapped")]
    NotRegular {
        /// What the path leads to.
        found: &'static str,
    },

    /// The operating system can't promise that the file never changes.
    #[error(
        "may change while it is mapped: only a memfd sealed against writing and shrinking, or a file with fs-verity, can be opened without `unsafe`; use `MappedArray::open`, or `MappedArray::read` for a copy"
    )]
    NotImmutable,

    /// A new array would take the place of a file.
    #[error(
        "already exists: choose another name, or allow replacing it with `CreateOptions::overwrite`"
    )]
    Exists,

    /// Another file has the path now.
    #[error(
        "was replaced by another file since it was opened: the array still maps the old file, open it again"
    )]
    Replaced,

    /// Another writer, or a reader that asked for it, holds a lock on the file.
    #[error(
        "is locked by another process or by another handle in this process: wait with `Locking::Wait`, or try again"
    )]
    Locked,

    /// The file got longer or shorter while rows were added to it.
    #[error(
        "the file has {found} bytes, expected {expected}: something else changed it while rows were being added"
    )]
    Changed {
        /// The length it should have, in bytes.
        expected: u64,
        /// The length it has.
        found: u64,
    },
}

impl SystemError {
    /// Wraps an error of the operating system about a file. An error of ours
    /// that passed through a reader or writer stays itself.
    pub(crate) fn io(action: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |source| match source.downcast::<Error>() {
            Ok(error) => error,
            Err(source) => SystemError::Io { action, source }.into(),
        }
    }

    /// Wraps an error of the operating system about memory.
    pub(crate) fn map(action: &'static str, len: usize) -> impl FnOnce(io::Error) -> Error {
        move |source| SystemError::Map { action, len, source }.into()
    }

    pub(super) fn kind(&self) -> ErrorKind {
        match self {
            SystemError::Io { source, .. } | SystemError::Plain(source) => match source.kind() {
                io::ErrorKind::NotFound => ErrorKind::NotFound,
                io::ErrorKind::AlreadyExists => ErrorKind::AlreadyExists,
                io::ErrorKind::UnexpectedEof => ErrorKind::Truncated,
                _ => ErrorKind::Io,
            },
            SystemError::Map { .. } => ErrorKind::Io,
            SystemError::NotRegular { .. } | SystemError::NotImmutable => ErrorKind::Unsupported,
            SystemError::Exists => ErrorKind::AlreadyExists,
            SystemError::Locked => ErrorKind::Locked,
            SystemError::Replaced | SystemError::Changed { .. } => ErrorKind::Changed,
        }
    }

    pub(super) fn io_error(&self) -> Option<&io::Error> {
        match self {
            SystemError::Io { source, .. }
            | SystemError::Map { source, .. }
            | SystemError::Plain(source) => Some(source),
            _ => None,
        }
    }
}

//! Errors of the operating system, and files that cannot be mapped.

use std::io;
use std::path::Path;

use super::{Error, ErrorKind, Result};

#[derive(Debug, thiserror::Error)]
pub(crate) enum SystemError {
    /// A file could not be opened, read, written or replaced.
    #[error("cannot {action}: {source}")]
    Io { action: &'static str, source: io::Error },

    /// Reading or writing failed, with nothing to add to the underlying error.
    #[error("{0}")]
    Plain(io::Error),

    /// Memory could not be mapped, allocated, flushed or unmapped.
    #[error("cannot {action} {len} bytes: {source}")]
    Map { action: &'static str, len: usize, source: io::Error },

    /// All elements were needed of an array that is in memory in parts.
    #[error(
        "cannot bring all {len} bytes of the elements into memory: {reason}: use parts of them, by `MappedArray::window` or `for_each_window`"
    )]
    NotLoaded { len: usize, reason: Error },

    /// There is less space on the disk than would be reserved.
    #[error("cannot reserve space: {asked} bytes are needed, {free} are free: {source}")]
    Space { asked: u64, free: u64, source: io::Error },

    /// The path refers to a directory, pipe or device.
    #[error("is {found}, not a regular file")]
    NotRegular { found: &'static str },

    /// The operating system cannot guarantee that the file never changes.
    #[error(
        "may change while it is mapped: only a memfd sealed against writing and shrinking, or a file with fs-verity, can be opened without `unsafe`; use `MappedArray::open`, or `MappedArray::load` for a copy"
    )]
    NotImmutable,

    /// A new array would replace an existing file.
    #[error(
        "already exists: choose another name, or allow replacing it with `CreateOptions::overwrite`"
    )]
    Exists,

    /// A file system or another file is mounted on the file, as containers do.
    #[error(
        "cannot replace a mount point, such as a file that is mounted into a container ({source}): mount its directory, or overwrite it in place with `WriteOptions::write_to`"
    )]
    MountPoint { source: io::Error },

    /// The path now refers to another file.
    #[error(
        "was replaced by another file since it was opened: open it again; arrays that map it still have the old elements"
    )]
    Replaced,

    /// Another writer, or a reader that asked for a lock, holds the file's
    /// lock.
    #[error(
        "is locked by another process or by another handle in this process: wait with `Locking::Wait`, or try again"
    )]
    Locked,

    /// The length of the file changed while rows were appended.
    #[error(
        "the file has {found} bytes, expected {expected}: another process or handle changed it during the append"
    )]
    Changed { expected: u64, found: u64 },

    /// The system could not read bytes to write from a map.
    #[error("was truncated while it was mapped: the elements after its end are lost")]
    Vanished,
}

impl SystemError {
    /// Wraps an error of the operating system about a file. An [`Error`] that
    /// passed through a reader or writer is unwrapped instead.
    #[cold]
    #[inline]
    pub(crate) fn io(action: &'static str, source: io::Error) -> Error {
        match source.downcast::<Error>() {
            Ok(error) => error,
            Err(source) => SystemError::Io { action, source }.into(),
        }
    }

    /// Wraps an error of the operating system about memory.
    #[cold]
    #[inline]
    pub(crate) fn map(action: &'static str, len: usize, source: io::Error) -> Error {
        SystemError::Map { action, len, source }.into()
    }

    /// Names the array whose bytes could not be written, if the system could not read them:
    /// its file is what is wrong, not the one that is written.
    #[inline]
    pub(crate) fn of_map(from: Option<&Path>) -> impl Fn(Error) -> Error {
        move |error| {
            if !error.io_error().is_some_and(is_fault) {
                return error;
            }
            let vanished = Error::from(SystemError::Vanished);
            from.map_or_else(|| error, |from| vanished.with_path(from))
        }
    }

    #[inline]
    pub(super) fn kind(&self) -> ErrorKind {
        match self {
            SystemError::Io { source, .. } | SystemError::Plain(source) => match source.kind() {
                io::ErrorKind::NotFound => ErrorKind::NotFound,
                io::ErrorKind::AlreadyExists => ErrorKind::AlreadyExists,
                io::ErrorKind::UnexpectedEof => ErrorKind::Truncated,
                _ => ErrorKind::Io,
            },
            SystemError::NotLoaded { reason, .. } => reason.kind(),
            SystemError::Map { .. }
            | SystemError::Space { .. }
            | SystemError::MountPoint { .. } => ErrorKind::Io,
            SystemError::NotRegular { .. } | SystemError::NotImmutable => ErrorKind::Unsupported,
            SystemError::Exists => ErrorKind::AlreadyExists,
            SystemError::Locked => ErrorKind::Locked,
            SystemError::Replaced | SystemError::Changed { .. } | SystemError::Vanished => {
                ErrorKind::Changed
            }
        }
    }

    #[inline]
    pub(super) fn io_error(&self) -> Option<&io::Error> {
        match self {
            SystemError::Io { source, .. }
            | SystemError::Map { source, .. }
            | SystemError::Space { source, .. }
            | SystemError::MountPoint { source }
            | SystemError::Plain(source) => Some(source),
            SystemError::NotLoaded { reason, .. } => reason.io_error(),
            _ => None,
        }
    }
}

/// Says in an error of the operating system what failed.
pub(crate) trait IoContext<T> {
    /// What was done with a file, or with another source or target of bytes.
    fn context(self, action: &'static str) -> Result<T>;

    /// What was done with `len` bytes of memory.
    fn memory_context(self, action: &'static str, len: usize) -> Result<T>;
}

impl<T> IoContext<T> for io::Result<T> {
    #[inline]
    fn context(self, action: &'static str) -> Result<T> {
        self.map_err(|source| SystemError::io(action, source))
    }

    #[inline]
    fn memory_context(self, action: &'static str, len: usize) -> Result<T> {
        self.map_err(|source| SystemError::map(action, len, source))
    }
}

/// Returns whether the system could not access the memory that a call was given.
#[cfg(unix)]
#[inline]
fn is_fault(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::FAULT.raw_os_error())
}

#[cfg(not(unix))]
#[inline]
fn is_fault(_: &io::Error) -> bool {
    false
}

//! The crate's single error type.
//!
//! Each file defines the errors of one area, with their messages and their
//! [`ErrorKind`]s.

mod archive;
mod custom;
mod dtype;
mod extent;
mod header;
pub(crate) mod invariant;
mod kind;
pub(crate) mod memory;
mod reason;
mod request;
mod shape;
mod system;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::{fmt, io};

pub(crate) use archive::ArchiveError;
pub(crate) use dtype::DTypeError;
pub(crate) use extent::ExtentError;
pub(crate) use header::HeaderError;
pub use kind::ErrorKind;
pub(crate) use request::RequestError;
pub(crate) use shape::ShapeError;
pub(crate) use system::{IoContext, SystemError};

/// A result with [`Error`] as its default error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error, with the file that it is about.
///
/// Programs match on [`kind`](Error::kind). The message is for people: it names
/// the file, what was found, what was requested and what would work. The type
/// is one word wide.
///
/// The message is complete: [`source`](std::error::Error::source) returns only
/// errors that the message does not contain, so printing the whole chain
/// repeats nothing.
///
/// # Examples
///
/// ```
/// use npymap::{ErrorKind, Header};
///
/// let error = Header::parse(b"PK\x03\x04").unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Corrupt);
/// assert!(error.to_string().contains("zip archive"));
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    detail: ErrorDetail,
    kind: ErrorKind,
    path: Option<PathBuf>,
    member: Option<Box<str>>,
    offset: Option<u64>,
}

/// The cause of an error, by area.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ErrorDetail {
    #[error(transparent)]
    System(#[from] SystemError),
    #[error(transparent)]
    Header(#[from] HeaderError),
    #[error(transparent)]
    Extent(#[from] ExtentError),
    #[error(transparent)]
    DType(#[from] DTypeError),
    #[error(transparent)]
    Shape(#[from] ShapeError),
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error(fmt = custom)]
    Custom { kind: ErrorKind, error: Box<dyn std::error::Error + Send + Sync> },
}

/// The text of a caller's error, formatted as the caller asks.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    clippy::borrowed_box,
    reason = "thiserror passes references to fields"
)]
fn custom(
    _: &ErrorKind,
    error: &Box<dyn std::error::Error + Send + Sync>,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    fmt::Display::fmt(error, f)
}

impl ErrorDetail {
    #[inline]
    fn kind(&self) -> ErrorKind {
        match self {
            ErrorDetail::System(error) => error.kind(),
            ErrorDetail::Header(error) => error.kind(),
            ErrorDetail::Extent(error) => error.kind(),
            ErrorDetail::DType(error) => error.kind(),
            ErrorDetail::Shape(error) => error.kind(),
            ErrorDetail::Archive(error) => error.kind(),
            ErrorDetail::Request(_) => ErrorKind::InvalidInput,
            ErrorDetail::Custom { kind, .. } => *kind,
        }
    }
}

impl Error {
    /// Returns the category of the error.
    #[must_use]
    #[inline]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the message without the names of the file and the member, for
    /// programs that print those themselves.
    #[must_use]
    #[inline]
    pub fn message(&self) -> impl fmt::Display + '_ {
        Message(self)
    }

    /// Returns the [`message`](Error::message) without the advice that names
    /// functions of this crate, for bindings to other languages and programs
    /// that give their own advice.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::npy::HeaderText;
    ///
    /// let header = b"\x93NUMPY\x01\0\x02\0{}";
    /// let error = HeaderText::parse(header, 1).unwrap_err();
    /// assert_eq!(error.reason(), "the header has 2 characters, but the limit is 1");
    /// ```
    #[must_use]
    #[inline]
    pub fn reason(&self) -> String {
        let reason = reason::text(self.detail());
        match self.offset() {
            Some(offset) => format!("the array at byte {offset}: {reason}"),
            None => reason,
        }
    }

    /// Returns the path of the file, if it was opened by path.
    #[must_use]
    #[inline]
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// Returns the name of the archive member, if the error is about one.
    #[must_use]
    #[inline]
    pub fn member(&self) -> Option<&str> {
        self.0.member.as_deref()
    }

    /// Returns the offset of the array in its file, unless it is 0.
    #[must_use]
    #[inline]
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// Returns the underlying error of the operating system, or of the reader
    /// or writer passed in.
    #[must_use]
    #[inline]
    pub fn io_error(&self) -> Option<&io::Error> {
        match &self.0.detail {
            ErrorDetail::System(error) => error.io_error(),
            _ => None,
        }
    }

    /// The cause, for code in this crate that handles it.
    #[inline]
    pub(crate) fn detail(&self) -> &ErrorDetail {
        &self.0.detail
    }

    /// Adds the path, or the URL in its place, unless the error has one already.
    #[cold]
    #[must_use]
    pub fn with_path(mut self, path: &Path) -> Error {
        self.0.path.get_or_insert_with(|| path.to_owned());
        self
    }

    /// Adds the name of an archive member, unless the error has one already.
    #[cold]
    pub(crate) fn with_member(mut self, name: &str) -> Error {
        self.0.member.get_or_insert_with(|| name.into());
        self
    }

    /// Adds the offset of the array in its file, unless the error has one
    /// already.
    #[cold]
    pub(crate) fn with_offset(mut self, offset: u64) -> Error {
        if offset > 0 {
            self.0.offset.get_or_insert(offset);
        }
        self
    }

    /// Turns invalid input into damage: the text or numbers came from a file,
    /// not from the caller.
    #[cold]
    pub(crate) fn treat_as_damage(mut self) -> Error {
        if self.0.kind == ErrorKind::InvalidInput {
            self.0.kind = ErrorKind::Corrupt;
        }
        self
    }
}

impl From<ErrorDetail> for Error {
    /// Cold, so that error paths are laid out apart from the successful path:
    /// opening a file runs that once, after system calls evicted it from the
    /// caches.
    #[cold]
    fn from(detail: ErrorDetail) -> Error {
        let kind = detail.kind();
        Error(Box::new(Inner { detail, kind, path: None, member: None, offset: None }))
    }
}

macro_rules! from_areas {
    ($($Area:ident)*) => {$(
        impl From<$Area> for Error {
            #[cold]
            fn from(error: $Area) -> Error {
                ErrorDetail::from(error).into()
            }
        }
    )*};
}

from_areas!(SystemError HeaderError ExtentError DTypeError ShapeError ArchiveError RequestError);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = self.path() {
            path.display().fmt(f)?;
        }
        if let Some(member) = self.member() {
            write!(f, "[{}]", printable(member))?;
        }
        let is_named = self.path().is_some() || self.member().is_some();
        f.write_str(if is_named { ": " } else { "" })?;
        self.message().fmt(f)
    }
}

struct Message<'a>(&'a Error);

impl fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(offset) = self.0.offset() {
            write!(f, "the array at byte {offset}: ")?;
        }
        self.0.detail().fmt(f)?;
        // Members of archives have no raw elements.
        match self.0.detail() {
            ErrorDetail::Header(error) if error.is_raw() && self.0.member().is_none() => {
                f.write_str(", open raw elements with `OpenOptions::raw`")
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.kind())
            .field("message", &self.message().to_string())
            .field("path", &self.path())
            .field("member", &self.member())
            .field("offset", &self.offset())
            .field("io_error", &self.io_error())
            .finish()
    }
}

impl std::error::Error for Error {
    /// The source of the error that ends our message.
    #[inline]
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.detail {
            ErrorDetail::Custom { error, .. } => error.source(),
            _ => std::error::Error::source(self.io_error()?),
        }
    }
}

/// At most 60 characters of text from a file, made safe to print.
pub(crate) fn excerpt(text: &str) -> String {
    let mut short: String = text.chars().take(60).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    printable(&short)
}

/// A count with its noun: `1 axis`, `2 axes`.
pub(crate) fn plural<N: Copy + fmt::Display + PartialEq + From<u8>>(
    count: N,
    one: &str,
    many: &str,
) -> String {
    let noun = if count == N::from(1) { one } else { many };
    format!("{count} {noun}")
}

/// Escapes control characters in text from a file, which could move the
/// cursor of a terminal.
pub(crate) fn printable(text: &str) -> String {
    text.escape_debug().collect::<String>().replace("\\'", "'").replace("\\\"", "\"")
}

//! The crate's one error: what went wrong, and with which file.
//!
//! Each file has the errors of one area with their texts, and of which
//! [`ErrorKind`] they are.

mod archive;
mod custom;
mod dtype;
mod extent;
mod header;
pub(crate) mod invariant;
mod kind;
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
pub(crate) use system::SystemError;

use custom::Custom;

/// A result whose error is [`Error`] unless said otherwise.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, and with which file.
///
/// [`kind`](Error::kind) is for programs, the text for people: it names the
/// file, what was found, what was asked and what would work. One word wide.
///
/// The text is complete: [`source`](std::error::Error::source) is only what
/// it does not contain, so that printing the whole chain repeats nothing.
///
/// # Examples
///
/// ```
/// use npymap::{ErrorKind, Header};
///
/// let error = Header::parse(b"PK\x03\x04").unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Damaged);
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

/// The facts of a detail, by area.
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
    #[error(transparent)]
    Custom(#[from] Custom),
}

impl ErrorDetail {
    fn kind(&self) -> ErrorKind {
        match self {
            ErrorDetail::System(error) => error.kind(),
            ErrorDetail::Header(error) => error.kind(),
            ErrorDetail::Extent(error) => error.kind(),
            ErrorDetail::DType(error) => error.kind(),
            ErrorDetail::Shape(error) => error.kind(),
            ErrorDetail::Archive(error) => error.kind(),
            ErrorDetail::Request(error) => error.kind(),
            ErrorDetail::Custom(error) => error.kind,
        }
    }
}

impl Error {
    /// What sort of detail it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The text without the name of the file and the member, for programs that
    /// name them in their own way.
    #[must_use]
    pub fn message(&self) -> impl fmt::Display + '_ {
        Message(self)
    }

    /// The file it happened with, if it was opened by path.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// The member of an archive it happened with, if it was one.
    #[must_use]
    pub fn member(&self) -> Option<&str> {
        self.0.member.as_deref()
    }

    /// Where in the file the array starts that it happened with, unless that
    /// is the file's start.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// The error of the operating system, or of the reader or writer that was
    /// passed in, if that is where it comes from.
    #[must_use]
    pub fn io_error(&self) -> Option<&io::Error> {
        match &self.0.detail {
            ErrorDetail::System(error) => error.io_error(),
            _ => None,
        }
    }

    /// The facts, for callers inside the crate that act on them.
    pub(crate) fn detail(&self) -> &ErrorDetail {
        &self.0.detail
    }

    /// Whether a file does not start as an array does.
    #[cfg(feature = "npz")]
    pub(crate) fn is_wrong_magic(&self) -> bool {
        matches!(self.0.detail, ErrorDetail::Header(HeaderError::Magic { .. }))
    }

    /// The same error, said of `path`.
    #[cold]
    pub(crate) fn with_path(mut self, path: &Path) -> Error {
        self.0.path.get_or_insert_with(|| path.to_owned());
        self
    }

    /// The same error, said of a member of an archive.
    #[cold]
    pub(crate) fn with_member(mut self, name: &str) -> Error {
        self.0.member.get_or_insert_with(|| name.into());
        self
    }

    /// The same error, said of an array that starts inside a file.
    #[cold]
    pub(crate) fn with_offset(mut self, offset: u64) -> Error {
        if offset > 0 {
            self.0.offset.get_or_insert(offset);
        }
        self
    }

    /// The same error, about text or numbers that a file holds: not the
    /// caller's input is wrong then, but the file's contents.
    #[cold]
    pub(crate) fn treat_as_damage(mut self) -> Error {
        if self.0.kind == ErrorKind::InvalidInput {
            self.0.kind = ErrorKind::Damaged;
        }
        self
    }
}

impl From<ErrorDetail> for Error {
    /// Cold, so that what leads here stands apart from the way that succeeds:
    /// an open runs once through code that the system calls drove out of the
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
        self.0.detail().fmt(f)
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
    /// What caused the error whose text ours ends with.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.detail {
            ErrorDetail::Custom(custom) => custom.error.source(),
            _ => std::error::Error::source(self.io_error()?),
        }
    }
}

/// At most 60 characters of text that stands in a file.
pub(crate) fn excerpt(text: &str) -> String {
    let mut short: String = text.chars().take(60).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    printable(&short)
}

/// Text that stands in a file, without what would move a terminal's cursor.
fn printable(text: &str) -> String {
    text.escape_debug().collect::<String>().replace("\\'", "'").replace("\\\"", "\"")
}

//! The crate's one error: what went wrong, and with which file.

mod category;
mod kind;

use std::fmt;
use std::path::{Path, PathBuf};

pub use category::Category;
pub use kind::ErrorKind;

/// A result whose error is [`Error`] unless said otherwise.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, and with which file.
///
/// One word wide. [`kind`](Error::kind) tells the facts,
/// [`category`](Error::category) what sort of failure it is.
///
/// # Examples
///
/// ```
/// use npymap::{Category, Header};
///
/// let error = Header::parse(b"PK\x03\x04").unwrap_err();
/// assert_eq!(error.category(), Category::Format);
/// assert!(error.to_string().contains("zip archive"));
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    path: Option<PathBuf>,
    member: Option<Box<str>>,
    offset: Option<u64>,
}

impl Error {
    /// The facts of the failure.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
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

    /// What sort of failure it is.
    #[must_use]
    pub fn category(&self) -> Category {
        self.0.kind.category()
    }

    /// The same error, said of `path`.
    #[cold]
    pub(crate) fn at(mut self, path: &Path) -> Error {
        self.0.path.get_or_insert_with(|| path.to_owned());
        self
    }

    /// The same error, said of a member of an archive.
    #[cold]
    pub(crate) fn of_member(mut self, name: &str) -> Error {
        self.0.member.get_or_insert_with(|| name.into());
        self
    }

    /// The same error, said of an array that starts inside a file.
    #[cold]
    pub(crate) fn inside(mut self, offset: u64) -> Error {
        if offset > 0 {
            self.0.offset.get_or_insert(offset);
        }
        self
    }
}

impl From<ErrorKind> for Error {
    /// Cold, so that what leads here stands apart from the way that succeeds:
    /// an open runs once through code that the system calls drove out of the
    /// caches.
    #[cold]
    fn from(kind: ErrorKind) -> Error {
        Error(Box::new(Inner { kind, path: None, member: None, offset: None }))
    }
}

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
        if let Some(offset) = self.offset() {
            write!(f, "the array at byte {offset}: ")?;
        }
        self.kind().fmt(f)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", self.kind())
            .field("path", &self.path())
            .field("offset", &self.offset())
            .finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(self.kind())
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

//! Errors made by callers, and conversions from and to other error types.

use std::error::Error as StdError;
use std::io;

use super::{Error, ErrorDetail, ErrorKind, SystemError};

impl Error {
    /// Makes an error of the given kind from a message or another error, for
    /// example in your own implementation of [`Element`](crate::Element).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{Error, ErrorKind};
    ///
    /// let error = Error::new(ErrorKind::InvalidValue, "token 60000: expected one below 50257");
    /// assert_eq!(error.to_string(), "token 60000: expected one below 50257");
    /// ```
    #[cold]
    #[must_use]
    pub fn new(kind: ErrorKind, error: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        ErrorDetail::Custom { kind, error: error.into() }.into()
    }

    /// Makes the error of an operation that failed, `cannot {action}: {source}`, which has
    /// `source` as its [`io_error`](Error::io_error). An [`Error`] that passed through a
    /// reader or writer is unwrapped instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::io;
    ///
    /// let source = io::Error::new(io::ErrorKind::TimedOut, "no answer");
    /// let error = npymap::Error::io("read the object", source);
    /// assert_eq!(error.to_string(), "cannot read the object: no answer");
    /// assert_eq!(error.kind(), npymap::ErrorKind::Io);
    /// ```
    #[cold]
    #[must_use]
    pub fn io(action: &'static str, source: io::Error) -> Error {
        SystemError::io(action, source)
    }

    /// Wraps any error as one of kind [`Other`](ErrorKind::Other). An
    /// [`io::Error`] or an [`Error`] keeps its own kind.
    ///
    /// # Examples
    ///
    /// ```
    /// let number: npymap::Result<u32> = "x".parse().map_err(npymap::Error::other);
    /// assert_eq!(number.unwrap_err().to_string(), "invalid digit found in string");
    /// ```
    #[cold]
    #[must_use]
    pub fn other(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        let error = match error.into().downcast::<Error>() {
            Ok(ours) => return *ours,
            Err(error) => error,
        };
        match error.downcast::<io::Error>() {
            Ok(error) => (*error).into(),
            Err(error) => Error::new(ErrorKind::Other, error),
        }
    }

    /// Returns the error passed to [`new`](Error::new) or
    /// [`other`](Error::other).
    #[must_use]
    #[inline]
    pub fn get_ref(&self) -> Option<&(dyn StdError + Send + Sync + 'static)> {
        match self.detail() {
            ErrorDetail::Custom { error, .. } => Some(&**error),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    #[inline]
    fn from(error: io::Error) -> Error {
        match error.downcast::<Error>() {
            Ok(ours) => ours,
            Err(error) => SystemError::Plain(error).into(),
        }
    }
}

impl From<Box<dyn StdError + Send + Sync>> for Error {
    #[inline]
    fn from(error: Box<dyn StdError + Send + Sync>) -> Error {
        Error::other(error)
    }
}

impl From<Error> for io::Error {
    /// Wraps the whole error in an [`io::Error`] of the closest
    /// [`io::ErrorKind`].
    #[inline]
    fn from(error: Error) -> io::Error {
        let kind = match error.kind() {
            ErrorKind::NotFound => io::ErrorKind::NotFound,
            ErrorKind::AlreadyExists => io::ErrorKind::AlreadyExists,
            ErrorKind::Truncated => io::ErrorKind::UnexpectedEof,
            ErrorKind::Corrupt | ErrorKind::DTypeMismatch | ErrorKind::ShapeMismatch => {
                io::ErrorKind::InvalidData
            }
            ErrorKind::Unsupported => io::ErrorKind::Unsupported,
            ErrorKind::Locked => io::ErrorKind::WouldBlock,
            ErrorKind::OutOfBounds | ErrorKind::InvalidInput | ErrorKind::InvalidValue => {
                io::ErrorKind::InvalidInput
            }
            ErrorKind::Io => error.io_error().map_or(io::ErrorKind::Other, io::Error::kind),
            ErrorKind::LimitExceeded | ErrorKind::Changed | ErrorKind::Other => {
                io::ErrorKind::Other
            }
        };
        io::Error::new(kind, error)
    }
}

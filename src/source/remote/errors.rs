//! Errors of object stores as errors of this crate.

use std::error::Error as StdError;
use std::io;

use object_store::Error as StoreError;
use object_store::client::{HttpError, HttpErrorKind};

use crate::error::{Error, SystemError, printable};

/// Converts an error of a store.
pub(super) fn from_store(error: &StoreError) -> Error {
    let (kind, text) = match error {
        StoreError::Precondition { .. } | StoreError::NotModified { .. } => {
            return SystemError::ObjectReplaced.into();
        }
        _ if is_whole(error) => return SystemError::NoRanges.into(),
        StoreError::NotFound { .. } => (io::ErrorKind::NotFound, NOT_FOUND.to_owned()),
        StoreError::PermissionDenied { .. } => (io::ErrorKind::PermissionDenied, DENIED.to_owned()),
        StoreError::Unauthenticated { .. } => {
            (io::ErrorKind::PermissionDenied, NO_CREDENTIALS.to_owned())
        }
        error => (transport_kind(error), text(error)),
    };
    SystemError::io("read the object")(io::Error::new(kind, text))
}

/// The text of an error, which can contain a whole page that the server sent.
pub(super) fn text(error: &StoreError) -> String {
    let text = error.to_string();
    let mut short: String = text.chars().take(LONGEST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    printable(&short)
}

/// The most characters of the text of an error.
const LONGEST: usize = 400;

const NOT_FOUND: &str = "there is no such object, or no such bucket";

const DENIED: &str =
    "the store denies access: the credentials don't allow it, or the object doesn't exist";

const NO_CREDENTIALS: &str =
    "the store asks for credentials: set those of its environment variables";

/// Returns whether a range was refused, as of an empty object.
pub(super) fn is_range(error: &StoreError) -> bool {
    let text = error.to_string();
    ["416", "InvalidRange", "Wanted range starting at"].iter().any(|part| text.contains(part))
}

/// Returns whether the whole object was sent instead of a range.
fn is_whole(error: &StoreError) -> bool {
    let text = error.to_string();
    text.contains("Range request not supported") || text.contains("non-partial response")
}

/// The kind of an error of the connection.
fn transport_kind(error: &StoreError) -> io::ErrorKind {
    let mut source: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(error) = source {
        if let Some(http) = error.downcast_ref::<HttpError>() {
            return match http.kind() {
                HttpErrorKind::Timeout => io::ErrorKind::TimedOut,
                HttpErrorKind::Connect => io::ErrorKind::NotConnected,
                HttpErrorKind::Interrupted => io::ErrorKind::ConnectionReset,
                _ => io::ErrorKind::Other,
            };
        }
        source = error.source();
    }
    io::ErrorKind::Other
}

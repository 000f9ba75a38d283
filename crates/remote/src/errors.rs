//! Errors of object stores as errors of this crate.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use object_store::Error as StoreError;
use object_store::client::{HttpError, HttpErrorKind};

use super::connection::Unreachable;
use super::redirect::Refusal;
use npymap::{Error, ErrorKind};

/// The store has another object of the same name now.
pub(super) fn replaced() -> Error {
    let text = "was replaced by another object since it was opened: open it again";
    Error::new(ErrorKind::Changed, text)
}

/// A new object would replace an existing object.
pub(super) fn exists() -> Error {
    let text = "already exists: choose another name, or allow replacing it with `RemoteOptions::overwrite`";
    Error::new(ErrorKind::AlreadyExists, text)
}

/// The server does not answer requests for a range with the range.
pub(super) fn no_ranges() -> Error {
    let text =
        "the server sends whole files only: download it, or use a server that supports ranges";
    Error::new(ErrorKind::Unsupported, text)
}

/// The threads that run the requests are in the parent process.
pub(super) fn forked() -> Error {
    let text = "was opened before this process was forked: open it again";
    Error::new(ErrorKind::InvalidInput, text)
}

/// An argument that is not valid, and what would be.
pub(super) fn invalid(found: &str, expected: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, format!("{found}: expected {expected}"))
}

/// Escapes control characters, which could move the cursor of a terminal.
pub(super) fn printable(text: &str) -> String {
    text.escape_debug().collect::<String>().replace("\\'", "'").replace("\\\"", "\"")
}

/// Converts an error of reading from a store.
pub(super) fn from_store(error: &StoreError) -> Error {
    convert(error, "read the object")
}

/// Converts an error of writing to a store.
pub(super) fn from_upload(error: &StoreError) -> Error {
    match error {
        StoreError::AlreadyExists { .. } | StoreError::Precondition { .. } => exists(),
        error => convert(error, "write the object"),
    }
}

/// The error for an object that needs more parts than stores accept.
pub(super) fn too_many_parts(part: usize) -> Error {
    let text = format!(
        "it has more than 10000 parts of {part} bytes: set larger ones by `RemoteOptions::part_bytes`"
    );
    Error::io("write the object", io::Error::new(io::ErrorKind::FileTooLarge, text))
}

/// A request took longer than its limit.
pub(super) fn too_slow(limit: Duration) -> Error {
    let text = format!(
        "the request took more than {}: allow more by NPYMAP_REQUEST_TIMEOUT or `RemoteOptions::request_timeout`",
        humantime::format_duration(limit)
    );
    Error::io("get an answer", io::Error::new(io::ErrorKind::TimedOut, text))
}

fn convert(error: &StoreError, action: &'static str) -> Error {
    let (kind, text) = match error {
        StoreError::Precondition { .. } | StoreError::NotModified { .. } => {
            return replaced();
        }
        _ if is_whole(error) => return no_ranges(),
        // `object_store` makes the status 405 the next one.
        _ if has_cause(error, &["Server returned non-2xx status code: 405"]) => {
            (io::ErrorKind::Unsupported, text(error))
        }
        StoreError::NotFound { .. } => (io::ErrorKind::NotFound, NOT_FOUND.to_owned()),
        StoreError::PermissionDenied { .. } => (io::ErrorKind::PermissionDenied, DENIED.to_owned()),
        StoreError::Unauthenticated { .. } => {
            (io::ErrorKind::PermissionDenied, NO_CREDENTIALS.to_owned())
        }
        error => (transport_kind(error), text(error)),
    };
    Error::io(action, io::Error::new(kind, text))
}

/// The text of an error, which can contain a whole page that the server sent.
pub(super) fn text(error: &StoreError) -> String {
    let own = find::<Unreachable>(error).map(ToString::to_string);
    let own = own.or_else(|| find::<Refusal>(error).map(ToString::to_string));
    let text = own.unwrap_or_else(|| without_queries(&without_page(&with_cause(error))));
    let mut short: String = text.chars().take(LONGEST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    printable(&short)
}

/// The text of an error, and of its first cause if the connection failed: the others only
/// say that it did.
fn with_cause(error: &StoreError) -> String {
    let (text, last) = (error.to_string(), causes(error).last().map(ToString::to_string));
    match last.filter(|last| find::<HttpError>(error).is_some() && !text.contains(last)) {
        Some(last) => format!("{text}: {last}"),
        None => text,
    }
}

/// The most characters in an error's text.
const LONGEST: usize = 400;

const NOT_FOUND: &str = "there is no such object, or no such bucket";

const DENIED: &str =
    "the store denies access: the credentials don't allow it, or the object doesn't exist";

const NO_CREDENTIALS: &str = "the store asks for credentials: set those of its environment variables, or a header by `RemoteOptions::header`";

/// Returns whether a range was refused, as of an empty object.
pub(super) fn is_range(error: &StoreError) -> bool {
    has_cause(error, &["Server returned non-2xx status code: 416", "Wanted range starting at"])
}

/// Returns whether the whole object was sent instead of a range.
pub(super) fn is_whole(error: &StoreError) -> bool {
    has_cause(error, &["Range request not supported", "Received non-partial response"])
}

/// Returns whether the response does not say how long the object is.
pub(super) fn is_without_length(error: &StoreError) -> bool {
    has_cause(error, &["Content-Length Header missing"])
}

/// Returns whether an error's text, or a cause's text, starts with one of `texts`.
/// `object_store` does not export the types of these errors, and the rest of a
/// text can have any name and any page that a server sent.
fn has_cause(error: &StoreError, texts: &[&str]) -> bool {
    causes(error).any(|cause| {
        let text = cause.to_string();
        texts.iter().any(|start| text.starts_with(start))
    })
}

/// Shortens a page that a server sent to the code and the message of an error, because
/// pages can repeat what was sent: signatures and tokens, in any form.
fn without_page(text: &str) -> String {
    const STATUS: &str = "Server returned non-2xx status code: ";
    let Some((before, answer)) = text.split_once(STATUS) else { return text.to_owned() };
    let (status, page) = answer.split_once(": ").unwrap_or((answer, ""));
    let parts = [("<Code>", "</Code>"), ("<Message>", "</Message>")]
        .map(|(start, end)| page.split_once(start)?.1.split_once(end).map(|(part, _)| part));
    let mut short = format!("{before}{STATUS}{status}");
    for part in parts.into_iter().flatten() {
        short.push_str(": ");
        short.push_str(part);
    }
    short
}

/// Removes the queries of URLs from a text, because presigned URLs have secret queries.
/// Pages of servers can have the path with its query, without the server.
fn without_queries(text: &str) -> String {
    let words = text.split(' ').map(|word| match word.split_once('?') {
        Some((url, query)) if url.contains("://") || query.contains('=') => url,
        _ => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The kind of a connection error.
fn transport_kind(error: &StoreError) -> io::ErrorKind {
    let http = match find::<Unreachable>(error) {
        Some(Unreachable(http)) => Some(http),
        None => find::<HttpError>(error),
    };
    match http.map(HttpError::kind) {
        Some(HttpErrorKind::Timeout) => io::ErrorKind::TimedOut,
        Some(HttpErrorKind::Connect) => io::ErrorKind::NotConnected,
        Some(HttpErrorKind::Interrupted) => io::ErrorKind::ConnectionReset,
        _ => io::ErrorKind::Other,
    }
}

/// The first error of a type among an error and its causes.
fn find<E: StdError + 'static>(error: &StoreError) -> Option<&E> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

/// An error and its causes.
fn causes(error: &StoreError) -> impl Iterator<Item = &(dyn StdError + 'static)> {
    let outermost: &(dyn StdError + 'static) = error;
    std::iter::successors(Some(outermost), |&error| error.source())
}

#[cfg(test)]
mod tests {
    use super::{without_page, without_queries};

    #[test]
    fn only_codes_and_messages_of_pages_are_shown() {
        let start =
            "GET https://a.b/c failed: Server returned non-2xx status code: 400 Bad Request";
        for (page, expected) in [
            ("", ""),
            (": ", ""),
            (": {\"query\": \"sig=SECRET\"}", ""),
            (
                ": <Error><Code>InvalidToken</Code><Message>It is malformed.</Message>\
                 <Token-0>SECRET</Token-0></Error>",
                ": InvalidToken: It is malformed.",
            ),
            (": <Code>SECRET", ""),
        ] {
            assert_eq!(without_page(&format!("{start}{page}")), format!("{start}{expected}"));
        }
        assert_eq!(without_page("no status: here"), "no status: here");
    }

    #[test]
    fn queries_are_removed_also_from_paths_and_links() {
        for (text, expected) in [
            ("GET https://a.b/c.npy?sig=1 failed", "GET https://a.b/c.npy failed"),
            ("GET https://a.b/c.npy?1 failed", "GET https://a.b/c.npy failed"),
            ("Cannot GET /c.npy?X-Amz-Signature=1", "Cannot GET /c.npy"),
            ("<a href=\"/login?next=https://a.b/c.npy?sig=1\">", "<a href=\"/login"),
            ("why? because", "why? because"),
            ("a?b", "a?b"),
        ] {
            assert_eq!(without_queries(text), expected);
        }
    }
}

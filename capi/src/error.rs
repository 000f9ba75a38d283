//! Errors: status codes, and the text of the last error of each thread.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use npymap::ErrorKind;

use crate::advice::with_advice;
use crate::boundary::In;
use crate::status;

/// The result of an operation.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// An error: its status and text. One pointer, so that results are returned in
/// registers.
#[derive(Debug)]
pub(crate) struct Failure(Box<Facts>);

#[derive(Debug)]
struct Facts {
    status: i32,
    os_code: i32,
    text: String,
}

impl Failure {
    /// The error for an argument that is invalid, whatever the file.
    pub(crate) fn misuse(text: impl Into<String>) -> Failure {
        Failure::new(status::NPYMAP_ERROR_INVALID_INPUT, text)
    }

    /// An error with a status of its own.
    pub(crate) fn new(status: i32, text: impl Into<String>) -> Failure {
        Failure(Box::new(Facts { status, os_code: 0, text: text.into() }))
    }

    /// The error for a panic, which is a bug of the library.
    fn from_panic(payload: &(dyn Any + Send)) -> Failure {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let text = format!("internal error: {}", text.unwrap_or("panic"));
        Failure::new(status::NPYMAP_ERROR_INTERNAL, text)
    }
}

impl From<npymap::Error> for Failure {
    #[cold]
    fn from(error: npymap::Error) -> Failure {
        let os_code = error.io_error().and_then(std::io::Error::raw_os_error).unwrap_or(0);
        let (status, text) = (status_of(error.kind()), with_advice(error.to_string()));
        Failure(Box::new(Facts { status, os_code, text }))
    }
}

/// The status for a kind of error.
fn status_of(kind: ErrorKind) -> i32 {
    match kind {
        ErrorKind::NotFound => status::NPYMAP_ERROR_NOT_FOUND,
        ErrorKind::AlreadyExists => status::NPYMAP_ERROR_ALREADY_EXISTS,
        ErrorKind::Io => status::NPYMAP_ERROR_IO,
        ErrorKind::Truncated => status::NPYMAP_ERROR_TRUNCATED,
        ErrorKind::Corrupt => status::NPYMAP_ERROR_CORRUPT,
        ErrorKind::Unsupported => status::NPYMAP_ERROR_UNSUPPORTED,
        ErrorKind::LimitExceeded => status::NPYMAP_ERROR_LIMIT_EXCEEDED,
        ErrorKind::Changed => status::NPYMAP_ERROR_CHANGED,
        ErrorKind::Locked => status::NPYMAP_ERROR_LOCKED,
        ErrorKind::DTypeMismatch => status::NPYMAP_ERROR_DTYPE_MISMATCH,
        ErrorKind::ShapeMismatch => status::NPYMAP_ERROR_SHAPE_MISMATCH,
        ErrorKind::OutOfBounds => status::NPYMAP_ERROR_OUT_OF_BOUNDS,
        ErrorKind::InvalidInput => status::NPYMAP_ERROR_INVALID_INPUT,
        ErrorKind::InvalidValue => status::NPYMAP_ERROR_INVALID_VALUE,
        _ => status::NPYMAP_ERROR_OTHER,
    }
}

thread_local! {
    /// The last error of a thread, and its text as C reads it.
    static LAST: RefCell<Option<(Facts, CString)>> = const { RefCell::new(None) };
}

/// Stores the last error of this thread and returns its status.
#[cold]
fn record(failure: Failure) -> i32 {
    let facts = *failure.0;
    let status = facts.status;
    let text = facts.text.replace('\0', "\\0");
    let text = CString::new(text).unwrap_or_default();
    // A thread that is ending has no last error any more.
    let _ = LAST.try_with(|last| *last.borrow_mut() = Some((facts, text)));
    status
}

/// Reads a fact about the last error of this thread.
fn last<T>(default: T, f: impl FnOnce(&Facts, &CString) -> T) -> T {
    let found = LAST.try_with(|last| last.borrow().as_ref().map(|(facts, text)| f(facts, text)));
    found.ok().flatten().unwrap_or(default)
}

/// The text of the last error; it is valid until the next error of the thread.
pub(crate) fn last_text() -> *const c_char {
    last(c"".as_ptr(), |_, text| text.as_ptr())
}

/// The status of the last error, and its code of the operating system.
pub(crate) fn last_codes() -> (i32, i32) {
    last((0, 0), |facts, _| (facts.status, facts.os_code))
}

/// Forgets the last error of this thread.
pub(crate) fn clear() {
    let _ = LAST.try_with(|last| last.borrow_mut().take());
}

/// Prints the last error of this thread on standard error, after a prefix.
pub(crate) fn print(prefix: &In<c_char>) -> Result<()> {
    let text = last(String::from("no error"), |facts, _| facts.text.clone());
    let prefix = if prefix.is_null() { c"" } else { prefix.c_str("the prefix")? }.to_bytes();
    let colon: &[u8] = if prefix.is_empty() { b"" } else { b": " };
    let line = [prefix, colon, text.as_bytes(), b"\n"].concat();
    // There is nobody to report a failure to.
    let _ = std::io::stderr().write_all(&line);
    Ok(())
}

/// Calls `f` and returns its value; after an error or a panic, stores the error
/// for the thread and returns `fallback`.
pub(crate) fn value<T>(fallback: T, f: impl FnOnce() -> Result<T>) -> T {
    caught(f).unwrap_or_else(|failure| {
        record(failure);
        fallback
    })
}

/// Calls `f` and returns its status; after an error or a panic, stores the error
/// for the thread.
pub(crate) fn status(f: impl FnOnce() -> Result<i32>) -> i32 {
    caught(f).unwrap_or_else(record)
}

/// As [`status`], for functions that succeed in only one way.
pub(crate) fn done(f: impl FnOnce() -> Result<()>) -> i32 {
    status(|| f().map(|()| status::NPYMAP_OK))
}

/// Calls `f`, and makes a panic an error: it must not unwind into C.
///
/// The objects of C remain usable after a panic: an array is changed only by
/// storing elements.
fn caught<T>(f: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|payload| Err(Failure::from_panic(&*payload)))
}

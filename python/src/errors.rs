//! Errors of the library as Python's exceptions.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use npymap::{Error, ErrorKind};
use pyo3::exceptions::{
    PyIndexError, PyKeyError, PyMemoryError, PyOSError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use crate::url::{is_url, shown};
use crate::waiting::interrupted;

static FORMAT_ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// Results of the library in functions called by Python.
pub(crate) trait OrRaise<T> {
    /// Makes an exception of an error.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;

    /// As [`or_raise`](OrRaise::or_raise), about the file that the caller named
    /// `path`.
    fn or_raise_for(self, py: Python<'_>, path: &Path) -> PyResult<T>;
}

impl<T> OrRaise<T> for npymap::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        interrupted()?;
        self.map_err(|error| {
            let path = error.path().map(shown);
            exception(py, &error, path.as_deref()).unwrap_or_else(|error| error)
        })
    }

    fn or_raise_for(self, py: Python<'_>, path: &Path) -> PyResult<T> {
        interrupted()?;
        self.map_err(|error| {
            exception(py, &error, Some(&shown(path))).unwrap_or_else(|error| error)
        })
    }
}

/// Makes the exception of an error about a file.
fn exception(py: Python<'_>, error: &Error, path: Option<&Path>) -> PyResult<PyErr> {
    let filename = path.map(|path| path.as_os_str().to_owned());
    if let Some(code) = error.io_error().and_then(io::Error::raw_os_error) {
        let text: String = py.import("os")?.call_method1("strerror", (code,))?.extract()?;
        let text = format!("{text}{}", system_advice(&error.reason()));
        return Ok(os_error(code, text, filename));
    }
    let reason = error.reason();
    Ok(match error.kind() {
        ErrorKind::AlreadyExists => named_os_error(py, "EEXIST", reason, filename)?,
        ErrorKind::Locked => named_os_error(py, "EWOULDBLOCK", reason, filename)?,
        ErrorKind::Unsupported if path.is_some_and(Path::is_dir) => {
            named_os_error(py, "EISDIR", reason, filename)?
        }
        ErrorKind::NotFound if error.io_error().is_some() => io_error(py, "ENOENT", reason, path)?,
        ErrorKind::Io if is_io(error, io::ErrorKind::PermissionDenied) => {
            let reason =
                reason.replace("or a header by `RemoteOptions::header`", "or pass headers=");
            io_error(py, "EACCES", reason, path)?
        }
        ErrorKind::Io if is_io(error, io::ErrorKind::InvalidInput) => match path {
            Some(path) if path.as_os_str().is_empty() => {
                io_error(py, "ENOENT", reason, Some(path))?
            }
            _ => PyValueError::new_err(message(error, path, &reason)),
        },
        ErrorKind::Io if is_io(error, io::ErrorKind::OutOfMemory) => PyMemoryError::new_err(reason),
        ErrorKind::Io if is_io(error, io::ErrorKind::TimedOut) => {
            let reason = reason.replace(" or `RemoteOptions::request_timeout`", "");
            named_os_error(py, "ETIMEDOUT", reason, filename)?
        }
        ErrorKind::Io | ErrorKind::Other => PyOSError::new_err(message(error, path, &reason)),
        ErrorKind::NotFound => PyKeyError::new_err(reason),
        ErrorKind::OutOfBounds => PyIndexError::new_err(reason),
        ErrorKind::DTypeMismatch => {
            let text = format!("{}{}", message(error, path, &reason), advice(error, &reason));
            PyTypeError::new_err(text)
        }
        ErrorKind::InvalidInput | ErrorKind::InvalidValue | ErrorKind::ShapeMismatch => {
            let text = format!("{}{}", message(error, path, &reason), advice(error, &reason));
            PyValueError::new_err(text)
        }
        kind => {
            let text = format!("{}{}", message(error, path, &reason), advice(error, &reason));
            let class = FORMAT_ERROR.import(py, "npymap._errors", "FormatError")?;
            let kind = format!("{kind:?}");
            PyErr::from_value(class.call1((text, filename, error.member(), kind))?)
        }
    })
}

/// Returns whether an error of a server corresponds to one of the system.
fn is_io(error: &Error, kind: io::ErrorKind) -> bool {
    error.io_error().is_some_and(|error| error.kind() == kind)
}

/// What the text of the system does not say.
fn system_advice(reason: &str) -> &'static str {
    if reason.starts_with("cannot replace a mount point") {
        return ": it is a mount point, such as a file that is mounted into a container. Mount its \
                directory, or overwrite it in place, which readers may see half done: \
                npymap.save(open(path, \"wb\"), array)";
    }
    if reason.starts_with("cannot map ") {
        // `_unmapped.py` looks for this text, and says what would work.
        return ": the file can't be mapped here";
    }
    ""
}

/// What Python can do about it.
fn advice(error: &Error, reason: &str) -> &'static str {
    match error.kind() {
        ErrorKind::LimitExceeded
            if error.member().is_some() && reason.contains("the header has ") =>
        {
            ". Headers this large are read only from an .npz, if `max_header_size` of `Npz` allows it"
        }
        ErrorKind::LimitExceeded if reason.contains("the header has ") => {
            ". Headers this large are read only if `max_header_size` allows it"
        }
        ErrorKind::LimitExceeded if reason.contains(" bytes of memory, but the limit ") => {
            ". Members this large are read only if `max_inflated` allows it"
        }
        ErrorKind::DTypeMismatch if reason.starts_with("cannot cast ") => {
            ". Use casting=\"unsafe\" if the elements may lose what the other dtype has no room for"
        }
        _ if reason.starts_with("replacing the file would drop ") => {
            ". npymap.recover keeps rows; discard_trailing=True drops all, as removing the file first does"
        }
        _ if reason.starts_with("the server sends whole files only: ") => {
            "; npymap.load, npymap.Npz and npymap.Tar download it"
        }
        _ if reason.ends_with(" with offsets of 32 bits, as cnpy writes it") => {
            ": the program's `npymap npz recover` copies its members"
        }
        _ if reason == "the file has an NPY header" => ": npymap.open opens it",
        _ if reason.ends_with(": it is a zip archive") => {
            ". Use npymap.load, npymap.Npz, or npymap.open with member="
        }
        _ if reason.ends_with(": it is compressed with gzip, decompress it first") => {
            ", or read it by npymap.load(gzip.open(path))"
        }
        _ if reason.ends_with(", expected b\"\\x93NUMPY\"") => {
            ". Raw elements without a header are opened by npymap.memmap(path, dtype, mode=\"r\")"
        }
        _ => "",
    }
}

/// An `OSError`, or the subclass for the code.
fn os_error(code: i32, text: String, filename: Option<OsString>) -> PyErr {
    PyOSError::new_err((code, text, filename))
}

/// As [`os_error`], with a code of the module `errno`.
fn named_os_error(
    py: Python<'_>,
    code: &str,
    text: String,
    filename: Option<OsString>,
) -> PyResult<PyErr> {
    Ok(os_error(py.import("errno")?.getattr(code)?.extract()?, text, filename))
}

/// As [`named_os_error`]. The text is the system's, unless the path is a URL: that of files
/// may name temporary ones.
fn io_error(py: Python<'_>, code: &str, reason: String, path: Option<&Path>) -> PyResult<PyErr> {
    let filename = path.map(|path| path.as_os_str().to_owned());
    if path.is_none_or(is_url) {
        return named_os_error(py, code, reason, filename);
    }
    let code = py.import("errno")?.getattr(code)?.extract()?;
    let text = py.import("os")?.call_method1("strerror", (code,))?.extract()?;
    Ok(os_error(code, text, filename))
}

/// The reason, with the names of the file and the member in front.
fn message(error: &Error, path: Option<&Path>, reason: &str) -> String {
    let path = path.map(|path| path.display().to_string()).unwrap_or_default();
    let member = error.member().map(|name| format!("[{name}]")).unwrap_or_default();
    let colon = if path.is_empty() && member.is_empty() { "" } else { ": " };
    format!("{path}{member}{colon}{reason}")
}

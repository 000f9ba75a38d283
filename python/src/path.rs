//! Paths of files as callers give them.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

/// The path of a file, which is not a URL.
#[derive(Debug)]
pub(crate) struct FilePath {
    path: PathBuf,
    /// Whether it was a `pathlib.Path` or the like, not text.
    is_object: bool,
}

impl FilePath {
    /// The path.
    pub(crate) fn as_path(&self) -> &Path {
        &self.path
    }

    /// Whether the caller gave a `pathlib.Path` or the like, not text.
    pub(crate) fn is_object(&self) -> bool {
        self.is_object
    }
}

impl From<&Path> for FilePath {
    fn from(path: &Path) -> FilePath {
        FilePath { path: path.to_owned(), is_object: false }
    }
}

impl<'py> FromPyObject<'_, 'py> for FilePath {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        // The usual case, without a call of Python's. Other letters are encoded as the system
        // has it.
        if let Ok(text) = object.cast_exact::<PyString>() {
            if let Some(text) = text.to_str().ok().filter(|text| is_plain(text)) {
                return Ok(FilePath { path: text.into(), is_object: false });
            }
        }
        let py = object.py();
        let is_object = object.hasattr(intern!(py, "__fspath__"))?;
        if is_object {
            let path = object.extract::<PathBuf>().ok();
            if let Some(path) = path.filter(|path| !may_be_url(path)) {
                return Ok(FilePath { path, is_object });
            }
        }
        let text = py.import("npymap._paths")?.call_method1("to_path", (object,))?;
        Ok(FilePath { path: text.extract()?, is_object })
    }
}

/// A file, or a URL with the headers and the options of its store.
#[derive(Debug)]
pub(crate) struct Location {
    path: PathBuf,
    access: Access,
}

/// The headers of requests, and options of a store. Their values can be credentials.
#[derive(Default)]
#[cfg_attr(not(feature = "remote"), expect(dead_code, reason = "only URLs need it"))]
pub(crate) struct Access {
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) options: Vec<(String, String)>,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").finish_non_exhaustive()
    }
}

impl Location {
    /// The headers and options.
    #[cfg_attr(not(feature = "remote"), expect(dead_code, reason = "only URLs need it"))]
    pub(crate) fn access(&self) -> &Access {
        &self.access
    }
}

impl Deref for Location {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl<'py> FromPyObject<'_, 'py> for Location {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(tuple) = object.cast::<PyTuple>() {
            let (path, headers, options) = tuple.extract()?;
            return Ok(Location { path, access: Access { headers, options } });
        }
        Ok(Location { path: object.extract()?, access: Access::default() })
    }
}

/// Returns whether a path may be a URL, which `to_path` of `npymap/_paths.py` rejects.
fn may_be_url(path: &Path) -> bool {
    path.to_str().is_none_or(has_scheme)
}

/// Whether text is the same in all encodings, and no URL.
fn is_plain(text: &str) -> bool {
    text.is_ascii() && !has_scheme(text)
}

/// As `text.contains("://")`, which takes longer if there is no colon.
fn has_scheme(text: &str) -> bool {
    text.contains(':') && text.contains("://")
}

/// The path in a form that does not depend on the working directory, which may
/// change while the file is mapped.
pub(crate) fn absolute(path: &Path) -> Cow<'_, Path> {
    if path.is_absolute() {
        return Cow::Borrowed(path);
    }
    std::path::absolute(path).map_or(Cow::Borrowed(path), Cow::Owned)
}

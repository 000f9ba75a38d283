//! Files and URLs that arrays are read from.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use npymap::source::{AnySource, FileId, Map, MapMut};
use npymap::{Error, ErrorKind, Mode, Result, Source};
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::memory;
use crate::path::{Location, absolute};
use crate::url::is_url;
use crate::waiting::detached;

#[cfg(feature = "remote")]
use npymap_remote::{Remote, RemoteOptions};

#[cfg(feature = "remote")]
use crate::path::Access;

/// Opens a file or a URL for reading, of which all bytes are read: they may be downloaded.
pub(crate) fn read(location: &Location) -> Result<Source<MapMut>> {
    Place::find(location, true).map(|(_, source)| source)
}

/// A file or an object that was opened before, and is opened again as the same.
#[derive(Debug)]
pub(crate) enum Place {
    File(PathBuf, Option<FileId>),
    #[cfg(feature = "remote")]
    Object(Remote),
}

impl Place {
    /// Opens a file or a URL.
    pub(crate) fn open(location: &Location) -> Result<(Place, Source<MapMut>)> {
        Place::find(location, false)
    }

    /// As `open`. Objects of servers that send whole files only are downloaded if `whole`.
    pub(crate) fn find(location: &Location, whole: bool) -> Result<(Place, Source<MapMut>)> {
        if is_url(location) {
            return open_url(location, whole);
        }
        let source = Source::open(absolute(location))?;
        Ok((Place::File(absolute(location).into_owned(), source.file_id()), source))
    }

    /// Opens the same file or object.
    pub(crate) fn source(&self) -> Result<Source<MapMut>> {
        match self {
            Place::File(path, id) => {
                let source = Source::open(path)?;
                check_id(source.file_id(), *id)?;
                Ok(source)
            }
            #[cfg(feature = "remote")]
            Place::Object(object) => Ok(object.source()),
        }
    }

    /// Opens the same file for mapping.
    pub(crate) fn map(&self) -> Result<Source<Map>> {
        match self {
            Place::File(path, id) => map_same(path, *id),
            #[cfg(feature = "remote")]
            Place::Object(_) => {
                Err(Error::new(ErrorKind::Unsupported, "objects of a URL cannot be mapped"))
            }
        }
    }

    /// The identity of the file; `None` for objects.
    pub(crate) fn file_id(&self) -> Option<FileId> {
        match self {
            Place::File(_, id) => *id,
            #[cfg(feature = "remote")]
            Place::Object(_) => None,
        }
    }

    /// What identifies the version of an object; `None` for files.
    pub(crate) fn version(&self) -> Option<String> {
        match self {
            Place::File(..) => None,
            #[cfg(feature = "remote")]
            Place::Object(object) => Some(version_of(object)),
        }
    }
}

/// The entity tag, or what the library compares without one: the size, and the time of
/// the last change if the server sends it.
#[cfg(feature = "remote")]
fn version_of(object: &Remote) -> String {
    if let Some(tag) = object.e_tag() {
        return tag.to_owned();
    }
    let changed = object.last_modified().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let changed = changed.unwrap_or_default().as_micros();
    format!("{} {changed}", object.nbytes())
}

/// Opens a file for mapping, if its path still leads to the same one.
pub(crate) fn map_same(path: &Path, id: Option<FileId>) -> Result<Source<Map>> {
    let AnySource::ReadOnly(source) = memory::map(path, Mode::ReadOnly)? else {
        return Err(Error::other("a file that was opened for reading is mapped for writing"));
    };
    check_id(source.file_id(), id)?;
    Ok(source)
}

fn check_id(found: Option<FileId>, expected: Option<FileId>) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Changed, "the path leads to another file now"))
}

/// What identifies the version of an object at a URL; None for files.
#[pyfunction]
pub(crate) fn read_version(py: Python<'_>, path: Location) -> PyResult<Option<String>> {
    if !is_url(&path) {
        return Ok(None);
    }
    let opened = detached(py, || Ok(Place::open(&path)?.0.version()));
    opened.or_raise_for(py, &path)
}

/// When a file was created, in nanoseconds; None where the file system does not store it.
#[pyfunction]
pub(crate) fn created(path: PathBuf) -> PyResult<Option<u128>> {
    let created = std::fs::metadata(path)?.created();
    let since = created.ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Ok(since.map(|time| time.as_nanos()))
}

#[cfg(feature = "remote")]
fn open_url(location: &Location, whole: bool) -> Result<(Place, Source<MapMut>)> {
    let Access { headers, options } = location.access();
    let all = RemoteOptions::new().whole(if whole { u64::MAX } else { 0 });
    let all = headers.iter().fold(all, |all, (name, value)| all.header(name, value));
    let all = options.iter().fold(all, |all, (key, value)| all.option(key, value));
    let object = all.open(&location.to_string_lossy())?;
    let source = object.source();
    Ok((Place::Object(object), source))
}

#[cfg(not(feature = "remote"))]
fn open_url(_: &Location, _: bool) -> Result<(Place, Source<MapMut>)> {
    let text = "this build of npymap reads no URLs: wheels of a release do, and so does what \
                pip builds with MATURIN_PEP517_ARGS='--features remote'";
    Err(Error::new(ErrorKind::Unsupported, text))
}

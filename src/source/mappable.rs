//! The promise that nobody changes a mapped file in the meantime: the functions whose caller
//! makes it, and what relies on it.
#![allow(unsafe_code)]

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use super::map::{Map, MapMut};
use super::mode::Mode;
use super::storage::Storage;
use super::{Access, AnySource, Source, open};
use crate::error::{Error, RequestError, Result};

/// A file that may be mapped.
///
/// A value exists only if the promise of [`Source`] holds for all maps made
/// with it, and for everything that keeps one of them, until the last of them
/// is dropped. So the functions that take one are safe.
#[derive(Debug)]
pub struct Mappable<'a>(&'a File);

impl<'a> Mappable<'a> {
    /// # Safety
    ///
    /// The promise of [`Source`](Source#safety), for all maps that are made
    /// with this.
    #[inline]
    pub(super) unsafe fn new(file: &'a File) -> Mappable<'a> {
        Mappable(file)
    }

    #[inline]
    pub(super) fn file(&self) -> &'a File {
        self.0
    }
}

impl AnySource {
    /// Opens a file for mapping in a mode known at run time, for
    /// [`OpenOptions::open_mode`](crate::OpenOptions::open_mode).
    ///
    /// # Safety
    ///
    /// You promise that until the source and everything obtained from it are
    /// dropped, no process truncates the file below the end of an array or
    /// changes elements while you borrow them. [`Source`](Source#safety) states
    /// the promise exactly.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if the file does not
    /// exist, [`Unsupported`](crate::ErrorKind::Unsupported) if it is not a
    /// regular file, and [`Io`](crate::ErrorKind::Io) if it cannot be opened.
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) for `w+`, which
    /// needs a dtype and a shape: see
    /// [`MappedArray::create`](crate::MappedArray::create).
    pub unsafe fn map(path: impl AsRef<Path>, mode: Mode) -> Result<AnySource> {
        let path = path.as_ref();
        Ok(match mode {
            Mode::ReadOnly => AnySource::ReadOnly(open(path, false, Access::Map)?),
            Mode::CopyOnWrite => AnySource::Writable(open(path, false, Access::MapPrivate)?),
            Mode::ReadWrite => {
                AnySource::Writable(open(path, true, Access::MapShared(Arc::default()))?)
            }
            Mode::Create => return Err(Error::from(RequestError::CreateMode).with_path(path)),
        })
    }
}

impl Source<Map> {
    /// Opens a file for mapping read-only: NumPy's mode `r`.
    ///
    /// # Safety
    ///
    /// You promise that until the source and everything obtained from it are
    /// dropped, no process truncates the file below the end of an array or
    /// changes elements while you borrow them. [`Source`](Source#safety) states
    /// the promise exactly.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if the file does not
    /// exist, [`Unsupported`](crate::ErrorKind::Unsupported) if it is not a
    /// regular file, and [`Io`](crate::ErrorKind::Io) if it cannot be opened.
    /// This reads no bytes yet, so you learn that a file is damaged when you
    /// open an array of this source.
    pub unsafe fn map(path: impl AsRef<Path>) -> Result<Source<Map>> {
        open(path.as_ref(), false, Access::Map)
    }

    /// Like [`map`](Source::map), for an open file. Its position does not
    /// matter.
    ///
    /// # Safety
    ///
    /// You promise that until the source and everything obtained from it are
    /// dropped, no process truncates the file below the end of an array or
    /// changes elements while you borrow them. [`Source`](Source#safety) states
    /// the promise exactly.
    ///
    /// # Errors
    ///
    /// Returns [`Unsupported`](crate::ErrorKind::Unsupported) if it is not a
    /// regular file, and [`Io`](crate::ErrorKind::Io) if it cannot be examined.
    /// This reads no bytes yet, so you learn that a file is damaged when you
    /// open an array of this source.
    #[inline]
    pub unsafe fn map_file(file: File) -> Result<Source<Map>> {
        Ok(Source::new(Storage::from_file(file)?, Access::Map))
    }

    /// Maps arrays of more than 32 MiB only when their elements are needed, and reads
    /// them into memory if they can't be mapped. Of a source that reads, nothing is read
    /// before. Methods that need all elements, such as
    /// [`MappedArray::view`](crate::MappedArray::view), return the error if both fail.
    ///
    /// A program that processes such an array in parts, by
    /// [`MappedArray::window`](crate::MappedArray::window), needs memory and
    /// address space for one part, and transfers no more than these of a remote
    /// object. It also works where files can't be mapped: on some network file systems,
    /// or with a limit on address space. Each of these arrays keeps the file open.
    #[must_use]
    #[inline]
    pub fn on_demand(self) -> Source<Map> {
        let access = match self.access {
            Access::Map => Access::MapOnDemand,
            Access::Copy => Access::CopyOnDemand,
            other => other,
        };
        Source::new(self.storage, access)
    }
}

impl Source<MapMut> {
    /// Opens a file for mapping read-write: NumPy's mode `r+`. Stores change the
    /// file and are immediately visible in other maps of it.
    ///
    /// # Safety
    ///
    /// You promise that until the source and everything obtained from it are
    /// dropped, no process truncates the file below the end of an array,
    /// changes elements while you borrow them, or reads them while you borrow
    /// them mutably. [`Source`](Source#safety) states the promise exactly.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if the file does not
    /// exist, [`Unsupported`](crate::ErrorKind::Unsupported) if it is not a
    /// regular file, and [`Io`](crate::ErrorKind::Io) if it cannot be opened.
    /// This reads no bytes yet, so you learn that a file is damaged when you
    /// open an array of this source.
    pub unsafe fn map_mut(path: impl AsRef<Path>) -> Result<Source<MapMut>> {
        open(path.as_ref(), true, Access::MapShared(Arc::default()))
    }

    /// Like [`map_mut`](Source::map_mut), for a file opened for reading and
    /// writing.
    ///
    /// # Safety
    ///
    /// You promise that until the source and everything obtained from it are
    /// dropped, no process truncates the file below the end of an array,
    /// changes elements while you borrow them, or reads them while you borrow
    /// them mutably. [`Source`](Source#safety) states the promise exactly.
    ///
    /// # Errors
    ///
    /// Returns [`Unsupported`](crate::ErrorKind::Unsupported) if it is not a
    /// regular file, and [`Io`](crate::ErrorKind::Io) if it cannot be examined.
    /// This reads no bytes yet, so you learn that a file is damaged when you
    /// open an array of this source.
    #[inline]
    pub unsafe fn map_mut_file(file: File) -> Result<Source<MapMut>> {
        Ok(Source::new(Storage::from_file(file)?, Access::MapShared(Arc::default())))
    }

    /// Maps no arrays: their elements can be written, by
    /// [`write_array`](crate::MappedArray::write_array),
    /// [`write_slice`](crate::MappedArray::write_slice) and
    /// [`element_writer`](crate::MappedArray::element_writer), but neither viewed nor
    /// borrowed.
    ///
    /// This needs address space only for 16 MiB of scattered elements at a time, and works
    /// on file systems that can't map.
    #[must_use]
    #[inline]
    pub fn write_only(self) -> Source<MapMut> {
        let access = match self.access {
            Access::MapShared(ranges) => Access::Write(ranges),
            other => other,
        };
        Source::new(self.storage, access)
    }
}

impl<D> Source<D> {
    /// The file, if arrays are mapped.
    pub(super) fn mappable(&self) -> Option<Mappable<'_>> {
        if !self.is_mapped() {
            return None;
        }
        // SAFETY: `access` is not `Access::Copy`, so this source was made by an `unsafe`
        // function of this file, whose caller made the promise for everything
        // obtained from it; by `immutable`, where the system guarantees the
        // same; or by converting such a source.
        self.storage.file().map(|file| unsafe { Mappable::new(file) })
    }
}

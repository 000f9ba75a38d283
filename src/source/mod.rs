//! A file or buffer that holds several arrays, read and mapped in parts.
#![allow(unsafe_code)]

pub(crate) mod atomic;
pub(crate) mod file;
#[cfg(not(any(unix, windows)))]
pub(crate) mod heap;
pub(crate) mod lock;
pub(crate) mod map;
pub(crate) mod mode;
pub(crate) mod pages;
#[cfg(any(feature = "npz", feature = "tar"))]
pub(crate) mod part;
pub(crate) mod platform;
pub(crate) mod read_ahead;
mod unfinished;

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use crate::error::{HeaderError, Result, SystemError};
use crate::source::map::{Map, MapMut};
use crate::source::mode::Mode;
use crate::source::platform::Id;

/// Bytes that someone else holds.
pub(crate) type SharedBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// A file or buffer that holds several arrays.
pub(crate) struct Source {
    bytes: Bytes,
    path: Option<Arc<Path>>,
    len: u64,
    id: Option<Id>,
}

enum Bytes {
    /// Parts are copied.
    Read(File),
    /// Parts are mapped; whoever made this promised that they may be.
    Mapped(File),
    /// Parts are copied.
    Memory(SharedBytes),
}

impl Source {
    /// Opens a file whose parts are mapped.
    ///
    /// # Safety
    ///
    /// As [`MappedArray::open`](crate::MappedArray::open), for all parts that
    /// are mapped.
    pub(crate) unsafe fn mapped(path: &Path, write: bool) -> Result<Source> {
        let (file, stat) = file::open(path, write)?;
        Ok(Source {
            bytes: Bytes::Mapped(file),
            path: Some(Arc::from(path)),
            len: stat.len,
            id: stat.id,
        })
    }

    /// Opens a file whose parts are copied.
    pub(crate) fn read(path: &Path) -> Result<Source> {
        let (file, stat) = file::open(path, false)?;
        Ok(Source {
            bytes: Bytes::Read(file),
            path: Some(Arc::from(path)),
            len: stat.len,
            id: stat.id,
        })
    }

    /// Uses a buffer whose parts are copied.
    pub(crate) fn memory(bytes: SharedBytes) -> Source {
        let len = u64::try_from((*bytes).as_ref().len()).unwrap_or(u64::MAX);
        Source { bytes: Bytes::Memory(bytes), path: None, len, id: None }
    }

    /// The file, if there is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Which file it is, where the system tells.
    pub(crate) fn id(&self) -> Option<Id> {
        self.id
    }

    /// Its length in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// True when parts are used in place.
    pub(crate) fn is_mapped(&self) -> bool {
        matches!(self.bytes, Bytes::Mapped(_))
    }

    /// The mode of what is mapped; nothing is when parts are copied.
    pub(crate) fn mode(&self, mode: Mode) -> Option<Mode> {
        self.is_mapped().then_some(mode)
    }

    /// Reads at an offset until `buffer` is full or the source ends.
    pub(crate) fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        // Systems refuse offsets of 63 bits and more.
        if offset >= self.len {
            return Ok(0);
        }
        match &self.bytes {
            Bytes::Read(file) | Bytes::Mapped(file) => file::read_at(file, buffer, offset),
            Bytes::Memory(bytes) => {
                let rest = usize::try_from(offset).ok().and_then(|at| (**bytes).as_ref().get(at..));
                rest.unwrap_or_default().read(buffer)
            }
        }
    }

    /// A part, read-only: in place where parts are mapped.
    pub(crate) fn map(&self, offset: u64, len: usize) -> Result<Map> {
        match &self.bytes {
            // SAFETY: `mapped` asked for these promises.
            Bytes::Mapped(file) => unsafe { Map::new(file, offset, len) },
            _ => self.copy(offset, len)?.into_read_only(),
        }
    }

    /// A part to be written, which changes no file.
    pub(crate) fn map_private(&self, offset: u64, len: usize) -> Result<MapMut> {
        match &self.bytes {
            // SAFETY: `mapped` asked for these promises.
            Bytes::Mapped(file) => unsafe { MapMut::private(file, offset, len) },
            _ => self.copy(offset, len),
        }
    }

    /// A part to be written, which changes the file if there is one.
    ///
    /// # Safety
    ///
    /// As [`MappedArray::open_mut`](crate::MappedArray::open_mut).
    pub(crate) unsafe fn map_shared(&self, offset: u64, len: usize) -> Result<MapMut> {
        match &self.bytes {
            // SAFETY: asks for the same promises.
            Bytes::Mapped(file) => unsafe { MapMut::shared(file, offset, len) },
            _ => self.copy(offset, len),
        }
    }

    fn copy(&self, offset: u64, len: usize) -> Result<MapMut> {
        let mut data = MapMut::anonymous(len)?.in_large_pages();
        let found =
            self.read_at(data.as_mut(), offset).map_err(SystemError::io("read the elements"))?;
        if found < len {
            return Err(HeaderError::Eof { what: "elements", needed: len, found }.into());
        }
        Ok(data)
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("path", &self.path)
            .field("len", &self.len)
            .field("mapped", &self.is_mapped())
            .finish_non_exhaustive()
    }
}

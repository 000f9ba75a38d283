//! Sources: how the bytes of arrays are obtained (by memory map, by reading, from
//! memory), whatever their format.

pub(crate) mod atomic;
pub(crate) mod file;
#[cfg(not(any(unix, windows)))]
pub(crate) mod heap;
pub(crate) mod lock;
pub(crate) mod map;
mod mappable;
pub(crate) mod mode;
pub(crate) mod on_demand;
pub(crate) mod pages;
pub(crate) mod planner;
pub(crate) mod platform;
pub(crate) mod range_reader;
pub(crate) mod ranges;
pub(crate) mod read_ahead;
pub(crate) mod storage;
mod temporary;
pub(crate) mod tuning;

pub use atomic::AtomicFile;
pub use lock::{FileLock, Locking};
pub use map::{Map, MapMut};
pub use mode::Mode;
pub use pages::{Mapping, Writable};
pub use platform::{Advice, FileId, LockKind};
pub use storage::{ReadAt, ReadFuture};

use std::fmt;
use std::fs::File;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use crate::error::Result;
use crate::error::invariant::to_u64;
use crate::source::map::MappedRanges;
use crate::source::storage::{InMemory, Storage};

/// Where the bytes of one or more arrays come from.
///
/// A source knows nothing of formats. Every format opens from any source, except that
/// [`Npz::open`](crate::Npz::open) refuses [`Source::map_mut`]:
/// [`MappedArray::from_source`](crate::MappedArray::from_source),
/// [`OpenOptions::open`](crate::OpenOptions::open),
/// [`Npz::open`](crate::Npz::open), [`Ten::open`](crate::ten::Ten::open),
/// [`TarFile::open`](crate::tar::TarFile::open), [`open_any`](crate::open_any).
///
/// `D` is the type that holds the bytes of the arrays: [`Map`] if they are
/// read-only, [`MapMut`] if they are writable.
///
/// | source | NumPy's mode | arrays | `unsafe` |
/// |---|---|---|---|
/// | [`map`](Source::map), [`map_file`](Source::map_file) | `r` | borrow the page cache | yes |
/// | [`into_copy_on_write`](Source::into_copy_on_write) of these | `c` | copy each page when it is first written | |
/// | [`map_mut`](Source::map_mut), [`map_mut_file`](Source::map_mut_file) | `r+` | write to the file | yes |
/// | [`immutable`](Source::immutable) | `r` | borrow the page cache | no |
/// | [`on_demand`](Source::on_demand) of `map` and of copies | `r` | are mapped or copied in parts | |
/// | [`write_only`](Source::write_only) of `map_mut` | `r+` | are only written | |
/// | [`open`](Source::open), [`from_file`](Source::from_file) | | are copies | no |
/// | [`bytes`](Source::bytes), [`from_read_at`](Source::from_read_at) | | are copies | no |
///
/// Opening a source reads nothing. Arrays outlive their source and their
/// archive: each keeps the resources it needs.
///
/// # Safety
///
/// The functions that map a file are `unsafe`, because elements are then read
/// as ordinary memory. The caller promises the following for the source and
/// for everything obtained from it (archives, arrays, clones, rows, their data,
/// and everything that borrows from these), until the last of them is dropped:
///
/// - **No process truncates the file** below the end of an array. Accessing a
///   page that no longer exists kills the process with SIGBUS.
/// - **No process changes the bytes of an array while you borrow them** (by a
///   slice, a view, an iterator or a call), other than through the array itself.
///   This includes other sources and file handles of your own process. It also
///   includes copy-on-write arrays, because they share all pages with the file
///   that you have not written.
/// - With [`map_mut`](Source::map_mut), **no process reads or borrows these bytes
///   while you borrow them mutably**. This also includes other sources and file
///   handles of your own process. Arrays of one source never overlap, because
///   opening the second array returns an error.
///
/// Allowed at any time: appending to the file, rewriting the header of a
/// `.npy`, renaming or unlinking the file, and replacing it by renaming another
/// file over it. Where two files can have the same [`FileId`], replacing it is
/// not allowed: `reload` would map the other file.
///
/// The other `unsafe` functions of this crate require the same promise.
///
/// # Examples
///
/// ```
/// use npymap::{MappedArray, Source};
///
/// // SAFETY: no other process writes to or truncates this file.
/// let source = unsafe { Source::map("data/penguins.npy")? };
/// let penguins = MappedArray::from_source(source)?;
/// assert_eq!(penguins.shape(), [342, 4]);
///
/// let mut copy = MappedArray::from_source(Source::open("data/penguins.npy")?)?;
/// copy.as_slice_mut::<f64>()?[3] = 0.0; // a copy in memory
/// # Ok::<(), npymap::Error>(())
/// ```
pub struct Source<D = Map> {
    pub(crate) storage: Storage,
    access: Access,
    data: PhantomData<fn() -> D>,
}

/// How the bytes of an array are obtained.
///
/// All variants except `Copy` require the promise of [`Source`] for the file,
/// by the caller or by the kernel.
#[derive(Debug)]
enum Access {
    Copy,
    Map,
    /// Maps or copies arrays, or parts of them, when their elements are needed.
    MapOnDemand,
    CopyOnDemand,
    MapPrivate,
    /// With the ranges of the file mapped by arrays.
    MapShared(Arc<MappedRanges>),
    /// Maps nothing for long: elements are written to the file, in ranges of arrays.
    Write(Arc<MappedRanges>),
}

/// A source with a mode chosen at run time.
///
/// # Examples
///
/// ```
/// use npymap::{Mode, OpenOptions, source::AnySource};
///
/// let mode: Mode = "c".parse()?; // from a configuration file, for example
/// // SAFETY: no other process writes to or truncates this file.
/// let source = unsafe { AnySource::map("data/penguins.npy", mode)? };
/// let penguins = OpenOptions::new().open_mode(source)?;
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Debug)]
pub enum AnySource {
    /// Mode `r`.
    ReadOnly(Source<Map>),
    /// Modes `r+` and `c`.
    Writable(Source<MapMut>),
}

impl Source<Map> {
    /// Opens a file that the kernel guarantees never to change, for mapping: a
    /// memfd sealed against writing and shrinking, or a file with fs-verity. A memfd has
    /// the path `/proc/self/fd/N`.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if the file does not
    /// exist, [`Unsupported`](crate::ErrorKind::Unsupported) if it can change
    /// or the platform has no such files, and [`Io`](crate::ErrorKind::Io) if
    /// it cannot be opened.
    pub fn immutable(path: impl AsRef<Path>) -> Result<Source<Map>> {
        let storage = Storage::open(path.as_ref(), false)?;
        match storage.file() {
            // The guarantee takes the place of the caller's promise.
            Some(file) if storage.len() > 0 => {
                storage.add_path_on_err(Map::immutable(file, 0, 1).map(drop))?;
                Ok(Source::new(storage, Access::Map))
            }
            // Empty files are never mapped.
            _ => Ok(Source::new(storage, Access::Copy)),
        }
    }

    /// Makes arrays writable without changing the file: NumPy's mode `c`.
    ///
    /// Pages are copied when they are first written, so an array may be larger
    /// than memory, and the file need not be writable. This is not a snapshot:
    /// pages that have not been written are still shared with the file.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, Source};
    ///
    /// // SAFETY: no other process writes to or truncates this file.
    /// let source = unsafe { Source::map("data/penguins.npy")? }.into_copy_on_write();
    /// let mut penguins = MappedArray::from_source(source)?;
    /// penguins.as_slice_mut::<f64>()?[3] = 0.0; // not in the file
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn into_copy_on_write(self) -> Source<MapMut> {
        let access = match self.access {
            Access::Copy | Access::CopyOnDemand => Access::Copy,
            _ => Access::MapPrivate,
        };
        Source::new(self.storage, access)
    }
}

impl Source<MapMut> {
    /// Opens a file for reading: arrays are copies, so the file may change at
    /// any time. If the file is truncated, reads return an error instead of
    /// raising SIGBUS.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if the file does not
    /// exist, [`Unsupported`](crate::ErrorKind::Unsupported) if it is not a
    /// regular file, and [`Io`](crate::ErrorKind::Io) if it cannot be opened.
    /// This reads no bytes yet, so you learn that a file is damaged when you
    /// open an array of this source.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, Source};
    ///
    /// let penguins = MappedArray::from_source(Source::open("data/penguins.npy")?)?;
    /// assert_eq!(penguins.as_slice::<f64>()?[3], 3750.0);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Source<MapMut>> {
        open(path.as_ref(), false, Access::Copy)
    }

    /// Like [`open`](Source::open), for an open file. Its position does not
    /// matter.
    ///
    /// # Errors
    ///
    /// Returns [`Unsupported`](crate::ErrorKind::Unsupported) if it is not a
    /// regular file, and [`Io`](crate::ErrorKind::Io) if it cannot be examined.
    /// This reads no bytes yet, so you learn that a file is damaged when you
    /// open an array of this source.
    #[inline]
    pub fn from_file(file: File) -> Result<Source<MapMut>> {
        Ok(Source::new(Storage::from_file(file)?, Access::Copy))
    }

    /// Uses bytes in memory as a complete file. Arrays are copies in
    /// page-aligned memory. For a single array without a copy, see
    /// [`MappedArray::from_bytes`](crate::MappedArray::from_bytes).
    pub fn bytes(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Source<MapMut> {
        let len = to_u64(bytes.as_ref().len());
        Source::new(Storage::from_reader(Arc::new(InMemory(bytes)), len), Access::Copy)
    }

    /// Uses any storage that can be read at an offset, such as an object in a
    /// network store: see [`ReadAt`]. Arrays are copies.
    ///
    /// # Errors
    ///
    /// Returns [`Io`](crate::ErrorKind::Io) if its size cannot be determined, and
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if it exceeds `i64::MAX`.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, Source, source::ReadAt};
    ///
    /// struct Reversed(Vec<u8>);
    ///
    /// impl ReadAt for Reversed {
    ///     fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
    ///         let bytes = self.0.iter().rev().skip(offset as usize);
    ///         Ok(buffer.iter_mut().zip(bytes).map(|(to, from)| *to = *from).count())
    ///     }
    ///
    ///     fn size(&self) -> std::io::Result<u64> {
    ///         Ok(self.0.len() as u64)
    ///     }
    /// }
    ///
    /// let mut bytes = std::fs::read("data/penguins.npy")?;
    /// bytes.reverse();
    /// let penguins = MappedArray::from_source(Source::from_read_at(Reversed(bytes))?)?;
    /// assert_eq!(penguins.as_slice::<f64>()?[3], 3750.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_read_at(storage: impl ReadAt + 'static) -> Result<Source<MapMut>> {
        let len = storage::check_size(storage.size())?;
        Ok(Source::new(Storage::from_reader(Arc::new(storage), len), Access::Copy))
    }

    /// Makes arrays read-only, so that they can be cloned and shared among
    /// threads.
    #[must_use]
    #[inline]
    pub fn into_read_only(self) -> Source<Map> {
        let access = match self.access {
            Access::Copy => Access::Copy,
            _ => Access::Map,
        };
        Source::new(self.storage, access)
    }
}

fn open<D>(path: &Path, write: bool, access: Access) -> Result<Source<D>> {
    Ok(Source::new(Storage::open(path, write)?, access))
}

impl<D> Source<D> {
    fn new(storage: Storage, access: Access) -> Source<D> {
        Source { storage, access, data: PhantomData }
    }

    /// Returns the path the source was opened by.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.storage.path()
    }

    /// Returns the length in bytes when the source was opened.
    #[must_use]
    pub fn nbytes(&self) -> u64 {
        self.storage.len()
    }

    /// Returns the identity of the file. Returns `None` for other storage, and
    /// on systems that do not report it.
    #[must_use]
    pub fn file_id(&self) -> Option<FileId> {
        self.storage.id
    }

    /// Returns whether elements are mapped or copied when they are needed.
    #[inline]
    pub(crate) fn is_on_demand(&self) -> bool {
        matches!(self.access, Access::MapOnDemand | Access::CopyOnDemand)
    }

    /// Returns whether arrays map the file. Otherwise they are copies.
    pub(crate) fn is_mapped(&self) -> bool {
        !matches!(self.access, Access::Copy | Access::CopyOnDemand)
    }

    pub(crate) fn storage(&self) -> &Storage {
        &self.storage
    }

    /// How arrays are mapped. Returns `None` if they are copies.
    pub(crate) fn mode(&self) -> Option<Mode> {
        match self.access {
            Access::Copy | Access::CopyOnDemand => None,
            Access::Map | Access::MapOnDemand => Some(Mode::ReadOnly),
            Access::MapPrivate => Some(Mode::CopyOnWrite),
            Access::MapShared(_) | Access::Write(_) => Some(Mode::ReadWrite),
        }
    }
}

impl<D: Mapping> Source<D> {
    /// Maps or copies a range of the source. The result outlives the source.
    pub(crate) fn obtain(&self, offset: u64, len: usize) -> Result<D> {
        if self.is_on_demand() {
            return D::on_demand(self, offset, len);
        }
        match self.mappable() {
            Some(file) => D::map(&file, offset, len, self),
            None => D::from_memory(self.storage.copy(offset, len)?),
        }
    }

    /// Like [`obtain`](Source::obtain), some time after the source was opened:
    /// checks that the file still contains the range.
    pub(crate) fn obtain_checked(&self, offset: u64, len: usize) -> Result<D> {
        if self.is_mapped() {
            self.storage.check_len(offset, len)?;
        }
        self.obtain(offset, len)
    }
}

impl<D> fmt::Debug for Source<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("path", &self.storage.path())
            .field("len", &self.storage.len())
            .field("access", &self.access)
            .finish_non_exhaustive()
    }
}

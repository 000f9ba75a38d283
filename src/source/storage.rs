//! Storage that is read at an offset: a file, memory, or a caller's own.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use crate::error::invariant::{IN_BUFFER, Invariant, to_u64, to_usize_saturating};
use crate::error::{Error, ExtentError, IoContext as _, RequestError, Result};
use crate::source::file;
use crate::source::map::MapMut;
use crate::source::platform::{self, FileId, FileStat};
use crate::source::ranges;

/// An awaited read: see [`ReadAt::read_ranges_async`].
///
/// # Examples
///
/// ```
/// use npymap::source::ReadFuture;
///
/// /// The result of a read that is complete.
/// fn ready() -> ReadFuture<'static> {
///     Box::pin(std::future::ready(Ok(())))
/// }
/// ```
pub type ReadFuture<'a> = Pin<Box<dyn Future<Output = io::Result<()>> + Send + 'a>>;

/// Storage of your own that can be read at an offset. Every format opens from
/// it by [`Source::from_read_at`](crate::Source::from_read_at).
///
/// Only [`read_at`](ReadAt::read_at) and [`size`](ReadAt::size) are required.
/// Storage that takes long to answer, such as an object store, reads many
/// ranges at once ([`read_ranges_at`](ReadAt::read_ranges_at), its asynchronous
/// twin, and [`prefetch`](ReadAt::prefetch)), and names itself in errors
/// ([`name`](ReadAt::name)). Errors are passed on as they are if they are an
/// [`Error`] in an [`io::Error`]: `Error::new(kind, text).into()`. The package
/// `npymap-remote` is made of nothing else.
///
/// Any read may fail or return fewer bytes than the announced size promises:
/// storage that has become shorter returns an error.
///
/// # Examples
///
/// ```
/// use npymap::{MappedArray, Source, source::ReadAt};
///
/// /// A file in two parts.
/// struct Joined([Vec<u8>; 2]);
///
/// impl ReadAt for Joined {
///     fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
///         let [first, second] = &self.0;
///         let (offset, start) = (offset as usize, first.len());
///         let part = first.get(offset..).filter(|part| !part.is_empty());
///         let part = part.or_else(|| second.get(offset - start..)).unwrap_or(&[]);
///         let len = part.len().min(buffer.len());
///         buffer[..len].copy_from_slice(&part[..len]);
///         Ok(len)
///     }
///
///     fn size(&self) -> std::io::Result<u64> {
///         Ok(self.0.iter().map(|part| part.len() as u64).sum())
///     }
/// }
///
/// let mut first = std::fs::read("data/penguins.npy")?;
/// let second = first.split_off(1000);
/// let penguins = MappedArray::from_source(Source::from_read_at(Joined([first, second]))?)?;
/// assert_eq!(penguins.as_slice::<f64>()?[3], 3750.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ReadAt: Send + Sync {
    /// Reads at an offset and returns the number of bytes read. That may be fewer
    /// than `buffer` holds, and is 0 only at the end.
    ///
    /// # Errors
    ///
    /// Returns an error if the storage cannot be read. After
    /// [`io::ErrorKind::Interrupted`] the read is retried.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Reads several ranges, in turn, into `buffer`, which has their total
    /// length. Ranges may overlap, and can be in any order.
    ///
    /// [`ArrayFile`](crate::ArrayFile) requests the rows of a batch by one
    /// call. By default, ranges are read in their order. Ranges that overlap or
    /// are at most 8 KiB apart share one [`read_at`](ReadAt::read_at) of at
    /// most 1 MiB. Storage that takes long to answer should read them at once.
    ///
    /// # Errors
    ///
    /// Returns [`io::ErrorKind::UnexpectedEof`] if the bytes end inside a
    /// range, [`io::ErrorKind::InvalidInput`] if a range ends before its start
    /// or `buffer` has the wrong length, and any error of the storage. `buffer`
    /// is then partly overwritten.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::source::ReadAt;
    ///
    /// let penguins = std::fs::File::open("data/penguins.npy")?;
    /// let mut bytes = [0; 8];
    /// penguins.read_ranges_at(&[1..6, 61..64], &mut bytes)?;
    /// assert_eq!(&bytes, b"NUMPY342");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    fn read_ranges_at(&self, ranges: &[Range<u64>], buffer: &mut [u8]) -> io::Result<()> {
        ranges::read_in_order(self, ranges, buffer)
    }

    /// Like [`read_ranges_at`](ReadAt::read_ranges_at), but awaited. If the
    /// future is dropped, `buffer` is partly overwritten.
    ///
    /// By default, it blocks. Storage that reads asynchronously should not depend on the
    /// runtime of the caller.
    ///
    /// # Errors
    ///
    /// Returns [`io::ErrorKind::UnexpectedEof`] if the bytes end inside a
    /// range, [`io::ErrorKind::InvalidInput`] if a range ends before its start
    /// or `buffer` has the wrong length, and any error of the storage. `buffer`
    /// is then partly overwritten.
    fn read_ranges_async<'a>(
        &'a self,
        ranges: &'a [Range<u64>],
        buffer: &'a mut [u8],
    ) -> ReadFuture<'a> {
        Box::pin(std::future::ready(self.read_ranges_at(ranges, buffer)))
    }

    /// Announces ranges that are about to be read by small reads, in any order.
    ///
    /// By default, this does nothing. Storage that takes long to answer should
    /// read them at once, and keep them, or the first of them, in memory until
    /// other ranges are announced. Archives announce the headers of their
    /// members: [`Npz::prefetch_headers`](crate::Npz::prefetch_headers).
    ///
    /// # Errors
    ///
    /// Returns an error if the storage cannot be read. Ranges outside it are
    /// allowed.
    fn prefetch(&self, ranges: &[Range<u64>]) -> io::Result<()> {
        let _ = ranges;
        Ok(())
    }

    /// Returns the number of bytes in the storage.
    ///
    /// # Errors
    ///
    /// Returns an error if the storage does not know its size.
    fn size(&self) -> io::Result<u64>;

    /// Returns the number of bytes at present, for
    /// [`ArrayFile::check_unchanged`](crate::ArrayFile::check_unchanged) and in
    /// errors.
    ///
    /// By default, it is [`size`](ReadAt::size). Storage that learned its size
    /// when it was opened should ask again here, and return an error of the
    /// kind [`Changed`](crate::ErrorKind::Changed) if its bytes have changed.
    ///
    /// # Errors
    ///
    /// Returns an error if the storage does not know its size, or its bytes are
    /// different by now.
    fn current_size(&self) -> io::Result<u64> {
        self.size()
    }

    /// Returns the name to show in errors instead of a path, such as a URL. It
    /// should contain no secret. By default, there is none.
    fn name(&self) -> Option<&str> {
        None
    }
}

/// A file in memory.
pub(crate) struct InMemory<T>(pub(crate) T);

impl<T: AsRef<[u8]> + Send + Sync> ReadAt for InMemory<T> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|start| self.0.as_ref().get(start..));
        // After the end nothing is read, as with files.
        io::Read::read(&mut rest.unwrap_or(&[]), buffer)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(to_u64(self.0.as_ref().len()))
    }
}

impl ReadAt for File {
    #[inline]
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        platform::read_at(self, buffer, offset)
    }

    #[inline]
    fn size(&self) -> io::Result<u64> {
        platform::stat(self).map(|(_, stat)| stat.len)
    }
}

/// Reads at `offset` until `buffer` is full or the bytes end.
pub(crate) fn read_full_at(
    from: &(impl ReadAt + ?Sized),
    buffer: &mut [u8],
    offset: u64,
) -> io::Result<usize> {
    let mut filled = 0;
    let mut position = offset;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match from.read_at(rest, position) {
            Ok(0) => break,
            // `ReadAt` is implemented by callers, so `n` is not trusted.
            Ok(n) => {
                let n = n.min(rest.len());
                filled += n;
                position += to_u64(n);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Checks the size that storage reports: no offset may exceed `i64::MAX`, as in files.
#[inline]
pub(crate) fn check_size(size: io::Result<u64>) -> Result<u64> {
    let size = size.context("get the length")?;
    if i64::try_from(size).is_ok() {
        return Ok(size);
    }
    let found = format!("storage of {size} bytes");
    Err(RequestError::Argument { found, expected: "at most 2⁶³ - 1".to_owned() }.into())
}

/// Storage with its path, length and identity.
pub(crate) struct Storage {
    bytes: Backend,
    pub(crate) path: Option<Arc<Path>>,
    pub(crate) len: u64,
    pub(crate) id: Option<FileId>,
}

enum Backend {
    File(File),
    Other(Arc<dyn ReadAt>),
}

impl Storage {
    /// Opens a regular file.
    #[inline]
    pub(crate) fn open(path: &Path, write: bool) -> Result<Storage> {
        let (file, FileStat { len, id }) =
            file::open(path, write).map_err(|error| error.with_path(path))?;
        Ok(Storage { bytes: Backend::File(file), path: Some(Arc::from(path)), len, id })
    }

    /// Uses an open file, which must be a regular one.
    #[inline]
    pub(crate) fn from_file(file: File) -> Result<Storage> {
        let FileStat { len, id } = file::stat(&file)?;
        Ok(Storage { bytes: Backend::File(file), path: None, len, id })
    }

    /// Uses a reader of `len` bytes, fewer than 2⁶³.
    #[inline]
    pub(crate) fn from_reader(reader: Arc<dyn ReadAt>, len: u64) -> Storage {
        let path = reader.name().map(|name| Arc::from(Path::new(name)));
        Storage { bytes: Backend::Other(reader), path, len, id: None }
    }

    /// The path the file was opened by.
    #[inline]
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The same storage.
    #[inline]
    pub(crate) fn duplicate(&self) -> Result<Storage> {
        let bytes = match &self.bytes {
            Backend::File(file) => {
                let file = file.try_clone().context("duplicate the descriptor");
                Backend::File(self.add_path_on_err(file)?)
            }
            Backend::Other(other) => Backend::Other(Arc::clone(other)),
        };
        Ok(Storage { bytes, path: self.path.clone(), len: self.len, id: self.id })
    }

    /// The length in bytes when the storage was opened.
    #[inline]
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The file, unless the storage is of another kind.
    #[inline]
    pub(crate) fn file(&self) -> Option<&File> {
        match &self.bytes {
            Backend::File(file) => Some(file),
            Backend::Other(_) => None,
        }
    }

    /// The current length in bytes.
    #[inline]
    pub(crate) fn current_len(&self) -> Result<u64> {
        match &self.bytes {
            Backend::File(file) => file::len(file),
            Backend::Other(other) => check_size(other.current_size()),
        }
    }

    /// Returns an error if the storage no longer contains a range.
    #[inline]
    pub(crate) fn check_len(&self, offset: u64, len: usize) -> Result<()> {
        let found = self.current_len()?;
        let needed = offset + to_u64(len);
        if needed <= found { Ok(()) } else { Err(ExtentError::ShortFile { needed, found }.into()) }
    }

    /// Reads at an offset until `buffer` is full or the bytes end.
    #[inline]
    pub(crate) fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        // Systems reject offsets above `i64::MAX`.
        if i64::try_from(offset).is_err() {
            return Ok(0);
        }
        match &self.bytes {
            Backend::File(file) => read_full_at(file, buffer, offset),
            Backend::Other(other) => read_full_at(&**other, buffer, offset),
        }
    }

    /// Reads at an offset in a part of the storage, until `buffer` is full or the part ends.
    #[inline]
    pub(crate) fn read_part(
        &self,
        part: &Range<u64>,
        buffer: &mut [u8],
        offset: u64,
    ) -> io::Result<usize> {
        let Some(left) = ranges::len(part).checked_sub(offset) else { return Ok(0) };
        let len = to_usize_saturating(left).min(buffer.len());
        self.read_at(buffer.get_mut(..len).invariant(IN_BUFFER), part.start + offset)
    }

    /// Fills `buffer` with elements that start at `offset`.
    #[inline]
    pub(crate) fn read_elements(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        let found = self.read_at(buffer, offset).context("read the elements")?;
        if found == buffer.len() {
            return Ok(());
        }
        Err(file::short_file(offset, buffer.len(), found, self.current_len().ok()))
    }

    /// Fills `buffer` with the elements in several ranges, in turn.
    #[inline]
    pub(crate) fn read_ranges(&self, ranges: &[Range<u64>], buffer: &mut [u8]) -> Result<()> {
        self.read_ranges_at(ranges, buffer).context("read the elements")
    }

    /// Like [`read_ranges`](Storage::read_ranges), but awaited.
    #[inline]
    pub(crate) async fn read_ranges_async(
        &self,
        ranges: &[Range<u64>],
        buffer: &mut [u8],
    ) -> Result<()> {
        let read = match &self.bytes {
            Backend::File(_) => self.read_ranges_at(ranges, buffer),
            Backend::Other(other) => other.read_ranges_async(ranges, buffer).await,
        };
        read.context("read the elements")
    }

    /// Announces ranges of headers that are about to be read.
    #[cfg(any(feature = "npz", feature = "tar"))]
    pub(crate) fn prefetch_headers(&self, ranges: impl Iterator<Item = Range<u64>>) -> Result<()> {
        let Backend::Other(other) = &self.bytes else { return Ok(()) };
        let ranges: Vec<Range<u64>> = ranges.collect();
        self.add_path_on_err(other.prefetch(&ranges).context("read the headers"))
    }

    /// Copies a range into memory.
    #[inline]
    pub(crate) fn copy(&self, offset: u64, len: usize) -> Result<MapMut> {
        let mut data = MapMut::anonymous(len)?.with_large_pages();
        self.read_elements(data.as_mut(), offset)?;
        Ok(data)
    }

    /// Extends a file with zeros to at least `to` bytes.
    #[inline]
    pub(crate) fn extend(&self, to: u64) -> Result<()> {
        match &self.bytes {
            Backend::File(file) => file::extend(file, to).context("extend the file"),
            Backend::Other(_) => Err(RequestError::NoFile.into()),
        }
    }

    /// Adds the path to the error of a result.
    pub(crate) fn add_path_on_err<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| self.add_path(error))
    }

    /// Adds the path to an error.
    #[inline]
    pub(crate) fn add_path(&self, error: Error) -> Error {
        match self.path() {
            Some(path) => error.with_path(path),
            None => error,
        }
    }
}

impl ReadAt for Storage {
    #[inline]
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        Storage::read_at(self, buffer, offset)
    }

    #[inline]
    fn read_ranges_at(&self, ranges: &[Range<u64>], buffer: &mut [u8]) -> io::Result<()> {
        match &self.bytes {
            // An error has the present length of the file, not the one when it was opened.
            Backend::File(file) => ranges::read_in_order(file, ranges, buffer),
            Backend::Other(other) => other.read_ranges_at(ranges, buffer),
        }
    }

    #[inline]
    fn size(&self) -> io::Result<u64> {
        Ok(self.len)
    }
}

impl fmt::Debug for Storage {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Storage")
            .field("path", &self.path)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

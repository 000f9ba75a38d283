//! Opens arrays of any source: one read for the header, one map for the
//! elements.

use std::path::Path;

use super::raw::RawSpec;
use super::{MappedArray, MappedArrayMut};
use crate::error::{RequestError, Result};
use crate::npy::{Header, HeaderText, MAX_HEADER_LEN};
use crate::source::lock::Locking;
use crate::source::map::MapMut;
use crate::source::pages::Mapping;
use crate::source::{AnySource, Source};

/// Options that control how an array is opened, such as its offset in the
/// source.
///
/// Some methods set an option, and the other methods open or read an array.
///
/// # Examples
///
/// ```
/// use npymap::{OpenOptions, Source};
///
/// let source = Source::open("data/penguins.npy")?;
/// let header = OpenOptions::new().max_header_len(1_000_000).header(&source)?;
/// assert_eq!(header.shape, [342, 4]);
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct OpenOptions {
    pub(crate) max_header_len: usize,
    /// Where in the source the array starts.
    pub(super) offset: u64,
    pub(super) raw: Option<RawSpec>,
    pub(crate) locking: Locking,
}

/// An array opened in a mode known only at run time.
///
/// # Examples
///
/// ```
/// use npymap::{Mode, OpenOptions, array::AnyArray, source::AnySource};
///
/// let mode = "c".parse::<Mode>()?; // from a configuration file, say
/// // SAFETY: no other process writes to or truncates this file while it is mapped.
/// let source = unsafe { AnySource::map("data/penguins.npy", mode)? };
/// match OpenOptions::new().open_mode(source)? {
///     AnyArray::ReadOnly(array) => println!("{:?}", array.shape()),
///     AnyArray::Writable(mut array) => array.as_slice_mut::<f64>()?[0] = 0.0,
/// }
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Debug)]
pub enum AnyArray {
    /// Mode `r`.
    ReadOnly(MappedArray),
    /// Modes `r+` and `c`.
    Writable(MappedArrayMut),
}

impl Default for OpenOptions {
    #[inline]
    fn default() -> OpenOptions {
        OpenOptions { max_header_len: MAX_HEADER_LEN, offset: 0, raw: None, locking: Locking::Try }
    }
}

impl OpenOptions {
    /// Returns the defaults: a `.npy` that starts at the first byte, with a header
    /// of at most 10,000 characters, as in NumPy.
    #[inline]
    pub fn new() -> OpenOptions {
        OpenOptions::default()
    }

    /// Allows longer headers, for example for tables with hundreds of columns:
    /// NumPy's `max_header_size`. Time and memory to read a header are
    /// proportional to its length.
    #[inline]
    pub fn max_header_len(self, characters: usize) -> OpenOptions {
        OpenOptions { max_header_len: characters, ..self }
    }

    /// Opens the `.npy` that starts at this byte of the source: one of
    /// [several](OpenOptions::walk), or one embedded in another format. The offset
    /// of a [`RawSpec`] is relative to this one.
    #[inline]
    pub fn offset(self, offset: u64) -> OpenOptions {
        OpenOptions { offset, ..self }
    }

    /// Opens raw binary, without a header: `numpy.memmap`.
    #[inline]
    pub fn raw(self, raw: RawSpec) -> OpenOptions {
        OpenOptions { raw: Some(raw), ..self }
    }

    /// Sets how [`append`](OpenOptions::append) locks the file. The default is
    /// [`Locking::Try`]. To lock a mapped file, see
    /// [`FileLock`](crate::source::FileLock).
    #[inline]
    pub fn locking(self, locking: Locking) -> OpenOptions {
        OpenOptions { locking, ..self }
    }

    /// Whether the array does not start at byte 0, or has no header.
    #[inline]
    pub(crate) fn is_placed(&self) -> bool {
        self.offset > 0 || self.raw.is_some()
    }

    /// Returns an error if the options say where the array is in the file.
    pub(crate) fn check_whole(&self) -> Result<()> {
        if self.is_placed() { Err(RequestError::Placed.into()) } else { Ok(()) }
    }

    /// Opens an array.
    ///
    /// # Errors
    ///
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if the source is not a
    /// valid `.npy` file, [`Unsupported`](crate::ErrorKind::Unsupported) if it
    /// contains Python objects,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if its header is
    /// longer than the limit, [`Truncated`](crate::ErrorKind::Truncated) if it
    /// ends before the last element, and [`Io`](crate::ErrorKind::Io) if
    /// reading or mapping fails.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{OpenOptions, Source, array::RawSpec};
    ///
    /// let raw = RawSpec::new("<f8".parse()?).shape(&[4]).offset(128);
    /// let first = OpenOptions::new().raw(raw).open(Source::open("data/penguins.npy")?)?;
    /// assert_eq!(first.as_slice::<f64>()?, [39.1, 18.7, 181.0, 3750.0]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[allow(
        clippy::needless_pass_by_value,
        reason = "the array keeps the parts of the source it needs"
    )]
    pub fn open<D: Mapping>(&self, source: Source<D>) -> Result<MappedArray<D>> {
        self.open_borrowed(&source).map_err(|error| source.storage().add_path(error))
    }

    /// Opens an array of a source, without the path in errors.
    fn open_borrowed<D: Mapping>(&self, source: &Source<D>) -> Result<MappedArray<D>> {
        let place = self.place_in_source(source)?;
        let data = source.obtain(place.offset, place.layout.nbytes())?;
        Ok(MappedArray::from_place(source, data, place, None))
    }

    /// Opens an array in a mode known only at run time.
    ///
    /// # Errors
    ///
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if the source is not a
    /// valid `.npy` file, [`Unsupported`](crate::ErrorKind::Unsupported) if it
    /// contains Python objects,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if its header is
    /// longer than the limit, [`Truncated`](crate::ErrorKind::Truncated) if it
    /// ends before the last element, and [`Io`](crate::ErrorKind::Io) if
    /// reading or mapping fails.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{OpenOptions, array::AnyArray, source::AnySource};
    ///
    /// // SAFETY: no other process writes to or truncates this file.
    /// let source = unsafe { AnySource::map("data/penguins.npy", "c".parse()?)? };
    /// let AnyArray::Writable(mut penguins) = OpenOptions::new().open_mode(source)? else { panic!() };
    /// penguins.as_slice_mut::<f64>()?[3] = 0.0;
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[inline]
    pub fn open_mode(&self, source: AnySource) -> Result<AnyArray> {
        match source {
            AnySource::ReadOnly(source) => self.open(source).map(AnyArray::ReadOnly),
            AnySource::Writable(source) => self.open(source).map(AnyArray::Writable),
        }
    }

    /// Reads the header and makes the checks of [`open`](OpenOptions::open),
    /// without mapping.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) for raw binary,
    /// which has no header. Returns [`Corrupt`](crate::ErrorKind::Corrupt) if
    /// the source is not a valid `.npy` file,
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if it contains Python
    /// objects, [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if its
    /// header is longer than the limit,
    /// [`Truncated`](crate::ErrorKind::Truncated) if it ends before the last
    /// element, and [`Io`](crate::ErrorKind::Io) if reading or mapping fails.
    pub fn header<D>(&self, source: &Source<D>) -> Result<Header> {
        let storage = source.storage();
        storage.add_path_on_err(self.checked_header(storage))
    }

    /// Reads the text of the header as stored, whether or not it is well-formed.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) for raw binary,
    /// which has no header, [`Corrupt`](crate::ErrorKind::Corrupt) if the
    /// source does not start with a `.npy` header,
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for an unknown version,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if the header is
    /// longer than the limit, [`Truncated`](crate::ErrorKind::Truncated) if it
    /// is incomplete, and [`Io`](crate::ErrorKind::Io) if reading fails.
    pub fn header_text<D>(&self, source: &Source<D>) -> Result<HeaderText<'static>> {
        let storage = source.storage();
        let text = self.expect_header().and_then(|()| {
            let reader = storage.range_reader(self.offset, storage.len());
            HeaderText::read(reader, self.max_header_len)
                .map_err(|error| error.with_offset(self.offset))
        });
        storage.add_path_on_err(text)
    }
}

impl<D: Mapping> MappedArray<D> {
    /// Opens the `.npy` of a source.
    ///
    /// # Errors
    ///
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if the source is not a
    /// valid `.npy` file, [`Unsupported`](crate::ErrorKind::Unsupported) if it
    /// contains Python objects,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if its header is
    /// longer than 10,000 characters,
    /// [`Truncated`](crate::ErrorKind::Truncated) if it ends before the last
    /// element, and [`Io`](crate::ErrorKind::Io) if reading or mapping fails.
    ///
    /// # Examples
    ///
    /// See [`Source`].
    pub fn from_source(source: Source<D>) -> Result<MappedArray<D>> {
        OpenOptions::new().open(source)
    }
}

impl MappedArray<MapMut> {
    /// Copies a `.npy` file into page-aligned memory: `numpy.load`. This is safe,
    /// since no other process can access the copy.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if the file does not
    /// exist, [`Unsupported`](crate::ErrorKind::Unsupported) if it is not a
    /// regular file or contains Python objects,
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if it is not a valid `.npy` file,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if its header is
    /// longer than 10,000 characters,
    /// [`Truncated`](crate::ErrorKind::Truncated) if it ends before the last
    /// element or gets shorter in the meantime, and
    /// [`Io`](crate::ErrorKind::Io) if it cannot be opened or read, or there is
    /// not enough memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
    /// assert_eq!(penguins.as_slice::<f64>()?[3], 3750.0);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn load(path: impl AsRef<Path>) -> Result<MappedArrayMut> {
        MappedArray::from_source(Source::open(path)?)
    }
}

/// Calls `f` with a path, and adds the path to an error.
pub(crate) fn with_path_in_errors<T>(path: &Path, f: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    f(path).map_err(|error| error.with_path(path))
}

//! One array: its layout, and the bytes of its elements.

mod advise;
mod array_file;
mod array_file_async;
mod copy;
mod copy_options;
mod copy_threads;
mod create;
mod description;
mod edit;
mod edit_slice;
mod element_writer;
mod holes;
mod mapped;
#[cfg(any(feature = "npz", feature = "tar"))]
mod member;
mod open;
mod outline;
mod pieces;
mod place;
mod raw;
mod reload;
mod replace;
mod row_range;
#[cfg(feature = "serde")]
mod serialize;
mod tiles;
mod trailing;
mod typed;
mod views;
mod walk;
mod window;

use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::dtype::DType;
use crate::error::{Error, ExtentError, Result, ShapeError};
use crate::layout::{Layout, Order};
use crate::npy::{Header, HeaderText, MAX_HEADER_LEN};
use crate::source::map::{Map, MapMut};
use crate::source::mode::Mode;
use crate::source::on_demand::OnDemand;
use crate::source::platform::FileId;
use crate::source::read_ahead::ReadAhead;
use crate::source::{Mapping, Source};

pub(crate) use advise::resolve_rows;
pub use array_file::ArrayFile;
pub use copy::CopySource;
pub use copy_options::CopyOptions;
pub(crate) use copy_options::MAX_THREADS;
pub use create::CreateOptions;
pub use description::Description;
pub use element_writer::ElementWriter;
#[cfg(any(feature = "npz", feature = "tar"))]
pub(crate) use member::MemberContent;
pub(crate) use open::with_path_in_errors;
pub use open::{AnyArray, OpenOptions};
pub use outline::Outline;
pub(crate) use place::Place;
pub use raw::RawSpec;
#[cfg(feature = "npz")]
pub(crate) use replace::begin as begin_file;
pub(crate) use replace::{WriteMode, write as write_file};
pub use trailing::Trailing;
pub(crate) use trailing::is_npy_at;
pub use typed::TypedArray;
pub use walk::{Walk, WalkEntry};
pub use window::{InParts, Window};

/// An n-dimensional array in a memory-mapped file, or in any other bytes.
///
/// `D` is the type that holds the bytes: [`Map`] for read-only maps, [`MapMut`]
/// for writable maps ([`MappedArrayMut`]), or anything that implements
/// `AsRef<[u8]>`. Its length is not trusted: it is checked at each access. `dtype()`,
/// `shape()` and `len()` are methods of its [`Layout`].
///
/// # Opening
///
/// | | NumPy | here |
/// |---|---|---|
/// | read-only | `'r'` | [`open`](MappedArray::open) |
/// | read-write | `'r+'` | [`open_mut`](MappedArray::open_mut) |
/// | copy-on-write | `'c'` | [`open_copy_on_write`](MappedArray::open_copy_on_write) |
/// | new file | `'w+'` | [`create`](MappedArray::create) |
/// | a copy in memory, no `unsafe` | `numpy.load` | [`load`](MappedArray::load) |
/// | from an open file, memory, a file that never changes, … | | [`from_source`](MappedArray::from_source) with a [`Source`] |
/// | raw binary, or a `.npy` inside a file | `memmap` | [`OpenOptions`] |
/// | in a mode known only at run time | | [`OpenOptions::open_mode`] |
/// | to append rows, no `unsafe` | | [`Appender`](crate::Appender) |
/// | from a stream | | [`OpenOptions::read_ndarray_from`] |
/// | a copy as an ndarray array | `numpy.load` | [`OpenOptions::read_ndarray`] |
/// | rows read on request, no `unsafe` | | [`ArrayFile`] |
/// | bytes in memory | | [`from_bytes`](MappedArray::from_bytes) |
/// | no file | | [`zeros`](MappedArray::zeros) |
///
/// Opening reads the header with one system call and maps only the elements, so
/// the header, and bytes after the elements, may change while the array is in
/// use. Elements are not read until they are accessed.
///
/// # Examples
///
/// ```
/// use npymap::{MappedArray, ndarray::Ix2};
///
/// // SAFETY: no other process writes to or truncates this file.
/// let penguins = unsafe { MappedArray::open("data/penguins.npy")? };
/// let table = penguins.as_ndarray::<f64, Ix2>()?;
/// let mean_body_mass = table.column(3).mean().unwrap();
/// assert_eq!(mean_body_mass.round(), 4202.0);
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct MappedArray<D = Map> {
    /// Its layout describes the elements in `data`.
    place: Place,
    pub(crate) data: D,
    pub(crate) origin: Origin,
}

/// A writable array.
pub type MappedArrayMut = MappedArray<MapMut>;

/// Where the bytes of an array come from. The default is memory allocated for
/// the array.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    /// The file, if it was opened by path.
    pub(crate) path: Option<Arc<Path>>,
    /// The absolute path of a new file, in case the working directory changes.
    new_name: Option<Arc<Path>>,
    /// The name of the member, if the file is an archive.
    member: Option<Arc<str>>,
    /// How the file is mapped. Returns `None` if it is not.
    mode: Option<Mode>,
    /// The identity of the file, on systems that report one.
    id: Option<FileId>,
    /// The length of the file when it was opened; 0 without a file.
    file_len: u64,
    /// Whether the elements start at the offset of the [`Place`]: not in memory
    /// allocated for them.
    has_offset: bool,
    /// The elements, if they are in memory only when they are needed.
    on_demand: Option<Arc<OnDemand>>,
    /// The thread that reads ahead, once there is one.
    read_ahead: OnceLock<Arc<ReadAhead>>,
}

impl Origin {
    /// The origin of an array, or of a member, of a source.
    fn from_source<D>(source: &Source<D>, member: Option<&str>) -> Origin {
        let storage = source.storage();
        Origin {
            path: storage.path.clone(),
            new_name: None,
            member: member.map(Arc::from),
            mode: source.mode(),
            id: storage.id,
            file_len: storage.len(),
            has_offset: true,
            on_demand: None,
            read_ahead: OnceLock::new(),
        }
    }

    /// Adds the member and the file to an error.
    pub(crate) fn add_path_on_err<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| self.add_path(error))
    }

    #[inline]
    fn add_path(&self, error: Error) -> Error {
        let error = match &self.member {
            Some(name) => error.with_member(name),
            None => error,
        };
        match &self.path {
            Some(path) => error.with_path(path),
            None => error,
        }
    }
}

impl<D> MappedArray<D> {
    /// Makes an array of a source. `data` holds only the elements.
    pub(crate) fn from_place(
        source: &Source<impl Sized>,
        data: D,
        place: Place,
        member: Option<&str>,
    ) -> MappedArray<D>
    where
        D: Mapping,
    {
        let mut origin = Origin::from_source(source, member);
        origin.on_demand = data.on_demand_bytes().cloned();
        // The file may have been extended for the array.
        origin.file_len = origin.file_len.max(place.end().unwrap_or(0));
        MappedArray { place, data, origin }
    }

    /// Makes an array of an inflated member. `data` holds only the elements.
    #[cfg(feature = "npz")]
    pub(crate) fn from_unpacked(
        data: D,
        place: Place,
        path: Option<Arc<Path>>,
        member: &str,
    ) -> MappedArray<D> {
        let origin = Origin { path, member: Some(Arc::from(member)), ..Origin::default() };
        MappedArray { place: Place { offset: 0, ..place }, data, origin }
    }

    /// Makes an array of elements in memory.
    fn allocated(layout: Layout, order: Order, data: D) -> MappedArray<D> {
        let place = Place { layout, offset: 0, order, header: None };
        MappedArray { place, data, origin: Origin::default() }
    }
}

impl MappedArray<Map> {
    /// Unmaps the file, unless clones of the array remain. Dropping the array does
    /// the same but ignores errors.
    ///
    /// # Errors
    ///
    /// Returns [`Io`](crate::ErrorKind::Io) if unmapping fails.
    #[inline]
    pub fn close(self) -> Result<()> {
        let MappedArray { data, origin, .. } = self;
        origin.add_path_on_err(data.close())
    }
}

impl MappedArray<MapMut> {
    /// Allocates an array of zeros in page-aligned memory, without a file, and
    /// in large pages where the kernel has them.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) for more than
    /// 64 axes, or an array larger than the address space, and
    /// [`Io`](crate::ErrorKind::Io) if there is not enough memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{DType, MappedArray};
    ///
    /// let mut counts = MappedArray::zeros(&DType::of::<u32>(), &[2, 3])?;
    /// counts.as_slice_mut::<u32>()?[5] = 7;
    /// assert_eq!(counts.as_slice::<u32>()?, [0, 0, 0, 0, 0, 7]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[inline]
    pub fn zeros(dtype: &DType, shape: &[usize]) -> Result<MappedArrayMut> {
        let layout = Layout::new(dtype.clone(), shape, Order::C, 0)?;
        let data = MapMut::anonymous(layout.nbytes())?.with_large_pages();
        Ok(MappedArray::allocated(layout, Order::C, data))
    }

    /// Makes the array read-only, so that it can be cloned and shared between
    /// threads. The mode of a copy-on-write array is kept, because its elements
    /// may differ from the file.
    ///
    /// # Errors
    ///
    /// Returns [`Io`](crate::ErrorKind::Io) if the kernel refuses.
    #[inline]
    pub fn into_read_only(self) -> Result<MappedArray> {
        let MappedArray { place, data, mut origin } = self;
        let data = origin.add_path_on_err(data.into_read_only())?;
        if origin.mode != Some(Mode::CopyOnWrite) {
            origin.mode = origin.mode.and(Some(Mode::ReadOnly));
        }
        Ok(MappedArray { place, data, origin })
    }

    /// Interprets the same bytes with a different layout of the same size, such as
    /// elements of a structured dtype as bytes.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if the layout starts after
    /// the first byte or has a different size.
    #[inline]
    pub fn with_layout(self, layout: Layout) -> Result<MappedArrayMut> {
        let (found, expected) = (layout.end(), self.nbytes());
        if found != expected || layout.offset() > 0 {
            return Err(ShapeError::LayoutBytes { found, expected }.into());
        }
        Ok(MappedArray::allocated(layout, Order::C, self.data))
    }
}

impl<D: AsRef<[u8]>> MappedArray<D> {
    /// Interprets `data` as a complete `.npy` file, without copying. Bytes after
    /// the elements are ignored.
    ///
    /// # Errors
    ///
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if `data` is not a valid
    /// `.npy` file, [`Unsupported`](crate::ErrorKind::Unsupported) if its
    /// elements are Python objects,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if its header is
    /// longer than 10,000 characters,
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if the array has more
    /// than 64 axes or is larger than the address space, and
    /// [`Truncated`](crate::ErrorKind::Truncated) if `data` ends before the
    /// last element.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::MappedArray;
    ///
    /// let bytes = std::fs::read("data/penguins.npy")?;
    /// let array = MappedArray::from_bytes(&bytes)?;
    /// assert_eq!(array.shape(), [342, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_bytes(data: D) -> Result<MappedArray<D>> {
        let header = HeaderText::parse(data.as_ref(), MAX_HEADER_LEN)?.header()?;
        let layout = header.layout()?;
        check_len(&layout, data.as_ref().len())?;
        let place = Place { layout, ..Place::from_header(header, 0)? };
        Ok(MappedArray { place, data, origin: Origin { has_offset: true, ..Origin::default() } })
    }

    /// Makes an array of the elements that `layout` describes in `data`.
    ///
    /// # Errors
    ///
    /// Returns [`Truncated`](crate::ErrorKind::Truncated) if `data` ends before
    /// the last element.
    pub fn from_parts(data: D, layout: Layout) -> Result<MappedArray<D>> {
        check_len(&layout, data.as_ref().len())?;
        Ok(MappedArray::allocated(layout, Order::C, data))
    }
}

impl<D> Deref for MappedArray<D> {
    type Target = Layout;

    #[inline]
    fn deref(&self) -> &Layout {
        &self.place.layout
    }
}

impl<D> MappedArray<D> {
    /// Returns the layout of the elements in the bytes of `D`. In a map they
    /// start at 0, except in a [range of rows](MappedArray::row_range).
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.place.layout
    }

    /// Returns the path the array was opened or created by.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.origin.path.as_deref()
    }

    /// Returns the name of the array in its archive. Returns `None` if it is
    /// not from an archive.
    #[must_use]
    pub fn member(&self) -> Option<&str> {
        self.origin.member.as_deref()
    }

    /// Returns the mode the file was mapped in. Returns `None` if the array is
    /// in memory.
    #[must_use]
    pub fn mode(&self) -> Option<Mode> {
        self.origin.mode
    }

    /// Returns the header of the file. Returns `None` if it has none, and for a
    /// [range of rows](MappedArray::row_range).
    #[must_use]
    pub fn header(&self) -> Option<Header> {
        self.place.header.clone()
    }

    /// Returns the offset of the elements in the file, if there is one.
    #[must_use]
    pub fn data_offset(&self) -> Option<u64> {
        self.origin.has_offset.then_some(self.place.offset)
    }

    /// Returns the value that holds the bytes. The elements are only a part of them, at
    /// [`Layout::offset`].
    pub fn into_data(self) -> D {
        self.data
    }
}

/// Checks that a buffer of `found` bytes contains all elements.
#[inline]
fn check_len(layout: &Layout, found: usize) -> Result<()> {
    let needed = layout.end();
    if needed > found { Err(ExtentError::ShortBuffer { needed, found }.into()) } else { Ok(()) }
}

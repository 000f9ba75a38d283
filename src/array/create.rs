//! Creates `.npy` files.
#![allow(unsafe_code)]

use std::fs::File;
use std::path::Path;

use super::{MappedArray, MappedArrayMut, Origin, Place};
use crate::dtype::DType;
use crate::error::{Result, SystemError};
use crate::layout::Order;
use crate::npy::{Header, Version};
use crate::source::atomic::AtomicFile;
use crate::source::map::MapMut;
use crate::source::mode::Mode;
use crate::source::{file, platform};

/// How to create an array. Setters return it. The byte order is the dtype's:
/// see [`DType::with_byte_order`].
///
/// # Examples
///
/// ```
/// use npymap::{CreateOptions, Order, Version};
///
/// let mut options = CreateOptions::new();
/// options.order(Order::F).version(Version::V2);
/// ```
#[derive(Clone, Debug, Default)]
pub struct CreateOptions {
    order: Order,
    version: Option<Version>,
    pub(crate) overwrite: bool,
    pub(crate) sparse: bool,
    page_aligned: bool,
}

/// Where page-aligned elements start, or at a multiple of it.
const PAGE: usize = 4096;

/// Where NumPy's elements start, or at a multiple of it.
const LINE: usize = 64;

impl CreateOptions {
    /// The defaults: C order, the first version that holds the header, and no
    /// file replaced.
    #[must_use]
    pub fn new() -> CreateOptions {
        CreateOptions::default()
    }

    /// Which axis varies fastest.
    pub fn order(&mut self, order: Order) -> &mut CreateOptions {
        self.order = order;
        self
    }

    /// The version of the format; never exchanged for another.
    pub fn version(&mut self, version: Version) -> &mut CreateOptions {
        self.version = Some(version);
        self
    }

    /// Reserves no space: a file of zeros takes none on the disk until it is
    /// written to, and a full disk is a fault at a store instead of an error
    /// at creation. [`write_elements`](MappedArray::write_elements) tells it
    /// as an error there too.
    pub fn sparse(&mut self, sparse: bool) -> &mut CreateOptions {
        self.sparse = sparse;
        self
    }

    /// Pads the header so that the elements start at byte 4096 (at a multiple
    /// of that if the header is longer) instead of 128 or another multiple of
    /// 64. Rows whose length divides a page's then lie in one page, not in
    /// two. NumPy reads such files as any other.
    pub fn page_aligned(&mut self, page_aligned: bool) -> &mut CreateOptions {
        self.page_aligned = page_aligned;
        self
    }

    /// Lets the new file take the place of one that exists. That one isn't
    /// touched: who has it mapped or open keeps it. On Windows it is then an
    /// error, and nothing is replaced.
    pub fn overwrite(&mut self, overwrite: bool) -> &mut CreateOptions {
        self.overwrite = overwrite;
        self
    }
}

impl MappedArray<MapMut> {
    /// Creates a `.npy` file of zeros and opens it read-write: NumPy's
    /// `open_memmap` with mode `w+`.
    ///
    /// The file is made under another name in the same directory, with all its
    /// space reserved unless [`sparse`](CreateOptions::sparse) is set, and
    /// renamed when it is whole; on an error nothing is
    /// left behind, and nothing of a file that was there is lost. Permissions,
    /// and the owner where that is allowed, are those of the file it replaces.
    ///
    /// # Safety
    ///
    /// As [`open_mut`](MappedArray::open_mut), from the moment it exists.
    ///
    /// # Errors
    ///
    /// Before anything is made: those of [`Header::new`] and
    /// [`Header::encode`], and
    /// [`AlreadyExists`](crate::ErrorKind::AlreadyExists). After that
    /// [`Io`](crate::ErrorKind::Io), as when the disk is full, and
    /// [`Io`](crate::ErrorKind::Io).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{CreateOptions, DType, MappedArray};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("new.npy");
    /// // SAFETY: nobody else knows of the file yet.
    /// let mut array = unsafe {
    ///     MappedArray::create(&path, &DType::of::<f64>(), &[1000, 3], &CreateOptions::new())?
    /// };
    /// array.as_slice_mut::<f64>()?[0] = 1.0;
    /// array.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub unsafe fn create(
        path: impl AsRef<Path>,
        dtype: &DType,
        shape: &[usize],
        options: &CreateOptions,
    ) -> Result<MappedArrayMut> {
        let path = path.as_ref();
        // SAFETY: asks for the same promises.
        unsafe { create(path, dtype, shape, options) }.map_err(|error| error.at(path))
    }

    /// Makes a `.npy` of zeros in an open file, which must be empty, opened
    /// for reading and writing, and can be closed after. It is for who gives
    /// the file its name, or none: on an error the file is not whole.
    ///
    /// # Safety
    ///
    /// As [`open_mut`](MappedArray::open_mut).
    ///
    /// # Errors
    ///
    /// As [`create`](MappedArray::create);
    /// [`AlreadyExists`](crate::ErrorKind::AlreadyExists) when something is in
    /// the file.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{CreateOptions, DType, MappedArray};
    ///
    /// let file = tempfile::tempfile()?;
    /// // SAFETY: the file has no name that others could open it by.
    /// let mut array = unsafe {
    ///     MappedArray::create_file(&file, &DType::of::<u16>(), &[3], &CreateOptions::new())?
    /// };
    /// array.as_slice_mut::<u16>()?[2] = 7;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub unsafe fn create_file(
        file: &File,
        dtype: &DType,
        shape: &[usize],
        options: &CreateOptions,
    ) -> Result<MappedArrayMut> {
        let planned = options.plan(dtype, shape)?;
        if file::len(file)? > 0 {
            return Err(SystemError::Exists.into());
        }
        planned.write(file)?;
        // SAFETY: asks for the same promises.
        unsafe { created(file, planned.place, None) }
    }
}

impl CreateOptions {
    /// The header and the elements of a new file, all arguments checked.
    pub(crate) fn plan(&self, dtype: &DType, shape: &[usize]) -> Result<Planned> {
        let mut header = Header::new(dtype.clone(), shape, self.order)?;
        let align = if self.page_aligned { PAGE } else { LINE };
        let encoded = header.encode_aligned(self.version, align)?;
        header.version = encoded.version;
        header.data_offset = encoded.bytes.len();
        let place = Place::of(&header, 0)?;
        Ok(Planned { header, bytes: encoded.bytes, place, sparse: self.sparse })
    }

    /// Whether the last axis is the slowest, and so the growing one.
    pub(crate) fn is_fortran(&self) -> bool {
        self.order == Order::F
    }

    /// Begins to put a new file in the place of what is at `path`.
    pub(crate) fn begin(&self, path: &Path) -> Result<AtomicFile> {
        AtomicFile::new(path, self.overwrite)
    }
}

/// What a new file will hold.
pub(crate) struct Planned {
    pub(crate) header: Header,
    pub(crate) bytes: Vec<u8>,
    place: Place,
    sparse: bool,
}

impl Planned {
    /// Makes a header and zeros of an empty file.
    pub(crate) fn write(&self, file: &File) -> Result<()> {
        file::write_at(file, &self.bytes, 0).map_err(SystemError::io("write the header"))?;
        let end = self.place.end().ok_or_else(|| self.place.too_large())?;
        make_room(file, end, self.sparse)
    }
}

/// Gives an empty file its length, with its space unless it is to be sparse.
pub(crate) fn make_room(file: &File, len: u64, sparse: bool) -> Result<()> {
    let done = if sparse { file.set_len(len) } else { file::reserve(file, len) };
    done.map_err(SystemError::io("reserve space"))
}

/// Maps the elements of a file that was made.
///
/// # Safety
///
/// As [`MappedArray::create`].
pub(crate) unsafe fn created(
    file: &File,
    place: Place,
    path: Option<&Path>,
) -> Result<MappedArrayMut> {
    // SAFETY: asks for the same promises.
    let data = unsafe { MapMut::shared(file, place.offset, place.layout.nbytes()) }?;
    let mut origin = Origin::new(path, Some(Mode::Create), &place);
    origin.id = file::stat(file)?.id;
    Ok(MappedArray { layout: place.layout, data, origin })
}

/// Maps the elements of a file that was made, and gives it its name.
///
/// # Safety
///
/// As [`MappedArray::create`].
pub(crate) unsafe fn named(new: AtomicFile, place: Place, path: &Path) -> Result<MappedArrayMut> {
    // SAFETY: the caller promises it for the file under its final name; under
    // this one nobody knows it.
    let array = unsafe { created(new.file(), place.clone(), Some(path)) }?;
    if platform::RENAMES_WHAT_IS_MAPPED {
        new.commit()?;
        return Ok(array);
    }
    drop(array);
    let file = new.commit()?;
    // SAFETY: asks for the same promises.
    unsafe { created(&file, place, Some(path)) }
}

/// # Safety
///
/// As [`MappedArray::create`].
unsafe fn create(
    path: &Path,
    dtype: &DType,
    shape: &[usize],
    options: &CreateOptions,
) -> Result<MappedArrayMut> {
    let planned = options.plan(dtype, shape)?;
    let new = options.begin(path)?;
    planned.write(new.file())?;
    // SAFETY: asks for the same promises.
    unsafe { named(new, planned.place, path) }
}

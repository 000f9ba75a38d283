//! Raw binary: files of elements without a header, as `numpy.memmap` maps.
#![allow(unsafe_code)]

use std::fs::File;
use std::path::Path;

use super::create::{created, make_room, named};
use super::{CreateOptions, MappedArray, MappedArrayMut, Place, on};
use crate::dtype::DType;
use crate::error::{ExtentError, RequestError, Result, ShapeError, SystemError};
use crate::layout::{Layout, Order};
use crate::source::atomic::AtomicFile;
use crate::source::file;
use crate::source::map::MapMut;

/// What a file without a header holds: the arguments of `numpy.memmap`.
///
/// Given to [`OpenOptions::raw`](crate::OpenOptions::raw), every way to open
/// an array opens such a file. Only the elements are mapped, wherever they
/// start. In mode `r+` a file that is too short for its shape is made longer
/// by zeros, with their space reserved; in other modes that is an error.
///
/// # Examples
///
/// ```
/// use npymap::{OpenOptions, RawSpec, ndarray::Ix2};
///
/// // A header of 128 bytes, then 342 × 4 numbers: the same as any raw file.
/// let raw = RawSpec::new("<f8".parse()?).offset(128).shape(&[342, 4]);
/// // SAFETY: nobody changes or truncates the file meanwhile.
/// let penguins = unsafe { OpenOptions::new().raw(raw).open("data/penguins.npy")? };
/// assert_eq!(penguins.as_ndarray::<f64, Ix2>()?[[0, 3]], 3750.0);
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawSpec {
    dtype: DType,
    shape: Option<Vec<usize>>,
    order: Order,
    offset: u64,
    /// Whether files may be made longer for it.
    pub(crate) grows: bool,
}

impl RawSpec {
    /// Elements from the first byte of the file to the last, one axis of
    /// them. The axes of a dtype that is a subarray stand behind it.
    #[must_use]
    pub fn new(dtype: DType) -> RawSpec {
        RawSpec { dtype, shape: None, order: Order::C, offset: 0, grows: true }
    }

    /// The length of each axis. Without it there is one, as long as the file.
    #[must_use]
    pub fn shape(self, shape: &[usize]) -> RawSpec {
        RawSpec { shape: Some(shape.to_vec()), ..self }
    }

    /// Which axis varies fastest.
    #[must_use]
    pub fn order(self, order: Order) -> RawSpec {
        RawSpec { order, ..self }
    }

    /// Bytes before the first element: any number.
    #[must_use]
    pub fn offset(self, offset: u64) -> RawSpec {
        RawSpec { offset, ..self }
    }

    /// The same, but that no file is made longer for it.
    pub(crate) fn fixed(self) -> RawSpec {
        RawSpec { grows: false, ..self }
    }

    /// Where the elements lie in a file of `len` bytes, whether or not they
    /// all are there, when the file's start is taken to be at `at`.
    pub(crate) fn place(&self, at: u64, len: u64) -> Result<Place> {
        let offset = at.checked_add(self.offset).ok_or(ExtentError::Remainder {
            offset: u64::MAX,
            itemsize: self.dtype.itemsize(),
            found: len,
        })?;
        let mut shape = match &self.shape {
            Some(shape) => shape.clone(),
            None => vec![self.count(offset, len)?],
        };
        let mut dtype = &self.dtype;
        while let Some((base, axes)) = dtype.subarray() {
            shape.extend(axes);
            dtype = base;
        }
        let layout = Layout::new(dtype.clone(), &shape, self.order, 0)?;
        Ok(Place { layout, offset, order: self.order, header: None })
    }

    /// How many elements a file of `len` bytes holds.
    fn count(&self, offset: u64, len: u64) -> Result<usize> {
        let itemsize = self.dtype.itemsize();
        let size = u64::try_from(itemsize).unwrap_or(u64::MAX);
        let count = len
            .checked_sub(offset)
            .filter(|rest| rest.checked_rem(size) == Some(0))
            .map(|rest| rest / size)
            .ok_or(ExtentError::Remainder { offset, itemsize, found: len })?;
        let shape = || format!("({count},)");
        Ok(usize::try_from(count).map_err(|_| ShapeError::Size { shape: shape(), itemsize })?)
    }
}

impl MappedArray<MapMut> {
    /// Creates a file of zeros without a header and opens it read-write:
    /// `numpy.memmap` with mode `w+`.
    ///
    /// As in [`create`](MappedArray::create) the file is made under another
    /// name and renamed when it is whole. Of `options` the order, version
    /// and alignment are not asked: `raw` has an order, an offset and no header.
    ///
    /// # Safety
    ///
    /// As [`open_mut`](MappedArray::open_mut), from the moment it exists.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) without a shape; those
    /// of [`create`](MappedArray::create).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{CreateOptions, MappedArray, RawSpec};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("new.bin");
    /// let raw = RawSpec::new("<i2".parse()?).shape(&[3, 4]).offset(1);
    /// // SAFETY: nobody else knows of the file yet.
    /// let mut array = unsafe { MappedArray::create_raw(&path, &raw, &CreateOptions::new())? };
    /// array.view_mut::<i16>()?.set([2, 3], 7)?;
    /// array.close()?;
    /// assert_eq!(std::fs::read(&path)?[1 + 22..], [7, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub unsafe fn create_raw(
        path: impl AsRef<Path>,
        raw: &RawSpec,
        options: &CreateOptions,
    ) -> Result<MappedArrayMut> {
        // SAFETY: asks for the same promises.
        on(path.as_ref(), |path| unsafe { create(path, raw, 0, options) })
    }

    /// Makes an open file one of zeros without a header and opens it
    /// read-write. The file must be empty, opened for reading and writing, and
    /// can be closed after. It is for who gives the file its name, or none.
    ///
    /// One that has bytes already keeps them, and is made as long as the array
    /// is, by [`open_mut_file`](crate::OpenOptions::open_mut_file): that is what
    /// `numpy.memmap` does with an open file and mode `w+`.
    ///
    /// # Safety
    ///
    /// As [`open_mut`](MappedArray::open_mut).
    ///
    /// # Errors
    ///
    /// As [`create_raw`](MappedArray::create_raw);
    /// [`AlreadyExists`](crate::ErrorKind::AlreadyExists) when something is in
    /// the file.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{CreateOptions, MappedArray, RawSpec};
    ///
    /// let file = tempfile::tempfile()?;
    /// let raw = RawSpec::new("<i2".parse()?).shape(&[3, 4]);
    /// // SAFETY: the file has no name that others could open it by.
    /// let array = unsafe { MappedArray::create_raw_file(&file, &raw, &CreateOptions::new())? };
    /// assert_eq!((array.shape(), file.metadata()?.len()), (&[3, 4][..], 24));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub unsafe fn create_raw_file(
        file: &File,
        raw: &RawSpec,
        options: &CreateOptions,
    ) -> Result<MappedArrayMut> {
        let (place, end) = planned(raw, 0)?;
        if file::len(file)? > 0 {
            return Err(SystemError::Exists.into());
        }
        make_room(file, end, options.sparse)?;
        // SAFETY: asks for the same promises.
        unsafe { created(file, place, None) }
    }
}

/// Where the elements of a new file will lie, and end.
fn planned(raw: &RawSpec, at: u64) -> Result<(Place, u64)> {
    if raw.shape.is_none() {
        return Err(RequestError::CreateMode.into());
    }
    let place = raw.place(at, 0)?;
    let end = place.end().ok_or_else(|| place.too_large())?;
    Ok((place, end))
}

/// # Safety
///
/// As [`MappedArray::create_raw`].
pub(crate) unsafe fn create(
    path: &Path,
    raw: &RawSpec,
    at: u64,
    options: &CreateOptions,
) -> Result<MappedArrayMut> {
    let (place, end) = planned(raw, at)?;
    let new = AtomicFile::new(path, options.overwrite)?;
    make_room(new.file(), end, options.sparse)?;
    // SAFETY: asks for the same promises.
    unsafe { named(new, place, path) }
}

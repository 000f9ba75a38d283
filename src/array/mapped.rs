//! Maps arrays by path in one call. These are all the functions of arrays that
//! require the promise of [`Source`].
#![allow(unsafe_code)]

use std::path::Path;

use super::{CreateOptions, MappedArray, MappedArrayMut};
use crate::dtype::DType;
use crate::error::Result;
use crate::source::Source;
use crate::source::map::{Map, MapMut};

impl MappedArray<Map> {
    /// Opens a `.npy` file read-only.
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
    /// regular file or contains Python objects,
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if it is not a valid `.npy` file,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if its header is
    /// longer than 10,000 characters,
    /// [`Truncated`](crate::ErrorKind::Truncated) if it ends before the last
    /// element, and [`Io`](crate::ErrorKind::Io) if it cannot be opened or
    /// mapped.
    pub unsafe fn open(path: impl AsRef<Path>) -> Result<MappedArray> {
        // SAFETY: the array consumes the source, so the promise that the caller
        // made covers everything obtained from the source.
        MappedArray::from_source(unsafe { Source::map(path) }?)
    }
}

impl MappedArray<MapMut> {
    /// Opens a `.npy` file read-write: stores go to the file.
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
    /// regular file or contains Python objects,
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if it is not a valid `.npy` file,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if its header is
    /// longer than 10,000 characters,
    /// [`Truncated`](crate::ErrorKind::Truncated) if it ends before the last
    /// element, and [`Io`](crate::ErrorKind::Io) if it cannot be opened for
    /// writing or mapped.
    pub unsafe fn open_mut(path: impl AsRef<Path>) -> Result<MappedArrayMut> {
        // SAFETY: the array consumes the source, as in `open`.
        MappedArray::from_source(unsafe { Source::map_mut(path) }?)
    }

    /// Opens a `.npy` file copy-on-write: stores stay in memory. See
    /// [`Source::into_copy_on_write`].
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
    /// regular file or contains Python objects,
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if it is not a valid `.npy` file,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if its header is
    /// longer than 10,000 characters,
    /// [`Truncated`](crate::ErrorKind::Truncated) if it ends before the last
    /// element, and [`Io`](crate::ErrorKind::Io) if it cannot be opened or
    /// mapped.
    pub unsafe fn open_copy_on_write(path: impl AsRef<Path>) -> Result<MappedArrayMut> {
        // SAFETY: the array consumes the source, as in `open`.
        MappedArray::from_source(unsafe { Source::map(path) }?.into_copy_on_write())
    }

    /// Creates a `.npy` file of zeros and opens it read-write, like NumPy's
    /// `open_memmap` with mode `w+`. To choose the memory order, version or
    /// alignment, to make raw binary or a sparse file, or to replace a file, use
    /// [`CreateOptions::create`].
    ///
    /// The file is created under another name in the same directory, with all its
    /// space reserved, and renamed when it is complete. On an error no file is left.
    ///
    /// # Safety
    ///
    /// You promise that from the moment the file exists, until the array and
    /// everything obtained from it are dropped, no process truncates the file
    /// below the end of the array, changes elements while you borrow them, or
    /// reads them while you borrow them mutably. [`Source`](Source#safety)
    /// states the promise exactly.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if a descr cannot
    /// express the dtype, if the version cannot hold the header, or if the array
    /// has more than 64 axes or is larger than the address space. Returns
    /// [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if the file exists,
    /// [`NotFound`](crate::ErrorKind::NotFound) if the directory of `path` does not
    /// exist, and [`Io`](crate::ErrorKind::Io) if the file cannot be written or
    /// mapped, for example because the disk is full.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{DType, MappedArray};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("new.npy");
    /// // SAFETY: no other process knows of the file yet.
    /// let mut array = unsafe { MappedArray::create(&path, &DType::of::<f64>(), &[1000, 3])? };
    /// array.as_slice_mut::<f64>()?[0] = 1.0;
    /// array.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub unsafe fn create(
        path: impl AsRef<Path>,
        dtype: &DType,
        shape: &[usize],
    ) -> Result<MappedArrayMut> {
        // SAFETY: the caller's promise.
        unsafe { CreateOptions::new().create(path, dtype, shape) }
    }
}

impl CreateOptions {
    /// Creates a file of zeros with these options and opens it read-write, as
    /// [`MappedArray::create`] does.
    ///
    /// The file is created under another name in the same directory, with all its
    /// space reserved unless [`sparse`](CreateOptions::sparse) is set, and renamed
    /// when it is complete. On an error no file is left, and an existing file is
    /// not changed. The file gets the permissions, and where allowed the owner, of
    /// the file it replaces. With [`raw`](CreateOptions::raw) it has no header.
    ///
    /// # Safety
    ///
    /// You promise that from now on, until the array and everything obtained
    /// from it are dropped, no process truncates the file, changes elements
    /// while you borrow them, or reads them while you borrow them mutably.
    /// [`Source`](Source#safety) states the promise exactly.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if a descr cannot
    /// express the dtype, if the version cannot hold the header, or if the array
    /// has more than 64 axes or is larger than the address space. Returns
    /// [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if the file exists and
    /// the options do not allow you to overwrite it,
    /// [`NotFound`](crate::ErrorKind::NotFound) if the directory of `path` does not
    /// exist, and [`Io`](crate::ErrorKind::Io) if the file cannot be written or
    /// mapped, for example because the disk is full. Returns
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if bytes follow the elements of the
    /// `.npy` file that would be replaced, unless they are
    /// [discarded](CreateOptions::discard_trailing).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{CreateOptions, DType, Order};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("columns.npy");
    /// let options = CreateOptions::new().order(Order::F);
    /// // SAFETY: no other process knows of the file yet.
    /// let array = unsafe { options.create(&path, &DType::of::<f64>(), &[1000, 3])? };
    /// assert_eq!(array.byte_strides(), [8, 8000]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub unsafe fn create(
        &self,
        path: impl AsRef<Path>,
        dtype: &DType,
        shape: &[usize],
    ) -> Result<MappedArrayMut> {
        // SAFETY: the array consumes the source, as in `open`. The caller made the
        // promise for the file under its final name; until the file has that name,
        // no other process knows of it.
        self.create_with(path.as_ref(), dtype, shape, |file| unsafe { Source::map_mut_file(file) })
    }
}

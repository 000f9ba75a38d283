//! Arrays of files that are mapped by their path, in one call: all functions of
//! arrays that ask for the promise of [`Source`].
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
    /// The promise of [`Source`](Source#safety).
    ///
    /// # Errors
    ///
    /// As [`from_source`](MappedArray::from_source), and
    /// [`Unsupported`](crate::ErrorKind::Unsupported).
    pub unsafe fn open(path: impl AsRef<Path>) -> Result<MappedArray> {
        // SAFETY: the source goes into the array, so the promise that the
        // caller made for the array is for all that is obtained from it.
        MappedArray::from_source(unsafe { Source::map(path) }?)
    }
}

impl MappedArray<MapMut> {
    /// Opens a `.npy` file read-write: what is stored goes to the file.
    ///
    /// # Safety
    ///
    /// The promise of [`Source`](Source#safety).
    ///
    /// # Errors
    ///
    /// As [`open`](MappedArray::open).
    pub unsafe fn open_mut(path: impl AsRef<Path>) -> Result<MappedArrayMut> {
        // SAFETY: the source goes into the array, as in `open`.
        MappedArray::from_source(unsafe { Source::map_mut(path) }?)
    }

    /// Opens a `.npy` file copy-on-write: what is stored stays in memory. See
    /// [`Source::into_copy_on_write`].
    ///
    /// # Safety
    ///
    /// The promise of [`Source`](Source#safety).
    ///
    /// # Errors
    ///
    /// As [`open`](MappedArray::open).
    pub unsafe fn open_copy_on_write(path: impl AsRef<Path>) -> Result<MappedArrayMut> {
        // SAFETY: the source goes into the array, as in `open`.
        MappedArray::from_source(unsafe { Source::map(path) }?.into_copy_on_write())
    }

    /// Creates a `.npy` file of zeros and opens it read-write: NumPy's
    /// `open_memmap` with mode `w+`.
    ///
    /// The file is made under another name in the same directory, with all its
    /// space reserved unless [`sparse`](CreateOptions::sparse) is set, and
    /// renamed when it is whole; on an error nothing is left behind, and nothing
    /// of a file that was there is lost. Permissions, and the owner where that
    /// is allowed, are those of the file it replaces. With
    /// [`CreateOptions::raw`] it has no header.
    ///
    /// # Safety
    ///
    /// The promise of [`Source`](Source#safety), from the moment the file
    /// exists.
    ///
    /// # Errors
    ///
    /// Before anything is made: those of [`Header::new`](crate::Header::new) and
    /// [`Header::encode`](crate::Header::encode), and [`AlreadyExists`](crate::ErrorKind::AlreadyExists). After that
    /// [`Io`](crate::ErrorKind::Io), as when the disk is full, and [`Io`](crate::ErrorKind::Io).
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
        // SAFETY: the source goes into the array, as in `open`. The caller made
        // the promise for the file under its final name; until it has that,
        // nobody knows it.
        let map = |file| unsafe { Source::map_mut_file(file) };
        options.create(path.as_ref(), dtype, shape, map)
    }
}

//! Creates `.npy` files.
#![allow(unsafe_code)]

use std::io::Write as _;
use std::path::Path;

use super::{MappedArray, MappedArrayMut, Origin, Place};
use crate::dtype::DType;
use crate::error::{ErrorKind, Result};
use crate::file;
use crate::layout::Order;
use crate::map::MapMut;
use crate::mode::Mode;
use crate::npy::{Header, Version};
use crate::replace::Replacement;

/// How to create an array. Setters return it.
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
    pub(super) overwrite: bool,
}

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

    /// Lets the new file take the place of one that exists. That one isn't
    /// touched: who has it mapped or open keeps it.
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
    /// space reserved, and renamed when it is whole; on an error nothing is
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
    /// [`Header::encode`], and [`ErrorKind::Exists`]. After that
    /// [`ErrorKind::Io`], as when the disk is full, and [`ErrorKind::Map`].
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
    let mut header = Header::new(dtype.clone(), shape, options.order)?;
    let encoded = header.encode(options.version)?;
    header.version = encoded.version;
    header.data_offset = encoded.bytes.len();
    let place = Place::of(&header, 0)?;
    let end = place.end().ok_or_else(|| place.too_large())?;
    let new = Replacement::begin(path, options.overwrite)?;
    new.file().write_all(&encoded.bytes).map_err(ErrorKind::io("write the header"))?;
    file::reserve(new.file(), end).map_err(ErrorKind::io("reserve space"))?;

    // SAFETY: the caller promises it for the file under its final name; under
    // this one nobody knows it.
    let data = unsafe { MapMut::shared(new.file(), place.offset, place.layout.nbytes()) }?;
    let id = file::stat(new.file())?.id;
    new.commit()?;
    let mut origin = Origin::new(Some(path), Some(Mode::Create), &place);
    origin.id = id;
    Ok(MappedArray { layout: place.layout, data, origin })
}

//! Writes complete arrays, byte for byte as `numpy.save` does.

use std::io::{self, Write};
use std::path::Path;

use ndarray::{ArrayRef, ArrayView, Dimension};

use super::BLOCK;
use crate::dtype::DType;
use crate::element::fast_path::stored_bytes;
use crate::element::{Element, Typed};
use crate::error::invariant::{IN_BUFFER, Invariant};
use crate::error::{Result, SystemError};
use crate::layout::Order;
use crate::npy::{Encoded, Header, Version};
use crate::source::atomic;

/// Writes an array to a `.npy` file, as `numpy.save` does, and returns the format
/// version.
///
/// Arrays that are contiguous in Fortran order are written in that order, all
/// others in C order. An existing file is replaced atomically; see
/// [`WriteOptions::write`]. Use that also for types that don't determine their
/// dtype.
///
/// # Errors
///
/// As [`WriteOptions::write`].
///
/// # Examples
///
/// ```
/// use npymap::ndarray::{Array2, array};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("table.npy");
/// npymap::write_npy(&path, &array![[1.5_f32, 2.0], [3.0, 4.0]])?;
/// let table: Array2<f32> = npymap::read_npy(&path)?;
/// assert_eq!(table[[0, 0]], 1.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_npy<T: Element + Typed, D: Dimension>(
    path: impl AsRef<Path>,
    array: &ArrayRef<T, D>,
) -> Result<Version> {
    WriteOptions::new(T::dtype()).write(path, array)
}

/// Writes an array to any writer, as [`write_npy`] does to a file.
///
/// # Errors
///
/// As [`WriteOptions::write_to`].
///
/// # Examples
///
/// ```
/// use npymap::{Header, ndarray::arr0};
///
/// let mut bytes = Vec::new();
/// npymap::write::write_npy_to(&mut bytes, &arr0(true))?;
/// assert_eq!(Header::parse(&bytes)?.dtype.to_string(), "'|b1'");
/// # Ok::<(), npymap::Error>(())
/// ```
pub fn write_npy_to<T: Element + Typed, D: Dimension>(
    to: impl Write,
    array: &ArrayRef<T, D>,
) -> Result<Version> {
    WriteOptions::new(T::dtype()).write_to(to, array)
}

/// Options for writing an array: its dtype, the format version, and whether to
/// wait for the disk.
///
/// # Examples
///
/// ```
/// use npymap::{Header, ndarray::array, write::WriteOptions};
///
/// let words = array!["one".to_owned(), "zwölf".to_owned()];
/// let mut bytes = Vec::new();
/// WriteOptions::new(">U5".parse()?).write_to(&mut bytes, &words)?;
/// assert_eq!(Header::parse(&bytes)?.dtype.to_string(), "'>U5'");
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct WriteOptions {
    dtype: DType,
    version: Option<Version>,
    sync: bool,
}

impl WriteOptions {
    /// Stores elements as `dtype`, in the oldest format version that can represent
    /// the header.
    pub fn new(dtype: DType) -> WriteOptions {
        WriteOptions { dtype, version: None, sync: false }
    }

    /// Sets the format version. Writing fails if it cannot represent the header.
    pub fn version(self, version: Version) -> WriteOptions {
        WriteOptions { version: Some(version), ..self }
    }

    /// Waits until the file and its name are on the disk.
    pub fn sync(self, sync: bool) -> WriteOptions {
        WriteOptions { sync, ..self }
    }

    /// Writes an array to a file and returns the format version.
    ///
    /// The file replaces an existing one when it is complete: programs that have
    /// the old file open or mapped keep using it, and an error leaves it
    /// unchanged. The new file gets the permissions of the old one, and its owner
    /// if the system allows it; symbolic links are followed. Pipes, devices and
    /// names such as `/dev/stdout` are written directly. See
    /// [`AtomicFile`](crate::source::AtomicFile).
    ///
    /// # Errors
    ///
    /// Before a file is created: [`WrongDType`](crate::ErrorKind::WrongDType)
    /// when `T` cannot be stored as the dtype, those of [`Header::new`] and
    /// [`Header::encode`]. After that
    /// [`InvalidValue`](crate::ErrorKind::InvalidValue) for text that is too
    /// long, and [`Io`](crate::ErrorKind::Io).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{ndarray::arr1, npy::Version, write::WriteOptions};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("big-endian.npy");
    /// let version = WriteOptions::new(">i4".parse()?)
    ///     .version(Version::V2)
    ///     .sync(true)
    ///     .write(&path, &arr1(&[1_i32, 256]))?;
    /// assert_eq!(version, Version::V2);
    /// assert!(std::fs::read(&path)?.ends_with(&[0, 0, 0, 1, 0, 0, 1, 0]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write<T: Element, D: Dimension>(
        &self,
        path: impl AsRef<Path>,
        array: &ArrayRef<T, D>,
    ) -> Result<Version> {
        let path = path.as_ref();
        self.replace_file(path, array).map_err(|error| error.with_path(path))
    }

    fn replace_file<T: Element, D: Dimension>(
        &self,
        path: &Path,
        array: &ArrayRef<T, D>,
    ) -> Result<Version> {
        let array = ArrayWriter::new(array, self)?;
        atomic::write(path, self.sync, |file, _| array.write(file))?;
        Ok(array.header.version)
    }

    /// The lengths of the header and of the elements if `array` were written.
    #[cfg(feature = "npz")]
    pub(crate) fn lengths<T: Element, D: Dimension>(
        &self,
        array: &ArrayRef<T, D>,
    ) -> Result<(usize, usize)> {
        let nbytes = self.dtype.itemsize().saturating_mul(array.len());
        Ok((ArrayWriter::new(array, self)?.header.bytes.len(), nbytes))
    }

    /// Writes an array to any writer and returns the format version. Several
    /// arrays may follow one another.
    ///
    /// # Errors
    ///
    /// As [`write`](WriteOptions::write). After an error, the writer may have
    /// received a part of the array.
    pub fn write_to<T: Element, D: Dimension>(
        &self,
        to: impl Write,
        array: &ArrayRef<T, D>,
    ) -> Result<Version> {
        let array = ArrayWriter::new(array, self)?;
        array.write(to)?;
        Ok(array.header.version)
    }
}

/// Writes an array whose type was checked against the dtype.
struct ArrayWriter<'a, T: Element, D> {
    header: Encoded,
    dtype: DType,
    codec: T::Codec,
    /// Elements in the order of the file.
    elements: ArrayView<'a, T, D>,
}

impl<'a, T: Element, D: Dimension> ArrayWriter<'a, T, D> {
    fn new(array: &'a ArrayRef<T, D>, options: &WriteOptions) -> Result<ArrayWriter<'a, T, D>> {
        let codec = T::codec(&options.dtype)?;
        let is_fortran = !array.is_standard_layout() && array.t().is_standard_layout();
        let (order, elements) =
            if is_fortran { (Order::F, array.t()) } else { (Order::C, array.view()) };
        let header = Header::new(options.dtype.clone(), array.shape(), order)?;
        let (dtype, header) = (header.dtype.clone(), header.encode(options.version)?);
        Ok(ArrayWriter { header, dtype, codec, elements })
    }

    fn write(&self, mut to: impl Write) -> Result<()> {
        to.write_all(&self.header.bytes).map_err(SystemError::io("write the header"))?;
        let slice = self.elements.as_slice();
        let stored =
            slice.map(|slice| stored_bytes(&self.codec, &self.dtype, slice)).transpose()?;
        match (slice, stored.flatten()) {
            (_, Some(bytes)) => to.write_all(bytes).map_err(write_error())?,
            (Some(slice), None) => self.encode(slice.iter(), &mut to)?,
            (None, None) => self.encode(self.elements.iter(), &mut to)?,
        }
        to.flush().map_err(write_error())
    }

    /// Encodes all elements, one block at a time.
    fn encode<'v>(
        &self,
        mut values: impl Iterator<Item = &'v T>,
        to: &mut impl Write,
    ) -> Result<()> {
        let size = self.dtype.itemsize();
        if size == 0 {
            return values.try_for_each(|value| value.encode(&self.codec, &mut []));
        }
        let count = (BLOCK / size).min(self.elements.len()).max(1);
        let mut block = vec![0; count * size];
        loop {
            let mut filled = 0;
            for (bytes, value) in block.chunks_exact_mut(size).zip(&mut values) {
                value.encode(&self.codec, bytes)?;
                filled += size;
            }
            to.write_all(block.get(..filled).invariant(IN_BUFFER)).map_err(write_error())?;
            if filled < block.len() {
                return Ok(());
            }
            // Encoding skips padding, which must be zero.
            block.fill(0);
        }
    }
}

fn write_error() -> impl FnOnce(io::Error) -> crate::error::Error {
    SystemError::io("write the elements")
}

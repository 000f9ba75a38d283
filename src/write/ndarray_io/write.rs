//! Writes whole arrays, byte for byte as `numpy.save` does.

use std::io::{self, Write};
use std::path::Path;

use ndarray::{ArrayRef, ArrayView, Dimension};

use super::BLOCK;
use crate::dtype::DType;
use crate::element::fast_path::FastPath as _;
use crate::element::{Element, Typed};
use crate::error::invariant::{IN_BUFFER, Invariant};
use crate::error::{Result, SystemError};
use crate::layout::Order;
use crate::npy::{Encoded, Header, Version};
use crate::source::atomic;

/// Writes an array to a `.npy` file, as `numpy.save` does, and tells the
/// version it has.
///
/// Arrays in Fortran order are written so, those whose elements don't lie
/// together in C order. A file that is there is replaced whole; see
/// [`WriteOptions::write`], also for types that don't determine their dtype.
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

/// How to write an array: as which dtype, and more. Setters return it; verbs
/// end it.
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
    /// Elements are stored as `dtype`, in the first version of the format that
    /// can say it.
    pub fn new(dtype: DType) -> WriteOptions {
        WriteOptions { dtype, version: None, sync: false }
    }

    /// The version of the format; never exchanged for another.
    pub fn version(self, version: Version) -> WriteOptions {
        WriteOptions { version: Some(version), ..self }
    }

    /// Waits until the file and its name are on the disk.
    pub fn sync(self, sync: bool) -> WriteOptions {
        WriteOptions { sync, ..self }
    }

    /// Writes an array to a file and tells the version it has.
    ///
    /// The file is made under another name in the same directory and renamed
    /// when it is whole, so that whoever has the old one open or mapped keeps
    /// it, and an error leaves it as it was. Its permissions are kept, and its
    /// owner where that is allowed; symbolic links are followed. Pipes,
    /// devices and names such as `/dev/stdout` are written straight.
    ///
    /// # Errors
    ///
    /// Before anything is made: [`WrongDType`](crate::ErrorKind::WrongDType)
    /// when `T` is no such dtype, those of [`Header::new`] and
    /// [`Header::encode`]. After that
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) for text that is too
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
        let whole = |path| {
            let array = ArrayWriter::new(array, self)?;
            atomic::write(path, self.sync, |file| array.write(file))?;
            Ok(array.header.version)
        };
        whole(path).map_err(|error: crate::error::Error| error.with_path(path))
    }

    /// Bytes before the elements of an array that would be written.
    #[cfg(feature = "npz")]
    pub(crate) fn header_len<T: Element, D: Dimension>(
        &self,
        array: &ArrayRef<T, D>,
    ) -> Result<usize> {
        Ok(ArrayWriter::new(array, self)?.header.bytes.len())
    }

    /// Writes an array to any writer and tells the version it has. Several
    /// arrays may follow one another.
    ///
    /// # Errors
    ///
    /// As [`write`](WriteOptions::write). The writer may have got a part.
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

/// An array that can be written as asked.
struct ArrayWriter<'a, T: Element, D> {
    header: Encoded,
    codec: T::Codec,
    itemsize: usize,
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
        let (header, itemsize) = (header.encode(options.version)?, header.dtype.itemsize());
        Ok(ArrayWriter { header, codec, itemsize, elements })
    }

    fn write(&self, mut to: impl Write) -> Result<()> {
        to.write_all(&self.header.bytes).map_err(SystemError::io("write the header"))?;
        let slice = self.elements.as_slice();
        match slice.map(|slice| (slice, T::fast_path().bytes_of(&self.codec, slice))) {
            Some((_, Some(bytes))) => to.write_all(bytes).map_err(write_error())?,
            Some((slice, None)) => self.encode(slice.iter(), &mut to)?,
            None => self.encode(self.elements.iter(), &mut to)?,
        }
        to.flush().map_err(write_error())
    }

    /// Encodes all elements, a block at a time.
    fn encode<'v>(
        &self,
        mut values: impl Iterator<Item = &'v T>,
        to: &mut impl Write,
    ) -> Result<()> {
        let size = self.itemsize;
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
            // Padding that no field is written to stays zero.
            block.fill(0);
        }
    }
}

fn write_error() -> impl FnOnce(io::Error) -> crate::error::Error {
    SystemError::io("write the elements")
}

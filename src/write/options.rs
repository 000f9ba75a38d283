//! Writes complete arrays, byte for byte as `numpy.save` does.

use std::io::Write;
use std::path::Path;

use super::Save;
use crate::array::{WriteMode, with_path_in_errors, write_file};
use crate::error::{IoContext as _, Result};
use crate::layout::Order;
use crate::npy::{Encoded, Version};

/// Writes complete arrays to `.npy` files and streams, like `numpy.save`, but
/// with options such as the format version.
///
/// An array that is contiguous in Fortran order is written in that order, any other in
/// C order. The dtype comes from the array, or from the Rust type of its elements. To choose
/// it yourself, use [`WithDType`](crate::write::WithDType).
///
/// # Examples
///
/// ```
/// use npymap::ndarray::{Array2, array};
/// use npymap::{OpenOptions, WriteOptions};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("table.npy");
/// WriteOptions::new().write(&path, &array![[1.5_f32, 2.0], [3.0, 4.0]])?;
/// let table: Array2<f32> = OpenOptions::new().read_ndarray(&path)?;
/// assert_eq!(table[[0, 0]], 1.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct WriteOptions {
    version: Option<Version>,
    mode: WriteMode,
}

impl WriteOptions {
    /// Returns the defaults: the oldest format version that can represent the header,
    /// and no wait for the disk.
    #[inline]
    pub fn new() -> WriteOptions {
        WriteOptions::default()
    }

    /// Sets the format version. Writing fails if it cannot represent the header.
    #[inline]
    pub fn version(self, version: Version) -> WriteOptions {
        WriteOptions { version: Some(version), ..self }
    }

    /// Waits until the file and its name are on the disk.
    #[inline]
    pub fn sync(self, sync: bool) -> WriteOptions {
        WriteOptions { mode: WriteMode { sync, ..self.mode }, ..self }
    }

    /// Drops whatever follows the elements of the previous file: rows of a
    /// writer that died, or another array. Otherwise, writing returns an error,
    /// because [`recover`](crate::write::RecoverOptions::recover) can keep these rows.
    #[inline]
    pub fn discard_trailing(self, discard: bool) -> WriteOptions {
        WriteOptions { mode: WriteMode { discards: discard, ..self.mode }, ..self }
    }

    /// Writes an array to a file and returns the format version.
    ///
    /// The new file replaces an existing file once it is complete. Programs that have
    /// the previous file open or mapped keep using it, and an error leaves it
    /// unchanged. The new file gets the permissions of the previous file, and its owner
    /// if the system allows it; symbolic links are followed. Pipes, devices and
    /// names such as `/dev/stdout` are written directly. See
    /// [`AtomicFile`](crate::source::AtomicFile).
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if elements cannot be
    /// stored as the dtype, and [`InvalidInput`](crate::ErrorKind::InvalidInput) if
    /// a descr cannot express it or the version cannot hold the header. Returns
    /// [`NotFound`](crate::ErrorKind::NotFound) if the directory of `path` does not
    /// exist. These are checked before a file is created. Returns
    /// [`InvalidValue`](crate::ErrorKind::InvalidValue) for text that is too long,
    /// and [`Io`](crate::ErrorKind::Io) if writing fails. An existing file is then
    /// unchanged. Returns [`Corrupt`](crate::ErrorKind::Corrupt) if bytes follow
    /// the elements of the `.npy` file that would be replaced, unless they are
    /// [discarded](WriteOptions::discard_trailing).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{WriteOptions, write::WithDType};
    /// use npymap::{ndarray::arr1, npy::Version};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("big-endian.npy");
    /// let version = WriteOptions::new()
    ///     .version(Version::V2)
    ///     .sync(true)
    ///     .write(&path, &WithDType::new(&arr1(&[1_i32, 256]), ">i4".parse()?))?;
    /// assert_eq!(version, Version::V2);
    /// assert!(std::fs::read(&path)?.ends_with(&[0, 0, 0, 1, 0, 0, 1, 0]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write(&self, path: impl AsRef<Path>, array: &dyn Save) -> Result<Version> {
        with_path_in_errors(path.as_ref(), |path| {
            let header = array.header()?;
            let encoded = header.encode(self.version)?;
            write_file(path, self.mode, |mut file, _| {
                write(&mut file, &encoded, header.order, array)
            })?;
            Ok(encoded.version)
        })
    }

    /// Writes an array to any writer and returns the format version. Several
    /// arrays may follow one another.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if elements cannot be
    /// stored as the dtype, and [`InvalidInput`](crate::ErrorKind::InvalidInput) if
    /// a descr cannot express it or the version cannot hold the header. Returns
    /// [`InvalidValue`](crate::ErrorKind::InvalidValue) for text that is too long,
    /// and [`Io`](crate::ErrorKind::Io) if the writer fails, which may then have
    /// received a part of the array.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{Header, WriteOptions, ndarray::arr0};
    ///
    /// let mut bytes = Vec::new();
    /// WriteOptions::new().write_to(&mut bytes, &arr0(true))?;
    /// assert_eq!(Header::parse(&bytes)?.dtype.to_string(), "'|b1'");
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn write_to(&self, mut to: impl Write, array: &dyn Save) -> Result<Version> {
        let header = array.header()?;
        let encoded = header.encode(self.version)?;
        write(&mut to, &encoded, header.order, array)?;
        Ok(encoded.version)
    }
}

/// Writes an array whose header was encoded.
#[inline]
fn write(to: &mut dyn Write, header: &Encoded, order: Order, array: &dyn Save) -> Result<()> {
    to.write_all(&header.bytes).context("write the header")?;
    array.write_elements(order, to)?;
    to.flush().context("write the elements")
}

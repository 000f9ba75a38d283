//! Whole archives in one call.

use std::io::Write;
use std::path::Path;

use ndarray::{Array, ArrayRef, Dimension};

use super::writer::{Compression, NpzWriter};
use crate::array::{MappedArray, on};
use crate::element::{Element, Typed};
use crate::error::{ErrorKind, Result};
use crate::layout::Order;
use crate::npy::{Encoded, Header};
use crate::replace;
use crate::whole::WriteOptions;

/// An array that can be a member of an archive: a [`MappedArray`] of any
/// dtype, or an ndarray array. Sealed.
pub trait Save: private::Sealed {
    /// Bytes before its elements.
    ///
    /// # Errors
    ///
    /// Those of [`Header::new`].
    fn header_len(&self) -> Result<usize>;

    /// Writes header and elements, as `numpy.save` does.
    ///
    /// # Errors
    ///
    /// Those of [`Header::new`], [`ErrorKind::Io`].
    fn write_npy(&self, to: &mut dyn Write) -> Result<()>;
}

mod private {
    use super::{Array, ArrayRef, Dimension, Element, MappedArray, Typed};

    pub trait Sealed {}
    impl<D: AsRef<[u8]>> Sealed for MappedArray<D> {}
    impl<T: Element + Typed, D: Dimension> Sealed for ArrayRef<T, D> {}
    impl<T: Element + Typed, D: Dimension> Sealed for Array<T, D> {}
}

impl<D: AsRef<[u8]>> Save for MappedArray<D> {
    fn header_len(&self) -> Result<usize> {
        Ok(encoded(self)?.bytes.len())
    }

    fn write_npy(&self, to: &mut dyn Write) -> Result<()> {
        to.write_all(&encoded(self)?.bytes).map_err(ErrorKind::io("write the header"))?;
        to.write_all(self.as_bytes()?).map_err(ErrorKind::io("write the elements"))
    }
}

fn encoded<D>(array: &MappedArray<D>) -> Result<Encoded> {
    let order = if array.layout().is_c_contiguous() { Order::C } else { Order::F };
    Header::new(array.dtype().clone(), array.shape(), order)?.encode(None)
}

impl<T: Element + Typed, D: Dimension> Save for ArrayRef<T, D> {
    fn header_len(&self) -> Result<usize> {
        WriteOptions::new(T::dtype()).header_len(self)
    }

    fn write_npy(&self, to: &mut dyn Write) -> Result<()> {
        WriteOptions::new(T::dtype()).write_to(to, self).map(drop)
    }
}

impl<T: Element + Typed, D: Dimension> Save for Array<T, D> {
    fn header_len(&self) -> Result<usize> {
        let array: &ArrayRef<T, D> = self;
        array.header_len()
    }

    fn write_npy(&self, to: &mut dyn Write) -> Result<()> {
        let array: &ArrayRef<T, D> = self;
        array.write_npy(to)
    }
}

/// Writes arrays to an `.npz` archive, stored as they are: `numpy.savez`. What
/// is at `path` is replaced when the archive is whole.
///
/// # Errors
///
/// As [`NpzWriter::write`].
///
/// # Examples
///
/// ```
/// use npymap::ndarray::{arr1, arr2};
/// use npymap::{Npz, npz};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("arrays.npz");
/// npz::savez(&path, &[("x", &arr1(&[0.5_f32])), ("y", &arr2(&[[1_i64, 2]]))])?;
/// assert_eq!(Npz::read(&path)?.get("y")?.as_slice::<i64>()?, [1, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn savez(path: impl AsRef<Path>, arrays: &[(&str, &dyn Save)]) -> Result<()> {
    save(path.as_ref(), arrays, Compression::Stored)
}

/// Writes arrays to an `.npz` archive, deflated: `numpy.savez_compressed`.
///
/// # Errors
///
/// As [`savez`].
pub fn savez_compressed(path: impl AsRef<Path>, arrays: &[(&str, &dyn Save)]) -> Result<()> {
    save(path.as_ref(), arrays, Compression::Deflated(6))
}

fn save(path: &Path, arrays: &[(&str, &dyn Save)], compression: Compression) -> Result<()> {
    let written = |path: &Path| {
        replace::write(path, false, |file| {
            let mut writer = NpzWriter::new(file);
            writer.compression(compression);
            for (name, array) in arrays {
                writer.write(name, *array)?;
            }
            writer.into_inner().map(drop)
        })
    };
    on(path, written)
}

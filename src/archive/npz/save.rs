//! The trait of arrays that can be written to an archive.

use std::io::Write;

use ndarray::{Array, ArrayRef, Dimension};

use crate::array::MappedArray;
use crate::element::{Element, Typed};
use crate::error::{Result, SystemError};
use crate::layout::Order;
use crate::npy::{Encoded, Header};
use crate::write::ndarray_io::WriteOptions;

/// An array that can be written to an archive: a [`MappedArray`] of any dtype,
/// or an ndarray array. This trait is sealed.
///
/// # Examples
///
/// ```
/// use npymap::ndarray::Array2;
/// use npymap::{MappedArray, npz};
///
/// let penguins = MappedArray::read("data/penguins.npy")?;
/// let weights = Array2::<f32>::zeros((3, 4));
/// let arrays: [(&str, &dyn npz::Save); 2] = [("penguins", &penguins), ("weights", &weights)];
/// let directory = tempfile::tempdir()?;
/// npz::savez(directory.path().join("both.npz"), &arrays)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Save: private::SealedSave {
    /// The length of the header in bytes.
    ///
    /// # Errors
    ///
    /// Those of [`Header::new`].
    fn header_len(&self) -> Result<usize>;

    /// The size of all elements in bytes; `usize::MAX` if it is too large.
    fn nbytes(&self) -> usize;

    /// Writes the header and the elements, as `numpy.save` does: exactly as many bytes as
    /// the two lengths say.
    ///
    /// # Errors
    ///
    /// Those of [`Header::new`], [`Io`](crate::ErrorKind::Io).
    fn write_npy(&self, to: &mut dyn Write) -> Result<()>;
}

mod private {
    use super::{Array, ArrayRef, Dimension, Element, MappedArray, Typed};

    pub trait SealedSave {}
    impl<D: AsRef<[u8]>> SealedSave for MappedArray<D> {}
    impl<T: Element + Typed, D: Dimension> SealedSave for ArrayRef<T, D> {}
    impl<T: Element + Typed, D: Dimension> SealedSave for Array<T, D> {}
}

impl<D: AsRef<[u8]>> Save for MappedArray<D> {
    fn header_len(&self) -> Result<usize> {
        Ok(encode_header(self)?.bytes.len())
    }

    fn nbytes(&self) -> usize {
        MappedArray::nbytes(self)
    }

    fn write_npy(&self, to: &mut dyn Write) -> Result<()> {
        to.write_all(&encode_header(self)?.bytes).map_err(SystemError::io("write the header"))?;
        to.write_all(self.as_bytes()?).map_err(SystemError::io("write the elements"))
    }
}

fn encode_header<D>(array: &MappedArray<D>) -> Result<Encoded> {
    let order = if array.layout().is_c_contiguous() { Order::C } else { Order::F };
    Header::new(array.dtype().clone(), array.shape(), order)?.encode(None)
}

impl<T: Element + Typed, D: Dimension> Save for ArrayRef<T, D> {
    fn header_len(&self) -> Result<usize> {
        WriteOptions::new(T::dtype()).lengths(self).map(|(header_len, _)| header_len)
    }

    fn nbytes(&self) -> usize {
        T::dtype().itemsize().saturating_mul(self.len())
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

    fn nbytes(&self) -> usize {
        let array: &ArrayRef<T, D> = self;
        array.nbytes()
    }

    fn write_npy(&self, to: &mut dyn Write) -> Result<()> {
        let array: &ArrayRef<T, D> = self;
        array.write_npy(to)
    }
}

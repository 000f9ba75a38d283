//! The arrays that can be written complete, byte for byte as `numpy.save` does.

use std::io::Write;

use ndarray::{ArrayBase, ArrayRef, ArrayView, Data, Dimension};

use super::BLOCK;
use crate::array::{InParts, MappedArray};
use crate::dtype::DType;
use crate::element::fast_path::stored_bytes;
use crate::element::{Element, Typed};
use crate::error::invariant::{IN_BUFFER, Invariant};
use crate::error::{IoContext as _, Result, SystemError};
use crate::layout::Order;
use crate::npy::Header;

/// An array that can be written to a file or an archive: a [`MappedArray`] of any
/// dtype, an ndarray array or view, or one [with a dtype](WithDType). This trait is
/// sealed.
///
/// # Examples
///
/// ```
/// use npymap::ndarray::Array2;
/// use npymap::{WriteOptions, write::Save};
/// use npymap::MappedArray;
///
/// let penguins = MappedArray::load("data/penguins.npy")?;
/// let weights = Array2::<f32>::zeros((3, 4));
/// let arrays: [&dyn Save; 2] = [&penguins, &weights];
/// let mut stream = Vec::new();
/// for array in arrays {
///     WriteOptions::new().write_to(&mut stream, array)?;
/// }
/// assert_eq!(stream.len(), 128 + 342 * 4 * 8 + 128 + 3 * 4 * 4);
/// # Ok::<(), npymap::Error>(())
/// ```
pub trait Save: sealed::Save {}

pub(crate) mod sealed {
    use super::{Header, Order, Result, Write};

    /// What writers need to know of an array.
    pub trait Save {
        /// The header of a `.npy` file of the array, whose elements can be stored.
        fn header(&self) -> Result<Header>;

        /// Writes all elements in the order of the header, or in C order.
        fn write_elements(&self, order: Order, to: &mut dyn Write) -> Result<()>;
    }
}

impl<D: AsRef<[u8]>> Save for MappedArray<D> {}

impl<D: AsRef<[u8]>> sealed::Save for MappedArray<D> {
    fn header(&self) -> Result<Header> {
        let order = if self.layout().is_c_contiguous() { Order::C } else { Order::F };
        Header::new(self.dtype().clone(), self.shape(), order)
    }

    fn write_elements(&self, order: Order, to: &mut dyn Write) -> Result<()> {
        let written = if order == Order::F || self.layout().is_c_contiguous() {
            to.write_all(self.as_bytes()?)
        } else {
            self.dyn_view()?.byte_blocks().try_for_each(|block| to.write_all(block))
        };
        written.context("write the elements").map_err(SystemError::of_map(self.path()))
    }
}

impl Save for InParts<'_> {}

impl sealed::Save for InParts<'_> {
    #[inline]
    fn header(&self) -> Result<Header> {
        sealed::Save::header(self.0)
    }

    #[inline]
    fn write_elements(&self, order: Order, to: &mut dyn Write) -> Result<()> {
        let mut all = self.0.outline();
        if order == Order::F {
            all = all.with(all.view.memory_order());
        }
        let written = self.0.for_each_window(&all, |part| {
            let blocks = part.byte_blocks().try_for_each(|block| to.write_all(block));
            blocks.context("write the elements")
        });
        written.map_err(SystemError::of_map(self.0.path()))
    }
}

impl<S: Data<Elem: Element + Typed>, D: Dimension> Save for ArrayBase<S, D> {}

impl<S: Data<Elem: Element + Typed>, D: Dimension> sealed::Save for ArrayBase<S, D> {
    fn header(&self) -> Result<Header> {
        WithDType::new(self, S::Elem::dtype()).header()
    }

    fn write_elements(&self, order: Order, to: &mut dyn Write) -> Result<()> {
        WithDType::new(self, S::Elem::dtype()).write_elements(order, to)
    }
}

/// An ndarray array to be stored with a given dtype: in another byte order, or of a
/// type that does not determine its dtype, such as `String`.
///
/// # Examples
///
/// ```
/// use npymap::{WriteOptions, write::WithDType};
/// use npymap::{Header, ndarray::array};
///
/// let words = array!["one".to_owned(), "zwölf".to_owned()];
/// let mut bytes = Vec::new();
/// WriteOptions::new().write_to(&mut bytes, &WithDType::new(&words, ">U5".parse()?))?;
/// assert_eq!(Header::parse(&bytes)?.dtype.to_string(), "'>U5'");
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Debug)]
pub struct WithDType<'a, T, D: Dimension> {
    array: &'a ArrayRef<T, D>,
    dtype: DType,
}

impl<'a, T: Element, D: Dimension> WithDType<'a, T, D> {
    /// Stores the elements of `array` as `dtype`, which is checked when they are
    /// written.
    pub fn new(array: &'a ArrayRef<T, D>, dtype: DType) -> WithDType<'a, T, D> {
        WithDType { array, dtype }
    }

    /// The header, if the elements can be stored as the dtype.
    fn checked(&self) -> Result<(T::Codec, Header)> {
        let codec = T::codec(&self.dtype)?;
        let is_fortran = !self.array.is_standard_layout() && self.array.t().is_standard_layout();
        let order = if is_fortran { Order::F } else { Order::C };
        Ok((codec, Header::new(self.dtype.clone(), self.array.shape(), order)?))
    }
}

impl<T: Element, D: Dimension> Save for WithDType<'_, T, D> {}

impl<T: Element, D: Dimension> sealed::Save for WithDType<'_, T, D> {
    fn header(&self) -> Result<Header> {
        Ok(self.checked()?.1)
    }

    fn write_elements(&self, order: Order, to: &mut dyn Write) -> Result<()> {
        let (codec, Header { dtype, .. }) = self.checked()?;
        let elements: ArrayView<'_, T, D> = match order {
            Order::F => self.array.t(),
            Order::C => self.array.view(),
        };
        let Some(slice) = elements.as_slice() else {
            return encode(elements.iter(), &codec, &dtype, to);
        };
        match stored_bytes(&codec, &dtype, slice)? {
            Some(bytes) => to.write_all(bytes).context("write the elements"),
            None => encode(slice.iter(), &codec, &dtype, to),
        }
    }
}

/// Encodes and writes elements, one block at a time.
fn encode<'v, T: Element>(
    mut values: impl ExactSizeIterator<Item = &'v T>,
    codec: &T::Codec,
    dtype: &DType,
    to: &mut dyn Write,
) -> Result<()> {
    let size = dtype.itemsize();
    if size == 0 {
        return values.try_for_each(|value| value.encode(codec, &mut []));
    }
    let count = (BLOCK / size).min(values.len()).max(1);
    let mut block = vec![0; count * size];
    loop {
        let mut filled = 0;
        for (bytes, value) in block.chunks_exact_mut(size).zip(&mut values) {
            value.encode(codec, bytes)?;
            filled += size;
        }
        to.write_all(block.get(..filled).invariant(IN_BUFFER)).context("write the elements")?;
        if filled < block.len() {
            return Ok(());
        }
        // Encoding skips padding, which must be zero.
        block.fill(0);
    }
}

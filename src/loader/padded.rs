//! Rows of different lengths as rows of equal length.

use std::ops::Range;

use super::gather;
use super::ragged::Ragged;
use super::row_source::RowSource;
use super::windows::check_shape;
use crate::dtype::DType;
use crate::element::cast::{Casting, Number};
use crate::error::Result;
use crate::error::invariant::Invariant;

/// A [`RowSource`] with the rows of a [`Ragged`] array, padded or truncated to
/// one length. [`Ragged::padded`] returns it.
///
/// [`Ragged::spans`] has the original lengths.
///
/// # Examples
///
/// See [`Ragged::padded`].
#[derive(Clone, Debug)]
pub struct Padded {
    ragged: Ragged,
    shape: Vec<usize>,
    dtype: DType,
    pad: Vec<u8>,
}

impl Ragged {
    /// Returns the rows cast to `U` as `Casting::SameKind` allows, each with a
    /// length of `width`: shorter rows are padded with `pad`, and longer rows
    /// are truncated. The result is a [`RowSource`], so code that is generic
    /// over sources takes it. Elements are copied only when you take rows.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the cast is not
    /// allowed. Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) for
    /// more than 64 axes, or more elements than `isize::MAX`.
    ///
    /// # Examples
    ///
    /// Tokens as `i64`, and -100 where there are none:
    ///
    /// ```
    /// use npymap::{MappedArray, RowSource as _, loader::Ragged};
    ///
    /// let mut tokens = MappedArray::zeros(&"<u2".parse()?, &[5])?;
    /// tokens.view_mut::<u16>()?.copy_from_slice(&[1, 2, 3, 4, 5])?;
    /// let mut offsets = MappedArray::zeros(&"<i8".parse()?, &[3])?;
    /// offsets.view_mut::<i64>()?.copy_from_slice(&[0, 3, 5])?;
    /// let [tokens, offsets] = [tokens.into_read_only()?, offsets.into_read_only()?];
    ///
    /// let texts = Ragged::new(tokens.rows()?, offsets.rows()?)?.padded(4, &-100_i64)?;
    /// assert_eq!(texts.shape(), [2, 4]);
    /// let mut batch = [0_i64; 2 * 4];
    /// texts.take(&[1, 0], &mut batch)?;
    /// assert_eq!(batch, [4, 5, -100, -100, 1, 2, 3, -100]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn padded<U: Number>(&self, width: usize, pad: &U) -> Result<Padded> {
        let dtype = U::dtype();
        let mut bytes = vec![0; dtype.itemsize()];
        pad.encode(&U::codec(&dtype)?, &mut bytes)?;
        self.check_cast(&bytes, &dtype, Casting::SameKind)?;
        let item = self.data.shape().iter().skip(1).copied();
        let shape = [self.row_count(), width].into_iter().chain(item).collect();
        let shape = check_shape(shape, &dtype)?;
        Ok(Padded { ragged: self.clone(), shape, dtype, pad: bytes })
    }
}

impl RowSource for Padded {
    #[inline]
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    #[inline]
    fn shape(&self) -> &[usize] {
        &self.shape
    }

    #[inline]
    fn read_ranges(&self, ranges: &[Range<usize>], out: &mut [u8]) -> Result<()> {
        let rows = gather::rows_in(self, ranges, out)?;
        let width = *self.shape.get(1).invariant("padded rows have a length");
        let (pad, dtype) = (&self.pad, &self.dtype);
        self.ragged.take_padded_bytes_as(&rows, out, width, pad, dtype, Casting::SameKind)?;
        Ok(())
    }
}

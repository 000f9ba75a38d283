//! Rows of different lengths as rows of equal length.

use std::ops::Range;

use super::gather;
use super::ragged::Ragged;
use super::row_source::RowSource;
use super::windows::check_shape;
use crate::dtype::DType;
use crate::element::cast::{Casting, Number};
use crate::error::Result;

/// The rows of a [`Ragged`] array padded or truncated to one length, as a
/// [`RowSource`]: made by [`Ragged::padded`] and [`Ragged::padded_bytes`].
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
    casting: Casting,
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
        self.padded_bytes(width, &bytes, &dtype, Casting::SameKind)
    }

    /// Like [`padded`](Ragged::padded), for any dtype and any cast: `pad` is
    /// one element of `dtype`.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the cast is not
    /// allowed, and [`InvalidInput`](crate::ErrorKind::InvalidInput) if `pad`
    /// is not one element, for more than 64 axes, or for more elements than
    /// `isize::MAX`. Taking rows returns errors for values that cannot be cast.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, RowSource as _, element::Casting, loader::Ragged};
    ///
    /// let mut offsets = MappedArray::zeros(&"<i8".parse()?, &[3])?;
    /// offsets.view_mut::<i64>()?.copy_from_slice(&[0, 1, 3])?;
    /// let words = MappedArray::zeros(&"|S2".parse()?, &[3])?;
    /// let [words, offsets] = [words.into_read_only()?, offsets.into_read_only()?];
    ///
    /// let texts = Ragged::new(words.rows()?, offsets.rows()?)?;
    /// let texts = texts.padded_bytes(3, b"..", &"|S2".parse()?, Casting::No)?;
    /// let mut batch = [0; 3 * 2];
    /// texts.take_bytes(&[0], &mut batch)?;
    /// assert_eq!(&batch, b"\0\0....");
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[inline]
    pub fn padded_bytes(
        &self,
        width: usize,
        pad: &[u8],
        dtype: &DType,
        casting: Casting,
    ) -> Result<Padded> {
        self.check_cast(pad, dtype, casting)?;
        let item = self.data.shape().iter().skip(1).copied();
        let shape = [self.len(), width].into_iter().chain(item).collect();
        let shape = check_shape(shape, dtype)?;
        Ok(Padded { ragged: self.clone(), shape, dtype: dtype.clone(), pad: pad.to_vec(), casting })
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
        gather::check_ranges(self, ranges, out.len())?;
        if out.is_empty() {
            // There may be any number of rows without bytes.
            return Ok(());
        }
        let rows: Vec<usize> = ranges.iter().cloned().flatten().collect();
        let width = self.shape.get(1).copied().unwrap_or(0);
        let (pad, dtype) = (&self.pad, &self.dtype);
        self.ragged.take_padded_bytes_as(&rows, out, width, pad, dtype, self.casting)?;
        Ok(())
    }
}

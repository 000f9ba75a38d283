//! Rows of different lengths as bytes, for dtypes known only at run time.

use super::decode::{CastBytes, Output};
use super::gather::checked_cast;
use super::ragged::Ragged;
use super::row_source::RowSource as _;
use crate::dtype::DType;
use crate::element::cast::Casting;
use crate::error::{RequestError, Result};
use crate::layout::row_index::RowIndex;
use crate::view::SliceCast;

impl Ragged {
    /// Copies the bytes of rows, in turn, as stored, into a vector. This reuses
    /// its memory. Returns the start of each row and the end of the last row,
    /// in units of the data's first axis.
    ///
    /// # Errors
    ///
    /// Returns [`LimitExceeded`](crate::ErrorKind::LimitExceeded) for too many
    /// elements of zero size, and
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if the vector would be
    /// larger than the address space. Returns
    /// [`OutOfBounds`](crate::ErrorKind::OutOfBounds) for rows that don't
    /// exist, and [`Corrupt`](crate::ErrorKind::Corrupt) for offsets that are
    /// outside the data or decrease. Returns
    /// [`Truncated`](crate::ErrorKind::Truncated) or
    /// [`Io`](crate::ErrorKind::Io) if reading fails.
    ///
    /// # Panics
    ///
    /// Panics or aborts when memory is exhausted, as [`Vec`] does.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, loader::Ragged};
    ///
    /// let mut offsets = MappedArray::zeros(&"<i8".parse()?, &[3])?;
    /// offsets.view_mut::<i64>()?.copy_from_slice(&[0, 3, 5])?;
    /// let data = MappedArray::zeros(&"<f4".parse()?, &[5, 2])?;
    /// let [data, offsets] = [data.into_read_only()?, offsets.into_read_only()?];
    ///
    /// let mut bytes = Vec::new();
    /// let ragged = Ragged::new(data.rows()?, offsets.rows()?)?;
    /// assert_eq!(ragged.take_bytes(&[1, 0, 1], &mut bytes)?, [0, 2, 5, 7]);
    /// assert_eq!(bytes.len(), 7 * 2 * 4);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn take_bytes(&self, indices: &[impl RowIndex], out: &mut Vec<u8>) -> Result<Vec<usize>> {
        let spans = self.spans(indices)?;
        let (offsets, end) = self.lay_out(&spans)?;
        let nbytes = end.checked_mul(self.data.row_len() * self.dtype().itemsize());
        let nbytes = nbytes.filter(|&nbytes| isize::try_from(nbytes).is_ok());
        let nbytes = nbytes.ok_or_else(|| self.too_large(end))?;
        out.resize(nbytes, 0);
        self.data.read_ranges(&spans, out)?;
        Ok(offsets)
    }

    /// Like [`take_padded`](Ragged::take_padded), but casts each element to
    /// `dtype`: `pad` is one element of it, and the length of `out` is counted
    /// in bytes. [`padded`](Ragged::padded) casts to a Rust type.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the cast is not
    /// allowed, [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if `out` has the
    /// wrong length, [`InvalidInput`](crate::ErrorKind::InvalidInput) if `pad`
    /// is not one element, [`InvalidValue`](crate::ErrorKind::InvalidValue) for
    /// a value that cannot be cast, and
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) for too many elements
    /// of zero size. Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) for
    /// rows that don't exist, and [`Corrupt`](crate::ErrorKind::Corrupt) for
    /// offsets that are outside the data or decrease. Returns
    /// [`Truncated`](crate::ErrorKind::Truncated) or
    /// [`Io`](crate::ErrorKind::Io) if reading fails.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, element::Casting, loader::Ragged};
    ///
    /// let mut data = MappedArray::zeros(&"<u2".parse()?, &[5])?;
    /// data.view_mut::<u16>()?.copy_from_slice(&[1, 2, 3, 4, 5])?;
    /// let mut offsets = MappedArray::zeros(&"<i8".parse()?, &[3])?;
    /// offsets.view_mut::<i64>()?.copy_from_slice(&[0, 3, 5])?;
    /// let [data, offsets] = [data.into_read_only()?, offsets.into_read_only()?];
    ///
    /// let texts = Ragged::new(data.rows()?, offsets.rows()?)?;
    /// let (dtype, mut batch) = ("|i1".parse()?, [0; 2 * 3]);
    /// texts.take_padded_bytes_as(&[1, 0], &mut batch, 3, &[255], &dtype, Casting::Unsafe)?;
    /// assert_eq!(batch, [4, 5, 255, 1, 2, 3]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn take_padded_bytes_as(
        &self,
        indices: &[impl RowIndex],
        out: &mut [u8],
        width: usize,
        pad: &[u8],
        dtype: &DType,
        casting: Casting,
    ) -> Result<Vec<usize>> {
        let cast = self.check_cast(pad, dtype, casting)?;
        let each = self.data.row_len().saturating_mul(dtype.itemsize());
        let mut out = Output { items: out, each };
        let (spans, lengths) =
            self.pad(indices, &mut out, width, |padding| repeat(pad, padding))?;
        let mut cast = CastBytes { cast, out, result: Ok(()) };
        self.data.decode_ranges(spans.into_iter(), &mut cast)?;
        cast.result.map(|()| lengths)
    }

    /// Checks that elements can be cast, and that `pad` is one of the results.
    #[inline]
    pub(super) fn check_cast<'a>(
        &'a self,
        pad: &[u8],
        dtype: &'a DType,
        casting: Casting,
    ) -> Result<SliceCast<'a>> {
        let cast = checked_cast(self.dtype(), dtype, casting)?;
        let size = dtype.itemsize();
        if pad.len() != size {
            let found = format!("padding of {} bytes", pad.len());
            let expected = format!("one element of {dtype}, {size} bytes");
            return Err(RequestError::Argument { found, expected }.into());
        }
        Ok(cast)
    }
}

/// Fills `out` with copies of an element.
#[inline]
fn repeat(element: &[u8], out: &mut [u8]) {
    for place in out.chunks_exact_mut(element.len().max(1)) {
        place.copy_from_slice(element);
    }
}

//! Rows of different lengths: one array of all their elements, and one of the
//! offsets of the rows.

use std::ops::Range;

use super::decode::{Elements, Output};
use super::gather::{check_vec, rows_shape};
use super::row_source::RowSource as _;
use super::rows::Rows;
use crate::dtype::literal::tuple;
use crate::dtype::{DType, Kind};
use crate::element::Element;
use crate::element::fast_path::FastPath as _;
use crate::error::{DTypeError, Error, RequestError, Result, ShapeError};
use crate::layout::check_unbacked;
use crate::layout::row_index::{RowIndex, TakeMode, resolve};
use crate::view::check_len;

/// Rows of different lengths, such as sentences or images.
///
/// Two arrays hold them. `data` contains all rows, in turn, and `offsets`
/// contains the start of each row in `data`, followed by the end of the last
/// row. If offsets are invalid, you get an error when you use them.
///
/// [`RaggedAppender`](crate::loader::RaggedAppender) writes them.
///
/// This is not a [`RowSource`](crate::loader::RowSource), because the length of
/// the output depends on the rows. [`padded`](Ragged::padded) rows are one.
///
/// # Examples
///
/// ```
/// use npymap::{CreateOptions, DType, MappedArray, loader::{Ragged, RaggedAppender}};
///
/// let directory = tempfile::tempdir()?;
/// let [data, offsets] = ["data.npy", "offsets.npy"].map(|name| directory.path().join(name));
/// let dtype = DType::of::<u16>();
/// let mut to = RaggedAppender::create(&data, &offsets, &dtype, &[], &CreateOptions::new())?;
/// to.append_slice::<u16>(&[1, 2, 3])?;
/// to.append_slice::<u16>(&[4])?;
/// to.close()?;
///
/// // SAFETY: no other process uses the files.
/// let [data, offsets] = unsafe { [MappedArray::open(data)?, MappedArray::open(offsets)?] };
/// let texts = Ragged::new(data.rows()?, offsets.rows()?)?;
/// let mut first: Vec<u16> = Vec::new();
/// texts.take_vec(&[0], &mut first)?;
/// assert_eq!((texts.row_count(), first), (2, vec![1, 2, 3]));
/// let mut batch = [9_u16; 2 * 2];
/// assert_eq!(texts.take_padded(&[1, 0], &mut batch, 2, &0)?, [1, 3]);
/// assert_eq!(batch, [4, 0, 1, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ragged {
    pub(super) data: Rows,
    offsets: Rows,
}

impl Ragged {
    /// Combines data and offsets. `data` may have more than one axis.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) unless
    /// `offsets` has one axis of at least one integer.
    #[inline]
    pub fn new(data: Rows, offsets: Rows) -> Result<Ragged> {
        let is_integer = matches!(offsets.dtype().kind(), Kind::Int | Kind::UInt);
        if offsets.shape().len() != 1 || offsets.row_count() == 0 || !is_integer {
            let value = format!("offsets {} of shape {}", offsets.dtype(), tuple(offsets.shape()));
            let expected = "one axis of integers, one more than the number of rows".to_owned();
            return Err(RequestError::Argument { found: value, expected }.into());
        }
        Ok(Ragged { data, offsets })
    }

    /// Returns the number of rows.
    #[must_use]
    #[inline]
    pub fn row_count(&self) -> usize {
        self.offsets.row_count() - 1
    }

    /// Returns the dtype of the elements.
    #[must_use]
    #[inline]
    pub fn dtype(&self) -> &DType {
        self.data.dtype()
    }

    /// Returns the ranges of rows along the first axis of the data.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) for rows that
    /// don't exist. Returns [`Corrupt`](crate::ErrorKind::Corrupt) for offsets
    /// that are outside the data or decrease.
    pub fn spans(&self, indices: &[impl RowIndex]) -> Result<Vec<Range<usize>>> {
        self.spans_of(&resolve(TakeMode::Raise, indices, self.row_count(), 0, &[self.row_count()])?)
    }

    /// The ranges of rows that exist.
    #[inline]
    fn spans_of(&self, rows: &[usize]) -> Result<Vec<Range<usize>>> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let mut ends = vec![0_i64; 2 * rows.len()];
        self.offsets.windows(2)?.take_as(rows, &mut ends)?;
        let mut spans = Vec::with_capacity(rows.len());
        for (ends, row) in ends.chunks_exact(2).zip(rows) {
            let &[start, end] = ends else { continue };
            spans.push(check_span(start, end, self.data.row_count()).ok_or_else(|| {
                let value = format!("row {row} from {start} to {end}");
                let expected = format!("increasing offsets, up to {}", self.data.row_count());
                DTypeError::Stored { value, expected }
            })?);
        }
        Ok(spans)
    }

    /// Copies rows, in turn, into a vector. The vector keeps its memory if its
    /// length is right already. Otherwise, it is replaced. Returns the start of
    /// each row and the end of the last row, in units of the data's first axis.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if elements are not
    /// a `T`, [`LimitExceeded`](crate::ErrorKind::LimitExceeded) for too many
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
    pub fn take_vec<T: Element>(
        &self,
        indices: &[impl RowIndex],
        out: &mut Vec<T>,
    ) -> Result<Vec<usize>> {
        let spans = self.spans(indices)?;
        let (offsets, end) = self.lay_out(&spans)?;
        let each = self.data.row_len();
        let codec = T::codec(self.dtype())?;
        check_unbacked(self.dtype().itemsize(), self.data.shape(), end.saturating_mul(each))?;
        let len = check_vec::<T>(&self.data, end)?;
        if len == 0 {
            // There may be any number of rows without elements.
            out.clear();
            return Ok(offsets);
        }
        if out.len() != len {
            let Some(zeros) = T::fast_path().zeros(len) else {
                let all: Vec<usize> = spans.into_iter().flatten().collect();
                self.data.take_vec(&all, out)?;
                return Ok(offsets);
            };
            *out = zeros;
        }
        let ranges = spans.into_iter().zip(offsets.iter().copied());
        let out = Output { items: out, each };
        self.data.decode_ranges(ranges, &mut Elements { codec, out })?;
        Ok(offsets)
    }

    /// Where rows start when they follow each other, and where the last one ends, which is
    /// also the last of these offsets.
    pub(super) fn lay_out(&self, spans: &[Range<usize>]) -> Result<(Vec<usize>, usize)> {
        let (mut offsets, mut end) = (Vec::with_capacity(spans.len() + 1), 0_usize);
        offsets.push(end);
        for span in spans {
            // Rows without bytes can have any length, and repeat.
            end = end.checked_add(span.len()).ok_or_else(|| self.too_large(usize::MAX))?;
            offsets.push(end);
        }
        Ok((offsets, end))
    }

    /// The error for more elements than a vector can have.
    #[cold]
    pub(super) fn too_large(&self, len: usize) -> Error {
        let shape = tuple(&rows_shape(len, self.data.shape()));
        ShapeError::Size { shape, itemsize: self.dtype().itemsize() }.into()
    }

    /// Copies rows into `out`, each with a length of `width`: shorter rows are
    /// padded with `pad`, and longer rows are truncated. The length of `out`
    /// must be `indices.len() * width`, times the number of elements at each
    /// index of the data's first axis. Returns the original length of each row.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if elements are not
    /// a `T`, [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if `out` has the
    /// wrong length, and [`LimitExceeded`](crate::ErrorKind::LimitExceeded) for
    /// too many elements of zero size. Returns
    /// [`OutOfBounds`](crate::ErrorKind::OutOfBounds) for rows that don't
    /// exist, and [`Corrupt`](crate::ErrorKind::Corrupt) for offsets that are
    /// outside the data or decrease. Returns
    /// [`Truncated`](crate::ErrorKind::Truncated) or
    /// [`Io`](crate::ErrorKind::Io) if reading fails.
    pub fn take_padded<T: Element + Clone>(
        &self,
        indices: &[impl RowIndex],
        out: &mut [T],
        width: usize,
        pad: &T,
    ) -> Result<Vec<usize>> {
        let codec = T::codec(self.dtype())?;
        let mut out = Output { items: out, each: self.data.row_len() };
        let (spans, lengths) =
            self.pad(indices, &mut out, width, |padding| padding.fill(pad.clone()))?;
        self.data.decode_ranges(spans.into_iter(), &mut Elements { codec, out })?;
        Ok(lengths)
    }

    /// Fills what rows leave of `width`. Returns the rows, each truncated to that, with their
    /// places in the output, and their lengths.
    pub(super) fn pad<U>(
        &self,
        indices: &[impl RowIndex],
        out: &mut Output<'_, U>,
        width: usize,
        fill: impl Fn(&mut [U]),
    ) -> Result<(Vec<Placed>, Vec<usize>)> {
        let each = width.saturating_mul(out.each);
        let expected = indices.len().saturating_mul(each);
        check_unbacked(self.dtype().itemsize(), self.data.shape(), expected)?;
        check_len(expected, out.items.len())?;
        let spans = self.spans(indices)?;
        let lengths = spans.iter().map(Range::len).collect();
        let mut ranges = Vec::new();
        // Nothing to copy if rows have no items.
        let rows = out.items.chunks_exact_mut(each.max(1));
        for ((span, row), place) in spans.iter().zip(rows).zip((0..).step_by(width.max(1))) {
            let len = span.len().min(width);
            fill(row.get_mut(len * out.each..).unwrap_or_default());
            ranges.push((span.start..span.start + len, place));
        }
        Ok((ranges, lengths))
    }
}

/// A range of rows, and the place of the first in an output.
type Placed = (Range<usize>, usize);

/// The range from `start` to `end`, if it is inside data of length `len`.
#[inline]
fn check_span(start: i64, end: i64, len: usize) -> Option<Range<usize>> {
    let (start, end) = (usize::try_from(start).ok()?, usize::try_from(end).ok()?);
    (start <= end && end <= len).then_some(start..end)
}

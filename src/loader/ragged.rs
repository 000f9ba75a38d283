//! Rows of different lengths: one array of all their elements, and one of
//! where each starts.

use std::ops::Range;

use super::rows::Rows;
use crate::dtype::literal::tuple;
use crate::dtype::{DType, Kind};
use crate::element::Element;
use crate::element::fast_path::FastPath as _;
use crate::error::{DTypeError, RequestError, Result};
use crate::layout::check_unbacked;
use crate::layout::row_index::{RowIndex, TakeMode, resolve};
use crate::view::check_len;

/// Rows of different lengths in two arrays: `data`, all rows one after
/// another, and `offsets`, where in it each row starts, and where the last one
/// ends. What doesn't fit together is an error when it is met.
///
/// [`RaggedAppender`](crate::loader::RaggedAppender) writes them.
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
/// // SAFETY: nobody else knows of the files.
/// let [data, offsets] = unsafe { [MappedArray::open(data)?, MappedArray::open(offsets)?] };
/// let texts = Ragged::new(data.rows()?, offsets.rows()?)?;
/// assert_eq!((texts.len(), texts.get::<u16>(0)?), (2, vec![1, 2, 3]));
/// let mut batch = [9_u16; 2 * 2];
/// assert_eq!(texts.take_padded(&[1, 0], &mut batch, 2, &0)?, [1, 3]);
/// assert_eq!(batch, [4, 0, 1, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ragged {
    data: Rows,
    offsets: Rows,
}

impl Ragged {
    /// Puts the two together. Elements of `data` may have axes of their own.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) unless `offsets` are
    /// one axis of integers, at least one.
    pub fn new(data: Rows, offsets: Rows) -> Result<Ragged> {
        let is_integer = matches!(offsets.dtype().kind(), Kind::Int | Kind::UInt);
        if offsets.shape().len() != 1 || offsets.is_empty() || !is_integer {
            let value = format!("offsets {} of shape {}", offsets.dtype(), tuple(offsets.shape()));
            let expected = "one axis of integers, one more than the number of rows".to_owned();
            return Err(RequestError::Argument { found: value, expected }.into());
        }
        Ok(Ragged { data, offsets })
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// True when there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What each element is.
    #[must_use]
    pub fn dtype(&self) -> &DType {
        self.data.dtype()
    }

    /// Where in the data rows lie.
    ///
    /// # Errors
    ///
    /// [`OutOfBounds`](crate::ErrorKind::OutOfBounds) for rows that aren't
    /// there, [`InvalidInput`](crate::ErrorKind::InvalidInput) for offsets that
    /// lead outside the data, or back.
    pub fn spans(&self, indices: &[impl RowIndex]) -> Result<Vec<Range<usize>>> {
        let rows = resolve(TakeMode::Raise, indices, self.len(), 0, &[self.len()])?;
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let mut ends = vec![0_i64; 2 * rows.len()];
        self.offsets.windows(2)?.take_as(&rows, &mut ends)?;
        let span = |(ends, row): (&[i64], &usize)| match *ends {
            [start, end] => {
                let bound = |n: i64| usize::try_from(n).ok();
                match (bound(start), bound(end)) {
                    (Some(from), Some(to)) if from <= to && to <= self.data.len() => Ok(from..to),
                    _ => {
                        let value = format!("row {row} from {start} to {end}");
                        let expected = format!("increasing offsets, up to {}", self.data.len());
                        Err(DTypeError::Stored { value, expected }.into())
                    }
                }
            }
            _ => Ok(0..0),
        };
        ends.chunks_exact(2).zip(&rows).map(span).collect()
    }

    /// Copies one row.
    ///
    /// # Errors
    ///
    /// As [`take_vec`](Ragged::take_vec).
    pub fn get<T: Element>(&self, row: usize) -> Result<Vec<T>> {
        let mut out = Vec::new();
        self.take_vec(&[row], &mut out)?;
        Ok(out)
    }

    /// Copies rows one after another into a vector, which gets their length and
    /// keeps its memory if it has that already. Returns where each starts,
    /// counted along the first axis of the data, and where the last ends.
    ///
    /// # Errors
    ///
    /// [`WrongDType`](crate::ErrorKind::WrongDType) when elements are not a
    /// `T`; [`LimitExceeded`](crate::ErrorKind::LimitExceeded); those of
    /// [`spans`](Ragged::spans).
    pub fn take_vec<T: Element>(
        &self,
        indices: &[impl RowIndex],
        out: &mut Vec<T>,
    ) -> Result<Vec<usize>> {
        let spans = self.spans(indices)?;
        let mut offsets = vec![0];
        let mut end = 0_usize;
        for span in &spans {
            end = end.saturating_add(span.len());
            offsets.push(end);
        }
        let each = self.data.row_len();
        T::codec(self.dtype())?;
        check_unbacked(self.dtype().itemsize(), self.data.shape(), end.saturating_mul(each))?;
        let len = end.saturating_mul(each);
        if out.len() != len {
            let Some(zeros) = T::fast_path().zeros(len) else {
                let all: Vec<usize> = spans.into_iter().flatten().collect();
                self.data.take_vec(&all, out)?;
                return Ok(offsets);
            };
            *out = zeros;
        }
        let mut rest = &mut **out;
        let mut places = Vec::with_capacity(spans.len());
        for span in &spans {
            let (place, after) = rest.split_at_mut(span.len() * each);
            places.push(place);
            rest = after;
        }
        self.data.stretches(&spans, &mut places)?;
        Ok(offsets)
    }

    /// Copies rows into `out`, each made `width` long: shorter rows are filled
    /// up with `pad`, longer ones are cut. The length of `out` must be
    /// `indices.len() * width`, times the elements of an item. Returns the
    /// length of each row, uncut.
    ///
    /// # Errors
    ///
    /// [`WrongDType`](crate::ErrorKind::WrongDType) when elements are not a
    /// `T`; [`WrongShape`](crate::ErrorKind::WrongShape) when `out` has another
    /// length; [`LimitExceeded`](crate::ErrorKind::LimitExceeded); those of
    /// [`spans`](Ragged::spans).
    pub fn take_padded<T: Element + Clone>(
        &self,
        indices: &[impl RowIndex],
        out: &mut [T],
        width: usize,
        pad: &T,
    ) -> Result<Vec<usize>> {
        T::codec(self.dtype())?;
        let each = width.saturating_mul(self.data.row_len());
        let expected = each.saturating_mul(indices.len());
        check_unbacked(self.dtype().itemsize(), self.data.shape(), expected)?;
        check_len(expected, out.len())?;
        let spans = self.spans(indices)?;
        let lengths = spans.iter().map(Range::len).collect();
        if each == 0 {
            return Ok(lengths);
        }
        let cut = |span: Range<usize>| span.start..span.end.min(span.start.saturating_add(width));
        let spans: Vec<Range<usize>> = spans.into_iter().map(cut).collect();
        let mut places = Vec::with_capacity(spans.len());
        for (span, place) in spans.iter().zip(out.chunks_exact_mut(each)) {
            let (own, after) = place.split_at_mut(span.len() * self.data.row_len());
            after.fill(pad.clone());
            places.push(own);
        }
        self.data.stretches(&spans, &mut places)?;
        Ok(lengths)
    }
}

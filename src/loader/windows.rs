//! Sliding windows over rows.

use std::ops::Range;

use super::ahead::RowsAhead;
use super::decode::DecodeRows;
use super::gather;
use super::row_source::RowSource;
use super::rows::Rows;
use crate::dtype::DType;
use crate::dtype::literal::tuple;
use crate::error::{Error, Result, ShapeError};
use crate::layout::axes::Axes;
use crate::layout::geometry::Geometry;
use crate::layout::{Layout, Order};

/// The sliding windows over the rows of any [`RowSource`], as rows.
///
/// Each window is a row, and the second axis counts the rows in a window.
/// Windows overlap. Elements are copied only when you take them.
///
/// [`Rows::windows`] is a [`Rows`] again.
///
/// # Examples
///
/// ```
/// use npymap::{ArrayFile, RowSource as _, loader::Windows};
///
/// let windows = Windows::new(ArrayFile::open("data/penguins.npy")?, 3)?;
/// assert_eq!(windows.shape(), [340, 3, 4]);
/// let mut batch = [0.0_f64; 3 * 4];
/// windows.take(&[339], &mut batch)?;
/// assert_eq!(batch[11], 3775.0);
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Windows<S> {
    source: S,
    len: usize,
    shape: Vec<usize>,
}

impl<S: RowSource> Windows<S> {
    /// Returns the sliding windows of `len` rows.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if there are
    /// fewer than `len` rows, and
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) for more than 64 axes,
    /// or more elements or bytes than `isize::MAX`.
    pub fn new(source: S, len: usize) -> Result<Windows<S>> {
        let shape = window_shape(source.shape(), len, source.dtype())
            .map_err(|error| source.add_path(error))?;
        Ok(Windows { source, len, shape })
    }
}

/// Checks that an array may have this shape, even if its elements are not in memory:
/// that both their number and that of their bytes are an `isize`.
#[inline]
pub(super) fn check_shape(shape: Vec<usize>, dtype: &DType) -> Result<Vec<usize>> {
    Layout::new(dtype.clone(), &shape, Order::C, 0).map(|_| shape)
}

impl<S: RowSource> RowSource for Windows<S> {
    fn dtype(&self) -> &DType {
        self.source.dtype()
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn read_ranges(&self, ranges: &[Range<usize>], out: &mut [u8]) -> Result<()> {
        let starts = gather::rows_in(self, ranges, out)?.into_iter();
        let windows: Vec<Range<usize>> = starts.map(|start| start..start + self.len).collect();
        self.source.read_ranges(&windows, out)
    }

    fn visit(&self, starts: &[usize], len: usize, decode: &mut dyn DecodeRows) -> Result<()> {
        match len {
            1 => self.source.visit(starts, self.len, decode),
            _ => gather::visit_stored(self, starts, len, None, decode),
        }
    }

    fn add_path(&self, error: Error) -> Error {
        self.source.add_path(error)
    }

    fn rows_ahead(&self) -> RowsAhead {
        self.source.rows_ahead().windows(self.len)
    }
}

impl Rows {
    /// Sliding windows of `len` rows, as rows: NumPy's `sliding_window_view`,
    /// with the window as the second axis. Windows overlap. Elements are copied
    /// only when you take rows.
    ///
    /// With a file of tokens, `rows.windows(1024)?.take_as(&starts, &mut batch)`
    /// copies training sequences, and casts `u16` to `i64`.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if there are
    /// fewer than `len` rows. Returns
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) for more than 64 axes,
    /// or more elements or bytes than `isize::MAX`.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, RowSource as _};
    ///
    /// let mut tokens = MappedArray::zeros(&"<u2".parse()?, &[100])?;
    /// tokens.view_mut::<u16>()?.copy_from_slice(&(0..100).collect::<Vec<_>>())?;
    /// let windows = tokens.into_read_only()?.rows()?.windows(4)?;
    /// assert_eq!(windows.shape(), [97, 4]);
    /// let mut batch = [0_i64; 2 * 4];
    /// windows.take_as(&[96, 3], &mut batch)?;
    /// assert_eq!(batch, [96, 97, 98, 99, 3, 4, 5, 6]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[inline]
    pub fn windows(&self, len: usize) -> Result<Rows> {
        let shape = window_shape(self.shape(), len, self.dtype());
        let shape = Axes::from_slice(&self.name_file(shape)?);
        let Geometry { offset, strides, .. } = &self.geometry;
        let strides = strides.iter().take(1).chain(strides).copied().collect();
        let geometry = Geometry { offset: *offset, shape, strides };
        Ok(Rows { geometry, ..self.clone() })
    }
}

/// The shape of all windows of `len` rows: their number, `len`, and the lengths
/// of the other axes. An error if that is too large for an array.
#[inline]
fn window_shape(shape: &[usize], len: usize, dtype: &DType) -> Result<Vec<usize>> {
    let Some((dim, row)) = shape.split_first() else {
        return Err(ShapeError::Axis { asked: 0, shape: tuple(shape) }.into());
    };
    let Some(before) = dim.checked_sub(len) else {
        let asked = format!("window length {len}");
        return Err(ShapeError::Index { axis: 0, asked, shape: tuple(shape) }.into());
    };
    check_shape([before + 1, len].into_iter().chain(row.iter().copied()).collect(), dtype)
}

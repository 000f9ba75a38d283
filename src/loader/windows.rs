//! Sliding windows over rows.

use super::rows::Rows;
use crate::dtype::literal::tuple;
use crate::error::{Result, ShapeError};

impl Rows {
    /// Sliding windows of `len` rows, as rows: NumPy's `sliding_window_view`, with
    /// the window as the second axis. Windows overlap, and nothing is copied until
    /// you take them.
    ///
    /// With a file of tokens, `rows.windows(1024)?.take_as(&starts, &mut batch)`
    /// copies training sequences, and casts `u16` to `i64`.
    ///
    /// # Errors
    ///
    /// [`OutOfBounds`](crate::ErrorKind::OutOfBounds) when there are fewer than
    /// `len` rows; [`InvalidInput`](crate::ErrorKind::InvalidInput) for more
    /// than 64 axes, or more elements than `isize::MAX`.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::MappedArray;
    ///
    /// let mut tokens = MappedArray::anonymous(&"<u2".parse()?, &[100])?;
    /// tokens.view_mut::<u16>()?.copy_from_slice(&(0..100).collect::<Vec<_>>())?;
    /// let windows = tokens.into_read_only()?.rows()?.windows(4)?;
    /// assert_eq!(windows.shape(), [97, 4]);
    /// let mut batch = [0_i64; 2 * 4];
    /// windows.take_as(&[96, 3], &mut batch)?;
    /// assert_eq!(batch, [96, 97, 98, 99, 3, 4, 5, 6]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn windows(&self, len: usize) -> Result<Rows> {
        self.name_file(window_shape(self.shape(), len).and_then(|shape| self.with_windows(&shape)))
    }
}

/// The shape of all windows of `len` rows: their number, `len`, and the lengths
/// of the other axes.
pub(super) fn window_shape(shape: &[usize], len: usize) -> Result<Vec<usize>> {
    let Some((dim, row)) = shape.split_first() else {
        return Err(ShapeError::Axis { asked: 0, shape: tuple(shape) }.into());
    };
    let Some(before) = dim.checked_sub(len) else {
        let asked = format!("window length {len}");
        return Err(ShapeError::Index { axis: 0, asked, shape: tuple(shape) }.into());
    };
    Ok([before + 1, len].into_iter().chain(row.iter().copied()).collect())
}

//! Ranges of rows as arrays of their own.

use std::ops::RangeBounds;

use super::advise::resolve_rows;
use super::{MappedArray, Place};
use crate::dtype::literal::tuple;
use crate::error::invariant::to_u64;
use crate::error::{Result, ShapeError};

impl<D: Clone> MappedArray<D> {
    /// Returns a range of rows as an array of its own, which borrows nothing: each
    /// worker can own its part of a file, for example.
    ///
    /// Both arrays use the same bytes: `D` is cloned, which for maps, `&[u8]` and
    /// `Arc<[u8]>` shares them and reads nothing. For a writable map, call
    /// [`into_read_only`](MappedArray::into_read_only) first. The promise of
    /// [`Source`](crate::Source#safety) covers the range, as it does clones.
    ///
    /// The range keeps the path, the member and the mode. Its
    /// [`data_offset`](MappedArray::data_offset) and
    /// [`description`](MappedArray::description) describe its first row. It has
    /// no [`header`](MappedArray::header).
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) for rows that do
    /// not exist, and for 0-d arrays. Returns
    /// [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) in Fortran order, because
    /// rows are scattered over the array, unless the range has all rows or
    /// none.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, ndarray::s};
    ///
    /// // SAFETY: no other process writes to or truncates this file.
    /// let penguins = unsafe { MappedArray::open("data/penguins.npy")? };
    /// let parts = [penguins.row_range(..171)?, penguins.row_range(171..)?];
    /// let threads = parts.map(|part| {
    ///     std::thread::spawn(move || {
    ///         let table = part.view::<f64>().unwrap();
    ///         table.slice(s![.., 3]).unwrap().iter().fold(0.0, f64::max)
    ///     })
    /// });
    /// assert_eq!(threads.map(|thread| thread.join().unwrap()), [6300.0, 6050.0]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn row_range(&self, rows: impl RangeBounds<usize>) -> Result<MappedArray<D>> {
        let place = self.origin.add_path_on_err(self.place.row_range(&rows))?;
        Ok(MappedArray { place, data: self.data.clone(), origin: self.origin.clone() })
    }
}

impl Place {
    /// The place of a row range, in the same bytes.
    fn row_range(&self, rows: &impl RangeBounds<usize>) -> Result<Place> {
        let Place { layout, offset, order, .. } = self;
        let rows = resolve_rows(layout.shape(), rows)?;
        let Some(part) = layout.row_range(rows.clone()) else {
            let asked = format!("{}..{}", rows.start, rows.end);
            return Err(ShapeError::ScatteredRows { shape: tuple(layout.shape()), asked }.into());
        };
        let offset = offset + to_u64(part.offset() - layout.offset());
        Ok(Place { layout: part, offset, order: *order, header: None })
    }
}

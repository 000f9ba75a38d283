//! The rows of a mapped array.

use crate::array::MappedArray;
use crate::error::Result;
use crate::loader::Rows;
use crate::source::map::Map;
use crate::source::pages::sealed::Pages as _;
use crate::source::platform::Advice;

impl MappedArray<Map> {
    /// Returns the rows of this array, along its first axis, for fast random
    /// access, also to rows on the disk.
    ///
    /// The rows have their own map of the same bytes, without read-ahead. If the
    /// file can't be opened by its path again, they share this array's map. The
    /// promise about the array's file must also hold while the rows exist.
    ///
    /// A writable array cannot have rows that outlive a borrow, because it could be
    /// stored to while they are read: call [`into_read_only`] first, or take rows of
    /// a view with [`View::take`](crate::View::take).
    ///
    /// [`into_read_only`]: MappedArray::into_read_only
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if the array has
    /// no axes, and [`Io`](crate::ErrorKind::Io) if the file cannot be mapped
    /// again. Returns [`Io`](crate::ErrorKind::Io) or
    /// [`Truncated`](crate::ErrorKind::Truncated) if an array of
    /// [`Source::on_demand`](crate::Source::on_demand) can't be brought into memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, RowSource as _};
    ///
    /// // SAFETY: no other process writes to or truncates this file.
    /// let penguins = unsafe { MappedArray::open("data/penguins.npy")? };
    /// let mut batch = [0.0_f64; 3 * 4];
    /// penguins.rows()?.take(&[341, 0, 0], &mut batch)?;
    /// assert_eq!([batch[3], batch[7], batch[11]], [3775.0, 3750.0, 3750.0]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[inline]
    pub fn rows(&self) -> Result<Rows> {
        // Not on demand.
        self.as_bytes()?;
        let (data, origin) = (&self.data, &self.origin);
        let again = origin.path.as_ref().map_or(Ok(None), |path| data.map_again(path));
        let rows = again.and_then(|again| {
            let map = again.unwrap_or_else(|| data.clone());
            Rows::new(map, self.layout(), origin.path.clone())
        });
        origin.add_path_on_err(rows)
    }

    /// Returns the rows of this array, like [`rows`](MappedArray::rows), but
    /// uses the array's own map instead of a second one. This turns off
    /// read-ahead for the map, and therefore for all clones of the array.
    ///
    /// With [`row_range`](MappedArray::row_range) or
    /// [`OpenOptions::offset`](crate::OpenOptions::offset), it has the rows in
    /// a part of the file.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if the array has
    /// no axes, and [`Io`](crate::ErrorKind::Io) if the file cannot be mapped
    /// again. Returns [`Io`](crate::ErrorKind::Io) or
    /// [`Truncated`](crate::ErrorKind::Truncated) if an array of
    /// [`Source::on_demand`](crate::Source::on_demand) can't be brought into memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, RowSource as _};
    ///
    /// // SAFETY: no other process writes to or truncates this file.
    /// let penguins = unsafe { MappedArray::open("data/penguins.npy")? };
    /// let last = penguins.row_range(300..)?.into_rows()?;
    /// assert_eq!((last.row_count(), last.take_array::<f64>(&[41])?[[0, 3]]), (42, 3775.0));
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[inline]
    pub fn into_rows(self) -> Result<Rows> {
        let (layout, origin) = (self.layout().clone(), self.origin.clone());
        let map = self.into_data();
        let rows = map
            .advise(layout.offset()..layout.end(), Advice::Random)
            .and_then(|()| Rows::new(map, &layout, origin.path.clone()));
        origin.add_path_on_err(rows)
    }
}

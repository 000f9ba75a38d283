//! The rows of an array, to be read in random order.

use crate::array::MappedArray;
use crate::error::Result;
use crate::loader::Rows;
use crate::source::map::Map;

impl MappedArray<Map> {
    /// The rows of this array, along its first axis, for reading in random
    /// order: fast also when they are on the disk, in bounded memory.
    ///
    /// They have a map of their own, of the same bytes, of which the system
    /// reads nothing ahead. Where the file can't be opened by its path again,
    /// they share this array's map. What is asked of an array's file while the
    /// array lives is asked of it while its rows live.
    ///
    /// # Errors
    ///
    /// [`OutOfBounds`](crate::ErrorKind::OutOfBounds) without axes;
    /// [`Io`](crate::ErrorKind::Io).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::MappedArray;
    ///
    /// // SAFETY: nobody changes or truncates the file meanwhile.
    /// let penguins = unsafe { MappedArray::open("data/penguins.npy")? };
    /// let mut batch = [0.0_f64; 3 * 4];
    /// penguins.rows()?.take(&[341, 0, 0], &mut batch)?;
    /// assert_eq!([batch[3], batch[7], batch[11]], [3775.0, 3750.0, 3750.0]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn rows(&self) -> Result<Rows> {
        let origin = self.origin();
        let map = origin.add_path_on_err(self.map_for_random_access())?;
        let rows = Rows::new(map, self.layout(), origin.path.clone());
        origin.add_path_on_err(rows)
    }
}

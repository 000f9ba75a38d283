//! The rows of an array, to be read in random order.
#![allow(unsafe_code)]

use super::MappedArray;
use crate::error::Result;
use crate::map::Map;
use crate::pages::sealed::Pages as _;
use crate::platform::Advice;
use crate::sample::Rows;

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
    /// [`ErrorKind::Axis`](crate::ErrorKind::Axis) without axes;
    /// [`ErrorKind::Map`](crate::ErrorKind::Map).
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
        let own = self.origin.named(self.mapped_again())?;
        let own = own.unwrap_or_else(|| self.data.clone());
        let rows = Rows::new(own, &self.layout, self.origin.path.clone());
        self.origin.named(rows)
    }

    /// A map of the same bytes for access at random, if there is a way to
    /// make one.
    fn mapped_again(&self) -> Result<Option<Map>> {
        let (true, Some(_), Some(_), Some(offset)) =
            (self.data.is_shared(), self.origin.mode, self.origin.id, self.origin.offset)
        else {
            return Ok(None);
        };
        let Ok((file, _)) = self.reopened() else { return Ok(None) };
        // SAFETY: it is the file that this array maps, which can't have gone
        // meanwhile and left its number to another, since it is mapped. Who
        // opened the array promised for as long as it or a clone lives; that
        // includes its rows, as their documentation says.
        let own = unsafe { Map::new(&file, offset, self.nbytes()) }?;
        own.advise(0..self.nbytes(), Advice::Random)?;
        Ok(Some(own))
    }
}

//! A second map of an array's bytes, for reading rows in random order.
#![allow(unsafe_code)]

use super::MappedArray;
use crate::error::Result;
use crate::source::map::Map;
use crate::source::pages::sealed::Pages as _;
use crate::source::platform::Advice;

impl MappedArray<Map> {
    /// A map of the same bytes without read-ahead, or this array's own map if
    /// its file cannot be opened again.
    pub(crate) fn map_for_random_access(&self) -> Result<Map> {
        Ok(self.map_again()?.unwrap_or_else(|| self.data.clone()))
    }

    /// A map of the same bytes for access at random, if there is a way to
    /// make one.
    fn map_again(&self) -> Result<Option<Map>> {
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

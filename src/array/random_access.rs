//! A second map of an array's bytes, for reading rows in random order.

use super::MappedArray;
use crate::error::Result;
use crate::source::map::Map;

impl MappedArray<Map> {
    /// A map of the same bytes without read-ahead, or this array's own map if
    /// its file cannot be opened again.
    #[inline]
    pub(crate) fn map_for_random_access(&self) -> Result<Map> {
        let again = match &self.origin.path {
            Some(path) => self.data.map_again(path)?,
            None => None,
        };
        Ok(again.unwrap_or_else(|| self.data.clone()))
    }
}

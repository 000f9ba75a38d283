//! Ranges of files that are mapped when their bytes are needed, in whole or in part, and
//! ranges of other storage that are then read.

use std::fs::File;
use std::ops::Range;
use std::sync::OnceLock;

use super::map::{Map, MapMut};
use super::pages::sealed::Pages as _;
use super::ranges;
use super::storage::Storage;
use crate::error::invariant::to_u64;
use crate::error::{Result, SystemError};

/// A range of storage of which nothing is in memory yet.
#[derive(Debug)]
pub struct OnDemand {
    pub(crate) storage: Storage,
    /// Whether the file may be mapped.
    maps: bool,
    pub(crate) offset: u64,
    len: usize,
    whole: OnceLock<Map>,
}

impl OnDemand {
    /// Ranges of files up to this length are mapped at once, in bytes.
    pub(crate) const MIN: usize = 32 << 20;

    #[inline]
    pub(super) fn new(storage: Storage, maps: bool, offset: u64, len: usize) -> OnDemand {
        OnDemand { storage, maps, offset, len, whole: OnceLock::new() }
    }

    /// The file, if it may be mapped.
    #[inline]
    pub(super) fn mappable(&self) -> Option<&File> {
        if self.maps { self.storage.file() } else { None }
    }

    /// All bytes, if they were needed before.
    #[inline]
    pub(crate) fn loaded(&self) -> Option<&[u8]> {
        self.whole.get().map(AsRef::as_ref)
    }

    /// Maps all bytes, or reads them, unless that was done before.
    #[inline]
    pub(crate) fn load(&self) -> Result<&[u8]> {
        if self.whole.get().is_none() {
            let part = self.part(0..self.len);
            let whole = part.map_err(|reason| SystemError::NotLoaded { len: self.len, reason })?;
            // Another thread may have been faster.
            drop(self.whole.set(whole));
        }
        Ok(self.loaded().unwrap_or_default())
    }

    /// Maps some bytes, or reads them if they can't be mapped.
    #[inline]
    pub(crate) fn part(&self, range: Range<usize>) -> Result<Map> {
        match Map::part(self, range.clone()) {
            Some(map) => Ok(map),
            None => self.read(std::iter::once((range.start, range.len())), range.len()),
        }
    }

    /// Reads ranges, each from a byte on and of a length, in turn.
    pub(crate) fn read(
        &self,
        runs: impl Iterator<Item = (usize, usize)>,
        len: usize,
    ) -> Result<Map> {
        let mut copy = MapMut::anonymous(len)?.with_large_pages();
        let ranges = runs.map(|(start, len)| {
            let start = self.offset + to_u64(start);
            start..start + to_u64(len)
        });
        for (batch, out) in ranges::batches(ranges, copy.as_mut()) {
            self.storage.read_ranges(&batch, out)?;
        }
        Map::from_memory(copy)
    }
}

//! Reads an array in the background, for all clones of its rows.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::near_ranges;
use super::reading::{Disk, Planner, ReadStrategy, Request};
use crate::error::invariant::{to_u64, to_usize_saturating};
use crate::source::map::Map;
use crate::source::pages::sealed::Pages as _;
use crate::source::platform::{self, Advice};
use crate::source::read_ahead::{Next, ReadAhead};
use crate::source::tuning::{SAMPLE, UNTHREADED};

/// The number of ranges sorted together.
const MAX_RANGES: usize = 1 << 16;

/// Reads parts of an array besides the requested rows.
#[derive(Debug)]
pub(super) struct Background {
    planner: Planner,
    /// The bytes of the map that belong to the array.
    extent: Range<usize>,
    /// The bytes in this array and in arrays used with it.
    working_set: usize,
    /// Shared by the arrays of a stack, so that these need only one thread.
    read_ahead: Arc<ReadAhead>,
}

impl Background {
    #[inline]
    pub(super) fn new(extent: Range<usize>) -> Background {
        let working_set = extent.len();
        let (planner, read_ahead) = (Planner::default(), Arc::default());
        Background { planner, extent, working_set, read_ahead }
    }

    /// The size of the array in bytes.
    #[inline]
    pub(super) fn nbytes(&self) -> usize {
        self.extent.len()
    }

    /// The thread that reads.
    #[inline]
    pub(super) fn read_ahead(&self) -> Arc<ReadAhead> {
        Arc::clone(&self.read_ahead)
    }

    /// Returns a new state for the same array, to be read in another way.
    #[inline]
    pub(super) fn with_reading(&self, reading: ReadStrategy) -> Background {
        self.with_others(reading, self.working_set, Arc::default())
    }

    /// Returns a new state for the same array, to be read together with further
    /// arrays.
    #[inline]
    pub(super) fn with_others(
        &self,
        reading: ReadStrategy,
        working_set: usize,
        read_ahead: Arc<ReadAhead>,
    ) -> Background {
        let (planner, extent) = (Planner::new(reading), self.extent.clone());
        Background { planner, extent, working_set, read_ahead }
    }

    /// Announces that batches will need much of the array. Returns whether all
    /// of it is going to be read, in order, if they have to wait for the disk.
    /// At once if the epoch has several shards.
    #[inline]
    pub(super) fn expect_epoch(
        &self,
        (map, path): (&Map, Option<&Path>),
        available: Option<u64>,
        (shard, shards): (usize, usize),
    ) -> bool {
        let is_streamed = self.planner.expect_epoch(to_u64(self.working_set), available);
        if is_streamed && shards > 1 {
            // Where processes read the same bytes at the same time, they get no huge pages.
            self.planner
                .start(self.nbytes() / shards * shard, &MappedFile { map, path, background: self });
        }
        is_streamed
    }

    /// Returns whether the array is long and in memory, by a sample of its pages.
    #[inline]
    pub(super) fn is_in_memory(&self, map: &Map) -> bool {
        let disk = MappedFile { map, path: None, background: self };
        self.nbytes() > UNTHREADED && disk.is_in_memory()
    }

    /// Maps the pages in a part of the array. Failures are ignored, because
    /// faults will map the pages.
    #[inline]
    pub(super) fn map_pages(&self, map: &Map, part: Range<usize>) {
        let Range { start, end } = self.extent;
        let part = start + part.start..(start + part.end).min(end);
        if part.start < part.end {
            if let Ok(bytes) = map.bytes(part) {
                platform::populate(bytes).ok();
            }
        }
    }

    /// Announces batches that follow each other from a byte of the map on, and that the caller
    /// reads the array for them. Returns `false` if that is not needed.
    #[inline]
    pub(super) fn expect_sequence(&self, start: usize, map: &Map) -> bool {
        let start = start - self.extent.start;
        self.planner.expect_sequence(start, &MappedFile { map, path: None, background: self })
    }

    /// Waits, before a batch, if reading the whole array is faster than reading its
    /// rows.
    #[inline]
    pub(super) fn before_batch(&self, map: &Map) {
        self.planner.wait(&MappedFile { map, path: None, background: self });
    }

    /// Reads more after a batch, if that is worthwhile. `ranges` passes the ranges
    /// of its rows to a function.
    pub(super) fn after_batch(
        &self,
        (map, path): (&Map, Option<&Path>),
        is_cold: bool,
        ranges: impl FnOnce(&mut dyn FnMut(Range<usize>)),
    ) {
        if !self.planner.is_interested(is_cold) {
            return;
        }
        let mut request = Request { is_cold, ..Request::default() };
        let start = self.extent.start;
        ranges(&mut |range| {
            request.add(&(range.start - start..range.end - start));
        });
        self.planner.update(&request, &MappedFile { map, path, background: self });
    }

    /// Advises the kernel that ranges will be read. Failures are ignored,
    /// because advice affects only speed.
    pub(super) fn advise(&self, map: &Map, ranges: impl FnOnce(&mut dyn FnMut(Range<usize>))) {
        let mut all = Vec::new();
        ranges(&mut |range| {
            all.push(range);
            if all.len() == MAX_RANGES {
                self.advise_runs(map, &mut all);
            }
        });
        self.advise_runs(map, &mut all);
    }

    #[inline]
    fn advise_runs(&self, map: &Map, ranges: &mut Vec<Range<usize>>) {
        near_ranges::merge(ranges, self.planner.gap());
        for run in ranges.drain(..) {
            map.advise(run, Advice::WillNeed).ok();
        }
    }
}

/// The file of an array, and the memory of this process.
struct MappedFile<'a> {
    map: &'a Map,
    path: Option<&'a Path>,
    background: &'a Background,
}

impl Disk for MappedFile<'_> {
    #[inline]
    fn nbytes(&self) -> usize {
        self.background.nbytes()
    }

    #[inline]
    fn working_set(&self) -> usize {
        self.background.working_set
    }

    #[inline]
    fn available(&self) -> Option<u64> {
        platform::available_memory()
    }

    #[inline]
    fn queued(&self) -> usize {
        to_usize_saturating(self.background.read_ahead.queued())
    }

    #[inline]
    fn queue(&self, range: Range<usize>) -> bool {
        let start = self.background.extent.start;
        let range = range.start + start..range.end + start;
        if range.len() <= UNTHREADED {
            return self.map.advise(range, Advice::WillNeed).is_ok();
        }
        let file = if platform::HAS_READ_AHEAD { self.path } else { None };
        let Some((file, offset)) = file.and_then(|path| self.map.reopen(path)) else {
            return false;
        };
        let [start, end] = [range.start, range.end].map(|at| offset + to_u64(at));
        self.background.read_ahead.add(
            &Arc::new(file),
            std::slice::from_ref(&(start..end)),
            Next::After,
        );
        true
    }

    #[inline]
    fn wait(&self) {
        self.background.read_ahead.wait();
    }

    #[inline]
    fn resident(&self) -> Option<usize> {
        self.map.resident(self.background.extent.clone()).ok().flatten()
    }

    #[inline]
    fn is_in_memory(&self) -> bool {
        let Range { start, end } = self.background.extent;
        if end - start <= UNTHREADED {
            return self.resident() == Some(end - start);
        }
        let mut sample = (start..end).step_by((end - start).div_ceil(SAMPLE).max(1));
        sample.all(|at| self.map.resident(at..at + 1).ok().flatten() == Some(1))
    }

    #[inline]
    fn drop_pages(&self) {
        if let Ok(bytes) = self.map.bytes(self.background.extent.clone()) {
            platform::page_out(bytes).ok();
        }
    }
}

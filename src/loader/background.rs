//! Reads arrays in the background: maps, for all clones of their rows, and open files.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use super::near_ranges::{self, MAX_RANGES};
use super::rows::{BatchSlices, Rows};
use crate::error::invariant::{to_u64, to_usize, to_usize_saturating};
use crate::source::pages::sealed::Pages as _;
use crate::source::planner::{Disk, Planner, Request};
use crate::source::platform::{self, Advice, HAS_READ_AHEAD};
use crate::source::read_ahead::{Next, ReadAhead};
use crate::source::tuning::{SAMPLE, UNTHREADED};

/// How an array is read besides the requested rows.
#[derive(Debug)]
pub(super) struct Background {
    pub(super) planner: Planner,
    /// The bytes of the map that belong to the array.
    pub(super) extent: Range<usize>,
    /// The bytes in this array and in arrays used with it.
    pub(super) working_set: usize,
    /// Shared by the arrays of a stack, so that these need only one thread.
    pub(super) read_ahead: Arc<ReadAhead>,
}

impl Rows {
    /// Maps a part of the array that is in memory, relative to its first byte,
    /// at once. Faults, which map some pages each, take longer in total. Failures are
    /// ignored, because faults will map the pages.
    #[inline]
    pub(super) fn map_pages(&self, part: Range<usize>) {
        let Range { start, end } = self.background.extent;
        let part = start + part.start..(start + part.end).min(end);
        if part.start < part.end {
            if let Ok(bytes) = self.map.bytes(part) {
                platform::populate(bytes).ok();
            }
        }
    }

    /// Reads more after a batch, if that is worthwhile.
    #[inline]
    pub(super) fn after_batch(&self, batch: &BatchSlices<'_>, is_cold: bool) {
        let Background { planner, extent: Range { start, .. }, .. } = &*self.background;
        if !planner.is_interested(is_cold) {
            return;
        }
        let mut request = Request { is_cold, ..Request::default() };
        batch.for_each_range(0..batch.len(), &mut |range| {
            request.add(&(range.start - start..range.end - start));
        });
        planner.update(&request, self);
    }

    /// Advises the kernel that rows will be read. Failures are ignored,
    /// because advice affects only speed.
    #[inline]
    pub(super) fn advise(&self, batch: &BatchSlices<'_>, numbers: Range<usize>) {
        let mut all = Vec::new();
        batch.for_each_range(numbers, &mut |range| {
            all.push(range);
            if all.len() == MAX_RANGES {
                self.advise_runs(&mut all);
            }
        });
        self.advise_runs(&mut all);
    }

    #[inline]
    fn advise_runs(&self, ranges: &mut Vec<Range<usize>>) {
        near_ranges::merge(ranges, self.background.planner.gap());
        for run in ranges.drain(..) {
            self.map.advise(run, Advice::WillNeed).ok();
        }
    }
}

impl Disk for Rows {
    #[inline]
    fn nbytes(&self) -> usize {
        self.background.extent.len()
    }

    #[inline]
    fn working_set(&self) -> u64 {
        to_u64(self.background.working_set)
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
        let file = if HAS_READ_AHEAD { self.reopen() } else { None };
        let Some((file, offset)) = file else { return false };
        let [start, end] = [range.start, range.end].map(|at| offset + to_u64(at));
        self.background.read_ahead.add(&Arc::new(file), Some(start..end), Next::After);
        true
    }

    #[inline]
    fn wait(&self) {
        self.background.read_ahead.wait();
    }

    #[inline]
    fn cached(&self) -> Option<usize> {
        let Range { start, end } = self.background.extent;
        if end - start <= UNTHREADED {
            let resident = self.map.resident(start..end).ok().flatten()?;
            return Some(resident * SAMPLE / (end - start).max(1));
        }
        let mut cached = 0;
        for at in (start..end).step_by((end - start).div_ceil(SAMPLE)) {
            cached += self.map.resident(at..at + 1).ok().flatten()?;
        }
        Some(cached)
    }

    #[inline]
    fn drop_pages(&self) {
        if let Ok(bytes) = self.map.bytes(self.background.extent.clone()) {
            platform::page_out(bytes).ok();
        }
    }
}

/// An array in an open file, which is read whole or not at all.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) file: Arc<File>,
    /// Where the array starts.
    pub(super) offset: u64,
    /// The bytes of its rows in the file.
    pub(super) extent: Range<u64>,
    pub(super) planner: Planner,
    pub(super) read_ahead: Arc<ReadAhead>,
}

impl Disk for Opened {
    #[inline]
    fn nbytes(&self) -> usize {
        to_usize(self.working_set())
    }

    #[inline]
    fn working_set(&self) -> u64 {
        self.extent.end - self.extent.start
    }

    #[inline]
    fn available(&self) -> Option<u64> {
        platform::available_memory()
    }

    #[inline]
    fn queued(&self) -> usize {
        to_usize_saturating(self.read_ahead.queued())
    }

    #[inline]
    fn queue(&self, range: Range<usize>) -> bool {
        let [start, end] = [range.start, range.end].map(|at| self.extent.start + to_u64(at));
        self.read_ahead.add(&self.file, Some(start..end), Next::After);
        HAS_READ_AHEAD
    }

    #[inline]
    fn wait(&self) {
        self.read_ahead.wait();
    }

    #[inline]
    fn cached(&self) -> Option<usize> {
        platform::cached_samples(&self.file, self.extent.clone(), SAMPLE)
    }

    #[inline]
    fn drop_pages(&self) {
        platform::evict(&self.file, self.extent.start, self.working_set()).ok();
    }
}

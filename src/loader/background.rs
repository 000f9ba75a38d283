//! Reads an array in the background, for all clones of its rows.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::reading::{Disk, Planner, Reading, Request};
use super::runs;
use crate::error::invariant::{to_u64, to_usize_saturating};
use crate::source::map::Map;
use crate::source::pages::sealed::Pages as _;
use crate::source::platform::{self, Advice};
use crate::source::read_ahead::ReadAhead;

/// The number of ranges that are sorted together.
const MAX_RANGES: usize = 1 << 16;

/// The longest range that the calling thread requests itself, because requesting
/// this few bytes does not block. So thousands of small arrays need no threads.
const MAX_UNTHREADED: usize = 4 << 20;

/// Reads parts of an array besides the requested rows.
#[derive(Debug)]
pub(super) struct Background {
    planner: Planner,
    /// The bytes of this array and of those that are used with it.
    working_set: usize,
    read_ahead: Arc<ReadAhead>,
}

impl Background {
    pub(super) fn new(reading: Reading, working_set: usize) -> Background {
        Background { planner: Planner::new(reading), working_set, read_ahead: Arc::default() }
    }

    /// Returns a new state for the same arrays, to be read in another way.
    pub(super) fn with_reading(&self, reading: Reading) -> Background {
        Background::new(reading, self.working_set)
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
        ranges(&mut |range| request.add(&range));
        self.planner.update(&request, &MappedFile { map, path, background: self });
    }

    /// Advises the system that ranges will be read. Failures are ignored, because
    /// advice affects only speed.
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

    fn advise_runs(&self, map: &Map, ranges: &mut Vec<Range<usize>>) {
        runs::merge(ranges, self.planner.gap());
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
    fn nbytes(&self) -> usize {
        self.map.as_ref().len()
    }

    fn working_set(&self) -> usize {
        self.background.working_set
    }

    fn available(&self) -> Option<u64> {
        platform::available_memory()
    }

    fn queued(&self) -> usize {
        to_usize_saturating(self.background.read_ahead.queued())
    }

    fn queue(&self, range: Range<usize>) -> bool {
        if range.len() <= MAX_UNTHREADED {
            return self.map.advise(range, Advice::WillNeed).is_ok();
        }
        let file = self.path.filter(|_| platform::HAS_READ_AHEAD);
        let Some((file, offset)) = file.and_then(|path| self.map.reopen(path)) else {
            return false;
        };
        let [start, end] = [range.start, range.end].map(|at| offset.saturating_add(to_u64(at)));
        self.background.read_ahead.add(file, start..end);
        true
    }
}

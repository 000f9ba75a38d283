//! Rows of files that are read instead of mapped.

use std::ffi::c_long;
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::ahead::RowsAhead;
use super::gather::{self, BLOCK};
use super::row_source::RowSource;
use crate::array::ArrayFile;
use crate::dtype::DType;
use crate::error::invariant::{IN_BUFFER, Invariant, to_u64, to_usize, to_usize_saturating};
use crate::error::{Error, Result};
use crate::source::planner::{Disk, Planner, RowReader};
use crate::source::platform::{self, Clock, HAS_READ_AHEAD};
use crate::source::read_ahead::{Next, ReadAhead};
use crate::source::tuning::{GROUP, SAMPLE};

/// Rows of this many bytes are read where they belong: copying them would take longer than
/// another call.
const LARGE: usize = 32 << 10;

impl ArrayFile {
    /// Reads ranges of rows in the order of the file, in which those near each other are
    /// read together. `order` has their numbers in that order.
    #[inline]
    fn read_in_file_order(
        &self,
        ranges: &[Range<usize>],
        order: &[usize],
        out: &mut [u8],
    ) -> Result<()> {
        let row = self.row_len() * self.dtype().itemsize();
        let mut end = 0;
        let place = |range: &Range<usize>| {
            let start = end;
            end += range.len() * row;
            start..end
        };
        let places: Vec<Range<usize>> = ranges.iter().map(place).collect();
        let (mut order, mut block) = (order, Vec::new());
        while !order.is_empty() {
            let mut nbytes = 0;
            let count = select(&places, order).take_while(|place| {
                let has_room = nbytes < BLOCK;
                nbytes += if has_room { place.len() } else { 0 };
                has_room
            });
            let (numbers, after) = order.split_at(count.count());
            order = after;
            block.resize(nbytes, 0);
            let ranges: Vec<Range<usize>> = select(ranges, numbers).cloned().collect();
            self.read_row_ranges(&ranges, &mut block)?;
            let mut rest = block.as_slice();
            for place in select(&places, numbers) {
                let (own, after) = rest.split_at(place.len());
                out.get_mut(place.clone()).invariant(IN_BUFFER).copy_from_slice(own);
                rest = after;
            }
        }
        Ok(())
    }
}

/// The ranges of these numbers.
#[inline]
fn select<'r>(
    ranges: &'r [Range<usize>],
    numbers: &'r [usize],
) -> impl Iterator<Item = &'r Range<usize>> {
    numbers.iter().map(|&number| ranges.get(number).invariant("the numbers are those of ranges"))
}

impl RowSource for ArrayFile {
    #[inline]
    fn dtype(&self) -> &DType {
        self.layout().dtype()
    }

    #[inline]
    fn shape(&self) -> &[usize] {
        self.layout().shape()
    }

    #[inline]
    fn read_ranges(&self, ranges: &[Range<usize>], out: &mut [u8]) -> Result<()> {
        self.named(gather::check_ranges(self, ranges, out.len()))?;
        // More calls than this, which could wait for the disk at once, are worth avoiding, or
        // announcing to the kernel.
        if out.is_empty() || self.breaks(ranges) <= GROUP {
            return self.named(self.read_row_ranges(ranges, out));
        }
        if out.len() / ranges.len().max(1) < LARGE && !ranges.is_sorted_by_key(|rows| rows.start) {
            let mut order: Vec<usize> = (0..ranges.len()).collect();
            order.sort_by_key(|&number| ranges.get(number).map(|rows| rows.start));
            let ordered: Vec<Range<usize>> = select(ranges, &order).cloned().collect();
            if self.breaks(&ordered) <= GROUP.max(ranges.len() / 64) {
                return self.named(self.read_in_file_order(ranges, &order, out));
            }
        }
        if !HAS_READ_AHEAD {
            return self.named(self.read_row_ranges(ranges, out));
        }
        let nbytes = out.len() / ranges.len().max(1);
        let (start, waits) = (Clock::now(), platform::disk_waits());
        let mut reader = FileReader { file: self, ranges, out, result: Ok(()), start, waits };
        self.planner.read(ranges.len(), nbytes, &mut reader);
        self.named(reader.result)
    }

    #[inline]
    fn add_path(&self, error: Error) -> Error {
        self.storage.add_path(error)
    }

    #[inline]
    fn rows_ahead(&self) -> RowsAhead {
        match self.duplicate_file() {
            Some(file) => {
                let layout = self.layout();
                let (geometry, size) = (layout.geometry(), layout.dtype().itemsize());
                RowsAhead::opened(file, self.data_offset(), geometry, size)
            }
            None => RowsAhead::default(),
        }
    }
}

/// Reads ranges of rows from a file, after asking the kernel for them if they
/// turn out to be on the disk.
struct FileReader<'a> {
    file: &'a ArrayFile,
    ranges: &'a [Range<usize>],
    /// The output for ranges that have not been read.
    out: &'a mut [u8],
    result: Result<()>,
    start: Clock,
    /// How often this thread had waited then.
    waits: Option<[c_long; 2]>,
}

impl FileReader<'_> {
    #[inline]
    fn ranges(&self, numbers: Range<usize>) -> &[Range<usize>] {
        self.ranges.get(numbers).invariant(IN_BUFFER)
    }
}

impl RowReader for FileReader<'_> {
    #[inline]
    fn touch(&self, number: usize) {
        if let Some(rows) = self.ranges.get(number).filter(|rows| !rows.is_empty()) {
            self.file.touch_row(rows.start);
        }
    }

    #[inline]
    fn advise(&self, numbers: Range<usize>) {
        self.file.request_rows(self.ranges(numbers));
    }

    #[inline]
    fn copy(&mut self, numbers: Range<usize>) {
        if self.result.is_err() {
            return;
        }
        let ranges = self.ranges.get(numbers).invariant(IN_BUFFER);
        let rows: usize = ranges.iter().map(Range::len).sum();
        let nbytes = rows * self.file.row_len() * self.file.dtype().itemsize();
        let (own, rest) = std::mem::take(&mut self.out).split_at_mut(nbytes);
        self.out = rest;
        self.result = self.file.read_row_ranges(ranges, own);
    }

    /// Ranges that are read here are far apart, or the kernel reads ahead.
    #[inline]
    fn span(&self, _: Range<usize>) -> usize {
        usize::MAX
    }

    #[inline]
    fn counts_waits(&self) -> bool {
        self.waits.is_some()
    }

    /// Not if other programs had the processor: then it did not sleep.
    #[inline]
    fn may_have_waited(&self) -> bool {
        let sleeps = |waits: Option<[c_long; 2]>| waits.map(|[_, sleeps]| sleeps);
        self.waits.is_none() || sleeps(platform::disk_waits()) > sleeps(self.waits)
    }

    #[inline]
    fn now(&self) -> Duration {
        self.start.elapsed()
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

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_did_not_sleep_has_not_waited_for_the_disk() {
        let file = &ArrayFile::open("data/penguins.npy").unwrap();
        let (start, waits) = (Clock::now(), platform::disk_waits());
        let reader = FileReader { file, ranges: &[], out: &mut [], result: Ok(()), start, waits };
        while reader.now() < Duration::from_millis(2) {}
        assert!(!reader.may_have_waited());
        std::thread::sleep(Duration::from_millis(1));
        assert!(reader.may_have_waited());
    }
}

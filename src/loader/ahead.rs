//! Reads blocks of rows ahead of the batches that need them.

use std::collections::VecDeque;
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::background::Background;
use super::near_ranges;
use super::reading::{self, Disk as _};
use super::row_source::RowSource as _;
use super::rows::Rows;
use super::sampler::Sampler;
use super::sequence::Sequence;
use crate::error::invariant::{to_u64, to_usize};
use crate::kernel::PAGE;
use crate::layout::geometry::Geometry;
use crate::source::platform::{self, Clock, HAS_READ_AHEAD};
use crate::source::read_ahead::{Next, ReadAhead};
use crate::source::tuning::{DENSE, GAP, IN_MEMORY, PIECE, SAMPLE, UNTHREADED, WINDOW};

/// The places of a source's rows in files, for reading ahead. Clones share the
/// threads.
#[derive(Clone, Debug, Default)]
pub struct RowsAhead {
    pub(super) parts: Vec<Part>,
    /// The number of rows after its first one that a row of the source includes.
    extra: usize,
}

/// Consecutive rows in one file.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// Their numbers in the source.
    pub(super) rows: Range<usize>,
    place: Place,
    /// The first byte of the first row, relative to the place.
    start: u64,
    /// The number of bytes from one row to the next.
    pub(super) step: u64,
    /// The number of bytes from a row's first byte to its last byte.
    span: u64,
    read_ahead: Arc<ReadAhead>,
    /// Whether the whole array is read, but not in order: of a map, when batches have to wait
    /// for the disk, of a file after the first batch.
    is_streamed: bool,
    /// Where reading of a whole array in a file is to start, until it starts.
    first: Option<u64>,
    /// The bytes of an array in memory that are still to be mapped for an epoch.
    unmapped: Range<usize>,
}

/// A file and where an array is in it.
#[derive(Clone, Debug)]
enum Place {
    /// A map. Its file is opened again when it is needed.
    Mapped(Box<Rows>),
    Opened(Arc<File>, u64),
}

impl RowsAhead {
    /// The rows of a map.
    #[inline]
    pub(super) fn mapped(rows: &Rows) -> RowsAhead {
        let place = Place::Mapped(Box::new(rows.clone()));
        let read_ahead = Arc::clone(&rows.background.read_ahead);
        RowsAhead::new(place, &rows.geometry, rows.dtype().itemsize(), read_ahead)
    }

    /// The rows of an array that starts at an offset of a file.
    #[inline]
    pub(super) fn opened(
        file: File,
        offset: u64,
        geometry: &Geometry,
        itemsize: usize,
    ) -> RowsAhead {
        RowsAhead::new(Place::Opened(Arc::new(file), offset), geometry, itemsize, Arc::default())
    }

    #[inline]
    fn new(
        place: Place,
        geometry: &Geometry,
        size: usize,
        read_ahead: Arc<ReadAhead>,
    ) -> RowsAhead {
        let (shape, strides): (&[usize], &[isize]) = (&geometry.shape, &geometry.strides);
        let (Some(&count), Some(&stride)) = (shape.first(), strides.first()) else {
            return RowsAhead::default();
        };
        let (Ok(step), Ok(row)) = (usize::try_from(stride), geometry.index_axis(0, 0)) else {
            return RowsAhead::default();
        };
        let span = row.span(size);
        // In Fortran order, blocks of rows are not contiguous.
        if span.is_empty() || span.len() > 2 * step.max(row.len() * size) {
            return RowsAhead::default();
        }
        let [start, step, span] = [span.start, step, span.len()].map(to_u64);
        let (rows, is_streamed, first, unmapped) = (0..count, false, None, 0..0);
        let part =
            Part { rows, place, start, step, span, read_ahead, is_streamed, first, unmapped };
        RowsAhead { parts: vec![part], extra: 0 }
    }

    /// The rows of several sources, in turn.
    pub(super) fn concat(parts: impl IntoIterator<Item = (usize, RowsAhead)>) -> RowsAhead {
        let parts = parts.into_iter().flat_map(|(first, ahead)| {
            ahead.parts.into_iter().map(move |part| {
                let rows = part.rows.start + first..part.rows.end + first;
                Part { rows, ..part }
            })
        });
        RowsAhead { parts: parts.collect(), extra: 0 }
    }

    /// Windows of `len` of these rows.
    #[inline]
    pub(super) fn windows(self, len: usize) -> RowsAhead {
        RowsAhead { extra: self.extra + len.saturating_sub(1), ..self }
    }

    /// Announces that `count` rows will be read. If they are on a large part of an array's
    /// pages, and the array fits into memory, all of it is read.
    ///
    /// `shard` says which shard of an epoch these rows are, and how many shards
    /// there are. The remaining threads read the rest, beginning at other
    /// places. A map reads ahead of the consecutive batches of a shard by
    /// itself.
    ///
    /// `available` is the memory for this source.
    #[inline]
    fn expect(
        &mut self,
        count: u64,
        is_sequential: bool,
        shard: (usize, usize),
        available: Option<u64>,
    ) {
        let count = count.saturating_mul(to_u64(shard.1));
        let nbytes = self.nbytes();
        for part in &mut self.parts {
            if count.saturating_mul(part.span.max(to_u64(PAGE))) < nbytes / to_u64(DENSE) {
                continue;
            }
            part.is_streamed = match &part.place {
                Place::Mapped(rows) => !is_sequential && rows.expect_epoch(available, shard),
                Place::Opened(_, offset) => {
                    let fits = reading::fits(nbytes, available);
                    let Range { start, end } = part.place_in_file(*offset);
                    let first = start + (end - start) / to_u64(shard.1) * to_u64(shard.0);
                    part.first = Some(first);
                    fits && HAS_READ_AHEAD
                }
            };
        }
    }

    /// Announces that `count` rows will be read, so that arrays that are in memory are mapped
    /// before that.
    #[inline]
    fn expect_in_memory(&mut self, count: u64) {
        for part in &mut self.parts {
            let Place::Mapped(rows) = &part.place else { continue };
            let nbytes = rows.nbytes();
            let is_dense = count.saturating_mul(part.span.max(to_u64(PAGE))) >= to_u64(nbytes);
            if is_dense && nbytes > UNTHREADED && rows.is_in_memory() {
                part.unmapped = 0..nbytes;
            }
        }
    }

    /// Maps the next bytes of arrays in memory.
    #[inline]
    fn map_pages(&mut self) {
        for part in &mut self.parts {
            let Place::Mapped(rows) = &part.place else { continue };
            let Range { start, end } = part.unmapped;
            if start < end {
                let next = end.min(start + to_usize(PIECE / 2));
                rows.map_pages(start..next);
                part.unmapped.start = next;
                return;
            }
        }
    }

    /// The size of all rows.
    #[inline]
    fn nbytes(&self) -> u64 {
        let sizes = self.parts.iter().map(|part| part.step * to_u64(part.rows.len()));
        sizes.sum()
    }

    /// The rows from one on, if they follow each other, and reading them early is worthwhile.
    #[inline]
    fn sequence(&self, first: u64, count: u64, available: Option<u64>) -> Sequence {
        let rows = self.rows_of(first, count);
        let nbytes = self.parts.iter().map(|part| part.end_before(rows.end)).sum::<u64>();
        let window = nbytes.min(2 * to_u64(WINDOW));
        let has_room = reading::fits(window, available);
        let is_long = nbytes > to_u64(UNTHREADED);
        Sequence::new(&self.parts, if has_room && is_long { rows } else { 0..0 })
    }

    /// The rows that `count` rows of the source include.
    #[inline]
    fn rows_of(&self, first: u64, count: u64) -> Range<u64> {
        first..first.saturating_add(count).saturating_add(to_u64(self.extra))
    }

    /// Waits until arrays that are read whole have been read, for a limited time. Of a map,
    /// only if the last batch was faster than the disk.
    #[inline]
    fn wait(&mut self) {
        for part in self.parts.iter_mut().filter(|part| part.is_streamed) {
            part.start_reading();
            match &part.place {
                Place::Opened(..) => part.read_ahead.wait(),
                Place::Mapped(rows) => rows.background.planner.wait(&**rows),
            }
        }
    }

    /// Returns whether rows that are read page by page were on the disk.
    #[inline]
    fn was_cold(&self) -> bool {
        self.parts.iter().filter_map(|part| part.single_rows()).any(|rows| rows.strategy.was_cold())
    }

    /// Requests rows, in turn. Returns the longest time that this takes if all
    /// are in memory. Does nothing for rows that don't exist. Reading them
    /// later returns an error.
    #[inline]
    fn request(&self, mut indices: Vec<usize>) -> Duration {
        if self.extra > 0 {
            return Duration::ZERO;
        }
        indices.sort_unstable();
        let (mut longest, mut rest) = (Duration::ZERO, &indices[..]);
        while let Some(first) = rest.first() {
            let number = self.parts.partition_point(|part| part.rows.end <= *first);
            let Some(part) = self.parts.get(number) else { break };
            let (own, after) = rest.split_at(rest.partition_point(|row| *row < part.rows.end));
            rest = after;
            let Some(rows) = part.single_rows() else { continue };
            // Rows of arrays that are not read ahead are in no part.
            let own = own.iter().filter_map(|row| row.checked_sub(part.rows.start));
            let own: Vec<usize> = own.collect();
            rows.prefetch(&own).ok();
            let pages = u32::try_from(part.span / to_u64(PAGE)).unwrap_or(u32::MAX);
            let each = IN_MEMORY + IN_MEMORY / 15 * pages;
            longest += each.saturating_mul(u32::try_from(own.len()).unwrap_or(u32::MAX));
        }
        longest
    }

    /// Queues ranges of rows to be read. Does nothing where that is impossible,
    /// because it affects speed only. Returns what to wait for until they are read.
    #[inline]
    fn queue(&self, ranges: &[Range<usize>]) -> Vec<Queued> {
        let mut queued = Vec::new();
        for part in self.parts.iter().filter(|part| !part.is_streamed && HAS_READ_AHEAD) {
            let bytes = part.bytes(ranges, self.extra);
            if bytes.is_empty() {
                continue;
            }
            let Some((file, offset)) = part.place.open() else { continue };
            let in_file = |at: usize| offset + to_u64(at);
            let bytes: Vec<Range<u64>> =
                bytes.iter().map(|range| in_file(range.start)..in_file(range.end)).collect();
            let added = part.read_ahead.add(&file, &bytes, Next::Elsewhere);
            queued.push(Queued { read_ahead: Arc::clone(&part.read_ahead), added });
        }
        queued
    }
}

/// Ranges in the queue of a thread that reads ahead.
#[derive(Clone, Debug)]
struct Queued {
    read_ahead: Arc<ReadAhead>,
    /// The number of bytes added up to the last range.
    added: u64,
}

impl Part {
    /// The first byte of a row, relative to the place.
    #[inline]
    pub(super) fn start_of(&self, row: u64) -> u64 {
        let own = row.saturating_sub(to_u64(self.rows.start));
        self.start + own * self.step
    }

    /// The end of the last row before a given row.
    #[inline]
    pub(super) fn end_before(&self, row: u64) -> u64 {
        let last = row.min(to_u64(self.rows.end)).checked_sub(1);
        let last = last.filter(|last| *last >= to_u64(self.rows.start));
        last.map_or(0, |last| self.start_of(last) + self.span)
    }

    /// Opens the file for consecutive batches that start at a byte, unless the array is in
    /// memory.
    #[inline]
    pub(super) fn open_sequence(&self, start: u64) -> Option<(Arc<File>, u64)> {
        let is_read = match &self.place {
            Place::Mapped(rows) => {
                let Background { planner, extent, .. } = &*rows.background;
                planner.expect_sequence(to_usize(start) - extent.start, &**rows)
            }
            Place::Opened(..) => true,
        };
        if is_read && HAS_READ_AHEAD { self.place.open() } else { None }
    }

    /// The rows, unless they are read whole, or can't be requested in turn.
    #[inline]
    fn single_rows(&self) -> Option<&Rows> {
        match &self.place {
            Place::Mapped(rows) if !self.is_streamed => Some(rows),
            _ => None,
        }
    }

    /// Starts to read a whole array in a file, once, unless it is in memory. The pages of the
    /// first batch are read again, because there would be no huge pages around them.
    #[inline]
    fn start_reading(&mut self) {
        let (Some(first), Place::Opened(file, offset)) = (self.first.take(), &self.place) else {
            return;
        };
        let Range { start, end } = self.place_in_file(*offset);
        let cached = platform::cached_samples(file, start..end, SAMPLE);
        if cached.is_some_and(|cached| cached >= SAMPLE / 16 * 15) {
            return;
        }
        if cached.is_some_and(|cached| cached <= SAMPLE / DENSE) {
            platform::evict(file, start, end - start).ok();
        }
        self.read_ahead.add(file, &[first..end, start..first], Next::After);
    }

    /// The bytes of all rows in a file that contains the array at an offset.
    #[inline]
    fn place_in_file(&self, offset: u64) -> Range<u64> {
        offset + self.start..offset + self.end_before(to_u64(self.rows.end))
    }

    /// The bytes of the rows in this part, relative to its place.
    #[inline]
    fn bytes(&self, ranges: &[Range<usize>], extra: usize) -> Vec<Range<usize>> {
        let own = ranges.iter().map(|range| {
            let end = range.end.saturating_add(extra).min(self.rows.end);
            to_u64(range.start.max(self.rows.start))..to_u64(end)
        });
        let bytes = own
            .filter(|rows| !rows.is_empty())
            .map(|rows| to_usize(self.start_of(rows.start))..to_usize(self.end_before(rows.end)));
        let mut bytes: Vec<Range<usize>> = bytes.collect();
        near_ranges::merge(&mut bytes, GAP);
        bytes
    }
}

impl Place {
    #[inline]
    fn open(&self) -> Option<(Arc<File>, u64)> {
        match self {
            Place::Mapped(rows) => rows.reopen().map(|(file, offset)| (Arc::new(file), offset)),
            Place::Opened(file, offset) => Some((Arc::clone(file), *offset)),
        }
    }
}

/// The sources that batches read ahead from.
#[derive(Clone, Debug, Default)]
pub(super) struct Ahead {
    pub(super) sources: Vec<RowsAhead>,
    /// Whether the sources know that an epoch follows.
    is_announced: bool,
    /// The position in the epoch where the queued blocks end.
    queued: u64,
    /// The groups of queued blocks that are not needed yet: where they
    /// start in the epoch, and what to wait for.
    groups: VecDeque<(u64, Vec<Queued>)>,
    /// Whether rows are requested one batch ahead, because they are on the disk.
    requests_rows: bool,
    /// The consecutive rows of each source, and the thread that reads them, which ends when
    /// this is dropped.
    sequences: Vec<Sequence>,
    thread: Arc<ReadAhead>,
}

impl Ahead {
    /// Queues the blocks of the next row of a sampler and those mixed with
    /// them, and the same number of blocks after these, unless they have been
    /// queued. Then waits until the first rows have been read: requesting their
    /// pages in turn would delay them.
    ///
    /// Consecutive rows are also queued, and waited for from the second batch
    /// on. Otherwise, requests the batch that follows the next `size` rows.
    #[inline]
    pub(super) fn advance(&mut self, sampler: &Sampler, size: usize) {
        if self.sources.is_empty() {
            return;
        }
        let (count, is_sequential) = (sampler.remaining(), sampler.is_sequential());
        self.sources.iter_mut().for_each(RowsAhead::map_pages);
        if !std::mem::replace(&mut self.is_announced, true) {
            self.sources.iter_mut().for_each(|source| source.expect_in_memory(count));
            let shard = sampler.number_of_shard();
            // All sources have to fit together.
            let available = platform::available_memory();
            if is_sequential && shard.1 == 1 {
                let sources = to_u64(self.sources.len());
                let available = available.map(|all| all / sources.max(1));
                let sequence =
                    |source: &RowsAhead| source.sequence(sampler.position(), count, available);
                self.sequences = self.sources.iter().map(sequence).collect();
                self.queue_sequences(sampler, size);
            } else {
                let all = self.sources.iter().map(RowsAhead::nbytes).sum::<u64>();
                for source in &mut self.sources {
                    let others = all - source.nbytes();
                    let available = available.map(|memory| memory.saturating_sub(others));
                    source.expect(count, is_sequential, shard, available);
                }
            }
        } else if !self.sequences.is_empty() {
            self.queue_sequences(sampler, size);
            for (source, sequence) in self.sources.iter().zip(&self.sequences) {
                let rows = source.rows_of(sampler.position(), to_u64(size));
                sequence.wait(&source.parts, &rows, &self.thread);
            }
        } else if !is_sequential {
            self.sources.iter_mut().for_each(RowsAhead::wait);
        }
        for (start, blocks) in self.next_blocks(sampler) {
            let queued = self.sources.iter().flat_map(|source| source.queue(&blocks));
            self.groups.push_back((start, queued.collect()));
        }
        let Some((_, positions)) = sampler.positions_left() else {
            return self.request_rows(sampler, size);
        };
        while self.groups.front().is_some_and(|(start, _)| *start <= positions.start) {
            let group = self.groups.pop_front();
            for Queued { read_ahead, added } in group.into_iter().flat_map(|(_, queued)| queued) {
                read_ahead.wait_for(added);
            }
        }
    }

    /// Queues the consecutive rows of the next batch, then what follows.
    #[inline]
    fn queue_sequences(&mut self, sampler: &Sampler, size: usize) {
        for window in [0, 2 * to_u64(WINDOW)] {
            for (source, sequence) in self.sources.iter().zip(&mut self.sequences) {
                let rows = source.rows_of(sampler.position(), to_u64(size));
                sequence.queue(&source.parts, &rows, window, &self.thread);
            }
        }
    }

    /// Requests the rows of the batch after the next batch, as long as this
    /// takes longer than for rows in memory.
    #[inline]
    fn request_rows(&mut self, sampler: &Sampler, size: usize) {
        self.requests_rows |= self.sources.iter().any(RowsAhead::was_cold);
        if !self.requests_rows || sampler.is_sequential() {
            return;
        }
        let mut next = sampler.clone();
        next.seek(sampler.position().saturating_add(to_u64(size)));
        let (indices, start) = (next.next_batch(size), Clock::now());
        let requests = self.sources.iter().map(|source| source.request(indices.clone()));
        let longest: Duration = requests.sum();
        self.requests_rows = start.elapsed() > longest;
    }

    /// The blocks to queue, as ranges of rows, and the position of the first row that
    /// needs them.
    #[inline]
    fn next_blocks(&mut self, sampler: &Sampler) -> Vec<(u64, Vec<Range<usize>>)> {
        let Some((order, positions)) = sampler.positions_left() else { return Vec::new() };
        let mut found = Vec::new();
        let mut next = positions.start;
        for _ in 0..2 {
            if !positions.contains(&next) {
                break;
            }
            let Some((end, blocks)) = order.group_blocks(next) else { break };
            if end > self.queued {
                self.queued = end;
                found.push((next, blocks));
            }
            next = end;
        }
        found
    }
}

#[cfg(test)]
mod tests;

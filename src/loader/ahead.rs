//! Reads rows before the batches that need them, if the order of the batches is known.

use std::collections::VecDeque;
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::file_rows::Opened;
use super::near_ranges;
use super::row_source::RowSource as _;
use super::rows::{Background, Rows};
use super::sampler::Sampler;
use crate::error::invariant::{to_u64, to_usize};
use crate::layout::geometry::Geometry;
use crate::source::planner::{self, Disk, Planner};
use crate::source::platform::{self, Clock, HAS_READ_AHEAD};
use crate::source::read_ahead::{Next, ReadAhead};
use crate::source::tuning::{DENSE, GAP, PIECE, PIECES, UNTHREADED, WINDOW};

/// The places of a source's rows in files, for reading ahead. Clones share the
/// threads.
#[derive(Clone, Debug, Default)]
pub struct RowsAhead {
    parts: Vec<Part>,
    /// The number of rows after its first one that a row of the source includes.
    extra: u64,
}

/// Consecutive rows in one file.
#[derive(Clone, Debug)]
struct Part {
    /// Their numbers in the source.
    rows: Range<u64>,
    place: Place,
    /// The first byte of the first row, relative to the place.
    start: u64,
    /// The number of bytes from one row to the next.
    step: u64,
    /// The number of bytes from a row's first byte to its last byte.
    span: u64,
    /// Whether the whole array is read, but not in order: of a map, when batches have to wait
    /// for the disk, of a file after the first batch.
    is_streamed: bool,
    /// The bytes of an array in memory that are still to be mapped for an epoch.
    unmapped: Range<usize>,
}

/// A file and where an array is in it.
#[derive(Clone, Debug)]
enum Place {
    /// A map. Its file is opened again when it is needed.
    Mapped(Box<Rows>),
    Opened(Arc<Opened>),
}

impl RowsAhead {
    /// The rows of a map.
    #[inline]
    pub(super) fn mapped(rows: &Rows) -> RowsAhead {
        let place = |_| Place::Mapped(Box::new(rows.clone()));
        RowsAhead::new(&rows.geometry, rows.dtype().itemsize(), place)
    }

    /// The rows of an array that starts at an offset of a file.
    #[inline]
    pub(super) fn opened(file: File, offset: u64, geometry: &Geometry, size: usize) -> RowsAhead {
        RowsAhead::new(geometry, size, |Range { start, end }| {
            let (file, extent) = (Arc::new(file), offset + start..offset + end);
            let (planner, read_ahead) = (Planner::default(), Arc::default());
            Place::Opened(Arc::new(Opened { file, offset, extent, planner, read_ahead }))
        })
    }

    /// Calls `place` with the bytes of all rows.
    #[inline]
    fn new(geometry: &Geometry, size: usize, place: impl FnOnce(Range<u64>) -> Place) -> RowsAhead {
        RowsAhead { parts: Part::new(geometry, size, place).into_iter().collect(), extra: 0 }
    }

    /// The rows of several sources, in turn.
    pub(super) fn concat(parts: impl IntoIterator<Item = (usize, RowsAhead)>) -> RowsAhead {
        let parts = parts.into_iter().flat_map(|(first, ahead)| {
            ahead.parts.into_iter().map(move |part| {
                let rows = part.rows.start + to_u64(first)..part.rows.end + to_u64(first);
                Part { rows, ..part }
            })
        });
        RowsAhead { parts: parts.collect(), extra: 0 }
    }

    /// Windows of `len` of these rows.
    #[inline]
    pub(super) fn windows(self, len: usize) -> RowsAhead {
        RowsAhead { extra: self.extra + to_u64(len.max(1) - 1), ..self }
    }

    /// Announces that `count` rows of each shard will be read. If they are on a large part of
    /// an array's pages, and the array fits into memory, all of it is read.
    ///
    /// `shard` says which shard of an epoch these rows are, and how many shards
    /// there are. The remaining threads read the rest, beginning at other
    /// places. `available` is the memory for this source.
    #[inline]
    fn expect(&mut self, count: u64, shard: (usize, usize), available: Option<u64>) {
        let nbytes = self.nbytes();
        let each = (nbytes / to_u64(DENSE)).div_ceil(to_u64(shard.1));
        for part in &mut self.parts {
            let (planner, disk) = part.place.planned();
            let is_dense = planner::is_dense(count, part.span, each);
            part.is_streamed = is_dense && planner.expect_epoch(disk, available);
            // Where processes read the same bytes at the same time, they get no huge pages.
            if part.is_streamed && shard.1 > 1 && matches!(part.place, Place::Mapped(_)) {
                planner.start(disk.nbytes() / shard.1 * shard.0, disk);
            }
        }
    }

    /// Announces that `count` rows will be read, so that arrays that are in memory are mapped
    /// before that.
    #[inline]
    fn expect_in_memory(&mut self, count: u64) {
        for part in &mut self.parts {
            let Place::Mapped(rows) = &part.place else { continue };
            let nbytes = rows.nbytes();
            let is_dense = planner::is_dense(count, part.span, to_u64(nbytes));
            if is_dense && nbytes > UNTHREADED && rows.is_in_memory() {
                part.unmapped = 0..nbytes;
            }
        }
    }

    /// Maps the next bytes of arrays in memory.
    #[inline]
    fn map_pages(&mut self) {
        if let Some(part) = self.parts.iter_mut().find(|part| !part.unmapped.is_empty()) {
            if let Place::Mapped(rows) = &part.place {
                part.unmapped.start = rows.map_pages(part.unmapped.clone());
            }
        }
    }

    /// The size of all rows.
    #[inline]
    fn nbytes(&self) -> u64 {
        self.parts.iter().map(|part| part.step * (part.rows.end - part.rows.start)).sum()
    }

    /// The rows from one on, if they follow each other, and reading them early is worthwhile.
    #[inline]
    fn sequence(&self, first: u64, count: u64, available: Option<u64>) -> Sequence {
        let end = self.rows_of(first, count).end;
        let nbytes = self.parts.iter().map(|part| part.end_before(end)).sum::<u64>();
        let is_read = planner::is_worth_reading_ahead(nbytes, available);
        Sequence { end: if is_read { end } else { 0 }, ..Sequence::default() }
    }

    /// The rows that `count` rows of the source include.
    #[inline]
    fn rows_of(&self, first: u64, count: u64) -> Range<u64> {
        let end = self.parts.last().map_or(0, |part| part.rows.end);
        first..(first + count).min(end) + self.extra
    }

    /// Waits until arrays that are read whole have been read, for a limited time. Of a map,
    /// only if the last batch was faster than the disk. Of a file, reading starts before the
    /// second batch: pages of the first one are read again, because there would be no huge pages
    /// around them.
    #[inline]
    fn wait(&self, is_second: bool, (shard, shards): (usize, usize)) {
        for part in self.parts.iter().filter(|part| part.is_streamed) {
            let (planner, disk) = part.place.planned();
            let is_reading = is_second || planner.is_interested(false);
            if is_reading && matches!(part.place, Place::Opened(_)) {
                planner.start(disk.nbytes() / shards * shard, disk);
            }
            planner.wait(disk);
        }
    }

    /// Returns whether rows that are read page by page were on the disk.
    #[inline]
    fn was_cold(&self) -> bool {
        let mut parts = self.parts.iter().filter(|part| !part.is_streamed);
        parts.any(|part| part.place.planned().0.was_cold())
    }

    /// Requests rows, in turn. Returns the longest time that this takes if all
    /// are in memory. Does nothing for rows that don't exist.
    /// Reading them later returns an error.
    #[inline]
    fn request(&self, mut indices: Vec<usize>) -> Duration {
        if self.extra > 0 {
            return Duration::ZERO;
        }
        indices.sort_unstable();
        let (mut longest, mut rest) = (Duration::ZERO, &indices[..]);
        while let Some(&first) = rest.first() {
            let Some(part) = self.parts.get(part_of(&self.parts, to_u64(first))) else { break };
            let [start, end] = [part.rows.start, part.rows.end].map(to_usize);
            let (own, after) = rest.split_at(rest.partition_point(|row| *row < end));
            rest = after;
            let (Place::Mapped(rows), false) = (&part.place, part.is_streamed) else { continue };
            // Rows of arrays that are not read ahead are in no part.
            let own: Vec<usize> = own.iter().filter_map(|row| row.checked_sub(start)).collect();
            rows.prefetch(&own).ok();
            longest += planner::request_limit(own.len(), part.span);
        }
        longest
    }

    /// Queues ranges of rows to be read. Does nothing where that is impossible,
    /// because it affects speed only. Returns the number of bytes added to the queue up to the
    /// last of them.
    #[inline]
    fn queue(&self, ranges: &[Range<usize>], queue: &Arc<ReadAhead>) -> u64 {
        let mut added = 0;
        for part in self.parts.iter().filter(|part| !part.is_streamed && HAS_READ_AHEAD) {
            let bytes = part.bytes(ranges, self.extra);
            if bytes.is_empty() {
                continue;
            }
            let Some((file, offset)) = part.place.open() else { continue };
            let bytes = bytes
                .into_iter()
                .map(|bytes| offset + to_u64(bytes.start)..offset + to_u64(bytes.end));
            added = queue.add(&file, bytes, Next::Elsewhere).max(added);
        }
        added
    }
}

impl Part {
    /// `None` if blocks of rows are not contiguous, as in Fortran order, or there is nothing to
    /// read.
    #[inline]
    fn new(
        geometry: &Geometry,
        size: usize,
        place: impl FnOnce(Range<u64>) -> Place,
    ) -> Option<Part> {
        let (shape, strides): (&[usize], &[isize]) = (&geometry.shape, &geometry.strides);
        let (&count, step) = (shape.first()?, usize::try_from(*strides.first()?).ok()?);
        let row = geometry.index_axis(0, 0).ok()?;
        let span = row.span(size);
        if span.is_empty() || span.len() > 2 * step.max(row.len() * size) {
            return None;
        }
        let [count, start, step, span] = [count, span.start, step, span.len()].map(to_u64);
        let place = place(start..start + (count - 1) * step + span);
        let (rows, is_streamed, unmapped) = (0..count, false, 0..0);
        Some(Part { rows, place, start, step, span, is_streamed, unmapped })
    }

    /// The first byte of a row, relative to the place; of the first row for rows before it.
    #[inline]
    fn start_of(&self, row: u64) -> u64 {
        self.start + (row.max(self.rows.start) - self.rows.start) * self.step
    }

    /// The end of the last row before a given row; 0 without one.
    #[inline]
    fn end_before(&self, row: u64) -> u64 {
        let end = row.min(self.rows.end);
        if end > self.rows.start { self.start_of(end - 1) + self.span } else { 0 }
    }

    /// The rows with bytes in a range of bytes of the rows.
    #[inline]
    fn rows_in(&self, bytes: &Range<u64>) -> Range<u64> {
        let (first_end, step) = (self.start + self.span, self.step.max(1));
        let before = ((bytes.start + step).max(first_end) - first_end) / step;
        let end = (bytes.end - self.start).div_ceil(step);
        self.rows.start + before..self.rows.start + end
    }

    /// Opens the file for consecutive batches that start at a byte, unless the array is in
    /// memory.
    #[inline]
    fn open_sequence(&self, start: u64) -> Option<(Arc<File>, u64)> {
        let is_read = match &self.place {
            Place::Mapped(rows) => {
                let Background { planner, extent, .. } = &*rows.background;
                planner.expect_sequence(to_usize(start) - extent.start, &**rows)
            }
            Place::Opened(..) => true,
        };
        if is_read && HAS_READ_AHEAD { self.place.open() } else { None }
    }

    /// The bytes of the rows in this part, relative to its place.
    #[inline]
    fn bytes(&self, ranges: &[Range<usize>], extra: u64) -> Vec<Range<usize>> {
        let Range { start: first, end: last } = self.rows;
        let mut bytes = Vec::new();
        for range in ranges {
            let start = to_u64(range.start).max(first);
            let end = (to_u64(range.end).min(last) + extra).min(last);
            if start < end {
                bytes.push(to_usize(self.start_of(start))..to_usize(self.end_before(end)));
            }
        }
        near_ranges::merge(&mut bytes, GAP);
        bytes.sort_unstable_by_key(|range| range.start);
        bytes
    }
}

/// The number of the part that has a row.
#[inline]
fn part_of(parts: &[Part], row: u64) -> usize {
    parts.partition_point(|part| part.rows.end <= row)
}

impl Place {
    #[inline]
    fn planned(&self) -> (&Planner, &dyn Disk) {
        match self {
            Place::Mapped(rows) => (&rows.background.planner, &**rows),
            Place::Opened(opened) => (&opened.planner, &**opened),
        }
    }

    #[inline]
    fn open(&self) -> Option<(Arc<File>, u64)> {
        match self {
            Place::Mapped(rows) => rows.reopen().map(|(file, offset)| (Arc::new(file), offset)),
            Place::Opened(opened) => Some((Arc::clone(&opened.file), opened.offset)),
        }
    }
}

/// The queued rows of a source that follow each other, and those still to be queued.
///
/// Batches can be copied faster than a disk reads. If one requested a page of a
/// range that is being read, Linux would read that page by itself and could use
/// no huge page around it. So batches wait until their rows have been read,
/// except the first batch.
#[derive(Clone, Debug, Default)]
struct Sequence {
    /// The row after the last row.
    end: u64,
    /// The part of the source to queue next, and the first byte of it that was not queued.
    next: (usize, u64),
    /// The file of this part, and the offset of its place. It stays open because Linux
    /// remembers for each open file how much it reads ahead.
    file: Option<(Arc<File>, u64)>,
    /// Pieces that were queued and may not have been read.
    pieces: VecDeque<Piece>,
}

#[derive(Clone, Debug)]
struct Piece {
    /// The rows with bytes in it.
    rows: Range<u64>,
    nbytes: u64,
    /// The number of bytes added to the queue up to its end.
    added: u64,
}

impl Sequence {
    /// Queues the rows of a batch and at least `window` bytes after them, unless they have
    /// been queued.
    #[inline]
    fn queue(&mut self, parts: &[Part], rows: &Range<u64>, window: u64, queue: &Arc<ReadAhead>) {
        let first = part_of(parts, rows.start);
        let Some(part) = parts.get(first) else { return };
        while self.pieces.front().is_some_and(|piece| piece.rows.end <= rows.start) {
            self.pieces.pop_front();
        }
        // Rows that were taken faster than they could be queued are not needed any more.
        let start = (first, part.start_of(rows.start));
        if self.next < start {
            if self.next.0 != first {
                self.file = None;
            }
            self.next = start;
        }
        // A window along the first axis can be longer than its rows, and rows before the part
        // are none of it.
        let nbytes = (rows.end - rows.start) * part.step;
        let room = window + nbytes.max(part.end_before(rows.end).max(start.1) - start.1);
        for _ in self.pieces.len()..PIECES {
            let queued = self.pieces.iter().map(|piece| piece.nbytes);
            if queued.sum::<u64>() >= room || !self.queue_piece(parts, queue) {
                break;
            }
        }
    }

    /// Queues bytes of the next part, if there is one. Skips parts that need not be read.
    #[inline]
    fn queue_piece(&mut self, parts: &[Part], queue: &Arc<ReadAhead>) -> bool {
        let (number, at) = self.next;
        let next = parts.get(number).filter(|part| part.rows.start < self.end);
        let Some(part) = next else { return false };
        let end = part.end_before(self.end);
        if self.file.is_none() && at < end {
            self.file = part.open_sequence(at);
        }
        if let Some((file, offset)) = &self.file {
            let start = offset + at;
            // Ends where a piece of the queue does, so that only the first and the last can be
            // short.
            let nbytes = (PIECE - start % PIECE).min(end - at);
            let added = queue.add(file, Some(start..start + nbytes), Next::After);
            if added == 0 {
                return false;
            }
            self.pieces.push_back(Piece { rows: part.rows_in(&(at..at + nbytes)), nbytes, added });
            self.next.1 += nbytes;
        }
        if self.file.is_none() || self.next.1 >= end {
            self.file = None;
            self.next = (number + 1, parts.get(number + 1).map_or(0, |part| part.start));
        }
        true
    }

    /// The number of bytes added to the queue up to the last row before a given one, or up
    /// to the last queued row.
    #[inline]
    fn added_before(&self, row: u64) -> Option<u64> {
        let mut pieces = self.pieces.iter().rev();
        pieces.find(|piece| piece.rows.start < row).map(|piece| piece.added)
    }
}

/// The sources that batches read ahead from.
#[derive(Clone, Debug, Default)]
pub(super) struct Ahead {
    pub(super) sources: Vec<RowsAhead>,
    /// The number of batches before the next one.
    batches: u64,
    /// The position in the epoch where the queued blocks end.
    queued: u64,
    /// The groups of queued blocks that are not needed yet: where they start in the epoch, and
    /// the number of bytes added to the queue up to their end.
    groups: VecDeque<(u64, u64)>,
    /// The consecutive rows of each source.
    sequences: Vec<Sequence>,
    /// Reads blocks and consecutive rows, until this is dropped.
    queue: Arc<ReadAhead>,
    /// Whether rows are requested one batch ahead, because they are on the disk.
    requests_rows: bool,
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
        self.sources.iter_mut().for_each(RowsAhead::map_pages);
        let size = sampler.remaining().min(to_u64(size));
        if self.batches == 0 {
            self.announce(sampler);
        }
        self.queue_sequences(sampler.position(), size);
        if self.batches > 0 {
            for (source, sequence) in self.sources.iter().zip(&self.sequences) {
                let rows = source.rows_of(sampler.position(), size);
                sequence.added_before(rows.end).into_iter().for_each(|at| self.queue.wait_for(at));
            }
            let (is_second, shard) = (self.batches == 1, sampler.number_of_shard());
            self.sources.iter().for_each(|source| source.wait(is_second, shard));
        }
        self.batches += 1;
        for (start, blocks) in self.next_blocks(sampler) {
            let added = self.sources.iter().map(|source| source.queue(&blocks, &self.queue));
            self.groups.push_back((start, added.max().unwrap_or(0)));
        }
        let Some((_, positions)) = sampler.positions_left() else {
            return self.request_rows(sampler, size);
        };
        while let Some(&(start, added)) = self.groups.front() {
            if start > positions.start {
                break;
            }
            self.groups.pop_front();
            self.queue.wait_for(added);
        }
    }

    /// Tells the sources which rows follow.
    #[inline]
    fn announce(&mut self, sampler: &Sampler) {
        let (first, count) = (sampler.position(), sampler.remaining());
        let shard = sampler.number_of_shard();
        self.sources.iter_mut().for_each(|source| source.expect_in_memory(count));
        // All sources have to fit together.
        let available = platform::available_memory();
        if !sampler.is_sequential() {
            let all: u64 = self.sources.iter().map(RowsAhead::nbytes).sum();
            for source in &mut self.sources {
                let others = all - source.nbytes();
                source.expect(count, shard, available.map(|all| all - others.min(all)));
            }
        } else if shard.1 == 1 {
            // A map reads ahead of the consecutive batches of one of several shards by itself.
            let each = available.map(|all| all / to_u64(self.sources.len()));
            let sequences = self.sources.iter().map(|source| source.sequence(first, count, each));
            self.sequences = sequences.collect();
        }
    }

    /// Queues the consecutive rows of the next batch, then what follows.
    #[inline]
    fn queue_sequences(&mut self, first: u64, size: u64) {
        for window in [0, 2 * to_u64(WINDOW)] {
            for (source, sequence) in self.sources.iter().zip(&mut self.sequences) {
                let rows = source.rows_of(first, size);
                sequence.queue(&source.parts, &rows, window, &self.queue);
            }
        }
    }

    /// Requests the rows of the batch after the next batch, as long as this
    /// takes longer than for rows in memory.
    #[inline]
    fn request_rows(&mut self, sampler: &Sampler, size: u64) {
        self.requests_rows |= self.sources.iter().any(RowsAhead::was_cold);
        if !self.requests_rows || sampler.is_sequential() {
            return;
        }
        let mut next = sampler.clone();
        next.seek(sampler.position() + size);
        let (indices, start) = (next.next_batch(to_usize(size)), Clock::now());
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

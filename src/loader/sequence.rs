//! Reads rows that follow each other before batches need them.
//!
//! Batches can be copied faster than a disk reads. If one requested a page of a
//! range that is being read, Linux would read that page by itself and could use
//! no huge page around it. So batches wait until their rows have been read,
//! except the first batch.

use std::collections::VecDeque;
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use super::ahead::Part;
use crate::error::invariant::to_u64;
use crate::source::read_ahead::{Next, ReadAhead};
use crate::source::tuning::{PIECE, PIECES};

/// The queued rows of a source, and the rows still to be queued.
#[derive(Clone, Debug)]
pub(super) struct Sequence {
    /// The row after the last row.
    end: u64,
    /// The part of the source to queue next, and the first byte of it that was not queued.
    part: usize,
    at: u64,
    /// The file of this part, and the offset of its place. It stays open because Linux
    /// remembers for each open file how much it reads ahead.
    file: Option<(Arc<File>, u64)>,
    /// Bytes that were queued and may not have been read.
    chunks: VecDeque<Chunk>,
}

/// Bytes of a part, relative to its place.
#[derive(Clone, Debug)]
struct Chunk {
    part: usize,
    bytes: Range<u64>,
    /// The number of bytes added to the queue before them.
    before: u64,
}

impl Sequence {
    #[inline]
    pub(super) fn new(parts: &[Part], rows: Range<u64>) -> Sequence {
        let part = part_of(parts, rows.start);
        let at = parts.get(part).map_or(0, |part| part.start_of(rows.start));
        Sequence { end: rows.end, part, at, file: None, chunks: VecDeque::new() }
    }

    /// Queues the rows of a batch and at least `window` bytes after them, unless they have
    /// been queued.
    #[inline]
    pub(super) fn queue(
        &mut self,
        parts: &[Part],
        rows: &Range<u64>,
        window: u64,
        queue: &Arc<ReadAhead>,
    ) {
        let first = part_of(parts, rows.start);
        let Some(part) = parts.get(first) else { return };
        let start = (first, part.start_of(rows.start));
        while self.chunks.front().is_some_and(|chunk| (chunk.part, chunk.bytes.end) <= start) {
            self.chunks.pop_front();
        }
        // Rows that were taken faster than they could be queued are not needed any more.
        if (self.part, self.at) < start {
            if self.part != first {
                self.file = None;
            }
            (self.part, self.at) = start;
        }
        let nbytes = (rows.end - rows.start).saturating_mul(part.step);
        // A window along the first axis can be longer than that.
        let nbytes = nbytes.max(part.end_before(rows.end).saturating_sub(start.1));
        let room = window.saturating_add(nbytes);
        for _ in self.chunks.len()..PIECES {
            let queued = self.chunks.iter().map(|chunk| chunk.bytes.end - chunk.bytes.start);
            if queued.sum::<u64>() >= room || !self.queue_chunk(parts, queue) {
                break;
            }
        }
    }

    /// Queues bytes of the next part, if there is one. Skips parts that need not be read.
    #[inline]
    fn queue_chunk(&mut self, parts: &[Part], queue: &Arc<ReadAhead>) -> bool {
        let next = parts.get(self.part).filter(|part| to_u64(part.rows.start) < self.end);
        let Some(part) = next else { return false };
        if self.file.is_none() {
            self.file = part.open_sequence(self.at);
        }
        let end = part.end_before(self.end);
        if let Some((file, offset)) = &self.file {
            let start = offset + self.at;
            // Ends where a piece does, so that only the first and the last can be short.
            let len = (PIECE - start % PIECE).min(end.saturating_sub(self.at));
            let added = queue.add(file, std::slice::from_ref(&(start..start + len)), Next::After);
            let Some(before) = added.checked_sub(len) else { return false };
            let bytes = self.at..self.at + len;
            self.at = bytes.end;
            self.chunks.push_back(Chunk { part: self.part, bytes, before });
        }
        if self.file.is_none() || self.at >= end {
            self.file = None;
            self.part += 1;
            self.at = parts.get(self.part).map_or(0, |part| part.start_of(to_u64(part.rows.start)));
        }
        true
    }

    /// Waits until rows that were queued have been read, for a limited time.
    #[inline]
    pub(super) fn wait(&self, parts: &[Part], rows: &Range<u64>, queue: &ReadAhead) {
        if let Some(added) = self.added_up_to(parts, rows) {
            queue.wait_for(added);
        }
    }

    /// The number of bytes added to the queue up to the end of some rows, or up
    /// to the last queued row.
    #[inline]
    fn added_up_to(&self, parts: &[Part], rows: &Range<u64>) -> Option<u64> {
        let last = rows.end.min(self.end).checked_sub(1)?;
        let number = part_of(parts, last);
        let end = parts.get(number)?.end_before(last + 1);
        let mut chunks = self.chunks.iter().rev();
        let chunk = chunks.find(|chunk| (chunk.part, chunk.bytes.start) < (number, end))?;
        let end = if chunk.part == number { end.min(chunk.bytes.end) } else { chunk.bytes.end };
        Some(chunk.before + (end - chunk.bytes.start))
    }
}

/// The number of the part that has a row.
#[inline]
fn part_of(parts: &[Part], row: u64) -> usize {
    parts.partition_point(|part| to_u64(part.rows.end) <= row)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::super::ahead::RowsAhead;
    use super::*;
    use crate::layout::geometry::Geometry;

    const ROW: u64 = 1 << 20;
    const SEQUENCE: u64 = 128 << 20;

    /// Arrays of rows of 1 MiB, in files that are too short for the thread to read them.
    fn source(lens: &[usize]) -> RowsAhead {
        let mut first = 0;
        let parts = lens.iter().map(|&len| {
            let strides = [usize::try_from(ROW).unwrap(), 1].map(usize::cast_signed);
            let shape = [len, strides[0].unsigned_abs()];
            let (shape, strides) = (shape.into_iter().collect(), strides.into_iter().collect());
            let geometry = Geometry { offset: 0, shape, strides };
            let ahead = RowsAhead::opened(tempfile::tempfile().unwrap(), 128, &geometry, 1);
            let start = first;
            first += len;
            (start, ahead)
        });
        RowsAhead::concat(parts.collect::<Vec<_>>())
    }

    /// Queues what batches of some rows need, and checks that each batch is queued before it
    /// is taken, in order. Returns all that was queued: the part, and its bytes.
    fn queued(source: &RowsAhead, rows: Range<u64>, size: u64) -> Vec<(usize, Range<u64>)> {
        let (parts, queue) = (&source.parts, Arc::default());
        let mut sequence = Sequence::new(parts, rows.clone());
        let mut all: Vec<(usize, Range<u64>)> = Vec::new();
        for start in rows.clone().step_by(usize::try_from(size).unwrap()) {
            let batch = start..(start + size).min(rows.end);
            // A thread may hold the lock of the queue.
            for _ in 0..100 {
                sequence.queue(parts, &batch, SEQUENCE, &queue);
            }
            for Chunk { part, bytes, .. } in &sequence.chunks {
                if all.last().is_none_or(|last| (last.0, last.1.end) < (*part, bytes.end)) {
                    all.push((*part, bytes.clone()));
                }
            }
            let number = part_of(parts, batch.end - 1);
            let needed = (number, parts[number].end_before(batch.end));
            let last = all.last().unwrap();
            assert!((last.0, last.1.end) >= needed, "{batch:?}: {last:?}");
            assert!(sequence.chunks.len() <= PIECES);
            let ahead: u64 = sequence.chunks.iter().map(|c| c.bytes.end - c.bytes.start).sum();
            assert!(ahead <= SEQUENCE + size * ROW + PIECE, "{ahead}");
        }
        all
    }

    #[test]
    fn each_row_is_queued_once_before_its_batch() {
        let source = source(&[300]);
        for (rows, size) in [(0..300, 7), (100..300, 1), (0..50, 64), (0..300, 300), (299..300, 1)]
        {
            let chunks = queued(&source, rows.clone(), size);
            let mut at = rows.start * ROW;
            for (part, bytes) in &chunks {
                assert_eq!((*part, bytes.start), (0, at), "{rows:?}");
                at = bytes.end;
                assert!((at + 128).is_multiple_of(PIECE) || at == rows.end * ROW, "{rows:?}");
            }
            assert_eq!(at, rows.end * ROW, "{rows:?}");
        }
    }

    #[test]
    fn files_are_opened_when_they_are_needed_soon() {
        let source = source(&[1; 200]);
        let chunks = queued(&source, 100..180, 3);
        let expected: Vec<_> = (100..180).map(|part| (part, 0..ROW)).collect();
        assert_eq!(chunks, expected);
        let mut sequence = Sequence::new(&source.parts, 0..200);
        sequence.queue(&source.parts, &(0..1), SEQUENCE, &Arc::default());
        assert!(sequence.chunks.len() <= PIECES);
    }

    #[test]
    fn rows_that_were_taken_are_not_queued() {
        let source = source(&[1; 200]);
        let (mut sequence, queue) = (Sequence::new(&source.parts, 0..200), Arc::default());
        for first in (0..192).step_by(64) {
            for _ in 0..100 {
                sequence.queue(&source.parts, &(first..first + 64), SEQUENCE, &queue);
            }
            let parts: Vec<_> = sequence.chunks.iter().map(|chunk| to_u64(chunk.part)).collect();
            assert_eq!(parts, (first..first + 32).collect::<Vec<_>>());
        }
    }

    #[test]
    fn nothing_is_queued_after_the_last_row() {
        let source = source(&[10, 20]);
        for rows in [0..0, 30..30, 40..50] {
            let mut sequence = Sequence::new(&source.parts, rows.clone());
            let queue = Arc::default();
            sequence.queue(&source.parts, &(rows.start..rows.start + 4), SEQUENCE, &queue);
            assert!(sequence.chunks.is_empty(), "{rows:?}");
            assert_eq!(sequence.added_up_to(&source.parts, &rows), None, "{rows:?}");
        }
    }

    #[test]
    fn batches_wait_for_their_last_row() {
        let source = source(&[40, 40]);
        let parts = &source.parts;
        let mut sequence = Sequence::new(parts, 10..80);
        // Rows 10 to 31 and a part of the next one, and the rest of the first file; the second
        // file is in memory up to row 59; its rest was not queued.
        let cut = PIECE - 128;
        for (part, bytes, before) in
            [(0, 10 * ROW..cut, 5), (0, cut..40 * ROW, 100 * ROW), (1, 0..20 * ROW, 200 * ROW)]
        {
            sequence.chunks.push_back(Chunk { part, bytes, before });
        }
        for (rows, expected) in [
            (10..11, Some(5 + ROW)),
            (10..31, Some(5 + 21 * ROW)),
            (24..32, Some(100 * ROW + 128)),
            (32..40, Some(100 * ROW + 40 * ROW - cut)),
            (32..41, Some(201 * ROW)),
            (52..60, Some(220 * ROW)),
            (72..90, Some(220 * ROW)),
            (0..10, None),
        ] {
            assert_eq!(sequence.added_up_to(parts, &rows), expected, "{rows:?}");
        }
        // Without the first file, which is in memory.
        sequence.chunks.drain(..2);
        assert_eq!(sequence.added_up_to(parts, &(32..40)), None);
        assert_eq!(sequence.added_up_to(parts, &(32..41)), Some(201 * ROW));
    }

    #[test]
    fn a_batch_is_queued_without_what_follows() {
        let source = source(&[100]);
        let (mut sequence, queue) = (Sequence::new(&source.parts, 0..100), Arc::default());
        for (window, expected) in [(0, PIECE - 128), (0, PIECE - 128), (SEQUENCE, 100 * ROW)] {
            for _ in 0..100 {
                sequence.queue(&source.parts, &(0..8), window, &queue);
            }
            assert_eq!(sequence.chunks.back().unwrap().bytes.end, expected);
        }
    }
}

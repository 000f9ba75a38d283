//! Reads blocks of rows ahead of the batches that need them.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use super::rows::Rows;
use super::runs;
use super::sampler::Sampler;
use crate::error::invariant::to_u64;
use crate::layout::geometry::Geometry;
use crate::source::platform::HAS_READ_AHEAD;
use crate::source::read_ahead::{ReadAhead, Use};

/// The places of a source's rows in files, for reading ahead. Clones share the
/// threads.
#[derive(Clone, Debug, Default)]
pub struct RowsAhead {
    parts: Vec<Part>,
    /// The number of rows after its first one that a row of the source includes.
    extra: usize,
}

/// Consecutive rows in one file.
#[derive(Clone, Debug)]
struct Part {
    /// Their numbers in the source.
    rows: Range<usize>,
    place: Place,
    /// The first byte of the first row, relative to the place.
    start: u64,
    /// The number of bytes from one row to the next.
    step: u64,
    /// The number of bytes from the first to the last one of a row.
    span: u64,
    read_ahead: Arc<ReadAhead>,
}

/// A file and where an array is in it.
#[derive(Clone, Debug)]
enum Place {
    /// A map, whose file is opened again when it is needed.
    Mapped(Box<Rows>),
    Opened(Arc<File>, u64),
}

impl RowsAhead {
    /// The rows of a map.
    pub(super) fn mapped(
        rows: &Rows,
        geometry: &Geometry,
        read_ahead: Arc<ReadAhead>,
    ) -> RowsAhead {
        RowsAhead::new(
            Place::Mapped(Box::new(rows.clone())),
            geometry,
            rows.dtype().itemsize(),
            read_ahead,
        )
    }

    /// The rows of an array that starts at an offset of a file.
    pub(super) fn opened(
        file: File,
        offset: u64,
        geometry: &Geometry,
        itemsize: usize,
    ) -> RowsAhead {
        RowsAhead::new(Place::Opened(Arc::new(file), offset), geometry, itemsize, Arc::default())
    }

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
        let part = Part { rows: 0..count, place, start, step, span, read_ahead };
        RowsAhead { parts: vec![part], extra: 0 }
    }

    /// The rows of several sources, one after another.
    pub(super) fn stacked(parts: impl IntoIterator<Item = (usize, RowsAhead)>) -> RowsAhead {
        let parts = parts.into_iter().flat_map(|(first, ahead)| {
            ahead.parts.into_iter().map(move |part| {
                let rows = part.rows.start + first..part.rows.end + first;
                Part { rows, ..part }
            })
        });
        RowsAhead { parts: parts.collect(), extra: 0 }
    }

    /// Windows of `len` of these rows.
    pub(super) fn windows(self, len: usize) -> RowsAhead {
        RowsAhead { extra: self.extra + len.saturating_sub(1), ..self }
    }

    /// Queues ranges of rows to be read. Does nothing where that is impossible,
    /// because it affects speed only.
    fn queue(&self, ranges: &[Range<usize>]) {
        if !HAS_READ_AHEAD {
            return;
        }
        for part in &self.parts {
            let bytes = part.bytes(ranges, self.extra);
            if bytes.is_empty() {
                continue;
            }
            let Some((file, offset)) = part.place.open() else { continue };
            let bytes = bytes.into_iter().map(|range| {
                offset.saturating_add(to_u64(range.start))..offset.saturating_add(to_u64(range.end))
            });
            part.read_ahead.add(&file, bytes, Use::Scattered);
        }
    }
}

impl Part {
    /// The bytes of those of the rows that are in this part, relative to its place.
    fn bytes(&self, ranges: &[Range<usize>], extra: usize) -> Vec<Range<usize>> {
        let own = ranges.iter().map(|range| {
            let end = range.end.saturating_add(extra).min(self.rows.end);
            range.start.max(self.rows.start)..end
        });
        let mut bytes: Vec<Range<usize>> = own
            .filter(|rows| !rows.is_empty())
            .filter_map(|rows| {
                let [first, last] =
                    [rows.start, rows.end - 1].map(|row| to_u64(row - self.rows.start));
                let start = self.start.checked_add(first.checked_mul(self.step)?)?;
                let end = self.start.checked_add(last.checked_mul(self.step)?)?;
                let end = end.checked_add(self.span)?;
                Some(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
            })
            .collect();
        runs::merge(&mut bytes, runs::GAP);
        bytes
    }
}

impl Place {
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
    sources: Vec<RowsAhead>,
    /// The position in the epoch up to which blocks have been queued.
    queued: u64,
}

impl Ahead {
    pub(super) fn add(&mut self, source: RowsAhead) {
        self.sources.push(source);
    }

    /// Queues the blocks of the next row of a sampler and those that are mixed with
    /// them, and the same number of blocks after these, unless they have been queued.
    pub(super) fn advance(&mut self, sampler: &Sampler) {
        if self.sources.is_empty() {
            return;
        }
        for blocks in self.next_blocks(sampler) {
            self.sources.iter().for_each(|source| source.queue(&blocks));
        }
    }

    /// The blocks to queue, as ranges of rows.
    fn next_blocks(&mut self, sampler: &Sampler) -> Vec<Vec<Range<usize>>> {
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
                found.push(blocks);
            }
            next = end;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loader::{Share, Tail};

    /// Takes all batches of a sampler, and checks that their rows were queued
    /// before, in blocks that are queued once. Returns the numbers of rows that
    /// were queued but not taken yet.
    fn rows_ahead(sampler: &Sampler, size: usize) -> Vec<usize> {
        let mut ahead = Ahead::default();
        let (mut queued, mut taken, mut waiting) = (Vec::new(), 0, Vec::new());
        let mut sampler = sampler.clone();
        while sampler.remaining() > 0 {
            for block in ahead.next_blocks(&sampler).into_iter().flatten() {
                queued.extend(block);
            }
            let batch = sampler.next_batch(size);
            assert!(batch.iter().all(|row| queued.contains(row)), "{batch:?}");
            waiting.push(queued.len() - taken);
            taken += batch.len();
        }
        let count = queued.len();
        queued.sort_unstable();
        queued.dedup();
        assert_eq!(queued.len(), count, "nothing is queued twice");
        waiting
    }

    #[test]
    fn blocks_are_queued_once_before_their_rows_and_in_bounded_number() {
        for (len, block, buffer) in [(1000, 10, 5), (1003, 10, 7), (30, 100, 4), (640, 64, 1)] {
            let sampler = Sampler::blocks(len, block, 3).buffer(buffer).unwrap();
            // Batches that end where groups end contain no rows of the next group.
            let size = if len % 10 == 0 { 10 } else { 1 };
            let waiting = rows_ahead(&sampler, size);
            assert!(waiting.iter().all(|rows| *rows <= 2 * block * buffer), "{waiting:?}");
            assert!(waiting[0] >= len.min(2 * (block - 1) * buffer), "{waiting:?}");
        }
    }

    #[test]
    fn shares_and_resumed_epochs_queue_only_their_blocks() {
        let share = Share { rank: 1, world: 4, ..Share::default() };
        let sampler = Sampler::blocks(1600, 10, 3).buffer(4).unwrap();
        let share = sampler.clone().share(share).unwrap().tail(Tail::Drop);
        assert!(rows_ahead(&share, 1).iter().all(|rows| *rows <= 80));
        let mut ahead = Ahead::default();
        let mut resumed = sampler.clone();
        resumed.seek(1590);
        assert_eq!(ahead.next_blocks(&resumed).len(), 1, "the last group");
        assert!(ahead.next_blocks(&resumed).is_empty());
    }

    #[test]
    fn other_orders_and_huge_groups_queue_nothing() {
        let huge = Sampler::blocks(usize::MAX, 1, 1).buffer(usize::MAX).unwrap();
        for sampler in [Sampler::shuffled(100, 1), Sampler::sequential(100), huge] {
            assert!(Ahead::default().next_blocks(&sampler).is_empty());
        }
    }

    #[test]
    #[expect(clippy::single_range_in_vec_init, reason = "there is one range")]
    fn rows_are_ranges_of_bytes_of_their_file() {
        let file = || tempfile::tempfile().unwrap();
        let geometry = |shape: &[usize], strides: &[isize]| Geometry {
            offset: 7,
            shape: shape.iter().copied().collect(),
            strides: strides.iter().copied().collect(),
        };
        let rows = RowsAhead::opened(file(), 128, &geometry(&[100, 10_000], &[40_000, 4]), 4);
        let stacked = RowsAhead::stacked([(0, rows.clone()), (100, rows.clone())]);
        let [first, second] = &stacked.parts[..] else { panic!("two parts") };
        assert_eq!(first.bytes(&[0..2, 99..150], 0), [7..80_007, 3_960_007..4_000_007]);
        assert_eq!(second.bytes(&[0..2, 99..102], 0), [7..80_007]);
        assert!(first.bytes(&[100..200], 0).is_empty());
        assert_eq!(first.bytes(&[0..1], rows.windows(3).extra), [7..120_007]);
        // Rows in Fortran order are scattered over the file.
        let columns = RowsAhead::opened(file(), 0, &geometry(&[100, 10], &[4, 400]), 4);
        assert!(columns.parts.is_empty());
        let scalar = RowsAhead::opened(file(), 0, &geometry(&[], &[]), 4);
        assert!(scalar.parts.is_empty());
    }
}

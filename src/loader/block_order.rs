//! Blocks of rows in random order, with the rows of a few blocks mixed.

use std::ops::Range;

use super::near_ranges::MAX_RANGES;
use super::permutation::{Permutation, hash};
use crate::error::invariant::{to_u64, to_usize, to_usize_saturating};

/// The number of rows computed together.
const CHUNK: usize = 256;

/// A block order for one epoch. The blocks are permuted, and `buffer`
/// consecutive blocks of that order are a group with permuted rows.
///
/// The last block of the array may be shorter, and may be at any place in the
/// order. The order is not stored, so any position is computed at once.
#[derive(Clone, Debug)]
pub(super) struct BlockOrder {
    len: u64,
    size: u64,
    buffer: u64,
    key: u64,
    /// The number of blocks.
    count: u64,
    order: Permutation,
    /// The place of the array's last block in the order.
    last_place: u64,
    last_len: u64,
}

/// Consecutive blocks with permuted rows: their positions in the epoch.
struct Group {
    start: u64,
    end: u64,
    permutation: Permutation,
}

impl BlockOrder {
    #[inline]
    pub(super) fn new(len: u64, size: u64, buffer: u64, key: u64) -> BlockOrder {
        let (size, buffer) = (size.max(1), buffer.max(1));
        let count = len.div_ceil(size);
        let order = Permutation::new(count, key);
        let last = count.max(1) - 1;
        let last_place = if count == 0 { 0 } else { order.inverse(last) };
        let last_len = len - last * size;
        BlockOrder { len, size, buffer, key, count, order, last_place, last_len }
    }

    /// The row at a position of the epoch.
    #[inline]
    pub(super) fn row(&self, position: u64) -> u64 {
        let group = self.group(position);
        let (place, offset) =
            self.place(group.start + group.permutation.apply(position - group.start));
        self.order.apply(place) * self.size + offset
    }

    /// Fills `out` with the rows at the positions from `first` on.
    #[inline]
    pub(super) fn fill(&self, mut first: u64, mut out: &mut [u64]) {
        while !out.is_empty() {
            let group = self.group(first);
            let count = to_usize_saturating(group.end - first).clamp(1, out.len());
            let (rows, rest) = out.split_at_mut(count);
            for chunk in rows.chunks_mut(CHUNK) {
                group.permutation.fill(first - group.start, 1, chunk);
                self.find_rows(group.start, chunk);
                first += to_u64(chunk.len());
            }
            out = rest;
        }
    }

    /// Replaces offsets in a group by the rows there, at most [`CHUNK`] of them.
    #[inline]
    fn find_rows(&self, start: u64, rows: &mut [u64]) {
        let mut offsets = [0; CHUNK];
        for (row, offset) in rows.iter_mut().zip(&mut offsets) {
            (*row, *offset) = self.place(start + *row);
        }
        self.order.apply_all(rows);
        for (row, offset) in rows.iter_mut().zip(offsets) {
            *row = *row * self.size + offset;
        }
    }

    /// The group that contains a position.
    #[inline]
    fn group(&self, position: u64) -> Group {
        let (place, _) = self.place(position);
        let number = place / self.buffer;
        let first = number * self.buffer;
        let end = first + self.buffer.min(self.count - first);
        let (start, end) = (self.position(first), self.position(end));
        let number = if self.buffer == 1 { self.order.apply(first) } else { number };
        Group { start, end, permutation: Permutation::new(end - start, hash(self.key, number)) }
    }

    /// The blocks of the group that contains a position, as ranges of rows, and
    /// the position after the group. Returns `None` if there are too many
    /// blocks to list.
    #[inline]
    pub(super) fn group_blocks(&self, position: u64) -> Option<(u64, Vec<Range<usize>>)> {
        let (place, _) = self.place(position);
        let first = place / self.buffer * self.buffer;
        let end = first + self.buffer.min(self.count - first);
        if end - first > to_u64(MAX_RANGES) {
            return None;
        }
        let blocks = (first..end).map(|place| {
            let start = self.order.apply(place) * self.size;
            to_usize(start)..to_usize(start + self.size.min(self.len - start))
        });
        Some((self.position(end), blocks.collect()))
    }

    /// The place in the order of the block that contains a position, and the
    /// offset in the block.
    #[inline]
    fn place(&self, position: u64) -> (u64, u64) {
        match position.checked_sub(self.last_end()) {
            // Blocks after the short one start earlier than they would if it had
            // the full length.
            Some(after) => (self.last_place + 1 + after / self.size, after % self.size),
            None if position / self.size >= self.last_place => {
                (self.last_place, position - self.last_place * self.size)
            }
            None => (position / self.size, position % self.size),
        }
    }

    /// The position of a block's first row. The place after the last block is
    /// the end.
    #[inline]
    fn position(&self, place: u64) -> u64 {
        match place.checked_sub(self.last_place + 1) {
            _ if place == self.count => self.len,
            Some(after) => self.last_end() + after * self.size,
            None => place * self.size,
        }
    }

    /// The position after the last row of the short block. It is at most `len`.
    #[inline]
    fn last_end(&self) -> u64 {
        self.last_place * self.size + self.last_len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HUGE: [(u64, u64); 4] =
        [(u64::MAX, (1 << 63) + 1), (u64::MAX, u64::MAX - 1), (u64::MAX, 3), (u64::MAX, 1 << 20)];

    #[test]
    fn rows_of_huge_blocks_are_in_bounds() {
        for (len, size) in HUGE {
            for (key, buffer) in (0..8).zip([1, 2, 3, 1 << 40, u64::MAX].into_iter().cycle()) {
                let blocks = BlockOrder::new(len, size, buffer, key);
                for position in [0, 1, size - 1, size, len / 2, len - 2, len - 1] {
                    let row = blocks.row(position);
                    assert!(row < len);
                    let mut filled = [0];
                    blocks.fill(position, &mut filled);
                    assert_eq!(filled, [row]);
                }
            }
        }
    }

    #[test]
    fn rows_are_the_same_one_by_one_and_together() {
        for (len, size, buffer) in
            [(1, 1, 1), (1000, 7, 1), (1000, 7, 5), (999, 40, 3), (50, 9, 99)]
        {
            for key in 0..20 {
                let blocks = BlockOrder::new(len, size, buffer, key);
                let expected: Vec<u64> = (0..len).map(|position| blocks.row(position)).collect();
                for first in [0, 1, len / 3, len - 1] {
                    let expected: Vec<u64> = (first..len).map(|at| blocks.row(at)).collect();
                    let mut rows = vec![0; expected.len()];
                    blocks.fill(first, &mut rows);
                    assert_eq!(rows, expected, "{len} {size} {buffer}");
                }
                let mut rows = expected;
                rows.sort_unstable();
                assert!(rows.into_iter().eq(0..len), "{len} {size} {buffer}");
            }
        }
    }
}

//! The part of an object that is in memory.

use std::collections::VecDeque;
use std::ops::Range;

use crate::invariant::{IN_BUFFER, Invariant, to_u64, to_usize_saturating};
use crate::ranges;

/// The first request: the bytes at the start of an object, with the header.
pub(super) const FIRST: u64 = 64 << 10;

/// One request for the bytes at its end: an archive's directory.
const LAST: u64 = 256 << 10;

/// The size of a request for a small read elsewhere.
const BLOCK: u64 = 64 << 10;

/// The most bytes of a block. A block that continues a block has twice its size.
pub(super) const LONGEST: u64 = 4 << 20;

/// The most bytes to keep in blocks between the start and the end.
const KEPT: u64 = 8 << 20;

/// The most bytes to keep from announced ranges.
const AHEAD: u64 = 16 << 20;

/// Consecutive bytes of an object.
pub(super) struct Block {
    pub(super) start: u64,
    pub(super) bytes: Vec<u8>,
}

impl Block {
    fn end(&self) -> u64 {
        self.start.saturating_add(to_u64(self.bytes.len()))
    }

    /// Copies the bytes from an offset in the object on, and returns how many, or 0
    /// if it is outside.
    pub(super) fn copy(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let start = offset.checked_sub(self.start).map(to_usize_saturating);
        let known = start.and_then(|start| self.bytes.get(start..)).unwrap_or_default();
        let len = known.len().min(buffer.len());
        let to = buffer.get_mut(..len).invariant(IN_BUFFER);
        to.copy_from_slice(known.get(..len).invariant(IN_BUFFER));
        len
    }
}

/// Blocks of an object.
pub(super) struct Blocks {
    size: u64,
    first: Block,
    last: Option<Block>,
    /// All other blocks, the oldest first.
    others: VecDeque<Block>,
    /// Announced blocks, in ascending order and without overlaps.
    ahead: Vec<Block>,
}

impl Blocks {
    pub(super) fn new(first: Vec<u8>, size: u64) -> Blocks {
        let first = Block { start: 0, bytes: first };
        Blocks { size, first, last: None, others: VecDeque::new(), ahead: Vec::new() }
    }

    /// Copies known bytes, and returns how many.
    pub(super) fn copy(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let blocks = [Some(&self.first), self.last.as_ref()];
        let after = self.ahead.partition_point(|block| block.start <= offset);
        let ahead = after.checked_sub(1).and_then(|position| self.ahead.get(position));
        let mut blocks = blocks.into_iter().flatten().chain(ahead).chain(&self.others);
        blocks
            .find_map(|block| Some(block.copy(offset, buffer)).filter(|&len| len > 0))
            .unwrap_or(0)
    }

    /// The block to request for a small read at an offset inside the object, which
    /// is not known.
    pub(super) fn plan(&self, offset: u64) -> Range<u64> {
        let last = self.size.saturating_sub(LAST).max(self.first.end());
        if offset >= last && self.last.is_none() {
            return last..self.size;
        }
        let before = self.others.back().filter(|block| block.end() == offset);
        let len = before.map_or(BLOCK, |block| to_u64(block.bytes.len()).saturating_mul(2));
        offset..offset.saturating_add(len.clamp(BLOCK, LONGEST)).min(self.size)
    }

    /// Which of the announced ranges to request: in ascending order, without overlaps,
    /// without known bytes at the start or the end, and not too many.
    pub(super) fn plan_ahead(&self, announced: &[Range<u64>]) -> Vec<Range<u64>> {
        let mut rest = AHEAD;
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for range in announced {
            let range = range.start..range.end.min(self.size);
            if range.is_empty() || self.is_at_an_end(&range) {
                continue;
            }
            match rest.checked_sub(ranges::len(&range)) {
                Some(left) => rest = left,
                None => break,
            }
            ranges.push(range);
        }
        ranges.sort_unstable_by_key(|range| range.start);
        let mut united: Vec<Range<u64>> = Vec::new();
        for range in ranges {
            match united.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => united.push(range),
            }
        }
        united
    }

    /// Replaces the announced blocks.
    pub(super) fn set_ahead(&mut self, blocks: Vec<Block>) {
        self.ahead = blocks;
    }

    fn is_at_an_end(&self, range: &Range<u64>) -> bool {
        let mut ends = [Some(&self.first), self.last.as_ref()].into_iter().flatten();
        ends.any(|block| block.start <= range.start && range.end <= block.end())
    }

    /// Keeps a block, and drops the oldest blocks if there are too many bytes.
    pub(super) fn add(&mut self, block: Block) {
        if block.end() == self.size && to_u64(block.bytes.len()) <= LAST && self.last.is_none() {
            self.last = Some(block);
            return;
        }
        self.others.push_back(block);
        let mut kept: u64 = self.others.iter().map(|block| to_u64(block.bytes.len())).sum();
        while kept > KEPT {
            let Some(oldest) = self.others.pop_front() else { break };
            kept -= to_u64(oldest.bytes.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds a planned block, whose bytes are all zero.
    fn add(blocks: &mut Blocks, range: Range<u64>) {
        let len = to_usize_saturating(range.end - range.start);
        blocks.add(Block { start: range.start, bytes: vec![0; len] });
    }

    fn blocks(size: u64) -> Blocks {
        let first = to_usize_saturating(size.min(FIRST));
        Blocks::new(vec![0; first], size)
    }

    #[test]
    fn the_end_is_requested_once_and_kept() {
        let mut large = blocks(100 << 20);
        let range = large.plan((100 << 20) - 22);
        assert_eq!(range, (100 << 20) - LAST..100 << 20);
        add(&mut large, range);
        for at in 0..50 {
            let range = large.plan((at + 1) << 20);
            assert_eq!(range.end - range.start, BLOCK);
            add(&mut large, range);
        }
        assert_eq!(large.copy((100 << 20) - LAST, &mut [0; 5]), 5);
        assert_eq!(large.copy((100 << 20) - 3, &mut [0; 5]), 3);
        assert_eq!(large.copy(0, &mut [0; 5]), 5);
        assert_eq!(blocks(70 << 10).plan(69 << 10), FIRST..70 << 10);
    }

    #[test]
    fn reading_on_requests_more_each_time_and_keeps_little() {
        let mut large = blocks(1 << 30);
        let mut offset = FIRST;
        let mut lens = Vec::new();
        while offset < 100 << 20 {
            let range = large.plan(offset);
            lens.push(range.end - range.start);
            offset = range.end;
            add(&mut large, range);
            let kept: usize = large.others.iter().map(|block| block.bytes.len()).sum();
            assert!(to_u64(kept) <= KEPT);
        }
        assert_eq!(lens[..3], [BLOCK, 2 * BLOCK, 4 * BLOCK]);
        assert_eq!(lens.last(), Some(&LONGEST));
        assert_eq!(large.copy(offset - 1, &mut [0; 9]), 1);
        assert_eq!(large.copy(FIRST, &mut [0; 9]), 0, "the oldest is dropped");
    }

    #[test]
    fn announced_ranges_are_united_limited_and_found() {
        let mut large = blocks(100 << 20);
        large.add(Block { start: (100 << 20) - LAST, bytes: vec![0; 256 << 10] });
        let at = 1 << 20;
        let announced = [
            at + 5..at + 9,
            0..30,
            at..at + 5,
            at + 8..at + 20,
            at + 30..at + 40,
            (100 << 20) - 8..(100 << 20) + 8,
            u64::MAX - 1..u64::MAX,
        ];
        let planned = large.plan_ahead(&announced);
        assert_eq!(planned, [at..at + 20, at + 30..at + 40]);
        let block = |range: &Range<u64>| Block {
            start: range.start,
            bytes: range.clone().map(|at| u8::try_from(at % 251).unwrap()).collect(),
        };
        large.set_ahead(planned.iter().map(block).collect());
        for (offset, len) in [(at - 1, 0), (at, 20), (at + 19, 1), (at + 20, 0), (at + 33, 7)] {
            let mut buffer = [0; 64];
            assert_eq!(large.copy(offset, &mut buffer), len);
            assert!((offset..).zip(&buffer[..len]).all(|(at, &byte)| u64::from(byte) == at % 251));
        }
        let half = AHEAD / 2;
        let planned = large.plan_ahead(&[at..at + half, at + half..at + AHEAD, 0..at]);
        assert_eq!((planned.len(), planned.first()), (1, Some(&(at..at + AHEAD))));
    }

    #[test]
    fn known_bytes_are_copied() {
        let mut some = Blocks::new(b"abc".to_vec(), 1 << 20);
        some.add(Block { start: 10, bytes: b"klm".to_vec() });
        let mut buffer = [0; 2];
        assert_eq!((some.copy(1, &mut buffer), buffer), (2, *b"bc"));
        assert_eq!((some.copy(12, &mut buffer), buffer[0]), (1, b'm'));
        assert_eq!([3, 9, 13, u64::MAX].map(|at| some.copy(at, &mut buffer)), [0; 4]);
    }
}

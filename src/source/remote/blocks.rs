//! The bytes of an object that are kept in memory.

use std::collections::VecDeque;
use std::ops::Range;

use crate::error::invariant::{IN_BUFFER, Invariant, to_u64, to_usize_saturating};

/// The bytes at the start of an object that are requested first: the header.
pub(super) const FIRST: u64 = 64 << 10;

/// The bytes at its end that are requested together: the directory of an archive.
const LAST: u64 = 256 << 10;

/// The bytes that are requested for a small read elsewhere.
const BLOCK: u64 = 64 << 10;

/// The most bytes of a block: each that continues another one has twice its size.
const LONGEST: u64 = 4 << 20;

/// The most bytes of blocks that are kept, besides those at the start and end.
const KEPT: u64 = 8 << 20;

/// Consecutive bytes of an object.
pub(super) struct Block {
    pub(super) start: u64,
    pub(super) bytes: Vec<u8>,
}

impl Block {
    fn end(&self) -> u64 {
        self.start.saturating_add(to_u64(self.bytes.len()))
    }

    /// Copies the bytes from an offset in the object on, and returns how many: none
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
    /// The others, the oldest first.
    others: VecDeque<Block>,
}

impl Blocks {
    pub(super) fn new(first: Vec<u8>, size: u64) -> Blocks {
        let first = Block { start: 0, bytes: first };
        Blocks { size, first, last: None, others: VecDeque::new() }
    }

    /// Copies the bytes that are known, and returns how many.
    pub(super) fn copy(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let blocks = [Some(&self.first), self.last.as_ref()];
        let mut blocks = blocks.into_iter().flatten().chain(&self.others);
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

    /// Keeps a block, and drops the oldest ones if there are too many bytes.
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
    fn known_bytes_are_copied() {
        let mut some = Blocks::new(b"abc".to_vec(), 1 << 20);
        some.add(Block { start: 10, bytes: b"klm".to_vec() });
        let mut buffer = [0; 2];
        assert_eq!((some.copy(1, &mut buffer), buffer), (2, *b"bc"));
        assert_eq!((some.copy(12, &mut buffer), buffer[0]), (1, b'm'));
        assert_eq!([3, 9, 13, u64::MAX].map(|at| some.copy(at, &mut buffer)), [0; 4]);
    }
}

//! Which blocks of a cached object are complete. Any number of processes and threads read
//! and write blocks and marks concurrently, without a lock.
//!
//! `super::shared` provides the files. The model test has files in memory.

use std::io;
use std::ops::Range;
use std::sync::atomic::Ordering;

use super::key::HEADER;
use super::shared::{AtomicBool, File, read_at, write_at};
use crate::invariant::{to_u64, to_usize_saturating};
use crate::ranges;

/// The bytes of a block.
pub(crate) const BLOCK: u64 = 64 << 10;

/// A block written since the last boot. Its bytes are in the file, but may be lost when
/// the power fails, while the mark is not.
const WRITTEN: u8 = 1;

/// A block with all bytes on the disk when this mark was written.
const SYNCED: u8 = 2;

/// The file with the bytes of an object, and the file of marks.
pub(super) struct Blocks {
    pub(super) data: File,
    pub(super) marks: File,
    size: u64,
    /// Whether [`WRITTEN`] marks are from the current boot.
    trusts_written: bool,
    /// Whether some written blocks are not known to be on the disk.
    is_unsynced: AtomicBool,
}

/// The numbers of the blocks that have a part of a range.
fn numbers(range: &Range<u64>) -> Range<u64> {
    range.start / BLOCK..range.end.div_ceil(BLOCK)
}

impl Blocks {
    pub(super) fn new(data: File, marks: File, size: u64, trusts_written: bool) -> Blocks {
        Blocks { data, marks, size, trusts_written, is_unsynced: AtomicBool::new(false) }
    }

    /// Splits a range of the object into parts that are complete (`true`) and parts that
    /// are not.
    pub(super) fn parts(&self, range: &Range<u64>) -> Vec<(Range<u64>, bool)> {
        let numbers = numbers(range);
        let mut parts: Vec<(Range<u64>, bool)> = Vec::new();
        if range.is_empty() {
            return parts;
        }
        for (number, mark) in numbers.clone().zip(self.read_marks(&numbers)) {
            let block = number * BLOCK..(number + 1) * BLOCK;
            let part = block.start.max(range.start)..block.end.min(range.end);
            let is_complete = mark == SYNCED || (mark == WRITTEN && self.trusts_written);
            match parts.last_mut() {
                Some((last, same)) if *same == is_complete => last.end = part.end,
                _ => parts.push((part, is_complete)),
            }
        }
        parts
    }

    /// Writes complete blocks, then their marks.
    pub(super) fn write(&self, bytes: &[u8], numbers: &Range<u64>) -> io::Result<()> {
        write_at(&self.data, bytes, numbers.start * BLOCK)?;
        let mark = if self.trusts_written {
            WRITTEN
        } else {
            // The system doesn't say when it was started.
            self.data.sync_data()?;
            SYNCED
        };
        let marks = vec![mark; to_usize_saturating(ranges::len(numbers))];
        write_at(&self.marks, &marks, HEADER + numbers.start)?;
        if mark == WRITTEN {
            // Last, so that a `sync` meanwhile does not miss the marks.
            self.is_unsynced.swap(true, Ordering::AcqRel);
        }
        Ok(())
    }

    /// Whether blocks would be requested again after a restart.
    pub(super) fn is_unsynced(&self) -> bool {
        self.is_unsynced.load(Ordering::Relaxed)
    }

    /// Waits until the blocks of all processes are on the disk, and marks them. If that
    /// fails, they may be lost, and are forgotten.
    pub(super) fn sync(&self, is_read_only: bool) -> io::Result<()> {
        // An exchange, unlike a store, also obtains the marks that were written before.
        self.is_unsynced.swap(false, Ordering::AcqRel);
        // Before the data is synced: others may write blocks meanwhile.
        let marks = self.all_marks();
        if !marks.contains(&WRITTEN) {
            return Ok(());
        }
        let synced = self.data.sync_data();
        let marked = self.replace_written(&marks, if synced.is_ok() { SYNCED } else { 0 });
        // Files that are only read keep their marks.
        synced.and(if is_read_only { Ok(()) } else { marked })
    }

    /// Forgets blocks from before the last boot. `then` notes that.
    pub(super) fn forget_written(
        &mut self,
        then: impl FnOnce(&File) -> io::Result<()>,
    ) -> io::Result<()> {
        self.replace_written(&self.all_marks(), 0)?;
        // After the marks: if this is interrupted, it is repeated.
        then(&self.marks)?;
        self.trusts_written = true;
        Ok(())
    }

    /// Replaces the marks [`WRITTEN`].
    fn replace_written(&self, marks: &[u8], by: u8) -> io::Result<()> {
        let mut at = HEADER;
        for run in marks.chunk_by(|a, b| a == b) {
            if run.first() == Some(&WRITTEN) {
                write_at(&self.marks, &vec![by; run.len()], at)?;
            }
            at += to_u64(run.len());
        }
        Ok(())
    }

    fn all_marks(&self) -> Vec<u8> {
        self.read_marks(&numbers(&(0..self.size)))
    }

    /// Reads the marks of blocks. Unreadable marks are 0.
    fn read_marks(&self, numbers: &Range<u64>) -> Vec<u8> {
        let mut marks = vec![0; to_usize_saturating(ranges::len(numbers))];
        match read_at(&self.marks, &mut marks, HEADER + numbers.start) {
            Ok(len) if len == marks.len() => {}
            _ => marks.fill(0),
        }
        marks
    }
}

//! Records that are collected into blocks, without repetitions if they are counted.

use npymap::Result;

use crate::sort::records::COUNT;

/// Uses a block of records.
pub(super) type Visit<'a> = &'a mut dyn FnMut(&[u8]) -> Result<()>;

/// The size of the largest block, in bytes.
pub(super) const BLOCK: usize = 1 << 20;

/// Calls a function with blocks of sorted records.
pub(super) struct Blocks<'a> {
    visit: Visit<'a>,
    block: Vec<u8>,
    /// The length of a complete block.
    len: usize,
    /// If records are counted, the last record and how many are equal.
    last: Option<Last>,
    pub(super) is_counted: bool,
}

/// The first of equal records.
struct Last {
    key: Vec<u8>,
    record: Vec<u8>,
    count: u64,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(len: usize, is_counted: bool, visit: Visit<'a>) -> Blocks<'a> {
        Blocks { visit, block: Vec::with_capacity(len), len, last: None, is_counted }
    }

    /// Adds a record without a count.
    #[inline]
    pub(super) fn push(&mut self, record: &[u8]) -> Result<()> {
        append(&mut self.block, record);
        if self.block.len() >= self.len { self.flush() } else { Ok(()) }
    }

    /// How many bytes the block can take.
    pub(super) fn room(&self) -> usize {
        self.len - self.block.len()
    }

    /// Adds the records without counts that `append` appends to the block.
    pub(super) fn push_all(&mut self, append: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        append(&mut self.block);
        if self.block.len() >= self.len { self.flush() } else { Ok(()) }
    }

    /// Adds `count` records with the same key.
    pub(super) fn push_counted(&mut self, key: &[u8], record: &[u8], count: u64) -> Result<()> {
        match &mut self.last {
            Some(last) if last.key == key => {
                last.count += count;
                Ok(())
            }
            Some(last) => {
                self.block.extend_from_slice(&last.record);
                self.block.extend_from_slice(&last.count.to_le_bytes());
                last.key.copy_from_slice(key);
                last.record.copy_from_slice(record);
                last.count = count;
                if self.block.len() >= self.len { self.flush() } else { Ok(()) }
            }
            None => {
                self.last = Some(Last { key: key.to_vec(), record: record.to_vec(), count });
                Ok(())
            }
        }
    }

    /// Visits what is left.
    pub(super) fn finish(mut self) -> Result<()> {
        if let Some(last) = self.last.take() {
            self.block.extend_from_slice(&last.record);
            self.block.extend_from_slice(&last.count.to_le_bytes());
        }
        if self.block.is_empty() { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<()> {
        (self.visit)(&self.block)?;
        self.block.clear();
        Ok(())
    }
}

/// Appends a record.
#[inline]
pub(super) fn append(records: &mut Vec<u8>, record: &[u8]) {
    // A copy of known length is a single instruction.
    match record.first_chunk::<8>() {
        Some(number) if record.len() == 8 => records.extend_from_slice(number),
        _ => records.extend_from_slice(record),
    }
}

/// Splits a counted record.
pub(super) fn split_count(record: &[u8]) -> (&[u8], u64) {
    match record.split_last_chunk::<COUNT>() {
        Some((record, count)) => (record, u64::from_le_bytes(*count)),
        None => (record, 1),
    }
}

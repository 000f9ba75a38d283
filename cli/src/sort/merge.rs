//! Merges sorted runs: the next records of each, as far as all of them are known, are sorted
//! together. Equal records keep the order of their runs.

use npymap::Result;

use crate::input::lengths::{part, to_usize};
use crate::input::memory;
use crate::sort::batch::{self, Batch, ENTRY, RecordBatch};
use crate::sort::blocks::Blocks;
use crate::sort::keys::Keys;
use crate::sort::numbers::{NumberFormat, Numbers};
use crate::sort::radix::{CHUNK, STEP};
use crate::sort::runs::{Run, Runs};

/// Merges runs into blocks, with `buffer` bytes of memory per run.
pub(super) fn merge(
    keys: &Keys<'_>,
    Runs { file, size, ranges }: Runs<'_>,
    buffer: usize,
    blocks: &mut Blocks<'_>,
) -> Result<()> {
    let format = keys.numbers().filter(|_| !blocks.is_counted);
    let key_len = if format.is_some() { 0 } else { keys.len };
    // A quarter of the memory is for the records that are sorted.
    let room = ((buffer - buffer / 4) / (size + key_len)).max(1) * size;
    let most = buffer / 4 * ranges.len() / (size + key_len + 2 * ENTRY);
    let most = most.min(CHUNK.max(STEP * ranges.len())).max(ranges.len());
    let cursors = ranges.iter().map(|run| {
        let len = to_usize(run.end - run.start);
        let (records, keys) = (memory::with_capacity(room.min(len))?, Vec::new());
        Ok(Cursor { format, left: run.clone(), records, keys, size, key_len, at: 0, count: 0 })
    });
    let mut cursors = cursors.collect::<Result<Vec<_>>>()?;
    let mut batch = match format {
        Some(format) => Batch::Numbers(format, vec![Numbers::in_pieces(format, most, most)?]),
        None => Batch::Records(RecordBatch::empty(keys, size, blocks.is_counted, most)?),
    };
    loop {
        for cursor in cursors.iter_mut().filter(|cursor| cursor.at == cursor.count) {
            file.read_next(&mut cursor.left, room, &mut cursor.records)?;
            (cursor.at, cursor.count) = (0, cursor.records.len() / size);
            if format.is_none() {
                keys.encode(&cursor.records, blocks.is_counted, &mut cursor.keys)?;
            }
        }
        cursors.retain(|cursor| cursor.at < cursor.count);
        // All records up to the least of these are in memory, and fit into the batch.
        let step = most / cursors.len().max(1);
        let last = cursors.iter().map(|cursor| cursor.key(cursor.end(step) - 1));
        let Some((last, run)) = last.zip(0..).min() else { return Ok(()) };
        let ends = cursors.iter().enumerate().map(|(number, cursor)| {
            let (mut low, mut high) = (cursor.at, cursor.end(step));
            while low < high {
                let middle = usize::midpoint(low, high);
                let is_before = (cursor.key(middle), number) <= (last, run);
                if is_before { low = middle + 1 } else { high = middle }
            }
            low
        });
        let ends: Vec<usize> = ends.collect();
        for (cursor, end) in cursors.iter_mut().zip(ends) {
            let records = part(&cursor.records, cursor.at * size..end * size);
            batch.push(records, part(&cursor.keys, cursor.at * key_len..end * key_len));
            cursor.at = end;
        }
        batch.sort();
        batch.write(blocks)?;
        batch.clear();
    }
}

/// A position in a run.
struct Cursor {
    /// The format of numbers, which have no keys.
    format: Option<NumberFormat>,
    /// What is not in memory.
    left: Run,
    /// The records in memory, and their keys.
    records: Vec<u8>,
    keys: Vec<u8>,
    size: usize,
    key_len: usize,
    /// The number of the current one, and of all.
    at: usize,
    count: usize,
}

impl Cursor {
    /// The end of the next records, at most so many.
    fn end(&self, step: usize) -> usize {
        self.count.min(self.at + step)
    }

    /// The key of a record in memory: its first bytes as a number, and the rest.
    fn key(&self, at: usize) -> (u64, &[u8]) {
        if let Some(format) = self.format {
            let number = part(&self.records, at * self.size..(at + 1) * self.size);
            return (format.any_key(format.first(number)), &[]);
        }
        batch::split_key(part(&self.keys, at * self.key_len..(at + 1) * self.key_len))
    }
}

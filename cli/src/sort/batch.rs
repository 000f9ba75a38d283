//! Records in memory, and their order.

use std::cmp::Ordering;
use std::sync::{Mutex, PoisonError};
use std::thread;

use npymap::Result;

use crate::input::lengths::part;
use crate::input::memory;
use crate::sort::blocks::{Blocks, append, split_count};
use crate::sort::keys::Keys;
use crate::sort::numbers::{self, NumberFormat, Numbers};

/// The first bytes of a key, and the position of its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    prefix: u64,
    at: usize,
}

/// The size of an entry.
pub(super) const ENTRY: usize = size_of::<Entry>();

/// How many bytes of a key are compared as a number.
const PREFIX: usize = size_of::<u64>();

/// Keys are computed for parts of this size, in bytes of records and keys.
const PART: usize = 1 << 18;

/// Records in memory.
pub(super) enum Batch {
    /// Numbers of one format, in parts that are sorted by themselves.
    Numbers(NumberFormat, Vec<Numbers>),
    Records(RecordBatch),
}

impl Batch {
    /// Adds the records to blocks, in order.
    pub(super) fn write(&self, blocks: &mut Blocks<'_>) -> Result<()> {
        match self {
            Batch::Numbers(format, parts) => numbers::write(*format, parts, blocks),
            Batch::Records(records) => records.write(blocks),
        }
    }

    /// Adds records and their keys, or numbers.
    pub(super) fn push(&mut self, records: &[u8], keys: &[u8]) {
        match self {
            Batch::Numbers(_, parts) => parts.iter_mut().for_each(|part| part.push(records)),
            Batch::Records(batch) => {
                batch.push_keys(keys, records.len() / batch.size);
                batch.records.extend_from_slice(records);
            }
        }
    }

    /// Sorts records that are in order in parts, on this thread.
    pub(super) fn sort(&mut self) {
        match self {
            Batch::Numbers(_, parts) => parts.iter_mut().for_each(Numbers::sort),
            Batch::Records(batch) => batch.sort(0),
        }
    }

    /// Removes all records.
    pub(super) fn clear(&mut self) {
        match self {
            Batch::Numbers(_, parts) => parts.iter_mut().for_each(Numbers::clear),
            Batch::Records(RecordBatch { records, entries, rests, .. }) => {
                records.clear();
                entries.clear();
                rests.clear();
            }
        }
    }
}

/// Records, and the order that their keys have.
pub(super) struct RecordBatch {
    records: Vec<u8>,
    /// The size of a record, with its count.
    size: usize,
    entries: Vec<Entry>,
    /// What follows the prefix of each key.
    rests: Vec<u8>,
    rest_len: usize,
    /// Whether each record has a count.
    has_counts: bool,
}

/// The first bytes of a key as a number of the same order, and the rest.
#[inline]
pub(super) fn split_key(key: &[u8]) -> (u64, &[u8]) {
    (prefix(key), key.get(PREFIX..).unwrap_or_default())
}

/// The first bytes of a key as a number of the same order.
#[inline]
fn prefix(key: &[u8]) -> u64 {
    let first = key.first_chunk().copied().unwrap_or_else(|| {
        let mut first = [0; PREFIX];
        first.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
        first
    });
    u64::from_be_bytes(first)
}

/// The length of what follows the prefix of a key.
pub(super) fn rest_len(keys: &Keys<'_>) -> usize {
    keys.len.max(PREFIX) - PREFIX
}

impl RecordBatch {
    /// No records of a size, and room for some.
    pub(super) fn empty(
        keys: &Keys<'_>,
        size: usize,
        has_counts: bool,
        count: usize,
    ) -> Result<RecordBatch> {
        let rest_len = rest_len(keys);
        let records = memory::with_capacity(count * size)?;
        let entries = memory::with_capacity(count)?;
        let rests = memory::with_capacity(count * rest_len)?;
        Ok(RecordBatch { records, size, entries, rests, rest_len, has_counts })
    }

    /// Sorts records of a size, at least one byte, on some threads.
    pub(super) fn sorted(
        keys: &Keys<'_>,
        records: Vec<u8>,
        size: usize,
        threads: usize,
    ) -> Result<RecordBatch> {
        let count = records.len() / size;
        let mut batch = RecordBatch::empty(keys, size, false, 0)?;
        batch.entries = memory::with_capacity(count)?;
        batch.rests = memory::with_capacity(count * batch.rest_len)?;
        let mut part_keys = Vec::new();
        let step = (PART / (size + keys.len)).max(1);
        for part in records.chunks(step * size) {
            keys.encode(part, false, &mut part_keys)?;
            batch.push_keys(&part_keys, part.len() / size);
        }
        batch.records = records;
        batch.sort(threads);
        Ok(batch)
    }

    /// Adds the keys of the next records.
    fn push_keys(&mut self, keys: &[u8], count: usize) {
        let (first, len) = (self.entries.len(), keys.len() / count.max(1));
        for number in 0..count {
            let (prefix, rest) = split_key(part(keys, number * len..(number + 1) * len));
            self.entries.push(Entry { prefix, at: first + number });
            self.rests.extend_from_slice(rest);
        }
    }

    fn sort(&mut self, threads: usize) {
        let RecordBatch { entries, rests, rest_len, .. } = self;
        if *rest_len == 0 {
            return sort_on(threads, entries, &Entry::cmp);
        }
        let rest = |entry: &Entry| rests.get(entry.at * *rest_len..(entry.at + 1) * *rest_len);
        sort_on(threads, entries, &|a, b| {
            let order = a.prefix.cmp(&b.prefix);
            order.then_with(|| rest(a).cmp(&rest(b))).then(a.at.cmp(&b.at))
        });
    }

    /// Adds the records to blocks, in order.
    pub(super) fn write(&self, blocks: &mut Blocks<'_>) -> Result<()> {
        if !blocks.is_counted {
            return self.entries.iter().try_for_each(|entry| blocks.push(self.record(entry)));
        }
        let mut key = Vec::new();
        let mut records = Vec::new();
        for entries in self.entries.chunks(64) {
            // Copies that don't depend on each other wait for memory at the same time.
            records.clear();
            for entry in entries {
                append(&mut records, self.record(entry));
            }
            for (i, entry) in entries.iter().enumerate() {
                key.clear();
                key.extend_from_slice(&entry.prefix.to_be_bytes());
                let rest = entry.at * self.rest_len..(entry.at + 1) * self.rest_len;
                key.extend_from_slice(part(&self.rests, rest));
                let record = part(&records, i * self.size..(i + 1) * self.size);
                let (record, count) =
                    if self.has_counts { split_count(record) } else { (record, 1) };
                blocks.push_counted(&key, record, count)?;
            }
        }
        Ok(())
    }

    fn record(&self, entry: &Entry) -> &[u8] {
        part(&self.records, entry.at * self.size..(entry.at + 1) * self.size)
    }
}

/// Sorts entries on some threads, or without any on this one, where parts in order are merged.
/// No two entries are equal.
fn sort_on(
    threads: usize,
    entries: &mut [Entry],
    compare: &(impl Fn(&Entry, &Entry) -> Ordering + Sync),
) {
    if threads == 0 {
        return entries.sort_by(compare);
    }
    if threads < 2 || entries.len() < 2 * MIN_PART || memory::check_thread().is_err() {
        return entries.sort_unstable_by(compare);
    }
    // About as many come before the pivot as half of the threads sort.
    let mut samples: Vec<Entry> = entries.iter().step_by(MIN_PART / 64).copied().collect();
    samples.sort_unstable_by(compare);
    let pivot = samples.get(samples.len() / threads * (threads / 2));
    let mut count = 0;
    for at in 0..entries.len() {
        let is_before = |(entry, pivot)| compare(entry, pivot).is_lt();
        if entries.get(at).zip(pivot).is_some_and(is_before) {
            entries.swap(at, count);
            count += 1;
        }
    }
    let (before, after) = entries.split_at_mut(count);
    let before = Mutex::new(Some(before));
    let first = || {
        let before = before.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(before) = before {
            sort_on(threads / 2, before, compare);
        }
    };
    thread::scope(|scope| {
        let is_started = thread::Builder::new().spawn_scoped(scope, first).is_ok();
        sort_on(threads - threads / 2, after, compare);
        if !is_started {
            first();
        }
    });
}

/// The fewest entries that are worth a thread.
const MIN_PART: usize = 1 << 14;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_sort_parts() {
        let prefixes = (0..u64::try_from(3 * MIN_PART).unwrap()).map(|at| at * 7919 % 50_021);
        let entries: Vec<Entry> =
            prefixes.zip(0..).map(|(prefix, at)| Entry { prefix, at }).collect();
        let mut expected = entries.clone();
        expected.sort_unstable();
        for threads in [2, 3, 8] {
            let mut entries = entries.clone();
            sort_on(threads, &mut entries, &Entry::cmp);
            assert_eq!(entries, expected, "{threads}");
        }
    }
}

//! Records in memory, and their order.

use std::cmp::Ordering;
use std::thread;

use npymap::Result;

use crate::input::lengths::part;
use crate::input::memory;
use crate::sort::blocks::{Blocks, append};
use crate::sort::keys::Keys;

/// The first bytes of a key, and the position of its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    prefix: u64,
    at: usize,
}

/// The size of an entry.
pub(super) const ENTRY: usize = size_of::<Entry>();

/// How many bytes of a key are compared as a number.
pub(super) const PREFIX: usize = size_of::<u64>();

/// Keys are computed for parts of this size, in bytes of records and keys.
const PART: usize = 1 << 18;

/// Records, and the order that their keys have.
pub(super) struct RecordBatch {
    records: Vec<u8>,
    /// The size of a record.
    size: usize,
    entries: Vec<Entry>,
    /// What follows the prefix of each key.
    rests: Vec<u8>,
    rest_len: usize,
}

/// The first bytes of a key as a number of the same order.
#[inline]
pub(super) fn prefix(key: &[u8]) -> u64 {
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
    /// Sorts records of a size, at least one byte, on some threads.
    pub(super) fn sorted(
        keys: &Keys<'_>,
        records: Vec<u8>,
        size: usize,
        threads: usize,
    ) -> Result<RecordBatch> {
        let count = records.len() / size;
        let rest_len = rest_len(keys);
        let mut entries = memory::with_capacity(count)?;
        let mut rests = memory::with_capacity(count * rest_len)?;
        let mut part_keys = Vec::new();
        let step = (PART / (size + keys.len)).max(1);
        for (number, part) in records.chunks(step * size).enumerate() {
            keys.encode(part, false, &mut part_keys)?;
            let first = number * step;
            if keys.len == PREFIX {
                let (all, _) = part_keys.as_chunks::<PREFIX>();
                let prefixes = all.iter().map(|key| u64::from_be_bytes(*key));
                entries.extend(prefixes.zip(first..).map(|(prefix, at)| Entry { prefix, at }));
            } else if keys.len == 0 {
                let all = first..first + part.len() / size;
                entries.extend(all.map(|at| Entry { prefix: 0, at }));
            } else {
                for (key, at) in part_keys.chunks_exact(keys.len).zip(first..) {
                    entries.push(Entry { prefix: prefix(key), at });
                    // Shorter keys have no rest.
                    rests.extend_from_slice(key.split_at(PREFIX.min(key.len())).1);
                }
            }
        }
        let mut batch = RecordBatch { records, size, entries, rests, rest_len };
        batch.sort(threads);
        Ok(batch)
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
                blocks.push_counted(&key, record, 1)?;
            }
        }
        Ok(())
    }

    fn record(&self, entry: &Entry) -> &[u8] {
        part(&self.records, entry.at * self.size..(entry.at + 1) * self.size)
    }
}

/// Sorts entries on some threads. No two are equal.
fn sort_on(
    threads: usize,
    entries: &mut [Entry],
    compare: &(impl Fn(&Entry, &Entry) -> Ordering + Sync),
) {
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
    thread::scope(|scope| {
        scope.spawn(|| sort_on(threads / 2, before, compare));
        sort_on(threads - threads / 2, after, compare);
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

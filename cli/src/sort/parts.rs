//! Splits runs at the same keys, so that the parts are merged on several threads.

use npymap::Result;

use crate::input::lengths::to_u64;
use crate::sort::keys::Keys;
use crate::sort::runs::{Run, Runs};

/// Keys that are read of each run to find where to split.
const SAMPLES: u64 = 32;

/// Splits runs into parts of about the same length. Each has a range of each run, with
/// records that come after all earlier parts.
pub(super) fn split(keys: &Keys<'_>, runs: Runs<'_>, parts: usize) -> Result<Vec<Vec<Run>>> {
    let mut reader = KeyReader { keys, runs, record: vec![0; runs.size], key: Vec::new() };
    let mut samples = Vec::new();
    for run in runs.ranges {
        let count = reader.count(run);
        for number in 0..SAMPLES.min(count) {
            samples.push(reader.key(run, number * count / SAMPLES.min(count))?.to_vec());
        }
    }
    samples.sort_unstable();
    let mut starts: Vec<u64> = runs.ranges.iter().map(|run| run.start).collect();
    let mut split = Vec::new();
    for part in 1..=parts {
        let key = samples.get(samples.len() * part / parts);
        let mut ranges = Vec::new();
        for (run, start) in runs.ranges.iter().zip(&mut starts) {
            let end = match key {
                Some(key) => reader.find(key, *start..run.end)?,
                None => run.end,
            };
            ranges.push(*start..end);
            *start = end;
        }
        split.push(ranges);
    }
    Ok(split)
}

/// Reads single keys of runs.
struct KeyReader<'a> {
    keys: &'a Keys<'a>,
    runs: Runs<'a>,
    record: Vec<u8>,
    key: Vec<u8>,
}

impl KeyReader<'_> {
    fn size(&self) -> u64 {
        to_u64(self.runs.size)
    }

    fn count(&self, run: &Run) -> u64 {
        (run.end - run.start) / self.size()
    }

    /// The key of a record in a run, by its number.
    fn key(&mut self, run: &Run, number: u64) -> Result<&[u8]> {
        let offset = run.start + number * self.size();
        self.runs.file.read(&mut self.record, offset)?;
        self.keys.encode(&self.record, false, &mut self.key)?;
        Ok(&self.key)
    }

    /// The offset of a run's first record with a key not less than `key`.
    fn find(&mut self, key: &[u8], run: Run) -> Result<u64> {
        let (mut low, mut high) = (0, self.count(&run));
        while low < high {
            let middle = u64::midpoint(low, high);
            if self.key(&run, middle)? < key { low = middle + 1 } else { high = middle }
        }
        Ok(run.start + low * self.size())
    }
}

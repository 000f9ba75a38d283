//! Exact quantiles of columns of any length in bounded memory: counting narrows
//! down where an element of some rank is, until the rest can be sorted.

use crate::input::lengths::{to_u64, to_usize, whole};
use crate::stats::keys::KeyRange;
use std::collections::BTreeMap;

use npymap::Result;
use npymap::dtype::Kind;
use npymap::element::Real as _;

use crate::stats::keys;
use crate::stats::scan::{Answer, Task};

/// The memory for counts and keys, in bytes.
const BUDGET: usize = 128 << 20;

/// The memory for the counts of one range, in bytes.
const COUNTS: usize = 8 << 12;

/// The numbers of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Population {
    /// How many there are.
    pub(crate) count: u64,
    /// The keys of the least and the greatest one.
    pub(crate) range: KeyRange,
    pub(crate) kind: Kind,
}

/// A search for the element of a rank in a column.
#[derive(Clone, Copy, Debug)]
struct Search {
    column: usize,
    /// How many numbers of the range come before it.
    rank: u64,
    /// The keys among which it is.
    range: KeyRange,
    /// How many numbers have such keys.
    count: u64,
}

/// Finds the quantiles of columns, as `numpy.quantile` does with the method
/// "linear". `pass` answers tasks, each about the column of a number, in one
/// pass over the elements. Columns without numbers have no quantiles.
pub(crate) fn find(
    columns: &[Option<Population>],
    quantiles: &[f64],
    mut pass: impl FnMut(&[(usize, Task)]) -> Result<Vec<Answer>>,
) -> Result<Vec<Vec<f64>>> {
    let mut searches: BTreeMap<(usize, u64), Search> = BTreeMap::new();
    for (column, population) in columns.iter().enumerate() {
        let Some(Population { count, range, .. }) = *population else { continue };
        for quantile in quantiles {
            let (low, high, _) = position(*quantile, count);
            for rank in [low, high] {
                searches.insert((column, rank), Search { column, rank, range, count });
            }
        }
    }
    loop {
        let tasks = plan(searches.values().filter(|search| !search.is_done()));
        if tasks.is_empty() {
            break;
        }
        let answers = pass(&tasks)?;
        for ((column, task), mut answer) in tasks.into_iter().zip(answers) {
            let (Task::Count(range) | Task::Collect(range)) = task else { continue };
            answer.keys.sort_unstable();
            let own = searches.range_mut((column, 0)..=(column, u64::MAX));
            let own = own.map(|(_, search)| search).filter(|search| search.range == range);
            own.for_each(|search| search.narrow(&answer));
        }
    }
    let results = columns.iter().enumerate().map(|(column, population)| {
        let Some(Population { count, kind, .. }) = *population else { return Vec::new() };
        let results = quantiles.iter().map(|quantile| {
            let (low, high, fraction) = position(*quantile, count);
            let numbers = [low, high].map(|rank| {
                let search = searches.get(&(column, rank)).expect("each rank is searched");
                keys::to_f64(kind, search.range.first)
            });
            interpolate(numbers, fraction)
        });
        results.collect()
    });
    Ok(results.collect())
}

/// The ranks between which a quantile is, and how far it is from the first.
fn position(quantile: f64, count: u64) -> (u64, u64, f64) {
    // Only columns with numbers have a population.
    let last = count - 1;
    let at = quantile * last.to_f64();
    let low = whole(at).min(last);
    (low, (low + 1).min(last), at - at.floor())
}

/// The number at a fraction of the way, computed as NumPy does.
fn interpolate([low, high]: [f64; 2], fraction: f64) -> f64 {
    if fraction == 0.0 || low.total_cmp(&high).is_eq() {
        low
    } else if fraction < 0.5 {
        low + (high - low) * fraction
    } else {
        high - (high - low) * (1.0 - fraction)
    }
}

/// The tasks of the next pass, limited by the memory that they need.
fn plan<'a>(searches: impl Iterator<Item = &'a Search>) -> Vec<(usize, Task)> {
    let mut ranges: Vec<_> = searches.map(|s| (s.column, s.range, s.count)).collect();
    ranges.dedup();
    // So many keys can be collected from each range at the same time. They are
    // in memory twice while the results of threads are merged.
    let few = to_u64(BUDGET / 16 / ranges.len().max(1)).max(1 << 10);
    let mut room = BUDGET;
    let tasks = ranges.into_iter().map_while(|(column, range, count)| {
        let (task, cost) = if count <= few {
            (Task::Collect(range), to_usize(count * 16))
        } else {
            (Task::Count(range), COUNTS * 4)
        };
        // Each is less than all of it.
        room = room.checked_sub(cost)?;
        Some((column, task))
    });
    tasks.collect()
}

impl Search {
    /// Whether only one key is left.
    fn is_done(&self) -> bool {
        self.range.first == self.range.last
    }

    /// Narrows the range by the counts of its parts or by its sorted keys.
    fn narrow(&mut self, answer: &Answer) {
        for (number, &count) in (0..).zip(&answer.counts) {
            if self.rank < count {
                self.range = self.range.part(number);
                self.count = count;
                return;
            }
            self.rank -= count;
        }
        if let Some(&key) = answer.keys.get(to_usize(self.rank)) {
            self.range = KeyRange { first: key, last: key };
            return;
        }
        // The elements changed meanwhile, so no number has this rank.
        self.range.last = self.range.first;
    }
}

//! One pass over the elements of a column, after its extremes and its mean are
//! known: squares of distances, histograms, and elements by their order.

use crate::input::lengths::{to_u64, to_usize};
use npymap::{Result, element::Real, view::DynView, with_type};

use crate::stats::histogram::Bins;
use crate::stats::keys::{Key, KeyRange};

/// Elements that are ignored besides NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ignored {
    #[default]
    Nothing,
    Infinite,
}

/// A question about the elements of a column.
#[derive(Clone, Debug)]
pub(crate) enum Task {
    /// The sum of the squares of the distances from a number.
    Squares(f64),
    /// The number of finite elements in each bin.
    Histogram(Bins),
    /// The number of elements in each part of a range.
    Count(KeyRange),
    /// The keys in a range.
    Collect(KeyRange),
}

/// The result of a task: a sum, counts or keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Answer {
    pub(crate) sum: f64,
    pub(crate) counts: Vec<u64>,
    pub(crate) keys: Vec<u64>,
}

impl Answer {
    /// Adds the result for another part of the column.
    pub(crate) fn merge(&mut self, mut other: Answer) {
        self.sum += other.sum;
        self.counts.iter_mut().zip(other.counts).for_each(|(count, other)| *count += other);
        self.keys.append(&mut other.keys);
    }

    /// The result for this many elements that equal the one of this result.
    pub(crate) fn repeated(self, count: usize) -> Answer {
        let times = to_u64(count);
        Answer {
            sum: self.sum * times.to_f64(),
            counts: self.counts.into_iter().map(|one| one * times).collect(),
            keys: self.keys.repeat(count),
        }
    }
}

impl Task {
    /// The result for no elements.
    pub(crate) fn empty(&self) -> Answer {
        let parts = match self {
            Task::Histogram(bins) => bins.len(),
            Task::Count(range) => range.parts(),
            Task::Squares(_) | Task::Collect(_) => 0,
        };
        Answer { counts: vec![0; parts], ..Answer::default() }
    }

    /// Computes the result for a view of numbers.
    pub(crate) fn compute(&self, view: &DynView<'_>, ignored: Ignored) -> Result<Answer> {
        with_type!(view.dtype(), real T => {
            let mut answer = self.empty();
            let mut blocks = view.view::<T>()?.blocks();
            while let Some(block) = blocks.next() {
                self.add(&mut answer, block, ignored);
            }
            Ok(answer)
        }, _ => Ok(self.empty()))
    }

    fn add<T: Key>(&self, answer: &mut Answer, block: &[T], ignored: Ignored) {
        let numbers = block.iter().filter(|element| is_number(*element));
        match self {
            Task::Squares(center) => {
                let parts = block.chunks(2048);
                answer.sum += parts.map(|part| squares(part, *center, ignored)).sum::<f64>();
            }
            Task::Histogram(bins) => {
                for number in numbers.map(|element| element.to_f64()).filter(|x| x.is_finite()) {
                    increment(&mut answer.counts, bins.bin(number));
                }
            }
            Task::Count(range) => {
                let shift = range.shift();
                for offset in numbers.filter_map(|element| range.offset(element.key())) {
                    increment(&mut answer.counts, to_usize(offset >> shift));
                }
            }
            Task::Collect(range) => {
                let keys = numbers.map(|element| element.key());
                answer.keys.extend(keys.filter(|&key| range.offset(key).is_some()));
            }
        }
    }
}

/// Returns whether an element is not NaN.
fn is_number<T: PartialOrd>(element: &T) -> bool {
    element.partial_cmp(element).is_some()
}

fn increment(counts: &mut [u64], at: usize) {
    if let Some(count) = counts.get_mut(at) {
        *count += 1;
    }
}

/// The sum of the squares of the distances from `center`, in eight sums that the
/// processor adds up at the same time.
fn squares<T: Real>(block: &[T], center: f64, ignored: Ignored) -> f64 {
    let mut sums = [0.0; 8];
    for elements in block.chunks(8) {
        for (sum, element) in sums.iter_mut().zip(elements) {
            let number = element.to_f64();
            let is_ignored =
                number.is_nan() || (ignored == Ignored::Infinite && number.is_infinite());
            let distance = number - center;
            *sum += if is_ignored { 0.0 } else { distance * distance };
        }
    }
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::keys::SPLIT_BITS;

    #[test]
    fn parts_cover_a_range_without_overlap() {
        for (first, last) in [(0, 0), (5, 4100), (5, 4101), (0, u64::MAX), (7, u64::MAX - 3)] {
            let range = KeyRange { first, last };
            assert!(range.parts() <= 1 << SPLIT_BITS, "{range:?}");
            let mut next = Some(first);
            for number in 0..range.parts() {
                let part = range.part(u64::try_from(number).unwrap());
                assert_eq!(Some(part.first), next);
                assert!(part.first <= part.last);
                next = part.last.checked_add(1);
            }
            assert_eq!(next, last.checked_add(1), "{range:?}");
        }
    }
}

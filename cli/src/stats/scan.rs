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
#[derive(Clone, Copy, Debug)]
pub(crate) enum Task<'a> {
    /// The sum of the squares of the distances from a number.
    Squares(f64),
    /// The number of finite elements in each bin.
    Histogram(&'a Bins),
    /// The number of elements in each part of a range.
    Count(KeyRange),
    /// The keys in a range.
    Collect(KeyRange),
}

/// The result of a task.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    Sum(f64),
    Counts(Vec<u64>),
    Keys(Vec<u64>),
}

impl Answer {
    /// Adds the result for another part of the column.
    pub(crate) fn merge(&mut self, other: Answer) {
        match (self, other) {
            (Answer::Sum(sum), Answer::Sum(other)) => *sum += other,
            (Answer::Counts(counts), Answer::Counts(others)) => {
                counts.iter_mut().zip(others).for_each(|(count, other)| *count += other);
            }
            (Answer::Keys(keys), Answer::Keys(mut others)) => keys.append(&mut others),
            _ => debug_assert!(false, "results of different tasks"),
        }
    }

    /// The result for this many elements that equal the one of this result.
    pub(crate) fn repeated(self, count: usize) -> Answer {
        let times = to_u64(count);
        match self {
            Answer::Sum(sum) => Answer::Sum(sum * times.to_f64()),
            Answer::Counts(counts) => {
                Answer::Counts(counts.into_iter().map(|one| one * times).collect())
            }
            Answer::Keys(keys) => {
                Answer::Keys(keys.into_iter().flat_map(|key| vec![key; count]).collect())
            }
        }
    }
}

impl Task<'_> {
    /// The result for no elements.
    pub(crate) fn empty(self) -> Answer {
        match self {
            Task::Squares(_) => Answer::Sum(0.0),
            Task::Histogram(bins) => Answer::Counts(vec![0; bins.len()]),
            Task::Count(range) => Answer::Counts(vec![0; range.parts()]),
            Task::Collect(_) => Answer::Keys(Vec::new()),
        }
    }

    /// Computes the result for a view of numbers.
    pub(crate) fn compute(self, view: &DynView<'_>, ignored: Ignored) -> Result<Answer> {
        with_type!(view.dtype(), real T => {
            let mut answer = self.empty();
            let mut blocks = view.view::<T>()?.blocks();
            while let Some(block) = blocks.next() {
                self.add(&mut answer, block, ignored);
            }
            Ok(answer)
        }, _ => Ok(self.empty()))
    }

    fn add<T: Key>(self, answer: &mut Answer, block: &[T], ignored: Ignored) {
        match (self, answer) {
            (Task::Squares(center), Answer::Sum(sum)) => {
                *sum += block.chunks(2048).map(|part| squares(part, center, ignored)).sum::<f64>();
            }
            (Task::Histogram(bins), Answer::Counts(counts)) => {
                for number in block.iter().map(|element| element.to_f64()) {
                    if number.is_finite() {
                        increment(counts, bins.bin(number));
                    }
                }
            }
            (Task::Count(range), Answer::Counts(counts)) => {
                let shift = range.shift();
                for &element in block.iter().filter(|element| is_number(*element)) {
                    if let Some(offset) = range.offset(element.key()) {
                        increment(counts, to_usize(offset >> shift));
                    }
                }
            }
            (Task::Collect(range), Answer::Keys(keys)) => {
                let elements = block.iter().filter(|element| is_number(*element));
                let own = elements.map(|element| element.key());
                keys.extend(own.filter(|&key| range.offset(key).is_some()));
            }
            _ => debug_assert!(false, "the result of another task"),
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

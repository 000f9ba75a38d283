//! Statistics of all elements.

use super::View;
use super::sum::Total;
use crate::element::Real;

/// Elements that are summed up before their sum is: few enough that rounding
/// stays below what pairwise summation leaves.
const CHUNK: usize = 1024;

/// What [`View::stats`] tells of numbers.
///
/// # Examples
///
/// ```
/// let penguins = npymap::OpenOptions::new().read("data/penguins.npy")?;
/// let stats = penguins.view::<f64>()?.stats();
/// assert_eq!((stats.min, stats.max), (Some(13.1), Some(6300.0)));
/// assert_eq!(stats.mean().map(f64::round), Some(1116.0));
/// assert_eq!((stats.count, stats.non_finite()), (1368, 0));
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stats<T> {
    /// The number of elements, NaN included.
    pub count: usize,
    /// How many of them are NaN.
    pub nan: usize,
    /// How many of them are infinite.
    pub infinite: usize,
    /// The sum of those that are not NaN: NumPy's `nansum` in doubles.
    pub sum: f64,
    /// The least that is not NaN; `None` when there is none.
    pub min: Option<T>,
    /// The greatest that is not NaN; `None` when there is none.
    pub max: Option<T>,
}

impl<T: Real> Stats<T> {
    /// The statistics of no elements.
    #[must_use]
    pub fn empty() -> Stats<T> {
        Stats { count: 0, nan: 0, infinite: 0, sum: 0.0, min: None, max: None }
    }

    /// The mean of the elements that are not NaN: NumPy's `nanmean` in
    /// doubles. `None` when there is none.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        let numbers = self.count - self.nan;
        (numbers > 0).then(|| self.sum / count(numbers))
    }

    /// How many elements are NaN or infinite.
    #[must_use]
    pub fn non_finite(&self) -> usize {
        self.nan + self.infinite
    }

    /// The statistics of these elements and others, so that threads can share
    /// an array.
    #[must_use]
    pub fn merged(self, other: Stats<T>) -> Stats<T> {
        Stats {
            count: self.count + other.count,
            nan: self.nan + other.nan,
            infinite: self.infinite + other.infinite,
            sum: self.sum + other.sum,
            min: least(self.min, other.min),
            max: greatest(self.max, other.max),
        }
    }
}

impl<T: Real> View<'_, T> {
    /// Count, sum, least and greatest of all elements, and how many are NaN
    /// or infinite, in one go in the order of memory.
    #[must_use]
    pub fn stats(&self) -> Stats<T> {
        let mut stats = Stats::empty();
        let mut total = Total::default();
        self.for_each_block(|block| {
            for chunk in block.chunks(CHUNK) {
                total.add(sum(chunk, |value| if value.is_nan() { 0.0 } else { value }));
                stats = extended(stats, chunk);
            }
        });
        Stats { sum: total.get(), ..stats }
    }
}

/// Counts a chunk, and finds its ends.
fn extended<T: Real>(stats: Stats<T>, chunk: &[T]) -> Stats<T> {
    let is_nan = |value: &&T| value.to_f64().is_nan();
    let nan = chunk.iter().filter(is_nan).count();
    let infinite = chunk.iter().filter(|value| value.to_f64().is_infinite()).count();
    let mut numbers = chunk.iter().copied().filter(|value| !is_nan(&value));
    let Some(first) = numbers.next() else {
        return Stats { count: stats.count + chunk.len(), nan: stats.nan + nan, ..stats };
    };
    let (min, max) = numbers.fold((first, first), |(min, max), value| {
        (if value < min { value } else { min }, if value > max { value } else { max })
    });
    Stats {
        count: stats.count + chunk.len(),
        nan: stats.nan + nan,
        infinite: stats.infinite + infinite,
        min: least(stats.min, Some(min)),
        max: greatest(stats.max, Some(max)),
        ..stats
    }
}

/// Sums up a chunk in as many sums as a vector register may hold.
fn sum<T: Real>(chunk: &[T], value: impl Fn(f64) -> f64) -> f64 {
    let mut lanes = [0.0; 8];
    for eight in chunk.chunks(lanes.len()) {
        for (lane, element) in lanes.iter_mut().zip(eight) {
            *lane += value(element.to_f64());
        }
    }
    lanes.iter().sum()
}

fn least<T: PartialOrd>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b < a { b } else { a }),
        (a, b) => a.or(b),
    }
}

fn greatest<T: PartialOrd>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b > a { b } else { a }),
        (a, b) => a.or(b),
    }
}

fn count(count: usize) -> f64 {
    num_traits::ToPrimitive::to_f64(&count).unwrap_or(f64::INFINITY)
}

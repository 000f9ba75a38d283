//! Statistics of all elements.
#![expect(clippy::inline_always, reason = "only inlined code is compiled for AVX2")]

use super::View;
use super::sum::Total;
use crate::element::Real;
use crate::error::invariant::Invariant;
use crate::kernel::{self, Job};

/// The elements that are added up before their sum is added to the total: few
/// enough that the rounding error is below that of pairwise summation.
pub(super) const CHUNK: usize = 1024;

/// The number of independent accumulators, which the CPU can update in parallel.
const LANES: usize = 8;

/// Statistics of numbers, returned by [`View::stats`].
///
/// # Examples
///
/// ```
/// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
/// let stats = penguins.view::<f64>()?.stats();
/// assert_eq!((stats.min, stats.max), (Some(13.1), Some(6300.0)));
/// assert_eq!(stats.mean().map(f64::round), Some(1116.0));
/// assert_eq!((stats.count, stats.nan), (1368, 0));
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
    /// The sum without NaN: NumPy's `nansum` in doubles. For integers it is the
    /// exact sum, rounded once.
    pub sum: f64,
    /// The exact sum of integers and booleans. Returns `None` for floats.
    pub integer_sum: Option<i128>,
    /// The minimum without NaN. Returns `None` when there are none.
    pub min: Option<T>,
    /// The maximum without NaN. Returns `None` when there are none.
    pub max: Option<T>,
    /// The rounding error of the sum.
    lost: f64,
}

impl<T: Real> Stats<T> {
    /// The statistics of no elements.
    pub(crate) fn empty() -> Stats<T> {
        let integer_sum = T::IS_INTEGER.then_some(0);
        Stats {
            count: 0,
            nan: 0,
            infinite: 0,
            sum: 0.0,
            integer_sum,
            min: None,
            max: None,
            lost: 0.0,
        }
    }

    /// Returns the mean of the elements that are not NaN: NumPy's `nanmean` in
    /// doubles. `None` when there are none.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        let numbers = self.count - self.nan;
        (numbers > 0).then(|| self.sum / count_to_f64(numbers))
    }

    /// Combines these statistics with those of other elements.
    pub(crate) fn merged(self, other: Stats<T>) -> Stats<T> {
        let integer_sum = self.integer_sum.zip(other.integer_sum).map(|(a, b)| a.wrapping_add(b));
        let mut total = Total { sum: self.sum, lost: self.lost + other.lost };
        total.add(other.sum);
        let sum = integer_sum.map_or(total.get(), round_to_f64);
        Stats {
            count: self.count + other.count,
            nan: self.nan + other.nan,
            infinite: self.infinite + other.infinite,
            sum,
            integer_sum,
            min: merge_with(self.min, other.min, lesser),
            max: merge_with(self.max, other.max, greater),
            lost: if sum.is_finite() { (total.sum - sum) + total.lost } else { 0.0 },
        }
    }
}

impl<T: Real> View<'_, T> {
    /// Computes the count, sum, minimum and maximum of all elements, and how many
    /// are NaN or infinite, in one pass in memory order.
    #[must_use]
    pub fn stats(&self) -> Stats<T> {
        let mut stats = Stats::empty();
        let mut blocks = self.blocks();
        while let Some(block) = blocks.next() {
            stats = chunk_stats(block).fold(stats, Stats::merged);
        }
        stats
    }
}

/// The statistics of a block, chunk by chunk.
pub(super) fn chunk_stats<T: Real>(block: &[T]) -> impl Iterator<Item = Stats<T>> {
    block.chunks(CHUNK).map(|chunk| kernel::run(Chunk(chunk)))
}

/// The job of computing the statistics of a chunk.
struct Chunk<'a, T>(&'a [T]);

impl<T: Real> Job for Chunk<'_, T> {
    type Output = Stats<T>;

    #[inline(always)]
    fn run(self) -> Stats<T> {
        let Some(&first) = self.0.iter().find(|&&value| !is_nan(value)) else {
            return Stats { count: self.0.len(), nan: self.0.len(), ..Stats::empty() };
        };
        let (mut sums, mut nan, mut infinite) = ([0.0; LANES], [0_u32; LANES], [0_u32; LANES]);
        let (mut low, mut high) = ([0_i64; LANES], [0_i64; LANES]);
        let (mut min, mut max) = ([first; LANES], [first; LANES]);
        for elements in self.0.chunks(LANES) {
            let lanes =
                sums.iter_mut().zip(&mut nan).zip(&mut infinite).zip(&mut min).zip(&mut max);
            for (((((sum, nan), infinite), min), max), &value) in lanes.zip(elements) {
                let wide = value.to_f64();
                if !T::IS_INTEGER {
                    *sum += if is_nan(value) { 0.0 } else { wide };
                }
                *nan += u32::from(is_nan(value));
                *infinite += u32::from(wide.abs() == f64::INFINITY);
                // NaN is neither less nor greater, so it is never selected.
                *min = if value < *min { value } else { *min };
                *max = if value > *max { value } else { *max };
            }
        }
        if T::IS_INTEGER {
            for elements in self.0.chunks(LANES) {
                for ((low, high), value) in low.iter_mut().zip(&mut high).zip(elements) {
                    let (own_low, own_high) = value.halves();
                    *low += own_low;
                    *high += own_high;
                }
            }
        }
        let sum = |sums: [i64; LANES]| i128::from(sums.iter().sum::<i64>());
        let (low, high) = (sum(low), sum(high));
        let integer_sum = T::IS_INTEGER.then_some((high << 32) + low);
        let ends = (min.into_iter().reduce(lesser), max.into_iter().reduce(greater));
        Stats {
            count: self.0.len(),
            nan: total_count(nan),
            infinite: total_count(infinite),
            sum: integer_sum.map_or(sums.iter().sum(), round_to_f64),
            integer_sum,
            min: ends.0,
            max: ends.1,
            lost: 0.0,
        }
    }
}

#[expect(clippy::eq_op, reason = "NaN is the only value that differs from itself")]
fn is_nan<T: Real>(value: T) -> bool {
    value != value
}

#[inline]
fn total_count(counts: [u32; LANES]) -> usize {
    let counts = counts.into_iter().map(usize::try_from);
    counts.map(|count| count.invariant("`usize` has at least 32 bits")).sum()
}

fn lesser<T: PartialOrd>(a: T, b: T) -> T {
    if b < a { b } else { a }
}

fn greater<T: PartialOrd>(a: T, b: T) -> T {
    if b > a { b } else { a }
}

/// Combines two values, or returns the only one.
fn merge_with<T>(a: Option<T>, b: Option<T>, merge: impl Fn(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(merge(a, b)),
        (a, b) => a.or(b),
    }
}

#[inline]
fn round_to_f64(sum: i128) -> f64 {
    num_traits::ToPrimitive::to_f64(&sum).unwrap_or(f64::NAN)
}

#[inline]
fn count_to_f64(count: usize) -> f64 {
    num_traits::ToPrimitive::to_f64(&count).unwrap_or(f64::INFINITY)
}

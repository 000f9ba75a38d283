//! Sums of elements.

use std::array;

use super::View;
use super::runs::Run;
use crate::element::{Real, STREAMS, chunks};
use crate::error::invariant::{IN_BYTES, Invariant};

/// How far apart the streams of a long run start, in bytes.
const STREAM_LEN: usize = 1 << 20;

/// About how many bytes of a stream are added up before their sum is added to
/// the total: few enough that the rounding error is below that of pairwise
/// summation.
pub(super) const PIECE: usize = 8 << 10;

/// The length of the shortest streams, in bytes: shorter runs are not faster.
const MIN_STREAM_LEN: usize = 64;

impl<'a, T: Real> View<'a, T> {
    /// Returns the sum of all elements in doubles; NaN if any element is NaN. It
    /// is as accurate as NumPy's for doubles, and more accurate for smaller
    /// types: sums of single floats are not rounded to single floats.
    ///
    /// # Examples
    ///
    /// ```
    /// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
    /// assert_eq!(penguins.view::<f64>()?.sum().round(), 1526600.0);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[must_use]
    pub fn sum(&self) -> f64 {
        let geometry = self.geometry.memory_order().merged();
        let mut total = Total::default();
        geometry.runs().for_each(|run| self.add_run(run, &mut total));
        total.get()
    }

    /// Adds the elements of a run.
    pub(super) fn add_run(&self, run: Run, total: &mut Total) {
        self.for_each_step(run, |step| self.add_step(&step, self.sum_streams(&step), total));
    }

    /// Splits the sum of a run into steps, in the order of addition.
    pub(super) fn for_each_step(&self, run: Run, mut f: impl FnMut(Step<'a>)) {
        let (forward, _) = run.to_forward();
        let Some((bytes, stride)) = forward.forward(self.bytes, self.itemsize()) else {
            return f(Step::Run(run));
        };
        let mut rest = bytes;
        let piece = PIECE.next_multiple_of(stride);
        loop {
            let len = (rest.len() / STREAMS).min(STREAM_LEN) / stride * stride;
            if len < MIN_STREAM_LEN.max(stride) {
                break;
            }
            let (now, after) = rest.split_at(STREAMS * len);
            for start in (0..len).step_by(piece) {
                let end = len.min(start + piece);
                let streams =
                    array::from_fn(|i| now.get(i * len + start..i * len + end).invariant(IN_BYTES));
                f(Step::Streams(streams, stride));
            }
            rest = after;
        }
        f(Step::Rest(rest, stride));
    }

    /// Sums the elements of each stream of a step, if it has streams.
    #[inline]
    pub(super) fn sum_streams(&self, step: &Step<'_>) -> [f64; STREAMS] {
        match *step {
            Step::Streams(streams, stride) => T::sums(&self.codec, streams, stride),
            Step::Rest(..) | Step::Run(_) => [0.0; STREAMS],
        }
    }

    /// Adds the sums of a step's streams, or its elements.
    #[inline]
    pub(super) fn add_step(&self, step: &Step<'_>, sums: [f64; STREAMS], total: &mut Total) {
        match *step {
            Step::Streams(..) => sums.into_iter().for_each(|sum| total.add(sum)),
            Step::Rest(bytes, stride) => chunks(bytes, stride, self.itemsize())
                .for_each(|element| total.add(T::decode(&self.codec, element).to_f64())),
            Step::Run(run) => run
                .elements(self.bytes, self.itemsize())
                .for_each(|element| total.add(T::decode(&self.codec, element).to_f64())),
        }
    }
}

/// A part of a sum.
pub(super) enum Step<'a> {
    /// Streams of elements, which start this many bytes apart. Their sums are
    /// independent of each other.
    Streams([&'a [u8]; STREAMS], usize),
    /// Elements that are added in turn, and how many bytes apart they start.
    Rest(&'a [u8], usize),
    /// Elements that are added in turn, and may overlap.
    Run(Run),
}

/// A sum with its rounding error: Neumaier's algorithm.
#[derive(Default)]
pub(super) struct Total {
    pub(super) sum: f64,
    pub(super) lost: f64,
}

impl Total {
    #[inline]
    pub(super) fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        if sum.is_finite() {
            self.lost += if self.sum.abs() >= value.abs() {
                (self.sum - sum) + value
            } else {
                (value - sum) + self.sum
            };
        }
        self.sum = sum;
    }

    #[inline]
    pub(super) fn get(&self) -> f64 {
        if self.sum.is_finite() { self.sum + self.lost } else { self.sum }
    }
}

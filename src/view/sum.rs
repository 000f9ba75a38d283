//! Sums of elements.

use std::array;

use ndarray::ArrayD;

use super::View;
use super::axis_fold::{FoldedAxis, LineFold, Lines, Threads};
use super::runs::Run;
use crate::dtype::literal::tuple;
use crate::element::{ROW_BLOCK, Real, STREAMS, chunks};
use crate::error::invariant::{IN_BYTES, Invariant};
use crate::error::{Result, ShapeError};
use crate::layout::MAX_UNBACKED;
use crate::layout::geometry::advance;

/// How far apart the streams of a long run start, in bytes.
const STREAM_LEN: usize = 1 << 20;

/// About how many bytes of a stream are added up before their sum is added to
/// the total: few enough that the rounding error is below that of pairwise
/// summation.
pub(super) const PIECE: usize = 8 << 10;

/// The length of the shortest streams, in bytes: shorter ones are not faster.
const MIN_STREAM_LEN: usize = 64;

/// The number of sums that rows are added to at a time: they fit the L1 cache.
const TILE: usize = 2048;

impl<'a, T: Real> View<'a, T> {
    /// Returns the sum of all elements in doubles; NaN if any element is NaN. It
    /// is as accurate as NumPy's for doubles, and more accurate for smaller
    /// types: sums of single floats are not rounded to single floats.
    ///
    /// # Examples
    ///
    /// ```
    /// let penguins = npymap::MappedArray::read("data/penguins.npy")?;
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

    /// Returns the sums along `axis`, which is removed, in doubles: NumPy's
    /// `sum(axis)`. Reads the elements in memory order.
    ///
    /// # Errors
    ///
    /// [`OutOfBounds`](crate::ErrorKind::OutOfBounds) when the axis does not
    /// exist, [`InvalidInput`](crate::ErrorKind::InvalidInput) when there is not
    /// enough memory for the sums, [`LimitExceeded`](crate::ErrorKind::LimitExceeded)
    /// for more than 2²⁰ sums of nothing, because a small file can announce any
    /// number of them.
    ///
    /// # Examples
    ///
    /// ```
    /// let penguins = npymap::MappedArray::read("data/penguins.npy")?;
    /// let columns = penguins.view::<f64>()?.sum_axis(0)?;
    /// assert_eq!((columns.len(), columns[3].round()), (4, 1437000.0));
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn sum_axis(&self, axis: usize) -> Result<ArrayD<f64>> {
        self.axis_sums(axis, Threads::One)
    }

    pub(super) fn axis_sums(&self, axis: usize, threads: Threads) -> Result<ArrayD<f64>> {
        let folded = FoldedAxis::new(&self.geometry, axis)?;
        let starts = &folded.lines.starts;
        if folded.lines.dim == 0 && starts.len() > MAX_UNBACKED {
            let shape = tuple(self.shape());
            return Err(ShapeError::SumsOfNothing { axis, shape, limit: MAX_UNBACKED }.into());
        }
        if Vec::<f64>::new().try_reserve_exact(starts.len()).is_err() {
            let (shape, itemsize) = (tuple(&starts.shape), size_of::<f64>());
            return Err(ShapeError::Size { shape, itemsize }.into());
        }
        let mut sums = vec![0.0; starts.len()];
        folded.fold(self, self.itemsize(), &mut sums, threads);
        Ok(folded.to_array(sums))
    }

    /// Adds the elements of a run.
    fn add_run(&self, run: Run, total: &mut Total) {
        self.for_each_step(run, |step| self.add_step(&step, self.sum_streams(&step), total));
    }

    /// Splits the sum of a run into steps, in the order in which they are added.
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

    /// Adds up `dim` rows that start `stride` bytes apart.
    fn add_rows(&self, first: Run, dim: usize, stride: isize, sums: &mut [f64]) {
        let size = self.itemsize();
        // A single element is treated as the others of its row, so that sums are the
        // same however rows are split.
        let is_adjacent = usize::try_from(first.stride) == Ok(size);
        let mut first = first;
        for sums in sums.chunks_mut(TILE) {
            let tile = Run { count: sums.len(), ..first };
            let mut rows: Vec<&[u8]> = Vec::with_capacity(ROW_BLOCK);
            for row in 0..dim {
                let run = Run { start: advance(tile.start, row, stride), ..tile };
                if let Some((bytes, _)) = run.forward(self.bytes, size).filter(|_| is_adjacent) {
                    rows.push(bytes);
                } else {
                    let elements = run.elements(self.bytes, size);
                    for (sum, element) in sums.iter_mut().zip(elements) {
                        *sum += T::decode(&self.codec, element).to_f64();
                    }
                }
                if rows.len() == ROW_BLOCK || row + 1 == dim {
                    T::add_rows(&self.codec, &rows, sums);
                    rows.clear();
                }
            }
            first = first.without_first(tile.count);
        }
    }
}

/// Sums along lines.
impl<T: Real> LineFold for View<'_, T> {
    type Total = f64;

    fn fold(&self, lines: &Lines, first: usize, totals: &mut [f64]) {
        if !lines.is_fastest {
            return lines.for_each_run(first, totals, |run, _, sums| {
                self.add_rows(run, lines.dim, lines.stride, sums);
            });
        }
        for (start, sum) in lines.starts.element_offsets().zip(totals) {
            let mut total = Total::default();
            self.add_run(Run { start, count: lines.dim, stride: lines.stride }, &mut total);
            *sum = total.get();
        }
    }

    fn start(&self, _: f64) -> f64 {
        0.0
    }

    fn merge(&self, total: f64, part: f64) -> f64 {
        total + part
    }
}

/// A part of a sum.
pub(super) enum Step<'a> {
    /// Streams of elements, which start this many bytes apart. Their sums are
    /// independent of each other.
    Streams([&'a [u8]; STREAMS], usize),
    /// Elements that are added one by one, and how many bytes apart they start.
    Rest(&'a [u8], usize),
    /// Elements that are added one by one, and may overlap.
    Run(Run),
}

/// A sum with its rounding error: Neumaier's algorithm.
#[derive(Default)]
pub(super) struct Total {
    pub(super) sum: f64,
    pub(super) lost: f64,
}

impl Total {
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

    pub(super) fn get(&self) -> f64 {
        if self.sum.is_finite() { self.sum + self.lost } else { self.sum }
    }
}

//! Minimum, maximum, mean and standard deviation along an axis.
#![expect(clippy::inline_always, reason = "only inlined code is compiled for AVX2")]

use ndarray::ArrayD;

use super::View;
use super::axis_fold::{DecodedFold, FoldedAxis, Threads, ValueFold};
use crate::dtype::literal::tuple;
use crate::element::{MinMax, Real};
use crate::error::{Result, ShapeError};
use crate::kernel::{self, Job};

/// The number of independent accumulators, which the CPU can update in parallel.
const LANES: usize = 32;

impl<T: MinMax> View<'_, T> {
    /// Returns the minima along `axis`, which is removed: NumPy's `min(axis)`.
    /// NaN or `NaT` if any element is. Reads the elements in memory order.
    ///
    /// [`stats`](View::stats) has the minimum of all elements, and ignores NaN.
    ///
    /// # Errors
    ///
    /// [`OutOfBounds`](crate::ErrorKind::OutOfBounds) when the axis does not
    /// exist, [`WrongShape`](crate::ErrorKind::WrongShape) when it has length 0.
    ///
    /// # Panics
    ///
    /// As [`to_vec`](View::to_vec).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::ndarray::arr1;
    ///
    /// let penguins = npymap::MappedArray::read("data/penguins.npy")?;
    /// let table = penguins.view::<f64>()?;
    /// assert_eq!(table.min_axis(0)?, arr1(&[32.1, 13.1, 172.0, 2700.0]).into_dyn());
    /// assert_eq!(table.max_axis(0)?, arr1(&[59.6, 21.5, 231.0, 6300.0]).into_dyn());
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn min_axis(&self, axis: usize) -> Result<ArrayD<T>> {
        self.extreme_axis(axis, T::lesser, Threads::One)
    }

    /// Returns the maxima along `axis`, as [`min_axis`](View::min_axis): NumPy's
    /// `max(axis)`.
    ///
    /// # Errors
    ///
    /// As [`min_axis`](View::min_axis).
    ///
    /// # Panics
    ///
    /// As [`to_vec`](View::to_vec).
    pub fn max_axis(&self, axis: usize) -> Result<ArrayD<T>> {
        self.extreme_axis(axis, T::greater, Threads::One)
    }

    pub(super) fn extreme_axis(
        &self,
        axis: usize,
        choose: impl Fn(T, T) -> T + Copy + Sync,
        threads: Threads,
    ) -> Result<ArrayD<T>> {
        let folded = FoldedAxis::new(&self.geometry, axis)?;
        if folded.lines.dim == 0 {
            return Err(ShapeError::NoExtreme { axis, shape: tuple(self.shape()) }.into());
        }
        // The first element along the axis, which is then folded once more.
        let mut extremes = self.with(folded.lines.starts.clone()).to_vec();
        let fold = Extreme(choose);
        let fold = DecodedFold::<T, _> { bytes: self.bytes, codec: &self.codec, fold };
        folded.fold(&fold, self.itemsize(), &mut extremes, threads);
        Ok(folded.to_array(extremes))
    }
}

impl<T: Real> View<'_, T> {
    /// Returns the means along `axis`, which is removed, in doubles: NumPy's
    /// `mean(axis, dtype='f8')`. The mean along an empty axis is NaN.
    ///
    /// NumPy adds single and half floats in single precision, so its means of
    /// these are less accurate.
    ///
    /// # Errors
    ///
    /// As [`sum_axis`](View::sum_axis).
    ///
    /// # Examples
    ///
    /// ```
    /// let penguins = npymap::MappedArray::read("data/penguins.npy")?;
    /// let means = penguins.view::<f64>()?.mean_axis(0)?;
    /// assert_eq!(means.mapv(f64::round).as_slice(), Some(&[44.0, 17.0, 201.0, 4202.0][..]));
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn mean_axis(&self, axis: usize) -> Result<ArrayD<f64>> {
        self.axis_means(axis, Threads::One)
    }

    /// Returns the standard deviations along `axis`, which is removed, in
    /// doubles: NumPy's `std(axis, dtype='f8', ddof=ddof)`.
    ///
    /// The sum of squares is divided by the number of elements minus `ddof`: 0
    /// for a whole population, 1 for the unbiased variance of a sample. If the
    /// difference is not positive, the result is NaN or infinite, as in NumPy.
    /// The elements are read twice, also as in NumPy, because squares of the
    /// distances from the mean are more accurate than squares of the elements.
    ///
    /// # Errors
    ///
    /// As [`mean_axis`](View::mean_axis).
    ///
    /// # Examples
    ///
    /// ```
    /// let penguins = npymap::MappedArray::read("data/penguins.npy")?;
    /// let spread = penguins.view::<f64>()?.std_axis(0, 1.0)?;
    /// assert_eq!(spread[3].round(), 802.0);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn std_axis(&self, axis: usize, ddof: f64) -> Result<ArrayD<f64>> {
        self.axis_deviations(axis, ddof, Threads::One)
    }

    pub(super) fn axis_means(&self, axis: usize, threads: Threads) -> Result<ArrayD<f64>> {
        let mut means = self.axis_sums(axis, threads)?;
        let count = self.axis_len(axis);
        means.mapv_inplace(|sum| sum / count);
        Ok(means)
    }

    pub(super) fn axis_deviations(
        &self,
        axis: usize,
        ddof: f64,
        threads: Threads,
    ) -> Result<ArrayD<f64>> {
        let means = self.axis_means(axis, threads)?;
        let folded = FoldedAxis::new(&self.geometry, axis)?;
        // In the order of the totals.
        let means: Vec<f64> = means.permuted_axes(&*folded.order).iter().copied().collect();
        let mut squares = vec![0.0; means.len()];
        let fold = Squares { means: &means };
        let fold = DecodedFold::<T, _> { bytes: self.bytes, codec: &self.codec, fold };
        folded.fold(&fold, self.itemsize(), &mut squares, threads);
        // A NaN stays NaN, unlike in `f64::max`.
        let divisor = self.axis_len(axis) - ddof;
        let divisor = if divisor < 0.0 { 0.0 } else { divisor };
        for sum in &mut squares {
            *sum = (*sum / divisor).sqrt();
        }
        Ok(folded.to_array(squares))
    }

    /// The length of an axis that exists.
    fn axis_len(&self, axis: usize) -> f64 {
        let len = self.shape().get(axis).copied().unwrap_or(0);
        num_traits::ToPrimitive::to_f64(&len).unwrap_or(f64::INFINITY)
    }
}

/// Replaces totals by the values that a function chooses.
struct Extreme<F>(F);

impl<T: MinMax, F: Fn(T, T) -> T + Copy + Sync> ValueFold<T> for Extreme<F> {
    type Total = T;

    fn along(&self, values: &[T], _: usize, totals: &mut [T]) {
        kernel::run(ExtremeAlong { values, totals, choose: self.0 });
    }

    fn across(&self, values: &[T], _: usize, totals: &mut [T]) {
        kernel::run(ExtremeAcross { values, totals, choose: self.0 });
    }

    fn start(&self, total: T) -> T {
        total
    }

    fn merge(&self, total: T, part: T) -> T {
        (self.0)(total, part)
    }
}

/// [`ValueFold::along`] for minima and maxima.
struct ExtremeAlong<'a, T, F> {
    values: &'a [T],
    totals: &'a mut [T],
    choose: F,
}

impl<T: MinMax, F: Fn(T, T) -> T + Copy> Job for ExtremeAlong<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let ExtremeAlong { values, totals, choose } = self;
        for (values, total) in groups(values, totals) {
            let lanes_end = if T::KEEPS_FIRST { 0 } else { values.len() / LANES * LANES };
            let (whole, rest) = values.split_at(lanes_end);
            if !whole.is_empty() {
                let mut lanes = [*total; LANES];
                for chunk in whole.chunks_exact(LANES) {
                    lanes
                        .iter_mut()
                        .zip(chunk)
                        .for_each(|(lane, value)| *lane = choose(*lane, *value));
                }
                *total = lanes.into_iter().fold(*total, choose);
            }
            *total = rest.iter().copied().fold(*total, choose);
        }
    }
}

/// [`ValueFold::across`] for minima and maxima.
struct ExtremeAcross<'a, T, F> {
    values: &'a [T],
    totals: &'a mut [T],
    choose: F,
}

impl<T: Copy, F: Fn(T, T) -> T + Copy> Job for ExtremeAcross<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let ExtremeAcross { values, totals, choose } = self;
        for row in values.chunks_exact(totals.len().max(1)) {
            totals.iter_mut().zip(row).for_each(|(total, value)| *total = choose(*total, *value));
        }
    }
}

/// Adds the squares of the distances from the means.
struct Squares<'m> {
    means: &'m [f64],
}

impl<T: Real> ValueFold<T> for Squares<'_> {
    type Total = f64;

    fn along(&self, values: &[T], first: usize, totals: &mut [f64]) {
        let means = self.means.get(first..).unwrap_or_default();
        kernel::run(SquaresAlong { values, means, totals });
    }

    fn across(&self, values: &[T], first: usize, totals: &mut [f64]) {
        let means = self.means.get(first..).unwrap_or_default();
        kernel::run(SquaresAcross { values, means, totals });
    }

    fn start(&self, _: f64) -> f64 {
        0.0
    }

    fn merge(&self, total: f64, part: f64) -> f64 {
        total + part
    }
}

/// [`ValueFold::along`] for sums of squares.
struct SquaresAlong<'a, T> {
    values: &'a [T],
    means: &'a [f64],
    totals: &'a mut [f64],
}

impl<T: Real> Job for SquaresAlong<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let SquaresAlong { values, means, totals } = self;
        for ((values, total), mean) in groups(values, totals).zip(means) {
            let mut lanes = [0.0; LANES];
            let chunks = values.chunks_exact(LANES);
            let rest = chunks.remainder();
            for chunk in chunks {
                lanes
                    .iter_mut()
                    .zip(chunk)
                    .for_each(|(lane, value)| *lane += square(*value, *mean));
            }
            let sum: f64 = lanes.iter().sum();
            *total += rest.iter().fold(sum, |sum, value| sum + square(*value, *mean));
        }
    }
}

/// [`ValueFold::across`] for sums of squares.
struct SquaresAcross<'a, T> {
    values: &'a [T],
    means: &'a [f64],
    totals: &'a mut [f64],
}

impl<T: Real> Job for SquaresAcross<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let SquaresAcross { values, means, totals } = self;
        for row in values.chunks_exact(totals.len().max(1)) {
            for ((total, mean), value) in totals.iter_mut().zip(means).zip(row) {
                *total += square(*value, *mean);
            }
        }
    }
}

#[inline(always)]
fn square<T: Real>(value: T, mean: f64) -> f64 {
    let distance = value.to_f64() - mean;
    distance * distance
}

/// The values of each total.
#[inline(always)]
fn groups<'a, T, A>(
    values: &'a [T],
    totals: &'a mut [A],
) -> impl Iterator<Item = (&'a [T], &'a mut A)> {
    let len = values.len() / totals.len().max(1);
    values.chunks_exact(len.max(1)).zip(totals)
}

//! Folds along one axis in rayon's thread pool, with the same results as on one
//! thread.

use ndarray::ArrayD;

use super::View;
use super::axis_fold::{FoldedAxis, LineFold, Lines, Threads, fold_part, merge};
use super::join::{join, map_parts};
use super::parallel_bulk::SMALL;
use crate::element::{MinMax, Real};
use crate::error::Result;

/// How many parts threads work on before their totals are combined.
const BATCH: usize = 64;

/// Runs of lines are not split into shorter ones, because these are slower to read.
const SHORT_RUN: usize = 64;

impl<T: Real> View<'_, T> {
    /// Returns the sums along `axis`, as [`sum_axis`](View::sum_axis), computed by
    /// rayon's current thread pool. They are the same for any number of threads,
    /// bit for bit. Small arrays are summed by one thread.
    ///
    /// # Errors
    ///
    /// As [`sum_axis`](View::sum_axis).
    ///
    /// # Examples
    ///
    /// ```
    /// let penguins = npymap::MappedArray::read("data/penguins.npy")?;
    /// let table = penguins.view::<f64>()?;
    /// assert_eq!(table.par_sum_axis(0)?, table.sum_axis(0)?);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn par_sum_axis(&self, axis: usize) -> Result<ArrayD<f64>> {
        self.axis_sums(axis, Threads::Pool)
    }

    /// Returns the means along `axis`, as [`mean_axis`](View::mean_axis), computed
    /// as by [`par_sum_axis`](View::par_sum_axis).
    ///
    /// # Errors
    ///
    /// As [`sum_axis`](View::sum_axis).
    pub fn par_mean_axis(&self, axis: usize) -> Result<ArrayD<f64>> {
        self.axis_means(axis, Threads::Pool)
    }

    /// Returns the standard deviations along `axis`, as
    /// [`std_axis`](View::std_axis), computed as by
    /// [`par_sum_axis`](View::par_sum_axis).
    ///
    /// # Errors
    ///
    /// As [`sum_axis`](View::sum_axis).
    pub fn par_std_axis(&self, axis: usize, ddof: f64) -> Result<ArrayD<f64>> {
        self.axis_deviations(axis, ddof, Threads::Pool)
    }
}

impl<T: MinMax> View<'_, T> {
    /// Returns the minima along `axis`, as [`min_axis`](View::min_axis), computed by
    /// rayon's current thread pool. Small arrays are processed by one thread.
    ///
    /// # Errors
    ///
    /// As [`min_axis`](View::min_axis).
    ///
    /// # Panics
    ///
    /// As [`to_vec`](View::to_vec).
    ///
    /// # Examples
    ///
    /// ```
    /// let penguins = npymap::MappedArray::read("data/penguins.npy")?;
    /// let table = penguins.view::<f64>()?;
    /// assert_eq!(table.par_min_axis(0)?, table.min_axis(0)?);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn par_min_axis(&self, axis: usize) -> Result<ArrayD<T>> {
        self.extreme_axis(axis, T::lesser, Threads::Pool)
    }

    /// Returns the maxima along `axis`, as [`max_axis`](View::max_axis), computed as
    /// by [`par_min_axis`](View::par_min_axis).
    ///
    /// # Errors
    ///
    /// As [`min_axis`](View::min_axis).
    ///
    /// # Panics
    ///
    /// As [`to_vec`](View::to_vec).
    pub fn par_max_axis(&self, axis: usize) -> Result<ArrayD<T>> {
        self.extreme_axis(axis, T::greater, Threads::Pool)
    }
}

impl FoldedAxis {
    /// Folds all elements in rayon's current pool, as
    /// [`fold_in_turn`](FoldedAxis::fold_in_turn).
    pub(super) fn fold_in_pool<F: LineFold>(
        &self,
        fold: &F,
        itemsize: usize,
        totals: &mut [F::Total],
    ) {
        let parts: Vec<Lines> = self.parts(itemsize).collect();
        if parts.len() < 2 {
            return fold_halves(&self.lines, fold, itemsize, 0, totals);
        }
        for batch in parts.chunks(BATCH) {
            let before = &*totals;
            let folded = map_parts(batch, &|parts| {
                parts.iter().map(|part| fold_part(fold, part, before)).collect()
            });
            for part in folded {
                merge(fold, totals, &part);
            }
        }
    }
}

/// Folds lines, one half of them on another thread if that is worth it.
fn fold_halves<F: LineFold>(
    lines: &Lines,
    fold: &F,
    itemsize: usize,
    first: usize,
    totals: &mut [F::Total],
) {
    let nbytes = totals.len().saturating_mul(lines.dim).saturating_mul(itemsize);
    match lines.halves().filter(|_| nbytes >= SMALL) {
        Some((low, high)) => {
            let (low_totals, high_totals) = totals.split_at_mut(low.starts.len());
            let middle = first + low_totals.len();
            join(
                || fold_halves(&low, fold, itemsize, first, low_totals),
                || fold_halves(&high, fold, itemsize, middle, high_totals),
            );
        }
        None => fold.fold(lines, first, totals),
    }
}

impl Lines {
    /// The first and the second half of the lines, unless these are too few.
    fn halves(&self) -> Option<(Lines, Lines)> {
        let shape = &self.starts.shape;
        let axis = shape.iter().position(|&dim| dim > 1)?;
        let dim = *shape.get(axis)?;
        let is_run = shape.iter().skip(axis + 1).all(|&dim| dim == 1);
        if is_run && dim < 2 * SHORT_RUN && !self.is_fastest {
            return None;
        }
        let (low, high) = self.starts.split_at(axis, dim / 2).ok()?;
        Some((Lines { starts: low, ..self.clone() }, Lines { starts: high, ..self.clone() }))
    }
}

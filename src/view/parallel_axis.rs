//! Sums along one axis in rayon's thread pool, with the same results as on one
//! thread.

use ndarray::ArrayD;

use super::View;
use super::join::{join, map_parts};
use super::parallel_bulk::SMALL;
use super::sum_axis::{Lines, add};
use crate::element::Real;
use crate::error::Result;
use crate::layout::offsets::nbytes;

/// How many parts threads work on before their totals are combined.
const BATCH: usize = 64;

/// Runs of lines are not split further, because short runs are slower to read.
const SHORT_RUN: usize = 64;

impl<T: Real> View<'_, T> {
    /// Returns the sums along `axis`, like [`sum_axis`](View::sum_axis),
    /// computed by rayon's current thread pool. They are the same for any
    /// number of threads, bit for bit. Small arrays are summed by one thread.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if the axis does
    /// not exist, [`InvalidInput`](crate::ErrorKind::InvalidInput) if there is
    /// not enough memory for the sums, and
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) for more than 2²⁰
    /// sums of nothing, because a small file can announce any number of them.
    ///
    /// # Examples
    ///
    /// ```
    /// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
    /// let table = penguins.view::<f64>()?;
    /// assert_eq!(table.par_sum_axis(0)?, table.sum_axis(0)?);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn par_sum_axis(&self, axis: usize) -> Result<ArrayD<f64>> {
        let (axis, mut sums) = self.summed_axis(axis)?;
        let parts: Vec<Lines> = axis.parts(self.itemsize()).collect();
        if parts.len() < 2 {
            self.add_halves(&axis.lines, &mut sums);
        } else {
            for batch in parts.chunks(BATCH) {
                let of_parts = map_parts(batch, &|parts| {
                    parts.iter().map(|part| self.sum_lines(part)).collect()
                });
                for part in of_parts {
                    add(&mut sums, &part);
                }
            }
        }
        Ok(axis.to_array(sums))
    }

    /// Adds up lines, one half of them on another thread if that is worth it.
    fn add_halves(&self, lines: &Lines, sums: &mut [f64]) {
        let nbytes = nbytes(sums.len() * lines.dim, self.itemsize());
        match lines.halves() {
            Some((low, high)) if nbytes >= SMALL => {
                let (low_sums, high_sums) = sums.split_at_mut(low.starts.len());
                join(|| self.add_halves(&low, low_sums), || self.add_halves(&high, high_sums));
            }
            _ => self.add_lines(lines, sums),
        }
    }
}

impl Lines {
    /// The first and the second half of the lines, unless these are too few.
    #[inline]
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

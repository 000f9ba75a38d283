//! Work on all elements by rayon's thread pool, with the results of one thread.

use std::ops::Range;

use rayon::prelude::*;

use super::blocks::Position;
use super::stats::{CHUNK, chunk_stats};
use super::sum::{PIECE, Step, Total};
use super::{Stats, View, ViewMut, check_len};
use crate::element::{Element, Real, STREAMS};
use crate::error::Result;

/// Less work than this, in bytes, is not worth waking other threads.
const SMALL: usize = 512 << 10;

/// About how many bytes a thread takes at a time.
const SHARE: usize = 64 << 10;

/// Runs shorter than this, in bytes, are not distributed: finding them is most
/// of the work.
const SHORT_RUN: usize = 4 << 10;

/// How many steps threads work on before their results are combined.
const BATCH: usize = 256;

impl<T: Element> View<'_, T> {
    /// Whether all elements together are much work, and so are those of a run
    /// of at least `run` bytes.
    fn is_worth_threads(&self, run: usize) -> bool {
        let size = self.itemsize();
        let geometry = self.geometry.memory_order().merged();
        let adjacent = geometry.shape.last().map_or(0, |&dim| dim.saturating_mul(size));
        self.len().saturating_mul(size) >= SMALL && adjacent >= run
    }
}

impl<T: Real> View<'_, T> {
    /// Returns the sum of all elements, as [`sum`](View::sum), computed by
    /// rayon's current thread pool. It is the same for any number of threads,
    /// bit for bit. Small arrays, and those in runs of less than 64 KiB, are
    /// summed by one thread.
    ///
    /// # Examples
    ///
    /// ```
    /// let penguins = npymap::MappedArray::read("data/penguins.npy")?;
    /// let table = penguins.view::<f64>()?;
    /// assert_eq!(table.par_sum(), table.sum());
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[must_use]
    pub fn par_sum(&self) -> f64 {
        if !self.is_worth_threads(STREAMS * PIECE) {
            return self.sum();
        }
        let (mut total, mut batch) = (Total::default(), Vec::with_capacity(BATCH));
        for run in self.geometry.memory_order().merged().runs() {
            self.for_each_step(run, |step| {
                if batch.len() == BATCH {
                    self.add_batch(&mut batch, &mut total);
                }
                batch.push(step);
            });
        }
        self.add_batch(&mut batch, &mut total);
        total.get()
    }

    /// Adds the sums of steps in their order.
    fn add_batch(&self, batch: &mut Vec<Step<'_>>, total: &mut Total) {
        let streams = batch.par_iter().map(|step| self.sum_streams(step));
        let sums: Vec<[f64; STREAMS]> = streams.collect();
        for (step, sums) in batch.drain(..).zip(sums) {
            self.add_step(&step, sums, total);
        }
    }

    /// Computes the statistics of all elements, as [`stats`](View::stats), by
    /// rayon's current thread pool. They are the same for any number of threads,
    /// bit for bit.
    ///
    /// # Examples
    ///
    /// ```
    /// let penguins = npymap::MappedArray::read("data/penguins.npy")?;
    /// let table = penguins.view::<f64>()?;
    /// assert_eq!(table.par_stats(), table.stats());
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[must_use]
    pub fn par_stats(&self) -> Stats<T> {
        if !self.is_worth_threads(SHORT_RUN) {
            return self.stats();
        }
        let (mut stats, mut batch) = (Stats::empty(), Vec::with_capacity(BATCH));
        let mut blocks = self.blocks();
        // Shares begin and end between two chunks of their block.
        let share = SHARE / (CHUNK * size_of::<T>()) * CHUNK;
        while let Some((block, len)) = blocks.skip() {
            for start in (0..len).step_by(share) {
                if batch.len() == BATCH {
                    stats = self.merge_batch(stats, &mut batch);
                }
                batch.push((block, start..len.min(start + share)));
            }
        }
        self.merge_batch(stats, &mut batch)
    }

    /// Adds the statistics of parts of blocks, in their order.
    fn merge_batch(&self, stats: Stats<T>, batch: &mut Vec<(Position, Range<usize>)>) -> Stats<T> {
        let parts = batch.par_iter().map_init(
            || self.blocks(),
            |blocks, (position, part)| {
                let block = blocks.at(*position).get(part.clone()).unwrap_or_default();
                chunk_stats(block).collect()
            },
        );
        let parts: Vec<Vec<Stats<T>>> = parts.collect();
        batch.clear();
        parts.into_iter().flatten().fold(stats, Stats::merged)
    }
}

impl<T: Element + Send> View<'_, T> {
    /// Copies all elements in C order into a slice, as
    /// [`copy_to_slice`](View::copy_to_slice), by rayon's current thread pool.
    ///
    /// # Errors
    ///
    /// [`WrongShape`](crate::ErrorKind::WrongShape) when `out` has another
    /// length.
    ///
    /// # Examples
    ///
    /// ```
    /// let penguins = npymap::MappedArray::read("data/penguins.npy")?;
    /// let columns = penguins.view::<f64>()?.t();
    /// let mut copy = vec![0.0; columns.len()];
    /// columns.par_copy_to_slice(&mut copy)?;
    /// assert_eq!(copy, columns.to_vec());
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn par_copy_to_slice(&self, out: &mut [T]) -> Result<()> {
        check_len(self.len(), out.len())?;
        // A copy between orders reads and writes tiles, which narrow shares lack.
        let shares = rayon::current_num_threads() * 4;
        let share = (size_of_val(out) / shares).max(SMALL);
        copy_halves(&self.with(self.geometry.merged()), share, out);
        Ok(())
    }
}

/// Copies a view whose axes are merged, one half of it on another thread if it is
/// larger than `share`, in bytes.
fn copy_halves<T: Element + Send>(view: &View<'_, T>, share: usize, out: &mut [T]) {
    let dim = view.shape().first().copied().unwrap_or(1);
    match view.split_at(0, dim / 2) {
        Ok((low, high)) if size_of_val(out) > share && dim > 1 => {
            let (low_out, high_out) = out.split_at_mut(low.len());
            rayon::join(
                || copy_halves(&low, share, low_out),
                || copy_halves(&high, share, high_out),
            );
        }
        _ => view.copy_over(out),
    }
}

impl<T: Element> ViewMut<'_, T> {
    /// Replaces every element `x` with `f(x)`, as
    /// [`map_inplace`](ViewMut::map_inplace), by rayon's current thread pool.
    ///
    /// # Errors
    ///
    /// [`InvalidValue`](crate::ErrorKind::InvalidValue) when a result does not
    /// fit the dtype; other elements may have been replaced.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::MappedArray;
    ///
    /// let mut grid = MappedArray::anonymous(&">i2".parse()?, &[1000, 1000])?;
    /// grid.view_mut::<i16>()?.par_map_inplace(|x| x + 1)?;
    /// assert_eq!(grid.view::<i16>()?.par_sum(), 1e6);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn par_map_inplace(&mut self, f: impl Fn(T) -> T + Sync) -> Result<()> {
        map_halves(self.reborrow().memory_order(), &f)
    }
}

/// Maps a view in memory order, one half of it on another thread if that is worth
/// it. Returns the first error in memory order.
fn map_halves<T: Element>(mut view: ViewMut<'_, T>, f: &(impl Fn(T) -> T + Sync)) -> Result<()> {
    let axis = view.shape().iter().position(|&dim| dim > 1);
    let nbytes = view.len().saturating_mul(T::itemsize(&view.codec));
    if let (Some(axis), SMALL..) = (axis, nbytes) {
        let dim = view.shape().get(axis).copied().unwrap_or(0);
        // Halves that interleave belong to one thread.
        if let Ok((low, high)) = view.reborrow().split_at(axis, dim / 2) {
            let (low, high) = rayon::join(|| map_halves(low, f), || map_halves(high, f));
            return low.and(high);
        }
    }
    view.map_inplace(f)
}

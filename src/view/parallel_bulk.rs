//! Work on all elements by rayon's thread pool, with the results of one thread.

use std::ops::Range;

use ndarray::{Array, Dimension};

use super::blocks::Position;
use super::cast::cast_each;
use super::in_place::dimension;
use super::join::{join, map_parts};
use super::stats::{CHUNK, chunk_stats};
use super::sum::{PIECE, Step, Total};
use super::{Stats, View, check_len};
use crate::element::cast::{Casting, Number, check_cast};
use crate::element::fast_path::FastPath as _;
use crate::element::{Element, Real, STREAMS};
use crate::error::Result;
use crate::error::invariant::{IN_BUFFER, Invariant, PAIRED};
use crate::layout::offsets::nbytes;

/// Less work than this, in bytes, is not worth waking other threads.
pub(super) const SMALL: usize = 512 << 10;

/// About how many bytes a thread takes at a time.
const SHARE: usize = 64 << 10;

/// Runs shorter than this, in bytes, are not distributed: finding them is most
/// of the work.
const SHORT_RUN: usize = 4 << 10;

/// How many steps threads work on before their results are combined.
const BATCH: usize = 256;

impl<T: Element> View<'_, T> {
    /// Whether all elements together are much work, and also the elements of a
    /// run of at least `run` bytes.
    fn is_worth_threads(&self, run: usize) -> bool {
        let size = self.itemsize();
        if nbytes(self.len(), size) < SMALL {
            return false;
        }
        let geometry = self.geometry.memory_order().merged();
        geometry.shape.last().is_some_and(|&dim| nbytes(dim, size) >= run)
    }
}

impl<T: Real> View<'_, T> {
    /// Returns the sum of all elements, like [`sum`](View::sum), computed by
    /// rayon's current thread pool. It is the same for any number of threads,
    /// bit for bit. Small arrays, and arrays in runs of less than 64 KiB, are
    /// summed by one thread.
    ///
    /// # Examples
    ///
    /// ```
    /// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
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
        let sums = map_parts(batch, &|steps| {
            steps.iter().map(|step| self.sum_streams(step)).collect::<Vec<[f64; STREAMS]>>()
        });
        for (step, sums) in batch.drain(..).zip(sums) {
            self.add_step(&step, sums, total);
        }
    }

    /// Computes the statistics of all elements, like [`stats`](View::stats), by
    /// rayon's current thread pool. They are the same for any number of
    /// threads, bit for bit.
    ///
    /// # Examples
    ///
    /// ```
    /// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
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
        let parts = map_parts(batch, &|parts| {
            let mut blocks = self.blocks();
            let mut stats = Vec::new();
            for (position, part) in parts {
                let block = blocks.at(*position).get(part.clone()).invariant(IN_BUFFER);
                stats.extend(chunk_stats(block));
            }
            stats
        });
        batch.clear();
        parts.into_iter().fold(stats, Stats::merged)
    }
}

impl<T: Element + Send> View<'_, T> {
    /// Copies all elements in C order into a slice, like
    /// [`copy_to_slice`](View::copy_to_slice), by rayon's current thread pool.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if `out` has the
    /// wrong length.
    ///
    /// # Examples
    ///
    /// ```
    /// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
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
        fill_halves(&self.with(self.geometry.merged()), share, out, &|view, out| {
            view.copy_over(out);
            Ok(())
        })
    }
}

/// Fills `out` from a view with merged axes, one half of it on another thread if it is larger
/// than `share`, in bytes. Returns the first error in C order.
fn fill_halves<T: Element, U: Send>(
    view: &View<'_, T>,
    share: usize,
    out: &mut [U],
    fill: &(impl Fn(&View<'_, T>, &mut [U]) -> Result<()> + Sync),
) -> Result<()> {
    let dim = view.shape().first().copied().unwrap_or(1);
    match view.split_at(0, dim / 2) {
        Ok((low, high)) if size_of_val(out) > share && dim > 1 => {
            let (low_out, high_out) = out.split_at_mut(low.len());
            let (low, high) = join(
                || fill_halves(&low, share, low_out, fill),
                || fill_halves(&high, share, high_out, fill),
            );
            low.and(high)
        }
        _ => fill(view, out),
    }
}

impl<T: Number> View<'_, T> {
    /// Copies all elements in C order into an array of another numeric type,
    /// like [`to_ndarray_as`](View::to_ndarray_as), by rayon's current thread
    /// pool.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if the view does
    /// not have the axes of `N`, [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch)
    /// if `casting` does not allow the cast, naming a casting that does, and
    /// [`InvalidValue`](crate::ErrorKind::InvalidValue) with
    /// [`Casting::SameValue`] for a number that would change.
    ///
    /// # Panics
    ///
    /// Like [`to_vec`](View::to_vec).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{element::Casting, ndarray::Ix2};
    ///
    /// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
    /// let table = penguins.view::<f64>()?;
    /// let small = table.par_to_ndarray_as::<f32, Ix2>(Casting::SameKind)?;
    /// assert_eq!(small, table.to_ndarray_as::<f32, Ix2>(Casting::SameKind)?);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn par_to_ndarray_as<U: Number + Send, N: Dimension>(
        &self,
        casting: Casting,
    ) -> Result<Array<U, N>> {
        let shape = dimension::<N>(&self.geometry)?;
        check_cast(&self.number_dtype(), &U::dtype(), casting)?;
        let mut out = U::fast_path().zeros(self.len()).invariant("any bytes are numbers");
        fill_halves(&self.with(self.geometry.merged()), SMALL - 1, &mut out, &|view, out| {
            let mut places = out.iter_mut();
            cast_each(view.iter(), casting, |cast| *places.next().invariant(PAIRED) = cast)
        })?;
        Ok(Array::from_shape_vec(shape, out).invariant(PAIRED))
    }
}

//! Work on all elements by rayon's thread pool, with the results of one thread.

use std::ops::Range;

use ndarray::{Array, Dimension};

use super::assign::check_assign;
use super::blocks::Position;
use super::cast::cast_each;
use super::in_place::dimension;
use super::join::{join, map_parts};
use super::stats::{CHUNK, chunk_stats};
use super::sum::{PIECE, Step, Total};
use super::{DynView, DynViewMut, Stats, View, ViewMut, check_len};
use crate::element::cast::{Casting, Number, check_cast};
use crate::element::fast_path::FastPath as _;
use crate::element::{Element, Real, STREAMS, Value};
use crate::error::Result;
use crate::error::invariant::{Invariant, PAIRED};

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
        if self.len().saturating_mul(size) < SMALL {
            return false;
        }
        let geometry = self.geometry.memory_order().merged();
        geometry.shape.last().is_some_and(|&dim| dim.saturating_mul(size) >= run)
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
                let block = blocks.at(*position).get(part.clone()).unwrap_or_default();
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
        copy_halves(&self.with(self.geometry.merged()), share, out);
        Ok(())
    }
}

/// Copies a view with merged axes, one half of it on another thread if it is
/// larger than `share`, in bytes.
fn copy_halves<T: Element + Send>(view: &View<'_, T>, share: usize, out: &mut [T]) {
    let dim = view.shape().first().copied().unwrap_or(1);
    match view.split_at(0, dim / 2) {
        Ok((low, high)) if size_of_val(out) > share && dim > 1 => {
            let (low_out, high_out) = out.split_at_mut(low.len());
            join(|| copy_halves(&low, share, low_out), || copy_halves(&high, share, high_out));
        }
        _ => view.copy_over(out),
    }
}

impl<T: Element> ViewMut<'_, T> {
    /// Replaces every element `x` with `f(x)`, like
    /// [`map_inplace`](ViewMut::map_inplace), by rayon's current thread pool.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidValue`](crate::ErrorKind::InvalidValue) if a result
    /// does not fit the dtype. Other elements may have been replaced.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::MappedArray;
    ///
    /// let mut grid = MappedArray::zeros(&">i2".parse()?, &[1000, 1000])?;
    /// grid.view_mut::<i16>()?.par_map_inplace(|x| x + 1)?;
    /// assert_eq!(grid.view::<i16>()?.par_sum(), 1e6);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn par_map_inplace(&mut self, f: impl Fn(T) -> T + Sync) -> Result<()> {
        map_halves(self.reborrow().memory_order(), &f)
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
        cast_halves(&self.with(self.geometry.merged()), casting, &mut out)?;
        Ok(Array::from_shape_vec(shape, out).invariant(PAIRED))
    }
}

/// Casts a view with merged axes, one half of it on another thread if that is
/// worth it. Returns the first error in C order.
fn cast_halves<T: Number, U: Number + Send>(
    view: &View<'_, T>,
    casting: Casting,
    out: &mut [U],
) -> Result<()> {
    let dim = view.shape().first().copied().unwrap_or(1);
    match view.split_at(0, dim / 2) {
        Ok((low, high)) if size_of_val(out) >= SMALL && dim > 1 => {
            let (low_out, high_out) = out.split_at_mut(low.len());
            let (low, high) = join(
                || cast_halves(&low, casting, low_out),
                || cast_halves(&high, casting, high_out),
            );
            low.and(high)
        }
        _ => {
            let mut places = out.iter_mut();
            cast_each(view.iter(), casting, |cast| {
                *places.next().invariant(PAIRED) = cast;
            })
        }
    }
}

impl ViewMut<'_, Value> {
    /// Casts the elements of another view to this dtype and stores them, like
    /// [`assign_as`](ViewMut::assign_as), by rayon's current thread pool.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the cast is not
    /// allowed or not implemented, and
    /// [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if the views cannot be
    /// broadcast. These errors leave the elements unchanged. Returns
    /// [`InvalidValue`](crate::ErrorKind::InvalidValue) for text that cannot be
    /// parsed, dates that do not fit, and with [`Casting::SameValue`] for a
    /// value that would change; any elements may then have been stored.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, element::Casting};
    ///
    /// let penguins = MappedArray::load("data/penguins.npy")?;
    /// let mut small = MappedArray::zeros(&">f4".parse()?, &[342, 4])?;
    /// small.dyn_view_mut()?.par_assign_as(&penguins.dyn_view()?, Casting::SameKind)?;
    /// assert_eq!(small.view::<f32>()?.at([0, 3]), 3750.0);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[inline]
    pub fn par_assign_as(&mut self, from: &DynView<'_>, casting: Casting) -> Result<()> {
        check_assign(from.dtype(), self.dtype(), casting)?;
        let from = from.broadcast(self.shape())?;
        // There may be too many elements of zero size to divide them.
        if self.is_empty() || self.codec.itemsize() == 0 {
            return Ok(());
        }
        assign_halves(self.reborrow(), &from, casting)
    }

    /// Reverses the bytes of every number, like
    /// [`byteswap_inplace`](ViewMut::byteswap_inplace), by rayon's current
    /// thread pool.
    ///
    /// # Errors
    ///
    /// This returns no error at present.
    #[inline]
    pub fn par_byteswap_inplace(&mut self) -> Result<()> {
        byteswap_halves(self.reborrow())
    }
}

/// Assigns to a view, one half of it on another thread if that is worth it. Returns
/// the error of the first half if both fail.
#[inline]
fn assign_halves(to: DynViewMut<'_>, from: &DynView<'_>, casting: Casting) -> Result<()> {
    let mut to = to;
    let size = to.codec.itemsize().max(from.itemsize());
    if let (Some(axis), SMALL..) = (to.slowest_axis(), to.len().saturating_mul(size)) {
        let middle = to.shape().get(axis).map_or(0, |dim| dim / 2);
        let (from_low, from_high) = from.split_at(axis, middle)?;
        // Halves that interleave belong to one thread.
        if let Ok((low, high)) = to.reborrow().split_at(axis, middle) {
            let (low, high) = join(
                || assign_halves(low, &from_low, casting),
                || assign_halves(high, &from_high, casting),
            );
            return low.and(high);
        }
    }
    to.assign_as(from, casting)
}

/// Reverses the bytes of numbers, one half of them on another thread if that is
/// worth it.
#[inline]
fn byteswap_halves(mut view: DynViewMut<'_>) -> Result<()> {
    let nbytes = view.len().saturating_mul(view.codec.itemsize());
    if let (Some(axis), SMALL..) = (view.slowest_axis(), nbytes) {
        let middle = view.shape().get(axis).map_or(0, |dim| dim / 2);
        if let Ok((low, high)) = view.reborrow().split_at(axis, middle) {
            let (low, high) = join(|| byteswap_halves(low), || byteswap_halves(high));
            return low.and(high);
        }
    }
    view.byteswap_inplace()
}

impl<T: Element> ViewMut<'_, T> {
    /// The axis with the largest stride that has more than one index.
    fn slowest_axis(&self) -> Option<usize> {
        let axes = self.shape().iter().zip(&self.geometry.strides).enumerate();
        let long = axes.filter(|(_, (dim, _))| **dim > 1);
        long.max_by_key(|(_, (_, stride))| stride.unsigned_abs()).map(|(axis, _)| axis)
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
            let (low, high) = join(|| map_halves(low, f), || map_halves(high, f));
            return low.and(high);
        }
    }
    view.map_inplace(f)
}

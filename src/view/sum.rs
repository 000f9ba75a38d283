//! Sums of elements where they lie.

use std::array;

use ndarray::{ArrayD, IxDyn};

use super::View;
use super::runs::Run;
use crate::dtype::literal::tuple;
use crate::element::{ROW_BLOCK, Real, STREAMS, chunks};
use crate::error::invariant::{IN_BYTES, Invariant};
use crate::error::{Result, ShapeError};
use crate::layout::geometry::{Geometry, advance};

/// How far apart the streams of a long run start.
const APART: usize = 1 << 20;

/// About how many bytes of a stream are summed up before their sum is: so few
/// that rounding stays below what pairwise summation leaves.
const PIECE: usize = 8 << 10;

/// Streams shorter than this are not worth it.
const SHORT: usize = 64;

/// Sums that stay in the first cache while rows are added to them.
const TILE: usize = 2048;

impl<T: Real> View<'_, T> {
    /// The sum of all elements in doubles; NaN when one is. As accurate as
    /// NumPy's for doubles, and more so for what is smaller: a sum of single
    /// floats doesn't round to single ones on its way.
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

    /// The sums along an axis, which is gone then, in doubles: NumPy's
    /// `sum(axis)`. Goes through the elements in the order of memory.
    ///
    /// # Errors
    ///
    /// [`OutOfBounds`](crate::ErrorKind::OutOfBounds),
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when there is no memory
    /// for the sums.
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
        let (rest, dim, stride) = self.geometry.without(axis)?;
        let order = rest.order_of_memory();
        let rest = rest.permuted(&order)?;
        // An axis of no elements costs a file nothing, and the sums along it do.
        let too_many = |_| {
            let (shape, itemsize) = (tuple(&rest.shape), size_of::<f64>());
            crate::error::Error::from(ShapeError::Size { shape, itemsize })
        };
        Vec::<f64>::new().try_reserve_exact(rest.len()).map_err(too_many)?;
        let mut sums = ArrayD::zeros(IxDyn(&rest.shape));
        let flat = sums.as_slice_mut().invariant("new arrays are contiguous");
        let apart = stride.unsigned_abs();
        if rest.strides.iter().all(|stride| apart < stride.unsigned_abs()) {
            for (start, sum) in rest.places().zip(flat) {
                let mut total = Total::default();
                self.add_run(Run { start, count: dim, stride }, &mut total);
                *sum = total.get();
            }
        } else {
            let mut flat = flat;
            for run in rest.merged().runs() {
                let (own, after) = flat.split_at_mut(run.count);
                self.add_rows(run, dim, stride, own);
                flat = after;
            }
        }
        let mut places = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, &axis)| {
            if let Some(place) = places.get_mut(axis) {
                *place = at;
            }
        });
        Ok(sums.permuted_axes(places))
    }

    /// Adds the elements of a run.
    fn add_run(&self, run: Run, total: &mut Total) {
        let size = self.itemsize();
        let (forward, _) = run.turned_forward();
        match forward.forward(self.bytes, size) {
            Some((bytes, stride)) => self.add_bytes(bytes, stride, total),
            None => run
                .elements(self.bytes, size)
                .for_each(|element| total.add(T::decode(&self.codec, element).to_f64())),
        }
    }

    /// Adds elements `stride` bytes apart.
    fn add_bytes(&self, bytes: &[u8], stride: usize, total: &mut Total) {
        let mut rest = bytes;
        let piece = PIECE.next_multiple_of(stride);
        loop {
            let apart = (rest.len() / STREAMS).min(APART) / stride * stride;
            if apart < SHORT.max(stride) {
                break;
            }
            let (now, after) = rest.split_at(STREAMS * apart);
            for start in (0..apart).step_by(piece) {
                let end = apart.min(start + piece);
                let streams = array::from_fn(|i| {
                    now.get(i * apart + start..i * apart + end).invariant(IN_BYTES)
                });
                for sum in T::sums(&self.codec, streams, stride) {
                    total.add(sum);
                }
            }
            rest = after;
        }
        let pieces = chunks(rest, stride, self.itemsize());
        pieces.for_each(|piece| total.add(T::decode(&self.codec, piece).to_f64()));
    }

    /// Adds up `dim` rows that start `stride` bytes apart.
    fn add_rows(&self, first: Run, dim: usize, stride: isize, sums: &mut [f64]) {
        let size = self.itemsize();
        let mut first = first;
        for sums in sums.chunks_mut(TILE) {
            let tile = Run { count: sums.len(), ..first };
            let run = |row| Run { start: advance(tile.start, row, stride), ..tile };
            let bytes = |row| match run(row).forward(self.bytes, size) {
                Some((bytes, stride)) if stride == size => Some(bytes),
                _ => None,
            };
            let mut rows: Vec<&[u8]> = Vec::with_capacity(ROW_BLOCK);
            for row in 0..dim {
                if let Some(bytes) = bytes(row) {
                    rows.push(bytes);
                } else {
                    let elements = run(row).elements(self.bytes, size);
                    for (sum, element) in sums.iter_mut().zip(elements) {
                        *sum += T::decode(&self.codec, element).to_f64();
                    }
                }
                if rows.len() == ROW_BLOCK || row + 1 == dim {
                    T::add_rows(&self.codec, &rows, sums);
                    rows.clear();
                }
            }
            first = first.after(tile.count);
        }
    }
}

impl Geometry {
    /// Takes an axis out: the first element of each place of the others, and
    /// the axis's own length and stride.
    fn without(&self, axis: usize) -> Result<(Geometry, usize, isize)> {
        let taken = self.split_at(axis, 0)?.1;
        let (dim, stride) = (taken.shape.get(axis), taken.strides.get(axis));
        let (&dim, &stride) = dim.zip(stride).invariant("arrays are split along an axis they have");
        let keep = |i: &usize| *i != axis;
        Ok((
            Geometry {
                offset: self.offset,
                shape: (0..self.ndim())
                    .filter(keep)
                    .filter_map(|i| self.shape.get(i).copied())
                    .collect(),
                strides: (0..self.ndim())
                    .filter(keep)
                    .filter_map(|i| self.strides.get(i).copied())
                    .collect(),
            },
            dim,
            stride,
        ))
    }

    /// The axes by falling distance of their elements.
    pub(crate) fn order_of_memory(&self) -> Vec<usize> {
        let mut axes: Vec<usize> = (0..self.ndim()).collect();
        axes.sort_by_key(|&axis| {
            std::cmp::Reverse(self.strides.get(axis).map_or(0, |stride| stride.unsigned_abs()))
        });
        axes
    }
}

/// A sum that knows what rounding took from it: Neumaier's.
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

//! Folds along one axis: for each index of the other axes, the elements along the
//! axis are folded into one total.

use ndarray::{ArrayD, IxDyn};

use super::runs::Run;
use crate::element::Element;
use crate::element::fast_path::FastPath as _;
use crate::error::Result;
use crate::layout::axes::Axes;
use crate::layout::geometry::{Geometry, advance, signed};

/// The bytes of values that are folded at a time: they fit the L1 cache.
const BLOCK: usize = 16 * 1024;

/// How values are folded into totals, many at a time.
pub(super) trait AxisFold<T> {
    /// The type that values are folded into.
    type Total;

    /// Folds groups of values, each of `values.len() / totals.len()`, into one
    /// total each. `first` is the position of the first total.
    fn along(&self, values: &[T], first: usize, totals: &mut [Self::Total]);

    /// Folds rows of values, one after another, each value into the total in its
    /// column. `first` is the position of the first total.
    fn across(&self, values: &[T], first: usize, totals: &mut [Self::Total]);
}

/// A geometry without one axis, along which elements are folded.
#[derive(Debug)]
pub(super) struct FoldedAxis {
    /// The other axes by decreasing stride, which is the order of the totals.
    pub(super) rest: Geometry,
    /// The number of each of them in the geometry without the axis.
    pub(super) order: Axes<usize>,
    /// The length of the axis.
    pub(super) dim: usize,
    stride: isize,
}

impl FoldedAxis {
    pub(super) fn new(geometry: &Geometry, axis: usize) -> Result<FoldedAxis> {
        let (rest, dim, stride) = geometry.remove_axis(axis)?;
        let order = rest.axes_by_stride();
        Ok(FoldedAxis { rest: rest.permuted(&order)?, order, dim, stride })
    }

    /// Folds all elements, in the order of memory, into one total for each
    /// element of `rest`.
    pub(super) fn fold<T: Element + Copy, F: AxisFold<T>>(
        &self,
        bytes: &[u8],
        codec: &T::Codec,
        fold: &F,
        totals: &mut [F::Total],
    ) {
        let apart = self.stride.unsigned_abs();
        let is_fastest = self.rest.strides.iter().all(|stride| apart < stride.unsigned_abs());
        let mut decoder = Decoder::<T>::new(bytes, codec);
        let (mut rest, mut first) = (totals, 0);
        for run in self.rest.merged().runs() {
            let (own, after) = rest.split_at_mut(run.count);
            if is_fastest {
                self.fold_along(run, &mut decoder, fold, first, own);
            } else {
                self.fold_across(run, &mut decoder, fold, first, own);
            }
            (rest, first) = (after, first + run.count);
        }
    }

    /// Folds elements that are closer to each other along the axis than along
    /// `run`. Each element of `run` starts a line with a total of its own.
    fn fold_along<T: Element + Copy, F: AxisFold<T>>(
        &self,
        run: Run,
        decoder: &mut Decoder<'_, T>,
        fold: &F,
        first: usize,
        totals: &mut [F::Total],
    ) {
        let at_once = (decoder.room / self.dim.max(1)).max(1);
        for (number, totals) in totals.chunks_mut(at_once).enumerate() {
            let before = number * at_once;
            let start = advance(run.start, before, run.stride);
            let mut line = Run { start, count: self.dim, stride: self.stride };
            while line.count > decoder.room {
                let piece = Run { count: decoder.room, ..line };
                fold.along(decoder.decode(piece, 1, 0), first + before, totals);
                line = line.without_first(decoder.room);
            }
            fold.along(decoder.decode(line, totals.len(), run.stride), first + before, totals);
        }
    }

    /// Folds all rows, starting with `run`.
    fn fold_across<T: Element + Copy, F: AxisFold<T>>(
        &self,
        run: Run,
        decoder: &mut Decoder<'_, T>,
        fold: &F,
        first: usize,
        totals: &mut [F::Total],
    ) {
        let room = decoder.room;
        for (number, totals) in totals.chunks_mut(room).enumerate() {
            let tile = Run { count: totals.len(), ..run.without_first(number * room) };
            let at_once = room / tile.count;
            for row in (0..self.dim).step_by(at_once) {
                let rows = at_once.min(self.dim - row);
                let tile = Run { start: advance(tile.start, row, self.stride), ..tile };
                let values = decoder.decode(tile, rows, self.stride);
                fold.across(values, first + number * room, totals);
            }
        }
    }

    /// Makes an array of the totals, with the axes in their original order.
    pub(super) fn to_array<A>(&self, totals: Vec<A>) -> ArrayD<A> {
        let mut inverse = vec![0; self.order.len()];
        for (position, &axis) in self.order.iter().enumerate() {
            if let Some(to) = inverse.get_mut(axis) {
                *to = position;
            }
        }
        ArrayD::from_shape_vec(IxDyn(&self.rest.shape), totals)
            .expect("there is one total for each element")
            .permuted_axes(inverse)
    }
}

/// Decodes elements to a buffer, unless they can be borrowed.
struct Decoder<'v, T: Element> {
    bytes: &'v [u8],
    codec: &'v T::Codec,
    buffer: Vec<T>,
    /// The number of elements that are decoded at a time.
    room: usize,
}

impl<'v, T: Element + Copy> Decoder<'v, T> {
    fn new(bytes: &'v [u8], codec: &'v T::Codec) -> Decoder<'v, T> {
        let room = (BLOCK / size_of::<T>().max(1)).max(1);
        Decoder { bytes, codec, buffer: T::fast_path().zeros(room).unwrap_or_default(), room }
    }

    /// Returns the elements of `count` runs that start `apart` bytes from each
    /// other, at most `room` elements.
    fn decode(&mut self, run: Run, count: usize, apart: isize) -> &[T] {
        let len = run.count * count;
        if count == 1 || signed(run.count).checked_mul(run.stride) == Some(apart) {
            let all = Run { count: len, ..run };
            if let Some((bytes, stride)) = all.forward(self.bytes, T::itemsize(self.codec)) {
                if stride == T::itemsize(self.codec) {
                    if let Some(values) = T::fast_path().borrow(self.codec, bytes) {
                        return values;
                    }
                }
            }
            self.decode_runs(std::iter::once(all), len)
        } else {
            let starts = (0..count).map(|i| advance(run.start, i, apart));
            self.decode_runs(starts.map(|start| Run { start, ..run }), len)
        }
    }

    /// Decodes runs of `len` elements in all.
    fn decode_runs(&mut self, runs: impl Iterator<Item = Run>, len: usize) -> &[T] {
        let Some(mut rest) = self.buffer.get_mut(..len) else {
            self.buffer.clear();
            runs.for_each(|run| run.decode_onto(self.bytes, self.codec, &mut self.buffer));
            return &self.buffer;
        };
        for run in runs {
            let (own, after) = rest.split_at_mut(run.count);
            run.decode_over(self.bytes, self.codec, own);
            rest = after;
        }
        self.buffer.get(..len).unwrap_or_default()
    }
}

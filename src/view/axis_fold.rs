//! Folds along one axis: for each index of the other axes, the elements along the
//! axis are folded into one total.

use ndarray::{ArrayD, IxDyn};

use super::runs::Run;
use crate::element::fast_path::FastPath as _;
use crate::element::{Element, ROW_BLOCK};
use crate::error::Result;
use crate::error::invariant::Invariant;
use crate::layout::axes::Axes;
use crate::layout::geometry::{Geometry, advance, signed};

/// The bytes of values that are folded at a time: they fit the L1 cache.
const BLOCK: usize = 16 * 1024;

/// Long lines are folded in parts of at least this many bytes, counting all lines.
const PART: usize = 4 << 20;

/// The maximum number of parts, which bounds the rounding error of adding them up.
const MAX_PARTS: usize = 1024;

/// The maximum number of lines that are folded in parts. More lines are enough
/// work for many threads.
const FEW_LINES: usize = 4096;

/// The threads that fold. The totals are the same, bit for bit.
#[derive(Clone, Copy, Debug)]
pub(super) enum Threads {
    /// The calling thread.
    One,
    /// Those of rayon's current pool.
    #[cfg(feature = "rayon")]
    Pool,
}

/// A way to fold lines of elements into one total each.
pub(super) trait LineFold: Sync {
    /// The type that values are folded into.
    type Total: Copy + Send + Sync;

    /// Folds the elements of lines into their totals. `first` is the position of
    /// the first total.
    fn fold(&self, lines: &Lines, first: usize, totals: &mut [Self::Total]);

    /// The total from which a part of a line starts, given that of the line.
    fn start(&self, total: Self::Total) -> Self::Total;

    /// Combines the total of a line with that of its next part.
    fn merge(&self, total: Self::Total, part: Self::Total) -> Self::Total;
}

/// Lines of elements along an axis, one for each index of the other axes.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    /// The first element of each line.
    pub(super) starts: Geometry,
    /// The number of elements of a line.
    pub(super) dim: usize,
    pub(super) stride: isize,
    /// Whether elements are closer to each other along a line than across lines.
    pub(super) is_fastest: bool,
}

impl Lines {
    /// Some elements of each line.
    fn part(&self, start: usize, len: usize) -> Lines {
        let mut part = Lines { dim: len, ..self.clone() };
        if part.starts.len() > 0 {
            part.starts.offset = advance(part.starts.offset, start, self.stride);
        }
        part
    }

    /// Calls `f` with each run of first elements, the position of its first total,
    /// and its totals.
    pub(super) fn for_each_run<A>(
        &self,
        first: usize,
        totals: &mut [A],
        mut f: impl FnMut(Run, usize, &mut [A]),
    ) {
        let (mut rest, mut first) = (totals, first);
        for run in self.starts.merged().runs() {
            let (own, after) = rest.split_at_mut(run.count);
            f(run, first, own);
            (rest, first) = (after, first + run.count);
        }
    }
}

/// A geometry without one axis, along which elements are folded.
#[derive(Debug)]
pub(super) struct FoldedAxis {
    /// The lines along the axis. The other axes are in the order of decreasing
    /// strides, which is that of the totals.
    pub(super) lines: Lines,
    /// The number of each of them in the geometry without the axis.
    pub(super) order: Axes<usize>,
}

impl FoldedAxis {
    pub(super) fn new(geometry: &Geometry, axis: usize) -> Result<FoldedAxis> {
        let (rest, dim, stride) = geometry.remove_axis(axis)?;
        let order = rest.axes_by_stride();
        let starts = rest.permuted(&order)?;
        let apart = stride.unsigned_abs();
        let is_fastest = starts.strides.iter().all(|stride| apart < stride.unsigned_abs());
        Ok(FoldedAxis { lines: Lines { starts, dim, stride, is_fastest }, order })
    }

    /// Folds all elements into one total for each line.
    pub(super) fn fold<F: LineFold>(
        &self,
        fold: &F,
        itemsize: usize,
        totals: &mut [F::Total],
        threads: Threads,
    ) {
        match threads {
            Threads::One => self.fold_in_turn(fold, itemsize, totals),
            #[cfg(feature = "rayon")]
            Threads::Pool => self.fold_in_pool(fold, itemsize, totals),
        }
    }

    /// Folds all elements on the calling thread, in the order of memory.
    pub(super) fn fold_in_turn<F: LineFold>(
        &self,
        fold: &F,
        itemsize: usize,
        totals: &mut [F::Total],
    ) {
        let parts = self.parts(itemsize);
        if parts.len() < 2 {
            return fold.fold(&self.lines, 0, totals);
        }
        for part in parts {
            let part = fold_part(fold, &part, totals);
            merge(fold, totals, &part);
        }
    }

    /// Splits the lines into parts that follow each other. The parts depend on
    /// shape and itemsize only, so totals are the same for any number of threads.
    pub(super) fn parts(&self, itemsize: usize) -> impl ExactSizeIterator<Item = Lines> {
        let (count, dim) = (self.lines.starts.len(), self.lines.dim);
        let nbytes = count.saturating_mul(itemsize).saturating_mul(dim);
        let parts = if count > FEW_LINES { 1 } else { (nbytes / PART).clamp(1, MAX_PARTS) };
        let len = dim.div_ceil(parts).max(1).next_multiple_of(ROW_BLOCK);
        (0..dim.div_ceil(len)).map(move |number| {
            let start = number * len;
            self.lines.part(start, len.min(dim - start))
        })
    }

    /// Makes an array of the totals, with the axes in their original order.
    pub(super) fn to_array<A>(&self, totals: Vec<A>) -> ArrayD<A> {
        let mut inverse = vec![0; self.order.len()];
        for (position, &axis) in self.order.iter().enumerate() {
            if let Some(to) = inverse.get_mut(axis) {
                *to = position;
            }
        }
        ArrayD::from_shape_vec(IxDyn(&self.lines.starts.shape), totals)
            .expect("there is one total for each element")
            .permuted_axes(inverse)
    }
}

/// The totals of a part of the lines that have these totals so far.
pub(super) fn fold_part<F: LineFold>(fold: &F, part: &Lines, totals: &[F::Total]) -> Vec<F::Total> {
    let mut own: Vec<F::Total> = totals.iter().map(|&total| fold.start(total)).collect();
    fold.fold(part, 0, &mut own);
    own
}

/// Combines the totals of lines with those of their next part.
pub(super) fn merge<F: LineFold>(fold: &F, totals: &mut [F::Total], part: &[F::Total]) {
    for (total, part) in totals.iter_mut().zip(part) {
        *total = fold.merge(*total, *part);
    }
}

impl Geometry {
    /// Removes an axis, and returns its length and stride too. The remaining
    /// geometry is that of the axis's first index.
    pub(super) fn remove_axis(&self, axis: usize) -> Result<(Geometry, usize, isize)> {
        // Splitting reports an axis that does not exist.
        let all = self.split_at(axis, 0)?.1;
        let (dim, stride) = (all.shape.get(axis), all.strides.get(axis));
        let (&dim, &stride) = dim.zip(stride).invariant("arrays are split along an axis they have");
        let dims = self.shape.iter().copied().zip(self.strides.iter().copied()).enumerate();
        let (shape, strides) = dims.filter(|(i, _)| *i != axis).map(|(_, dim)| dim).unzip();
        Ok((Geometry { offset: self.offset, shape, strides }, dim, stride))
    }
}

/// A fold of decoded values, many at a time.
pub(super) trait ValueFold<T>: Sync {
    /// The type that values are folded into.
    type Total: Copy + Send + Sync;

    /// Folds groups of values, each of `values.len() / totals.len()`, into one
    /// total each. `first` is the position of the first total.
    fn along(&self, values: &[T], first: usize, totals: &mut [Self::Total]);

    /// Folds rows of values, one after another, each value into the total in its
    /// column. `first` is the position of the first total.
    fn across(&self, values: &[T], first: usize, totals: &mut [Self::Total]);

    /// As [`LineFold::start`].
    fn start(&self, total: Self::Total) -> Self::Total;

    /// As [`LineFold::merge`].
    fn merge(&self, total: Self::Total, part: Self::Total) -> Self::Total;
}

/// Decodes the elements of lines for a fold of values.
pub(super) struct DecodedFold<'v, T: Element, F> {
    pub(super) bytes: &'v [u8],
    pub(super) codec: &'v T::Codec,
    pub(super) fold: F,
}

impl<T: Element + Copy, F: ValueFold<T>> LineFold for DecodedFold<'_, T, F> {
    type Total = F::Total;

    fn fold(&self, lines: &Lines, first: usize, totals: &mut [F::Total]) {
        let mut decoder = Decoder::<T>::new(self.bytes, self.codec);
        lines.for_each_run(first, totals, |run, first, totals| {
            if lines.is_fastest {
                self.fold_along(lines, run, &mut decoder, first, totals);
            } else {
                self.fold_across(lines, run, &mut decoder, first, totals);
            }
        });
    }

    fn start(&self, total: F::Total) -> F::Total {
        self.fold.start(total)
    }

    fn merge(&self, total: F::Total, part: F::Total) -> F::Total {
        self.fold.merge(total, part)
    }
}

impl<T: Element + Copy, F: ValueFold<T>> DecodedFold<'_, T, F> {
    /// Folds elements that are closer to each other along the lines than along
    /// `run`, which has the first element of each.
    fn fold_along(
        &self,
        lines: &Lines,
        run: Run,
        decoder: &mut Decoder<'_, T>,
        first: usize,
        totals: &mut [F::Total],
    ) {
        let at_once = (decoder.room / lines.dim.max(1)).max(1);
        for (number, totals) in totals.chunks_mut(at_once).enumerate() {
            let before = number * at_once;
            let start = advance(run.start, before, run.stride);
            let mut line = Run { start, count: lines.dim, stride: lines.stride };
            while line.count > decoder.room {
                let piece = Run { count: decoder.room, ..line };
                self.fold.along(decoder.decode(piece, 1, 0), first + before, totals);
                line = line.without_first(decoder.room);
            }
            let values = decoder.decode(line, totals.len(), run.stride);
            self.fold.along(values, first + before, totals);
        }
    }

    /// Folds all rows, starting with `run`.
    fn fold_across(
        &self,
        lines: &Lines,
        run: Run,
        decoder: &mut Decoder<'_, T>,
        first: usize,
        totals: &mut [F::Total],
    ) {
        let room = decoder.room;
        for (number, totals) in totals.chunks_mut(room).enumerate() {
            let tile = Run { count: totals.len(), ..run.without_first(number * room) };
            let at_once = room / tile.count;
            for row in (0..lines.dim).step_by(at_once) {
                let rows = at_once.min(lines.dim - row);
                let tile = Run { start: advance(tile.start, row, lines.stride), ..tile };
                let values = decoder.decode(tile, rows, lines.stride);
                self.fold.across(values, first + number * room, totals);
            }
        }
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

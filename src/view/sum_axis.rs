//! Sums along one axis: for each index of the other axes, the sum of the elements
//! along the axis.

use ndarray::{ArrayD, IxDyn};

use super::View;
use super::runs::Run;
use super::sum::Total;
use crate::dtype::literal::tuple;
use crate::element::{ROW_BLOCK, Real};
use crate::error::{Result, ShapeError};
use crate::layout::MAX_UNBACKED;
use crate::layout::axes::Axes;
use crate::layout::geometry::Geometry;
use crate::layout::offsets::{advance, nbytes};

/// Long lines are added up in parts of at least this many bytes, counting all lines.
const PART: usize = 4 << 20;

/// The maximum number of parts, which bounds the rounding error of adding them up.
const MAX_PARTS: usize = 1024;

/// The maximum number of lines that are added up in parts. More lines are enough
/// work for many threads.
const FEW_LINES: usize = 4096;

/// The number of sums that rows are added to at a time. They fit the L2 cache. With as few
/// as fit the L1 cache, rows are read in shorter parts, and `f8` took 1.2 of the time.
const TILE: usize = 8192;

impl<T: Real> View<'_, T> {
    /// Returns the sums along `axis`, which is removed, in doubles: NumPy's
    /// `sum(axis)`. Reads the elements in memory order.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if the axis does
    /// not exist, [`InvalidInput`](crate::ErrorKind::InvalidInput) if there is
    /// not enough memory for the sums,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) for more than 2²⁰
    /// sums of nothing, because a small file can announce any number of them.
    ///
    /// # Examples
    ///
    /// ```
    /// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
    /// let columns = penguins.view::<f64>()?.sum_axis(0)?;
    /// assert_eq!((columns.len(), columns[3].round()), (4, 1437000.0));
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn sum_axis(&self, axis: usize) -> Result<ArrayD<f64>> {
        let (axis, mut sums) = self.summed_axis(axis)?;
        let parts = axis.parts(self.itemsize());
        if parts.len() < 2 {
            self.add_lines(&axis.lines, &mut sums);
        } else {
            parts.for_each(|part| add(&mut sums, &self.sum_lines(&part)));
        }
        Ok(axis.to_array(sums))
    }

    /// Returns the lines along an axis, and a sum of zero for each.
    pub(super) fn summed_axis(&self, axis: usize) -> Result<(SummedAxis, Vec<f64>)> {
        let summed = SummedAxis::new(&self.geometry, axis)?;
        let starts = &summed.lines.starts;
        if summed.lines.dim == 0 && starts.len() > MAX_UNBACKED {
            let shape = tuple(self.shape());
            return Err(ShapeError::SumsOfNothing { axis, shape, limit: MAX_UNBACKED }.into());
        }
        if Vec::<f64>::new().try_reserve_exact(starts.len()).is_err() {
            let (shape, itemsize) = (tuple(&starts.shape), size_of::<f64>());
            return Err(ShapeError::Size { shape, itemsize }.into());
        }
        let sums = vec![0.0; starts.len()];
        Ok((summed, sums))
    }

    /// Returns the sum of each line.
    pub(super) fn sum_lines(&self, lines: &Lines) -> Vec<f64> {
        let mut sums = vec![0.0; lines.starts.len()];
        self.add_lines(lines, &mut sums);
        sums
    }

    /// Adds the elements of each line to its sum, which is zero.
    pub(super) fn add_lines(&self, lines: &Lines, sums: &mut [f64]) {
        if lines.is_fastest {
            for (start, sum) in lines.starts.element_offsets().zip(sums) {
                let mut total = Total::default();
                self.add_run(Run { start, count: lines.dim, stride: lines.stride }, &mut total);
                *sum = total.get();
            }
            return;
        }
        let mut rest = sums;
        for run in lines.starts.merged().runs() {
            let (own, after) = rest.split_at_mut(run.count);
            self.add_rows(run, lines.dim, lines.stride, own);
            rest = after;
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
                if let (Some((bytes, _)), true) = (run.forward(self.bytes, size), is_adjacent) {
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

/// Lines of elements along an axis, one per index of the other axes.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    /// The first element of each line.
    pub(super) starts: Geometry,
    /// How many elements a line has.
    pub(super) dim: usize,
    pub(super) stride: isize,
    /// Whether elements are closer to each other along a line than across lines.
    pub(super) is_fastest: bool,
}

impl Lines {
    /// Some elements of each line.
    #[inline]
    fn part(&self, start: usize, len: usize) -> Lines {
        let mut part = Lines { dim: len, ..self.clone() };
        if !part.starts.is_empty() {
            part.starts.offset = advance(part.starts.offset, start, self.stride);
        }
        part
    }
}

/// A geometry without the axis of the sums.
#[derive(Debug)]
pub(super) struct SummedAxis {
    /// The lines along the axis. The other axes are in the order of decreasing
    /// strides, like the sums.
    pub(super) lines: Lines,
    /// The number of each in the geometry without the axis.
    pub(super) order: Axes<usize>,
}

impl SummedAxis {
    #[inline]
    pub(super) fn new(geometry: &Geometry, axis: usize) -> Result<SummedAxis> {
        let (rest, dim, stride) = geometry.remove_axis(axis)?;
        let order = rest.axes_by_stride();
        let starts = rest.permuted(&order)?;
        let apart = stride.unsigned_abs();
        let is_fastest = starts.strides.iter().all(|stride| apart < stride.unsigned_abs());
        Ok(SummedAxis { lines: Lines { starts, dim, stride, is_fastest }, order })
    }

    /// Splits the lines into parts that follow each other. The parts depend on
    /// shape and itemsize only, so sums are the same for any number of threads.
    #[inline]
    pub(super) fn parts(&self, itemsize: usize) -> impl ExactSizeIterator<Item = Lines> {
        let (count, dim) = (self.lines.starts.len(), self.lines.dim);
        let nbytes = nbytes(count * dim, itemsize);
        let parts = if count > FEW_LINES { 1 } else { (nbytes / PART).clamp(1, MAX_PARTS) };
        let len = dim.div_ceil(parts).max(1).next_multiple_of(ROW_BLOCK);
        (0..dim.div_ceil(len)).map(move |number| {
            let start = number * len;
            self.lines.part(start, len.min(dim - start))
        })
    }

    /// Makes an array of the sums, with the axes in their original order.
    #[inline]
    pub(super) fn to_array(&self, sums: Vec<f64>) -> ArrayD<f64> {
        let mut inverse = vec![0; self.order.len()];
        for (position, &axis) in self.order.iter().enumerate() {
            if let Some(to) = inverse.get_mut(axis) {
                *to = position;
            }
        }
        ArrayD::from_shape_vec(IxDyn(&self.lines.starts.shape), sums)
            .expect("there is one sum for each element")
            .permuted_axes(inverse)
    }
}

/// Adds the sums for a part of each line to the line's sums.
#[inline]
pub(super) fn add(sums: &mut [f64], part: &[f64]) {
    for (sum, part) in sums.iter_mut().zip(part) {
        *sum += *part;
    }
}

//! Elements as runs: those along the last axis of a geometry, for each index of
//! the axes before it.

use std::ops::Range;

use super::View;
use crate::element::Element;
use crate::layout::axes::Axes;
use crate::layout::geometry::Geometry;
use crate::layout::offsets::{advance, signed};

/// A run of elements: the first byte, the number of elements and the bytes from
/// one element to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) start: usize,
    pub(super) count: usize,
    pub(super) stride: isize,
}

impl Run {
    /// No elements.
    pub(super) const EMPTY: Run = Run { start: 0, count: 0, stride: 0 };

    /// The run's bytes and its stride, if the stride is positive and elements do
    /// not overlap.
    #[inline]
    pub(super) fn forward<'b>(&self, bytes: &'b [u8], size: usize) -> Option<(&'b [u8], usize)> {
        let stride = if self.count == 1 { size } else { usize::try_from(self.stride).ok()? };
        if stride < size || size == 0 || self.count == 0 {
            return None;
        }
        let end = self.start + (self.count - 1) * stride + size;
        Some((bytes.get(self.start..end)?, stride))
    }

    /// The run's bytes as mutable, like [`forward`](Run::forward).
    #[inline]
    pub(super) fn forward_mut<'b>(
        &self,
        bytes: &'b mut [u8],
        size: usize,
    ) -> Option<(&'b mut [u8], usize)> {
        let (len, stride) = self.forward(bytes, size).map(|(run, stride)| (run.len(), stride))?;
        Some((bytes.get_mut(self.start..self.start + len)?, stride))
    }

    /// The same elements with a stride that is not negative, and whether that
    /// reversed their order.
    #[inline]
    pub(super) fn to_forward(self) -> (Run, bool) {
        if self.stride >= 0 || self.count == 0 {
            return (self, false);
        }
        let start = advance(self.start, self.count - 1, self.stride);
        (Run { start, stride: -self.stride, ..self }, true)
    }

    /// Iterates over the bytes of each element.
    #[inline]
    pub(super) fn elements(self, bytes: &[u8], size: usize) -> impl Iterator<Item = &[u8]> {
        let mut at = self.start;
        (0..self.count).map(move |_| {
            // All elements are inside the bytes. A panic would make the loop slower.
            let element = bytes.get(at..at.wrapping_add(size)).unwrap_or_default();
            at = at.wrapping_add_signed(self.stride);
            element
        })
    }

    /// The run without its first `count` elements.
    #[inline]
    pub(super) fn without_first(self, count: usize) -> Run {
        Run { start: advance(self.start, count, self.stride), count: self.count - count, ..self }
    }
}

/// The elements of a geometry in C order, as runs. Contiguous last axes form
/// one run. Only the other axes are stored.
#[derive(Clone, Debug)]
pub(super) struct Runs {
    pub(super) first: Run,
    /// The number of runs.
    pub(super) count: usize,
    /// The length and stride of each axis that runs don't span, from the last
    /// to the first.
    outer: Axes<(usize, isize)>,
}

impl Runs {
    /// The only run, if all elements form one.
    #[inline]
    pub(super) fn only(geometry: &Geometry) -> Option<Run> {
        let (inner, count, stride) = geometry.last_run();
        (inner == geometry.ndim()).then_some(Run { start: geometry.offset, count, stride })
    }

    #[inline]
    pub(super) fn new(geometry: &Geometry) -> Runs {
        let all = geometry.len();
        let (inner, count, stride) = geometry.last_run();
        let first = Run { start: geometry.offset, count, stride };
        let axes = geometry.shape.iter().copied().zip(geometry.strides.iter().copied());
        let outer = axes.rev().skip(inner).collect();
        Runs { first, count: if all == 0 { 0 } else { all / count }, outer }
    }

    /// The `number`th run.
    #[expect(clippy::inline_always, reason = "see `Later::next_run`")]
    #[inline(always)]
    pub(super) fn get(&self, number: usize) -> Run {
        Run { start: run_start(self.first.start, self.outer.iter().copied(), number), ..self.first }
    }
}

impl<T: Element> View<'_, T> {
    /// The bytes of the elements in memory order, as ranges of adjacent elements.
    /// A range has at most `max_len` bytes, or one element if that is longer. The
    /// size hint is exact.
    pub(crate) fn byte_ranges(
        &self,
        max_len: usize,
    ) -> impl Iterator<Item = Range<usize>> + use<T> {
        let size = self.itemsize();
        let geometry = self.geometry.memory_order().merged();
        let runs = Runs::new(&geometry);
        let len = runs.first.count;
        let is_gapless = len == 1 || runs.first.stride.unsigned_abs() == size;
        let per_range = if is_gapless { max_len.checked_div(size).unwrap_or(1).max(1) } else { 1 };
        let ranges = len.div_ceil(per_range);
        (0..runs.count * ranges).map(move |number| {
            let first = number % ranges * per_range;
            let start = runs.get(number / ranges).without_first(first).start;
            start..start + per_range.min(len - first) * size
        })
    }
}

/// The first byte at the `number`th index, in C order, of `axes`, which are
/// listed from the last to the first.
#[inline]
fn run_start(offset: usize, axes: impl Iterator<Item = (usize, isize)>, number: usize) -> usize {
    let (mut start, mut number) = (offset, number);
    for (dim, stride) in axes {
        start = advance(start, number % dim, stride);
        number /= dim;
    }
    start
}

impl Geometry {
    /// How many of the last axes form one run, the number of elements of that
    /// run, and its stride.
    #[inline]
    fn last_run(&self) -> (usize, usize, isize) {
        let (mut inner, mut len, mut stride) = (0, 1_usize, 0_isize);
        for (&dim, &own) in self.shape.iter().zip(&self.strides).rev() {
            let runs_on = signed(len).checked_mul(stride) == Some(own);
            if dim != 1 {
                if len == 1 {
                    stride = own;
                } else if !runs_on {
                    break;
                }
                len *= dim;
            }
            inner += 1;
        }
        (inner, len, stride)
    }

    /// The number of runs.
    #[inline]
    pub(super) fn run_count(&self) -> usize {
        if self.is_empty() { 0 } else { self.shape.iter().rev().skip(1).product() }
    }

    /// The `number`th run, in C order.
    #[inline]
    pub(super) fn run(&self, number: usize) -> Run {
        let axes = self.shape.iter().copied().zip(self.strides.iter().copied());
        let start = run_start(self.offset, axes.rev().skip(1), number);
        let count = self.shape.last().copied().unwrap_or(1);
        Run { start, count, stride: self.strides.last().copied().unwrap_or(0) }
    }

    /// All runs, in C order.
    #[inline]
    pub(super) fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        (0..self.run_count()).map(|number| self.run(number))
    }
}

impl Geometry {
    /// The runs of adjacent bytes of all elements in C order: the first byte and
    /// the length of each.
    #[inline]
    pub(crate) fn byte_runs(&self, size: usize) -> impl Iterator<Item = (usize, usize)> {
        let merged = self.merged();
        (0..merged.run_count()).flat_map(move |number| {
            let run = merged.run(number);
            let is_adjacent = usize::try_from(run.stride) == Ok(size);
            let (count, len) = if is_adjacent { (1, run.count) } else { (run.count, 1) };
            (0..count).map(move |i| (advance(run.start, i, run.stride), len * size))
        })
    }

    /// The length of each of the [`byte_runs`](Geometry::byte_runs).
    #[inline]
    pub(crate) fn run_len(&self, size: usize) -> usize {
        self.byte_runs(size).next().map_or(0, |(_, len)| len)
    }
}

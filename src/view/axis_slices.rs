//! Slices along one axis, by index: rows, and windows of several rows.

use std::ops::Range;

use super::blocks::BLOCK;
use super::runs::Run;
use crate::dtype::literal::tuple;
use crate::element::Element;
use crate::element::fast_path::FastPath as _;
use crate::error::invariant::{IN_BUFFER, Invariant};
use crate::error::{Result, ShapeError};
use crate::kernel::{self, ElementFormat, PAGE};
use crate::layout::axes::Axes;
use crate::layout::geometry::{Geometry, advance};

/// Elements this far apart are on different lines of the processor's cache.
const LINE: usize = 64;

/// The number of elements of a slice copied at a time if slices are
/// [crosswise](AxisSlices::is_crosswise). With 16, the output is written in
/// pieces that are too short, and copying rows in Fortran order takes twice as
/// long.
const PART: usize = 256;

/// Fewer slices than this are copied in turn.
const FEW: usize = 4;

/// How many slices ahead of the copy the CPU prefetches.
const PREFETCHED: usize = 4;

/// The slices of an array at each index of an axis. All have the same geometry,
/// relative to their first byte.
#[derive(Clone, Debug)]
pub(crate) struct AxisSlices {
    /// The first byte of the first slice, and the bytes from one slice to the
    /// next.
    start: usize,
    stride: isize,
    /// The number of slices.
    pub(crate) count: usize,
    /// The geometry of a slice, with axes merged.
    inner: Geometry,
    /// The number of elements of a slice, and the size of each in bytes.
    pub(crate) len: usize,
    size: usize,
    /// Whether the elements of a slice are one run of bytes.
    is_run: bool,
}

impl AxisSlices {
    /// The windows of `window` indices along an axis, which overlap. Only the
    /// first index of the axes before it is used.
    #[inline]
    pub(crate) fn windows(
        geometry: &Geometry,
        axis: usize,
        window: usize,
        size: usize,
    ) -> Result<AxisSlices> {
        let (Some(&dim), Some(&stride)) = (geometry.shape.get(axis), geometry.strides.get(axis))
        else {
            return Err(ShapeError::Axis { asked: axis, shape: tuple(&geometry.shape) }.into());
        };
        let Some(before) = dim.checked_sub(window) else {
            let asked = format!("window length {window}");
            return Err(ShapeError::Index { axis, asked, shape: tuple(&geometry.shape) }.into());
        };
        let (dims, strides) = (geometry.shape.iter(), geometry.strides.iter());
        let after = dims.zip(strides).skip(axis + 1);
        let all = std::iter::once((window, stride)).chain(after.map(|(&dim, &by)| (dim, by)));
        let (shape, strides): (Axes<usize>, Axes<isize>) = all.unzip();
        let inner = Geometry { offset: 0, shape, strides }.merged();
        let (len, is_run) = (inner.len(), inner.is_contiguous(size));
        let is_run = is_run && len > 0 && size > 0;
        Ok(AxisSlices {
            start: geometry.offset,
            stride,
            count: before + 1,
            inner,
            len,
            size,
            is_run,
        })
    }

    /// The slices at single indices of an axis.
    #[inline]
    pub(crate) fn rows(geometry: &Geometry, axis: usize, size: usize) -> Result<AxisSlices> {
        let dim = geometry.shape.get(axis).copied().unwrap_or(1);
        let slices = AxisSlices::windows(geometry, axis, dim.min(1), size)?;
        Ok(AxisSlices { count: dim, ..slices })
    }

    /// The same slices, starting at another byte.
    #[inline]
    pub(crate) fn with_start(&self, start: usize) -> AxisSlices {
        AxisSlices { start, ..self.clone() }
    }

    /// The bytes of a slice's elements.
    #[inline]
    pub(crate) fn nbytes(&self) -> usize {
        self.len * self.size
    }

    /// The first byte of a slice.
    #[inline]
    fn start_of(&self, index: usize) -> usize {
        advance(self.start, index, self.stride)
    }

    /// The geometry of one slice.
    #[inline]
    pub(super) fn geometry_of(&self, index: usize) -> Geometry {
        Geometry { offset: self.start_of(index), ..self.inner.clone() }
    }

    /// The bytes of a slice with a single run of elements.
    #[inline]
    fn run<'b>(&self, bytes: &'b [u8], index: usize) -> Option<&'b [u8]> {
        let start = self.start_of(index);
        bytes.get(start..start.wrapping_add(self.nbytes()))
    }

    #[inline]
    fn runs(&self, index: usize) -> impl Iterator<Item = Run> + '_ {
        let start = self.start_of(index);
        self.inner.runs().map(move |run| Run { start: start.wrapping_add(run.start), ..run })
    }

    /// The number of pages that a slice is on if each page also has elements of
    /// other slices. Otherwise 1.
    #[inline]
    pub(crate) fn pieces(&self) -> usize {
        let last = self.inner.strides.last().map_or(0, |stride| stride.unsigned_abs());
        if self.is_crosswise() && last >= PAGE { self.len.max(1) } else { 1 }
    }

    /// Calls `f` with the byte ranges of a slice: one per run, or one per
    /// element if the elements are on different pages.
    pub(crate) fn for_each_range(&self, index: usize, mut f: impl FnMut(Range<usize>)) {
        for run in self.runs(index) {
            let (run, _) = run.to_forward();
            let stride = run.stride.unsigned_abs();
            if stride >= PAGE {
                for i in 0..run.count {
                    let start = advance(run.start, i, run.stride);
                    f(start..start + self.size);
                }
            } else if run.count > 0 {
                f(run.start..run.start + (run.count - 1) * stride + self.size);
            }
        }
    }

    /// Yields the indices, and prefetches the slices at later indices.
    #[inline]
    fn prefetching<'s>(
        &'s self,
        bytes: &'s [u8],
        indices: &'s [usize],
    ) -> impl Iterator<Item = usize> + 's {
        let later = indices.iter().skip(PREFETCHED).map(Some).chain(std::iter::repeat(None));
        indices.iter().zip(later).map(move |(&index, later)| {
            if let Some(later) = later.and_then(|&later| self.run(bytes, later)) {
                kernel::prefetch(later);
            }
            index
        })
    }

    /// Decodes slices into `out` until it is full; surplus indices are only
    /// prefetched.
    pub(crate) fn decode_over<T: Element>(
        &self,
        bytes: &[u8],
        codec: &T::Codec,
        indices: &[usize],
        out: &mut [T],
    ) {
        if self.len == 0 || size_of::<T>() == 0 {
            return;
        }
        if self.is_run {
            if let Some((format, to)) = T::fast_path().copy_target(codec, out) {
                let places = to.chunks_exact_mut(self.nbytes());
                for (to, from) in places.zip(self.prefetching(bytes, indices)) {
                    let Some(from) = self.run(bytes, from) else { continue };
                    if format.swap {
                        kernel::copy(format, from, self.size, to);
                    } else {
                        kernel::copy_row(from, to);
                    }
                }
                return;
            }
        }
        let count = out.len() / self.len;
        self.for_each_block(bytes, indices, count, usize::MAX, &mut |block, at| {
            let own = out.get_mut(at..at + block.count).invariant(IN_BUFFER);
            block.decode_over(bytes, codec, own);
        });
    }

    /// Decodes slices and appends them to `out`.
    pub(crate) fn decode_onto<T: Element>(
        &self,
        bytes: &[u8],
        codec: &T::Codec,
        indices: &[usize],
        out: &mut Vec<T>,
    ) {
        for run in indices.iter().flat_map(|&index| self.runs(index)) {
            run.decode_onto(bytes, codec, out);
        }
    }

    /// Decodes slices block by block and converts them into `out` until it is
    /// full; surplus indices are only prefetched.
    pub(crate) fn convert_over<T: Element + Copy, U>(
        &self,
        bytes: &[u8],
        codec: &T::Codec,
        indices: &[usize],
        out: &mut [U],
        convert: &impl Fn(T) -> U,
    ) {
        let room = (BLOCK / size_of::<T>().max(1)).clamp(1, self.len.max(1));
        let mut buffer = T::fast_path().zeros(room).unwrap_or_default();
        let count = out.len() / self.len.max(1);
        self.for_each_block(bytes, indices, count, room, &mut |block, at| {
            let own = out.get_mut(at..at + block.count).invariant(IN_BUFFER);
            kernel::convert(block.decode_into(bytes, codec, &mut buffer), own, convert);
        });
    }

    /// Calls `f` with the runs of the first `count` slices, in blocks of at
    /// most `room` elements, and with the place of the first element in an
    /// output in C order. The surplus indices are only prefetched.
    //
    // Not generic: casts compile what calls it for each pair of types.
    #[inline]
    fn for_each_block(
        &self,
        bytes: &[u8],
        indices: &[usize],
        count: usize,
        room: usize,
        f: &mut dyn FnMut(Run, usize),
    ) {
        if count >= FEW && self.is_crosswise() {
            let starts = indices.iter().take(count).map(|&index| self.start_of(index));
            // In the order of memory, in which the processor prefetches.
            let mut starts: Vec<(usize, usize)> = starts.zip(0..).collect();
            starts.sort_unstable();
            for_each_part(self.inner.runs(), room.min(PART), |part, at| {
                for &(start, number) in &starts {
                    let block = Run { start: start.wrapping_add(part.start), ..part };
                    f(block, number * self.len + at);
                }
            });
        } else {
            let indices = self.prefetching(bytes, indices).take(count);
            for_each_part(indices.flat_map(|index| self.runs(index)), room, f);
        }
    }

    /// Returns whether the elements of a slice are farther apart than slices
    /// are, as for rows in Fortran order. Then an element of one slice is on
    /// the same line of the cache, or at least on the same page, as an element
    /// of a different slice.
    #[inline]
    fn is_crosswise(&self) -> bool {
        let last = self.inner.strides.last().map_or(0, |stride| stride.unsigned_abs());
        !self.is_run && last >= LINE && self.stride.unsigned_abs() < last
    }

    /// Calls `f` with the elements of each of the first `count` slices. The
    /// surplus indices are only prefetched. Slices that are stored as `T`s are
    /// borrowed, and other slices are decoded.
    pub(crate) fn for_each_decoded<T: Element>(
        &self,
        bytes: &[u8],
        codec: &T::Codec,
        indices: &[usize],
        count: usize,
        mut f: impl FnMut(&[T]),
    ) {
        let mut buffer = Vec::new();
        for index in self.prefetching(bytes, indices).take(count) {
            let run = if self.is_run { self.run(bytes, index) } else { None };
            if let Some(elements) = run.and_then(|run| T::fast_path().borrow(codec, run)) {
                f(elements);
                continue;
            }
            if buffer.len() != self.len {
                buffer = T::fast_path().zeros(self.len).unwrap_or_default();
            }
            if buffer.len() == self.len {
                self.decode_over(bytes, codec, &[index], &mut buffer);
                f(&buffer);
            } else {
                let mut values = Vec::with_capacity(self.len);
                self.decode_onto(bytes, codec, &[index], &mut values);
                f(&values);
            }
        }
    }

    /// Copies the bytes of slices as they are stored, with elements in C order.
    pub(crate) fn copy(&self, bytes: &[u8], indices: &[usize], out: &mut [u8]) {
        if self.is_run {
            let places = out.chunks_exact_mut(self.nbytes());
            for (to, from) in places.zip(self.prefetching(bytes, indices)) {
                kernel::copy_row(self.run(bytes, from).unwrap_or_default(), to);
            }
            return;
        }
        if self.nbytes() == 0 {
            return;
        }
        let (format, count) = (ElementFormat::opaque(self.size), out.len() / self.nbytes());
        self.for_each_block(bytes, indices, count, usize::MAX, &mut |block, at| {
            let (start, end) = (at * self.size, (at + block.count) * self.size);
            let own = out.get_mut(start..end).invariant(IN_BUFFER);
            if let Some((run, stride)) = block.forward(bytes, self.size) {
                kernel::copy(format, run, stride, own);
                return;
            }
            let places = own.chunks_exact_mut(self.size);
            for (to, element) in places.zip(block.elements(bytes, self.size)) {
                to.copy_from_slice(element);
            }
        });
    }
}

/// Calls `f` with runs, in parts of at most `room` elements, and with the number of
/// elements before each part.
fn for_each_part(runs: impl Iterator<Item = Run>, room: usize, mut f: impl FnMut(Run, usize)) {
    let mut at = 0;
    for mut run in runs {
        while run.count > 0 {
            let part = Run { count: run.count.min(room), ..run };
            f(part, at);
            run = run.without_first(part.count);
            at += part.count;
        }
    }
}

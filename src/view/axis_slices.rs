//! Slices along one axis, by index: rows, and windows of several rows.

use std::ops::Range;
use std::slice::SliceIndex;

use super::blocks::BLOCK;
use super::runs::Run;
use crate::dtype::literal::tuple;
use crate::element::Element;
use crate::element::fast_path::FastPath as _;
use crate::error::invariant::{IN_BUFFER, Invariant};
use crate::error::{Result, ShapeError};
use crate::kernel::{self, ElementFormat, PAGE};
use crate::layout::axes::Axes;
use crate::layout::geometry::Geometry;
use crate::layout::offsets::advance;

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

/// Slices of some bytes, at these indices. Slices after the last one that an output has room
/// for are only prefetched.
#[derive(Clone, Copy, Debug)]
pub struct SelectedSlices<'a> {
    pub(super) slices: &'a AxisSlices,
    pub(super) bytes: &'a [u8],
    pub(super) indices: &'a [usize],
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

    /// The slices of some bytes at these indices.
    #[inline]
    pub(crate) fn select<'a>(
        &'a self,
        bytes: &'a [u8],
        indices: &'a [usize],
    ) -> SelectedSlices<'a> {
        SelectedSlices { slices: self, bytes, indices }
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

    /// Returns the bytes of a slice with a single run of elements.
    //
    // Not a method of one index, so that loops that write bytes do not load the fields again.
    #[inline]
    fn run<'b>(&self, bytes: &'b [u8]) -> impl Fn(usize) -> Option<&'b [u8]> + use<'b> {
        let (first, stride, nbytes) = (self.start, self.stride, self.nbytes());
        move |index| {
            let start = advance(first, index, stride);
            bytes.get(start..start.wrapping_add(nbytes))
        }
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

    /// Returns whether the elements of a slice are farther apart than slices
    /// are, as for rows in Fortran order. Then an element of one slice is on
    /// the same line of the cache, or at least on the same page, as an element
    /// of a different slice.
    #[inline]
    fn is_crosswise(&self) -> bool {
        let last = self.inner.strides.last().map_or(0, |stride| stride.unsigned_abs());
        !self.is_run && last >= LINE && self.stride.unsigned_abs() < last
    }
}

impl<'a> SelectedSlices<'a> {
    /// Some of these slices.
    #[inline]
    pub(crate) fn get(self, numbers: impl SliceIndex<[usize], Output = [usize]>) -> Self {
        SelectedSlices { indices: self.indices.get(numbers).unwrap_or_default(), ..self }
    }

    /// Yields the indices, and prefetches the slices at later indices.
    #[inline]
    fn prefetching(self) -> impl Iterator<Item = usize> + 'a {
        let (run, indices) = (self.slices.run(self.bytes), self.indices);
        indices.iter().enumerate().map(move |(number, &index)| {
            let later = indices.get(number + PREFETCHED);
            if let Some(later) = later.and_then(|&later| run(later)) {
                kernel::prefetch(later);
            }
            index
        })
    }

    /// Decodes slices into `out` until it is full.
    pub(crate) fn decode_over<T: Element>(self, codec: &T::Codec, out: &mut [T]) {
        let SelectedSlices { slices, bytes, .. } = self;
        if slices.len == 0 || size_of::<T>() == 0 {
            return;
        }
        if slices.is_run {
            if let Some((format, to)) = T::fast_path().copy_target(codec, out) {
                let run = slices.run(bytes);
                for (to, from) in to.chunks_exact_mut(slices.nbytes()).zip(self.prefetching()) {
                    let Some(from) = run(from) else { continue };
                    if format.swap {
                        kernel::copy(format, from, slices.size, to);
                    } else {
                        kernel::copy_row(from, to);
                    }
                }
                return;
            }
        }
        self.for_each_block(out.len() / slices.len, usize::MAX, &mut |block, at| {
            let own = out.get_mut(at..at + block.count).invariant(IN_BUFFER);
            block.decode_over(bytes, codec, own);
        });
    }

    /// Decodes all slices and appends them to `out`.
    pub(crate) fn decode_onto<T: Element>(self, codec: &T::Codec, out: &mut Vec<T>) {
        for run in self.indices.iter().flat_map(|&index| self.slices.runs(index)) {
            run.decode_onto(self.bytes, codec, out);
        }
    }

    /// Decodes slices block by block and converts them into `out` until it is full.
    pub(crate) fn convert_over<T: Element + Copy, U>(
        self,
        codec: &T::Codec,
        out: &mut [U],
        convert: &impl Fn(T) -> U,
    ) {
        let len = self.slices.len.max(1);
        let room = (BLOCK / size_of::<T>().max(1)).clamp(1, len);
        let mut buffer = T::fast_path().zeros(room).unwrap_or_default();
        self.for_each_block(out.len() / len, room, &mut |block, at| {
            let own = out.get_mut(at..at + block.count).invariant(IN_BUFFER);
            kernel::convert(block.decode_into(self.bytes, codec, &mut buffer), own, convert);
        });
    }

    /// Calls `f` with the runs of the first `count` slices, in blocks of at
    /// most `room` elements, and with the place of the first element in an
    /// output in C order.
    //
    // Not generic: casts compile what calls it for each pair of types.
    #[inline]
    fn for_each_block(self, count: usize, room: usize, f: &mut dyn FnMut(Run, usize)) {
        let SelectedSlices { slices, indices, .. } = self;
        if count >= FEW && slices.is_crosswise() {
            let starts = indices.iter().take(count).map(|&index| slices.start_of(index));
            // In the order of memory, in which the processor prefetches.
            let mut starts: Vec<(usize, usize)> = starts.zip(0..).collect();
            starts.sort_unstable();
            for_each_part(slices.inner.runs(), room.min(PART), |part, at| {
                for &(start, number) in &starts {
                    let block = Run { start: start.wrapping_add(part.start), ..part };
                    f(block, number * slices.len + at);
                }
            });
        } else {
            let indices = self.prefetching().take(count);
            for_each_part(indices.flat_map(|index| slices.runs(index)), room, f);
        }
    }

    /// Calls `f` with the elements of each of the first `count` slices. Slices
    /// that are stored as `T`s are borrowed, and other slices are decoded.
    pub(crate) fn for_each_decoded<T: Element>(
        self,
        codec: &T::Codec,
        count: usize,
        mut f: impl FnMut(&[T]),
    ) {
        let SelectedSlices { slices, bytes, .. } = self;
        let (mut buffer, is_run, run) = (Vec::new(), slices.is_run, slices.run(bytes));
        for index in self.prefetching().take(count) {
            let run = if is_run { run(index) } else { None };
            if let Some(elements) = run.and_then(|run| T::fast_path().borrow(codec, run)) {
                f(elements);
                continue;
            }
            if buffer.len() != slices.len {
                buffer = T::fast_path().zeros(slices.len).unwrap_or_default();
            }
            if buffer.len() == slices.len {
                slices.select(bytes, &[index]).decode_over(codec, &mut buffer);
                f(&buffer);
            } else {
                let mut values = Vec::with_capacity(slices.len);
                slices.select(bytes, &[index]).decode_onto(codec, &mut values);
                f(&values);
            }
        }
    }

    /// Copies the bytes of slices as they are stored, with elements in C order, until `out`
    /// is full.
    pub(crate) fn copy(self, out: &mut [u8]) {
        let SelectedSlices { slices, bytes, .. } = self;
        if slices.is_run {
            let run = slices.run(bytes);
            for (to, from) in out.chunks_exact_mut(slices.nbytes()).zip(self.prefetching()) {
                kernel::copy_row(run(from).unwrap_or_default(), to);
            }
            return;
        }
        if slices.nbytes() == 0 {
            return;
        }
        let (size, format) = (slices.size, ElementFormat::opaque(slices.size));
        self.for_each_block(out.len() / slices.nbytes(), usize::MAX, &mut |block, at| {
            let own = out.get_mut(at * size..(at + block.count) * size).invariant(IN_BUFFER);
            if let Some((run, stride)) = block.forward(bytes, size) {
                kernel::copy(format, run, stride, own);
                return;
            }
            for (to, element) in own.chunks_exact_mut(size).zip(block.elements(bytes, size)) {
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

//! Elements in a file's memory, copied in any order of axes, a block at a
//! time, so that arrays larger than memory pass through.

use std::ops::Range;

use npymap::{Layout, Order};

use crate::plan::Plan;

/// What is handed out at once, in bytes.
const BLOCK: usize = 8 << 20;

/// What is copied at once when axes change places, in elements: few enough
/// that both sides stay in the first cache.
const TILE: usize = 1024;

/// The elements of an array, with the axes in the order they are wanted.
#[derive(Clone, Debug)]
pub(crate) struct Region<'a> {
    /// From the first element on.
    bytes: &'a [u8],
    axes: Vec<Axis>,
    itemsize: usize,
}

/// One axis: how many elements, at what distance here and in the copy.
#[derive(Clone, Copy, Debug)]
struct Axis {
    dim: usize,
    from: usize,
    to: usize,
}

impl<'a> Region<'a> {
    /// All elements of an array, to be had in `order`.
    pub(crate) fn new(bytes: &'a [u8], layout: &Layout, order: Order) -> Region<'a> {
        let bytes = bytes.get(layout.offset()..layout.end()).unwrap_or_default();
        let strides = layout.byte_strides().iter().map(|stride| stride.unsigned_abs());
        let own = layout.shape().iter().zip(strides);
        let mut axes: Vec<Axis> = own.map(|(&dim, from)| Axis { dim, from, to: 0 }).collect();
        if order == Order::F {
            axes.reverse();
        }
        let itemsize = layout.dtype().itemsize();
        Region { bytes, axes: laid(merged(axes), itemsize), itemsize }
    }

    /// The elements in a range of one axis, to be copied to places that are
    /// `to` bytes apart along each: a part of an array in C order.
    pub(crate) fn part_of(
        bytes: &'a [u8],
        layout: &Layout,
        to: &[usize],
        along: usize,
        range: Range<usize>,
    ) -> Region<'a> {
        let strides = layout.byte_strides().iter().map(|stride| stride.unsigned_abs());
        let own = layout.shape().iter().zip(strides).zip(to);
        let mut axes: Vec<_> = own.map(|((&dim, from), &to)| Axis { dim, from, to }).collect();
        let mut start = layout.offset();
        if let Some(axis) = axes.get_mut(along) {
            axis.dim = range.len();
            start += range.start * axis.from;
        }
        let (mut axes, itemsize) = (merged(axes), layout.dtype().itemsize());
        if axes.last().is_some_and(|last| last.to != itemsize) {
            // What is copied at once lies together.
            axes.push(Axis { dim: 1, from: itemsize, to: itemsize });
        }
        Region { bytes: bytes.get(start..layout.end()).unwrap_or_default(), axes, itemsize }
    }

    /// Calls `done` with all elements, copied by a plan, in blocks.
    pub(crate) fn blocks(&self, plan: &Plan, done: &mut impl FnMut(&[u8])) {
        let mut buffer = Vec::new();
        self.blocks_by(plan, &mut buffer, done);
    }

    fn blocks_by(&self, plan: &Plan, buffer: &mut Vec<u8>, done: &mut impl FnMut(&[u8])) {
        match self.axes.first() {
            _ if self.nbytes() == 0 => {}
            _ if plan.is_same() && self.is_contiguous() => {
                let bytes = self.bytes.get(..self.nbytes()).unwrap_or_default();
                bytes.chunks(BLOCK).for_each(done);
            }
            Some(first) if first.to > BLOCK => {
                self.parts(1).for_each(|part| part.inner().blocks_by(plan, buffer, done));
            }
            first => {
                let count = first.map_or(1, |first| BLOCK / first.to);
                self.parts(count).for_each(|part| {
                    buffer.resize(part.nbytes(), 0);
                    part.copy(plan, buffer, &mut |_| {});
                    done(buffer);
                });
            }
        }
    }

    /// Copies all elements to `to`, which starts with the first of them and
    /// has room for all; tells `done` of each part how many bytes it was.
    pub(crate) fn copy(&self, plan: &Plan, to: &mut [u8], done: &mut impl FnMut(usize)) {
        if self.nbytes() == 0 {
            return;
        }
        if self.is_contiguous() {
            let block = (BLOCK / self.itemsize).max(1) * self.itemsize;
            let from = self.bytes.get(..self.nbytes()).unwrap_or_default();
            let to = to.get_mut(..self.nbytes()).unwrap_or_default();
            for (from, to) in from.chunks(block).zip(to.chunks_mut(block)) {
                plan.copy(from, to);
                done(to.len());
            }
            return;
        }
        self.tiles(plan, to, done);
    }

    /// Halves the longest axis until what is left is a tile. Whatever the
    /// sizes of caches and pages, most of it happens inside them.
    fn tiles(&self, plan: &Plan, to: &mut [u8], done: &mut impl FnMut(usize)) {
        let longest = (0..self.axes.len()).rev().max_by_key(|&at| self.dim(at)).unwrap_or(0);
        if self.len() <= TILE || self.dim(longest) < 2 {
            gather(&self.axes, plan, self.bytes, to);
            return done(self.nbytes());
        }
        let half = self.dim(longest) / 2;
        let (mut low, mut high) = (self.clone(), self.clone());
        if let (Some(low), Some(high)) = (low.axes.get_mut(longest), high.axes.get_mut(longest)) {
            high.dim = low.dim - half;
            low.dim = half;
        }
        low.tiles(plan, to, done);
        let Some(&Axis { from, to: behind, .. }) = self.axes.get(longest) else { return };
        high.bytes = self.bytes.get(half * from..).unwrap_or_default();
        high.tiles(plan, to.get_mut(half * behind..).unwrap_or_default(), done);
    }

    /// Parts of `count` along the first axis.
    fn parts(&self, count: usize) -> impl Iterator<Item = Region<'a>> + '_ {
        let dim = self.dim(0);
        let count = count.max(1);
        (0..dim).step_by(count).map(move |start| {
            let mut part = self.clone();
            if let Some(first) = part.axes.first_mut() {
                part.bytes = self.bytes.get(start * first.from..).unwrap_or_default();
                first.dim = count.min(dim - start);
            }
            part
        })
    }

    /// Without the first axis.
    fn inner(self) -> Region<'a> {
        let axes = self.axes.get(1..).unwrap_or_default().to_vec();
        Region { axes, ..self }
    }

    fn dim(&self, axis: usize) -> usize {
        self.axes.get(axis).map_or(1, |axis| axis.dim)
    }

    fn len(&self) -> usize {
        self.axes.iter().map(|axis| axis.dim).product()
    }

    fn nbytes(&self) -> usize {
        self.len() * self.itemsize
    }

    fn is_contiguous(&self) -> bool {
        self.axes.iter().all(|axis| axis.from == axis.to)
    }
}

/// Copies a tile; the copy's last axis goes innermost.
fn gather(axes: &[Axis], plan: &Plan, from: &[u8], to: &mut [u8]) {
    match axes {
        [] => plan.copy(from, to.get_mut(..plan.itemsize()).unwrap_or_default()),
        [run] => {
            let to = to.get_mut(..run.dim * plan.itemsize()).unwrap_or_default();
            plan.gather(from, run.from, to);
        }
        [first, rest @ ..] => {
            for i in 0..first.dim {
                let from = from.get(i * first.from..).unwrap_or_default();
                let to = to.get_mut(i * first.to..).unwrap_or_default();
                gather(rest, plan, from, to);
            }
        }
    }
}

/// The same elements with as few axes as say where they lie.
fn merged(axes: Vec<Axis>) -> Vec<Axis> {
    let mut merged: Vec<Axis> = Vec::new();
    for axis in axes.into_iter().filter(|axis| axis.dim != 1) {
        match merged.last_mut() {
            Some(outer)
                if axis.dim.checked_mul(axis.from) == Some(outer.from)
                    && axis.dim.checked_mul(axis.to) == Some(outer.to) =>
            {
                *outer = Axis { dim: outer.dim * axis.dim, ..axis };
            }
            _ => merged.push(axis),
        }
    }
    merged
}

/// Lays the copy out in C order.
fn laid(mut axes: Vec<Axis>, itemsize: usize) -> Vec<Axis> {
    let mut step = itemsize;
    for axis in axes.iter_mut().rev() {
        axis.to = step;
        step = step.saturating_mul(axis.dim);
    }
    axes
}

//! Elements as runs: the last axis of a geometry, once for each index of the
//! axes before it.

use crate::layout::geometry::{Geometry, advance};

/// One run: where it starts, and how many elements at what distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) start: usize,
    pub(super) count: usize,
    pub(super) stride: isize,
}

impl Run {
    /// The run's bytes and the distance of its elements, when it goes forward
    /// without overlap.
    pub(super) fn forward<'b>(&self, bytes: &'b [u8], size: usize) -> Option<(&'b [u8], usize)> {
        let stride = if self.count == 1 { size } else { usize::try_from(self.stride).ok()? };
        if stride < size || size == 0 || self.count == 0 {
            return None;
        }
        let end = self.start + (self.count - 1) * stride + size;
        Some((bytes.get(self.start..end)?, stride))
    }

    /// The bytes of a run to be written, as [`forward`](Run::forward).
    pub(super) fn forward_mut<'b>(
        &self,
        bytes: &'b mut [u8],
        size: usize,
    ) -> Option<(&'b mut [u8], usize)> {
        let (len, stride) = self.forward(bytes, size).map(|(run, stride)| (run.len(), stride))?;
        Some((bytes.get_mut(self.start..self.start + len)?, stride))
    }

    /// The same elements with a stride that isn't negative, and whether they
    /// were turned round for that.
    pub(super) fn turned_forward(self) -> (Run, bool) {
        if self.stride >= 0 || self.count == 0 {
            return (self, false);
        }
        let start = advance(self.start, self.count - 1, self.stride);
        (Run { start, stride: self.stride.saturating_abs(), ..self }, true)
    }

    /// The bytes of each element, one after the other.
    pub(super) fn elements(self, bytes: &[u8], size: usize) -> impl Iterator<Item = &[u8]> {
        let mut at = self.start;
        (0..self.count).map(move |_| {
            let element = bytes.get(at..at.wrapping_add(size)).unwrap_or_default();
            at = at.wrapping_add_signed(self.stride);
            element
        })
    }

    /// The part behind the first `count` elements.
    pub(super) fn after(self, count: usize) -> Run {
        Run { start: advance(self.start, count, self.stride), count: self.count - count, ..self }
    }
}

impl Geometry {
    /// How many runs there are.
    pub(super) fn run_count(&self) -> usize {
        if self.len() == 0 { 0 } else { self.shape.iter().rev().skip(1).product() }
    }

    /// The `number`th run, in C order.
    #[inline]
    pub(super) fn run(&self, number: usize) -> Run {
        let mut start = self.offset;
        let mut number = number;
        for (&dim, &stride) in self.shape.iter().zip(&self.strides).rev().skip(1) {
            start = advance(start, number % dim, stride);
            number /= dim;
        }
        let count = self.shape.last().copied().unwrap_or(1);
        Run { start, count, stride: self.strides.last().copied().unwrap_or(0) }
    }

    /// All runs, in C order.
    pub(super) fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        (0..self.run_count()).map(|number| self.run(number))
    }
}

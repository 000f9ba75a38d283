//! Iterators over all elements, in C order.

use std::fmt;

use super::runs::Run;
use crate::element::{Element, chunks};
use crate::layout::axes::Axes;
use crate::layout::geometry::Geometry;

/// The elements of a [`View`](crate::View) in C order.
///
/// It borrows the view and owns nothing. `fold`, and what is built on it, is
/// faster than a `for` loop.
pub struct Iter<'v, T: Element> {
    bytes: &'v [u8],
    geometry: &'v Geometry,
    codec: &'v T::Codec,
    /// What is left of the current run.
    run: Run,
    /// The number of the run after it.
    next: usize,
    left: usize,
}

impl<'v, T: Element> Iter<'v, T> {
    pub(super) fn new(bytes: &'v [u8], geometry: &'v Geometry, codec: &'v T::Codec) -> Iter<'v, T> {
        let left = geometry.len();
        let run = if left == 0 { Run { start: 0, count: 0, stride: 0 } } else { geometry.run(0) };
        Iter { bytes, geometry, codec, run, next: 1, left }
    }
}

impl<T: Element> Iterator for Iter<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        if self.run.count == 0 {
            if self.left == 0 {
                return None;
            }
            self.run = self.geometry.run(self.next);
            self.next += 1;
        }
        let size = T::itemsize(self.codec);
        let element = self.bytes.get(self.run.start..self.run.start.wrapping_add(size))?;
        self.run.start = self.run.start.wrapping_add_signed(self.run.stride);
        self.run.count -= 1;
        self.left -= 1;
        Some(T::decode(self.codec, element))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }

    fn fold<B, F: FnMut(B, T) -> B>(self, init: B, mut f: F) -> B {
        let size = T::itemsize(self.codec);
        let rest = (self.next..self.geometry.run_count()).map(|number| self.geometry.run(number));
        let mut folded = init;
        for run in std::iter::once(self.run).chain(rest) {
            let mut decode = |b, element: &[u8]| f(b, T::decode(self.codec, element));
            let (forward, turned) = run.turned_forward();
            folded = match forward.forward(self.bytes, size) {
                Some((bytes, stride)) if turned => {
                    chunks(bytes, stride, size).rfold(folded, &mut decode)
                }
                Some((bytes, stride)) if stride == size => {
                    bytes.chunks_exact(size).fold(folded, &mut decode)
                }
                Some((bytes, stride)) => chunks(bytes, stride, size).fold(folded, &mut decode),
                None => run.elements(self.bytes, size).fold(folded, &mut decode),
            };
        }
        folded
    }
}

impl<T: Element> ExactSizeIterator for Iter<'_, T> {}

impl<T: Element> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Iter { ..*self }
    }
}

impl<T: Element> fmt::Debug for Iter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter").field("left", &self.left).finish_non_exhaustive()
    }
}

/// The elements of a [`View`](crate::View) in C order, each with its index.
pub struct IndexedIter<'v, T: Element> {
    elements: Iter<'v, T>,
    shape: &'v [usize],
    /// The index of the next element.
    index: Axes<usize>,
}

impl<'v, T: Element> IndexedIter<'v, T> {
    pub(super) fn new(elements: Iter<'v, T>, shape: &'v [usize]) -> IndexedIter<'v, T> {
        IndexedIter { elements, shape, index: Axes::from_elem(0, shape.len()) }
    }
}

impl<T: Element> Iterator for IndexedIter<'_, T> {
    type Item = (Vec<usize>, T);

    fn next(&mut self) -> Option<(Vec<usize>, T)> {
        let value = self.elements.next()?;
        let index = self.index.to_vec();
        for (i, &dim) in self.index.iter_mut().zip(self.shape).rev() {
            *i += 1;
            if *i < dim {
                break;
            }
            *i = 0;
        }
        Some((index, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.elements.size_hint()
    }
}

impl<T: Element> ExactSizeIterator for IndexedIter<'_, T> {}

impl<T: Element> fmt::Debug for IndexedIter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IndexedIter").field("next", &self.index).finish_non_exhaustive()
    }
}

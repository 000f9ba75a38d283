//! Iterators over all elements, in C order.

use std::fmt;

use ndarray::{Dimension as _, IxDyn};

use super::runs::{Run, Runs};
use crate::element::{Element, chunks};
use crate::layout::geometry::Geometry;

/// The elements of a [`View`](crate::View) in C order.
///
/// It only borrows from the view. `fold`, and the adapters that use it, are
/// slightly faster than a `for` loop.
pub struct Iter<'v, T: Element> {
    bytes: &'v [u8],
    runs: Runs<'v>,
    codec: &'v T::Codec,
    /// The rest of the current run, if its elements are adjacent.
    adjacent: &'v [u8],
    /// The rest of the current run, if they are not.
    apart: Run,
    /// The number of the next run.
    next: usize,
}

impl<'v, T: Element> Iter<'v, T> {
    pub(super) fn new(bytes: &'v [u8], geometry: &'v Geometry, codec: &'v T::Codec) -> Iter<'v, T> {
        Iter { bytes, runs: Runs::new(geometry), codec, adjacent: &[], apart: Run::EMPTY, next: 0 }
    }
}

/// Returns a run: as bytes if its elements are adjacent, otherwise as a [`Run`].
///
/// Takes and returns values: if the iterator's address were passed to a function
/// that is not inlined, a loop would keep the iterator in memory.
#[cold]
#[inline(never)]
fn load_run<'v>(bytes: &'v [u8], runs: Runs<'v>, number: usize, size: usize) -> (&'v [u8], Run) {
    let run = runs.get(number);
    match run.forward(bytes, size) {
        Some((adjacent, stride)) if stride == size => (adjacent, Run::EMPTY),
        _ => (&[], run),
    }
}

impl<T: Element> Iterator for Iter<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let size = T::itemsize(self.codec);
        loop {
            if size > 0 {
                if let Some((element, rest)) = self.adjacent.split_at_checked(size) {
                    self.adjacent = rest;
                    return Some(T::decode(self.codec, element));
                }
            }
            if self.apart.count > 0 {
                let start = self.apart.start;
                let element = self.bytes.get(start..start.wrapping_add(size))?;
                self.apart.start = start.wrapping_add_signed(self.apart.stride);
                self.apart.count -= 1;
                return Some(T::decode(self.codec, element));
            }
            if self.next == self.runs.count {
                return None;
            }
            (self.adjacent, self.apart) = load_run(self.bytes, self.runs, self.next, size);
            self.next += 1;
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let adjacent = self.adjacent.len() / T::itemsize(self.codec).max(1);
        let left = adjacent + self.apart.count + (self.runs.count - self.next) * self.runs.len;
        (left, Some(left))
    }

    fn fold<B, F: FnMut(B, T) -> B>(self, init: B, mut f: F) -> B {
        let size = T::itemsize(self.codec);
        let rest = (self.next..self.runs.count).map(|number| self.runs.get(number));
        let mut decode = |b, element: &[u8]| f(b, T::decode(self.codec, element));
        let mut folded = self.adjacent.chunks_exact(size.max(1)).fold(init, &mut decode);
        for run in std::iter::once(self.apart).chain(rest) {
            let (forward, turned) = run.to_forward();
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
        f.debug_struct("Iter").field("left", &self.len()).finish_non_exhaustive()
    }
}

/// The elements of a [`View`](crate::View) in C order, each with its index, as in
/// ndarray's `indexed_iter`. Up to four axes require no allocation.
pub struct IndexedIter<'v, T: Element> {
    elements: Iter<'v, T>,
    shape: &'v [usize],
    /// The index of the next element.
    index: IxDyn,
}

impl<'v, T: Element> IndexedIter<'v, T> {
    pub(super) fn new(elements: Iter<'v, T>, shape: &'v [usize]) -> IndexedIter<'v, T> {
        IndexedIter { elements, shape, index: IxDyn::zeros(shape.len()) }
    }
}

/// Advances an index to the next element in C order.
#[inline]
fn increment(index: &mut [usize], shape: &[usize]) {
    for (i, &dim) in index.iter_mut().zip(shape).rev() {
        *i += 1;
        if *i < dim {
            break;
        }
        *i = 0;
    }
}

impl<T: Element> Iterator for IndexedIter<'_, T> {
    type Item = (IxDyn, T);

    #[inline]
    fn next(&mut self) -> Option<(IxDyn, T)> {
        let value = self.elements.next()?;
        let index = self.index.clone();
        increment(self.index.slice_mut(), self.shape);
        Some((index, value))
    }

    fn fold<B, F: FnMut(B, (IxDyn, T)) -> B>(self, init: B, mut f: F) -> B {
        let (mut next, shape) = (self.index, self.shape);
        self.elements.fold(init, |folded, value| {
            let index = next.clone();
            increment(next.slice_mut(), shape);
            f(folded, (index, value))
        })
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

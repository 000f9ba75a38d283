//! Iterators over the parts of a view along an axis.

use std::fmt;
use std::iter::FusedIterator;
use std::ops::Range;

use super::{View, ViewMut};
use crate::element::Element;
use crate::error::Result;
use crate::error::invariant::Invariant as _;

/// An iterator over the first axis that yields views without that axis.
/// [`View::outer_iter`] returns it.
///
/// It borrows the array and not the view, like [`Iter`](super::Iter).
///
/// # Examples
///
/// ```
/// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
/// let mut rows = penguins.view::<f64>()?.outer_iter();
/// assert_eq!((rows.len(), rows.next_back().map(|row| row.at(3))), (342, Some(3775.0)));
/// # Ok::<(), npymap::Error>(())
/// ```
pub struct OuterIter<'a, T: Element> {
    view: View<'a, T>,
    left: Range<usize>,
}

impl<'a, T: Element> OuterIter<'a, T> {
    pub(super) fn new(view: View<'a, T>) -> OuterIter<'a, T> {
        let left = 0..view.shape().first().copied().unwrap_or(0);
        OuterIter { view, left }
    }

    fn with_left(&self, left: Range<usize>) -> OuterIter<'a, T> {
        OuterIter { view: self.view.clone(), left }
    }

    fn part(&self, index: usize) -> View<'a, T> {
        self.view.with(self.view.geometry.index_first_axis(index))
    }
}

/// An iterator over the chunks of a view along an axis. [`View::axis_chunks`]
/// returns it.
///
/// It borrows the array and not the view, like [`Iter`](super::Iter).
///
/// # Examples
///
/// ```
/// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
/// let chunks = penguins.view::<f64>()?.axis_chunks(0, 100)?;
/// assert!(chunks.map(|chunk| chunk.shape()[0]).eq([100, 100, 100, 42]));
/// # Ok::<(), npymap::Error>(())
/// ```
pub struct AxisChunks<'a, T: Element> {
    view: View<'a, T>,
    axis: usize,
    size: usize,
    /// The numbers of the chunks that are left.
    left: Range<usize>,
}

impl<'a, T: Element> AxisChunks<'a, T> {
    pub(super) fn new(view: View<'a, T>, axis: usize, size: usize) -> Result<AxisChunks<'a, T>> {
        let left = 0..view.geometry.chunk_count(axis, size)?;
        Ok(AxisChunks { view, axis, size, left })
    }

    fn with_left(&self, left: Range<usize>) -> AxisChunks<'a, T> {
        AxisChunks { view: self.view.clone(), left, ..*self }
    }

    fn part(&self, number: usize) -> View<'a, T> {
        self.view.with(self.view.geometry.chunk(self.axis, self.size, number))
    }
}

/// An iterator over the first axis that yields mutable views without that axis.
/// [`ViewMut::outer_iter`] returns it.
pub struct OuterIterMut<'a, T: Element> {
    /// `None` after the last view.
    left: Option<ViewMut<'a, T>>,
}

impl<'a, T: Element> OuterIterMut<'a, T> {
    pub(super) fn new(mut view: ViewMut<'a, T>) -> Result<OuterIterMut<'a, T>> {
        let count = view.shape().first().copied().unwrap_or(0);
        if count > 1 {
            // If the first two do not interleave, no others do.
            let geometry = view.geometry.axis_range(0, 0, 2);
            view.reborrow().with(geometry).split_at(0, 1)?;
        }
        Ok(OuterIterMut { left: (count > 0).then_some(view) })
    }

    /// Splits after the first `index` items.
    pub(super) fn split_at(self, index: usize) -> (Self, Self) {
        let count = self.len();
        match self.left {
            Some(view) if index < count => {
                let (low, high) = view.split_at(0, index).invariant(ROWS_ARE_APART);
                let low = (index > 0).then_some(low);
                (OuterIterMut { left: low }, OuterIterMut { left: Some(high) })
            }
            left => (OuterIterMut { left }, OuterIterMut { left: None }),
        }
    }
}

/// The invariant that [`OuterIterMut::new`] checks.
const ROWS_ARE_APART: &str = "rows do not interleave";

/// Removes the first axis of a view, which has length 1.
fn only_row<T: Element>(rows: OuterIterMut<'_, T>) -> Option<ViewMut<'_, T>> {
    Some(rows.left?.index_axis(0, 0).invariant("one index of the first axis"))
}

impl<'a, T: Element> Iterator for OuterIterMut<'a, T> {
    type Item = ViewMut<'a, T>;

    fn next(&mut self) -> Option<ViewMut<'a, T>> {
        let all = OuterIterMut { left: self.left.take() };
        let (first, rest) = all.split_at(1);
        *self = rest;
        only_row(first)
    }

    fn nth(&mut self, n: usize) -> Option<ViewMut<'a, T>> {
        let all = OuterIterMut { left: self.left.take() };
        *self = all.split_at(n).1;
        self.next()
    }

    fn last(mut self) -> Option<ViewMut<'a, T>> {
        self.next_back()
    }

    fn count(self) -> usize {
        self.len()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.left.as_ref().and_then(|view| view.shape().first().copied()).unwrap_or(0);
        (left, Some(left))
    }
}

impl<'a, T: Element> DoubleEndedIterator for OuterIterMut<'a, T> {
    fn next_back(&mut self) -> Option<ViewMut<'a, T>> {
        let before = self.len().checked_sub(1)?;
        let all = OuterIterMut { left: self.left.take() };
        let (rest, last) = all.split_at(before);
        *self = rest;
        only_row(last)
    }
}

impl<T: Element> ExactSizeIterator for OuterIterMut<'_, T> {}

impl<T: Element> FusedIterator for OuterIterMut<'_, T> {}

impl<T: Element> fmt::Debug for OuterIterMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OuterIterMut").field("left", &self.len()).finish_non_exhaustive()
    }
}

/// Implements the traits of iterators for a type with a method `part` and a
/// range `left` of its arguments.
macro_rules! iterate_over_parts {
    ($name:ident) => {
        impl<'a, T: Element> Iterator for $name<'a, T> {
            type Item = View<'a, T>;

            fn next(&mut self) -> Option<View<'a, T>> {
                let index = self.left.next()?;
                Some(self.part(index))
            }

            fn nth(&mut self, n: usize) -> Option<View<'a, T>> {
                let index = self.left.nth(n)?;
                Some(self.part(index))
            }

            fn last(mut self) -> Option<View<'a, T>> {
                self.next_back()
            }

            fn count(self) -> usize {
                self.len()
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                self.left.size_hint()
            }
        }

        impl<'a, T: Element> DoubleEndedIterator for $name<'a, T> {
            fn next_back(&mut self) -> Option<View<'a, T>> {
                let index = self.left.next_back()?;
                Some(self.part(index))
            }

            fn nth_back(&mut self, n: usize) -> Option<View<'a, T>> {
                let index = self.left.nth_back(n)?;
                Some(self.part(index))
            }
        }

        #[cfg(feature = "rayon")]
        impl<T: Element> super::parallel::Split for $name<'_, T> {
            fn split_at(self, index: usize) -> (Self, Self) {
                let middle = self.left.start + index;
                let before = self.with_left(self.left.start..middle);
                (before, self.with_left(middle..self.left.end))
            }
        }

        impl<T: Element> Clone for $name<'_, T> {
            fn clone(&self) -> Self {
                self.with_left(self.left.clone())
            }
        }

        impl<T: Element> ExactSizeIterator for $name<'_, T> {}

        impl<T: Element> FusedIterator for $name<'_, T> {}

        impl<T: Element> fmt::Debug for $name<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let (name, left) = (stringify!($name), self.len());
                f.debug_struct(name).field("left", &left).finish_non_exhaustive()
            }
        }
    };
}

iterate_over_parts!(OuterIter);
iterate_over_parts!(AxisChunks);

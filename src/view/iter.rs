//! Iterators over all elements, in C order.

use std::fmt;
use std::iter::FusedIterator;

use super::runs::{Run, Runs};
use crate::element::cold_drop::ColdDrop;
use crate::element::{Element, chunks};
use crate::layout::geometry::Geometry;

/// The elements of a [`View`](crate::View) in C order.
///
/// It borrows the array and not the view, so a function can return the iterator
/// of a view that it made. `fold`, and the adapters that use it, are faster
/// than a `for` loop. `nth` takes the same time for any distance.
///
/// # Examples
///
/// ```
/// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
/// let masses = penguins.view::<f64>()?.index_axis(1, 3)?;
/// assert_eq!(masses.iter().filter(|mass| *mass > 6000.0).count(), 2);
/// # Ok::<(), npymap::Error>(())
/// ```
//
// A loop keeps the iterator in registers only if no function that is not inlined
// gets its address, so its axes are on the heap.
pub struct Iter<'a, T: Element> {
    bytes: &'a [u8],
    codec: T::Codec,
    /// The rest of the run that `next` is in.
    run: Run,
    /// The runs after it, if there is more than one run.
    later: ColdDrop<Box<Later>>,
}

impl<'a, T: Element> Iter<'a, T> {
    #[inline]
    pub(super) fn new(bytes: &'a [u8], geometry: &Geometry, codec: T::Codec) -> Iter<'a, T> {
        let (run, later) = Later::of(geometry);
        Iter { bytes, codec, run, later: ColdDrop::new(later) }
    }

    /// Skips the first `count` elements, or all if there are fewer.
    #[inline]
    fn skip_first(&mut self, count: usize) {
        let cut = count.min(self.run.count);
        let rest = count - cut;
        self.run = self.run.without_first(cut);
        if let (Some(later), true) = (self.later.get_mut(), rest > 0) {
            self.run = later.run_after(rest);
        }
    }

    /// Skips the last `count` elements, or all if there are fewer.
    fn skip_last(&mut self, count: usize) {
        let count = self.later.get_mut().map_or(count, |later| later.skip_last(count));
        self.run.count -= count.min(self.run.count);
    }
}

/// The runs of an iterator after the first.
#[derive(Clone)]
struct Later {
    runs: Runs,
    /// The number of the next whole run, and of the one after the last.
    next: usize,
    end: usize,
    /// The rest of the run that `next_back` is in.
    last: Run,
}

impl Later {
    /// The first run and those after it.
    #[inline]
    fn of(geometry: &Geometry) -> (Run, Option<Box<Later>>) {
        if let Some(run) = Runs::only(geometry) {
            return (run, None);
        }
        let runs = Runs::new(geometry);
        let first = if runs.count == 0 { Run::EMPTY } else { runs.first };
        let next = 1;
        let later = Later { next, end: runs.count, runs, last: Run::EMPTY };
        (first, (next < later.end).then(|| Box::new(later)))
    }

    #[inline]
    fn len(&self) -> usize {
        (self.end - self.next) * self.runs.first.count + self.last.count
    }

    /// Takes the next run, or the rest of the last.
    //
    // A call would make the caller's loop keep what it computes, such as a sum, in
    // memory, since no floating-point register survives calls.
    #[expect(clippy::inline_always, reason = "a call would take twice the time")]
    #[inline(always)]
    fn next_run(&mut self) -> Option<Run> {
        if self.next == self.end {
            let last = std::mem::replace(&mut self.last, Run::EMPTY);
            return (last.count > 0).then_some(last);
        }
        self.next += 1;
        Some(self.runs.get(self.next - 1))
    }

    /// How many whole runs have at most `count` elements.
    #[inline]
    fn whole_runs(&self, count: usize) -> usize {
        (count / self.runs.first.count.max(1)).min(self.end - self.next)
    }

    /// Takes the run that begins after `count` elements.
    #[inline]
    fn run_after(&mut self, count: usize) -> Run {
        let whole = self.whole_runs(count);
        self.next += whole;
        let count = count - whole * self.runs.first.count;
        let run = self.next_run().unwrap_or(Run::EMPTY);
        run.without_first(count.min(run.count))
    }

    /// Skips the last `count` elements; returns how many more there would have to
    /// be.
    #[inline]
    fn skip_last(&mut self, count: usize) -> usize {
        let cut = count.min(self.last.count);
        self.last.count -= cut;
        let whole = self.whole_runs(count - cut);
        self.end -= whole;
        let count = count - cut - whole * self.runs.first.count;
        if count == 0 || self.next == self.end {
            return count;
        }
        self.end -= 1;
        self.last = self.runs.get(self.end);
        self.last.count -= count;
        0
    }

    /// Takes the last element: its first byte.
    #[inline]
    fn next_back(&mut self) -> Option<usize> {
        if self.last.count == 0 {
            if self.next == self.end {
                return None;
            }
            self.end -= 1;
            self.last = self.runs.get(self.end);
        }
        Some(self.last.pop())
    }
}

impl<T: Element> Iterator for Iter<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        while self.run.count == 0 {
            self.run = self.later.get_mut()?.next_run()?;
        }
        let element = self.run.pop_front(self.bytes, T::itemsize(&self.codec))?;
        Some(T::decode(&self.codec, element))
    }

    #[inline]
    fn nth(&mut self, n: usize) -> Option<T> {
        self.skip_first(n);
        self.next()
    }

    fn last(mut self) -> Option<T> {
        self.next_back()
    }

    fn count(self) -> usize {
        self.len()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.run.count + self.later.get().map_or(0, |later| later.len());
        (left, Some(left))
    }

    fn fold<B, F: FnMut(B, T) -> B>(self, init: B, mut f: F) -> B {
        let codec = &self.codec;
        let size = T::itemsize(codec);
        let mut decode = |b, element: &[u8]| f(b, T::decode(codec, element));
        let mut folded = self.run.fold(self.bytes, size, init, &mut decode);
        if let Some(later) = self.later.get() {
            for number in later.next..later.end {
                folded = later.runs.get(number).fold(self.bytes, size, folded, &mut decode);
            }
            folded = later.last.fold(self.bytes, size, folded, &mut decode);
        }
        folded
    }
}

impl Run {
    /// Removes the first element, of at least one, and returns its bytes.
    #[inline]
    fn pop_front<'a>(&mut self, bytes: &'a [u8], size: usize) -> Option<&'a [u8]> {
        let element = bytes.get(self.start..self.start.wrapping_add(size));
        *self = self.without_first(1);
        element
    }

    /// Removes the last element, of at least one, and returns its first byte.
    #[inline]
    fn pop(&mut self) -> usize {
        self.count -= 1;
        self.without_first(self.count).start
    }

    /// Folds the bytes of each element.
    #[inline]
    fn fold<B>(self, bytes: &[u8], size: usize, init: B, mut f: impl FnMut(B, &[u8]) -> B) -> B {
        let (forward, turned) = self.to_forward();
        match forward.forward(bytes, size) {
            Some((bytes, stride)) if turned => chunks(bytes, stride, size).rfold(init, &mut f),
            Some((bytes, stride)) if stride == size => bytes.chunks_exact(size).fold(init, &mut f),
            Some((bytes, stride)) => chunks(bytes, stride, size).fold(init, &mut f),
            None => self.elements(bytes, size).fold(init, &mut f),
        }
    }
}

impl<T: Element> DoubleEndedIterator for Iter<'_, T> {
    #[inline]
    fn next_back(&mut self) -> Option<T> {
        let size = T::itemsize(&self.codec);
        let start = match self.later.get_mut().and_then(|later| later.next_back()) {
            None if self.run.count > 0 => self.run.pop(),
            None => return None,
            Some(start) => start,
        };
        let element = self.bytes.get(start..start.wrapping_add(size))?;
        Some(T::decode(&self.codec, element))
    }

    #[inline]
    fn nth_back(&mut self, n: usize) -> Option<T> {
        self.skip_last(n);
        self.next_back()
    }
}

#[cfg(feature = "rayon")]
impl<T: Element + Send> super::parallel::Split for Iter<'_, T> {
    fn split_at(mut self, index: usize) -> (Self, Self) {
        let mut before = self.clone();
        before.skip_last(self.len() - index);
        self.skip_first(index);
        (before, self)
    }
}

impl<T: Element> FusedIterator for Iter<'_, T> {}

impl<T: Element> ExactSizeIterator for Iter<'_, T> {}

impl<T: Element> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Iter { codec: self.codec.clone(), later: self.later.clone(), ..*self }
    }
}

impl<T: Element> fmt::Debug for Iter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter").field("left", &self.len()).finish_non_exhaustive()
    }
}

/// Advances an index to the next element in C order.
#[inline]
pub(super) fn increment(index: &mut [usize], shape: &[usize]) {
    for (i, &dim) in index.iter_mut().zip(shape).rev() {
        *i += 1;
        if *i < dim {
            break;
        }
        *i = 0;
    }
}

//! Parallel iterators for rayon's thread pool.

use std::fmt;

use rayon::iter::plumbing::{Consumer, Producer, ProducerCallback, UnindexedConsumer, bridge};
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

use super::{AxisChunks, Iter, OuterIter, OuterIterMut, View, ViewMut};
use crate::element::Element;

/// A parallel iterator over the items of `I`, in their order. `I` is [`Iter`],
/// [`OuterIter`], [`AxisChunks`] or [`OuterIterMut`].
///
/// A view, or a reference to one, becomes a parallel iterator over elements.
/// The other iterators become parallel iterators over views. All know their
/// length and can be split anywhere in constant time, whatever the layout of
/// the elements. Mutable chunks come in a vector, because rayon has a parallel
/// iterator for it.
///
/// # Examples
///
/// ```
/// use npymap::{MappedArray, rayon::prelude::*};
///
/// let penguins = MappedArray::load("data/penguins.npy")?;
/// let table = penguins.view::<f64>()?;
/// let heaviest = table.outer_iter().into_par_iter().map(|row| row.at(3)).reduce(|| 0.0, f64::max);
/// assert_eq!(heaviest, 6300.0);
/// assert_eq!(table.par_iter().filter(|&x| x > 6000.0).count(), 2);
///
/// let mut halves = MappedArray::zeros(&"<f8".parse()?, table.shape())?;
/// let rows = halves.view_mut::<f64>()?.outer_iter()?;
/// rows.into_par_iter().zip(table.outer_iter()).try_for_each(|(mut half, row)| {
///     half.assign(&row)?;
///     half.map_inplace(|x| x / 2.0)
/// })?;
/// assert_eq!(halves.view::<f64>()?.at([0, 3]), 1875.0);
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone)]
pub struct Parallel<I> {
    iter: I,
}

/// An iterator that can be split into two.
pub trait Split: DoubleEndedIterator<Item: Send> + ExactSizeIterator + Send {
    /// Splits after the first `index` items.
    #[must_use]
    fn split_at(self, index: usize) -> (Self, Self)
    where
        Self: Sized;
}

impl<I: Split> ParallelIterator for Parallel<I> {
    type Item = I::Item;

    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.iter.len())
    }
}

impl<I: Split> IndexedParallelIterator for Parallel<I> {
    fn len(&self) -> usize {
        self.iter.len()
    }

    fn drive<C: Consumer<I::Item>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn with_producer<C: ProducerCallback<I::Item>>(self, callback: C) -> C::Output {
        callback.callback(Part(self.iter))
    }
}

/// The items that one thread produces.
struct Part<I>(I);

impl<I: Split> Producer for Part<I> {
    type Item = I::Item;
    type IntoIter = I;

    fn into_iter(self) -> I {
        self.0
    }

    fn split_at(self, index: usize) -> (Part<I>, Part<I>) {
        let (before, after) = self.0.split_at(index);
        (Part(before), Part(after))
    }
}

impl<T: Element> Split for OuterIterMut<'_, T> {
    fn split_at(self, index: usize) -> (Self, Self) {
        OuterIterMut::split_at(self, index)
    }
}

impl<'a, T: Element + Send> IntoParallelIterator for View<'a, T> {
    type Item = T;
    type Iter = Parallel<Iter<'a, T>>;

    fn into_par_iter(self) -> Parallel<Iter<'a, T>> {
        Parallel { iter: self.into_iter() }
    }
}

impl<'a, T: Element + Send> IntoParallelIterator for &View<'a, T> {
    type Item = T;
    type Iter = Parallel<Iter<'a, T>>;

    fn into_par_iter(self) -> Parallel<Iter<'a, T>> {
        Parallel { iter: self.iter() }
    }
}

macro_rules! into_parallel {
    ($($iter:ident of $item:ident)*) => {$(
        impl<'a, T: Element> IntoParallelIterator for $iter<'a, T> {
            type Item = $item<'a, T>;
            type Iter = Parallel<Self>;

            fn into_par_iter(self) -> Parallel<Self> {
                Parallel { iter: self }
            }
        }
    )*};
}

into_parallel!(OuterIter of View AxisChunks of View OuterIterMut of ViewMut);

impl<I: ExactSizeIterator> fmt::Debug for Parallel<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parallel").field("left", &self.iter.len()).finish_non_exhaustive()
    }
}

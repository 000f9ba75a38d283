//! One value per axis, without a heap allocation for up to four axes.
//!
//! In a loop that indexes by `[usize; N]`, `N` is compared with four at compile
//! time, so [`Axes::if_len`] reads the values directly. A general small vector
//! checks at each element whether they are on the heap, which made storing
//! single elements take half as long again.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// The number of values that are stored inline.
const INLINE: usize = 4;

/// A list of `Copy` values, one per axis.
#[derive(Clone, Default)]
pub(crate) struct Axes<T> {
    len: usize,
    /// The values, if there are at most four.
    inline: [T; INLINE],
    /// The values, if there are more.
    heap: Vec<T>,
}

impl<T: fmt::Debug> fmt::Debug for Axes<T> {
    /// Prints only the values, since error messages show them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: Copy + Default> Axes<T> {
    pub(crate) fn new() -> Axes<T> {
        Axes::default()
    }

    #[inline]
    pub(crate) fn from_slice(values: &[T]) -> Axes<T> {
        let mut axes = Axes::new();
        match axes.inline.get_mut(..values.len()) {
            Some(inline) => inline.copy_from_slice(values),
            None => axes.heap = values.to_vec(),
        }
        axes.len = values.len();
        axes
    }

    pub(crate) fn push(&mut self, value: T) {
        if self.len == INLINE {
            self.heap.extend_from_slice(&self.inline);
        }
        match self.inline.get_mut(self.len) {
            Some(slot) => *slot = value,
            None => self.heap.push(value),
        }
        self.len += 1;
    }

    /// All values if there are exactly `len`; fast if `len` is a constant in
    /// the caller.
    #[inline]
    pub(crate) fn if_len(&self, len: usize) -> Option<&[T]> {
        if len == self.len { self.first(len) } else { None }
    }

    /// All values of a list, which has the length `len`.
    #[inline]
    pub(crate) fn first(&self, len: usize) -> Option<&[T]> {
        if len <= INLINE { self.inline.get(..len) } else { self.heap.get(..len) }
    }
}

impl<T> Deref for Axes<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        self.inline.get(..self.len).unwrap_or(&self.heap)
    }
}

impl<T> DerefMut for Axes<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.inline.get_mut(..self.len).unwrap_or(&mut self.heap)
    }
}

impl<T: Copy + Default> Extend<T> for Axes<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        values.into_iter().for_each(|value| self.push(value));
    }
}

impl<T: Copy + Default> FromIterator<T> for Axes<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Axes<T> {
        let mut axes = Axes::new();
        axes.extend(values);
        axes
    }
}

impl<'a, T> IntoIterator for &'a Axes<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> std::slice::Iter<'a, T> {
        self.iter()
    }
}

impl<T: PartialEq> PartialEq for Axes<T> {
    fn eq(&self, other: &Axes<T>) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Axes<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_values_is_in_order() {
        for len in 0..10 {
            let values: Vec<usize> = (0..len).collect();
            let mut axes = Axes::from_slice(&values);
            assert_eq!(*axes, *values);
            assert_eq!(axes.if_len(len), Some(values.as_slice()));
            assert_eq!(axes.if_len(len + 1), None);
            axes.reverse();
            assert!(axes.iter().copied().eq((0..len).rev()));
        }
    }

    #[test]
    fn unused_inline_values_are_ignored() {
        let mut longer = Axes { inline: [1, 2, 3, 4], ..Axes::default() };
        longer.push(7);
        assert_eq!(longer, Axes::from_slice(&[7]));
        assert_ne!(longer, Axes::from_slice(&[7, 2]));
    }
}

//! Assertions of what this crate has established itself, each with the name
//! of the invariant that a panic shows.
//!
//! What a file or a caller says is no invariant: that is checked, and an error
//! when it is wrong.

use std::ops::Range;

/// Of bytes that a [`Layout`](crate::Layout) was checked against.
pub(crate) const IN_BYTES: &str = "elements lie inside the bytes their layout was checked against";

/// Of parts of elements.
pub(crate) const IN_ELEMENT: &str = "fields and items lie inside their element";

/// Of bytes that were read.
pub(crate) const READ: &str = "no more bytes are read than there is room for";

/// Of bytes that were written.
pub(crate) const WRITTEN: &str = "no more bytes are written than there are";

/// Of a place computed from the length of what it is in.
pub(crate) const IN_BUFFER: &str = "a part lies inside its buffer";

/// Of elements that two arrays of one shape have.
pub(crate) const PAIRED: &str = "arrays of one shape have equally many elements";

/// A value that is there, by an invariant.
pub(crate) trait Invariant {
    type Value;

    /// The value.
    ///
    /// # Panics
    ///
    /// With the invariant's name when there is none: that is a defect of this
    /// crate.
    fn invariant(self, name: &'static str) -> Self::Value;
}

impl<T> Invariant for Option<T> {
    type Value = T;

    #[inline]
    #[track_caller]
    fn invariant(self, name: &'static str) -> T {
        match self {
            Some(value) => value,
            None => broken(name),
        }
    }
}

impl<T, E> Invariant for Result<T, E> {
    type Value = T;

    #[inline]
    #[track_caller]
    fn invariant(self, name: &'static str) -> T {
        match self {
            Ok(value) => value,
            Err(_) => broken(name),
        }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn broken(name: &'static str) -> ! {
    panic!("broken invariant: {name}");
}

/// The bytes of elements. Without elements they may start anywhere: axes of
/// length 0 have strides too.
#[inline]
#[track_caller]
pub(crate) fn elements(bytes: &[u8], range: Range<usize>) -> &[u8] {
    if range.is_empty() {
        return bytes.get(range).unwrap_or_default();
    }
    bytes.get(range).invariant(IN_BYTES)
}

/// As [`elements`], to be written.
#[inline]
#[track_caller]
pub(crate) fn elements_mut(bytes: &mut [u8], range: Range<usize>) -> &mut [u8] {
    if range.is_empty() {
        return bytes.get_mut(range).unwrap_or_default();
    }
    bytes.get_mut(range).invariant(IN_BYTES)
}

/// A length or place in memory as one in a file.
#[inline]
#[track_caller]
pub(crate) fn to_u64(n: usize) -> u64 {
    u64::try_from(n).invariant("lengths in memory have 64 bits at most")
}

/// A length or place in a file as one in memory, where it was counted.
#[inline]
#[track_caller]
pub(crate) fn to_usize(n: u64) -> usize {
    usize::try_from(n).invariant("what was counted in memory fits `usize`")
}

/// A length or place in a file as one in memory, or the largest there is: to
/// be compared with lengths in memory, or shown in an error.
#[inline]
pub(crate) fn to_usize_saturating(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "broken invariant: elements lie inside the bytes")]
    fn broken_invariants_are_named() {
        elements(&[0; 4], 2..6);
    }

    #[test]
    fn no_elements_start_anywhere() {
        assert!(elements(&[0; 4], 6..6).is_empty());
        assert!(elements_mut(&mut [0; 4], 6..6).is_empty());
        assert_eq!(elements(&[1, 2, 3], 1..3), [2, 3]);
    }

    #[test]
    fn lengths_convert_both_ways() {
        assert_eq!(to_usize(to_u64(7)), 7);
        assert_eq!(to_usize_saturating(u64::MAX), usize::MAX);
    }
}

//! Assertions of facts that this crate has established itself. A panic shows
//! the name of the broken invariant.
//!
//! The contents of files and the arguments of callers are not invariants: they
//! are checked, and wrong values return errors.

use std::ops::Range;

/// For bytes that a [`Layout`](crate::Layout) was checked against.
pub(crate) const IN_BYTES: &str = "elements lie inside the bytes their layout was checked against";

/// For counts of bytes read.
pub(crate) const READ: &str = "no more bytes are read than the buffer holds";

/// For counts of bytes written.
pub(crate) const WRITTEN: &str = "no more bytes are written than were passed in";

/// For ranges computed from the length of the buffer that they index.
pub(crate) const IN_BUFFER: &str = "ranges lie inside their buffer";

/// For elements of two equally shaped arrays.
pub(crate) const PAIRED: &str = "arrays of the same shape have the same number of elements";

/// Unwraps a value that is present by an invariant.
pub(crate) trait Invariant {
    type Output;

    /// Returns the value.
    ///
    /// # Panics
    ///
    /// Panics with the name of the invariant if the value is missing, which is
    /// a bug in this crate.
    fn invariant(self, name: &'static str) -> Self::Output;
}

impl<T> Invariant for Option<T> {
    type Output = T;

    #[inline]
    #[track_caller]
    fn invariant(self, name: &'static str) -> T {
        match self {
            Some(value) => value,
            None => invariant_broken(name),
        }
    }
}

impl<T, E> Invariant for Result<T, E> {
    type Output = T;

    #[inline]
    #[track_caller]
    fn invariant(self, name: &'static str) -> T {
        match self {
            Ok(value) => value,
            Err(_) => invariant_broken(name),
        }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn invariant_broken(name: &'static str) -> ! {
    panic!("broken invariant: {name}");
}

/// The bytes of elements. An empty range may start anywhere, since axes of
/// length 0 also have strides.
#[inline]
#[track_caller]
pub(crate) fn elements(bytes: &[u8], range: Range<usize>) -> &[u8] {
    if range.is_empty() {
        return bytes.get(range).unwrap_or_default();
    }
    bytes.get(range).invariant(IN_BYTES)
}

/// The mutable counterpart of [`elements`].
#[inline]
#[track_caller]
pub(crate) fn elements_mut(bytes: &mut [u8], range: Range<usize>) -> &mut [u8] {
    if range.is_empty() {
        return bytes.get_mut(range).unwrap_or_default();
    }
    bytes.get_mut(range).invariant(IN_BYTES)
}

/// Converts a length or offset in memory to one in a file.
#[inline]
#[track_caller]
pub(crate) fn to_u64(n: usize) -> u64 {
    u64::try_from(n).invariant("lengths in memory have at most 64 bits")
}

/// Converts a length or offset in a file counted in memory.
#[inline]
#[track_caller]
pub(crate) fn to_usize(n: u64) -> usize {
    usize::try_from(n).invariant("lengths counted in memory fit in `usize`")
}

/// Converts a length or offset in a file, or returns `usize::MAX`: for
/// comparisons with lengths in memory, and for error messages.
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
    fn empty_ranges_may_start_anywhere() {
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

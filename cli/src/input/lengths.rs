//! Conversions between lengths in memory and in files, and parts of known lengths.

use std::ops::Range;

/// A length in memory as one in a file.
pub(crate) fn to_u64(n: usize) -> u64 {
    u64::try_from(n).expect("lengths in memory have at most 64 bits")
}

/// A number of which the fraction is dropped; zero if it is negative or NaN.
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
#[inline]
pub(crate) fn whole(number: f64) -> u64 {
    number as u64
}

/// A position along an axis, as slices have it.
pub(crate) fn to_isize(n: usize) -> isize {
    isize::try_from(n).expect("layouts have no longer axes")
}

/// A part of a slice that has it.
#[track_caller]
pub(crate) fn part<T>(all: &[T], range: Range<usize>) -> &[T] {
    all.get(range).expect("the range is in the slice")
}

/// A shape with another length of an axis that it has.
pub(crate) fn with_length(shape: &[usize], axis: usize, len: usize) -> Vec<usize> {
    let lens = shape.iter().enumerate();
    lens.map(|(at, &dim)| if at == axis { len } else { dim }).collect()
}

/// The length of the first axis; one for an array without axes, as it has one element.
pub(crate) fn first_len(shape: &[usize]) -> usize {
    shape.iter().take(1).product()
}

/// A length in a file as one in memory. Returns `usize::MAX` if it is longer: for
/// comparisons, progress and messages.
pub(crate) fn to_usize(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

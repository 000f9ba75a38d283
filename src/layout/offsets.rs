//! Arithmetic of sizes and positions that a layout has checked.

use std::ops::Range;

/// The size of `len` elements in bytes, or `usize::MAX` if views repeat elements
/// so often that it is larger. There is no memory for these.
#[inline]
pub(crate) fn nbytes(len: usize, itemsize: usize) -> usize {
    len.saturating_mul(itemsize)
}

/// The offset of the element at `index` along an axis.
///
/// All indices of a geometry are inside its buffer, so this never wraps.
#[inline]
pub(crate) fn advance(offset: usize, index: usize, stride: isize) -> usize {
    let distance = signed(index).wrapping_mul(stride);
    offset.wrapping_add_signed(distance)
}

/// The byte range of the element at `start`, which is an offset in a buffer.
///
/// An offset never has the highest bit set. Clearing it lets the compiler drop
/// a comparison per element: whether the range wraps around.
#[inline]
pub(crate) fn element(start: usize, itemsize: usize) -> Range<usize> {
    let start = start & (usize::MAX >> 1);
    start..start.wrapping_add(itemsize)
}

/// Converts a length, which is never larger than `isize::MAX`.
#[inline]
pub(crate) fn signed(n: usize) -> isize {
    bytemuck::cast(n)
}

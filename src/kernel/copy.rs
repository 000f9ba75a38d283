//! Copies strided elements into a contiguous buffer, swapping bytes on the way.
#![expect(clippy::inline_always, reason = "only inlined code is compiled for AVX2")]

use super::{Job, PAGE, prefetch, run};
use crate::error::invariant::{IN_BUFFER, Invariant};

/// The elements to copy: `size` bytes each, made of numbers of `number` bytes,
/// which are reversed if `swap`.
#[derive(Clone, Copy, Debug)]
pub struct ElementFormat {
    pub(crate) size: usize,
    pub(crate) number: usize,
    pub(crate) swap: bool,
}

impl ElementFormat {
    /// Elements of `size` bytes that are copied unchanged.
    #[inline]
    pub(crate) fn opaque(size: usize) -> ElementFormat {
        ElementFormat { size, number: size, swap: false }
    }

    /// The number of bytes reversed as a unit; otherwise 1.
    #[inline]
    pub(crate) fn swap_width(self) -> usize {
        if self.swap { self.number } else { 1 }
    }
}

/// Copies a row. One of 2 to 4 pages is copied in parts of a page, and the start of each part
/// is prefetched while the one before is copied.
///
/// This reduced the time of copying random rows of 8 to 12 KiB to 0.92. Rows of 20 KiB took
/// 1.1 times as long.
#[inline]
pub(crate) fn copy_row(row: &[u8], to: &mut [u8]) {
    let (mut rest, mut to) = (row, to);
    while rest.len() >= 2 * PAGE && row.len() <= 4 * PAGE {
        let ((page, after), (own, to_after)) = (rest.split_at(PAGE), to.split_at_mut(PAGE));
        prefetch(after);
        own.copy_from_slice(page);
        (rest, to) = (after, to_after);
    }
    to.copy_from_slice(rest);
}

/// Fills `to` with the elements of `from`, which start `stride` bytes apart.
///
/// The stride is at least the element size. A number has 1, 2, 4 or 8 bytes.
#[inline]
pub(crate) fn copy(format: ElementFormat, from: &[u8], stride: usize, to: &mut [u8]) {
    if stride == format.size {
        let len = from.len().min(to.len());
        let (Some(from), Some(to)) = (from.get(..len), to.get_mut(..len)) else { return };
        return match format.swap_width() {
            2 => run(SwapLoop::<2> { from, to }),
            4 => run(SwapLoop::<4> { from, to }),
            8 => run(SwapLoop::<8> { from, to }),
            _ => to.copy_from_slice(from),
        };
    }
    match (format.size, format.swap_width()) {
        (1, 1) => run(GatherLoop::<1, 1> { from, stride, to }),
        (2, 1) => run(GatherLoop::<2, 1> { from, stride, to }),
        (2, 2) => run(GatherLoop::<2, 2> { from, stride, to }),
        (4, 1) => run(GatherLoop::<4, 1> { from, stride, to }),
        (4, 2) => run(GatherLoop::<4, 2> { from, stride, to }),
        (4, 4) => run(GatherLoop::<4, 4> { from, stride, to }),
        (8, 1) => run(GatherLoop::<8, 1> { from, stride, to }),
        (8, 4) => run(GatherLoop::<8, 4> { from, stride, to }),
        (8, 8) => run(GatherLoop::<8, 8> { from, stride, to }),
        (16, 1) => run(GatherLoop::<16, 1> { from, stride, to }),
        (16, 8) => run(GatherLoop::<16, 8> { from, stride, to }),
        _ => copy_each(format, from, stride, to),
    }
}

/// Copies elements of any size, in turn.
#[inline]
fn copy_each(format: ElementFormat, from: &[u8], stride: usize, to: &mut [u8]) {
    for (i, to) in to.chunks_exact_mut(format.size).enumerate() {
        let start = i * stride;
        if let Some(from) = from.get(start..start + format.size) {
            to.copy_from_slice(from);
        }
        if format.swap {
            to.chunks_exact_mut(format.number).for_each(<[u8]>::reverse);
        }
    }
}

/// Reverses the bytes of contiguous numbers.
struct SwapLoop<'a, const N: usize> {
    from: &'a [u8],
    to: &'a mut [u8],
}

impl<const N: usize> Job for SwapLoop<'_, N> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let from: &[[u8; N]] = as_chunks(self.from);
        let to: &mut [[u8; N]] = as_chunks_mut(self.to);
        for (to, from) in to.iter_mut().zip(from) {
            *to = swap_bytes::<N, N>(*from);
        }
    }
}

/// Gathers strided elements of `N` bytes, made of numbers of `M` bytes.
struct GatherLoop<'a, const N: usize, const M: usize> {
    from: &'a [u8],
    stride: usize,
    to: &'a mut [u8],
}

impl<const N: usize, const M: usize> Job for GatherLoop<'_, N, M> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let to: &mut [[u8; N]] = as_chunks_mut(self.to);
        // The last element may not be followed by a whole stride.
        let Some((last, to)) = to.split_last_mut() else { return };
        let count = to.len();
        match self.stride / N {
            // With constant strides the compiler can use shuffles.
            2 if self.stride % N == 0 => gather_every::<N, M, 2>(self.from, to),
            3 if self.stride % N == 0 => gather_every::<N, M, 3>(self.from, to),
            4 if self.stride % N == 0 => gather_every::<N, M, 4>(self.from, to),
            _ => {
                for (to, from) in to.iter_mut().zip(self.from.chunks_exact(self.stride)) {
                    if let Some(from) = from.first_chunk::<N>() {
                        *to = swap_bytes::<N, M>(*from);
                    }
                }
            }
        }
        let end = self.from.get(count * self.stride..).and_then(|end| end.first_chunk::<N>());
        if let Some(end) = end {
            *last = swap_bytes::<N, M>(*end);
        }
    }
}

/// Gathers every `K`th element.
#[inline(always)]
fn gather_every<const N: usize, const M: usize, const K: usize>(from: &[u8], to: &mut [[u8; N]]) {
    let from: &[[[u8; N]; K]] = as_chunks(from);
    for (to, from) in to.iter_mut().zip(from) {
        if let Some(from) = from.first() {
            *to = swap_bytes::<N, M>(*from);
        }
    }
}

/// Reverses the bytes of each number in an element: one instruction a number,
/// or less if vectorized.
#[inline(always)]
pub(super) fn swap_bytes<const N: usize, const M: usize>(mut element: [u8; N]) -> [u8; N] {
    if M > 1 {
        for number in element.chunks_exact_mut(M) {
            number.reverse();
        }
    }
    element
}

/// The bytes as a slice of `T`, without an incomplete value at the end.
#[inline(always)]
pub(super) fn as_chunks<T: bytemuck::AnyBitPattern>(bytes: &[u8]) -> &[T] {
    let len = bytes.len() - bytes.len() % size_of::<T>();
    bytemuck::try_cast_slice(bytes.get(..len).invariant(IN_BUFFER))
        .invariant("the length is a multiple of the size")
}

/// The mutable counterpart of [`as_chunks`].
#[inline(always)]
pub(super) fn as_chunks_mut<T: bytemuck::Pod>(bytes: &mut [u8]) -> &mut [T] {
    let len = bytes.len() - bytes.len() % size_of::<T>();
    bytemuck::try_cast_slice_mut(bytes.get_mut(..len).invariant(IN_BUFFER))
        .invariant("the length is a multiple of the size")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::cpu::tests::both_ways;

    #[test]
    fn copies_equal_those_made_one_by_one() {
        let from: Vec<u8> = (0..=250).cycle().take(13_000).collect();
        let formats = [1, 2, 4, 8]
            .into_iter()
            .flat_map(|number| [1, 2, 3, 4, 5, 8, 16].map(|count| (number * count, number)));
        let formats: Vec<_> = formats.collect();
        both_ways(|| {
            for &(size, number) in &formats {
                for swap in [false, true] {
                    let format = ElementFormat { size, number, swap };
                    for (stride, count) in
                        [(0, 0), (0, 1), (0, 9), (0, 100), (1, 50), (size, 33), (3 * size, 20)]
                    {
                        let stride = size + stride;
                        let end = count * stride - if count == 0 { 0 } else { stride - size };
                        let mut found = vec![0; count * size];
                        let mut expected = found.clone();
                        copy(format, &from[..end], stride, &mut found);
                        copy_each(format, &from[..end], stride, &mut expected);
                        assert_eq!(found, expected, "{format:?} {stride} {count}");
                    }
                }
            }
        });
    }

    #[test]
    fn bytes_of_numbers_are_reversed() {
        let format = ElementFormat { size: 8, number: 4, swap: true };
        let mut to = [0; 8];
        copy(format, &[1, 2, 3, 4, 5, 6, 7, 8], 8, &mut to);
        assert_eq!(to, [4, 3, 2, 1, 8, 7, 6, 5]);
    }
}

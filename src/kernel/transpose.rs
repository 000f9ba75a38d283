//! Copies a plane that is contiguous along one axis into a buffer that is
//! contiguous along the other.
//!
//! Element by element, either each read or each write would fetch a cache line
//! for a single element. Instead, a tile that fits in the second-level cache is
//! filled and emptied in whole cache lines.
#![expect(clippy::inline_always, reason = "only inlined code is compiled for AVX2")]

use std::marker::PhantomData;

use bytemuck::Pod;

use super::{ElementFormat, Job, copy, prefetch, run, stream};
use crate::error::invariant::{IN_BUFFER, Invariant};
use crate::layout::offsets::{advance, signed};

/// The height of a tile: a few cache lines per column of `from`.
const HEIGHT: usize = 128;

/// The width of a tile. Its rows are written whole.
const WIDTH: usize = 256;

/// The elements from one row of a tile to the next. With a power of two, a
/// column would map to only a few sets of the first-level cache.
const STRIDE: usize = WIDTH + 8;

/// The size of a cache line in bytes.
const LINE: usize = 64;

/// The number of columns read together, one cache line at a time.
const SIDE: usize = 8;

/// The side of the squares transposed in registers.
const SQUARE: usize = 4;

/// The size in bytes of targets that are written past the caches, which cannot hold
/// them. Large transposing copies took 0.7 to 0.95 of the time, and 0.3 with two bytes
/// per element.
const STREAMED: usize = if cfg!(test) { 64 << 10 } else { 32 << 20 };

/// The location of a plane in the source and in the destination.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plane {
    /// The number of rows and of columns. Elements are close together in `from`
    /// along a column, and contiguous in `to` along a row.
    pub(crate) dims: [usize; 2],
    /// The offset of the first element in `from`.
    pub(crate) start: usize,
    /// The bytes from one row, and from one column, to the next in `from`.
    pub(crate) strides: [isize; 2],
    /// The offset of the first element in `to`.
    pub(crate) to_start: usize,
    /// The bytes from one row to the next in `to`.
    pub(crate) to_stride: usize,
}

/// Copies a plane; false if the element size is not supported.
///
/// One loop for each size is enough: bytes are swapped when a tile is emptied.
/// Only numbers of four bytes take fewer instructions if they are swapped before.
///
/// `scratch` is memory that the next plane can use again.
#[inline]
pub(crate) fn transpose(
    format: ElementFormat,
    from: &[u8],
    plane: Plane,
    to: &mut [u8],
    scratch: &mut Vec<u128>,
) -> bool {
    let needed = (HEIGHT * STRIDE * format.size + LINE).div_ceil(size_of::<u128>());
    if scratch.len() < needed {
        scratch.resize(needed, 0);
    }
    let to = (to, scratch.as_mut_slice());
    match (format.size, format.swap_width()) {
        (1, _) => run(TransposeLoop::new(format, from, plane, to, |x: u8| x)),
        (2, _) => run(TransposeLoop::new(format, from, plane, to, |x: u16| x)),
        (4, 4) => {
            let swapped = ElementFormat::opaque(4);
            run(TransposeLoop::new(swapped, from, plane, to, u32::swap_bytes));
        }
        (4, _) => run(TransposeLoop::new(format, from, plane, to, |x: u32| x)),
        (8, _) => run(TransposeLoop::new(format, from, plane, to, |x: u64| x)),
        // An element fills a register, so AVX2 would gain nothing.
        (16, _) => TransposeLoop::new(format, from, plane, to, |x: u128| x).run(),
        _ => return false,
    }
    true
}

/// Copies a plane of elements as large as `W`, applying `map` to each. `format`
/// describes the mapped elements.
struct TransposeLoop<'a, W, F> {
    format: ElementFormat,
    from: &'a [u8],
    plane: Plane,
    to: &'a mut [u8],
    map: F,
    scratch: &'a mut [u128],
    word: PhantomData<W>,
}

impl<'a, W: Pod, F: Fn(W) -> W> TransposeLoop<'a, W, F> {
    fn new(
        format: ElementFormat,
        from: &'a [u8],
        plane: Plane,
        (to, scratch): (&'a mut [u8], &'a mut [u128]),
        map: F,
    ) -> Self {
        TransposeLoop { format, from, plane, to, map, scratch, word: PhantomData }
    }
}

impl<W: Pod, F: Fn(W) -> W> Job for TransposeLoop<'_, W, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let TransposeLoop { format, from, plane, to, map, scratch, .. } = self;
        let [rows, columns] = plane.dims;
        let buffer: &mut [W] = bytemuck::cast_slice_mut(scratch);
        // The tile starts at a cache line: squares across two lines would take
        // two stores a row.
        let skipped = buffer.as_ptr().align_offset(LINE).min(LINE / size_of::<W>());
        let tile = buffer.get_mut(skipped..skipped + HEIGHT * STRIDE);
        let tile: &mut [[W; STRIDE]] = bytemuck::cast_slice_mut(tile.invariant(IN_BUFFER));
        let is_large = to.len() >= STREAMED;
        for left in (0..columns).step_by(WIDTH) {
            let width = WIDTH.min(columns - left);
            for top in (0..rows).step_by(HEIGHT) {
                let height = HEIGHT.min(rows - top);
                for column in (0..width).step_by(SIDE) {
                    let blocks = tile.chunks_exact_mut(SIDE).take(height.div_ceil(SIDE));
                    for (i, lines) in blocks.enumerate() {
                        let row = top + SIDE * i;
                        prefetch_block::<W>(
                            from,
                            plane.offset_of(row, left + column + SIDE),
                            plane.strides[1],
                        );
                        let start = plane.offset_of(row, left + column);
                        transpose_block(from, start, plane.strides, column, lines, &map);
                    }
                }
                let first = plane.to_start + top * plane.to_stride + left * size_of::<W>();
                let rows = to.get_mut(first..).unwrap_or_default().chunks_mut(plane.to_stride);
                let rows = tile.iter().take(height).zip(rows).filter_map(|(line, to)| {
                    let line = line.get(..width).map_or(&[][..], bytemuck::cast_slice);
                    Some((line, to.get_mut(..line.len())?))
                });
                if is_large && width == WIDTH && !format.swap {
                    stream(rows);
                    continue;
                }
                for (line, to) in rows {
                    if format.swap {
                        copy(format, line, format.size, to);
                    } else {
                        to.copy_from_slice(line);
                    }
                }
            }
        }
    }
}

impl Plane {
    #[inline(always)]
    fn offset_of(&self, row: usize, column: usize) -> usize {
        let [down, across] = self.strides;
        advance(advance(self.start, row, down), column, across)
    }
}

/// Prefetches the block to the right, which is transposed after all blocks
/// below this one. It saves a sixth of the time.
#[inline(always)]
fn prefetch_block<W>(from: &[u8], start: usize, across: isize) {
    let mut at = start;
    for _ in 0..SIDE {
        prefetch(from.get(at..at.wrapping_add(size_of::<[W; SIDE]>())).unwrap_or_default());
        at = at.wrapping_add_signed(across);
    }
}

/// Transposes a block of `SIDE` rows and columns into the tile. Elements of the
/// block beyond the end of the plane have arbitrary values and are never copied
/// out of the tile.
#[inline(always)]
fn transpose_block<W: Pod>(
    from: &[u8],
    start: usize,
    [down, across]: [isize; 2],
    column: usize,
    lines: &mut [[W; STRIDE]],
    map: impl Fn(W) -> W,
) {
    let copied: [[W; SIDE]; SIDE];
    let columns = match contiguous_columns::<W>(from, start, across) {
        Some(columns) if down == signed(size_of::<W>()) => columns,
        _ => {
            copied = read_strided(from, start, [down, across]);
            copied.each_ref().map(bytemuck::bytes_of)
        }
    };
    for (left, columns) in (column..).step_by(SQUARE).zip(columns.chunks_exact(SQUARE)) {
        for (top, lines) in lines.chunks_exact_mut(SQUARE).enumerate() {
            transpose_square(columns, top, left, lines, &map);
        }
    }
}

/// Transposes a square of `SQUARE` rows and columns.
#[inline(always)]
fn transpose_square<W: Pod>(
    columns: &[&[u8]],
    top: usize,
    left: usize,
    lines: &mut [[W; STRIDE]],
    map: impl Fn(W) -> W,
) {
    let mut elements = [[W::zeroed(); SQUARE]; SQUARE];
    for (elements, column) in elements.iter_mut().zip(columns) {
        if let Some(bytes) = column.chunks_exact(size_of::<[W; SQUARE]>()).nth(top) {
            *elements = bytemuck::pod_read_unaligned(bytes);
        }
    }
    for (row, line) in lines.iter_mut().enumerate() {
        let line = line.get_mut(left..).and_then(|line| line.first_chunk_mut::<SQUARE>());
        let Some(line) = line else { return };
        for (to, column) in line.iter_mut().zip(&elements) {
            if let Some(element) = column.get(row) {
                *to = map(*element);
            }
        }
    }
}

/// The bytes of `SIDE` columns with `SIDE` contiguous elements each. All ranges
/// are checked before any element is read: without branches in between, the
/// compiler reads each column with one instruction.
#[inline(always)]
fn contiguous_columns<W>(from: &[u8], start: usize, across: isize) -> Option<[&[u8]; SIDE]> {
    let mut columns = [from; SIDE];
    let mut at = start;
    for column in &mut columns {
        *column = from.get(at..at.wrapping_add(size_of::<[W; SIDE]>()))?;
        at = at.wrapping_add_signed(across);
    }
    Some(columns)
}

/// Reads `SIDE` columns of elements with any strides.
fn read_strided<W: Pod>(
    from: &[u8],
    start: usize,
    [down, across]: [isize; 2],
) -> [[W; SIDE]; SIDE] {
    let mut columns = [[W::zeroed(); SIDE]; SIDE];
    for (i, column) in columns.iter_mut().enumerate() {
        let mut at = advance(start, i, across);
        for element in column {
            if let Some(from) = from.get(at..at.wrapping_add(size_of::<W>())) {
                *element = bytemuck::pod_read_unaligned(from);
            }
            at = at.wrapping_add_signed(down);
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::cpu::tests::both_ways;

    /// Copies the elements one by one.
    fn copy_each(format: ElementFormat, from: &[u8], plane: Plane, to: &mut [u8]) {
        for row in 0..plane.dims[0] {
            for column in 0..plane.dims[1] {
                let at = plane.offset_of(row, column);
                let start = plane.to_start + row * plane.to_stride + column * format.size;
                let to = &mut to[start..start + format.size];
                crate::kernel::copy(format, &from[at..at + format.size], format.size, to);
            }
        }
    }

    #[test]
    fn planes_equal_those_copied_one_by_one() {
        let from: Vec<u8> = (0..=250).cycle().take(300 * 300 * 4).collect();
        let sizes = [(1, 1), (2, 2), (4, 4), (4, 2), (8, 8), (8, 4), (16, 8), (16, 4)];
        let dims = [[1, 1], [8, 8], [7, 9], [65, 3], [3, 257], [70, 260], [130, 40]];
        both_ways(|| {
            let mut scratch = Vec::new();
            for ((size, number), [rows, columns]) in
                sizes.into_iter().flat_map(|size| dims.map(|dims| (size, dims)))
            {
                for (swap, gap, reversed) in
                    [(false, 0, false), (true, 0, true), (true, 3, false), (false, 3, true)]
                {
                    let format = ElementFormat { size, number, swap };
                    let (down, across) = (size + gap, rows * (size + gap) + gap);
                    if columns * across > from.len() {
                        continue;
                    }
                    let (start, strides) = if reversed {
                        let start = (rows - 1) * down + (columns - 1) * across;
                        (start, [-signed(down), -signed(across)])
                    } else {
                        (0, [signed(down), signed(across)])
                    };
                    let to_stride = columns * size + 5;
                    let plane =
                        Plane { dims: [rows, columns], start, strides, to_start: 2, to_stride };
                    let mut found = vec![0xaa; 2 + rows * to_stride];
                    let mut expected = found.clone();
                    let from = &from[..columns * across];
                    assert!(transpose(format, from, plane, &mut found, &mut scratch));
                    copy_each(format, from, plane, &mut expected);
                    assert!(found == expected, "{format:?} {plane:?}");
                }
            }
        });
    }
}

//! Copies a plane whose elements lie together along one axis to where they
//! lie together along the other.
//!
//! Element by element, each read or each write would fetch a cache line for
//! one element. So a tile that fits the second cache is filled by whole lines
//! and emptied by whole lines.
#![expect(clippy::inline_always, reason = "what is not inlined is not compiled for AVX2")]

use std::marker::PhantomData;

use bytemuck::Pod;

use super::{ElementFormat, Job, prefetch, run};
use crate::error::invariant::{IN_BUFFER, Invariant};
use crate::layout::geometry::{advance, signed};

/// Rows of a tile, each a few cache lines of `from`.
const HEIGHT: usize = 128;

/// Columns of a tile, each row of which is written at once.
const WIDTH: usize = 256;

/// Places from one row of a tile to the next: of a power of two, the same
/// elements of all rows would stand in a few lines of the first cache.
const STRIDE: usize = WIDTH + 8;

/// A cache line, in bytes.
const LINE: usize = 64;

/// Columns that are read together, a cache line of each.
const SIDE: usize = 8;

/// Rows and columns that are turned at once: no more than the registers hold.
const QUAD: usize = 4;

/// Where the elements of a plane lie, and where they go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plane {
    /// Rows, along which elements lie close in `from`, and columns, along
    /// which they lie together in `to`.
    pub(crate) dims: [usize; 2],
    /// The first byte, and the bytes from one row and one column to the next.
    pub(crate) start: usize,
    pub(crate) strides: [isize; 2],
    /// The first byte in `to`, and the bytes from one row to the next.
    pub(crate) to_start: usize,
    pub(crate) to_stride: usize,
}

/// Copies a plane; false if there is no way for elements of that size.
pub(crate) fn transpose(format: ElementFormat, from: &[u8], plane: Plane, to: &mut [u8]) -> bool {
    match (format.size, format.swap_width()) {
        (1, _) => with(from, plane, to, |x: u8| x),
        (2, 1) => with(from, plane, to, |x: u16| x),
        (2, _) => with(from, plane, to, u16::swap_bytes),
        (4, 1) => with(from, plane, to, |x: u32| x),
        (4, _) => with(from, plane, to, u32::swap_bytes),
        (8, 1) => with(from, plane, to, |x: u64| x),
        (8, 4) => with(from, plane, to, |x: u64| x.swap_bytes().rotate_left(32)),
        (8, _) => with(from, plane, to, u64::swap_bytes),
        (16, 1) => with(from, plane, to, |x: u128| x),
        (16, 8) => with(from, plane, to, |x: u128| x.swap_bytes().rotate_left(64)),
        _ => return false,
    }
    true
}

/// Elements are moved as whole numbers, each turned by `turn`.
fn with<W: Pod>(from: &[u8], plane: Plane, to: &mut [u8], turn: impl Fn(W) -> W) {
    run(TransposeLoop { from, plane, to, turn, word: PhantomData });
}

struct TransposeLoop<'a, W, F> {
    from: &'a [u8],
    plane: Plane,
    to: &'a mut [u8],
    turn: F,
    word: PhantomData<W>,
}

impl<W: Pod, F: Fn(W) -> W> Job for TransposeLoop<'_, W, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let TransposeLoop { from, plane, to, turn, .. } = self;
        let [rows, columns] = plane.dims;
        let mut room: Vec<W> = bytemuck::zeroed_vec(HEIGHT * STRIDE + LINE / size_of::<W>());
        // Quads that lie across two cache lines take two stores.
        let skipped = room.as_ptr().align_offset(LINE).min(LINE / size_of::<W>());
        let tile = room.get_mut(skipped..skipped.saturating_add(HEIGHT * STRIDE));
        let tile: &mut [[W; STRIDE]] = bytemuck::cast_slice_mut(tile.invariant(IN_BUFFER));
        for left in (0..columns).step_by(WIDTH) {
            let width = WIDTH.min(columns - left);
            for top in (0..rows).step_by(HEIGHT) {
                let height = HEIGHT.min(rows - top);
                for column in (0..width).step_by(SIDE) {
                    for (i, lines) in tile.chunks_exact_mut(SIDE).enumerate() {
                        let row = top + SIDE * i;
                        fetch::<W>(from, plane.at(row, left + column + SIDE), plane.strides[1]);
                        let start = plane.at(row, left + column);
                        block(from, start, plane.strides, column, lines, &turn);
                    }
                }
                for (row, line) in tile.iter().take(height).enumerate() {
                    let start =
                        plane.to_start + (top + row) * plane.to_stride + left * size_of::<W>();
                    let line = line.get(..width).map_or(&[][..], bytemuck::cast_slice);
                    if let Some(to) = to.get_mut(start..start + line.len()) {
                        to.copy_from_slice(line);
                    }
                }
            }
        }
    }
}

impl Plane {
    #[inline(always)]
    fn at(&self, row: usize, column: usize) -> usize {
        let [down, across] = self.strides;
        advance(advance(self.start, row, down), column, across)
    }
}

/// Has memory bring the block to the right, which is turned after all below
/// this one: that saves a sixth of the time.
#[inline(always)]
fn fetch<W>(from: &[u8], start: usize, across: isize) {
    let mut at = start;
    for _ in 0..SIDE {
        prefetch(from.get(at..at.wrapping_add(size_of::<[W; SIDE]>())).unwrap_or_default());
        at = at.wrapping_add_signed(across);
    }
}

/// Turns a block of `SIDE` rows and columns. Where the plane ends in it, the
/// rest is not looked at later, whatever is read for it.
#[inline(always)]
fn block<W: Pod>(
    from: &[u8],
    start: usize,
    [down, across]: [isize; 2],
    column: usize,
    lines: &mut [[W; STRIDE]],
    turn: impl Fn(W) -> W,
) {
    let held: [[W; SIDE]; SIDE];
    let columns = match together::<W>(from, start, across) {
        Some(columns) if down == signed(size_of::<W>()) => columns,
        _ => {
            held = apart(from, start, [down, across]);
            held.each_ref().map(bytemuck::bytes_of)
        }
    };
    for (left, columns) in (column..).step_by(QUAD).zip(columns.chunks_exact(QUAD)) {
        for (top, lines) in lines.chunks_exact_mut(QUAD).enumerate() {
            quad(columns, top, left, lines, &turn);
        }
    }
}

/// Turns `QUAD` elements of as many columns into as many lines.
#[inline(always)]
fn quad<W: Pod>(
    columns: &[&[u8]],
    top: usize,
    left: usize,
    lines: &mut [[W; STRIDE]],
    turn: impl Fn(W) -> W,
) {
    let mut elements = [[W::zeroed(); QUAD]; QUAD];
    for (elements, column) in elements.iter_mut().zip(columns) {
        if let Some(bytes) = column.chunks_exact(size_of::<[W; QUAD]>()).nth(top) {
            *elements = bytemuck::pod_read_unaligned(bytes);
        }
    }
    for (row, line) in lines.iter_mut().enumerate() {
        let line = line.get_mut(left..).and_then(|line| line.first_chunk_mut::<QUAD>());
        let Some(line) = line else { return };
        for (to, column) in line.iter_mut().zip(&elements) {
            if let Some(element) = column.get(row) {
                *to = turn(*element);
            }
        }
    }
}

/// The bytes of `SIDE` columns of as many elements that lie together. They are
/// all found before one is read: without a branch in between, the compiler
/// reads each with one instruction.
#[inline(always)]
fn together<W>(from: &[u8], start: usize, across: isize) -> Option<[&[u8]; SIDE]> {
    let mut columns = [from; SIDE];
    let mut at = start;
    for column in &mut columns {
        *column = from.get(at..at.wrapping_add(size_of::<[W; SIDE]>()))?;
        at = at.wrapping_add_signed(across);
    }
    Some(columns)
}

/// Reads `SIDE` columns of elements that may lie anywhere.
fn apart<W: Pod>(from: &[u8], start: usize, [down, across]: [isize; 2]) -> [[W; SIDE]; SIDE] {
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

    /// Copies one element after the other.
    fn one_by_one(format: ElementFormat, from: &[u8], plane: Plane, to: &mut [u8]) {
        for row in 0..plane.dims[0] {
            for column in 0..plane.dims[1] {
                let at = plane.at(row, column);
                let start = plane.to_start + row * plane.to_stride + column * format.size;
                let to = &mut to[start..start + format.size];
                crate::kernel::copy(format, &from[at..at + format.size], format.size, to);
            }
        }
    }

    #[test]
    fn planes_are_those_copied_one_by_one() {
        let from: Vec<u8> = (0..=250).cycle().take(300 * 300 * 4).collect();
        let sizes = [(1, 1), (2, 2), (4, 4), (8, 8), (8, 4), (16, 8)];
        let dims = [[1, 1], [8, 8], [7, 9], [65, 3], [3, 257], [70, 260], [130, 40]];
        both_ways(|| {
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
                    assert!(transpose(format, &from[..columns * across], plane, &mut found));
                    one_by_one(format, &from, plane, &mut expected);
                    assert!(found == expected, "{format:?} {plane:?}");
                }
            }
        });
    }
}

//! The tiles for copying an array to another memory order.

use crate::layout::axes::Axes;
use crate::layout::geometry::Geometry;
use crate::layout::offsets::nbytes;
use crate::source::platform;

/// The usual size of a tile, in bytes.
const USUAL: usize = 64 << 20;

/// The largest size of a tile, unless more is requested.
const LARGEST: usize = 1 << 30;

/// The smallest size of a tile, unless less is requested.
const SMALLEST: usize = 1 << 20;

/// Tiles may be larger than usual to make runs of adjacent bytes this long: four
/// pages, so that most pages belong to one tile.
const LONG_RUN: usize = 16 << 10;

/// The parts to copy, in C order of the target's axes, sorted by decreasing
/// stride. All have the same shape, except at the end of an axis.
#[derive(Clone, Debug)]
pub(super) struct Tiles {
    shape: Axes<usize>,
    pub(super) tile: Vec<usize>,
    /// The next tile. Returns `None` at the end.
    next: Option<Vec<usize>>,
}

impl Tiles {
    /// Splits an array with the geometry `from`, with its axes in the target's
    /// order. `itemsize` belongs to the larger elements. Without a limit for
    /// the memory of all threads, the tiles are as large as is useful.
    #[inline]
    pub(super) fn new(
        from: &Geometry,
        itemsize: usize,
        memory: Option<usize>,
        threads: usize,
    ) -> Tiles {
        let threads = threads.max(1);
        let tile = match memory {
            None if nbytes(from.len(), itemsize) <= SMALLEST => from.shape.to_vec(),
            Some(memory) => tile_shape(from, memory / threads / itemsize.max(1)),
            None => useful_shape(from, itemsize, largest_size() / threads),
        };
        let next = (!from.is_empty()).then(|| vec![0; tile.len()]);
        Tiles { shape: from.shape.clone(), tile, next }
    }
}

/// Each tile's first element, by index.
impl Iterator for Tiles {
    type Item = Vec<usize>;

    #[inline]
    fn next(&mut self) -> Option<Vec<usize>> {
        let index = self.next.take()?;
        let mut after = index.clone();
        for ((at, &len), &dim) in after.iter_mut().zip(&self.tile).zip(&self.shape).rev() {
            *at += len;
            if *at < dim {
                self.next = Some(after);
                break;
            }
            *at = 0;
        }
        Some(index)
    }
}

/// The part of a geometry that the tile at `index` covers, shorter at the end of an
/// axis.
#[inline]
pub(super) fn part_at(geometry: &Geometry, index: &[usize], tile: &[usize]) -> Geometry {
    let axes = index.iter().zip(tile).zip(&geometry.shape).enumerate();
    axes.fold(geometry.clone(), |part, (axis, ((&at, &len), &dim))| {
        part.axis_range(axis, at, len.min(dim - at))
    })
}

/// The most bytes of all tiles that are in memory at a time.
#[inline]
fn largest_size() -> usize {
    let available = platform::available_memory();
    let part = available.and_then(|nbytes| usize::try_from(nbytes / 8).ok());
    part.unwrap_or(USUAL).clamp(SMALLEST, LARGEST)
}

/// The shape of normal tiles, or of larger tiles if runs would be short.
#[inline]
fn useful_shape(from: &Geometry, itemsize: usize, largest: usize) -> Vec<usize> {
    let itemsize = itemsize.max(1);
    let mut size = USUAL.min(largest);
    loop {
        let tile = tile_shape(from, size / itemsize);
        let (read, written) = (read_order(from), written_order(from));
        let shortest = run_len(from, &tile, &read).min(run_len(from, &tile, &written));
        if shortest * itemsize >= LONG_RUN || size >= largest {
            return tile;
        }
        size = (2 * size).min(largest);
    }
}

/// The axes by increasing distance of elements in `from`.
#[inline]
fn read_order(from: &Geometry) -> Vec<usize> {
    let mut order = from.axes_by_stride().to_vec();
    order.reverse();
    order
}

/// The axes by increasing distance of elements in the target.
#[inline]
fn written_order(from: &Geometry) -> Vec<usize> {
    (0..from.ndim()).rev().collect()
}

/// The shape of tiles with at most `elements` elements, but at least one, and
/// with runs of adjacent elements that are about equally long in both arrays.
#[inline]
fn tile_shape(from: &Geometry, elements: usize) -> Vec<usize> {
    let (read, written) = (read_order(from), written_order(from));
    let mut tile = vec![1; from.ndim()];
    loop {
        let is_read = run_len(from, &tile, &read) <= run_len(from, &tile, &written);
        let orders = if is_read { [&read, &written] } else { [&written, &read] };
        if !orders.into_iter().any(|order| grow(from, &mut tile, order, elements)) {
            return tile;
        }
    }
}

/// How many elements in a tile are adjacent, in an order of axes.
#[inline]
fn run_len(from: &Geometry, tile: &[usize], order: &[usize]) -> usize {
    let mut len = 1_usize;
    for &axis in order {
        len *= length(tile, axis);
        if length(tile, axis) < length(&from.shape, axis) {
            break;
        }
    }
    len
}

/// Makes the runs in an order of axes up to twice as long; `false` if they cannot
/// grow.
#[inline]
fn grow(from: &Geometry, tile: &mut [usize], order: &[usize], elements: usize) -> bool {
    let mut unfilled = order.iter().copied();
    let Some(axis) = unfilled.find(|&axis| length(tile, axis) < length(&from.shape, axis)) else {
        return false;
    };
    let len = length(tile, axis);
    let across = tile.iter().product::<usize>() / len.max(1);
    let longer = (2 * len).min(length(&from.shape, axis)).min(elements / across.max(1));
    if longer <= len {
        return false;
    }
    if let Some(own) = tile.get_mut(axis) {
        *own = longer;
    }
    true
}

#[inline]
fn length(shape: &[usize], axis: usize) -> usize {
    shape.get(axis).copied().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::offsets::signed;
    use std::collections::HashSet;

    fn geometry(shape: &[usize], strides: &[isize]) -> Geometry {
        Geometry {
            offset: 0,
            shape: shape.iter().copied().collect(),
            strides: strides.iter().copied().collect(),
        }
    }

    /// An array in Fortran order.
    fn fortran(shape: &[usize], itemsize: usize) -> Geometry {
        let before = (0..shape.len()).map(|axis| shape[..axis].iter().product::<usize>());
        let strides: Vec<isize> = before.map(|count| signed(count * itemsize)).collect();
        geometry(shape, &strides)
    }

    #[test]
    fn runs_of_tiles_are_equally_long_in_both_arrays() {
        for (shape, expected) in [
            (&[10_000, 10_000][..], &[1024, 1024][..]),
            (&[10_000, 3], &[10_000, 3]),
            (&[3, 1_000_000], &[3, 349_525]),
            (&[100, 5000, 5000], &[100, 10, 1048]),
            (&[7], &[7]),
            (&[], &[]),
        ] {
            assert_eq!(tile_shape(&fortran(shape, 8), 1 << 20), expected);
        }
        assert_eq!(tile_shape(&fortran(&[9, 9], 8), 0), [1, 1]);
    }

    #[test]
    fn every_element_is_in_one_tile() {
        for shape in [&[7, 5, 3][..], &[1, 9], &[64], &[], &[0, 4]] {
            let from = fortran(shape, 1);
            for memory in [1, 4, 10, 1000] {
                let mut tiles = Tiles::new(&from, 1, Some(memory), 1);
                let mut seen = HashSet::new();
                while let Some(index) = tiles.next() {
                    let part = part_at(&from, &index, &tiles.tile);
                    assert!(part.len() <= memory, "{shape:?} {memory}");
                    for (start, len) in part.byte_runs(1) {
                        assert!((start..start + len).all(|at| seen.insert(at)), "{shape:?}");
                    }
                }
                assert_eq!(seen.len(), from.len(), "{shape:?} {memory}");
            }
        }
    }

    #[test]
    fn tiles_are_larger_than_usual_only_if_runs_would_be_short() {
        for (itemsize, largest, expected) in [
            (8, 1 << 30, USUAL),
            (1, 1 << 30, 256 << 20),
            (1, 100 << 20, 100 << 20),
            (8, 2 << 20, 2 << 20),
        ] {
            let from = fortran(&[1 << 20, 1 << 20], itemsize);
            let tile = useful_shape(&from, itemsize, largest);
            assert_eq!(tile.iter().product::<usize>() * itemsize, expected);
        }
    }

    /// How often 100 pages are touched on average, if none stays in memory from one
    /// tile to the next.
    fn visits(geometry: &Geometry, itemsize: usize, tiles: &[Vec<usize>], tile: &[usize]) -> usize {
        let mut visits = 0;
        for index in tiles {
            let part = part_at(geometry, index, tile);
            let runs = part.memory_order().byte_runs(itemsize).collect::<Vec<_>>();
            let pages: HashSet<usize> = runs
                .iter()
                .flat_map(|(start, len)| start / 4096..=(start + len - 1) / 4096)
                .collect();
            visits += pages.len();
        }
        100 * visits / geometry.span(itemsize).len().div_ceil(4096)
    }

    #[test]
    fn each_page_is_read_and_written_once_or_twice() {
        // 16 MiB in tiles of 2 MiB.
        for (shape, itemsize) in [
            (&[1500, 1400][..], 8),
            (&[1 << 20, 2], 8),
            (&[2, 1 << 20], 8),
            (&[30, 70, 1000], 8),
            (&[1000, 70, 30], 8),
            (&[128, 128, 128], 8),
            (&[40, 30, 20, 90], 8),
            (&[2000, 2000], 4),
        ] {
            let from = fortran(shape, itemsize);
            let to: Vec<isize> =
                fortran(&shape.iter().rev().copied().collect::<Vec<_>>(), itemsize)
                    .strides
                    .iter()
                    .rev()
                    .copied()
                    .collect();
            let to = geometry(shape, &to);
            let mut tiles = Tiles::new(&from, itemsize, Some(4 << 20), 1);
            let all: Vec<Vec<usize>> = tiles.by_ref().collect();
            for side in [&from, &to] {
                let visits = visits(side, itemsize, &all, &tiles.tile);
                assert!(visits < 210, "{shape:?}: {visits}");
            }
        }
    }
}

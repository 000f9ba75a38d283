//! Copies a plane whose elements lie together along one axis to where they
//! lie together along the other.
//!
//! Element by element, each read or each write would fetch a cache line for
//! one element. So a tile that fits the first cache is filled by whole lines
//! and emptied by whole lines.
#![expect(clippy::inline_always, reason = "what is not inlined is not compiled for AVX2")]

use super::copy::{turned, whole_mut};
use super::{Job, Part, run};

/// Bytes of a tile along the axis that is read: two lines, which the
/// processor fetches together.
const READ: usize = 128;

/// Elements of a tile along the axis that is written.
const WRITTEN: usize = 128;

/// Where the elements of a plane lie, and where they go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plane {
    /// Elements along the axis that lies together in `from`, and along the
    /// other, which lies together in `to`.
    pub(crate) dims: [usize; 2],
    /// The first byte, and the bytes from one element to the next along each
    /// axis.
    pub(crate) start: usize,
    pub(crate) strides: [isize; 2],
    /// The first byte in `to`, and the bytes from one element to the next
    /// along the first axis.
    pub(crate) to_start: usize,
    pub(crate) to_stride: usize,
}

/// Copies a plane; false if there is no way for elements of that size.
pub(crate) fn transpose(part: Part, from: &[u8], plane: Plane, to: &mut [u8]) -> bool {
    match (part.size, part.turned()) {
        (1, _) => run(Transpose::<1, 1> { from, plane, to }),
        (2, 1) => run(Transpose::<2, 1> { from, plane, to }),
        (2, _) => run(Transpose::<2, 2> { from, plane, to }),
        (4, 1) => run(Transpose::<4, 1> { from, plane, to }),
        (4, _) => run(Transpose::<4, 4> { from, plane, to }),
        (8, 1) => run(Transpose::<8, 1> { from, plane, to }),
        (8, 4) => run(Transpose::<8, 4> { from, plane, to }),
        (8, _) => run(Transpose::<8, 8> { from, plane, to }),
        (16, 1) => run(Transpose::<16, 1> { from, plane, to }),
        (16, 8) => run(Transpose::<16, 8> { from, plane, to }),
        _ => return false,
    }
    true
}

struct Transpose<'a, const N: usize, const M: usize> {
    from: &'a [u8],
    plane: Plane,
    to: &'a mut [u8],
}

impl<const N: usize, const M: usize> Job for Transpose<'_, N, M> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Transpose { from, plane, to } = self;
        let [rows, columns] = plane.dims;
        let height = READ / N;
        let mut tile = vec![[0; N]; height * WRITTEN];
        for left in (0..columns).step_by(WRITTEN) {
            let width = WRITTEN.min(columns - left);
            for top in (0..rows).step_by(height) {
                let height = height.min(rows - top);
                for column in 0..width {
                    let start = plane.at(top, left + column);
                    let places = tile.iter_mut().skip(column).step_by(WRITTEN).take(height);
                    fill::<N, M>(places, from, start, plane.strides[0]);
                }
                for (row, line) in tile.chunks_exact(WRITTEN).take(height).enumerate() {
                    let start = plane.to_start + (top + row) * plane.to_stride + left * N;
                    let end = start + width * N;
                    let to: &mut [[u8; N]] = whole_mut(to.get_mut(start..end).unwrap_or_default());
                    if let Some(line) = line.get(..to.len()) {
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
        crate::geometry::advance(crate::geometry::advance(self.start, row, down), column, across)
    }
}

/// Reads elements `stride` bytes apart to places.
#[inline(always)]
fn fill<'t, const N: usize, const M: usize>(
    places: impl Iterator<Item = &'t mut [u8; N]>,
    from: &[u8],
    start: usize,
    stride: isize,
) {
    let mut at = start;
    for place in places {
        if let Some(element) = from.get(at..).and_then(|rest| rest.first_chunk::<N>()) {
            *place = turned::<N, M>(*element);
        }
        at = at.wrapping_add_signed(stride);
    }
}

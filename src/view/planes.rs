//! Copies of elements that are contiguous along an axis other than the last.

use crate::kernel::{self, ElementFormat, Plane};
use crate::layout::axes::Axes;
use crate::layout::geometry::Geometry;
use crate::layout::offsets::signed;

/// Planes narrower than this are copied run by run.
const NARROW: usize = 8;

/// Copies all elements in C order, plane by plane, and returns true; returns
/// false if copying run by run is faster. The axes of `geometry` are merged.
#[inline]
pub(super) fn transpose(
    format: ElementFormat,
    from: &[u8],
    geometry: &Geometry,
    to: &mut [u8],
) -> bool {
    let strides = geometry.strides.iter().map(|stride| stride.unsigned_abs());
    let Some((down, _)) = strides.enumerate().min_by_key(|(_, stride)| *stride) else {
        return false;
    };
    let across = geometry.ndim() - 1;
    if down == across
        || is_narrow(geometry, down)
        || is_narrow(geometry, across)
        || format.size > 16
    {
        return false;
    }
    let Some(own) = in_c_order(geometry, format.size) else { return false };
    let (Some((planes, [rows, columns])), Some((own_planes, [own_rows, _]))) =
        (geometry.planes(down, across), own.planes(down, across))
    else {
        return false;
    };
    let mut scratch = Vec::new();
    planes.element_offsets().zip(own_planes.element_offsets()).all(|(start, to_start)| {
        let plane = Plane {
            dims: [rows.0, columns.0],
            start,
            strides: [rows.1, columns.1],
            to_start,
            to_stride: own_rows.1.unsigned_abs(),
        };
        kernel::transpose(format, from, plane, to, &mut scratch)
    })
}

#[inline]
fn is_narrow(geometry: &Geometry, axis: usize) -> bool {
    geometry.shape.get(axis).is_none_or(|&dim| dim < NARROW)
}

/// A contiguous geometry of the same shape. Returns `None` if it is too large.
#[inline]
fn in_c_order(geometry: &Geometry, itemsize: usize) -> Option<Geometry> {
    let mut stride = signed(itemsize);
    let mut strides: Axes<isize> = Axes::new();
    for &dim in geometry.shape.iter().rev() {
        strides.push(stride);
        stride = stride.checked_mul(signed(dim))?;
    }
    strides.reverse();
    Some(Geometry { offset: 0, shape: geometry.shape.clone(), strides })
}

impl Geometry {
    /// Removes two axes, and returns their lengths and strides. `down` comes before
    /// `across`.
    #[inline]
    fn planes(&self, down: usize, across: usize) -> Option<(Geometry, [(usize, isize); 2])> {
        let (rest, columns, apart) = self.remove_axis(across).ok()?;
        let (rest, rows, below) = rest.remove_axis(down).ok()?;
        Some((rest, [(rows, below), (columns, apart)]))
    }

    /// The first byte of each element, in C order.
    #[inline]
    pub(super) fn element_offsets(&self) -> impl Iterator<Item = usize> + '_ {
        self.runs().flat_map(|run| {
            (0..run.count).map(move |i| crate::layout::offsets::advance(run.start, i, run.stride))
        })
    }
}

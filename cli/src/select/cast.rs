//! Casts arrays to another dtype, in steps that report progress.

use npymap::ndarray::{Axis, Slice, SliceInfoElem};
use npymap::view::{DynView, DynViewMut};
use npymap::{Result, array::Outline, element::Casting};

use crate::input::lengths::to_isize;

/// The size of blocks, in bytes.
const STEP: usize = 32 << 20;

/// Casts all elements to the dtype of `to`, along its slowest axis, and calls
/// `progress` with the number of bytes of `from` after each step.
pub(crate) fn copy(
    from: &DynView<'_>,
    to: &mut DynViewMut<'_>,
    casting: Casting,
    progress: &mut impl FnMut(usize),
) -> Result<()> {
    // There may be too many zero-size elements to iterate over.
    if from.is_empty() || to.as_view().itemsize() == 0 {
        return to.assign_as(from, casting);
    }
    let strides = to.byte_strides().iter().enumerate();
    let Some((axis, _)) = strides.rev().max_by_key(|(_, stride)| stride.unsigned_abs()) else {
        return to.assign_as(from, casting);
    };
    let dim = from.shape().get(axis).copied().unwrap_or(1);
    let stride = (from.len() / dim.max(1) * from.itemsize()).max(1);
    let step = (STEP / stride).max(1);
    for start in (0..dim).step_by(step) {
        let range = axis_range(from.ndim(), Axis(axis), start, step.min(dim - start));
        to.reborrow().slice(&range)?.assign_as(&from.slice(&range)?, casting)?;
        progress(step.min(dim - start) * stride);
    }
    Ok(())
}

/// Copies elements as NumPy's `take` and `concatenate` do: of the same dtype whole, with
/// their bytes that belong to no field.
pub(crate) fn copy_whole(to: DynViewMut<'_>, from: &DynView<'_>, casting: Casting) -> Result<()> {
    let (own, size) = (to.as_view().dtype().clone(), from.itemsize());
    if own != *from.dtype() || size == 0 {
        let mut to = to;
        return to.assign_as(from, casting);
    }
    let bytes = format!("|V{size}").parse()?;
    to.view_as(&bytes)?.assign_as(&from.view_as(&bytes)?, Casting::No)
}

/// Calls `visit` with blocks of elements, of a bounded size, along their first axis.
pub(crate) fn in_blocks(
    all: &Outline<'_>,
    visit: &mut dyn FnMut(&Outline<'_>) -> Result<()>,
) -> Result<()> {
    if all.is_empty() || all.itemsize() == 0 {
        return Ok(());
    }
    let Some(dim) = all.shape().first().copied() else { return visit(all) };
    let row = (all.len() / dim * all.itemsize()).max(1);
    if row > STEP && all.ndim() > 1 {
        return (0..dim).try_for_each(|row| in_blocks(&all.index_axis(0, row)?, visit));
    }
    let step = (STEP / row).max(1);
    (0..dim).step_by(step).try_for_each(|start| {
        let block = axis_range(all.ndim(), Axis(0), start, step.min(dim - start));
        visit(&all.slice(block)?)
    })
}

/// A slice of one axis, with the other axes whole.
pub(crate) fn axis_range(ndim: usize, along: Axis, start: usize, len: usize) -> Vec<SliceInfoElem> {
    let range = Slice::new(to_isize(start), Some(to_isize(start + len)), 1);
    let whole = Slice::new(0, None, 1);
    (0..ndim).map(|axis| if axis == along.0 { range } else { whole }.into()).collect()
}

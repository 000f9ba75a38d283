//! Copies an array as another dtype, a part at a time.

use npymap::ndarray::{Axis, Slice, SliceInfoElem};
use npymap::{
    Result,
    element::Casting,
    view::{DynView, DynViewMut},
};

/// What is copied before progress is told, in bytes.
const PART: usize = 32 << 20;

/// Stores all elements as the dtype of `to`, along its slowest axis, and
/// tells how many bytes of `from` are done.
pub(crate) fn copy(
    from: &DynView<'_>,
    to: &mut DynViewMut<'_>,
    casting: Casting,
    done: &mut impl FnMut(usize),
) -> Result<()> {
    // Of elements of no bytes there may be more than can be counted through.
    if from.is_empty() || to.as_view().itemsize() == 0 {
        return to.assign_as(from, casting);
    }
    let strides = to.byte_strides().iter().enumerate();
    let Some((axis, _)) = strides.rev().max_by_key(|(_, stride)| stride.unsigned_abs()) else {
        return to.assign_as(from, casting);
    };
    let dim = from.shape().get(axis).copied().unwrap_or(1);
    let each = (from.len() / dim.max(1)).saturating_mul(from.itemsize()).max(1);
    let step = (PART / each).max(1);
    for start in (0..dim).step_by(step) {
        let part = part(from.ndim(), Axis(axis), start, step.min(dim - start));
        to.reborrow().try_slice(&part)?.assign_as(&from.try_slice(&part)?, casting)?;
        done(step.min(dim - start).saturating_mul(each));
    }
    Ok(())
}

/// A range of one axis, and the others whole.
pub(crate) fn part(ndim: usize, along: Axis, start: usize, len: usize) -> Vec<SliceInfoElem> {
    let signed = |n: usize| isize::try_from(n).unwrap_or(isize::MAX);
    let range = Slice::new(signed(start), Some(signed(start + len)), 1);
    let whole = Slice::new(0, None, 1);
    (0..ndim).map(|axis| if axis == along.0 { range } else { whole }.into()).collect()
}

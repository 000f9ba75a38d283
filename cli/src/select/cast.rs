//! Copies elements, and slices of one axis.

use npymap::ndarray::{Axis, SliceInfoElem};
use npymap::view::{DynView, DynViewMut};
use npymap::{Result, element::Casting};

use crate::input::row_blocks::{WHOLE, element};

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

/// A slice of one axis, with the other axes whole.
pub(crate) fn axis_range(ndim: usize, along: Axis, start: usize, len: usize) -> Vec<SliceInfoElem> {
    let range = element(start..start + len);
    (0..ndim).map(|axis| if axis == along.0 { range } else { WHOLE }).collect()
}

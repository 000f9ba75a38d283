//! Rows of different lengths: one array of all their elements, and one of their offsets.

use std::ops::Range;

use crate::array::{Array, out_of_bounds};
use crate::error::{Failure, Result};
use crate::status;

/// The positions of a row along the first axis of the data.
pub(crate) fn span(data: &Array, offsets: &Array, row: usize) -> Result<Range<usize>> {
    let (shape, ends) = (data.layout().shape(), offsets.layout().shape());
    let (Some(&len), &[count]) = (shape.first(), ends) else {
        let text = format!(
            "data of shape {shape:?} and offsets of shape {ends:?}: expected at least one axis, and exactly one"
        );
        return Err(Failure::new(status::NPYMAP_ERROR_SHAPE_MISMATCH, text));
    };
    let rows = count.saturating_sub(1);
    if row >= rows {
        return Err(out_of_bounds(&[row], &[rows]));
    }
    let (start, end) = (offset(offsets, row)?, offset(offsets, row + 1)?);
    let span = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    let span = span.map(|(start, end)| start..end);
    span.filter(|span| span.start <= span.end && span.end <= len).ok_or_else(|| {
        let text =
            format!("row {row} is from {start} to {end}: expected increasing offsets, up to {len}");
        Failure::new(status::NPYMAP_ERROR_CORRUPT, text)
    })
}

/// An offset as it is stored.
fn offset(offsets: &Array, at: usize) -> Result<i64> {
    let mut value = [0; 8];
    offsets.get(&[at], status::NPYMAP_INT64, &mut value)?;
    let is_little = cfg!(target_endian = "little");
    Ok(if is_little { i64::from_le_bytes(value) } else { i64::from_be_bytes(value) })
}

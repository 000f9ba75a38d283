//! Checks that values are rows, and brings them into the order of the file.

use ndarray::{ArrayRef, ArrayView, Dimension, IxDyn};

use crate::dtype::literal::tuple;
use crate::error::{Result, ShapeError};
use crate::layout::Order;
use crate::npy::Header;

/// How many rows an array is, and its elements in the order of the file.
///
/// It has as many axes as the file and any length along the growing one, or
/// is one row without that axis.
pub(super) fn rows<'a, T, D: Dimension>(
    array: &'a ArrayRef<T, D>,
    header: &Header,
    axis: usize,
) -> Result<(usize, ArrayView<'a, T, IxDyn>)> {
    let shape = array.shape();
    let others: Vec<usize> = without(&header.shape, axis);
    let count = if shape == others {
        Some(1)
    } else if shape.len() == header.shape.len() && without(shape, axis) == others {
        shape.get(axis).copied()
    } else {
        None
    };
    let Some(count) = count else {
        return Err(
            ShapeError::Rows { found: tuple(shape), expected: expected(header, axis) }.into()
        );
    };
    let elements = array.view().into_dyn();
    let elements = if header.order == Order::F { elements.reversed_axes() } else { elements };
    Ok((count, elements))
}

/// How many rows so many values or bytes are.
pub(super) fn count(
    len: usize,
    row: usize,
    what: &str,
    header: &Header,
    axis: usize,
) -> Result<usize> {
    let whole = len.checked_div(row).filter(|rows| rows * row == len);
    let whole = if row == 0 && len == 0 { Some(0) } else { whole };
    whole.ok_or_else(|| {
        let found = format!("{len} {what}");
        ShapeError::Rows { found, expected: expected(header, axis) }.into()
    })
}

fn without(shape: &[usize], axis: usize) -> Vec<usize> {
    let others = shape.iter().enumerate().filter(|(at, _)| *at != axis);
    others.map(|(_, &dim)| dim).collect()
}

/// `(*, 3, 4)`
fn expected(header: &Header, axis: usize) -> String {
    let dim =
        |(at, dim): (usize, &usize)| if at == axis { "*".to_owned() } else { dim.to_string() };
    let dims: Vec<_> = header.shape.iter().enumerate().map(dim).collect();
    if let [one] = dims.as_slice() { format!("({one},)") } else { format!("({})", dims.join(", ")) }
}

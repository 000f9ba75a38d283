//! Checks that values are complete rows, and puts them into the file's order.

use ndarray::{ArrayRef, ArrayView, Dimension, IxDyn};

use crate::dtype::literal::tuple;
use crate::error::{Result, ShapeError};
use crate::layout::Order;
use crate::npy::Header;

/// Returns the number of rows in an array, and its elements in the order of the
/// file.
///
/// The array must have the same axes as the file and any length along the
/// growing one, or be a single row without that axis.
pub(super) fn check_rows<'a, T, D: Dimension>(
    array: &'a ArrayRef<T, D>,
    header: &Header,
    axis: usize,
) -> Result<(usize, ArrayView<'a, T, IxDyn>)> {
    let shape = array.shape();
    let others: Vec<usize> = without_axis(&header.shape, axis);
    let count = if shape == others {
        Some(1)
    } else if shape.len() == header.shape.len() && without_axis(shape, axis) == others {
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

/// Returns the number of rows in `len` values or bytes (named by `what`), where
/// a row has `row` of them.
#[inline]
pub(super) fn count_rows(
    len: usize,
    row: usize,
    what: &str,
    header: &Header,
    axis: usize,
) -> Result<usize> {
    let rows = len.checked_div(row).filter(|rows| rows * row == len);
    let rows = if row == 0 && len == 0 { Some(0) } else { rows };
    rows.ok_or_else(|| {
        let found = format!("{len} {what}");
        ShapeError::Rows { found, expected: expected(header, axis) }.into()
    })
}

/// A shape without one of its axes.
#[inline]
fn without_axis(shape: &[usize], axis: usize) -> Vec<usize> {
    let others = shape.iter().enumerate().filter(|(at, _)| *at != axis);
    others.map(|(_, &dim)| dim).collect()
}

/// The shape that rows must have: `(*, 3, 4)`.
#[inline]
fn expected(header: &Header, axis: usize) -> String {
    let mut dims: Vec<_> = header.shape.iter().map(usize::to_string).collect();
    dims.iter_mut().skip(axis).take(1).for_each(|dim| "*".clone_into(dim));
    if let [one] = dims.as_slice() { format!("({one},)") } else { format!("({})", dims.join(", ")) }
}

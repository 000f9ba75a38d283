//! An axis on the command line, counted from the first or from the last.

use std::num::ParseIntError;

use npymap::layout::TakeMode;

use crate::input::text;

/// Parses the text of an argument.
pub(crate) fn parse(text: &str) -> Result<isize, ParseIntError> {
    text.trim().parse()
}

/// The axis of an array, counted from the first; `-1` is the last. If there is none, what is
/// wrong with the shape.
pub(crate) fn resolve(axis: isize, shape: &[usize]) -> Result<usize, String> {
    let ndim = shape.len();
    let resolved = TakeMode::FromEnd.resolve(&[axis], ndim);
    resolved.map(|found| found.into_iter().sum()).map_err(|_| {
        let shape = text::shape(shape);
        if ndim == 0 {
            format!("shape {shape}, so there is no axis {axis}")
        } else {
            format!("shape {shape}, and axis {axis} is out of range -{ndim}..{ndim}")
        }
    })
}

//! An axis on the command line, counted from the first or from the last.

use std::num::ParseIntError;
use std::str::FromStr;

use npymap::layout::TakeMode;

use crate::input::text;

/// An axis; `-1` is the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AxisArg(isize);

impl AxisArg {
    /// The axis of an array, counted from the first. If there is none, what is
    /// wrong with the shape.
    pub(crate) fn resolve(self, shape: &[usize]) -> Result<usize, String> {
        let (AxisArg(axis), ndim) = (self, shape.len());
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
}

impl FromStr for AxisArg {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<AxisArg, ParseIntError> {
        text.trim().parse().map(AxisArg)
    }
}

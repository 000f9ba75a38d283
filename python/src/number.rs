//! Numbers that callers pass.

use std::fmt::Display;

use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyInt;

/// A type of integers that are not negative.
pub(crate) trait Unsigned:
    for<'a, 'py> FromPyObject<'a, 'py, Error: Into<PyErr>> + Display
{
    const MAX: Self;
}

impl Unsigned for usize {
    const MAX: usize = usize::MAX;
}

impl Unsigned for u64 {
    const MAX: u64 = u64::MAX;
}

/// The argument `max_header_size`, where integers above `usize::MAX` mean no limit.
pub(crate) struct MaxHeaderLen(pub(crate) usize);

impl<'py> FromPyObject<'_, 'py> for MaxHeaderLen {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if value.is_instance_of::<PyInt>() && value.gt(usize::MAX)? {
            return Ok(MaxHeaderLen(usize::MAX));
        }
        unsigned("max_header_size", &value).map(MaxHeaderLen)
    }
}

/// Converts the argument `name`. Python's own error for a number out of range names none.
pub(crate) fn unsigned<T: Unsigned>(name: &str, value: &Bound<'_, PyAny>) -> PyResult<T> {
    let error = match value.extract() {
        Ok(number) => return Ok(number),
        Err(error) => error.into(),
    };
    if !error.is_instance_of::<PyOverflowError>(value.py()) {
        return Err(error);
    }
    let expected =
        if value.lt(0)? { "at least 0".to_owned() } else { format!("at most {}", T::MAX) };
    Err(PyValueError::new_err(format!("{name} is {value}, expected {expected}")))
}

//! Repairs files of dead writers, and changes the number of rows.

use std::path::PathBuf;

use npymap::write::{self, RecoverOptions};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::OrRaise;
use crate::number::unsigned;

/// The changes that recover a file.
#[pyclass(frozen, get_all, module = "npymap")]
#[derive(Debug)]
pub(crate) struct Recovery {
    /// The shape in the header before.
    before: Py<PyTuple>,
    /// The shape after the recovery.
    after: Py<PyTuple>,
    /// Bytes of an incomplete row at the end, which are dropped.
    dropped: u64,
    /// Zeros that complete such a row.
    filled: u64,
}

#[pymethods]
impl Recovery {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let [before, after] = [&self.before, &self.after].map(|shape| shape.bind(py).repr());
        let (dropped, filled) = (self.dropped, self.filled);
        Ok(format!(
            "Recovery(before={}, after={}, dropped={dropped}, filled={filled})",
            before?, after?
        ))
    }
}

/// Sets the number of rows in the header to that in the file.
#[pyfunction]
#[pyo3(signature = (path, dry_run, zero_fill))]
pub(crate) fn recover(
    py: Python<'_>,
    path: PathBuf,
    dry_run: bool,
    zero_fill: bool,
) -> PyResult<Recovery> {
    let options = RecoverOptions::new().zero_fill(zero_fill);
    let done = py.detach(|| if dry_run { options.plan(&path) } else { options.recover(&path) });
    let done = done.or_raise_for(py, &path)?;
    Ok(Recovery {
        before: PyTuple::new(py, done.header_shape)?.unbind(),
        after: PyTuple::new(py, done.shape)?.unbind(),
        dropped: done.dropped,
        filled: done.filled,
    })
}

/// Changes the number of rows of a file.
#[pyfunction]
pub(crate) fn resize(py: Python<'_>, path: PathBuf, rows: &Bound<'_, PyAny>) -> PyResult<()> {
    let rows = unsigned("rows", rows)?;
    py.detach(|| write::resize(&path, rows)).or_raise_for(py, &path)
}

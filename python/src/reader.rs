//! Reads arrays into memory that Python allocates.

use std::path::PathBuf;

use npymap::{ArrayFile, OpenOptions, Order};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::OrRaise;
use crate::header::has_longs;
use crate::memory::BytesMut;
use crate::number::MaxHeaderLen;
use crate::path::Location;
use crate::place;
use crate::waiting::detached;

/// A `.npy` file that is read, not mapped.
#[pyclass(frozen, module = "npymap._core")]
#[derive(Debug)]
pub(crate) struct Reader {
    file: ArrayFile,
    shown: PathBuf,
    is_fortran: bool,
    /// Whether the header has integers of Python 2.
    #[pyo3(get)]
    has_longs: bool,
}

#[pymethods]
impl Reader {
    /// Opens a file and reads its header.
    #[new]
    fn new(
        py: Python<'_>,
        path: Location,
        at: u64,
        max_header_len: MaxHeaderLen,
    ) -> PyResult<Reader> {
        let options = OpenOptions::new().offset(at).max_header_len(max_header_len.0);
        let opened = detached(py, || {
            let source = place::read(&path)?;
            let text = options.header_text(&source)?;
            Ok((ArrayFile::new(source, options)?, has_longs(text.as_str().as_bytes())))
        });
        let (file, has_longs) = opened.or_raise_for(py, &path)?;
        let is_fortran = file.header().is_some_and(|header| header.order == Order::F);
        Ok(Reader { file, shown: path.to_path_buf(), is_fortran, has_longs })
    }

    /// The shape, the dtype's `descr` as text, and whether the order is Fortran's.
    #[getter]
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>, String, bool)> {
        let shape = PyTuple::new(py, self.file.shape())?;
        Ok((shape, self.file.dtype().to_string(), self.is_fortran))
    }

    /// Reads all elements into the memory of a new array.
    fn read_into(&self, py: Python<'_>, memory: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut memory = BytesMut::new(memory)?;
        let bytes = memory.as_mut_slice();
        detached(py, || self.file.read_bytes(bytes)).or_raise_for(py, &self.shown)
    }
}

//! NumPy's arrays of mapped elements, made without NumPy's C API.

use npymap::DType;
use npymap::dtype::Kind;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyTuple, PyType};

use crate::mapping::{Mapping, for_any};

/// NumPy's dtypes for the first few without fields that the program used.
static DTYPES: [PyOnceLock<(DType, Py<PyAny>)>; 8] = [const { PyOnceLock::new() }; 8];
static FROM_DESCR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static NEW: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static MEMMAP: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// Makes a `memmap` of the elements of a mapping.
pub(crate) fn to_memmap<'py>(mapping: &Bound<'py, Mapping>) -> PyResult<Bound<'py, PyAny>> {
    to_array(mapping, MEMMAP.import(mapping.py(), "npymap._memmap", "memmap")?)
}

/// Makes an array of a class of the elements of a mapping, which it keeps.
pub(crate) fn to_array<'py>(
    mapping: &Bound<'py, Mapping>,
    class: &Bound<'py, PyType>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = mapping.py();
    let (shape, dtype) = for_any!(mapping.as_super().get().array(), array => {
        (PyTuple::new(py, array.shape())?, to_dtype(py, array.dtype())?)
    });
    let new = NEW.get_or_try_init(py, || {
        Ok::<_, PyErr>(py.import("numpy")?.getattr("ndarray")?.getattr("__new__")?.unbind())
    })?;
    if mapping.get().is_fortran() {
        let order = intern!(py, "F");
        return new.bind(py).call1((class, shape, dtype, mapping, 0, py.None(), order));
    }
    new.bind(py).call1((class, shape, dtype, mapping))
}

/// Makes NumPy's dtype.
fn to_dtype(py: Python<'_>, dtype: &DType) -> PyResult<Py<PyAny>> {
    if matches!(dtype.kind(), Kind::Struct | Kind::Subarray) {
        return from_descr(py, dtype);
    }
    for place in &DTYPES {
        let (known, object) = place
            .get_or_try_init(py, || Ok::<_, PyErr>((dtype.clone(), from_descr(py, dtype)?)))?;
        if known == dtype {
            return Ok(object.clone_ref(py));
        }
    }
    from_descr(py, dtype)
}

/// Calls `from_descr` of `npymap/_dtypes.py`.
fn from_descr(py: Python<'_>, dtype: &DType) -> PyResult<Py<PyAny>> {
    let from_descr = FROM_DESCR.import(py, "npymap._dtypes", "from_descr")?;
    from_descr.call1((dtype.to_string(),)).map(Bound::unbind)
}

//! NumPy's arrays, made and examined without NumPy's C API.

use npymap::DType;
use npymap::dtype::Kind;
use pyo3::buffer::{PyBuffer, PyUntypedBuffer};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyTuple, PyType};

/// NumPy's dtypes for the first few without fields that the program used.
static DTYPES: [PyOnceLock<(DType, Py<PyAny>)>; 8] = [const { PyOnceLock::new() }; 8];
static FROM_DESCR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static EMPTY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static NDARRAY: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// Makes an array whose elements are not set.
pub(crate) fn empty<'py>(
    py: Python<'py>,
    shape: impl Iterator<Item = usize>,
    dtype: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let shape: Vec<usize> = shape.collect();
    EMPTY.import(py, "numpy", "empty")?.call1((PyTuple::new(py, shape)?, dtype))
}

/// The buffer of an array of aligned `int64`. None for all other objects, also for arrays
/// of a subclass.
pub(crate) fn int64_buffer(object: &Bound<'_, PyAny>) -> PyResult<Option<PyBuffer<i64>>> {
    let Some(buffer) = buffer(object)? else { return Ok(None) };
    // PyO3 would accept the other byte order. Before its check, because errors take time.
    let is_int64 =
        buffer.item_size() == size_of::<i64>() && matches!(buffer.format().to_bytes(), b"l" | b"q");
    Ok(if is_int64 { buffer.into_typed().ok() } else { None })
}

/// The buffer of an array of a dtype. None for all other objects, as in
/// [`int64_buffer`].
pub(crate) fn buffer_of(
    object: &Bound<'_, PyAny>,
    dtype: &Bound<'_, PyAny>,
) -> PyResult<Option<PyUntypedBuffer>> {
    let Some(buffer) = buffer(object)? else { return Ok(None) };
    let own = object.getattr(intern!(object.py(), "dtype"))?;
    Ok(if own.is(dtype) || own.eq(dtype)? { Some(buffer) } else { None })
}

/// The buffer of an array; None if it has none.
fn buffer(object: &Bound<'_, PyAny>) -> PyResult<Option<PyUntypedBuffer>> {
    let class = NDARRAY.import(object.py(), "numpy", "ndarray")?;
    let is_array = object.get_type().is(class);
    Ok(if is_array { PyUntypedBuffer::get(object).ok() } else { None })
}

/// Makes NumPy's dtype.
pub(crate) fn to_dtype(py: Python<'_>, dtype: &DType) -> PyResult<Py<PyAny>> {
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

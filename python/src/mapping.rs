//! An open array: its memory, what its file says about it, and the calls that
//! concern its pages.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::ops::Range;

use npymap::array::{AnyArray, MappedArray};
use npymap::source::{Advice, FileId, FileLock, LockKind, Locking};
use npymap::{Error, Mode, Order, Result};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyTuple, PyType};

use crate::errors::OrRaise;
use crate::lock::{self, Lock};
use crate::memory::{Map, Memory};
use crate::path::FilePath;
use crate::to_numpy::to_dtype;

/// Evaluates an expression for an array of either kind.
macro_rules! for_any {
    ($any:expr, $array:ident => $value:expr) => {
        match $any {
            npymap::array::AnyArray::ReadOnly($array) => $value,
            npymap::array::AnyArray::Writable($array) => $value,
        }
    };
}

static NEW: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static MEMMAP: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// An open array. Its memory is that of the base class.
#[pyclass(frozen, extends = Memory, module = "npymap._core")]
#[derive(Debug)]
pub(crate) struct Mapping {
    /// The path as the caller gave it, for errors.
    shown: Option<FilePath>,
    is_fortran: bool,
}

impl Mapping {
    /// Makes a Python object of an array that was opened by the path `shown`.
    pub(crate) fn create(
        py: Python<'_>,
        array: Box<AnyArray>,
        order: Order,
        shown: Option<FilePath>,
    ) -> PyResult<Py<Mapping>> {
        let memory = Memory::new(array).or_raise(py)?;
        let own = Mapping { shown, is_fortran: order == Order::F };
        Py::new(py, PyClassInitializer::from(memory).add_subclass(own))
    }

    /// As [`create`](Mapping::create), of the result of opening it.
    pub(crate) fn from_result(
        py: Python<'_>,
        array: Result<AnyArray>,
        order: Option<Order>,
        shown: Option<FilePath>,
    ) -> PyResult<Py<Mapping>> {
        // It is large, and would be moved several times.
        let array = array.map(Box::new);
        let array = match &shown {
            Some(path) => array.or_raise_for(py, path.as_path())?,
            None => array.or_raise(py)?,
        };
        let order = order.unwrap_or_else(|| for_any!(&*array, array => order_of(array)));
        Mapping::create(py, array, order, shown)
    }

    /// The identity of the file; `None` if there is none, or it was not opened by path.
    pub(crate) fn file_id(slf: &Bound<'_, Mapping>) -> Option<FileId> {
        let array = slf.as_super().get().array();
        for_any!(array, array => array.description()).ok()?.file_id
    }

    /// Calls a function of the library without the interpreter, and makes an
    /// exception of its error.
    pub(crate) fn run<T: Send>(
        slf: &Bound<'_, Mapping>,
        call: impl FnOnce(&AnyArray) -> Result<T> + Send,
    ) -> PyResult<T> {
        let py = slf.py();
        let array = slf.as_super().get().array();
        let result = py.detach(|| call(array));
        match &slf.get().shown {
            Some(path) => result.or_raise_for(py, path.as_path()),
            None => result.or_raise(py),
        }
    }
}

/// Makes a `memmap` of the elements of a mapping.
pub(crate) fn to_memmap<'py>(mapping: &Bound<'py, Mapping>) -> PyResult<Bound<'py, PyAny>> {
    to_array(mapping, MEMMAP.import(mapping.py(), "npymap._memmap", "memmap")?)
}

/// Makes an array of a class of the elements of a mapping, which it keeps: by an object that
/// is a `mmap.mmap` if they are in a file.
fn to_array<'py>(
    mapping: &Bound<'py, Mapping>,
    class: &Bound<'py, PyType>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = mapping.py();
    let is_of_file = for_any!(mapping.as_super().get().array(), array => array.mode().is_some());
    let map = if is_of_file {
        Bound::new(py, Map::new(mapping.as_super().clone().unbind()))?.into_any()
    } else {
        mapping.as_any().clone()
    };
    let (shape, dtype) = for_any!(mapping.as_super().get().array(), array => {
        (PyTuple::new(py, array.shape())?, to_dtype(py, array.dtype())?)
    });
    let new = NEW.get_or_try_init(py, || {
        Ok::<_, PyErr>(py.import("numpy")?.getattr("ndarray")?.getattr("__new__")?.unbind())
    })?;
    if mapping.get().is_fortran {
        let order = intern!(py, "F");
        return new.bind(py).call1((class, shape, dtype, map, 0, py.None(), order));
    }
    new.bind(py).call1((class, shape, dtype, map))
}

/// The order of an array with a header, or of one of an archive.
fn order_of<D>(array: &npymap::MappedArray<D>) -> Order {
    array.header().map_or(Order::C, |header| header.order)
}

/// The rows that cover a range of bytes; `None` if these are all, or rows are
/// scattered over the file.
fn rows(array: &AnyArray, is_fortran: bool, span: Option<(usize, usize)>) -> Option<Range<usize>> {
    let (start, end) = span?;
    for_any!(array, array => {
        let len = array.shape().first().copied()?;
        let each = array.nbytes().checked_div(len).filter(|each| *each > 0)?;
        if is_fortran && array.ndim() > 1 {
            return None;
        }
        Some((start / each).min(len)..end.div_ceil(each).min(len))
    })
}

/// Calls a method that takes rows.
macro_rules! call_rows {
    ($slf:expr, $span:expr, $method:ident $(, $argument:expr)*) => {{
        let is_fortran = $slf.get().is_fortran;
        Mapping::run($slf, |any| match rows(any, is_fortran, $span) {
            Some(rows) => for_any!(any, array => array.$method(rows $(, $argument)*)),
            None => for_any!(any, array => array.$method(.. $(, $argument)*)),
        })
    }};
}

#[pymethods]
impl Mapping {
    /// The shape, the dtype's `descr` as text, and whether the order is Fortran's.
    #[getter]
    fn facts<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyTuple>, String, bool)> {
        let is_fortran = slf.get().is_fortran;
        for_any!(slf.as_super().get().array(), array => {
            let shape = PyTuple::new(slf.py(), array.shape())?;
            Ok((shape, array.dtype().to_string(), is_fortran))
        })
    }

    /// Makes an array of a class, which keeps this object.
    fn to_array<'py>(
        slf: &Bound<'py, Self>,
        class: &Bound<'py, PyType>,
    ) -> PyResult<Bound<'py, PyAny>> {
        to_array(slf, class)
    }

    /// Whether the path was given as an object: a `pathlib.Path`.
    #[getter]
    fn is_path_object(&self) -> bool {
        self.shown.as_ref().is_some_and(FilePath::is_object)
    }

    /// The path, absolute; None if the array was not opened by path.
    #[getter]
    fn path(slf: &Bound<'_, Self>) -> Option<OsString> {
        let path = for_any!(slf.as_super().get().array(), array => array.path());
        path.map(|path| path.as_os_str().to_owned())
    }

    /// The name of the member, if the file is an archive.
    #[getter]
    fn member(slf: &Bound<'_, Self>) -> Option<String> {
        for_any!(slf.as_super().get().array(), array => array.member().map(str::to_owned))
    }

    /// NumPy's name of the mode; None if the array is in memory.
    #[getter]
    fn mode(slf: &Bound<'_, Self>) -> Option<&'static str> {
        for_any!(slf.as_super().get().array(), array => array.mode()).map(|mode| match mode {
            Mode::ReadOnly => "r",
            Mode::ReadWrite => "r+",
            Mode::Create => "w+",
            Mode::CopyOnWrite => "c",
        })
    }

    /// The offset of the elements in the file.
    #[getter]
    fn offset(slf: &Bound<'_, Self>) -> Option<u64> {
        for_any!(slf.as_super().get().array(), array => array.data_offset())
    }

    /// The version of the format, if the file has a header.
    #[getter]
    fn version(slf: &Bound<'_, Self>) -> Option<(u8, u8)> {
        let header = for_any!(slf.as_super().get().array(), array => array.header());
        header.map(|header| (header.version.major(), 0))
    }

    /// Writes to the disk what was stored in a range of bytes, or everything.
    #[pyo3(signature = (span=None, wait=true))]
    fn flush(slf: &Bound<'_, Self>, span: Option<(usize, usize)>, wait: bool) -> PyResult<()> {
        let is_fortran = slf.get().is_fortran;
        Mapping::run(slf, |any| {
            let AnyArray::Writable(array) = any else { return Ok(()) };
            match rows(any, is_fortran, span) {
                _ if !wait => array.flush_async(),
                Some(rows) => array.flush_rows(rows),
                None => array.flush(),
            }
        })
    }

    /// Advises the system how a range of bytes will be used.
    #[pyo3(signature = (advice, span=None))]
    fn advise(slf: &Bound<'_, Self>, advice: &str, span: Option<(usize, usize)>) -> PyResult<()> {
        let advice = parse_advice(advice)?;
        call_rows!(slf, span, advise, advice)
    }

    /// Starts to read a range of bytes.
    #[pyo3(signature = (span=None))]
    fn prefetch(slf: &Bound<'_, Self>, span: Option<(usize, usize)>) -> PyResult<()> {
        call_rows!(slf, span, prefetch)
    }

    /// Reads a range of bytes.
    #[pyo3(signature = (span=None))]
    fn populate(slf: &Bound<'_, Self>, span: Option<(usize, usize)>) -> PyResult<()> {
        call_rows!(slf, span, populate)
    }

    /// Drops a range of bytes from memory.
    #[pyo3(signature = (span=None))]
    fn drop_cache(slf: &Bound<'_, Self>, span: Option<(usize, usize)>) -> PyResult<()> {
        call_rows!(slf, span, drop_cache)
    }

    /// The number of bytes in memory, if the system reports it.
    #[pyo3(signature = (span=None))]
    fn resident_bytes(
        slf: &Bound<'_, Self>,
        span: Option<(usize, usize)>,
    ) -> PyResult<Option<usize>> {
        call_rows!(slf, span, resident_bytes)
    }

    /// Raises unless the path leads to the same file, which contains the array.
    fn check_unchanged(slf: &Bound<'_, Self>) -> PyResult<()> {
        Mapping::run(slf, |array| for_any!(array, array => array.check_unchanged()))
    }

    /// Locks the file.
    #[pyo3(signature = (kind="shared", wait=true))]
    fn lock(slf: &Bound<'_, Self>, kind: &str, wait: bool) -> PyResult<Option<Lock>> {
        let kind = match kind {
            "shared" => LockKind::Shared,
            "exclusive" => LockKind::Exclusive,
            _ => {
                let text = format!("kind of lock {kind:?}, expected 'shared' or 'exclusive'");
                return Err(PyValueError::new_err(text));
            }
        };
        let attempt = || Mapping::run(slf, |array| for_any!(array, array => try_lock(array, kind)));
        let lock = if wait { lock::wait(slf.py(), attempt).map(Some) } else { attempt() };
        Ok(lock?.map(Lock::new))
    }
}

/// Locks the file of an array, unless the path leads to another one by now. Returns `None` if
/// another lock prevents it.
fn try_lock<D: npymap::source::Mapping>(
    array: &MappedArray<D>,
    kind: LockKind,
) -> Result<Option<FileLock>> {
    let Some(path) = array.path() else { return array.check_unchanged().map(|()| None) };
    let lock = match FileLock::acquire(path, kind, Locking::Try) {
        Err(error) if error.kind() == npymap::ErrorKind::Locked => return Ok(None),
        lock => lock?,
    };
    array.check_unchanged()?;
    lock.map(Some).ok_or_else(|| {
        let text = "the file system has no locks, or the file may not be written";
        Error::io("lock", std::io::Error::new(ErrorKind::Unsupported, text)).with_path(path)
    })
}

/// Parses the name of an advice.
pub(crate) fn parse_advice(name: &str) -> PyResult<Advice> {
    Ok(match name {
        "normal" => Advice::Normal,
        "random" => Advice::Random,
        "sequential" => Advice::Sequential,
        "willneed" => Advice::WillNeed,
        _ => {
            let text =
                format!("advice {name:?}, expected 'normal', 'random', 'sequential' or 'willneed'");
            return Err(PyValueError::new_err(text));
        }
    })
}

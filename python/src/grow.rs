//! Appending rows to files.

use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

use npymap::element::Casting;
use npymap::loader::RaggedAppender as RaggedWriter;
use npymap::{Appender as Writer, CreateOptions, DType, ErrorKind, OpenOptions, Order};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::OrRaise;
use crate::lock;
use crate::memory::Bytes;
use crate::number::unsigned;
use crate::rows::is_number;
use crate::to_numpy;

/// A writer, which belongs to the process that opened it: a forked one has the same rows
/// in its buffer, and would write them again.
struct Owned<W> {
    /// `None` when it is closed.
    writer: Mutex<Option<W>>,
    process: u32,
}

impl<W> Owned<W> {
    fn new(writer: W) -> Owned<W> {
        Owned { writer: Mutex::new(Some(writer)), process: process::id() }
    }

    /// Returns whether this is the process that opened the writer.
    fn is_own(&self) -> bool {
        self.process == process::id()
    }

    /// The writer, or an error in a forked process, where a thread of the other process may
    /// hold the lock.
    fn get(&self) -> PyResult<&Mutex<Option<W>>> {
        let text = "this appender was opened before the fork: open the file again in the child \
                    process";
        if self.is_own() { Ok(&self.writer) } else { Err(PyValueError::new_err(text)) }
    }
}

impl<W: Send> Owned<W> {
    /// Closes the writer after it has written its buffer. Does nothing in a forked process.
    fn close(
        &self,
        py: Python<'_>,
        shown: &Path,
        flush: fn(&mut W) -> npymap::Result<()>,
    ) -> PyResult<()> {
        if !self.is_own() {
            return Ok(());
        }
        let flushed = py.detach(|| {
            let writer = locked(&self.writer).take();
            writer.map_or(Ok(()), |mut writer| flush(&mut writer))
        });
        flushed.or_raise_for(py, shown)
    }
}

impl<W> Drop for Owned<W> {
    fn drop(&mut self) {
        if !self.is_own() {
            let writer = self.writer.get_mut().unwrap_or_else(PoisonError::into_inner);
            std::mem::forget(writer.take());
        }
    }
}

/// Calls a method of an open writer without the interpreter.
macro_rules! with_open {
    ($self:expr, $py:expr, $writer:ident => $value:expr) => {{
        let own = $self.writer.get()?;
        let result = $py.detach(|| match &mut *locked(own) {
            Some($writer) => $value.map(Some),
            None => Ok(None),
        });
        result.or_raise_for($py, &$self.shown)?.ok_or_else(closed)
    }};
}

/// Where to create a file: the dtype, the shape of a row, and whether the order is
/// Fortran's, an existing file is replaced, what follows its elements is dropped, and an
/// existing file is opened, whatever its rows are.
#[derive(Debug, FromPyObject)]
#[expect(clippy::struct_excessive_bools, reason = "Python passes a tuple")]
pub(crate) struct NewRows {
    #[pyo3(item(0))]
    descr: String,
    #[pyo3(item(1))]
    row: Vec<usize>,
    #[pyo3(item(2))]
    is_fortran: bool,
    #[pyo3(item(3))]
    overwrite: bool,
    #[pyo3(item(4))]
    discards: bool,
    #[pyo3(item(5))]
    opens: bool,
}

impl NewRows {
    fn options(&self) -> CreateOptions {
        let order = if self.is_fortran { Order::F } else { Order::C };
        let options = CreateOptions::new().order(order).overwrite(self.overwrite);
        options.discard_trailing(self.discards)
    }

    fn dtype(&self) -> npymap::Result<DType> {
        self.descr.parse()
    }

    fn appender(&self, path: &Path) -> npymap::Result<Writer> {
        let (dtype, new) = (self.dtype()?, self.options());
        if !self.opens {
            return Writer::create(path, &dtype, &self.row, &new);
        }
        let options = OpenOptions::new();
        match options.append_or_create(path, &dtype, &self.row, &new) {
            Err(error) if is_unlike(&error) => options.append(path),
            opened => opened,
        }
    }

    fn ragged(&self, data: &Path, offsets: &Path) -> npymap::Result<RaggedWriter> {
        let (dtype, new) = (self.dtype()?, self.options());
        if !self.opens {
            return RaggedWriter::create(data, offsets, &dtype, &self.row, &new);
        }
        let options = OpenOptions::new();
        match options.append_or_create_ragged(data, offsets, &dtype, &self.row, &new) {
            Err(error) if is_unlike(&error) => options.append_ragged(data, offsets),
            opened => opened,
        }
    }
}

/// Returns whether an existing file has other rows than those of a new one, which Python
/// compares with what was asked for.
fn is_unlike(error: &npymap::Error) -> bool {
    matches!(error.kind(), ErrorKind::DTypeMismatch | ErrorKind::ShapeMismatch)
}

/// Appends rows to a `.npy` file.
#[pyclass(frozen, module = "npymap._core")]
pub(crate) struct Appender {
    writer: Owned<Writer>,
    shown: PathBuf,
    /// The shape of a row, if rows are numbers in C order.
    row_of_numbers: Option<Box<[usize]>>,
}

#[pymethods]
impl Appender {
    /// Opens a file, or creates one.
    #[new]
    #[pyo3(signature = (path, buffer, wait, new=None))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        buffer: &Bound<'_, PyAny>,
        wait: bool,
        new: Option<NewRows>,
    ) -> PyResult<Appender> {
        let buffer = unsigned("buffer", buffer)?;
        let open = || {
            let writer = py.detach(|| match &new {
                None => OpenOptions::new().append(&path),
                Some(new) => new.appender(&path),
            });
            match writer {
                Err(error) if wait && error.kind() == ErrorKind::Locked => Ok(None),
                writer => writer.or_raise_for(py, &path).map(Some),
            }
        };
        let writer = lock::wait(py, open)?.with_capacity(buffer);
        let has_numbers = writer.order() == Order::C && is_number(writer.dtype().kind());
        let row_of_numbers =
            writer.shape().get(1..).filter(|_| has_numbers).map(|row| row.to_vec().into());
        Ok(Appender { writer: Owned::new(writer), shown: path, row_of_numbers })
    }

    /// The shape, the dtype's `descr` as text, and whether the order is Fortran's.
    #[getter]
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>, String, bool)> {
        let (shape, descr, order) = with_open!(self, py, writer => {
            let shape = writer.shape().to_vec();
            npymap::Result::Ok((shape, writer.dtype().to_string(), writer.order()))
        })?;
        Ok((PyTuple::new(py, shape)?, descr, order == Order::F))
    }

    /// Appends a number of rows from their bytes.
    fn append(&self, py: Python<'_>, rows: usize, bytes: &Bound<'_, PyAny>) -> PyResult<()> {
        let bytes = Bytes::new(bytes)?;
        let bytes = bytes.as_slice();
        with_open!(self, py, writer => writer.append_parts(rows, |append| append(bytes)))
    }

    /// Appends an array of rows, or of one row, whose dtype is `dtype`. Returns whether it did:
    /// other values must be checked or converted first.
    fn append_array(
        &self,
        py: Python<'_>,
        rows: &Bound<'_, PyAny>,
        casting: &str,
        dtype: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let Some(row) = &self.row_of_numbers else { return Ok(false) };
        let Some(buffer) = to_numpy::buffer_of(rows, dtype)? else { return Ok(false) };
        let count = match buffer.shape() {
            shape if shape == &**row => 1,
            [count, shape @ ..] if shape == &**row => *count,
            _ => return Ok(false),
        };
        let Some(bytes) = Bytes::of_elements(buffer) else { return Ok(false) };
        casting.parse::<Casting>().or_raise(py)?;
        let bytes = bytes.as_slice();
        with_open!(self, py, writer => writer.append_parts(count, |append| append(bytes)))?;
        Ok(true)
    }

    /// Changes the number of rows.
    fn resize(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<()> {
        let rows = unsigned("rows", rows)?;
        with_open!(self, py, writer => writer.resize(rows))
    }

    /// Writes the buffer.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        with_open!(self, py, writer => writer.flush())
    }

    /// Writes the buffer, and waits for the disk.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        with_open!(self, py, writer => writer.sync())
    }

    /// Writes the buffer, and closes the file.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.writer.close(py, &self.shown, Writer::flush)
    }
}

/// Appends rows of different lengths to two files.
#[pyclass(frozen, module = "npymap._core")]
pub(crate) struct RaggedAppender {
    writer: Owned<RaggedWriter>,
    shown: PathBuf,
}

#[pymethods]
impl RaggedAppender {
    /// Opens two files, after their writer died if `recover` is set, or creates them.
    #[new]
    #[pyo3(signature = (data, offsets, recover, wait, new=None))]
    fn new(
        py: Python<'_>,
        data: PathBuf,
        offsets: PathBuf,
        recover: bool,
        wait: bool,
        new: Option<NewRows>,
    ) -> PyResult<RaggedAppender> {
        let open = || {
            let writer = py.detach(|| match &new {
                None if recover => RaggedWriter::recover(&data, &offsets),
                None => OpenOptions::new().append_ragged(&data, &offsets),
                Some(new) => new.ragged(&data, &offsets),
            });
            match writer {
                Err(error) if wait && error.kind() == ErrorKind::Locked => Ok(None),
                writer => writer.or_raise(py).map(Some),
            }
        };
        Ok(RaggedAppender { writer: Owned::new(lock::wait(py, open)?), shown: data })
    }

    /// The dtype's `descr` as text, and the shape of each item of a row.
    #[getter]
    fn item<'py>(&self, py: Python<'py>) -> PyResult<(String, Bound<'py, PyTuple>)> {
        let (descr, shape) = with_open!(self, py, writer => {
            npymap::Result::Ok((writer.dtype().to_string(), writer.item_shape().to_vec()))
        })?;
        Ok((descr, PyTuple::new(py, shape)?))
    }

    /// The number of rows.
    #[getter]
    fn rows(&self, py: Python<'_>) -> PyResult<usize> {
        with_open!(self, py, writer => npymap::Result::Ok(writer.rows()))
    }

    /// Appends one row from its bytes.
    fn append(&self, py: Python<'_>, bytes: &Bound<'_, PyAny>) -> PyResult<()> {
        let bytes = Bytes::new(bytes)?;
        let bytes = bytes.as_slice();
        with_open!(self, py, writer => writer.append_bytes(bytes))
    }

    /// Writes all rows.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        with_open!(self, py, writer => writer.flush())
    }

    /// Writes all rows, and waits for the disk.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        with_open!(self, py, writer => writer.sync())
    }

    /// Writes all rows, and closes the files.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.writer.close(py, &self.shown, RaggedWriter::flush)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn closed() -> PyErr {
    PyValueError::new_err("the appender is closed")
}

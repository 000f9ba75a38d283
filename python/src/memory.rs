//! Everything `unsafe`: maps of files, mapped memory as a Python buffer, and the
//! memory of Python's buffers as slices.
//!
//! Mapping a file needs a promise that code cannot check: see `npymap::Source`.
//! Here the Python program makes it, because every function that leads here is
//! documented with it in `npymap/__init__.py`: nobody truncates a file while an
//! array maps it. Nothing in this package borrows mapped bytes while the program
//! stores into them, because NumPy reaches them through the pointer alone.
#![allow(unsafe_code)]

use std::any::Any;
use std::ffi::c_int;
use std::fs::File;
use std::ops::Range;
#[cfg(unix)]
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::ptr::{self, with_exposed_provenance, with_exposed_provenance_mut};
use std::slice;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use npymap::array::{AnyArray, MappedArrayMut};
use npymap::loader::{Batch, RowSource};
use npymap::source::AnySource;
use npymap::{CreateOptions, DType, Error, ErrorKind, MappedArray, Mode, Result, Source};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyInt, PyMemoryView, PyTuple, PyType};

use crate::url::shown_in_python;

static MMAP: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// Opens a file for mapping.
pub(crate) fn map(path: &Path, mode: Mode) -> Result<AnySource> {
    // SAFETY: the Python program promises it, as the file's comment says.
    unsafe { AnySource::map(path, mode) }
}

/// As [`map`], for an open file.
pub(crate) fn map_file(file: File, mode: Mode) -> Result<AnySource> {
    if matches!(mode, Mode::ReadWrite | Mode::Create) {
        // SAFETY: as in `map`.
        return unsafe { Source::map_mut_file(file) }.map(AnySource::Writable);
    }
    // SAFETY: as in `map`.
    let source = unsafe { Source::map_file(file) }?;
    Ok(match mode {
        Mode::CopyOnWrite => AnySource::Writable(source.into_copy_on_write()),
        _ => AnySource::ReadOnly(source),
    })
}

/// Creates a file and maps it.
pub(crate) fn create(
    path: &Path,
    dtype: &DType,
    shape: &[usize],
    options: &CreateOptions,
) -> Result<MappedArrayMut> {
    // SAFETY: as in `map`.
    unsafe { options.create(path, dtype, shape) }
}

/// Makes a file of a copy of a descriptor.
#[cfg(unix)]
pub(crate) fn file_of_descriptor(py: Python<'_>, descriptor: i32) -> PyResult<File> {
    let copy = py.import("os")?.call_method1("dup", (descriptor,))?.extract()?;
    // SAFETY: `os.dup` has just opened the descriptor, and nothing else has its number.
    let owned = unsafe { OwnedFd::from_raw_fd(copy) };
    Ok(owned.into())
}

/// Not supported: descriptors are the C library's.
#[cfg(not(unix))]
pub(crate) fn file_of_descriptor(_: Python<'_>, _: i32) -> PyResult<File> {
    Err(pyo3::exceptions::PyValueError::new_err("files are mapped by their names on this system"))
}

/// The memory of arrays without bytes. NumPy's own have at least one.
static NOTHING: [AtomicU64; 8] = [const { AtomicU64::new(0) }; 8];

/// The elements of an array, as a Python buffer of bytes. NumPy arrays keep it
/// alive, so the memory is unmapped when the last of them is gone.
#[pyclass(frozen, subclass, module = "npymap._core")]
#[derive(Debug)]
pub(crate) struct Memory {
    array: Box<AnyArray>,
    /// The first byte, whose provenance is exposed.
    address: usize,
    len: usize,
    is_read_only: bool,
}

impl Memory {
    /// Takes an array, whose elements are reached through a pointer from now on.
    pub(crate) fn new(mut array: Box<AnyArray>) -> Result<Memory> {
        let (mut address, len, is_read_only) = match &mut *array {
            AnyArray::ReadOnly(array) => {
                (array.as_bytes()?.as_ptr().expose_provenance(), array.nbytes(), true)
            }
            AnyArray::Writable(array) => {
                (array.as_bytes_mut()?.as_mut_ptr().expose_provenance(), array.nbytes(), false)
            }
        };
        if len == 0 {
            // `take` of elements without a size copies one byte of each.
            address = NOTHING.as_ptr().expose_provenance();
        }
        Ok(Memory { array, address, len, is_read_only })
    }

    /// The address, the length, and whether it is read-only.
    fn place(&self) -> (usize, usize, bool) {
        (self.address, self.len, self.is_read_only)
    }

    /// The array. Its elements must not be borrowed.
    pub(crate) fn array(&self) -> &AnyArray {
        &self.array
    }
}

#[pymethods]
impl Memory {
    /// The address of the first byte.
    #[getter]
    fn address(&self) -> usize {
        self.address
    }

    /// Fills in a view of the memory, for the interpreter.
    unsafe fn __getbuffer__(
        slf: &Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        // SAFETY: the memory lives as long as this object, and is writable unless it is
        // read-only.
        unsafe { fill(view, slf.as_any(), slf.get().place(), flags) }
    }
}

/// Fills in a view of the memory at an address, of a length, which may be read-only.
///
/// # Safety
///
/// `view` is one to fill in. The memory lives as long as `owner`, and is writable unless
/// it is read-only.
unsafe fn fill(
    view: *mut ffi::Py_buffer,
    owner: &Bound<'_, PyAny>,
    (address, len, is_read_only): (usize, usize, bool),
    flags: c_int,
) -> PyResult<()> {
    // NumPy asks for writable memory first, each time: this costs less than fetching the
    // exception of `PyBuffer_FillInfo`.
    if is_read_only && flags & ffi::PyBUF_WRITABLE != 0 {
        // SAFETY: the caller promises that the view can be filled in. A view without an
        // owner is how the protocol reports that there is none.
        unsafe { (*view).obj = ptr::null_mut() };
        return Err(PyBufferError::new_err("Object is not writable."));
    }
    let len = isize::try_from(len).map_err(PyBufferError::new_err_from_display)?;
    let start = with_exposed_provenance_mut(address);
    let read_only = c_int::from(is_read_only);
    // SAFETY: as the caller promises; the view gets a reference to the owner.
    let status =
        unsafe { ffi::PyBuffer_FillInfo(view, owner.as_ptr(), start, len, read_only, flags) };
    if status == 0 { Ok(()) } else { Err(PyErr::fetch(owner.py())) }
}

/// Keeps a file mapped. `isinstance` takes it for a `mmap.mmap`, so that programs recognize
/// arrays in files.
///
/// Its buffer contains the mapped bytes. They stay mapped until no array refers to them, and
/// `close` only writes changes to the disk.
#[pyclass(frozen, weakref, module = "npymap._core")]
#[derive(Debug)]
pub(crate) struct Map(Py<Memory>);

#[pymethods]
impl Map {
    /// Keeps a mapping, which is a subclass of `Memory` with these methods.
    #[new]
    pub(crate) fn new(mapping: Py<Memory>) -> Map {
        Map(mapping)
    }

    /// The mapping.
    #[getter]
    fn mapping(&self, py: Python<'_>) -> Py<Memory> {
        self.0.clone_ref(py)
    }

    /// The class that `isinstance` sees: the constructor of a subclass would map memory of its
    /// own, which takes as long as opening a file.
    #[getter(__class__)]
    fn seen_class<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyType>> {
        MMAP.import(slf.py(), "mmap", "mmap").cloned()
    }

    /// Whether the memory cannot be used: never.
    #[classattr]
    fn closed() -> bool {
        false
    }

    /// Write changes to the disk.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.0.bind(py).call_method0("flush").map(drop)
    }

    /// Write changes to the disk, all of them.
    #[pyo3(signature = (*_range))]
    fn flush(&self, py: Python<'_>, _range: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    /// The number of mapped bytes.
    fn size(&self) -> usize {
        self.0.get().len
    }

    fn __len__(&self) -> usize {
        self.size()
    }

    fn __getitem__<'py>(
        slf: &Bound<'py, Self>,
        index: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let found = PyMemoryView::from(slf)?.get_item(index)?;
        if found.is_instance_of::<PyInt>() { Ok(found) } else { found.call_method0("tobytes") }
    }

    fn __setitem__(
        slf: &Bound<'_, Self>,
        index: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        PyMemoryView::from(slf)?.set_item(index, value)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let path: Option<PathBuf> = self.0.bind(py).getattr("path")?.extract()?;
        let path = path.map(shown_in_python).into_pyobject(py)?;
        Ok(format!("<npymap.Map of {}: {} bytes>", path.repr()?, self.size()))
    }

    /// Fills in a view of the memory, for the interpreter.
    unsafe fn __getbuffer__(
        slf: &Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        // SAFETY: as in `Memory`, which this object keeps.
        unsafe { fill(view, slf.as_any(), slf.get().0.get().place(), flags) }
    }
}

/// The elements of an array in memory, which may be anywhere in it, as rows.
///
/// As with all of Python's own arrays, the program must not change them while they are copied.
pub(crate) struct MemoryRows {
    buffer: PyUntypedBuffer,
    dtype: DType,
    shape: Vec<usize>,
    /// The length and the distance in bytes of the axes after the first, without those at the
    /// end whose elements are adjacent.
    axes: Vec<(usize, isize)>,
    /// The distance in bytes of the rows.
    stride: isize,
    /// The size of adjacent elements of a row in bytes.
    piece: usize,
}

impl MemoryRows {
    /// Borrows an array whose elements are of the size of a dtype; `None` if it is none of
    /// such elements, or has no axis.
    pub(crate) fn new(array: &Bound<'_, PyAny>, dtype: DType) -> PyResult<Option<MemoryRows>> {
        let buffer = PyUntypedBuffer::get(array)?;
        if buffer.item_size() != dtype.itemsize() || buffer.format().to_bytes().contains(&b'O') {
            return Ok(None);
        }
        let shape = buffer.shape().to_vec();
        let mut axes: Vec<(usize, isize)> =
            shape.iter().copied().zip(buffer.strides().iter().copied()).collect();
        if axes.is_empty() {
            return Ok(None);
        }
        let (_, stride) = axes.remove(0);
        let mut piece = dtype.itemsize();
        while let Some((len, distance)) = axes.pop() {
            if len != 1 && usize::try_from(distance) != Ok(piece) {
                axes.push((len, distance));
                break;
            }
            piece *= len;
        }
        Ok(Some(MemoryRows { buffer, dtype, shape, axes, stride, piece }))
    }
}

/// Copies the elements of some axes, given as lengths and distances, from an address on.
/// `out` has as many bytes, in pieces that are adjacent in the innermost axis.
///
/// # Safety
///
/// All of them can be read, and nobody writes to them meanwhile.
unsafe fn copy_elements(address: usize, axes: &[(usize, isize)], out: &mut [u8]) {
    let Some(((len, distance), inner)) = axes.split_first() else {
        let from = with_exposed_provenance::<u8>(address);
        // SAFETY: as the caller promises. `out` is other memory, because nobody else has it.
        return unsafe { ptr::copy_nonoverlapping(from, out.as_mut_ptr(), out.len()) };
    };
    let each = out.len() / (*len).max(1);
    let mut from = address;
    for part in out.chunks_exact_mut(each.max(1)) {
        // SAFETY: as the caller promises, because these are some of the elements.
        unsafe { copy_elements(from, inner, part) };
        from = from.wrapping_add_signed(*distance);
    }
}

impl RowSource for MemoryRows {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn read_ranges(&self, ranges: &[Range<usize>], out: &mut [u8]) -> Result<()> {
        let row = self.axes.iter().fold(self.piece, |size, (len, _)| size * len);
        let start = self.buffer.buf_ptr().expose_provenance();
        let mut parts = out.chunks_exact_mut(row.max(1));
        for number in ranges.iter().flat_map(Range::clone) {
            let (Ok(row_number), true) = (isize::try_from(number), number < self.row_count())
            else {
                let text = format!("row {number} of {}", self.row_count());
                return Err(Error::new(ErrorKind::OutOfBounds, text));
            };
            let distance = self.stride.wrapping_mul(row_number);
            match parts.next() {
                Some(part) => {
                    let row = start.wrapping_add_signed(distance);
                    // SAFETY: the row exists, and the buffer keeps its memory. Nobody writes to
                    // it, as this type's comment says.
                    unsafe { copy_elements(row, &self.axes, part) };
                }
                None if row == 0 => {}
                None => return Err(Error::new(ErrorKind::ShapeMismatch, "out is too short")),
            }
        }
        Ok(())
    }
}

/// The size of a large page. Fewer bytes than half of one are in ordinary pages.
const LARGE_PAGE: usize = 2 << 20;

/// The memory of one array of a batch: pages of its own, large ones if there are many.
#[derive(Debug, Default)]
pub(crate) struct Block(Option<MappedArrayMut>);

impl Block {
    /// The first `nbytes` bytes, after making room for them; `None` if there is not enough
    /// memory.
    pub(crate) fn resize(&mut self, nbytes: usize) -> Option<&mut [u8]> {
        if nbytes == 0 {
            return Some(&mut []);
        }
        if self.bytes().is_none_or(|bytes| bytes.len() < nbytes) {
            // The old memory is given back first.
            self.0 = None;
            let room = if nbytes < LARGE_PAGE / 2 {
                nbytes
            } else {
                // The pages before the first large one and after the last one stay unused.
                nbytes.checked_next_multiple_of(LARGE_PAGE)?.checked_add(LARGE_PAGE)?
            };
            self.0 = MappedArray::zeros(&DType::of::<u8>(), &[room]).ok();
        }
        self.bytes()?.get_mut(..nbytes)
    }

    /// All bytes, from the first large page on.
    fn bytes(&mut self) -> Option<&mut [u8]> {
        let bytes: &mut [u8] = self.0.as_mut()?.as_slice_mut().ok()?;
        let has_large_pages = bytes.len() > LARGE_PAGE;
        let start = if has_large_pages { bytes.as_ptr().align_offset(LARGE_PAGE) } else { 0 };
        bytes.get_mut(start..)
    }

    /// The address of the first byte, whose provenance is exposed, and the length.
    fn expose(&mut self) -> (usize, usize) {
        let bytes = self.bytes();
        bytes.map_or_else(
            || (NOTHING.as_ptr().expose_provenance(), 0),
            |bytes| (bytes.as_mut_ptr().expose_provenance(), bytes.len()),
        )
    }
}

/// The memory of one array of a batch, as a Python buffer of bytes. When the last
/// buffer of a batch is gone, the memory is used for another batch.
#[pyclass(frozen, module = "npymap._core")]
pub(crate) struct Buffer {
    /// The first byte, whose provenance is exposed.
    address: usize,
    len: usize,
    _batch: Arc<dyn Any + Send + Sync>,
}

impl Buffer {
    /// Takes the memory of a batch, which is reached through pointers from now on.
    pub(crate) fn of_batch<I: Send + Sync + 'static>(
        mut batch: Batch<Vec<Block>, I>,
    ) -> Vec<Buffer> {
        let places: Vec<_> = batch.data_mut().iter_mut().map(Block::expose).collect();
        let batch: Arc<dyn Any + Send + Sync> = Arc::new(batch);
        let buffer = |(address, len)| Buffer { address, len, _batch: Arc::clone(&batch) };
        places.into_iter().map(buffer).collect()
    }
}

#[pymethods]
impl Buffer {
    /// Fills in a view of the memory, for the interpreter.
    unsafe fn __getbuffer__(
        slf: &Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let buffer = slf.get();
        // SAFETY: the memory belongs to the batch, which this object keeps. Nothing of
        // the library uses the memory before the batch is dropped.
        unsafe { fill(view, slf.as_any(), (buffer.address, buffer.len, false), flags) }
    }
}

/// Makes an exception of any error.
trait FromDisplay {
    fn new_err_from_display(error: impl std::fmt::Display) -> PyErr;
}

impl FromDisplay for PyBufferError {
    fn new_err_from_display(error: impl std::fmt::Display) -> PyErr {
        PyBufferError::new_err(error.to_string())
    }
}

/// The bytes of a Python object, to be read while the interpreter runs other
/// threads. As with all of Python's own output, the program must not change them
/// meanwhile.
#[derive(Debug)]
pub(crate) struct Bytes(PyUntypedBuffer);

impl Bytes {
    /// Borrows an object that is a contiguous buffer of bytes.
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<Bytes> {
        let buffer = PyUntypedBuffer::get(object)?;
        buffer.as_typed::<u8>()?;
        let refused = || PyBufferError::new_err("the bytes are not contiguous");
        Bytes::of_elements(buffer).ok_or_else(refused)
    }

    /// Takes a buffer of any elements, if it is contiguous in C order.
    pub(crate) fn of_elements(buffer: PyUntypedBuffer) -> Option<Bytes> {
        buffer.is_c_contiguous().then_some(Bytes(buffer))
    }

    /// The bytes.
    pub(crate) fn as_slice(&self) -> &[u8] {
        let (start, len) = (self.0.buf_ptr().cast::<u8>(), self.0.len_bytes());
        if start.is_null() || len == 0 {
            return &[];
        }
        // SAFETY: the buffer is contiguous, and its owner keeps its memory in place
        // until the view in `self` is released. Others do not write to it, as
        // this type's comment says.
        unsafe { slice::from_raw_parts(start, len) }
    }
}

/// The memory of an array, which only the calling function of this package knows or the
/// program gave it to be filled while the interpreter runs other threads.
#[derive(Debug)]
pub(crate) struct BytesMut(PyUntypedBuffer);

impl BytesMut {
    /// Borrows an object that is a contiguous, writable buffer of bytes.
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<BytesMut> {
        let buffer = PyUntypedBuffer::get(object)?;
        buffer.as_typed::<u8>()?;
        let refused = || PyBufferError::new_err("the bytes are read-only or not contiguous");
        BytesMut::of_elements(buffer).ok_or_else(refused)
    }

    /// Takes a buffer of any elements, if it is contiguous in C order and writable.
    pub(crate) fn of_elements(buffer: PyUntypedBuffer) -> Option<BytesMut> {
        // Elements that are Python objects must not be overwritten.
        let has_objects = buffer.format().to_bytes().contains(&b'O');
        let fits = !has_objects && !buffer.readonly() && buffer.is_c_contiguous();
        fits.then_some(BytesMut(buffer))
    }

    /// The bytes.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        let (start, len) = (self.0.buf_ptr().cast::<u8>(), self.0.len_bytes());
        if start.is_null() || len == 0 {
            return &mut [];
        }
        // SAFETY: as in `Bytes::as_slice`: `len` bytes from the start on, which have no
        // invalid values. Nobody else uses the memory, as this type's comment says.
        unsafe { slice::from_raw_parts_mut(start, len) }
    }
}

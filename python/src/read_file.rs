//! Arrays that are read on request: those of `.npy` files, and members of archives
//! that are stored without compression.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use npymap::array::{AnyArray, RawSpec};
use npymap::loader::RowSource;
use npymap::{ArrayFile, DType, OpenOptions, Order, Result};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::OrRaise;
use crate::locate::locate;
use crate::mapping::Mapping;
use crate::memory::BytesMut;
use crate::number::{MaxHeaderLen, unsigned};
use crate::open::Elements;
use crate::path::Location;
use crate::place::Place;
use crate::rows::Rows;
use crate::waiting::detached;

/// The shape, the dtype's `descr` as text, whether the order is Fortran's, and the
/// offset of the elements in the file.
type Facts<'py> = (Bound<'py, PyTuple>, String, bool, u64);

/// An array in a file that is not mapped.
#[pyclass(frozen, module = "npymap._core")]
#[derive(Debug)]
pub(crate) struct ReadFile {
    file: Arc<ArrayFile>,
    is_fortran: bool,
    shown: PathBuf,
    place: Place,
    /// The elements as bytes, for parts of rows.
    bytes: OnceLock<ArrayFile>,
}

impl ReadFile {
    /// Opens the array that `options` describe. Without an order, it is that of the
    /// header.
    fn open(path: &Location, options: OpenOptions, order: Option<Order>) -> Result<ReadFile> {
        let (place, source) = Place::open(path)?;
        let file = ArrayFile::new(source, options)?;
        let order = order.or_else(|| file.header().map(|header| header.order));
        Ok(ReadFile::of_file(place, file, order.unwrap_or(Order::C), path.to_path_buf()))
    }

    fn of_file(place: Place, file: ArrayFile, order: Order, shown: PathBuf) -> ReadFile {
        let is_fortran = order == Order::F;
        ReadFile { file: Arc::new(file), is_fortran, shown, place, bytes: OnceLock::new() }
    }

    /// Opens a member of an archive; `None` if it is compressed.
    fn open_member(path: &Location, member: &str) -> Result<Option<ReadFile>> {
        let (place, source) = Place::open(path)?;
        let Some((options, order)) = locate(source, member)? else { return Ok(None) };
        let file = ArrayFile::new(place.source()?, options)?;
        Ok(Some(ReadFile::of_file(place, file, order, path.to_path_buf())))
    }

    /// The elements as an array of bytes.
    fn bytes(&self) -> Result<&ArrayFile> {
        if let Some(bytes) = self.bytes.get() {
            return Ok(bytes);
        }
        let len = self.file.layout().nbytes();
        let options = bytes_at(self.file.data_offset(), len);
        let bytes = ArrayFile::new(self.place.source()?, options)?;
        Ok(self.bytes.get_or_init(|| bytes))
    }

    /// Reads the elements in some ranges of each axis, in the order of the file.
    fn read_ranges(&self, axes: &[Ranges], out: &mut [u8]) -> Result<()> {
        let shape = self.file.shape();
        match axes.first() {
            _ if out.is_empty() => Ok(()),
            Some(rows) if !self.is_fortran && is_whole_rows(shape, axes) => {
                self.file.read_ranges(rows, out)
            }
            _ => {
                let mut batch = Batch { file: self.bytes()?, ranges: Vec::new(), out };
                let mut axes: Vec<_> = shape.iter().copied().zip(axes).collect();
                if self.is_fortran {
                    axes.reverse();
                }
                // The last axes may be whole.
                let inner = axes.iter().rposition(|(len, ranges)| !is_whole(ranges, *len));
                let whole = axes.split_off(inner.map_or(0, |axis| axis + 1));
                let len = whole.iter().map(|(len, _)| len).product::<usize>();
                let size = len * self.file.dtype().itemsize();
                for_each_range(&axes, 0, &mut |lines| {
                    batch.add(lines.start * size..lines.end * size)
                })?;
                batch.read()
            }
        }
    }
}

/// Ranges of bytes to read together, and the output for these and all later ones.
struct Batch<'a> {
    file: &'a ArrayFile,
    ranges: Ranges,
    out: &'a mut [u8],
}

impl Batch<'_> {
    /// The most ranges of a batch.
    const MOST: usize = 1 << 16;

    fn add(&mut self, range: Range<usize>) -> Result<()> {
        self.ranges.push(range);
        if self.ranges.len() < Batch::MOST { Ok(()) } else { self.read() }
    }

    fn read(&mut self) -> Result<()> {
        let nbytes = self.ranges.iter().map(Range::len).sum();
        let (own, rest) = std::mem::take(&mut self.out).split_at_mut(nbytes);
        self.out = rest;
        self.file.read_ranges(&self.ranges, own)?;
        self.ranges.clear();
        Ok(())
    }
}

/// Ranges of indices of an axis, in increasing order.
type Ranges = Vec<Range<usize>>;

/// Options that open bytes of a file.
pub(crate) fn bytes_at(offset: u64, len: usize) -> OpenOptions {
    OpenOptions::new().raw(RawSpec::new(DType::of::<u8>()).offset(offset).shape(&[len]))
}

/// Returns whether ranges of the axes are those of whole rows.
fn is_whole_rows(shape: &[usize], axes: &[Ranges]) -> bool {
    axes.iter().zip(shape).skip(1).all(|(ranges, &len)| is_whole(ranges, len))
}

/// Returns whether ranges are all of an axis.
fn is_whole(ranges: &[Range<usize>], len: usize) -> bool {
    matches!(ranges, [range] if *range == (0..len))
}

/// Calls `f` with the ranges of the lines in some ranges of each axis, in C order. The
/// axes are inside the line `line` of those before them.
fn for_each_range(
    axes: &[(usize, &Ranges)],
    line: usize,
    f: &mut dyn FnMut(Range<usize>) -> Result<()>,
) -> Result<()> {
    let Some((&(len, ranges), rest)) = axes.split_first() else { return f(line..line + 1) };
    for range in ranges {
        let mut lines = line * len + range.start..line * len + range.end;
        if rest.is_empty() {
            f(lines)?;
        } else {
            lines.try_for_each(|line| for_each_range(rest, line, f))?;
        }
    }
    Ok(())
}

#[pymethods]
impl ReadFile {
    /// Opens a `.npy` file and reads its header.
    #[new]
    fn new(
        py: Python<'_>,
        path: Location,
        at: &Bound<'_, PyAny>,
        max_header_len: MaxHeaderLen,
    ) -> PyResult<ReadFile> {
        let options =
            OpenOptions::new().offset(unsigned("at", at)?).max_header_len(max_header_len.0);
        detached(py, || ReadFile::open(&path, options, None)).or_raise_for(py, &path)
    }

    /// Finds a member of an archive; None if it is compressed.
    #[staticmethod]
    fn member(py: Python<'_>, path: Location, member: &str) -> PyResult<Option<ReadFile>> {
        let opened = detached(py, || ReadFile::open_member(&path, member));
        opened.or_raise_for(py, &path)
    }

    /// Opens elements that were found before.
    #[staticmethod]
    fn elements(py: Python<'_>, path: Location, elements: Elements) -> PyResult<ReadFile> {
        let order = Some(elements.order());
        let opened = detached(py, || ReadFile::open(&path, elements.options()?, order));
        opened.or_raise_for(py, &path)
    }

    /// Facts about the array.
    #[getter]
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Facts<'py>> {
        let shape = PyTuple::new(py, self.file.shape())?;
        Ok((shape, self.file.dtype().to_string(), self.is_fortran, self.file.data_offset()))
    }

    /// What identifies the version of a remote object; None for files.
    #[getter]
    fn version(&self) -> Option<String> {
        self.place.version()
    }

    /// The rows.
    #[getter]
    fn rows(&self) -> Rows {
        Rows::of_file(&self.file, self.place.file_id())
    }

    /// Reads the elements in a range of each axis into the memory of an array, in the order
    /// of the file. With `rows`, those of the first axis are the ranges from the first
    /// numbers to the second ones, in increasing order.
    #[pyo3(signature = (axes, memory, rows=None))]
    fn read_into(
        &self,
        py: Python<'_>,
        axes: Vec<(usize, usize)>,
        memory: &Bound<'_, PyAny>,
        rows: Option<(PyBuffer<i64>, PyBuffer<i64>)>,
    ) -> PyResult<()> {
        let shape = self.file.shape();
        let mut axes: Vec<Ranges> =
            axes.into_iter().map(|(start, stop)| std::iter::once(start..stop).collect()).collect();
        if let (Some((starts, stops)), Some(axis)) = (rows, axes.first_mut()) {
            let (starts, stops) = (starts.to_vec(py)?, stops.to_vec(py)?);
            let row = |number: i64| usize::try_from(number).unwrap_or(usize::MAX);
            *axis = starts.iter().zip(&stops).map(|(&one, &two)| row(one)..row(two)).collect();
        }
        let is_inside = |ranges: &[Range<usize>], len| {
            let mut end = 0;
            ranges.iter().all(|range| {
                let is_next = end <= range.start && range.start <= range.end && range.end <= len;
                end = range.end;
                is_next
            })
        };
        let mut all = axes.iter().zip(shape);
        if axes.len() != shape.len() || !all.all(|(ranges, &len)| is_inside(ranges, len)) {
            return Err(PyIndexError::new_err(format!("ranges outside the shape {shape:?}")));
        }
        let mut memory = BytesMut::new(memory)?;
        let out = memory.as_mut_slice();
        let lens = axes.iter().map(|ranges| ranges.iter().map(Range::len).sum::<usize>());
        let expected = lens.fold(self.file.dtype().itemsize(), usize::saturating_mul);
        if out.len() != expected {
            let text = format!("{} bytes for elements of {expected}", out.len());
            return Err(PyValueError::new_err(text));
        }
        detached(py, || self.read_ranges(&axes, out)).or_raise_for(py, &self.shown)
    }

    /// Maps a range of bytes of the same file.
    fn map(&self, py: Python<'_>, offset: u64, len: usize) -> PyResult<Py<Mapping>> {
        let array = detached(py, || bytes_at(offset, len).open(self.place.map()?));
        let array = array.map(AnyArray::ReadOnly);
        Mapping::from_result(py, array, Some(Order::C), Some(self.shown.as_path().into()))
    }

    /// Returns whether an array maps the same file.
    fn is_file_of(&self, mapping: &Bound<'_, Mapping>) -> bool {
        Mapping::file_id(mapping) == self.place.file_id()
    }

    /// Raises unless the path leads to the same file, which contains the array.
    fn check_unchanged(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.file.check_unchanged()).or_raise_for(py, &self.shown)
    }
}

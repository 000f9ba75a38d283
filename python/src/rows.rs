//! Rows of arrays in any order, copied into memory that Python allocates.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use npymap::array::{AnyArray, Description};
use npymap::dtype::Kind;
use npymap::element::Casting;
use npymap::layout::TakeMode;
use npymap::loader::{Concat, FieldRows, IndexBatches, RowSource, Windows};
use npymap::source::{AnySource, FileId};
use npymap::{ArrayFile, DType, MappedArray, Mode, Order, Result};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::OrRaise;
use crate::joined::Joined;
use crate::mapping::Mapping;
use crate::memory::{self, BytesMut, MemoryRows};
use crate::number::unsigned;
use crate::path::absolute;
use crate::place::map_same;
use crate::to_numpy;
use crate::waiting::detached;

/// A source of rows of any kind.
#[derive(Clone)]
pub(crate) enum Source {
    /// Rows that are mapped, which can be requested from the disk.
    Mapped(Arc<npymap::Rows>),
    /// Rows of several maps.
    Concat(Arc<Concat>),
    /// Any other source.
    Other(Arc<dyn RowSource + Send + Sync>),
}

/// Evaluates an expression for a source of any kind.
macro_rules! for_source {
    ($source:expr, $rows:ident => $value:expr) => {
        match $source {
            Source::Mapped($rows) => $value,
            Source::Concat($rows) => $value,
            Source::Other($rows) => $value,
        }
    };
}

/// A source of rows that are mapped.
fn mapped(rows: npymap::Rows) -> Source {
    Source::Mapped(Arc::new(rows))
}

/// Rows in a range of those of a source.
#[pyclass(frozen, from_py_object, module = "npymap._core")]
#[derive(Clone)]
pub(crate) struct Rows {
    source: Source,
    first: usize,
    count: usize,
    /// The files that have the rows.
    files: Arc<[FileId]>,
    /// Whether a server has some of them.
    is_remote: bool,
}

/// A cast to another dtype: its `descr` as text, and the casting rule.
#[derive(Debug)]
pub(crate) struct Cast(String, String);

impl<'py> FromPyObject<'_, 'py> for Cast {
    type Error = PyErr;

    fn extract(tuple: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (descr, casting) = tuple.extract()?;
        Ok(Cast(descr, casting))
    }
}

impl Cast {
    /// Parses the texts.
    pub(crate) fn parse(&self) -> Result<(DType, Casting)> {
        Ok((self.0.parse()?, self.1.parse()?))
    }
}

impl RowSource for Rows {
    fn dtype(&self) -> &DType {
        for_source!(&self.source, rows => rows.dtype())
    }

    fn shape(&self) -> &[usize] {
        for_source!(&self.source, rows => RowSource::shape(&**rows))
    }

    fn row_count(&self) -> usize {
        self.count
    }

    fn read_ranges(&self, ranges: &[Range<usize>], out: &mut [u8]) -> Result<()> {
        Rows::read_ranges(self, ranges, out)
    }
}

impl Rows {
    /// All rows of a source, which are in some files.
    fn new(source: Source, files: impl IntoIterator<Item = FileId>) -> Rows {
        let count = for_source!(&source, rows => rows.row_count());
        let files = files.into_iter().collect();
        Rows { source, first: 0, count, files, is_remote: false }
    }

    /// The rows of a file that is read.
    pub(crate) fn of_file(file: &Arc<ArrayFile>, id: Option<FileId>) -> Rows {
        let is_remote = id.is_none();
        let rows = Rows::new(Source::Other(Arc::<ArrayFile>::clone(file)), id);
        Rows { is_remote, ..rows }
    }

    /// The dtype of the elements.
    pub(crate) fn dtype(&self) -> DType {
        for_source!(&self.source, rows => rows.dtype().clone())
    }

    /// The number of elements of a row.
    pub(crate) fn row_len(&self) -> usize {
        for_source!(&self.source, rows => RowSource::row_len(rows))
    }

    /// Returns whether a server has some of the rows.
    pub(crate) fn is_remote(&self) -> bool {
        self.is_remote
    }

    /// Announces batches to the source, which can then read ahead.
    pub(crate) fn announce(&self, batches: IndexBatches) -> IndexBatches {
        if self.first > 0 {
            return batches; // Their numbers are not those of the source.
        }
        for_source!(&self.source, rows => batches.announce_to(&**rows))
    }

    /// Returns whether these are all rows of the source.
    fn is_whole(&self) -> bool {
        self.first == 0 && for_source!(&self.source, rows => self.count == rows.row_count())
    }

    /// Copies rows, cast if there is a dtype.
    pub(crate) fn copy(
        &self,
        indices: &[usize],
        out: &mut [u8],
        cast: Option<&(DType, Casting)>,
    ) -> Result<()> {
        let inner: Vec<usize>;
        let rows = if self.is_whole() {
            indices
        } else {
            // The source has more rows, which are not in this range.
            let rows = TakeMode::Raise.resolve(indices, self.count)?;
            inner = rows.into_iter().map(|row| self.first + row).collect();
            &inner
        };
        for_source!(&self.source, source => match cast {
            None => source.take_bytes(rows, out),
            Some((dtype, casting)) => source.take_bytes_as(rows, out, dtype, *casting),
        })
    }

    /// The rows as those of a map, if they are all rows of one.
    pub(crate) fn mapped(&self) -> Option<npymap::Rows> {
        match &self.source {
            Source::Mapped(rows) if self.is_whole() => Some(npymap::Rows::clone(rows)),
            _ => None,
        }
    }

    /// The shape of a row.
    pub(crate) fn row_shape(&self) -> &[usize] {
        for_source!(&self.source, rows => RowSource::shape(&**rows)).get(1..).unwrap_or_default()
    }

    /// Copies ranges of rows, which must exist, one after another.
    pub(crate) fn read_ranges(&self, ranges: &[Range<usize>], out: &mut [u8]) -> Result<()> {
        let first = self.first;
        let ranges: Vec<_> = ranges.iter().map(|r| r.start + first..r.end + first).collect();
        for_source!(&self.source, source => source.read_ranges(&ranges, out))
    }

    /// Copies rows into memory, cast if there is a dtype.
    fn fill(
        &self,
        py: Python<'_>,
        indices: &PyBuffer<i64>,
        mode: TakeMode,
        mut memory: BytesMut,
        cast: Option<(DType, Casting)>,
    ) -> PyResult<()> {
        // As in NumPy: where rows have no elements, none is needed.
        if mode == TakeMode::Clip && self.count == 0 && self.row_len() == 0 {
            return Ok(());
        }
        let indices = indices.to_vec(py)?;
        let out = memory.as_mut_slice();
        let taken = detached(py, || self.copy(&self.resolve(mode, &indices)?, out, cast.as_ref()));
        taken.or_raise(py)
    }

    /// Converts indices into row numbers of this range.
    pub(crate) fn resolve(&self, mode: TakeMode, indices: &[i64]) -> Result<Vec<usize>> {
        mode.resolve(indices, self.count)
    }
}

#[pymethods]
impl Rows {
    /// The shape, and the dtype's `descr` as text.
    #[getter]
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>, String)> {
        let mut shape = for_source!(&self.source, rows => RowSource::shape(rows).to_vec());
        if let Some(count) = shape.first_mut() {
            *count = self.count;
        }
        Ok((PyTuple::new(py, shape)?, self.dtype().to_string()))
    }

    /// Returns whether an array maps a file that has rows.
    fn shares_file(&self, mapping: &Bound<'_, Mapping>) -> bool {
        Mapping::file_id(mapping).is_some_and(|id| self.files.contains(&id))
    }

    /// Copies rows of the dtype `dtype` into `out`, or into a new array if it is None.
    /// Returns the array, or None if an argument must be checked or converted first.
    fn take<'py>(
        &self,
        py: Python<'py>,
        indices: &Bound<'py, PyAny>,
        mode: &str,
        out: Option<Bound<'py, PyAny>>,
        dtype: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let row_shape = for_source!(&self.source, rows => {
            // NumPy has no buffers of other elements.
            if !is_number(rows.dtype().kind()) {
                return Ok(None);
            }
            RowSource::shape(rows).get(1..).unwrap_or_default()
        });
        let Some(indices) = to_numpy::int64_buffer(indices)? else { return Ok(None) };
        let shape = || indices.shape().iter().chain(row_shape).copied();
        let out = match out {
            Some(out) => out,
            None => to_numpy::empty(py, shape(), dtype)?,
        };
        let Some(buffer) = to_numpy::buffer_of(&out, dtype)? else { return Ok(None) };
        if !shape().eq(buffer.shape().iter().copied()) {
            return Ok(None);
        }
        let Some(memory) = BytesMut::of_elements(buffer) else { return Ok(None) };
        self.fill(py, &indices, parse_mode(mode)?, memory, None)?;
        Ok(Some(out))
    }

    /// Copies rows into the memory of an array, in C order.
    #[pyo3(signature = (indices, mode, memory, cast=None))]
    fn take_into(
        &self,
        py: Python<'_>,
        indices: &Bound<'_, PyAny>,
        mode: &str,
        memory: &Bound<'_, PyAny>,
        cast: Option<Cast>,
    ) -> PyResult<()> {
        let mode = parse_mode(mode)?;
        let indices = PyBuffer::get(indices)?;
        let cast = cast.map(|cast| cast.parse()).transpose().or_raise(py)?;
        self.fill(py, &indices, mode, BytesMut::new(memory)?, cast)
    }

    /// Requests rows from the disk.
    fn prefetch(&self, py: Python<'_>, indices: &Bound<'_, PyAny>, mode: &str) -> PyResult<()> {
        let mode = parse_mode(mode)?;
        let indices = PyBuffer::<i64>::get(indices)?.to_vec(py)?;
        let requested = detached(py, || {
            let mut rows = self.resolve(mode, &indices)?;
            for row in &mut rows {
                *row += self.first;
            }
            match &self.source {
                Source::Mapped(source) => source.prefetch(&rows),
                Source::Concat(source) => source.prefetch(&rows),
                Source::Other(source) => source.prefetch(&rows),
            }
        });
        requested.or_raise(py)
    }

    /// A range of the rows, which must exist.
    fn range(&self, start: usize, stop: usize) -> PyResult<Rows> {
        if start > stop || stop > self.count {
            return Err(PyValueError::new_err(format!("rows {start}:{stop} of {}", self.count)));
        }
        Ok(Rows { first: self.first + start, count: stop - start, ..self.clone() })
    }

    /// The sliding windows of `length` rows.
    fn windows(&self, py: Python<'_>, length: &Bound<'_, PyAny>) -> PyResult<Rows> {
        let length = unsigned("length", length)?;
        let source = match &self.source {
            Source::Mapped(rows) => npymap::Rows::windows(rows, length).map(mapped),
            Source::Concat(rows) => Windows::new(Arc::clone(rows), length)
                .map(|windows| Source::Other(Arc::new(windows))),
            Source::Other(rows) => Windows::new(Arc::clone(rows), length)
                .map(|windows| Source::Other(Arc::new(windows))),
        };
        let source = source.or_raise(py)?;
        let Some(before) = self.count.checked_sub(length) else {
            let text = format!("windows of {length} rows, of {} rows", self.count);
            return Err(PyValueError::new_err(text));
        };
        Ok(Rows { source, count: before + 1, ..self.clone() })
    }

    /// One field of each element.
    fn field(&self, py: Python<'_>, path: &str) -> PyResult<Rows> {
        let source = match &self.source {
            Source::Mapped(rows) => npymap::Rows::field(rows, path).map(mapped),
            Source::Concat(rows) => {
                Concat::field(rows, path).map(|rows| Source::Concat(Arc::new(rows)))
            }
            Source::Other(rows) => {
                FieldRows::new(Arc::clone(rows), path).map(|rows| Source::Other(Arc::new(rows)))
            }
        };
        Ok(Rows { source: source.or_raise(py)?, ..self.clone() })
    }
}

/// The rows of a mapped array; None if it has changes that are not in the file, or no
/// file.
#[pyfunction]
pub(crate) fn rows_of(mapping: &Bound<'_, Mapping>) -> PyResult<Option<Rows>> {
    let rows = Mapping::run(mapping, |array| match array {
        AnyArray::ReadOnly(array) => array.rows().map(Some),
        AnyArray::Writable(array) => match array.mode() {
            Some(Mode::ReadWrite | Mode::Create) => map_again(array).map(Some),
            _ => Ok(None),
        },
    });
    Ok(rows?.map(|rows| Rows::new(mapped(rows), Mapping::file_id(mapping))))
}

/// As [`rows_of`], for a part of a mapping that starts at a byte of it, and has elements of
/// another dtype and shape.
#[pyfunction]
pub(crate) fn rows_at(
    mapping: &Bound<'_, Mapping>,
    start: u64,
    descr: &str,
    shape: Vec<usize>,
    is_fortran: bool,
) -> PyResult<Option<Rows>> {
    let rows = Mapping::run(mapping, |array| {
        let description = match array {
            AnyArray::ReadOnly(array) => array.description()?,
            AnyArray::Writable(array) => match array.mode() {
                Some(Mode::ReadWrite | Mode::Create) => array.description()?,
                _ => return Ok(None),
            },
        };
        let (dtype, order) = (descr.parse()?, if is_fortran { Order::F } else { Order::C });
        let Some(offset) = description.offset.checked_add(start) else { return Ok(None) };
        open_description(&Description { dtype, shape, order, offset, ..description }).map(Some)
    });
    Ok(rows?.map(|rows| Rows::new(mapped(rows), Mapping::file_id(mapping))))
}

/// The rows of an array in memory. Its elements are of the size of those of `descr`.
#[pyfunction]
pub(crate) fn rows_in_memory(array: &Bound<'_, PyAny>, descr: &str) -> PyResult<Rows> {
    let py = array.py();
    let rows = MemoryRows::new(array, descr.parse().or_raise(py)?)?
        .ok_or_else(|| PyTypeError::new_err(format!("expected rows of elements of {descr}")))?;
    Ok(Rows::new(Source::Other(Arc::new(rows)), None))
}

/// The rows of several sources, one after another.
#[pyfunction]
pub(crate) fn join_rows(parts: Vec<Rows>) -> PyResult<Rows> {
    let files: Vec<FileId> = parts.iter().flat_map(|rows| rows.files.iter().copied()).collect();
    let is_remote = parts.iter().any(|rows| rows.is_remote);
    let joined = Joined::new(parts).map_err(PyValueError::new_err)?;
    Ok(Rows { is_remote, ..Rows::new(Source::Other(Arc::new(joined)), files) })
}

/// Maps the file of an array for reading, unless it was replaced. Both maps show what
/// is stored in one.
fn map_again<D>(array: &MappedArray<D>) -> Result<npymap::Rows> {
    open_description(&array.description()?)
}

fn open_description(description: &Description) -> Result<npymap::Rows> {
    let source = map_same(&description.path, description.file_id)?;
    description.options().open(source)?.into_rows()
}

/// The rows of several `.npy` files, one after another.
#[pyfunction]
pub(crate) fn stack_rows(py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<Rows> {
    let concat = detached(py, || {
        let mut files = Vec::new();
        let arrays = paths.iter().map(|path| match memory::map(&absolute(path), Mode::ReadOnly)? {
            AnySource::ReadOnly(source) => {
                files.extend(source.file_id());
                MappedArray::from_source(source)
            }
            AnySource::Writable(source) => MappedArray::from_source(source)?.into_read_only(),
        });
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        Ok((Concat::new(arrays)?, files))
    });
    let (concat, files) = concat.or_raise(py)?;
    Ok(Rows::new(Source::Concat(Arc::new(concat)), files))
}

/// The paths of the files of a directory that Dask's `to_npy_stack` wrote.
#[pyfunction]
pub(crate) fn npy_stack_paths(py: Python<'_>, directory: PathBuf) -> PyResult<Vec<PathBuf>> {
    detached(py, || Concat::npy_stack_paths(&directory)).or_raise_for(py, &directory)
}

/// Raises unless this is the name of a casting rule.
#[pyfunction]
pub(crate) fn check_casting(py: Python<'_>, name: &str) -> PyResult<()> {
    name.parse::<Casting>().map(drop).or_raise(py)
}

/// Returns whether elements are numbers, which NumPy's buffers can have.
pub(crate) fn is_number(kind: Kind) -> bool {
    matches!(kind, Kind::Bool | Kind::Int | Kind::UInt | Kind::Float | Kind::Complex)
}

/// Parses the name of a mode of NumPy's `take`.
fn parse_mode(name: &str) -> PyResult<TakeMode> {
    match name {
        "raise" => Ok(TakeMode::FromEnd),
        "wrap" => Ok(TakeMode::Wrap),
        "clip" => Ok(TakeMode::Clip),
        _ => {
            let text = format!("mode '{name}', expected 'raise', 'wrap' or 'clip'");
            Err(PyValueError::new_err(text))
        }
    }
}

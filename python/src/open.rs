//! Opening and creating files that are mapped.

use npymap::any::open_any;
use npymap::array::{AnyArray, Description, RawSpec};
use npymap::npy::Version;
use npymap::source::{Advice, AnySource};
use npymap::{CreateOptions, DType, Mode, OpenOptions, Order, Result};
use pyo3::exceptions::{PyUserWarning, PyValueError};
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::mapping::{Mapping, parse_advice, to_memmap};
use crate::memory;
use crate::number::{MaxHeaderLen, unsigned};
use crate::path::{FilePath, absolute};

/// The arguments of `numpy.memmap` that describe the elements.
#[derive(Debug)]
pub(crate) struct Elements {
    /// The dtype's `descr`.
    descr: String,
    shape: Option<Vec<usize>>,
    is_fortran: bool,
    offset: u64,
}

// Not derived: those messages name types of this crate.
impl<'py> FromPyObject<'_, 'py> for Elements {
    type Error = PyErr;

    fn extract(tuple: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (descr, shape, is_fortran, offset) = tuple.extract()?;
        Ok(Elements { descr, shape, is_fortran, offset })
    }
}

impl Elements {
    /// The memory order.
    pub(crate) fn order(&self) -> Order {
        if self.is_fortran { Order::F } else { Order::C }
    }

    /// Options that open the elements.
    pub(crate) fn options(&self) -> Result<OpenOptions> {
        let raw = RawSpec::new(self.descr.parse()?).order(self.order()).offset(self.offset);
        Ok(OpenOptions::new().raw(match &self.shape {
            Some(shape) => raw.shape(shape),
            None => raw,
        }))
    }
}

/// Opens a `.npy` file as a `memmap`.
#[pyfunction]
#[pyo3(signature = (path, mode, at, max_header_len, advice))]
pub(crate) fn open_npy<'py>(
    py: Python<'py>,
    path: FilePath,
    mode: &str,
    at: &Bound<'py, PyAny>,
    max_header_len: MaxHeaderLen,
    advice: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let mode = mode.parse().or_raise(py)?;
    let options = OpenOptions::new().offset(unsigned("at", at)?).max_header_len(max_header_len.0);
    let advice = parse_advice(advice)?;
    let array = py.detach(|| {
        let array = options.open_mode(memory::map(&absolute(path.as_path()), mode)?)?;
        if advice != Advice::Normal {
            match &array {
                AnyArray::ReadOnly(array) => array.advise(.., advice),
                AnyArray::Writable(array) => array.advise(.., advice),
            }?;
        }
        Ok(array)
    });
    to_memmap(Mapping::from_result(py, array, None, Some(path))?.bind(py))
}

/// Opens raw binary: `numpy.memmap`. In mode `r+` the file is extended if it is
/// too short.
#[pyfunction]
pub(crate) fn open_raw(
    py: Python<'_>,
    path: FilePath,
    mode: &str,
    elements: Elements,
) -> PyResult<Py<Mapping>> {
    let mode = mode.parse().or_raise(py)?;
    let opened = py.detach(|| {
        let options = elements.options()?;
        let source = memory::map(&absolute(path.as_path()), mode)?;
        let is_npy = elements.offset == 0 && is_npy(&source);
        options.open_mode(source).map(|array| (array, is_npy))
    });
    if let Ok((array, true)) = &opened {
        let dtype = match array {
            AnyArray::ReadOnly(array) => array.dtype(),
            AnyArray::Writable(array) => array.dtype(),
        };
        // Whoever wants single bytes may want those of the header.
        if dtype.itemsize() > 1 {
            let text =
                c"the file has an NPY header, which is mapped as elements: npymap.open opens it";
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), text, 3)?;
        }
    }
    let array = opened.map(|(array, _)| array);
    Mapping::from_result(py, array, Some(elements.order()), Some(path))
}

/// Returns whether a source starts with the header of a `.npy` file.
fn is_npy(source: &AnySource) -> bool {
    let options = OpenOptions::new();
    match source {
        AnySource::ReadOnly(source) => options.header_text(source),
        AnySource::Writable(source) => options.header_text(source),
    }
    .is_ok()
}

/// As [`open_raw`], for an open descriptor, which stays open.
#[pyfunction]
pub(crate) fn open_raw_descriptor(
    py: Python<'_>,
    descriptor: i32,
    mode: &str,
    elements: Elements,
) -> PyResult<Py<Mapping>> {
    let mode = mode.parse().or_raise(py)?;
    let file = memory::file_of_descriptor(py, descriptor)?;
    let array = py.detach(|| elements.options()?.open_mode(memory::map_file(file, mode)?));
    Mapping::from_result(py, array, Some(elements.order()), None)
}

/// Maps bytes of a file that an array in another process mapped. The file is never
/// extended.
#[pyfunction]
pub(crate) fn map_elements(
    py: Python<'_>,
    path: FilePath,
    mode: &str,
    offset: u64,
    len: usize,
) -> PyResult<Py<Mapping>> {
    let mode = mode.parse().or_raise(py)?;
    let array = py.detach(|| {
        let (dtype, shape, order) = ("|u1".parse()?, vec![len], Order::C);
        let path = path.as_path().to_owned();
        let (file_id, file_len) = (None, 0);
        let description =
            Description { path, offset, dtype, shape, order, mode, file_id, file_len };
        description.options().open_mode(memory::map(&description.path, mode)?)
    });
    Mapping::from_result(py, array, Some(Order::C), Some(path))
}

/// Opens an array of a file of any format: the one called `member`, or the only
/// one.
#[pyfunction]
#[pyo3(signature = (path, mode, member))]
pub(crate) fn open_member(
    py: Python<'_>,
    path: FilePath,
    mode: &str,
    member: Option<&str>,
) -> PyResult<Py<Mapping>> {
    let mode = mode.parse().or_raise(py)?;
    let array = py.detach(|| {
        Ok(match memory::map(&absolute(path.as_path()), mode)? {
            AnySource::ReadOnly(source) => AnyArray::ReadOnly(open_any(source)?.get(member)?),
            AnySource::Writable(source) => AnyArray::Writable(open_any(source)?.get(member)?),
        })
    });
    Mapping::from_result(py, array, None, Some(path))
}

/// Options of [`create`].
#[derive(Debug)]
pub(crate) struct Creation {
    options: CreateOptions,
    /// Whether the file has no header.
    raw: bool,
}

impl<'py> FromPyObject<'_, 'py> for Creation {
    type Error = PyErr;

    fn extract(tuple: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (version, overwrite, sparse, page_aligned, raw, discards) = tuple.extract()?;
        let options = CreateOptions::new()
            .overwrite(overwrite)
            .sparse(sparse)
            .page_aligned(page_aligned)
            .discard_trailing(discards);
        let version: Option<(u8, u8)> = version;
        let options = match version {
            Some(version) => options.version(parse_version(version)?),
            None => options,
        };
        Ok(Creation { options, raw })
    }
}

impl Creation {
    fn options(self, elements: &Elements) -> CreateOptions {
        let options = self.options.order(elements.order());
        if self.raw { options.raw(elements.offset) } else { options }
    }
}

/// Creates a file of zeros.
#[pyfunction]
pub(crate) fn create(
    py: Python<'_>,
    path: FilePath,
    elements: Elements,
    creation: Creation,
) -> PyResult<Py<Mapping>> {
    let options = creation.options(&elements);
    let dtype: DType = elements.descr.parse().or_raise(py)?;
    let shape = elements.shape.as_deref().unwrap_or_default();
    let array = py.detach(|| memory::create(&absolute(path.as_path()), &dtype, shape, &options));
    let array = array.map(AnyArray::Writable);
    Mapping::from_result(py, array, Some(elements.order()), Some(path))
}

/// Finds the version of the format with these two numbers.
pub(crate) fn parse_version(version: (u8, u8)) -> PyResult<Version> {
    match version {
        (1, 0) => Ok(Version::V1),
        (2, 0) => Ok(Version::V2),
        (3, 0) => Ok(Version::V3),
        (major, minor) => {
            let text = format!("format version {major}.{minor}, expected 1.0, 2.0 or 3.0");
            Err(PyValueError::new_err(text))
        }
    }
}

/// The mode to open a file in whose arrays are copies, if there is none.
pub(crate) fn parse_mode(py: Python<'_>, mode: Option<&str>) -> PyResult<Option<Mode>> {
    mode.map(|mode| mode.parse().or_raise(py)).transpose()
}

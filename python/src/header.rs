//! Headers of `.npy` files.

use npymap::npy::HeaderText;
use npymap::{DType, Header, OpenOptions, Order};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::errors::OrRaise;
use crate::number::{MaxHeaderLen, unsigned};
use crate::open::parse_version;
use crate::path::Location;
use crate::place::Place;
use crate::waiting::detached;

/// Shape, `descr`, whether the order is Fortran's, version, offset of the elements.
type Facts<'py> = (Bound<'py, PyTuple>, String, bool, (u8, u8), usize);

/// Parses the header at the start of a buffer.
#[pyfunction]
pub(crate) fn parse_header<'py>(
    py: Python<'py>,
    bytes: &[u8],
    max_header_len: MaxHeaderLen,
) -> PyResult<Facts<'py>> {
    let header = HeaderText::parse(bytes, max_header_len.0).and_then(|text| text.header());
    facts(py, &header.or_raise(py)?)
}

/// Returns whether the text of a header has integers as Python 2 printed them, such
/// as `10L`.
#[pyfunction]
pub(crate) fn has_longs(text: &[u8]) -> bool {
    let (mut quote, mut before) = (None, b' ');
    let mut bytes = text.iter();
    while let Some(&byte) = bytes.next() {
        match (quote, byte) {
            (None, b'\'' | b'"') => quote = Some(byte),
            (None, b'L') if before.is_ascii_digit() => return true,
            (Some(_), b'\\') => drop(bytes.next()),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
        before = byte;
    }
    false
}

/// Reads the header of a file, and checks that the file contains the elements.
#[pyfunction]
pub(crate) fn read_header<'py>(
    py: Python<'py>,
    path: Location,
    at: &Bound<'py, PyAny>,
    max_header_len: MaxHeaderLen,
) -> PyResult<Facts<'py>> {
    let at = unsigned("at", at)?;
    let header = detached(py, || {
        let (_, source) = Place::open(&path)?;
        OpenOptions::new().offset(at).max_header_len(max_header_len.0).header(&source)
    });
    facts(py, &header.or_raise_for(py, &path)?)
}

fn facts<'py>(py: Python<'py>, header: &Header) -> PyResult<Facts<'py>> {
    let shape = PyTuple::new(py, &header.shape)?;
    let version = (header.version.major(), 0);
    let is_fortran = header.order == Order::F;
    Ok((shape, header.dtype.to_string(), is_fortran, version, header.data_offset))
}

/// Writes a header, and returns it with the version it needs.
#[pyfunction]
pub(crate) fn encode_header<'py>(
    py: Python<'py>,
    descr: &str,
    shape: Vec<usize>,
    is_fortran: bool,
    version: Option<(u8, u8)>,
) -> PyResult<(Bound<'py, PyBytes>, (u8, u8))> {
    let version = version.map(parse_version).transpose()?;
    let order = if is_fortran { Order::F } else { Order::C };
    let dtype: DType = descr.parse().or_raise(py)?;
    let header = Header::new(dtype, &shape, order).and_then(|header| header.encode(version));
    let header = header.or_raise(py)?;
    let version = (header.version.major(), 0);
    Ok((PyBytes::new(py, &header.bytes), version))
}

//! Rows of different lengths.

use std::ops::Range;
use std::sync::Arc;

use npymap::element::Casting;
use npymap::layout::TakeMode;
use npymap::loader::Ragged as Source;
use npymap::{DType, Result};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::OrRaise;
use crate::memory::{Bytes, BytesMut};
use crate::rows::{Cast, Rows};

/// Rows of different lengths, in an array of all elements and one of offsets.
#[pyclass(frozen, from_py_object, module = "npymap._core")]
#[derive(Clone)]
pub(crate) struct Ragged {
    source: Arc<Source>,
    data: Rows,
}

impl Ragged {
    /// The starts and ends of rows, along the first axis of the data.
    pub(crate) fn spans_of(&self, rows: &[usize]) -> Result<Vec<Range<usize>>> {
        self.source.spans(rows)
    }

    /// The data, of which each row is an item of the rows.
    pub(crate) fn data(&self) -> &Rows {
        &self.data
    }

    /// Copies ranges of the data, one after another, cast if there is a dtype.
    pub(crate) fn copy(
        &self,
        spans: &[Range<usize>],
        out: &mut [u8],
        cast: Option<&(DType, Casting)>,
    ) -> Result<()> {
        match cast {
            None => self.data.read_ranges(spans, out),
            Some(cast) => {
                let items: Vec<usize> = spans.iter().cloned().flatten().collect();
                self.data.copy(&items, out, Some(cast))
            }
        }
    }
}

#[pymethods]
impl Ragged {
    /// Combines data and offsets, which must be mapped.
    #[new]
    fn new(py: Python<'_>, data: Rows, offsets: Rows) -> PyResult<Ragged> {
        let source = Source::new(data.mapped()?, offsets.mapped()?).or_raise(py)?;
        Ok(Ragged { source: Arc::new(source), data })
    }

    /// The number of rows.
    fn __len__(&self) -> usize {
        self.source.len()
    }

    /// The starts and ends of rows, along the first axis of the data.
    fn spans(
        &self,
        py: Python<'_>,
        indices: &Bound<'_, PyAny>,
    ) -> PyResult<(Vec<usize>, Vec<usize>)> {
        let indices = PyBuffer::<i64>::get(indices)?.to_vec(py)?;
        let spans = py.detach(|| {
            let rows = TakeMode::FromEnd.resolve(&indices, self.source.len())?;
            self.source.spans(&rows)
        });
        let spans = spans.or_raise(py)?;
        Ok(spans.into_iter().map(|span| (span.start, span.end)).unzip())
    }

    /// Copies ranges of the data, one after another, into the memory of an array, cast if
    /// there is a dtype.
    #[pyo3(signature = (starts, ends, memory, cast=None))]
    fn read_into(
        &self,
        py: Python<'_>,
        starts: Vec<usize>,
        ends: Vec<usize>,
        memory: &Bound<'_, PyAny>,
        cast: Option<Cast>,
    ) -> PyResult<()> {
        let cast = cast.map(|cast| cast.parse()).transpose().or_raise(py)?;
        let mut memory = BytesMut::new(memory)?;
        let out = memory.as_mut_slice();
        let ranges: Vec<_> = starts.into_iter().zip(ends).map(|(start, end)| start..end).collect();
        py.detach(|| self.copy(&ranges, out, cast.as_ref())).or_raise(py)
    }

    /// Copies rows into the memory of an array, each padded or truncated to `width`.
    /// Returns their lengths.
    fn take_padded_into<'py>(
        &self,
        py: Python<'py>,
        indices: &Bound<'_, PyAny>,
        memory: &Bound<'_, PyAny>,
        padding: (usize, Bound<'_, PyAny>),
        cast: Cast,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let indices = PyBuffer::<i64>::get(indices)?.to_vec(py)?;
        let (dtype, casting) = cast.parse().or_raise(py)?;
        let (width, pad) = (padding.0, Bytes::new(&padding.1)?);
        let (mut memory, pad) = (BytesMut::new(memory)?, pad.as_slice());
        let out = memory.as_mut_slice();
        let lengths = py.detach(|| {
            let rows = TakeMode::FromEnd.resolve(&indices, self.source.len())?;
            self.source.take_padded_bytes_as(&rows, out, width, pad, &dtype, casting)
        });
        PyTuple::new(py, lengths.or_raise(py)?)
    }
}

//! Rows of different lengths.

use std::ops::Range;
use std::sync::Arc;

use npymap::bytemuck::cast_slice_mut;
use npymap::dtype::Kind;
use npymap::element::Casting;
use npymap::layout::TakeMode;
use npymap::loader::{Ragged as Mapped, RowSource};
use npymap::{DType, Error, ErrorKind, Result};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::OrRaise;
use crate::memory::{Bytes, BytesMut};
use crate::rows::{Cast, Rows};
use crate::waiting::detached;

/// Rows of different lengths, in an array of all elements and one of offsets.
#[pyclass(frozen, from_py_object, module = "npymap._core")]
#[derive(Clone)]
pub(crate) struct Ragged {
    /// If both arrays are mapped.
    mapped: Option<Arc<Mapped>>,
    data: Rows,
    offsets: Rows,
}

impl Ragged {
    /// The starts and ends of rows, along the first axis of the data.
    pub(crate) fn spans_of(&self, rows: &[usize]) -> Result<Vec<Range<usize>>> {
        if let Some(mapped) = &self.mapped {
            return mapped.spans(rows);
        }
        let rows = TakeMode::Raise.resolve(rows, self.len())?;
        let places: Vec<usize> = rows.iter().flat_map(|row| [*row, row + 1]).collect();
        let mut ends = vec![[0_i64; 2]; rows.len()];
        let cast = (DType::of::<i64>(), Casting::SameKind);
        self.offsets.copy(&places, cast_slice_mut(&mut ends), Some(&cast))?;
        let len = self.data.row_count();
        let spans = ends.into_iter().zip(rows).map(|([start, end], row)| {
            let span = usize::try_from(start).ok().zip(usize::try_from(end).ok());
            let span = span.filter(|(start, end)| start <= end && *end <= len);
            span.map(|(start, end)| start..end).ok_or_else(|| {
                let text = format!(
                    "row {row} from {start} to {end}: expected increasing offsets, up to {len}"
                );
                Error::new(ErrorKind::Corrupt, text)
            })
        });
        spans.collect()
    }

    /// The number of rows.
    fn len(&self) -> usize {
        self.offsets.row_count() - 1
    }

    /// Returns whether a server has some of the elements.
    pub(crate) fn is_remote(&self) -> bool {
        self.data.is_remote() || self.offsets.is_remote()
    }

    /// Copies rows, each padded or truncated to `width`. Returns their lengths.
    fn take_padded(
        &self,
        rows: &[usize],
        out: &mut [u8],
        (width, pad): (usize, &[u8]),
        (dtype, casting): (DType, Casting),
    ) -> Result<Vec<usize>> {
        if let Some(mapped) = &self.mapped {
            return mapped.take_padded_bytes_as(rows, out, width, pad, &dtype, casting);
        }
        let spans = self.spans_of(rows)?;
        let item = self.data.row_len() * dtype.itemsize();
        let parts: Vec<_> = spans
            .iter()
            .map(|span| span.start..span.end.min(span.start.saturating_add(width)))
            .collect();
        let mut packed = vec![0; parts.iter().map(Range::len).sum::<usize>() * item];
        let cast = (dtype != self.data.dtype()).then_some((dtype, casting));
        self.copy(&parts, &mut packed, cast.as_ref())?;
        let mut rest = &packed[..];
        // An item without bytes needs no copy.
        for (part, place) in parts.iter().zip(out.chunks_exact_mut((width * item).max(1))) {
            let (elements, more) = rest.split_at(part.len() * item);
            let (own, padding) = place.split_at_mut(elements.len());
            own.copy_from_slice(elements);
            for place in padding.chunks_exact_mut(pad.len().max(1)) {
                place.copy_from_slice(pad);
            }
            rest = more;
        }
        Ok(spans.iter().map(Range::len).collect())
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
    /// Combines data and offsets.
    #[new]
    fn new(py: Python<'_>, data: Rows, offsets: Rows) -> PyResult<Ragged> {
        let mapped = match (data.mapped(), offsets.mapped()) {
            (Some(data), Some(offsets)) => Some(Arc::new(Mapped::new(data, offsets).or_raise(py)?)),
            _ => None,
        };
        let (dtype, shape) = (offsets.dtype(), offsets.row_shape());
        let is_integer = matches!(dtype.kind(), Kind::Int | Kind::UInt);
        if !is_integer || !shape.is_empty() || offsets.row_count() == 0 {
            let text = format!(
                "offsets {dtype} of {} rows of shape {shape:?}: expected one axis of integers, one more \
                 than the number of rows",
                offsets.row_count(),
            );
            return Err(PyValueError::new_err(text));
        }
        Ok(Ragged { mapped, data, offsets })
    }

    /// The number of rows.
    fn __len__(&self) -> usize {
        self.len()
    }

    /// The starts and ends of rows, along the first axis of the data.
    fn spans(
        &self,
        py: Python<'_>,
        indices: &Bound<'_, PyAny>,
    ) -> PyResult<(Vec<usize>, Vec<usize>)> {
        let indices = PyBuffer::<i64>::get(indices)?.to_vec(py)?;
        let spans =
            detached(py, || self.spans_of(&TakeMode::FromEnd.resolve(&indices, self.len())?));
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
        detached(py, || self.copy(&ranges, out, cast.as_ref())).or_raise(py)
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
        let cast = cast.parse().or_raise(py)?;
        let (width, pad) = (padding.0, Bytes::new(&padding.1)?);
        let (mut memory, pad) = (BytesMut::new(memory)?, pad.as_slice());
        let out = memory.as_mut_slice();
        let lengths = detached(py, || {
            let rows = TakeMode::FromEnd.resolve(&indices, self.len())?;
            self.take_padded(&rows, out, (width, pad), cast)
        });
        PyTuple::new(py, lengths.or_raise(py)?)
    }
}

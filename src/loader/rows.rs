//! Rows of one array, copied in any order.

use std::hint::black_box;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::gather::{self, Gather};
use super::row_source::{RowSource, row_source};
use super::strategy::{RowReader, Strategy};
use crate::dtype::DType;
use crate::dtype::literal::tuple;
use crate::element::Element;
use crate::element::cast::Number;
use crate::error::invariant::{IN_BUFFER, Invariant};
use crate::error::{Result, ShapeError};
use crate::layout::Layout;
use crate::layout::axes::Axes;
use crate::layout::geometry::Geometry;
use crate::layout::row_index::RowIndex;
use crate::source::map::Map;
use crate::source::pages::sealed::Pages as _;
use crate::source::platform::{Advice, Clock};
use crate::view::{AxisSlices, field_geometry};

/// The rows of an array, to be copied in any order:
/// [`MappedArray::rows`](crate::MappedArray::rows).
///
/// A row is what stands at one index of the first axis. Any dtype, byte order
/// and memory order will do; values come out decoded, in C order. Rows that
/// are on the disk are asked for all at once, as soon as it shows that they
/// are not in memory. Only pages that hold rows asked for are read.
///
/// Clones share the map and what was learnt about the disk; threads may share
/// one, or have one each.
///
/// Indices are checked before anything is written, and negative ones are
/// errors; [`TakeMode`](crate::layout::TakeMode) wraps and clips.
#[derive(Clone, Debug)]
pub struct Rows {
    map: Map,
    geometry: Geometry,
    dtype: DType,
    path: Option<Arc<Path>>,
    strategy: Arc<Strategy>,
}

impl Rows {
    pub(crate) fn new(map: Map, layout: &Layout, path: Option<Arc<Path>>) -> Result<Rows> {
        let (geometry, dtype) = (layout.geometry().clone(), layout.dtype().clone());
        if geometry.ndim() == 0 {
            return Err(ShapeError::Axis { asked: 0, shape: tuple(&geometry.shape) }.into());
        }
        Ok(Rows { map, geometry, dtype, path, strategy: Arc::default() })
    }

    /// The length of each axis; the first is the number of rows.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.geometry.shape
    }

    /// What each element is.
    #[must_use]
    pub fn dtype(&self) -> &DType {
        &self.dtype
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        *self.shape().first().invariant("rows have a first axis")
    }

    /// True when there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The same rows with one field of each element: `"x"`, or `"pos.z"`.
    ///
    /// # Errors
    ///
    /// As [`View::field`](crate::View::field).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::MappedArray;
    ///
    /// let events = MappedArray::anonymous(&"[('id', '<u2'), ('e', '>f4')]".parse()?, &[9])?;
    /// let energy = events.into_read_only()?.rows()?.field("e")?;
    /// let mut out = [1.0_f32; 2];
    /// energy.take(&[8, 3], &mut out)?;
    /// assert_eq!(out, [0.0, 0.0]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn field(&self, path: &str) -> Result<Rows> {
        let (geometry, dtype) = self.named(field_geometry(&self.geometry, &self.dtype, path))?;
        Ok(Rows { geometry, dtype, ..self.clone() })
    }

    /// Asks the system to read rows that will be needed soon, and doesn't wait
    /// for them.
    ///
    /// # Errors
    ///
    /// [`OutOfBounds`](crate::ErrorKind::OutOfBounds).
    pub fn prefetch(&self, indices: &[impl RowIndex]) -> Result<()> {
        let rows = self.named(gather::found(self, indices))?;
        let batch = self.named(self.wanted(&rows))?;
        batch.rows.iter().for_each(|&row| self.advise(&batch.parts, row));
        Ok(())
    }

    /// The same bytes, with windows of this shape in place of rows.
    pub(super) fn with_windows(&self, shape: &[usize]) -> Result<Rows> {
        let by_row = self.geometry.strides.iter().copied().take(1);
        let strides = by_row.chain(self.geometry.strides.iter().copied()).collect();
        let shape = Axes::from_slice(shape);
        let geometry = Geometry { offset: self.geometry.offset, shape, strides };
        let geometry = geometry.check_countable(self.dtype.itemsize())?;
        Ok(Rows { geometry, ..self.clone() })
    }

    fn wanted(&self, rows: &[usize]) -> Result<Wanted> {
        let parts = AxisSlices::rows(&self.geometry, 0, self.dtype.itemsize())?;
        Ok(Wanted { parts, rows: rows.to_vec() })
    }

    /// Copies rows to places of their own: the `n`th of `rows` to the `n`th of
    /// `places`, counted in rows of `out`, which are `each` items. All are
    /// there.
    pub(super) fn scatter<U>(
        &self,
        (rows, places): (&[usize], &[usize]),
        each: usize,
        out: &mut [U],
        mut copy: impl FnMut(&AxisSlices, &[u8], &[usize], &mut [U]),
    ) -> Result<()> {
        let wanted = self.wanted(rows)?;
        self.go(&wanted, |range| {
            for at in range {
                let place = places.get(at).invariant("each row has a place");
                let place = out.get_mut(place * each..(place + 1) * each).invariant(IN_BUFFER);
                let next = wanted.rows.get(at..).invariant(IN_BUFFER);
                copy(&wanted.parts, self.map.as_ref(), next, place);
            }
        });
        Ok(())
    }

    /// Copies stretches of rows, each to as many places of its own.
    pub(super) fn stretches<T: Element>(
        &self,
        stretches: &[Range<usize>],
        out: &mut [&mut [T]],
    ) -> Result<()> {
        let codec = T::codec(&self.dtype)?;
        let size = self.dtype.itemsize();
        let part = |stretch: &Range<usize>| {
            AxisSlices::windows(&self.geometry, 0, stretch.len(), size)
                .map(|parts| (parts, stretch.start))
        };
        let parts: Vec<(AxisSlices, usize)> = stretches.iter().map(part).collect::<Result<_>>()?;
        let nbytes = parts.iter().map(|(parts, _)| parts.nbytes()).sum::<usize>();
        let each = nbytes / parts.len().max(1);
        let copy = |range: Range<usize>| {
            let places = out.get_mut(range.clone()).invariant("each stretch has a place");
            for ((parts, start), place) in parts.get(range).into_iter().flatten().zip(places) {
                parts.decode_over(self.map.as_ref(), &codec, &[*start], place);
            }
        };
        let part = |at: usize| parts.get(at).map(|(parts, start)| (parts, *start));
        let mut reading = MappedReader { own: self, part, copy, start: Clock::now() };
        self.strategy.run(parts.len(), each, &mut reading);
        Ok(())
    }

    /// Calls `copy` with ranges of rows, when it is best to read them.
    fn go(&self, wanted: &Wanted, copy: impl FnMut(Range<usize>)) {
        let part = |at: usize| wanted.rows.get(at).map(|&row| (&wanted.parts, row));
        let mut reading = MappedReader { own: self, part, copy, start: Clock::now() };
        self.strategy.run(wanted.rows.len(), wanted.parts.nbytes(), &mut reading);
    }

    /// Tells the system that a part is next. It may refuse to listen, which
    /// changes speed only.
    fn advise(&self, parts: &AxisSlices, row: usize) {
        parts.for_each_range(row, |range| drop(self.map.advise(range, Advice::WillNeed)));
    }

    pub(super) fn named<T>(&self, result: Result<T>) -> Result<T> {
        match &self.path {
            Some(path) => result.map_err(|error| error.with_path(path)),
            None => result,
        }
    }
}

impl Gather for Rows {
    fn dtype(&self) -> &DType {
        self.dtype()
    }

    fn shape(&self) -> &[usize] {
        self.shape()
    }

    fn named<T>(&self, result: Result<T>) -> Result<T> {
        self.named(result)
    }

    fn gather<U>(
        &self,
        rows: &[usize],
        each: usize,
        out: &mut [U],
        mut copy: impl FnMut(&AxisSlices, &[u8], &[usize], &mut [U]),
    ) -> Result<()> {
        let wanted = self.wanted(rows)?;
        self.go(&wanted, |range| {
            let own = out.get_mut(range.start * each..range.end * each).invariant(IN_BUFFER);
            let next = wanted.rows.get(range.start..).invariant(IN_BUFFER);
            copy(&wanted.parts, self.map.as_ref(), next, own);
        });
        Ok(())
    }
}

row_source!(Rows, "See [`MappedArray::rows`](crate::MappedArray::rows).");

/// Parts that are there.
struct Wanted {
    parts: AxisSlices,
    rows: Vec<usize>,
}

/// A batch on its way: `part` says which part is to be read at each place.
struct MappedReader<'a, P, C> {
    own: &'a Rows,
    part: P,
    copy: C,
    start: Clock,
}

impl<'p, P, C> RowReader for MappedReader<'_, P, C>
where
    P: Fn(usize) -> Option<(&'p AxisSlices, usize)>,
    C: FnMut(Range<usize>),
{
    fn touch(&self, at: usize) {
        let bytes = self.own.map.as_ref();
        if let Some((parts, row)) = (self.part)(at) {
            parts.for_each_range(row, |range| {
                black_box(bytes.get(range.start).copied());
            });
        }
    }

    fn advise(&self, at: usize) {
        if let Some((parts, row)) = (self.part)(at) {
            self.own.advise(parts, row);
        }
    }

    fn copy(&mut self, rows: Range<usize>) {
        (self.copy)(rows);
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }
}

//! Parts of arrays that are in memory while they are used.

use std::ops::Range;

use super::{ArrayFile, MappedArray, OpenOptions, Outline, RawSpec};
use crate::dtype::DType;
use crate::element::recode::Recoding;
use crate::error::invariant::to_u64;
use crate::error::{RequestError, Result};
use crate::kernel::PAGE;
use crate::layout::geometry::Geometry;
use crate::layout::offsets::{nbytes, signed};
use crate::source::map::{Map, MapMut};
use crate::source::on_demand::OnDemand;
use crate::source::pages::sealed::Pages as _;
use crate::source::platform;
use crate::view::DynView;

/// Elements that are this far apart, as a multiple of their size, are read rather than
/// mapped together with what is between them.
const SPARSE: usize = 2;

/// Shorter ranges are mapped whatever is between the elements, in bytes.
const SHORT: usize = 16 << 20;

/// Parts that are in the order of the file, in bytes.
const BLOCK: usize = 8 << 20;

/// Other parts, each of which may need bytes of all pages.
const SCATTERED: usize = 64 << 20;

/// Elements of an array that stay in memory until you drop this.
/// [`MappedArray::window`] returns it.
#[derive(Debug)]
pub struct Window<'a>(Part<'a>);

/// An array that is written in parts, so that only one part is in memory at a
/// time. [`MappedArray::in_parts`] returns it.
#[derive(Clone, Copy, Debug)]
pub struct InParts<'a>(pub(crate) &'a MappedArray);

#[derive(Debug)]
enum Part<'a> {
    View(DynView<'a>),
    Own { bytes: Map, geometry: Geometry, dtype: DType },
}

impl MappedArray<Map> {
    /// Returns all elements, which need not be in memory: to select some, and pass these to
    /// [`window`](MappedArray::window).
    ///
    /// # Examples
    ///
    /// See [`window`](MappedArray::window).
    #[must_use]
    #[inline]
    pub fn outline(&self) -> Outline<'_> {
        let layout = self.layout();
        let bytes = if self.is_windowed() { &[] } else { self.data.as_ref() };
        // Memory of the caller that became shorter is reported by `Outline::view`.
        let bytes = bytes.get(..layout.end()).unwrap_or_default();
        let (geometry, dtype) = (layout.geometry().clone(), layout.dtype().clone());
        let source = self.data.on_demand().map(|source| (source, &self.origin));
        Outline { view: DynView::from_parts(bytes, geometry, dtype), source }
    }

    /// Brings selected elements into memory: maps the part of the file that has them, or
    /// reads it if it can't be mapped. Elements that are far apart are read one by one.
    ///
    /// Elements that are in memory already are borrowed.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if the elements belong to
    /// another array. Returns [`Truncated`](crate::ErrorKind::Truncated) if the file has become too
    /// short, and [`Io`](crate::ErrorKind::Io) if reading fails or there is not enough
    /// memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, Source, ndarray::s};
    ///
    /// // SAFETY: no other process writes to or truncates this file.
    /// let source = unsafe { Source::map("data/penguins.npy")? }.on_demand();
    /// let penguins = MappedArray::from_source(source)?;
    /// let last = penguins.outline().slice(s![-1, ..])?;
    /// let last = penguins.window(&last)?;
    /// assert_eq!(last.view().view::<f64>()?.at(3), 3775.0);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[inline]
    pub fn window<'a>(&'a self, part: &Outline<'a>) -> Result<Window<'a>> {
        if !part.is_loaded() {
            self.origin.add_path_on_err(self.deferred(part))?;
        }
        part.window()
    }

    /// The bytes of elements that are not in memory.
    #[inline]
    fn deferred(&self, part: &Outline<'_>) -> Result<&OnDemand> {
        self.data.on_demand().filter(|own| part.is_of(own)).ok_or_else(|| {
            let found = "the elements are not those of this array";
            RequestError::Call { found, expected: "its own `outline`" }.into()
        })
    }

    /// Calls `f` with selected elements in C order, in parts that
    /// [`window`](MappedArray::window) brings into memory, of at most 8 MiB, or 64 MiB if
    /// they are not in the order of the file. It stops at the first error.
    ///
    /// # Errors
    ///
    /// Returns the first error of `f`, [`InvalidInput`](crate::ErrorKind::InvalidInput) if the
    /// elements belong to another array, [`Truncated`](crate::ErrorKind::Truncated) if the
    /// file has become too short, and [`Io`](crate::ErrorKind::Io) if reading fails or
    /// there is not enough memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::MappedArray;
    ///
    /// let penguins = MappedArray::load("data/penguins.npy")?.into_read_only()?;
    /// let mut sum = 0.0;
    /// penguins.for_each_window(&penguins.outline(), |part| {
    ///     sum += part.view::<f64>()?.sum();
    ///     Ok(())
    /// })?;
    /// assert_eq!(sum.round(), 1526600.0);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn for_each_window(
        &self,
        part: &Outline<'_>,
        mut f: impl FnMut(&DynView<'_>) -> Result<()>,
    ) -> Result<()> {
        let is_in_order = part.view.geometry().is_contiguous(part.itemsize());
        let limit = if is_in_order { BLOCK } else { SCATTERED };
        self.in_windows(part, limit, &mut f)
    }

    #[inline]
    fn in_windows(
        &self,
        part: &Outline<'_>,
        limit: usize,
        f: &mut dyn FnMut(&DynView<'_>) -> Result<()>,
    ) -> Result<()> {
        let nbytes = part.nbytes();
        let rows = part.shape().first().copied().unwrap_or(1).max(1);
        if nbytes <= limit || part.ndim() == 0 {
            return f(&self.window(part)?.view());
        }
        if nbytes / rows > limit {
            let mut rows = part.view.outer_iter();
            return rows.try_for_each(|row| self.in_windows(&part.with(row), limit, f));
        }
        let mut parts = part.view.axis_chunks(0, limit / (nbytes / rows))?;
        parts.try_for_each(|rows| f(&self.window(&part.with(rows))?.view()))
    }

    /// Brings the elements at some indices of an axis into memory, as
    /// [`window`](MappedArray::window) does, by one read: the axis of the result has these
    /// indices, which may be in any order and repeat.
    ///
    /// Returns `None` if the elements are in memory already.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if there is no such axis or
    /// index, [`InvalidInput`](crate::ErrorKind::InvalidInput) if the elements belong to
    /// another array, [`Truncated`](crate::ErrorKind::Truncated) if the file has become too
    /// short, and [`Io`](crate::ErrorKind::Io) if reading fails or there is not enough
    /// memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, Source};
    ///
    /// let source = Source::open("data/penguins.npy")?.into_read_only().on_demand();
    /// let penguins = MappedArray::from_source(source)?;
    /// let some = penguins.window_at(&penguins.outline(), 0, &[341, 0])?.unwrap();
    /// assert_eq!(some.view().view::<f64>()?.at([0, 3]), 3775.0);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[inline]
    pub fn window_at(
        &self,
        part: &Outline<'_>,
        axis: usize,
        indices: &[usize],
    ) -> Result<Option<Window<'static>>> {
        if part.is_loaded() {
            return Ok(None);
        }
        let (geometry, size) = (part.view.geometry(), part.itemsize());
        let read = || {
            let on_demand = self.deferred(part)?;
            let rows = indices.iter().map(|&index| geometry.index_axis(axis, index));
            let rows = rows.collect::<Result<Vec<_>>>()?;
            let (row, _) = geometry.split_at(axis, 1.min(geometry.len()))?;
            let row_nbytes = nbytes(row.len(), size);
            let runs =
                rows.iter().flat_map(|row| row.memory_order().byte_runs(size).collect::<Vec<_>>());
            let bytes = on_demand.read(runs, nbytes(row_nbytes, rows.len()))?;
            let mut packed = packed(&row, size);
            if let (Some(dim), Some(stride)) =
                (packed.shape.get_mut(axis), packed.strides.get_mut(axis))
            {
                (*dim, *stride) = (rows.len(), signed(row_nbytes));
            }
            Ok(Window(Part::Own { bytes, geometry: packed, dtype: part.dtype().clone() }))
        };
        self.origin.add_path_on_err(read()).map(Some)
    }

    /// Returns the bytes of this array that selected elements consist of, counted from the
    /// first element. Returns `None` if the array has more elements between them, or if they
    /// are elements of something else.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, ndarray::s};
    ///
    /// let penguins = MappedArray::load("data/penguins.npy")?.into_read_only()?;
    /// let rows = penguins.outline().slice(s![10..12, ..])?;
    /// assert_eq!(penguins.byte_range(&rows), Some(320..384));
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn byte_range(&self, part: &Outline<'_>) -> Option<Range<usize>> {
        let is_own = if let Some(own) = self.data.on_demand() {
            part.is_of(own)
        } else {
            let own = self.outline().view.raw_bytes();
            own.as_ptr_range() == part.view.raw_bytes().as_ptr_range()
        };
        let ordered = part.view.geometry().memory_order();
        let span = ordered.span(part.itemsize());
        let first = self.layout().offset();
        let is_own = is_own && first <= span.start && span.end <= self.layout().end();
        let is_whole = is_own && ordered.is_contiguous(part.itemsize());
        is_whole.then(|| span.start - first..span.end - first)
    }

    /// Returns the array as one to be written in parts, for writers of files and archives.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, Source, WriteOptions};
    ///
    /// let source = Source::open("data/penguins.npy")?.into_read_only().on_demand();
    /// let penguins = MappedArray::from_source(source)?;
    /// let mut copy = Vec::new();
    /// WriteOptions::new().write_to(&mut copy, &penguins.in_parts())?;
    /// assert_eq!(copy, std::fs::read("data/penguins.npy")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn in_parts(&self) -> InParts<'_> {
        InParts(self)
    }

    /// Returns the array as one that is read, if it is of
    /// [`Source::on_demand`](crate::Source::on_demand) and not in memory.
    ///
    /// # Errors
    ///
    /// Returns [`Io`](crate::ErrorKind::Io) if the file cannot be examined, and
    /// [`Truncated`](crate::ErrorKind::Truncated) if it has become too short.
    #[inline]
    pub fn to_file(&self) -> Result<Option<ArrayFile>> {
        let Some(on_demand) = self.data.on_demand() else { return Ok(None) };
        let file = || {
            let raw = RawSpec::new(self.dtype().clone()).shape(self.shape());
            let raw = raw.offset(self.place.offset).order(self.place.order);
            let storage = on_demand.storage.duplicate()?;
            ArrayFile::from_storage(storage, OpenOptions::new().raw(raw))
        };
        self.origin.add_path_on_err(file()).map(Some)
    }

    /// Returns whether the array is of [`Source::on_demand`](crate::Source::on_demand), of
    /// a source that reads, and not in memory.
    #[must_use]
    #[inline]
    pub fn is_remote(&self) -> bool {
        self.is_windowed() && self.mode().is_none()
    }

    /// Whether bytes are in memory only while a window has them.
    #[inline]
    pub(super) fn is_windowed(&self) -> bool {
        self.data.on_demand().is_some_and(|on_demand| on_demand.loaded().is_none())
    }
}

/// The elements of a view that are in memory already.
impl<'a> From<DynView<'a>> for Window<'a> {
    #[inline]
    fn from(view: DynView<'a>) -> Window<'a> {
        Window(Part::View(view))
    }
}

impl Window<'_> {
    /// Returns the selected elements.
    #[must_use]
    #[inline]
    pub fn view(&self) -> DynView<'_> {
        match &self.0 {
            Part::View(view) => view.clone(),
            Part::Own { bytes, geometry, dtype } => {
                DynView::from_parts(bytes.as_ref(), geometry.clone(), dtype.clone())
            }
        }
    }
}

/// Maps or reads elements of a range.
#[inline]
pub(super) fn read(from: &OnDemand, geometry: &Geometry, dtype: &DType) -> Result<Window<'static>> {
    let size = dtype.itemsize();
    let span = geometry.span(size);
    let nbytes = nbytes(geometry.len(), size);
    let is_near = span.len() <= SHORT || span.len() / SPARSE <= nbytes;
    // Of remote objects, nothing else is transferred.
    let is_file = from.storage.file().is_some();
    if span.len() == nbytes || is_near && is_file {
        let geometry = Geometry { offset: geometry.offset - span.start, ..geometry.clone() };
        let bytes =
            if span.len() / SPARSE <= nbytes { dense(from, span) } else { from.part(span) }?;
        return Ok(Window(Part::Own { bytes, geometry, dtype: dtype.clone() }));
    }
    let ordered = geometry.memory_order();
    // Reading elements of nearly every page takes longer than copying them from a map.
    let bytes = if is_file && span.len() / PAGE <= nbytes / ordered.run_len(size).max(1) {
        let mut copy = MapMut::anonymous(nbytes)?.with_large_pages();
        copy_parts(from, &ordered, dtype, copy.as_mut())?;
        Map::from_memory(copy)?
    } else {
        from.read(ordered.byte_runs(size), nbytes)?
    };
    Ok(Window(Part::Own { bytes, geometry: packed(geometry, size), dtype: dtype.clone() }))
}

/// Maps a range of which nearly all pages will be used, or reads it if it can't be mapped.
///
/// Threads that each map other parts of a file keep Linux from seeing that they read it in
/// order: faults of two threads read single pages, and statistics took 1.57 of the time of
/// `read(2)`. With huge pages, they took 0.85.
#[inline]
fn dense(from: &OnDemand, range: Range<usize>) -> Result<Map> {
    let bytes = from.part(range)?;
    if to_u64(bytes.as_ref().len()) >= platform::HUGE_PAGE {
        platform::fault_huge_pages(bytes.as_ref());
    }
    Ok(bytes)
}

/// Copies elements, which are in the order of the file, from mapped parts.
#[inline]
fn copy_parts(from: &OnDemand, part: &Geometry, dtype: &DType, out: &mut [u8]) -> Result<()> {
    let span = part.span(dtype.itemsize());
    let slowest = part.shape.iter().copied().enumerate().find(|(_, dim)| *dim > 1);
    if let (Some((axis, dim)), true) = (slowest, span.len() > SHORT) {
        let (low, high) = part.split_at(axis, dim / 2)?;
        let (own, rest) = out.split_at_mut(low.len() * dtype.itemsize());
        copy_parts(from, &low, dtype, own)?;
        return copy_parts(from, &high, dtype, rest);
    }
    let inside = Geometry { offset: part.offset - span.start, ..part.clone() };
    let bytes = dense(from, span)?;
    DynView::from_parts(bytes.as_ref(), inside, dtype.clone())
        .copy_recoded(&Recoding::new(dtype, None, false), out);
    Ok(())
}

/// The elements of a geometry without bytes between them, in the order of the file, in
/// which runs are as long as possible.
#[inline]
fn packed(geometry: &Geometry, size: usize) -> Geometry {
    let mut packed = Geometry { offset: 0, ..geometry.clone() };
    let mut stride = size;
    for &axis in geometry.axes_by_stride().iter().rev() {
        if let (Some(own), Some(&dim)) = (packed.strides.get_mut(axis), geometry.shape.get(axis)) {
            *own = signed(stride);
            stride *= dim;
        }
    }
    packed.flipped(&geometry.descending_axes())
}

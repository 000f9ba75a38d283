//! Copies rows of a mapped array in any order.

use std::ffi::c_long;
use std::fs::File;
use std::hint::black_box;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ndarray::{ArrayView, Dimension, SliceInfoElem};

use super::ahead::RowsAhead;
use super::decode::{Bytes, DecodeRows, Output};
use super::gather;
use super::near_ranges::{self, MAX_RANGES};
use super::row_source::RowSource;
use crate::array::MappedArray;
use crate::dtype::DType;
use crate::dtype::literal::tuple;
use crate::element::{Element, Typed};
use crate::error::invariant::{to_u64, to_usize, to_usize_saturating};
use crate::error::{Error, Result, ShapeError};
use crate::layout::Layout;
use crate::layout::geometry::Geometry;
use crate::source::map::Map;
use crate::source::pages::sealed::Pages as _;
use crate::source::planner::{Disk, Planner, ReadStrategy, Request, RowReader};
use crate::source::platform::{self, Advice, Clock, HAS_READ_AHEAD};
use crate::source::read_ahead::{Next, ReadAhead};
use crate::source::tuning::{PIECE, SAMPLE, UNTHREADED};
use crate::view::{AxisSlices, field_geometry};

/// Fast random access to the rows of an array.
/// [`MappedArray::rows`](crate::MappedArray::rows) returns it.
///
/// A row is the part of the array at one index of the first axis. The array may
/// have any dtype, byte order and memory order. Values are decoded and copied
/// in C order. If the rows of a batch turn out not to be in memory, the kernel
/// is asked to read all of them in parallel. After many such batches, an array
/// that fits into memory is read whole, in the background. See
/// [`ReadStrategy`](crate::loader::ReadStrategy), and [`reading`](Rows::reading) to
/// decide that yourself.
///
/// Clones share the map and the knowledge of whether rows are in memory. Threads
/// can share one `Rows`, or use a clone each.
///
/// The methods that take rows are those of [`RowSource`]. Indices are checked before
/// anything is written, and a negative index returns an error.
/// [`TakeMode`](crate::layout::TakeMode) wraps or clips, or counts from the end.
///
/// # Examples
///
/// ```
/// use npymap::{MappedArray, RowSource as _};
///
/// // SAFETY: no other process writes to or truncates this file while it is mapped.
/// let rows = unsafe { MappedArray::open("data/penguins.npy")? }.rows()?;
/// let mut batch = [0.0_f32; 2 * 4];
/// rows.take_as(&[341, 0], &mut batch)?; // cast from `f64`
/// assert_eq!(batch[3], 3775.0);
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rows {
    pub(super) map: Map,
    pub(super) geometry: Geometry,
    pub(super) dtype: DType,
    pub(super) path: Option<Arc<Path>>,
    pub(super) background: Arc<Background>,
}

/// How an array is read besides the requested rows.
#[derive(Debug)]
pub(super) struct Background {
    pub(super) planner: Planner,
    /// The bytes of the map that belong to the array.
    pub(super) extent: Range<usize>,
    /// The bytes in this array and in arrays used with it.
    pub(super) working_set: usize,
    /// Shared by the arrays of a stack, so that these need only one thread.
    pub(super) read_ahead: Arc<ReadAhead>,
}

impl Rows {
    #[inline]
    pub(crate) fn new(map: Map, layout: &Layout, path: Option<Arc<Path>>) -> Result<Rows> {
        let (geometry, dtype) = (layout.geometry().clone(), layout.dtype().clone());
        if geometry.ndim() == 0 {
            return Err(ShapeError::Axis { asked: 0, shape: tuple(&geometry.shape) }.into());
        }
        let (planner, extent) = (Planner::default(), layout.offset()..layout.end());
        let (working_set, read_ahead) = (extent.len(), Arc::default());
        let background = Arc::new(Background { planner, extent, working_set, read_ahead });
        Ok(Rows { map, geometry, dtype, path, background })
    }

    /// Chooses how rows are read from the disk. The default suits most programs.
    ///
    /// The result and its later clones read independently of the original rows.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, RowSource as _, loader::ReadStrategy};
    ///
    /// // SAFETY: no other process writes to or truncates this file.
    /// let rows = unsafe { MappedArray::open("data/penguins.npy")? }.rows()?;
    /// let rows = rows.reading(ReadStrategy::Pages); // never more than what is asked for
    /// assert_eq!(rows.take_array::<f64>(&[341])?[[0, 3]], 3775.0);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn reading(self, reading: ReadStrategy) -> Rows {
        let working_set = self.background.working_set;
        self.read_with_others(reading, working_set, Arc::default())
    }

    /// The same rows, used together with further rows: `working_set` is the
    /// number of bytes of all.
    #[inline]
    pub(super) fn read_with_others(
        self,
        reading: ReadStrategy,
        working_set: usize,
        read_ahead: Arc<ReadAhead>,
    ) -> Rows {
        let (planner, extent) = (Planner::new(reading), self.background.extent.clone());
        let background = Background { planner, extent, working_set, read_ahead };
        Rows { background: Arc::new(background), ..self }
    }

    /// Selects one field of each element, such as `"x"` or `"pos.z"`.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if the field does not
    /// exist, and lists the fields that do, and
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) for more than 64 axes,
    /// or more elements of zero size than can be counted.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, RowSource as _};
    ///
    /// let events = MappedArray::zeros(&"[('id', '<u2'), ('e', '>f4')]".parse()?, &[9])?;
    /// let energy = events.into_read_only()?.rows()?.field("e")?;
    /// let mut out = [1.0_f32; 2];
    /// energy.take(&[8, 3], &mut out)?;
    /// assert_eq!(out, [0.0, 0.0]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[inline]
    pub fn field(&self, path: &str) -> Result<Rows> {
        let (geometry, dtype) =
            self.name_file(field_geometry(&self.geometry, &self.dtype, path))?;
        Ok(Rows { geometry, dtype, ..self.clone() })
    }

    /// Returns the rows in a part of the array, by [`ndarray::s!`] or
    /// [`IndexExpr`](crate::IndexExpr): some rows, or some elements of each. Only
    /// these are read.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if an index is
    /// out of range, or no axis is left.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, RowSource as _, ndarray::s};
    ///
    /// // SAFETY: no other process writes to or truncates this file.
    /// let rows = unsafe { MappedArray::open("data/penguins.npy")? }.rows()?;
    /// let flippers = rows.slice(s![..;2, 2..])?; // the last two columns of every other row
    /// assert_eq!(flippers.shape(), [171, 2]);
    /// assert_eq!(flippers.take_array::<f64>(&[0])?[[0, 1]], 3750.0);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn slice(&self, info: impl AsRef<[SliceInfoElem]>) -> Result<Rows> {
        let geometry = self.name_file(self.geometry.sliced(info.as_ref()))?;
        if geometry.ndim() == 0 {
            let shape = tuple(&geometry.shape);
            return self.name_file(Err(ShapeError::Axis { asked: 0, shape }.into()));
        }
        Ok(Rows { geometry, ..self.clone() })
    }

    /// Copies an array in memory and returns its rows, for example the labels
    /// of images in a file.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) without axes.
    /// Returns [`Io`](crate::ErrorKind::Io) if there is not enough memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{RowSource as _, Rows, ndarray::array};
    ///
    /// let labels = Rows::copy_of(array![3_i64, 1, 4].view())?;
    /// assert_eq!(labels.take_array::<i64>(&[2, 0])?.into_raw_vec_and_offset().0, [4, 3]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn copy_of<T: Typed + Element, D: Dimension>(array: ArrayView<'_, T, D>) -> Result<Rows> {
        let mut copy = MappedArray::zeros(&DType::of::<T>(), array.shape())?;
        copy.view_mut::<T>()?.copy_from(array)?;
        copy.into_read_only()?.into_rows()
    }

    /// Opens the file of the map again, and returns the offset of the map in it.
    #[inline]
    pub(super) fn reopen(&self) -> Option<(File, u64)> {
        self.map.reopen(self.path.as_deref()?)
    }

    /// The slices of `len` rows.
    #[inline]
    fn slices(&self, len: usize) -> Result<AxisSlices> {
        AxisSlices::windows(&self.geometry, 0, len.min(self.row_count()), self.dtype.itemsize())
    }

    /// Decodes ranges of rows. Each has the place of its first row.
    #[inline]
    pub(super) fn decode_ranges(
        &self,
        ranges: impl ExactSizeIterator<Item = (Range<usize>, usize)>,
        decode: &mut dyn DecodeRows,
    ) -> Result<()> {
        let mut batch: Vec<(AxisSlices, Range<usize>, usize)> = Vec::with_capacity(ranges.len());
        for (rows, place) in ranges {
            let slices = match batch.last() {
                Some((slices, last, _)) if last.len() == rows.len() => slices.clone(),
                _ => self.slices(rows.len())?,
            };
            batch.push((slices, rows, place));
        }
        self.read(&BatchSlices::Ranges(batch), decode);
        Ok(())
    }

    /// Decodes the rows of a batch, then reads more, if that is worthwhile.
    #[inline]
    fn read(&self, batch: &BatchSlices<'_>, decode: &mut dyn DecodeRows) {
        let Background { planner, extent, .. } = &*self.background;
        let (start, waits) = (Clock::now(), platform::disk_waits());
        let mut reader = MappedReader { source: self, batch, decode, start, waits };
        planner.wait(self);
        let is_cold = planner.read(batch.len(), batch.nbytes_each(), &mut reader);
        if planner.is_interested(is_cold) {
            let mut request = Request { is_cold, ..Request::default() };
            batch.for_each_range(0..batch.len(), &mut |range| {
                request.add(&(range.start - extent.start..range.end - extent.start));
            });
            planner.update(&request, self);
        }
    }

    /// Maps bytes of the array that are in memory, relative to its first byte, at once, but at
    /// most half a piece. Faults, which map some pages each, take longer in total. Failures are
    /// ignored, because faults will map the pages. Returns where it ended.
    #[inline]
    pub(super) fn map_pages(&self, part: Range<usize>) -> usize {
        let end = part.end.min(part.start + to_usize(PIECE / 2));
        let start = self.background.extent.start;
        if let Ok(bytes) = self.map.bytes(start + part.start..start + end) {
            platform::populate(bytes).ok();
        }
        end
    }

    /// Advises the kernel that rows will be read. Failures are ignored,
    /// because advice affects only speed.
    #[inline]
    pub(super) fn advise(&self, batch: &BatchSlices<'_>, numbers: Range<usize>) {
        let mut all = Vec::new();
        batch.for_each_range(numbers, &mut |range| {
            all.push(range);
            if all.len() == MAX_RANGES {
                self.advise_runs(&mut all);
            }
        });
        self.advise_runs(&mut all);
    }

    #[inline]
    fn advise_runs(&self, ranges: &mut Vec<Range<usize>>) {
        near_ranges::merge(ranges, self.background.planner.gap());
        for run in ranges.drain(..) {
            self.map.advise(run, Advice::WillNeed).ok();
        }
    }

    /// Adds the path of the file to an error.
    pub(super) fn name_file<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| self.add_path(error))
    }
}

impl RowSource for Rows {
    #[inline]
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    #[inline]
    fn shape(&self) -> &[usize] {
        &self.geometry.shape
    }

    #[inline]
    fn read_ranges(&self, ranges: &[Range<usize>], out: &mut [u8]) -> Result<()> {
        self.name_file(gather::check_ranges(self, ranges, out.len()))?;
        let each = self.row_len() * self.dtype.itemsize();
        if out.is_empty() {
            // There may be any number of rows without bytes.
            return Ok(());
        }
        let mut next = 0;
        let ranges = ranges.iter().map(|range| {
            let place = next;
            next += range.len();
            (range.clone(), place)
        });
        self.decode_ranges(ranges, &mut Bytes(Output { items: out, each }))
    }

    #[inline]
    fn visit(&self, starts: &[usize], len: usize, decode: &mut dyn DecodeRows) -> Result<()> {
        self.read(&BatchSlices::Rows(&self.slices(len)?, starts), decode);
        Ok(())
    }

    #[inline]
    fn request(&self, rows: &[usize]) -> Result<()> {
        self.advise(&BatchSlices::Rows(&self.slices(1)?, rows), 0..rows.len());
        Ok(())
    }

    #[inline]
    fn add_path(&self, error: Error) -> Error {
        match &self.path {
            Some(path) => error.with_path(path),
            None => error,
        }
    }

    #[inline]
    fn rows_ahead(&self) -> RowsAhead {
        RowsAhead::mapped(self)
    }
}

impl Disk for Rows {
    #[inline]
    fn nbytes(&self) -> usize {
        self.background.extent.len()
    }

    #[inline]
    fn working_set(&self) -> u64 {
        to_u64(self.background.working_set)
    }

    #[inline]
    fn available(&self) -> Option<u64> {
        platform::available_memory()
    }

    #[inline]
    fn queued(&self) -> usize {
        to_usize_saturating(self.background.read_ahead.queued())
    }

    #[inline]
    fn queue(&self, range: Range<usize>) -> bool {
        let start = self.background.extent.start;
        let range = range.start + start..range.end + start;
        if range.len() <= UNTHREADED {
            return self.map.advise(range, Advice::WillNeed).is_ok();
        }
        let file = if HAS_READ_AHEAD { self.reopen() } else { None };
        let Some((file, offset)) = file else { return false };
        let [start, end] = [range.start, range.end].map(|at| offset + to_u64(at));
        self.background.read_ahead.add(&Arc::new(file), Some(start..end), Next::After);
        true
    }

    #[inline]
    fn wait(&self) {
        self.background.read_ahead.wait();
    }

    #[inline]
    fn cached(&self) -> Option<usize> {
        let Range { start, end } = self.background.extent;
        if end - start <= UNTHREADED {
            let resident = self.map.resident(start..end).ok().flatten()?;
            return Some(resident * SAMPLE / (end - start).max(1));
        }
        let mut cached = 0;
        for at in (start..end).step_by((end - start).div_ceil(SAMPLE)) {
            cached += self.map.resident(at..at + 1).ok().flatten()?;
        }
        Some(cached)
    }

    #[inline]
    fn drop_pages(&self) {
        if let Ok(bytes) = self.map.bytes(self.background.extent.clone()) {
            platform::page_out(bytes).ok();
        }
    }
}

/// The rows of a batch, in a map.
pub(super) enum BatchSlices<'a> {
    /// Slices, by index.
    Rows(&'a AxisSlices, &'a [usize]),
    /// Ranges of rows: the slices that start at each row, the rows, and the place of the first.
    Ranges(Vec<(AxisSlices, Range<usize>, usize)>),
}

impl BatchSlices<'_> {
    /// The number of slices or ranges.
    #[inline]
    pub(super) fn len(&self) -> usize {
        match self {
            BatchSlices::Rows(_, indices) => indices.len(),
            BatchSlices::Ranges(ranges) => ranges.len(),
        }
    }

    /// The average number of bytes in one of them.
    #[inline]
    fn nbytes_each(&self) -> usize {
        match self {
            BatchSlices::Rows(slices, _) => slices.nbytes(),
            BatchSlices::Ranges(ranges) => {
                let nbytes = ranges.iter().map(|(slices, ..)| slices.nbytes()).sum::<usize>();
                nbytes / ranges.len().max(1)
            }
        }
    }

    /// One of the slices or ranges: slices, and the index in these.
    #[inline]
    fn get(&self, number: usize) -> Option<(&AxisSlices, usize)> {
        match self {
            BatchSlices::Rows(slices, indices) => {
                indices.get(number).map(|index| (*slices, *index))
            }
            BatchSlices::Ranges(ranges) => {
                ranges.get(number).map(|(slices, rows, _)| (slices, rows.start))
            }
        }
    }

    /// Calls `f` with the byte ranges of some slices or ranges.
    #[inline]
    pub(super) fn for_each_range(&self, numbers: Range<usize>, f: &mut dyn FnMut(Range<usize>)) {
        for (slices, index) in numbers.filter_map(|number| self.get(number)) {
            slices.for_each_range(index, &mut *f);
        }
    }
}

/// Reads a batch from a map.
struct MappedReader<'a> {
    source: &'a Rows,
    batch: &'a BatchSlices<'a>,
    decode: &'a mut dyn DecodeRows,
    start: Clock,
    /// How often the thread had waited for the disk then.
    waits: Option<[c_long; 2]>,
}

impl RowReader for MappedReader<'_> {
    #[inline]
    fn touch(&self, number: usize) {
        let bytes = self.source.map.as_ref();
        self.batch.for_each_range(number..number + 1, &mut |range| {
            black_box(bytes.get(range.start).copied());
        });
    }

    #[inline]
    fn advise(&self, numbers: Range<usize>) {
        self.source.advise(self.batch, numbers);
    }

    #[inline]
    fn copy(&mut self, numbers: Range<usize>) {
        let bytes = self.source.map.as_ref();
        match self.batch {
            BatchSlices::Rows(slices, indices) => {
                let next = indices.get(numbers.start..).unwrap_or_default();
                self.decode.decode(slices.select(bytes, next), numbers);
            }
            BatchSlices::Ranges(ranges) => {
                for (slices, rows, place) in ranges.get(numbers).unwrap_or_default() {
                    let places = *place..place + rows.len();
                    self.decode.decode(slices.select(bytes, &[rows.start]), places);
                }
            }
        }
    }

    #[inline]
    fn span(&self, numbers: Range<usize>) -> usize {
        let mut span: Option<Range<usize>> = None;
        for number in [numbers.clone().next(), numbers.last()].into_iter().flatten() {
            self.batch.for_each_range(number..number + 1, &mut |range| {
                let all = span.get_or_insert_with(|| range.clone());
                *all = all.start.min(range.start)..all.end.max(range.end);
            });
        }
        span.map_or(0, |span| span.len())
    }

    #[inline]
    fn pieces(&self) -> usize {
        self.batch.get(0).map_or(1, |(slices, _)| slices.pieces())
    }

    #[inline]
    fn counts_waits(&self) -> bool {
        self.waits.is_some()
    }

    #[inline]
    fn may_have_waited(&self) -> bool {
        let faults = |waits: Option<[c_long; 2]>| waits.map(|[faults, _]| faults);
        self.waits.is_none() || faults(platform::disk_waits()) > faults(self.waits)
    }

    #[inline]
    fn now(&self) -> Duration {
        self.start.elapsed()
    }
}

//! Arrays that are read from files, without maps and `unsafe`.

use std::fs::File;
use std::ops::{Deref, Range, RangeBounds};
use std::path::Path;

use super::advise::resolve_rows;
use super::pieces::{Columns, Distinct, Piece};
use super::{MappedArray, MappedArrayMut, OpenOptions, Place};
use crate::dtype::literal::tuple;
use crate::element::Element;
use crate::error::invariant::to_u64;
use crate::error::{Result, ShapeError, SystemError, memory};
use crate::layout::{Layout, Order};
use crate::npy::Header;
use crate::source::Source;
use crate::source::map::MapMut;
use crate::source::planner::Planner;
use crate::source::storage::Storage;
use crate::source::{file, platform, ranges};
use crate::view::{AxisSlices, Index};

/// A `.npy` file that is read on request instead of mapped.
///
/// Each call copies the requested rows into new memory, by `pread`. The methods
/// of [`RowSource`](crate::RowSource) take rows at given indices.
///
/// All of this is safe. If another process writes to the file during a call, you
/// get old bytes, new bytes, or a mix of both, even within an element. If the
/// file gets shorter, reading returns an error instead of raising SIGBUS. The
/// cost is a system call and a copy. See [`sharing`](crate::guide::sharing) for
/// when to use which. The file stays open. Its cursor is not used. An `ArrayFile`
/// can be shared between threads. `dtype()`, `shape()` and `len()`, the number of elements,
/// are methods of its [`Layout`].
///
/// # Examples
///
/// ```
/// use npymap::ArrayFile;
///
/// let penguins = ArrayFile::open("data/penguins.npy")?;
/// let some = penguins.rows(100..200)?;
/// assert_eq!(some.shape(), [100, 4]);
/// assert_eq!(penguins.get::<f64>([100, 3])?, some.view::<f64>()?.at([0, 3]));
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Debug)]
pub struct ArrayFile {
    pub(crate) storage: Storage,
    pub(super) place: Place,
    options: OpenOptions,
    /// Knows whether rows had to be read from the disk.
    pub(crate) planner: Planner,
}

impl Deref for ArrayFile {
    type Target = Layout;

    #[inline]
    fn deref(&self) -> &Layout {
        &self.place.layout
    }
}

impl ArrayFile {
    /// Opens a `.npy` file.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if the file does not
    /// exist, [`Unsupported`](crate::ErrorKind::Unsupported) if it is not a
    /// regular file or contains Python objects,
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if it is not a valid `.npy` file,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if its header is
    /// longer than 10,000 characters,
    /// [`Truncated`](crate::ErrorKind::Truncated) if it ends before the last
    /// element, and [`Io`](crate::ErrorKind::Io) if it cannot be opened or
    /// read.
    pub fn open(path: impl AsRef<Path>) -> Result<ArrayFile> {
        ArrayFile::new(Source::open(path)?, OpenOptions::new())
    }

    /// Opens an array from any source, such as an open file or network storage.
    /// With `options`, you can open raw binary, an array inside a file, or a
    /// file with a long header.
    ///
    /// # Errors
    ///
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if the source is not a
    /// valid array, [`Unsupported`](crate::ErrorKind::Unsupported) if it
    /// contains Python objects,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if its header is
    /// longer than the limit, [`Truncated`](crate::ErrorKind::Truncated) if it
    /// ends before the last element, and [`Io`](crate::ErrorKind::Io) if
    /// reading fails.
    pub fn new<D>(source: Source<D>, options: OpenOptions) -> Result<ArrayFile> {
        ArrayFile::from_storage(source.storage, options)
    }

    pub(super) fn from_storage(storage: Storage, options: OpenOptions) -> Result<ArrayFile> {
        let place = storage.add_path_on_err(options.place(&storage))?;
        Ok(ArrayFile { storage, place, options, planner: Planner::default() })
    }

    /// Reads the header again, for files that other programs append to. On an
    /// error the array does not change.
    ///
    /// # Errors
    ///
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if the header is not
    /// valid any more, [`Unsupported`](crate::ErrorKind::Unsupported) if the
    /// elements are now Python objects,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if the header is
    /// longer than the limit, [`Truncated`](crate::ErrorKind::Truncated) if
    /// elements are missing, and [`Io`](crate::ErrorKind::Io) if reading fails.
    #[inline]
    pub fn reload(&mut self) -> Result<()> {
        self.storage.len = self.named(self.storage.current_len())?;
        self.place = self.named(self.options.place(&self.storage))?;
        Ok(())
    }

    /// Returns the layout of the elements, relative to the first.
    #[must_use]
    #[inline]
    pub fn layout(&self) -> &Layout {
        &self.place.layout
    }

    /// Returns the path the file was opened by.
    #[must_use]
    #[inline]
    pub fn path(&self) -> Option<&Path> {
        self.storage.path()
    }

    /// Returns the header of the file. Returns `None` for raw binary, which has
    /// none.
    #[must_use]
    #[inline]
    pub fn header(&self) -> Option<Header> {
        self.place.header.clone()
    }

    /// Returns the offset of the elements in the file.
    #[must_use]
    #[inline]
    pub fn data_offset(&self) -> u64 {
        self.place.offset
    }

    /// Another handle to the file, if the array is in one.
    #[inline]
    pub(crate) fn duplicate_file(&self) -> Option<File> {
        self.storage.file().and_then(|file| file.try_clone().ok())
    }

    /// Checks that the file still contains all elements, and that its path still
    /// refers to it.
    ///
    /// # Errors
    ///
    /// Returns [`Truncated`](crate::ErrorKind::Truncated) if the file no longer
    /// contains all elements, [`NotFound`](crate::ErrorKind::NotFound) if the
    /// path leads nowhere, [`Changed`](crate::ErrorKind::Changed) if it leads
    /// to a different file or a remote object has a new version, and
    /// [`Io`](crate::ErrorKind::Io) if the file cannot be examined.
    #[inline]
    pub fn check_unchanged(&self) -> Result<()> {
        self.named(self.check_same_file())
    }

    #[inline]
    fn check_same_file(&self) -> Result<()> {
        // Remote objects compare their version here.
        self.storage.check_len(self.place.offset, self.place.layout.nbytes())?;
        match (self.storage.path(), self.storage.file()) {
            (Some(path), Some(_)) if file::open(path, false)?.1.id != self.storage.id => {
                Err(SystemError::Replaced.into())
            }
            _ => Ok(()),
        }
    }

    /// Reads the element at `[i, j]`, a `&[usize]`, or `i` for one axis.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the elements
    /// cannot be read as `T`, [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if
    /// the index is out of range or has the wrong number of axes,
    /// [`Truncated`](crate::ErrorKind::Truncated) if the file has become too
    /// short, and [`Io`](crate::ErrorKind::Io) if reading fails.
    pub fn get<T: Element>(&self, index: impl Index) -> Result<T> {
        self.named(self.element(index.axes()))
    }

    fn element<T: Element>(&self, index: &[usize]) -> Result<T> {
        let codec = T::codec(self.dtype())?;
        let start = self.layout().geometry().offset_of(index).ok_or_else(|| {
            ShapeError::Element { asked: tuple(index), shape: tuple(self.shape()) }
        })?;
        let mut small = [0; 64];
        let mut large = Vec::new();
        let size = self.dtype().itemsize();
        let bytes = if let Some(bytes) = small.get_mut(..size) {
            bytes
        } else {
            memory::resize(&mut large, size)?;
            &mut large
        };
        self.storage.read_elements(bytes, self.file_offset(start))?;
        Ok(T::decode(&codec, bytes))
    }

    /// Reads the whole array into page-aligned memory, like
    /// [`MappedArray::load`].
    ///
    /// # Errors
    ///
    /// Returns [`Truncated`](crate::ErrorKind::Truncated) if the file has
    /// become too short, and [`Io`](crate::ErrorKind::Io) if reading fails or
    /// there is not enough memory.
    #[inline]
    pub fn read(&self) -> Result<MappedArrayMut> {
        let layout = self.layout().clone();
        let nbytes = layout.nbytes();
        self.named(self.copy_pieces(layout, [Piece { start: 0, len: nbytes }]))
    }

    /// Reads all elements into `out`, as they are stored.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if `out` does not
    /// have the size of the elements. Returns
    /// [`Truncated`](crate::ErrorKind::Truncated) if the file has become too
    /// short, and [`Io`](crate::ErrorKind::Io) if reading fails. `out` is then
    /// partly overwritten.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::ArrayFile;
    ///
    /// let penguins = ArrayFile::open("data/penguins.npy")?;
    /// let mut bytes = vec![0; penguins.layout().nbytes()];
    /// penguins.read_bytes(&mut bytes)?;
    /// assert_eq!(bytes[24..32], 3750.0_f64.to_le_bytes());
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[inline]
    pub fn read_bytes(&self, out: &mut [u8]) -> Result<()> {
        let (found, expected) = (out.len(), self.layout().nbytes());
        if found != expected {
            return self.named(Err(ShapeError::OutputBytes { found, expected }.into()));
        }
        self.named(self.storage.read_elements(out, self.place.offset))
    }

    /// Reads a range of rows, along the first axis, into page-aligned memory. The
    /// result has the same number of axes and memory order.
    ///
    /// In Fortran order rows are scattered over the file: nearby pieces are
    /// read together, and the rest in turn.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) for rows that do
    /// not exist and for 0-d arrays, [`Truncated`](crate::ErrorKind::Truncated)
    /// if the file ends before the last of them, and
    /// [`Io`](crate::ErrorKind::Io) if reading fails or there is not enough
    /// memory.
    pub fn rows(&self, rows: impl RangeBounds<usize>) -> Result<MappedArrayMut> {
        let rows = resolve_rows(self.shape(), &rows);
        self.named(rows.and_then(|rows| {
            let layout = self.rows_layout(rows.len())?;
            self.copy_pieces(layout, self.columns().ranges(&[rows]))
        }))
    }

    /// Reads rows in any order into an array in page-aligned memory, with the same
    /// dtype and memory order. Rows may be repeated.
    ///
    /// To decode them into a slice, use [`take`](crate::RowSource::take).
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) for rows that do
    /// not exist and for 0-d arrays, [`Truncated`](crate::ErrorKind::Truncated)
    /// if the file ends before the last of them, and
    /// [`Io`](crate::ErrorKind::Io) if reading fails or there is not enough
    /// memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let penguins = npymap::ArrayFile::open("data/penguins.npy")?;
    /// let some = penguins.select_rows(&[341, 0, 0])?;
    /// let some = some.view::<f64>()?;
    /// assert_eq!([some.at([0, 3]), some.at([1, 3]), some.at([2, 3])], [3775.0, 3750.0, 3750.0]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[inline]
    pub fn select_rows(&self, rows: &[usize]) -> Result<MappedArrayMut> {
        self.named(self.copy_rows(rows))
    }

    /// Like [`select_rows`](ArrayFile::select_rows), without the path in
    /// errors.
    #[inline]
    fn copy_rows(&self, rows: &[usize]) -> Result<MappedArrayMut> {
        self.check_rows(rows)?;
        if self.place.order == Order::C {
            return self.copy_pieces(self.rows_layout(rows.len())?, self.columns().rows(rows));
        }
        let distinct = Distinct::new(rows);
        self.repeat(self.copy_distinct(&distinct)?, &distinct)
    }

    /// Reads each of some rows in Fortran order once, in the order of the file.
    #[inline]
    fn copy_distinct(&self, distinct: &Distinct) -> Result<MappedArrayMut> {
        let pieces = self.columns().ranges(&distinct.ranges);
        self.copy_pieces(self.rows_layout(distinct.count)?, pieces)
    }

    /// Brings distinct rows into the requested order.
    #[inline]
    pub(super) fn repeat(
        &self,
        read: MappedArrayMut,
        distinct: &Distinct,
    ) -> Result<MappedArrayMut> {
        if distinct.is_ordered {
            return Ok(read);
        }
        let layout = self.rows_layout(distinct.positions.len())?;
        let mut data = MapMut::anonymous(layout.nbytes())?.with_large_pages();
        distinct.copy_columns(read.into_data().as_ref(), self.dtype().itemsize(), data.as_mut())?;
        Ok(self.copied(layout, data))
    }

    /// Checks that rows exist.
    #[inline]
    pub(super) fn check_rows(&self, rows: &[usize]) -> Result<()> {
        resolve_rows(self.shape(), &..)?; // Without axes there are none.
        for &row in rows {
            resolve_rows(self.shape(), &(row..=row))?;
        }
        Ok(())
    }

    /// Reads ranges of rows that exist, in turn, with the elements in C order.
    #[inline]
    pub(crate) fn read_row_ranges(&self, ranges: &[Range<usize>], out: &mut [u8]) -> Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        if self.place.order == Order::C {
            return self.gather(self.columns().ranges(ranges), out);
        }
        let rows: Vec<usize> = ranges.iter().cloned().flatten().collect();
        let distinct = Distinct::new(&rows);
        let read = self.copy_distinct(&distinct)?;
        let slices = AxisSlices::rows(read.layout().geometry(), 0, self.dtype().itemsize())?;
        slices.select(read.into_data().as_ref(), &distinct.positions).copy(out);
        Ok(())
    }

    /// How many ranges in a file are not read together with the range before
    /// them: 0 in Fortran order, because rows are then read together anyway.
    #[inline]
    pub(crate) fn breaks(&self, ranges: &[Range<usize>]) -> usize {
        if self.storage.file().is_none() || self.place.order != Order::C {
            return 0;
        }
        let columns = self.columns();
        let bytes = ranges.iter().map(|rows| self.file_range(columns.piece(0, rows.clone())));
        let pairs = bytes.clone().zip(bytes.skip(1));
        pairs.filter(|(one, next)| !ranges::is_near(one, next)).count()
    }

    /// Asks the kernel to read ranges of rows, without waiting for them. Errors
    /// will recur when the rows are read.
    #[inline]
    pub(crate) fn request_rows(&self, ranges: &[Range<usize>]) {
        let Some(file) = self.storage.file() else { return };
        for rows in ranges {
            let piece = self.columns().piece(0, rows.clone());
            let start = self.file_offset(piece.start);
            // Without it, the rows are read when they are needed.
            platform::read_ahead(file, start, to_u64(piece.len)).ok();
        }
    }

    /// Reads the first byte of a row, in C order, which is in memory after that.
    #[inline]
    pub(crate) fn touch_row(&self, row: usize) {
        let piece = self.columns().piece(0, row..row + 1);
        if piece.len > 0 {
            // Errors will recur when the row is read.
            self.storage.read_elements(&mut [0], self.file_offset(piece.start)).ok();
        }
    }

    /// The layout for `count` rows.
    #[inline]
    pub(super) fn rows_layout(&self, count: usize) -> Result<Layout> {
        let mut shape = self.shape().to_vec();
        if let Some(first) = shape.first_mut() {
            *first = count;
        }
        Layout::new(self.dtype().clone(), &shape, self.place.order, 0)
    }

    /// The columns that the rows consist of: one in C order, and one per index
    /// of the other axes in Fortran order.
    #[inline]
    pub(super) fn columns(&self) -> Columns {
        let dim = self.shape().first().copied().unwrap_or(1).max(1);
        let row = self.layout().nbytes() / dim;
        let (count, size) = match self.place.order {
            Order::C => (1, row),
            Order::F => {
                let size = self.dtype().itemsize();
                (row / size.max(1), size)
            }
        };
        Columns { count, step: dim * size, size }
    }

    /// Reads pieces into consecutive memory.
    fn copy_pieces(
        &self,
        layout: Layout,
        pieces: impl IntoIterator<Item = Piece>,
    ) -> Result<MappedArrayMut> {
        let mut data = MapMut::anonymous(layout.nbytes())?.with_large_pages();
        if layout.nbytes() > 0 {
            self.gather(pieces, data.as_mut())?;
        }
        Ok(self.copied(layout, data))
    }

    /// An array of these bytes, with the path of this file.
    #[inline]
    pub(super) fn copied(&self, layout: Layout, data: MapMut) -> MappedArrayMut {
        let mut array = MappedArray::allocated(layout, self.place.order, data);
        array.origin.path.clone_from(&self.storage.path);
        array
    }

    /// Reads pieces, in turn.
    fn gather(&self, pieces: impl IntoIterator<Item = Piece>, out: &mut [u8]) -> Result<()> {
        let ranges = pieces.into_iter().map(|piece| self.file_range(piece));
        ranges::batches(ranges, out)
            .try_for_each(|(batch, out)| self.storage.read_ranges(&batch, out))
    }

    /// The bytes of a piece in the file.
    #[inline]
    pub(super) fn file_range(&self, piece: Piece) -> Range<u64> {
        let start = self.file_offset(piece.start);
        start..start + to_u64(piece.len)
    }

    /// The file offset of an element's byte.
    #[inline]
    fn file_offset(&self, byte: usize) -> u64 {
        self.place.offset + to_u64(byte)
    }

    /// Adds the path to an error.
    pub(crate) fn named<T>(&self, result: Result<T>) -> Result<T> {
        self.storage.add_path_on_err(result)
    }
}

//! Arrays that are read as files are: no maps, no `unsafe`.

use std::ops::{Range, RangeBounds};
use std::path::Path;

use super::advise::rows_of;
use super::{MappedArray, MappedArrayMut, OpenOptions, Place};
use crate::dtype::DType;
use crate::dtype::literal::tuple;
use crate::element::Element;
use crate::error::invariant::{IN_BUFFER, Invariant, to_u64};
use crate::error::{Result, ShapeError, SystemError};
use crate::layout::{Layout, Order};
use crate::source::Source;
use crate::source::file;
use crate::source::map::MapMut;
use crate::source::storage::Storage;
use crate::view::Index;

/// What is read at once when pieces lie near each other.
const WINDOW: usize = 1 << 20;

/// Pieces that are this near are read with what is between them.
const GAP: usize = 16 << 10;

/// An array in a file that is not mapped: rows are copied into memory of
/// their own as they are asked for, by `pread`.
///
/// Nothing of it is `unsafe`: whatever others do to the file, values are those
/// that were there at some time while they were read, and a file that gets
/// shorter is an error, where a map would end the process. The price is a
/// system call and a copy for what a map lends. [`sharing`](crate::guide::sharing)
/// says when to choose which. The file stays open; its position doesn't
/// matter. Threads may share it.
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
    storage: Storage,
    place: Place,
    options: OpenOptions,
}

impl ArrayFile {
    /// Opens a `.npy` file.
    ///
    /// # Errors
    ///
    /// As [`MappedArray::open`], but for [`Io`](crate::ErrorKind::Io).
    pub fn open(path: impl AsRef<Path>) -> Result<ArrayFile> {
        ArrayFile::new(Source::read(path)?, OpenOptions::new())
    }

    /// Uses any source: an open file, or storage on the network. With `options`
    /// it is raw binary, an array inside a file, or one with a long header.
    ///
    /// # Errors
    ///
    /// As [`open`](ArrayFile::open).
    pub fn new<D>(source: Source<D>, options: OpenOptions) -> Result<ArrayFile> {
        let storage = source.into_storage();
        let place = storage.add_path_on_err(options.place(&storage))?;
        Ok(ArrayFile { storage, place, options })
    }

    /// Reads the header again, for files that others append to. After an
    /// error the array is what it was.
    ///
    /// # Errors
    ///
    /// As [`open`](ArrayFile::open).
    pub fn reload(&mut self) -> Result<()> {
        self.named(self.storage.current_len()).map(|len| self.storage.set_len(len))?;
        self.place = self.named(self.options.place(&self.storage))?;
        Ok(())
    }

    /// How elements lie from the first on.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.place.layout
    }

    /// What each element is.
    #[must_use]
    pub fn dtype(&self) -> &DType {
        self.place.layout.dtype()
    }

    /// The length of each axis.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        self.place.layout.shape()
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.place.layout.len()
    }

    /// True when there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.place.layout.is_empty()
    }

    /// The path it was opened by.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.storage.path()
    }

    /// Where the elements start in the file.
    #[must_use]
    pub fn data_offset(&self) -> u64 {
        self.place.offset
    }

    /// Asks whether the file still holds all elements, and its path still
    /// leads to it.
    ///
    /// # Errors
    ///
    /// [`Truncated`](crate::ErrorKind::Truncated), [`Changed`](crate::ErrorKind::Changed), [`Io`](crate::ErrorKind::Io).
    pub fn check(&self) -> Result<()> {
        self.named(self.checked())
    }

    fn checked(&self) -> Result<()> {
        self.storage.check_len(self.place.offset, self.place.layout.nbytes())?;
        match self.storage.path() {
            Some(path) if file::open(path, false)?.1.id != self.storage.id() => {
                Err(SystemError::Replaced.into())
            }
            _ => Ok(()),
        }
    }

    /// Reads one element: `[i, j]`, `&[usize]`, or `i` of one axis.
    ///
    /// # Errors
    ///
    /// [`WrongDType`](crate::ErrorKind::WrongDType) when elements are no `T`, [`OutOfBounds`](crate::ErrorKind::OutOfBounds)
    /// out of range or with another number of axes;
    /// [`Truncated`](crate::ErrorKind::Truncated), [`Io`](crate::ErrorKind::Io).
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
            large.resize(size, 0);
            &mut large
        };
        self.storage.read_elements(bytes, self.in_file(start))?;
        Ok(T::decode(&codec, bytes))
    }

    /// Reads the whole array into page-aligned memory, as
    /// [`MappedArray::read`].
    ///
    /// # Errors
    ///
    /// [`Truncated`](crate::ErrorKind::Truncated), [`Io`](crate::ErrorKind::Io); [`Io`](crate::ErrorKind::Io) when
    /// there is not enough memory.
    pub fn read(&self) -> Result<MappedArrayMut> {
        let layout = self.layout().clone();
        let nbytes = layout.nbytes();
        self.named(self.copied(layout, [Piece { start: 0, len: nbytes }]))
    }

    /// Reads a range of rows, along the first axis, into page-aligned memory:
    /// an array of as many axes, in the same order.
    ///
    /// In Fortran order these lie all over the file. What is near is read
    /// together, the rest piece by piece.
    ///
    /// # Errors
    ///
    /// [`OutOfBounds`](crate::ErrorKind::OutOfBounds) for rows that aren't there, [`WrongShape`](crate::ErrorKind::WrongShape)
    /// without axes; those of [`read`](ArrayFile::read).
    pub fn rows(&self, rows: impl RangeBounds<usize>) -> Result<MappedArrayMut> {
        let rows = rows_of(self.shape(), &rows);
        self.named(rows.and_then(|rows| {
            let layout = self.rows_layout(rows.len())?;
            let columns = self.columns();
            let piece = move |column: usize| columns.piece(column, rows.clone());
            self.copied(layout, (0..columns.count).map(piece))
        }))
    }

    /// Reads rows in any order into an array in page-aligned memory, of the same
    /// dtype and memory order. Rows may be asked for several times.
    ///
    /// [`take`](ArrayFile::take) decodes them into a slice.
    ///
    /// # Errors
    ///
    /// As [`rows`](ArrayFile::rows).
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
    pub fn select_rows(&self, rows: &[usize]) -> Result<MappedArrayMut> {
        self.named(self.copy_rows(rows))
    }

    pub(crate) fn copy_rows(&self, rows: &[usize]) -> Result<MappedArrayMut> {
        for row in rows {
            rows_of(self.shape(), &(*row..=*row))?;
        }
        let layout = self.rows_layout(rows.len())?;
        let columns = self.columns();
        let pieces = (0..columns.count)
            .flat_map(|column| rows.iter().map(move |&row| columns.piece(column, row..row + 1)));
        self.copied(layout, pieces)
    }

    /// How so many rows lie by themselves.
    fn rows_layout(&self, count: usize) -> Result<Layout> {
        let mut shape = self.shape().to_vec();
        if let Some(first) = shape.first_mut() {
            *first = count;
        }
        Layout::new(self.dtype().clone(), &shape, self.place.order, 0)
    }

    /// What the rows are parted into by the order: one part in C order, a part
    /// for each index of the other axes in Fortran order.
    fn columns(&self) -> Columns {
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

    /// Reads pieces one behind the other.
    fn copied(
        &self,
        layout: Layout,
        pieces: impl IntoIterator<Item = Piece>,
    ) -> Result<MappedArrayMut> {
        let mut data = MapMut::anonymous(layout.nbytes())?;
        if layout.nbytes() > 0 {
            self.gather(pieces, data.as_mut())?;
        }
        let mut array = MappedArray::allocated(layout, self.place.order, data);
        array.origin.path = self.storage.shared_path();
        Ok(array)
    }

    fn gather(&self, pieces: impl IntoIterator<Item = Piece>, out: &mut [u8]) -> Result<()> {
        let mut near = Vec::new();
        let mut out = out;
        for piece in pieces {
            if !joins(&near, piece) {
                out = self.read_near(&near, out)?;
                near.clear();
            }
            near.push(piece);
        }
        self.read_near(&near, out).map(drop)
    }

    /// Reads pieces that are near each other, and returns what of `out` comes
    /// behind them.
    fn read_near<'o>(&self, near: &[Piece], out: &'o mut [u8]) -> Result<&'o mut [u8]> {
        let (Some(first), Some(last)) = (near.first(), near.last()) else { return Ok(out) };
        if near.len() == 1 {
            let (own, rest) = out.split_at_mut(first.len);
            self.storage.read_elements(own, self.in_file(first.start))?;
            return Ok(rest);
        }
        let mut window = vec![0; last.start + last.len - first.start];
        self.storage.read_elements(&mut window, self.in_file(first.start))?;
        let mut out = out;
        for piece in near {
            let (own, rest) = out.split_at_mut(piece.len);
            let start = piece.start - first.start;
            own.copy_from_slice(window.get(start..start + piece.len).invariant(IN_BUFFER));
            out = rest;
        }
        Ok(out)
    }

    /// Where in the file a byte of the elements stands.
    fn in_file(&self, byte: usize) -> u64 {
        self.place.offset.saturating_add(to_u64(byte))
    }

    pub(crate) fn named<T>(&self, result: Result<T>) -> Result<T> {
        self.storage.add_path_on_err(result)
    }
}

/// Rows as they lie in memory: in parts of `step` bytes, `size` of each row.
#[derive(Clone, Copy)]
struct Columns {
    count: usize,
    step: usize,
    size: usize,
}

impl Columns {
    fn piece(self, column: usize, rows: Range<usize>) -> Piece {
        Piece { start: column * self.step + rows.start * self.size, len: rows.len() * self.size }
    }
}

/// Bytes of elements that are read together.
#[derive(Clone, Copy)]
struct Piece {
    start: usize,
    len: usize,
}

/// True when a piece comes so soon behind others that they are read at once.
fn joins(near: &[Piece], piece: Piece) -> bool {
    let (Some(first), Some(last)) = (near.first(), near.last()) else { return true };
    let gap = piece.start.checked_sub(last.start + last.len);
    gap.is_some_and(|gap| gap <= GAP) && piece.start + piece.len - first.start <= WINDOW
}

//! Writes to the file instead of the map, and waits for the disk.

use std::ops::Range;

use ndarray::SliceInfoElem;

use super::advise::bytes_of;
use super::{MappedArray, Place};
use crate::dtype::literal::tuple;
use crate::element::Element;
use crate::element::fast_path::FastPath as _;
use crate::error::invariant::{IN_BUFFER, IN_BYTES, Invariant};
use crate::error::{Result, ShapeError, SystemError};
use crate::layout::Layout;
use crate::source::atomic;
use crate::source::map::MapMut;
use crate::source::mode::Mode;
use crate::source::pages::sealed::Pages as _;
use crate::view::DynView;

/// What is written at once, in bytes.
const BLOCK: usize = 1 << 20;

/// # What is on the disk when
///
/// | after | the process may die | the machine may die |
/// |---|---|---|
/// | a store through a view or slice | nothing is lost | anything since the last flush may be lost, in pages: one value that crosses a page's edge may be half old, half new |
/// | [`write_elements`](MappedArray::write_elements) | nothing is lost; dying during it, the values before some byte are written | as above |
/// | [`flush_async`](MappedArray::flush_async) | nothing is lost | as above, but less and less |
/// | [`flush_rows`](MappedArray::flush_rows) | nothing is lost | those rows stay |
/// | [`flush`](MappedArray::flush), [`close`](MappedArray::close) | nothing is lost | all stays, the name of a new file too |
/// | drop | nothing is lost | as after a store; failures to write are lost |
///
/// A store of one aligned number is never seen in part by another process,
/// if it is no longer than a pointer; a longer value can be, while it is being
/// stored. The header is never
/// touched by these, so shape and elements always fit each other.
impl MappedArray<MapMut> {
    /// Writes values to the file, from the element `at` on, in the order of
    /// the file; missing axes of `at` are 0, so `&[5]` is the start of row 5 in
    /// C order.
    ///
    /// The array, and every other map of the file, shows them at once. To
    /// scatter many small edits over a large file this is faster than to store
    /// them: the system notes what was written byte by byte, not page by page.
    /// So it is to fill a new file, 1 MiB or more at a time. A full disk is an
    /// error where a store would be a fault.
    ///
    /// # Errors
    ///
    /// Before anything is written:
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) for arrays in memory
    /// and copy-on-write, [`InvalidInput`](crate::ErrorKind::InvalidInput) for
    /// a file that was opened with `O_APPEND`,
    /// [`WrongDType`](crate::ErrorKind::WrongDType) when the elements are no
    /// `T`, [`OutOfBounds`](crate::ErrorKind::OutOfBounds) when `at` is
    /// outside, [`WrongShape`](crate::ErrorKind::WrongShape) when there are
    /// more values than elements from there on,
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when one of the first
    /// MiB doesn't fit the dtype. After that
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) for later ones, and
    /// [`Io`](crate::ErrorKind::Io).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{CreateOptions, DType, MappedArray};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("a.npy");
    /// // SAFETY: nobody else knows of the file yet.
    /// let mut array = unsafe {
    ///     MappedArray::create(&path, &DType::of::<f32>(), &[100, 3], &CreateOptions::new())?
    /// };
    /// array.write_elements(&[7], &[1.0_f32, 2.0, 3.0])?; // a row
    /// array.write_elements(&[9, 2], &[4.0_f32])?; // an element
    /// assert_eq!(array.as_slice::<f32>()?[21..30], [1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_elements<T: Element>(&mut self, at: &[usize], values: &[T]) -> Result<()> {
        self.origin.named(self.data.check_writable())?;
        let start = self.origin.named(self.place(at, values.len()))?;
        let MappedArray { place: Place { layout, .. }, data, origin } = self;
        let size = layout.dtype().itemsize();
        let written = T::codec(layout.dtype()).and_then(|codec| {
            match T::fast_path().bytes_of(&codec, values) {
                Some(bytes) => data.write(start, bytes),
                None => encode(values, &codec, size, |at, block| data.write(start + at, block)),
            }
        });
        origin.named(written)
    }

    /// Writes a value to every element of the file, 1 MiB at a time, as
    /// [`write_elements`](MappedArray::write_elements): for new files faster
    /// than [`ViewMut::fill`](crate::ViewMut::fill).
    ///
    /// # Errors
    ///
    /// As [`write_elements`](MappedArray::write_elements).
    pub fn write_fill<T: Element>(&mut self, value: &T) -> Result<()> {
        let MappedArray { place: Place { layout, .. }, data, origin } = self;
        let (size, nbytes) = (layout.dtype().itemsize(), layout.nbytes());
        let mut fill = || {
            data.check_writable()?;
            let block = repeated(value, &T::codec(layout.dtype())?, size, nbytes)?;
            let mut written = 0;
            while written < nbytes {
                let count = block.len().min(nbytes - written);
                data.write(layout.offset() + written, block.get(..count).invariant(IN_BUFFER))?;
                written += count;
            }
            Ok(())
        };
        origin.named(fill())
    }

    /// Writes a value to the elements that `slice` selects, or to a field of
    /// them, such as `"x"` or `"pos.z"`, and returns how many there are.
    ///
    /// Only their bytes are written, and in a sparse file only what is written
    /// takes space: a full disk is an error, where a store through
    /// [`view_mut`](MappedArray::view_mut) would end the process with a
    /// signal. Thousands of elements apart from each other in a file that has
    /// its space are stored, which is faster.
    ///
    /// # Errors
    ///
    /// Before anything is written: [`InvalidInput`](crate::ErrorKind::InvalidInput) and
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) as [`write_elements`](MappedArray::write_elements),
    /// those of [`View::try_slice`](crate::View::try_slice) and
    /// [`View::field`](crate::View::field), [`WrongDType`](crate::ErrorKind::WrongDType),
    /// [`InvalidValue`](crate::ErrorKind::InvalidValue). After that [`Io`](crate::ErrorKind::Io), as when the disk is
    /// full; elements before that have the value.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::ndarray::{arr2, s};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("a.npy");
    /// npymap::write_npy(&path, &arr2(&[[1_u8, 2, 3], [4, 5, 6]]))?;
    /// // SAFETY: nobody else knows of the file.
    /// let mut array = unsafe { npymap::MappedArray::open_mut(&path)? };
    /// assert_eq!(array.write_fill_slice(s![.., 1..], None, &0_u8)?, 4);
    /// assert_eq!(array.as_slice::<u8>()?, [1, 0, 0, 4, 0, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_fill_slice<T: Element>(
        &mut self,
        slice: impl AsRef<[SliceInfoElem]>,
        field: Option<&str>,
        value: &T,
    ) -> Result<usize> {
        let MappedArray { place: Place { layout, .. }, data, origin } = self;
        origin.named(fill_slice(data, layout, slice.as_ref(), field, value))
    }

    /// Waits until what was stored is on the disk, of the whole array and the
    /// header; after [`create`](MappedArray::create) the file's name too.
    /// There is nothing to do for memory that is not shared with a file.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::ErrorKind::Io) when the disk refuses;
    /// [`Io`](crate::ErrorKind::Io) when it is the directory that can't be
    /// written.
    pub fn flush(&self) -> Result<()> {
        self.origin.named(self.data.flush())?;
        match self.path() {
            Some(path) if self.mode() == Some(Mode::Create) => {
                let done = atomic::sync_directory(path).map_err(SystemError::io("sync"));
                self.origin.named(done)
            }
            _ => Ok(()),
        }
    }

    /// Waits until what was stored in rows of the first axis is on the disk,
    /// and what shares a page with them. In Fortran order, where rows lie
    /// everywhere, that is the whole array.
    ///
    /// # Errors
    ///
    /// [`OutOfBounds`](crate::ErrorKind::OutOfBounds) when there are no such
    /// rows; [`Io`](crate::ErrorKind::Io) when the disk refuses.
    pub fn flush_rows(&self, rows: Range<usize>) -> Result<()> {
        let count = self.shape().first().copied().unwrap_or(1);
        if rows.start > rows.end || rows.end > count {
            let (asked, shape) =
                (format!("range {}..{}", rows.start, rows.end), tuple(self.shape()));
            return self.origin.named(Err(ShapeError::Index { axis: 0, asked, shape }.into()));
        }
        if self.ndim() == 0 || !self.place.layout.is_c_contiguous() {
            return self.origin.named(self.data.flush());
        }
        let range = bytes_of(&self.place.layout, &rows);
        self.origin.named(range.and_then(|range| self.data.flush_range(range)))
    }

    /// Has the system begin to write what was stored to the disk, and does
    /// not wait for it.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::ErrorKind::Io) when the system refuses.
    pub fn flush_async(&self) -> Result<()> {
        self.origin.named(self.data.flush_async())
    }

    /// Flushes as [`flush`](MappedArray::flush) and unmaps, and returns what
    /// the system said; it is unmapped whatever that is. Dropping unmaps
    /// without waiting for the disk: what was stored survives the process, and
    /// failures to write are lost.
    ///
    /// # Errors
    ///
    /// As [`flush`](MappedArray::flush).
    pub fn close(self) -> Result<()> {
        let flushed = self.flush();
        let MappedArray { data, origin, .. } = self;
        flushed.and(origin.named(data.close()))
    }

    /// Where in the map the element `at` is, `count` elements from there on
    /// being there.
    fn place(&self, at: &[usize], count: usize) -> Result<usize> {
        let shape = self.shape();
        let mut index = at.to_vec();
        index.resize(shape.len().max(at.len()), 0);
        let start = self.place.layout.geometry().offset_of(&index);
        let size = self.dtype().itemsize();
        // An empty array has a start too, for no values.
        let start =
            start.or_else(|| (self.is_empty() && index.iter().all(|&i| i == 0)).then_some(0));
        let Some(start) = start else {
            let (asked, shape) = (tuple(at), tuple(shape));
            return Err(ShapeError::Element { asked, shape }.into());
        };
        let before = (start - self.place.layout.offset()) / size.max(1);
        let expected = self.len() - before.min(self.len());
        if count > expected {
            return Err(ShapeError::Length { found: count, expected }.into());
        }
        Ok(start)
    }
}

/// Encodes values and hands their bytes out, a block at a time.
fn encode<T: Element>(
    values: &[T],
    codec: &T::Codec,
    size: usize,
    mut done: impl FnMut(usize, &[u8]) -> Result<()>,
) -> Result<()> {
    if size == 0 {
        return values.iter().try_for_each(|value| value.encode(codec, &mut []));
    }
    let mut block = Vec::new();
    let mut at = 0;
    for values in values.chunks((BLOCK / size).max(1)) {
        // Padding that no field is written to becomes zero.
        block.clear();
        block.resize(values.len() * size, 0);
        for (bytes, value) in block.chunks_exact_mut(size).zip(values) {
            value.encode(codec, bytes)?;
        }
        done(at, &block)?;
        at += block.len();
    }
    Ok(())
}

/// With more writes than this, stores are faster.
const MOST_WRITES: usize = 4096;

/// See [`MappedArray::write_fill_slice`].
fn fill_slice<T: Element>(
    data: &mut MapMut,
    layout: &Layout,
    slice: &[SliceInfoElem],
    field: Option<&str>,
    value: &T,
) -> Result<usize> {
    data.check_writable()?;
    let selected = DynView::from_bytes(data.as_ref(), layout)?.try_slice(slice)?;
    let selected = match field {
        Some(field) => selected.field(field)?,
        None => selected,
    };
    let (count, size) = (selected.len(), selected.itemsize());
    let fill = FillValue::new(value, T::codec(selected.dtype())?, size)?;
    if count == 0 || size == 0 {
        return Ok(count);
    }
    let ranges = selected.byte_ranges(BLOCK);
    if ranges.size_hint().0 > MOST_WRITES && !data.is_sparse()? {
        let bytes = data.as_mut();
        for range in ranges {
            fill.encode(bytes.get_mut(range).invariant(IN_BYTES))?;
        }
        return Ok(count);
    }
    let mut block = Vec::new();
    for range in ranges {
        block.resize(range.len(), 0);
        if !fill.is_whole {
            data.read(range.start, &mut block)?;
        }
        fill.encode(&mut block)?;
        data.write(range.start, &block)?;
    }
    Ok(count)
}

/// A value to be written to many elements.
struct FillValue<'v, T: Element> {
    value: &'v T,
    codec: T::Codec,
    size: usize,
    /// Whether the value determines every byte of an element, rather than
    /// leave padding or other fields alone.
    is_whole: bool,
}

impl<'v, T: Element> FillValue<'v, T> {
    fn new(value: &'v T, codec: T::Codec, size: usize) -> Result<FillValue<'v, T>> {
        let (mut zeros, mut ones) = (vec![0; size], vec![0xff; size]);
        value.encode(&codec, &mut zeros)?;
        value.encode(&codec, &mut ones)?;
        Ok(FillValue { value, codec, size, is_whole: zeros == ones })
    }

    /// Encodes the value into each element of some bytes.
    fn encode(&self, bytes: &mut [u8]) -> Result<()> {
        bytes
            .chunks_exact_mut(self.size)
            .try_for_each(|element| self.value.encode(&self.codec, element))
    }
}

/// A block of one value, over and over; `nbytes` at most.
fn repeated<T: Element>(
    value: &T,
    codec: &T::Codec,
    size: usize,
    nbytes: usize,
) -> Result<Vec<u8>> {
    let mut one = vec![0; size];
    value.encode(codec, &mut one)?;
    let count = (BLOCK.min(nbytes) / size.max(1)).max(1);
    Ok(one.repeat(count))
}

//! Writes to the file instead of the map, and flushes.

use std::ops::Range;

use ndarray::SliceInfoElem;

use super::advise::{resolve_rows, row_bytes};
use super::{MappedArray, Place};
use crate::element::Element;
use crate::error::invariant::{IN_BUFFER, Invariant};
use crate::error::{IoContext as _, Result, memory};
use crate::layout::Layout;
use crate::source::atomic;
use crate::source::map::{MapMut, stores::Stores};
use crate::source::pages::sealed::Pages as _;
use crate::view::DynView;

/// The size of a write, in bytes.
pub(super) const BLOCK: usize = 1 << 20;

/// # Durability
///
/// | after | if the process dies | if the machine dies |
/// |---|---|---|
/// | a store through a view or slice | nothing is lost | any page stored to since the last flush may be lost, so a value that crosses a page boundary may be half old, half new |
/// | [`ElementWriter::write`](super::ElementWriter::write) | nothing is lost; during the call, the bytes up to some position are written | as above |
/// | [`flush_async`](MappedArray::flush_async) | nothing is lost | as above, but the system has begun to write |
/// | [`flush_rows`](MappedArray::flush_rows) | nothing is lost | those rows are kept |
/// | [`flush`](MappedArray::flush), [`close`](MappedArray::close) | nothing is lost | everything is kept, including the name of a new file |
/// | drop | nothing is lost | as after a store, and write errors are not reported |
///
/// If you store an aligned number no longer than a pointer, another process
/// never sees part of it. It can see part of a longer value. This does not
/// touch the header, so shape and elements always match.
impl MappedArray<MapMut> {
    /// Writes a value to the elements that `slice` selects, or to a field of
    /// them, such as `"x"` or `"pos.z"`, and returns the number of elements.
    ///
    /// Only their bytes are written, so in a sparse file only these take space.
    /// A full disk returns an error, where a store through
    /// [`view_mut`](MappedArray::view_mut) would raise SIGBUS. Thousands of
    /// scattered elements in a file that is not sparse are stored through the
    /// map, which is faster.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if the array is in
    /// memory or copy-on-write, or its file was opened with `O_APPEND`. Returns
    /// [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if an index is out of range,
    /// [`NotFound`](crate::ErrorKind::NotFound) if the field does not exist,
    /// [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if its elements cannot store a
    /// `T`, and [`InvalidValue`](crate::ErrorKind::InvalidValue) if the value does
    /// not fit the dtype. These errors leave the file unchanged. Returns
    /// [`Io`](crate::ErrorKind::Io) if the disk is full or writing fails. Some
    /// elements then have the value.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::ndarray::{arr2, s};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("a.npy");
    /// npymap::WriteOptions::new().write(&path, &arr2(&[[1_u8, 2, 3], [4, 5, 6]]))?;
    /// // SAFETY: no other process knows of the file.
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
        origin.add_path_on_err(fill(data, layout, (slice.as_ref(), field), value))
    }

    /// Waits until the whole array and its header are on the disk. After
    /// [`create`](MappedArray::create), also the file's name. Does nothing for
    /// memory not shared with a file.
    ///
    /// # Errors
    ///
    /// Returns [`Io`](crate::ErrorKind::Io) if the file or its directory cannot
    /// be written.
    #[inline]
    pub fn flush(&self) -> Result<()> {
        let flushed = self.data.flush().and_then(|()| match &self.origin.new_name {
            Some(path) => atomic::sync_directory(path).context("sync"),
            None => Ok(()),
        });
        self.origin.add_path_on_err(flushed)
    }

    /// Waits until the pages of some rows of the first axis are on the disk, but not
    /// the name of a new file, as [`flush`](MappedArray::flush) does. In Fortran order,
    /// where rows are scattered, these are all pages of the array.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) for rows that do
    /// not exist, and [`Io`](crate::ErrorKind::Io) if they cannot be written.
    #[inline]
    pub fn flush_rows(&self, rows: Range<usize>) -> Result<()> {
        let shape = if self.ndim() == 0 { &[1] } else { self.shape() };
        let flushed = resolve_rows(shape, &rows).and_then(|rows| {
            if self.ndim() == 0 || !self.place.layout.is_c_contiguous() {
                return self.data.flush();
            }
            self.data.flush_range(row_bytes(&self.place.layout, &rows)?)
        });
        self.origin.add_path_on_err(flushed)
    }

    /// Starts writing the array to the disk, without waiting.
    ///
    /// # Errors
    ///
    /// Returns [`Io`](crate::ErrorKind::Io) if the kernel refuses.
    #[inline]
    pub fn flush_async(&self) -> Result<()> {
        self.origin.add_path_on_err(self.data.flush_async())
    }

    /// Flushes as [`flush`](MappedArray::flush), then unmaps, even if flushing
    /// failed. Dropping the array unmaps it without waiting for the disk:
    /// stores survive the process, but you will not see write errors.
    ///
    /// # Errors
    ///
    /// Returns [`Io`](crate::ErrorKind::Io) if the file or its directory cannot
    /// be written, or unmapping fails.
    #[inline]
    pub fn close(self) -> Result<()> {
        let flushed = self.flush();
        let MappedArray { data, origin, .. } = self;
        flushed.and(origin.add_path_on_err(data.close()))
    }
}

/// Stores through the map are faster than more short writes than this.
pub(super) const MAX_WRITES: usize = 4096;

/// See [`MappedArray::write_fill_slice`].
fn fill<T: Element>(
    data: &mut MapMut,
    layout: &Layout,
    (slice, field): (&[SliceInfoElem], Option<&str>),
    value: &T,
) -> Result<usize> {
    data.check_writable()?;
    let selected = selected(layout, slice, field)?;
    let (count, size) = (selected.len(), selected.itemsize());
    let encoded = Encoded::new(value, &T::codec(selected.dtype())?, size)?;
    if count > 0 && size > 0 {
        let end = layout.geometry().span(layout.dtype().itemsize()).end;
        encoded.write((data, end), selected.byte_ranges(BLOCK), count)?;
    }
    Ok(count)
}

/// The elements to write, of which only the geometry and the dtype are used.
#[inline]
pub(super) fn selected(
    layout: &Layout,
    slice: &[SliceInfoElem],
    field: Option<&str>,
) -> Result<DynView<'static>> {
    let all = DynView::from_parts(&[], layout.geometry().clone(), layout.dtype().clone());
    match field {
        Some(field) => all.slice(slice)?.field(field),
        None => all.slice(slice),
    }
}

/// A value to write to many elements.
struct Encoded {
    /// Its bytes; those that it does not have are 0.
    bytes: Vec<u8>,
    /// If there are such bytes, which keep what is stored: 255 for each of them,
    /// and 0 for the others.
    kept: Option<Vec<u8>>,
}

impl Encoded {
    fn new<T: Element>(value: &T, codec: &T::Codec, size: usize) -> Result<Encoded> {
        let (mut bytes, mut over_ones) = (memory::zeros(size)?, memory::zeros(size)?);
        over_ones.fill(0xff);
        value.encode(codec, &mut bytes)?;
        value.encode(codec, &mut over_ones)?;
        let is_kept = |(zero, one)| if zero == one { 0 } else { 0xff };
        let kept =
            (bytes != over_ones).then(|| bytes.iter().zip(&over_ones).map(is_kept).collect());
        Ok(Encoded { bytes, kept })
    }

    /// Writes the value to `count` elements in ranges of adjacent ones. The elements of the
    /// array have an end.
    fn write(
        mut self,
        (data, end): (&mut MapMut, usize),
        ranges: impl Iterator<Item = Range<usize>>,
        count: usize,
    ) -> Result<()> {
        let mut ranges = ranges.peekable();
        let (size, writes) = (self.bytes.len(), ranges.size_hint().0);
        // No range is longer than the first one.
        let repetitions = ranges.peek().map_or(0, Range::len) / size;
        self.bytes = self.bytes.repeat(repetitions);
        self.kept = self.kept.map(|kept| kept.repeat(repetitions));
        let is_scattered = writes > MAX_WRITES && count / writes < BLOCK / 2 / size;
        if is_scattered && !data.is_sparse()? {
            let mut stores = Stores::new(data, Some(end));
            // What can't be mapped is written.
            while let Some(bytes) = ranges.peek().and_then(|range| stores.bytes(range.clone())) {
                self.store(bytes);
                ranges.next();
            }
        }
        let mut block = Vec::new();
        for range in ranges {
            let start = range.start;
            if self.kept.is_none() {
                data.write(start, self.bytes.get(..range.len()).invariant(IN_BUFFER))?;
                continue;
            }
            memory::resize(&mut block, range.len())?;
            data.read(start, &mut block)?;
            self.store(&mut block);
            data.write(start, &block)?;
        }
        Ok(())
    }

    /// Stores the value into adjacent elements.
    #[inline]
    fn store(&self, to: &mut [u8]) {
        let bytes = self.bytes.get(..to.len()).invariant(IN_BUFFER);
        match &self.kept {
            None => to.copy_from_slice(bytes),
            Some(kept) => {
                let new = bytes.iter().zip(kept);
                to.iter_mut().zip(new).for_each(|(to, (byte, kept))| *to = *to & kept | byte);
            }
        }
    }
}

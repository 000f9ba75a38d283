//! Writes elements to the file of a map, from any number of threads.

use super::edit::BLOCK;
use super::{MappedArray, Origin, Place};
use crate::dtype::Kind;
use crate::dtype::literal::tuple;
use crate::element::Element;
use crate::element::fast_path::{FastPath as _, writes_all_bytes};
use crate::error::{Result, ShapeError, memory};
use crate::layout::Layout;
use crate::source::map::{MapMut, MapWriter};

/// A writer that changes elements of an array in its file, from any number of
/// threads at once. [`MappedArray::element_writer`] returns it.
///
/// It borrows the array mutably, so that no slice or view of it can observe the
/// writes. Two threads should not write the same elements at once, not even
/// different fields of them: which of the values remain is unspecified.
#[derive(Debug)]
pub struct ElementWriter<'a> {
    layout: &'a Layout,
    origin: &'a Origin,
    map: MapWriter<'a>,
}

impl MappedArray<MapMut> {
    /// Returns a writer of elements, which threads can share.
    ///
    /// What it writes is visible immediately in the array and in all other maps of the
    /// file. For many small edits scattered over a large file, this is faster than
    /// storing them, because the system tracks the bytes that were written instead
    /// of whole pages. It is also faster for filling a new file, 1 MiB or more at a
    /// time. If the disk is full, this returns an error, where a store would cause a signal.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if the array is
    /// in memory or copy-on-write, or its file was opened with `O_APPEND`.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{DType, MappedArray};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("a.npy");
    /// // SAFETY: no other process knows of the file yet.
    /// let mut array = unsafe { MappedArray::create(&path, &DType::of::<f32>(), &[4, 3])? };
    /// let writer = array.element_writer()?;
    /// std::thread::scope(|scope| {
    ///     let rows = [0_u8, 1, 2, 3].map(|row| {
    ///         let writer = &writer;
    ///         scope.spawn(move || writer.write(&[row.into()], &[f32::from(row); 3]))
    ///     });
    ///     rows.into_iter().try_for_each(|row| row.join().unwrap())
    /// })?;
    /// assert_eq!(array.as_slice::<f32>()?[3..9], [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn element_writer(&mut self) -> Result<ElementWriter<'_>> {
        let MappedArray { place: Place { layout, .. }, data, origin } = self;
        let map = origin.add_path_on_err(data.writer())?;
        Ok(ElementWriter { layout, origin, map })
    }
}

impl ElementWriter<'_> {
    /// Writes values in file order, starting at the element `at`. Missing axes of `at`
    /// are 0, so in C order `&[5]` is the start of row 5.
    ///
    /// Bytes of an element that the values do not have, such as other fields, are
    /// read first and kept.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the elements cannot
    /// store a `T`, [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if `at` is out
    /// of range, [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if there are more
    /// values than elements from `at` to the end, and
    /// [`InvalidValue`](crate::ErrorKind::InvalidValue) if a value in the first MiB
    /// does not fit the dtype. These errors leave the file unchanged. Later,
    /// returns [`InvalidValue`](crate::ErrorKind::InvalidValue) for a value that
    /// does not fit, and [`Io`](crate::ErrorKind::Io) if the disk is full or
    /// writing fails. The values before it have then been written.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{DType, MappedArray};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("a.npy");
    /// // SAFETY: no other process knows of the file yet.
    /// let mut array = unsafe { MappedArray::create(&path, &DType::of::<f32>(), &[100, 3])? };
    /// let writer = array.element_writer()?;
    /// writer.write(&[7], &[1.0_f32, 2.0, 3.0])?; // a row
    /// writer.write(&[9, 2], &[4.0_f32])?; // an element
    /// assert_eq!(array.as_slice::<f32>()?[21..30], [1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write<T: Element>(&self, at: &[usize], values: &[T]) -> Result<()> {
        self.origin.add_path_on_err(self.write_values(at, values))
    }

    fn write_values<T: Element>(&self, at: &[usize], values: &[T]) -> Result<()> {
        let (start, dtype) = (start_of(self.layout, at, values.len())?, self.layout.dtype());
        let codec = T::codec(dtype)?;
        let bytes = T::fast_path().bytes_of(&codec, values);
        let has_parts = matches!(dtype.kind(), Kind::Struct | Kind::Subarray);
        let are_whole = match values.first() {
            Some(first) if has_parts || bytes.is_none() => {
                writes_all_bytes(first, &codec, dtype.itemsize())?
            }
            // Bytes that are not made of parts are written whole.
            _ => true,
        };
        match bytes {
            Some(bytes) if are_whole => self.map.write(start, bytes),
            _ => self.encode(start, values, &codec, are_whole),
        }
    }

    /// Encodes and writes values one block at a time. Unless they `are_whole`, the
    /// other bytes of the elements are kept.
    fn encode<T: Element>(
        &self,
        start: usize,
        values: &[T],
        codec: &T::Codec,
        are_whole: bool,
    ) -> Result<()> {
        let size = self.layout.dtype().itemsize();
        if size == 0 {
            return values.iter().try_for_each(|value| value.encode(codec, &mut []));
        }
        let mut block = Vec::new();
        let mut at = start;
        for values in values.chunks((BLOCK / size).max(1)) {
            block.clear();
            memory::resize(&mut block, values.len() * size)?;
            if !are_whole {
                self.map.read(at, &mut block)?;
            }
            for (bytes, value) in block.chunks_exact_mut(size).zip(values) {
                value.encode(codec, bytes)?;
            }
            self.map.write(at, &block)?;
            at += block.len();
        }
        Ok(())
    }
}

/// The offset in the map of the element `at`, which at least `count` elements
/// must follow, including itself.
#[inline]
fn start_of(layout: &Layout, at: &[usize], count: usize) -> Result<usize> {
    let shape = layout.shape();
    let mut index = at.to_vec();
    index.resize(shape.len().max(at.len()), 0);
    let start = layout.geometry().offset_of(&index);
    // Writing no values at the start of an empty array is allowed.
    let is_start = layout.is_empty() && index.iter().all(|&i| i == 0);
    let Some(start) = start.or_else(|| is_start.then_some(layout.offset())) else {
        let (asked, shape) = (tuple(at), tuple(shape));
        return Err(ShapeError::Element { asked, shape }.into());
    };
    let before = (start - layout.offset()) / layout.dtype().itemsize().max(1);
    let expected = layout.len() - before.min(layout.len());
    if count > expected {
        return Err(ShapeError::TooMany { found: count, expected }.into());
    }
    Ok(start)
}

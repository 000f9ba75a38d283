//! The trait of all row sources.

use std::ops::Range;
use std::sync::Arc;

use ndarray::ArrayD;

use super::ahead::RowsAhead;
use super::batches::Batches;
use super::decode::DecodeRows;
use super::field_rows::FieldRows;
use super::gather;
use super::loading::Loader;
use super::sampler::Sampler;
use super::windows::Windows;
use crate::dtype::DType;
use crate::element::Element;
use crate::element::cast::{Casting, Number};
use crate::error::{Error, Result};
use crate::layout::row_index::RowIndex;

/// A source of rows of equal length, such as [`Rows`](crate::Rows) or
/// [`ArrayFile`](crate::ArrayFile).
///
/// [`Concat`](crate::loader::Concat), [`Padded`](crate::loader::Padded) rows,
/// [`Windows`] and [`FieldRows`] of other sources, and sources of your own also
/// implement it.
///
/// A row is the part of an array at one index of the first axis. Methods take
/// the indices, then the output, which is in C order. All indices are checked
/// before anything is written. A negative index returns an error.
/// [`TakeMode::resolve`](crate::layout::TakeMode::resolve) wraps or clips them,
/// or counts them from the end.
///
/// Import the trait to call its methods. If you choose the source at run time, use a
/// `Box<dyn RowSource>`, which is as fast. Rows of
/// [`Ragged`](crate::loader::Ragged) arrays have different lengths, so they are a
/// source only after [`Ragged::padded`](crate::loader::Ragged::padded).
///
/// # Implementing it
///
/// A source has a dtype, a shape, and a method that copies bytes; everything
/// else is provided. One call of [`read_ranges`](RowSource::read_ranges)
/// requests up to 8 MiB of rows (or one longer row) and returns no references,
/// so a source may read them from several places at once.
///
/// # Examples
///
/// One line decides between a map, a file without a map, and shards:
///
/// ```
/// use npymap::{ArrayFile, MappedArray, Result, RowSource, loader::Concat};
///
/// fn mean(rows: &impl RowSource, indices: &[usize]) -> Result<f64> {
///     let mut batch = vec![0.0_f64; indices.len() * rows.row_len()];
///     rows.take_as(indices, &mut batch)?;
///     Ok(batch.iter().sum::<f64>() / indices.len() as f64)
/// }
///
/// // SAFETY: no other process writes to or truncates this file.
/// let open = || unsafe { MappedArray::open("data/penguins.npy") };
/// let sources: [Box<dyn RowSource>; 3] = [
///     Box::new(open()?.rows()?),
///     Box::new(ArrayFile::open("data/penguins.npy")?),
///     Box::new(Concat::new([open()?, open()?])?),
/// ];
/// for rows in &sources {
///     assert_eq!(mean(rows, &[0, 341])?, mean(&sources[0], &[0, 341])?);
/// }
/// # Ok::<(), npymap::Error>(())
/// ```
///
/// A custom source:
///
/// ```
/// use npymap::{DType, Result, RowSource};
///
/// /// The numbers from 0, in rows of two.
/// struct Counting(DType);
///
/// impl RowSource for Counting {
///     fn dtype(&self) -> &DType {
///         &self.0
///     }
///
///     fn shape(&self) -> &[usize] {
///         &[1000, 2]
///     }
///
///     fn read_ranges(&self, ranges: &[std::ops::Range<usize>], out: &mut [u8]) -> Result<()> {
///         let numbers = ranges.iter().flat_map(|rows| 2 * rows.start as u64..2 * rows.end as u64);
///         for (bytes, number) in out.chunks_exact_mut(8).zip(numbers) {
///             bytes.copy_from_slice(&number.to_le_bytes());
///         }
///         Ok(())
///     }
/// }
///
/// let rows = Counting("<u8".parse()?);
/// let mut batch = [0.0_f32; 6];
/// rows.windows(3)?.take_as(&[7], &mut batch)?;
/// assert_eq!(batch, [14.0, 15.0, 16.0, 17.0, 18.0, 19.0]);
/// # Ok::<(), npymap::Error>(())
/// ```
pub trait RowSource {
    /// Returns the dtype of the elements.
    fn dtype(&self) -> &DType;

    /// Returns the length of each axis. The first is the number of rows.
    fn shape(&self) -> &[usize];

    /// Copies ranges of rows, in turn, as stored, with the elements in C order.
    /// `out` has the length of these rows in bytes.
    ///
    /// The other methods call it with ranges of rows that exist. Each range is one
    /// row, or the rows of a window; ranges may overlap.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) for rows that
    /// don't exist, [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if `out` has
    /// the wrong length, and [`Truncated`](crate::ErrorKind::Truncated) or
    /// [`Io`](crate::ErrorKind::Io) if reading fails.
    fn read_ranges(&self, ranges: &[Range<usize>], out: &mut [u8]) -> Result<()>;

    /// Decodes the slices of `len` rows that start at `starts`, which must exist. The places
    /// are the numbers of these.
    #[doc(hidden)]
    fn visit(&self, starts: &[usize], len: usize, decode: &mut dyn DecodeRows) -> Result<()> {
        gather::visit_stored(self, starts, len, None, decode)
    }

    /// Requests rows, which exist, for [`prefetch`](RowSource::prefetch).
    #[doc(hidden)]
    #[inline]
    fn request(&self, _: &[usize]) -> Result<()> {
        Ok(())
    }

    /// Adds the path of the file to an error.
    #[doc(hidden)]
    fn add_path(&self, error: Error) -> Error {
        error
    }

    /// Returns where the rows are in files, for reading ahead. By default, this
    /// is empty.
    #[doc(hidden)]
    fn rows_ahead(&self) -> RowsAhead {
        RowsAhead::default()
    }

    /// Returns the number of rows.
    fn row_count(&self) -> usize {
        self.shape().first().copied().unwrap_or(0)
    }

    /// Returns how many elements a row has.
    fn row_len(&self) -> usize {
        self.shape().iter().skip(1).product()
    }

    /// Asks the kernel to read rows that will be needed soon, without waiting for them. Does
    /// nothing for rows that are not those of [`Rows`](crate::Rows) or
    /// [`Concat`](crate::loader::Concat).
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if an index is out of range.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, RowSource, loader::Concat};
    ///
    /// // SAFETY: no other process writes to or truncates this file.
    /// let open = || unsafe { MappedArray::open("data/penguins.npy") };
    /// let both = Concat::new([open()?, open()?])?;
    /// both.prefetch(&[683, 0])?;
    /// assert!(both.prefetch(&[684]).is_err());
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[inline]
    fn prefetch(&self, indices: &[impl RowIndex]) -> Result<()>
    where
        Self: Sized,
    {
        let requested = gather::resolve_rows(self, indices).and_then(|rows| self.request(&rows));
        requested.map_err(|error| self.add_path(error))
    }

    /// Copies rows into `out`, decoded, in the order of `indices`. Its length must be
    /// `indices.len() * row_len()`.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the elements cannot
    /// be decoded as `T`, and names a type that works. Returns
    /// [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if an index is out of range,
    /// [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if `out` has the wrong length,
    /// and [`LimitExceeded`](crate::ErrorKind::LimitExceeded) for too many elements
    /// of zero size. These are checked before anything is written. Returns
    /// [`Truncated`](crate::ErrorKind::Truncated) or [`Io`](crate::ErrorKind::Io)
    /// if reading fails; `out` may then be partly written.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{ArrayFile, RowSource as _};
    ///
    /// let penguins = ArrayFile::open("data/penguins.npy")?;
    /// let mut batch = [0.0_f64; 2 * 4];
    /// penguins.take(&[341, 0], &mut batch)?;
    /// assert_eq!([batch[3], batch[7]], [3775.0, 3750.0]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    fn take<T: Element>(&self, indices: &[impl RowIndex], out: &mut [T]) -> Result<()>
    where
        Self: Sized,
    {
        gather::take(self, indices, out).map_err(|error| self.add_path(error))
    }

    /// Copies rows into `out` as elements of another numeric type, if
    /// [`Casting::SameKind`] allows the cast: for example `u16` to `i64`, or `f64` to `f32`.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the elements are
    /// not numbers, or the cast would lose more than precision. Returns
    /// [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if an index is out of
    /// range, [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if `out` has the
    /// wrong length, and [`LimitExceeded`](crate::ErrorKind::LimitExceeded) for
    /// too many elements of zero size. These are checked before anything is
    /// written. Returns [`Truncated`](crate::ErrorKind::Truncated) or
    /// [`Io`](crate::ErrorKind::Io) if reading fails; `out` may then be partly
    /// written.
    fn take_as<U: Number>(&self, indices: &[impl RowIndex], out: &mut [U]) -> Result<()>
    where
        Self: Sized,
    {
        gather::take_as(self, indices, out).map_err(|error| self.add_path(error))
    }

    /// Copies rows into `out`, and converts each element with `convert`: for example, `u8`
    /// images to scaled `f32`.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the elements
    /// cannot be decoded as `T`, and names a type that works. Returns
    /// [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if an index is out of
    /// range, [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if `out` has the
    /// wrong length, and [`LimitExceeded`](crate::ErrorKind::LimitExceeded) for
    /// too many elements of zero size. These are checked before anything is
    /// written. Returns [`Truncated`](crate::ErrorKind::Truncated) or
    /// [`Io`](crate::ErrorKind::Io) if reading fails; `out` may then be partly
    /// written.
    fn take_with<T: Element + Copy, U>(
        &self,
        indices: &[impl RowIndex],
        out: &mut [U],
        convert: impl Fn(T) -> U,
    ) -> Result<()>
    where
        Self: Sized,
    {
        gather::take_with(self, indices, out, convert).map_err(|error| self.add_path(error))
    }

    /// Converts each row as a whole, for example to crop or transpose it.
    ///
    /// This calls `convert` with the elements of the row, in C order, and its
    /// part of `out`, `out_len` items long. The length of `out` must be
    /// `indices.len() * out_len`. The order of the calls is unspecified.
    ///
    /// Use it for conversions that depend on the position in the row, or that change
    /// its length or its order, for example to normalize by channel, transpose or crop.
    /// If the conversion is the same for each element,
    /// [`take_with`](RowSource::take_with) is faster.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the elements
    /// cannot be decoded as `T`, and names a type that works. Returns
    /// [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if an index is out of
    /// range, [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if `out` has the
    /// wrong length, and [`LimitExceeded`](crate::ErrorKind::LimitExceeded) for
    /// too many elements of zero size. These are checked before anything is
    /// written. Returns [`Truncated`](crate::ErrorKind::Truncated) or
    /// [`Io`](crate::ErrorKind::Io) if reading fails; `out` may then be partly
    /// written.
    ///
    /// # Examples
    ///
    /// Images of `height × width × 3` bytes to `3 × height × width` floats, each
    /// channel with its own mean:
    ///
    /// ```
    /// use npymap::{DType, MappedArray, RowSource as _};
    ///
    /// const MEANS: [f32; 3] = [0.485, 0.456, 0.406];
    ///
    /// fn normalize(image: &[u8], out: &mut [f32]) {
    ///     let channels = out.chunks_exact_mut(image.len() / 3);
    ///     for (channel, (plane, mean)) in channels.zip(MEANS).enumerate() {
    ///         let pixels = image.iter().skip(channel).step_by(3);
    ///         for (out, pixel) in plane.iter_mut().zip(pixels) {
    ///             *out = f32::from(*pixel) / 255.0 - mean;
    ///         }
    ///     }
    /// }
    ///
    /// let images = MappedArray::zeros(&DType::of::<u8>(), &[10, 4, 4, 3])?;
    /// let rows = images.into_read_only()?.rows()?;
    /// let mut batch = vec![0.0; 2 * 48];
    /// rows.take_rows_with(&[7, 0], &mut batch, 48, normalize)?;
    /// assert_eq!([batch[0], batch[16], batch[95]], [-0.485, -0.456, -0.406]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    fn take_rows_with<T: Element, U>(
        &self,
        indices: &[impl RowIndex],
        out: &mut [U],
        out_len: usize,
        convert: impl Fn(&[T], &mut [U]),
    ) -> Result<()>
    where
        Self: Sized,
    {
        let taken = gather::take_rows_with(self, indices, out, out_len, convert);
        taken.map_err(|error| self.add_path(error))
    }

    /// Copies the bytes of rows as stored, with the elements in C order.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if an index is
    /// out of range, [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if `out` has
    /// the wrong length, and [`LimitExceeded`](crate::ErrorKind::LimitExceeded)
    /// for too many elements of zero size. These are checked before anything is
    /// written. Returns [`Truncated`](crate::ErrorKind::Truncated) or
    /// [`Io`](crate::ErrorKind::Io) if reading fails; `out` may then be partly
    /// written.
    fn take_bytes(&self, indices: &[impl RowIndex], out: &mut [u8]) -> Result<()>
    where
        Self: Sized,
    {
        gather::take_bytes(self, indices, out).map_err(|error| self.add_path(error))
    }

    /// Copies rows into `out` as elements of another dtype, in C order, cast as
    /// `casting` allows.
    ///
    /// Use this instead of [`take_as`](RowSource::take_as) for a dtype that you
    /// only learn at run time, and for other casts. The length of `out` must be
    /// `indices.len() * row_len() * dtype.itemsize()`.
    ///
    /// Casts of real numbers to `f32`, `f64` and `i64` in this machine's byte order,
    /// into aligned memory, are as fast as `take_as`. Other casts take several times as long.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the cast is not
    /// allowed or not implemented. Returns
    /// [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if an index is out of range,
    /// [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if `out` has the wrong length,
    /// and [`LimitExceeded`](crate::ErrorKind::LimitExceeded) for too many elements
    /// of zero size. These are checked before anything is written. Returns
    /// [`Truncated`](crate::ErrorKind::Truncated) or [`Io`](crate::ErrorKind::Io)
    /// if reading fails; `out` may then be partly written. Returns
    /// [`InvalidValue`](crate::ErrorKind::InvalidValue) for a value that cannot be
    /// cast.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, RowSource as _, element::Casting};
    ///
    /// let rows = MappedArray::load("data/penguins.npy")?.into_read_only()?.rows()?;
    /// let mut batch = [0; 2 * 4 * 2];
    /// rows.take_bytes_as(&[341, 0], &mut batch, &">i2".parse()?, Casting::Unsafe)?;
    /// assert_eq!(batch[6..8], 3775_i16.to_be_bytes());
    /// # Ok::<(), npymap::Error>(())
    /// ```
    fn take_bytes_as(
        &self,
        indices: &[impl RowIndex],
        out: &mut [u8],
        dtype: &DType,
        casting: Casting,
    ) -> Result<()>
    where
        Self: Sized,
    {
        let taken = gather::take_bytes_as(self, indices, out, dtype, casting);
        taken.map_err(|error| self.add_path(error))
    }

    /// Copies rows into a new array.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the elements
    /// cannot be decoded as `T`, and names a type that works. Returns
    /// [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if an index is out of
    /// range, [`InvalidInput`](crate::ErrorKind::InvalidInput) if the output
    /// would exceed the address space, and
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) for too many elements
    /// of zero size. Returns [`Truncated`](crate::ErrorKind::Truncated) or
    /// [`Io`](crate::ErrorKind::Io) if reading fails.
    ///
    /// # Panics
    ///
    /// Panics or aborts when memory is exhausted, as [`Vec`] does.
    fn take_array<T: Element>(&self, indices: &[impl RowIndex]) -> Result<ArrayD<T>>
    where
        Self: Sized,
    {
        gather::take_array(self, indices).map_err(|error| self.add_path(error))
    }

    /// Copies rows into a vector. This reuses its memory if there is enough.
    /// Useful for batches of [`BatchOptions`](crate::BatchOptions).
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the elements
    /// cannot be decoded as `T`, and names a type that works. Returns
    /// [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if an index is out of
    /// range, [`InvalidInput`](crate::ErrorKind::InvalidInput) if the output
    /// would exceed the address space, and
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) for too many elements
    /// of zero size. Returns [`Truncated`](crate::ErrorKind::Truncated) or
    /// [`Io`](crate::ErrorKind::Io) if reading fails.
    fn take_vec<T: Element>(&self, indices: &[impl RowIndex], out: &mut Vec<T>) -> Result<()>
    where
        Self: Sized,
    {
        gather::take_vec(self, indices, out).map_err(|error| self.add_path(error))
    }

    /// Iterates over the rows in batches of `size`, in the order of a sampler.
    /// [`Loader`] has options for this: casts, epochs, threads, and several
    /// arrays with the same rows.
    ///
    /// The order is announced to the source, which reads ahead of it.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if elements are not
    /// a `T`, [`InvalidInput`](crate::ErrorKind::InvalidInput) if the source
    /// has fewer rows than the sampler, or for batches of no rows, and
    /// [`Io`](crate::ErrorKind::Io) if threads cannot be started.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, RowSource as _, Sampler};
    ///
    /// // SAFETY: no other process writes to or truncates this file.
    /// let rows = unsafe { MappedArray::open("data/penguins.npy")? }.rows()?;
    /// for batch in rows.batches::<f64>(Sampler::shuffled(rows.row_count(), 1), 64)? {
    ///     let batch = batch?; // 64 rows of 4 columns, fewer in the last batch
    ///     assert_eq!(batch.data().len(), 4 * batch.indices().len());
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn batches<T: Element + Send + 'static>(
        &self,
        sampler: Sampler,
        size: usize,
    ) -> Result<Batches<Vec<T>>>
    where
        Self: Clone + Send + Sync + Sized + 'static,
    {
        Loader::new::<T>(self).batches(sampler, size)
    }

    /// Returns the sliding windows of `len` rows as rows (see [`Windows`]).
    /// They borrow the source. To move it into them, use [`Windows::new`].
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if there are fewer
    /// than `len` rows, and [`InvalidInput`](crate::ErrorKind::InvalidInput) for
    /// more than 64 axes, or more elements or bytes than `isize::MAX`.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{ArrayFile, RowSource as _};
    ///
    /// let penguins = ArrayFile::open("data/penguins.npy")?;
    /// let mut batch = [0.0_f32; 2 * 3 * 4];
    /// penguins.windows(3)?.take_as(&[339, 0], &mut batch)?;
    /// assert_eq!([batch[11], batch[15]], [3775.0, 3750.0]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    fn windows(&self, len: usize) -> Result<Windows<&Self>>
    where
        Self: Sized,
    {
        Windows::new(self, len)
    }

    /// Selects one field of each element, such as `"x"` or `"pos.z"` (see
    /// [`FieldRows`]). The result borrows the source. To move it, use
    /// [`FieldRows::new`].
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if the field does not
    /// exist, and lists the fields that do, and
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) for more than 64 axes,
    /// or more elements of zero size than can be counted.
    fn field(&self, path: &str) -> Result<FieldRows<&Self>>
    where
        Self: Sized,
    {
        FieldRows::new(self, path)
    }
}

/// Implements [`RowSource`] for a pointer to a source.
macro_rules! pointer {
    ($($pointer:ty)*) => {$(
        impl<S: RowSource + ?Sized> RowSource for $pointer {
            fn dtype(&self) -> &DType {
                (**self).dtype()
            }

            fn shape(&self) -> &[usize] {
                (**self).shape()
            }

            fn read_ranges(&self, ranges: &[Range<usize>], out: &mut [u8]) -> Result<()> {
                (**self).read_ranges(ranges, out)
            }

            fn visit(&self, starts: &[usize], len: usize, decode: &mut dyn DecodeRows) -> Result<()> {
                (**self).visit(starts, len, decode)
            }

            #[inline]
            fn request(&self, rows: &[usize]) -> Result<()> {
                (**self).request(rows)
            }

            fn add_path(&self, error: Error) -> Error {
                (**self).add_path(error)
            }

            fn rows_ahead(&self) -> RowsAhead {
                (**self).rows_ahead()
            }
        }
    )*};
}

pointer! { &S Box<S> Arc<S> }

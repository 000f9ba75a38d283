//! The trait of all sources of rows, and the macro that implements it.

use ndarray::ArrayD;

use crate::dtype::DType;
use crate::element::Element;
use crate::element::cast::Number;
use crate::error::Result;
use crate::layout::row_index::RowIndex;

/// A source of rows of equal length: [`Rows`](crate::Rows) and their windows,
/// [`ArrayFile`](crate::ArrayFile), [`Stacked`](crate::loader::Stacked).
///
/// These types also have inherent methods of the same names; the trait is for
/// code that is generic over them. A row is the part of an array at one index of
/// the first axis. Methods take the indices, then the output, which is in C
/// order. All indices are checked before anything is written. Negative indices
/// are errors; [`TakeMode::resolve`](crate::layout::TakeMode::resolve) wraps or
/// clips them.
///
/// # Examples
///
/// ```
/// use npymap::{ArrayFile, MappedArray, Result, loader::RowSource};
///
/// fn mean(rows: &impl RowSource, indices: &[usize]) -> Result<f64> {
///     let mut batch = vec![0.0_f64; indices.len() * rows.row_len()];
///     rows.take_as(indices, &mut batch)?;
///     Ok(batch.iter().sum::<f64>() / indices.len() as f64)
/// }
///
/// let read = ArrayFile::open("data/penguins.npy")?;
/// // SAFETY: nobody changes or truncates the file meanwhile.
/// let rows = unsafe { MappedArray::open("data/penguins.npy")? }.rows()?;
/// assert_eq!(mean(&read, &[0, 341])?, mean(&rows, &[0, 341])?);
/// # Ok::<(), npymap::Error>(())
/// ```
pub trait RowSource {
    /// The dtype of the elements.
    fn dtype(&self) -> &DType;

    /// The length of each axis; the first is the number of rows.
    fn shape(&self) -> &[usize];

    /// Copies rows into `out`, decoded. Its length must be
    /// `indices.len() * row_len()`.
    ///
    /// # Errors
    ///
    /// [`WrongDType`](crate::ErrorKind::WrongDType) when elements cannot be
    /// decoded as `T`, with the name of a type that works;
    /// [`OutOfBounds`](crate::ErrorKind::OutOfBounds);
    /// [`WrongShape`](crate::ErrorKind::WrongShape) when `out` has the wrong
    /// length; [`LimitExceeded`](crate::ErrorKind::LimitExceeded); those of the
    /// source.
    fn take<T: Element>(&self, indices: &[impl RowIndex], out: &mut [T]) -> Result<()>;

    /// As [`take`](RowSource::take), but casts each element to another numeric
    /// type as `Casting::SameKind` allows.
    ///
    /// # Errors
    ///
    /// As [`take`](RowSource::take);
    /// [`WrongDType`](crate::ErrorKind::WrongDType) when the cast would lose more
    /// than precision.
    fn take_as<U: Number>(&self, indices: &[impl RowIndex], out: &mut [U]) -> Result<()>;

    /// As [`take`](RowSource::take), but converts each element with `convert`.
    ///
    /// # Errors
    ///
    /// As [`take`](RowSource::take).
    fn take_with<T: Element + Copy, U>(
        &self,
        indices: &[impl RowIndex],
        out: &mut [U],
        convert: impl Fn(T) -> U,
    ) -> Result<()>;

    /// Copies the bytes of rows as stored, with the elements in C order.
    ///
    /// # Errors
    ///
    /// As [`take`](RowSource::take).
    fn take_bytes(&self, indices: &[impl RowIndex], out: &mut [u8]) -> Result<()>;

    /// Copies rows into a new array.
    ///
    /// # Errors
    ///
    /// As [`take`](RowSource::take);
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when the array would be
    /// larger than the address space.
    ///
    /// # Panics
    ///
    /// Panics or aborts when memory is exhausted, as [`Vec`] does.
    fn take_array<T: Element>(&self, indices: &[impl RowIndex]) -> Result<ArrayD<T>>;

    /// Copies rows into a vector. The vector keeps its memory if its length is
    /// right already, otherwise it is replaced. Useful for batches of
    /// [`BatchOptions`](crate::BatchOptions).
    ///
    /// # Errors
    ///
    /// As [`take_array`](RowSource::take_array).
    fn take_vec<T: Element>(&self, indices: &[impl RowIndex], out: &mut Vec<T>) -> Result<()> {
        if out.len() == indices.len().saturating_mul(self.row_len()) {
            return self.take(indices, out);
        }
        *out = self.take_array(indices)?.into_raw_vec_and_offset().0;
        Ok(())
    }

    /// The number of rows.
    fn row_count(&self) -> usize {
        self.shape().first().copied().unwrap_or(0)
    }

    /// The number of elements of a row.
    fn row_len(&self) -> usize {
        self.shape().iter().skip(1).product()
    }
}

/// Implements [`RowSource`] for a type that implements [`Gather`], and inherent
/// methods of the same names.
macro_rules! row_source {
    ($source:ty, $example:literal) => {
        impl $source {
            /// The number of elements of a row.
            #[must_use]
            pub fn row_len(&self) -> usize {
                RowSource::row_len(self)
            }

            /// Copies rows into `out`, decoded, in the order of `indices`. Its
            /// length must be `indices.len() * row_len()`.
            ///
            /// # Errors
            ///
            /// [`WrongDType`](crate::ErrorKind::WrongDType) when elements
            /// cannot be decoded as `T`, with the name of a type that works;
            /// [`OutOfBounds`](crate::ErrorKind::OutOfBounds);
            /// [`WrongShape`](crate::ErrorKind::WrongShape) when `out` has the
            /// wrong length;
            /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded);
            /// [`Io`](crate::ErrorKind::Io) and
            /// [`Truncated`](crate::ErrorKind::Truncated) when rows are read
            /// from a file, in which case some of `out` may have been written.
            ///
            /// # Examples
            ///
            #[doc = $example]
            pub fn take<T: Element>(&self, indices: &[impl RowIndex], out: &mut [T]) -> Result<()> {
                self.name_file(gather::take(self, indices, out))
            }

            /// As `take`, but casts each element to another numeric type as
            /// `Casting::SameKind` allows: `u16` to `i64`, `f16` to `f32`, `f64`
            /// to `f32`.
            ///
            /// # Errors
            ///
            /// As `take`; [`WrongDType`](crate::ErrorKind::WrongDType) when
            /// the cast would lose more than precision.
            pub fn take_as<U: Number>(
                &self,
                indices: &[impl RowIndex],
                out: &mut [U],
            ) -> Result<()> {
                self.name_file(gather::take_as(self, indices, out))
            }

            /// As `take`, but converts each element with `convert`: for example,
            /// `u8` images to scaled `f32`.
            ///
            /// # Errors
            ///
            /// As `take`.
            pub fn take_with<T: Element + Copy, U>(
                &self,
                indices: &[impl RowIndex],
                out: &mut [U],
                convert: impl Fn(T) -> U,
            ) -> Result<()> {
                self.name_file(gather::take_with(self, indices, out, convert))
            }

            /// Copies the bytes of rows as stored, with the elements in C order.
            ///
            /// # Errors
            ///
            /// As `take`.
            pub fn take_bytes(&self, indices: &[impl RowIndex], out: &mut [u8]) -> Result<()> {
                self.name_file(gather::take_bytes(self, indices, out))
            }

            /// Copies rows into a new array.
            ///
            /// # Errors
            ///
            /// As `take`; [`InvalidInput`](crate::ErrorKind::InvalidInput) when
            /// the array would be larger than the address space.
            ///
            /// # Panics
            ///
            /// Panics or aborts when memory is exhausted, as [`Vec`] does.
            pub fn take_array<T: Element>(
                &self,
                indices: &[impl RowIndex],
            ) -> Result<ndarray::ArrayD<T>> {
                self.name_file(gather::take_array(self, indices))
            }

            /// Copies rows into a vector. The vector keeps its memory if its
            /// length is right already, otherwise it is replaced. Useful for
            /// batches of [`BatchOptions`](crate::BatchOptions).
            ///
            /// # Errors
            ///
            /// As `take_array`.
            ///
            /// # Panics
            ///
            /// As `take_array`.
            pub fn take_vec<T: Element>(
                &self,
                indices: &[impl RowIndex],
                out: &mut Vec<T>,
            ) -> Result<()> {
                RowSource::take_vec(self, indices, out)
            }
        }

        impl RowSource for $source {
            fn dtype(&self) -> &DType {
                self.dtype()
            }

            fn shape(&self) -> &[usize] {
                self.shape()
            }

            fn take<T: Element>(&self, indices: &[impl RowIndex], out: &mut [T]) -> Result<()> {
                self.take(indices, out)
            }

            fn take_as<U: Number>(&self, indices: &[impl RowIndex], out: &mut [U]) -> Result<()> {
                self.take_as(indices, out)
            }

            fn take_with<T: Element + Copy, U>(
                &self,
                indices: &[impl RowIndex],
                out: &mut [U],
                convert: impl Fn(T) -> U,
            ) -> Result<()> {
                self.take_with(indices, out, convert)
            }

            fn take_bytes(&self, indices: &[impl RowIndex], out: &mut [u8]) -> Result<()> {
                self.take_bytes(indices, out)
            }

            fn take_array<T: Element>(
                &self,
                indices: &[impl RowIndex],
            ) -> Result<ndarray::ArrayD<T>> {
                self.take_array(indices)
            }
        }
    };
}

pub(super) use row_source;

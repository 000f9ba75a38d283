//! The macro for the inherent methods of sources of rows.

/// Implements the methods of [`RowSource`] as inherent methods.
macro_rules! row_methods {
    (impl<$($parameter:ident: $bound:ident)?> $source:ty, $example:literal) => {
        impl<$($parameter: $bound)?> $source {
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
                RowSource::take(self, indices, out)
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
                RowSource::take_as(self, indices, out)
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
                RowSource::take_with(self, indices, out, convert)
            }

            /// Converts each row as a whole: calls `convert` with the elements of
            /// the row, in C order, and its part of `out`, `out_len` items long. The
            /// length of `out` must be `indices.len() * out_len`. The order of the
            /// calls is unspecified.
            ///
            /// Use it for conversions that depend on the position in the row, or
            /// that change its length or its order: normalisation by channel,
            /// transposition, cropping. `take_with` is faster for those that are
            /// the same for each element.
            ///
            /// # Errors
            ///
            /// As `take`.
            ///
            /// # Examples
            ///
            /// Images of `height × width × 3` bytes to `3 × height × width` floats,
            /// each channel with its own mean:
            ///
            /// ```
            /// use npymap::{DType, MappedArray};
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
            /// let images = MappedArray::anonymous(&DType::of::<u8>(), &[10, 4, 4, 3])?;
            /// let rows = images.into_read_only()?.rows()?;
            /// let mut batch = vec![0.0; 2 * 48];
            /// rows.take_rows_with(&[7, 0], &mut batch, 48, normalize)?;
            /// assert_eq!([batch[0], batch[16], batch[95]], [-0.485, -0.456, -0.406]);
            /// # Ok::<(), npymap::Error>(())
            /// ```
            pub fn take_rows_with<T: Element, U>(
                &self,
                indices: &[impl RowIndex],
                out: &mut [U],
                out_len: usize,
                convert: impl Fn(&[T], &mut [U]),
            ) -> Result<()> {
                RowSource::take_rows_with(self, indices, out, out_len, convert)
            }

            /// Copies the bytes of rows as stored, with the elements in C order.
            ///
            /// # Errors
            ///
            /// As `take`.
            pub fn take_bytes(&self, indices: &[impl RowIndex], out: &mut [u8]) -> Result<()> {
                RowSource::take_bytes(self, indices, out)
            }

            /// Copies rows into `out` as elements of another dtype, in C order, cast
            /// as `casting` allows: `take_as` for a dtype that is known only at run
            /// time, and for any cast. The length of `out` must be
            /// `indices.len() * row_len() * dtype.itemsize()`.
            ///
            /// Casts of real numbers to `f32`, `f64` and `i64` in this machine's byte
            /// order, into aligned memory, are as fast as `take_as`; others take
            /// several times as long.
            ///
            /// # Errors
            ///
            /// As `take`; [`WrongDType`](crate::ErrorKind::WrongDType) when the cast
            /// is not allowed or not implemented, before anything is written;
            /// [`InvalidValue`](crate::ErrorKind::InvalidValue) for a value that
            /// cannot be cast: text that is not a number, dates out of range, and
            /// with `Casting::SameValue` values that would change.
            ///
            /// # Examples
            ///
            /// ```
            /// use npymap::{MappedArray, element::Casting};
            ///
            /// let rows = MappedArray::read("data/penguins.npy")?.into_read_only()?.rows()?;
            /// let mut batch = [0; 2 * 4 * 2];
            /// rows.take_bytes_as(&[341, 0], &mut batch, &">i2".parse()?, Casting::Unsafe)?;
            /// assert_eq!(batch[6..8], 3775_i16.to_be_bytes());
            /// # Ok::<(), npymap::Error>(())
            /// ```
            pub fn take_bytes_as(
                &self,
                indices: &[impl RowIndex],
                out: &mut [u8],
                dtype: &DType,
                casting: Casting,
            ) -> Result<()> {
                RowSource::take_bytes_as(self, indices, out, dtype, casting)
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
                RowSource::take_array(self, indices)
            }

            /// Copies rows into a vector, whose memory is used again if there is enough
            /// of it. Useful for batches of [`BatchOptions`](crate::BatchOptions).
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
    };
    ($source:ty, $example:literal) => {
        row_methods!(impl<> $source, $example);
    };
}

pub(super) use row_methods;

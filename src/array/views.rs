//! The elements of an array as views, slices and ndarray views.

use ndarray::{ArrayView, ArrayViewMut, Dimension};

use super::{MappedArray, Place};
use crate::element::fast_path::FastPath as _;
use crate::element::{Element, InPlace, short_name, suggested_type};
use crate::error::invariant::Invariant as _;
use crate::error::{DTypeError, ExtentError, Result};
use crate::layout::Layout;
use crate::source::{Mapping, Writable};
use crate::view::{DynView, DynViewMut, View, ViewMut, borrow_slice};

impl<D: AsRef<[u8]>> MappedArray<D> {
    /// Views all elements, decoded to `T` as they are read.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the elements
    /// cannot be viewed as `T`, and names a type that works. Returns [`Io`](crate::ErrorKind::Io) or
    /// [`Truncated`](crate::ErrorKind::Truncated) if an array of
    /// [`Source::on_demand`](crate::Source::on_demand) can't be brought into memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let array = npymap::MappedArray::load("data/penguins.npy")?;
    /// let table = array.view::<f64>()?;
    /// assert_eq!(table.iter().fold(0.0, f64::max), 6300.0);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn view<T: Element>(&self) -> Result<View<'_, T>> {
        let view = self.bytes().and_then(|bytes| View::from_bytes(bytes, &self.place.layout));
        self.origin.add_path_on_err(view)
    }

    /// The bytes of `D`, or an error if they can't be brought into memory when needed.
    fn bytes(&self) -> Result<&[u8]> {
        if let Some(on_demand) = &self.origin.on_demand {
            on_demand.load()?;
        }
        Ok(self.data.as_ref())
    }

    /// Returns the bytes of all elements, in memory order.
    ///
    /// A pointer to them, for foreign functions, is valid until the array is dropped or
    /// closed. Moving the array does not move a map. Everything that the promise of
    /// [`Source`](crate::Source#safety) says about borrowed bytes also holds for reads
    /// through the pointer.
    ///
    /// # Errors
    ///
    /// Returns [`Truncated`](crate::ErrorKind::Truncated) if `D` returns fewer
    /// bytes than before. Returns [`Io`](crate::ErrorKind::Io) or
    /// [`Truncated`](crate::ErrorKind::Truncated) if an array of
    /// [`Source::on_demand`](crate::Source::on_demand) can't be brought into memory.
    pub fn as_bytes(&self) -> Result<&[u8]> {
        let (bytes, layout) = (self.origin.add_path_on_err(self.bytes())?, &self.place.layout);
        bytes.get(layout.offset()..layout.end()).ok_or_else(|| {
            ExtentError::ShortBuffer { needed: layout.end(), found: bytes.len() }.into()
        })
    }

    /// Views all elements, of any dtype.
    ///
    /// # Errors
    ///
    /// Returns [`Truncated`](crate::ErrorKind::Truncated) if `D` returns fewer
    /// bytes than before. Returns [`Io`](crate::ErrorKind::Io) or
    /// [`Truncated`](crate::ErrorKind::Truncated) if an array of
    /// [`Source::on_demand`](crate::Source::on_demand) can't be brought into memory.
    pub fn dyn_view(&self) -> Result<DynView<'_>> {
        self.view()
    }

    /// Returns all elements as a slice in C order, without copying.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the elements
    /// have a different form than `T`, or are not aligned for it, and names a
    /// type that works. Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if
    /// they are in Fortran order. Returns [`Io`](crate::ErrorKind::Io) or
    /// [`Truncated`](crate::ErrorKind::Truncated) if an array of
    /// [`Source::on_demand`](crate::Source::on_demand) can't be brought into memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{Be, MappedArray};
    ///
    /// let header = npymap::Header::new(">i4".parse()?, &[2], npymap::Order::C)?;
    /// let mut file = header.encode(None)?.bytes;
    /// file.extend([0, 0, 0, 1, 0, 0, 1, 0]);
    ///
    /// let array = MappedArray::from_bytes(&file)?;
    /// assert_eq!(array.as_slice::<Be<i32>>()?[1].get(), 256);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn as_slice<T: InPlace>(&self) -> Result<&[T]> {
        let elements = in_place_codec::<T>(&self.place.layout)
            .and_then(|codec| borrow_slice(self.bytes()?, &self.place.layout, &codec));
        self.origin.add_path_on_err(elements)
    }

    /// Returns all elements as an ndarray view with `N` axes, without copying, in
    /// their memory order.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if the array does
    /// not have the axes of `N`, and
    /// [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the elements have a
    /// different form than `T` or are not aligned for it, and names a type that
    /// works. Returns [`Io`](crate::ErrorKind::Io) or
    /// [`Truncated`](crate::ErrorKind::Truncated) if an array of
    /// [`Source::on_demand`](crate::Source::on_demand) can't be brought into memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, ndarray::Ix2};
    ///
    /// let file = std::fs::read("data/penguins.npy")?;
    /// let penguins = MappedArray::from_bytes(&file)?;
    /// // A `Vec<u8>` may have any address, so use a type without alignment.
    /// let table = penguins.as_ndarray::<npymap::Le<f64>, Ix2>()?;
    /// assert_eq!(table[[0, 3]].get(), 3750.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn as_ndarray<T: InPlace, N: Dimension>(&self) -> Result<ArrayView<'_, T, N>> {
        self.origin.add_path_on_err(
            in_place_codec::<T>(&self.place.layout).and_then(|_| self.view::<T>()?.as_ndarray()),
        )
    }
}

/// The bytes of all elements, in memory order, so that an array can be the owner of
/// a buffer: `bytes::Bytes::from_owner(array)` is a response body without a copy.
///
/// # Panics
///
/// Panics if an array of [`Source::on_demand`](crate::Source::on_demand) can't be brought
/// into memory. [`as_bytes`](MappedArray::as_bytes) returns that error.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use npymap::{DType, MappedArray};
///
/// let array = MappedArray::zeros(&DType::of::<u16>(), &[3, 4])?.into_read_only()?;
/// let rows: Arc<dyn AsRef<[u8]> + Send + Sync> = Arc::new(array.row_range(1..3)?);
/// assert_eq!((*rows).as_ref().len(), 2 * 4 * 2);
/// # Ok::<(), npymap::Error>(())
/// ```
impl<D: Mapping> AsRef<[u8]> for MappedArray<D> {
    fn as_ref(&self) -> &[u8] {
        let layout = &self.place.layout;
        let bytes = self.data.as_ref().get(layout.offset()..layout.end());
        bytes.invariant("a map keeps its length")
    }
}

impl<D> MappedArray<D> {
    /// Views all elements mutably.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the elements
    /// cannot be viewed as `T`, and names a type that works.
    pub fn view_mut<T: Element>(&mut self) -> Result<ViewMut<'_, T>>
    where
        D: Writable,
    {
        self.origin.add_path_on_err(ViewMut::from_bytes(self.data.as_mut(), &self.place.layout))
    }

    /// Returns the bytes of all elements, in memory order, for writing.
    ///
    /// Calls that borrow the elements, such as [`view`](MappedArray::view), must not
    /// overlap in time with stores through a pointer to them. Calls that do not return
    /// elements, such as [`flush`](MappedArray::flush) and
    /// [`advise`](MappedArray::advise), may.
    ///
    /// # Errors
    ///
    /// Returns [`Truncated`](crate::ErrorKind::Truncated) if `D` returns fewer
    /// bytes than before.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::MappedArray;
    ///
    /// let mut text = MappedArray::zeros(&"|S3".parse()?, &[2])?;
    /// text.as_bytes_mut()?[3..].copy_from_slice(b"abc");
    /// assert_eq!(text.dyn_view()?.at(1).to_string(), "b'abc'");
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn as_bytes_mut(&mut self) -> Result<&mut [u8]>
    where
        D: Writable,
    {
        let (bytes, layout) = (self.data.as_mut(), &self.place.layout);
        let (needed, found) = (layout.end(), bytes.len());
        let elements = bytes.get_mut(layout.offset()..needed);
        elements.ok_or_else(|| ExtentError::ShortBuffer { needed, found }.into())
    }

    /// Views all elements, of any dtype, mutably.
    ///
    /// # Errors
    ///
    /// Returns [`Truncated`](crate::ErrorKind::Truncated) if `D` returns fewer
    /// bytes than before.
    pub fn dyn_view_mut(&mut self) -> Result<DynViewMut<'_>>
    where
        D: Writable,
    {
        self.view_mut()
    }

    /// Returns all elements as a mutable slice in C order, without copying.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the elements
    /// have a different form than `T` or are not aligned for it, and names a
    /// type that works, and [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if
    /// they are in Fortran order.
    pub fn as_slice_mut<T: InPlace>(&mut self) -> Result<&mut [T]>
    where
        D: Writable,
    {
        let MappedArray { place: Place { layout, .. }, data, origin } = self;
        origin.add_path_on_err(
            in_place_codec::<T>(layout)
                .and_then(|_| ViewMut::from_bytes(data.as_mut(), layout)?.into_slice()),
        )
    }

    /// Returns all elements as a mutable ndarray view with `N` axes, without
    /// copying.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if the array does
    /// not have the axes of `N`, and
    /// [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the elements have a
    /// different form than `T` or are not aligned for it, and names a type that
    /// works.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{DType, MappedArray, ndarray::Ix2};
    ///
    /// let mut array = MappedArray::zeros(&DType::of::<f32>(), &[3, 4])?;
    /// array.as_ndarray_mut::<f32, Ix2>()?.row_mut(1).fill(1.0);
    /// assert_eq!(array.as_slice::<f32>()?.iter().sum::<f32>(), 4.0);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn as_ndarray_mut<T: InPlace, N: Dimension>(&mut self) -> Result<ArrayViewMut<'_, T, N>>
    where
        D: Writable,
    {
        let MappedArray { place: Place { layout, .. }, data, origin } = self;
        origin.add_path_on_err(
            in_place_codec::<T>(layout)
                .and_then(|_| ViewMut::from_bytes(data.as_mut(), layout)?.into_ndarray()),
        )
    }
}

/// Checks that elements are stored in the form of `T`, at any alignment.
fn in_place_codec<T: InPlace>(layout: &Layout) -> Result<T::Codec> {
    let dtype = layout.dtype();
    let codec = T::codec(dtype)?;
    if T::is_in_place(&codec) {
        return Ok(codec);
    }
    if let Some(error) = T::fast_path().mismatch(&codec) {
        return Err(error);
    }
    let (stored, asked, works) = (dtype.to_string(), short_name::<T>(), suggested_type(dtype));
    Err(DTypeError::ByteOrder { stored, asked, works }.into())
}

//! Lends the elements where they lie, as views, slices and ndarray arrays.

use ndarray::{ArrayView, ArrayViewMut, Dimension};

use super::{MappedArray, Place};
use crate::element::fast_path::FastPath as _;
use crate::element::{Element, InPlace, short_name, suggested_type};
use crate::error::{DTypeError, ExtentError, Result};
use crate::layout::Layout;
use crate::view::{DynView, DynViewMut, View, ViewMut, borrow_slice};

impl<D: AsRef<[u8]>> MappedArray<D> {
    /// Views all elements, decoded to `T` as they are read.
    ///
    /// # Errors
    ///
    /// [`WrongDType`](crate::ErrorKind::WrongDType) when the elements are no
    /// `T`, naming a type that works.
    ///
    /// # Examples
    ///
    /// ```
    /// let array = npymap::MappedArray::read("data/penguins.npy")?;
    /// let table = array.view::<f64>()?;
    /// assert_eq!(table.fold(0.0, f64::max), 6300.0);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn view<T: Element>(&self) -> Result<View<'_, T>> {
        self.origin.named(View::from_bytes(self.data.as_ref(), &self.place.layout))
    }

    /// The bytes of all elements, as they lie in memory.
    ///
    /// # Errors
    ///
    /// [`Truncated`](crate::ErrorKind::Truncated) when what holds the bytes got
    /// shorter.
    pub fn as_bytes(&self) -> Result<&[u8]> {
        let (bytes, layout) = (self.data.as_ref(), &self.place.layout);
        bytes.get(layout.offset()..layout.end()).ok_or_else(|| {
            ExtentError::ShortBuffer { needed: layout.end(), found: bytes.len() }.into()
        })
    }

    /// Views all elements, whatever they are.
    ///
    /// # Errors
    ///
    /// [`Truncated`](crate::ErrorKind::Truncated) when what holds the bytes got
    /// shorter.
    pub fn dyn_view(&self) -> Result<DynView<'_>> {
        self.view()
    }

    /// Views a field of all elements: `"x"`, or `"pos.z"`.
    ///
    /// # Errors
    ///
    /// As [`View::field`].
    pub fn field(&self, path: &str) -> Result<DynView<'_>> {
        self.origin.named(self.dyn_view()?.field(path))
    }

    /// Lends all elements as a slice in C order.
    ///
    /// # Errors
    ///
    /// [`WrongDType`](crate::ErrorKind::WrongDType) when the elements are no
    /// `T`, [`WrongDType`](crate::ErrorKind::WrongDType) when they lie at an
    /// address `T` can't have (both name a type that works),
    /// [`WrongShape`](crate::ErrorKind::WrongShape) when they are in Fortran
    /// order.
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
        let lent = exact::<T>(&self.place.layout)
            .and_then(|codec| borrow_slice(self.data.as_ref(), &self.place.layout, &codec));
        self.origin.named(lent)
    }

    /// Lends all elements as an ndarray view of `N` axes, in C or Fortran
    /// order as they lie.
    ///
    /// # Errors
    ///
    /// [`WrongShape`](crate::ErrorKind::WrongShape) when the array has another
    /// number of axes, [`WrongDType`](crate::ErrorKind::WrongDType) as
    /// [`as_slice`](MappedArray::as_slice).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, ndarray::Ix2};
    ///
    /// let file = std::fs::read("data/penguins.npy")?;
    /// let penguins = MappedArray::from_bytes(&file)?;
    /// // Where a `Vec` starts is chance, so ask for a type that stands anywhere.
    /// let table = penguins.as_ndarray::<npymap::Le<f64>, Ix2>()?;
    /// assert_eq!(table[[0, 3]].get(), 3750.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn as_ndarray<T: InPlace, N: Dimension>(&self) -> Result<ArrayView<'_, T, N>> {
        self.origin
            .named(exact::<T>(&self.place.layout).and_then(|_| self.view::<T>()?.as_ndarray()))
    }
}

impl<D: AsMut<[u8]>> MappedArray<D> {
    /// Views all elements to be written.
    ///
    /// # Errors
    ///
    /// As [`view`](MappedArray::view).
    pub fn view_mut<T: Element>(&mut self) -> Result<ViewMut<'_, T>> {
        self.origin.named(ViewMut::from_bytes(self.data.as_mut(), &self.place.layout))
    }

    /// Views all elements, whatever they are, to be written.
    ///
    /// # Errors
    ///
    /// As [`dyn_view`](MappedArray::dyn_view).
    pub fn dyn_view_mut(&mut self) -> Result<DynViewMut<'_>> {
        self.view_mut()
    }

    /// Views a field of all elements, to be written.
    ///
    /// # Errors
    ///
    /// As [`View::field`].
    pub fn field_mut(&mut self, path: &str) -> Result<DynViewMut<'_>> {
        let MappedArray { place: Place { layout, .. }, data, origin } = self;
        let view = ViewMut::from_bytes(data.as_mut(), layout);
        origin.named(view.and_then(|view: DynViewMut<'_>| view.into_field(path)))
    }

    /// Lends all elements as a slice in C order, to be written.
    ///
    /// # Errors
    ///
    /// As [`as_slice`](MappedArray::as_slice).
    pub fn as_slice_mut<T: InPlace>(&mut self) -> Result<&mut [T]> {
        let MappedArray { place: Place { layout, .. }, data, origin } = self;
        origin.named(
            exact::<T>(layout)
                .and_then(|_| ViewMut::from_bytes(data.as_mut(), layout)?.into_slice()),
        )
    }

    /// Lends all elements as an ndarray view of `N` axes, to be written.
    ///
    /// # Errors
    ///
    /// As [`as_ndarray`](MappedArray::as_ndarray).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{DType, MappedArray, ndarray::Ix2};
    ///
    /// let mut array = MappedArray::anonymous(&DType::of::<f32>(), &[3, 4])?;
    /// array.as_ndarray_mut::<f32, Ix2>()?.row_mut(1).fill(1.0);
    /// assert_eq!(array.as_slice::<f32>()?.iter().sum::<f32>(), 4.0);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn as_ndarray_mut<T: InPlace, N: Dimension>(&mut self) -> Result<ArrayViewMut<'_, T, N>> {
        let MappedArray { place: Place { layout, .. }, data, origin } = self;
        origin.named(
            exact::<T>(layout)
                .and_then(|_| ViewMut::from_bytes(data.as_mut(), layout)?.into_ndarray()),
        )
    }
}

/// Checks that elements are values of `T` as they lie, but for their address.
fn exact<T: InPlace>(layout: &Layout) -> Result<T::Codec> {
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

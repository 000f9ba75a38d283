//! Views that reinterpret the bytes of other views, without copying.

use super::dynamic::with_subarrays;
use super::{DynView, DynViewMut, View, ViewMut};
use crate::dtype::literal::tuple;
use crate::dtype::{ByteOrder, DType, Kind};
use crate::element::Element;
use crate::element::value::Value;
use crate::error::{DTypeError, Error, Result, ShapeError};
use crate::layout::geometry::Geometry;
use crate::layout::offsets::signed;

impl<'a> View<'a, Value> {
    /// Reinterprets the bytes as elements of `dtype`: NumPy's `a.view(dtype)`.
    ///
    /// If the sizes differ, the last axis gets longer or shorter, so its elements
    /// must be contiguous. The axes of a subarray follow the other axes.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the sizes do not
    /// fit. Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) for more
    /// than 64 axes.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::MappedArray;
    ///
    /// let mut colours = MappedArray::zeros(&"<u4".parse()?, &[2, 3])?;
    /// colours.view_mut::<u32>()?.set([1, 2], 0xff80_4020)?;
    /// let bytes = colours.dyn_view()?.view_as(&"|u1".parse()?)?;
    /// assert_eq!(bytes.shape(), [2, 12]);
    /// let rgba = colours.dyn_view()?.view_as(&"('|u1', (4,))".parse()?)?;
    /// assert_eq!(rgba.view::<u8>()?.at([1, 2, 3]), 0xff);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[inline]
    pub fn view_as(&self, dtype: &DType) -> Result<DynView<'a>> {
        let (geometry, codec) = reinterpreted(&self.geometry, &self.codec, dtype)?;
        Ok(View { bytes: self.bytes, geometry, codec })
    }

    /// Reinterprets some bytes of each element, starting at `offset`, as
    /// `dtype`: NumPy's `a.getfield(dtype, offset)`.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if they extend past
    /// the end of the element.
    ///
    /// # Examples
    ///
    /// ```
    /// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
    /// let highest = penguins.dyn_view()?.getfield(&"|u1".parse()?, 7)?;
    /// assert_eq!(highest.shape(), [342, 4]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[inline]
    pub fn getfield(&self, dtype: &DType, offset: usize) -> Result<DynView<'a>> {
        let (geometry, codec) = subfield(&self.geometry, &self.codec, dtype, offset)?;
        Ok(View { bytes: self.bytes, geometry, codec })
    }

    /// Views the real parts of complex numbers; other elements are viewed
    /// unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, num_complex::Complex};
    ///
    /// let mut waves = MappedArray::zeros(&">c8".parse()?, &[2])?;
    /// waves.view_mut::<Complex<f32>>()?.set(1, Complex::new(1.5, -2.0))?;
    /// assert_eq!(waves.dyn_view()?.real().view::<f32>()?.to_vec(), [0.0, 1.5]);
    /// assert_eq!(waves.dyn_view()?.imag()?.view::<f32>()?.to_vec(), [0.0, -2.0]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn real(&self) -> DynView<'a> {
        let codec = part_dtype(&self.codec).unwrap_or_else(|| self.codec.clone());
        View { bytes: self.bytes, geometry: self.geometry.clone(), codec }
    }

    /// Views the imaginary parts of complex numbers.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) for elements that
    /// are not complex, where NumPy returns zeros.
    #[inline]
    pub fn imag(&self) -> Result<DynView<'a>> {
        let codec = part_dtype(&self.codec).ok_or_else(|| not_complex(&self.codec))?;
        self.getfield(&codec, codec.itemsize())
    }
}

impl<'a> ViewMut<'a, Value> {
    /// Like [`View::view_as`].
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the sizes do not
    /// fit, and [`InvalidInput`](crate::ErrorKind::InvalidInput) for more than
    /// 64 axes.
    #[inline]
    pub fn view_as(self, dtype: &DType) -> Result<DynViewMut<'a>> {
        let (geometry, codec) = reinterpreted(&self.geometry, &self.codec, dtype)?;
        Ok(ViewMut { bytes: self.bytes, geometry, codec })
    }

    /// Like [`View::getfield`].
    #[inline]
    pub(super) fn getfield(self, dtype: &DType, offset: usize) -> Result<DynViewMut<'a>> {
        let (geometry, codec) = subfield(&self.geometry, &self.codec, dtype, offset)?;
        Ok(ViewMut { bytes: self.bytes, geometry, codec })
    }
}

impl<'a, T: Element> View<'a, T> {
    /// Views the last axis, of length `N`, as arrays: elements of shape `(…, N)` as
    /// `[T; N]` of shape `(…)`.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if the last axis
    /// has the wrong length or is not contiguous, as in Fortran order.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{DType, MappedArray};
    ///
    /// let mut points = MappedArray::zeros(&DType::of::<f32>(), &[100, 3])?;
    /// let written: &mut [[f32; 3]] = points.view_mut()?.into_arrays()?.into_slice()?;
    /// written[7] = [1.0, 2.0, 3.0];
    /// let read: &[[f32; 3]] = points.view()?.as_arrays()?.as_slice()?;
    /// assert_eq!(read[7], [1.0, 2.0, 3.0]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn as_arrays<const N: usize>(&self) -> Result<View<'a, [T; N]>> {
        let geometry = array_geometry(&self.geometry, N, self.itemsize())?;
        Ok(View { bytes: self.bytes, geometry, codec: self.codec.clone() })
    }
}

impl<'a, T: Element> ViewMut<'a, T> {
    /// Like [`View::as_arrays`].
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if the last axis
    /// does not have length `N` or is not contiguous, as in Fortran order.
    pub fn into_arrays<const N: usize>(self) -> Result<ViewMut<'a, [T; N]>> {
        let geometry = array_geometry(&self.geometry, N, T::itemsize(&self.codec))?;
        Ok(ViewMut { bytes: self.bytes, geometry, codec: self.codec })
    }
}

/// The geometry of arrays of `len` elements along the last axis.
#[inline]
fn array_geometry(geometry: &Geometry, len: usize, itemsize: usize) -> Result<Geometry> {
    let (Some(&dim), Some(&stride)) = (geometry.shape.last(), geometry.strides.last()) else {
        return Err(not_arrays(geometry, len, "there is no last axis"));
    };
    if dim != len {
        return Err(not_arrays(geometry, len, "its length differs"));
    }
    let is_contiguous = dim <= 1 || usize::try_from(stride) == Ok(itemsize);
    if !is_contiguous && !geometry.is_empty() {
        return Err(not_arrays(geometry, len, "it is not contiguous, copy to C order first"));
    }
    let mut arrays = geometry.first_axes(geometry.ndim() - 1);
    if len == 0 {
        // A view without elements may become one of zero-size arrays.
        arrays.offset = 0;
        arrays.strides.fill(0);
    }
    Ok(arrays)
}

#[inline]
fn not_arrays(geometry: &Geometry, len: usize, reason: &'static str) -> Error {
    ShapeError::LastAxis { shape: tuple(&geometry.shape), len, reason }.into()
}

/// Moves the start of every element by `offset` bytes within the element.
#[inline]
pub(super) fn offset_by(geometry: &Geometry, offset: usize) -> Geometry {
    // Without elements the start may be the end of the bytes, and must not move.
    let offset = if geometry.is_empty() { 0 } else { offset };
    Geometry { offset: geometry.offset + offset, ..geometry.clone() }
}

/// The dtype of the real and imaginary parts of complex numbers.
#[inline]
fn part_dtype(dtype: &DType) -> Option<DType> {
    let (order, size) = (dtype.byte_order(), dtype.itemsize() / 2);
    (dtype.kind() == Kind::Complex).then(|| DType::new_scalar(Kind::Float, order, size))
}

#[inline]
fn not_complex(dtype: &DType) -> Error {
    let to = DType::new_scalar(Kind::Complex, ByteOrder::NATIVE, 16);
    cannot_view(dtype, &to, "only complex numbers have an imaginary part".to_owned())
}

/// The geometry and dtype of some bytes of each element.
#[inline]
fn subfield(
    geometry: &Geometry,
    from: &DType,
    to: &DType,
    offset: usize,
) -> Result<(Geometry, DType)> {
    let end = offset.checked_add(to.itemsize());
    if end.is_none_or(|end| end > from.itemsize()) {
        let (size, room) = (to.itemsize(), from.itemsize());
        let reason =
            format!("{size} bytes starting at byte {offset} exceed the {room} bytes of an element");
        return Err(cannot_view(from, to, reason));
    }
    with_subarrays(offset_by(geometry, offset), to.clone())
}

/// NumPy's `array_descr_set`.
#[inline]
fn reinterpreted(geometry: &Geometry, from: &DType, to: &DType) -> Result<(Geometry, DType)> {
    let (old, new) = (from.itemsize(), to.itemsize());
    if old == new {
        return with_subarrays(geometry.clone(), to.clone());
    }
    if new == 0 || to.subarray().is_some() {
        return Err(wrong_size(from, to, "the new dtype must have a size and no axes"));
    }
    let (Some(&dim), Some(&stride)) = (geometry.shape.last(), geometry.strides.last()) else {
        return Err(wrong_size(from, to, "there is no last axis to resize"));
    };
    if dim != 1 && !geometry.is_empty() && usize::try_from(stride) != Ok(old) {
        return Err(wrong_size(from, to, "the last axis is not contiguous"));
    }
    if new < old && old % new != 0 {
        return Err(wrong_size(from, to, "the new itemsize does not divide the old one"));
    }
    let bytes = dim.checked_mul(old).filter(|bytes| bytes % new == 0);
    let Some(bytes) = bytes else {
        return Err(wrong_size(
            from,
            to,
            "the new itemsize does not divide the bytes of the last axis",
        ));
    };
    let mut geometry = geometry.clone();
    let step = signed(new);
    if let (Some(dim), Some(stride)) = (geometry.shape.last_mut(), geometry.strides.last_mut()) {
        (*dim, *stride) = (bytes / new, step);
    }
    Ok((geometry.check_countable(new)?, to.clone()))
}

#[inline]
fn wrong_size(from: &DType, to: &DType, reason: &str) -> Error {
    let (old, new) = (from.itemsize(), to.itemsize());
    cannot_view(from, to, format!("the itemsize changes from {old} to {new}, and {reason}"))
}

#[inline]
fn cannot_view(from: &DType, to: &DType, reason: String) -> Error {
    DTypeError::Reinterpret { from: from.to_string(), to: to.to_string(), reason }.into()
}

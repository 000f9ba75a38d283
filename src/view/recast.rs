//! Views that take the same bytes for something else. Nothing is copied.

use num_complex::Complex;

use super::dynamic::with_subarrays;
use super::{DynView, DynViewMut, View, ViewMut};
use crate::dtype::{ByteOrder, DType, Kind};
use crate::element::value::Value;
use crate::element::{Element, Scalar};
use crate::error::invariant::{IN_ELEMENT, Invariant};
use crate::error::{DTypeError, Error, Result};
use crate::layout::geometry::{Geometry, signed};

impl<'a> View<'a, Value> {
    /// Takes the bytes for elements of another dtype: NumPy's `a.view(dtype)`.
    ///
    /// Where the sizes differ the last axis gets longer or shorter, so its
    /// elements must lie together. A subarray's axes come behind the others.
    ///
    /// # Errors
    ///
    /// [`WrongDType`](crate::ErrorKind::WrongDType) when the sizes don't fit.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::MappedArray;
    ///
    /// let mut colours = MappedArray::anonymous(&"<u4".parse()?, &[2, 3])?;
    /// colours.view_mut::<u32>()?.set([1, 2], 0xff80_4020)?;
    /// let bytes = colours.dyn_view()?.view_as(&"|u1".parse()?)?;
    /// assert_eq!(bytes.shape(), [2, 12]);
    /// let rgba = colours.dyn_view()?.view_as(&"('|u1', (4,))".parse()?)?;
    /// assert_eq!(rgba.view::<u8>()?.at([1, 2, 3]), 0xff);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn view_as(&self, dtype: &DType) -> Result<DynView<'a>> {
        let (geometry, codec) = reinterpreted(&self.geometry, &self.codec, dtype)?;
        Ok(View { bytes: self.bytes, geometry, codec })
    }

    /// Takes some of the bytes of each element for a dtype, from `offset` on:
    /// NumPy's `a.getfield(dtype, offset)`.
    ///
    /// # Errors
    ///
    /// [`WrongDType`](crate::ErrorKind::WrongDType) when they reach behind the
    /// element.
    ///
    /// # Examples
    ///
    /// ```
    /// let penguins = npymap::MappedArray::read("data/penguins.npy")?;
    /// let highest = penguins.dyn_view()?.getfield(&"|u1".parse()?, 7)?;
    /// assert_eq!(highest.shape(), [342, 4]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn getfield(&self, dtype: &DType, offset: usize) -> Result<DynView<'a>> {
        let (geometry, codec) = part(&self.geometry, &self.codec, dtype, offset)?;
        Ok(View { bytes: self.bytes, geometry, codec })
    }

    /// Takes the numbers for ones in another byte order: NumPy's
    /// `a.view(a.dtype.newbyteorder(order))`. The bytes stay as they are, so
    /// the values become others; see
    /// [`byteswap_inplace`](ViewMut::byteswap_inplace).
    #[must_use]
    pub fn newbyteorder(&self, order: ByteOrder) -> DynView<'a> {
        let codec = self.codec.with_byte_order(order);
        View { bytes: self.bytes, geometry: self.geometry.clone(), codec }
    }

    /// The real parts of complex numbers; other elements are real already.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, num_complex::Complex};
    ///
    /// let mut waves = MappedArray::anonymous(&">c8".parse()?, &[2])?;
    /// waves.view_mut::<Complex<f32>>()?.set(1, Complex::new(1.5, -2.0))?;
    /// waves.dyn_view_mut()?.imag()?.into_view::<f32>()?.set(0, 3.0)?;
    /// assert_eq!(waves.dyn_view()?.real().view::<f32>()?.to_vec(), [0.0, 1.5]);
    /// assert_eq!(waves.view::<Complex<f32>>()?.imag().to_vec(), [3.0, -2.0]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[must_use]
    pub fn real(&self) -> DynView<'a> {
        let codec = half(&self.codec).unwrap_or_else(|| self.codec.clone());
        View { bytes: self.bytes, geometry: self.geometry.clone(), codec }
    }

    /// The imaginary parts of complex numbers.
    ///
    /// # Errors
    ///
    /// [`WrongDType`](crate::ErrorKind::WrongDType) for elements that are not
    /// complex; NumPy makes up zeros there.
    pub fn imag(&self) -> Result<DynView<'a>> {
        let codec = half(&self.codec).ok_or_else(|| not_complex(&self.codec))?;
        self.getfield(&codec, codec.itemsize())
    }
}

impl<'a> ViewMut<'a, Value> {
    /// As [`View::view_as`].
    ///
    /// # Errors
    ///
    /// As [`View::view_as`].
    pub fn view_as(self, dtype: &DType) -> Result<DynViewMut<'a>> {
        let (geometry, codec) = reinterpreted(&self.geometry, &self.codec, dtype)?;
        Ok(ViewMut { bytes: self.bytes, geometry, codec })
    }

    /// As [`View::getfield`].
    ///
    /// # Errors
    ///
    /// As [`View::getfield`].
    pub fn getfield(self, dtype: &DType, offset: usize) -> Result<DynViewMut<'a>> {
        let (geometry, codec) = part(&self.geometry, &self.codec, dtype, offset)?;
        Ok(ViewMut { bytes: self.bytes, geometry, codec })
    }

    /// As [`View::newbyteorder`].
    #[must_use]
    pub fn newbyteorder(self, order: ByteOrder) -> DynViewMut<'a> {
        let codec = self.codec.with_byte_order(order);
        ViewMut { codec, ..self }
    }

    /// As [`View::real`].
    #[must_use]
    pub fn real(self) -> DynViewMut<'a> {
        let codec = half(&self.codec).unwrap_or_else(|| self.codec.clone());
        ViewMut { codec, ..self }
    }

    /// As [`View::imag`].
    ///
    /// # Errors
    ///
    /// As [`View::imag`].
    pub fn imag(self) -> Result<DynViewMut<'a>> {
        let codec = half(&self.codec).ok_or_else(|| not_complex(&self.codec))?;
        let offset = codec.itemsize();
        self.getfield(&codec, offset)
    }

    /// Turns round the bytes of every number: NumPy's
    /// `a.byteswap(inplace=True)`. The dtype stays, so the values become
    /// others; [`newbyteorder`](ViewMut::newbyteorder) then gives them back.
    /// Fields are turned round each by itself, text by code point, and bytes
    /// that are no number stay.
    ///
    /// # Errors
    ///
    /// None; those of other edits.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{ByteOrder, MappedArray};
    ///
    /// let mut counts = MappedArray::anonymous(&">i4".parse()?, &[3])?;
    /// counts.view_mut::<i32>()?.fill(&7)?;
    /// let mut view = counts.dyn_view_mut()?;
    /// view.byteswap_inplace()?;
    /// let little = view.newbyteorder(ByteOrder::Little);
    /// assert_eq!(little.as_view().view::<i32>()?.to_vec(), [7, 7, 7]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn byteswap_inplace(&mut self) -> Result<()> {
        self.each(|dtype, bytes| {
            byteswap(dtype, bytes);
            Ok(())
        })
    }
}

impl<'a, T: Scalar> View<'a, Complex<T>>
where
    Complex<T>: Scalar,
{
    /// The real parts, where they lie.
    #[must_use]
    pub fn real(&self) -> View<'a, T> {
        View { bytes: self.bytes, geometry: self.geometry.clone(), codec: self.codec }
    }

    /// The imaginary parts, where they lie.
    #[must_use]
    pub fn imag(&self) -> View<'a, T> {
        View { geometry: behind(&self.geometry, size_of::<T>()), ..self.real() }
    }
}

impl<'a, T: Scalar> ViewMut<'a, Complex<T>>
where
    Complex<T>: Scalar,
{
    /// The real parts, where they lie.
    #[must_use]
    pub fn real(self) -> ViewMut<'a, T> {
        ViewMut { bytes: self.bytes, geometry: self.geometry, codec: self.codec }
    }

    /// The imaginary parts, where they lie.
    #[must_use]
    pub fn imag(self) -> ViewMut<'a, T> {
        let geometry = behind(&self.geometry, size_of::<T>());
        ViewMut { bytes: self.bytes, geometry, codec: self.codec }
    }
}

impl<'a, T: Element> View<'a, T> {
    /// Without the axes of length 1: NumPy's `squeeze`.
    #[must_use]
    pub fn squeeze(&self) -> View<'a, T> {
        self.with(self.geometry.squeezed())
    }
}

impl<T: Element> ViewMut<'_, T> {
    /// As [`View::squeeze`].
    #[must_use]
    pub fn squeeze(self) -> Self {
        let geometry = self.geometry.squeezed();
        ViewMut { geometry, ..self }
    }
}

/// The same elements from a byte inside them on.
pub(super) fn behind(geometry: &Geometry, offset: usize) -> Geometry {
    // No elements may start at the end of the bytes, and stay there.
    let offset = if geometry.len() == 0 { 0 } else { offset };
    Geometry { offset: geometry.offset + offset, ..geometry.clone() }
}

/// The dtype of the parts of complex numbers.
fn half(dtype: &DType) -> Option<DType> {
    let (order, size) = (dtype.byte_order(), dtype.itemsize() / 2);
    (dtype.kind() == Kind::Complex).then(|| DType::new_scalar(Kind::Float, order, size))
}

fn not_complex(dtype: &DType) -> Error {
    let to = DType::new_scalar(Kind::Complex, ByteOrder::NATIVE, 16);
    refused(dtype, &to, "only complex numbers have an imaginary part".to_owned())
}

/// Where some of the bytes of each element lie, and what they are.
fn part(geometry: &Geometry, from: &DType, to: &DType, offset: usize) -> Result<(Geometry, DType)> {
    let end = offset.checked_add(to.itemsize());
    if end.is_none_or(|end| end > from.itemsize()) {
        let (size, room) = (to.itemsize(), from.itemsize());
        let reason = format!("{size} bytes from byte {offset} on reach behind {room} bytes");
        return Err(refused(from, to, reason));
    }
    with_subarrays(behind(geometry, offset), to.clone())
}

/// NumPy's `array_descr_set`.
fn reinterpreted(geometry: &Geometry, from: &DType, to: &DType) -> Result<(Geometry, DType)> {
    let (old, new) = (from.itemsize(), to.itemsize());
    let refused =
        |reason: &str| refused(from, to, format!("{old} bytes are not {new}, and {reason}"));
    if old == new {
        return with_subarrays(geometry.clone(), to.clone());
    }
    if new == 0 || to.subarray().is_some() {
        return Err(refused("only a dtype with a size and without axes can differ in it"));
    }
    let (Some(&dim), Some(&stride)) = (geometry.shape.last(), geometry.strides.last()) else {
        return Err(refused("there is no axis to get longer or shorter"));
    };
    if dim != 1 && geometry.len() != 0 && usize::try_from(stride) != Ok(old) {
        return Err(refused("the elements of the last axis don't lie together"));
    }
    if new < old && old % new != 0 {
        return Err(refused("an element would be no whole number of them"));
    }
    let bytes = dim.checked_mul(old).filter(|bytes| bytes % new == 0);
    let Some(bytes) = bytes else {
        return Err(refused("the last axis would be no whole number of them"));
    };
    let mut geometry = geometry.clone();
    let step = signed(new);
    if let (Some(dim), Some(stride)) = (geometry.shape.last_mut(), geometry.strides.last_mut()) {
        (*dim, *stride) = (bytes / new, step);
    }
    Ok((geometry.check_countable(new)?, to.clone()))
}

fn refused(from: &DType, to: &DType, reason: String) -> Error {
    DTypeError::Reinterpret { from: from.to_string(), to: to.to_string(), reason }.into()
}

/// Turns round the bytes of every number of an element.
fn byteswap(dtype: &DType, bytes: &mut [u8]) {
    let width = match dtype.kind() {
        Kind::Struct => {
            for field in dtype.fields() {
                let own = field.offset..field.offset + field.dtype.itemsize();
                byteswap(&field.dtype, bytes.get_mut(own).invariant(IN_ELEMENT));
            }
            return;
        }
        Kind::Subarray => {
            let Some((base, _)) = dtype.subarray() else { return };
            let items = bytes.chunks_exact_mut(base.itemsize().max(1));
            return items.for_each(|item| byteswap(base, item));
        }
        Kind::Bytes | Kind::Void => return,
        Kind::Complex => dtype.itemsize() / 2,
        Kind::Unicode => 4,
        _ => dtype.itemsize(),
    };
    match width {
        2 => bytes.chunks_exact_mut(2).for_each(<[u8]>::reverse),
        4 => bytes.chunks_exact_mut(4).for_each(<[u8]>::reverse),
        8 => bytes.chunks_exact_mut(8).for_each(<[u8]>::reverse),
        width => bytes.chunks_exact_mut(width.max(1)).for_each(<[u8]>::reverse),
    }
}

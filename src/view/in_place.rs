//! Lends elements where they lie.

use std::ops::Range;

use ndarray::{ArrayView, ArrayViewMut, Axis, Dimension, IxDyn, ShapeBuilder as _, StrideShape};

use super::{View, ViewMut};
use crate::dtype::literal::tuple;
use crate::element::fast_path::FastPath as _;
use crate::element::{InPlace, short_name};
use crate::error::invariant;
use crate::error::invariant::elements_mut;
use crate::error::{DTypeError, Error, ExtentError, Result, ShapeError};
use crate::layout::Layout;
use crate::layout::geometry::Geometry;

impl<'a, T: InPlace> View<'a, T> {
    /// Lends all elements as a slice, when they are one run in C order.
    ///
    /// # Errors
    ///
    /// [`WrongDType`](crate::ErrorKind::WrongDType) when their bytes are no `T`
    /// as they lie, [`WrongDType`](crate::ErrorKind::WrongDType) when their
    /// address is none a `T` can have,
    /// [`WrongShape`](crate::ErrorKind::WrongShape).
    pub fn as_slice(&self) -> Result<&'a [T]> {
        let bytes = self.as_bytes().ok_or_else(|| not_contiguous(&self.geometry))?;
        lend(bytes, &self.geometry, &self.codec)
    }

    /// Lends all elements as a slice in the order of memory, when they are
    /// one run.
    ///
    /// # Errors
    ///
    /// As [`as_slice`](View::as_slice).
    pub fn as_slice_memory_order(&self) -> Result<&'a [T]> {
        self.memory_order().as_slice()
    }

    /// Lends all elements as an ndarray view of `N` axes, negative strides
    /// included.
    ///
    /// # Errors
    ///
    /// [`WrongShape`](crate::ErrorKind::WrongShape) when there are other axes;
    /// [`WrongDType`](crate::ErrorKind::WrongDType) as
    /// [`as_slice`](View::as_slice);
    /// [`WrongShape`](crate::ErrorKind::WrongShape) when elements are no whole
    /// number of `T` apart.
    pub fn as_ndarray<N: Dimension>(&self) -> Result<ArrayView<'a, T, N>> {
        let placed = Placed::<N>::new::<T>(&self.geometry)?;
        let bytes = invariant::elements(self.bytes, placed.start..placed.end);
        let elements = lend(bytes, &self.geometry, &self.codec)?;
        let mut array =
            ArrayView::from_shape(placed.shape, elements).map_err(|_| strides(&self.geometry))?;
        placed.reversed.iter().for_each(|&axis| array.invert_axis(Axis(axis)));
        Ok(array)
    }
}

/// Lends the elements that lie in `bytes` where `layout` says as a slice: what
/// [`View::as_slice`] lends, without a view, whose making takes longer.
pub(crate) fn borrow_slice<'a, T: InPlace>(
    bytes: &'a [u8],
    layout: &Layout,
    codec: &T::Codec,
) -> Result<&'a [T]> {
    let found = bytes.len();
    let Some(elements) = bytes.get(layout.offset()..layout.end()) else {
        return Err(ExtentError::ShortBuffer { needed: layout.end(), found }.into());
    };
    if !layout.is_c_contiguous() {
        return Err(not_contiguous(layout.geometry()));
    }
    lend(elements, layout.geometry(), codec)
}

impl<'a, T: InPlace> ViewMut<'a, T> {
    /// Lends all elements as a slice to be written, when they are one run in
    /// C order.
    ///
    /// # Errors
    ///
    /// As [`View::as_slice`].
    pub fn into_slice(self) -> Result<&'a mut [T]> {
        let (bytes, geometry, codec) = self.into_parts();
        let size = T::itemsize(&codec);
        if !geometry.is_contiguous(size) {
            return Err(not_contiguous(&geometry));
        }
        let run = geometry.offset..geometry.offset + size * geometry.len();
        lend_mut(elements_mut(bytes, run), &geometry, &codec)
    }

    /// Lends all elements as an ndarray view of `N` axes to be written.
    ///
    /// # Errors
    ///
    /// As [`View::as_ndarray`].
    pub fn into_ndarray<N: Dimension>(self) -> Result<ArrayViewMut<'a, T, N>> {
        let (bytes, geometry, codec) = self.into_parts();
        let placed = Placed::<N>::new::<T>(&geometry)?;
        let bytes = elements_mut(bytes, placed.start..placed.end);
        let elements = lend_mut(bytes, &geometry, &codec)?;
        let mut array =
            ArrayViewMut::from_shape(placed.shape, elements).map_err(|_| strides(&geometry))?;
        placed.reversed.iter().for_each(|&axis| array.invert_axis(Axis(axis)));
        Ok(array)
    }
}

/// A geometry as ndarray wants it: strides in elements and positive, and the
/// bytes from the first to the last element.
struct Placed<N: Dimension> {
    shape: StrideShape<N>,
    reversed: Vec<usize>,
    start: usize,
    end: usize,
}

impl<N: Dimension> Placed<N> {
    fn new<T>(geometry: &Geometry) -> Result<Placed<N>> {
        let size = size_of::<T>();
        let Range { start, end } = geometry.span(size);
        let shape =
            N::from_dimension(&IxDyn(&geometry.shape)).ok_or_else(|| wrong_rank::<N>(geometry))?;
        if start == end || size == 0 {
            // Elements of no bytes stand anywhere, whatever lies between them.
            return Ok(Placed { shape: shape.into(), reversed: Vec::new(), start, end: start });
        }
        let mut apart = shape.clone();
        let mut reversed = Vec::new();
        let axes = geometry.strides.iter().zip(&geometry.shape).zip(apart.slice_mut());
        for (axis, ((&stride, &dim), apart)) in axes.enumerate() {
            // What lies along an axis of length 1 doesn't matter.
            let away = if dim > 1 { stride.unsigned_abs() } else { 0 };
            if away % size != 0 {
                return Err(strides(geometry));
            }
            *apart = away / size;
            if stride < 0 && dim > 1 {
                reversed.push(axis);
            }
        }
        Ok(Placed { shape: shape.strides(apart), reversed, start, end })
    }
}

fn lend<'a, T: InPlace>(bytes: &'a [u8], geometry: &Geometry, codec: &T::Codec) -> Result<&'a [T]> {
    if size_of::<T>() > 0 && !T::is_in_place(codec) {
        return Err(unfit::<T>(codec));
    }
    if bytes.is_empty() {
        return Ok(Box::leak(no_bytes(geometry)));
    }
    bytemuck::try_cast_slice(bytes).map_err(|_| unaligned::<T>())
}

fn lend_mut<'a, T: InPlace>(
    bytes: &'a mut [u8],
    geometry: &Geometry,
    codec: &T::Codec,
) -> Result<&'a mut [T]> {
    if size_of::<T>() > 0 && !T::is_in_place(codec) {
        return Err(unfit::<T>(codec));
    }
    if bytes.is_empty() {
        return Ok(Box::leak(no_bytes(geometry)));
    }
    bytemuck::try_cast_slice_mut(bytes).map_err(|_| unaligned::<T>())
}

/// No elements, or elements of no bytes, stand at any address and take no
/// memory, so none is leaked with them.
fn no_bytes<T: InPlace>(geometry: &Geometry) -> Box<[T]> {
    bytemuck::zeroed_slice_box(geometry.len())
}

fn unfit<T: InPlace>(codec: &T::Codec) -> Error {
    if let Some(error) = T::fast_path().mismatch(codec) {
        return error;
    }
    let works = T::fast_path().exact_name(codec);
    DTypeError::ByteOrder { stored: format!("`{works}`"), asked: short_name::<T>(), works }.into()
}

fn unaligned<T: InPlace>() -> Error {
    let (align, asked) = (align_of::<T>(), short_name::<T>());
    DTypeError::Alignment { align, asked, works: T::fast_path().unaligned_name() }.into()
}

fn not_contiguous(geometry: &Geometry) -> Error {
    ShapeError::NotContiguous { shape: tuple(&geometry.shape) }.into()
}

fn strides(geometry: &Geometry) -> Error {
    ShapeError::Strides { strides: format!("{:?}", geometry.strides) }.into()
}

/// The error of asking for another number of axes.
pub(crate) fn wrong_rank<N: Dimension>(geometry: &Geometry) -> Error {
    let ndim = geometry.ndim();
    let works = if ndim <= 6 { format!("Ix{ndim}") } else { "IxDyn".to_owned() };
    let shape = tuple(&geometry.shape);
    ShapeError::Rank { shape, ndim, asked: N::NDIM.unwrap_or(ndim), works }.into()
}

//! References to elements in place: slices and ndarray views.

use std::ops::Range;

use ndarray::{
    ArrayView, ArrayViewMut, Axis, CowArray, Dimension, IxDyn, ShapeBuilder as _, StrideShape,
};

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
    /// Returns all elements as a slice, without copying.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the elements
    /// have a different form than `T`, or are not aligned for it. Returns
    /// [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if they are not contiguous
    /// in C order.
    pub fn as_slice(&self) -> Result<&'a [T]> {
        let bytes = self.as_bytes().ok_or_else(|| not_contiguous(&self.geometry))?;
        cast_slice(bytes, &self.geometry, &self.codec)
    }

    /// Returns all elements as an ndarray view with `N` axes, without copying.
    /// Strides may be negative.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if the view does
    /// not have the axes of `N`, or has strides that are not multiples of the
    /// size of `T`, and [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the
    /// elements have a different form than `T` or are not aligned for it.
    pub fn as_ndarray<N: Dimension>(&self) -> Result<ArrayView<'a, T, N>> {
        let target = NdarrayGeometry::<N>::new::<T>(&self.geometry, &self.codec)?;
        let bytes = invariant::elements(self.bytes, target.start..target.end);
        let elements = cast_slice(bytes, &self.geometry, &self.codec)?;
        let mut array = ArrayView::from_shape(target.shape, elements)
            .map_err(|_| unsuitable_strides(&self.geometry))?;
        target.reversed.iter().for_each(|&axis| array.invert_axis(Axis(axis)));
        Ok(array)
    }

    /// Borrows all elements as [`as_ndarray`](View::as_ndarray) does if they
    /// are a `T` in memory, and otherwise copies them as
    /// [`to_ndarray`](View::to_ndarray): if they are swapped or not aligned, as
    /// in many members of archives that NumPy wrote.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if the view does
    /// not have the axes of `N`, and
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) for more than 2^20
    /// elements of zero size.
    ///
    /// # Panics
    ///
    /// When there is not enough memory for a copy, as [`Vec`] does.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, ndarray::Ix2};
    ///
    /// // In either byte order, and at any address.
    /// for dtype in ["<f4", ">f4"] {
    ///     let array = MappedArray::zeros(&dtype.parse()?, &[2, 3])?;
    ///     assert_eq!(array.view::<f32>()?.to_cow::<Ix2>()?.sum(), 0.0);
    /// }
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn to_cow<N: Dimension>(&self) -> Result<CowArray<'a, T, N>> {
        match self.as_ndarray::<N>() {
            Ok(borrowed) => Ok(borrowed.into()),
            Err(_) => self.to_ndarray::<N>().map(CowArray::from),
        }
    }
}

/// Returns the elements that `layout` describes in `bytes`, as
/// [`View::as_slice`] does but without the cost of making a view.
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
    cast_slice(elements, layout.geometry(), codec)
}

impl<'a, T: InPlace> ViewMut<'a, T> {
    /// Returns all elements as a mutable slice.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the elements
    /// have a different form than `T` or are not aligned for it, and
    /// [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if they are not contiguous
    /// in C order.
    pub fn into_slice(self) -> Result<&'a mut [T]> {
        let (bytes, geometry, codec) = self.into_parts();
        let size = T::itemsize(&codec);
        if !geometry.is_contiguous(size) {
            return Err(not_contiguous(&geometry));
        }
        let run = geometry.offset..geometry.offset + size * geometry.len();
        cast_slice_mut(elements_mut(bytes, run), &geometry, &codec)
    }

    /// Returns all elements as a mutable ndarray view with `N` axes.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if the view does
    /// not have the axes of `N`, or has strides that are not multiples of the
    /// size of `T`, and [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the
    /// elements have a different form than `T` or are not aligned for it.
    pub fn into_ndarray<N: Dimension>(self) -> Result<ArrayViewMut<'a, T, N>> {
        let (bytes, geometry, codec) = self.into_parts();
        let target = NdarrayGeometry::<N>::new::<T>(&geometry, &codec)?;
        let bytes = elements_mut(bytes, target.start..target.end);
        let elements = cast_slice_mut(bytes, &geometry, &codec)?;
        let mut array = ArrayViewMut::from_shape(target.shape, elements)
            .map_err(|_| unsuitable_strides(&geometry))?;
        target.reversed.iter().for_each(|&axis| array.invert_axis(Axis(axis)));
        Ok(array)
    }
}

/// A geometry as ndarray requires it: positive strides, in elements, and the
/// bytes from the first to the last element.
struct NdarrayGeometry<N: Dimension> {
    shape: StrideShape<N>,
    /// The axes to reverse: axes with negative strides.
    reversed: Vec<usize>,
    start: usize,
    end: usize,
}

impl<N: Dimension> NdarrayGeometry<N> {
    /// The geometry of elements that are a `T` in memory.
    fn new<T: InPlace>(geometry: &Geometry, codec: &T::Codec) -> Result<NdarrayGeometry<N>> {
        let shape = dimension::<N>(geometry)?;
        check_form::<T>(codec)?;
        let size = size_of::<T>();
        let Range { start, end } = geometry.span(size);
        if start == end || size == 0 {
            // Strides do not matter without bytes.
            let (shape, reversed) = (shape.into(), Vec::new());
            return Ok(NdarrayGeometry { shape, reversed, start, end: start });
        }
        let mut strides = shape.clone();
        let mut reversed = Vec::new();
        let axes = geometry.strides.iter().zip(&geometry.shape).zip(strides.slice_mut());
        for (axis, ((&stride, &dim), to)) in axes.enumerate() {
            // The stride of an axis of length 1 does not matter.
            let bytes = if dim > 1 { stride.unsigned_abs() } else { 0 };
            if bytes % size != 0 {
                return Err(unsuitable_strides(geometry));
            }
            *to = bytes / size;
            if stride < 0 && dim > 1 {
                reversed.push(axis);
            }
        }
        Ok(NdarrayGeometry { shape: shape.strides(strides), reversed, start, end })
    }
}

fn cast_slice<'a, T: InPlace>(
    bytes: &'a [u8],
    geometry: &Geometry,
    codec: &T::Codec,
) -> Result<&'a [T]> {
    check_form::<T>(codec)?;
    if bytes.is_empty() {
        return Ok(Box::leak(zero_sized_slice(geometry.len())));
    }
    bytemuck::try_cast_slice(bytes).map_err(|_| unaligned::<T>(codec))
}

fn cast_slice_mut<'a, T: InPlace>(
    bytes: &'a mut [u8],
    geometry: &Geometry,
    codec: &T::Codec,
) -> Result<&'a mut [T]> {
    check_form::<T>(codec)?;
    if bytes.is_empty() {
        return Ok(Box::leak(zero_sized_slice(geometry.len())));
    }
    bytemuck::try_cast_slice_mut(bytes).map_err(|_| unaligned::<T>(codec))
}

/// A slice of elements that have no bytes in the file: no elements, or elements
/// of zero size. It allocates nothing, so leaking it leaks no memory.
pub(crate) fn zero_sized_slice<T: InPlace>(len: usize) -> Box<[T]> {
    bytemuck::zeroed_slice_box(len)
}

/// Checks that the elements are a `T` in memory: otherwise, they can have a
/// different size.
fn check_form<T: InPlace>(codec: &T::Codec) -> Result<()> {
    if size_of::<T>() == 0 || T::is_in_place(codec) {
        return Ok(());
    }
    Err(T::fast_path().mismatch(codec).unwrap_or_else(|| {
        let works = T::fast_path().exact_name(codec);
        let (stored, asked) = (format!("`{works}`"), short_name::<T>());
        DTypeError::ByteOrder { stored, asked, works }.into()
    }))
}

fn unaligned<T: InPlace>(codec: &T::Codec) -> Error {
    let (align, asked) = (align_of::<T>(), short_name::<T>());
    DTypeError::Alignment { align, asked, works: T::fast_path().exact_name(codec) }.into()
}

#[inline]
fn not_contiguous(geometry: &Geometry) -> Error {
    ShapeError::NotContiguous { shape: tuple(&geometry.shape) }.into()
}

#[inline]
fn unsuitable_strides(geometry: &Geometry) -> Error {
    ShapeError::Strides { strides: format!("{:?}", geometry.strides) }.into()
}

/// The shape, if it has as many axes as `N`.
pub(crate) fn dimension<N: Dimension>(geometry: &Geometry) -> Result<N> {
    N::from_dimension(&IxDyn(&geometry.shape)).ok_or_else(|| {
        let (ndim, shape) = (geometry.ndim(), tuple(&geometry.shape));
        let works = if ndim <= 6 { format!("Ix{ndim}") } else { "IxDyn".to_owned() };
        ShapeError::Rank { shape, ndim, asked: N::NDIM.unwrap_or(ndim), works }.into()
    })
}

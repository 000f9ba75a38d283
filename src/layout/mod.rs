//! Where an array's elements are. All size arithmetic is done and checked here
//! once. A [`Layout`] is trusted afterwards.

pub(crate) mod axes;
pub(crate) mod geometry;
pub(crate) mod offsets;
pub(crate) mod row_index;

pub use geometry::Geometry;
pub use row_index::{RowIndex, TakeMode};

use std::ops::{Deref, Range};

use crate::dtype::literal::tuple;
use crate::dtype::{DType, MAX_NDIM};
use crate::error::{Error, Result, ShapeError};
use crate::layout::axes::Axes;
use crate::layout::geometry::count;

/// The largest number of zero-size elements copied into memory: a file can
/// announce any number of them.
pub(crate) const MAX_UNBACKED: usize = 1 << 20;

/// Rejects copying `count` elements of an array if they have no bytes and
/// exceed the limit.
#[inline]
pub(crate) fn check_unbacked(itemsize: usize, shape: &[usize], count: usize) -> Result<()> {
    if itemsize == 0 && count > MAX_UNBACKED {
        return Err(ShapeError::Unbacked { shape: tuple(shape), limit: MAX_UNBACKED }.into());
    }
    Ok(())
}

/// Rejects more axes than NumPy supports.
#[inline]
pub(crate) fn check_ndim(found: usize) -> Result<()> {
    if found > MAX_NDIM { Err(ShapeError::Axes { found }.into()) } else { Ok(()) }
}

/// The order of elements in memory.
///
/// # Examples
///
/// ```
/// use npymap::{CreateOptions, DType, Order};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("columns.npy");
/// let options = CreateOptions::new().order(Order::F);
/// // SAFETY: no other process uses the file.
/// let array = unsafe { options.create(&path, &DType::of::<f64>(), &[3, 4])? };
/// assert_eq!(array.byte_strides(), [8, 24]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// The last axis varies fastest, as in C.
    #[default]
    C,
    /// The first axis varies fastest, as in Fortran.
    F,
}

/// Where an array's elements are: dtype, [shape, byte strides](Geometry) and the
/// offset of the first element.
///
/// # Examples
///
/// ```
/// use npymap::{DType, Order, layout::Layout};
///
/// let layout = Layout::new(DType::of::<f32>(), &[3, 4], Order::C, 128)?;
/// assert_eq!(layout.byte_strides(), [16, 4]);
/// assert_eq!((layout.offset(), layout.len(), layout.nbytes()), (128, 12, 48));
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    dtype: DType,
    geometry: Geometry,
    nbytes: usize,
}

impl Layout {
    /// Lays out elements contiguously, starting `offset` bytes into a file or
    /// buffer.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if there are
    /// more than 64 axes, or if the number of elements or the offset of their
    /// end exceeds `isize::MAX`. As in NumPy, axes of length 0 count as 1 in
    /// these checks.
    #[inline]
    pub fn new(dtype: DType, shape: &[usize], order: Order, offset: usize) -> Result<Layout> {
        check_ndim(shape.len())?;
        let itemsize = dtype.itemsize();
        let step = isize::try_from(itemsize).map_err(|_| too_large(shape, itemsize))?;
        let mut strides: Axes<isize> = shape.iter().map(|_| step).collect();
        let axes = strides.iter_mut().zip(shape);
        let span = match order {
            Order::C => set_strides(axes.rev(), step),
            Order::F => set_strides(axes, step),
        };
        // The number of zero-size elements has a limit, too.
        let (Some(span), Some(_)) = (span, count(shape)) else {
            return Err(too_large(shape, itemsize));
        };
        let is_empty = shape.contains(&0);
        let nbytes = if is_empty { 0 } else { span.unsigned_abs() };
        if offset.checked_add(nbytes).is_none_or(|end| isize::try_from(end).is_err()) {
            return Err(too_large(shape, itemsize));
        }
        let geometry = Geometry { offset, shape: Axes::from_slice(shape), strides };
        Ok(Layout { dtype, geometry, nbytes })
    }

    /// Returns the dtype of the elements.
    #[must_use]
    #[inline]
    pub fn dtype(&self) -> &DType {
        &self.dtype
    }

    /// Returns the number of bytes before the first element.
    #[must_use]
    #[inline]
    pub fn offset(&self) -> usize {
        self.geometry.offset
    }

    /// Returns the total size of the elements in bytes.
    #[must_use]
    #[inline]
    pub fn nbytes(&self) -> usize {
        self.nbytes
    }

    /// The offset of the byte after the last element.
    #[inline]
    pub(crate) fn end(&self) -> usize {
        self.geometry.offset + self.nbytes
    }

    /// Returns whether the elements are contiguous in C order.
    #[must_use]
    #[inline]
    pub fn is_c_contiguous(&self) -> bool {
        self.geometry.is_contiguous(self.dtype.itemsize())
    }

    /// Returns whether the elements are contiguous in Fortran order.
    #[must_use]
    #[inline]
    pub fn is_f_contiguous(&self) -> bool {
        self.geometry.reversed_axes().is_contiguous(self.dtype.itemsize())
    }

    #[inline]
    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The layout of some rows, which must exist. Returns `None` if they are
    /// not contiguous in memory.
    #[inline]
    pub(crate) fn row_range(&self, rows: Range<usize>) -> Option<Layout> {
        let &dim = self.shape().first()?;
        if rows.len() == dim {
            return Some(self.clone());
        }
        if !rows.is_empty() && !self.is_c_contiguous() {
            return None;
        }
        let row_nbytes = self.nbytes.checked_div(dim).unwrap_or(0);
        let mut part = self.clone();
        *part.geometry.shape.first_mut()? = rows.len();
        part.geometry.offset += rows.start * row_nbytes;
        part.nbytes = rows.len() * row_nbytes;
        Some(part)
    }

    /// The same layout at another offset.
    #[inline]
    pub(crate) fn with_offset(mut self, offset: usize) -> Layout {
        self.geometry.offset = offset;
        self
    }
}

impl Deref for Layout {
    type Target = Geometry;

    #[inline]
    fn deref(&self) -> &Geometry {
        &self.geometry
    }
}

/// Sets each stride to the size in bytes of the axes before it, and returns the
/// size of all; axes of length 0 count as 1, as in NumPy.
fn set_strides<'a>(
    axes: impl Iterator<Item = (&'a mut isize, &'a usize)>,
    step: isize,
) -> Option<isize> {
    let mut span = step;
    for (stride, &dim) in axes {
        *stride = span;
        span = span.checked_mul(isize::try_from(dim.max(1)).ok()?)?;
    }
    Some(span)
}

#[inline]
fn too_large(shape: &[usize], itemsize: usize) -> Error {
    ShapeError::Size { shape: tuple(shape), itemsize }.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorDetail;

    fn layout(itemsize: &str, shape: &[usize], order: Order) -> Result<Layout> {
        Layout::new(itemsize.parse()?, shape, order, 0)
    }

    #[test]
    fn strides_follow_the_order() {
        assert_eq!(layout("<f8", &[2, 3, 4], Order::C).unwrap().byte_strides(), [96, 32, 8]);
        assert_eq!(layout("<f8", &[2, 3, 4], Order::F).unwrap().byte_strides(), [8, 16, 48]);
        assert_eq!(layout("<f8", &[2, 0, 4], Order::C).unwrap().byte_strides(), [32, 32, 8]);
    }

    #[test]
    fn a_scalar_has_one_element_and_an_empty_axis_none() {
        let scalar = layout("<f8", &[], Order::C).unwrap();
        assert_eq!((scalar.len(), scalar.nbytes(), scalar.is_c_contiguous()), (1, 8, true));
        let empty = layout("<f8", &[3, 0], Order::F).unwrap();
        assert_eq!((empty.len(), empty.nbytes(), empty.is_c_contiguous()), (0, 0, true));
    }

    #[test]
    fn contiguity_ignores_axes_of_length_1() {
        assert!(layout("<f8", &[1, 5, 1], Order::F).unwrap().is_c_contiguous());
        assert!(layout("<f8", &[5, 2], Order::F).unwrap().is_f_contiguous());
        assert!(!layout("<f8", &[5, 2], Order::F).unwrap().is_c_contiguous());
    }

    #[test]
    fn sizes_beyond_isize_are_rejected() {
        let half = usize::MAX / 2 + 1;
        for (dtype, shape) in [
            ("|u1", vec![half]),
            ("|u1", vec![0, half]),
            ("|u1", vec![half / 2, 4]),
            ("<f8", vec![half / 8]),
            ("<f8", vec![0, half / 8]),
            ("|V0", vec![half / 2, 2]),
            ("|u1", vec![1 << 16; 5]),
        ] {
            assert!(
                matches!(
                    layout(dtype, &shape, Order::C).unwrap_err().detail(),
                    ErrorDetail::Shape(ShapeError::Size { .. })
                ),
                "{shape:?}"
            );
            assert!(layout(dtype, &shape, Order::F).is_err(), "{shape:?}");
        }
        assert!(layout("|u1", &[half - 1], Order::C).is_ok());
        assert!(layout("|V0", &[half - 1], Order::C).is_ok());
        assert!(Layout::new("|u1".parse().unwrap(), &[half - 1], Order::C, 1).is_err());
    }

    #[test]
    fn rows_of_an_empty_array_start_at_its_offset() {
        let empty = layout("<f8", &[3, 0], Order::C).unwrap().with_offset(16);
        let rows = empty.row_range(1..3).unwrap();
        assert_eq!((rows.shape(), rows.offset(), rows.end()), (&[2, 0][..], 16, 16));
    }

    #[test]
    fn there_are_at_most_64_axes() {
        assert!(layout("<f8", &[1; 64], Order::C).is_ok());
        assert!(matches!(
            layout("<f8", &[1; 65], Order::C).unwrap_err().detail(),
            ErrorDetail::Shape(ShapeError::Axes { found: 65 })
        ));
    }
}

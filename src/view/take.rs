//! Copies of the slices at any indices of an axis: NumPy's `take`.

use ndarray::{ArrayD, IxDyn};

use super::View;
use super::axis_slices::AxisSlices;
use crate::dtype::literal::tuple;
use crate::element::Element;
use crate::element::fast_path::FastPath as _;
use crate::error::{Result, ShapeError};
use crate::layout::check_unbacked;
use crate::layout::geometry::{Geometry, count};
use crate::layout::row_index::{RowIndex, TakeMode, resolve};

impl<T: Element> View<'_, T> {
    /// Copies rows of the first axis into `out`, in the order of `indices`. `out`
    /// must have the length of `select(0, indices)`.
    ///
    /// Indices may be repeated. A negative index returns an error. See
    /// [`TakeMode::resolve`] to wrap or clip them. To read many batches from a
    /// file, use [`rows`](crate::MappedArray::rows), which reads ahead.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if an index or
    /// the axis is out of range, [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch)
    /// if `out` has the wrong length, and
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) for more than a
    /// million elements of zero size.
    ///
    /// # Examples
    ///
    /// ```
    /// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
    /// let mut batch = [0.0; 2 * 4];
    /// penguins.view::<f64>()?.take(&[341, 0], &mut batch)?;
    /// assert_eq!([batch[3], batch[7]], [3775.0, 3750.0]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn take(&self, indices: &[impl RowIndex], out: &mut [T]) -> Result<()> {
        let selection = self.resolve_indices(0, indices)?;
        check_len(selection.len, out.len())?;
        self.copy_selection(&selection, out);
        Ok(())
    }

    /// Copies the slices at some indices of an axis, in their order, into a new
    /// array: ndarray's `select`, NumPy's `a.take(indices, axis)`. Indices may
    /// be repeated.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if an index or
    /// the axis is out of range,
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if the result exceeds
    /// the address space, and
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) for more than a
    /// million elements of zero size.
    ///
    /// # Panics
    ///
    /// When there is not enough memory, as [`Vec`] does.
    ///
    /// # Examples
    ///
    /// ```
    /// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
    /// let table = penguins.view::<f64>()?;
    /// let some = table.select(0, &[341, 0, 0])?;
    /// assert_eq!([some[[0, 3]], some[[1, 3]], some[[2, 3]]], [3775.0, 3750.0, 3750.0]);
    /// let mass = table.select(1, &[3])?;
    /// assert_eq!(mass.shape(), [342, 1]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn select(&self, axis: usize, indices: &[impl RowIndex]) -> Result<ArrayD<T>> {
        let selection = self.resolve_indices(axis, indices)?;
        let shape = with_dim(self.shape(), axis, selection.rows.len());
        let elements = if let Some(mut out) = T::fast_path().zeros(selection.len) {
            self.copy_selection(&selection, &mut out);
            out
        } else {
            let mut out = Vec::with_capacity(selection.len);
            for slices in selection.axis_slices() {
                slices.select(self.bytes, &selection.rows).decode_onto(&self.codec, &mut out);
            }
            out
        };
        Ok(ArrayD::from_shape_vec(IxDyn(&shape), elements)
            .expect("the vector has one value for each element"))
    }

    fn resolve_indices(&self, axis: usize, indices: &[impl RowIndex]) -> Result<Selection> {
        let shape = self.shape();
        let slices = AxisSlices::rows(&self.geometry, axis, self.itemsize())?;
        let rows = resolve(TakeMode::Raise, indices, slices.count, axis, shape)?;
        let outer: Geometry = self.geometry.first_axes(axis);
        let len = outer.len().checked_mul(rows.len()).and_then(|n| n.checked_mul(slices.len));
        let len = len.filter(|len| len.checked_mul(size_of::<T>().max(1)).is_some());
        // ndarray also limits the other axes of an array with an empty axis.
        let new_shape = with_dim(shape, axis, rows.len());
        let len = len.and_then(|len| count(&new_shape).and(Some(len)));
        let len = len.ok_or_else(|| ShapeError::Size {
            shape: tuple(shape),
            itemsize: size_of::<T>().max(1),
        })?;
        check_unbacked(self.itemsize(), shape, len)?;
        Ok(Selection { slices, rows, outer, len })
    }

    fn copy_selection(&self, selection: &Selection, out: &mut [T]) {
        // Values of zero size need no copying, and there may be very many.
        if size_of::<T>() == 0 {
            return;
        }
        let per_outer = selection.rows.len() * selection.slices.len;
        let mut rest = out;
        for slices in selection.axis_slices() {
            let (own, after) = rest.split_at_mut(per_outer);
            slices.select(self.bytes, &selection.rows).decode_over(&self.codec, own);
            rest = after;
        }
    }
}

/// Selected indices of an axis.
struct Selection {
    slices: AxisSlices,
    /// The selected indices.
    rows: Vec<usize>,
    /// The geometry of the axes before the axis.
    outer: Geometry,
    /// The number of selected elements.
    len: usize,
}

impl Selection {
    /// The slices for each index of the axes before the axis; empty if no
    /// elements are selected, since there may be very many such indices.
    #[inline]
    fn axis_slices(&self) -> impl Iterator<Item = AxisSlices> + '_ {
        let outer = (self.len > 0).then(|| self.outer.element_offsets());
        outer.into_iter().flatten().map(|start| self.slices.with_start(start))
    }
}

/// Replaces the length of one axis.
#[inline]
fn with_dim(shape: &[usize], axis: usize, len: usize) -> Vec<usize> {
    let mut shape = shape.to_vec();
    if let Some(dim) = shape.get_mut(axis) {
        *dim = len;
    }
    shape
}

/// Checks the length of an output slice.
#[inline]
pub(crate) fn check_len(expected: usize, found: usize) -> Result<()> {
    if found == expected { Ok(()) } else { Err(ShapeError::Length { found, expected }.into()) }
}

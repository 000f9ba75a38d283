//! Copies what stands at any indices of an axis: NumPy's `take`.

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
    /// Copies rows of the first axis into `out`, in the order of `indices`. Its
    /// length must be that of `select(0, indices)`.
    ///
    /// Indices may be repeated; negative ones are errors, see
    /// [`TakeMode::resolve`] for others. For many batches from a file,
    /// [`rows`](crate::MappedArray::rows) reads ahead.
    ///
    /// # Errors
    ///
    /// As [`select`](View::select);
    /// [`WrongShape`](crate::ErrorKind::WrongShape) when `out` has another
    /// length.
    ///
    /// # Examples
    ///
    /// ```
    /// let penguins = npymap::MappedArray::read("data/penguins.npy")?;
    /// let mut batch = [0.0; 2 * 4];
    /// penguins.view::<f64>()?.take(&[341, 0], &mut batch)?;
    /// assert_eq!([batch[3], batch[7]], [3775.0, 3750.0]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn take(&self, indices: &[impl RowIndex], out: &mut [T]) -> Result<()> {
        self.select_into(0, indices, out)
    }

    /// Copies what some indices of an axis select, in their order, into a new
    /// array: ndarray's `select`, NumPy's `a.take(indices, axis)`. Indices may
    /// be repeated.
    ///
    /// # Errors
    ///
    /// [`OutOfBounds`](crate::ErrorKind::OutOfBounds),
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when no memory could
    /// hold them all, [`LimitExceeded`](crate::ErrorKind::LimitExceeded) for
    /// more than a million elements of no bytes.
    ///
    /// # Panics
    ///
    /// When there isn't that much memory, as [`Vec`] does.
    ///
    /// # Examples
    ///
    /// ```
    /// let penguins = npymap::MappedArray::read("data/penguins.npy")?;
    /// let table = penguins.view::<f64>()?;
    /// let some = table.select(0, &[341, 0, 0])?;
    /// assert_eq!([some[[0, 3]], some[[1, 3]], some[[2, 3]]], [3775.0, 3750.0, 3750.0]);
    /// let mass = table.select(1, &[3])?;
    /// assert_eq!(mass.shape(), [342, 1]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn select(&self, axis: usize, indices: &[impl RowIndex]) -> Result<ArrayD<T>> {
        let taken = self.taken(axis, indices)?;
        let shape = replaced(self.shape(), axis, taken.rows.len());
        let elements = if let Some(mut out) = T::fast_path().zeros(taken.len) {
            self.take_over(&taken, &mut out);
            out
        } else {
            let mut out = Vec::with_capacity(taken.len);
            for parts in taken.all() {
                parts.decode_onto(self.bytes, &self.codec, &taken.rows, &mut out);
            }
            out
        };
        Ok(ArrayD::from_shape_vec(IxDyn(&shape), elements)
            .expect("as many elements as the shape has"))
    }

    /// As [`select`](View::select), into `out`, in C order.
    ///
    /// # Errors
    ///
    /// As [`select`](View::select);
    /// [`WrongShape`](crate::ErrorKind::WrongShape) when `out` has another
    /// length.
    pub fn select_into(&self, axis: usize, indices: &[impl RowIndex], out: &mut [T]) -> Result<()> {
        let taken = self.taken(axis, indices)?;
        check_len(taken.len, out.len())?;
        self.take_over(&taken, out);
        Ok(())
    }

    fn taken(&self, axis: usize, indices: &[impl RowIndex]) -> Result<Taken> {
        let shape = self.shape();
        let parts = AxisSlices::rows(&self.geometry, axis, self.itemsize())?;
        let rows = resolve(TakeMode::Raise, indices, parts.count, axis, shape)?;
        let outer: Geometry = self.geometry.first_axes(axis);
        let len = outer.len().checked_mul(rows.len()).and_then(|n| n.checked_mul(parts.len));
        let len = len.filter(|len| len.checked_mul(size_of::<T>().max(1)).is_some());
        // ndarray counts empty arrays too, as if no axis were empty.
        let taken = replaced(shape, axis, rows.len());
        let len = len.filter(|_| count(&taken).is_some());
        let len = len.ok_or_else(|| ShapeError::Size {
            shape: tuple(shape),
            itemsize: size_of::<T>().max(1),
        })?;
        check_unbacked(self.itemsize(), shape, len)?;
        Ok(Taken { parts, rows, outer, len })
    }

    fn take_over(&self, taken: &Taken, out: &mut [T]) {
        // Values of no size are all there already, however many they are.
        if size_of::<T>() == 0 {
            return;
        }
        let each = taken.rows.len() * taken.parts.len;
        let mut rest = out;
        for parts in taken.all() {
            let (own, after) = rest.split_at_mut(each);
            parts.decode_over(self.bytes, &self.codec, &taken.rows, own);
            rest = after;
        }
    }
}

/// What is taken: parts of an axis, for each index of those before it.
struct Taken {
    parts: AxisSlices,
    rows: Vec<usize>,
    outer: Geometry,
    len: usize,
}

impl Taken {
    /// The parts once for each index of the axes before; none when nothing is
    /// copied, however many these are.
    fn all(&self) -> impl Iterator<Item = AxisSlices> + '_ {
        let outer = (self.len > 0).then(|| self.outer.places());
        outer.into_iter().flatten().map(|start| self.parts.from(start))
    }
}

/// A shape with another length of one axis.
fn replaced(shape: &[usize], axis: usize, len: usize) -> Vec<usize> {
    let mut shape = shape.to_vec();
    if let Some(dim) = shape.get_mut(axis) {
        *dim = len;
    }
    shape
}

/// Refuses memory of another length than what is taken.
pub(crate) fn check_len(expected: usize, found: usize) -> Result<()> {
    if found == expected { Ok(()) } else { Err(ShapeError::Length { found, expected }.into()) }
}

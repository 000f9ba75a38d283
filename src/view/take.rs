//! Copies what stands at any indices of an axis: NumPy's `take`.

use ndarray::{ArrayD, IxDyn};

use super::View;
use super::parts::Parts;
use crate::dtype::literal::tuple;
use crate::element::Element;
use crate::error::{ErrorKind, Result};
use crate::layout::check_unbacked;
use crate::layout::geometry::{Geometry, count};
use crate::layout::row_index::{RowIndex, TakeMode, resolve};

impl<T: Element> View<'_, T> {
    /// Copies what stands at some indices of an axis, in that order: NumPy's
    /// `a.take(indices, axis)`. Indices may be repeated.
    ///
    /// Negative indices are errors; see [`TakeMode`] for others. For many
    /// batches from a file, [`rows`](crate::MappedArray::rows) reads ahead.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Axis`], [`ErrorKind::Index`]; [`ErrorKind::Size`] when no
    /// memory could hold them all.
    ///
    /// # Panics
    ///
    /// When there isn't that much memory, as [`Vec`] does.
    ///
    /// # Examples
    ///
    /// ```
    /// let penguins = npymap::OpenOptions::new().read("data/penguins.npy")?;
    /// let table = penguins.view::<f64>()?;
    /// let some = table.take(0, &[341, 0, 0])?;
    /// assert_eq!([some[[0, 3]], some[[1, 3]], some[[2, 3]]], [3775.0, 3750.0, 3750.0]);
    /// let mass = table.take(1, &[3])?;
    /// assert_eq!(mass.shape(), [342, 1]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn take<I: RowIndex>(&self, axis: usize, indices: &[I]) -> Result<ArrayD<T>> {
        let taken = self.taken(axis, indices)?;
        let shape = replaced(self.shape(), axis, taken.rows.len());
        let elements = if let Some(mut out) = T::zeros(taken.len) {
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

    /// As [`take`](View::take), into memory that is there, in C order.
    ///
    /// # Errors
    ///
    /// As [`take`](View::take); [`ErrorKind::Length`] when it has another
    /// length.
    pub fn take_into<I: RowIndex>(&self, axis: usize, indices: &[I], out: &mut [T]) -> Result<()> {
        let taken = self.taken(axis, indices)?;
        fits(taken.len, out.len())?;
        self.take_over(&taken, out);
        Ok(())
    }

    /// Rows of the first axis, into memory that is there: `take_into` of axis
    /// 0.
    ///
    /// # Errors
    ///
    /// As [`take_into`](View::take_into).
    pub fn take_rows(&self, rows: &[usize], out: &mut [T]) -> Result<()> {
        self.take_into(0, rows, out)
    }

    fn taken<I: RowIndex>(&self, axis: usize, indices: &[I]) -> Result<Taken> {
        let shape = self.shape();
        let parts = Parts::rows(&self.geometry, axis, self.itemsize())?;
        let rows = resolve(TakeMode::Raise, indices, parts.count, axis, shape)?;
        let outer: Geometry = self.geometry.first_axes(axis);
        let len = outer.len().checked_mul(rows.len()).and_then(|n| n.checked_mul(parts.len));
        let len = len.filter(|len| len.checked_mul(size_of::<T>().max(1)).is_some());
        // ndarray counts empty arrays too, as if no axis were empty.
        let taken = replaced(shape, axis, rows.len());
        let len = len.filter(|_| count(&taken).is_some());
        let len = len.ok_or_else(|| ErrorKind::Size {
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
    parts: Parts,
    rows: Vec<usize>,
    outer: Geometry,
    len: usize,
}

impl Taken {
    /// The parts once for each index of the axes before; none when nothing is
    /// copied, however many these are.
    fn all(&self) -> impl Iterator<Item = Parts> + '_ {
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
pub(crate) fn fits(expected: usize, found: usize) -> Result<()> {
    if found == expected { Ok(()) } else { Err(ErrorKind::Length { found, expected }.into()) }
}

//! Copies of all elements.

use ndarray::{Array, Dimension};

use super::in_place::dimension;
use super::{View, check_len, planes};
use crate::element::Element;
use crate::element::fast_path::FastPath as _;
use crate::error::Result;
use crate::error::invariant::{Invariant, PAIRED};
use crate::layout::check_unbacked;

impl<T: Element> View<'_, T> {
    /// Copies all elements in C order.
    ///
    /// # Panics
    ///
    /// When there is not enough memory, as [`Vec`] does, and for more than 2^20
    /// elements of zero size, since a small file can claim any number of them.
    #[must_use]
    pub fn to_vec(&self) -> Vec<T> {
        if let Err(error) = check_unbacked(self.itemsize(), self.shape(), self.len()) {
            panic!("{error}");
        }
        if let Some(mut out) = T::fast_path().zeros(self.len()) {
            self.copy_over(&mut out);
            return out;
        }
        let mut out = Vec::with_capacity(self.len());
        for run in self.geometry.merged().runs() {
            run.decode_onto(self.bytes, &self.codec, &mut out);
        }
        out
    }

    /// Copies all elements into an array with `N` axes, in C order. `IxDyn` is
    /// any number.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if the view has the
    /// wrong number of axes. Returns
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) for more than 2^20
    /// elements of zero size.
    ///
    /// # Panics
    ///
    /// When there is not enough memory, as [`Vec`] does.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::ndarray::{Array1, s};
    ///
    /// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
    /// let mass: Array1<f64> = penguins.view()?.slice(s![.., 3])?.to_ndarray()?;
    /// assert_eq!(mass[0], 3750.0);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn to_ndarray<N: Dimension>(&self) -> Result<Array<T, N>> {
        let shape = dimension::<N>(&self.geometry)?;
        check_unbacked(self.itemsize(), self.shape(), self.len())?;
        Ok(Array::from_shape_vec(shape, self.to_vec()).invariant(PAIRED))
    }

    /// Copies all elements in C order into a slice.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if `out` has the
    /// wrong length.
    pub fn copy_to_slice(&self, out: &mut [T]) -> Result<()> {
        check_len(self.len(), out.len())?;
        self.copy_over(out);
        Ok(())
    }

    /// Copies all elements into a slice of the same length.
    pub(super) fn copy_over(&self, out: &mut [T]) {
        // Values of zero size need no copying, and there may be 2^62 of them.
        if size_of::<T>() == 0 {
            return;
        }
        let geometry = self.geometry.merged();
        if let Some((part, to)) = T::fast_path().copy_target(&self.codec, out) {
            if planes::transpose(part, self.bytes, &geometry, to) {
                return;
            }
        }
        let mut rest = out;
        for run in geometry.runs() {
            let (own, after) = rest.split_at_mut(run.count);
            run.decode_over(self.bytes, &self.codec, own);
            rest = after;
        }
    }
}

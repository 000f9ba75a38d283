//! Selection by boolean masks, and the positions of the elements that satisfy a
//! condition.

use ndarray::{ArrayBase, ArrayD, Data, Dimension, IxDyn};

use super::View;
use super::axis_slices::AxisSlices;
use crate::dtype::literal::tuple;
use crate::element::Element;
use crate::error::{Error, Result, ShapeError};
use crate::layout::check_unbacked;

/// A boolean mask: `bool`s in a slice, array or vector, in an ndarray array, or
/// in a [`View`]. Sealed.
///
/// # Examples
///
/// ```
/// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
/// let table = penguins.view::<f64>()?;
/// let heavy: Vec<bool> = table.index_axis(1, 3)?.iter().map(|mass| mass > 6000.0).collect();
/// assert_eq!(table.compress(0, &heavy)?.shape(), [2, 4]);
/// # Ok::<(), npymap::Error>(())
/// ```
pub trait Mask: sealed::SealedMask {
    /// Returns the length of each axis.
    #[doc(hidden)]
    fn dims(&self) -> Vec<usize>;

    /// Returns the positions of `true` in C order, increasing.
    #[doc(hidden)]
    fn true_positions(&self) -> Vec<usize>;
}

mod sealed {
    pub trait SealedMask {}
}

macro_rules! masks {
    ($([$($generics:tt)*] $Type:ty, $mask:ident => $dims:expr, $values:expr;)*) => {$(
        impl<$($generics)*> sealed::SealedMask for $Type {}

        impl<$($generics)*> Mask for $Type {
            #[inline]
            fn dims(&self) -> Vec<usize> {
                let $mask = self;
                $dims
            }

            #[inline]
            fn true_positions(&self) -> Vec<usize> {
                let $mask = self;
                positions($values)
            }
        }
    )*};
}

masks! {
    [] [bool], mask => vec![mask.len()], mask.iter().copied();
    [const N: usize] [bool; N], mask => vec![mask.len()], mask.iter().copied();
    [] Vec<bool>, mask => vec![mask.len()], mask.iter().copied();
    [S: Data<Elem = bool>, D: Dimension] ArrayBase<S, D>,
        mask => mask.shape().to_vec(), mask.iter().copied();
    [] View<'_, bool>, mask => mask.shape().to_vec(), mask.iter();
}

/// The positions of `true`.
fn positions(mask: impl Iterator<Item = bool>) -> Vec<usize> {
    let mut found = Vec::new();
    mask.fold(0, |position, is_true| {
        if is_true {
            found.push(position);
        }
        position + 1
    });
    found
}

impl<T: Element> View<'_, T> {
    /// Copies the elements, or the slices of the other axes, where a mask of
    /// the first axes is true: NumPy's `a[mask]`. The axes of the mask become
    /// one.
    ///
    /// A mask of one axis selects rows, and a mask of the view's shape elements.
    /// As in NumPy, an axis of the mask may have length 0 whatever the length in
    /// the view: it selects nothing. Takes 16 to 40 bytes per `true` in addition to
    /// the result.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) unless the mask has
    /// the lengths of the first axes,
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if the result exceeds
    /// the address space, and
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) for more than a
    /// million elements of zero size.
    ///
    /// # Panics
    ///
    /// Like [`select`](View::select).
    ///
    /// # Examples
    ///
    /// ```
    /// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
    /// let table = penguins.view::<f64>()?;
    /// let is_heavy: Vec<bool> = table.outer_iter().map(|row| row.at(3) > 6000.0).collect();
    /// let heavy = table.select_mask(&is_heavy)?;
    /// assert_eq!((heavy.shape(), heavy[[0, 3]]), (&[2, 4][..], 6300.0));
    ///
    /// let is_large = table.to_ndarray::<npymap::ndarray::Ix2>()?.mapv(|value| value > 6000.0);
    /// assert_eq!(table.select_mask(&is_large)?.as_slice(), Some(&[6300.0, 6050.0][..]));
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn select_mask(&self, mask: &(impl Mask + ?Sized)) -> Result<ArrayD<T>> {
        let dims = mask.dims();
        let Some(rest) = self.shape().strip_prefix(dims.as_slice()) else {
            return self.select_by_empty_mask(&dims);
        };
        let flat = [&[dims.iter().product()], rest].concat();
        let positions = mask.true_positions();
        match self.geometry.reshaped(&flat) {
            Ok(geometry) => self.with(geometry).select(0, &positions),
            Err(_) if dims.len() > 1 => self.select_scattered(dims.len(), &positions),
            Err(error) => Err(error),
        }
    }

    /// Copies the slices along `axis` where a mask is true, like
    /// [`select`](View::select): NumPy's `a.compress(mask, axis)`.
    ///
    /// The mask has one axis. As in NumPy, it may be shorter than `axis`, and
    /// then the rest is left out, or longer if the surplus is false. Unlike
    /// NumPy, this is checked even if another axis has length 0.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if the axis does
    /// not exist, [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) unless the mask
    /// has one axis of its length,
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if the result exceeds
    /// the address space, and
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) for more than a
    /// million elements of zero size.
    ///
    /// # Panics
    ///
    /// Like [`select`](View::select).
    ///
    /// # Examples
    ///
    /// ```
    /// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
    /// let table = penguins.view::<f64>()?;
    /// let columns = table.compress(1, &[true, false, false, true])?;
    /// assert_eq!((columns.shape(), columns[[0, 1]]), (&[342, 2][..], 3750.0));
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn compress(&self, axis: usize, mask: &(impl Mask + ?Sized)) -> Result<ArrayD<T>> {
        let dims = mask.dims();
        if dims.len() != 1 {
            return Err(self.wrong_mask(&dims, "one axis: use `select_mask` for more"));
        }
        self.select(axis, &mask.true_positions())
    }

    /// Returns the positions in C order of the elements where `f` returns true:
    /// `view.flatnonzero(|x| x > 0.5)` is NumPy's `np.flatnonzero(a > 0.5)`.
    /// For a view of one axis, they are indices for [`select`](View::select)
    /// and [`take`](View::take).
    ///
    /// # Panics
    ///
    /// Like [`to_vec`](View::to_vec).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::ndarray::s;
    ///
    /// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
    /// let table = penguins.view::<f64>()?;
    /// let heavy = table.slice(s![.., 3])?.flatnonzero(|mass| mass > 6000.0);
    /// assert_eq!(heavy, [168, 184]);
    /// assert_eq!(table.select(0, &heavy)?.shape(), [2, 4]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn flatnonzero(&self, f: impl FnMut(T) -> bool) -> Vec<usize> {
        if let Err(error) = check_unbacked(self.itemsize(), self.shape(), self.len()) {
            panic!("{error}");
        }
        positions(self.iter().map(f))
    }

    /// Makes an empty selection for a mask with an axis of length 0, where the
    /// view's axis is longer. NumPy compares only the remaining lengths.
    fn select_by_empty_mask(&self, dims: &[usize]) -> Result<ArrayD<T>> {
        let mut axes = dims.iter().zip(self.shape());
        if dims.len() > self.ndim() || !axes.all(|(&dim, &len)| dim == 0 || dim == len) {
            return Err(self.wrong_mask(dims, "the lengths of its first axes"));
        }
        self.select_scattered(dims.len(), &[])
    }

    /// Copies slices that have no common stride: those at `positions`, in C
    /// order, of the first `ndim` axes, of which there is one at least.
    fn select_scattered(&self, ndim: usize, positions: &[usize]) -> Result<ArrayD<T>> {
        let axis = ndim - 1;
        let slices = AxisSlices::rows(&self.geometry, axis, self.itemsize())?;
        let len = positions.len() * slices.len;
        check_unbacked(self.itemsize(), self.shape(), len)?;
        let mut out = Vec::with_capacity(len);
        let (mut rest, mut before) = (positions, 0);
        for start in self.geometry.first_axes(axis).element_offsets() {
            if rest.is_empty() {
                break;
            }
            let end = before + slices.count;
            let (own, after) = rest.split_at(rest.partition_point(|&position| position < end));
            let rows: Vec<usize> = own.iter().map(|position| position - before).collect();
            let slices = slices.with_start(start);
            slices.select(self.bytes, &rows).decode_onto(&self.codec, &mut out);
            (rest, before) = (after, end);
        }
        let shape: Vec<usize> = std::iter::once(positions.len())
            .chain(self.shape().iter().skip(ndim).copied())
            .collect();
        Ok(ArrayD::from_shape_vec(IxDyn(&shape), out)
            .expect("the vector has one value for each element"))
    }

    fn wrong_mask(&self, dims: &[usize], expected: &'static str) -> Error {
        ShapeError::Mask { found: tuple(dims), shape: tuple(self.shape()), expected }.into()
    }
}

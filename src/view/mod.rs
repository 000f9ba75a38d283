//! Views: elements in any byte order, at any alignment and stride, decoded as
//! they are read. No unsafe code, and no file formats.

mod assign;
mod assign_text;
mod axis_slices;
mod blocks;
mod byte_blocks;
mod cast;
mod cast_slices;
mod copy;
mod dynamic;
mod element_bytes;
mod in_place;
mod index;
mod iter;
#[cfg(feature = "rayon")]
mod join;
#[cfg(doctest)]
mod lifetimes;
mod mask;
mod mutable;
mod outer;
#[cfg(feature = "rayon")]
mod parallel;
#[cfg(feature = "rayon")]
mod parallel_axis;
#[cfg(feature = "rayon")]
mod parallel_bulk;
mod planes;
mod recast;
mod runs;
mod slices;
mod stats;
mod sum;
mod sum_axis;
mod take;

use std::fmt;
use std::iter::FusedIterator;
use std::ops::Deref;

use ndarray::{Dimension as _, IxDyn, SliceInfoElem};

use crate::element::Element;
use crate::error::invariant;
use crate::error::{ExtentError, Result};
use crate::layout::axes::Axes;
use crate::layout::{Geometry, Layout};

pub(crate) use assign::check_assign;
pub(crate) use axis_slices::{AxisSlices, SelectedSlices};
pub use blocks::Blocks;
pub use byte_blocks::ByteBlocks;
pub(crate) use cast::{cast_onto, not_a_number};
pub(crate) use cast_slices::{CastSlices, SliceCast, number_cast};
pub(crate) use dynamic::field_geometry;
pub use dynamic::{DynView, DynViewMut};
pub(crate) use in_place::{borrow_slice, dimension, zero_sized_slice};
pub use index::Index;
pub use iter::Iter;
use iter::increment;
pub use mask::Mask;
pub use mutable::ViewMut;
pub use outer::{AxisChunks, OuterIter, OuterIterMut};
#[cfg(feature = "rayon")]
pub use parallel::Parallel;
pub use slices::{IndexExpr, IndexList, ResolvedIndex};
pub use stats::Stats;
pub(crate) use take::check_len;

/// A strided view of an array that decodes elements when you read them.
///
/// Any byte order, alignment and strides are supported; `shape()` and `byte_strides()` are
/// methods of [`Geometry`]. Slicing, transposing and
/// reshaping never copy, and take the same time for any number of elements. The
/// fastest way to visit all elements is [`blocks`](View::blocks).
///
/// # Examples
///
/// ```
/// use npymap::{MappedArray, ndarray::s};
///
/// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
/// let table = penguins.view::<f64>()?;
/// assert_eq!(table.at([0, 3]), 3750.0);
/// assert_eq!(table.slice(s![..;-1, 2])?.iter().next(), Some(198.0));
/// # Ok::<(), npymap::Error>(())
/// ```
pub struct View<'a, T: Element> {
    bytes: &'a [u8],
    geometry: Geometry,
    codec: T::Codec,
}

impl<'a, T: Element> View<'a, T> {
    /// Views the elements that `layout` describes in `bytes`.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if they cannot be
    /// viewed as `T`, and names a type that works. Returns
    /// [`Truncated`](crate::ErrorKind::Truncated) if `bytes` is too short.
    pub fn from_bytes(bytes: &'a [u8], layout: &Layout) -> Result<View<'a, T>> {
        let codec = T::codec(layout.dtype())?;
        let found = bytes.len();
        let bytes = bytes.get(..layout.end());
        let bytes = bytes.ok_or(ExtentError::ShortBuffer { needed: layout.end(), found })?;
        Ok(View { bytes, geometry: layout.geometry().clone(), codec })
    }

    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The bytes that the geometry refers to.
    pub(crate) fn raw_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub(crate) fn from_parts(bytes: &'a [u8], geometry: Geometry, codec: T::Codec) -> View<'a, T> {
        View { bytes, geometry, codec }
    }

    fn with(&self, geometry: Geometry) -> View<'a, T> {
        View { bytes: self.bytes, geometry, codec: self.codec.clone() }
    }

    /// Returns the size of one element in bytes.
    #[must_use]
    pub fn itemsize(&self) -> usize {
        T::itemsize(&self.codec)
    }

    /// Returns the bytes of all elements, if they are contiguous in C order.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&'a [u8]> {
        let size = self.itemsize();
        if !self.geometry.is_contiguous(size) {
            return None;
        }
        // Without elements the offset may be past the last byte: `(3, 0)` has
        // strides too.
        let run = self.geometry.offset..self.geometry.offset + size * self.len();
        Some(invariant::elements(self.bytes, run))
    }

    /// Returns the element at `[i, j]`, a `&[usize]`, or `i` for one axis.
    /// Returns `None` when the index is out of range or has the wrong number of
    /// axes.
    #[inline]
    #[must_use]
    pub fn get(&self, index: impl Index) -> Option<T> {
        let start = self.geometry.offset_to_read(index.axes())?;
        let size = T::itemsize(&self.codec);
        // The last possible start is the same for all elements, so in a loop each costs one
        // comparison: the compiler drops those of the range. It does not do so in `set`.
        if start > self.bytes.len().checked_sub(size)? {
            return None;
        }
        let bytes = self.bytes.get(start..start + size)?;
        Some(T::decode(&self.codec, bytes))
    }

    /// Returns an element, like [`get`](View::get).
    ///
    /// # Panics
    ///
    /// Where `get` returns `None`.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn at(&self, index: impl Index) -> T {
        match self.get(index) {
            Some(value) => value,
            None => index_panic(Axes::from_slice(index.axes()), self.geometry.shape.clone()),
        }
    }

    /// Slices the view by [`ndarray::s!`] or the slices of [`IndexExpr`]; axes they do not
    /// mention are kept whole.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if an index is
    /// out of range, or `info` has too many axes. Returns
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) for a view of more than
    /// 64 axes.
    pub fn slice(&self, info: impl AsRef<[SliceInfoElem]>) -> Result<View<'a, T>> {
        Ok(self.with(self.geometry.sliced(info.as_ref())?))
    }

    /// Selects one index along `axis`, removing that axis.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if the axis or
    /// the index does not exist.
    pub fn index_axis(&self, axis: usize, index: usize) -> Result<View<'a, T>> {
        Ok(self.with(self.geometry.index_axis(axis, index)?))
    }

    /// Permutes the axes: NumPy's `transpose(axes)`.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) unless `axes`
    /// contains each axis once.
    pub fn permuted_axes(&self, axes: &[usize]) -> Result<View<'a, T>> {
        Ok(self.with(self.geometry.permuted(axes)?))
    }

    /// Reverses the axes: NumPy's `T`.
    #[must_use]
    pub fn t(&self) -> View<'a, T> {
        self.with(self.geometry.reversed_axes())
    }

    /// Gives the elements a new shape, in C order.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if that requires a
    /// copy, or a different number of elements. Returns
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) for more than 64 axes.
    pub fn reshape(&self, shape: &[usize]) -> Result<View<'a, T>> {
        Ok(self.with(self.geometry.reshaped(shape)?))
    }

    /// Broadcasts to a shape: repeats axes of length 1, and adds axes before the
    /// first.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if any remaining
    /// length differs. Returns [`InvalidInput`](crate::ErrorKind::InvalidInput)
    /// for more than 64 axes.
    pub fn broadcast(&self, shape: &[usize]) -> Result<View<'a, T>> {
        Ok(self.with(self.geometry.broadcast(shape)?))
    }

    /// Reorders the axes by decreasing stride and makes all strides positive.
    pub(crate) fn memory_order(&self) -> View<'a, T> {
        self.with(self.geometry.memory_order())
    }

    /// Splits the view along `axis` at an index.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if the axis does
    /// not exist, or is shorter than the index.
    pub fn split_at(&self, axis: usize, index: usize) -> Result<(View<'a, T>, View<'a, T>)> {
        let (low, high) = self.geometry.split_at(axis, index)?;
        Ok((self.with(low), self.with(high)))
    }

    /// Iterates over the first axis, yielding views without that axis; yields
    /// nothing for a 0-d view.
    #[must_use]
    pub fn outer_iter(&self) -> OuterIter<'a, T> {
        OuterIter::new(self.clone())
    }

    /// Iterates over chunks of `size` along an axis. The last may be shorter.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if the axis does
    /// not exist, or `size` is 0.
    pub fn axis_chunks(&self, axis: usize, size: usize) -> Result<AxisChunks<'a, T>> {
        AxisChunks::new(self.clone(), axis, size)
    }

    /// Iterates over all elements in C order. The iterator borrows the array and
    /// not the view, so a function can return it:
    ///
    /// ```
    /// use npymap::{MappedArray, Result, ndarray::s};
    ///
    /// /// The lengths of all flippers, the last penguin first.
    /// fn flippers(penguins: &MappedArray) -> Result<impl Iterator<Item = f64>> {
    ///     Ok(penguins.view::<f64>()?.slice(s![..;-1, 2])?.into_iter())
    /// }
    ///
    /// let penguins = MappedArray::load("data/penguins.npy")?.into_read_only()?;
    /// assert_eq!(flippers(&penguins)?.next(), Some(198.0));
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[must_use]
    pub fn iter(&self) -> Iter<'a, T> {
        Iter::new(self.bytes, &self.geometry, self.codec.clone())
    }

    /// Iterates over all elements in C order, with their indices, as ndarray's
    /// `indexed_iter`. Indices of up to four axes require no allocation.
    ///
    /// # Examples
    ///
    /// ```
    /// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
    /// let table = penguins.view::<f64>()?;
    /// let heavy = table.indexed_iter().find(|(_, value)| *value > 6000.0);
    /// assert_eq!(heavy.map(|(index, _)| index[1]), Some(3));
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[must_use]
    pub fn indexed_iter(
        &self,
    ) -> impl ExactSizeIterator<Item = (IxDyn, T)> + FusedIterator + Clone + use<'a, T> {
        let (mut next, shape) = (IxDyn::zeros(self.ndim()), self.geometry.shape.clone());
        self.iter().map(move |value| {
            let index = next.clone();
            increment(next.slice_mut(), &shape);
            (index, value)
        })
    }

    /// Visits all elements as blocks, in memory order: the fastest way to read
    /// them all.
    #[must_use]
    pub fn blocks(&self) -> Blocks<'a, T> {
        Blocks::new(self.bytes, &self.geometry, self.codec.clone())
    }
}

/// Takes its arguments by value: a reference would force the index and the view
/// of a loop out of registers.
#[cold]
#[inline(never)]
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "a reference would keep it in memory")]
fn index_panic(index: Axes<usize>, shape: Axes<usize>) -> ! {
    panic!("index {:?} is out of bounds for shape {:?}", &*index, &*shape)
}

impl<T: Element> Deref for View<'_, T> {
    type Target = Geometry;

    #[inline]
    fn deref(&self) -> &Geometry {
        &self.geometry
    }
}

impl<T: Element> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        self.with(self.geometry.clone())
    }
}

impl<'a, T: Element> IntoIterator for View<'a, T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        Iter::new(self.bytes, &self.geometry, self.codec)
    }
}

impl<'a, T: Element> IntoIterator for &View<'a, T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T: Element> fmt::Debug for View<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View")
            .field("codec", &self.codec)
            .field("shape", &self.shape())
            .field("byte_strides", &self.byte_strides())
            .finish_non_exhaustive()
    }
}

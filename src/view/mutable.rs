//! Writable views.

use std::fmt;
use std::ops::Deref;

use ndarray::{ArrayView, Dimension, SliceInfoElem};

use super::runs::Run;
use super::{Index, OuterIterMut, View, check_len};
use crate::dtype::literal::tuple;
use crate::element::fast_path::FastPath as _;
use crate::element::{Element, chunks_mut, replace};
use crate::error::invariant::elements_mut;
use crate::error::{ExtentError, Result, ShapeError};
use crate::layout::axes::Axes;
use crate::layout::offsets::element;
use crate::layout::{Geometry, Layout};

/// A strided view of an array that you can write to.
///
/// Slicing and the other methods that change the geometry consume the view.
/// Call [`reborrow`](ViewMut::reborrow) first to keep it. To read elements, use
/// [`as_view`](ViewMut::as_view).
///
/// # Examples
///
/// ```
/// use npymap::{MappedArray, ndarray::s};
///
/// let mut grid = MappedArray::zeros(&">i2".parse()?, &[3, 4])?;
/// let mut view = grid.view_mut::<i16>()?;
/// view.reborrow().slice(s![1, ..;2])?.fill(&7)?;
/// view.set([2, 3], -1)?;
/// view.map_inplace(|x| x * 2)?;
/// assert_eq!(view.as_view().to_vec(), [0, 0, 0, 0, 14, 0, 14, 0, 0, 0, 0, -2]);
/// # Ok::<(), npymap::Error>(())
/// ```
pub struct ViewMut<'a, T: Element> {
    pub(super) bytes: &'a mut [u8],
    pub(super) geometry: Geometry,
    pub(super) codec: T::Codec,
}

impl<'a, T: Element> ViewMut<'a, T> {
    /// Views the elements that `layout` describes in `bytes`.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the elements
    /// cannot be viewed as `T`, and names a type that works, and
    /// [`Truncated`](crate::ErrorKind::Truncated) if `bytes` is too short.
    pub fn from_bytes(bytes: &'a mut [u8], layout: &Layout) -> Result<ViewMut<'a, T>> {
        let codec = T::codec(layout.dtype())?;
        let short = ExtentError::ShortBuffer { needed: layout.end(), found: bytes.len() };
        let bytes = bytes.get_mut(..layout.end()).ok_or(short)?;
        Ok(ViewMut { bytes, geometry: layout.geometry().clone(), codec })
    }

    pub(crate) fn into_parts(self) -> (&'a mut [u8], Geometry, T::Codec) {
        (self.bytes, self.geometry, self.codec)
    }

    pub(super) fn with(self, geometry: Geometry) -> ViewMut<'a, T> {
        ViewMut { geometry, ..self }
    }

    /// Returns a read-only view of the same elements.
    #[must_use]
    pub fn as_view(&self) -> View<'_, T> {
        View::from_parts(self.bytes, self.geometry.clone(), self.codec.clone())
    }

    /// Returns a view of the same elements with a shorter lifetime.
    #[must_use]
    pub fn reborrow(&mut self) -> ViewMut<'_, T> {
        ViewMut { bytes: self.bytes, geometry: self.geometry.clone(), codec: self.codec.clone() }
    }

    /// Stores one element.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if the index is
    /// out of range or has the wrong number of axes,
    /// [`InvalidValue`](crate::ErrorKind::InvalidValue) if the value does not
    /// fit the dtype. The element then stays the same.
    #[inline]
    #[expect(clippy::needless_pass_by_value, reason = "elements are small, and most are `Copy`")]
    pub fn set(&mut self, index: impl Index, value: T) -> Result<()> {
        let size = T::itemsize(&self.codec);
        let start = self.geometry.offset_of(index.axes());
        match start.and_then(|start| self.bytes.get_mut(element(start, size))) {
            Some(bytes) => replace(&value, &self.codec, bytes),
            // Passes copies, so that the view stays in registers.
            None => Err(index_error(Axes::from_slice(index.axes()), self.geometry.shape.clone())),
        }
    }

    /// Stores a value into every element.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidValue`](crate::ErrorKind::InvalidValue) if it does not
    /// fit the dtype. Then nothing is stored.
    pub fn fill(&mut self, value: &T) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        // Reject a value that does not fit before anything is stored.
        value.encode(&self.codec, &mut vec![0; T::itemsize(&self.codec)])?;
        if T::itemsize(&self.codec) == 0 {
            return Ok(());
        }
        let codec = self.codec.clone();
        let size = T::itemsize(&codec);
        let geometry = self.geometry.memory_order().merged();
        geometry.runs().try_for_each(|run| {
            run.try_for_each_mut(self.bytes, size, |bytes| value.encode(&codec, bytes))
        })
    }

    /// Replaces every element `x` with `f(x)`, in memory order. Skips elements of
    /// zero size.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidValue`](crate::ErrorKind::InvalidValue) if a result
    /// does not fit the dtype. The elements before it have been replaced.
    pub fn map_inplace(&mut self, mut f: impl FnMut(T) -> T) -> Result<()> {
        // The compiler knows that a local does not change while bytes are written.
        let codec = self.codec.clone();
        let size = T::itemsize(&codec);
        for run in self.geometry.memory_order().merged().runs() {
            if let Some((bytes, stride)) = run.forward_mut(self.bytes, size) {
                if stride == size && T::fast_path().map_run(&codec, bytes, &mut f) {
                    continue;
                }
            }
            run.try_for_each_mut(self.bytes, size, |bytes| {
                replace(&f(T::decode(&codec, bytes)), &codec, bytes)
            })?;
        }
        Ok(())
    }

    /// Stores the elements of another view, which is
    /// [broadcast](View::broadcast) to the shape of this one.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if the views cannot
    /// be broadcast, and [`InvalidValue`](crate::ErrorKind::InvalidValue) if an
    /// element does not fit the dtype. The elements before it have then been
    /// stored.
    pub fn assign(&mut self, from: &View<'_, T>) -> Result<()> {
        let all = from.broadcast(self.shape())?;
        if self.is_empty() {
            return Ok(());
        }
        if T::itemsize(&self.codec) == 0 {
            // There is nothing to store: only check that each value fits.
            let values = from.with(from.geometry().without_repeats());
            return values.iter().try_for_each(|value| value.encode(&self.codec, &mut []));
        }
        self.store(all.iter())
    }

    /// Stores values in C order.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) unless `values` has
    /// one value per element. Returns
    /// [`InvalidValue`](crate::ErrorKind::InvalidValue) if one does not fit the
    /// dtype. The elements before it have been stored.
    pub fn copy_from_slice(&mut self, values: &[T]) -> Result<()> {
        check_len(self.len(), values.len())?;
        let codec = self.codec.clone();
        let size = T::itemsize(&codec);
        let whole = self.geometry.offset..self.geometry.offset + size * values.len();
        if size > 0 && self.geometry.is_contiguous(size) {
            let bytes = elements_mut(self.bytes, whole);
            let mut pairs = bytes.chunks_exact_mut(size).zip(values);
            return pairs.try_for_each(|(bytes, value)| replace(value, &codec, bytes));
        }
        self.store(values.iter())
    }

    /// Stores the elements of an equally shaped ndarray array.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if the shapes
    /// differ, [`InvalidValue`](crate::ErrorKind::InvalidValue) if an element
    /// does not fit the dtype. The elements before it have been stored.
    #[expect(clippy::needless_pass_by_value, reason = "ndarray passes its views by value")]
    pub fn copy_from<D: Dimension>(&mut self, from: ArrayView<'_, T, D>) -> Result<()> {
        if from.shape() != self.shape() {
            let (from, to) = (tuple(from.shape()), tuple(self.shape()));
            return Err(ShapeError::Broadcast { from, to }.into());
        }
        self.store(from.iter())
    }

    /// Stores values in C order, until either the values or the elements end.
    fn store(&mut self, values: impl Iterator<Item = impl std::borrow::Borrow<T>>) -> Result<()> {
        let mut values = values;
        if T::itemsize(&self.codec) == 0 && size_of::<T>() == 0 {
            // A type of zero size has one value, so checking the first is enough.
            let mut first = values.take(1);
            return first.try_for_each(|value| value.borrow().encode(&self.codec, &mut []));
        }
        self.try_for_each_in_c_order(|codec, bytes| match values.next() {
            Some(value) => replace(value.borrow(), codec, bytes),
            None => Ok(()),
        })
    }

    /// Like [`View::slice`].
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if an index is
    /// out of range, or `info` has too many axes, and
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) for a view of more than
    /// 64 axes.
    pub fn slice(self, info: impl AsRef<[SliceInfoElem]>) -> Result<ViewMut<'a, T>> {
        self.geometry.sliced(info.as_ref()).map(|geometry| self.with(geometry))
    }

    /// Like [`View::index_axis`].
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if the axis or
    /// the index does not exist.
    pub fn index_axis(self, axis: usize, index: usize) -> Result<ViewMut<'a, T>> {
        self.geometry.index_axis(axis, index).map(|geometry| self.with(geometry))
    }

    /// Like [`View::permuted_axes`].
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) unless `axes`
    /// contains each axis once.
    pub fn permuted_axes(self, axes: &[usize]) -> Result<ViewMut<'a, T>> {
        self.geometry.permuted(axes).map(|geometry| self.with(geometry))
    }

    /// Like [`View::reshape`].
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if that requires a
    /// copy or a different number of elements, and
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) for more than 64 axes.
    pub fn reshape(self, shape: &[usize]) -> Result<ViewMut<'a, T>> {
        self.geometry.reshaped(shape).map(|geometry| self.with(geometry))
    }

    /// Iterates over the first axis, with views that no longer have it; yields
    /// nothing for a 0-d view. The views can be sent to different threads.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if the bytes of the
    /// views interleave, as in Fortran order.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::MappedArray;
    ///
    /// let mut grid = MappedArray::zeros(&"<i4".parse()?, &[3, 2])?;
    /// for (value, mut row) in (1..).zip(grid.view_mut::<i32>()?.outer_iter()?) {
    ///     row.fill(&value)?;
    /// }
    /// assert_eq!(grid.view::<i32>()?.to_vec(), [1, 1, 2, 2, 3, 3]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn outer_iter(self) -> Result<OuterIterMut<'a, T>> {
        OuterIterMut::new(self)
    }

    /// Splits the view along `axis` at an index. The halves can be sent to
    /// different threads.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if the axis does
    /// not exist, or is shorter than the index, and
    /// [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if the bytes of the halves
    /// interleave: only the first axis of an array in C order can be split, and
    /// the last in Fortran order.
    pub fn split_at(self, axis: usize, index: usize) -> Result<(ViewMut<'a, T>, ViewMut<'a, T>)> {
        let (low, high) = self.geometry.split_at(axis, index)?;
        let size = T::itemsize(&self.codec);
        let (low_span, high_span) = (low.span(size), high.span(size));
        if low_span.end <= high_span.start || low.is_empty() {
            let (low, high) = self.split_bytes(low, high, low_span.end.min(high_span.start));
            Ok((low, high))
        } else if high_span.end <= low_span.start || high.is_empty() {
            let (high, low) = self.split_bytes(high, low, high_span.end.min(low_span.start));
            Ok((low, high))
        } else {
            Err(ShapeError::Interleaved { axis, shape: tuple(self.shape()) }.into())
        }
    }

    /// Splits the bytes at `at`, which lies between the two geometries.
    fn split_bytes(
        self,
        first: Geometry,
        second: Geometry,
        at: usize,
    ) -> (ViewMut<'a, T>, ViewMut<'a, T>) {
        let at = at.min(self.bytes.len());
        let (before, after) = self.bytes.split_at_mut(at);
        let second = Geometry { offset: second.offset - at, ..second };
        let codec = self.codec.clone();
        (
            ViewMut { bytes: before, geometry: first, codec },
            ViewMut { bytes: after, geometry: second, codec: self.codec },
        )
    }

    /// Splits the view into chunks of `size` along an axis. The last may be
    /// shorter. The chunks can be sent to different threads.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if the axis does
    /// not exist or `size` is 0, [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch)
    /// if the bytes of the chunks interleave, and
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if there is not enough
    /// memory for a list of the chunks.
    pub fn axis_chunks(self, axis: usize, size: usize) -> Result<Vec<ViewMut<'a, T>>> {
        let count = self.geometry.chunk_count(axis, size)?;
        let mut chunks = Vec::new();
        if chunks.try_reserve_exact(count).is_err() {
            let (shape, itemsize) = (tuple(self.shape()), T::itemsize(&self.codec));
            return Err(ShapeError::Size { shape, itemsize }.into());
        }
        let mut rest = self;
        for _ in 1..count {
            let (chunk, after) = rest.split_at(axis, size)?;
            chunks.push(chunk);
            rest = after;
        }
        chunks.extend((count > 0).then_some(rest));
        Ok(chunks)
    }
}

impl Run {
    /// Calls `f` with the bytes of each element of a run that does not go
    /// backward. Skips elements of zero size.
    pub(super) fn try_for_each_mut(
        &self,
        bytes: &mut [u8],
        size: usize,
        f: impl FnMut(&mut [u8]) -> Result<()>,
    ) -> Result<()> {
        match self.forward_mut(bytes, size) {
            Some((bytes, stride)) if stride == size => bytes.chunks_exact_mut(size).try_for_each(f),
            Some((bytes, stride)) => chunks_mut(bytes, stride, size).try_for_each(f),
            // Elements of zero size: a file may claim more of them than a loop could visit.
            None => Ok(()),
        }
    }
}

/// Takes its arguments by value: a reference would force the index and the view
/// of a loop out of registers.
#[cold]
#[inline(never)]
#[expect(clippy::needless_pass_by_value, reason = "a reference would keep it in memory")]
fn index_error(index: Axes<usize>, shape: Axes<usize>) -> crate::error::Error {
    ShapeError::Element { asked: tuple(&index), shape: tuple(&shape) }.into()
}

impl<T: Element> Deref for ViewMut<'_, T> {
    type Target = Geometry;

    #[inline]
    fn deref(&self) -> &Geometry {
        &self.geometry
    }
}

impl<T: Element> fmt::Debug for ViewMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ViewMut").field("view", &self.as_view()).finish()
    }
}

//! Elements of arrays that may not be in memory.

use ndarray::SliceInfoElem;

use crate::dtype::DType;
use crate::error::{RequestError, Result};
use crate::view::DynView;

/// Elements of an array that may not be in memory. Selecting some of them reads nothing.
///
/// [`MappedArray::outline`](crate::MappedArray::outline) returns all elements of an array,
/// and [`window`](crate::MappedArray::window) brings the selected ones into memory.
///
/// # Examples
///
/// ```
/// use npymap::{MappedArray, Source, ndarray::s};
///
/// let source = Source::open("data/penguins.npy")?.into_read_only().on_demand();
/// let penguins = MappedArray::from_source(source)?;
/// let last = penguins.outline().slice(s![-1, ..]);
/// assert_eq!((last.shape(), last.itemsize()), (&[4][..], 8));
/// assert!(last.view().is_err()); // nothing was read
/// assert_eq!(penguins.window(&last)?.view().view::<f64>()?.at(3), 3775.0);
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Outline<'a>(pub(crate) DynView<'a>);

/// Elements that are in memory.
impl<'a> From<DynView<'a>> for Outline<'a> {
    #[inline]
    fn from(view: DynView<'a>) -> Outline<'a> {
        Outline(view)
    }
}

impl<'a> Outline<'a> {
    /// Returns the elements, if they are in memory.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if they are not:
    /// [`MappedArray::window`](crate::MappedArray::window) brings them there.
    #[inline]
    pub fn view(&self) -> Result<DynView<'a>> {
        if self.is_loaded() {
            return Ok(self.0.clone());
        }
        let found = "the elements are not in memory";
        Err(RequestError::Call { found, expected: "`MappedArray::window` to bring them there" }
            .into())
    }

    #[inline]
    pub(crate) fn is_loaded(&self) -> bool {
        let span = self.0.geometry().span(self.itemsize());
        span.is_empty() || span.end <= self.0.raw_bytes().len()
    }

    /// Returns the dtype of the elements.
    #[must_use]
    #[inline]
    pub fn dtype(&self) -> &DType {
        self.0.dtype()
    }

    /// Returns the length of each axis.
    #[must_use]
    #[inline]
    pub fn shape(&self) -> &[usize] {
        self.0.shape()
    }

    /// Returns the bytes from one element to the next, along each axis.
    #[must_use]
    #[inline]
    pub fn byte_strides(&self) -> &[isize] {
        self.0.byte_strides()
    }

    /// Returns the number of axes.
    #[must_use]
    #[inline]
    pub fn ndim(&self) -> usize {
        self.0.ndim()
    }

    /// Returns the number of elements.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no elements.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the size of an element in bytes.
    #[must_use]
    #[inline]
    pub fn itemsize(&self) -> usize {
        self.0.itemsize()
    }

    /// Returns the size of all elements in bytes, or `usize::MAX` if broadcasting makes it
    /// larger.
    #[must_use]
    #[inline]
    pub fn nbytes(&self) -> usize {
        self.len().saturating_mul(self.itemsize())
    }

    /// Selects elements by [`ndarray::s!`] or [`IndexExpr`](crate::IndexExpr), as
    /// [`View::slice`](crate::View::slice) does.
    ///
    /// # Panics
    ///
    /// When an index is out of range, as in ndarray.
    #[must_use]
    #[track_caller]
    pub fn slice(&self, info: impl AsRef<[SliceInfoElem]>) -> Outline<'a> {
        Outline(self.0.slice(info))
    }

    /// Selects elements as [`slice`](Outline::slice), without panicking.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if an index is out of range, or
    /// `info` has too many axes, and [`InvalidInput`](crate::ErrorKind::InvalidInput) for more
    /// than 64 axes.
    pub fn try_slice(&self, info: impl AsRef<[SliceInfoElem]>) -> Result<Outline<'a>> {
        self.0.try_slice(info).map(Outline)
    }

    /// Selects one index along `axis`, removing that axis.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if the axis or the index does not
    /// exist.
    #[inline]
    pub fn index_axis(&self, axis: usize, index: usize) -> Result<Outline<'a>> {
        self.0.index_axis(axis, index).map(Outline)
    }

    /// Splits the elements along `axis` at an index.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if the axis does not exist, or is
    /// shorter than the index.
    #[inline]
    pub fn split_at(&self, axis: usize, index: usize) -> Result<(Outline<'a>, Outline<'a>)> {
        let (low, high) = self.0.split_at(axis, index)?;
        Ok((Outline(low), Outline(high)))
    }

    /// Broadcasts to a shape: repeats axes of length 1, and adds axes before the first.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if any remaining length
    /// differs, and [`InvalidInput`](crate::ErrorKind::InvalidInput) for more than 64 axes.
    #[inline]
    pub fn broadcast(&self, shape: &[usize]) -> Result<Outline<'a>> {
        self.0.broadcast(shape).map(Outline)
    }

    /// Permutes the axes, like NumPy's `transpose(axes)`.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) unless `axes` contains each
    /// axis once.
    #[inline]
    pub fn permuted_axes(&self, axes: &[usize]) -> Result<Outline<'a>> {
        self.0.permuted_axes(axes).map(Outline)
    }

    /// Reverses the axes, like NumPy's `T`.
    #[must_use]
    #[inline]
    pub fn t(&self) -> Outline<'a> {
        Outline(self.0.t())
    }

    /// Selects one field of each element, by name or title. `"pos.z"` is a nested field.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if the field does not exist, and lists
    /// the fields that do, and [`InvalidInput`](crate::ErrorKind::InvalidInput) for more than 64
    /// axes, or more elements of zero size than can be counted.
    #[inline]
    pub fn field(&self, path: &str) -> Result<Outline<'a>> {
        self.0.field(path).map(Outline)
    }

    /// Selects several fields of each element, in the given order.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if a field does not exist, and
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if one is named twice.
    #[inline]
    pub fn fields(&self, names: &[&str]) -> Result<Outline<'a>> {
        self.0.fields(names).map(Outline)
    }

    /// Reinterprets some bytes of each element, starting at `offset`, as `dtype`, like
    /// NumPy's `a.getfield(dtype, offset)`.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if they extend past the end of
    /// the element.
    #[inline]
    pub fn getfield(&self, dtype: &DType, offset: usize) -> Result<Outline<'a>> {
        self.0.getfield(dtype, offset).map(Outline)
    }

    /// Selects the real parts of complex numbers. Other elements stay the same.
    #[must_use]
    #[inline]
    pub fn real(&self) -> Outline<'a> {
        Outline(self.0.real())
    }

    /// Selects the imaginary parts of complex numbers.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) for elements that are not
    /// complex.
    #[inline]
    pub fn imag(&self) -> Result<Outline<'a>> {
        self.0.imag().map(Outline)
    }
}

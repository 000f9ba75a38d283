//! Elements of arrays that may not be in memory.

use std::ops::Deref;
use std::ptr;

use ndarray::SliceInfoElem;

use super::{Origin, Window, window};
use crate::dtype::DType;
use crate::error::{RequestError, Result};
use crate::layout::Geometry;
use crate::layout::offsets;
use crate::source::on_demand::OnDemand;
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
/// let last = penguins.outline().slice(s![-1, ..])?;
/// assert_eq!((last.shape(), last.itemsize()), (&[4][..], 8));
/// assert!(last.view().is_err()); // nothing was read
/// assert_eq!(penguins.window(&last)?.view().view::<f64>()?.at(3), 3775.0);
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Outline<'a> {
    /// The elements, of which only the geometry may be used unless they are in memory.
    pub(crate) view: DynView<'a>,
    /// Where the elements can be read, and the name of that for errors.
    pub(super) source: Option<(&'a OnDemand, &'a Origin)>,
}

/// Elements that are in memory.
impl<'a> From<DynView<'a>> for Outline<'a> {
    #[inline]
    fn from(view: DynView<'a>) -> Outline<'a> {
        Outline { view, source: None }
    }
}

impl<'a> Outline<'a> {
    /// Other elements of the same array.
    #[inline]
    pub(crate) fn with(&self, view: DynView<'a>) -> Outline<'a> {
        Outline { view, source: self.source }
    }

    /// Returns whether the elements can be read from `source`.
    #[inline]
    pub(crate) fn is_of(&self, source: &OnDemand) -> bool {
        self.source.is_some_and(|(own, _)| ptr::eq(own, source))
    }

    /// Brings the elements into memory.
    #[inline]
    pub(super) fn window(&self) -> Result<Window<'a>> {
        match self.source {
            Some((source, origin)) if !self.is_loaded() => {
                let read = window::read(source, self.view.geometry(), self.dtype());
                origin.add_path_on_err(read)
            }
            _ => self.view().map(Window::from),
        }
    }

    /// Returns the elements, if they are in memory.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if they are not:
    /// [`MappedArray::window`](crate::MappedArray::window) brings them there.
    #[inline]
    pub fn view(&self) -> Result<DynView<'a>> {
        if self.is_loaded() {
            return Ok(self.view.clone());
        }
        let found = "the elements are not in memory";
        Err(RequestError::Call { found, expected: "`MappedArray::window` to bring them there" }
            .into())
    }

    #[inline]
    pub(crate) fn is_loaded(&self) -> bool {
        let end = self.view.geometry().span(self.itemsize()).end;
        self.is_empty() || end <= self.view.raw_bytes().len()
    }

    /// Returns the dtype of the elements.
    #[must_use]
    #[inline]
    pub fn dtype(&self) -> &DType {
        self.view.dtype()
    }

    /// Returns the size of an element in bytes.
    #[must_use]
    #[inline]
    pub fn itemsize(&self) -> usize {
        self.view.itemsize()
    }

    /// Returns the size of all elements in bytes, or `usize::MAX` if broadcasting makes it
    /// larger.
    #[must_use]
    #[inline]
    pub fn nbytes(&self) -> usize {
        offsets::nbytes(self.len(), self.itemsize())
    }

    /// Selects elements by [`ndarray::s!`] or the slices of an
    /// [`IndexExpr`](crate::IndexExpr), like [`View::slice`](crate::View::slice).
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if an index is out of range, or
    /// `info` has too many axes, and [`InvalidInput`](crate::ErrorKind::InvalidInput) for more
    /// than 64 axes.
    pub fn slice(&self, info: impl AsRef<[SliceInfoElem]>) -> Result<Outline<'a>> {
        self.view.slice(info).map(|view| self.with(view))
    }

    /// Selects one index along `axis`, removing that axis.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if the axis or the index does not
    /// exist.
    #[inline]
    pub fn index_axis(&self, axis: usize, index: usize) -> Result<Outline<'a>> {
        self.view.index_axis(axis, index).map(|view| self.with(view))
    }

    /// Splits the elements along `axis` at an index.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if the axis does not exist, or is
    /// shorter than the index.
    #[inline]
    pub fn split_at(&self, axis: usize, index: usize) -> Result<(Outline<'a>, Outline<'a>)> {
        let (low, high) = self.view.split_at(axis, index)?;
        Ok((self.with(low), self.with(high)))
    }

    /// Broadcasts to a shape: repeats axes of length 1, and adds axes before the first.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if any remaining length
    /// differs, and [`InvalidInput`](crate::ErrorKind::InvalidInput) for more than 64 axes.
    #[inline]
    pub fn broadcast(&self, shape: &[usize]) -> Result<Outline<'a>> {
        self.view.broadcast(shape).map(|view| self.with(view))
    }

    /// Permutes the axes, like NumPy's `transpose(axes)`.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) unless `axes` contains each
    /// axis once.
    #[inline]
    pub fn permuted_axes(&self, axes: &[usize]) -> Result<Outline<'a>> {
        self.view.permuted_axes(axes).map(|view| self.with(view))
    }

    /// Reverses the axes, like NumPy's `T`.
    #[must_use]
    #[inline]
    pub fn t(&self) -> Outline<'a> {
        self.with(self.view.t())
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
        self.view.field(path).map(|view| self.with(view))
    }

    /// Selects several fields of each element, in the given order.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if a field does not exist, and
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if one is named twice.
    #[inline]
    pub fn fields(&self, names: &[&str]) -> Result<Outline<'a>> {
        self.view.fields(names).map(|view| self.with(view))
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
        self.view.getfield(dtype, offset).map(|view| self.with(view))
    }

    /// Selects the real parts of complex numbers. Other elements stay the same.
    #[must_use]
    #[inline]
    pub fn real(&self) -> Outline<'a> {
        self.with(self.view.real())
    }

    /// Selects the imaginary parts of complex numbers.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) for elements that are not
    /// complex.
    #[inline]
    pub fn imag(&self) -> Result<Outline<'a>> {
        self.view.imag().map(|view| self.with(view))
    }
}

impl Deref for Outline<'_> {
    type Target = Geometry;

    #[inline]
    fn deref(&self) -> &Geometry {
        self.view.geometry()
    }
}

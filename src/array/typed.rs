//! Arrays with an element type and a number of axes that were checked once.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, Range};

use ndarray::{ArrayView, ArrayView1, ArrayViewMut, ArrayViewMut1, Dimension};

use super::MappedArray;
use crate::element::InPlace;
use crate::error::Result;
use crate::error::invariant::Invariant;
use crate::source::map::Map;
use crate::view::zero_sized_slice;

/// An array of elements that are a `T` in memory, with `N` axes.
/// [`MappedArray::into_typed`] returns it.
///
/// This checks everything that can fail. So [`view`](TypedArray::view) returns
/// an ndarray view instead of a `Result`, without comparing dtypes. It
/// takes 50 instructions more than [`Array2::view`](ndarray::ArrayRef::view),
/// and a tenth of the instructions of [`as_ndarray`](MappedArray::as_ndarray).
/// The handle owns the array and is `Send + Sync + 'static`, so it can be kept
/// in a struct or shared by threads. Clones share the map.
///
/// # Examples
///
/// ```
/// use npymap::{MappedArray, array::TypedArray, ndarray::Ix2};
///
/// /// Answers requests for columns.
/// #[derive(Clone)]
/// struct Server {
///     table: TypedArray<f64, Ix2>,
/// }
///
/// impl Server {
///     fn max(&self, column: usize) -> f64 {
///         self.table.view().column(column).fold(0.0, |max, &x| x.max(max))
///     }
/// }
///
/// // SAFETY: no other process writes to or truncates this file while the server runs.
/// let penguins = unsafe { MappedArray::open("data/penguins.npy")? };
/// let server = Server { table: penguins.into_typed()? };
/// let clone = server.clone();
/// let thread = std::thread::spawn(move || clone.max(3));
/// assert_eq!((server.max(2), thread.join().unwrap()), (231.0, 6300.0));
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone)]
pub struct TypedArray<T, N, D = Map> {
    array: MappedArray<D>,
    /// The bytes of the elements in the data of the array.
    bytes: Range<usize>,
    /// The shape, with its axes reversed in Fortran order: elements of this
    /// shape are contiguous in C order, where ndarray has the fewest checks.
    dim: N,
    is_c_order: bool,
    element: PhantomData<fn() -> T>,
}

impl<D: AsRef<[u8]>> MappedArray<D> {
    /// Checks once that the elements can be borrowed as `T` with `N` axes, and
    /// returns a handle whose views cannot fail.
    ///
    /// To keep the array, convert a clone, which shares the map.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if the array does
    /// not have the axes of `N`, and
    /// [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the elements have a
    /// different form than `T` or are not aligned for it, and names a type that
    /// works. Use [`to_cow`] to copy such elements instead. Returns [`Io`](crate::ErrorKind::Io) or
    /// [`Truncated`](crate::ErrorKind::Truncated) if an array of
    /// [`Source::on_demand`](crate::Source::on_demand) can't be brought into memory.
    ///
    /// [`to_cow`]: crate::View::to_cow
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, ndarray::Ix2};
    ///
    /// let penguins = MappedArray::load("data/penguins.npy")?;
    /// let mut table = penguins.into_typed::<f64, Ix2>()?;
    /// table.view_mut()[[0, 3]] += 1.0;
    /// assert_eq!(table.view()[[0, 3]], 3751.0);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn into_typed<T: InPlace, N: Dimension>(self) -> Result<TypedArray<T, N, D>> {
        let view = self.as_ndarray::<T, N>()?;
        let layout = self.layout();
        let (bytes, is_c_order) = (layout.offset()..layout.end(), layout.is_c_contiguous());
        let dim = if is_c_order { view.raw_dim() } else { view.reversed_axes().raw_dim() };
        Ok(TypedArray { array: self, bytes, dim, is_c_order, element: PhantomData })
    }
}

/// # Panics
///
/// The methods that borrow elements panic if `D` returns fewer bytes than
/// before, or returns them at an address not aligned for `T`. Maps, vectors and
/// references never do. A `D` that holds its bytes inline, such as `[u8; 64]`,
/// does when it is moved, unless `T` has an alignment of 1.
impl<T: InPlace, N: Dimension, D: AsRef<[u8]>> TypedArray<T, N, D> {
    /// Returns all elements as an ndarray view, without copying.
    ///
    /// It allocates nothing, unless `N` is `IxDyn` and there are more than four
    /// axes.
    #[inline]
    #[must_use]
    pub fn view(&self) -> ArrayView<'_, T, N> {
        // Takes half the instructions of `ArrayView::from_shape`.
        let view = ArrayView1::from(self.elements());
        let view = view.into_shape_with_order(self.dim.clone()).invariant(CHECKED);
        if self.is_c_order { view } else { view.reversed_axes() }
    }

    /// All elements in memory order.
    #[inline]
    fn elements(&self) -> &[T] {
        let bytes = self.array.data.as_ref().get(self.bytes.clone());
        match bytes.map(bytemuck::try_cast_slice) {
            Some(Ok(elements)) if size_of::<T>() > 0 => elements,
            _ => self.unbacked_elements(),
        }
    }

    /// Elements without bytes. Their address does not matter.
    #[cold]
    #[inline(never)]
    fn unbacked_elements(&self) -> &[T] {
        assert!(self.bytes.is_empty(), "{MOVED}");
        Box::leak(zero_sized_slice(self.array.len()))
    }
}

/// # Panics
///
/// As the methods above.
impl<T: InPlace, N: Dimension, D: AsMut<[u8]>> TypedArray<T, N, D> {
    /// Returns all elements as a mutable ndarray view, without copying.
    #[inline]
    #[must_use]
    pub fn view_mut(&mut self) -> ArrayViewMut<'_, T, N> {
        let (dim, is_c_order) = (self.dim.clone(), self.is_c_order);
        let view = ArrayViewMut1::from(self.elements_mut());
        let view = view.into_shape_with_order(dim).invariant(CHECKED);
        if is_c_order { view } else { view.reversed_axes() }
    }

    /// All elements in memory order.
    #[inline]
    fn elements_mut(&mut self) -> &mut [T] {
        let (len, is_empty) = (self.array.len(), self.bytes.is_empty());
        let bytes = self.array.data.as_mut().get_mut(self.bytes.clone());
        match bytes.map(bytemuck::try_cast_slice_mut) {
            Some(Ok(elements)) if size_of::<T>() > 0 => elements,
            _ => {
                assert!(is_empty, "{MOVED}");
                Box::leak(zero_sized_slice(len))
            }
        }
    }
}

impl<T, N, D> TypedArray<T, N, D> {
    /// Returns the array, to close or to change it.
    #[must_use]
    #[inline]
    pub fn into_array(self) -> MappedArray<D> {
        self.array
    }
}

/// The array: its path, dtype, shape and other views.
impl<T, N, D> Deref for TypedArray<T, N, D> {
    type Target = MappedArray<D>;

    #[inline]
    fn deref(&self) -> &MappedArray<D> {
        &self.array
    }
}

const CHECKED: &str = "the shape was checked when the handle was made";

const MOVED: &str = "the bytes of a typed array are fewer than when it was made, or at an address that is not aligned: use a type that keeps its bytes in place, such as `Vec<u8>`, or `Le` or `Be` elements";

impl<T, N, D: fmt::Debug> fmt::Debug for TypedArray<T, N, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedArray").field("array", &self.array).finish_non_exhaustive()
    }
}

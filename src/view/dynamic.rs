//! Views of elements with a dtype known only at run time.

use super::recast::offset_by;
use super::{View, ViewMut};
use crate::dtype::DType;
use crate::element::Element;
use crate::element::value::Value;
use crate::error::Result;
use crate::layout::geometry::Geometry;
use crate::layout::{Layout, Order};

/// A view with a dtype known only at run time. Its elements are [`Value`]s.
///
/// It can be sliced and reshaped like any [`View`]. Once the type is known,
/// call [`view`](View::view). To select a field, call [`field`](View::field).
///
/// # Examples
///
/// ```
/// use npymap::MappedArray;
///
/// let dtype = "[('id', '<u2'), ('pos', [('x', '<f4'), ('y', '>f4')])]".parse()?;
/// let mut events = MappedArray::zeros(&dtype, &[3])?;
/// events.dyn_view_mut()?.into_field("pos.y")?.into_view::<f32>()?.set(1, 2.5)?;
/// assert_eq!(events.dyn_view()?.field("pos.y")?.view::<f32>()?.to_vec(), [0.0, 2.5, 0.0]);
/// # Ok::<(), npymap::Error>(())
/// ```
pub type DynView<'a> = View<'a, Value>;

/// A writable [`DynView`].
pub type DynViewMut<'a> = ViewMut<'a, Value>;

impl<'a> View<'a, Value> {
    /// Returns the dtype of the elements.
    #[must_use]
    #[inline]
    pub fn dtype(&self) -> &DType {
        &self.codec
    }

    /// Views the elements as `T`.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if they cannot be
    /// viewed as `T`, and names a type that works.
    pub fn view<T: Element>(&self) -> Result<View<'a, T>> {
        let codec = T::codec(self.dtype())?;
        Ok(View { bytes: self.bytes, geometry: self.geometry.clone(), codec })
    }

    /// Views one field of each element, by name or title. `"pos.z"` is a nested
    /// field. The axes of a subarray follow the other axes.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if the field does not
    /// exist, and lists the fields that do. Returns
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) for more than 64 axes,
    /// or more elements of zero size than can be counted.
    #[inline]
    pub fn field(&self, path: &str) -> Result<DynView<'a>> {
        let (geometry, codec) = field_geometry(&self.geometry, self.dtype(), path)?;
        Ok(View { bytes: self.bytes, geometry, codec })
    }

    /// Views several fields of each element, in the given order: NumPy's
    /// `a[['x', 'y']]`. A nested field has its path, such as `pos.z`, as its name. To read
    /// them as Rust values, view them as a tuple.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if a field does not
    /// exist. Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if one
    /// is named twice.
    #[inline]
    pub fn fields(&self, names: &[&str]) -> Result<DynView<'a>> {
        let codec = self.dtype().select(names)?;
        Ok(View { bytes: self.bytes, geometry: self.geometry.clone(), codec })
    }

    /// Returns the bytes of each element as they are stored, in C order.
    #[inline]
    pub fn element_bytes(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        let size = self.itemsize();
        let bytes = self.bytes;
        self.geometry.runs().flat_map(move |run| run.elements(bytes, size))
    }
}

impl<'a> ViewMut<'a, Value> {
    /// Returns the dtype of the elements.
    #[must_use]
    #[inline]
    pub fn dtype(&self) -> &DType {
        &self.codec
    }

    /// Views the elements as `T`.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the elements
    /// cannot be viewed as `T`, and names a type that works.
    pub fn into_view<T: Element>(self) -> Result<ViewMut<'a, T>> {
        let codec = T::codec(self.dtype())?;
        Ok(ViewMut { bytes: self.bytes, geometry: self.geometry, codec })
    }

    /// Views one field of each element, like [`View::field`].
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if the field does not
    /// exist, and lists the fields that do, and
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) for more than 64 axes,
    /// or more elements of zero size than can be counted.
    #[inline]
    pub fn into_field(self, path: &str) -> Result<DynViewMut<'a>> {
        let (geometry, codec) = field_geometry(&self.geometry, &self.codec, path)?;
        Ok(ViewMut { bytes: self.bytes, geometry, codec })
    }
}

/// The geometry and dtype of a field.
#[inline]
pub(crate) fn field_geometry(
    geometry: &Geometry,
    dtype: &DType,
    path: &str,
) -> Result<(Geometry, DType)> {
    let (name, rest) = dtype.split_path(path);
    let field = dtype.field(name)?;
    let inner = with_subarrays(offset_by(geometry, field.offset), field.dtype.clone())?;
    match rest {
        Some(rest) => field_geometry(&inner.0, &inner.1, rest),
        None => Ok(inner),
    }
}

/// Appends the axes of a subarray to the geometry. Fails when the number of
/// elements overflows, which is possible for elements of zero size.
#[inline]
pub(super) fn with_subarrays(geometry: Geometry, dtype: DType) -> Result<(Geometry, DType)> {
    let Some((base, shape)) = dtype.subarray() else { return Ok((geometry, dtype)) };
    let items = Layout::new(base.clone(), shape, Order::C, 0)?;
    let mut geometry = geometry;
    geometry.shape.extend(shape.iter().copied());
    geometry.strides.extend(items.byte_strides().iter().copied());
    with_subarrays(geometry.check_countable(base.itemsize())?, base.clone())
}

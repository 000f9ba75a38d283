//! Views of elements whose dtype is known at run time only.

use super::recast::behind;
use super::{View, ViewMut};
use crate::dtype::DType;
use crate::element::Element;
use crate::element::value::Value;
use crate::error::Result;
use crate::layout::axes::Axes;
use crate::layout::geometry::{Geometry, signed};

/// A view whose dtype is known at run time; its elements are [`Value`]s.
///
/// All that changes the geometry works as on any [`View`]. Knowing the type,
/// go on with [`view`](View::view); looking for a field, with
/// [`field`](View::field).
///
/// # Examples
///
/// ```
/// use npymap::MappedArray;
///
/// let dtype = "[('id', '<u2'), ('pos', [('x', '<f4'), ('y', '>f4')])]".parse()?;
/// let mut events = MappedArray::anonymous(&dtype, &[3])?;
/// events.field_mut("pos.y")?.into_view::<f32>()?.set(1, 2.5)?;
/// assert_eq!(events.field("pos.y")?.view::<f32>()?.to_vec(), [0.0, 2.5, 0.0]);
/// # Ok::<(), npymap::Error>(())
/// ```
pub type DynView<'a> = View<'a, Value>;

/// A [`DynView`] that may be written.
pub type DynViewMut<'a> = ViewMut<'a, Value>;

impl<'a> View<'a, Value> {
    /// What each element is.
    #[must_use]
    pub fn dtype(&self) -> &DType {
        &self.codec
    }

    /// The same elements as `T`.
    ///
    /// # Errors
    ///
    /// [`WrongDType`](crate::ErrorKind::WrongDType) when they are no `T`,
    /// naming a type that works.
    pub fn view<T: Element>(&self) -> Result<View<'a, T>> {
        let codec = T::codec(self.dtype())?;
        Ok(View { bytes: self.bytes, geometry: self.geometry.clone(), codec })
    }

    /// One field of each element, by name or title; `"pos.z"` is a field of a
    /// field. Subarrays become axes behind the others.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when there is no such
    /// field, naming those there are.
    pub fn field(&self, path: &str) -> Result<DynView<'a>> {
        let (geometry, codec) = field_geometry(&self.geometry, self.dtype(), path)?;
        Ok(View { bytes: self.bytes, geometry, codec })
    }

    /// Several fields of each element, in that order: NumPy's
    /// `a[['x', 'y']]`. A tuple views them typed.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when there is no such
    /// field, or one is named twice.
    pub fn fields(&self, names: &[&str]) -> Result<DynView<'a>> {
        let codec = self.dtype().select(names)?;
        Ok(View { bytes: self.bytes, geometry: self.geometry.clone(), codec })
    }

    /// The bytes of each element as they are stored, in C order.
    pub fn element_bytes(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        let size = self.itemsize();
        let bytes = self.bytes;
        self.geometry.runs().flat_map(move |run| run.elements(bytes, size))
    }
}

impl<'a> ViewMut<'a, Value> {
    /// What each element is.
    #[must_use]
    pub fn dtype(&self) -> &DType {
        &self.codec
    }

    /// The same elements as `T`.
    ///
    /// # Errors
    ///
    /// As [`View::view`].
    pub fn into_view<T: Element>(self) -> Result<ViewMut<'a, T>> {
        let codec = T::codec(self.dtype())?;
        Ok(ViewMut { bytes: self.bytes, geometry: self.geometry, codec })
    }

    /// One field of each element, as [`View::field`].
    ///
    /// # Errors
    ///
    /// As [`View::field`].
    pub fn into_field(self, path: &str) -> Result<DynViewMut<'a>> {
        let (geometry, codec) = field_geometry(&self.geometry, &self.codec, path)?;
        Ok(ViewMut { bytes: self.bytes, geometry, codec })
    }

    /// Several fields of each element, as [`View::fields`]; writing them
    /// leaves the others alone.
    ///
    /// # Errors
    ///
    /// As [`View::fields`].
    pub fn into_fields(self, names: &[&str]) -> Result<DynViewMut<'a>> {
        let codec = self.codec.select(names)?;
        Ok(ViewMut { codec, ..self })
    }
}

/// Where a field lies in each element, and what it is.
pub(crate) fn field_geometry(
    geometry: &Geometry,
    dtype: &DType,
    path: &str,
) -> Result<(Geometry, DType)> {
    let (name, rest) = split(dtype, path);
    let found = dtype.field(name)?;
    let inner = with_subarrays(behind(geometry, found.offset), found.dtype.clone())?;
    match rest {
        Some(rest) => field_geometry(&inner.0, &inner.1, rest),
        None => Ok(inner),
    }
}

/// AxisSlices a path behind its first field. Names may hold dots, so the longest
/// name there is counts.
fn split<'p>(dtype: &DType, path: &'p str) -> (&'p str, Option<&'p str>) {
    let dots = path.rmatch_indices('.').map(|(at, _)| (path.get(..at), path.get(at + 1..)));
    let whole = std::iter::once((Some(path), None));
    let named = |(name, _): &(Option<&str>, _)| name.is_some_and(|name| dtype.field(name).is_ok());
    match whole.chain(dots).find(named) {
        Some((Some(name), rest)) => (name, rest),
        _ => path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest))),
    }
}

/// Turns the axes of a subarray into axes of the geometry, if all together
/// are axes an array can have: those of no bytes cost a file nothing.
pub(super) fn with_subarrays(geometry: Geometry, dtype: DType) -> Result<(Geometry, DType)> {
    let Some((base, shape)) = dtype.subarray() else { return Ok((geometry, dtype)) };
    let mut stride = signed(base.itemsize());
    let mut strides: Axes<isize> = Axes::new();
    for &dim in shape.iter().rev() {
        strides.push(stride);
        stride = stride.saturating_mul(signed(dim));
    }
    let mut geometry = geometry;
    geometry.shape.extend(shape.iter().copied());
    geometry.strides.extend(strides.iter().rev().copied());
    with_subarrays(geometry.check_countable(base.itemsize())?, base.clone())
}

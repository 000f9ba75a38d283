//! Writes part of an array to its file, from another array.

use ndarray::SliceInfoElem;

use super::copy::{Conversion, assign_over};
use super::edit::{BLOCK, MAX_WRITES, selected};
use super::tiles::{Tiles, part_at};
use super::{MappedArray, MappedArrayMut, Place};
use crate::dtype::DType;
use crate::element::cast::Casting;
use crate::element::recode::has_gaps;
use crate::error::{Result, memory};
use crate::layout::Layout;
use crate::layout::geometry::Geometry;
use crate::source::map::{MapMut, stores::Stores};
use crate::view::{DynView, DynViewMut};

impl MappedArrayMut {
    /// Writes the elements of a view, [broadcast](crate::View::broadcast) and
    /// cast, to the elements that `slice` selects, or to a field of them, such as
    /// `"x"` or `"pos.z"`, and returns the number of elements.
    ///
    /// As with [`write_fill_slice`](MappedArray::write_fill_slice), only their
    /// bytes are written, and a full disk returns an error. Bytes of the
    /// elements that belong to no field are kept. `from` must not be a view of
    /// the same file.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if the array is in
    /// memory or copy-on-write, or its file was opened with `O_APPEND`. Returns
    /// [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if an index is out of range,
    /// [`NotFound`](crate::ErrorKind::NotFound) if the field does not exist,
    /// [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if `from` cannot be broadcast
    /// to the selection, and [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the
    /// cast is not allowed. These errors leave the file unchanged. Returns
    /// [`InvalidValue`](crate::ErrorKind::InvalidValue) for a value that cannot be
    /// cast, and [`Io`](crate::ErrorKind::Io) if writing fails. Some elements have
    /// then been written.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::element::Casting;
    /// use npymap::ndarray::{arr2, s};
    /// use npymap::{DType, MappedArray};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("a.npy");
    /// npymap::WriteOptions::new().write(&path, &arr2(&[[1_u8, 2, 3], [4, 5, 6]]))?;
    /// // SAFETY: no other process knows of the file.
    /// let mut array = unsafe { MappedArray::open_mut(&path)? };
    /// let mut row = MappedArray::zeros(&DType::of::<f64>(), &[2])?;
    /// row.as_slice_mut()?.copy_from_slice(&[7.0, 8.0]);
    /// array.write_slice(s![.., 1..], None, &row.dyn_view()?, Casting::SameValue)?;
    /// assert_eq!(array.as_slice::<u8>()?, [1, 7, 8, 4, 7, 8]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_slice(
        &mut self,
        slice: impl AsRef<[SliceInfoElem]>,
        field: Option<&str>,
        from: &DynView<'_>,
        casting: Casting,
    ) -> Result<usize> {
        let MappedArray { place: Place { layout, .. }, data, origin } = self;
        let target = Target { layout, slice: slice.as_ref(), field };
        origin.add_path_on_err(target.write(data, from, casting))
    }
}

/// The elements to write.
struct Target<'a> {
    layout: &'a Layout,
    slice: &'a [SliceInfoElem],
    field: Option<&'a str>,
}

impl Target<'_> {
    #[inline]
    fn write(&self, data: &mut MapMut, from: &DynView<'_>, casting: Casting) -> Result<usize> {
        data.check_writable()?;
        let selected = selected(self.layout, self.slice, self.field)?;
        let from = from.broadcast(selected.shape())?;
        let conversion = Conversion::new(from.dtype(), selected.dtype(), casting)?;
        let (count, size) = (selected.len(), selected.itemsize());
        if count == 0 || size == 0 {
            return Ok(count);
        }
        let writes = selected.byte_ranges(BLOCK).size_hint().0;
        let (geometry, dtype) = (selected.geometry().clone(), selected.dtype().clone());
        let is_scattered = writes > MAX_WRITES && !data.is_sparse()?;
        if is_scattered && data.is_mapped() {
            self.store(data, &from, casting)?;
        } else {
            let all = self.layout.geometry().span(self.layout.dtype().itemsize());
            let end = is_scattered.then_some(all.end);
            write_tiles((data, end), (&geometry, &dtype), &from, (&conversion, casting))?;
        }
        Ok(count)
    }

    /// Stores the elements through the map.
    #[inline]
    fn store(&self, data: &mut MapMut, from: &DynView<'_>, casting: Casting) -> Result<()> {
        let target = DynViewMut::from_bytes(data.as_mut(), self.layout)?.slice(self.slice)?;
        let mut target = match self.field {
            Some(field) => target.into_field(field)?,
            None => target,
        };
        target.assign_as(from, casting)
    }
}

/// Writes elements of a geometry and dtype tile by tile in memory order. If they are
/// scattered, the end of the array is known, whose parts are mapped.
#[inline]
fn write_tiles(
    (data, end): (&mut MapMut, Option<usize>),
    (to, dtype): (&Geometry, &DType),
    from: &DynView<'_>,
    (conversion, casting): (&Conversion, Casting),
) -> Result<()> {
    let (size, has_gaps) = (dtype.itemsize(), has_gaps(dtype));
    // In the order of the file, so that runs are as long as possible.
    let (axes, descending) = (to.axes_by_stride(), to.descending_axes());
    let in_order = |of: &Geometry| of.flipped(&descending).permuted(&axes);
    let (to, from_geometry) = (in_order(to)?, in_order(from.geometry())?);
    let tiles = Tiles::new(&from_geometry, size.max(from.itemsize()), None, 1);
    let tile = tiles.tile.clone();
    let mut buffer = Vec::new();
    for index in tiles {
        let part = part_at(&from_geometry, &index, &tile);
        let part = DynView::from_parts(from.raw_bytes(), part, from.dtype().clone());
        let own_part = part_at(&to, &index, &tile);
        if has_gaps {
            // Keep the bytes that belong to no field.
            memory::resize(&mut buffer, part.len() * size)?;
            let mut rest = buffer.as_mut_slice();
            for (start, len) in own_part.byte_runs(size) {
                let (own, after) = rest.split_at_mut(len);
                data.read(start, own)?;
                rest = after;
            }
            assign_over(&mut buffer, dtype, &part, casting)?;
        } else {
            conversion.convert(&part, &mut buffer)?;
        }
        let mut rest = buffer.as_slice();
        let mut stores = Stores::new(data, end);
        for (start, len) in own_part.byte_runs(size) {
            let (own, after) = rest.split_at(len);
            stores.write(start, own)?;
            rest = after;
        }
    }
    Ok(())
}

//! Copies arrays into files with writes, in any memory order and size.

use std::iter;
use std::ops::Range;

use super::{MappedArray, MappedArrayMut};
use crate::dtype::literal::tuple;
use crate::dtype::{ByteOrder, DType, Kind};
use crate::element::cast::Casting;
use crate::element::recode::Recoding;
use crate::error::invariant::{IN_BUFFER, Invariant, elements};
use crate::error::{Result, ShapeError};
use crate::layout::axes::Axes;
use crate::layout::geometry::Geometry;
use crate::layout::{Layout, Order};
use crate::source::Advice;
use crate::source::pages::sealed::Pages as _;
use crate::view::{DynView, check_assign};

/// The longest write when both arrays have the same order, in bytes.
const BLOCK: usize = 8 << 20;

/// The size of a tile when the orders differ, in bytes: large enough that most
/// pages on either side belong to one tile.
pub(super) const TILE: usize = 64 << 20;

/// The unit in which zeros are skipped, in bytes.
const PAGE: usize = 4096;

impl MappedArrayMut {
    /// Writes all elements of another array of the same shape to this one's
    /// file. The arrays may be in different memory orders and of any size, and
    /// `from` may have any dtype that `casting` allows:
    /// [`Casting::Equiv`] only lets byte orders and the offsets of fields differ.
    ///
    /// Elements are copied tile by tile with positioned writes, so each page of
    /// either file is read or written once or twice. Stores through a map would
    /// write pages many times if the file is larger than memory.
    ///
    /// Elements that differ in byte order at most are copied byte for byte,
    /// including padding. Others are cast as by
    /// [`assign_as`](crate::ViewMut::assign_as), and their padding becomes zeros.
    ///
    /// `progress` is called with the number of bytes of this array's elements
    /// after each write. The numbers add up to `nbytes()`.
    ///
    /// # Errors
    ///
    /// Before anything is written: [`WrongShape`](crate::ErrorKind::WrongShape)
    /// for another shape, [`WrongDType`](crate::ErrorKind::WrongDType) for a cast
    /// that is not allowed, and [`InvalidInput`](crate::ErrorKind::InvalidInput)
    /// as for [`write_elements`](MappedArray::write_elements). After that
    /// [`Io`](crate::ErrorKind::Io), and the errors of
    /// [`assign_as`](crate::ViewMut::assign_as) for values that cannot be cast.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{CreateOptions, MappedArray, Order, element::Casting};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("columns.npy");
    /// // SAFETY: nobody else changes or truncates the files meanwhile.
    /// let penguins = unsafe { MappedArray::open("data/penguins.npy")? };
    /// let options = CreateOptions::new().order(Order::F);
    /// // SAFETY: as above.
    /// let mut columns = unsafe {
    ///     MappedArray::create(&path, penguins.dtype(), penguins.shape(), &options)?
    /// };
    /// columns.write_array(&penguins, Casting::Equiv, |_| {})?;
    /// assert_eq!(columns.view::<f64>()?.at([341, 3]), 3775.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_array(
        &mut self,
        from: &MappedArray,
        casting: Casting,
        mut progress: impl FnMut(usize),
    ) -> Result<()> {
        self.write_whole(from, casting, Zeros::Written, &mut progress)
    }

    /// Does the same as [`write_array`](MappedArray::write_array) for an array
    /// that is all zeros, as new ones are: holes of `from` (see
    /// [`stored_ranges`](MappedArray::stored_ranges)) are not read where zeros
    /// stay zeros, and pages of zeros are not written. A sparse file stays
    /// sparse if this array was [created sparse](crate::CreateOptions::sparse).
    /// Skipped bytes are reported to `progress` like written ones.
    ///
    /// # Errors
    ///
    /// As [`write_array`](MappedArray::write_array).
    pub fn write_array_over_zeros(
        &mut self,
        from: &MappedArray,
        casting: Casting,
        mut progress: impl FnMut(usize),
    ) -> Result<()> {
        self.write_whole(from, casting, Zeros::Skipped, &mut progress)
    }

    /// Does the same as [`write_array`](MappedArray::write_array) for a view: part
    /// of an array, with axes in any order, or some of its fields.
    ///
    /// # Errors
    ///
    /// As [`write_array`](MappedArray::write_array).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{CreateOptions, MappedArray, element::Casting, ndarray::s};
    ///
    /// let penguins = MappedArray::read("data/penguins.npy")?;
    /// let some = penguins.dyn_view()?.slice(s![..;2, ..2]);
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("some.npy");
    /// // SAFETY: nobody else knows of the file yet.
    /// let mut array = unsafe {
    ///     MappedArray::create(&path, some.dtype(), some.shape(), &CreateOptions::new())?
    /// };
    /// array.write_view(&some, Casting::Equiv, |_| {})?;
    /// assert_eq!(array.view::<f64>()?.at([1, 0]), 40.3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_view(
        &mut self,
        from: &DynView<'_>,
        casting: Casting,
        mut progress: impl FnMut(usize),
    ) -> Result<()> {
        self.write_tiles(
            Original { view: from.clone(), array: None },
            casting,
            Zeros::Written,
            &mut progress,
        )
    }

    fn write_whole(
        &mut self,
        from: &MappedArray,
        casting: Casting,
        zeros: Zeros,
        progress: &mut dyn FnMut(usize),
    ) -> Result<()> {
        let view = from.dyn_view()?;
        self.write_tiles(Original { view, array: Some(from) }, casting, zeros, progress)
    }

    fn write_tiles(
        &mut self,
        from: Original<'_>,
        casting: Casting,
        zeros: Zeros,
        progress: &mut dyn FnMut(usize),
    ) -> Result<()> {
        let conversion = self.origin.add_path_on_err(self.conversion_from(&from.view, casting))?;
        self.origin.add_path_on_err(self.data.check_writable())?;
        // Everything is read if the holes are not known.
        let stored = match (zeros, from.array) {
            (Zeros::Skipped, Some(array)) if conversion.keeps_zeros(array.dtype()) => {
                array.stored_ranges().ok()
            }
            _ => None,
        };
        let buffer = Vec::new();
        Writer { to: self, from, conversion, stored, zeros, buffer, progress }.write()
    }

    /// Checks the shape and dtype of a view, and selects the conversion.
    fn conversion_from(&self, from: &DynView<'_>, casting: Casting) -> Result<Conversion> {
        if from.shape() != self.shape() {
            let (from, to) = (tuple(from.shape()), tuple(self.shape()));
            return Err(ShapeError::Broadcast { from, to }.into());
        }
        Conversion::new(from.dtype(), self.dtype(), casting)
    }
}

/// How elements are converted.
pub(super) enum Conversion {
    /// Copied, possibly in another byte order.
    Recode(Recoding),
    /// Cast to another dtype.
    Cast(DType, Casting),
}

impl Conversion {
    /// Selects the conversion, if `casting` allows it.
    pub(super) fn new(from: &DType, to: &DType, casting: Casting) -> Result<Conversion> {
        if from == to {
            return Ok(Conversion::Recode(Recoding::new(from, None, false)));
        }
        check_assign(from, to, casting)?;
        let mut orders = [ByteOrder::Little, ByteOrder::Big].into_iter();
        Ok(match orders.find(|&order| from.with_byte_order(order) == *to) {
            Some(order) => Conversion::Recode(Recoding::new(from, Some(order), false)),
            None => Conversion::Cast(to.clone(), casting),
        })
    }

    /// Whether elements whose bytes are all zero stay so.
    fn keeps_zeros(&self, from: &DType) -> bool {
        match self {
            Conversion::Recode(_) => true,
            Conversion::Cast(to, _) => is_number(from) && is_number(to),
        }
    }

    /// Fills `buffer` with the converted elements of `from`, in C order.
    pub(super) fn convert(&self, from: &DynView<'_>, buffer: &mut Vec<u8>) -> Result<()> {
        match self {
            Conversion::Recode(recode) => {
                buffer.resize(from.len() * recode.format.size, 0);
                from.copy_recoded(recode, buffer);
                Ok(())
            }
            Conversion::Cast(dtype, casting) => {
                // Casts do not write padding.
                buffer.clear();
                buffer.resize(from.len() * dtype.itemsize(), 0);
                let layout = Layout::new(dtype.clone(), from.shape(), Order::C, 0)?;
                let mut tile = MappedArray::from_parts(buffer.as_mut_slice(), layout)?;
                tile.dyn_view_mut()?.assign_as(from, *casting)
            }
        }
    }
}

/// Whether elements are numbers, for which zero bytes are 0. The number 0 as text
/// is "0", which is not zero bytes.
fn is_number(dtype: &DType) -> bool {
    matches!(dtype.kind(), Kind::Bool | Kind::Int | Kind::UInt | Kind::Float | Kind::Complex)
}

/// Whether pages of zeros are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Zeros {
    Written,
    Skipped,
}

/// What is copied.
struct Original<'a> {
    view: DynView<'a>,
    /// The array, if all of it is copied.
    array: Option<&'a MappedArray>,
}

/// A copy in progress.
struct Writer<'a> {
    to: &'a mut MappedArrayMut,
    from: Original<'a>,
    conversion: Conversion,
    /// The bytes of `from`, counted from its first element, that are not in
    /// holes; `None` if all are read.
    stored: Option<Vec<Range<usize>>>,
    zeros: Zeros,
    buffer: Vec<u8>,
    progress: &'a mut dyn FnMut(usize),
}

impl Writer<'_> {
    fn write(&mut self) -> Result<()> {
        let from = self.from.view.clone();
        let (size, to_size) = (from.itemsize(), self.to.dtype().itemsize());
        if from.is_empty() || to_size == 0 {
            return Ok(());
        }
        let to = self.to.place.layout.geometry();
        let axes = to.axes_by_stride();
        let (to, from_geometry) = (to.permuted(&axes)?, from.geometry().permuted(&axes)?);
        let is_in_order = from_geometry.is_contiguous(size) && to.is_contiguous(to_size);
        if is_in_order && size > 0 {
            let start = to.span(to_size).start;
            return self.write_in_order(&from, from_geometry.span(size), start);
        }
        let tile = tile_shape(&from_geometry, (TILE / size.max(to_size)).max(1));
        let mut index = vec![0; tile.len()];
        loop {
            let from_part = tile_geometry(&from_geometry, &index, &tile);
            let part = DynView::from_parts(from.raw_bytes(), from_part, from.dtype().clone());
            self.write_tile(&part, &tile_geometry(&to, &index, &tile), from_geometry.offset)?;
            if !next_tile(&mut index, &tile, &from_geometry.shape) {
                return Ok(());
            }
        }
    }

    /// Copies elements that are contiguous and in the same order in both arrays.
    fn write_in_order(
        &mut self,
        from: &DynView<'_>,
        span: Range<usize>,
        start: usize,
    ) -> Result<()> {
        let (size, to_size) = (from.itemsize(), self.to.dtype().itemsize());
        let (offset, bytes) = (span.start, elements(from.raw_bytes(), span));
        let block = (BLOCK / size.max(to_size)).max(1) * size;
        let mut copied = 0;
        for range in self.stored.take().unwrap_or_else(|| iter::once(0..bytes.len()).collect()) {
            // Write whole elements, and none twice.
            let first = (range.start / size * size).max(copied);
            self.report((first - copied) / size * to_size);
            let end = range.end.next_multiple_of(size).min(bytes.len());
            for at in (first..end).step_by(block) {
                let len = block.min(end - at);
                let to = start + at / size * to_size;
                if matches!(&self.conversion, Conversion::Recode(recode) if recode.is_identity()) {
                    self.write_bytes(to, bytes.get(at..at + len).invariant(IN_BUFFER))?;
                    continue;
                }
                let part = Geometry::line(offset + at, len / size, size);
                let part = DynView::from_parts(from.raw_bytes(), part, from.dtype().clone());
                let converted = self.convert(&part)?;
                self.write_bytes(to, &converted)?;
                self.buffer = converted;
            }
            copied = end.max(copied);
        }
        self.report((bytes.len() - copied) / size * to_size);
        Ok(())
    }

    /// Copies a tile. `first` is the offset of the first element of `from`.
    fn write_tile(&mut self, from: &DynView<'_>, to: &Geometry, first: usize) -> Result<()> {
        let to_size = self.to.dtype().itemsize();
        if !self.has_bytes(from, first) {
            self.report(from.len() * to_size);
            return Ok(());
        }
        self.read_ahead(from);
        let converted = self.convert(from)?;
        let mut rest = converted.as_slice();
        for (start, len) in to.byte_runs(to_size) {
            let (own, after) = rest.split_at(len);
            self.write_bytes(start, own)?;
            rest = after;
        }
        self.buffer = converted;
        Ok(())
    }

    /// Has the system read a tile. Page faults would read past the end of each
    /// run, into other tiles, and read those pages again for them.
    fn read_ahead(&self, tile: &DynView<'_>) {
        let Some(array) = self.from.array else { return };
        for (start, len) in tile.geometry().memory_order().byte_runs(tile.itemsize()) {
            if len >= PAGE {
                // Without it the pages are read when they are touched.
                drop(array.data.advise(start..start + len, Advice::WillNeed));
            }
        }
    }

    /// Converts elements into the buffer, which the caller puts back after use.
    fn convert(&mut self, from: &DynView<'_>) -> Result<Vec<u8>> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let converted = self.conversion.convert(from, &mut buffer);
        match self.from.array {
            Some(array) => array.origin.add_path_on_err(converted)?,
            None => converted?,
        }
        Ok(buffer)
    }

    /// Whether any element of a tile is outside holes.
    fn has_bytes(&self, tile: &DynView<'_>, first: usize) -> bool {
        let Some(stored) = &self.stored else { return true };
        // Runs are longest in memory order.
        tile.geometry().memory_order().byte_runs(tile.itemsize()).any(|(start, len)| {
            let run = start - first..start - first + len;
            let next = stored.partition_point(|range| range.end <= run.start);
            stored.get(next).is_some_and(|range| range.start < run.end)
        })
    }

    /// Writes bytes at an offset, except pages of zeros if these are skipped.
    fn write_bytes(&mut self, at: usize, bytes: &[u8]) -> Result<()> {
        let written = match self.zeros {
            Zeros::Written => self.to.data.write(at, bytes),
            Zeros::Skipped => self.write_nonzero_pages(at, bytes),
        };
        self.to.origin.add_path_on_err(written)?;
        self.report(bytes.len());
        Ok(())
    }

    /// Reports bytes that were written or skipped.
    fn report(&mut self, nbytes: usize) {
        if nbytes > 0 {
            (self.progress)(nbytes);
        }
    }

    /// Writes the pages that are not all zeros.
    fn write_nonzero_pages(&mut self, at: usize, bytes: &[u8]) -> Result<()> {
        let pages: Vec<_> = bytes.chunks(PAGE).enumerate().collect();
        for pages in pages.chunk_by(|(_, a), (_, b)| !is_zero(a) && !is_zero(b)) {
            let (Some((first, page)), len) =
                (pages.first(), pages.iter().map(|(_, p)| p.len()).sum::<usize>())
            else {
                continue;
            };
            if !is_zero(page) {
                let start = first * PAGE;
                let part = bytes.get(start..start + len).invariant(IN_BUFFER);
                self.to.data.write(at + start, part)?;
            }
        }
        Ok(())
    }
}

fn is_zero(page: &[u8]) -> bool {
    page.iter().all(|&byte| byte == 0)
}

/// The tile at `index`, shorter at the end of an axis.
pub(super) fn tile_geometry(geometry: &Geometry, index: &[usize], tile: &[usize]) -> Geometry {
    let axes = index.iter().zip(tile).zip(&geometry.shape).enumerate();
    axes.fold(geometry.clone(), |part, (axis, ((&at, &len), &dim))| {
        part.axis_range(axis, at, len.min(dim - at))
    })
}

/// The shape of tiles of at most `elements` elements. The last axis is the
/// fastest in the target. Tiles are as long along it as along the axis that is
/// the fastest in `from`, so that reads and writes are equally long.
pub(super) fn tile_shape(from: &Geometry, elements: usize) -> Vec<usize> {
    let shape = &from.shape;
    let mut tile = vec![1; shape.len()];
    let strides = from.strides.iter().map(|stride| stride.unsigned_abs());
    let long = strides.zip(shape.iter()).enumerate().filter(|(_, (_, dim))| **dim > 1);
    let read = long.min_by_key(|(_, (stride, _))| *stride).map_or(0, |(axis, _)| axis);
    let written = (0..shape.len()).rev().find(|&axis| dim(shape, axis) > 1).unwrap_or(0);
    let side = elements.isqrt().max(elements / dim(shape, read).max(1));
    let mut room = elements;
    let order = [(written, side), (read, elements)].into_iter();
    for (axis, most) in order.chain((0..shape.len()).rev().map(|axis| (axis, elements))) {
        match tile.get_mut(axis) {
            Some(len) if *len == 1 => {
                *len = dim(shape, axis).min(most).min(room).max(1);
                room /= *len;
            }
            _ => {}
        }
    }
    tile
}

fn dim(shape: &[usize], axis: usize) -> usize {
    shape.get(axis).copied().unwrap_or(1)
}

/// Advances to the next tile in C order; returns false after the last.
pub(super) fn next_tile(index: &mut [usize], tile: &[usize], shape: &Axes<usize>) -> bool {
    for ((at, &len), &dim) in index.iter_mut().zip(tile).zip(shape).rev() {
        *at += len;
        if *at < dim {
            return true;
        }
        *at = 0;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry(shape: &[usize], strides: &[isize]) -> Geometry {
        Geometry {
            offset: 0,
            shape: shape.iter().copied().collect(),
            strides: strides.iter().copied().collect(),
        }
    }

    #[test]
    fn tiles_are_long_along_both_fast_axes() {
        assert_eq!(tile_shape(&geometry(&[10_000, 10_000], &[8, 80_000]), 1 << 20), [1024, 1024]);
        assert_eq!(tile_shape(&geometry(&[10_000, 3], &[8, 80_000]), 1 << 20), [10_000, 3]);
        assert_eq!(tile_shape(&geometry(&[3, 1_000_000], &[8, 24]), 1 << 20), [3, 349_525]);
        assert_eq!(
            tile_shape(&geometry(&[100, 5000, 5000], &[8, 800, 4_000_000]), 1 << 20),
            [100, 2, 5000]
        );
    }
}

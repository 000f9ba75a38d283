//! Copies arrays into files by writes, whatever their orders and sizes.

use std::iter;
use std::ops::Range;

use super::{MappedArray, MappedArrayMut};
use crate::dtype::literal::tuple;
use crate::dtype::{ByteOrder, DType};
use crate::element::cast::{Casting, check_cast};
use crate::element::recode::Recoding;
use crate::error::invariant::{IN_BUFFER, Invariant, elements};
use crate::error::{DTypeError, Result, ShapeError};
use crate::layout::axes::Axes;
use crate::layout::geometry::Geometry;
use crate::view::DynView;

/// The longest write when both arrays are in one order, in bytes.
const BLOCK: usize = 8 << 20;

/// The size of a tile when axes change places, in bytes: large enough that most
/// pages on either side belong to one tile.
const TILE: usize = 64 << 20;

/// The unit in which zeros are left out of sparse files, in bytes.
const PAGE: usize = 4096;

impl MappedArrayMut {
    /// Writes all elements of another array to this one's file: of the same
    /// shape and dtype, but in any memory order and byte order, and of any
    /// size.
    ///
    /// It goes tile by tile, by writes at their places, so each page of either
    /// file is read or written once or twice, where stores through a map that
    /// memory has no room for write pages many times. Elements stay what they
    /// are byte for byte, padding too.
    ///
    /// `done` is called with the number of bytes after each write.
    ///
    /// # Errors
    ///
    /// Before anything is written: [`WrongShape`](crate::ErrorKind::WrongShape)
    /// for another shape, [`WrongDType`](crate::ErrorKind::WrongDType) for
    /// another dtype, and [`InvalidInput`](crate::ErrorKind::InvalidInput) as
    /// for [`write_elements`](MappedArray::write_elements). After that
    /// [`Io`](crate::ErrorKind::Io).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{CreateOptions, MappedArray, Order};
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
    /// columns.write_array(&penguins, |_| {})?;
    /// assert_eq!(columns.view::<f64>()?.at([341, 3]), 3775.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_array(&mut self, from: &MappedArray, done: impl FnMut(usize)) -> Result<()> {
        let all = iter::once(0..from.nbytes()).collect();
        self.write_ranges(from, all, Zeros::Written, done)
    }

    /// As [`write_array`](MappedArray::write_array), to an array of zeros, as
    /// new ones are: holes of `from` (see
    /// [`stored_ranges`](MappedArray::stored_ranges)) are not read, and pages of
    /// zeros are not written. So what is sparse stays so, if this array was
    /// [created sparse](crate::CreateOptions::sparse).
    ///
    /// # Errors
    ///
    /// As [`write_array`](MappedArray::write_array).
    pub fn write_array_over_zeros(
        &mut self,
        from: &MappedArray,
        done: impl FnMut(usize),
    ) -> Result<()> {
        // Where holes are not known, all is read.
        let stored =
            from.stored_ranges().unwrap_or_else(|_| iter::once(0..from.nbytes()).collect());
        self.write_ranges(from, stored, Zeros::LeftOut, done)
    }

    fn write_ranges(
        &mut self,
        from: &MappedArray,
        stored: Vec<Range<usize>>,
        zeros: Zeros,
        done: impl FnMut(usize),
    ) -> Result<()> {
        let order = self.origin.named(self.byte_order_for(from))?;
        self.origin.named(self.data.check_writable())?;
        let recode = Recoding::new(from.dtype(), order, false);
        let mut writer = Writer { to: self, recode, stored, zeros, buffer: Vec::new(), done };
        let written = from.dyn_view().and_then(|view| writer.write(&view));
        self.origin.named(written)
    }

    /// The byte order that makes the other dtype this one.
    fn byte_order_for(&self, from: &MappedArray) -> Result<Option<ByteOrder>> {
        if from.shape() != self.shape() {
            let (from, to) = (tuple(from.shape()), tuple(self.shape()));
            return Err(ShapeError::Broadcast { from, to }.into());
        }
        let (own, other) = (self.dtype(), from.dtype());
        let becomes = |order: &ByteOrder| other.with_byte_order(*order) == *own;
        match [ByteOrder::Little, ByteOrder::Big].into_iter().find(becomes) {
            _ if own == other => Ok(None),
            Some(order) => Ok(Some(order)),
            None => check_cast(other, own, Casting::Equiv).and_then(|()| Err(refused(other, own))),
        }
    }
}

fn refused(from: &DType, to: &DType) -> crate::error::Error {
    let (from, to) = (from.to_string(), to.to_string());
    let works = "use `assign_as`".to_owned();
    DTypeError::Cast { from, to, casting: Casting::Equiv.to_string(), works }.into()
}

/// Whether pages of zeros are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Zeros {
    Written,
    LeftOut,
}

struct Writer<'a, F> {
    to: &'a mut MappedArrayMut,
    recode: Recoding,
    /// Ranges from the first element on.
    stored: Vec<Range<usize>>,
    zeros: Zeros,
    buffer: Vec<u8>,
    done: F,
}

impl<F: FnMut(usize)> Writer<'_, F> {
    fn write(&mut self, from: &DynView<'_>) -> Result<()> {
        if from.is_empty() || self.recode.format.size == 0 {
            return Ok(());
        }
        let to = self.to.place.layout.geometry();
        let axes = to.order_of_memory();
        let (to, from_geometry) = (to.permuted(&axes)?, from.geometry().permuted(&axes)?);
        let size = self.recode.format.size;
        if from_geometry.is_contiguous(size) && to.is_contiguous(size) {
            let start = to.span(size).start;
            return self.write_in_order(from, from_geometry.span(size), start);
        }
        let tile = tile(&from_geometry, (TILE / size).max(1));
        let mut index = vec![0; tile.len()];
        loop {
            let cut = |geometry: &Geometry| {
                let axes = index.iter().zip(&tile).zip(&from_geometry.shape).enumerate();
                axes.fold(geometry.clone(), |part, (axis, ((&at, &len), &dim))| {
                    part.axis_range(axis, at, len.min(dim - at))
                })
            };
            let part =
                DynView::from_parts(from.raw_bytes(), cut(&from_geometry), from.dtype().clone());
            self.write_tile(&part, &cut(&to), from_geometry.offset)?;
            if !advance(&mut index, &tile, &from_geometry.shape) {
                return Ok(());
            }
        }
    }

    /// Writes elements that lie one after the other in both arrays.
    fn write_in_order(
        &mut self,
        from: &DynView<'_>,
        span: Range<usize>,
        start: usize,
    ) -> Result<()> {
        let size = self.recode.format.size;
        let bytes = elements(from.raw_bytes(), span);
        let block = (BLOCK / size).max(1) * size;
        let mut copied = 0;
        for range in std::mem::take(&mut self.stored) {
            // Elements are written whole, and none twice.
            let first = (range.start / size * size).max(copied);
            let end = range.end.next_multiple_of(size).min(bytes.len());
            for at in (first..end).step_by(block) {
                let part = bytes.get(at..end.min(at + block)).invariant(IN_BUFFER);
                if self.recode.is_identity() {
                    self.put(start + at, part)?;
                } else {
                    let mut buffer = std::mem::take(&mut self.buffer);
                    buffer.resize(part.len(), 0);
                    crate::kernel::copy(self.recode.format, part, size, &mut buffer);
                    self.recode.finish(&mut buffer);
                    self.put(start + at, &buffer)?;
                    self.buffer = buffer;
                }
            }
            copied = end.max(copied);
        }
        Ok(())
    }

    fn write_tile(&mut self, from: &DynView<'_>, to: &Geometry, first: usize) -> Result<()> {
        let size = self.recode.format.size;
        if self.zeros == Zeros::LeftOut && !self.has_bytes(from.geometry(), first) {
            (self.done)(from.len() * size);
            return Ok(());
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(from.len() * size, 0);
        from.copy_recoded(&self.recode, &mut buffer);
        let mut rest = buffer.as_slice();
        for (start, len) in to.byte_runs(size) {
            let (own, after) = rest.split_at(len);
            self.put(start, own)?;
            rest = after;
        }
        self.buffer = buffer;
        Ok(())
    }

    /// True unless all elements of a tile are in holes.
    fn has_bytes(&self, tile: &Geometry, first: usize) -> bool {
        // Runs in the order of memory are as long as can be.
        let size = self.recode.format.size;
        tile.memory_order().byte_runs(size).any(|(start, len)| {
            let run = start - first..start - first + len;
            let next = self.stored.partition_point(|range| range.end <= run.start);
            self.stored.get(next).is_some_and(|range| range.start < run.end)
        })
    }

    /// Writes bytes to their place, without pages of zeros if these are left
    /// out.
    fn put(&mut self, at: usize, bytes: &[u8]) -> Result<()> {
        (self.done)(bytes.len());
        if self.zeros == Zeros::Written {
            return self.to.data.write(at, bytes);
        }
        let is_zero = |page: &[u8]| page.iter().all(|&byte| byte == 0);
        let pages: Vec<_> = bytes.chunks(PAGE).enumerate().collect();
        for pages in pages.chunk_by(|(_, a), (_, b)| !is_zero(a) && !is_zero(b)) {
            let (Some((first, page)), len) =
                (pages.first(), pages.iter().map(|(_, p)| p.len()).sum::<usize>())
            else {
                continue;
            };
            if !is_zero(page) {
                let start = first * PAGE;
                self.to
                    .data
                    .write(at + start, bytes.get(start..start + len).invariant(IN_BUFFER))?;
            }
        }
        Ok(())
    }
}

/// The shape of tiles of at most `elements`, the last axis being the fastest
/// where they go: as long along that axis as along the one that is fastest
/// where they come from.
fn tile(from: &Geometry, elements: usize) -> Vec<usize> {
    let shape = &from.shape;
    let mut tile = vec![1; shape.len()];
    let strides = from.strides.iter().map(|stride| stride.unsigned_abs());
    let long = strides.zip(shape.iter()).enumerate().filter(|(_, (_, dim))| **dim > 1);
    let read = long.min_by_key(|(_, (stride, _))| *stride).map_or(0, |(axis, _)| axis);
    let dim = |axis: usize| shape.get(axis).copied().unwrap_or(1);
    let written = (0..shape.len()).rev().find(|&axis| dim(axis) > 1).unwrap_or(0);
    let side = elements.isqrt().max(elements / dim(read).max(1));
    let mut room = elements;
    let order = [(written, side), (read, elements)].into_iter();
    for (axis, most) in order.chain((0..shape.len()).rev().map(|axis| (axis, elements))) {
        match tile.get_mut(axis) {
            Some(len) if *len == 1 => {
                *len = dim(axis).min(most).min(room).max(1);
                room /= *len;
            }
            _ => {}
        }
    }
    tile
}

/// Goes on to the next tile in C order; false after the last.
fn advance(index: &mut [usize], tile: &[usize], shape: &Axes<usize>) -> bool {
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

    #[test]
    fn tiles_are_long_along_both_fast_axes() {
        let geometry = |shape: &[usize], strides: &[isize]| Geometry {
            offset: 0,
            shape: shape.iter().copied().collect(),
            strides: strides.iter().copied().collect(),
        };
        assert_eq!(tile(&geometry(&[10_000, 10_000], &[8, 80_000]), 1 << 20), [1024, 1024]);
        assert_eq!(tile(&geometry(&[10_000, 3], &[8, 80_000]), 1 << 20), [10_000, 3]);
        assert_eq!(tile(&geometry(&[3, 1_000_000], &[8, 24]), 1 << 20), [3, 349_525]);
        assert_eq!(
            tile(&geometry(&[100, 5000, 5000], &[8, 800, 4_000_000]), 1 << 20),
            [100, 2, 5000]
        );
    }
}

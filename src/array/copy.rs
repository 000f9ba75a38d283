//! Copies arrays into files with writes, in any memory order and size.

use std::ops::Range;

use super::copy_options::CopyOptions;
use super::tiles::{Tiles, part_at};
use super::{MappedArray, MappedArrayMut, Origin, Outline, Place, Window, copy_threads};
use crate::dtype::literal::tuple;
use crate::dtype::{ByteOrder, DType, Kind};
use crate::element::cast::Casting;
use crate::element::recode::Recoding;
use crate::error::invariant::{IN_BUFFER, Invariant};
use crate::error::{Result, ShapeError, SystemError, memory};
use crate::kernel::PAGE;
use crate::layout::geometry::Geometry;
use crate::layout::{Layout, Order};
use crate::source::Advice;
use crate::source::map::MapWriter;
use crate::source::pages::sealed::Pages as _;
use crate::view::{DynView, check_assign};

/// The longest write when both arrays have the same order, in bytes; shorter if the options
/// limit the memory of all threads to less.
const BLOCK: usize = 8 << 20;

/// An array that [`write_array`](MappedArray::write_array) can copy: a mapped
/// array with known holes and pages, a view, or a selection of the
/// [outline](MappedArray::outline) of an array. This trait is sealed.
pub trait CopySource: sealed::CopySource {}

impl CopySource for MappedArray {}
impl CopySource for DynView<'_> {}
impl CopySource for Outline<'_> {}

mod sealed {
    use super::{DynView, MappedArray, Outline};

    pub trait CopySource {
        /// The elements.
        fn outline(&self) -> Outline<'_>;

        /// The array, if these are all of it.
        fn whole(&self) -> Option<&MappedArray> {
            None
        }
    }

    impl CopySource for MappedArray {
        #[inline]
        fn outline(&self) -> Outline<'_> {
            MappedArray::outline(self)
        }

        #[inline]
        fn whole(&self) -> Option<&MappedArray> {
            Some(self)
        }
    }

    impl CopySource for DynView<'_> {
        #[inline]
        fn outline(&self) -> Outline<'_> {
            self.clone().into()
        }
    }

    impl CopySource for Outline<'_> {
        #[inline]
        fn outline(&self) -> Outline<'_> {
            self.clone()
        }
    }
}

impl MappedArrayMut {
    /// Writes all elements of another array, or of a view, of the same shape to this
    /// one's file. The arrays may be in different memory orders and of any size, and
    /// `from` may have any dtype that the [casting](CopyOptions::casting) of the
    /// options allows.
    ///
    /// Elements are copied tile by tile with positioned writes, so each page of
    /// either file is read or written once or twice. Stores through a map would
    /// write pages many times if the file is larger than memory.
    ///
    /// Whole elements are replaced: elements that differ in byte order at most
    /// are copied byte for byte, including padding. Others are cast as by
    /// [`assign_as`](crate::ViewMut::assign_as), and their padding becomes
    /// zeros. To keep the padding that is there, use
    /// [`write_slice`](MappedArray::write_slice).
    ///
    /// After each write, this calls `progress` with the bytes of this array's
    /// elements so far. The numbers add up to `nbytes()`.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if the shapes differ,
    /// [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the cast is not allowed, and
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if the array is in memory
    /// or copy-on-write, or its file was opened with `O_APPEND`. These errors leave
    /// the file unchanged. Returns [`InvalidValue`](crate::ErrorKind::InvalidValue)
    /// for a value that cannot be cast, and [`Io`](crate::ErrorKind::Io) if reading
    /// or writing fails. Elements have then been written.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{CreateOptions, MappedArray, Order, array::CopyOptions};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("columns.npy");
    /// // SAFETY: no other process writes to or truncates the files.
    /// let penguins = unsafe { MappedArray::open("data/penguins.npy")? };
    /// let options = CreateOptions::new().order(Order::F);
    /// // SAFETY: as above.
    /// let mut columns = unsafe { options.create(&path, penguins.dtype(), penguins.shape())? };
    /// columns.write_array(&penguins, &CopyOptions::new(), |_| {})?;
    /// assert_eq!(columns.view::<f64>()?.at([341, 3]), 3775.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Part of an array, with axes in any order, or some of its fields:
    ///
    /// ```
    /// use npymap::{MappedArray, array::CopyOptions, ndarray::s};
    ///
    /// let penguins = MappedArray::load("data/penguins.npy")?;
    /// let some = penguins.dyn_view()?.slice(s![..;2, ..2])?;
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("some.npy");
    /// // SAFETY: no other process knows of the file yet.
    /// let mut array = unsafe { MappedArray::create(&path, some.dtype(), some.shape())? };
    /// array.write_array(&some, &CopyOptions::new(), |_| {})?;
    /// assert_eq!(array.view::<f64>()?.at([1, 0]), 40.3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_array(
        &mut self,
        from: &impl CopySource,
        options: &CopyOptions,
        mut progress: impl FnMut(usize),
    ) -> Result<()> {
        let (view, whole) = (from.outline(), from.whole());
        let written = self.write_original(&view, whole, options, &mut progress);
        written.map_err(SystemError::of_map(whole.and_then(MappedArray::path)))
    }

    /// Writes a view. `from` is the array that it shows completely, if one is known.
    #[inline]
    fn write_original(
        &mut self,
        view: &Outline<'_>,
        from: Option<&MappedArray>,
        options: &CopyOptions,
        progress: &mut dyn FnMut(usize),
    ) -> Result<()> {
        let conversion = if view.shape() == self.shape() {
            Conversion::new(view.dtype(), self.dtype(), options.casting)
        } else {
            let (from, to) = (tuple(view.shape()), tuple(self.shape()));
            Err(ShapeError::Broadcast { from, to }.into())
        };
        let conversion = self.origin.add_path_on_err(conversion)?;
        let MappedArray { place: Place { layout, .. }, data, origin } = self;
        let to = origin.add_path_on_err(data.writer())?;
        if view.is_empty() || layout.dtype().itemsize() == 0 {
            return Ok(());
        }
        let copy = ArrayCopy::new(from, view, conversion, (layout, &to, origin), options)?;
        let pieces = copy.pieces();
        // No more threads than pieces.
        let threads = copy.pieces().take(options.threads).count();
        copy_threads::for_each(pieces, threads, progress, |piece, buffer, report| {
            copy.copy(&piece, buffer, report)
        })
    }
}

/// How elements are converted.
pub(super) enum Conversion {
    /// Copied, possibly in a different byte order.
    Recode(Recoding),
    /// Cast to another dtype.
    Cast(DType, Casting),
}

impl Conversion {
    /// Selects the conversion, if `casting` allows it.
    #[inline]
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

    /// Fills `buffer` with the converted elements of `from`, in C order.
    #[inline]
    pub(super) fn convert(&self, from: &DynView<'_>, buffer: &mut Vec<u8>) -> Result<()> {
        match self {
            Conversion::Recode(recode) => {
                memory::resize(buffer, from.len() * recode.format.size)?;
                from.copy_recoded(recode, buffer);
                Ok(())
            }
            Conversion::Cast(dtype, casting) => {
                // Casts do not write padding.
                buffer.clear();
                memory::resize(buffer, from.len() * dtype.itemsize())?;
                assign_over(buffer, dtype, from, *casting)
            }
        }
    }
}

/// Casts the elements of `from` and stores them in C order over the elements in
/// `buffer`, like [`assign_as`](crate::ViewMut::assign_as).
#[inline]
pub(super) fn assign_over(
    buffer: &mut [u8],
    dtype: &DType,
    from: &DynView<'_>,
    casting: Casting,
) -> Result<()> {
    let layout = Layout::new(dtype.clone(), from.shape(), Order::C, 0)?;
    MappedArray::from_parts(buffer, layout)?.dyn_view_mut()?.assign_as(from, casting)
}

/// Whether elements are numbers, so that zero bytes are 0. The number 0 as text
/// is "0", which is not zero bytes.
#[inline]
fn is_number(dtype: &DType) -> bool {
    matches!(dtype.kind(), Kind::Bool | Kind::Int | Kind::UInt | Kind::Float | Kind::Complex)
}

/// A part of a copy.
#[derive(Debug)]
enum Piece {
    /// Elements that are zeros on both sides, of this many bytes in the target.
    Zeros(usize),
    /// These bytes of the source's elements, which have the same order in the
    /// target.
    Block(Range<usize>),
    /// The tile that starts at this index.
    Tile(Vec<usize>),
}

/// A copy that threads share.
struct ArrayCopy<'a> {
    /// The array, if all of it is copied.
    from: Option<&'a MappedArray>,
    view: &'a Outline<'a>,
    /// The axes of both are in the order of decreasing strides of the target.
    from_geometry: Geometry,
    to_geometry: Geometry,
    to_size: usize,
    to: &'a MapWriter<'a>,
    to_origin: &'a Origin,
    conversion: Conversion,
    /// The bytes of `from`, counted from its first element, that are not in
    /// holes. Returns `None` if all are read.
    stored: Option<Vec<Range<usize>>>,
    /// Whether pages of zeros need not be written.
    over_zeros: bool,
    /// The most bytes of a block.
    block: usize,
    /// The tiles, unless both arrays are in the same order.
    tiles: Option<Tiles>,
}

impl<'a> ArrayCopy<'a> {
    #[inline]
    fn new(
        from: Option<&'a MappedArray>,
        view: &'a Outline<'a>,
        conversion: Conversion,
        (layout, to, to_origin): (&'a Layout, &'a MapWriter<'a>, &'a Origin),
        options: &CopyOptions,
    ) -> Result<ArrayCopy<'a>> {
        let (size, to_size) = (view.itemsize(), layout.dtype().itemsize());
        let over_zeros = options.over_zeros;
        // Elements of zero bytes stay zero.
        let keeps_zeros = match &conversion {
            Conversion::Recode(_) => true,
            Conversion::Cast(to, _) => is_number(view.dtype()) && is_number(to),
        };
        let stored = match from {
            // Everything is read if the holes are not known.
            Some(from) if over_zeros && keeps_zeros => from.stored_ranges().ok(),
            _ => None,
        };
        let to_geometry = layout.geometry();
        let axes = to_geometry.axes_by_stride();
        let to_geometry = to_geometry.permuted(&axes)?;
        let from_geometry = view.view.geometry().permuted(&axes)?;
        let is_in_order =
            from_geometry.is_contiguous(size) && to_geometry.is_contiguous(to_size) && size > 0;
        let tiles = (!is_in_order).then(|| {
            Tiles::new(&from_geometry, size.max(to_size), options.memory, options.threads)
        });
        Ok(ArrayCopy {
            from,
            view,
            from_geometry,
            to_geometry,
            to_size,
            to,
            to_origin,
            conversion,
            stored,
            over_zeros,
            block: options
                .memory
                .map_or(BLOCK, |memory| (memory / options.threads).clamp(PAGE, BLOCK)),
            tiles,
        })
    }

    /// The parts, in the order of the target.
    #[inline]
    fn pieces(&self) -> Box<dyn Iterator<Item = Piece> + Send> {
        if let Some(tiles) = &self.tiles {
            return Box::new(tiles.clone().map(Piece::Tile));
        }
        let size = self.view.itemsize();
        let block = (self.block / size.max(self.to_size)).max(1) * size;
        Box::new(self.ranges().into_iter().flat_map(move |piece| {
            let range = if let Piece::Block(range) = &piece { range.clone() } else { 0..0 };
            let blocks = range.clone().step_by(block);
            let blocks = blocks.map(move |at| Piece::Block(at..range.end.min(at + block)));
            let zeros = matches!(piece, Piece::Zeros(_)).then_some(piece);
            zeros.into_iter().chain(blocks)
        }))
    }

    /// The ranges of whole copied elements, and those between them.
    #[inline]
    fn ranges(&self) -> Vec<Piece> {
        let (size, len) = (self.view.itemsize(), self.view.len() * self.view.itemsize());
        let Some(stored) = &self.stored else { return vec![Piece::Block(0..len)] };
        let (mut pieces, mut copied) = (Vec::new(), 0);
        for range in stored {
            // Write whole elements, and none twice.
            let first = (range.start / size * size).max(copied);
            let end = range.end.next_multiple_of(size).min(len).max(first);
            pieces.push(Piece::Zeros((first - copied) / size * self.to_size));
            pieces.push(Piece::Block(first..end));
            copied = end;
        }
        pieces.push(Piece::Zeros((len - copied) / size * self.to_size));
        pieces
    }

    /// Copies a part, and reports the bytes written or skipped.
    #[inline]
    fn copy(
        &self,
        piece: &Piece,
        buffer: &mut Vec<u8>,
        report: &mut dyn FnMut(usize),
    ) -> Result<()> {
        match piece {
            Piece::Zeros(0) => Ok(()),
            Piece::Zeros(nbytes) => {
                report(*nbytes);
                Ok(())
            }
            Piece::Block(range) => self.copy_block(range.clone(), buffer, report),
            Piece::Tile(index) => self.copy_tile(index, buffer, report),
        }
    }

    /// Copies elements that are contiguous and in the same order in both arrays.
    #[inline]
    fn copy_block(
        &self,
        range: Range<usize>,
        buffer: &mut Vec<u8>,
        report: &mut dyn FnMut(usize),
    ) -> Result<()> {
        let size = self.view.itemsize();
        let span = self.from_geometry.span(size);
        let to = self.to_geometry.span(self.to_size).start + range.start / size * self.to_size;
        let part = Geometry::line(span.start + range.start, range.len() / size, size);
        if matches!(&self.conversion, Conversion::Recode(recode) if recode.is_identity()) {
            let window = self.window(part)?;
            return self.write(to, window.view().as_bytes().invariant(IN_BUFFER), report);
        }
        self.convert(part, buffer)?;
        self.write(to, buffer, report)
    }

    /// Copies a tile.
    #[inline]
    fn copy_tile(
        &self,
        index: &[usize],
        buffer: &mut Vec<u8>,
        report: &mut dyn FnMut(usize),
    ) -> Result<()> {
        let Some(tiles) = &self.tiles else { return Ok(()) };
        let part = part_at(&self.from_geometry, index, &tiles.tile);
        if !self.has_bytes(&part) {
            report(part.len() * self.to_size);
            return Ok(());
        }
        self.read_ahead(&part);
        self.convert(part, buffer)?;
        let mut rest = buffer.as_slice();
        for (start, len) in part_at(&self.to_geometry, index, &tiles.tile).byte_runs(self.to_size) {
            let (own, after) = rest.split_at(len);
            self.write(start, own, report)?;
            rest = after;
        }
        Ok(())
    }

    /// Converts elements into the buffer.
    #[inline]
    fn convert(&self, part: Geometry, buffer: &mut Vec<u8>) -> Result<()> {
        let converted = self.conversion.convert(&self.window(part)?.view(), buffer);
        match self.from {
            Some(from) => from.origin.add_path_on_err(converted),
            None => converted,
        }
    }

    /// Brings a part of the view into memory.
    #[inline]
    fn window(&self, part: Geometry) -> Result<Window<'a>> {
        let part = DynView::from_parts(self.view.view.raw_bytes(), part, self.view.dtype().clone());
        self.view.with(part).window()
    }

    /// Has the kernel read the pages of a tile. Page faults would read past the
    /// end of each run, into other tiles, and read those pages again for them.
    #[inline]
    fn read_ahead(&self, tile: &Geometry) {
        let mut pages: Range<usize> = 0..0;
        for (start, len) in tile.memory_order().byte_runs(self.view.itemsize()) {
            let own = start / PAGE * PAGE..start + len;
            if own.start <= pages.end.next_multiple_of(PAGE) && !pages.is_empty() {
                pages.end = own.end.max(pages.end);
                continue;
            }
            self.read_pages(pages);
            pages = own;
        }
        self.read_pages(pages);
    }

    #[inline]
    fn read_pages(&self, pages: Range<usize>) {
        let from = self.from.filter(|from| !pages.is_empty() && !from.is_windowed());
        if let Some(from) = from {
            // Without it the pages are read when they are touched.
            drop(from.data.advise(pages, Advice::WillNeed));
        }
    }

    /// Whether any element of a tile is outside holes.
    #[inline]
    fn has_bytes(&self, tile: &Geometry) -> bool {
        let Some(stored) = &self.stored else { return true };
        let first = self.from_geometry.offset;
        // Runs are longest in memory order.
        tile.memory_order().byte_runs(self.view.itemsize()).any(|(start, len)| {
            let run = start - first..start - first + len;
            let next = stored.partition_point(|range| range.end <= run.start);
            stored.get(next).is_some_and(|range| range.start < run.end)
        })
    }

    /// Writes bytes at an offset, except pages of zeros if these are skipped.
    #[inline]
    fn write(&self, at: usize, bytes: &[u8], report: &mut dyn FnMut(usize)) -> Result<()> {
        let written = if self.over_zeros {
            self.write_nonzero_pages(at, bytes)
        } else {
            self.to.write(at, bytes)
        };
        self.to_origin.add_path_on_err(written)?;
        if !bytes.is_empty() {
            report(bytes.len());
        }
        Ok(())
    }

    /// Writes the pages that are not all zeros.
    #[inline]
    fn write_nonzero_pages(&self, at: usize, bytes: &[u8]) -> Result<()> {
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
                self.to.write(at + start, part)?;
            }
        }
        Ok(())
    }
}

#[inline]
fn is_zero(page: &[u8]) -> bool {
    page.iter().all(|&byte| byte == 0)
}

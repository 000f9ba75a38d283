//! Reads complete arrays into ndarray arrays. Memory is allocated for data as
//! it is read, not for what a header announces.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use ndarray::{Array, Dimension, ShapeBuilder as _};

use super::BLOCK;
use crate::array::{OpenOptions, Place, with_path_in_errors};
use crate::dtype::literal::tuple;
use crate::element::cast::{Casting, Number, check_cast};
use crate::element::fast_path::FastPath as _;
use crate::element::{Element, decode_onto};
use crate::error::invariant::{IN_BUFFER, Invariant, to_u64};
use crate::error::{HeaderError, IoContext as _, Result, ShapeError, SystemError, memory};
use crate::layout::{Layout, Order, check_unbacked};
use crate::npy::{HeaderText, fill};
use crate::source::storage::Storage;
use crate::view::{cast_onto, dimension, not_a_number};
use crate::with_type;

/// The number of bytes read at a time directly into an array.
const STEP: usize = 256 * 1024;

impl OpenOptions {
    /// Reads a complete `.npy` file, decoded to `T`, as an ndarray array: `numpy.load`.
    ///
    /// Any byte order is decoded. The memory order, C or Fortran, is kept. Pipes and
    /// devices can be read too.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if the file does not exist,
    /// [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if the array does not have the
    /// axes of `D`, [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if its elements
    /// cannot be decoded as `T`, [`Corrupt`](crate::ErrorKind::Corrupt) if this is
    /// not a valid `.npy` file, [`Unsupported`](crate::ErrorKind::Unsupported) if
    /// it contains Python objects,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if its header is longer
    /// than the limit or it has more than a million elements of zero size,
    /// [`Truncated`](crate::ErrorKind::Truncated) if elements are missing, and
    /// [`Io`](crate::ErrorKind::Io) if reading fails or there is not enough memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{OpenOptions, ndarray::Array2};
    ///
    /// let penguins: Array2<f64> = OpenOptions::new().read_ndarray("data/penguins.npy")?;
    /// assert_eq!(penguins[[0, 3]], 3750.0);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn read_ndarray<T: Element, D: Dimension>(
        &self,
        path: impl AsRef<Path>,
    ) -> Result<Array<T, D>> {
        self.read_at(path.as_ref(), |place, mut from, len| read_place(place, &mut from, len))
    }

    /// Reads a complete `.npy` file of numbers and casts them to `U`, block by block:
    /// `numpy.load(path).astype(U, casting=…)` in the memory of the result.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if the file does not exist,
    /// [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if the array does not have the
    /// axes of `D`, [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if its elements
    /// are not numbers or `casting` does not allow the cast,
    /// [`InvalidValue`](crate::ErrorKind::InvalidValue) with [`Casting::SameValue`]
    /// for the first number that would change,
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if this is not a valid `.npy` file,
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if it contains Python
    /// objects, [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if its header is
    /// longer than the limit or it has more than a million elements of zero size,
    /// [`Truncated`](crate::ErrorKind::Truncated) if elements are missing, and
    /// [`Io`](crate::ErrorKind::Io) if reading fails or there is not enough memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{OpenOptions, element::Casting, ndarray::Array2};
    ///
    /// let options = OpenOptions::new();
    /// let penguins: Array2<f32> =
    ///     options.read_ndarray_as("data/penguins.npy", Casting::SameKind)?;
    /// assert_eq!(penguins[[0, 3]], 3750.0);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn read_ndarray_as<U: Number, D: Dimension>(
        &self,
        path: impl AsRef<Path>,
        casting: Casting,
    ) -> Result<Array<U, D>> {
        let read = |place, mut from: &mut dyn Read, len| read_cast(place, &mut from, len, casting);
        self.read_at(path.as_ref(), read)
    }

    /// Calls `read` with the place of the array at a path, and a reader of its
    /// elements.
    fn read_at<A>(
        &self,
        path: &Path,
        read: impl FnOnce(Place, &mut dyn Read, Length) -> Result<A>,
    ) -> Result<A> {
        with_path_in_errors(path, |path| {
            let mut file = File::open(path).context("open")?;
            let metadata = file.metadata().context("get the length")?;
            if metadata.is_file() {
                let storage = Storage::from_file(file)?;
                let place = self.place(&storage)?;
                let end = place.offset + to_u64(place.layout.nbytes());
                let mut elements = storage.range_reader(place.offset, end);
                return read(place, &mut elements, Length::Checked);
            }
            if self.is_placed() {
                return Err(SystemError::NotRegular { found: "a pipe or device" }.into());
            }
            let place = self.read_place(&mut file)?;
            read(place, &mut file, Length::Announced)
        })
    }

    /// Reads the header of a stream.
    fn read_place(&self, from: &mut impl Read) -> Result<Place> {
        let header = HeaderText::read(from, self.max_header_len)?.header()?;
        Place::from_header(header, 0)
    }

    /// Reads a complete array from any reader and leaves it at the first byte after
    /// the elements, so several arrays may follow one another.
    ///
    /// Wrap a reader for which small reads are slow in a
    /// [`BufReader`](std::io::BufReader). The announced size is not trusted: memory
    /// grows with the data that was read.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if the array does not
    /// have the axes of `D`, [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if its
    /// elements cannot be decoded as `T`, [`Corrupt`](crate::ErrorKind::Corrupt) if
    /// this is not a valid `.npy` file,
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if it contains Python
    /// objects, [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if its header is
    /// longer than the limit or it has more than a million elements of zero size,
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) for options with `raw`,
    /// [`Truncated`](crate::ErrorKind::Truncated) if elements are missing, and
    /// [`Io`](crate::ErrorKind::Io) if reading fails or there is not enough memory.
    /// After an error, the reader's position is unspecified.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::ndarray::{Array0, Array1, arr0, arr1};
    /// use npymap::{OpenOptions, WriteOptions};
    ///
    /// let mut stream = Vec::new();
    /// WriteOptions::new().write_to(&mut stream, &arr1(&[1_u16, 2, 3]))?;
    /// WriteOptions::new().write_to(&mut stream, &arr0(0.5_f64))?;
    ///
    /// let mut stream = stream.as_slice();
    /// let first: Array1<u16> = OpenOptions::new().read_ndarray_from(&mut stream)?;
    /// let second: Array0<f64> = OpenOptions::new().read_ndarray_from(&mut stream)?;
    /// assert_eq!((first.sum(), second.into_scalar()), (6, 0.5));
    /// assert!(stream.is_empty());
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn read_ndarray_from<T: Element, D: Dimension>(
        &self,
        mut from: impl Read,
    ) -> Result<Array<T, D>> {
        self.expect_header()?;
        let place = self.read_place(&mut from)?;
        read_place(place, &mut from, Length::Announced)
    }
}

/// Whether the number of elements can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// They exist, so memory for all of them is reserved at once.
    Checked,
    /// A header announces them, so memory grows with what was read.
    Announced,
}

impl Length {
    /// Allocates memory for `count` elements, if they exist.
    fn reserve<T>(self, count: usize) -> Result<Vec<T>> {
        memory::with_capacity(if self == Length::Checked { count } else { 0 })
    }
}

/// Reads the elements of an array.
pub(crate) fn read_place<T: Element, D: Dimension>(
    place: Place,
    from: &mut impl Read,
    len: Length,
) -> Result<Array<T, D>> {
    ArrayReader::new(place)?.read(from, len)
}

/// Reads numbers and casts them.
fn read_cast<U: Number, D: Dimension>(
    place: Place,
    from: &mut impl Read,
    len: Length,
    casting: Casting,
) -> Result<Array<U, D>> {
    let dtype = place.layout.dtype().clone();
    check_cast(&dtype, &U::dtype(), casting)?;
    if U::codec(&dtype).is_ok() {
        return read_place(place, from, len);
    }
    with_type!(dtype, number T => ArrayReader::<T, D>::new(place)?.read_as(from, len, casting), _ => {
        Err(not_a_number(&dtype, &U::dtype(), casting))
    })
}

/// Reads the elements of an array after its header was checked against `T` and
/// `D`.
struct ArrayReader<T: Element, D> {
    layout: Layout,
    order: Order,
    codec: T::Codec,
    dim: D,
}

impl<T: Element, D: Dimension> ArrayReader<T, D> {
    fn new(Place { layout, order, .. }: Place) -> Result<ArrayReader<T, D>> {
        let codec = T::codec(layout.dtype())?;
        let dim = dimension(layout.geometry())?;
        check_unbacked(layout.dtype().itemsize(), layout.shape(), layout.len())?;
        Ok(ArrayReader { layout, order, codec, dim })
    }

    fn read(self, from: &mut impl Read, len: Length) -> Result<Array<T, D>> {
        let mut elements = len.reserve(self.layout.len())?;
        if self.layout.nbytes() == 0 {
            elements.extend((0..self.layout.len()).map(|_| T::decode(&self.codec, &[])));
        } else if T::fast_path()
            .copy_target(&self.codec, &mut [])
            .is_some_and(|(format, _)| format.swap_width() == 1)
        {
            self.copy(from, &mut elements)?;
        } else {
            let size = self.layout.dtype().itemsize();
            self.read_blocks(from, &mut elements, |block, out| {
                decode_onto(&self.codec, block, size, out);
                Ok(())
            })?;
        }
        self.into_array(elements)
    }

    /// Puts the elements into the array's shape.
    fn into_array<U>(self, elements: Vec<U>) -> Result<Array<U, D>> {
        let shape = self.dim.set_f(self.order == Order::F);
        Array::from_shape_vec(shape, elements).map_err(|_| {
            let (shape, itemsize) = (tuple(self.layout.shape()), size_of::<U>());
            ShapeError::Size { shape, itemsize }.into()
        })
    }

    /// Reads elements directly into `out`.
    fn copy(&self, from: &mut impl Read, out: &mut Vec<T>) -> Result<()> {
        while out.len() < self.layout.len() {
            let start = out.len();
            let count = self.step(STEP, start);
            self.reserve(count, out)?;
            out.resize_with(start + count, || T::decode(&self.codec, &[]));
            let new = out.get_mut(start..).invariant(IN_BUFFER);
            let bytes = T::fast_path()
                .copy_target(&self.codec, new)
                .map_or(Default::default(), |(_, bytes)| bytes);
            let found = fill(from, bytes).context("read the elements")?;
            if found < bytes.len() {
                return Err(self.short(start, found));
            }
        }
        Ok(())
    }

    /// Reads elements into a block, and has `decode` append them to `out`.
    fn read_blocks<U>(
        &self,
        from: &mut impl Read,
        out: &mut Vec<U>,
        mut decode: impl FnMut(&[u8], &mut Vec<U>) -> Result<()>,
    ) -> Result<()> {
        let size = self.layout.dtype().itemsize();
        let mut block = Vec::new();
        let mut done = 0;
        while done < self.layout.len() {
            let count = self.step(BLOCK, done);
            let needed = count * size;
            block.clear();
            // `take` and `read_to_end`: a single element may be announced larger
            // than memory.
            let mut part = from.by_ref().take(to_u64(needed));
            let found = part.read_to_end(&mut block).context("read the elements")?;
            if found < needed {
                return Err(self.short(done, found));
            }
            self.reserve(count, out)?;
            decode(&block, out)?;
            done += count;
        }
        Ok(())
    }

    /// The number of elements to read next: `bytes` of them at most, but at least
    /// one element.
    fn step(&self, bytes: usize, done: usize) -> usize {
        let size = self.layout.dtype().itemsize().max(1);
        (bytes / size).max(1).min(self.layout.len() - done)
    }

    /// Ensures that `out` has capacity for `count` more elements. If it has to
    /// grow, it grows to at least twice its length, up to the array's length.
    fn reserve<U>(&self, count: usize, out: &mut Vec<U>) -> Result<()> {
        if out.capacity() - out.len() >= count {
            return Ok(());
        }
        let more = out.len().max(count).min(self.layout.len() - out.len());
        out.try_reserve_exact(more).map_err(|_| memory::out_of_memory::<U>(out.len() + more))
    }

    fn short(&self, elements: usize, bytes: usize) -> crate::error::Error {
        let found = elements * self.layout.dtype().itemsize() + bytes;
        HeaderError::Eof { what: "elements", needed: self.layout.nbytes(), found }.into()
    }
}

impl<T: Number, D: Dimension> ArrayReader<T, D> {
    /// Reads numbers and casts them, one block at a time.
    fn read_as<U: Number>(
        self,
        from: &mut impl Read,
        len: Length,
        casting: Casting,
    ) -> Result<Array<U, D>> {
        let size = self.layout.dtype().itemsize();
        let (mut cast, mut numbers) = (len.reserve(self.layout.len())?, Vec::new());
        self.read_blocks(from, &mut cast, |block, out| {
            numbers.clear();
            decode_onto::<T>(&self.codec, block, size, &mut numbers);
            cast_onto(numbers.iter().copied(), casting, out)
        })?;
        self.into_array(cast)
    }
}

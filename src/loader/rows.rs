//! Rows of one array, copied in any order.

use std::hint::black_box;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ndarray::{ArrayD, IxDyn};

use super::strategy::{Batch, Strategy};
use crate::dtype::DType;
use crate::dtype::literal::tuple;
use crate::element::Element;
use crate::element::cast::{Casting, Number, check};
use crate::element::value::Value;
use crate::error::{ErrorKind, Result};
use crate::layout::geometry::Geometry;
use crate::layout::row_index::{RowIndex, TakeMode, resolve};
use crate::layout::{Layout, check_unbacked};
use crate::source::map::Map;
use crate::source::pages::sealed::Pages as _;
use crate::source::platform::Advice;
use crate::view::{Parts, View, fits};
use crate::with_type;

/// The rows of an array, to be copied in any order:
/// [`MappedArray::rows`](crate::MappedArray::rows).
///
/// A row is what stands at one index of the first axis. Any dtype, byte order
/// and memory order will do; values come out decoded, in C order. Rows that
/// are on the disk are asked for all at once, as soon as it shows that they
/// are not in memory. Only pages that hold rows asked for are read.
///
/// Clones share the map and what was learnt about the disk; threads may share
/// one, or have one each.
///
/// Indices are checked before anything is written, and negative ones are
/// errors; [`TakeMode`] wraps and clips.
#[derive(Clone, Debug)]
pub struct Rows {
    map: Map,
    geometry: Geometry,
    dtype: DType,
    path: Option<Arc<Path>>,
    strategy: Arc<Strategy>,
}

impl Rows {
    pub(crate) fn new(map: Map, layout: &Layout, path: Option<Arc<Path>>) -> Result<Rows> {
        let (geometry, dtype) = (layout.geometry().clone(), layout.dtype().clone());
        if geometry.ndim() == 0 {
            return Err(ErrorKind::Axis { asked: 0, shape: tuple(&geometry.shape) }.into());
        }
        Ok(Rows { map, geometry, dtype, path, strategy: Arc::default() })
    }

    /// The length of each axis; the first is the number of rows.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.geometry.shape
    }

    /// What each element is.
    #[must_use]
    pub fn dtype(&self) -> &DType {
        &self.dtype
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shape().first().copied().unwrap_or(0)
    }

    /// True when there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of elements of a row.
    #[must_use]
    pub fn row_len(&self) -> usize {
        self.shape().iter().skip(1).product()
    }

    /// The same rows with one field of each element: `"x"`, or `"pos.z"`.
    ///
    /// # Errors
    ///
    /// As [`View::field`](crate::View::field).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::MappedArray;
    ///
    /// let events = MappedArray::anonymous(&"[('id', '<u2'), ('e', '>f4')]".parse()?, &[9])?;
    /// let energy = events.into_read_only()?.rows()?.field("e")?;
    /// let mut out = [1.0_f32; 2];
    /// energy.take(&[8, 3], &mut out)?;
    /// assert_eq!(out, [0.0, 0.0]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn field(&self, path: &str) -> Result<Rows> {
        let view = View::<Value>::of(&[], self.geometry.clone(), self.dtype.clone());
        let field = self.named(view.field(path))?;
        let (geometry, dtype) = (field.geometry().clone(), field.dtype().clone());
        Ok(Rows { geometry, dtype, ..self.clone() })
    }

    /// Copies rows, in this order, into memory that is there; of as many
    /// elements as the rows have together.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Fit`] when elements are no `T`, naming a type that works;
    /// [`ErrorKind::Index`]; [`ErrorKind::Length`] when `out` has another
    /// length.
    ///
    /// # Examples
    ///
    /// See [`MappedArray::rows`](crate::MappedArray::rows).
    pub fn take<T: Element, I: RowIndex>(&self, indices: &[I], out: &mut [T]) -> Result<()> {
        self.named(self.decoded(indices, out))
    }

    fn decoded<T: Element, I: RowIndex>(&self, indices: &[I], out: &mut [T]) -> Result<()> {
        let codec = T::codec(&self.dtype)?;
        let batch = self.batch(indices, 1, out.len())?;
        self.each(&batch, out, |rows, out| {
            batch.parts.decode_over(self.map.as_ref(), &codec, rows, out);
        });
        Ok(())
    }

    /// Copies rows into an array of their own.
    ///
    /// # Errors
    ///
    /// As [`take`](Rows::take); [`ErrorKind::Size`] when no memory could hold
    /// them all.
    ///
    /// # Panics
    ///
    /// When there isn't that much memory, as [`Vec`] does.
    ///
    /// # Examples
    ///
    /// ```
    /// # use npymap::MappedArray;
    /// // SAFETY: nobody changes or truncates the file meanwhile.
    /// let penguins = unsafe { MappedArray::open("data/penguins.npy")? };
    /// let some = penguins.rows()?.take_array::<f64, _>(&[341, 0])?;
    /// assert_eq!(some.shape(), [2, 4]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn take_array<T: Element, I: RowIndex>(&self, indices: &[I]) -> Result<ArrayD<T>> {
        let mut shape = self.shape().to_vec();
        if let Some(dim) = shape.first_mut() {
            *dim = indices.len();
        }
        let len = indices.len().checked_mul(self.row_len());
        let len = len.filter(|len| len.checked_mul(size_of::<T>().max(1)).is_some());
        let len = len.ok_or_else(|| ErrorKind::Size {
            shape: tuple(&shape),
            itemsize: size_of::<T>().max(1),
        })?;
        let elements = self.named(self.gathered(indices, len))?;
        Ok(ArrayD::from_shape_vec(IxDyn(&shape), elements)
            .expect("as many elements as the shape has"))
    }

    /// Copies rows into a vector, whose memory is used again if it is enough:
    /// what [`BatchOptions`](crate::BatchOptions) reads by.
    ///
    /// # Errors
    ///
    /// As [`take_array`](Rows::take_array).
    pub fn take_vec<T: Element, I: RowIndex>(&self, indices: &[I], out: &mut Vec<T>) -> Result<()> {
        let expected = indices.len().saturating_mul(self.row_len());
        if out.len() != expected {
            *out = self.take_array(indices)?.into_raw_vec_and_offset().0;
            return Ok(());
        }
        self.take(indices, out)
    }

    fn gathered<T: Element, I: RowIndex>(&self, indices: &[I], len: usize) -> Result<Vec<T>> {
        let codec = T::codec(&self.dtype)?;
        let batch = self.batch(indices, 1, len)?;
        if let Some(mut out) = T::zeros(len) {
            self.each(&batch, &mut out, |rows, out| {
                batch.parts.decode_over(self.map.as_ref(), &codec, rows, out);
            });
            return Ok(out);
        }
        let mut out = Vec::with_capacity(len);
        self.go(&batch, |range| {
            let rows = batch.rows.get(range).unwrap_or_default();
            batch.parts.decode_onto(self.map.as_ref(), &codec, rows, &mut out);
        });
        Ok(out)
    }

    /// Copies rows, each element converted by `convert`, into memory that is
    /// there: `u8` pictures to scaled `f32`, say.
    ///
    /// # Errors
    ///
    /// As [`take`](Rows::take).
    ///
    /// # Examples
    ///
    /// ```
    /// # use npymap::MappedArray;
    /// let pictures = MappedArray::anonymous(&"|u1".parse()?, &[10, 2, 2])?.into_read_only()?;
    /// let mut batch = [1.0_f32; 2 * 4];
    /// let scaled = |pixel: u8| f32::from(pixel) / 255.0;
    /// pictures.rows()?.take_with(&[7, 7], &mut batch, scaled)?;
    /// assert_eq!(batch, [0.0; 8]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn take_with<T: Element + Copy, U, I: RowIndex>(
        &self,
        indices: &[I],
        out: &mut [U],
        convert: impl Fn(T) -> U,
    ) -> Result<()> {
        self.named(self.converted(indices, 1, out, convert))
    }

    /// Copies rows cast to another type of number, as
    /// [`Casting::SameKind`] allows: `u16` to `i64`, `f16` to `f32`, `f64` to
    /// `f32`.
    ///
    /// # Errors
    ///
    /// As [`take`](Rows::take); [`ErrorKind::Cast`] when that would lose more
    /// than precision.
    ///
    /// # Examples
    ///
    /// ```
    /// # use npymap::MappedArray;
    /// // SAFETY: nobody changes or truncates the file meanwhile.
    /// let penguins = unsafe { MappedArray::open("data/penguins.npy")? };
    /// let mut row = [0.0_f32; 4];
    /// penguins.rows()?.take_as(&[0], &mut row)?;
    /// assert_eq!(row[3], 3750.0);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn take_as<U: Number, I: RowIndex>(&self, indices: &[I], out: &mut [U]) -> Result<()> {
        self.named(self.cast(indices, 1, out))
    }

    /// Copies the bytes of rows as they are stored, elements in C order.
    ///
    /// # Errors
    ///
    /// As [`take`](Rows::take).
    pub fn take_bytes<I: RowIndex>(&self, indices: &[I], out: &mut [u8]) -> Result<()> {
        self.named(self.copied(indices, out))
    }

    fn copied<I: RowIndex>(&self, indices: &[I], out: &mut [u8]) -> Result<()> {
        let each = self.row_len() * self.dtype.itemsize();
        let expected = each.saturating_mul(indices.len());
        fits(expected, out.len())?;
        let batch = self.wanted(indices, 1)?;
        if each == 0 {
            return Ok(());
        }
        self.go(&batch, |range| {
            let own = out.get_mut(range.start * each..range.end * each).unwrap_or_default();
            let rows = batch.rows.get(range).unwrap_or_default();
            batch.parts.copy(self.map.as_ref(), rows, own);
        });
        Ok(())
    }

    /// Tells the system that rows will be wanted soon, and doesn't wait.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Index`].
    pub fn prefetch<I: RowIndex>(&self, indices: &[I]) -> Result<()> {
        let batch = self.named(self.wanted(indices, 1))?;
        batch.rows.iter().for_each(|&row| self.advise(&batch.parts, row));
        Ok(())
    }

    pub(super) fn converted<T: Element + Copy, U, I: RowIndex>(
        &self,
        indices: &[I],
        window: usize,
        out: &mut [U],
        convert: impl Fn(T) -> U,
    ) -> Result<()> {
        let codec = T::codec(&self.dtype)?;
        let batch = self.batch(indices, window, out.len())?;
        self.each(&batch, out, |rows, out| {
            batch.parts.convert_over(self.map.as_ref(), &codec, rows, out, &convert);
        });
        Ok(())
    }

    pub(super) fn cast<U: Number, I: RowIndex>(
        &self,
        indices: &[I],
        window: usize,
        out: &mut [U],
    ) -> Result<()> {
        check(&self.dtype, &U::dtype(), Casting::SameKind)?;
        with_type!(self.dtype, number T => {
            self.converted(indices, window, out, |value: T| value.cast())
        }, _ => {
            let works = "only numbers do: take a field, or copy with `take`".to_owned();
            let (from, to) = (self.dtype.to_string(), U::dtype().to_string());
            Err(ErrorKind::Cast { from, to, casting: Casting::SameKind.to_string(), works }.into())
        })
    }

    /// Checks all that there is to check of a batch that is copied to `len`
    /// elements.
    pub(super) fn batch<I: RowIndex>(
        &self,
        indices: &[I],
        window: usize,
        len: usize,
    ) -> Result<Wanted> {
        let wanted = self.wanted(indices, window)?;
        let expected = wanted.rows.len().saturating_mul(wanted.parts.len);
        check_unbacked(self.dtype.itemsize(), self.shape(), expected)?;
        fits(expected, len)?;
        Ok(wanted)
    }

    /// Finds the parts that start at these indices.
    fn wanted<I: RowIndex>(&self, indices: &[I], window: usize) -> Result<Wanted> {
        let size = self.dtype.itemsize();
        let parts = match window {
            1 => Parts::rows(&self.geometry, 0, size)?,
            _ => Parts::windows(&self.geometry, 0, window, size)?,
        };
        let rows = resolve(TakeMode::Raise, indices, parts.count, 0, self.shape())?;
        Ok(Wanted { parts, rows })
    }

    /// Calls `copy` with the places of `out` for some rows, and with those
    /// rows and all after them.
    pub(super) fn each<U>(
        &self,
        wanted: &Wanted,
        out: &mut [U],
        mut copy: impl FnMut(&[usize], &mut [U]),
    ) {
        let len = wanted.parts.len;
        self.go(wanted, |range| {
            let own = out.get_mut(range.start * len..range.end * len).unwrap_or_default();
            copy(wanted.rows.get(range.start..).unwrap_or_default(), own);
        });
    }

    /// Copies rows to places of their own: the `n`th of `rows` to the `n`th of
    /// `places`, counted in rows of `out`. All are there.
    pub(super) fn scatter<T: Element>(
        &self,
        rows: &[usize],
        places: &[usize],
        out: &mut [T],
    ) -> Result<()> {
        let codec = T::codec(&self.dtype)?;
        let parts = Parts::rows(&self.geometry, 0, self.dtype.itemsize())?;
        let (len, wanted) = (parts.len, Wanted { parts, rows: rows.to_vec() });
        self.go(&wanted, |range| {
            for at in range {
                let place = places.get(at).map(|place| place * len..(place + 1) * len);
                let place = place.and_then(|place| out.get_mut(place)).unwrap_or_default();
                let next = wanted.rows.get(at..).unwrap_or_default();
                wanted.parts.decode_over(self.map.as_ref(), &codec, next, place);
            }
        });
        Ok(())
    }

    /// Copies stretches of rows, each to as many places of its own.
    pub(super) fn stretches<T: Element>(
        &self,
        stretches: &[Range<usize>],
        out: &mut [&mut [T]],
    ) -> Result<()> {
        let codec = T::codec(&self.dtype)?;
        let size = self.dtype.itemsize();
        let part = |stretch: &Range<usize>| {
            Parts::windows(&self.geometry, 0, stretch.len(), size)
                .map(|parts| (parts, stretch.start))
        };
        let parts: Vec<(Parts, usize)> = stretches.iter().map(part).collect::<Result<_>>()?;
        let nbytes = parts.iter().map(|(parts, _)| parts.nbytes()).sum::<usize>();
        let each = nbytes / parts.len().max(1);
        let copy = |range: Range<usize>| {
            let places = out.get_mut(range.clone()).unwrap_or_default();
            for ((parts, start), place) in parts.get(range).into_iter().flatten().zip(places) {
                parts.decode_over(self.map.as_ref(), &codec, &[*start], place);
            }
        };
        let part = |at: usize| parts.get(at).map(|(parts, start)| (parts, *start));
        let mut reading = Reading { own: self, part, copy, start: Instant::now() };
        self.strategy.run(parts.len(), each, &mut reading);
        Ok(())
    }

    /// Calls `copy` with ranges of rows, when it is best to read them.
    fn go(&self, wanted: &Wanted, copy: impl FnMut(Range<usize>)) {
        let part = |at: usize| wanted.rows.get(at).map(|&row| (&wanted.parts, row));
        let mut reading = Reading { own: self, part, copy, start: Instant::now() };
        self.strategy.run(wanted.rows.len(), wanted.parts.nbytes(), &mut reading);
    }

    /// Tells the system that a part is next. It may refuse to listen, which
    /// changes speed only.
    fn advise(&self, parts: &Parts, row: usize) {
        parts.ranges(row, |range| drop(self.map.advise(range, Advice::WillNeed)));
    }

    pub(super) fn named<T>(&self, result: Result<T>) -> Result<T> {
        match &self.path {
            Some(path) => result.map_err(|error| error.at(path)),
            None => result,
        }
    }
}

/// Parts that are there.
pub(super) struct Wanted {
    pub(super) parts: Parts,
    pub(super) rows: Vec<usize>,
}

/// A batch on its way: `part` says which part is to be read at each place.
struct Reading<'a, P, C> {
    own: &'a Rows,
    part: P,
    copy: C,
    start: Instant,
}

impl<'p, P, C> Batch for Reading<'_, P, C>
where
    P: Fn(usize) -> Option<(&'p Parts, usize)>,
    C: FnMut(Range<usize>),
{
    fn touch(&self, at: usize) {
        let bytes = self.own.map.as_ref();
        if let Some((parts, row)) = (self.part)(at) {
            parts.ranges(row, |range| {
                black_box(bytes.get(range.start).copied());
            });
        }
    }

    fn advise(&self, at: usize) {
        if let Some((parts, row)) = (self.part)(at) {
            self.own.advise(parts, row);
        }
    }

    fn copy(&mut self, rows: Range<usize>) {
        (self.copy)(rows);
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }
}

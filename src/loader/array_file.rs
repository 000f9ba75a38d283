//! The same as [`Rows`](crate::Rows), of files that are read and not mapped.

use crate::array::ArrayFile;
use crate::dtype::literal::tuple;
use crate::element::Element;
use crate::element::cast::{Casting, Number, check};
use crate::error::{ErrorKind, Result};
use crate::layout::check_unbacked;
use crate::layout::row_index::{RowIndex, TakeMode, resolve};
use crate::view::fits;

/// What is read before it is decoded.
const BLOCK: usize = 8 << 20;

impl ArrayFile {
    /// Reads rows, in this order, into memory that is there:
    /// [`Rows::take`](crate::Rows::take) with errors in place of signals.
    ///
    /// # Errors
    ///
    /// As there; [`ErrorKind::ShortFile`], [`ErrorKind::Io`].
    ///
    /// # Examples
    ///
    /// ```
    /// let penguins = npymap::ArrayFile::open("data/penguins.npy")?;
    /// let mut batch = [0.0_f64; 2 * 4];
    /// penguins.take(&[341, 0], &mut batch)?;
    /// assert_eq!([batch[3], batch[7]], [3775.0, 3750.0]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn take<T: Element, I: RowIndex>(&self, indices: &[I], out: &mut [T]) -> Result<()> {
        let mut taken = || {
            T::codec(self.dtype())?;
            let rows = self.found(indices, 1, out.len())?;
            self.each(&rows, 1, out, |read, own| read.view::<T>()?.copy_to_slice(own))
        };
        self.named(taken())
    }

    /// Reads rows cast to another type of number of the same kind:
    /// [`Rows::take_as`](crate::Rows::take_as).
    ///
    /// # Errors
    ///
    /// As there; [`ErrorKind::ShortFile`], [`ErrorKind::Io`].
    pub fn take_as<U: Number, I: RowIndex>(&self, indices: &[I], out: &mut [U]) -> Result<()> {
        self.take_windows(indices, 1, out)
    }

    /// Reads windows of `len` rows from each start on, cast to another type of
    /// number of the same kind:
    /// [`Rows::take_windows`](crate::Rows::take_windows).
    ///
    /// # Errors
    ///
    /// As there; [`ErrorKind::ShortFile`], [`ErrorKind::Io`].
    pub fn take_windows<U: Number, I: RowIndex>(
        &self,
        starts: &[I],
        len: usize,
        out: &mut [U],
    ) -> Result<()> {
        let mut taken = || {
            check(self.dtype(), &U::dtype(), Casting::SameKind)?;
            let starts = self.found(starts, len, out.len())?;
            self.each(&starts, len, out, |read, own| {
                let cast = read.dyn_view()?.to_ndarray_as::<U>(Casting::SameKind)?;
                own.iter_mut().zip(cast).for_each(|(to, value)| *to = value);
                Ok(())
            })
        };
        self.named(taken())
    }

    /// Where windows start, for `out` elements.
    fn found<I: RowIndex>(&self, starts: &[I], window: usize, out: usize) -> Result<Vec<usize>> {
        let shape = self.shape();
        let Some((&dim, rest)) = shape.split_first() else {
            return Err(ErrorKind::Axis { asked: 0, shape: tuple(shape) }.into());
        };
        // Rows are windows of one, which an empty axis has none of.
        let count = if window == 1 { Some(dim) } else { dim.checked_sub(window).map(|n| n + 1) };
        let count = count.ok_or_else(|| ErrorKind::Index {
            axis: 0,
            asked: format!("window of {window}"),
            shape: tuple(shape),
        })?;
        let starts = resolve(TakeMode::Raise, starts, count, 0, shape)?;
        let each = rest.iter().product::<usize>().checked_mul(window);
        let expected = each.and_then(|each| each.checked_mul(starts.len()));
        let expected = expected.unwrap_or(usize::MAX);
        check_unbacked(self.dtype().itemsize(), shape, expected)?;
        fits(expected, out)?;
        Ok(starts)
    }

    /// Reads windows, as many as fit a block, and calls `copy` with them and
    /// the places of `out` for them.
    fn each<U>(
        &self,
        starts: &[usize],
        window: usize,
        out: &mut [U],
        mut copy: impl FnMut(&crate::array::MappedArrayMut, &mut [U]) -> Result<()>,
    ) -> Result<()> {
        let row: usize = self.shape().iter().skip(1).product();
        let nbytes = window * row * self.dtype().itemsize();
        let room = (BLOCK / nbytes.max(1)).max(1);
        let mut rest = out;
        for starts in starts.chunks(room) {
            let rows = starts.iter().flat_map(|&start| start..start + window);
            let rows: Vec<usize> = rows.collect();
            let (own, after) = rest.split_at_mut(rows.len() * row);
            copy(&self.taken(&rows)?, own)?;
            rest = after;
        }
        Ok(())
    }
}

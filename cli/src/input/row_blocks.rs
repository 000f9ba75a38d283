//! Splits the rows of an array into blocks of bounded size.

use std::ops::Range;

use npymap::ndarray::SliceInfoElem;

use crate::input::lengths::to_isize;

/// The size of a block of more than one row, in bytes.
const BLOCK: usize = 1 << 20;

/// The rows that some leading axes enumerate, in C order, block by block.
#[derive(Clone, Debug)]
pub(crate) struct RowBlocks {
    /// The lengths of those axes.
    leading: Vec<usize>,
    /// The axis that blocks divide; they have length 1 along the axes before it.
    axis: usize,
    /// The length of blocks along `axis`.
    step: usize,
}

impl RowBlocks {
    /// Splits the rows of axes with these lengths.
    pub(crate) fn new(leading: &[usize], row_bytes: usize) -> RowBlocks {
        RowBlocks::of_size(leading, row_bytes, BLOCK)
    }

    /// As `new`, with blocks of at most `block` bytes, unless a row is longer.
    pub(crate) fn of_size(leading: &[usize], row_bytes: usize, block: usize) -> RowBlocks {
        let room = (block / row_bytes.max(1)).max(1);
        // The last axes that fit into a block together are whole in each.
        let mut inner = 1_usize;
        let mut axis = leading.len();
        while let Some(dim) = axis.checked_sub(1).and_then(|before| leading.get(before)) {
            axis -= 1;
            match inner.checked_mul(*dim) {
                Some(product) if product <= room => inner = product,
                _ => break,
            }
        }
        let inner: usize = leading.iter().skip(axis + 1).product();
        let step = (room / inner.max(1)).max(1);
        RowBlocks { leading: leading.to_vec(), axis, step }
    }

    /// The number of blocks.
    pub(crate) fn len(&self) -> usize {
        if self.leading.contains(&0) { 0 } else { self.outer() * self.per_outer() }
    }

    /// The block that has a row.
    pub(crate) fn find(&self, row: usize) -> usize {
        let at = row / self.inner().max(1);
        let dim = self.dim().max(1);
        at / dim * self.per_outer() + at % dim / self.step
    }

    /// The number of indices of the axes before the one that is divided.
    fn outer(&self) -> usize {
        self.leading.iter().take(self.axis).product()
    }

    /// The number of blocks along the axis that is divided.
    fn per_outer(&self) -> usize {
        self.dim().div_ceil(self.step)
    }

    /// The length of the axis that is divided; one if there is none.
    fn dim(&self) -> usize {
        self.leading.iter().skip(self.axis).take(1).product()
    }

    /// The number of rows in each index of the axis that is divided.
    fn inner(&self) -> usize {
        self.leading.iter().skip(self.axis + 1).product()
    }

    /// The slice of an array of `ndim` axes that is a block, and the numbers of
    /// its rows.
    pub(crate) fn slice(&self, block: usize, ndim: usize) -> (Vec<SliceInfoElem>, Range<usize>) {
        self.slice_with(block, ndim, 0..usize::MAX)
    }

    /// As [`slice`](RowBlocks::slice), of the part of a block that has some of its rows.
    pub(crate) fn slice_with(
        &self,
        block: usize,
        ndim: usize,
        wanted: Range<usize>,
    ) -> (Vec<SliceInfoElem>, Range<usize>) {
        let per_outer = self.per_outer().max(1);
        let (outer, along) = (block / per_outer, block % per_outer);
        let dim = self.dim();
        let start = along * self.step;
        let end = dim.min(start + self.step);
        let (inner, before) = (self.inner().max(1), outer * dim);
        let at = |row: usize| row.clamp(before + start, before + end) - before;
        let (start, end) = (at(wanted.start / inner), at(wanted.end.div_ceil(inner)));
        let first = (outer * dim + start) * self.inner();
        let rows = first..first + (end - start) * self.inner();
        let before = self.leading.split_at(self.axis).0;
        let ranges = index(before, outer).into_iter().map(|at| at..at + 1);
        let mut ranges: Vec<_> = ranges.collect();
        ranges.extend((self.axis < self.leading.len()).then_some(start..end));
        let mut slice: Vec<_> = ranges.into_iter().map(element).collect();
        slice.resize(ndim, WHOLE);
        (slice, rows)
    }
}

/// The index of the `number`th element of axes with these lengths, in C order.
pub(crate) fn index(shape: &[usize], number: usize) -> Vec<usize> {
    let mut rest = number;
    let mut index: Vec<usize> = shape
        .iter()
        .rev()
        .map(|&dim| {
            let at = rest % dim.max(1);
            rest /= dim.max(1);
            at
        })
        .collect();
    index.reverse();
    index
}

/// A whole axis.
pub(crate) const WHOLE: SliceInfoElem = SliceInfoElem::Slice { start: 0, end: None, step: 1 };

/// A range of an axis.
pub(crate) fn element(range: Range<usize>) -> SliceInfoElem {
    SliceInfoElem::Slice { start: to_isize(range.start), end: Some(to_isize(range.end)), step: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_all_rows_in_order() {
        for (leading, row_bytes) in [
            (&[][..], 8),
            (&[10], 8),
            (&[10], BLOCK),
            (&[10], usize::MAX),
            (&[1000, 3], BLOCK / 10),
            (&[3, 1000], BLOCK / 10),
            (&[4, 5, 6], BLOCK / 7),
            (&[0, 5], 8),
            (&[5, 0], 8),
            (&[isize::MAX.unsigned_abs(), 0], 8),
            (&[3, 2, 1 << 20], 1),
        ] {
            let blocks = RowBlocks::new(leading, row_bytes);
            let mut next = 0;
            for number in 0..blocks.len() {
                let (slice, rows) = blocks.slice(number, leading.len() + 1);
                assert_eq!((rows.start, slice.len()), (next, leading.len() + 1), "{leading:?}");
                assert!(rows.len() <= 1 || rows.len() * row_bytes <= BLOCK, "{leading:?}");
                let lens = slice.iter().zip(leading).map(|(element, _)| match element {
                    SliceInfoElem::Slice { start, end, .. } => end.unwrap() - start,
                    _ => 1,
                });
                let full = leading.iter().skip(blocks.axis + 1).product::<usize>();
                let lens: isize = lens.take(blocks.axis + 1).product();
                let all = usize::try_from(lens).unwrap() * full;
                assert_eq!(all, rows.len(), "{leading:?}");
                next = rows.end;
            }
            assert_eq!(next, leading.iter().product::<usize>(), "{leading:?}");
        }
    }
}

//! The pieces of a file that rows consist of.

use std::ops::Range;

use crate::error::Result;
use crate::layout::geometry::Geometry;
use crate::view::AxisSlices;

/// A contiguous range of element bytes.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub(super) start: usize,
    pub(super) len: usize,
}

/// Rows as contiguous columns: one in C order, and one per index of the other
/// axes in Fortran order. A column has `step` bytes, `size` for each row.
#[derive(Clone, Copy)]
pub(super) struct Columns {
    pub(super) count: usize,
    pub(super) step: usize,
    pub(super) size: usize,
}

impl Columns {
    #[inline]
    pub(super) fn piece(self, column: usize, rows: Range<usize>) -> Piece {
        Piece { start: column * self.step + rows.start * self.size, len: rows.len() * self.size }
    }

    /// The pieces of row ranges.
    #[inline]
    pub(super) fn ranges(self, ranges: &[Range<usize>]) -> impl Iterator<Item = Piece> {
        let columns = 0..self.count;
        columns.flat_map(move |n| ranges.iter().map(move |rows| self.piece(n, rows.clone())))
    }

    /// The pieces of rows in any order.
    #[inline]
    pub(super) fn rows(self, rows: &[usize]) -> impl Iterator<Item = Piece> {
        let columns = 0..self.count;
        columns.flat_map(move |n| rows.iter().map(move |&row| self.piece(n, row..row + 1)))
    }
}

/// Rows in any order, and the distinct rows among them. In Fortran order, rows
/// are read as these, because each has a piece in every column: the pieces are
/// then as few and as long as possible, and in the order of the file.
pub(super) struct Distinct {
    /// The number of distinct rows.
    pub(super) count: usize,
    /// The distinct rows, in increasing order, as ranges.
    pub(super) ranges: Vec<Range<usize>>,
    /// For each row, its index among the distinct rows.
    pub(super) positions: Vec<usize>,
    /// Whether the rows are distinct, and in increasing order.
    pub(super) is_ordered: bool,
}

impl Distinct {
    #[inline]
    pub(super) fn new(rows: &[usize]) -> Distinct {
        let mut distinct = rows.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let ranges = distinct.chunk_by(|row, next| row + 1 == *next).filter_map(|run| {
            let (first, last) = (run.first()?, run.last()?);
            Some(*first..last + 1)
        });
        let position = |row| distinct.binary_search(row).unwrap_or_else(|place| place);
        let positions = rows.iter().map(position).collect();
        Distinct {
            count: distinct.len(),
            ranges: ranges.collect(),
            positions,
            is_ordered: distinct == rows,
        }
    }

    /// Copies from columns of the distinct rows to columns of the requested
    /// rows.
    #[inline]
    pub(super) fn copy_columns(&self, from: &[u8], size: usize, to: &mut [u8]) -> Result<()> {
        let (step, to_step) = (self.count * size, self.positions.len() * size);
        let column = AxisSlices::rows(&Geometry::line(0, self.count, size), 0, size)?;
        if to_step == 0 {
            return Ok(());
        }
        for (number, to) in to.chunks_exact_mut(to_step).enumerate() {
            column.with_start(number * step).select(from, &self.positions).copy(to);
        }
        Ok(())
    }
}

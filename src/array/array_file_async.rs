//! Reading rows in asynchronous programs.

use std::ops::RangeBounds;

use super::MappedArrayMut;
use super::advise::resolve_rows;
use super::array_file::ArrayFile;
use super::pieces::{Distinct, Piece};
use crate::error::Result;
use crate::layout::{Layout, Order};
use crate::source::map::MapMut;
use crate::source::ranges;

impl ArrayFile {
    /// Like [`read`](ArrayFile::read), but awaited: see
    /// [`select_rows_async`](ArrayFile::select_rows_async).
    ///
    /// # Errors
    ///
    /// Returns [`Truncated`](crate::ErrorKind::Truncated) if the file has
    /// become too short, and [`Io`](crate::ErrorKind::Io) if reading fails or
    /// there is not enough memory.
    #[inline]
    pub async fn read_async(&self) -> Result<MappedArrayMut> {
        let layout = self.layout().clone();
        let whole = Piece { start: 0, len: layout.nbytes() };
        self.named(self.copy_pieces_async(layout, [whole].into_iter()).await)
    }

    /// Like [`rows`](ArrayFile::rows), but awaited: see
    /// [`select_rows_async`](ArrayFile::select_rows_async).
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) for rows that do
    /// not exist and for 0-d arrays, [`Truncated`](crate::ErrorKind::Truncated)
    /// if the file ends before the last of them, and
    /// [`Io`](crate::ErrorKind::Io) if reading fails or there is not enough
    /// memory.
    pub async fn rows_async(&self, rows: impl RangeBounds<usize>) -> Result<MappedArrayMut> {
        let rows = self.named(resolve_rows(self.shape(), &rows))?;
        let layout = self.named(self.rows_layout(rows.len()))?;
        let rows = [rows];
        let pieces = self.columns().ranges(&rows);
        self.named(self.copy_pieces_async(layout, pieces).await)
    }

    /// Like [`select_rows`](ArrayFile::select_rows), but awaited.
    ///
    /// The task's thread is not blocked if the source reads asynchronously
    /// ([`ReadAt::read_ranges_async`](crate::source::ReadAt::read_ranges_async)), as the
    /// objects of the package `npymap-remote` do: in any runtime, including one with a
    /// single thread. With any other source, it can be.
    ///
    /// The rows are in memory then, so that you can decode them without
    /// waiting, by the methods of [`MappedArray`](crate::MappedArray) or
    /// [`Rows`](crate::Rows).
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) for rows that do
    /// not exist and for 0-d arrays, [`Truncated`](crate::ErrorKind::Truncated)
    /// if the file ends before the last of them, and
    /// [`Io`](crate::ErrorKind::Io) if reading fails or there is not enough
    /// memory.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use npymap::{ArrayFile, Result};
    ///
    /// async fn mean(tokens: &ArrayFile, indices: &[usize]) -> Result<f64> {
    ///     let batch = tokens.select_rows_async(indices).await?;
    ///     let batch = batch.view::<u16>()?;
    ///     Ok(batch.iter().map(f64::from).sum::<f64>() / batch.len() as f64)
    /// }
    /// ```
    #[inline]
    pub async fn select_rows_async(&self, rows: &[usize]) -> Result<MappedArrayMut> {
        self.named(self.check_rows(rows))?;
        if self.place.order == Order::C {
            let layout = self.named(self.rows_layout(rows.len()))?;
            return self.named(self.copy_pieces_async(layout, self.columns().rows(rows)).await);
        }
        let distinct = Distinct::new(rows);
        let layout = self.named(self.rows_layout(distinct.count))?;
        let pieces = self.columns().ranges(&distinct.ranges);
        let read = self.named(self.copy_pieces_async(layout, pieces).await)?;
        self.named(self.repeat(read, &distinct))
    }

    /// Reads pieces into consecutive memory.
    async fn copy_pieces_async(
        &self,
        layout: Layout,
        pieces: impl Iterator<Item = Piece>,
    ) -> Result<MappedArrayMut> {
        let mut data = MapMut::anonymous(layout.nbytes())?.with_large_pages();
        let ranges = pieces.map(|piece| self.file_range(piece));
        for (batch, out) in ranges::batches(ranges, data.as_mut()) {
            self.storage.read_ranges_async(&batch, out).await?;
        }
        Ok(self.copied(layout, data))
    }
}

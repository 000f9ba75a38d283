//! Windows: several rows one after another, from any start.

use super::rows::Rows;
use crate::element::cast::Number;
use crate::error::{ErrorKind, Result};
use crate::layout::row_index::RowIndex;
use crate::view::fits;

impl Rows {
    /// Copies windows of `len` rows from each start on, cast as
    /// [`take_as`](Rows::take_as) does: of a file of tokens, sequences to
    /// train on, `u16` widened to `i64` on the way. Windows may overlap.
    ///
    /// # Errors
    ///
    /// As [`take_as`](Rows::take_as); [`ErrorKind::Index`] also for windows
    /// that reach behind the last row.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::MappedArray;
    ///
    /// let mut tokens = MappedArray::anonymous(&"<u2".parse()?, &[100])?;
    /// tokens.view_mut::<u16>()?.copy_from_slice(&(0..100).collect::<Vec<_>>())?;
    /// let mut batch = [0_i64; 2 * 4];
    /// tokens.into_read_only()?.rows()?.take_windows(&[96, 3], 4, &mut batch)?;
    /// assert_eq!(batch, [96, 97, 98, 99, 3, 4, 5, 6]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn take_windows<U: Number, I: RowIndex>(
        &self,
        starts: &[I],
        len: usize,
        out: &mut [U],
    ) -> Result<()> {
        self.named(self.cast(starts, len, out))
    }

    /// Copies pairs of windows: `inputs` from each start on, and `targets`
    /// from one row later, as language models are trained on.
    ///
    /// # Errors
    ///
    /// As [`take_windows`](Rows::take_windows), for windows of one row more.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::MappedArray;
    ///
    /// let mut tokens = MappedArray::anonymous(&"<u2".parse()?, &[100])?;
    /// tokens.view_mut::<u16>()?.copy_from_slice(&(0..100).collect::<Vec<_>>())?;
    /// let rows = tokens.into_read_only()?.rows()?;
    /// let (mut inputs, mut targets) = ([0_i64; 3], [0_i64; 3]);
    /// rows.take_window_pairs(&[96], 3, &mut inputs, &mut targets)?;
    /// assert_eq!((inputs, targets), ([96, 97, 98], [97, 98, 99]));
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn take_window_pairs<U: Number, I: RowIndex>(
        &self,
        starts: &[I],
        len: usize,
        inputs: &mut [U],
        targets: &mut [U],
    ) -> Result<()> {
        self.named(self.pairs(starts, len, inputs, targets))
    }

    fn pairs<U: Number, I: RowIndex>(
        &self,
        starts: &[I],
        len: usize,
        inputs: &mut [U],
        targets: &mut [U],
    ) -> Result<()> {
        let row = self.row_len();
        let each = len.checked_mul(row).and_then(|each| each.checked_mul(starts.len()));
        fits(each.unwrap_or(usize::MAX), inputs.len())?;
        fits(inputs.len(), targets.len())?;
        let longer = len.checked_add(1).ok_or_else(|| ErrorKind::Index {
            axis: 0,
            asked: format!("window of {len}"),
            shape: crate::dtype::literal::tuple(self.shape()),
        })?;
        let all =
            self.batch(starts, longer, starts.len().saturating_mul(longer.saturating_mul(row)))?;
        let later: Vec<usize> = all.rows.iter().map(|start| start + 1).collect();
        self.cast(&all.rows, len, inputs)?;
        self.cast(&later, len, targets)
    }
}

//! Rows of files that are read instead of mapped.

use super::gather::{self, Gather};
use super::row_source::{RowSource, row_source};
use super::windows::window_shape;
use crate::array::ArrayFile;
use crate::dtype::DType;
use crate::element::Element;
use crate::element::cast::Number;
use crate::error::Result;
use crate::layout::row_index::RowIndex;
use crate::view::AxisSlices;

/// The number of bytes that are read before they are decoded.
const BLOCK: usize = 8 << 20;

/// The sliding windows over the rows of an [`ArrayFile`], created by
/// [`ArrayFile::windows`]. Each window is a row.
///
/// # Examples
///
/// ```
/// let penguins = npymap::ArrayFile::open("data/penguins.npy")?;
/// let windows = penguins.windows(3)?;
/// assert_eq!(windows.shape(), [340, 3, 4]);
/// let mut batch = [0.0; 2 * 3 * 4];
/// windows.take(&[339, 0], &mut batch)?;
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FileWindows<'a> {
    file: &'a ArrayFile,
    len: usize,
    shape: Vec<usize>,
}

impl ArrayFile {
    /// Sliding windows of `len` rows, as [`Rows::windows`](crate::Rows::windows).
    ///
    /// # Errors
    ///
    /// As [`Rows::windows`](crate::Rows::windows).
    ///
    /// # Examples
    ///
    /// ```
    /// let penguins = npymap::ArrayFile::open("data/penguins.npy")?;
    /// let mut batch = [0.0_f32; 2 * 3 * 4];
    /// penguins.windows(3)?.take_as(&[339, 0], &mut batch)?;
    /// assert_eq!([batch[11], batch[15]], [3775.0, 3750.0]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn windows(&self, len: usize) -> Result<FileWindows<'_>> {
        let shape = self.named(window_shape(self.shape(), len))?;
        Ok(FileWindows { file: self, len, shape })
    }

    /// Reads windows of `window` rows in blocks, and calls `copy` for each block.
    fn gather_windows<U>(
        &self,
        window: usize,
        starts: &[usize],
        each: usize,
        out: &mut [U],
        mut copy: impl FnMut(&AxisSlices, &[u8], &[usize], &mut [U]),
    ) -> Result<()> {
        let size = self.dtype().itemsize();
        let room = (BLOCK / (window * self.row_len() * size).max(1)).max(1);
        let mut rest = out;
        for starts in starts.chunks(room) {
            let rows: Vec<usize> = starts.iter().flat_map(|&start| start..start + window).collect();
            let read = self.copy_rows(&rows)?;
            let parts = AxisSlices::windows(read.layout().geometry(), 0, window, size)?;
            let places: Vec<usize> = (0..starts.len()).map(|number| number * window).collect();
            let (own, after) = rest.split_at_mut(starts.len() * each);
            copy(&parts, read.into_data().as_ref(), &places, own);
            rest = after;
        }
        Ok(())
    }
}

impl Gather for ArrayFile {
    fn name_file<T>(&self, result: Result<T>) -> Result<T> {
        self.named(result)
    }

    fn gather<U>(
        &self,
        rows: &[usize],
        each: usize,
        out: &mut [U],
        copy: impl FnMut(&AxisSlices, &[u8], &[usize], &mut [U]),
    ) -> Result<()> {
        self.gather_windows(1, rows, each, out, copy)
    }
}

impl Gather for FileWindows<'_> {
    fn name_file<T>(&self, result: Result<T>) -> Result<T> {
        self.file.named(result)
    }

    fn gather<U>(
        &self,
        rows: &[usize],
        each: usize,
        out: &mut [U],
        copy: impl FnMut(&AxisSlices, &[u8], &[usize], &mut [U]),
    ) -> Result<()> {
        if each == 0 {
            return Ok(());
        }
        self.file.gather_windows(self.len, rows, each, out, copy)
    }
}

impl FileWindows<'_> {
    /// The number of windows, their length, and the lengths of the other axes.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The dtype of the elements.
    #[must_use]
    pub fn dtype(&self) -> &DType {
        self.file.dtype()
    }
}

row_source!(
    ArrayFile,
    "```
let penguins = npymap::ArrayFile::open(\"data/penguins.npy\")?;
let mut batch = [0.0_f64; 2 * 4];
penguins.take(&[341, 0], &mut batch)?;
assert_eq!([batch[3], batch[7]], [3775.0, 3750.0]);
# Ok::<(), npymap::Error>(())
```"
);
row_source!(FileWindows<'_>, "See [`ArrayFile::windows`].");

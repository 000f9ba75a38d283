//! Rows of files that are read instead of mapped.

use std::ops::Range;

use super::field_rows::FieldRows;
use super::gather;
use super::row_methods::row_methods;
use super::row_source::RowSource;
use super::windows::Windows;
use crate::array::ArrayFile;
use crate::dtype::DType;
use crate::element::Element;
use crate::element::cast::Number;
use crate::error::{Error, Result};
use crate::layout::row_index::RowIndex;

impl ArrayFile {
    /// Sliding windows of `len` rows, as [`Rows::windows`](crate::Rows::windows).
    /// They borrow the file; [`Windows::new`] takes it.
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
    pub fn windows(&self, len: usize) -> Result<Windows<&ArrayFile>> {
        Windows::new(self, len)
    }

    /// Selects one field of each element, such as `"x"` or `"pos.z"`. Whole rows are
    /// read. The result borrows the file; [`FieldRows::new`] takes it.
    ///
    /// # Errors
    ///
    /// As [`Rows::field`](crate::Rows::field).
    pub fn field(&self, path: &str) -> Result<FieldRows<&ArrayFile>> {
        FieldRows::new(self, path)
    }
}

impl RowSource for ArrayFile {
    fn dtype(&self) -> &DType {
        self.dtype()
    }

    fn shape(&self) -> &[usize] {
        self.shape()
    }

    fn read_ranges(&self, ranges: &[Range<usize>], out: &mut [u8]) -> Result<()> {
        self.named(gather::check_ranges(self, ranges, out.len()))?;
        self.named(self.read_row_ranges(ranges, out))
    }

    fn add_path(&self, error: Error) -> Error {
        match self.path() {
            Some(path) => error.with_path(path),
            None => error,
        }
    }
}

row_methods!(
    ArrayFile,
    "```
let penguins = npymap::ArrayFile::open(\"data/penguins.npy\")?;
let mut batch = [0.0_f64; 2 * 4];
penguins.take(&[341, 0], &mut batch)?;
assert_eq!([batch[3], batch[7]], [3775.0, 3750.0]);
# Ok::<(), npymap::Error>(())
```"
);

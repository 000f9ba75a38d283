//! Adds rows of different lengths.

use std::path::{Path, PathBuf};

use crate::array::{ArrayFile, CreateOptions};
use crate::dtype::DType;
use crate::element::Element;
use crate::error::invariant::Invariant;
use crate::error::{DTypeError, Result};
use crate::write::append::{Appender, RecoverOptions};

/// Offsets that wait for their data to be written.
const PENDING: usize = 8192;

/// Adds rows to the two files of a [`Ragged`](crate::loader::Ragged) array.
///
/// Elements are written before the offsets that lead to them. When the process
/// dies in between, there are elements that no row has: readers don't see
/// them, and [`open`](RaggedAppender::open) takes them away.
///
/// Dropping it writes what is left and ignores errors;
/// [`close`](RaggedAppender::close) tells.
#[derive(Debug)]
pub struct RaggedAppender {
    data: Appender,
    offsets: Appender,
    path: PathBuf,
    pending: Vec<i64>,
}

impl RaggedAppender {
    /// Makes two new files. Elements have `row` as their own axes: none for
    /// numbers.
    ///
    /// # Errors
    ///
    /// Those of [`Appender::create`].
    pub fn create(
        data: impl AsRef<Path>,
        offsets: impl AsRef<Path>,
        dtype: &DType,
        row: &[usize],
        options: &CreateOptions,
    ) -> Result<RaggedAppender> {
        let path = data.as_ref().to_owned();
        let data = Appender::create(&path, dtype, row, options)?;
        let offsets = Appender::create(offsets, &"<i8".parse()?, &[], options)?;
        let mut new = RaggedAppender { data, offsets, path, pending: vec![0] };
        new.flush()?;
        Ok(new)
    }

    /// Opens both files to add rows. What a writer that died left of a row is
    /// taken away: elements behind the last offset, offsets behind the last
    /// element.
    ///
    /// # Errors
    ///
    /// Those of [`RecoverOptions::recover`] and [`Appender::open`];
    /// [`WrongDType`](crate::ErrorKind::WrongDType) when offsets are no `i64`.
    pub fn open(data: impl AsRef<Path>, offsets: impl AsRef<Path>) -> Result<RaggedAppender> {
        let (path, offsets) = (data.as_ref().to_owned(), offsets.as_ref());
        RecoverOptions::new().recover(&path)?;
        RecoverOptions::new().recover(offsets)?;
        // Locks the data first: nobody adds rows after the offsets are read.
        let mut data = Appender::open(&path)?;
        let known = ArrayFile::open(offsets)?;
        let (rows, end) = known_rows(&known, data.rows())?;
        // It may be replaced.
        drop(known);
        let mut offsets = Appender::open(offsets)?;
        offsets.resize(rows)?;
        data.resize(end)?;
        let pending = if rows == 0 { vec![0] } else { Vec::new() };
        Ok(RaggedAppender { data, offsets, path, pending })
    }

    /// Adds a row of these elements, in C order. On an error the row is not
    /// added, and can be tried again.
    ///
    /// # Errors
    ///
    /// Those of [`Appender::append_slice`] and [`Appender::flush`].
    pub fn append_slice<T: Element>(&mut self, values: &[T]) -> Result<()> {
        // Before the row is added: an error after that would be said of a row that stays.
        if self.pending.len() >= PENDING {
            self.flush()?;
        }
        self.data.append_slice(values)?;
        let end = i64::try_from(self.data.rows()).invariant("an axis is at most `isize::MAX` long");
        self.pending.push(end);
        Ok(())
    }

    /// The number of rows, with those not written yet.
    #[must_use]
    pub fn rows(&self) -> usize {
        (self.offsets.rows() + self.pending.len()).saturating_sub(1)
    }

    /// Writes all rows, elements first; then readers that open the files see
    /// them.
    ///
    /// # Errors
    ///
    /// Those of [`Appender::flush`].
    pub fn flush(&mut self) -> Result<()> {
        self.data.flush()?;
        self.hand_over()?;
        self.offsets.flush()
    }

    /// As [`flush`](RaggedAppender::flush), and waits for the disk.
    ///
    /// # Errors
    ///
    /// Those of [`Appender::sync`].
    pub fn sync(&mut self) -> Result<()> {
        self.data.sync()?;
        self.hand_over()?;
        self.offsets.sync()
    }

    /// Writes all rows, waits for the disk and closes the files.
    ///
    /// # Errors
    ///
    /// Those of [`Appender::sync`].
    pub fn close(mut self) -> Result<()> {
        self.sync()
    }

    /// The path of the data.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn hand_over(&mut self) -> Result<()> {
        if !self.pending.is_empty() {
            self.offsets.append_slice(&self.pending)?;
            self.pending.clear();
        }
        Ok(())
    }
}

impl Drop for RaggedAppender {
    fn drop(&mut self) {
        self.flush().ok();
    }
}

/// How many offsets lead to elements that are there, and to how many.
fn known_rows(offsets: &ArrayFile, elements: usize) -> Result<(usize, usize)> {
    let at = |row: usize| {
        let found = offsets.get::<i64>([row])?;
        usize::try_from(found).map_err(|_| {
            let (value, expected) = (format!("offset {found}"), "one of at least 0".to_owned());
            crate::error::Error::from(DTypeError::Stored { value, expected })
        })
    };
    let (mut low, mut high) = (0, offsets.len());
    while low < high {
        let middle = low + (high - low) / 2;
        if at(middle)? <= elements {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok((low, if low == 0 { 0 } else { at(low - 1)? }))
}

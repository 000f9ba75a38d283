//! Repairs a file after an interrupted append: header and length are made to
//! agree.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::appender::Appender;
use super::stored_header::StoredHeader;
use crate::array::{OpenOptions, is_npy_at, with_path_in_errors};
use crate::error::invariant::{to_u64, to_usize_saturating};
use crate::error::{ExtentError, IoContext as _, Result};
use crate::npy::Header;
use crate::source::lock::{self, FileLock};
use crate::source::platform::{self, FileStat};
use crate::source::{atomic, file};

/// Options for recovering a file.
///
/// # Examples
///
/// ```
/// use std::io::Write as _;
///
/// use npymap::write::RecoverOptions;
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("penguins.npy");
/// std::fs::copy("data/penguins.npy", &path)?;
/// // A writer dies while it appends two rows of 32 bytes.
/// std::fs::File::options().append(true).open(&path)?.write_all(&[0; 50])?;
///
/// let options = RecoverOptions::new().zero_fill(true);
/// assert_eq!(options.plan(&path)?.filled, 14); // changes nothing
/// assert_eq!(options.recover(&path)?.shape, [344, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct RecoverOptions {
    zero_fill: bool,
    open: OpenOptions,
}

/// The changes that recover a file.
///
/// # Examples
///
/// ```
/// use npymap::write::RecoverOptions;
///
/// let recovery = RecoverOptions::new().plan("data/penguins.npy")?;
/// assert!(recovery.is_complete());
/// assert_eq!(recovery.shape, [342, 4]);
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// The shape in the header.
    pub header_shape: Vec<usize>,
    /// The shape after recovery.
    pub shape: Vec<usize>,
    /// Bytes of an incomplete row at the end, which are dropped.
    pub dropped: u64,
    /// Zeros that are added to complete such a row.
    pub filled: u64,
}

impl Recovery {
    /// Returns whether the file needs no change.
    #[must_use]
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.header_shape == self.shape && self.dropped == 0 && self.filled == 0
    }
}

impl RecoverOptions {
    /// Returns the defaults: an incomplete row is dropped.
    #[inline]
    pub fn new() -> RecoverOptions {
        RecoverOptions::default()
    }

    /// Completes an incomplete row with zeros instead of dropping it.
    #[inline]
    pub fn zero_fill(self, zero_fill: bool) -> RecoverOptions {
        RecoverOptions { zero_fill, ..self }
    }

    /// Sets the options for opening the file: the limit of its header, and what to do if
    /// another process has locked it.
    #[inline]
    pub fn open_options(self, open: OpenOptions) -> RecoverOptions {
        RecoverOptions { open, ..self }
    }

    /// Returns what [`recover`](RecoverOptions::recover) would do, without
    /// changing the file.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if the file does not
    /// exist, [`Locked`](crate::ErrorKind::Locked) if a writer has the file,
    /// [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) for a 0-d array,
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the header is not valid,
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if a second `.npy`
    /// follows the elements, the elements are Python objects, or this is not a
    /// regular file, [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if the
    /// header is longer than the limit,
    /// [`Truncated`](crate::ErrorKind::Truncated) if the header is incomplete,
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if the options for opening say where the
    /// array is, and [`Io`](crate::ErrorKind::Io) if reading or writing fails.
    pub fn plan(&self, path: impl AsRef<Path>) -> Result<Recovery> {
        with_path_in_errors(path.as_ref(), |path| {
            self.open.check_whole()?;
            let (file, FileStat { len, .. }) = file::open(path, false)?;
            Ok(self.examine(&file, len)?.1)
        })
    }

    /// Sets the number of rows in the header to that in the file: larger if a
    /// writer died before it updated the header, smaller if rows never reached
    /// the disk. Then waits for the disk.
    ///
    /// After a loss of power, rows that the header did not count may contain
    /// any bytes. [`Appender::sync`](crate::Appender::sync) waits until the
    /// rows are on the disk before it counts them.
    ///
    /// The header must be valid. The file is locked exclusively; writers that do
    /// not lock must not write to it. If the header has no room for the digits,
    /// the file is replaced by a copy with a longer header.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if the file does not
    /// exist, [`Locked`](crate::ErrorKind::Locked) if a writer has the file,
    /// [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) for a 0-d array,
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the header is not valid,
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if a second `.npy`
    /// follows the elements, the elements are Python objects, or this is not a
    /// regular file, [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if the
    /// header is longer than the limit,
    /// [`Truncated`](crate::ErrorKind::Truncated) if the header is incomplete,
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if the options for opening say where the
    /// array is, and [`Io`](crate::ErrorKind::Io) if reading or writing fails.
    pub fn recover(&self, path: impl AsRef<Path>) -> Result<Recovery> {
        with_path_in_errors(path.as_ref(), |path| {
            let mut found = self.examine_locked(path)?;
            if !found.recovery.is_complete() {
                found.repair(found.rows)?;
            }
            Ok(found.recovery)
        })
    }

    /// Opens and locks a file to recover it, without changing it yet.
    #[inline]
    pub(crate) fn examine_locked(&self, path: &Path) -> Result<Examined> {
        self.open.check_whole()?;
        let (file, FileStat { len, .. }, lock) = lock::open_to_write(path, self.open.locking)?;
        let (head, recovery, rows) = self.examine(&file, len)?;
        Ok(Examined { path: path.to_owned(), file, lock, head, recovery, rows })
    }

    /// Returns the header, the changes, and the number of rows after them.
    #[inline]
    fn examine(&self, file: &File, len: u64) -> Result<(StoredHeader, Recovery, usize)> {
        let head = StoredHeader::read(file, len, &self.open)?;
        let header_rows = head.rows();
        let row = to_u64(head.layout(1)?.nbytes());
        let end = head.end(header_rows)?;
        if is_npy_at(file, end)? {
            return Err(ExtentError::Follows { end }.into());
        }
        // The header may have become longer since.
        let nbytes = len - to_u64(head.header.data_offset).min(len);
        // Rows of no bytes can't be counted, so the header is right about them.
        let rows = nbytes.checked_div(row).unwrap_or(to_u64(header_rows));
        let rest = nbytes.checked_rem(row).unwrap_or(nbytes);
        let fills = self.zero_fill && rest > 0 && row > 0;
        let rows = to_usize_saturating(rows + u64::from(fills));
        let (dropped, filled) = if fills { (0, row - rest) } else { (rest, 0) };
        head.layout(rows)?;
        let (header_shape, shape) = (head.header.shape.clone(), head.shape(rows));
        Ok((head, Recovery { header_shape, shape, dropped, filled }, rows))
    }
}

/// A file that is open to be recovered. It is locked until this is dropped.
pub(crate) struct Examined {
    path: PathBuf,
    file: File,
    lock: Option<FileLock>,
    head: StoredHeader,
    recovery: Recovery,
    /// The number of complete rows in the file.
    pub(crate) rows: usize,
}

impl Examined {
    /// The header in the file.
    #[inline]
    pub(crate) fn header(&self) -> &Header {
        &self.head.header
    }

    /// The number of rows in the header.
    #[inline]
    pub(crate) fn counted_rows(&self) -> usize {
        self.head.rows()
    }

    /// Reads bytes of the elements, from the `at`-th one.
    #[inline]
    pub(crate) fn read_elements(&self, at: usize, bytes: &mut [u8]) -> Result<()> {
        let Header { data_offset, dtype, .. } = self.header();
        let at = to_u64(data_offset + at * dtype.itemsize());
        file::read_elements(&self.file, bytes, at)
    }

    /// Keeps the first `rows` rows and returns the file's appender.
    #[inline]
    pub(crate) fn keep(mut self, rows: usize) -> Result<Appender> {
        // Rows that the header counts may be mapped, so only `resize` can remove them.
        let kept = rows.max(self.head.rows().min(self.rows));
        if kept < self.rows || !self.recovery.is_complete() {
            self.repair(kept)?;
        }
        let mut appender = Appender::new(self.file, self.lock, &self.path, self.head, false)?;
        if rows < kept {
            appender.resize(rows)?;
        }
        Ok(appender)
    }

    /// Sets the file's length and then the header to `rows` rows. A crash in between
    /// leaves a file that can still be recovered.
    ///
    /// Only bytes outside all maps of the array are cut off: bytes after its
    /// elements, or of a file that was too short to be mapped.
    #[inline]
    fn repair(&mut self, rows: usize) -> Result<()> {
        let Examined { file, head, lock, .. } = self;
        let end = head.end(rows)?;
        file::extend(file, end).context("reserve space")?;
        let is_longer = file::len(file)? > end;
        if is_longer && rows >= head.rows() {
            file.set_len(end).context("cut off the incomplete row")?;
        }
        if !head.write(file, rows)? {
            let path = platform::canonical(&self.path).context("open")?;
            head.rewrite(file, lock, &path, rows)?;
            return atomic::sync_directory(&path).context("sync");
        }
        if is_longer {
            file.set_len(end).context("cut off the incomplete row")?;
        }
        file.sync_all().context("sync")
    }
}

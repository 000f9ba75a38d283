//! Makes a file whole after whoever wrote it died.

use std::fs::File;
use std::path::Path;

use super::stored_header::StoredHeader;
use crate::array::{OpenOptions, with_path_in_errors};
use crate::error::invariant::{to_u64, to_usize_saturating};
use crate::error::{ExtentError, Result, SystemError};
use crate::npy::MAGIC;
use crate::source::lock::{self, Locking};
use crate::source::platform::{self, FileStat};
use crate::source::{atomic, file};

/// Gives the array in a file as many rows as the file has whole; what is left
/// of another is dropped. See [`RecoverOptions::recover`].
///
/// # Errors
///
/// As [`RecoverOptions::recover`].
///
/// # Examples
///
/// ```
/// use std::io::Write as _;
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("penguins.npy");
/// std::fs::copy("data/penguins.npy", &path)?;
/// // Somebody dies while they add two rows of 32 bytes.
/// std::fs::File::options().append(true).open(&path)?.write_all(&[0; 50])?;
///
/// let done = npymap::write::recover(&path)?;
/// assert_eq!((done.header_shape, done.shape, done.dropped), (vec![342, 4], vec![343, 4], 18));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn recover(path: impl AsRef<Path>) -> Result<Recovery> {
    RecoverOptions::new().recover(path)
}

/// How to make a file whole.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct RecoverOptions {
    zero_fill: bool,
    open: OpenOptions,
}

/// What makes a file whole.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// The shape in the header.
    pub header_shape: Vec<usize>,
    /// The shape of what is there.
    pub shape: Vec<usize>,
    /// Bytes at the end that are no whole row, and are dropped.
    pub dropped: u64,
    /// Zeros that make a whole row of them.
    pub filled: u64,
}

impl Recovery {
    /// True when there is nothing to do.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.header_shape == self.shape && self.dropped == 0 && self.filled == 0
    }
}

impl RecoverOptions {
    /// The defaults: what is no whole row is dropped.
    pub fn new() -> RecoverOptions {
        RecoverOptions::default()
    }

    /// Makes a whole row, with zeros, of what is left of one.
    pub fn zero_fill(self, zero_fill: bool) -> RecoverOptions {
        RecoverOptions { zero_fill, ..self }
    }

    /// As [`OpenOptions::max_header_len`].
    pub fn max_header_len(self, characters: usize) -> RecoverOptions {
        RecoverOptions { open: self.open.max_header_len(characters), ..self }
    }

    /// As [`OpenOptions::locking`]; [`Locking::Try`] is the default.
    pub fn locking(self, locking: Locking) -> RecoverOptions {
        RecoverOptions { open: self.open.locking(locking), ..self }
    }

    /// Says what [`recover`](RecoverOptions::recover) would do, and does
    /// nothing.
    ///
    /// # Errors
    ///
    /// As [`recover`](RecoverOptions::recover).
    pub fn plan(&self, path: impl AsRef<Path>) -> Result<Recovery> {
        let planned = |path: &Path| {
            let (file, FileStat { len, .. }) = file::open(path, false)?;
            Ok(self.found(&file, len)?.1)
        };
        with_path_in_errors(path.as_ref(), planned)
    }

    /// Gives the array in a file as many rows as the file has, whatever the
    /// header says: more when a writer died before it counted them, fewer when
    /// they never came to the disk. Then waits for the disk.
    ///
    /// The header has to be good. The file is locked exclusively meanwhile; a
    /// writer that doesn't lock must not write to it. A header without room for the digits is made longer, by a copy of the file.
    ///
    /// # Errors
    ///
    /// [`Locked`](crate::ErrorKind::Locked) when a writer has the file,
    /// [`WrongShape`](crate::ErrorKind::WrongShape) for 0-d arrays,
    /// [`Unsupported`](crate::ErrorKind::Unsupported) when what follows the
    /// elements is another `.npy`, [`Io`](crate::ErrorKind::Io), those of
    /// [`Header::parse`](crate::Header::parse).
    pub fn recover(&self, path: impl AsRef<Path>) -> Result<Recovery> {
        let recovered = |path: &Path| {
            // Held until the file is whole.
            let (mut file, FileStat { len, .. }, _lock) =
                lock::open_to_write(path, self.open.locking_by_path())?;
            let (head, recovery, rows) = self.found(&file, len)?;
            if !recovery.is_complete() {
                mend(path, &mut file, head, rows)?;
            }
            Ok(recovery)
        };
        with_path_in_errors(path.as_ref(), recovered)
    }

    /// The header, what is to be done, and how many rows there will be.
    fn found(&self, file: &File, len: u64) -> Result<(StoredHeader, Recovery, usize)> {
        let head = StoredHeader::read(file, len, &self.open)?;
        let said = head.rows();
        let row = to_u64(head.layout(1)?.nbytes());
        no_array(file, head.end(said)?)?;
        let there = len.saturating_sub(head.data_offset());
        // Rows of no bytes are as many as the header says.
        let whole = there.checked_div(row);
        let rows = whole.map_or(said, to_usize_saturating);
        let rest = there.checked_rem(row).unwrap_or(there);
        let fills = self.zero_fill && rest > 0 && row > 0;
        let rows = if fills { rows.saturating_add(1) } else { rows };
        let (dropped, filled) = if fills { (0, row - rest) } else { (rest, 0) };
        head.layout(rows)?;
        let (header_shape, shape) = (head.header().shape.clone(), head.shape(rows));
        Ok((head, Recovery { header_shape, shape, dropped, filled }, rows))
    }
}

/// An error when what follows the elements starts as a `.npy` does.
fn no_array(file: &File, end: u64) -> Result<()> {
    let mut start = [0; MAGIC.len()];
    file::read_at(file, &mut start, end).map_err(SystemError::io("read the elements"))?;
    if start == MAGIC { Err(ExtentError::Follows { end }.into()) } else { Ok(()) }
}

/// Brings the file's length and then the header to so many rows. Dying in
/// between leaves a file that can be mended as before.
///
/// Cut off are only bytes that no map of the array holds: those behind it, or
/// those of an array that was too short to be mapped.
fn mend(path: &Path, file: &mut File, mut head: StoredHeader, rows: usize) -> Result<()> {
    let end = head.end(rows)?;
    file::reserve(file, end).map_err(SystemError::io("reserve space"))?;
    let is_longer = file::len(file)? > end;
    if is_longer && rows >= head.rows() {
        file.set_len(end).map_err(SystemError::io("cut off the incomplete row"))?;
    }
    let sync = |file: &File| file.sync_all().map_err(SystemError::io("sync"));
    if !head.write(file, rows)? {
        let place = platform::canonical(path).map_err(SystemError::io("open"))?;
        let (new, _) = head.rewritten(file, &place, rows)?;
        atomic::commit_over(new, file)?;
        return atomic::sync_directory(&place).map_err(SystemError::io("sync"));
    }
    if is_longer {
        file.set_len(end).map_err(SystemError::io("cut off the incomplete row"))?;
    }
    sync(file)
}

//! The bytes after the elements of a `.npy` file.

use super::{OpenOptions, Place};
use crate::error::invariant::to_u64;
use crate::error::{IoContext as _, Result};
use crate::layout::Layout;
use crate::npy::{Header, MAGIC};
use crate::source::Source;
use crate::source::storage::{self, ReadAt};

/// The bytes after the elements of a `.npy` file, found by [`OpenOptions::trailing`]: rows
/// of a writer that died before it counted them, or another array.
///
/// Every function that opens an array ignores them. Appending returns an error, and so does
/// replacing the file, unless an option drops them. [`recover`](crate::write::RecoverOptions::recover)
/// keeps the rows.
///
/// # Examples
///
/// See [`OpenOptions::trailing`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trailing {
    /// The end of the elements, in bytes from the start of the file.
    pub offset: u64,
    /// The number of bytes that follow.
    pub nbytes: u64,
    /// The complete rows among them: 0 if another array follows, or if the array has no
    /// rows, or rows of no bytes.
    pub rows: u64,
    /// Whether another array starts there, as in a file that several calls of `numpy.save`
    /// wrote; see [`OpenOptions::walk`].
    pub is_array: bool,
}

impl OpenOptions {
    /// Finds what follows the elements of an array; `None` if they end with the file.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) for raw binary,
    /// which has no header. Returns [`Corrupt`](crate::ErrorKind::Corrupt) if the
    /// source is not a valid `.npy` file,
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if it contains Python
    /// objects, [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if its header is
    /// longer than the limit, [`Truncated`](crate::ErrorKind::Truncated) if it ends
    /// before the last element, and [`Io`](crate::ErrorKind::Io) if reading or
    /// mapping fails.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::io::Write as _;
    ///
    /// use npymap::{OpenOptions, Source};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("penguins.npy");
    /// std::fs::copy("data/penguins.npy", &path)?;
    /// // A writer dies while it appends two rows of 32 bytes.
    /// std::fs::File::options().append(true).open(&path)?.write_all(&[0; 50])?;
    ///
    /// let found = OpenOptions::new().trailing(&Source::open(&path)?)?.expect("50 bytes");
    /// assert_eq!((found.nbytes, found.rows, found.is_array), (50, 1, false));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trailing<D>(&self, source: &Source<D>) -> Result<Option<Trailing>> {
        let storage = source.storage();
        let found = self.checked_header(storage).and_then(|header| {
            Trailing::find(storage, &header, self.offset, storage.len())
                .map_err(|error| error.with_offset(self.offset))
        });
        storage.add_path_on_err(found)
    }
}

impl Trailing {
    /// Finds what follows the elements of an array whose header starts at `start` of a file
    /// of `len` bytes.
    pub(crate) fn find(
        from: &(impl ReadAt + ?Sized),
        header: &Header,
        start: u64,
        len: u64,
    ) -> Result<Option<Trailing>> {
        let place = Place::from_header(header.clone(), start)?;
        let offset = place.end()?;
        let Some(nbytes) = len.checked_sub(offset).filter(|&nbytes| nbytes > 0) else {
            return Ok(None);
        };
        let is_array = is_npy_at(from, offset)?;
        let rows = nbytes.checked_div(row_nbytes(header)).unwrap_or(0);
        Ok(Some(Trailing { offset, nbytes, rows: if is_array { 0 } else { rows }, is_array }))
    }
}

/// Returns whether a `.npy` starts at this offset.
pub(crate) fn is_npy_at(from: &(impl ReadAt + ?Sized), offset: u64) -> Result<bool> {
    let mut first = [0; MAGIC.len()];
    storage::read_full_at(from, &mut first, offset).context("read the elements")?;
    Ok(first == MAGIC)
}

/// The size of a row in bytes; 0 if there are no rows, or they are too large.
#[inline]
fn row_nbytes(header: &Header) -> u64 {
    let mut shape = header.shape.clone();
    let dim = header.growing_axis().and_then(|axis| shape.get_mut(axis));
    let has_rows = dim.map(|dim| *dim = 1).is_some();
    let layout = Layout::new(header.dtype.clone(), &shape, header.order, 0);
    layout.map_or(0, |layout| if has_rows { to_u64(layout.nbytes()) } else { 0 })
}

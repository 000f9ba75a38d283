//! Paging of mapped arrays: advice, reading ahead, dropping from memory, and checks that the file has not been replaced or truncated.

use std::fs::File;
use std::ops::{Bound, Range, RangeBounds};
use std::sync::Arc;

use super::MappedArray;
use crate::dtype::literal::tuple;
use crate::error::invariant::{IN_BUFFER, Invariant, to_u64};
use crate::error::{ExtentError, IoContext as _, RequestError, Result, ShapeError, SystemError};
use crate::layout::Layout;
use crate::source::Mode;
use crate::source::file;
use crate::source::pages::Mapping;
use crate::source::platform::{self, Advice, FileId, FileStat};
use crate::source::read_ahead::Next;
use crate::source::tuning::UNTHREADED;

/// The size of the reads on systems that cannot populate a map, in bytes.
const READ_LEN: usize = 1 << 20;

/// Ranges of rows are along the first axis. `..` is the whole array, including
/// that of a 0-d array. In Fortran order rows are scattered over the array, so
/// these methods apply to nearly all of it.
impl<D: Mapping> MappedArray<D> {
    /// Advises the kernel how rows will be used: `madvise`.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) for rows that do
    /// not exist, and [`Io`](crate::ErrorKind::Io) if the kernel refuses.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, source::Advice};
    ///
    /// // SAFETY: no other process writes to or truncates this file.
    /// let penguins = unsafe { MappedArray::open("data/penguins.npy")? };
    /// penguins.advise(.., Advice::Random)?;
    /// penguins.advise(100..200, Advice::Sequential)?;
    /// penguins.prefetch(100..200)?;
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn advise(&self, rows: impl RangeBounds<usize>, advice: Advice) -> Result<()> {
        let range = row_bytes(&self.place.layout, &rows);
        self.origin.add_path_on_err(range.and_then(|range| self.data.advise(range, advice)))
    }

    /// Starts reading rows into memory and returns.
    ///
    /// A thread reads ranges of more than 4 MiB, in order, as fast as the disk
    /// allows, until the array and its clones are dropped. If the array was not
    /// opened by path, and on systems other than Linux, the calling thread makes
    /// the request, and may block while the disk's queue is full.
    ///
    /// This is only a hint. You will not see an error for rows that cannot be
    /// read, and the kernel may drop any pages when memory is short. If the
    /// rows do not fit into the available memory, only the last rows remain in
    /// it. [`resident_bytes`](MappedArray::resident_bytes) returns how many
    /// bytes are in memory.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) for rows that do
    /// not exist, and [`Io`](crate::ErrorKind::Io) if the kernel refuses.
    pub fn prefetch(&self, rows: impl RangeBounds<usize>) -> Result<()> {
        let range = row_bytes(&self.place.layout, &rows);
        self.origin.add_path_on_err(range.and_then(|range| self.read_ahead(range)))
    }

    fn read_ahead(&self, range: Range<usize>) -> Result<()> {
        let has_thread = platform::HAS_READ_AHEAD && self.origin.mode.is_some();
        if has_thread && range.len() > UNTHREADED {
            let read_ahead = self.origin.read_ahead.get_or_init(Arc::default);
            let reopen = || self.reopen().ok().map(|(file, _)| Arc::new(file));
            if let Some(file) = read_ahead.last_file().or_else(reopen) {
                let range = self.file_offset(range.start)..self.file_offset(range.end);
                read_ahead.add(&file, Some(range), Next::After);
                return Ok(());
            }
        }
        self.data.advise(range, Advice::WillNeed)
    }

    /// Returns how many bytes of the rows are in memory, in this process or in
    /// the kernel's cache. Returns `None` on systems other than Linux. The
    /// kernel may drop or read pages at any time.
    ///
    /// For a file that the process neither owns nor may write, Linux reports all
    /// pages as in memory (`mincore`).
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) for rows that do
    /// not exist, and [`Io`](crate::ErrorKind::Io) if the kernel refuses.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::MappedArray;
    ///
    /// // SAFETY: no other process writes to or truncates this file.
    /// let penguins = unsafe { MappedArray::open("data/penguins.npy")? };
    /// penguins.populate(..)?;
    /// if let Some(bytes) = penguins.resident_bytes(..)? {
    ///     println!("{bytes} of {} bytes are in memory", penguins.nbytes());
    /// }
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn resident_bytes(&self, rows: impl RangeBounds<usize>) -> Result<Option<usize>> {
        let range = row_bytes(&self.place.layout, &rows);
        self.origin.add_path_on_err(range.and_then(|range| self.data.resident(range)))
    }

    /// Reads rows into memory and waits for them. If the file is truncated or
    /// the disk fails, this returns an error. Accessing the rows would raise
    /// SIGBUS instead.
    ///
    /// The kernel may drop the rows again when memory is short, and the file
    /// may still be truncated later, but see [`FileLock`](crate::source::FileLock).
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) for rows that do
    /// not exist, [`Truncated`](crate::ErrorKind::Truncated) if the file ends
    /// before the last of them, and [`Io`](crate::ErrorKind::Io) if they cannot
    /// be read for a different reason.
    pub fn populate(&self, rows: impl RangeBounds<usize>) -> Result<()> {
        let range = row_bytes(&self.place.layout, &rows);
        self.origin.add_path_on_err(range.and_then(|range| self.populate_range(range)))
    }

    fn populate_range(&self, range: Range<usize>) -> Result<()> {
        let end = range.end;
        let populated = self.data.populate(range.clone());
        if self.origin.mode.is_none() {
            // In memory, whatever became of the file.
            return populated.map(drop);
        }
        let file = match self.reopen() {
            Ok((file, stat)) => {
                self.check_len(end, stat)?;
                Some(file)
            }
            Err(_) => None,
        };
        match (populated?, file) {
            (true, _) => Ok(()),
            (false, Some(file)) => self.read_from_file(&file, range),
            (false, None) => Err(RequestError::NoPath { operation: "prefetch it" }.into()),
        }
    }

    /// Reads a range from the file, on systems that cannot populate a map.
    fn read_from_file(&self, file: &File, range: Range<usize>) -> Result<()> {
        let mut buffer = vec![0; range.len().min(READ_LEN)];
        for piece in pieces(range, READ_LEN) {
            let part = buffer.get_mut(..piece.len()).invariant(IN_BUFFER);
            file::read_elements(file, part, self.file_offset(piece.start))?;
        }
        Ok(())
    }

    /// Flushes rows to the disk, and drops them from the memory of this process
    /// and from the kernel's cache. They are read again on access. Pages that
    /// other processes have mapped are kept. Systems other than Linux drop
    /// nothing.
    ///
    /// Does nothing for arrays not shared with a file.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) for rows that do
    /// not exist, [`InvalidInput`](crate::ErrorKind::InvalidInput) if the array
    /// was not opened by path, [`NotFound`](crate::ErrorKind::NotFound) if the
    /// path leads nowhere, [`Changed`](crate::ErrorKind::Changed) if it leads
    /// to a different file, and [`Io`](crate::ErrorKind::Io) if flushing or
    /// dropping fails.
    pub fn drop_cache(&self, rows: impl RangeBounds<usize>) -> Result<()> {
        let range = row_bytes(&self.place.layout, &rows);
        self.origin.add_path_on_err(range.and_then(|range| self.drop_range(range)))
    }

    fn drop_range(&self, range: Range<usize>) -> Result<()> {
        let (offset, len) = (self.file_offset(range.start), range.len());
        if len == 0 || matches!(self.origin.mode, None | Some(Mode::CopyOnWrite)) {
            return Ok(());
        }
        let (file, _) = self.reopen()?;
        self.data.flush_range(range.clone())?;
        if !self.data.unload(range)? {
            return Ok(());
        }
        platform::evict(&file, offset, to_u64(len)).context("drop its pages")
    }

    /// Checks that the array's path still refers to the opened file, and that
    /// the file still contains all elements. Succeeds for arrays in memory.
    ///
    /// On [`Truncated`](crate::ErrorKind::Truncated), drop the array without
    /// accessing its elements. You can still use a replaced, renamed or removed
    /// file as long as it is mapped.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if the path leads
    /// nowhere and [`Changed`](crate::ErrorKind::Changed) if it leads to a
    /// different file. The array itself is still valid. Returns
    /// [`Truncated`](crate::ErrorKind::Truncated) if the file has become too
    /// short for the elements: drop the array without touching them. Returns
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if the array was not
    /// opened by path.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{ErrorKind, MappedArray};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("a.npy");
    /// npymap::WriteOptions::new().write(&path, &npymap::ndarray::arr1(&[1_u64, 2, 3]))?;
    /// // SAFETY: nothing is borrowed from it after the file is truncated.
    /// let array = unsafe { MappedArray::open(&path)? };
    /// array.check_unchanged()?;
    /// std::fs::File::options().write(true).open(&path)?.set_len(130)?;
    /// let error = array.check_unchanged().unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Truncated);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_unchanged(&self) -> Result<()> {
        if self.origin.mode.is_none() {
            return Ok(());
        }
        let checked =
            self.reopen().and_then(|(_, stat)| self.check_len(self.place.layout.end(), stat));
        self.origin.add_path_on_err(checked)
    }

    /// Opens the file again, if its path still refers to it.
    pub(crate) fn reopen(&self) -> Result<(File, FileStat)> {
        let no_path = RequestError::NoPath { operation: "check, lock or drop it" };
        let path = self.origin.path.as_deref().ok_or(no_path)?;
        let (file, stat) = file::open(path, false)?;
        self.check_id(stat.id).map(|()| (file, stat))
    }

    /// Checks that a file is still the same file.
    fn check_id(&self, id: Option<FileId>) -> Result<()> {
        if id == self.origin.id { Ok(()) } else { Err(SystemError::Replaced.into()) }
    }

    /// Checks that the file is long enough for the map up to `end`.
    fn check_len(&self, end: usize, FileStat { len: found, .. }: FileStat) -> Result<()> {
        let needed = self.file_offset(end);
        if needed <= found { Ok(()) } else { Err(ExtentError::ShortFile { needed, found }.into()) }
    }

    /// The file offset of a byte in the map, which is not before the first
    /// element.
    pub(super) fn file_offset(&self, byte: usize) -> u64 {
        self.place.offset + to_u64(byte - self.place.layout.offset())
    }
}

/// The bytes from the first to the last element of some rows in the map.
pub(super) fn row_bytes(layout: &Layout, rows: &impl RangeBounds<usize>) -> Result<Range<usize>> {
    if matches!((rows.start_bound(), rows.end_bound()), (Bound::Unbounded, Bound::Unbounded)) {
        return Ok(layout.offset()..layout.end());
    }
    let rows = resolve_rows(layout.shape(), rows)?;
    if layout.is_empty() {
        return Ok(layout.offset()..layout.offset());
    }
    let rows = layout.geometry().axis_range(0, rows.start, rows.len());
    Ok(rows.span(layout.dtype().itemsize()))
}

/// Resolves a range of rows, and checks that they exist.
pub(crate) fn resolve_rows(
    shape: &[usize],
    rows: &impl RangeBounds<usize>,
) -> Result<Range<usize>> {
    let &[dim, ..] = shape else {
        return Err(ShapeError::Axis { asked: 0, shape: tuple(shape) }.into());
    };
    let start = match rows.start_bound() {
        Bound::Unbounded => Some(0),
        Bound::Included(&start) => Some(start),
        Bound::Excluded(&before) => before.checked_add(1),
    };
    let end = match rows.end_bound() {
        Bound::Unbounded => Some(dim),
        Bound::Included(&last) => last.checked_add(1),
        Bound::Excluded(&end) => Some(end),
    };
    match (start, end) {
        (Some(start), Some(end)) if start <= end && end <= dim => Ok(start..end),
        _ => {
            let text = |bound: Option<usize>| bound.map_or("…".to_owned(), |n| n.to_string());
            let asked = format!("range {}..{}", text(start), text(end));
            Err(ShapeError::Index { axis: 0, asked, shape: tuple(shape) }.into())
        }
    }
}

/// Splits a range into pieces of `len`. The last may be shorter.
#[inline]
fn pieces(range: Range<usize>, len: usize) -> impl Iterator<Item = Range<usize>> {
    let end = range.end;
    range.step_by(len).map(move |start| start..end.min(start + len))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Order;

    fn layout(order: Order) -> Layout {
        Layout::new("<u4".parse().unwrap(), &[4, 2], order, 32).unwrap()
    }

    #[test]
    fn bytes_of_rows_start_at_the_offset_of_the_layout() {
        let c = layout(Order::C);
        assert_eq!(row_bytes(&c, &..).unwrap(), 32..64);
        assert_eq!(row_bytes(&c, &(1..3)).unwrap(), 40..56);
        assert!(row_bytes(&c, &(2..2)).unwrap().is_empty());
        assert_eq!(row_bytes(&layout(Order::F), &(1..3)).unwrap(), 36..60);
    }

    #[test]
    fn pieces_cover_a_range() {
        let all: Vec<_> = pieces(3..12, 4).collect();
        assert_eq!(all, [3..7, 7..11, 11..12]);
        assert_eq!(pieces(5..5, 4).count(), 0);
        assert!(pieces(5..9, 4).eq(std::iter::once(5..9)));
    }
}

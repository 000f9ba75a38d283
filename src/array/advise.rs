//! What the system is told and asked about a mapped array: advice, reading
//! ahead, dropping from memory, locks, and whether the file still is what it
//! was.

use std::fs::File;
use std::ops::{Bound, Range, RangeBounds};
use std::sync::Arc;

use super::MappedArray;
use crate::dtype::literal::tuple;
use crate::error::invariant::{IN_BUFFER, Invariant, to_u64};
use crate::error::{ExtentError, RequestError, Result, ShapeError, SystemError};
use crate::layout::Layout;
use crate::source::file;
use crate::source::lock::FileLock;
use crate::source::pages::Mapping;
use crate::source::platform::{self, Advice, FileId, FileStat, LockKind};

/// How many bytes are read ahead at once where maps can't be asked to.
const PIECE: usize = 1 << 20;

/// Bytes that are asked for without a thread.
const AT_ONCE: usize = 4 << 20;

/// Ranges of rows count along the first axis; `..` is the whole array, also
/// one without axes. In Fortran order the rows of a range lie all over the
/// array, so what is asked for some is done to nearly all.
impl<D: Mapping> MappedArray<D> {
    /// Tells the system how rows will be used: `madvise`.
    ///
    /// # Errors
    ///
    /// [`OutOfBounds`](crate::ErrorKind::OutOfBounds) for rows that aren't
    /// there; [`Io`](crate::ErrorKind::Io).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{OpenOptions, Source, source::Advice};
    ///
    /// // SAFETY: nobody changes or truncates the file meanwhile.
    /// let source = unsafe { Source::map("data/penguins.npy")? };
    /// let penguins = OpenOptions::new().advice(Advice::Random).open(source)?;
    /// penguins.advise(100..200, Advice::Sequential)?;
    /// penguins.prefetch(100..200)?;
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn advise(&self, rows: impl RangeBounds<usize>, advice: Advice) -> Result<()> {
        let range = bytes_of(&self.place.layout, &rows);
        self.origin.named(range.and_then(|range| self.data.advise(range, advice)))
    }

    /// Starts reading rows into memory and returns.
    ///
    /// A range of more than 4 MiB is read by a thread, in order, as fast as the
    /// disk gives it; it stops when the array and its clones are dropped. Of an
    /// array that was not opened by path, and on systems other than Linux, the
    /// calling thread asks for it, and may wait while the disk's queue is full.
    ///
    /// This is a hint: a row that cannot be read is no error here, and the
    /// system drops pages again when memory is short, those read first too. Of
    /// rows that are larger together than the memory available, only the last
    /// ones are there in the end. [`resident_bytes`](MappedArray::resident_bytes)
    /// returns how many are there.
    ///
    /// # Errors
    ///
    /// As [`advise`](MappedArray::advise).
    pub fn prefetch(&self, rows: impl RangeBounds<usize>) -> Result<()> {
        let range = bytes_of(&self.place.layout, &rows);
        self.origin.named(range.and_then(|range| self.read_ahead(range)))
    }

    fn read_ahead(&self, range: Range<usize>) -> Result<()> {
        let has_thread = platform::HAS_READ_AHEAD && self.origin.mode.is_some();
        if has_thread && range.len() > AT_ONCE {
            if let Ok((file, _)) = self.reopened() {
                let range = self.in_file(range.start)..self.in_file(range.end);
                self.origin.read_ahead.get_or_init(Arc::default).add(file, range);
                return Ok(());
            }
        }
        self.data.advise(range, Advice::WillNeed)
    }

    /// Returns how many bytes of the rows are in memory, in this process or in
    /// the system's cache; `None` on systems other than Linux. The system may
    /// drop or read pages at any time.
    ///
    /// Of a file that the process neither owns nor may write, Linux says that
    /// all pages are in memory (`mincore`).
    ///
    /// # Errors
    ///
    /// As [`advise`](MappedArray::advise).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::MappedArray;
    ///
    /// // SAFETY: nobody changes or truncates the file meanwhile.
    /// let penguins = unsafe { MappedArray::open("data/penguins.npy")? };
    /// penguins.populate(..)?;
    /// if let Some(bytes) = penguins.resident_bytes(..)? {
    ///     println!("{bytes} of {} bytes are in memory", penguins.nbytes());
    /// }
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn resident_bytes(&self, rows: impl RangeBounds<usize>) -> Result<Option<usize>> {
        let range = bytes_of(&self.place.layout, &rows);
        self.origin.named(range.and_then(|range| self.data.resident(range)))
    }

    /// Reads rows into memory and waits for them, so that what touching them
    /// would answer with a signal is an error: a file that got shorter, a
    /// failing disk.
    ///
    /// What was read may be dropped again when memory is short, and nothing
    /// keeps the file from getting shorter after; but see
    /// [`lock`](MappedArray::lock).
    ///
    /// # Errors
    ///
    /// [`Truncated`](crate::ErrorKind::Truncated) when the file ends before the
    /// last of the rows, [`Io`](crate::ErrorKind::Io) when they can't be read
    /// otherwise; those of [`advise`](MappedArray::advise).
    pub fn populate(&self, rows: impl RangeBounds<usize>) -> Result<()> {
        let range = bytes_of(&self.place.layout, &rows);
        self.origin.named(range.and_then(|range| self.populated(range)))
    }

    fn populated(&self, range: Range<usize>) -> Result<()> {
        let end = range.end;
        let done = self.data.populate(range.clone());
        let file = match self.reopened() {
            Ok((file, stat)) => {
                self.inside(end, stat)?;
                Some(file)
            }
            Err(_) => None,
        };
        match (done?, file) {
            (true, _) => Ok(()),
            (false, Some(file)) => self.read_through(&file, range),
            (false, None) if self.origin.mode.is_none() => Ok(()),
            (false, None) => Err(RequestError::NoPath { wanted: "prefetch it" }.into()),
        }
    }

    /// Reads a range as files are read, where maps can't be asked to.
    fn read_through(&self, file: &File, range: Range<usize>) -> Result<()> {
        let mut buffer = vec![0; range.len().min(PIECE)];
        for piece in pieces(range, PIECE) {
            let part = buffer.get_mut(..piece.len()).invariant(IN_BUFFER);
            file::read_elements(file, part, self.in_file(piece.start))?;
        }
        Ok(())
    }

    /// Drops rows from memory, this process' and the system's, once what was
    /// stored is on the disk; they are read again when they are touched. Pages
    /// that other processes have mapped stay, and systems other than Linux
    /// drop nothing.
    ///
    /// Arrays that aren't shared with a file are left as they are.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when the array wasn't
    /// opened by path, [`Changed`](crate::ErrorKind::Changed) when that leads
    /// elsewhere now; [`Io`](crate::ErrorKind::Io); those of
    /// [`advise`](MappedArray::advise).
    pub fn drop_cache(&self, rows: impl RangeBounds<usize>) -> Result<()> {
        let range = bytes_of(&self.place.layout, &rows);
        self.origin.named(range.and_then(|range| self.dropped(range)))
    }

    fn dropped(&self, range: Range<usize>) -> Result<()> {
        let (offset, len) = (self.in_file(range.start), range.len());
        if len == 0 || self.origin.mode.is_none() {
            return Ok(());
        }
        let (file, _) = self.reopened()?;
        self.data.flush_range(range.clone())?;
        if !self.data.unload(range)? {
            return Ok(());
        }
        platform::evict(&file, offset, to_u64(len)).map_err(SystemError::io("drop its pages"))
    }

    /// Asks whether the array's path still leads to the file that was opened,
    /// and whether that still holds all elements. Arrays in memory are what
    /// they were.
    ///
    /// A file that was truncated must not be touched; where an error says so,
    /// drop the array. One that was replaced, renamed or removed is kept by
    /// the system for as long as it is mapped.
    ///
    /// # Errors
    ///
    /// [`Truncated`](crate::ErrorKind::Truncated),
    /// [`Changed`](crate::ErrorKind::Changed), [`Io`](crate::ErrorKind::Io)
    /// when nothing is there, [`InvalidInput`](crate::ErrorKind::InvalidInput)
    /// when the array wasn't opened by path.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{ErrorKind, MappedArray};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("a.npy");
    /// npymap::write_npy(&path, &npymap::ndarray::arr1(&[1_u64, 2, 3]))?;
    /// // SAFETY: nothing is borrowed from it after the file is truncated.
    /// let array = unsafe { MappedArray::open(&path)? };
    /// array.check()?;
    /// std::fs::File::options().write(true).open(&path)?.set_len(130)?;
    /// let error = array.check().unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Truncated);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check(&self) -> Result<()> {
        if self.origin.mode.is_none() {
            return Ok(());
        }
        let checked =
            self.reopened().and_then(|(_, stat)| self.inside(self.place.layout.end(), stat));
        self.origin.named(checked)
    }

    /// As [`check`](MappedArray::check), for an array that was opened from a
    /// file and has no path: `file` is to be that one, in this or another
    /// opening.
    ///
    /// # Errors
    ///
    /// As [`check`](MappedArray::check); [`Changed`](crate::ErrorKind::Changed)
    /// when it is another file.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, Source};
    ///
    /// let file = std::fs::File::open("data/penguins.npy")?;
    /// // SAFETY: nobody changes or truncates the file meanwhile.
    /// let source = unsafe { Source::map_file(file.try_clone()?)? };
    /// let penguins = MappedArray::from_source(source)?;
    /// penguins.check_file(&file)?;
    /// assert!(penguins.check_file(&std::fs::File::open("Cargo.toml")?).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_file(&self, file: &File) -> Result<()> {
        if self.origin.mode.is_none() {
            return Ok(());
        }
        let checked = file::stat(file).and_then(|stat| {
            self.own(stat.id)?;
            self.inside(self.place.layout.end(), stat)
        });
        self.origin.named(checked)
    }

    /// Waits for an advisory lock on the file, which holds as long as what is
    /// returned.
    ///
    /// # Errors
    ///
    /// Those of [`FileLock::acquire`];
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when the array wasn't
    /// opened by path, [`Changed`](crate::ErrorKind::Changed) when that leads
    /// elsewhere now.
    pub fn lock(&self, kind: LockKind) -> Result<FileLock> {
        let path = self.origin.path.as_deref().ok_or_else(no_path)?;
        let lock = FileLock::acquire(path, kind)?;
        self.origin.named(self.own(lock.id())).map(|()| lock)
    }

    /// Takes an advisory lock on the file if it can be had now.
    ///
    /// # Errors
    ///
    /// As [`lock`](MappedArray::lock).
    pub fn try_lock(&self, kind: LockKind) -> Result<Option<FileLock>> {
        let path = self.origin.path.as_deref().ok_or_else(no_path)?;
        let Some(lock) = FileLock::try_acquire(path, kind)? else { return Ok(None) };
        self.origin.named(self.own(lock.id())).map(|()| Some(lock))
    }

    /// Opens the file again, if its path still leads there.
    pub(crate) fn reopened(&self) -> Result<(File, FileStat)> {
        let path = self.origin.path.as_deref().ok_or_else(no_path)?;
        let (file, stat) = file::open(path, false)?;
        self.own(stat.id).map(|()| (file, stat))
    }

    /// Refuses another file than the one that was opened.
    fn own(&self, id: Option<FileId>) -> Result<()> {
        if id == self.origin.id { Ok(()) } else { Err(SystemError::Replaced.into()) }
    }

    /// Refuses a file that ends before an element does.
    fn inside(&self, end: usize, FileStat { len: found, .. }: FileStat) -> Result<()> {
        let needed = self.in_file(end);
        if needed <= found { Ok(()) } else { Err(ExtentError::ShortFile { needed, found }.into()) }
    }

    /// Where in the file a byte of the map is.
    pub(super) fn in_file(&self, byte: usize) -> u64 {
        self.place.offset.saturating_add(to_u64(byte))
    }
}

const NO_PATH: &str = "check, lock or drop it; the file itself can be checked with `check_file` and locked with `FileLock::acquire_file`";

fn no_path() -> crate::error::Error {
    RequestError::NoPath { wanted: NO_PATH }.into()
}

/// The range from the first to the last element of these rows in the map.
pub(super) fn bytes_of(layout: &Layout, rows: &impl RangeBounds<usize>) -> Result<Range<usize>> {
    if matches!((rows.start_bound(), rows.end_bound()), (Bound::Unbounded, Bound::Unbounded)) {
        return Ok(layout.offset()..layout.end());
    }
    let rows = rows_of(layout.shape(), rows)?;
    let part = layout.geometry().axis_range(0, rows.start, rows.len());
    Ok(part.span(layout.dtype().itemsize()))
}

/// The rows a range asks for, all of them there.
pub(crate) fn rows_of(shape: &[usize], rows: &impl RangeBounds<usize>) -> Result<Range<usize>> {
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

/// Cuts a range into pieces of at most `most`, of which only the last is
/// shorter.
fn pieces(range: Range<usize>, most: usize) -> impl Iterator<Item = Range<usize>> {
    let end = range.end;
    range.step_by(most).map(move |start| start..end.min(start + most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Order;

    #[test]
    fn rows_of_an_array_inside_a_map_are_counted_from_its_offset() {
        let layout = |order| Layout::new("<u4".parse().unwrap(), &[4, 2], order, 32).unwrap();
        let c = layout(Order::C);
        assert_eq!(bytes_of(&c, &..).unwrap(), 32..64);
        assert_eq!(bytes_of(&c, &(1..3)).unwrap(), 40..56);
        assert!(bytes_of(&c, &(2..2)).unwrap().is_empty());
        assert_eq!(bytes_of(&layout(Order::F), &(1..3)).unwrap(), 36..60);
    }

    #[test]
    fn what_is_read_ahead_in_pieces_is_all_of_a_range() {
        let all: Vec<_> = pieces(3..12, 4).collect();
        assert_eq!(all, [3..7, 7..11, 11..12]);
        assert_eq!(pieces(5..5, 4).count(), 0);
        assert!(pieces(5..9, 4).eq(std::iter::once(5..9)));
    }
}

//! Appends rows to a file.

use std::error::Error as StdError;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

use ndarray::{ArrayRef, Dimension};

use super::new_appender::NewAppender;
use super::row_writer::RowWriter;
use super::rows;
use super::stored_header::StoredHeader;
use crate::array::{CreateOptions, OpenOptions, with_path_in_errors};
use crate::dtype::DType;
use crate::dtype::literal::tuple;
use crate::element::Element;
use crate::error::invariant::Invariant;
use crate::error::{Error, ExtentError, Result, ShapeError, plural};
use crate::layout::Order;
use crate::npy::Header;
use crate::source::lock::{self, FileLock};
use crate::source::platform::FileStat;

/// A buffered writer that appends rows to a `.npy` file.
///
/// In C order, the array grows along its first axis, and in Fortran order along
/// its last.
///
/// Rows are collected in a buffer. When it is full, and on
/// [`flush`](Appender::flush), they are written after the elements. Then it
/// updates the shape in the header, where NumPy leaves room. So a reader that
/// opens the file in the meantime sees either the old number of rows or the new
/// number. Existing elements never change, so maps of the file stay valid, in
/// all processes. This uses no map, and no `unsafe`.
///
/// | after | a process crash loses | a system crash may lose |
/// |---|---|---|
/// | `append` | the buffer | everything since the last `sync`, and the file may need [`recover`](crate::write::RecoverOptions::recover) |
/// | `flush`, drop | nothing | the same |
/// | [`sync`](Appender::sync), [`close`](Appender::close) | nothing | nothing |
/// | during a write | rows not yet counted in the header | the same |
///
/// A crash between the two writes leaves an array with its old shape and extra
/// bytes after it. It can be read as before, but appending to it fails until
/// [`recover`](crate::write::RecoverOptions::recover) is called.
///
/// If the header has no room for another digit, as when it was written by NumPy
/// before 1.23, the file is replaced once by a copy with a longer header.
///
/// An `Appender` holds an exclusive lock on the file until it is dropped, so a
/// file has at most one: opening a second appender fails with
/// [`Locked`](crate::ErrorKind::Locked), or waits, depending on
/// [`OpenOptions::locking`](crate::OpenOptions::locking). It also detects when
/// a program that does not lock changes the file's length, and in `sync` and
/// `close` when one has replaced, renamed or removed the file.
///
/// # Examples
///
/// ```
/// use npymap::ndarray::array;
/// use npymap::{Appender, CreateOptions, DType};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("log.npy");
/// let mut log = Appender::create(&path, &DType::of::<f32>(), &[3], &CreateOptions::new())?;
/// log.append_slice(&[1.0_f32, 2.0, 3.0])?; // a row
/// log.append(&array![[4.0_f32, 5.0, 6.0], [7.0, 8.0, 9.0]])?; // two
/// assert_eq!(log.shape(), [3, 3]);
/// log.close()?;
///
/// let mut log = Appender::open(&path)?;
/// log.append(&array![0.0_f32, 0.0, 0.0])?;
/// log.flush()?; // now visible to readers
/// assert_eq!(npymap::Header::read(std::fs::File::open(&path)?)?.shape, [4, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Appender {
    /// The path as given.
    path: PathBuf,
    writer: RowWriter,
    /// Includes the rows that are not written yet.
    shape: Vec<usize>,
    pub(super) axis: usize,
    /// The size of a row in bytes.
    row_nbytes: usize,
    /// How many elements a row has.
    row_len: usize,
    /// Whether the last `flush` or `sync` failed, and no rows were added since.
    has_failed: bool,
}

impl OpenOptions {
    /// Opens a file to append rows, like [`Appender::open`].
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if the file does not
    /// exist, [`Locked`](crate::ErrorKind::Locked) if another writer has locked
    /// it, [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) for a 0-d array,
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if it is not a valid `.npy` file,
    /// or if other bytes follow the elements,
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if it contains Python
    /// objects or is not a regular file,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if its header is
    /// longer than the limit, [`Truncated`](crate::ErrorKind::Truncated) if
    /// elements are missing, and [`Io`](crate::ErrorKind::Io) if it cannot be
    /// opened, read or written. Returns
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if the options say
    /// where the array is.
    pub fn append(&self, path: impl AsRef<Path>) -> Result<Appender> {
        with_path_in_errors(path.as_ref(), |path| {
            self.check_whole()?;
            let (file, FileStat { len, .. }, lock) = lock::open_to_write(path, self.locking)?;
            let head = StoredHeader::read(&file, len, self)?;
            match head.end(head.rows())? {
                end if end < len => Err(ExtentError::Trailing { end, found: len }.into()),
                end if end > len => Err(ExtentError::ShortFile { needed: end, found: len }.into()),
                _ => Appender::new(file, lock, path, head, false),
            }
        })
    }
}

impl Appender {
    /// Opens a file to append rows.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if the file does not
    /// exist, [`Locked`](crate::ErrorKind::Locked) if another writer has locked
    /// it, [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) for a 0-d array,
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if it is not a valid `.npy` file,
    /// or if other bytes follow the elements,
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if it contains Python
    /// objects or is not a regular file,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if its header is
    /// longer than the limit, [`Truncated`](crate::ErrorKind::Truncated) if
    /// elements are missing, and [`Io`](crate::ErrorKind::Io) if it cannot be
    /// opened, read or written.
    pub fn open(path: impl AsRef<Path>) -> Result<Appender> {
        OpenOptions::new().append(path)
    }

    /// Creates a file without rows. `row` is the shape of one row: all axes except
    /// the growing one.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if a descr cannot
    /// express the dtype, if the version cannot hold the header, or if the array
    /// has more than 64 axes or is larger than the address space. Returns
    /// [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if the file exists and
    /// the options do not allow you to overwrite it,
    /// [`NotFound`](crate::ErrorKind::NotFound) if the directory of `path` does not
    /// exist, and [`Io`](crate::ErrorKind::Io) if the file cannot be written, for
    /// example because the disk is full. Returns
    /// [`Locked`](crate::ErrorKind::Locked) if the file that would be replaced is
    /// locked, by a writer or a reader, and [`Changed`](crate::ErrorKind::Changed)
    /// if another program has just replaced it. Returns
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if bytes follow the elements of the
    /// `.npy` file that would be replaced, unless they are
    /// [discarded](CreateOptions::discard_trailing).
    pub fn create(
        path: impl AsRef<Path>,
        dtype: &DType,
        row: &[usize],
        options: &CreateOptions,
    ) -> Result<Appender> {
        NewAppender::begin(path.as_ref(), dtype, row, options)?.finish()
    }

    #[inline]
    pub(super) fn new(
        file: File,
        lock: Option<FileLock>,
        path: &Path,
        head: StoredHeader,
        is_renamed: bool,
    ) -> Result<Appender> {
        let (shape, axis, one) = (head.header.shape.clone(), head.axis, head.layout(1)?);
        let writer = RowWriter::new(file, lock, path, head, is_renamed)?;
        let (path, row_nbytes, row_len) = (path.to_owned(), one.nbytes(), one.len());
        Ok(Appender { path, writer, shape, axis, row_nbytes, row_len, has_failed: false })
    }

    /// Sets the size of the buffer in bytes. The default is 64 KiB. With 0,
    /// each call writes its rows, and readers see them.
    #[must_use]
    #[inline]
    pub fn with_capacity(mut self, bytes: usize) -> Appender {
        self.writer.capacity = bytes;
        self
    }

    /// Returns the shape, including rows in the buffer.
    #[must_use]
    #[inline]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the number of rows, including the buffered rows.
    #[must_use]
    #[inline]
    pub fn rows(&self) -> usize {
        *self.shape.get(self.axis).invariant("the axis of the rows is one of the array")
    }

    /// Returns the dtype of the elements.
    #[must_use]
    #[inline]
    pub fn dtype(&self) -> &DType {
        &self.header().dtype
    }

    /// Returns the memory order, which determines the growing axis.
    #[must_use]
    #[inline]
    pub fn order(&self) -> Order {
        self.header().order
    }

    /// Appends rows: an array with the same axes as the file's and any length
    /// along the growing one, or a single row without that axis. On an error, no
    /// rows are added.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if `T` cannot be
    /// stored as the dtype, [`InvalidValue`](crate::ErrorKind::InvalidValue) if
    /// a value does not fit, [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if
    /// the shape does not match,
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if the array would be
    /// too large, [`Changed`](crate::ErrorKind::Changed) if another program
    /// changed the file's length, and [`Io`](crate::ErrorKind::Io) if writing
    /// fails. On an error, no rows are added.
    pub fn append<T: Element, D: Dimension>(&mut self, rows: &ArrayRef<T, D>) -> Result<()> {
        self.with_path_in_errors(|appender| {
            let (count, elements) = rows::check_rows(rows, appender.header(), appender.axis)?;
            let codec = T::codec(appender.dtype())?;
            appender.append_with(count, |writer| match elements.as_slice() {
                Some(values) => writer.push_slice(&codec, values),
                None => writer.push_values(&codec, elements.iter()),
            })
        })
    }

    /// Appends complete rows from values in the order of the file. On an error, no
    /// rows are added.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if `T` cannot be
    /// stored as the dtype, [`InvalidValue`](crate::ErrorKind::InvalidValue) if
    /// a value does not fit, [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if
    /// the shape does not match,
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if the array would be
    /// too large, [`Changed`](crate::ErrorKind::Changed) if another program
    /// changed the file's length, and [`Io`](crate::ErrorKind::Io) if writing
    /// fails. On an error, no rows are added.
    pub fn append_slice<T: Element>(&mut self, values: &[T]) -> Result<()> {
        self.with_path_in_errors(|appender| {
            let (header, axis) = (appender.header(), appender.axis);
            let count = rows::count_rows(values.len(), appender.row_len, "values", header, axis)?;
            let codec = T::codec(appender.dtype())?;
            appender.append_with(count, |writer| writer.push_slice(&codec, values))
        })
    }

    /// Appends complete rows from bytes as they are stored. On an error, no rows
    /// are added.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if the shape does
    /// not match, [`InvalidInput`](crate::ErrorKind::InvalidInput) if the array
    /// would be too large, [`Changed`](crate::ErrorKind::Changed) if another
    /// program changed the file's length, and [`Io`](crate::ErrorKind::Io) if
    /// writing fails. On an error, no rows are added.
    #[inline]
    pub fn append_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.with_path_in_errors(|appender| {
            let header = appender.header();
            let count =
                rows::count_rows(bytes.len(), appender.row_nbytes, "bytes", header, appender.axis)?;
            appender.append_with(count, |writer| writer.push_bytes(bytes))
        })
    }

    /// Appends `rows` rows from bytes as they are stored, in parts of any
    /// length: `fill` passes each part to the function it is given. Readers see
    /// no row before all are complete. On an error, no rows are added.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if the parts do not
    /// add up to `rows` rows, [`InvalidInput`](crate::ErrorKind::InvalidInput)
    /// if the array would be too large, [`Changed`](crate::ErrorKind::Changed)
    /// if another program changed the file's length,
    /// [`Io`](crate::ErrorKind::Io) if writing fails, and whatever `fill`
    /// returns, of any type.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{Appender, CreateOptions, DType};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("log.npy");
    /// let mut log = Appender::create(&path, &DType::of::<u8>(), &[5], &CreateOptions::new())?;
    /// log.append_parts(2, |append| {
    ///     ["abc", "defgh", "ij"].iter().try_for_each(|part| append(part.as_bytes()))
    /// })?;
    /// assert_eq!(log.shape(), [2, 5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn append_parts<E>(
        &mut self,
        rows: usize,
        fill: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<(), E>,
    ) -> Result<()>
    where
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        self.with_path_in_errors(|appender| {
            let row = appender.row_nbytes;
            appender.append_with(rows, |writer| {
                let needed = rows * row;
                let mut found = 0;
                let filled = fill(&mut |bytes| {
                    let after = found + bytes.len();
                    if after <= needed {
                        writer.push_bytes(bytes)?;
                    }
                    found = after;
                    Ok(())
                });
                filled.map_err(Error::other)?;
                if found == needed {
                    return Ok(());
                }
                let (found, expected) =
                    (plural(found, "byte", "bytes"), tuple(&writer.head.shape(rows)));
                Err(ShapeError::Rows { found, expected }.into())
            })
        })
    }

    /// Changes the number of rows. New rows are zero, and their space is reserved.
    ///
    /// A file that may be mapped is never truncated: if there are fewer rows,
    /// they are copied to a new file, which replaces the previous file.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if the array
    /// would be too large, [`Changed`](crate::ErrorKind::Changed) if another
    /// program changed the file's length, and [`Io`](crate::ErrorKind::Io) if
    /// writing fails.
    #[inline]
    pub fn resize(&mut self, rows: usize) -> Result<()> {
        let old = self.rows();
        self.with_path_in_errors(|appender| appender.writer.resize(old, rows))?;
        self.set_rows(rows);
        Ok(())
    }

    /// Writes the buffer, so that readers see its rows.
    ///
    /// # Errors
    ///
    /// Returns [`Io`](crate::ErrorKind::Io) if writing fails, for example
    /// because the disk is full, and [`Changed`](crate::ErrorKind::Changed) if
    /// another program changed the file's length. Rows that could not be
    /// written stay in the buffer, and the file keeps its old number of rows:
    /// call `flush` again, or drop the `Appender`, which then writes nothing.
    #[inline]
    pub fn flush(&mut self) -> Result<()> {
        let rows = self.rows();
        let written = self.with_path_in_errors(|appender| appender.writer.write_out(rows));
        self.has_failed = written.is_err();
        written
    }

    /// Writes the buffer and waits until the elements and then the header are on
    /// the disk.
    ///
    /// # Errors
    ///
    /// Returns [`Io`](crate::ErrorKind::Io) if writing or syncing fails, for
    /// example because the disk is full, and
    /// [`Changed`](crate::ErrorKind::Changed) if another program changed the
    /// file's length. Rows that could not be written stay in the buffer.
    /// Returns [`Changed`](crate::ErrorKind::Changed) or
    /// [`NotFound`](crate::ErrorKind::NotFound) if the path no longer leads to
    /// the file, although the file has the rows. If only the last wait fails,
    /// readers see the new rows. After a wait has failed, rows may be lost, so
    /// later calls of `sync` and `close` fail.
    #[inline]
    pub fn sync(&mut self) -> Result<()> {
        let rows = self.rows();
        let synced = self.with_path_in_errors(|appender| appender.writer.sync(rows));
        self.has_failed = synced.is_err();
        synced
    }

    /// Writes the buffer, waits for the disk and closes the file. Dropping also
    /// writes, but does not wait and ignores errors. After an error of
    /// [`flush`](Appender::flush) or [`sync`](Appender::sync), it writes
    /// nothing.
    ///
    /// # Errors
    ///
    /// Returns [`Io`](crate::ErrorKind::Io) if writing or syncing fails, for
    /// example because the disk is full, [`Changed`](crate::ErrorKind::Changed)
    /// if another program changed the file's length or replaced it, and
    /// [`NotFound`](crate::ErrorKind::NotFound) if the path leads nowhere. Rows
    /// that could not be written are lost.
    #[inline]
    pub fn close(mut self) -> Result<()> {
        self.sync()
    }

    #[inline]
    fn header(&self) -> &Header {
        &self.writer.head.header
    }

    fn with_path_in_errors<T>(&mut self, f: impl FnOnce(&mut Appender) -> Result<T>) -> Result<T> {
        f(self).map_err(|error| error.with_path(&self.path))
    }

    #[inline]
    fn set_rows(&mut self, rows: usize) {
        self.shape.iter_mut().skip(self.axis).take(1).for_each(|dim| *dim = rows);
    }

    /// Adds the `count` rows that `push` adds to the buffer, or none on an error.
    fn append_with(
        &mut self,
        count: usize,
        push: impl FnOnce(&mut RowWriter) -> Result<()>,
    ) -> Result<()> {
        let old = self.rows();
        // No array has `usize::MAX` rows.
        let rows = old.saturating_add(count);
        self.writer.head.layout(rows)?;
        let before = self.writer.len();
        let added = Unfinished { writer: &mut self.writer, rows: old };
        push(added.writer)?;
        if added.writer.must_write_out(before) {
            added.writer.write_out(rows)?;
        }
        std::mem::forget(added);
        self.set_rows(rows);
        self.has_failed = false;
        Ok(())
    }
}

/// Rows that are being added to a writer. They are removed when this is
/// dropped, even by a panic in the caller's code.
struct Unfinished<'a> {
    writer: &'a mut RowWriter,
    /// The number of rows before.
    rows: usize,
}

impl Drop for Unfinished<'_> {
    #[inline]
    fn drop(&mut self) {
        // If removing them fails, the next write reports the wrong length.
        let _ = self.writer.truncate(self.rows);
    }
}

impl Drop for Appender {
    #[inline]
    fn drop(&mut self) {
        // Rows that were reported as not written must not appear later.
        let rows = if self.has_failed { self.writer.head.rows() } else { self.rows() };
        // `close` returns errors. Rows of an incomplete call are removed.
        let _ = self.writer.truncate(rows).and_then(|()| self.writer.write_out(rows));
    }
}

impl fmt::Debug for Appender {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Appender")
            .field("path", &self.path)
            .field("dtype", self.dtype())
            .field("shape", &self.shape)
            .field("buffered", &self.writer.buffer.len())
            .finish_non_exhaustive()
    }
}

/// Grows or shrinks an array on disk. See [`Appender::resize`].
///
/// # Errors
///
/// Returns [`NotFound`](crate::ErrorKind::NotFound) if the file does not exist,
/// [`Locked`](crate::ErrorKind::Locked) if another writer has locked it,
/// [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) for a 0-d array,
/// [`Corrupt`](crate::ErrorKind::Corrupt) if it is not a valid `.npy` file, or
/// if other bytes follow the elements,
/// [`Unsupported`](crate::ErrorKind::Unsupported) if it contains Python objects
/// or is not a regular file, [`LimitExceeded`](crate::ErrorKind::LimitExceeded)
/// if its header is longer than the limit,
/// [`Truncated`](crate::ErrorKind::Truncated) if elements are missing,
/// [`InvalidInput`](crate::ErrorKind::InvalidInput) if the array would be too
/// large, [`Changed`](crate::ErrorKind::Changed) if another program changed the
/// file's length, and [`Io`](crate::ErrorKind::Io) if it cannot be opened, read
/// or written.
///
/// # Examples
///
/// ```
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("penguins.npy");
/// std::fs::copy("data/penguins.npy", &path)?;
/// npymap::write::resize(&path, 400)?;
/// assert_eq!(npymap::Header::read(std::fs::File::open(&path)?)?.shape, [400, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn resize(path: impl AsRef<Path>, rows: usize) -> Result<()> {
    let mut appender = Appender::open(path)?;
    appender.resize(rows)?;
    appender.close()
}

#[cfg(test)]
#[cfg(unix)]
mod tests;

//! Adds rows to a file.

use std::error::Error as StdError;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

use ndarray::{ArrayRef, Dimension};

use super::row_writer::RowWriter;
use super::rows;
use super::stored_header::StoredHeader;
use crate::array::{CreateOptions, OpenOptions, with_path_in_errors};
use crate::dtype::DType;
use crate::dtype::literal::tuple;
use crate::element::Element;
use crate::error::invariant::Invariant;
use crate::error::{Error, ExtentError, RequestError, Result, ShapeError};
use crate::layout::Order;
use crate::npy::Header;
use crate::source::lock::{self, FileLock};
use crate::source::platform::FileStat;

/// Adds rows to a `.npy` file, along its growing axis: the first in C order,
/// the last in Fortran order.
///
/// Rows gather in a buffer. When it is full, and on [`flush`](Appender::flush),
/// they are written behind the elements, and then the digits of the shape are
/// changed in the header, where NumPy leaves room for it. So whoever opens the
/// file meanwhile finds the old number of rows or the new one; whoever has it
/// mapped keeps what they have, in this process or another, since elements
/// that are there are never touched. No map is used, and nothing is `unsafe`.
///
/// | after | a dying process loses | a dying machine may lose |
/// |---|---|---|
/// | `append` | what is in the buffer | everything since the last `sync`; what it leaves may need [`recover`](crate::write::recover()) |
/// | `flush`, drop | nothing | the same |
/// | [`sync`](Appender::sync), [`close`](Appender::close) | nothing | nothing |
/// | dying during a write | rows not yet counted in the header | the same |
///
/// A process that dies between the two writes leaves an array with its old
/// shape and some bytes behind it: every reader takes it, but to add to it
/// again is refused until [`recover`](crate::write::recover()) was called.
///
/// A header without room for one digit more, as writers before NumPy 1.23
/// leave it, is made longer when that digit comes: the file is copied to a new
/// one once, which takes its name.
///
/// An `Appender` holds an exclusive lock on the file as long as it lives, so
/// there is one a file at a time: opening another one fails with
/// [`Locked`](crate::ErrorKind::Locked), or waits if
/// [`OpenOptions::locking`](crate::OpenOptions::locking) says so. It also
/// notices when a program that doesn't lock changes the file's length.
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
/// log.flush()?; // now readers see it
/// assert_eq!(npymap::Header::read(std::fs::File::open(&path)?)?.shape, [4, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Appender {
    /// As it was given.
    path: PathBuf,
    tail: RowWriter,
    /// With the rows that are not written yet.
    shape: Vec<usize>,
    axis: usize,
    /// Bytes of one row, and elements.
    row: usize,
    row_len: usize,
}

impl OpenOptions {
    /// As [`Appender::open`].
    ///
    /// # Errors
    ///
    /// As [`Appender::open`].
    pub fn append(&self, path: impl AsRef<Path>) -> Result<Appender> {
        let opened = |path: &Path| {
            if self.is_placed() {
                return Err(RequestError::Placed.into());
            }
            let (file, FileStat { len, .. }, lock) =
                lock::open_to_write(path, self.locking_by_path())?;
            let head = StoredHeader::read(&file, len, self)?;
            match head.end(head.rows())? {
                end if end < len => Err(ExtentError::Trailing { end, found: len }.into()),
                end if end > len => Err(ExtentError::ShortFile { needed: end, found: len }.into()),
                _ => Appender::new(file, lock, path, head, false),
            }
        };
        with_path_in_errors(path.as_ref(), opened)
    }
}

impl Appender {
    /// Opens a file to add rows to it.
    ///
    /// # Errors
    ///
    /// [`Locked`](crate::ErrorKind::Locked) when another writer has the file,
    /// [`WrongShape`](crate::ErrorKind::WrongShape) for 0-d arrays,
    /// [`Damaged`](crate::ErrorKind::Damaged) when something follows the
    /// elements, [`Truncated`](crate::ErrorKind::Truncated) when some are
    /// missing, [`Io`](crate::ErrorKind::Io), those of [`Header::parse`].
    pub fn open(path: impl AsRef<Path>) -> Result<Appender> {
        OpenOptions::new().append(path)
    }

    /// Creates a file of no rows. `row` is the shape of one: the axes but the
    /// growing one.
    ///
    /// # Errors
    ///
    /// As [`MappedArray::create`](crate::MappedArray::create).
    pub fn create(
        path: impl AsRef<Path>,
        dtype: &DType,
        row: &[usize],
        options: &CreateOptions,
    ) -> Result<Appender> {
        let created = |path: &Path| {
            let mut shape = row.to_vec();
            shape.insert(if options.is_fortran() { row.len() } else { 0 }, 0);
            if options.is_raw() {
                return Err(RequestError::Placed.into());
            }
            let (header, plan) = options.plan(dtype, &shape)?;
            let new = options.begin(path)?;
            plan.write(new.file())?;
            let head = StoredHeader::new(header, plan.head)?;
            // Before others can find it.
            let lock = FileLock::of_new(new.file());
            Appender::new(new.finish()?, lock, path, head, true)
        };
        with_path_in_errors(path.as_ref(), created)
    }

    fn new(
        file: File,
        lock: Option<FileLock>,
        path: &Path,
        head: StoredHeader,
        is_renamed: bool,
    ) -> Result<Appender> {
        let (shape, axis, one) = (head.header().shape.clone(), head.axis(), head.layout(1)?);
        let (row, row_len) = (one.nbytes(), one.len());
        let tail = RowWriter::new(file, lock, path, head, is_renamed)?;
        Ok(Appender { path: path.to_owned(), tail, shape, axis, row, row_len })
    }

    /// Gathers so many bytes before they are written, 64 KiB unless said
    /// otherwise; with 0 each call writes its rows, and readers see them.
    #[must_use]
    pub fn with_buffer(mut self, bytes: usize) -> Appender {
        self.tail.capacity = bytes;
        self
    }

    /// The shape, with the rows that were not written yet.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The number of rows, with those that were not written yet.
    #[must_use]
    pub fn rows(&self) -> usize {
        *self.shape.get(self.axis).invariant("the axis of the rows is one of the array")
    }

    /// What each element is.
    #[must_use]
    pub fn dtype(&self) -> &DType {
        &self.header().dtype
    }

    /// Which axis varies fastest, and so which one grows.
    #[must_use]
    pub fn order(&self) -> Order {
        self.header().order
    }

    /// Adds rows: an array with as many axes as the file's and any length
    /// along the growing one, or one row without that axis. All of them are
    /// added, or on an error none.
    ///
    /// # Errors
    ///
    /// [`WrongDType`](crate::ErrorKind::WrongDType) when `T` is no such dtype,
    /// [`WrongShape`](crate::ErrorKind::WrongShape) when the shape is another,
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when a value doesn't
    /// fit, [`InvalidInput`](crate::ErrorKind::InvalidInput),
    /// [`Io`](crate::ErrorKind::Io), [`Changed`](crate::ErrorKind::Changed)
    /// when the file's length isn't what it was.
    pub fn append<T: Element, D: Dimension>(&mut self, rows: &ArrayRef<T, D>) -> Result<()> {
        let added = |appender: &mut Appender| {
            let (count, elements) = rows::rows(rows, appender.header(), appender.axis)?;
            let codec = T::codec(appender.dtype())?;
            appender.add(count, |tail| match elements.as_slice() {
                Some(values) => tail.put_slice(&codec, values),
                None => tail.put_each(&codec, elements.iter()),
            })
        };
        self.named(added)
    }

    /// Adds rows from values in the order of the file, a whole number of
    /// rows. All of them are added, or on an error none.
    ///
    /// # Errors
    ///
    /// As [`append`](Appender::append).
    pub fn append_slice<T: Element>(&mut self, values: &[T]) -> Result<()> {
        let added = |appender: &mut Appender| {
            let (header, axis) = (appender.header(), appender.axis);
            let count = rows::count(values.len(), appender.row_len, "values", header, axis)?;
            let codec = T::codec(appender.dtype())?;
            appender.add(count, |tail| tail.put_slice(&codec, values))
        };
        self.named(added)
    }

    /// Adds rows from bytes as they are stored, of a whole number of rows. All
    /// of them are added, or on an error none.
    ///
    /// # Errors
    ///
    /// As [`append`](Appender::append), but for
    /// [`WrongDType`](crate::ErrorKind::WrongDType),
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput).
    pub fn append_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let added = |appender: &mut Appender| {
            let header = appender.header();
            let count = rows::count(bytes.len(), appender.row, "bytes", header, appender.axis)?;
            appender.add(count, |tail| tail.put_bytes(bytes))
        };
        self.named(added)
    }

    /// Adds rows from bytes as they are stored that come in parts of any
    /// length: `fill` gets a function to hand them to. All of them are added,
    /// or on an error none; readers see none before the last.
    ///
    /// # Errors
    ///
    /// As [`append_bytes`](Appender::append_bytes);
    /// [`WrongShape`](crate::ErrorKind::WrongShape) when the parts are not
    /// `rows` rows; those of `fill`, which
    /// may be of any type.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{Appender, CreateOptions, DType};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("log.npy");
    /// let mut log = Appender::create(&path, &DType::of::<u8>(), &[5], &CreateOptions::new())?;
    /// log.append_parts(2, |put| ["abc", "defgh", "ij"].iter().try_for_each(|part| put(part.as_bytes())))?;
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
        let added = |appender: &mut Appender| {
            let needed = rows.saturating_mul(appender.row);
            appender.add(rows, |tail| {
                let mut found = 0;
                let filled = fill(&mut |bytes| {
                    found += bytes.len();
                    if found <= needed { tail.put_bytes(bytes) } else { Ok(()) }
                });
                filled.map_err(Error::other)?;
                if found == needed {
                    return Ok(());
                }
                let (found, expected) = (format!("{found} bytes"), tuple(&tail.head().shape(rows)));
                Err(ShapeError::Rows { found, expected }.into())
            })
        };
        self.named(added)
    }

    /// Gives the array so many rows: more, and the new ones are zero, with
    /// their space reserved; or fewer.
    ///
    /// A file is never cut short, since somebody may have it mapped: with
    /// fewer rows, what stays is copied to a new file which takes its name.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput),
    /// [`Io`](crate::ErrorKind::Io), [`Changed`](crate::ErrorKind::Changed).
    pub fn resize(&mut self, rows: usize) -> Result<()> {
        let old = self.rows();
        self.named(|appender| appender.tail.resize(old, rows))?;
        self.count(rows);
        Ok(())
    }

    /// Writes what is in the buffer, so that readers see it.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::ErrorKind::Io), as when the disk is full, and
    /// [`Changed`](crate::ErrorKind::Changed). What could not be written stays
    /// in the buffer; the file has its old number of rows.
    pub fn flush(&mut self) -> Result<()> {
        let rows = self.rows();
        self.named(|appender| appender.tail.write_out(rows))
    }

    /// Writes what is in the buffer and waits for the disk: first for the
    /// elements, then for the header.
    ///
    /// # Errors
    ///
    /// As [`flush`](Appender::flush).
    pub fn sync(&mut self) -> Result<()> {
        let rows = self.rows();
        self.named(|appender| appender.tail.sync(rows))
    }

    /// Writes what is in the buffer, waits for the disk and closes the file.
    /// Dropping writes too, but doesn't wait, and failures are lost.
    ///
    /// # Errors
    ///
    /// As [`flush`](Appender::flush); what could not be written is lost.
    pub fn close(mut self) -> Result<()> {
        let synced = self.sync();
        // Dropping is not to try again.
        let written = self.tail.head().rows();
        self.count(written);
        synced
    }

    fn header(&self) -> &Header {
        self.tail.head().header()
    }

    fn named<T>(&mut self, f: impl FnOnce(&mut Appender) -> Result<T>) -> Result<T> {
        f(self).map_err(|error| error.with_path(&self.path))
    }

    /// Sets how many rows there are.
    fn count(&mut self, rows: usize) {
        self.shape.iter_mut().skip(self.axis).take(1).for_each(|dim| *dim = rows);
    }

    /// Adds `count` rows that `put` puts, all or none.
    fn add(&mut self, count: usize, put: impl FnOnce(&mut RowWriter) -> Result<()>) -> Result<()> {
        let old = self.rows();
        let rows = old.saturating_add(count);
        self.tail.head().layout(rows)?;
        let tail = &mut self.tail;
        let added =
            put(tail).and_then(|()| if tail.is_due(old)? { tail.write_out(rows) } else { Ok(()) });
        match added {
            Ok(()) => self.count(rows),
            // If it stays, the next write notices.
            Err(_) => drop(self.tail.cut(old)),
        }
        added
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        let rows = self.rows();
        // `close` tells. Of rows that were being added nothing is to stay.
        let _ = self.tail.cut(rows).and_then(|()| self.tail.write_out(rows));
    }
}

impl fmt::Debug for Appender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Appender")
            .field("path", &self.path)
            .field("dtype", self.dtype())
            .field("shape", &self.shape)
            .field("buffered", &self.tail.buffered())
            .finish_non_exhaustive()
    }
}

/// Gives the array in a file so many rows: see [`Appender::resize`].
///
/// # Errors
///
/// As [`Appender::open`] and [`Appender::resize`].
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

//! Appends rows of different lengths.

use std::path::Path;

use crate::array::{CreateOptions, OpenOptions, with_path_in_errors};
use crate::dtype::DType;
use crate::dtype::literal::tuple;
use crate::element::Element;
use crate::error::invariant::Invariant;
use crate::error::{DTypeError, Error, RequestError, Result, ShapeError, plural};
use crate::npy::Header;
use crate::source::atomic::are_same_name;
use crate::write::append::{Appender, Examined, NewAppender, RecoverOptions};

/// The number of offsets kept in memory until their data is written.
const PENDING: usize = 8192;

/// A writer that appends rows of different lengths to the two files of a
/// [`Ragged`](crate::loader::Ragged) array.
///
/// Elements are written before their offsets. If the process dies in between,
/// some elements belong to no row: readers don't see them, and
/// [`recover`](RaggedAppender::recover) removes them.
///
/// Dropping the appender writes the remaining rows and ignores errors. Use
/// [`close`](RaggedAppender::close) to get them. If `flush` or `sync` failed,
/// dropping the appender does not write them after all.
///
/// # Examples
///
/// ```
/// use npymap::loader::{Ragged, RaggedAppender};
/// use npymap::{CreateOptions, DType, MappedArray};
///
/// let directory = tempfile::tempdir()?;
/// let [tokens, offsets] = ["tokens.npy", "offsets.npy"].map(|name| directory.path().join(name));
/// let dtype = DType::of::<u16>();
/// let mut to = RaggedAppender::create(&tokens, &offsets, &dtype, &[], &CreateOptions::new())?;
/// to.append_slice(&[15_u16, 3, 8])?;
/// to.append_slice(&[7_u16])?;
/// to.close()?;
///
/// let [data, offsets] = [&tokens, &offsets].map(|path| MappedArray::load(path));
/// let rows = Ragged::new(
///     data?.into_read_only()?.rows()?,
///     offsets?.into_read_only()?.rows()?,
/// )?;
/// let mut first: Vec<u16> = Vec::new();
/// rows.take_vec(&[0], &mut first)?;
/// assert_eq!(first, [15, 3, 8]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RaggedAppender {
    pub(super) data: Appender,
    offsets: Appender,
    pending: Vec<i64>,
    /// Whether the last attempt to write failed.
    has_failed: bool,
}

impl RaggedAppender {
    /// Creates two new files. `row` is the shape of each item in a row: empty
    /// for plain numbers. Existing files are replaced once both new files are
    /// complete: first the offsets, then the data.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if both paths
    /// are the same, or if a descr cannot express the dtype. Returns
    /// [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if a file exists and
    /// `options` do not allow you to overwrite it,
    /// [`NotFound`](crate::ErrorKind::NotFound) if a directory does not exist,
    /// [`Locked`](crate::ErrorKind::Locked) if a file that would be replaced is
    /// locked, [`Changed`](crate::ErrorKind::Changed) if another program has
    /// just replaced it, and [`Io`](crate::ErrorKind::Io) if a file cannot be
    /// written.
    pub fn create(
        data: impl AsRef<Path>,
        offsets: impl AsRef<Path>,
        dtype: &DType,
        row: &[usize],
        options: &CreateOptions,
    ) -> Result<RaggedAppender> {
        let (path, offsets) = (data.as_ref(), offsets.as_ref());
        check_names(path, offsets)?;
        let new_data = NewAppender::begin(path, dtype, row, options)?;
        let new_offsets = begin_offsets(offsets, options)?;
        // If the second one fails, the old data is still there.
        let offsets = new_offsets.finish()?;
        RaggedAppender::of_files(new_data.finish()?, offsets)
    }

    /// Like [`append_ragged`](OpenOptions::append_ragged), after a writer was killed
    /// or the power failed: removes elements after the last offset, and offsets after
    /// the last element, even if the headers count them. After a loss of power,
    /// repair the files by this, not one at a time: offsets that the header
    /// does not count may be any numbers then.
    ///
    /// Pass two files that belong together: the other rows lose what does not
    /// fit.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if a file does not
    /// exist, [`Locked`](crate::ErrorKind::Locked) if another writer has locked
    /// one, [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the offsets are not
    /// `i64`, [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if they don't have
    /// one axis or the data has none, [`Corrupt`](crate::ErrorKind::Corrupt) if
    /// a file is not a valid `.npy` file, or if the offsets don't start with 0
    /// or decrease, [`Truncated`](crate::ErrorKind::Truncated) if elements are
    /// missing, and [`Io`](crate::ErrorKind::Io) if reading or writing fails.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::loader::RaggedAppender;
    /// use npymap::{Appender, CreateOptions, DType, OpenOptions};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let [tokens, offsets] = ["tokens.npy", "offsets.npy"].map(|name| directory.path().join(name));
    /// let dtype = DType::of::<u16>();
    /// let mut to = RaggedAppender::create(&tokens, &offsets, &dtype, &[], &CreateOptions::new())?;
    /// to.append_slice(&[15_u16, 3, 8])?;
    /// to.close()?;
    /// // Elements without an offset, as a writer leaves that is killed.
    /// let mut data = Appender::open(&tokens)?;
    /// data.append_slice(&[7_u16])?;
    /// data.close()?;
    ///
    /// assert!(OpenOptions::new().append_ragged(&tokens, &offsets).is_err());
    /// assert_eq!(RaggedAppender::recover(&tokens, &offsets)?.rows(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn recover(data: impl AsRef<Path>, offsets: impl AsRef<Path>) -> Result<RaggedAppender> {
        let options = OpenOptions::new();
        let examined = examine(data.as_ref(), &options)?;
        RaggedAppender::of_data(data.as_ref(), examined, offsets.as_ref(), &options, false)
    }

    /// Combines the two files, which must be empty or new.
    #[inline]
    pub(super) fn of_files(data: Appender, offsets: Appender) -> Result<RaggedAppender> {
        let mut new = RaggedAppender { data, offsets, pending: vec![0], has_failed: false };
        new.flush()?;
        Ok(new)
    }

    /// Opens the offsets of data that is locked. `keeps_counted` makes it an error if rows
    /// that a header counts would be removed.
    #[inline]
    pub(super) fn of_data(
        path: &Path,
        data: Examined,
        offsets: &Path,
        options: &OpenOptions,
        keeps_counted: bool,
    ) -> Result<RaggedAppender> {
        // Nothing changes before the offsets are known.
        let (found, rows, end) = with_path_in_errors(offsets, |path| {
            let found = examine(path, options)?;
            let (rows, end) = known_rows(&found, data.rows)?;
            if keeps_counted && (rows < found.counted_rows() || end < data.counted_rows()) {
                return Err(unlike(&found, &data, end));
            }
            Ok((found, rows, end))
        })?;
        let keep_data = |data: Examined| with_path_in_errors(path, |_| data.keep(end));
        let keep_offsets = |found: Examined| with_path_in_errors(offsets, |_| found.keep(rows));
        // No offset is counted before its elements are.
        let (data, offsets) = if end > data.counted_rows() {
            (keep_data(data)?, keep_offsets(found)?)
        } else {
            let offsets = keep_offsets(found)?;
            (keep_data(data)?, offsets)
        };
        let pending = if rows == 0 { vec![0] } else { Vec::new() };
        Ok(RaggedAppender { data, offsets, pending, has_failed: false })
    }

    /// Appends a row of these elements, in C order. If this fails, the row is not
    /// appended, and you can try again.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if `T` cannot be
    /// stored as the dtype, [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if the
    /// values are not complete items,
    /// [`InvalidValue`](crate::ErrorKind::InvalidValue) if a value does not
    /// fit, [`InvalidInput`](crate::ErrorKind::InvalidInput) if the array would
    /// be too large, [`Io`](crate::ErrorKind::Io) if writing fails, for example
    /// because the disk is full, and [`Changed`](crate::ErrorKind::Changed) if
    /// another program changed the files.
    pub fn append_slice<T: Element>(&mut self, values: &[T]) -> Result<()> {
        self.append_with(|data| data.append_slice(values))
    }

    /// Appends a row from the bytes of its elements, as stored.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if the bytes are
    /// not complete items, [`InvalidInput`](crate::ErrorKind::InvalidInput) if
    /// the array would be too large, [`Io`](crate::ErrorKind::Io) if writing
    /// fails, for example because the disk is full, and
    /// [`Changed`](crate::ErrorKind::Changed) if another program changed the
    /// files.
    #[inline]
    pub fn append_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.append_with(|data| data.append_bytes(bytes))
    }

    /// Appends the elements of one row with `append`.
    fn append_with(&mut self, append: impl FnOnce(&mut Appender) -> Result<()>) -> Result<()> {
        // Flush before the row is appended, because an error after that would be
        // reported for a row that has been appended.
        if self.pending.len() >= PENDING {
            self.flush()?;
        }
        append(&mut self.data)?;
        self.has_failed = false;
        let end = i64::try_from(self.data.rows()).invariant("an axis is at most `isize::MAX` long");
        self.pending.push(end);
        Ok(())
    }

    /// Returns the number of rows, including those not written yet.
    #[must_use]
    #[inline]
    pub fn rows(&self) -> usize {
        self.offsets.rows() + self.pending.len() - 1
    }

    /// Returns the dtype of the elements.
    #[must_use]
    #[inline]
    pub fn dtype(&self) -> &DType {
        self.data.dtype()
    }

    /// Returns the shape of each item in a row: empty for plain numbers.
    #[must_use]
    #[inline]
    pub fn item_shape(&self) -> &[usize] {
        self.data.shape().get(1..).invariant("the data has a first axis")
    }

    /// Writes all rows, elements first, so that readers that open the files see
    /// them.
    ///
    /// # Errors
    ///
    /// Returns [`Io`](crate::ErrorKind::Io) if writing fails, for example
    /// because the disk is full, and [`Changed`](crate::ErrorKind::Changed) if
    /// another program changed the files. Rows that could not be written stay
    /// in the buffers.
    #[inline]
    pub fn flush(&mut self) -> Result<()> {
        self.write(Appender::flush)
    }

    /// Like [`flush`](RaggedAppender::flush), and syncs the files to the disk.
    ///
    /// # Errors
    ///
    /// Returns [`Io`](crate::ErrorKind::Io) if writing fails, for example
    /// because the disk is full, and [`Changed`](crate::ErrorKind::Changed) if
    /// another program changed the files, and
    /// [`NotFound`](crate::ErrorKind::NotFound) if a path no longer leads to
    /// its file.
    #[inline]
    pub fn sync(&mut self) -> Result<()> {
        self.write(Appender::sync)
    }

    /// Writes all rows, syncs the files to the disk and closes them.
    ///
    /// # Errors
    ///
    /// Returns [`Io`](crate::ErrorKind::Io) if writing fails, for example
    /// because the disk is full, and [`Changed`](crate::ErrorKind::Changed) if
    /// another program changed the files, and
    /// [`NotFound`](crate::ErrorKind::NotFound) if a path no longer leads to
    /// its file.
    #[inline]
    pub fn close(mut self) -> Result<()> {
        self.sync()
    }

    /// Writes all rows, elements first.
    fn write(&mut self, write: impl Fn(&mut Appender) -> Result<()>) -> Result<()> {
        self.has_failed = true;
        write(&mut self.data)?;
        if !self.pending.is_empty() {
            self.offsets.append_slice(&self.pending)?;
            self.pending.clear();
        }
        write(&mut self.offsets)?;
        self.has_failed = false;
        Ok(())
    }
}

impl Drop for RaggedAppender {
    #[inline]
    fn drop(&mut self) {
        // Rows that were reported as not written must not appear later.
        if !self.has_failed {
            self.flush().ok();
        }
    }
}

/// Returns an error if both files would be the same.
#[inline]
pub(super) fn check_names(data: &Path, offsets: &Path) -> Result<()> {
    if !are_same_name(data, offsets) {
        return Ok(());
    }
    let found = format!("`{}` for data and offsets", data.display());
    Err(RequestError::Argument { found, expected: "two files".to_owned() }.into())
}

/// Starts the file of the offsets.
#[inline]
pub(super) fn begin_offsets(path: &Path, options: &CreateOptions) -> Result<NewAppender> {
    NewAppender::begin(path, &"<i8".parse()?, &[], options)
}

/// Locks one of the files.
#[inline]
pub(super) fn examine(path: &Path, options: &OpenOptions) -> Result<Examined> {
    let options = RecoverOptions::new().open_options(options.clone());
    with_path_in_errors(path, |path| options.examine_locked(path))
}

/// The number of offsets up to the number of elements, and the last of these
/// offsets.
///
/// A writer that was killed leaves increasing offsets. After a loss of power,
/// offsets that the header does not count may be any numbers: from the first of
/// these that is wrong, they are not known. Other decreasing numbers are no
/// offsets.
#[inline]
fn known_rows(offsets: &Examined, elements: usize) -> Result<(usize, usize)> {
    let Header { dtype, shape, .. } = offsets.header();
    if shape.len() != 1 {
        let (found, expected) = (tuple(shape), "(*,)".to_owned());
        return Err(ShapeError::Rows { found, expected }.into());
    }
    let codec = i64::codec(dtype)?;
    let (mut rows, mut end, mut last) = (0, 0, 0);
    let mut bytes = vec![0; PENDING * dtype.itemsize()];
    for start in (0..offsets.rows).step_by(PENDING) {
        let count = PENDING.min(offsets.rows - start);
        bytes.truncate(count * dtype.itemsize());
        offsets.read_elements(start, &mut bytes)?;
        for (row, bytes) in (start..).zip(bytes.chunks_exact(dtype.itemsize())) {
            let offset = i64::decode(&codec, bytes);
            let is_counted = row < offsets.counted_rows();
            // After a loss of power, zeros are most likely no rows, but unwritten bytes.
            let is_unwritten = !is_counted && row > 0 && offset == 0;
            if offset < last || (row == 0 && offset > 0) || is_unwritten {
                if !is_counted {
                    return check_known(rows, end, elements);
                }
                let value = format!("offset {row} is {offset}");
                let expected = if row == 0 { "0".to_owned() } else { format!("at least {last}") };
                return Err(DTypeError::Stored { value, expected }.into());
            }
            last = offset;
            let within = usize::try_from(offset).ok().filter(|&offset| offset <= elements);
            if let Some(offset) = within {
                (rows, end) = (row + 1, offset);
            }
        }
    }
    check_known(rows, end, elements)
}

/// Returns an error if there are elements and no offset, which no writer leaves.
#[inline]
fn check_known(rows: usize, end: usize, elements: usize) -> Result<(usize, usize)> {
    if rows > 0 || elements == 0 {
        return Ok((rows, end));
    }
    let value = format!("no offsets of {}", plural(elements, "element", "elements"));
    let expected = "0, the offset of the first one".to_owned();
    Err(DTypeError::Stored { value, expected }.into())
}

/// The error for two files if one counts rows that the other file does not
/// have.
#[inline]
fn unlike(offsets: &Examined, data: &Examined, end: usize) -> Error {
    let rows = plural(offsets.counted_rows(), "offset", "offsets");
    let elements = plural(data.counted_rows(), "element", "elements");
    let value = format!("{rows}, up to {end}, for {elements}");
    let expected = "files that belong together, or to `recover` them".to_owned();
    DTypeError::Stored { value, expected }.into()
}

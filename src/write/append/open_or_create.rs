//! Opens a file to append rows, and creates it if there is none.

use std::path::Path;
use std::thread;
use std::time::Duration;

use super::appender::Appender;
use super::new_appender::NewAppender;
use crate::array::{CreateOptions, OpenOptions, with_path_in_errors};
use crate::dtype::DType;
use crate::dtype::literal::tuple;
use crate::error::{DTypeError, ErrorKind, RequestError, Result, ShapeError};
use crate::layout::Order;

/// How often an empty file is opened again, and how long each time is waited before.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(2);

impl OpenOptions {
    /// Opens a file to append rows, or creates it with `options`, like
    /// [`Appender::open_or_create`].
    ///
    /// With [`Locking::Wait`](crate::source::Locking::Wait), any number of processes can
    /// call this at once. One process will create the file, and each waits for its turn to
    /// append.
    ///
    /// # Errors
    ///
    /// If the file exists, returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) or
    /// [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if its rows have another dtype, shape
    /// or memory order, [`Corrupt`](crate::ErrorKind::Corrupt) if it is not a valid `.npy` file
    /// or other bytes follow its elements, [`Unsupported`](crate::ErrorKind::Unsupported) if it
    /// contains Python objects or is not a regular file,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if its header is longer than the
    /// limit, [`Truncated`](crate::ErrorKind::Truncated) if elements are missing, and
    /// [`Locked`](crate::ErrorKind::Locked) if another writer has locked it and the options
    /// don't say to wait. A new file returns [`NotFound`](crate::ErrorKind::NotFound) if the
    /// directory of `path` does not exist, [`InvalidInput`](crate::ErrorKind::InvalidInput) if
    /// a descr cannot express the dtype, if the version cannot hold the header, or if the array
    /// would have more than 64 axes, and [`Io`](crate::ErrorKind::Io) if it cannot be written,
    /// for example because the disk is full. Returns
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if the options say where the array is,
    /// or that an existing file is overwritten, and [`Io`](crate::ErrorKind::Io) if the file
    /// cannot be opened, read or written.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{CreateOptions, DType, OpenOptions, source::Locking};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("log.npy");
    /// let (dtype, new) = (DType::of::<f32>(), CreateOptions::new());
    /// for rows in 1..=3 {
    ///     let options = OpenOptions::new().locking(Locking::Wait);
    ///     let mut log = options.append_or_create(&path, &dtype, &[2], &new)?;
    ///     log.append_slice(&[0.5_f32, 1.5])?;
    ///     assert_eq!(log.rows(), rows);
    ///     log.close()?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn append_or_create(
        &self,
        path: impl AsRef<Path>,
        dtype: &DType,
        row: &[usize],
        options: &CreateOptions,
    ) -> Result<Appender> {
        with_path_in_errors(path.as_ref(), |path| {
            check_not_overwritten(options)?;
            let mut tries = 0;
            loop {
                match self.append(path) {
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    // A file that gets its name for a moment before its contents.
                    Err(error) if tries < TRIES && is_empty(&error, path) => {
                        tries += 1;
                        thread::sleep(PAUSE);
                        continue;
                    }
                    opened => {
                        let opened = opened?;
                        check_rows_like(&opened, dtype, row, options)?;
                        return Ok(opened);
                    }
                }
                match NewAppender::begin(path, dtype, row, options).and_then(NewAppender::finish) {
                    // Another process has just created it.
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                    created => return created,
                }
            }
        })
    }
}

impl Appender {
    /// Opens a file to append rows, or creates it if it does not exist. `row` is the shape
    /// of one row.
    ///
    /// This is how a logger should open its file. A new file appears under its name with a
    /// complete header, so several processes can call this at once. While one process
    /// appends, this returns [`Locked`](crate::ErrorKind::Locked) in every other process.
    /// [`OpenOptions::append_or_create`] can wait instead.
    ///
    /// # Errors
    ///
    /// If the file exists, returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) or
    /// [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if its rows have another dtype, shape
    /// or memory order, [`Corrupt`](crate::ErrorKind::Corrupt) if it is not a valid `.npy` file
    /// or other bytes follow its elements, [`Unsupported`](crate::ErrorKind::Unsupported) if it
    /// contains Python objects or is not a regular file,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if its header is longer than the
    /// limit, [`Truncated`](crate::ErrorKind::Truncated) if elements are missing, and
    /// [`Locked`](crate::ErrorKind::Locked) if another writer has locked it. A new file returns
    /// [`NotFound`](crate::ErrorKind::NotFound) if the directory of `path` does not exist,
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if a descr cannot express the dtype, if
    /// the version cannot hold the header, or if the array would have more than 64 axes, and
    /// [`Io`](crate::ErrorKind::Io) if it cannot be written, for example because the disk is
    /// full. Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if the shape of a row is
    /// too large, and [`Io`](crate::ErrorKind::Io) if the file cannot be opened, read or
    /// written.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{Appender, DType};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("log.npy");
    /// for run in 0..3_u8 {
    ///     let mut log = Appender::open_or_create(&path, &DType::of::<u8>(), &[2])?;
    ///     log.append_slice(&[run, run])?;
    ///     log.close()?;
    /// }
    /// assert_eq!(npymap::MappedArray::load(&path)?.shape(), [3, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_or_create(
        path: impl AsRef<Path>,
        dtype: &DType,
        row: &[usize],
    ) -> Result<Appender> {
        OpenOptions::new().append_or_create(path, dtype, row, &CreateOptions::new())
    }
}

/// Returns an error if the options of a new file would replace an existing one.
#[inline]
pub(crate) fn check_not_overwritten(options: &CreateOptions) -> Result<()> {
    if !options.overwrite {
        return Ok(());
    }
    let found = "an existing file is both opened and overwritten".to_owned();
    Err(RequestError::Argument { found, expected: "one of them".to_owned() }.into())
}

/// Returns an error unless the rows of a file are those that a new one would have.
#[inline]
pub(crate) fn check_rows_like(
    opened: &Appender,
    dtype: &DType,
    row: &[usize],
    options: &CreateOptions,
) -> Result<()> {
    if opened.dtype() != dtype {
        let (stored, asked) = (opened.dtype().to_string(), dtype.to_string());
        return Err(DTypeError::Rows { stored, asked }.into());
    }
    let mut own_row = opened.shape().to_vec();
    own_row.remove(opened.axis);
    // With one axis, both orders are the same.
    if own_row == row && (opened.order() == options.order || row.is_empty()) {
        return Ok(());
    }
    let text = |row: &[usize], order| {
        let order = if order == Order::F { " in Fortran order" } else { "" };
        format!("{}{order}", tuple(row))
    };
    let (found, expected) = (text(row, options.order), text(&own_row, opened.order()));
    Err(ShapeError::Rows { found, expected }.into())
}

/// Returns whether opening a file failed because it is empty.
#[inline]
fn is_empty(error: &crate::error::Error, path: &Path) -> bool {
    error.kind() == ErrorKind::Truncated
        && std::fs::metadata(path).is_ok_and(|found| found.len() == 0)
}

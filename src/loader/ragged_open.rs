//! Opens the two files of rows of different lengths, and creates them if there are none.

use std::path::Path;

use super::RaggedAppender;
use super::ragged_append::{begin_offsets, check_names, examine};
use crate::array::{CreateOptions, OpenOptions, with_path_in_errors};
use crate::dtype::DType;
use crate::error::{ErrorKind, Result};
use crate::write::append::{
    Appender, Examined, NewAppender, check_not_overwritten, check_rows_like,
};

impl OpenOptions {
    /// Opens the data and offsets of rows of different lengths for appending. All offsets are
    /// read. Removes what a killed writer left after the elements and the offsets that the
    /// headers count. With [`Locking::Wait`](crate::source::Locking::Wait), this waits for
    /// other writers.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if a file does not exist,
    /// [`Locked`](crate::ErrorKind::Locked) if another writer has locked one and the options
    /// don't say to wait, [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the offsets are
    /// not `i64`, [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if they don't have one
    /// axis or the data has none, [`Corrupt`](crate::ErrorKind::Corrupt) if a file is not a
    /// valid `.npy` file, or if the offsets don't start with 0, decrease or don't end with the
    /// number of elements: the files don't belong together, or their writer did not end, and
    /// [`recover`](RaggedAppender::recover) restores its rows. Both files stay the same then.
    /// Returns [`Truncated`](crate::ErrorKind::Truncated) if elements are missing,
    /// and [`Io`](crate::ErrorKind::Io) if reading or writing fails. Returns
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if the options say where the array is.
    pub fn append_ragged(
        &self,
        data: impl AsRef<Path>,
        offsets: impl AsRef<Path>,
    ) -> Result<RaggedAppender> {
        let (data, offsets) = (data.as_ref(), offsets.as_ref());
        RaggedAppender::of_data(data, examine(data, self)?, offsets, self, true)
    }

    /// Opens two files like [`append_ragged`](OpenOptions::append_ragged), or creates them
    /// with `options`, like [`RaggedAppender::create`]. Any number of processes can call this
    /// at once, like [`append_or_create`](OpenOptions::append_or_create).
    ///
    /// If a process dies while it creates the files, the next process will complete them.
    ///
    /// # Errors
    ///
    /// If the files exist, returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) or
    /// [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if their items have another dtype or
    /// shape, [`Locked`](crate::ErrorKind::Locked) if another writer has locked one and the
    /// options don't say to wait, [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the
    /// offsets are not `i64`, [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if they don't
    /// have one axis or the data has none, [`Corrupt`](crate::ErrorKind::Corrupt) if a file is
    /// not a valid `.npy` file, if the offsets don't start with 0, decrease or don't end with
    /// the number of elements, [`Truncated`](crate::ErrorKind::Truncated) if elements are
    /// missing, and [`Io`](crate::ErrorKind::Io) if reading or writing fails. If only one of
    /// them exists and has rows, returns [`NotFound`](crate::ErrorKind::NotFound) or
    /// [`AlreadyExists`](crate::ErrorKind::AlreadyExists). Returns
    /// [`NotFound`](crate::ErrorKind::NotFound) if the directory of a new file does not exist,
    /// and [`InvalidInput`](crate::ErrorKind::InvalidInput) if both paths are the same, if a
    /// descr cannot express the dtype, if the options say where the array is, or that existing
    /// files are overwritten.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{CreateOptions, DType, OpenOptions, source::Locking};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let [text, offsets] = ["text.npy", "offsets.npy"].map(|name| directory.path().join(name));
    /// let (dtype, new) = (DType::of::<u8>(), CreateOptions::new());
    /// for line in ["one", "", "three"] {
    ///     let options = OpenOptions::new().locking(Locking::Wait);
    ///     let mut to = options.append_or_create_ragged(&text, &offsets, &dtype, &[], &new)?;
    ///     to.append_slice(line.as_bytes())?;
    ///     to.close()?;
    /// }
    /// let to = OpenOptions::new().append_ragged(&text, &offsets)?;
    /// assert_eq!(to.rows(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn append_or_create_ragged(
        &self,
        data: impl AsRef<Path>,
        offsets: impl AsRef<Path>,
        dtype: &DType,
        row: &[usize],
        options: &CreateOptions,
    ) -> Result<RaggedAppender> {
        let (data, offsets) = (data.as_ref(), offsets.as_ref());
        check_names(data, offsets)?;
        check_not_overwritten(options)?;
        loop {
            // Whoever has locked the data, which is created first, has both files.
            match examine(data, self) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                found => {
                    let found = found?;
                    if found.rows == 0 && !offsets.exists() {
                        return complete(data, found, offsets, dtype, row, options);
                    }
                    let opened = RaggedAppender::of_data(data, found, offsets, self, true)?;
                    with_path_in_errors(data, |_| {
                        check_rows_like(&opened.data, dtype, row, options)
                    })?;
                    return Ok(opened);
                }
            }
            let new_data = NewAppender::begin(data, dtype, row, options);
            let new_offsets = match begin_offsets(offsets, options) {
                // Another process has created both in the meantime, or only these exist.
                Err(error) if error.kind() == ErrorKind::AlreadyExists && data.exists() => continue,
                new_offsets => new_offsets?,
            };
            match new_data.and_then(NewAppender::finish) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                created => return RaggedAppender::of_files(created?, new_offsets.finish()?),
            }
        }
    }
}

/// Creates the offsets of data without rows, whose creator died before it did.
#[inline]
fn complete(
    path: &Path,
    data: Examined,
    offsets: &Path,
    dtype: &DType,
    row: &[usize],
    options: &CreateOptions,
) -> Result<RaggedAppender> {
    let data: Appender = with_path_in_errors(path, |_| {
        let data = data.keep(0)?;
        check_rows_like(&data, dtype, row, options)?;
        Ok(data)
    })?;
    RaggedAppender::of_files(data, begin_offsets(offsets, options)?.finish()?)
}

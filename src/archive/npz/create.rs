//! Writes archives to files: member by member, or with one call.

use std::path::Path;

use super::writer::NpzWriter;
use crate::array::{WriteMode, begin_file, with_path_in_errors, write_file};
use crate::error::Result;
use crate::source::AtomicFile;
use crate::write::Save;

impl NpzWriter<AtomicFile> {
    /// Starts an archive in a temporary file, which
    /// [`finish`](NpzWriter::finish) renames to `path`. Until then, an existing
    /// file at `path` is not changed.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if the directory of `path`
    /// does not exist, [`Unsupported`](crate::ErrorKind::Unsupported) if `path`
    /// leads to something that cannot be replaced, such as a directory, and
    /// [`Io`](crate::ErrorKind::Io) if the temporary file cannot be created.
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if bytes follow the elements
    /// of the `.npy` file that would be replaced. To drop these, pass
    /// [`AtomicFile::create_discarding`](crate::source::AtomicFile::create_discarding)
    /// to [`new_seekable`](NpzWriter::new_seekable).
    pub fn create(path: impl AsRef<Path>) -> Result<NpzWriter<AtomicFile>> {
        with_path_in_errors(path.as_ref(), |path| {
            let mut writer = NpzWriter::new_seekable(begin_file(path, true, false)?)?;
            writer.path = Some(path.to_owned());
            Ok(writer)
        })
    }

    /// Finishes the archive, waits until it is on the disk, renames it to its
    /// final name, and waits until the name is also on the disk. If it replaces
    /// a file, it gets the permissions of that file.
    ///
    /// [`savez`] does not wait for the disk. Nor does an archive in an
    /// [`AtomicFile`](crate::source::AtomicFile) that is committed, and
    /// `AtomicFile::create_new` does not replace a file:
    ///
    /// ```
    /// use npymap::{ndarray::arr1, npz::NpzWriter, source::AtomicFile};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("arrays.npz");
    /// let mut writer = NpzWriter::new_seekable(AtomicFile::create(&path)?)?;
    /// writer.write("x", &arr1(&[0.5, 1.5]))?;
    /// writer.into_inner()?.commit()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if a member was
    /// not finished, and [`Io`](crate::ErrorKind::Io) if writing, renaming or
    /// syncing fails. A file at the final name is then not changed, unless only
    /// the directory could not be synced.
    #[inline]
    pub fn finish(mut self) -> Result<()> {
        let path = self.path.take();
        let done = self.into_inner().and_then(|file| file.commit_sync().map(drop));
        match path {
            Some(path) => done.map_err(|error| error.with_path(&path)),
            None => done,
        }
    }
}

/// Writes arrays to an uncompressed `.npz` archive: `numpy.savez`. An existing
/// file is replaced once the archive is complete.
///
/// Does not wait for the disk. Use [`NpzWriter::create`] and
/// [`finish`](NpzWriter::finish) for archives that must survive a loss of
/// power, and to deflate arrays, like `numpy.savez_compressed`.
///
/// # Errors
///
/// Returns [`NotFound`](crate::ErrorKind::NotFound) if the directory of `path` does
/// not exist, [`Unsupported`](crate::ErrorKind::Unsupported) if `path` leads to
/// something that cannot be replaced, such as a directory. Returns
/// [`InvalidInput`](crate::ErrorKind::InvalidInput) if two names are equal, if the
/// format cannot store a name, or if a descr cannot express a dtype, and
/// [`Io`](crate::ErrorKind::Io) if writing fails. An existing file is then
/// unchanged. Returns [`Corrupt`](crate::ErrorKind::Corrupt) if bytes follow the
/// elements of the `.npy` file that would be replaced.
///
/// # Examples
///
/// ```
/// use npymap::ndarray::{arr1, arr2};
/// use npymap::{Npz, Source, npz};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("arrays.npz");
/// npz::savez(&path, &[("x", &arr1(&[0.5_f32])), ("y", &arr2(&[[1_i64, 2]]))])?;
/// assert_eq!(Npz::open(Source::open(&path)?)?.get("y")?.as_slice::<i64>()?, [1, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn savez(path: impl AsRef<Path>, arrays: &[(&str, &dyn Save)]) -> Result<()> {
    with_path_in_errors(path.as_ref(), |path| {
        write_file(path, WriteMode::default(), |file, is_new| {
            let mut writer =
                if is_new { NpzWriter::new_seekable(file)? } else { NpzWriter::new(file) };
            for (name, array) in arrays {
                writer.write(name, *array)?;
            }
            writer.into_inner()?;
            Ok(())
        })
    })
}

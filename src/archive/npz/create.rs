//! Writes archives to files: member by member, filled in place, or with one
//! call.
#![allow(unsafe_code)]

use std::error::Error as StdError;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::member_writer::{Compression, write_error};
use super::npz_file::{NpzFile, OutputFile};
use super::writer::NpzWriter;
use crate::array::{MappedArray, WriteMode, begin_file, with_path_in_errors, write_file};
use crate::dtype::DType;
use crate::error::{Error, Result, SystemError};
use crate::layout::Order;
use crate::npy::Header;
use crate::source::{Source, file};
use crate::write::Save;

impl NpzWriter<NpzFile> {
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
    pub fn create(path: impl AsRef<Path>) -> Result<NpzWriter<NpzFile>> {
        NpzWriter::create_file(path.as_ref(), true)
    }

    /// Like [`create`](NpzWriter::create), but does not replace an existing
    /// file.
    ///
    /// # Errors
    ///
    /// Returns [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if the file
    /// exists, [`NotFound`](crate::ErrorKind::NotFound) if the directory of
    /// `path` does not exist, and [`Io`](crate::ErrorKind::Io) if the temporary
    /// file cannot be created.
    pub fn create_new(path: impl AsRef<Path>) -> Result<NpzWriter<NpzFile>> {
        NpzWriter::create_file(path.as_ref(), false)
    }

    #[inline]
    fn create_file(path: &Path, overwrite: bool) -> Result<NpzWriter<NpzFile>> {
        with_path_in_errors(path, |path| {
            let atomic = begin_file(path, overwrite, false)?;
            let file = atomic.file().try_clone().map_err(SystemError::io("create"))?;
            let output = Arc::new(OutputFile { file, skips: AtomicBool::new(false) });
            let mut writer =
                NpzWriter::new_seekable(NpzFile { output: Arc::clone(&output), atomic })?;
            writer.output = Some(output);
            writer.path = Some(path.to_owned());
            Ok(writer)
        })
    }

    /// Writes a member by filling a mapped array of zeros in place, like
    /// `open_memmap` with mode `w+`. The member is stored, not deflated. Its
    /// CRC-32 is computed after `fill` returns.
    ///
    /// # Safety
    ///
    /// While `fill` runs, the promise of [`Source`](Source#safety) must hold for
    /// the temporary file, which has a random name in the directory of the
    /// archive.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if a member of
    /// that name exists, if the format cannot store the name, or if an earlier
    /// member was not finished, or a descr cannot express the dtype. Returns
    /// [`Io`](crate::ErrorKind::Io) if the member cannot be written or mapped,
    /// and whatever `fill` returns, of any type.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::npz::NpzWriter;
    /// use npymap::{DType, Npz, Order, Source};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("filled.npz");
    /// let mut writer = NpzWriter::create(&path)?;
    /// // SAFETY: nobody else uses the temporary file.
    /// unsafe {
    ///     writer.create_member("a", &DType::of::<f64>(), &[3], Order::C, |mut array| {
    ///         array.as_slice_mut::<f64>()?[1] = 1.5;
    ///         Ok::<_, npymap::Error>(())
    ///     })?;
    /// }
    /// writer.finish()?;
    /// assert_eq!(Npz::open(Source::open(&path)?)?.get("a")?.as_slice::<f64>()?, [0.0, 1.5, 0.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub unsafe fn create_member<E>(
        &mut self,
        name: &str,
        dtype: &DType,
        shape: &[usize],
        order: Order,
        fill: impl FnOnce(MappedArray<&mut [u8]>) -> Result<(), E>,
    ) -> Result<()>
    where
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        let compression = std::mem::replace(&mut self.compression, Compression::Stored);
        let output = self.output.clone();
        let done = self.begin(name, dtype, shape, order).and_then(|mut member| {
            let header = Header::new(dtype.clone(), shape, order)?;
            let layout = header.layout()?;
            let offset = member.position();
            member.flush().map_err(write_error())?;
            let Some(output) = output else { return member.finish() };
            let end = offset + member.remaining();
            file::reserve(&output.file, end).map_err(SystemError::io("reserve space"))?;
            output.skips.store(true, Ordering::Relaxed);
            let skipped = member.skip_remaining();
            output.skips.store(false, Ordering::Relaxed);
            skipped.map_err(write_error())?;
            let mapped_file = output.file.try_clone().map_err(SystemError::io("create"))?;
            // SAFETY: the caller made the promise for the duration of this call,
            // and everything obtained from the source is dropped before it
            // returns.
            let source = unsafe { Source::map_mut_file(mapped_file) }?;
            let mut data = source.obtain(offset, layout.nbytes())?;
            fill(MappedArray::from_parts(data.as_mut(), layout.with_offset(0))?)
                .map_err(Error::other)?;
            member.set_checksum(&[&header.encode(None)?.bytes, data.as_ref()]);
            data.close()?;
            member.finish()
        });
        self.compression = compression;
        self.name_file(done)
    }

    /// Finishes the archive, waits until it is on the disk, renames it to its
    /// final name, and waits until the name is also on the disk. If it replaces
    /// a file, it gets the permissions of that file.
    ///
    /// [`savez`] does not wait for the disk. Nor does an archive in an
    /// [`AtomicFile`](crate::source::AtomicFile) that is committed:
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
        let done = self.into_inner().and_then(|file| file.atomic.commit_sync().map(drop));
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
/// power.
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
    save(path.as_ref(), arrays, Compression::Stored)
}

/// Writes arrays to a compressed `.npz` archive: `numpy.savez_compressed`. Does
/// not wait for the disk, like [`savez`].
///
/// # Errors
///
/// Returns [`NotFound`](crate::ErrorKind::NotFound) if the directory of `path`
/// does not exist, [`Unsupported`](crate::ErrorKind::Unsupported) if `path`
/// leads to something that cannot be replaced, such as a directory. Returns
/// [`InvalidInput`](crate::ErrorKind::InvalidInput) if two names are equal, if
/// the format cannot store a name, or if a descr cannot express a dtype, and
/// [`Io`](crate::ErrorKind::Io) if writing fails. An existing file is then
/// unchanged.
///
/// # Examples
///
/// ```
/// use npymap::{Npz, Source, ndarray::Array1, npz};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("zeros.npz");
/// npz::savez_compressed(&path, &[("x", &Array1::<f64>::zeros(10_000))])?;
/// assert!(std::fs::metadata(&path)?.len() < 1000);
/// assert_eq!(Npz::open(Source::open(&path)?)?.get("x")?.shape(), [10_000]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn savez_compressed(path: impl AsRef<Path>, arrays: &[(&str, &dyn Save)]) -> Result<()> {
    save(path.as_ref(), arrays, Compression::Deflated(6))
}

#[inline]
fn save(path: &Path, arrays: &[(&str, &dyn Save)], compression: Compression) -> Result<()> {
    with_path_in_errors(path, |path| {
        write_file(path, WriteMode::default(), |file, is_new| {
            let mut writer =
                if is_new { NpzWriter::new_seekable(file)? } else { NpzWriter::new(file) };
            writer.compression(compression);
            for (name, array) in arrays {
                writer.write(name, *array)?;
            }
            writer.into_inner()?;
            Ok(())
        })
    })
}

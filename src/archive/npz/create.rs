//! Archives in files: a member after the other, filled in place, or whole in
//! one call.
#![allow(unsafe_code)]

use std::error::Error as StdError;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::member_writer::{Compression, write_error};
use super::npz_file::{NpzFile, OutputFile};
use super::save::Save;
use super::writer::NpzWriter;
use crate::array::{MappedArray, with_path_in_errors};
use crate::dtype::DType;
use crate::error::{Error, Result, SystemError};
use crate::layout::Order;
use crate::npy::Header;
use crate::source::atomic::{self, AtomicFile};
use crate::source::{Source, file};

impl NpzWriter<NpzFile> {
    /// Begins an archive that gets its name when it is
    /// [finished](NpzWriter::finish); until then, or when it never is, a file
    /// that has the name stays as it was.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::ErrorKind::Io),
    /// [`Unsupported`](crate::ErrorKind::Unsupported).
    pub fn create(path: impl AsRef<Path>) -> Result<NpzWriter<NpzFile>> {
        NpzWriter::at(path.as_ref(), true)
    }

    /// As [`create`](NpzWriter::create), but nothing may have the name.
    ///
    /// # Errors
    ///
    /// As [`create`](NpzWriter::create), and
    /// [`AlreadyExists`](crate::ErrorKind::AlreadyExists).
    pub fn create_new(path: impl AsRef<Path>) -> Result<NpzWriter<NpzFile>> {
        NpzWriter::at(path.as_ref(), false)
    }

    fn at(path: &Path, overwrite: bool) -> Result<NpzWriter<NpzFile>> {
        let begun = || {
            let new = AtomicFile::new(path, overwrite)?;
            let file = new.file().try_clone().map_err(SystemError::io("create"))?;
            let target = Arc::new(OutputFile { file, skips: AtomicBool::new(false) });
            let file = NpzFile { target: Arc::clone(&target), new };
            let mut writer = NpzWriter::new(file);
            writer.file = Some(target);
            writer.path = Some(path.to_owned());
            Ok(writer)
        };
        begun().map_err(|error: Error| error.with_path(path))
    }

    /// Writes a member of zeros and has it filled in place, as `open_memmap`
    /// with mode `w+` would; it is stored, not deflated. Its CRC-32 is that of
    /// what is there when `fill` returns.
    ///
    /// # Safety
    ///
    /// The promise of [`Source`](Source#safety), as long as `fill` runs, for the
    /// file of a random name in the directory of its final place.
    ///
    /// # Errors
    ///
    /// As [`begin`](NpzWriter::begin), those of `fill`, which may be of any type,
    /// [`Io`](crate::ErrorKind::Io).
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
    /// // SAFETY: nobody else knows of the file yet.
    /// unsafe {
    ///     writer.create_member("a", &DType::of::<f64>(), &[3], Order::C, |mut array| {
    ///         array.as_slice_mut::<f64>()?[1] = 1.5;
    ///         Ok::<_, npymap::Error>(())
    ///     })?;
    /// }
    /// writer.finish()?;
    /// assert_eq!(Npz::open(Source::read(&path)?)?.get("a")?.as_slice::<f64>()?, [0.0, 1.5, 0.0]);
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
        let target = self.file.clone();
        let done = self.begin(name, dtype, shape, order).and_then(|mut member| {
            let header = Header::new(dtype.clone(), shape, order)?;
            let layout = header.layout()?;
            let offset = member.position();
            member.flush().map_err(write_error())?;
            let Some(target) = target else { return member.finish() };
            let end = offset.saturating_add(member.left());
            file::reserve(&target.file, end).map_err(SystemError::io("reserve space"))?;
            target.skips.store(true, Ordering::Relaxed);
            let skipped = member.skip();
            target.skips.store(false, Ordering::Relaxed);
            skipped.map_err(write_error())?;
            let own = target.file.try_clone().map_err(SystemError::io("create"))?;
            // SAFETY: the caller made the promise for as long as this call
            // runs, and what is obtained from the source is dropped in it.
            let source = unsafe { Source::map_mut_file(own) }?;
            let mut data = source.obtain(offset, layout.nbytes())?;
            fill(MappedArray::from_parts(data.as_mut(), layout.with_offset(0))?)
                .map_err(Error::other)?;
            member.checksum_of(&[&header.encode(None)?.bytes, data.as_ref()]);
            data.close()?;
            member.finish()
        });
        self.compression = compression;
        self.named(done)
    }

    /// Finishes the archive, brings it to the disk, and gives it its name and,
    /// when it replaces a file, that one's permissions.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::ErrorKind::Io); then nothing has the name that hadn't
    /// before.
    pub fn finish(mut self) -> Result<()> {
        let path = self.path.take();
        let done = self.into_inner().and_then(|file| {
            file.target.file.sync_all().map_err(SystemError::io("sync"))?;
            file.new.commit().map(drop)
        });
        match path {
            Some(path) => done.map_err(|error| error.with_path(&path)),
            None => done,
        }
    }
}

/// Writes arrays to an `.npz` archive, stored as they are: `numpy.savez`. What
/// is at `path` is replaced when the archive is whole.
///
/// # Errors
///
/// As [`NpzWriter::write`].
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
/// assert_eq!(Npz::open(Source::read(&path)?)?.get("y")?.as_slice::<i64>()?, [1, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn savez(path: impl AsRef<Path>, arrays: &[(&str, &dyn Save)]) -> Result<()> {
    save(path.as_ref(), arrays, Compression::Stored)
}

/// Writes arrays to an `.npz` archive, deflated: `numpy.savez_compressed`.
///
/// # Errors
///
/// As [`savez`].
pub fn savez_compressed(path: impl AsRef<Path>, arrays: &[(&str, &dyn Save)]) -> Result<()> {
    save(path.as_ref(), arrays, Compression::Deflated(6))
}

fn save(path: &Path, arrays: &[(&str, &dyn Save)], compression: Compression) -> Result<()> {
    let written = |path: &Path| {
        atomic::write(path, false, |file| {
            let mut writer = NpzWriter::new(file);
            writer.compression(compression);
            for (name, array) in arrays {
                writer.write(name, *array)?;
            }
            writer.into_inner().map(drop)
        })
    };
    with_path_in_errors(path, written)
}

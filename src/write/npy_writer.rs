//! Writes new files from the bytes of their elements, for dtypes known only at
//! run time.

use std::path::Path;

use crate::array::CreateOptions;
use crate::dtype::DType;
use crate::dtype::literal::tuple;
use crate::error::invariant::to_u64;
use crate::error::{Result, ShapeError, SystemError};
use crate::source::{AtomicFile, file};

/// Writes a new file from the bytes of its elements, in parts of any length; made by
/// [`CreateOptions::writer`].
///
/// The file gets its name when it is [committed](NpyWriter::commit). If the writer
/// is dropped before that, the new file is removed, and an existing file is not
/// changed.
///
/// # Examples
///
/// Copying a view of any dtype, block by block, so that it need not fit into memory:
///
/// ```
/// use npymap::{CreateOptions, MappedArray};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("columns.npy");
/// let penguins = MappedArray::load("data/penguins.npy")?;
/// let columns = penguins.dyn_view()?.t();
/// let mut writer = CreateOptions::new().writer(&path, columns.dtype(), columns.shape())?;
/// columns.byte_blocks().try_for_each(|block| writer.write_bytes(block))?;
/// assert!(!path.exists());
/// writer.commit()?;
/// assert_eq!(MappedArray::load(&path)?.shape(), [4, 342]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct NpyWriter {
    file: AtomicFile,
    /// The shape of the elements, with the axes of a subarray.
    shape: Vec<usize>,
    /// The offset of the first byte that is not written yet.
    at: u64,
    /// The end of the elements in the file.
    end: u64,
}

impl CreateOptions {
    /// Starts a new file with elements of this dtype and shape, to be written in the
    /// order of the file.
    ///
    /// No map is used, and no space is reserved: writing fails when the disk is
    /// full.
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
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if bytes follow the elements of the
    /// `.npy` file that would be replaced, unless they are
    /// [discarded](CreateOptions::discard_trailing).
    ///
    /// # Examples
    ///
    /// See [`NpyWriter`].
    pub fn writer(
        &self,
        path: impl AsRef<Path>,
        dtype: &DType,
        shape: &[usize],
    ) -> Result<NpyWriter> {
        let path = path.as_ref();
        self.start(path, dtype, shape).map_err(|error| error.with_path(path))
    }

    #[inline]
    fn start(&self, path: &Path, dtype: &DType, shape: &[usize]) -> Result<NpyWriter> {
        let plan = self.plan_file(dtype, shape)?;
        let (at, end) = (plan.offset(), plan.end()?);
        let file = self.begin(path)?;
        file::write_at(file.file(), &plan.head, 0).map_err(SystemError::io("write the header"))?;
        if plan.head.is_empty() && at > 0 {
            // Raw binary may start anywhere, even without elements.
            file.file().set_len(at).map_err(SystemError::io("create"))?;
        }
        Ok(NpyWriter { file, shape: plan.shape().to_vec(), at, end })
    }
}

impl NpyWriter {
    /// Writes the next bytes of the elements. After an error, the same bytes can be
    /// written again.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if there are more
    /// bytes than the elements need: then the file is unchanged. Returns
    /// [`Io`](crate::ErrorKind::Io) if writing fails.
    #[inline]
    pub fn write_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.write_next(bytes);
        written.map_err(|error| error.with_path(self.file.path()))
    }

    /// Returns the number of bytes that are still to be written.
    #[must_use]
    #[inline]
    pub fn remaining(&self) -> u64 {
        self.end - self.at
    }

    /// Gives the file its name. Does not wait for the disk. See
    /// [`commit_sync`](NpyWriter::commit_sync).
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if elements are
    /// missing, [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if a file
    /// has the name by now and must not be replaced, and
    /// [`Io`](crate::ErrorKind::Io) if renaming fails. The new file is then
    /// removed.
    #[inline]
    pub fn commit(self) -> Result<()> {
        self.check_complete()?.commit()?;
        Ok(())
    }

    /// Like [`commit`](NpyWriter::commit), but waits until the elements, and
    /// then the name, are on the disk.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if elements are
    /// missing, [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if a file
    /// has the name by now and must not be replaced, and
    /// [`Io`](crate::ErrorKind::Io) if syncing or renaming fails. The new file
    /// is then removed, unless only the directory could not be synced.
    #[inline]
    pub fn commit_sync(self) -> Result<()> {
        self.check_complete()?.commit_sync()?;
        Ok(())
    }

    #[inline]
    fn write_next(&mut self, bytes: &[u8]) -> Result<()> {
        let len = to_u64(bytes.len());
        if len > self.remaining() {
            return Err(self.wrong_length(len - self.remaining(), "too many"));
        }
        file::write_at(self.file.file(), bytes, self.at)
            .map_err(SystemError::io("write the elements"))?;
        self.at += len;
        Ok(())
    }

    /// Returns the file, if it has all elements.
    #[inline]
    fn check_complete(self) -> Result<AtomicFile> {
        match self.remaining() {
            0 => Ok(self.file),
            missing => {
                let error = self.wrong_length(missing, "too few");
                Err(error.with_path(self.file.path()))
            }
        }
    }

    #[inline]
    fn wrong_length(&self, by: u64, which: &'static str) -> crate::error::Error {
        ShapeError::Bytes { by, which, shape: tuple(&self.shape) }.into()
    }
}

//! New files in place of existing ones, whose rows they must not destroy.

use std::fs::File;
use std::path::Path;

use super::trailing::Trailing;
use super::{OpenOptions, with_path_in_errors};
use crate::error::{ErrorKind, ExtentError, IoContext as _, Result};
use crate::source::lock::Locking;
use crate::source::{AtomicFile, atomic, file};

/// A header that is longer is not that of a file with rows that can be recovered: more
/// than format version 1 can hold.
const MAX_HEADER_LEN: usize = 1 << 20;

impl AtomicFile {
    /// Creates a file that replaces any existing file when it is committed.
    ///
    /// If several files are written concurrently, the last committed file remains.
    /// Use [`update`](AtomicFile::update) if the new contents depend on the
    /// previous contents.
    ///
    /// A `.npy` file with bytes after its elements is not replaced: these may be rows
    /// that a writer appended before it died, which [`recover`](crate::write::RecoverOptions::recover)
    /// keeps.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if the directory of `path`
    /// does not exist, [`Unsupported`](crate::ErrorKind::Unsupported) if `path`
    /// leads to something that cannot be replaced, such as a directory,
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if bytes follow the elements of the
    /// `.npy` file that would be replaced, and [`Io`](crate::ErrorKind::Io) if the
    /// temporary file cannot be created.
    pub fn create(path: impl AsRef<Path>) -> Result<AtomicFile> {
        with_path_in_errors(path.as_ref(), |path| begin(path, true, false))
    }

    /// Creates a file that replaces any existing file, and drops whatever follows its
    /// elements.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if the directory of `path`
    /// does not exist, [`Unsupported`](crate::ErrorKind::Unsupported) if `path`
    /// leads to something that cannot be replaced, such as a directory, and
    /// [`Io`](crate::ErrorKind::Io) if the temporary file cannot be created.
    pub fn create_discarding(path: impl AsRef<Path>) -> Result<AtomicFile> {
        with_path_in_errors(path.as_ref(), |path| begin(path, true, true))
    }

    /// Creates a file that replaces the existing one, which is locked exclusively
    /// until then. Read the old contents after this call: no other writer that
    /// takes the lock changes them.
    ///
    /// If no file exists now, none may exist when this one is committed.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if the directory of `path`
    /// does not exist, [`Unsupported`](crate::ErrorKind::Unsupported) if `path`
    /// leads to something that cannot be replaced, such as a directory,
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if bytes follow the elements of the
    /// `.npy` file that would be replaced, [`Locked`](crate::ErrorKind::Locked) if
    /// another program has locked the file, and [`Io`](crate::ErrorKind::Io) if the
    /// temporary file cannot be created.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::io::Write as _;
    ///
    /// use npymap::source::{AtomicFile, Locking};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("counter");
    /// std::fs::write(&path, "41")?;
    /// let mut file = AtomicFile::update(&path, Locking::Wait)?;
    /// let count: u32 = std::fs::read_to_string(&path)?.parse()?;
    /// write!(file, "{}", count + 1)?;
    /// file.commit()?;
    /// assert_eq!(std::fs::read_to_string(&path)?, "42");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update(path: impl AsRef<Path>, locking: Locking) -> Result<AtomicFile> {
        with_path_in_errors(path.as_ref(), |path| begin_locked(path, locking, false))
    }

    /// Creates a file that replaces the existing one, which is locked exclusively until
    /// then, and drops whatever follows its elements.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if the directory of `path`
    /// does not exist, [`Unsupported`](crate::ErrorKind::Unsupported) if `path`
    /// leads to something that cannot be replaced, such as a directory,
    /// [`Locked`](crate::ErrorKind::Locked) if another program has locked the file,
    /// and [`Io`](crate::ErrorKind::Io) if the temporary file cannot be created.
    pub fn update_discarding(path: impl AsRef<Path>, locking: Locking) -> Result<AtomicFile> {
        with_path_in_errors(path.as_ref(), |path| begin_locked(path, locking, true))
    }
}

/// Creates a file that replaces an existing one, or must not if it is not one that
/// `replaces`. Without the path in errors.
#[inline]
pub(crate) fn begin(path: &Path, replaces: bool, discards: bool) -> Result<AtomicFile> {
    checked(AtomicFile::new(path, replaces)?, discards)
}

/// As [`AtomicFile::update`], without the path in errors.
#[inline]
pub(crate) fn begin_locked(path: &Path, locking: Locking, discards: bool) -> Result<AtomicFile> {
    checked(AtomicFile::lock_and_begin(path, locking)?, discards)
}

/// Checks that nothing follows the elements of the previous file, unless it may be
/// dropped. A file that is no `.npy`, or may not be read, has no such bytes.
#[inline]
fn checked(new: AtomicFile, discards: bool) -> Result<AtomicFile> {
    let (Some(old), false) = (new.replaced(), discards) else { return Ok(new) };
    match find_trailing(old) {
        Ok(Some(Trailing { nbytes, rows, is_array, .. })) => {
            Err(ExtentError::Dropped { nbytes, rows, is_array }.into())
        }
        Err(error) if is_failure(&error) => Err(error),
        _ => Ok(new),
    }
}

#[inline]
fn find_trailing(path: &Path) -> Result<Option<Trailing>> {
    let (file, stat) = file::open(path, false)?;
    let header = OpenOptions::new().max_header_len(MAX_HEADER_LEN).read_header(&file, stat.len)?;
    Trailing::find(&file, &header, 0, stat.len)
}

/// Returns whether a file could not be read although its owner may.
#[inline]
fn is_failure(error: &crate::error::Error) -> bool {
    let cause = error.io_error().map(std::io::Error::kind);
    error.kind() == ErrorKind::Io && cause != Some(std::io::ErrorKind::PermissionDenied)
}

/// How a whole file is written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WriteMode {
    /// Waits until the file and its name are on the disk.
    pub(crate) sync: bool,
    /// Drops what follows the elements of the existing file.
    pub(crate) discards: bool,
}

/// Writes a file that replaces any existing one at `path`. Pipes, devices and
/// descriptors are written directly.
///
/// The second argument of `write` is whether the file is new. Others may be pipes, or are
/// open for appending, so it must not seek in them.
///
/// # Errors
///
/// Those of `write`, after which `path` is unchanged;
/// [`Corrupt`](crate::ErrorKind::Corrupt) when bytes follow the elements of the existing
/// file, unless it `discards` them; [`Io`](crate::ErrorKind::Io).
#[inline]
pub(crate) fn write(
    path: &Path,
    WriteMode { sync, discards }: WriteMode,
    write: impl FnOnce(&File, bool) -> Result<()>,
) -> Result<()> {
    if let Some(file) = atomic::open_directly(path).context("open")? {
        write(&file, false)?;
        return if sync { atomic::sync_if_possible(&file).context("sync") } else { Ok(()) };
    }
    let new = begin(path, true, discards)?;
    write(new.file(), true)?;
    if sync {
        new.commit_sync()?
    } else {
        new.commit()?
    };
    Ok(())
}

//! Advisory locks that keep two writers off the same file.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::error::{IoContext as _, Result, SystemError};
use crate::source::file;
use crate::source::platform::{self, FileId, FileStat, LockKind};

/// How a writer locks a file that may already be locked.
///
/// If the kernel or the file system does not support locks,
/// [`Try`](Locking::Try) and [`Wait`](Locking::Wait) continue without one.
///
/// # Examples
///
/// ```
/// use npymap::{MappedArray, OpenOptions, WriteOptions, source::Locking, ndarray::arr1};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("log.npy");
/// WriteOptions::new().write(&path, &arr1(&[1, 2]))?;
/// let mut log = OpenOptions::new().locking(Locking::Wait).append(&path)?;
/// log.append_slice(&[3])?;
/// log.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Locking {
    /// Fails immediately with [`Locked`](crate::ErrorKind::Locked).
    #[default]
    Try,
    /// Waits until the lock is released.
    Wait,
    /// Takes no lock. For callers that already hold one, or are the only user of
    /// the file.
    Off,
}

/// A lock on a whole file, released when this is dropped or the process ends.
///
/// The lock is advisory: code that does not lock is not blocked. It is a
/// `flock` lock, so it belongs to one open file description, and opening the
/// file twice in one process yields two that exclude each other. It works over
/// network file systems too (over NFS since Linux 2.6.12). On systems other
/// than Unix, where a lock would also prevent reading, there are no locks.
///
/// # Examples
///
/// ```
/// use npymap::{ErrorKind, source::{FileLock, LockKind, Locking}};
///
/// let path = "data/penguins.npy";
/// let reading = FileLock::acquire(path, LockKind::Shared, Locking::Wait)?;
/// let error = FileLock::acquire(path, LockKind::Exclusive, Locking::Try).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Locked);
/// drop(reading);
/// let writing = FileLock::acquire(path, LockKind::Exclusive, Locking::Try)?;
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Debug)]
pub struct FileLock {
    file: File,
    pub(super) id: Option<FileId>,
}

impl FileLock {
    /// Locks the file at `path`. If it is replaced in the meantime, locks the new file.
    /// Returns `None` with [`Locking::Off`], and if the file cannot be locked: on systems and
    /// file systems without locks, when it may be neither read nor written, and on NFS when it
    /// may not be written but the lock is exclusive.
    ///
    /// Every writer of this crate takes the exclusive lock. To lock a file that you map, acquire
    /// the lock first. For an array that is mapped already, or that you created, call
    /// [`check_unchanged`](crate::MappedArray::check_unchanged) with the lock, because another
    /// file may have its name by now.
    ///
    /// # Errors
    ///
    /// Returns [`Locked`](crate::ErrorKind::Locked) if another lock prevents this one and
    /// `locking` does not wait, [`NotFound`](crate::ErrorKind::NotFound) if the file does not
    /// exist, [`Unsupported`](crate::ErrorKind::Unsupported) if it is not a regular file, and
    /// [`Io`](crate::ErrorKind::Io) if locking fails for a different reason.
    pub fn acquire(
        path: impl AsRef<Path>,
        kind: LockKind,
        locking: Locking,
    ) -> Result<Option<FileLock>> {
        let path = path.as_ref();
        if locking == Locking::Off {
            return Ok(None);
        }
        let acquired = lock_path(path, kind, locking == Locking::Wait);
        check_acquired(acquired).map_err(|error| error.with_path(path))
    }

    /// Returns an error unless `path` leads to the locked file.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if it leads nowhere, and
    /// [`Changed`](crate::ErrorKind::Changed) if it leads to a different file.
    pub fn check(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let found = std::fs::metadata(path).context("open");
        let checked = found.and_then(|found| {
            let is_same = platform::file_id(&found) == self.id;
            if is_same { Ok(()) } else { Err(SystemError::Replaced.into()) }
        });
        checked.map_err(|error| error.with_path(path))
    }
}

impl Drop for FileLock {
    #[inline]
    fn drop(&mut self) {
        // Closing unlocks too, unless a child process inherited the descriptor.
        platform::unlock(&self.file);
    }
}

/// Locks the file at a path. Returns `None` if another process holds the lock
/// and `waits` is not set. Tries again if the file was replaced before it was
/// locked.
#[inline]
fn lock_path(path: &Path, kind: LockKind, waits: bool) -> Result<Option<FileLock>> {
    loop {
        let opened = file::open(path, kind == LockKind::Exclusive);
        // Network file systems require write access for an exclusive lock.
        let (file, FileStat { id, .. }) = opened.or_else(|_| file::open(path, false))?;
        if !platform::lock(&file, kind, waits).context("lock")? {
            return Ok(None);
        }
        let lock = FileLock { file, id };
        if file::open(path, false)?.1.id == lock.id {
            return Ok(Some(lock));
        }
    }
}

/// Opens a file for reading and writing and locks it. Tries again if the file
/// was replaced before it was locked.
#[inline]
pub(crate) fn open_to_write(
    path: &Path,
    locking: Locking,
) -> Result<(File, FileStat, Option<FileLock>)> {
    loop {
        let (file, stat) = file::open(path, true)?;
        let Some(lock) = lock_open_file(&file, locking)? else { return Ok((file, stat, None)) };
        if file::open(path, false)?.1.id == lock.id {
            // Others may have written to the file before it was locked.
            let stat = file::stat(&file)?;
            return Ok((file, stat, Some(lock)));
        }
    }
}

/// Takes the exclusive lock on an open file. Returns `None` without locks.
#[inline]
pub(crate) fn lock_open_file(file: &File, locking: Locking) -> Result<Option<FileLock>> {
    if locking == Locking::Off {
        return Ok(None);
    }
    let id = file::stat(file)?.id;
    let file = file.try_clone().context("lock")?;
    let is_locked = platform::lock(&file, LockKind::Exclusive, locking == Locking::Wait);
    check_acquired(is_locked.context("lock").map(|is| is.then(|| FileLock { file, id })))
}

/// Returns an error if another process holds the lock, and `None` if the file
/// cannot be locked at all.
#[inline]
fn check_acquired(acquired: Result<Option<FileLock>>) -> Result<Option<FileLock>> {
    match acquired {
        Ok(None) => Err(SystemError::Locked.into()),
        Err(error) if is_unsupported(&error) => Ok(None),
        acquired => acquired,
    }
}

/// Returns whether an error means that a file cannot be locked at all.
#[inline]
fn is_unsupported(error: &crate::error::Error) -> bool {
    error.io_error().is_some_and(|source| {
        platform::has_no_locks(source)
            || platform::needs_write_access(source)
            || source.kind() == io::ErrorKind::PermissionDenied
    })
}

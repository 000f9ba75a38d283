//! Advisory locks: how users of a file agree who writes.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::error::{Result, SystemError};
use crate::source::file;
use crate::source::platform::{self, Id, LockKind, Stat};

/// A lock on a whole file, for as long as this lives; the process' end takes
/// it away too.
///
/// It keeps nobody from the file who doesn't ask for a lock: it is `flock`'s,
/// which knows two openings of a file apart also within a process, and which
/// network file systems pass on (NFS from Linux 2.6.12 on). On systems other
/// than Unix, where locks would keep others from reading, asking for one is an
/// error.
///
/// # Examples
///
/// ```
/// use npymap::{FileLock, LockKind};
///
/// let reading = FileLock::acquire("data/penguins.npy", LockKind::Shared)?;
/// assert!(FileLock::try_acquire("data/penguins.npy", LockKind::Exclusive)?.is_none());
/// drop(reading);
/// assert!(FileLock::try_acquire("data/penguins.npy", LockKind::Exclusive)?.is_some());
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Debug)]
pub struct FileLock {
    file: File,
    id: Option<Id>,
}

impl FileLock {
    /// Waits for a lock on the file at `path`. When that is replaced while
    /// waiting, it is the new file that is locked.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::ErrorKind::Io),
    /// [`Unsupported`](crate::ErrorKind::Unsupported).
    pub fn acquire(path: impl AsRef<Path>, kind: LockKind) -> Result<FileLock> {
        let path = path.as_ref();
        let wait = |file: &File| platform::lock(file, kind, true);
        locked(path, kind, wait)
            .and_then(|lock| lock.ok_or_else(|| lock_error()(io::ErrorKind::WouldBlock.into())))
            .map_err(|error| error.at(path))
    }

    /// Takes a lock on the file at `path` if it can be had now.
    ///
    /// # Errors
    ///
    /// As [`acquire`](FileLock::acquire).
    pub fn try_acquire(path: impl AsRef<Path>, kind: LockKind) -> Result<Option<FileLock>> {
        let path = path.as_ref();
        locked(path, kind, |file| platform::lock(file, kind, false)).map_err(|error| error.at(path))
    }

    /// Waits for a lock on an open file.
    ///
    /// It is that opening's, and its clones': asked for again by one of them,
    /// the lock becomes of the other kind, and goes when one of them lets it
    /// go.
    ///
    /// # Errors
    ///
    /// As [`acquire`](FileLock::acquire).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{FileLock, LockKind};
    ///
    /// let file = tempfile::NamedTempFile::new()?;
    /// let lock = FileLock::acquire_file(file.as_file(), LockKind::Exclusive)?;
    /// assert!(FileLock::try_acquire_file(&file.reopen()?, LockKind::Shared)?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn acquire_file(file: &File, kind: LockKind) -> Result<FileLock> {
        let id = file::stat(file)?.id;
        let file = file.try_clone().map_err(lock_error())?;
        platform::lock(&file, kind, true).map_err(lock_error())?;
        Ok(FileLock { file, id })
    }

    /// Takes a lock on an open file if it can be had now; see
    /// [`acquire_file`](FileLock::acquire_file).
    ///
    /// # Errors
    ///
    /// As [`acquire`](FileLock::acquire).
    pub fn try_acquire_file(file: &File, kind: LockKind) -> Result<Option<FileLock>> {
        let id = file::stat(file)?.id;
        let file = file.try_clone().map_err(lock_error())?;
        let is_locked = platform::lock(&file, kind, false).map_err(lock_error())?;
        Ok(is_locked.then(|| FileLock { file, id }))
    }

    /// Which file is locked.
    pub(crate) fn id(&self) -> Option<Id> {
        self.id
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Closing does it too, unless a child process has the descriptor.
        platform::unlock(&self.file);
    }
}

/// Locks what is at a path by `take`, until it still is there once locked;
/// `None` when `take` doesn't get the lock.
fn locked(
    path: &Path,
    kind: LockKind,
    take: impl Fn(&File) -> io::Result<bool>,
) -> Result<Option<FileLock>> {
    loop {
        let (file, Stat { id, .. }) = open(path, kind)?;
        if !take(&file).map_err(lock_error())? {
            return Ok(None);
        }
        let lock = FileLock { file, id };
        if file::open(path, false)?.1.id == lock.id {
            return Ok(Some(lock));
        }
    }
}

/// Network file systems lock exclusively only what is open for writing.
fn open(path: &Path, kind: LockKind) -> Result<(File, Stat)> {
    match kind {
        LockKind::Shared => file::open(path, false),
        LockKind::Exclusive => file::open(path, true).or_else(|_| file::open(path, false)),
    }
}

fn lock_error() -> impl FnOnce(io::Error) -> crate::error::Error {
    SystemError::io("lock")
}

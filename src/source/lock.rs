//! Advisory locks: how users of a file agree who writes.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::error::{Result, SystemError};
use crate::source::file;
use crate::source::platform::{self, FileId, FileStat, LockKind};

/// How a writer locks a file that others may have locked.
///
/// Where the system or the file system has no locks, [`Try`](Locking::Try) and
/// [`Wait`](Locking::Wait) go on without one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Locking {
    /// Fails at once, with [`Locked`](crate::ErrorKind::Locked).
    #[default]
    Try,
    /// Waits until they have released it.
    Wait,
    /// Takes no lock. For callers that hold one, or are known to be alone.
    Off,
}

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
/// use npymap::source::{FileLock, LockKind};
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
    id: Option<FileId>,
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
            .map_err(|error| error.with_path(path))
    }

    /// Takes a lock on the file at `path` if it can be had now.
    ///
    /// # Errors
    ///
    /// As [`acquire`](FileLock::acquire).
    pub fn try_acquire(path: impl AsRef<Path>, kind: LockKind) -> Result<Option<FileLock>> {
        let path = path.as_ref();
        locked(path, kind, |file| platform::lock(file, kind, false))
            .map_err(|error| error.with_path(path))
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
    /// use npymap::source::{FileLock, LockKind};
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

    /// Takes the exclusive lock that every writer of this crate asks for on
    /// the file at `path`. `None` with [`Locking::Off`], and where the file
    /// can't be locked: on systems and file systems without locks, and when it
    /// may be neither read nor written.
    ///
    /// # Errors
    ///
    /// As [`acquire`](FileLock::acquire), and [`Locked`](crate::ErrorKind::Locked).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{ErrorKind, source::{FileLock, Locking}};
    ///
    /// let file = tempfile::NamedTempFile::new()?;
    /// let lock = FileLock::exclusive(file.path(), Locking::Try)?;
    /// let error = FileLock::exclusive(file.path(), Locking::Try).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Locked);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn exclusive(path: impl AsRef<Path>, locking: Locking) -> Result<Option<FileLock>> {
        let path = path.as_ref();
        let acquired = match locking {
            Locking::Try => FileLock::try_acquire(path, LockKind::Exclusive),
            Locking::Wait => FileLock::acquire(path, LockKind::Exclusive).map(Some),
            Locking::Off => return Ok(None),
        };
        required(acquired).map_err(|error| error.with_path(path))
    }

    /// Whether `path` leads to the file that is locked.
    ///
    /// # Errors
    ///
    /// [`Changed`](crate::ErrorKind::Changed) when it leads to another one,
    /// [`Io`](crate::ErrorKind::Io) when nothing is there.
    pub fn check(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let found = std::fs::metadata(path).map_err(SystemError::io("open"));
        let checked = found.and_then(|found| {
            let is_same = platform::file_id(&found) == self.id;
            if is_same { Ok(()) } else { Err(SystemError::Replaced.into()) }
        });
        checked.map_err(|error| error.with_path(path))
    }

    /// Takes the exclusive lock on a file that nobody else has open yet;
    /// `None` on systems without locks.
    pub(crate) fn of_new(file: &File) -> Option<FileLock> {
        FileLock::try_acquire_file(file, LockKind::Exclusive).ok().flatten()
    }

    /// Which file is locked.
    pub(crate) fn id(&self) -> Option<FileId> {
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
        let (file, FileStat { id, .. }) = open(path, kind)?;
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
fn open(path: &Path, kind: LockKind) -> Result<(File, FileStat)> {
    match kind {
        LockKind::Shared => file::open(path, false),
        LockKind::Exclusive => file::open(path, true).or_else(|_| file::open(path, false)),
    }
}

/// Opens a file for reading and writing, locks that opening as `locking`
/// says, and makes sure that its name still leads there.
pub(crate) fn open_to_write(
    path: &Path,
    locking: Locking,
) -> Result<(File, FileStat, Option<FileLock>)> {
    loop {
        let (file, stat) = file::open(path, true)?;
        let Some(lock) = lock_opening(&file, locking)? else { return Ok((file, stat, None)) };
        if file::open(path, false)?.1.id == lock.id {
            // Others may have written to it before it was locked.
            let stat = file::stat(&file)?;
            return Ok((file, stat, Some(lock)));
        }
    }
}

/// Locks an opening exclusively; `None` without locks.
fn lock_opening(file: &File, locking: Locking) -> Result<Option<FileLock>> {
    match locking {
        Locking::Try => required(FileLock::try_acquire_file(file, LockKind::Exclusive)),
        Locking::Wait => required(FileLock::acquire_file(file, LockKind::Exclusive).map(Some)),
        Locking::Off => Ok(None),
    }
}

/// An error for a lock that others hold, and none for a file that can't be
/// locked at all.
fn required(acquired: Result<Option<FileLock>>) -> Result<Option<FileLock>> {
    match acquired {
        Ok(None) => Err(SystemError::Locked.into()),
        Err(error) if is_impossible(&error) => Ok(None),
        acquired => acquired,
    }
}

/// Whether an error says that a file can't be locked at all.
fn is_impossible(error: &crate::error::Error) -> bool {
    error.io_error().is_some_and(|source| {
        platform::has_no_locks(source) || source.kind() == io::ErrorKind::PermissionDenied
    })
}

fn lock_error() -> impl FnOnce(io::Error) -> crate::error::Error {
    SystemError::io("lock")
}

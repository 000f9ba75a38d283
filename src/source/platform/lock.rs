//! Advisory file locks.

use std::fs::File;
use std::io;

/// Whether a lock is shared or exclusive.
///
/// # Examples
///
/// ```
/// # #[cfg(unix)] {
/// use npymap::source::{FileLock, LockKind, Locking};
///
/// let path = "data/penguins.npy";
/// let lock = FileLock::acquire(path, LockKind::Shared, Locking::Wait)?;
/// assert!(FileLock::acquire(path, LockKind::Shared, Locking::Try)?.is_some());
/// assert!(FileLock::acquire(path, LockKind::Exclusive, Locking::Try).is_err());
/// # drop(lock);
/// # }
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockKind {
    /// For reading: other processes may also hold shared locks.
    Shared,
    /// For writing: this is the only lock.
    Exclusive,
}

/// Locks an open file description; `false` if another process holds the lock
/// and `waits` is not set. An error on systems other than Unix, because their
/// locks would also prevent reading.
#[cfg(unix)]
#[inline]
pub(crate) fn lock(file: &File, kind: LockKind, waits: bool) -> io::Result<bool> {
    use rustix::fs::{FlockOperation, flock};
    use rustix::io::Errno;

    let operation = match (kind, waits) {
        (LockKind::Shared, true) => FlockOperation::LockShared,
        (LockKind::Shared, false) => FlockOperation::NonBlockingLockShared,
        (LockKind::Exclusive, true) => FlockOperation::LockExclusive,
        (LockKind::Exclusive, false) => FlockOperation::NonBlockingLockExclusive,
    };
    loop {
        match flock(file, operation) {
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) if !waits => return Ok(false),
            done => return Ok(done.map(|()| true)?),
        }
    }
}

#[cfg(not(unix))]
#[inline]
pub(crate) fn lock(_: &File, _: LockKind, _: bool) -> io::Result<bool> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns whether an error means that the kernel or the file system does not
/// support locks.
#[cfg(unix)]
#[inline]
pub(crate) fn has_no_locks(error: &io::Error) -> bool {
    use rustix::io::Errno;

    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::NOLCK | Errno::NOSYS))
        || super::name::has_errno_of_no_support(error)
}

/// Returns whether an error means that a file that is open for reading only cannot be locked
/// exclusively, as on NFS.
#[inline]
pub(crate) fn needs_write_access(error: &io::Error) -> bool {
    #[cfg(unix)]
    return rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::BADF);
    #[cfg(not(unix))]
    return error.kind() == io::ErrorKind::PermissionDenied;
}

#[cfg(not(unix))]
#[inline]
pub(crate) fn has_no_locks(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Unsupported
}

#[cfg(unix)]
#[inline]
pub(crate) fn unlock(file: &File) {
    // Closing the file unlocks it, too.
    let _ = rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingUnlock);
}

#[cfg(not(unix))]
#[inline]
pub(crate) fn unlock(_: &File) {}

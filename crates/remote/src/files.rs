//! Files of the cache. They are regular files for their owner only, and are opened without
//! following links and without waiting for the other end of a pipe.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::invariant::{IN_BUFFER, Invariant, to_u64};

/// The longest wait for the lock of a directory. Who holds it longer is not this crate.
const WAIT: Duration = Duration::from_secs(1);

/// The time between two attempts to lock.
const TICK: Duration = Duration::from_millis(2);

/// The device and the number of a file, or `None` on systems other than Unix.
pub(crate) type FileId = Option<(u64, u64)>;

/// Creates a directory, and those above it, for their owner.
pub(crate) fn create_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Creates a file, which must not exist.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    own(OpenOptions::new().read(true).write(true).create_new(true)).open(path)
}

/// Opens a regular file.
pub(crate) fn open(path: &Path, write: bool) -> io::Result<File> {
    let file = own(OpenOptions::new().read(true).write(write)).open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::Unsupported, "is not a regular file"))
}

/// Opens a file that this crate makes: never through a link, and a pipe without waiting.
fn own(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;

        use rustix::fs::OFlags;

        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
        options.mode(0o600).custom_flags(flags.cast_signed());
    }
    options
}

/// What identifies a file while it is open.
#[allow(clippy::unnecessary_wraps, reason = "other systems have none")]
pub(crate) fn id(metadata: &Metadata) -> FileId {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        Some((metadata.dev(), metadata.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        None
    }
}

/// The space a file takes on the disk, in bytes, or its length if this is not Unix.
pub(crate) fn allocated(metadata: &Metadata) -> u64 {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::blocks(metadata).saturating_mul(512);
    #[cfg(not(unix))]
    metadata.len()
}

/// A lock on a file, released when this is dropped.
pub(crate) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing unlocks too, unless a child process inherited the descriptor.
        #[cfg(unix)]
        let _ = rustix::fs::flock(&self.0, rustix::fs::FlockOperation::NonBlockingUnlock);
        #[cfg(not(unix))]
        let _ = &self.0;
    }
}

/// Locks the file at a path exclusively. Returns `None` if another process holds a lock,
/// after a second if `waits` is set.
pub(crate) fn lock(path: &Path, waits: bool) -> io::Result<Option<Lock>> {
    let start = Instant::now();
    loop {
        let file = open(path, true).or_else(|_| open(path, false))?;
        if try_lock(&file, true)? {
            let lock = Lock(file);
            // Another program may have removed the file meanwhile.
            if is_at(path, id(&lock.0.metadata()?)) {
                return Ok(Some(lock));
            }
        } else if !waits || start.elapsed() >= WAIT {
            return Ok(None);
        }
        thread::sleep(TICK);
    }
}

/// Returns whether a path leads to a file.
pub(crate) fn is_at(path: &Path, file: FileId) -> bool {
    path.symlink_metadata().is_ok_and(|found| id(&found) == file)
}

/// Locks an open file. Returns `false` if another lock prevents it, and an error on
/// systems other than Unix, because their locks would also prevent reading.
#[cfg(unix)]
pub(crate) fn try_lock(file: &File, is_exclusive: bool) -> io::Result<bool> {
    use rustix::fs::{FlockOperation, flock};
    use rustix::io::Errno;

    let operation = if is_exclusive {
        FlockOperation::NonBlockingLockExclusive
    } else {
        FlockOperation::NonBlockingLockShared
    };
    match flock(file, operation) {
        Err(Errno::WOULDBLOCK) => Ok(false),
        done => Ok(done.map(|()| true)?),
    }
}

#[cfg(not(unix))]
pub(crate) fn try_lock(_: &File, _: bool) -> io::Result<bool> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns whether an error means that the OS or the file system has no locks.
pub(crate) fn has_no_locks(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        use rustix::io::Errno;
        let errno = Errno::from_io_error(error);
        matches!(
            errno,
            Some(Errno::NOLCK | Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL | Errno::NOTTY)
        )
    }
    #[cfg(not(unix))]
    {
        error.kind() == io::ErrorKind::Unsupported
    }
}

/// An identifier of the current boot, which differs after every restart, or `None`
/// where there is none.
pub(crate) fn boot_id() -> Option<&'static str> {
    use std::sync::OnceLock;

    static ID: OnceLock<Option<String>> = OnceLock::new();
    let id = ID.get_or_init(|| {
        let path = "/proc/sys/kernel/random/boot_id";
        let text = cfg!(target_os = "linux").then(|| std::fs::read_to_string(path).ok())??;
        Some(text.trim().to_owned()).filter(|id| !id.is_empty())
    });
    id.as_deref()
}

/// Reads at `offset` until `buffer` is full or the file ends.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        let rest = buffer.get_mut(filled..).invariant(IN_BUFFER);
        match read_some(file, rest, offset + to_u64(filled)) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Writes all bytes at `offset`.
pub(crate) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    let mut written = 0;
    while written < bytes.len() {
        let rest = bytes.get(written..).invariant(IN_BUFFER);
        match write_some(file, rest, offset + to_u64(written)) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => written += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(unix)]
use std::os::unix::fs::FileExt;
#[cfg(windows)]
use std::os::windows::fs::FileExt;

#[cfg(unix)]
fn read_some(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(buffer, offset)
}

#[cfg(windows)]
fn read_some(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    file.seek_read(buffer, offset)
}

#[cfg(unix)]
fn write_some(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    file.write_at(bytes, offset)
}

#[cfg(windows)]
fn write_some(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    file.seek_write(bytes, offset)
}

#[cfg(all(test, unix))]
mod tests {
    use std::process::Command;
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn only_regular_files_are_opened_and_pipes_are_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let [file, link, pipe] = ["file", "link", "pipe"].map(|name| directory.path().join(name));
        create(&file).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            for write in [true, false] {
                assert!(open(&file, write).is_ok());
                open(&link, write).unwrap_err();
                sender.send(open(&pipe, write).unwrap_err()).unwrap();
            }
        });
        for _ in 0..2 {
            let error = receiver.recv_timeout(Duration::from_secs(60)).unwrap();
            assert_eq!(error.to_string(), "is not a regular file");
        }
    }
}

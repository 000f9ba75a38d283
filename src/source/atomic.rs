//! Files that are complete or absent: they are written without a name, or under
//! a temporary one, and get their final name once they are complete.

use std::fs::{self, File, Metadata};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::lock::{FileLock, Locking};
use super::platform::{FileId, LockKind};
use super::temporary::{self, Occupant, TemporaryFile};
use super::{file, platform};
use crate::error::{ErrorKind, IoContext as _, Result, SystemError};

/// The number of symbolic links that Linux follows in a path.
const MAX_LINKS: usize = 40;

/// A file that appears under its final name only once it is complete. Readers
/// never see a partial file.
///
/// However, where files can't be linked or renamed without replacing a file, an
/// empty file has the new name for a moment.
///
/// The file is created in the directory of its final name: without a name if
/// the file system supports that (`O_TMPFILE` on Linux), otherwise under a
/// random one that starts with `.npymap-`. [`commit`](AtomicFile::commit) gives
/// it its final name. If it is dropped before that, it is removed, and an
/// existing file is unchanged. An unnamed file is also removed when the process
/// is killed. For the others, see
/// [`remove_unfinished`](AtomicFile::remove_unfinished).
///
/// | constructor | an existing file |
/// |---|---|
/// | [`create_new`](AtomicFile::create_new) | is an error |
/// | [`create`](AtomicFile::create) | is replaced, even if it was created later |
/// | [`update`](AtomicFile::update) | is locked until it is replaced, and must still be the same file |
/// | [`create_discarding`](AtomicFile::create_discarding), [`update_discarding`](AtomicFile::update_discarding) | as with these, and bytes after the elements of a `.npy` are dropped |
///
/// The new file gets the permissions of the file it replaces, and its owner,
/// group and, on Linux, access control list if the kernel allows it. Without
/// the group, its own group gets the permissions of all users, and without the
/// list only the owner gets any. Symbolic links are followed. Processes that
/// have the old file open or mapped keep using it.
///
/// # Examples
///
/// ```
/// use std::io::Write as _;
///
/// use npymap::source::AtomicFile;
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("report.txt");
/// let mut file = AtomicFile::create_new(&path)?;
/// file.write_all(b"all of it")?;
/// assert!(!path.exists());
/// file.commit()?;
/// assert_eq!(std::fs::read(&path)?, b"all of it");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct AtomicFile {
    new: TemporaryFile,
    /// The path as given.
    path: PathBuf,
    /// The absolute path, with links resolved.
    pub(crate) target: PathBuf,
    /// The existing file when this one was created.
    old: Option<Metadata>,
    existing: Existing,
    /// Held until the old file is replaced.
    lock: Option<FileLock>,
}

/// How an existing file is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Existing {
    /// If it exists, creation fails.
    Refused,
    /// It is replaced.
    Replaced,
    /// It is replaced if it is still the same file.
    ReplacedIfSame,
}

impl AtomicFile {
    /// Creates a file with a name that must not exist, now and when the file is
    /// committed.
    ///
    /// # Errors
    ///
    /// Returns [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if the file
    /// exists, [`NotFound`](crate::ErrorKind::NotFound) if the directory of
    /// `path` does not exist, and [`Io`](crate::ErrorKind::Io) if the file
    /// cannot be created.
    pub fn create_new(path: impl AsRef<Path>) -> Result<AtomicFile> {
        let path = path.as_ref();
        AtomicFile::begin(path, Existing::Refused, None).map_err(|error| error.with_path(path))
    }

    /// As [`update`](AtomicFile::update), without the path in errors, and whatever
    /// follows the elements of the existing file.
    #[inline]
    pub(crate) fn lock_and_begin(path: &Path, locking: Locking) -> Result<AtomicFile> {
        loop {
            let exists = path.try_exists().context("create")?;
            if let Some(new) = AtomicFile::begin_locked(path, locking, exists)? {
                return Ok(new);
            }
        }
    }

    /// Like [`update`](AtomicFile::update), of a file that `exists` or does
    /// not. `None` if that changed before the file was locked.
    #[inline]
    fn begin_locked(path: &Path, locking: Locking, exists: bool) -> Result<Option<AtomicFile>> {
        let lock = match exists.then(|| FileLock::acquire(path, LockKind::Exclusive, locking)) {
            Some(Err(error)) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Some(lock) => lock?,
            None => None,
        };
        let locked = lock.as_ref().map(|lock| lock.id);
        let new = AtomicFile::begin(path, Existing::ReplacedIfSame, lock)?;
        let is_unlocked = !exists && new.old.is_some() && locking != Locking::Off;
        match locked {
            Some(id) if new.old.as_ref().and_then(platform::file_id) != id => {
                Err(SystemError::Replaced.into())
            }
            _ => Ok(if is_unlocked { None } else { Some(new) }),
        }
    }

    /// As [`create`](AtomicFile::create), or [`create_new`] unless `replaces`, without
    /// the path in errors, and whatever follows the elements of the existing file.
    ///
    /// [`create_new`]: AtomicFile::create_new
    #[inline]
    pub(crate) fn new(path: &Path, replaces: bool) -> Result<AtomicFile> {
        let existing = if replaces { Existing::Replaced } else { Existing::Refused };
        AtomicFile::begin(path, existing, None)
    }

    /// Creates a file that replaces the one at `path`, which must be the one with
    /// the identity `own`.
    #[inline]
    pub(crate) fn replace(path: &Path, own: Option<FileId>) -> Result<AtomicFile> {
        let new = AtomicFile::begin(path, Existing::ReplacedIfSame, None)?;
        let is_own = new.old.as_ref().is_some_and(|old| platform::file_id(old) == own);
        if is_own { Ok(new) } else { Err(SystemError::Replaced.into()) }
    }

    #[inline]
    fn begin(path: &Path, existing: Existing, lock: Option<FileLock>) -> Result<AtomicFile> {
        let old = match fs::metadata(path) {
            Ok(_) if existing == Existing::Refused => return Err(SystemError::Exists.into()),
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(SystemError::io("create", error)),
        };
        if let Some(found) = old.as_ref().and_then(platform::irregular_kind) {
            return Err(SystemError::NotRegular { found }.into());
        }
        // Absolute, in case the working directory changes.
        let target = match old {
            Some(_) => platform::canonical(path),
            None => std::path::absolute(end_of_links(path)),
        };
        let target = target.context("create")?;
        // The old file may be private, so the new one is private from the start.
        let mode = if old.is_some() { 0o600 } else { 0o666 };
        let new = TemporaryFile::create(directory(&target), mode).context("create")?;
        Ok(AtomicFile { new, path: path.to_owned(), target, old, existing, lock })
    }

    /// Returns the new file, open for reading and writing.
    #[must_use]
    #[inline]
    pub fn file(&self) -> &File {
        self.new.file()
    }

    /// Reserves space on the disk for a file of `len` bytes, without making the
    /// file longer. Does nothing where the file system cannot.
    ///
    /// A full disk is then an error before anything is written or reserved. On ext4, replacing
    /// a large file is also faster: without reserved space, giving the new file its
    /// name begins to write it to the disk.
    ///
    /// # Errors
    ///
    /// Returns [`Io`](crate::ErrorKind::Io) if the space cannot be reserved,
    /// for example because the disk is full.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::io::Write as _;
    ///
    /// use npymap::source::AtomicFile;
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("pixels.bin");
    /// let mut file = AtomicFile::create(&path)?;
    /// file.reserve(3 << 20)?;
    /// file.write_all(&[255; 3 << 20])?;
    /// assert_eq!(file.commit()?.metadata()?.len(), 3 << 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn reserve(&self, len: u64) -> Result<()> {
        if len == 0 {
            return Ok(());
        }
        let reserved = file::allocate(self.file(), 0, len, platform::FileSize::Keep);
        let reserved = reserved.map(drop).context("reserve space");
        reserved.map_err(|error| error.with_path(&self.path))
    }

    /// The file that this one replaces, if there was one when this one was created.
    #[inline]
    pub(crate) fn replaced(&self) -> Option<&Path> {
        self.old.as_ref().map(|_| &*self.target)
    }

    /// Returns the path that the file will have.
    #[must_use]
    #[inline]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file its name and returns it. Does not wait for the disk; see
    /// [`commit_sync`](AtomicFile::commit_sync).
    ///
    /// # Errors
    ///
    /// Returns [`AlreadyExists`](crate::ErrorKind::AlreadyExists) or
    /// [`Changed`](crate::ErrorKind::Changed) if the constructor does not allow
    /// replacing the file that has the name by now, and
    /// [`Io`](crate::ErrorKind::Io) if renaming fails. The new file is then
    /// removed.
    #[inline]
    pub fn commit(self) -> Result<File> {
        let path = self.path.clone();
        self.finish().map_err(|error| error.with_path(&path))
    }

    /// Waits until the contents are on the disk, gives the file its name, and
    /// waits until the name is also on the disk.
    ///
    /// # Errors
    ///
    /// Returns [`AlreadyExists`](crate::ErrorKind::AlreadyExists) or
    /// [`Changed`](crate::ErrorKind::Changed) if the constructor does not allow
    /// replacing the file that has the name by now, and
    /// [`Io`](crate::ErrorKind::Io) if syncing or renaming fails. The new file
    /// is then removed, unless only the directory could not be synced.
    #[inline]
    pub fn commit_sync(self) -> Result<File> {
        let (path, target) = (self.path.clone(), self.target.clone());
        let synced = self.file().sync_all().context("sync");
        let finished = synced.and_then(|()| {
            let file = self.finish()?;
            sync_directory(&target).context("sync").map(|()| file)
        });
        finished.map_err(|error| error.with_path(&path))
    }

    /// Like [`commit`](AtomicFile::commit), without the path in errors.
    #[inline]
    pub(crate) fn finish(self) -> Result<File> {
        let AtomicFile { new, target, old, existing, lock, .. } = self;
        if existing == Existing::ReplacedIfSame {
            check_unchanged(&target, old.as_ref())?;
        }
        // Those that it has now: it may have become private since.
        let replaced = match fs::metadata(&target) {
            Ok(found) if existing != Existing::Refused => Some(found),
            _ => old.clone(),
        };
        if let Some(replaced) = &replaced {
            platform::keep_access(new.file(), replaced, &target).context("copy the permissions")?;
        }
        let occupant = match (existing, &old) {
            (Existing::Replaced | Existing::ReplacedIfSame, Some(_)) => Occupant::File,
            (Existing::Replaced, None) => Occupant::Any,
            (Existing::ReplacedIfSame, None) | (Existing::Refused, _) => Occupant::None,
        };
        let action = if occupant == Occupant::None { "create" } else { "replace" };
        // Windows cannot replace an open file, so the lock is released first.
        let lock = if cfg!(windows) { None } else { lock };
        let finished = new.finish(&target, occupant).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => SystemError::Exists.into(),
            io::ErrorKind::ResourceBusy if cfg!(unix) && occupant != Occupant::None => {
                SystemError::MountPoint { source: error }.into()
            }
            _ => SystemError::io(action, error),
        });
        // Processes that wait for the lock find the new file under the name.
        drop(lock);
        finished
    }

    /// Removes all uncommitted files of this process, including files that
    /// functions of this crate are writing. Until the returned guard is
    /// dropped, this crate creates and commits no further files: other threads
    /// wait, and on this thread, it is an [`Io`](crate::ErrorKind::Io) error.
    /// Another call on this thread does nothing. On another, it waits.
    ///
    /// Call this from a thread that handles signals, just before it ends the
    /// process; unnamed files need no removal. It takes a lock, so it must not
    /// be called from the signal handler itself.
    #[must_use = "files can be created and committed again when it is dropped"]
    #[inline]
    pub fn remove_unfinished() -> impl Sized {
        temporary::remove_all()
    }
}

impl Write for AtomicFile {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    #[inline]
    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

impl Seek for AtomicFile {
    #[inline]
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file().seek(to)
    }
}

/// Returns an error unless a path still leads to the file `old`, or still to
/// none.
#[inline]
fn check_unchanged(path: &Path, old: Option<&Metadata>) -> Result<()> {
    let found = match fs::metadata(path) {
        Ok(found) => Some(found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(SystemError::io("replace", error)),
    };
    match (old, found) {
        (None, None) => Ok(()),
        (Some(old), Some(found)) if platform::file_id(old) == platform::file_id(&found) => Ok(()),
        (None, Some(_)) => Err(SystemError::Exists.into()),
        _ => Err(SystemError::Replaced.into()),
    }
}

/// As [`AtomicFile::finish`], replacing the file that is open as `open`, which
/// becomes the new one.
#[inline]
pub(crate) fn commit_over(new: AtomicFile, open: &mut File) -> Result<()> {
    if platform::CAN_REPLACE_OPEN_FILES {
        *open = new.finish()?;
        return Ok(());
    }
    let target = new.target.clone();
    // Closes the old file.
    *open = new.file().try_clone().context("replace")?;
    let done = new.finish();
    *open = file::open(&target, true)?.0;
    done?;
    Ok(())
}

/// Returns whether files created for two paths would have the same name.
#[inline]
pub(crate) fn are_same_name(one: &Path, other: &Path) -> bool {
    let place = |path| {
        let path = end_of_links(path);
        let directory = directory(&path);
        let found = platform::canonical(directory).unwrap_or_else(|_| directory.to_owned());
        // A path that ends in `..` can't be created anyway.
        let name = path.file_name().unwrap_or_default();
        // Usually, names there do not differ by the case of letters.
        let ignores_case = cfg!(any(windows, target_vendor = "apple"));
        let folded = ignores_case.then(|| name.to_string_lossy().to_lowercase().into());
        (found, folded.unwrap_or_else(|| name.to_owned()))
    };
    place(one) == place(other)
}

/// The directory that contains a path.
#[inline]
fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A path, and the target of each symbolic link in turn.
#[inline]
fn links(path: &Path) -> impl Iterator<Item = PathBuf> {
    // What can't be read is not a link.
    let next = |path: &PathBuf| Some(directory(path).join(fs::read_link(path).ok()?));
    std::iter::successors(Some(path.to_owned()), next).take(MAX_LINKS + 1)
}

/// The path that symbolic links lead to, whether or not it exists.
#[inline]
fn end_of_links(path: &Path) -> PathBuf {
    links(path).last().unwrap_or_else(|| path.to_owned())
}

/// Opens for writing what cannot be replaced: anything but a regular file, and a
/// regular file that is named as an open descriptor, such as `/dev/stdout`.
#[inline]
pub(crate) fn open_directly(path: &Path) -> io::Result<Option<File>> {
    let descriptor = descriptor(path);
    if let Some(standard) = descriptor.as_deref().and_then(platform::standard_stream) {
        return standard.map(Some);
    }
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => File::options().write(true).open(path).map(Some),
        // After what was written through the descriptor.
        Ok(_) if descriptor.is_some() => File::options().append(true).open(path).map(Some),
        _ => Ok(None),
    }
}

/// The link below `/proc` that paths such as `/dev/stdout` and `/dev/fd/3` lead
/// to.
#[inline]
fn descriptor(path: &Path) -> Option<PathBuf> {
    links(path)
        .filter(|link| fs::read_link(link).is_ok())
        .find(|link| directory(link).canonicalize().is_ok_and(|parent| parent.starts_with("/proc")))
}

/// Syncs a file or device. Others, such as pipes, cannot be synced.
#[inline]
pub(crate) fn sync_if_possible(file: &File) -> io::Result<()> {
    match file.sync_all() {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        done => done,
    }
}

/// Waits until the name of a file is on the disk.
#[inline]
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    platform::sync_directory(directory(&end_of_links(path)))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_appears_or_vanishes_before_it_is_locked_is_tried_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        for locking in [Locking::Try, Locking::Wait] {
            assert!(AtomicFile::begin_locked(&path, locking, true).unwrap().is_none());
            assert!(AtomicFile::begin_locked(&path, locking, false).unwrap().is_some());
        }
        fs::write(&path, "old").unwrap();
        for locking in [Locking::Try, Locking::Wait] {
            assert!(AtomicFile::begin_locked(&path, locking, false).unwrap().is_none());
            let new = AtomicFile::begin_locked(&path, locking, true).unwrap().unwrap();
            assert!(new.lock.is_some());
        }
        assert!(AtomicFile::begin_locked(&path, Locking::Off, false).unwrap().is_some());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}

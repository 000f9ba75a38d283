//! Files that are whole or absent: written without a name, or under a
//! temporary one, and given their final name when they are complete.

use std::fs::{self, File, Metadata};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::lock::{FileLock, Locking};
use super::platform::FileId;
use super::temporary::{self, TemporaryFile};
use super::{file, platform};
use crate::error::{Result, SystemError};

/// As many links are followed as Linux follows.
const MAX_LINKS: usize = 40;

/// A new file that gets its name when it is complete, so that nobody ever sees
/// a part of it.
///
/// It is created in the directory of its final name: without a name where the
/// file system has unnamed files (`O_TMPFILE` on Linux), elsewhere under a
/// random one that starts with `.npymap-`. [`commit`](AtomicFile::commit)
/// gives it its name. Dropped before that, it vanishes, and what had the name
/// stays as it was. An unnamed file also vanishes when the process is killed;
/// see [`remove_unfinished`](AtomicFile::remove_unfinished) for the others.
///
/// | constructor | a file that has the name |
/// |---|---|
/// | [`create_new`](AtomicFile::create_new) | is an error |
/// | [`create`](AtomicFile::create) | is replaced, whichever it is then |
/// | [`update`](AtomicFile::update) | is locked until it is replaced, and must still be the same |
///
/// The new file gets the permissions of the file it replaces, and its owner
/// and group where the system allows that. Symbolic links are followed.
/// Processes that have the old file open or mapped keep it.
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
    /// As it was given.
    path: PathBuf,
    /// Where that leads.
    target: PathBuf,
    /// The file that had the name at the beginning.
    old: Option<Metadata>,
    existing: Existing,
    /// Held until the old file is replaced.
    lock: Option<FileLock>,
}

/// How a file that has the name is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Existing {
    /// It is an error.
    Refused,
    /// It is replaced.
    Replaced,
    /// It is replaced if it is the one that had the name at the beginning.
    ReplacedIfSame,
}

impl AtomicFile {
    /// Creates a file for a name that nothing has, now or when it is
    /// committed.
    ///
    /// # Errors
    ///
    /// [`AlreadyExists`](crate::ErrorKind::AlreadyExists), [`Io`](crate::ErrorKind::Io).
    pub fn create_new(path: impl AsRef<Path>) -> Result<AtomicFile> {
        named(path.as_ref(), |path| AtomicFile::begin(path, Existing::Refused, None))
    }

    /// Creates a file that takes the place of whatever has the name when it is
    /// committed.
    ///
    /// Of several that are written at once, the last one to be committed
    /// stays. Use [`update`](AtomicFile::update) if the new contents depend on
    /// the old ones.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) when the name leads to something that can't
    /// be replaced, [`Io`](crate::ErrorKind::Io).
    pub fn create(path: impl AsRef<Path>) -> Result<AtomicFile> {
        named(path.as_ref(), |path| AtomicFile::begin(path, Existing::Replaced, None))
    }

    /// Creates a file that takes the place of the one that has the name now,
    /// which is locked exclusively until then. Read the old contents after
    /// this call: no other writer that asks for the lock changes them.
    ///
    /// If nothing has the name, nothing may have it when the file is
    /// committed.
    ///
    /// # Errors
    ///
    /// As [`create`](AtomicFile::create), and [`Locked`](crate::ErrorKind::Locked).
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
        named(path.as_ref(), |path| {
            let is_there = path.try_exists().map_err(SystemError::io("create"))?;
            let lock = if is_there { FileLock::exclusive(path, locking)? } else { None };
            let locked = lock.as_ref().map(FileLock::id);
            let new = AtomicFile::begin(path, Existing::ReplacedIfSame, lock)?;
            match locked {
                Some(id) if new.old.as_ref().and_then(platform::file_id) != id => {
                    Err(SystemError::Replaced.into())
                }
                _ => Ok(new),
            }
        })
    }

    /// As [`create`](AtomicFile::create), or [`create_new`] unless `replaces`.
    ///
    /// [`create_new`]: AtomicFile::create_new
    pub(crate) fn new(path: &Path, replaces: bool) -> Result<AtomicFile> {
        let existing = if replaces { Existing::Replaced } else { Existing::Refused };
        AtomicFile::begin(path, existing, None)
    }

    /// Creates a file that takes the place of this one, which the caller has
    /// open.
    pub(crate) fn replacing(path: &Path, own: Option<FileId>) -> Result<AtomicFile> {
        let new = AtomicFile::begin(path, Existing::ReplacedIfSame, None)?;
        let is_own = new.old.as_ref().is_some_and(|old| platform::file_id(old) == own);
        if is_own { Ok(new) } else { Err(SystemError::Replaced.into()) }
    }

    fn begin(path: &Path, existing: Existing, lock: Option<FileLock>) -> Result<AtomicFile> {
        let old = match fs::metadata(path) {
            Ok(_) if existing == Existing::Refused => return Err(SystemError::Exists.into()),
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(SystemError::io("create")(error)),
        };
        if let Some(found) = old.as_ref().and_then(platform::irregular_kind) {
            return Err(SystemError::NotRegular { found }.into());
        }
        // Absolute, whatever becomes of the working directory.
        let target = match old {
            Some(_) => platform::canonical(path),
            None => std::path::absolute(end_of_links(path)),
        };
        let target = target.map_err(SystemError::io("create"))?;
        // A file that may be private is so from the start.
        let mode = if old.is_some() { 0o600 } else { 0o666 };
        let new =
            TemporaryFile::create(directory(&target), mode).map_err(SystemError::io("create"))?;
        Ok(AtomicFile { new, path: path.to_owned(), target, old, existing, lock })
    }

    /// The new file, open for reading and writing.
    #[must_use]
    pub fn file(&self) -> &File {
        self.new.file()
    }

    /// The path it was created for.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file its name, and returns it. The file and its name reach
    /// the disk when the system writes them; see
    /// [`commit_sync`](AtomicFile::commit_sync).
    ///
    /// # Errors
    ///
    /// [`AlreadyExists`](crate::ErrorKind::AlreadyExists) and [`Changed`](crate::ErrorKind::Changed) when the name leads
    /// to another file than the constructor allows, [`Io`](crate::ErrorKind::Io). Then
    /// the new file is removed.
    pub fn commit(self) -> Result<File> {
        let path = self.path.clone();
        named(&path, |_| self.finish())
    }

    /// Gives the file its name after its contents are on the disk, and waits
    /// until the name is too.
    ///
    /// # Errors
    ///
    /// As [`commit`](AtomicFile::commit).
    pub fn commit_sync(self) -> Result<File> {
        let path = self.path.clone();
        named(&path, |_| {
            self.file().sync_all().map_err(SystemError::io("sync"))?;
            let target = self.target.clone();
            let file = self.finish()?;
            sync_directory(&target).map_err(SystemError::io("sync"))?;
            Ok(file)
        })
    }

    pub(crate) fn finish(self) -> Result<File> {
        let AtomicFile { new, target, old, existing, lock, .. } = self;
        if existing == Existing::ReplacedIfSame {
            same(&target, old.as_ref())?;
        }
        if let Some(old) = &old {
            platform::keep_access(new.file(), old)
                .map_err(SystemError::io("copy the permissions"))?;
        }
        let replaces = match existing {
            Existing::Refused => false,
            Existing::Replaced => true,
            Existing::ReplacedIfSame => old.is_some(),
        };
        let action = if replaces { "replace" } else { "create" };
        // Windows replaces no file that is open.
        let lock = lock.filter(|_| !cfg!(windows));
        let finished = new.finish(&target, replaces).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => SystemError::Exists.into(),
            _ => SystemError::io(action)(error),
        });
        // Processes that wait for it find the new file under the name.
        drop(lock);
        finished
    }

    /// Removes all files of this process that wait for their names, also
    /// those that this crate's functions are writing. Until what it returns is
    /// dropped, no other is created or gets its name.
    ///
    /// This is for a thread that handles signals, right before it ends the
    /// process; unnamed files vanish by themselves. It takes a lock, so it
    /// must not be called from the signal handler itself.
    #[must_use = "files can be created and committed again when it is dropped"]
    pub fn remove_unfinished() -> impl Sized {
        temporary::remove_all()
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file().seek(to)
    }
}

/// An error unless a path leads to the same file as before, or to none as
/// before.
fn same(path: &Path, old: Option<&Metadata>) -> Result<()> {
    let found = match fs::metadata(path) {
        Ok(found) => Some(found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(SystemError::io("replace")(error)),
    };
    match (old, found) {
        (None, None) => Ok(()),
        (Some(old), Some(found)) if platform::file_id(old) == platform::file_id(&found) => Ok(()),
        (None, Some(_)) => Err(SystemError::Exists.into()),
        _ => Err(SystemError::Replaced.into()),
    }
}

/// Says of `path` what went wrong.
fn named<T>(path: &Path, done: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    done(path).map_err(|error| error.with_path(path))
}

/// Writes a file that replaces the one at `path`; pipes, devices and
/// descriptors are written directly. With `sync`, waits until it and its name
/// are on the disk.
///
/// # Errors
///
/// Those of `write`, which leave everything as it was; [`Io`](crate::ErrorKind::Io).
pub(crate) fn write(
    path: &Path,
    sync: bool,
    write: impl FnOnce(&File) -> Result<()>,
) -> Result<()> {
    if let Some(file) = straight(path).map_err(SystemError::io("open"))? {
        write(&file)?;
        return if sync { sync_straight(&file).map_err(SystemError::io("sync")) } else { Ok(()) };
    }
    let new = AtomicFile::new(path, true)?;
    write(new.file())?;
    if sync { new.commit_sync() } else { new.commit() }.map(drop)
}

/// As [`AtomicFile::finish`], in the place of a file that is open here, which
/// is then the new one.
pub(crate) fn commit_over(new: AtomicFile, open: &mut File) -> Result<()> {
    if platform::CAN_REPLACE_OPEN_FILES {
        *open = new.finish()?;
        return Ok(());
    }
    let target = new.target.clone();
    // Closes the old one.
    *open = new.file().try_clone().map_err(SystemError::io("replace"))?;
    let done = new.finish();
    *open = file::open(&target, true)?.0;
    done.map(drop)
}

/// The directory a path names something in.
fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The target of a symbolic link.
fn next_link(path: &Path) -> Option<PathBuf> {
    fs::read_link(path).ok().map(|link| directory(path).join(link))
}

/// A path and what its links lead to, one after the other.
fn links(path: &Path) -> impl Iterator<Item = PathBuf> {
    std::iter::successors(Some(path.to_owned()), |path| next_link(path)).take(MAX_LINKS + 1)
}

/// The path that a path leads to, whether or not something is there.
fn end_of_links(path: &Path) -> PathBuf {
    links(path).last().unwrap_or_else(|| path.to_owned())
}

/// Opens what can't be replaced to be written: all but regular files, and
/// those too when they are named as an open descriptor, as `/dev/stdout` is.
fn straight(path: &Path) -> io::Result<Option<File>> {
    let descriptor = descriptor(path);
    if let Some(standard) = descriptor.as_deref().and_then(platform::standard_stream) {
        return standard.map(Some);
    }
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => File::options().write(true).open(path).map(Some),
        // Behind what others wrote through the descriptor.
        Ok(_) if descriptor.is_some() => File::options().append(true).open(path).map(Some),
        _ => Ok(None),
    }
}

/// The name below `/proc` that `/dev/stdout`, `/dev/fd/3` and the like lead
/// to.
fn descriptor(path: &Path) -> Option<PathBuf> {
    let is_in_proc = |path: &PathBuf| {
        fs::read_link(path).is_ok()
            && directory(path).canonicalize().is_ok_and(|at| at.starts_with("/proc"))
    };
    links(path).find(is_in_proc)
}

/// Waits for a device; what can't wait for anything, as pipes, needn't.
fn sync_straight(file: &File) -> io::Result<()> {
    match file.sync_all() {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        done => done,
    }
}

/// Waits until the name of a file is on the disk.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    platform::sync_directory(directory(&end_of_links(path)))
}

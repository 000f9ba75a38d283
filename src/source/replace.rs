//! Puts a new file under a name only when it is whole.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::{Result, SystemError};
use crate::source::{file, platform};

/// As many links are followed as Linux follows.
const MAX_LINKS: usize = 40;

/// Has a file written and puts it in the place of what is at `path`; pipes,
/// devices and descriptors are written straight. With `sync` it and its name
/// are on the disk after.
///
/// # Errors
///
/// Those of `write`, which leave everything as it was;
/// [`Io`](crate::ErrorKind::Io).
pub(crate) fn write(
    path: &Path,
    sync: bool,
    write: impl FnOnce(&File) -> Result<()>,
) -> Result<()> {
    if let Some(file) = straight(path).map_err(SystemError::io("open"))? {
        write(&file)?;
        return if sync { sync_straight(&file).map_err(sync_error()) } else { Ok(()) };
    }
    let new = Replacement::begin(path, true)?;
    write(new.file())?;
    if !sync {
        return new.commit().map(drop);
    }
    new.file().sync_all().map_err(sync_error())?;
    let path = new.path.clone();
    new.commit()?;
    sync_directory(&path).map_err(sync_error())
}

fn sync_error() -> impl FnOnce(io::Error) -> crate::error::Error {
    SystemError::io("sync")
}

/// A file under a passing name in the directory of its final one. Dropping it
/// removes it.
#[derive(Debug)]
pub(crate) struct Replacement {
    new: NamedTempFile,
    path: PathBuf,
    old: Option<Metadata>,
    overwrite: bool,
}

impl Replacement {
    /// Makes the file; `path` itself is not touched. Links are followed, also
    /// to where nothing is yet.
    ///
    /// # Errors
    ///
    /// [`AlreadyExists`](crate::ErrorKind::AlreadyExists) when a file is there
    /// that may not be replaced, [`Unsupported`](crate::ErrorKind::Unsupported)
    /// when it is none that can be, [`Io`](crate::ErrorKind::Io).
    pub(crate) fn begin(path: &Path, overwrite: bool) -> Result<Replacement> {
        let old = match fs::metadata(path) {
            Ok(_) if !overwrite => return Err(SystemError::Exists.into()),
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(SystemError::io("create")(error)),
        };
        if let Some(found) = old.as_ref().and_then(platform::irregular) {
            return Err(SystemError::NotRegular { found }.into());
        }
        let path = if old.is_some() { path.canonicalize() } else { Ok(end_of_links(path)) };
        let path = path.map_err(SystemError::io("create"))?;
        // What is to be private is so from the start.
        let mode = if old.is_some() { 0o600 } else { 0o666 };
        let new = beside(&path, mode).map_err(SystemError::io("create"))?;
        Ok(Replacement { new, path, old, overwrite })
    }

    /// The new file.
    pub(crate) fn file(&self) -> &File {
        self.new.as_file()
    }

    /// Gives it its name, and the permissions and owner of the file that had
    /// it. The owner stays the caller where the system allows no other.
    pub(crate) fn commit(self) -> Result<File> {
        if let Some(old) = &self.old {
            platform::keep_access(self.new.as_file(), old)
                .map_err(SystemError::io("keep the permissions"))?;
        }
        if self.overwrite {
            let done = self.new.persist(&self.path);
            return done.map_err(|refused| SystemError::io("replace")(refused.error));
        }
        let done = self.new.persist_noclobber(&self.path);
        done.map_err(|refused| match refused.error.kind() {
            io::ErrorKind::AlreadyExists => SystemError::Exists.into(),
            _ => SystemError::io("create")(refused.error),
        })
    }
}

/// As [`Replacement::commit`], in the place of a file that is open here, which
/// is then the new one.
pub(crate) fn commit_over(new: Replacement, open: &mut File) -> Result<()> {
    if platform::REPLACES_WHAT_IS_OPEN {
        *open = new.commit()?;
        return Ok(());
    }
    let path = new.path.clone();
    // Closes the old one.
    *open = new.file().try_clone().map_err(SystemError::io("replace"))?;
    let done = new.commit();
    *open = file::open(&path, true)?.0;
    done.map(drop)
}

/// Makes an empty file beside `path`, with permissions of at most `mode`.
fn beside(path: &Path, mode: u32) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".npymap-");
    platform::permit(&mut builder, mode);
    builder.tempfile_in(directory(path))
}

/// The directory a path names something in.
fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// What a symbolic link says, if there is one.
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
    if let Some(standard) = descriptor.as_deref().and_then(platform::standard) {
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

//! Files without their final name: unnamed if the system supports that, otherwise
//! under a temporary name.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::NamedTempFile;

use super::platform;

/// The temporary names of this process.
static NAMES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn names() -> MutexGuard<'static, Vec<PathBuf>> {
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all named temporary files of this process. Until the guard is dropped,
/// no other file is created or gets its final name.
pub(crate) fn remove_all() -> impl Sized {
    remove_below(Path::new(""))
}

/// As `remove_all`, only of files in a directory and below.
fn remove_below(directory: &Path) -> MutexGuard<'static, Vec<PathBuf>> {
    let mut names = names();
    names.retain(|name| {
        let is_removed = name.starts_with(directory);
        if is_removed {
            // Others may have removed the file already.
            let _ = std::fs::remove_file(name);
        }
        !is_removed
    });
    names
}

/// The file, if any, that may have the final name of a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Occupant {
    /// Nothing: a file is an error.
    None,
    /// A file, which is replaced, or nothing.
    Any,
    /// A file, unless it was removed in the meantime. It is replaced.
    File,
}

/// A new file in a directory, removed when it is dropped.
#[derive(Debug)]
pub(crate) enum TemporaryFile {
    /// The system removes it when the process ends, even if it is killed.
    Unnamed(File),
    Named(RegisteredFile),
}

/// A file whose temporary name is in `NAMES`.
#[derive(Debug)]
pub(crate) struct RegisteredFile {
    // Declared, and so dropped, first: the file is removed before its entry.
    file: NamedTempFile,
    name: RegisteredName,
}

/// An entry of `NAMES`.
#[derive(Debug)]
struct RegisteredName(PathBuf);

impl Drop for RegisteredName {
    fn drop(&mut self) {
        names().retain(|name| *name != self.0);
    }
}

impl TemporaryFile {
    /// Creates an empty file in a directory, with permissions of at most
    /// `mode`.
    pub(crate) fn create(directory: &Path, mode: u32) -> io::Result<TemporaryFile> {
        match platform::unnamed_file(directory, mode) {
            Some(file) => Ok(TemporaryFile::Unnamed(file)),
            None => TemporaryFile::create_named(directory, mode),
        }
    }

    /// As `create`, for file systems without unnamed files.
    fn create_named(directory: &Path, mode: u32) -> io::Result<TemporaryFile> {
        let mut builder = builder();
        platform::set_permissions(&mut builder, mode);
        let mut names = names();
        let file = platform::named_file(&builder, directory)?;
        let name = file.path().to_owned();
        names.push(name.clone());
        Ok(TemporaryFile::Named(RegisteredFile { file, name: RegisteredName(name) }))
    }

    /// Gives the file its final name, in the directory it was created in.
    pub(crate) fn finish(self, path: &Path, occupant: Occupant) -> io::Result<File> {
        match self {
            TemporaryFile::Unnamed(file) => {
                link(&file, path, occupant)?;
                Ok(file)
            }
            TemporaryFile::Named(named) => rename(named, path, occupant != Occupant::None),
        }
    }

    pub(crate) fn file(&self) -> &File {
        match self {
            TemporaryFile::Unnamed(file) => file,
            TemporaryFile::Named(named) => named.file.as_file(),
        }
    }
}

/// Links an unnamed file to a name. A link cannot replace a file, so if one
/// exists, this links to a temporary name and renames that.
fn link(file: &File, path: &Path, occupant: Occupant) -> io::Result<()> {
    // Keeps `remove_all` from running between the link and the rename.
    let _names = names();
    if occupant != Occupant::File {
        match platform::link(file, path) {
            Err(error)
                if occupant == Occupant::Any && error.kind() == io::ErrorKind::AlreadyExists => {}
            linked => return linked,
        }
    }
    let directory = path.parent().ok_or(io::ErrorKind::NotFound)?;
    let named = builder().make_in(directory, |name| platform::link(file, name))?;
    named.persist(path).map_err(|refused| refused.error)
}

fn builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".npymap-");
    builder
}

/// Renames a file to its final name.
fn rename(new: RegisteredFile, path: &Path, replaces: bool) -> io::Result<File> {
    let RegisteredFile { file, name } = new;
    let all = names();
    let renamed = platform::rename(file, path, replaces);
    // Dropping `name` takes the lock again.
    drop(all);
    drop(name);
    renamed
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// With and without unnamed files.
    const CONSTRUCTORS: [fn(&Path, u32) -> io::Result<TemporaryFile>; 2] =
        [TemporaryFile::create, TemporaryFile::create_named];

    fn entries(directory: &Path) -> usize {
        fs::read_dir(directory).unwrap().count()
    }

    /// The number of temporary names in a directory: other tests have names in theirs.
    fn names_in(directory: &Path) -> usize {
        names().iter().filter(|name| name.starts_with(directory)).count()
    }

    #[test]
    fn a_file_gets_its_name_or_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        let directory = directory.path();
        let occupants = [Occupant::Any, Occupant::File];
        for (number, create) in CONSTRUCTORS.repeat(2).into_iter().enumerate() {
            let replacing = occupants[number / CONSTRUCTORS.len()];
            create(directory, 0o666).unwrap().finish(&path, Occupant::None).unwrap();
            fs::write(&path, "old").unwrap();
            let error =
                create(directory, 0o666).unwrap().finish(&path, Occupant::None).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!((fs::read(&path).unwrap(), entries(directory)), (b"old".to_vec(), 1));
            let new = create(directory, 0o666).unwrap();
            io::Write::write_all(&mut new.file(), b"new").unwrap();
            new.finish(&path, replacing).unwrap();
            assert_eq!((fs::read(&path).unwrap(), entries(directory)), (b"new".to_vec(), 1));
            drop(create(directory, 0o666).unwrap());
            assert_eq!((entries(directory), names_in(directory)), (1, 0));
            fs::remove_file(&path).unwrap();
            create(directory, 0o666).unwrap().finish(&path, replacing).unwrap();
            fs::remove_file(&path).unwrap();
        }
        // Windows cannot remove an open file.
        if cfg!(windows) {
            return;
        }
        let new = TemporaryFile::create_named(directory, 0o666).unwrap();
        assert_eq!((entries(directory), names_in(directory)), (1, 1));
        drop(remove_below(directory));
        assert_eq!((entries(directory), names_in(directory)), (0, 0));
        new.finish(&path, Occupant::Any).unwrap_err();
        assert_eq!(entries(directory), 0);
    }
}

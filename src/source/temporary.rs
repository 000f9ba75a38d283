//! Files without their final name: unnamed if the kernel supports that,
//! otherwise under a temporary name.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use tempfile::NamedTempFile;

use super::platform;
use crate::error::invariant::Invariant;

/// The temporary names of a process.
struct Names {
    process: u32,
    list: Mutex<List>,
    /// Files of a process forked from it.
    next: OnceLock<Box<Names>>,
}

#[derive(Debug, Default)]
struct List {
    names: Vec<PathBuf>,
    /// The directory where an unnamed file could be given a name the last time.
    linkable: Option<PathBuf>,
}

static FIRST: OnceLock<Box<Names>> = OnceLock::new();

/// The temporary names of this process. It has none of the process that it was forked from,
/// where another thread may have held the lock.
#[inline]
fn own_names() -> &'static Mutex<List> {
    let (process, mut place) = (platform::process_id(), &FIRST);
    loop {
        let (list, next) = (Mutex::default(), OnceLock::new());
        let names = place.get_or_init(|| Box::new(Names { process, list, next }));
        if names.process == process {
            return &names.list;
        }
        place = &names.next;
    }
}

thread_local! {
    /// Whether this thread holds the lock on the names.
    static HOLDS: Cell<bool> = const { Cell::new(false) };
}

/// The locked names. They cannot be sent to another thread.
struct LockedNames(MutexGuard<'static, List>);

/// Locks the names; `None` if this thread holds them already, and would wait for itself
/// forever: as a guard of `remove_all`, or because it ran out of memory meanwhile.
#[inline]
fn names() -> Option<LockedNames> {
    if HOLDS.get() {
        return None;
    }
    let names = own_names().lock().unwrap_or_else(PoisonError::into_inner);
    HOLDS.set(true);
    Some(LockedNames(names))
}

/// As `names`, for creating a file or giving it a name.
#[inline]
fn names_to_change() -> io::Result<LockedNames> {
    names().ok_or_else(|| {
        let held = "this thread holds the guard of `remove_unfinished`: drop it before";
        io::Error::other(held)
    })
}

impl Drop for LockedNames {
    #[inline]
    fn drop(&mut self) {
        HOLDS.set(false);
    }
}

/// Removes all named temporary files of this process. Until the guard is
/// dropped, this crate does not create or rename files. If this thread has a
/// guard already, the new guard does nothing.
#[inline]
pub(crate) fn remove_all() -> impl Sized {
    remove_below(Path::new(""))
}

/// As `remove_all`, only of files in a directory and below.
#[inline]
fn remove_below(directory: &Path) -> Option<LockedNames> {
    let mut names = names()?;
    names.0.names.retain(|name| {
        let is_removed = name.starts_with(directory);
        if is_removed {
            // Others may have removed the file already.
            let _ = std::fs::remove_file(name);
        }
        !is_removed
    });
    Some(names)
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
    /// The kernel removes it when the process ends, even if it is killed.
    Unnamed(File),
    Named(RegisteredFile),
}

/// A file with its temporary name in the list.
#[derive(Debug)]
pub(crate) struct RegisteredFile {
    // Declared, and so dropped, first: the file is removed before its entry.
    file: OwnFile,
    name: RegisteredName,
}

/// A file that only the process that created it removes.
#[derive(Debug)]
struct OwnFile {
    /// `None` when it gets its final name.
    file: Option<NamedTempFile>,
    process: u32,
}

impl OwnFile {
    #[inline]
    fn get(&self) -> &NamedTempFile {
        self.file.as_ref().invariant("the file is taken only by `rename`, which consumes its owner")
    }
}

impl Drop for OwnFile {
    #[inline]
    fn drop(&mut self) {
        let is_own = self.process == platform::process_id();
        if let (Some(file), false) = (self.file.as_mut(), is_own) {
            file.disable_cleanup(true);
        }
    }
}

/// An entry of the list.
#[derive(Debug)]
struct RegisteredName(PathBuf);

impl Drop for RegisteredName {
    #[inline]
    fn drop(&mut self) {
        // A thread that removes files has removed all entries.
        if let Some(mut names) = names() {
            names.0.names.retain(|name| *name != self.0);
        }
    }
}

impl TemporaryFile {
    /// Creates an empty file in a directory, with permissions of at most
    /// `mode`.
    #[inline]
    pub(crate) fn create(directory: &Path, mode: u32) -> io::Result<TemporaryFile> {
        // Waits for `remove_all`, although it would not remove this file.
        let mut names = names_to_change()?;
        if let Some(file) = platform::unnamed_file(directory, mode) {
            if can_link(directory, &mut names.0) {
                return Ok(TemporaryFile::Unnamed(file));
            }
        }
        drop(names);
        TemporaryFile::create_named(directory, mode)
    }

    /// Like `create`, for file systems without unnamed files.
    #[inline]
    fn create_named(directory: &Path, mode: u32) -> io::Result<TemporaryFile> {
        let mut names = names_to_change()?;
        let file = platform::named_file(&builder(), directory, mode)?;
        let name = file.path().to_owned();
        names.0.names.push(name.clone());
        let file = OwnFile { file: Some(file), process: platform::process_id() };
        Ok(TemporaryFile::Named(RegisteredFile { file, name: RegisteredName(name) }))
    }

    /// Gives the file its final name, in the directory it was created in.
    #[inline]
    pub(crate) fn finish(self, path: &Path, occupant: Occupant) -> io::Result<File> {
        match self {
            TemporaryFile::Unnamed(file) => {
                link(&file, path, occupant)?;
                Ok(file)
            }
            TemporaryFile::Named(named) => rename(named, path, occupant != Occupant::None),
        }
    }

    #[inline]
    pub(crate) fn file(&self) -> &File {
        match self {
            TemporaryFile::Unnamed(file) => file,
            TemporaryFile::Named(named) => named.file.get().as_file(),
        }
    }
}

/// Returns whether an unnamed file can be given a name in a directory, which sandboxes
/// and some file systems refuse: gives one to an empty file. When the file that is written
/// is complete, it would be too late.
#[inline]
fn can_link(directory: &Path, list: &mut List) -> bool {
    if list.linkable.as_deref() == Some(directory) {
        return true;
    }
    let linked = platform::unnamed_file(directory, 0o600).is_some_and(|file| {
        builder().make_in(directory, |name| platform::link(&file, name)).is_ok()
    });
    list.linkable = linked.then(|| directory.to_owned());
    linked
}

/// Links an unnamed file to a name. A link cannot replace a file, so if one
/// exists, this links to a temporary name and renames that.
#[inline]
fn link(file: &File, path: &Path, occupant: Occupant) -> io::Result<()> {
    // Keeps `remove_all` from running between the link and the rename.
    let _names = names_to_change()?;
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

#[inline]
fn builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".npymap-");
    builder
}

/// Renames a file to its final name.
#[inline]
fn rename(new: RegisteredFile, path: &Path, replaces: bool) -> io::Result<File> {
    let RegisteredFile { mut file, name } = new;
    let all = names_to_change()?;
    let renamed = match file.file.take() {
        Some(file) => platform::rename(file, path, replaces),
        None => Err(io::ErrorKind::NotFound.into()),
    };
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
        names().unwrap().0.names.iter().filter(|name| name.starts_with(directory)).count()
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

    #[test]
    fn a_directory_is_asked_once_for_links() {
        let directory = tempfile::tempdir().unwrap();
        let mut list = List::default();
        let is_supported = platform::unnamed_file(directory.path(), 0o600).is_some();
        for _ in 0..2 {
            assert_eq!(can_link(directory.path(), &mut list), is_supported);
            assert_eq!(list.linkable.is_some(), is_supported);
            assert_eq!(entries(directory.path()), 0);
        }
        assert!(!can_link(&directory.path().join("absent"), &mut list));
        assert_eq!(list.linkable, None);
    }

    #[test]
    fn a_forked_process_removes_no_file_of_the_other() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let mut new = TemporaryFile::create_named(directory, 0o666).unwrap();
        let TemporaryFile::Named(named) = &mut new else { panic!("{new:?}") };
        named.file.process += 1;
        drop(new);
        assert_eq!(entries(directory), 1);
    }

    #[test]
    fn files_are_neither_created_nor_committed_while_they_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        let all = CONSTRUCTORS.map(|create| create(directory.path(), 0o666).unwrap());
        let guard = remove_below(directory.path());
        drop(remove_below(directory.path()));
        for new in all {
            let error = new.finish(&path, Occupant::Any).unwrap_err();
            assert!(error.to_string().contains("remove_unfinished"), "{error}");
        }
        for create in CONSTRUCTORS {
            create(directory.path(), 0o666).unwrap_err();
        }
        let elsewhere = directory.path().to_owned();
        let other = std::thread::spawn(move || TemporaryFile::create(&elsewhere, 0o666).is_ok());
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(!other.is_finished());
        drop(guard);
        assert!(other.join().unwrap());
        assert_eq!((entries(directory.path()), names_in(directory.path())), (0, 0));
        for create in CONSTRUCTORS {
            create(directory.path(), 0o666).unwrap().finish(&path, Occupant::Any).unwrap();
        }
    }
}

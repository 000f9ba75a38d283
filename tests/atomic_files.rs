//! Files are complete or absent, and locks exclude other writers.

use std::fs;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;

use npymap::{
    Appender, CreateOptions, DType, ErrorKind, OpenOptions, Order,
    loader::RaggedAppender,
    source::{AtomicFile, FileLock, LockKind, Locking},
    write::{RecoverOptions, resize},
};

use crate::support::{directory, file, header_with, names, npy, raw, text};

#[test]
fn a_file_is_absent_until_it_is_committed() {
    let directory = directory();
    let path = directory.path().join("a");
    let mut new = AtomicFile::create_new(&path).unwrap();
    new.write_all(b"0123").unwrap();
    new.seek(SeekFrom::Start(1)).unwrap();
    new.write_all(b"xy").unwrap();
    assert!(!path.exists());
    assert_eq!(new.path(), path);
    let committed = new.commit().unwrap();
    assert_eq!(committed.metadata().unwrap().len(), 4);
    drop(committed);
    assert_eq!(fs::read(&path).unwrap(), b"0xy3");
    AtomicFile::create(&path).unwrap().write_all(b"never committed").unwrap();
    AtomicFile::update(&path, Locking::Try).unwrap().write_all(b"nor this").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"0xy3");
    let mut new = AtomicFile::create(&path).unwrap();
    new.write_all(b"replaced").unwrap();
    new.commit_sync().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"replaced");
    assert_eq!(names(directory.path()), ["a"]);
}

#[test]
fn reserved_space_does_not_change_a_file() {
    let directory = directory();
    let path = directory.path().join("a");
    for len in [0, 3, 100_000] {
        let mut new = AtomicFile::create(&path).unwrap();
        new.reserve(len).unwrap();
        assert_eq!(new.file().metadata().unwrap().len(), 0);
        new.write_all(b"0123").unwrap();
        new.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"0123");
    }
    if cfg!(target_os = "linux") {
        let error = AtomicFile::create(&path).unwrap().reserve(1 << 62).unwrap_err();
        assert!(error.to_string().contains("reserve space"), "{error}");
    }
}

#[test]
fn an_existing_name_is_rejected_at_start_and_at_commit() {
    let directory = directory();
    let path = directory.path().join("a");
    for begin in [AtomicFile::create_new, |path| AtomicFile::update(path, Locking::Try)] {
        let new = begin(&path).unwrap();
        fs::write(&path, "other").unwrap();
        let error = new.commit().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
        assert_eq!(error.path(), Some(path.as_path()));
        assert_eq!(fs::read(&path).unwrap(), b"other");
        fs::remove_file(&path).unwrap();
    }
    fs::write(&path, "old").unwrap();
    let error = AtomicFile::create_new(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
    let error = AtomicFile::create(directory.path()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert_eq!(names(directory.path()), ["a"]);
}

#[cfg(unix)]
#[test]
fn an_update_replaces_only_the_file_it_started_from() {
    let directory = directory();
    let path = file(&directory, "a", b"old");
    let new = AtomicFile::update(&path, Locking::Try).unwrap();
    fs::rename(file(&directory, "b", b"other"), &path).unwrap();
    let error = new.commit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"other");
    let new = AtomicFile::update(&path, Locking::Try).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(new.commit().unwrap_err().kind(), ErrorKind::Changed);
    assert_eq!(names(directory.path()), Vec::<String>::new());
}

#[cfg(unix)]
#[test]
fn a_replacement_keeps_permissions_and_links() {
    use std::os::unix::fs::PermissionsExt as _;

    let directory = directory();
    let path = file(&directory, "a", b"old");
    let link = directory.path().join("link");
    std::os::unix::fs::symlink("a", &link).unwrap();
    for mode in [0o600, 0o640, 0o444] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let new = AtomicFile::create(&link).unwrap();
        assert_eq!(new.file().metadata().unwrap().permissions().mode() & 0o077, 0);
        new.commit().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
    }
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(names(directory.path()), ["a", "link"]);
}

#[cfg(unix)]
#[track_caller]
fn is_locked<T: std::fmt::Debug>(done: npymap::Result<T>) {
    let error = done.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Locked, "{error}");
    let text = "is locked by another process or by another handle in this process: wait with `Locking::Wait`, or try again";
    assert!(error.to_string().ends_with(text), "{error}");
    assert!(error.path().is_some());
}

#[cfg(unix)]
fn all_writers_are_locked_out(path: &Path) {
    is_locked(Appender::open(path));
    is_locked(resize(path, 9));
    is_locked(RecoverOptions::new().recover(path));
    is_locked(AtomicFile::update(path, Locking::Try));
    is_locked(FileLock::acquire(path, LockKind::Exclusive, Locking::Try));
}

#[cfg(unix)]
#[test]
fn every_writer_of_a_file_excludes_the_others() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("|u1", &[4], Order::C, b"abcd"));
    let appender = Appender::open(&path).unwrap();
    all_writers_are_locked_out(&path);
    drop(appender);
    let update = AtomicFile::update(&path, Locking::Wait).unwrap();
    all_writers_are_locked_out(&path);
    drop(update);
    let lock = FileLock::acquire(&path, LockKind::Shared, Locking::Try).unwrap();
    all_writers_are_locked_out(&path);
    let off = OpenOptions::new().locking(Locking::Off);
    off.append(&path).unwrap().append_slice(b"e").unwrap();
    assert!(FileLock::acquire(&path, LockKind::Exclusive, Locking::Off).unwrap().is_none());
    RecoverOptions::new().open_options(off).recover(&path).unwrap();
    drop(lock);
    let lock = FileLock::acquire(&path, LockKind::Exclusive, Locking::Try).unwrap().unwrap();
    lock.check(&path).unwrap();
    fs::rename(file(&directory, "b.npy", b"other"), &path).unwrap();
    assert_eq!(lock.check(&path).unwrap_err().kind(), ErrorKind::Changed);
}

#[cfg(unix)]
#[test]
fn an_appender_keeps_its_lock_when_its_file_is_replaced() {
    let directory = directory();
    let tight = text("'|u1'", "(9,)", Order::C, 57);
    let path = file(&directory, "a.npy", &raw(&tight, b"012345678"));
    let mut appender = Appender::open(&path).unwrap();
    let old = directory.path().join("old.npy");
    fs::hard_link(&path, &old).unwrap();
    appender.append_slice(b"9").unwrap();
    appender.flush().unwrap();
    assert!(header_with(&OpenOptions::new(), &path).unwrap().data_offset > 67, "it was replaced");
    is_locked(Appender::open(&path));
    assert!(FileLock::acquire(&old, LockKind::Exclusive, Locking::Try).unwrap().is_some());
    drop(appender);
    assert_eq!(Appender::open(&path).unwrap().rows(), 10);

    let path = directory.path().join("new.npy");
    let new = Appender::create(&path, &DType::of::<u8>(), &[], &CreateOptions::new()).unwrap();
    is_locked(Appender::open(&path));
    drop(new);
    Appender::open(&path).unwrap();
}

#[cfg(unix)]
#[test]
fn ragged_arrays_have_one_writer() {
    let directory = directory();
    let [data, offsets] = ["data.npy", "offsets.npy"].map(|name| directory.path().join(name));
    let options = CreateOptions::new();
    let mut one =
        RaggedAppender::create(&data, &offsets, &DType::of::<u8>(), &[], &options).unwrap();
    is_locked(OpenOptions::new().append_ragged(&data, &offsets));
    one.append_slice(b"abc").unwrap();
    one.close().unwrap();
    assert_eq!(OpenOptions::new().append_ragged(&data, &offsets).unwrap().rows(), 1);
}

#[cfg(unix)]
#[test]
fn waiting_for_a_lock_returns_the_file_that_has_the_name() {
    let directory = directory();
    let path = file(&directory, "a", b"0");
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let path = path.clone();
            std::thread::spawn(move || {
                for _ in 0..100 {
                    let mut new = AtomicFile::update(&path, Locking::Wait).unwrap();
                    let count: u32 = fs::read_to_string(&path).unwrap().parse().unwrap();
                    write!(new, "{}", count + 1).unwrap();
                    new.commit().unwrap();
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(fs::read(&path).unwrap(), b"400");
}

/// A file that is private before the new one replaces it stays so.
#[cfg(unix)]
#[test]
fn permissions_are_those_that_the_file_has_when_it_is_replaced() {
    use std::os::unix::fs::PermissionsExt as _;

    let directory = directory();
    let path = directory.path().join("a");
    let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    let make_private = || fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    for exists in [true, false] {
        let _ = fs::remove_file(&path);
        if exists {
            fs::write(&path, "old").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        }
        let new = AtomicFile::create(&path).unwrap();
        fs::write(&path, "private").unwrap();
        make_private();
        new.commit().unwrap();
        assert_eq!(mode(), 0o600, "{exists}");
    }
    let new = AtomicFile::update(&path, Locking::Try).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    new.commit().unwrap();
    assert_eq!(mode(), 0o400);
}

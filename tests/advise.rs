//! Advice to the system about mapped arrays, queries of their state, and locks.

use std::fs::{self, File};
#[cfg(unix)]
use std::sync::mpsc;
use std::thread::sleep;
use std::time::Duration;

use npymap::{
    DType, ErrorKind, MappedArray, OpenOptions, Order,
    array::RawSpec,
    source::{Advice, FileLock, LockKind, Locking, Mapping},
};

use crate::errors::assert_error;
use crate::support::{
    directory, file, is_error, map_file, npy, open, open_copy_on_write, open_mut, open_mut_with,
    open_with,
};

/// A file of `rows` rows of 4 KiB that contain their number.
fn rows(directory: &tempfile::TempDir, rows: usize, order: Order) -> std::path::PathBuf {
    let bytes: Vec<u8> = (0..rows).flat_map(|row| vec![row as u8; 4096]).collect();
    file(directory, "a.npy", &npy("|u1", &[rows, 4096], order, &bytes))
}

/// Calls every method that takes a range of rows.
fn call_all_methods<D: Mapping>(array: &MappedArray<D>) {
    for advice in [Advice::Random, Advice::Sequential, Advice::WillNeed, Advice::Normal] {
        array.advise(.., advice).unwrap();
        array.advise(3..5, advice).unwrap();
        array.advise(5..5, advice).unwrap();
    }
    array.prefetch(2..).unwrap();
    array.populate(..=3).unwrap();
    array.drop_cache(1..7).unwrap();
    array.drop_cache(..).unwrap();
    array.check_unchanged().unwrap();
}

#[test]
fn advice_changes_no_value_in_any_mode_and_order() {
    let directory = directory();
    for order in [Order::C, Order::F] {
        let path = rows(&directory, 8, order);
        let before = fs::read(&path).unwrap();
        let array = open(&path).unwrap();
        call_all_methods(&array);
        assert_eq!(array.into_data().as_ref(), &before[128..]);
        for mut array in [open_mut(&path).unwrap(), open_copy_on_write(&path).unwrap()] {
            array.view_mut::<u8>().unwrap().set([2, 5], 99).unwrap();
            call_all_methods(&array);
            assert_eq!(array.view::<u8>().unwrap().at([2, 5]), 99);
            let array = array.into_read_only().unwrap();
            call_all_methods(&array);
            assert_eq!(array.view::<u8>().unwrap().at([2, 5]), 99);
        }
        let mut memory = MappedArray::load(&path).unwrap();
        memory.view_mut::<u8>().unwrap().set([2, 5], 98).unwrap();
        call_all_methods(&memory);
        assert_eq!(memory.view::<u8>().unwrap().at([2, 5]), 98);
    }
}

#[test]
fn missing_rows_are_errors() {
    let directory = directory();
    let array = open(rows(&directory, 8, Order::C)).unwrap();
    let shape = "shape (8, 4096)";
    let path = array.path().unwrap().display();
    assert_error(
        array.populate(3..9),
        ErrorKind::OutOfBounds,
        &format!("{path}: range 3..9 is out of bounds for axis 0 of {shape}"),
    );
    for error in [
        array.prefetch(9..).unwrap_err(),
        array.advise(..=usize::MAX, Advice::Random).unwrap_err(),
        #[expect(clippy::reversed_empty_ranges, reason = "a mistake that is caught")]
        array.drop_cache(5..4).unwrap_err(),
    ] {
        assert!(
            is_error(&error, ErrorKind::OutOfBounds, "is out of bounds for axis 0 of shape"),
            "{error}"
        );
    }
    let scalar = MappedArray::zeros(&"<f8".parse().unwrap(), &[]).unwrap();
    scalar.populate(..).unwrap();
    assert!(is_error(
        &scalar.populate(0..1).unwrap_err(),
        ErrorKind::OutOfBounds,
        "axes are numbered from 0"
    ));
    let empty = file(&directory, "empty.npy", &npy("<f8", &[0, 3], Order::C, b""));
    call_on_empty_ranges(&open(empty).unwrap());
}

fn call_on_empty_ranges(array: &MappedArray) {
    array.advise(.., Advice::Random).unwrap();
    array.populate(0..0).unwrap();
    array.drop_cache(..).unwrap();
    array.check_unchanged().unwrap();
}

#[test]
fn advice_for_the_whole_array_changes_no_elements() {
    let directory = directory();
    let path = rows(&directory, 8, Order::C);
    let array = open(&path).unwrap();
    array.advise(.., Advice::Random).unwrap();
    assert_eq!(array.view::<u8>().unwrap().at([7, 0]), 7);
    let array = open_mut(&path).unwrap();
    array.advise(.., Advice::Random).unwrap();
    array.close().unwrap();
}

#[cfg(unix)]
#[test]
fn replaced_and_removed_files_are_detected() {
    let directory = directory();
    let path = rows(&directory, 2, Order::C);
    let array = open(&path).unwrap();
    let other = file(&directory, "b.npy", &npy("|u1", &[1], Order::C, b"x"));
    fs::rename(&other, &path).unwrap();
    let name = path.display();
    let text = format!(
        "{name}: was replaced by another file since it was opened: open it again; arrays that map it still have the old elements"
    );
    assert_error(array.check_unchanged(), ErrorKind::Changed, &text);
    assert_error(array.drop_cache(..), ErrorKind::Changed, &text);
    array.populate(..).unwrap();
    assert_eq!(array.view::<u8>().unwrap().at([1, 5]), 1);
    fs::remove_file(&path).unwrap();
    let error = array.check_unchanged().unwrap_err();
    assert!(is_error(&error, ErrorKind::NotFound, "cannot open"), "{error}");
    array.populate(..).unwrap();
}

#[test]
fn errors_name_the_missing_path() {
    let directory = directory();
    let path = rows(&directory, 2, Order::C);
    let array = map_file(&File::open(&path).unwrap())
        .and_then(|source| OpenOptions::new().open(source))
        .unwrap();
    let text = "the array was not opened by path: open it by path to check, lock or drop it";
    assert_error(array.check_unchanged(), ErrorKind::InvalidInput, text);
    assert_error(array.drop_cache(..), ErrorKind::InvalidInput, text);
    if cfg!(target_os = "linux") {
        array.populate(..).unwrap();
    } else {
        assert_error(
            array.populate(..),
            ErrorKind::InvalidInput,
            "the array was not opened by path: open it by path to prefetch it",
        );
    }
    array.prefetch(..).unwrap();
}

#[cfg(not(unix))]
#[test]
fn there_are_no_locks_on_other_systems() {
    let directory = directory();
    let path = rows(&directory, 2, Order::C);
    for kind in [LockKind::Shared, LockKind::Exclusive] {
        assert!(FileLock::acquire(&path, kind, Locking::Try).unwrap().is_none());
    }
}

#[cfg(unix)]
#[test]
fn locks_are_shared_by_readers_or_held_by_one_writer() {
    let directory = directory();
    let path = rows(&directory, 2, Order::C);
    let (shared, exclusive) = (LockKind::Shared, LockKind::Exclusive);
    let assert_locked = |kind| {
        let error = FileLock::acquire(&path, kind, Locking::Try).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Locked);
    };
    let first = FileLock::acquire(&path, shared, Locking::Wait).unwrap().unwrap();
    let second = FileLock::acquire(&path, shared, Locking::Try).unwrap().unwrap();
    assert_locked(exclusive);
    drop(first);
    assert_locked(exclusive);
    drop(second);
    let writing = FileLock::acquire(&path, exclusive, Locking::Wait).unwrap().unwrap();
    assert_locked(shared);

    let (waits, told) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        waits.send("waits").unwrap();
        let lock = FileLock::acquire(&path, shared, Locking::Wait).unwrap().unwrap();
        waits.send("has it").unwrap();
        drop(lock);
    });
    assert_eq!(told.recv(), Ok("waits"));
    assert!(told.try_recv().is_err());
    drop(writing);
    assert_eq!(told.recv(), Ok("has it"));
    thread.join().unwrap();
    let none = directory.path().join("none");
    let error = FileLock::acquire(none, LockKind::Shared, Locking::Wait).unwrap_err();
    assert!(is_error(&error, ErrorKind::NotFound, "cannot open"), "{error}");
}

#[test]
fn prefetching_reads_the_whole_range_and_reports_progress() {
    const LEN: u64 = 64 << 20;
    let directory = directory();
    let path = directory.path().join("a.raw");
    File::create(&path).unwrap().set_len(LEN).unwrap();
    let options = OpenOptions::new().raw(RawSpec::new(DType::of::<u8>()).shape(&[64, 1 << 20]));
    let array = open_with(&options, &path).unwrap();
    let anonymous =
        map_file(&File::open(&path).unwrap()).and_then(|source| options.open(source)).unwrap();
    for array in [array, anonymous] {
        array.drop_cache(..).ok();
        let before = array.resident_bytes(..).unwrap();
        assert_eq!(before.is_some(), cfg!(target_os = "linux"));
        // It gets as far as the disk allows, and the system may drop pages again.
        let is_read = |_| {
            array.prefetch(..).unwrap();
            (0..1000).any(|_| {
                sleep(Duration::from_millis(10));
                is_resident(&array, LEN)
            })
        };
        assert!((0..30).any(is_read), "{:?}", array.resident_bytes(..));
    }
}

/// Whether nearly all of an array was read: the system may drop pages again.
fn is_resident(array: &MappedArray, len: u64) -> bool {
    array.resident_bytes(..).unwrap().is_none_or(|n| n as u64 >= len / 16 * 15)
}

#[test]
fn resident_bytes_count_only_rows() {
    let directory = directory();
    let array = open(rows(&directory, 8, Order::C)).unwrap();
    for (range, len) in [(0..8, 8), (3..4, 1), (5..5, 0)] {
        // The system may drop pages again.
        let are_resident = |_| {
            array.populate(..).unwrap();
            array.resident_bytes(range.clone()).unwrap().is_none_or(|bytes| bytes == len * 4096)
        };
        assert!((0..1000).any(are_resident), "{:?}", array.resident_bytes(range.clone()));
    }
    assert!(array.resident_bytes(9..).is_err());
    let memory = MappedArray::zeros(&DType::of::<u8>(), &[3]).unwrap();
    assert!(memory.resident_bytes(..).unwrap().is_none_or(|bytes| bytes <= 3));
}

#[test]
fn dropping_an_array_stops_its_read_ahead() {
    let directory = directory();
    let path = directory.path().join("a.raw");
    File::create(&path).unwrap().set_len(32 << 20).unwrap();
    let options = OpenOptions::new().raw(RawSpec::new(DType::of::<u8>()).shape(&[32, 1 << 20]));
    for _ in 0..20 {
        let array = open_mut_with(&options, &path).unwrap();
        array.prefetch(3..).unwrap();
        array.prefetch(..9).unwrap();
        array.close().unwrap();
    }
}

#[test]
fn rows_without_elements_are_populated() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("<f8", &[3, 0], Order::C, b""));
    for rows in [0..3, 1..3, 2..3, 3..3] {
        open(&path).unwrap().populate(rows.clone()).unwrap();
        open_mut(&path).unwrap().populate(rows).unwrap();
    }
}

#[test]
fn elements_in_memory_are_populated_whatever_became_of_the_file() {
    let directory = directory();
    let path = rows(&directory, 3, Order::C);
    let array = MappedArray::load(&path).unwrap();
    File::options().write(true).open(&path).unwrap().set_len(200).unwrap();
    array.populate(..).unwrap();
    array.check_unchanged().unwrap();
}

#[cfg(unix)]
#[test]
fn private_copies_are_not_dropped_from_the_cache_of_a_file() {
    let directory = directory();
    let path = rows(&directory, 3, Order::C);
    let array = open_copy_on_write(&path).unwrap();
    fs::remove_file(&path).unwrap();
    array.drop_cache(..).unwrap();
}

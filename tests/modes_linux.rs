//! Opening, where it depends on the system: descriptors, pipes and sealed
//! files.

use std::fs::{self, File};
use std::os::fd::AsRawFd as _;
use std::path::Path;

use npymap::{ErrorKind, MappedArray, Order, Source, array::AnyArray};
use rustix::fs::{
    CWD, FileType, MemfdFlags, Mode, SealFlags, fcntl_add_seals, memfd_create, mknodat,
};

use crate::modes::open_errors;
use crate::support::{directory, file, is_error, npy, open, open_mode, open_mut};

/// The number of descriptors of this process that refer to a file.
fn descriptors(path: &Path) -> usize {
    let path = path.canonicalize().unwrap();
    let descriptors = fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap().path());
    descriptors.filter(|entry| fs::read_link(entry).is_ok_and(|target| target == path)).count()
}

/// The number of maps of a file in this process.
fn maps(path: &Path) -> usize {
    let path = path.canonicalize().unwrap();
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().filter(|line| line.ends_with(path.to_str().unwrap())).count()
}

#[test]
fn a_descriptor_is_kept_only_for_writing_and_closing_unmaps() {
    let directory = directory();
    let path = file(&directory, "descriptors.npy", &npy("|u1", &[5], Order::C, b"hello"));
    for mode in ["r", "r+", "c"] {
        let opened = open_mode(mode, &path).unwrap();
        let kept = usize::from(mode == "r+");
        assert_eq!((descriptors(&path), maps(&path)), (kept, 1), "{mode}");
        match opened {
            AnyArray::ReadOnly(array) => array.close().unwrap(),
            AnyArray::Writable(array) => array.close().unwrap(),
        }
        assert_eq!((descriptors(&path), maps(&path)), (0, 0), "{mode}");
        drop(open_mode(mode, &path).unwrap());
        assert_eq!((descriptors(&path), maps(&path)), (0, 0), "{mode}");
    }
    let read_only = open_mut(&path).unwrap().into_read_only().unwrap();
    assert_eq!((descriptors(&path), maps(&path)), (0, 1));
    drop(read_only);
    let array = open(&path).unwrap();
    let clone = array.clone();
    array.close().unwrap();
    assert_eq!(maps(&path), 1, "a clone keeps it mapped");
    assert_eq!(clone.as_slice::<u8>().unwrap(), b"hello");
}

#[test]
fn directories_are_rejected() {
    let directory = directory();
    for error in open_errors(directory.path()) {
        let text = "is a directory, not a regular file";
        let is_refused = is_error(&error, ErrorKind::Unsupported, text);
        // The system does not open directories for writing.
        assert!(is_refused || is_error(&error, ErrorKind::Io, "cannot open"), "{error}");
    }
}

#[test]
fn pipes_and_devices_are_rejected_without_blocking() {
    let directory = directory();
    let path = directory.path().join("pipe.npy");
    mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    for path in [&*path, Path::new("/dev/zero")] {
        for error in open_errors(path) {
            let text = "is a pipe or device, not a regular file";
            assert!(is_error(&error, ErrorKind::Unsupported, text), "{error}");
        }
    }
}

/// A file in memory that contains the word `hello`.
fn memory(seals: SealFlags) -> File {
    let file = File::from(memfd_create("hello", MemfdFlags::ALLOW_SEALING).unwrap());
    let bytes = npy("|u1", &[5], Order::C, b"hello");
    std::io::Write::write_all(&mut &file, &bytes).unwrap();
    fcntl_add_seals(&file, seals).unwrap();
    file
}

/// A path that leads to a file without a name.
fn path_of(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

#[test]
fn sealed_files_open_without_unsafe() {
    let file = memory(SealFlags::WRITE | SealFlags::SHRINK);
    let array = Source::immutable(path_of(&file)).and_then(MappedArray::from_source).unwrap();
    drop(file);
    assert_eq!(array.as_slice::<u8>().unwrap(), b"hello");
    assert_eq!(array.data_offset(), Some(128));
}

#[test]
fn files_that_may_change_need_unsafe() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("|u1", &[5], Order::C, b"hello"));
    let refused = [
        Source::immutable(&path),
        Source::immutable(path_of(&memory(SealFlags::SHRINK))),
        Source::immutable(path_of(&memory(SealFlags::WRITE))),
    ];
    for error in refused.map(Result::unwrap_err) {
        assert!(
            is_error(&error, ErrorKind::Unsupported, "may change while it is mapped"),
            "{error}"
        );
    }
}

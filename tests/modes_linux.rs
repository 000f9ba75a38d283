//! Opening, where it depends on the system: descriptors, pipes, sealed and
//! enormous files.

use std::fs::{self, File};
use std::path::Path;

use npymap::{
    ArrayFile, Category, CreateOptions, DType, ErrorKind, Header, MappedArray, OpenOptions, Opened,
    Order,
};
use rustix::fs::{
    CWD, FileType, MemfdFlags, Mode, SealFlags, fcntl_add_seals, memfd_create, mknodat,
};

use crate::modes::refusals;
use crate::support::{create, directory, file, npy, open, open_mode, open_mut};

/// How many of this process' descriptors lead to a file.
fn descriptors(path: &Path) -> usize {
    let path = path.canonicalize().unwrap();
    let leads = |entry: std::io::Result<fs::DirEntry>| {
        fs::read_link(entry.unwrap().path()).is_ok_and(|target| target == path)
    };
    fs::read_dir("/proc/self/fd").unwrap().map(leads).filter(|&leads| leads).count()
}

/// How many maps this process has of a file.
fn maps(path: &Path) -> usize {
    let path = path.canonicalize().unwrap();
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().filter(|line| line.ends_with(path.to_str().unwrap())).count()
}

#[test]
fn a_descriptor_is_kept_to_write_only_and_closing_unmaps() {
    let directory = directory();
    let path = file(&directory, "descriptors.npy", &npy("|u1", &[5], Order::C, b"hello"));
    for mode in ["r", "r+", "c"] {
        let opened = open_mode(mode, &path).unwrap();
        let kept = usize::from(mode == "r+");
        assert_eq!((descriptors(&path), maps(&path)), (kept, 1), "{mode}");
        match opened {
            Opened::ReadOnly(array) => array.close().unwrap(),
            Opened::Writable(array) => array.close().unwrap(),
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
fn directories_are_refused() {
    let directory = directory();
    for error in refusals(directory.path()) {
        match error.kind() {
            ErrorKind::NotRegular { found: "a directory", .. } => {
                assert_eq!(error.category(), Category::Use);
            }
            // The system refuses to open a directory for writing.
            ErrorKind::Io { action: "open", .. } => assert_eq!(error.category(), Category::Io),
            _ => panic!("{error}"),
        }
    }
}

#[test]
fn pipes_and_devices_are_refused_without_waiting() {
    let directory = directory();
    let path = directory.path().join("pipe.npy");
    mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    for path in [&*path, Path::new("/dev/zero")] {
        for error in refusals(path) {
            let ErrorKind::NotRegular { found: "a pipe or device", .. } = error.kind() else {
                panic!("{error}")
            };
            assert_eq!(error.category(), Category::Use);
        }
    }
}

/// A file in memory that holds the word `hello`.
fn memory(seals: SealFlags) -> File {
    let file = File::from(memfd_create("hello", MemfdFlags::ALLOW_SEALING).unwrap());
    let bytes = npy("|u1", &[5], Order::C, b"hello");
    std::io::Write::write_all(&mut &file, &bytes).unwrap();
    fcntl_add_seals(&file, seals).unwrap();
    file
}

#[test]
fn sealed_files_open_without_unsafe() {
    let file = memory(SealFlags::WRITE | SealFlags::SHRINK);
    let array = OpenOptions::new().open_immutable_file(&file).unwrap();
    drop(file);
    assert_eq!(array.as_slice::<u8>().unwrap(), b"hello");
    assert_eq!((array.path(), array.data_offset()), (None, Some(128)));
}

#[test]
fn files_that_may_change_need_unsafe() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("|u1", &[5], Order::C, b"hello"));
    let refused = [
        MappedArray::open_immutable(&path),
        OpenOptions::new().open_immutable_file(&File::open(&path).unwrap()),
        OpenOptions::new().open_immutable_file(&memory(SealFlags::SHRINK)),
        OpenOptions::new().open_immutable_file(&memory(SealFlags::WRITE)),
    ];
    for error in refused.map(Result::unwrap_err) {
        assert!(matches!(error.kind(), ErrorKind::NotImmutable), "{error}");
        assert_eq!(error.category(), Category::Use);
    }
}

const ENORMOUS: usize = 100 << 30;

#[test]
fn a_file_larger_than_memory_opens_in_every_mode_and_is_edited() {
    let directory = directory();
    let header = Header::new(DType::of::<u64>(), &[ENORMOUS / 8], Order::C).unwrap();
    let path = file(&directory, "enormous.npy", &header.encode(None).unwrap().bytes);
    let sparse = File::options().write(true).open(&path).unwrap();
    sparse.set_len((header.data_offset + ENORMOUS) as u64).unwrap();

    let mut array = open_mut(&path).unwrap();
    *array.as_slice_mut::<u64>().unwrap().last_mut().unwrap() = 7;
    array.close().unwrap();

    let Opened::Writable(mut private) = open_mode("c", &path).unwrap() else { panic!() };
    let elements = private.as_slice_mut::<u64>().unwrap();
    assert_eq!(elements.last(), Some(&7));
    elements[elements.len() / 2] = 8;
    assert_eq!(private.as_slice::<u64>().unwrap()[ENORMOUS / 16], 8);

    let array = open(&path).unwrap();
    let elements = array.as_slice::<u64>().unwrap();
    assert_eq!((elements[ENORMOUS / 16], elements.last()), (0, Some(&7)));
    let read = ArrayFile::open(&path).unwrap();
    assert_eq!(read.get::<u64>([ENORMOUS / 16]).unwrap(), 0);
    assert_eq!(read.get::<u64>([ENORMOUS / 8 - 1]).unwrap(), 7);
}

#[test]
fn a_file_larger_than_memory_is_created_and_filled_here_and_there() {
    let directory = directory();
    let path = directory.path().join("enormous.npy");
    let (rows, row) = (ENORMOUS >> 20, 1 << 20);
    let sparse = CreateOptions::new().sparse(true).clone();
    let mut array = create(&path, "|u1", &[rows, row], &sparse).unwrap();
    let before = resident();
    for i in 0..200 {
        array.view_mut::<u8>().unwrap().set([i * (rows / 200), 7], 1).unwrap();
        array.write_elements(&[i * (rows / 200) + 1], &vec![2_u8; row]).unwrap();
    }
    assert_eq!(array.view::<u8>().unwrap().at([rows / 200 + 1, row - 1]), 2);
    array.close().unwrap();
    // What was written a mebibyte at a time was not mapped.
    let used = resident().saturating_sub(before);
    assert!(used < 128 << 10, "{used} KiB");
    assert_eq!(open(&path).unwrap().view::<u8>().unwrap().at([0, 7]), 1);
}

/// The process' memory that is in use now, in KiB.
fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

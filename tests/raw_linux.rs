//! Raw and truncated files, where it depends on the system: bytes after the
//! end, missing pages.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;

use npymap::{
    ArrayFile, ErrorKind, MappedArray, OpenOptions, Order,
    array::{AnyArray, RawSpec},
    ndarray::{SliceInfo, s},
    write::{RecoverOptions, resize},
};

use crate::support::{
    directory, file, is_error, map_file, npy, open, open_mode, open_mut, open_mut_with,
};

fn bytes(len: usize) -> OpenOptions {
    OpenOptions::new().raw(RawSpec::new("|u1".parse().unwrap()).shape(&[len]))
}

#[test]
fn new_bytes_are_zero_whatever_was_stored_after_the_end() {
    let directory = directory();
    let path = file(&directory, "a.bin", &[1; 10]);
    let disk = File::options().read(true).write(true).open(&path).unwrap();
    // SAFETY: the page is mapped, even if the file has only some of its bytes.
    let mut page = unsafe { memmap2::MmapOptions::new().len(4096).map_mut(&disk) }.unwrap();
    page[10..].fill(0xff);
    let array = open_mut_with(&bytes(100_000), &path).unwrap();
    let elements = array.as_slice::<u8>().unwrap();
    assert_eq!(elements[..10], [1; 10]);
    assert!(elements[10..].iter().all(|&byte| byte == 0));
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!(metadata.len(), 100_000);
    assert!(metadata.blocks() * 512 >= 100_000, "the space is reserved");
}

#[test]
fn new_rows_are_zero_whatever_was_stored_after_the_end() {
    let directory = directory();
    let grown: [fn(&Path); 2] = [
        |path| drop(RecoverOptions::new().zero_fill(true).recover(path).unwrap()),
        |path| resize(path, 2).unwrap(),
    ];
    for (grow, rest) in grown.into_iter().zip([&[1][..], &[]]) {
        let row = [&[1; 100][..], rest].concat();
        let path = file(&directory, "a.npy", &npy("|u1", &[1, 100], Order::C, &row));
        let disk = File::options().read(true).write(true).open(&path).unwrap();
        // SAFETY: the page is mapped, even if the file has only some of its bytes.
        let mut page = unsafe { memmap2::MmapOptions::new().len(4096).map_mut(&disk) }.unwrap();
        page[128 + row.len()..].fill(0xff);
        grow(&path);
        let array = open(&path).unwrap();
        assert_eq!(array.shape(), [2, 100]);
        let elements = array.as_slice::<u8>().unwrap();
        assert_eq!(elements[..row.len()], row);
        assert!(elements[row.len()..].iter().all(|&byte| byte == 0));
    }
}

/// Writes a header and four rows of 4096 bytes.
fn four_pages(path: &Path) {
    let bytes = npy("|u1", &[4, 4096], Order::C, &[1; 4 * 4096]);
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_file_truncated_while_mapped_is_reported() {
    let directory = directory();
    let path = directory.path().join("a.npy");
    for mode in ["r", "r+", "c"] {
        // At a page boundary, inside a page, inside the first row, and before
        // all rows.
        for len in [8192, 8192 + 200, 200, 0] {
            four_pages(&path);
            let opened = open_mode(mode, &path).unwrap();
            File::options().write(true).open(&path).unwrap().set_len(len).unwrap();
            let (checked, populated, good) = match &opened {
                AnyArray::ReadOnly(array) => {
                    (array.check_unchanged(), array.populate(..), array.populate(0..1))
                }
                AnyArray::Writable(array) => {
                    (array.check_unchanged(), array.populate(..), array.populate(0..1))
                }
            };
            for error in [checked.unwrap_err(), populated.unwrap_err()] {
                let text = format!("the elements end at byte 16512 and the file at {len}");
                assert!(is_error(&error, ErrorKind::Truncated, &text), "{mode} {len}: {error}");
            }
            assert_eq!(good.is_ok(), len >= 128 + 4096, "{mode} {len}");
            assert!(MappedArray::load(&path).is_err());
            assert!(ArrayFile::open(&path).is_err());
        }
    }
}

#[test]
fn a_file_without_a_path_truncated_while_mapped_is_reported_by_populate() {
    let file = tempfile::tempfile().unwrap();
    file.write_all_at(&npy("|u1", &[4, 4096], Order::C, &[1; 4 * 4096]), 0).unwrap();
    let array = map_file(&file).and_then(|source| OpenOptions::new().open(source)).unwrap();
    file.set_len(8192).unwrap();
    let error = array.populate(..).unwrap_err();
    assert!(is_error(&error, ErrorKind::Io, "cannot read"), "{error}");
    array.populate(0..1).unwrap();
}

/// How much of its maps of a file this process has in memory, in KiB.
fn resident(path: &Path) -> usize {
    let path = path.canonicalize().unwrap();
    let maps = fs::read_to_string("/proc/self/smaps").unwrap();
    let own = maps.lines().skip_while(|line| !line.ends_with(path.to_str().unwrap()));
    let line = own.into_iter().find(|line| line.starts_with("Rss:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn populated_rows_are_in_memory_and_dropped_ones_are_not() {
    let directory = directory();
    let path = directory.path().join("a.npy");
    fs::write(&path, npy("|u1", &[1024, 4096], Order::C, &vec![1; 1024 * 4096])).unwrap();
    File::open(&path).unwrap().sync_all().unwrap();
    for writable in [false, true] {
        let array = if writable {
            open_mut(&path).and_then(npymap::MappedArrayMut::into_read_only)
        } else {
            open(&path)
        };
        let array = array.unwrap();
        assert_eq!(resident(&path), 0);
        // The system may drop pages again.
        let is_resident = |_| array.populate(..).is_ok() && resident(&path) >= 4096;
        assert!((0..1000).any(is_resident), "{} KiB", resident(&path));
        array.drop_cache(..).unwrap();
        assert_eq!(resident(&path), 0);
        assert_eq!(array.view::<u8>().unwrap().at([1023, 0]), 1);
    }
}

#[test]
fn long_parts_are_read_in_huge_pages() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("|u1", &[8192, 8192], Order::C, &[]));
    File::options().write(true).open(&path).unwrap().set_len(128 + (64 << 20)).unwrap();
    let source = map_file(&File::open(&path).unwrap()).unwrap().on_demand();
    let array = MappedArray::from_source(source).unwrap();
    let path = path.canonicalize().unwrap();
    let has_huge = |slice: SliceInfo<_, _, _>| {
        let part = array.outline().slice(slice).unwrap();
        let window = array.window(&part).unwrap();
        let maps = fs::read_to_string("/proc/self/smaps").unwrap();
        drop(window);
        let own = maps.lines().skip_while(|line| !line.ends_with(path.to_str().unwrap()));
        let flags = own.into_iter().find(|line| line.starts_with("VmFlags:")).unwrap();
        flags.split_whitespace().any(|flag| flag == "hg")
    };
    let is_supported = Path::new("/sys/kernel/mm/transparent_hugepage").exists();
    assert_eq!(has_huge(s![2048..4096, ..]), is_supported);
    assert!(!has_huge(s![..100, ..]), "short");
    assert!(!has_huge(s![..2048;1000, ..]), "most of it is not needed");
}

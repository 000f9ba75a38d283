//! Each way of opening a file has the documented effect on the file, and
//! reports its mode.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use npymap::{
    DType, ErrorKind, Header, MappedArray, MappedArrayMut, Mode, OpenOptions, Order, Source,
    array::AnyArray,
};

use crate::support::{
    directory, file, header_with, is_error, map_file, map_mut_file, npy, open, open_copy_on_write,
    open_mode, open_mut, read_with,
};

/// A file of three `u32`, followed by other bytes.
fn three() -> Vec<u8> {
    let elements = [1_u32, 2, 3].map(u32::to_le_bytes).concat();
    let mut bytes = npy("<u4", &[3], Order::C, &elements);
    bytes.extend(b"behind");
    bytes
}

/// Changes the middle one of three elements.
fn edit(array: &mut MappedArrayMut) {
    array.as_slice_mut::<npymap::Le<u32>>().unwrap()[1] = 0x0a0b_0c0d.into();
}

/// The file after `edit`, with nothing else changed.
fn edited() -> Vec<u8> {
    let mut bytes = three();
    bytes[128 + 4..128 + 8].copy_from_slice(&[0x0d, 0x0c, 0x0b, 0x0a]);
    bytes
}

fn values(array: &MappedArray<impl AsRef<[u8]>>) -> Vec<u32> {
    array.as_slice::<npymap::Le<u32>>().unwrap().iter().map(|value| value.get()).collect()
}

#[test]
fn read_write_edits_change_only_those_elements_of_the_file() {
    let directory = directory();
    let path = file(&directory, "a.npy", &three());
    let mut array = open_mut(&path).unwrap();
    edit(&mut array);
    assert_eq!(fs::read(&path).unwrap(), edited(), "another reader sees it at once");
    array.flush().unwrap();
    array.close().unwrap();
    assert_eq!(fs::read(&path).unwrap(), edited());
}

#[test]
fn dropping_keeps_edits() {
    let directory = directory();
    let path = file(&directory, "a.npy", &three());
    edit(&mut open_mut(&path).unwrap());
    assert_eq!(fs::read(&path).unwrap(), edited());
}

#[test]
fn copy_on_write_edits_stay_in_memory() {
    let directory = directory();
    let path = file(&directory, "a.npy", &three());
    let mut array = open_copy_on_write(&path).unwrap();
    edit(&mut array);
    assert_eq!(values(&array), [1, 0x0a0b_0c0d, 3]);
    array.flush().unwrap();
    array.close().unwrap();
    assert_eq!(fs::read(&path).unwrap(), three());
}

#[test]
fn copies_are_not_the_file() {
    let directory = directory();
    let path = file(&directory, "a.npy", &three());
    let mut array = MappedArray::load(&path).unwrap();
    edit(&mut array);
    assert_eq!(array.mode(), None);
    array.flush().unwrap();
    array.close().unwrap();
    assert_eq!(fs::read(&path).unwrap(), three());
}

#[test]
fn files_without_write_permission_open_in_every_mode_but_read_write() {
    let directory = directory();
    let path = file(&directory, "a.npy", &three());
    let read_only = File::open(&path).unwrap();
    let options = OpenOptions::new();
    let mut copy_on_write =
        map_file(&read_only).and_then(|source| options.open(source.into_copy_on_write())).unwrap();
    edit(&mut copy_on_write);
    let refused = map_mut_file(&read_only).and_then(|source| options.open(source)).unwrap_err();
    assert!(is_error(&refused, ErrorKind::Io, "cannot map 12 bytes"), "{refused}");
    assert_eq!(fs::read(&path).unwrap(), three());
}

/// Opens an open file in every way and passes on each array's values.
fn values_in_every_way(file: &File) -> [Vec<u32>; 4] {
    let options = OpenOptions::new();
    let read_only = map_file(file).and_then(|source| options.open(source)).unwrap();
    let read_write = map_mut_file(file).and_then(|source| options.open(source)).unwrap();
    let copy_on_write =
        map_file(file).and_then(|source| options.open(source.into_copy_on_write())).unwrap();
    let copy = Source::from_file(file.try_clone().unwrap())
        .and_then(|source| options.open(source))
        .unwrap();
    assert_eq!(read_write.mode(), Some(Mode::ReadWrite));
    assert_eq!(copy_on_write.mode(), Some(Mode::CopyOnWrite));
    assert_eq!((read_only.path(), read_write.path(), copy.path()), (None, None, None));
    assert_eq!(copy_on_write.path(), None);
    [values(&read_only), values(&read_write), values(&copy_on_write), values(&copy)]
}

#[test]
fn the_position_of_an_open_file_is_neither_used_nor_changed() {
    let directory = directory();
    let path = file(&directory, "a.npy", &three());
    let mut file = File::options().read(true).write(true).open(path).unwrap();
    for position in [0, 7, 130, 1 << 40] {
        file.seek(SeekFrom::Start(position)).unwrap();
        assert_eq!(values_in_every_way(&file), [(); 4].map(|()| vec![1, 2, 3]), "at {position}");
        assert_eq!(file.stream_position().unwrap(), position);
    }
}

#[test]
fn arrays_outlive_the_open_file_and_its_name() {
    let directory = directory();
    let path = file(&directory, "a.npy", &three());
    let file = File::options().read(true).write(true).open(&path).unwrap();
    let mut array = map_mut_file(&file).and_then(|source| OpenOptions::new().open(source)).unwrap();
    drop(file);
    let mut still = File::open(&path).unwrap();
    fs::remove_file(&path).unwrap();
    edit(&mut array);
    array.close().unwrap();
    let mut bytes = Vec::new();
    still.read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes, edited());
}

#[test]
fn modes_known_at_run_time_match_numpy() {
    let directory = directory();
    let path = file(&directory, "a.npy", &three());
    for (name, mode, expected) in [
        ("r+", Mode::ReadWrite, edited()),
        ("readwrite", Mode::ReadWrite, edited()),
        ("c", Mode::CopyOnWrite, three()),
        ("copyonwrite", Mode::CopyOnWrite, three()),
    ] {
        fs::write(&path, three()).unwrap();
        let AnyArray::Writable(mut array) = open_mode(name, &path).unwrap() else {
            panic!("{name} is writable")
        };
        edit(&mut array);
        assert_eq!(array.mode(), Some(mode));
        assert_eq!(fs::read(&path).unwrap(), expected, "{name}");
    }
    for name in ["r", "readonly"] {
        assert!(matches!(open_mode(name, &path).unwrap(), AnyArray::ReadOnly(_)), "{name}");
    }
    for name in ["w+", "write"] {
        let error = open_mode(name, &path).unwrap_err();
        assert!(is_error(&error, ErrorKind::InvalidInput, "mode 'w+'"), "{error}");
    }
    assert!(open_mode("w", &path).is_err());
    assert_eq!(fs::read(&path).unwrap(), three());
}

#[test]
fn arrays_know_their_path_and_mode() {
    let directory = directory();
    let path = file(&directory, "a.npy", &three());
    let header = header_with(&OpenOptions::new(), &path).unwrap();
    let read_only = open(&path).unwrap();
    let copy = MappedArray::load(&path).unwrap();
    assert_eq!((read_only.path(), copy.path()), (Some(&*path), Some(&*path)));
    assert_eq!((read_only.data_offset(), copy.data_offset()), (Some(128), Some(128)));
    assert_eq!((read_only.header(), copy.header()), (Some(header.clone()), Some(header.clone())));
    assert_eq!((read_only.layout().offset(), copy.layout().offset()), (0, 0));
    let bytes = three();
    let array = MappedArray::from_bytes(&bytes).unwrap();
    assert_eq!((array.layout().offset(), array.header()), (128, Some(header)));
}

#[test]
fn anonymous_memory_is_zero_and_has_no_path() {
    let dtype: DType = "[('a', '<f8'), ('b', '|u1')]".parse().unwrap();
    let mut array = MappedArray::zeros(&dtype, &[2, 3]).unwrap();
    assert_eq!((array.path(), array.mode(), array.data_offset()), (None, None, None));
    assert!(array.header().is_none());
    assert_eq!(array.as_slice::<[u8; 9]>().unwrap(), [[0; 9]; 6]);
    array.as_slice_mut::<[u8; 9]>().unwrap()[5] = [7; 9];
    array.flush().unwrap();
    assert_eq!(array.into_read_only().unwrap().as_slice::<[u8; 9]>().unwrap()[5], [7; 9]);
}

#[test]
fn read_only_arrays_share_one_map_between_clones_and_threads() {
    let directory = directory();
    let path = file(&directory, "a.npy", &three());
    let mut array = open_mut(&path).unwrap();
    edit(&mut array);
    let array = array.into_read_only().unwrap();
    assert_eq!(array.path(), Some(&*path));
    let clone = array.clone();
    let start = array.as_slice::<npymap::Le<u32>>().unwrap().as_ptr();
    assert_eq!(clone.as_slice::<npymap::Le<u32>>().unwrap().as_ptr(), start);
    array.close().unwrap();
    let sum = std::thread::spawn(move || values(&clone).iter().sum::<u32>()).join().unwrap();
    assert_eq!(sum, 1 + 0x0a0b_0c0d + 3);
    assert_eq!(fs::read(&path).unwrap(), edited());
}

#[test]
fn copy_on_write_edits_survive_becoming_read_only() {
    let directory = directory();
    let path = file(&directory, "a.npy", &three());
    let mut array = open_copy_on_write(&path).unwrap();
    edit(&mut array);
    assert_eq!(values(&array.into_read_only().unwrap()), [1, 0x0a0b_0c0d, 3]);
    assert_eq!(fs::read(&path).unwrap(), three());
}

// Windows can't truncate a mapped file.
#[cfg(unix)]
#[test]
fn the_header_and_bytes_after_the_elements_may_change_while_mapped() {
    let directory = directory();
    let path = file(&directory, "a.npy", &three());
    let array = open(&path).unwrap();
    let header = Header::new(DType::of::<u8>(), &[1], Order::C).unwrap();
    let mut bytes = header.encode(None).unwrap().bytes;
    bytes.resize(128, b' ');
    let open = File::options().write(true).open(&path).unwrap();
    open.set_len(128 + 12).unwrap();
    write_at(&open, &bytes, 0);
    write_at(&open, b"longer than before", 128 + 12);
    assert_eq!(values(&array), [1, 2, 3]);
    assert_eq!(array.dtype().to_string(), "'<u4'");
}

fn write_at(mut file: &File, bytes: &[u8], at: u64) {
    use std::io::Write as _;
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(bytes).unwrap();
}

#[test]
fn empty_arrays_open_in_every_mode_and_close() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("<f8", &[3, 0], Order::C, b""));
    for mode in ["r", "r+", "c"] {
        match open_mode(mode, &path).unwrap() {
            AnyArray::ReadOnly(array) => {
                assert_eq!((array.shape(), array.is_empty()), (&[3, 0][..], true));
                array.close().unwrap();
            }
            AnyArray::Writable(array) => {
                assert_eq!((array.shape(), array.is_empty()), (&[3, 0][..], true));
                array.flush().unwrap();
                array.close().unwrap();
            }
        }
    }
    let error = Source::immutable(&path).unwrap_err();
    assert!(is_error(&error, ErrorKind::Unsupported, "may change while it is mapped"), "{error}");
    assert!(MappedArray::load(&path).unwrap().into_read_only().unwrap().is_empty());
}

/// Returns the errors of opening a path in every way.
pub(crate) fn open_errors(path: &Path) -> Vec<npymap::Error> {
    let options = OpenOptions::new();
    vec![
        header_with(&options, path).unwrap_err(),
        open(path).unwrap_err(),
        open_mut(path).unwrap_err(),
        open_copy_on_write(path).unwrap_err(),
        read_with(&options, path).unwrap_err(),
        Source::open(path).and_then(|source| options.open(source.into_read_only())).unwrap_err(),
    ]
}

#[test]
fn missing_files_are_not_found() {
    let directory = directory();
    for error in open_errors(&directory.path().join("none.npy")) {
        assert!(is_error(&error, ErrorKind::NotFound, "cannot open"), "{error}");
        assert_eq!(error.io_error().unwrap().kind(), std::io::ErrorKind::NotFound);
    }
}

#[test]
fn empty_files_and_other_formats_are_rejected() {
    let directory = directory();
    for (bytes, hint) in [(&b""[..], "empty"), (b"PK\x03\x04", "zip"), (b"hello, world", "NUMPY")] {
        let path = file(&directory, "a.npy", bytes);
        for error in open_errors(&path) {
            let kind = if bytes.is_empty() { ErrorKind::Truncated } else { ErrorKind::Corrupt };
            assert!(is_error(&error, kind, "starts with b"), "{error}");
            assert!(error.to_string().contains(hint), "{error}");
        }
    }
}

//! A file whose writer died is not replaced before its rows are recovered.

use std::fs;
use std::path::Path;

use npymap::ndarray::arr1;
use npymap::source::{AtomicFile, Locking};
use npymap::{
    Appender, CreateOptions, DType, ErrorKind, MappedArrayMut, OpenOptions, Order, Result, Source,
    loader::RaggedAppender,
    write::{RecoverOptions, WriteOptions},
};

use crate::support::{directory, file, is_error, names, npy, raw, text};

/// The header counts two rows of three bytes; these follow.
const ROWS: [u8; 6] = [1, 2, 3, 4, 5, 6];

fn two_rows(rest: &[u8]) -> Vec<u8> {
    npy("|u1", &[2, 3], Order::C, &[&ROWS[..], rest].concat())
}

fn create(path: &Path, options: &CreateOptions) -> Result<MappedArrayMut> {
    // SAFETY: nobody else knows of the file.
    unsafe { options.create(path, &DType::of::<u8>(), &[1]) }
}

type Writer = (&'static str, fn(&Path, bool) -> Result<()>);

/// Everything that replaces a file, and whether it may drop what follows the elements.
const WRITERS: [Writer; 7] = [
    ("AtomicFile::create", |path, discards| {
        let new =
            if discards { AtomicFile::create_discarding(path) } else { AtomicFile::create(path) };
        new?.commit().map(drop)
    }),
    ("AtomicFile::update", |path, discards| {
        let locking = Locking::Try;
        let new = if discards {
            AtomicFile::update_discarding(path, locking)
        } else {
            AtomicFile::update(path, locking)
        };
        new?.commit().map(drop)
    }),
    ("MappedArray::create", |path, discards| create(path, &options(discards))?.close()),
    ("a raw file", |path, discards| create(path, &options(discards).raw(0))?.close()),
    ("Appender::create", |path, discards| {
        Appender::create(path, &DType::of::<u8>(), &[], &options(discards))?.close()
    }),
    ("RaggedAppender::create", |path, discards| {
        let offsets = path.with_extension("offsets.npy");
        let dtype = DType::of::<u8>();
        RaggedAppender::create(path, &offsets, &dtype, &[], &options(discards))?.close()?;
        Ok(fs::remove_file(offsets)?)
    }),
    ("WriteOptions::write", |path, discards| {
        let options = WriteOptions::new().discard_trailing(discards);
        options.write(path, &arr1(&[7_u8])).map(drop)
    }),
];

fn options(discards: bool) -> CreateOptions {
    CreateOptions::new().overwrite(true).discard_trailing(discards)
}

#[test]
fn no_writer_drops_what_follows_the_elements() {
    let directory = directory();
    for (writer, write) in WRITERS {
        for (rest, message) in [
            (vec![0; 6], "6 bytes after its elements, 2 more rows: `recover` keeps them"),
            (vec![0; 4], "4 bytes after its elements, 1 more row: `recover` keeps them"),
            (vec![0; 2], "2 bytes after its elements: `discard_trailing` allows it"),
            (two_rows(&[]), "134 bytes after its elements, another array: `discard_trailing`"),
        ] {
            let bytes = two_rows(&rest);
            let path = file(&directory, "a.npy", &bytes);
            let error = write(&path, false).unwrap_err();
            assert!(is_error(&error, ErrorKind::Corrupt, message), "{writer}: {error}");
            assert_eq!(fs::read(&path).unwrap(), bytes, "{writer}");
            assert_eq!(names(directory.path()), ["a.npy"], "{writer}");
            write(&path, true).unwrap();
            assert_ne!(fs::read(&path).unwrap(), bytes, "{writer}");
            // The new file is complete, so it is replaced.
            write(&path, false).unwrap();
        }
    }
}

#[test]
#[cfg(feature = "npz")]
fn archives_do_not_replace_arrays_with_more_rows() {
    use npymap::npz::{self, NpzWriter};

    let directory = directory();
    let bytes = two_rows(&[0; 3]);
    let path = file(&directory, "a.npy", &bytes);
    let message = "3 bytes after its elements, 1 more row";
    let refused = NpzWriter::create(&path).map(drop).unwrap_err();
    assert!(is_error(&refused, ErrorKind::Corrupt, message), "{refused}");
    let refused = npz::savez(&path, &[("x", &arr1(&[1_u8]))]).unwrap_err();
    assert!(is_error(&refused, ErrorKind::Corrupt, message), "{refused}");
    assert_eq!(fs::read(&path).unwrap(), bytes);
    let mut writer =
        NpzWriter::new_seekable(AtomicFile::create_discarding(&path).unwrap()).unwrap();
    writer.write("x", &arr1(&[1_u8])).unwrap();
    writer.into_inner().unwrap().commit().unwrap();
    npz::savez(&path, &[("x", &arr1(&[1_u8]))]).unwrap();
}

#[test]
fn recovered_files_are_replaced() {
    let directory = directory();
    let path = file(&directory, "a.npy", &two_rows(&[7; 4]));
    AtomicFile::create(&path).unwrap_err();
    assert_eq!(RecoverOptions::new().recover(&path).unwrap().shape, [3, 3]);
    AtomicFile::create(&path).unwrap().commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"");
}

#[test]
fn only_arrays_that_end_before_the_file_are_kept() {
    let directory = directory();
    let long = " ".repeat(200_000);
    let replaced: [(&str, Vec<u8>); 8] = [
        ("text", b"not an array".to_vec()),
        ("empty", Vec::new()),
        ("a cut header", two_rows(&[])[..60].to_vec()),
        ("a damaged header", raw("{'descr': 'u1', 'shape': (2, ", &[0; 1000])),
        ("objects", raw(&text("'|O'", "(2,)", Order::C, 118), &[0; 1000])),
        ("missing elements", npy("|u1", &[9, 3], Order::C, &ROWS)),
        ("more elements than memory", npy("|u1", &[1 << 30, 3], Order::C, &ROWS)),
        ("an archive", b"PK\x05\x06".to_vec()),
    ];
    for (what, bytes) in replaced {
        let path = file(&directory, "a.npy", &bytes);
        AtomicFile::create(&path).unwrap().commit().expect(what);
    }
    let wide = [two_rows(&[])[..128].to_vec(), long.into_bytes()].concat();
    let wide = {
        let mut bytes = b"\x93NUMPY\x02\x00".to_vec();
        bytes.extend(u32::try_from(wide.len() - 10).unwrap().to_le_bytes());
        bytes.extend(&wide[10..]);
        bytes
    };
    let kept: [(&str, Vec<u8>, u64); 5] = [
        ("Fortran order", npy("|u1", &[3, 2], Order::F, &[0; 9]), 1),
        ("no rows yet", npy("|u1", &[0, 3], Order::C, &[0; 9]), 3),
        ("rows of no bytes", npy("|u1", &[2, 0], Order::C, &[0; 9]), 0),
        ("no axes", npy("|u1", &[], Order::C, &[0; 9]), 0),
        ("a long header", [wide, vec![0; 9]].concat(), 1),
    ];
    for (what, bytes, rows) in kept {
        let path = file(&directory, "a.npy", &bytes);
        let error = AtomicFile::update(&path, Locking::Wait).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{what}");
        assert_eq!(fs::read(&path).unwrap(), bytes, "{what}");
        let options = OpenOptions::new().max_header_len(1 << 20);
        let found = options.trailing(&Source::open(&path).unwrap()).unwrap().expect(what);
        assert_eq!(found.rows, rows, "{what}");
        assert_eq!(found.offset + found.nbytes, bytes.len() as u64, "{what}");
    }
}

#[test]
fn what_follows_an_array_is_found() {
    let at = |offset, bytes: &[u8]| {
        OpenOptions::new().offset(offset).trailing(&Source::bytes(bytes.to_vec())).unwrap()
    };
    let one = two_rows(&[]);
    assert_eq!(at(0, &one), None);
    let two = [&one[..], &one[..]].concat();
    let found = at(0, &two).unwrap();
    assert_eq!((found.offset, found.nbytes, found.rows), (134, 134, 0));
    assert!(found.is_array);
    assert_eq!(at(134, &two), None);
    let found = at(134, &[&two[..], &[0; 7]].concat()).unwrap();
    assert_eq!((found.offset, found.nbytes, found.rows, found.is_array), (268, 7, 2, false));
    let error = OpenOptions::new().trailing(&Source::bytes(one[..133].to_vec())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Truncated);
}

#[test]
fn without_overwrite_an_existing_file_is_the_error() {
    let directory = directory();
    let path = file(&directory, "a.npy", &two_rows(&[0; 3]));
    let options = CreateOptions::new().discard_trailing(true);
    let error = create(&path, &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert_eq!(AtomicFile::create_new(&path).unwrap_err().kind(), ErrorKind::AlreadyExists);
}

//! The message and kind of every error about a call or the system;
//! `errors_format` has those about the contents of files.

use std::error::Error as _;
use std::fs::File;

use npymap::ndarray::{Ix1, Ix2, arr1};
use npymap::{
    Be, CreateOptions, DType, Error, ErrorKind, Header, MappedArray, Mode, OpenOptions, Order,
    Source, WriteOptions, element::Bool, layout::Layout, npy::Version,
};

use crate::modes::open_errors;
use crate::support::{
    create, directory, file, header_with, is_error, map, map_mut_file, npy, open, open_mode,
    refused,
};

/// Asserts the kind and the message of an error.
#[track_caller]
pub(crate) fn assert_error<T>(result: Result<T, Error>, kind: ErrorKind, text: &str) {
    let Err(error) = result else { panic!("no error: {text}") };
    assert_eq!(error.to_string(), text);
    assert_eq!(error.kind(), kind, "{text}");
}

#[test]
fn an_error_is_one_word_and_is_send_and_sync() {
    fn assert_boxable<T: std::error::Error + Send + Sync + 'static>() {}
    assert_boxable::<Error>();
    assert_eq!(size_of::<Error>(), size_of::<usize>());
    assert_eq!(size_of::<Option<Error>>(), size_of::<usize>());
}

#[test]
fn io_names_the_operation() {
    let directory = directory();
    let path = directory.path().join("none.npy");
    let error = open(&path).unwrap_err();
    let system = error.io_error().unwrap();
    assert_eq!(system.kind(), std::io::ErrorKind::NotFound);
    let text = format!("{}: cannot open: {system}", path.display());
    assert_error(open(&path), ErrorKind::NotFound, &text);
}

#[test]
fn failures_of_readers_and_writers_are_io() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("broken"))
        }
    }
    impl std::io::Write for Broken {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("broken"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    assert_error(Header::read(Broken), ErrorKind::Io, "cannot read the header: broken");
    let written = WriteOptions::new().write_to(Broken, &arr1(&[0.5]));
    assert_error(written, ErrorKind::Io, "cannot write the header: broken");
}

#[test]
fn map_names_the_size() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("|u1", &[5], Order::C, b"hello"));
    let read_only = File::open(path).unwrap();
    let refused = map_mut_file(&read_only).and_then(|source| OpenOptions::new().open(source));
    let error = refused.unwrap_err();
    let text = format!("cannot map 5 bytes: {}", error.io_error().unwrap());
    assert_error::<()>(Err(error), ErrorKind::Io, &text);
}

#[test]
fn not_regular_names_the_file_type() {
    let directory = directory();
    let path = directory.path();
    let text = format!("{}: is a directory, not a regular file", path.display());
    refused(header_with(&OpenOptions::new(), path), &text);
}

#[test]
fn short_file_and_short_buffer_count_bytes() {
    let directory = directory();
    let bytes = npy("<f8", &[3], Order::C, &[0; 23]);
    let path = file(&directory, "a.npy", &bytes);
    let text = "the elements end at byte 152 and the file at 151: it was truncated, or is still being written";
    assert_error(open(&path), ErrorKind::Truncated, &format!("{}: {text}", path.display()));
    assert_error(
        Source::from_file(File::open(&path).unwrap()).and_then(MappedArray::from_source),
        ErrorKind::Truncated,
        text,
    );
    refused(MappedArray::from_bytes(&bytes), "the elements end at byte 152 and the buffer at 151");
}

#[test]
fn encode_names_the_version_that_works() {
    refused(
        scalar_header(&format!("[('{}', '<f8')]", "x".repeat(70_000))).encode(Some(Version::V1)),
        "version 1.0 cannot hold this header: it is too long; use 2.0, or leave the version unset",
    );
    refused(
        scalar_header("[('整', '<f8')]").encode(Some(Version::V2)),
        "version 2.0 cannot hold this header: a field name is not Latin-1; use 3.0, or leave the version unset",
    );
}

fn scalar_header(descr: &str) -> Header {
    Header::new(descr.parse().unwrap(), &[], Order::C).unwrap()
}

#[test]
fn borrowing_names_the_type_that_works() {
    for (descr, asked, works, foreign) in [
        (">f8", "'>f8'", "Be<f64>", cfg!(target_endian = "little")),
        ("<f8", "'<f8'", "Le<f64>", cfg!(target_endian = "big")),
    ] {
        let other = npy(descr, &[2, 2], Order::F, &[0; 32]);
        let array = MappedArray::from_bytes(&other).unwrap();
        if foreign {
            let text = format!(
                "stored as {asked}, asked for `f64` in place: use `{works}`, or `view::<f64>()`"
            );
            refused(array.as_ndarray::<f64, Ix2>(), &text);
        }
        let works = if foreign { works } else { "f64" };
        let text = format!("stored as {asked}, asked for `Bool`: use `{works}`");
        refused(array.as_ndarray::<Bool, Ix2>(), &text);
    }
    let big = npy(">f8", &[2, 2], Order::F, &[0; 32]);
    let array = MappedArray::from_bytes(&big).unwrap();
    refused(
        array.as_ndarray::<Be<f64>, Ix1>(),
        "shape (2, 2) has 2 axes, asked for 1: use `Ix2`, or `IxDyn` for any number",
    );
    refused(
        array.as_slice::<Be<f64>>(),
        "elements of shape (2, 2) are in Fortran order, a slice needs C order: use `as_ndarray`",
    );
    let record = MappedArray::zeros(&"[('a', '<f8'), ('b', '|u1')]".parse().unwrap(), &[]).unwrap();
    refused(
        record.as_slice::<npymap::num_complex::Complex<f64>>(),
        "stored as [('a', '<f8'), ('b', '|u1')], asked for `Complex<f64>`: use `[u8; 9]`",
    );
}

#[test]
fn alignment_names_the_type_that_works() {
    let buffer = [0_u64; 2];
    let bytes: &[u8] = npymap::bytemuck::cast_slice(&buffer);
    let layout = Layout::new(DType::of::<f32>(), &[2], Order::C, 1).unwrap();
    let array = MappedArray::from_parts(bytes, layout).unwrap();
    let works = if cfg!(target_endian = "big") { "Be<f32>" } else { "Le<f32>" };
    refused(
        array.as_slice::<f32>(),
        &format!(
            "elements are not aligned to 4 bytes, asked for `f32` in place: use `{works}`, or `view::<f32>()`"
        ),
    );
}

#[test]
fn modes_are_numpys() {
    refused(
        "rw".parse::<Mode>(),
        "mode 'rw', expected 'r' or 'readonly', 'r+' or 'readwrite', 'w+' or 'write', 'c' or 'copyonwrite'",
    );
    let error = open_mode("w+", "a.npy").unwrap_err();
    let says =
        "mode 'w+' creates an array and needs its dtype and shape: use `MappedArray::create`";
    assert_eq!(
        (error.message().to_string(), error.kind()),
        (says.to_owned(), ErrorKind::InvalidInput)
    );
}

#[test]
fn exists_and_not_immutable_name_what_works() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("|u1", &[5], Order::C, b"hello"));
    refused(
        create(&path, "<f8", &[1], &CreateOptions::new()),
        &with_path(
            &path,
            "already exists: choose another name, or allow replacing it with `CreateOptions::overwrite`",
        ),
    );
    refused(
        Source::immutable(&path),
        &with_path(
            &path,
            "may change while it is mapped: only a memfd sealed against writing and shrinking, or a file with fs-verity, can be opened without `unsafe`; use `MappedArray::open`, or `MappedArray::load` for a copy",
        ),
    );
}

fn with_path(path: &std::path::Path, text: &str) -> String {
    format!("{}: {text}", path.display())
}

#[test]
fn the_path_is_named_once_and_first() {
    let directory = directory();
    let bad = file(&directory, "bad.npy", b"no array");
    let short = file(&directory, "short.npy", &npy("<f8", &[3], Order::C, b""));
    let none = directory.path().join("none.npy");
    for path in [&bad, &short, &none, &directory.path().to_owned()] {
        for error in open_errors(path) {
            let text = error.to_string();
            assert!(text.starts_with(&format!("{}: ", path.display())), "{text}");
            assert_eq!(text.matches(&*path.display().to_string()).count(), 1, "{text}");
            assert_eq!(error.path(), Some(&**path));
        }
    }
    for error in [
        create(&bad, "<f8", &[1], &CreateOptions::new()).unwrap_err(),
        create(&bad, "<f8", &[usize::MAX / 4], &CreateOptions::new()).unwrap_err(),
        open_mode("w+", &bad).unwrap_err(),
    ] {
        assert!(error.to_string().starts_with(&format!("{}: ", bad.display())), "{error}");
        assert_eq!(error.path(), Some(&*bad));
    }
}

#[test]
fn errors_show_their_facts_when_debugged() {
    let error = Header::parse(b"").unwrap_err();
    assert_eq!(
        format!("{error:?}"),
        r#"Error { kind: Truncated, message: "starts with b\"\", expected b\"\\x93NUMPY\": it is empty", path: None, member: None, offset: None, io_error: None }"#
    );
    assert!(error.source().is_none());
}

/// An error and its sources, as programs print them.
fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}

#[test]
fn chains_of_errors_repeat_nothing() {
    let directory = directory();
    let missing = open(directory.path().join("none.npy")).unwrap_err();
    let system = missing.io_error().unwrap().to_string();
    assert_eq!(chain(&missing).matches(&system).count(), 1, "{}", chain(&missing));
    assert!(missing.source().is_none());
    // The source adds to the text and does not repeat it.
    let outer = Error::other(Outer(std::fmt::Error));
    assert_eq!(chain(&outer), format!("the outer error: {}", std::fmt::Error));
    let read = Header::read(Fails(|| std::io::Error::other(Outer(std::fmt::Error)))).unwrap_err();
    let text = format!("cannot read the header: the outer error: {}", std::fmt::Error);
    assert_eq!(chain(&read), text);
}

#[derive(Debug)]
struct Outer(std::fmt::Error);

impl std::fmt::Display for Outer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the outer error")
    }
}

impl std::error::Error for Outer {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// A reader that always fails.
struct Fails(fn() -> std::io::Error);

impl std::io::Read for Fails {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(self.0())
    }
}

#[test]
fn users_create_their_own_errors() {
    let error = Error::new(ErrorKind::Unsupported, "no tokens in '<f8'");
    assert_eq!(
        (error.to_string(), error.kind()),
        ("no tokens in '<f8'".to_owned(), ErrorKind::Unsupported)
    );
    assert!(error.get_ref().is_some() && error.io_error().is_none() && error.path().is_none());
    let error = Error::other(Outer(std::fmt::Error));
    assert_eq!(error.kind(), ErrorKind::Other);
    assert!(error.get_ref().unwrap().is::<Outer>());
    // I/O errors with a kind keep it.
    let ours = Error::other(Header::parse(b"PK").unwrap_err());
    assert_eq!(ours.kind(), ErrorKind::Corrupt);
    let error = read_missing().unwrap_err();
    assert_eq!((error.kind(), chain(&error)), (ErrorKind::NotFound, error.to_string()));
    assert_error(fail_boxed(), ErrorKind::Other, "boxed");
}

fn fail_boxed() -> npymap::Result<u8> {
    Err(Box::<dyn std::error::Error + Send + Sync>::from("boxed"))?
}

fn read_missing() -> npymap::Result<Vec<u8>> {
    Ok(std::fs::read("no such file")?)
}

#[test]
fn errors_convert_to_std_errors_and_back() {
    let directory = directory();
    let path = file(&directory, "a.npy", b"PK\x03\x04");
    let kinds = [
        (open(directory.path().join("none.npy")).unwrap_err(), std::io::ErrorKind::NotFound),
        (open(&path).unwrap_err(), std::io::ErrorKind::InvalidData),
        (Header::parse(b"\x93NUM").unwrap_err(), std::io::ErrorKind::UnexpectedEof),
        ("float65".parse::<DType>().unwrap_err(), std::io::ErrorKind::InvalidInput),
        (open(directory.path()).unwrap_err(), std::io::ErrorKind::Unsupported),
        (
            create(&path, "<f8", &[1], &CreateOptions::new()).unwrap_err(),
            std::io::ErrorKind::AlreadyExists,
        ),
        (
            Header::read(Fails(|| std::io::ErrorKind::PermissionDenied.into())).unwrap_err(),
            std::io::ErrorKind::PermissionDenied,
        ),
        (Error::other("else"), std::io::ErrorKind::Other),
    ];
    for (error, kind) in kinds {
        let (text, own, path) =
            (error.to_string(), error.kind(), error.path().map(ToOwned::to_owned));
        let standard = std::io::Error::from(error);
        assert_eq!((standard.to_string(), standard.kind()), (text.clone(), kind));
        let again = Error::from(standard);
        assert_eq!((again.to_string(), again.kind(), again.path()), (text, own, path.as_deref()));
    }
}

#[test]
fn debug_output_includes_the_message() {
    let directory = directory();
    let path = file(&directory, "a.bin", &npy("|u1", &[3], Order::C, b"abc")[1..]);
    let errors = [
        header_with(&OpenOptions::new().offset(1), &path).unwrap_err(),
        open(directory.path().join("none.npy")).unwrap_err(),
        Error::other("of a user's own"),
    ];
    for error in errors {
        let shown = format!("{error:?}");
        let parts = [
            format!("message: {:?}", error.message().to_string()),
            format!("kind: {:?}", error.kind()),
            format!("path: {:?}", error.path()),
            format!("offset: {:?}", error.offset()),
            format!("io_error: {:?}", error.io_error()),
        ];
        assert!(parts.iter().all(|part| shown.contains(part)), "{shown}");
    }
}

#[cfg(feature = "npz")]
#[test]
fn debug_output_includes_the_member() {
    let mut writer = npymap::npz::NpzWriter::new(std::io::Cursor::new(Vec::new()));
    writer.write("a", &npymap::ndarray::arr1(&[1_u8])).unwrap();
    let mut bytes = writer.into_inner().unwrap().into_inner();
    // Right after the name in the local header, which has no extra field.
    let magic = bytes.windows(6).position(|part| part == b"\x93NUMPY").unwrap();
    bytes[magic] = b'x';
    let npz = npymap::Npz::open(Source::bytes(bytes)).unwrap();
    let error = npz.get("a").unwrap_err();
    assert_eq!(error.member(), Some("a"));
    assert!(format!("{error:?}").contains("member: Some(\"a\")"), "{error:?}");
}

#[test]
fn mistakes_of_callers_are_not_damage() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("|u1", &[3], Order::C, b"abc"));
    let any = map(&path).and_then(npymap::open_any).unwrap();
    let text = "holds a single unnamed array: leave out the member";
    assert_error(any.get(Some("x")), ErrorKind::NotFound, &format!("{}: {text}", path.display()));
    let new = path.with_file_name("new.npy");
    for (result, kind) in [
        ("float65".parse::<DType>().map(drop), ErrorKind::InvalidInput),
        ("[('a', ".parse::<DType>().map(drop), ErrorKind::InvalidInput),
        (DType::of::<f32>().field("z").map(drop), ErrorKind::NotFound),
        (
            create(&new, "<f8", &[usize::MAX / 4], &CreateOptions::new()).map(drop),
            ErrorKind::InvalidInput,
        ),
        (create(&new, "<f8", &[1; 65], &CreateOptions::new()).map(drop), ErrorKind::InvalidInput),
        (
            MappedArray::zeros(&DType::of::<f64>(), &[usize::MAX / 4]).map(drop),
            ErrorKind::InvalidInput,
        ),
    ] {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
    }
    // The same errors in a file are damage.
    for header in [
        "{'descr': 'float65', 'fortran_order': False, 'shape': ()}".to_owned(),
        "{'descr': [('a', ".to_owned(),
        format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({},)}}", usize::MAX / 4),
        format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({})}}", "1,".repeat(65)),
    ] {
        let path = file(&directory, "b.npy", &crate::support::raw(&header, b""));
        let error = open(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    }
}

#[cfg(feature = "npz")]
#[test]
fn a_name_used_twice_in_a_writer_is_not_damage() {
    let mut writer = npymap::npz::NpzWriter::new(std::io::Cursor::new(Vec::new()));
    let array = npymap::ndarray::arr1(&[1_u8]);
    writer.write("a", &array).unwrap();
    let text = "a member `a` already exists: choose another name";
    assert_error(writer.write("a", &array), ErrorKind::InvalidInput, text);
}

#[test]
fn closures_return_any_error() {
    let directory = directory();
    let path = directory.path().join("log.npy");
    let mut log =
        npymap::Appender::create(&path, &DType::of::<u8>(), &[1], &CreateOptions::new()).unwrap();
    let error = log.append_parts(1, |_| std::fs::read("no such file").map(drop)).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::NotFound, Some(&*path)));
    let error = log.append_parts(1, |_| Err("a text")).unwrap_err();
    assert_eq!(
        (error.kind(), error.message().to_string()),
        (ErrorKind::Other, "a text".to_owned())
    );
    let mut batches = npymap::BatchOptions::new()
        .start([vec![0]], |_: &[usize], _: &mut Vec<u8>| Err(std::fmt::Error))
        .unwrap();
    let error = batches.next().unwrap().unwrap_err();
    assert!(error.error.get_ref().unwrap().is::<std::fmt::Error>());
    assert_eq!(error.to_string(), format!("batch 0, rows [0]: {}", std::fmt::Error));
    assert!(error.source().is_none(), "its text has it already");
}

#[test]
fn texts_show_numbers_and_no_internals() {
    let array = MappedArray::zeros(&"[('a', '|u1'), ('b', '<u2')]".parse().unwrap(), &[4]);
    let array = array.unwrap();
    let view = array.dyn_view().unwrap().field("b").unwrap().view::<npymap::Le<u16>>().unwrap();
    let error = view.as_ndarray::<Ix1>().unwrap_err();
    let text =
        "byte strides [3] cannot be expressed by ndarray: use the view, or copy with `to_ndarray`";
    assert!(is_error(&error, ErrorKind::ShapeMismatch, text), "{error}");
    let state = npymap::Sampler::shuffled(10, 1).state();
    let error = npymap::Sampler::shuffled(11, 1).resume(state).unwrap_err();
    let text = "a state at row 0 of epoch 0: expected the state of a sampler with the same rows, order and shard";
    assert_eq!(error.to_string(), text);
}

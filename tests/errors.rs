//! What every failure of a call or of the system says, and what sort it is;
//! `errors_format` has those of a file's contents.

use std::error::Error as _;
use std::fs::File;

use npymap::ndarray::{Ix1, Ix2};
use npymap::{
    Be, Bool, CreateOptions, DType, Error, ErrorKind, Header, Layout, MappedArray, Mode,
    OpenOptions, Order, Version,
};

use crate::modes::refusals;
use crate::support::{create, directory, file, npy, open, open_mode, refused};

/// Whether an error is of this sort and says this.
#[track_caller]
pub(crate) fn says<T>(result: Result<T, Error>, kind: ErrorKind, text: &str) {
    let Err(error) = result else { panic!("no error: {text}") };
    assert_eq!(error.to_string(), text);
    assert_eq!(error.kind(), kind, "{text}");
}

#[test]
fn an_error_is_one_word_and_goes_anywhere() {
    fn anywhere<T: std::error::Error + Send + Sync + 'static>() {}
    anywhere::<Error>();
    assert_eq!(size_of::<Error>(), size_of::<usize>());
    assert_eq!(size_of::<Option<Error>>(), size_of::<usize>());
}

#[test]
fn io_names_what_was_tried() {
    let directory = directory();
    let path = directory.path().join("none.npy");
    let error = open(&path).unwrap_err();
    let system = error.io_error().unwrap();
    assert_eq!(system.kind(), std::io::ErrorKind::NotFound);
    let text = format!("{}: cannot open: {system}", path.display());
    says(open(&path), ErrorKind::NotFound, &text);
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
    says(Header::read(Broken), ErrorKind::Io, "cannot read the header: broken");
    let header = Header::new(DType::of::<f64>(), &[3], Order::C).unwrap();
    says(header.write(Broken, None), ErrorKind::Io, "cannot write the header: broken");
}

#[test]
fn map_names_the_size() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("|u1", &[5], Order::C, b"hello"));
    let read_only = File::open(path).unwrap();
    // SAFETY: the file is the test's own.
    let refused = unsafe { OpenOptions::new().open_mut_file(&read_only) };
    let error = refused.unwrap_err();
    let text = format!("cannot map 5 bytes: {}", error.io_error().unwrap());
    says::<()>(Err(error), ErrorKind::Io, &text);
}

#[test]
fn not_regular_says_what_it_is() {
    let directory = directory();
    let path = directory.path();
    let text =
        format!("{}: is a directory, not a regular file: only those can be mapped", path.display());
    refused(OpenOptions::new().header(path), &text);
}

#[test]
fn short_file_and_short_buffer_count_bytes() {
    let directory = directory();
    let bytes = npy("<f8", &[3], Order::C, &[0; 23]);
    let path = file(&directory, "a.npy", &bytes);
    let text = "the elements end at byte 152 and the file at 151: it was truncated, or is still being written";
    says(open(&path), ErrorKind::Truncated, &format!("{}: {text}", path.display()));
    says(OpenOptions::new().read_file(&File::open(&path).unwrap()), ErrorKind::Truncated, text);
    refused(MappedArray::from_bytes(&bytes), "the elements end at byte 152 and the buffer at 151");
}

#[test]
fn encode_names_the_version_that_works() {
    let header = |descr: &str| Header::new(descr.parse().unwrap(), &[], Order::C).unwrap();
    refused(
        header(&format!("[('{}', '<f8')]", "x".repeat(70_000))).encode(Some(Version::V1)),
        "version 1.0 can't hold this header: it is too long; use 2.0, or let the version be chosen",
    );
    refused(
        header("[('整', '<f8')]").encode(Some(Version::V2)),
        "version 2.0 can't hold this header: a field name is not latin-1; use 3.0, or let the version be chosen",
    );
}

#[test]
fn lending_names_the_type_that_works() {
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
    let record =
        MappedArray::anonymous(&"[('a', '<f8'), ('b', '|u1')]".parse().unwrap(), &[]).unwrap();
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
            "elements lie at an address that is no multiple of 4, asked for `f32` in place: use `{works}`"
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
        "mode 'w+' makes a new array and needs its dtype and shape: use `MappedArray::create`";
    assert_eq!(
        (error.message().to_string(), error.kind()),
        (says.to_owned(), ErrorKind::InvalidInput)
    );
}

#[test]
fn exists_and_not_immutable_say_what_works() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("|u1", &[5], Order::C, b"hello"));
    let says = |text: &str| format!("{}: {text}", path.display());
    refused(
        create(&path, "<f8", &[1], &CreateOptions::new()),
        &says(
            "exists: choose another name, or allow it to be replaced with `CreateOptions::overwrite`",
        ),
    );
    refused(
        MappedArray::open_immutable(&path),
        &says(
            "may change while it is mapped: only a memfd sealed against writing and shrinking, or a file with fs-verity, can be opened without `unsafe`; use `MappedArray::open`, or `OpenOptions::read` for a copy",
        ),
    );
}

#[test]
fn the_path_is_named_once_and_first() {
    let directory = directory();
    let bad = file(&directory, "bad.npy", b"no array");
    let short = file(&directory, "short.npy", &npy("<f8", &[3], Order::C, b""));
    let none = directory.path().join("none.npy");
    for path in [&bad, &short, &none, &directory.path().to_owned()] {
        for error in refusals(path) {
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

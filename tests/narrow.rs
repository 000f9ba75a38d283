//! Files larger than a 32-bit address space.

use std::fs::File;
use std::path::PathBuf;

use npymap::{ArrayFile, ErrorKind, MappedArray, OpenOptions, Source, array::RawSpec};
use tempfile::TempDir;

use crate::support::{
    directory, file, is_error, open, open_copy_on_write, open_mut, open_mut_with, raw, read_with,
    text,
};

const GIB: u64 = 1 << 30;

/// A sparse array of 5 GiB, whose last byte is 7.
fn sparse(directory: &TempDir, descr: &str, shape: &str) -> PathBuf {
    let header = raw(&text(descr, shape, npymap::Order::C, 118), &[]);
    let path = file(directory, "large.npy", &header);
    let end = 128 + 5 * GIB;
    let large = File::options().write(true).open(&path).unwrap();
    large.set_len(end).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&large, &[7], end - 1).unwrap();
    path
}

#[test]
fn arrays_larger_than_the_address_space_are_rejected_in_every_way() {
    let directory = directory();
    for (descr, shape, expected) in [
        (
            "'|u1'",
            "(5368709120,)",
            "`shape` is `(5368709120,)`, expected axis lengths that this machine can address",
        ),
        (
            "'<f8'",
            "(671088640,)",
            "shape (671088640,) with elements of 8 bytes exceeds a 32-bit address space",
        ),
        (
            "'|u1'",
            "(5, 1073741824)",
            "shape (5, 1073741824) with elements of 1 byte exceeds a 32-bit address space",
        ),
    ] {
        let path = sparse(&directory, descr, shape);
        let expected = format!("{}: {expected}", path.display());
        let errors = [
            open(&path).map(drop),
            open_mut(&path).map(drop),
            open_copy_on_write(&path).map(drop),
            MappedArray::load(&path).map(drop),
            ArrayFile::open(&path).map(drop),
        ];
        for error in errors {
            assert_eq!(error.unwrap_err().to_string(), expected);
        }
    }
}

#[test]
fn an_addressable_array_that_cannot_be_mapped_is_an_error() {
    let directory = directory();
    let path = file(
        &directory,
        "a.npy",
        &raw(&text("'|u1'", "(1610612736,)", npymap::Order::C, 118), &[]),
    );
    File::options().write(true).open(&path).unwrap().set_len(128 + GIB + GIB / 2).unwrap();
    let mut mapped = Vec::new();
    let error = loop {
        match open(&path) {
            Ok(array) if mapped.len() < 3 => mapped.push(array),
            opened => break opened.unwrap_err(),
        }
    };
    assert!(is_error(&error, ErrorKind::Io, "cannot "), "{error}");
    assert!(error.to_string().starts_with(&format!("{}: ", path.display())));
}

#[test]
fn a_part_of_a_larger_file_is_mapped_and_read() {
    let directory = directory();
    let path = sparse(&directory, "'|u1'", "(5368709120,)");
    let options = OpenOptions::new()
        .raw(RawSpec::new("|u1".parse().unwrap()).shape(&[1024]).offset(128 + 5 * GIB - 1024));
    let mut array = open_mut_with(&options, &path).unwrap();
    assert_eq!(array.as_slice::<u8>().unwrap()[1023], 7);
    array.as_slice_mut::<u8>().unwrap()[0] = 9;
    array.element_writer().unwrap().write(&[1], &[8_u8]).unwrap();
    array.close().unwrap();
    let read =
        Source::open(&path).and_then(|source| ArrayFile::new(source, options.clone())).unwrap();
    assert_eq!(read.rows(..2).unwrap().as_slice::<u8>().unwrap(), [9, 8]);
    let rest = RawSpec::new("|u1".parse().unwrap()).offset(128);
    let error = read_with(&OpenOptions::new().raw(rest), &path).unwrap_err();
    assert!(error.to_string().contains("address"), "{error}");
}

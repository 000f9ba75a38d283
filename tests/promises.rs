//! Archives detect that their file changed between opening and use.

use std::fs::File;

use npymap::ndarray::{Array1, Ix1, arr1};
#[cfg(feature = "npz")]
use npymap::npz;
use npymap::{
    ErrorKind, MappedArray, OpenOptions, Result,
    array::RawSpec,
    ten::{self, Ten},
};

use crate::support::{directory, header_text_with, header_with, is_error, map, map_mut, walk_with};

/// Truncates a file to `len` bytes.
fn truncate(path: &std::path::Path, len: u64) {
    File::options().write(true).open(path).unwrap().set_len(len).unwrap();
}

/// Asserts an error that reports the file as too short.
fn assert_short<D: std::fmt::Debug>(found: Result<MappedArray<D>>) {
    let error = found.unwrap_err();
    assert!(is_error(&error, ErrorKind::Truncated, "the elements end at byte"), "{error}");
}

#[test]
#[cfg(feature = "npz")]
fn a_member_of_an_npz_truncated_after_opening_is_an_error() {
    let directory = directory();
    let path = directory.path().join("a.npz");
    npz::savez(&path, &[("x", &Array1::from_elem(4096, 0.5_f64))]).unwrap();
    let npz = map(&path).and_then(npymap::Npz::open).unwrap();
    let private = map(&path).unwrap().into_copy_on_write();
    let private = npymap::Npz::open(private).unwrap();
    assert_eq!(npz.get("x").unwrap().len(), 4096);
    truncate(&path, 4096);
    for found in [npz.get("x").map(drop), private.get("x").map(drop)] {
        let error = found.unwrap_err();
        let text = "the archive was modified since it was opened: open it again";
        assert!(is_error(&error, ErrorKind::Changed, text), "{error}");
    }
}

#[test]
fn an_array_of_a_ten_truncated_after_opening_is_an_error() {
    let directory = directory();
    let path = directory.path().join("a.ten");
    ten::TenWriteOptions::new().save(&path, &[&Array1::from_elem(4096, 0.5_f64)]).unwrap();
    let ten = map(&path).and_then(Ten::open).unwrap();
    let private = Ten::open(map(&path).unwrap().into_copy_on_write()).unwrap();
    assert_eq!(ten.get(0).unwrap().len(), 4096);
    truncate(&path, 4096);
    assert_short(ten.get(0));
    assert_short(private.get(0));
}

#[test]
fn raw_binary_has_no_header_to_read() {
    let spec = RawSpec::new("<f8".parse().unwrap());
    let options = OpenOptions::new().raw(spec);
    for error in [
        header_with(&options, "data/penguins.npy").map(drop).unwrap_err(),
        header_text_with(&options, "data/penguins.npy").map(drop).unwrap_err(),
        walk_with(&options, "data/penguins.npy").map(drop).unwrap_err(),
        options.read_ndarray_from::<f64, Ix1>(&[0_u8; 16][..]).map(drop).unwrap_err(),
    ] {
        assert!(error.to_string().contains("raw binary has no header"), "{error}");
    }
}

#[test]
fn open_any_detects_that_its_file_was_truncated() {
    let directory = directory();
    let path = directory.path().join("a.npy");
    npymap::WriteOptions::new().write(&path, &Array1::from_elem(4096, 0.5_f64)).unwrap();
    let file = map(&path).and_then(npymap::open_any).unwrap();
    assert_eq!(file.get(None).unwrap().len(), 4096);
    truncate(&path, 4096);
    assert_short(file.get(None));
}

#[test]
#[cfg(feature = "tar")]
fn a_member_of_a_tar_truncated_after_opening_is_an_error() {
    let directory = directory();
    let path = directory.path().join("a.tar");
    std::fs::write(&path, crate::tars::shard()).unwrap();
    let shard = map(&path).and_then(npymap::tar::TarFile::open).unwrap();
    let (offset, size) = {
        let member = shard.member("000000.npy").unwrap();
        (member.offset(), member.size())
    };
    shard.member("000000.npy").unwrap().open().unwrap();
    truncate(&path, offset + size - 1);
    assert_short(shard.member("000000.npy").unwrap().open());
}

#[test]
fn one_array_of_a_source_is_written_at_a_time() {
    let directory = directory();
    let path = directory.path().join("a.ten");
    ten::TenWriteOptions::new().save(&path, &[&arr1(&[1_i64, 2]), &arr1(&[3_i64])]).unwrap();
    let ten = map_mut(&path).and_then(Ten::open).unwrap();
    let (first, second) = (ten.get(0).unwrap(), ten.get(1).unwrap());
    let error = ten.get(0).unwrap_err().to_string();
    assert!(error.contains("bytes that no other array of the source covers"), "{error}");
    drop(second);
    let mut second = ten.get(1).unwrap();
    second.view_mut::<i64>().unwrap().set(0, 4).unwrap();

    // Read-only conversions still map the file, and so do their rows.
    let first = first.into_read_only().unwrap();
    let rows = first.rows().unwrap();
    drop(first);
    assert!(ten.get(0).is_err());
    drop(rows);
    assert!(ten.get(0).is_ok());
}

#[test]
#[cfg(feature = "npz")]
fn members_of_an_npz_are_not_written_in_place() {
    let directory = directory();
    let path = directory.path().join("a.npz");
    npz::savez(&path, &[("x", &arr1(&[0.5_f64; 3]))]).unwrap();
    let error = map_mut(&path).and_then(npymap::Npz::open).unwrap_err();
    assert!(error.to_string().contains("checksum of its member"), "{error}");
}

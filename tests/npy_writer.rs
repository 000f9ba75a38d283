//! New files that are written from bytes, in parts, for any dtype.

use std::fs;

use npymap::{
    CreateOptions, ErrorKind, Header, MappedArray, Order, npy::Version, write::NpyWriter,
};

use crate::support::{directory, file, is_error, names, npy};

#[test]
fn parts_of_any_length_make_the_file_of_numpy() {
    let directory = directory();
    let path = directory.path().join("a.npy");
    let elements: Vec<u8> = (0..96).collect();
    for descr in ["<f8", ">i4", "|S3", "<M8[us]", "[('x', '<u2'), ('y', '>c16', (2,))]", "|V1"] {
        for order in [Order::C, Order::F] {
            for version in [None, Some(Version::V1), Some(Version::V2), Some(Version::V3)] {
                let dtype = descr.parse().unwrap();
                let header = Header::new(dtype, &[2, 1], order).unwrap();
                let elements = elements.get(..2 * header.dtype.itemsize()).unwrap();
                let expected = [&*header.encode(version).unwrap().bytes, elements].concat();
                let options = CreateOptions::new().order(order).overwrite(true);
                let options = version.map_or(options.clone(), |version| options.version(version));
                for len in [1, 5, 1000] {
                    let mut writer = options.writer(&path, &header.dtype, &[2, 1]).unwrap();
                    assert_eq!(writer.remaining(), elements.len() as u64);
                    let parts = elements.chunks(len);
                    parts.for_each(|part| writer.write_bytes(part).unwrap());
                    assert_eq!(writer.remaining(), 0);
                    writer.commit().unwrap();
                    assert_eq!(fs::read(&path).unwrap(), expected);
                }
            }
        }
    }
    assert_eq!(names(directory.path()), ["a.npy"]);
}

fn write_bytes(to: npymap::Result<NpyWriter>, elements: &[u8]) {
    let mut to = to.unwrap();
    to.write_bytes(elements).unwrap();
    to.commit().unwrap();
}

#[test]
fn shapes_without_elements_and_axes_of_subarrays_are_written() {
    let directory = directory();
    let path = directory.path().join("a.npy");
    let (dtype, options) = ("('<u2', (2,))".parse().unwrap(), CreateOptions::new().overwrite(true));
    for (shape, elements) in [(&[][..], &[1, 0, 2, 0][..]), (&[0, 3], &[]), (&[1], &[1, 0, 2, 0])] {
        // NumPy does not write such a dtype, so the header is an error, as in `create`.
        assert!(options.writer(&path, &dtype, shape).is_err());
        let raw = options.clone().raw(3);
        write_bytes(raw.writer(&path, &dtype, shape), elements);
        assert_eq!(fs::read(&path).unwrap(), [&[0; 3], elements].concat());
    }
    for shape in [&[][..], &[0], &[3, 0]] {
        let elements = if shape.is_empty() { &b"abcd"[..] } else { &[] };
        write_bytes(options.writer(&path, &"|S4".parse().unwrap(), shape), elements);
        assert_eq!(fs::read(&path).unwrap(), npy("|S4", shape, Order::C, elements));
    }
}

#[test]
fn wrong_numbers_of_bytes_are_errors_and_leave_nothing() {
    let directory = directory();
    let path = directory.path().join("a.npy");
    let dtype = "<u2".parse().unwrap();
    let start = || CreateOptions::new().writer(&path, &dtype, &[2, 3]).unwrap();
    let mut writer = start();
    writer.write_bytes(&[0; 11]).unwrap();
    let error = writer.write_bytes(&[0; 2]).unwrap_err();
    let message = "1 byte too many for the elements of shape (2, 3)";
    assert!(is_error(&error, ErrorKind::ShapeMismatch, message), "{error}");
    assert!(error.to_string().starts_with(path.to_str().unwrap()));
    writer.write_bytes(&[7]).unwrap();
    assert_eq!(writer.remaining(), 0);
    drop(writer);

    let missing: [fn(NpyWriter) -> npymap::Result<()>; 2] =
        [NpyWriter::commit, NpyWriter::commit_sync];
    for commit in missing {
        let error = commit(start()).unwrap_err();
        let message = "12 bytes too few for the elements of shape (2, 3)";
        assert!(is_error(&error, ErrorKind::ShapeMismatch, message), "{error}");
    }
    assert!(names(directory.path()).is_empty());
}

#[test]
fn existing_files_are_replaced_only_if_that_is_allowed() {
    let directory = directory();
    let path = file(&directory, "a.npy", b"old");
    let (dtype, options) = ("|u1".parse().unwrap(), CreateOptions::new());
    let error = options.writer(&path, &dtype, &[2]).unwrap_err();
    assert!(is_error(&error, ErrorKind::AlreadyExists, "already exists"));
    let mut writer = options.overwrite(true).writer(&path, &dtype, &[2]).unwrap();
    writer.write_bytes(&[1, 2]).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"old");
    writer.commit_sync().unwrap();
    assert_eq!(MappedArray::load(&path).unwrap().as_slice::<u8>().unwrap(), [1, 2]);
    assert_eq!(names(directory.path()), ["a.npy"]);
}

//! New files contain a header and zeros, and are complete or absent.

use std::fs;
use std::path::Path;

use crate::support::{
    WIDE, create, directory, file, is_error, map_mut_file, names, native, npy, open, open_mut,
};
use npymap::{CreateOptions, ErrorKind, Header, MappedArray, Mode, Order, Source, npy::Version};
use tempfile::TempDir;

/// Options with a version and an order.
fn options(version: Option<Version>, order: Order) -> CreateOptions {
    let options = CreateOptions::new().order(order);
    match version {
        Some(version) => options.version(version),
        None => options,
    }
}

fn overwrite() -> CreateOptions {
    CreateOptions::new().overwrite(true)
}

/// The expected new file.
fn zeros(descr: &str, shape: &[usize], version: Option<Version>, order: Order) -> Vec<u8> {
    let header = Header::new(descr.parse().unwrap(), shape, order).unwrap();
    let mut bytes = header.encode(version).unwrap().bytes;
    let elements = shape.iter().product::<usize>() * header.dtype.itemsize();
    bytes.resize(bytes.len() + elements, 0);
    bytes
}

#[test]
fn new_files_are_a_header_and_zeros() {
    let directory = directory();
    let path = directory.path().join("a.npy");
    for version in [None, Some(Version::V1), Some(Version::V2), Some(Version::V3)] {
        for (descr, shape) in [
            ("<f8", &[3, 4][..]),
            (">i2", &[]),
            ("|b1", &[0]),
            ("<c16", &[3, 0, 2]),
            ("|V0", &[5]),
            ("[('a', '|u1'), ('b', '<f4', (3,))]", &[1000, 7]),
        ] {
            for order in [Order::C, Order::F] {
                let array = create(&path, descr, shape, &options(version, order)).unwrap();
                assert_eq!((array.mode(), array.path()), (Some(Mode::Create), Some(&*path)));
                assert_eq!(array.header().unwrap().order, order);
                assert_eq!(array.header().unwrap().version, version.unwrap_or(Version::V1));
                array.close().unwrap();
                assert_eq!(fs::read(&path).unwrap(), zeros(descr, shape, version, order));
                assert_eq!(names(directory.path()), ["a.npy"]);
                fs::remove_file(&path).unwrap();
            }
        }
    }
}

#[test]
fn a_name_that_is_not_latin1_needs_version_3() {
    let directory = directory();
    let path = directory.path().join("a.npy");
    let array = create(&path, "[('整', '<f8')]", &[2], &CreateOptions::new()).unwrap();
    assert_eq!(array.header().unwrap().version, Version::V3);
    assert_eq!(open(&path).unwrap().header(), array.header());
}

#[test]
fn stored_values_are_in_the_file() {
    let directory = directory();
    let path = directory.path().join("a.npy");
    let mut array = create(&path, "<u2", &[2, 2], &options(None, Order::F)).unwrap();
    array.as_ndarray_mut::<npymap::Le<u16>, npymap::ndarray::Ix2>().unwrap()[[1, 0]] =
        0x0102.into();
    assert_eq!(fs::read(&path).unwrap()[128..], [0, 0, 2, 1, 0, 0, 0, 0]);
    array.flush().unwrap();
    drop(array);
    assert_eq!(fs::read(&path).unwrap()[128..], [0, 0, 2, 1, 0, 0, 0, 0]);
}

/// A directory that contains one file, `a.npy`, with an array.
fn with_file() -> (TempDir, std::path::PathBuf, Vec<u8>) {
    let directory = directory();
    let bytes = npy("|u1", &[5], Order::C, b"hello");
    let path = file(&directory, "a.npy", &bytes);
    (directory, path, bytes)
}

/// Asserts that creating fails with this error and touches nothing.
fn assert_creation_fails(
    path: &Path,
    descr: &str,
    shape: &[usize],
    options: &CreateOptions,
    (kind, text): (ErrorKind, &str),
) {
    let directory = path.parent().unwrap();
    let before = contents(directory);
    let error = create(path, descr, shape, options).unwrap_err();
    assert!(is_error(&error, kind, text), "{error}");
    assert_eq!(error.path(), Some(path));
    assert_eq!(contents(directory), before, "{error}");
}

fn contents(directory: &Path) -> (Vec<String>, Vec<Option<Vec<u8>>>) {
    let names = names(directory);
    let contents: Vec<_> = names.iter().map(|name| fs::read(directory.join(name)).ok()).collect();
    (names, contents)
}

#[test]
fn wrong_arguments_touch_nothing() {
    let (_directory, old, _) = with_file();
    let long = format!("[('{}', '<f8')]", "x".repeat(70_000));
    let size = (ErrorKind::InvalidInput, "-bit address space");
    let axes = (ErrorKind::InvalidInput, "65 axes, NumPy arrays have at most 64");
    let dtype = (ErrorKind::InvalidInput, "dtype `(");
    let encode = (ErrorKind::InvalidInput, "cannot hold this header");
    for path in [&old, &old.with_file_name("new.npy")] {
        assert_creation_fails(path, "<f8", &[usize::MAX], &overwrite(), size);
        assert_creation_fails(path, "<f8", &[WIDE; 2], &overwrite(), size);
        assert_creation_fails(path, "<f8", &[1; 65], &overwrite(), axes);
        assert_creation_fails(path, "('<f8', (3,))", &[1], &overwrite(), dtype);
        assert_creation_fails(path, "[('整', '<f8')]", &[1], &with_version(Version::V1), encode);
        assert_creation_fails(path, "[('整', '<f8')]", &[1], &with_version(Version::V2), encode);
        assert_creation_fails(path, &long, &[1], &with_version(Version::V1), encode);
    }
}

fn with_version(version: Version) -> CreateOptions {
    overwrite().version(version).clone()
}

#[test]
fn existing_files_are_replaced_only_on_request() {
    let (_directory, path, _) = with_file();
    let exists = (ErrorKind::AlreadyExists, "already exists: choose another name");
    assert_creation_fails(&path, "<f8", &[3], &CreateOptions::new(), exists);
    assert_creation_fails(&path, "<f8", &[3], &CreateOptions::new().overwrite(false), exists);
}

#[test]
fn directories_are_neither_replaced_nor_created() {
    let (directory, path, _) = with_file();
    let inner = directory.path().join("inner");
    fs::create_dir(&inner).unwrap();
    let irregular = (ErrorKind::Unsupported, "is a directory, not a regular file");
    assert_creation_fails(&inner, "<f8", &[3], &overwrite(), irregular);
    let error = create(directory.path().join("no/a.npy"), "<f8", &[3], &overwrite()).unwrap_err();
    assert!(is_error(&error, ErrorKind::NotFound, "cannot create"), "{error}");
    let error = create(path.join("a.npy"), "<f8", &[3], &overwrite()).unwrap_err();
    // Windows reports such a path as not found.
    let kind = if cfg!(windows) { ErrorKind::NotFound } else { ErrorKind::Io };
    assert_eq!(error.kind(), kind, "a file is not a directory: {error}");
    assert_eq!(names(directory.path()), ["a.npy", "inner"]);
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[test]
fn an_array_larger_than_any_disk_is_an_error_and_leaves_nothing() {
    let (_directory, old, _) = with_file();
    for path in [&old, &old.with_file_name("new.npy")] {
        assert_creation_fails(
            path,
            "|u1",
            &[1 << 60],
            &overwrite(),
            (ErrorKind::Io, "cannot reserve space"),
        );
    }
}

#[cfg(unix)]
#[test]
fn a_replaced_file_remains_where_it_is_in_use() {
    let (directory, path, bytes) = with_file();
    let mut old = open_mut(&path).unwrap();
    let link = directory.path().join("link.npy");
    fs::hard_link(&path, &link).unwrap();
    let mut new = create(&path, &native("f8"), &[3], &overwrite()).unwrap();
    new.as_slice_mut::<f64>().unwrap()[2] = 1.5;
    assert_eq!(old.as_slice::<u8>().unwrap(), b"hello");
    assert_eq!(fs::read(&link).unwrap(), bytes);
    old.as_slice_mut::<u8>().unwrap()[0] = b'j';
    old.close().unwrap();
    assert_eq!(open(&link).unwrap().as_slice::<u8>().unwrap(), b"jello");
    assert_eq!(open(&path).unwrap().as_slice::<f64>().unwrap(), [0.0, 0.0, 1.5]);
    assert_eq!(names(directory.path()), ["a.npy", "link.npy"]);
}

#[cfg(not(unix))]
#[test]
fn a_file_in_use_is_not_replaced() {
    let (directory, path, bytes) = with_file();
    let old = open_mut(&path).unwrap();
    assert_creation_fails(&path, "<f8", &[3], &overwrite(), (ErrorKind::Io, "cannot replace"));
    drop(old);
    assert_eq!(fs::read(&path).unwrap(), bytes);
    assert_eq!(names(directory.path()), ["a.npy"]);
}

#[test]
fn any_file_can_be_replaced() {
    let directory = directory();
    let path = file(&directory, "a.npy", b"no array at all");
    drop(create(&path, "<f8", &[1], &overwrite()).unwrap());
    assert_eq!(fs::read(&path).unwrap(), zeros("<f8", &[1], None, Order::C));
}

#[cfg(unix)]
#[test]
fn permissions_are_those_of_the_replaced_file_or_the_default() {
    use std::os::unix::fs::PermissionsExt as _;
    let (directory, path, _) = with_file();
    let plain = permissions(&path);
    for bits in [0o640, 0o600, 0o444, 0o777] {
        fs::set_permissions(&path, fs::Permissions::from_mode(bits)).unwrap();
        drop(create(&path, "<f8", &[1], &overwrite()).unwrap());
        assert_eq!(permissions(&path), bits);
    }
    // A program that runs as its owner or group would run as the new ones.
    for bits in [0o4755, 0o2755, 0o6777] {
        fs::set_permissions(&path, fs::Permissions::from_mode(bits)).unwrap();
        drop(create(&path, "<f8", &[1], &overwrite()).unwrap());
        assert_eq!(permissions(&path), bits & 0o777);
    }
    let new = directory.path().join("new.npy");
    drop(create(&new, "<f8", &[1], &CreateOptions::new()).unwrap());
    assert_eq!(permissions(&new), plain);
}

#[cfg(target_os = "linux")]
#[test]
fn access_control_lists_are_those_of_the_old_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let (directory, path, _) = with_file();
    let entries = [(0x01, 6, !0), (0x02, 6, 1234), (0x04, 0, !0), (0x10, 6, !0), (0x20, 4, !0)];
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, bits, id) in entries {
        list.extend([u16::to_le_bytes(tag), u16::to_le_bytes(bits)].concat());
        list.extend(u32::to_le_bytes(id));
    }
    let flags = rustix::fs::XattrFlags::empty();
    if rustix::fs::setxattr(&path, "system.posix_acl_access", &list, flags).is_err() {
        return eprintln!("nothing was tested, the file system has no access control lists");
    }
    let found = || {
        let mut value = [0; 1024];
        let len = rustix::fs::getxattr(&path, "system.posix_acl_access", &mut value[..]);
        len.map(|len| value[..len].to_vec())
    };
    drop(create(&path, "<f8", &[1], &overwrite()).unwrap());
    assert_eq!(permissions(&path), 0o664);
    assert_eq!(found(), Ok(list.clone()));
    // New files get the list of the directory; a file that had lost it gets none.
    rustix::fs::setxattr(directory.path(), "system.posix_acl_default", &list, flags).unwrap();
    rustix::fs::removexattr(&path, "system.posix_acl_access").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    drop(create(&path, "<f8", &[1], &overwrite()).unwrap());
    assert_eq!(permissions(&path), 0o640);
    assert_eq!(found(), Err(rustix::io::Errno::NODATA));
}

#[cfg(unix)]
fn permissions(path: &Path) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions()) & 0o7777
}

#[cfg(unix)]
#[test]
fn links_are_followed() {
    let (directory, path, _) = with_file();
    let elsewhere = self::directory();
    let link = elsewhere.path().join("link.npy");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let array = create(&link, "<f8", &[1], &overwrite()).unwrap();
    assert_eq!(array.path(), Some(&*link));
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&path).unwrap(), zeros("<f8", &[1], None, Order::C));
    assert_eq!(
        (names(directory.path()), names(elsewhere.path())),
        (vec!["a.npy".into()], vec!["link.npy".into()])
    );
}

#[cfg(target_os = "linux")]
#[test]
fn space_is_reserved() {
    use std::os::unix::fs::MetadataExt as _;
    let directory = directory();
    let path = directory.path().join("a.npy");
    drop(create(&path, "<f8", &[1 << 20], &CreateOptions::new()).unwrap());
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!(metadata.len(), 128 + (8 << 20));
    assert!(metadata.blocks() * 512 >= metadata.len(), "{} blocks", metadata.blocks());
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[test]
fn sparse_files_take_no_space() {
    use std::os::unix::fs::MetadataExt as _;
    let directory = directory();
    let path = directory.path().join("a.npy");
    let options = CreateOptions::new().sparse(true);
    let mut array = create(&path, &native("f8"), &[1 << 30], &options).unwrap();
    array.as_slice_mut::<f64>().unwrap()[1 << 29] = 1.5;
    array.element_writer().unwrap().write(&[1 << 20], &[2.5_f64]).unwrap();
    assert_eq!(array.as_slice::<f64>().unwrap()[1 << 20..][..1], [2.5]);
    array.close().unwrap();
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!(metadata.len(), 128 + (8 << 30));
    assert!(metadata.blocks() * 512 < 64 << 20, "{} blocks", metadata.blocks());
}

#[test]
fn page_aligned_elements_start_at_a_page() {
    let directory = directory();
    let path = directory.path().join("a.npy");
    let options = CreateOptions::new().page_aligned(true);
    let array = create(&path, "<f8", &[3], &options).unwrap();
    assert_eq!(array.data_offset(), Some(4096));
    array.close().unwrap();
    let bytes = fs::read(&path).unwrap();
    assert_eq!(bytes.len(), 4096 + 24);
    assert_eq!(Header::parse(&bytes).unwrap().shape, [3]);
    let long = format!("[('{}', '<f8')]", "x".repeat(5000));
    let array = create(directory.path().join("b.npy"), &long, &[3], &options).unwrap();
    assert_eq!(array.data_offset(), Some(8192));
}

#[test]
fn an_unnamed_file_can_become_an_array() {
    let open_file = tempfile::tempfile().unwrap();
    let dtype = ">i2".parse().unwrap();
    CreateOptions::new().initialize(&open_file, &dtype, &[2]).unwrap();
    let mut array = map_mut_file(&open_file).and_then(MappedArray::from_source).unwrap();
    array.element_writer().unwrap().write(&[1], &[5_i16]).unwrap();
    array.close().unwrap();
    let array = Source::from_file(open_file.try_clone().unwrap())
        .and_then(MappedArray::from_source)
        .unwrap();
    assert_eq!(array.view::<i16>().unwrap().to_vec(), [0, 5]);
    let error = CreateOptions::new().initialize(&open_file, &dtype, &[2]).unwrap_err();
    assert!(is_error(&error, ErrorKind::AlreadyExists, "exists"), "{error}");
}

#[test]
fn a_path_without_a_directory_uses_the_current_one() {
    let name = format!("npymap-test-{}.npy", std::process::id());
    drop(create(&name, "<f8", &[1], &CreateOptions::new()).unwrap());
    let bytes = fs::read(&name);
    fs::remove_file(&name).unwrap();
    assert_eq!(bytes.unwrap(), zeros("<f8", &[1], None, Order::C));
}

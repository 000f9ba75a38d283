//! Owners, links, devices and pipes.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use super::*;

#[test]
fn a_replaced_file_keeps_its_permissions_and_owner() {
    let (directory, path) = scratch();
    WriteOptions::new().write(&path, &arr0(1_u8)).unwrap();
    let new = fs::metadata(&path).unwrap();
    let plain = File::create(directory.path().join("plain")).unwrap();
    assert_eq!(new.mode(), plain.metadata().unwrap().mode());
    for mode in [0o600, 0o640, 0o444] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        WriteOptions::new().write(&path, &arr0(2_u8)).unwrap();
        let now = fs::metadata(&path).unwrap();
        assert_eq!(now.mode() & 0o777, mode);
        assert_eq!((now.uid(), now.gid()), (new.uid(), new.gid()));
    }
    // Only root can change the owner of files.
    if std::os::unix::fs::chown(&path, Some(12_345), Some(54_321)).is_ok() {
        WriteOptions::new().write(&path, &arr0(2_u8)).unwrap();
        let now = fs::metadata(&path).unwrap();
        assert_eq!((now.uid(), now.gid()), (12_345, 54_321));
    }
}

#[test]
fn links_are_followed_even_if_dangling() {
    let (directory, path) = scratch();
    let [there, link, round] = ["there", "link", "round"].map(|name| directory.path().join(name));
    fs::create_dir(&there).unwrap();
    symlink("there/b.npy", &path).unwrap();
    symlink("a.npy", &link).unwrap();
    for value in [1_u8, 2] {
        WriteOptions::new().write(&link, &arr0(value)).unwrap();
        assert_eq!(names(directory.path()), ["a.npy", "link", "there"]);
        assert_eq!(names(&there), ["b.npy"]);
        let back: Array0<u8> = OpenOptions::new().read_ndarray(there.join("b.npy")).unwrap();
        assert_eq!(back.into_scalar(), value);
    }
    assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
    symlink("round", &round).unwrap();
    assert!(WriteOptions::new().write(&round, &arr0(1_u8)).is_err());
}

#[test]
fn devices_and_pipes_are_written_and_read_directly() {
    let options = WriteOptions::new().sync(true);
    options.write("/dev/null", &Array1::<f64>::zeros(100_000)).unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    let error = OpenOptions::new().read_ndarray::<f64, Ix1>("/dev/null").unwrap_err();
    assert!(is_error(&error, ErrorKind::Truncated, "it is empty"), "{error}");

    let (directory, path) = scratch();
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::from_bits_truncate(0o600))
        .unwrap();
    let array = Array1::from_iter((0..100_000).map(f64::from));
    for dtype in ["<f8", ">f8"] {
        let to_write = WithDType::new(&array, dtype.parse().unwrap());
        std::thread::scope(|scope| {
            scope.spawn(|| WriteOptions::new().write(&path, &to_write).unwrap());
            assert_eq!(OpenOptions::new().read_ndarray::<f64, Ix1>(&path).unwrap(), array);
        });
    }
    assert_eq!(names(directory.path()), ["a.npy"]);
}

/// Runs this test with its output in a file.
#[cfg(target_os = "linux")]
#[test]
fn standard_output_is_written_at_its_position() {
    const CHILD: &str = "NPYMAP_TEST_CHILD";
    if std::env::var_os(CHILD).is_some() {
        let mut out = io::stdout();
        out.write_all(b"before").unwrap();
        WriteOptions::new().write("/dev/stdout", &arr0(7_u8)).unwrap();
        out.write_all(b"after\n").unwrap();
        return;
    }
    let (_directory, path) = scratch();
    let test = "whole::unix::standard_output_is_written_at_its_position";
    let status = crate::support::command(&std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, "")
        .stdout(File::create(&path).unwrap())
        .status();
    assert!(status.unwrap().success());
    let expected = [b"before", &*written(&arr0(7_u8)), b"after"].concat();
    let out = fs::read(&path).unwrap();
    assert!(out.windows(expected.len()).any(|part| part == expected));
}

#[cfg(target_os = "linux")]
#[test]
fn an_open_descriptor_is_written_directly() {
    use std::os::fd::AsRawFd as _;
    let (directory, path) = scratch();
    let mut file = File::create(&path).unwrap();
    file.write_all(b"before").unwrap();
    let name = format!("/dev/fd/{}", file.as_raw_fd());
    WriteOptions::new().write(&name, &arr0(7_u8)).unwrap();
    let bytes = fs::read(&path).unwrap();
    assert_eq!(bytes.strip_prefix(b"before").unwrap(), written(&arr0(7_u8)));
    assert_eq!(file.metadata().unwrap().ino(), fs::metadata(&path).unwrap().ino());
    assert_eq!(names(directory.path()), ["a.npy"]);
}

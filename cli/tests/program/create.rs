//! `create` writes the same files as NumPy.

use std::fs;

use crate::run::{npymap, path_in, run_err, run_ok};

#[test]
fn arrays_are_zeros_or_a_value() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new.npy");
    let text = path.to_str().unwrap();
    run_ok(["create", text, "--shape", "(2, 2)"]);
    assert_eq!(run_ok(["get", text, ":"]), "[[0.0, 0.0],\n [0.0, 0.0]]\n");
    let options = ["--overwrite", "--dtype", ">i2", "--order", "F", "--version", "2.0"];
    run_ok(["create", text, "--shape", "(2, 1)", "--fill", "-3"].into_iter().chain(options));
    assert_eq!(run_ok(["get", text, ":"]), "[[-3],\n [-3]]\n");
    let info = run_ok(["info", "--json", text]);
    for part in [r#""version":[2,0]"#, r#""descr":"'>i2'""#, r#""fortran_order":true"#] {
        assert!(info.contains(part), "{info}");
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn files_can_be_sparse_and_start_at_a_page() {
    use std::os::unix::fs::MetadataExt as _;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new.npy");
    let text = path.to_str().unwrap();
    run_ok(["create", text, "--shape", "(10000, 4096)", "--sparse", "--page-aligned"]);
    assert!(run_ok(["info", "--json", text]).contains(r#""data_offset":4096"#));
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!(metadata.len(), 4096 + 10_000 * 4096 * 8);
    assert!(metadata.blocks() < 2048);
}

#[test]
fn an_existing_file_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new.npy");
    fs::write(&path, "mine").unwrap();
    let text = path.to_str().unwrap();
    let exists = format!(
        "error: {text}: already exists: choose another name, or replace it with --overwrite\n"
    );
    assert_eq!(run_err(1, ["create", text, "--shape", "3"]), exists);
    assert_eq!(run_err(1, ["create", text, "--shape", "3", "--fill", "1"]), exists);
    let refusal = run_err(
        1,
        ["create", text, "--dtype", "<f8", "--shape", "3", "--overwrite", "--fill", "x"],
    );
    assert_eq!(refusal, format!("error: {text}: `x`: expected a number, for '<f8'\n"));
    assert_eq!(fs::read(&path).unwrap(), b"mine");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn dtypes_have_the_names_of_numpy_and_ml_dtypes() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory, "new.npy");
    for (name, descr) in [
        ("float16", "e"),
        ("bfloat16", "V2"),
        ("float8_e4m3fn", "V1"),
        ("uint4", "V1"),
        ("complex64", "F"),
    ] {
        let info = |dtype| {
            run_ok(["create", &path, "--overwrite", "--shape", "4", "--dtype", dtype]);
            run_ok(["info", "--json", &path])
        };
        assert_eq!(info(name), info(descr), "{name}");
        let raw = |dtype| run_ok(["info", "--json", "--raw", dtype, "--offset", "128", &path]);
        assert_eq!(raw(name), raw(descr), "{name}");
        run_ok(["header", &path, "--dtype", name]);
    }
    assert_eq!(npymap(["create", &path, "--shape", "4", "--dtype", "bfloat8"]).code, Some(2));
}

#[test]
fn wrong_usage_is_2() {
    for arguments in [
        &["create", "x.npy"][..],
        &["create", "x.npy", "--shape", "(3"],
        &["create", "x.npy", "--shape", "3", "--dtype", "f3"],
        &["create", "x.npy", "--shape", "3", "--version", "4"],
        &["create", "x.npy", "--shape", "3", "--order", "A"],
    ] {
        assert_eq!(npymap(arguments).code, Some(2), "{arguments:?}");
    }
    let output = npymap(["create", "x.npy", "--shape", "3", "--dtype", "f3"]);
    assert!(output.err.contains("f3"), "{}", output.err);
}

/// Runs a command as root of a namespace that knows no other user.
#[cfg(target_os = "linux")]
fn run_as_other_root(arguments: &[&str]) -> std::io::Result<std::process::Output> {
    let mut unshare = std::process::Command::new("unshare");
    unshare.args(["--user", "--map-root-user"]).args(arguments).output()
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_of_a_user_that_a_container_does_not_know_is_replaced() {
    use std::os::unix::fs::PermissionsExt as _;

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.npy");
    std::fs::write(&path, "old").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
    let is_given = std::os::unix::fs::chown(&path, Some(12_345), Some(12_345)).is_ok();
    if !is_given || !run_as_other_root(&["true"]).is_ok_and(|output| output.status.success()) {
        return eprintln!("nothing was tested, files can't be given away");
    }
    let program = env!("CARGO_BIN_EXE_npymap");
    let text = path.to_str().unwrap();
    let output =
        run_as_other_root(&[program, "create", "--overwrite", "--shape", "3", text]).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o666);
    assert!(std::fs::read(&path).unwrap().starts_with(b"\x93NUMPY"));
}

//! `ls` lists arrays in files and directories.

use std::path::Path;

use serde_json::Value;

use crate::run::{command, copy_penguins, npymap, path_in, python, run_ok};

/// Creates a directory with two arrays, an archive of two, and one array in a
/// directory.
fn directory() -> Option<tempfile::TempDir> {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    std::fs::create_dir(root.join("run")).unwrap();
    copy_penguins(&root.join("run"));
    run_ok(["create", &path_in(root, "big.npy"), "--shape", "(1000, 3)", "--dtype", "f4"]);
    run_ok(["create", &path_in(root, "a.npy"), "--shape", "2", "--dtype", "u1"]);
    std::fs::write(root.join("notes.txt"), "not an array").unwrap();
    let script = "import numpy as np, sys
np.savez(sys.argv[1], **{'layers.0/w': np.zeros(7), 'head': np.zeros((2, 2), 'i2')})";
    python(script, &[&path_in(root, "w.npz")])?;
    Some(directory)
}

/// The names that `ls` prints in a directory, and its last line.
fn ls(directory: &Path, arguments: &[&str]) -> (Vec<String>, String) {
    let output = command().current_dir(directory).arg("ls").args(arguments).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines: Vec<_> = text.lines().collect();
    let total = lines.pop().unwrap().to_owned();
    let names = lines.iter().skip(1).map(|line| line.split_whitespace().next().unwrap().to_owned());
    (names.collect(), total.replace('\\', "/"))
}

#[test]
fn files_archives_and_directories_have_a_line_each() {
    let Some(directory) = directory() else { return };
    let (names, total) = ls(directory.path(), &[]);
    let run = format!("run{}", std::path::MAIN_SEPARATOR);
    assert_eq!(names, [&run, "a.npy", "big.npy", "w.npz"]);
    assert_eq!(total, "4 arrays in 3 files, 11.78 KiB");
    let (names, _) = ls(directory.path(), &["-r", "--sort", "size"]);
    let penguins = format!("{run}penguins.npy");
    let all = ["big.npy", &penguins, "w.npz[layers.0/w]", "w.npz[head]", "a.npy"];
    assert_eq!(names, ["big.npy", &penguins, all[2], all[3], all[4]].map(str::to_owned));
    assert_eq!(ls(directory.path(), &["-r", "--sort", "name"]).0.first().unwrap(), "a.npy");
}

#[test]
fn patterns_select_names() {
    let Some(directory) = directory() else { return };
    let root = directory.path();
    assert_eq!(ls(root, &["-r", "--match", "layers*"]).0, ["w.npz[layers.0/w]"]);
    assert_eq!(ls(root, &["--match", "b*.npy"]).0, ["big.npy"]);
    assert_eq!(
        ls(root, &["w.npz[he*]"]),
        (vec!["w.npz[head]".to_owned()], "1 array in 1 file, 8 B".to_owned())
    );
    assert_eq!(
        ls(root, &["--match", "nothing"]),
        (Vec::new(), "0 arrays in 0 files, 0 B".to_owned())
    );
    let info = run_ok(["info", &format!("{}[*]", path_in(root, "w.npz"))]);
    assert_eq!(info.lines().count(), 3, "{info}");
}

#[test]
fn json_has_a_line_for_each_array() {
    let Some(directory) = directory() else { return };
    let root = directory.path().to_str().unwrap();
    let lines = run_ok(["ls", "--json", "-r", root]);
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 5);
    assert!(lines.iter().all(|line| line["descr"].is_string()), "{lines:?}");
    let lines = run_ok(["ls", "--json", root]);
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["directory"], &lines[3]["arrays"]), (&true.into(), &2.into()));
}

/// On Linux, names are any bytes.
#[cfg(target_os = "linux")]
#[test]
fn json_has_names_that_are_not_utf_8() {
    use std::os::unix::ffi::OsStrExt as _;

    let Some(directory) = directory() else { return };
    let name = |bytes| directory.path().join(std::ffi::OsStr::from_bytes(bytes));
    std::fs::create_dir(name(b"\xffsub")).unwrap();
    std::fs::copy(directory.path().join("w.npz"), name(b"\xff.npz")).unwrap();
    let output = command().current_dir(directory.path()).args(["ls", "--json"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(
        lines.iter().any(|line| line["path"] == "./\u{fffd}sub" || line["path"] == "\u{fffd}sub")
    );
    assert_eq!(lines.len(), 6);
}

#[test]
fn what_cannot_be_listed_is_an_error_and_the_rest_is_listed() {
    let Some(directory) = directory() else { return };
    let root = directory.path();
    std::fs::write(root.join("x\u{1b}[2J.npy"), "damaged").unwrap();
    let output = npymap(["ls", root.to_str().unwrap(), "absent"]);
    assert_eq!(output.code, Some(1));
    assert_eq!(output.err.lines().count(), 2, "{}", output.err);
    assert!(output.out.contains("big.npy") && !output.err.contains('\u{1b}'), "{}", output.err);
}

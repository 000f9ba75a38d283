//! Whoever ends the program half-way finds nothing half-made.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::run::printed;

fn start<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Child {
    let mut command = crate::run::command();
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn names(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

#[test]
fn a_signal_leaves_no_file_without_a_name() {
    let directory = tempfile::tempdir().unwrap();
    let from = directory.path().join("from.npy").to_str().unwrap().to_owned();
    let to = directory.path().join("to.npy").to_str().unwrap().to_owned();
    let to_archive = directory.path().join("to.npz").to_str().unwrap().to_owned();
    printed(["create", &from, "--shape", "(2048, 2048)", "--sparse"]);
    for (round, (name, signal)) in [("INT", 2), ("TERM", 15)].iter().cycle().take(12).enumerate() {
        let create = ["create", "--shape", "(4096, 4096)", "--fill", "1", &to];
        let convert = ["convert", "--order", "F", &from, &to];
        let archive = ["convert", "--deflate", &from, &to_archive];
        let mut child = match round / 2 % 3 {
            0 => start(create),
            1 => start(convert),
            _ => start(archive),
        };
        // As soon as there is something to leave behind.
        while names(directory.path()).len() < 2 && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        assert!(names(directory.path()).len() <= 2, "one file is made, not two");
        Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap();
        let status = child.wait().unwrap();
        let left = names(directory.path());
        let made = left == ["from.npy", "to.npy"] || left == ["from.npy", "to.npz"];
        if status.success() {
            assert!(made, "{left:?}");
        } else {
            assert_eq!(status.signal(), Some(*signal));
            assert!(made || left == ["from.npy"], "{left:?}");
        }
        let _ = fs::remove_file(&to).or_else(|_| fs::remove_file(&to_archive));
    }
}

/// Runs the program with files limited to so many blocks of 512 bytes.
fn limited(blocks: u32, arguments: &[&str]) -> (Option<i32>, String) {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit -f {blocks}; exec \"$@\""), "sh"]);
    let output = shell.arg(env!("CARGO_BIN_EXE_npymap")).args(arguments).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_limit_on_file_sizes_is_an_error_and_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (log, rows, new) = (at("log.npy"), at("rows.npy"), at("new.npy"));
    printed(["create", &log, "--shape", "(10, 100)", "--fill", "1"]);
    printed(["create", &rows, "--shape", "(1000, 100)", "--fill", "2"]);
    let archive = at("log.npz");
    printed(["convert", &log, &archive]);
    let (list, member) = (at("new.ten"), format!("{archive}[arr_0]"));
    let before = [&log, &archive].map(|path| fs::read(path).unwrap());
    for arguments in [
        &["append", &log, &rows][..],
        &["create", &new, "--shape", "(1000, 100)"],
        &["create", &new, "--shape", "(1000, 100)", "--sparse", "--fill", "3"],
        &["create", &log, "--overwrite", "--shape", "(1000, 100)"],
        &["convert", &rows, &new, "--order", "F"],
        &["convert", &rows, &log, "--overwrite"],
        &["concat", &rows, &log, "-o", &new],
        &["concat", "--axis", "1", &rows, &rows, "-o", &new],
        &["convert", &rows, &archive, "--overwrite"],
        &["convert", &rows, &archive, "--overwrite", "--order", "F", "--deflate=0"],
        &["convert", &rows, &list],
        &["fill", &member, "3"],
        &["set", &member, "0", "3"],
    ] {
        let blocks = if arguments[0] == "fill" || arguments[0] == "set" { 10 } else { 200 };
        let (code, error) = limited(blocks, arguments);
        assert_eq!(code, Some(1), "{arguments:?}: {error}");
        assert!(error.contains("File too large"), "{arguments:?}: {error}");
        assert_eq!(names(directory.path()), ["log.npy", "log.npz", "rows.npy"], "{arguments:?}");
        assert!([&log, &archive].map(|path| fs::read(path).unwrap()) == before, "{arguments:?}");
    }
}

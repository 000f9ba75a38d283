//! Limits of the system on open files.
#![cfg(unix)]

use std::fs;
use std::process::Command;

use crate::run::{path_in, run_ok};

/// Runs a command of the shell first, which limits the program.
fn run_limited(limit: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let script = format!("{limit}; exec \"$0\" \"$@\"");
    let mut shell = Command::new("bash");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_npymap")]).args(arguments);
    let output = shell.output().unwrap();
    (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

#[test]
fn archives_take_more_files_than_can_be_open() {
    if std::env::var_os("NPYMAP_TEST_RUNNER").is_some() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let arrays = directory.path().join("arrays");
    fs::create_dir(&arrays).unwrap();
    let (mut files, mut archives) = (Vec::new(), Vec::new());
    let first = path_in(&arrays, "0.npy");
    run_ok(["create", &first, "--shape", "3", "--dtype", "<i2", "--arange"]);
    let bytes = fs::read(&first).unwrap();
    let (last, at) = (bytes.len() - 2, |number: u16| number.to_le_bytes());
    for number in 0..200 {
        let mut bytes = bytes.clone();
        bytes[last..].copy_from_slice(&at(number));
        let file = path_in(&arrays, &format!("{number}.npy"));
        fs::write(&file, bytes).unwrap();
        files.push(file);
    }
    let directory = directory.path();
    for (number, file) in files.iter().take(100).enumerate() {
        let archive = path_in(directory, &format!("{number}.npz"));
        let name = format!("m{number}");
        run_ok(["npz", "pack", file, "-o", &archive, "--name", &name]);
        archives.push(archive);
    }
    let [packed, again, added, merged] =
        ["packed.npz", "again.npz", "added.npz", "merged.npz"].map(|name| path_in(directory, name));
    run_ok(["npz", "pack", &files[7], "-o", &added, "--deflate"]);
    let texts = |texts: &[&str], all: &[String]| -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).chain(all.iter().cloned()).collect()
    };
    for arguments in [
        texts(&["npz", "pack", "-o", &packed], &files),
        texts(&["npz", "pack", "-o", &again, arrays.to_str().unwrap()], &[]),
        texts(&["npz", "add", "--overwrite", &added], &files),
        texts(&["npz", "pack", "--deflate", "-o", &merged], &archives),
        texts(&["npz", "add", "--overwrite", &merged], &archives),
    ] {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (code, text) = run_limited("ulimit -n 64", &arguments);
        assert_eq!(code, Some(0), "{text}");
    }
    for (archive, prefix, count) in
        [(&packed, "", 200), (&again, "", 200), (&added, "", 200), (&merged, "m", 100)]
    {
        run_ok(["npz", "verify", archive]);
        let listed = run_ok(["ls", "--json", archive]);
        assert_eq!(listed.lines().count(), count, "{archive}");
        for number in (0..count).step_by(33) {
            let member = format!("{archive}[{prefix}{number}]");
            assert_eq!(run_ok(["get", &member, "-1"]), format!("{number}\n"));
        }
    }
}

//! Interrupting the program leaves no unfinished files.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::run::{path_in, run_noting, run_ok};

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

/// Returns whether a process has a new file in a directory: one with a
/// temporary name, or an unnamed one, which `/proc` lists as deleted.
fn has_begun(child: &Child, directory: &Path) -> bool {
    let open = fs::read_dir(format!("/proc/{}/fd", child.id())).into_iter().flatten().flatten();
    let mut open = open.filter_map(|entry| fs::read_link(entry.path()).ok());
    names(directory).len() > 1
        || open.any(|path| {
            let is_deleted = path.to_str().is_some_and(|path| path.ends_with("(deleted)"));
            path.starts_with(directory) && is_deleted
        })
}

#[test]
fn a_signal_leaves_no_file_without_a_name() {
    let directory = tempfile::tempdir().unwrap();
    let from = directory.path().join("from.npy").to_str().unwrap().to_owned();
    let to = directory.path().join("to.npy").to_str().unwrap().to_owned();
    let to_archive = directory.path().join("to.npz").to_str().unwrap().to_owned();
    run_ok(["create", &from, "--shape", "(2048, 2048)", "--sparse"]);
    let signals = [("INT", 2), ("TERM", 15), ("HUP", 1)];
    for (round, (name, signal)) in signals.iter().cycle().take(18).enumerate() {
        let create = ["create", "--shape", "(4096, 4096)", "--fill", "1", &to];
        let convert = ["convert", "--order", "F", &from, &to];
        let archive = ["convert", "--deflate", &from, &to_archive];
        let mut child = match round / 3 % 3 {
            0 => start(create),
            1 => start(convert),
            _ => start(archive),
        };
        // As soon as the new file exists.
        while !has_begun(&child, directory.path()) && child.try_wait().unwrap().is_none() {
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

#[test]
fn a_signal_during_an_append_that_replaces_the_file_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log.npy");
    let row = directory.path().join("row.npy").to_str().unwrap().to_owned();
    run_ok(["create", &row, "--dtype", "u1", "--shape", "(1, 1000000)", "--fill", "1"]);
    // The header has no room for a second digit.
    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (9, 1000000), }\n";
    let len = u16::try_from(header.len()).unwrap().to_le_bytes();
    let before = [b"\x93NUMPY\x01\x00", &len[..], header.as_bytes(), &vec![7; 9_000_000]].concat();
    let mut interrupted = 0;
    for (round, name) in ["INT", "TERM", "HUP"].iter().cycle().take(3000).enumerate() {
        // On a busy machine, `append` may end before `kill` starts.
        if round >= 30 && interrupted > 0 {
            break;
        }
        fs::write(&log, &before).unwrap();
        let mut child = start(["append", log.to_str().unwrap(), &row]);
        // The signal comes later in each round.
        for _ in 0..round % 30 {
            while !has_begun(&child, directory.path()) && child.try_wait().unwrap().is_none() {
                std::thread::yield_now();
            }
            names(directory.path());
        }
        Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap();
        interrupted += u32::from(!child.wait().unwrap().success());
        assert_eq!(names(directory.path()), ["log.npy", "row.npy"]);
        let info = run_noting(["info", "--json", log.to_str().unwrap()]);
        assert!(info.contains(r#""shape":[9,"#) || info.contains(r#""shape":[10,"#), "{info}");
    }
    assert!(interrupted > 0);
}

/// Waits until a server got a request.
#[cfg(feature = "remote")]
fn wait_for(server: &crate::s3::S3, kind: crate::s3::Kind) {
    while server.count(kind) == 0 {
        std::thread::yield_now();
    }
}

#[test]
#[cfg(feature = "remote")]
fn a_signal_during_an_upload_removes_its_parts() {
    use std::time::{Duration, Instant};

    use crate::s3::{Answer, Kind, S3};

    let directory = tempfile::tempdir().unwrap();
    let from = path_in(&directory, "from.npy");
    run_ok(["create", &from, "--dtype", "u1", "--shape", "(50, 1000000)", "--fill", "1"]);
    let start = |server: &S3| {
        let mut command = crate::run::command();
        command.args(["convert", &from, "s3://bucket/a.npy"]);
        command.env("AWS_ENDPOINT", &server.endpoint).env("AWS_ALLOW_HTTP", "true");
        command.env("AWS_SKIP_SIGNATURE", "true").env("AWS_REGION", "us-east-1");
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let signal = |child: &Child| {
        Command::new("kill").args(["-s", "TERM", &child.id().to_string()]).status().unwrap();
    };
    // SIGINT is ignored in programs that a script runs in the background.
    for silent in [Kind::Part, Kind::Finish] {
        let server = S3::failing(
            move |_, kind| {
                if kind == silent { Answer::Nothing } else { Answer::Normal }
            },
        );
        let mut child = start(&server);
        wait_for(&server, silent);
        assert_eq!(server.objects().uploads.len(), 1);
        signal(&child);
        assert_eq!(child.wait().unwrap().signal(), Some(15));
        let bucket = server.objects();
        assert_eq!((bucket.objects.len(), bucket.uploads.len()), (0, 0), "{silent:?}");
    }
    // The second one does not wait for the server.
    let server = S3::failing(|_, kind| {
        if matches!(kind, Kind::Part | Kind::Abort) { Answer::Nothing } else { Answer::Normal }
    });
    let mut child = start(&server);
    wait_for(&server, Kind::Part);
    let sent = Instant::now();
    signal(&child);
    wait_for(&server, Kind::Abort);
    assert!(child.try_wait().unwrap().is_none(), "it waits for the answer");
    signal(&child);
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    assert!(sent.elapsed() < Duration::from_secs(9), "{:?}", sent.elapsed());
    // While nothing is sent, nothing is waited for.
    let server =
        S3::failing(|_, kind| if kind == Kind::Head { Answer::Nothing } else { Answer::Normal });
    let mut child = start(&server);
    wait_for(&server, Kind::Head);
    signal(&child);
    assert_eq!(child.wait().unwrap().signal(), Some(15));
}

#[test]
fn a_signal_that_is_ignored_stays_so() {
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("to.npy").to_str().unwrap().to_owned();
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_npymap")]);
    shell.args(["create", "--shape", "(4096, 4096)", "--fill", "1", &to]);
    let mut child = shell.spawn().unwrap();
    while !has_begun(&child, directory.path()) && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    Command::new("kill").args(["-s", "HUP", &child.id().to_string()]).status().unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(names(directory.path()), ["to.npy"]);
}

/// Runs the program with file sizes limited to `blocks` blocks of 512 bytes.
fn limited(blocks: u32, arguments: &[&str]) -> (Option<i32>, String) {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit -f {blocks}; exec \"$@\""), "sh"]);
    let output = shell.arg(env!("CARGO_BIN_EXE_npymap")).args(arguments).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_limit_on_file_sizes_is_an_error_and_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (log, rows, new) = (
        path_in(&directory, "log.npy"),
        path_in(&directory, "rows.npy"),
        path_in(&directory, "new.npy"),
    );
    run_ok(["create", &log, "--shape", "(10, 100)", "--fill", "1"]);
    run_ok(["create", &rows, "--shape", "(1000, 100)", "--fill", "2"]);
    let archive = path_in(&directory, "log.npz");
    run_ok(["convert", &log, &archive]);
    let (list, member) = (path_in(&directory, "new.ten"), format!("{archive}[arr_0]"));
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
        &["set", &member, ":", "3"],
        &["set", &member, "0", "3"],
    ] {
        let blocks = if arguments[0] == "set" { 10 } else { 200 };
        let (code, error) = limited(blocks, arguments);
        assert_eq!(code, Some(1), "{arguments:?}: {error}");
        assert!(error.contains("File too large"), "{arguments:?}: {error}");
        assert_eq!(names(directory.path()), ["log.npy", "log.npz", "rows.npy"], "{arguments:?}");
        assert!([&log, &archive].map(|path| fs::read(path).unwrap()) == before, "{arguments:?}");
    }
}

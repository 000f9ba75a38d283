//! Several processes write to one file, and no change is lost.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use npymap::source::{FileLock, LockKind, Locking};
use npymap::{ArrayFile, Npz, Source};

use crate::run::{copy_penguins, is_quick, path_in, run_err, run_ok};

/// Numbers in a row, some pages of them.
const WIDTH: usize = 20_000;

/// The number of rounds; `NPYMAP_TEST_ROUNDS` sets another.
fn rounds(all: usize) -> usize {
    let rounds = std::env::var("NPYMAP_TEST_ROUNDS").map_or(all, |text| text.parse().unwrap());
    if is_quick() { rounds.min(3) } else { rounds }
}

/// Creates an array of bytes.
fn create(directory: &Path, name: &str, shape: &str, fill: &str) -> String {
    let path = path_in(directory, name);
    run_ok(["create", &path, "--dtype", "u1", "--shape", shape, "--fill", fill]);
    path
}

fn start(arguments: &[&str]) -> Child {
    let mut command = crate::run::command();
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Starts the program with each list of arguments, and waits for all of them.
#[track_caller]
fn at_once(commands: &[&[&str]]) {
    let children: Vec<Child> = commands.iter().map(|arguments| start(arguments)).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{error}");
        assert!(error.lines().all(|line| line.contains("waiting for another process")), "{error}");
    }
}

/// The names of unfinished files in a directory.
fn unfinished(directory: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.to_str().unwrap().contains(".npymap-")).collect()
}

#[test]
fn no_concurrently_appended_row_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let log = create(directory.path(), "log.npy", "(0, 3)", "0");
    let empty = fs::read(&log).unwrap();
    let rows: Vec<_> = (1..=4)
        .map(|n| create(directory.path(), &format!("{n}.npy"), "(3,)", &n.to_string()))
        .collect();
    for _ in 0..rounds(10) {
        fs::write(&log, &empty).unwrap();
        let commands: Vec<_> = rows.iter().map(|row| ["append", &log, row]).collect();
        let commands: Vec<_> = commands.iter().map(|command| &command[..]).collect();
        at_once(&commands);
        let mut found = fs::read(&log).unwrap().split_off(128);
        found.sort_unstable();
        assert_eq!(found, [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]);
        assert!(run_ok(["info", "--json", &log]).contains(r#""shape":[4,3]"#));
    }
}

/// Writes a file whose header has no room for a second digit.
fn full_header(path: &str) {
    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (9,), }\n";
    let len = u16::try_from(header.len()).unwrap().to_le_bytes();
    let bytes = [b"\x93NUMPY\x01\x00", &len[..], header.as_bytes(), b"abcdefghi"].concat();
    fs::write(path, bytes).unwrap();
}

#[test]
fn elements_set_while_a_file_is_replaced_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let log = path_in(directory.path(), "log.npy");
    let row = create(directory.path(), "row.npy", "(1,)", "120");
    for _ in 0..rounds(14) {
        full_header(&log);
        at_once(&[
            &["set", &log, "0", "65"],
            &["append", &log, &row],
            &["set", &log, "8", "66"],
            &["append", &log, &row],
        ]);
        assert_eq!(fs::read(&log).unwrap()[128..], *b"AbcdefghBxx");
        assert_eq!(unfinished(directory.path()), Vec::<PathBuf>::new());
    }
}

#[test]
fn concurrent_edits_of_members_are_all_kept() {
    let directory = tempfile::tempdir().unwrap();
    let array = create(directory.path(), "a.npy", "(4,)", "0");
    let archive = path_in(directory.path(), "a.npz");
    run_ok(["convert", &array, &archive]);
    let before = fs::read(&archive).unwrap();
    let member = format!("{archive}[arr_0]");
    for _ in 0..rounds(10) {
        fs::write(&archive, &before).unwrap();
        at_once(&[
            &["set", &member, "0", "1"],
            &["set", &member, "1", "2"],
            &["set", &member, "3", "4"],
        ]);
        assert_eq!(run_ok(["get", &member, ":"]), "[1, 2, 0, 4]\n");
    }
}

/// Ends readers when it is dropped, also if a writer fails.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Reads the rows of a file until `is_done`: all are complete, and none vanishes.
fn read_rows(log: &str, is_done: &AtomicBool) {
    let mut last = 0;
    while !is_done.load(Ordering::Relaxed) {
        let array = ArrayFile::open(log).unwrap();
        let rows = array.shape()[0];
        assert!(rows >= last, "{rows} rows after {last}");
        last = rows;
        let bytes = array.read().unwrap();
        for row in bytes.as_bytes().unwrap().chunks_exact(WIDTH) {
            // `set` changes the first number of the first row.
            assert!(row[1..].iter().all(|byte| *byte == row[1]), "{row:?}");
        }
    }
}

#[test]
fn readers_beside_all_writers_see_complete_rows() {
    let directory = tempfile::tempdir().unwrap();
    let shape = format!("(1, {WIDTH})");
    let log = create(directory.path(), "log.npy", &shape, "9");
    let before = fs::read(&log).unwrap();
    let [one, two] = ["1", "2"].map(|n| create(directory.path(), &format!("{n}.npy"), &shape, n));
    for _ in 0..rounds(8) {
        fs::write(&log, &before).unwrap();
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let _done = Done(&is_done);
            scope.spawn(|| read_rows(&log, &is_done));
            at_once(&[
                &["append", &log, &one],
                &["recover", &log],
                &["set", &log, "0, 0", "65"],
                &["append", "--flush", &log, &two],
            ]);
        });
        let found = fs::read(&log).unwrap().split_off(128);
        let mut rows: Vec<_> = found.chunks(WIDTH).map(|row| (row[0], row[1])).collect();
        rows.sort_unstable();
        assert_eq!(rows, [(1, 1), (2, 2), (65, 9)]);
        assert_eq!(unfinished(directory.path()), Vec::<PathBuf>::new());
    }
}

/// Reads a file of rows until `is_done`: each byte is one that a writer wrote.
fn read_bytes(log: &str, is_done: &AtomicBool) {
    while !is_done.load(Ordering::Relaxed) {
        let bytes = ArrayFile::open(log).unwrap().read().unwrap();
        let mut bytes = bytes.as_bytes().unwrap().iter();
        assert!(bytes.all(|byte| [1, 2, 7, 9, 65].contains(byte)));
    }
}

#[test]
fn rows_appended_beside_set_are_set_or_not() {
    let directory = tempfile::tempdir().unwrap();
    let log = create(directory.path(), "log.npy", &format!("(2, {WIDTH})"), "9");
    let before = fs::read(&log).unwrap();
    let row = format!("(1, {WIDTH})");
    let [one, two] = ["1", "2"].map(|n| create(directory.path(), &format!("{n}.npy"), &row, n));
    for _ in 0..rounds(8) {
        fs::write(&log, &before).unwrap();
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let _done = Done(&is_done);
            scope.spawn(|| read_bytes(&log, &is_done));
            at_once(&[
                &["set", &log, ":", "7"],
                &["append", &log, &one],
                &["recover", &log],
                &["set", &log, "0, 0", "65"],
                &["append", &log, &two],
            ]);
        });
        let found = fs::read(&log).unwrap().split_off(128);
        let rows: Vec<_> = found.chunks(WIDTH).collect();
        assert_eq!(rows.len(), 4);
        assert!([7, 65].contains(&rows[0][0]));
        assert!(rows[0][1..].iter().chain(rows[1]).all(|byte| *byte == 7));
        assert!(rows[2..].iter().all(|row| row.iter().all(|byte| *byte == row[0])));
        let mut appended = [rows[2][0], rows[3][0]];
        appended.sort_unstable();
        assert!([[1, 2], [1, 7], [2, 7], [7, 7]].contains(&appended), "{appended:?}");
    }
}

/// The value of each member of an archive, all of whose elements are equal but
/// the first, which `set` changes.
fn member_values(archive: &str) -> BTreeMap<String, (u8, u8)> {
    let npz = Npz::open(Source::open(archive).unwrap()).unwrap();
    npz.members().try_for_each(|member| member.verify()).unwrap();
    let values = |name: &str| {
        let array = npz.get(name).unwrap();
        let bytes = array.as_bytes().unwrap();
        assert!(bytes[1..].iter().all(|byte| *byte == bytes[1]));
        (name.to_owned(), (bytes[0], bytes[1]))
    };
    npz.names().map(values).collect()
}

/// Reads an archive until `is_done`: it is always complete, with all members or
/// those that the writers added, removed or renamed.
fn read_archive(archive: &str, is_done: &AtomicBool) {
    while !is_done.load(Ordering::Relaxed) {
        let mut found = member_values(archive);
        assert!([(3, 3), (65, 3)].contains(&found.remove("changed").unwrap()));
        let moved = [found.remove("kept"), found.remove("moved")];
        assert!([[Some((2, 2)), None], [None, Some((2, 2))]].contains(&moved), "{moved:?}");
        let others = BTreeMap::from([("first", (1, 1)), ("old", (1, 1)), ("second", (2, 2))]);
        assert!(found.iter().all(|(name, value)| others[name.as_str()] == *value), "{found:?}");
    }
}

#[test]
fn archives_rewritten_together_lose_no_member_and_are_always_complete() {
    let directory = tempfile::tempdir().unwrap();
    let [one, two, three] = ["1", "2", "3"]
        .map(|n| create(directory.path(), &format!("{n}.npy"), &format!("({WIDTH},)"), n));
    let archive = path_in(directory.path(), "a.npz");
    let names = ["--name", "old", "--name", "kept", "--name", "changed"];
    run_ok(["npz", "pack", &one, &two, &three, "-o", &archive].iter().chain(&names));
    let before = fs::read(&archive).unwrap();
    for _ in 0..rounds(8) {
        fs::write(&archive, &before).unwrap();
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let _done = Done(&is_done);
            scope.spawn(|| read_archive(&archive, &is_done));
            at_once(&[
                &["npz", "add", &archive, &one, "--name", "first"],
                &["npz", "rm", &archive, "old"],
                &["npz", "mv", &archive, "kept", "moved"],
                &["set", &format!("{archive}[changed]"), "0", "65"],
                &["npz", "add", "--deflate", &archive, &two, "--name", "second"],
            ]);
        });
        let found = member_values(&archive).into_iter().collect::<Vec<_>>();
        let expected =
            [("changed", (65, 3)), ("first", (1, 1)), ("moved", (2, 2)), ("second", (2, 2))];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value)));
        assert_eq!(unfinished(directory.path()), Vec::<PathBuf>::new());
    }
}

#[test]
fn an_output_that_is_an_input_too_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let log = create(directory.path(), "log.npy", "(0,)", "0");
    let empty = fs::read(&log).unwrap();
    let [one, two] = ["1", "2"].map(|n| create(directory.path(), &format!("{n}.npy"), "(1,)", n));
    for _ in 0..rounds(8) {
        fs::write(&log, &empty).unwrap();
        at_once(&[
            &["concat", "--overwrite", &log, &one, "-o", &log],
            &["concat", "--overwrite", &log, &two, "-o", &log],
            &["append", &log, &one],
        ]);
        let mut found = fs::read(&log).unwrap().split_off(128);
        found.sort_unstable();
        assert_eq!(found, [1, 1, 2]);
    }
}

#[test]
fn waiting_for_a_locked_file_prints_a_note() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_penguins(directory.path());
    let text = path.to_str().unwrap();
    let other = path_in(directory.path(), "other.npy");
    fs::copy(&path, &other).unwrap();
    let before = fs::read(&path).unwrap();
    let lock = FileLock::acquire(&path, LockKind::Exclusive, Locking::Try).unwrap();
    let commands: [&[&str]; 5] = [
        &["append", text, &other],
        &["set", text, "0, 0", "7"],
        &["recover", text],
        &["convert", &other, text, "--overwrite"],
        &["create", text, "--overwrite", "--shape", "3"],
    ];
    for command in commands {
        let arguments = command.iter().copied().chain(["--no-wait"]);
        assert_eq!(
            run_err(1, arguments),
            format!(
                "error: {text}: is being written by another process: omit --no-wait to wait for it\n"
            )
        );
        assert_eq!(fs::read(&path).unwrap(), before);
    }
    let mut command = crate::run::command();
    command.args(["set", text, ":", "7"]).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut output = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut output).unwrap();
    assert_eq!(output, format!("note: {text}: waiting for another process that is writing it\n"));
    assert_eq!(fs::read(&path).unwrap(), before);
    drop(lock);
    assert!(child.wait().unwrap().success());
    assert_ne!(fs::read(&path).unwrap(), before);
}

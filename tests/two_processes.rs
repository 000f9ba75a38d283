//! Two processes share a file: they coordinate by locks, and one reads while
//! the other appends rows.
//!
//! The other process is this test program, selected by an environment variable;
//! it reads one command per line.
#![cfg(unix)]

use std::env;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use npymap::{
    Appender, ArrayFile, CreateOptions, DType,
    source::{FileLock, LockKind},
};

use crate::support::{command, directory, open};

const FILE: &str = "NPYMAP_TEST_OTHER_FILE";

/// Values per row.
const WIDTH: usize = 37;

fn row(number: usize) -> [u32; WIDTH] {
    [u32::try_from(number).unwrap(); WIDTH]
}

/// Runs commands, if this is the other process.
#[test]
fn child_process() {
    let Ok(path) = env::var(FILE).map(PathBuf::from) else { return };
    let mut lock = None;
    let mut appender = None;
    println!("ready");
    for line in std::io::stdin().lines() {
        let (verb, what) = line.as_deref().unwrap().split_once(' ').unwrap();
        let kind = if what == "shared" { LockKind::Shared } else { LockKind::Exclusive };
        let answer = match verb {
            "wait" => {
                lock = Some(FileLock::acquire(&path, kind).unwrap());
                fs::read_to_string(path.with_extension("txt")).unwrap()
            }
            "try" => {
                lock = open(&path).unwrap().try_lock(kind).unwrap();
                if lock.is_some() { "got" } else { "none" }.to_owned()
            }
            "drop" => {
                drop(lock.take());
                "dropped".to_owned()
            }
            "append" => {
                let appender = appender.get_or_insert_with(|| Appender::open(&path).unwrap());
                appender.append_slice(&row(appender.rows())).unwrap();
                appender.flush().unwrap();
                appender.rows().to_string()
            }
            other => panic!("{other}"),
        };
        println!("answer {answer}");
    }
}

/// The other process.
struct Other {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Other {
    fn start(path: &Path) -> Other {
        let mut child = command(&env::current_exe().unwrap());
        child.args(["--exact", "two_processes::child_process", "--nocapture"]).env(FILE, path);
        let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut other = Other { child, to, from: BufReader::new(from) };
        // Skip the output of the test harness.
        while other.line() != "ready" {}
        other
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.from.read_line(&mut line).unwrap() > 0, "the other process ended");
        line.trim_end().to_owned()
    }

    fn send(&mut self, what: &str) {
        writeln!(self.to, "{what}").unwrap();
    }

    fn receive(&mut self) -> String {
        self.line().strip_prefix("answer ").unwrap().to_owned()
    }

    fn ask(&mut self, what: &str) -> String {
        self.send(what);
        self.receive()
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Creates a file without rows.
fn log(directory: &tempfile::TempDir) -> PathBuf {
    let path = directory.path().join("log.npy");
    let options = CreateOptions::new();
    Appender::create(&path, &DType::of::<u32>(), &[WIDTH], &options).unwrap().close().unwrap();
    path
}

fn is_free(path: &Path, kind: LockKind) -> bool {
    FileLock::try_acquire(path, kind).unwrap().is_some()
}

#[test]
fn locks_are_seen_by_another_process() {
    let directory = directory();
    let path = log(&directory);
    let mut other = Other::start(&path);
    let own = FileLock::acquire(&path, LockKind::Shared).unwrap();
    assert_eq!(other.ask("try exclusive"), "none");
    assert_eq!(other.ask("try shared"), "got");
    assert!(is_free(&path, LockKind::Shared) && !is_free(&path, LockKind::Exclusive));
    drop(own);
    assert!(!is_free(&path, LockKind::Exclusive), "the other one reads");
    other.ask("drop lock");
    assert_eq!(other.ask("try exclusive"), "got");
    assert!(!is_free(&path, LockKind::Shared) && !is_free(&path, LockKind::Exclusive));
    let file = File::open(&path).unwrap();
    assert!(FileLock::try_acquire_file(&file, LockKind::Shared).unwrap().is_none());
    // When a process ends, its locks are released.
    drop(other);
    assert!(is_free(&path, LockKind::Exclusive));

    let own = FileLock::acquire_file(&file, LockKind::Exclusive).unwrap();
    let mut other = Other::start(&path);
    assert_eq!(other.ask("try shared"), "none");
    drop(own);
    assert_eq!(other.ask("try shared"), "got");
}

#[test]
fn a_lock_is_waited_for() {
    let directory = directory();
    let path = log(&directory);
    let (mut holder, mut waiter) = (Other::start(&path), Other::start(&path));
    for (held, wanted) in
        [("shared", "exclusive"), ("exclusive", "shared"), ("exclusive", "exclusive")]
    {
        let note = path.with_extension("txt");
        fs::write(&note, "too early").unwrap();
        assert_eq!(holder.ask(&format!("try {held}")), "got");
        waiter.send(&format!("wait {wanted}"));
        // Gives the waiting thread time to fail.
        for _ in 0..100 {
            assert!(!is_free(&path, LockKind::Exclusive));
        }
        fs::write(&note, "in time").unwrap();
        holder.ask("drop lock");
        assert_eq!(waiter.receive(), "in time", "{held}, {wanted}");
        waiter.ask("drop lock");
    }
}

#[test]
fn each_of_hundreds_of_rows_is_visible_once_flushed() {
    let directory = directory();
    let path = log(&directory);
    let mut writer = Other::start(&path);
    let mut held = Vec::new();
    for rows in 1..=600 {
        assert_eq!(writer.ask("append row"), rows.to_string());
        let array = open(&path).unwrap();
        assert_eq!(array.shape(), [rows, WIDTH]);
        let last = &array.as_slice::<u32>().unwrap()[(rows - 1) * WIDTH..];
        assert_eq!(last, row(rows - 1));
        let read = ArrayFile::open(&path).unwrap();
        let middle = (rows - 1) / 2;
        let values = read.rows(middle..=middle).unwrap();
        assert_eq!(values.as_slice::<u32>().unwrap(), row(middle));
        if rows % 40 == 0 {
            held.push(array);
        }
    }
    drop(writer);
    for array in held {
        array.check().unwrap();
        let values = array.as_slice::<u32>().unwrap();
        assert!(values.chunks_exact(WIDTH).enumerate().all(|(n, values)| values == row(n)));
    }
}

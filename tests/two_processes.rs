//! Two processes share a file: they coordinate by locks, and one reads while
//! the other appends rows.
//!
//! The other process is this test program, selected by an environment variable;
//! it reads one command per line.
#![cfg(unix)]

use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use npymap::loader::RaggedAppender;
use npymap::source::{FileLock, LockKind, Locking};
use npymap::write::RecoverOptions;
use npymap::{Appender, ArrayFile, CreateOptions, DType, MappedArray, OpenOptions};

use crate::support::{command, directory, open, quick};

const FILE: &str = "NPYMAP_TEST_OTHER_FILE";

/// Values per row.
const WIDTH: usize = 37;

/// Rows that a process appends in its turn.
const TURN: usize = 9;

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
                lock = FileLock::acquire(&path, kind, Locking::Wait).unwrap();
                fs::read_to_string(path.with_extension("txt")).unwrap()
            }
            "try" => {
                lock = match FileLock::acquire(&path, kind, Locking::Try) {
                    Err(error) if error.kind() == npymap::ErrorKind::Locked => None,
                    lock => lock.unwrap(),
                };
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
            "extend" => {
                let options = OpenOptions::new().locking(Locking::Wait);
                let mut appender = options.append(&path).unwrap().with_capacity(500);
                let mark = what.parse().unwrap();
                (0..TURN).try_for_each(|_| appender.append_slice(&row(mark))).unwrap();
                appender.close().unwrap();
                "extended".to_owned()
            }
            "start" => {
                let options = OpenOptions::new().locking(Locking::Wait);
                let (dtype, new) = (DType::of::<u32>(), CreateOptions::new());
                let mut log = options.append_or_create(&path, &dtype, &[WIDTH], &new).unwrap();
                (0..TURN).try_for_each(|_| log.append_slice(&row(what.parse().unwrap()))).unwrap();
                "started".to_owned()
            }
            "start-ragged" => {
                let options = OpenOptions::new().locking(Locking::Wait);
                let (dtype, new) = (DType::of::<u32>(), CreateOptions::new());
                let mut log = options
                    .append_or_create_ragged(&path, offsets(&path), &dtype, &[], &new)
                    .unwrap();
                let number: usize = what.parse().unwrap();
                (0..TURN).try_for_each(|_| log.append_slice(&row(number)[..number])).unwrap();
                "started".to_owned()
            }
            "recover" => {
                let options = OpenOptions::new().locking(Locking::Wait);
                RecoverOptions::new().open_options(options).recover(&path).unwrap();
                "recovered".to_owned()
            }
            "stream" => stream(&path),
            "ragged" => stream_ragged(&path),
            other => panic!("{other}"),
        };
        println!("answer {answer}");
    }
}

/// Appends rows until it is killed, and sends their number when they are flushed.
fn stream(path: &Path) -> ! {
    let mut appender = Appender::open(path).unwrap().with_capacity(500);
    loop {
        for _ in 0..=appender.rows() % 7 {
            appender.append_slice(&row(appender.rows())).unwrap();
        }
        appender.flush().unwrap();
        println!("answer {}", appender.rows());
    }
}

/// As `stream`, with rows of different lengths.
fn stream_ragged(path: &Path) -> ! {
    let mut appender = OpenOptions::new().append_ragged(path, offsets(path)).unwrap();
    loop {
        for _ in 0..=appender.rows() % 7 {
            let number = appender.rows();
            appender.append_slice(&row(number)[..number % WIDTH]).unwrap();
        }
        appender.flush().unwrap();
        println!("answer {}", appender.rows());
    }
}

/// The offsets of the ragged rows in a file.
fn offsets(path: &Path) -> PathBuf {
    path.with_file_name("offsets.npy")
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
        // Skip the output of the test harness, which on one processor is in the same line.
        while !other.line().ends_with("ready") {}
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
        // The test harness writes a line after a minute.
        loop {
            if let Some(answer) = self.line().strip_prefix("answer ") {
                return answer.to_owned();
            }
        }
    }

    fn ask(&mut self, what: &str) -> String {
        self.send(what);
        self.receive()
    }

    /// Kills the process, and returns the last number of rows that it has sent.
    fn kill(mut self) -> usize {
        self.child.kill().unwrap();
        let mut text = String::new();
        self.from.read_to_string(&mut text).unwrap();
        let complete = text.rsplit_once('\n').map_or("", |(lines, _)| lines);
        let last = complete.rsplit_once("answer ").map(|(_, rows)| rows.parse().unwrap());
        last.unwrap_or(0)
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
    FileLock::acquire(path, kind, Locking::Try).is_ok()
}

#[test]
fn locks_are_seen_by_another_process() {
    let directory = directory();
    let path = log(&directory);
    let mut other = Other::start(&path);
    let own = FileLock::acquire(&path, LockKind::Shared, Locking::Wait).unwrap();
    assert_eq!(other.ask("try exclusive"), "none");
    assert_eq!(other.ask("try shared"), "got");
    assert!(is_free(&path, LockKind::Shared) && !is_free(&path, LockKind::Exclusive));
    drop(own);
    assert!(!is_free(&path, LockKind::Exclusive), "the other one reads");
    other.ask("drop lock");
    assert_eq!(other.ask("try exclusive"), "got");
    assert!(!is_free(&path, LockKind::Shared) && !is_free(&path, LockKind::Exclusive));
    // When a process ends, its locks are released.
    drop(other);
    assert!(is_free(&path, LockKind::Exclusive));

    let own = FileLock::acquire(&path, LockKind::Exclusive, Locking::Try).unwrap();
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
        array.check_unchanged().unwrap();
        let values = array.as_slice::<u32>().unwrap();
        assert!(values.chunks_exact(WIDTH).enumerate().all(|(n, values)| values == row(n)));
    }
}

/// The number of times that a writer is killed in each directory.
fn kills() -> u64 {
    let usual = if quick() { 5 } else { 8 };
    env::var("NPYMAP_TEST_KILLS").map_or(usual, |text| text.parse().unwrap())
}

/// The number of rounds of several processes.
fn turns() -> usize {
    env::var("NPYMAP_TEST_ROUNDS").map_or(14, |text| text.parse().unwrap())
}

/// A directory on the disk, and one in memory if the system has a place for it.
fn directories() -> impl Iterator<Item = tempfile::TempDir> {
    let in_memory = tempfile::tempdir_in("/dev/shm").ok();
    std::iter::once(directory()).chain(in_memory)
}

/// Kills a process that streams rows at random moments, and calls `check` with
/// the number of rows that it had flushed.
fn kill_streams(path: &Path, command: &str, mut check: impl FnMut(usize)) {
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    for _ in 0..kills() {
        let mut other = Other::start(path);
        other.send(command);
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        std::thread::sleep(Duration::from_micros((random >> 33) % 5000));
        check(other.kill());
    }
}

#[test]
fn rows_flushed_before_a_kill_are_kept() {
    for directory in directories() {
        let path = log(&directory);
        let (empty, mut torn) = (fs::read(&path).unwrap(), 0);
        kill_streams(&path, "stream rows", |flushed| {
            let recovery = RecoverOptions::new().recover(&path).unwrap();
            torn += u32::from(!recovery.is_complete());
            let array = ArrayFile::open(&path).unwrap();
            let rows = array.shape()[0];
            assert!(rows >= flushed, "{rows} of {flushed} rows");
            let array = array.read().unwrap();
            let mut values = array.as_slice::<u32>().unwrap().chunks_exact(WIDTH).enumerate();
            assert!(values.all(|(number, values)| values == row(number)));
            if rows > 20_000 {
                fs::write(&path, &empty).unwrap();
            }
        });
        println!("{}: {} kills of writers, {torn} recovered", directory.path().display(), kills());
    }
}

/// Creates files without ragged rows.
fn create_ragged(path: &Path) {
    let options = CreateOptions::new().overwrite(true);
    let dtype = DType::of::<u32>();
    let new = RaggedAppender::create(path, offsets(path), &dtype, &[], &options);
    new.unwrap().close().unwrap();
}

#[test]
fn ragged_rows_flushed_before_a_kill_are_kept() {
    for directory in directories() {
        let path = directory.path().join("log.npy");
        create_ragged(&path);
        kill_streams(&path, "ragged rows", |flushed| {
            RaggedAppender::recover(&path, offsets(&path)).unwrap().close().unwrap();
            let [data, ends] =
                [path.clone(), offsets(&path)].map(|path| MappedArray::load(path).unwrap());
            let data = data.as_slice::<u32>().unwrap();
            // Offsets are little-endian on every host.
            let ends = ends.view::<i64>().unwrap().to_vec();
            assert!(ends.len() > flushed, "{} of {flushed} rows", ends.len() - 1);
            assert_eq!(*ends.last().unwrap() as usize, data.len());
            for (number, ends) in ends.windows(2).enumerate() {
                let values = &data[ends[0] as usize..ends[1] as usize];
                assert_eq!(values, &row(number)[..number % WIDTH]);
            }
            if ends.len() > 20_000 {
                create_ragged(&path);
            }
        });
        println!("{}: {} kills of ragged writers", directory.path().display(), kills());
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
fn read_rows(path: &Path, is_done: &AtomicBool) {
    let mut last = 0;
    while !is_done.load(Ordering::Relaxed) {
        let array = open(path).unwrap();
        let rows = array.shape()[0];
        assert!(rows >= last, "{rows} rows after {last}");
        last = rows;
        let values = array.as_slice::<u32>().unwrap();
        assert!(values.chunks_exact(WIDTH).all(|row| row.iter().all(|value| *value == row[0])));
    }
}

#[test]
fn appenders_that_wait_for_each_other_lose_no_row() {
    let directory = directory();
    let path = log(&directory);
    let empty = fs::read(&path).unwrap();
    let mut others: Vec<_> = (0..4).map(|_| Other::start(&path)).collect();
    for _ in 0..turns() {
        fs::write(&path, &empty).unwrap();
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let _done = Done(&is_done);
            scope.spawn(|| read_rows(&path, &is_done));
            for (other, command) in
                others.iter_mut().zip(["extend 1", "recover it", "extend 2", "extend 3"])
            {
                other.send(command);
            }
            for other in &mut others {
                assert!(["recovered", "extended"].contains(&&*other.receive()));
            }
        });
        let array = MappedArray::load(&path).unwrap();
        let mut marks: Vec<_> =
            array.as_slice::<u32>().unwrap().chunks(WIDTH).map(|row| row[0]).collect();
        marks.sort_unstable();
        assert_eq!(marks, [[1; TURN], [2; TURN], [3; TURN]].concat());
    }
}

/// Has eight processes start at once with no file, round after round, and calls `check`
/// after each.
fn start_together(command: &str, mut check: impl FnMut(&Path)) {
    let in_memory = tempfile::tempdir_in("/dev/shm");
    let directory = in_memory.unwrap_or_else(|_| directory());
    let path = directory.path().join("log.npy");
    let mut others: Vec<_> = (0..8).map(|_| Other::start(&path)).collect();
    for _ in 0..turns() {
        for (number, other) in others.iter_mut().enumerate() {
            other.send(&format!("{command} {number}"));
        }
        for other in &mut others {
            assert_eq!(other.receive(), "started");
        }
        check(&path);
        let entries = fs::read_dir(directory.path()).unwrap();
        entries.for_each(|entry| fs::remove_file(entry.unwrap().path()).unwrap());
    }
}

#[test]
fn processes_that_start_at_once_create_a_file_once() {
    start_together("start", |path| {
        let array = MappedArray::load(path).unwrap();
        assert_eq!(array.shape(), [8 * TURN, WIDTH]);
        let mut marks: Vec<_> =
            array.as_slice::<u32>().unwrap().chunks(WIDTH).map(|row| row[0]).collect();
        marks.sort_unstable();
        assert!(marks.chunks(TURN).zip(0..).all(|(own, number)| own == [number; TURN]));
    });
}

#[test]
fn processes_that_start_at_once_create_ragged_rows_once() {
    start_together("start-ragged", |path| {
        let log = OpenOptions::new().append_ragged(path, offsets(path)).unwrap();
        assert_eq!(log.rows(), 8 * TURN);
        let data = MappedArray::load(path).unwrap();
        let mut found = data.as_slice::<u32>().unwrap().to_vec();
        found.sort_unstable();
        let expected = (0..8_usize).flat_map(|number| vec![number as u32; number * TURN]);
        assert_eq!(found, expected.collect::<Vec<_>>());
    });
}

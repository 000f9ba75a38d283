//! Commands and the files that they work on, before and after.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::thread;

use npymap::{Header, write::RecoverOptions};

use crate::roles;
use crate::trace::{self, Action, Call, Tracer};

/// The files of a directory, by name.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// The promise of a command about its file if it does not finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Promise {
    /// All files are the old ones or the new ones.
    Atomic,
    /// Each element is the old one or the new one.
    Elements,
    /// Rows are added; after `recover`, they are the first of the new ones.
    Rows,
}

/// The data that a command waits for before it succeeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syncs {
    Nothing,
    /// Everything is on the disk.
    All,
}

/// A command to run in a scene. `@` in an argument is the directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub(crate) arguments: &'static [&'static str],
    pub(crate) promise: Promise,
    pub(crate) syncs: Syncs,
}

/// The file that commands change.
const FILE: &str = "file.npy";

/// The commands of the program that write files.
pub(crate) const COMMANDS: &[Job] = &[
    atomic(&["create", "@/new.npy", "--shape", "(9, 5)", "--fill", "3"]),
    atomic(&["create", "--overwrite", "--shape", "(9, 5)", "--fill", "3", "@/file.npy"]),
    atomic(&["create", "@/new.npy", "--shape", "(90, 500)", "--sparse"]),
    atomic(&[
        "convert",
        "--overwrite",
        "--order",
        "F",
        "--dtype",
        ">f4",
        "@/other.npy",
        "@/file.npy",
    ]),
    atomic(&["convert", "@/file.npz", "@/new.npz", "--deflate"]),
    atomic(&["convert", "--overwrite", "@/other.npy", "@/file.ten"]),
    atomic(&["concat", "--overwrite", "@/file.npy", "@/other.npy", "-o", "@/file.npy"]),
    atomic(&["shuffle", "--overwrite", "--seed", "7", "@/other.npy", "@/file.npy"]),
    atomic(&["sort", "--overwrite", "--by", ":", "--memory", "8K", "@/other.npy", "@/file.npy"]),
    atomic(&["unique", "@/file.npy", "--counts", "-o", "@/new.npy"]),
    atomic(&["sample", "@/file.npy", "-n", "3", "--seed", "1", "--output", "@/new.npy"]),
    atomic(&["set", "@/file.npz[arr_0]", "...", "7"]),
    flushed(&["append", "--flush", "@/full.npy", "@/byte.npy"], Promise::Rows),
    atomic(&["npz", "add", "@/file.npz", "@/other.npy", "@/byte.npy"]),
    atomic(&["npz", "mv", "@/file.npz", "arr_0", "first"]),
    atomic(&["npz", "rm", "@/two.npz", "file"]),
    atomic(&["npz", "pack", "--overwrite", "@/file.npy", "@/other.npy", "-o", "@/file.npz"]),
    atomic(&["npz", "recover", "@/torn.npz", "-o", "@/new.npz"]),
    Job { syncs: Syncs::Nothing, ..atomic(&["npz", "extract", "@/file.npz", "--directory", "@"]) },
    job(&["set", "@/file.npy", "2:5, 1", "7"], Promise::Elements),
    flushed(&["set", "--flush", "@/file.npy", "2:5, 1", "7"], Promise::Elements),
    flushed(&["set", "--flush", "@/file.npy", ":", "8"], Promise::Elements),
    flushed(&["set", "--flush", "@/file.ten[0]", "0", "7"], Promise::Elements),
    job(&["append", "@/file.npy", "@/other.npy"], Promise::Rows),
    flushed(&["append", "--flush", "@/file.npy", "@/other.npy"], Promise::Rows),
    flushed(&["recover", "@/torn.npy"], Promise::Rows),
];

pub(crate) const fn job(arguments: &'static [&'static str], promise: Promise) -> Job {
    Job { arguments, promise, syncs: Syncs::Nothing }
}

pub(crate) const fn flushed(arguments: &'static [&'static str], promise: Promise) -> Job {
    Job { syncs: Syncs::All, ..job(arguments, promise) }
}

pub(crate) const fn atomic(arguments: &'static [&'static str]) -> Job {
    flushed(arguments, Promise::Atomic)
}

/// A job with its files.
pub(crate) struct Scene {
    // Removed when the scene is dropped.
    _directory: tempfile::TempDir,
    root: PathBuf,
    pub(crate) job: Job,
    pub(crate) before: Files,
    pub(crate) after: Files,
}

/// How a command ended, and what it wrote to its standard error.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) error: String,
}

impl Scene {
    /// Creates the files in memory, where waiting for the disk takes no time, and
    /// runs the job once, to completion.
    pub(crate) fn new(job: Job) -> Scene {
        let in_memory = tempfile::tempdir_in("/dev/shm");
        Scene::at(job, in_memory.unwrap_or_else(|_| tempfile::tempdir().unwrap()))
    }

    /// As `new`, on the disk.
    pub(crate) fn on_disk(job: Job) -> Scene {
        Scene::at(job, tempfile::tempdir().unwrap())
    }

    fn at(job: Job, directory: tempfile::TempDir) -> Scene {
        let root = directory.path().canonicalize().unwrap();
        let (before, after) = (files(), Files::new());
        let mut scene = Scene { _directory: directory, root, job, before, after };
        scene.restore();
        let ended = scene.command().output().unwrap();
        assert!(ended.status.success(), "{job:?}: {}", String::from_utf8_lossy(&ended.stderr));
        scene.after = scene.files();
        assert!(scene.after != scene.before, "{job:?} changes nothing");
        scene.restore();
        scene
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    fn command(&self) -> Command {
        if let ["role", role] = self.job.arguments {
            return roles::command(role, &self.root);
        }
        let root = self.root.to_str().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_npymap"));
        command.args(self.job.arguments.iter().map(|argument| argument.replace('@', root)));
        command
    }

    /// Runs the job with a tracer.
    pub(crate) fn run(&self, tracer: &mut impl Tracer) -> io::Result<Ended> {
        let mut command = self.command();
        // A pipe has room for everything that a command writes.
        let (mut errors, writer) = io::pipe()?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(writer);
        let status = trace::run(&mut command, tracer)?;
        drop(command);
        let mut error = String::new();
        errors.read_to_string(&mut error)?;
        Ok(Ended { status, error })
    }

    /// Restores the files from before.
    pub(crate) fn restore(&self) {
        self.replace_files(&self.before);
    }

    pub(crate) fn replace_files(&self, files: &Files) {
        for name in names(&self.root) {
            if !files.contains_key(&name) {
                fs::remove_file(self.root.join(name)).unwrap();
            }
        }
        for (name, bytes) in files {
            fs::write(self.root.join(name), bytes).unwrap();
        }
    }

    pub(crate) fn files(&self) -> Files {
        let names = names(&self.root).into_iter();
        names.map(|name| (name.clone(), fs::read(self.root.join(name)).unwrap())).collect()
    }

    /// Removes unfinished files, at most one, and returns their number.
    pub(crate) fn remove_unfinished(&self) -> usize {
        let unfinished = names(&self.root).into_iter().filter(|name| name.starts_with(".npymap-"));
        let unfinished: Vec<_> = unfinished.collect();
        for name in &unfinished {
            fs::remove_file(self.root.join(name)).unwrap();
        }
        unfinished.len()
    }

    /// Checks the files that an unfinished job has left against its promise.
    pub(crate) fn check(&self) -> Result<(), String> {
        let found = self.files();
        if found == self.before || found == self.after {
            return Ok(());
        }
        match self.job.promise {
            Promise::Atomic => Err(format!("neither old nor new: {}", self.differences(&found))),
            Promise::Elements => self.check_elements(&found),
            Promise::Rows => self.check_rows(),
        }
    }

    /// Checks that each number is the old one or the new one.
    fn check_elements(&self, found: &Files) -> Result<(), String> {
        for (name, before) in &self.before {
            let (Some(found), after) = (found.get(name), &self.after[name]) else {
                return Err(format!("{name} is missing"));
            };
            let numbers = found.chunks(8).zip(before.chunks(8).zip(after.chunks(8)));
            let mut numbers = numbers.map(|(found, (old, new))| found == old || found == new);
            if found.len() != before.len() || !numbers.all(|is_known| is_known) {
                return Err(format!("{name} has other elements"));
            }
        }
        Ok(())
    }

    /// Recovers the changed file, and checks that it has all old rows and the
    /// first of the new ones, and nothing else.
    fn check_rows(&self) -> Result<(), String> {
        let path = self.root.join(self.changed().0);
        RecoverOptions::new().recover(&path).map_err(|error| error.to_string())?;
        let found = fs::read(&path).unwrap();
        let counted = counted_rows(&found).ok_or("its header counts rows that it does not have")?;
        if elements(&found) == counted {
            self.check_counted()
        } else {
            Err("it has more bytes".to_owned())
        }
    }

    /// Checks that the rows that the header of the changed file counts are all old
    /// ones and the first of the new ones.
    pub(crate) fn check_counted(&self) -> Result<(), String> {
        let (name, before) = self.changed();
        let found = fs::read(self.root.join(name)).unwrap();
        let old = counted_rows(before).unwrap();
        let counted = counted_rows(&found).ok_or("its header counts rows that it does not have")?;
        if counted.starts_with(old) && elements(&self.after[name]).starts_with(counted) {
            return Ok(());
        }
        Err(format!("{name} has {} bytes of rows, or other rows", counted.len()))
    }

    /// The file that the job changes.
    fn changed(&self) -> (&str, &[u8]) {
        let mut changed =
            self.before.iter().filter(|(name, bytes)| self.after.get(*name) != Some(bytes));
        let (name, bytes) = changed.next().unwrap();
        (name, bytes)
    }

    fn differences(&self, found: &Files) -> String {
        let sizes = |files: &Files| -> Vec<(String, usize)> {
            files.iter().map(|(name, bytes)| (name.clone(), bytes.len())).collect()
        };
        format!(
            "{:?}, before {:?}, after {:?}",
            sizes(found),
            sizes(&self.before),
            sizes(&self.after)
        )
    }
}

/// The bytes after the header of a file.
fn elements(file: &[u8]) -> &[u8] {
    Header::parse(file).map_or(&[], |header| &file[header.data_offset..])
}

/// The rows that a header counts; `None` if the file is shorter.
fn counted_rows(file: &[u8]) -> Option<&[u8]> {
    let nbytes = Header::parse(file).and_then(|header| header.layout()).ok()?.nbytes();
    elements(file).get(..nbytes)
}

fn names(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    names.map(|name| name.into_string().unwrap()).collect()
}

/// The files before each job.
fn files() -> Files {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_npymap")).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    run(&["create", &path(FILE), "--shape", "(6, 5)", "--fill", "1"]);
    run(&["create", &path("other.npy"), "--shape", "(400, 5)", "--fill", "2"]);
    run(&["create", &path("byte.npy"), "--shape", "(1,)", "--dtype", "u1", "--fill", "120"]);
    run(&["convert", &path(FILE), &path("file.npz")]);
    run(&["convert", &path(FILE), &path("file.ten")]);
    run(&["npz", "pack", &path(FILE), &path("byte.npy"), "-o", &path("two.npz")]);
    let mut files: Files = names(directory.path())
        .into_iter()
        .map(|name| (name.clone(), fs::read(directory.path().join(name)).unwrap()))
        .collect();
    // A writer died before it updated the header.
    let mut torn = files[FILE].clone();
    torn.extend_from_slice(&files["other.npy"][128..128 + 3 * 40 + 7]);
    files.insert("torn.npy".to_owned(), torn);
    // The directory of the archive is missing.
    let torn = files["two.npz"][..files["two.npz"].len() - 60].to_vec();
    files.insert("torn.npz".to_owned(), torn);
    // The header has no room for a second digit.
    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (9,), }\n";
    let len = u16::try_from(header.len()).unwrap().to_le_bytes();
    let full = [b"\x93NUMPY\x01\x00", &len[..], header.as_bytes(), b"abcdefghi"].concat();
    files.insert("full.npy".to_owned(), full);
    files
}

/// Lets every call happen.
struct Untouched;

impl Tracer for Untouched {
    fn before(&mut self, _: &Call) -> Action {
        Action::Continue
    }

    fn after(&mut self, _: &Call, _: i64) {}
}

/// Returns whether programs can be traced here, and prints why not.
fn can_trace() -> bool {
    match trace::run(&mut Command::new("true"), &mut Untouched) {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("nothing was tested, programs cannot be traced here: {error}");
            false
        }
    }
}

/// All jobs: those of the program, and those of the library.
fn jobs() -> impl Iterator<Item = Job> {
    COMMANDS.iter().chain(roles::ROLES).copied()
}

/// What was found to be wrong, and how many times a job was run.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) count: usize,
    pub(crate) wrong: Vec<String>,
}

/// Checks each job that fits, from one of the first [`step`] calls on, on all processors.
/// Fails if anything is wrong or if fewer than `least` runs were checked.
pub(crate) fn each_job(
    what: &str,
    least: usize,
    fits: impl Fn(&Job) -> bool,
    check: impl Fn(Job, usize, &mut Found) + Sync,
) {
    if !can_trace() {
        return;
    }
    let jobs: Vec<Job> = jobs().filter(fits).collect();
    let (jobs, found) = (Mutex::new(jobs.into_iter().enumerate()), Mutex::new(Found::default()));
    let next = || jobs.lock().unwrap().next();
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((number, job)) = next() {
                    let mut of_job = Found::default();
                    check(job, number % step(), &mut of_job);
                    let mut found = found.lock().unwrap();
                    found.count += of_job.count;
                    found.wrong.append(&mut of_job.wrong);
                }
            });
        }
    });
    let Found { count, wrong } = found.into_inner().unwrap();
    println!("{what}: {count}");
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= least, "only {count}");
}

/// The calls of a job at which something happens: every eighth one, or all with
/// `NPYMAP_TEST_FAULTS=all`.
pub(crate) fn step() -> usize {
    let all = std::env::var("NPYMAP_TEST_FAULTS").is_ok_and(|value| value == "all");
    if all { 1 } else { 8 }
}

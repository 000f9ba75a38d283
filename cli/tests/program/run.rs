//! Runs the program and captures its output.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// The output and exit status of the program.
#[derive(Debug)]
pub(crate) struct RunOutput {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: Option<i32>,
}

/// The program, without arguments. `NPYMAP_TEST_RUNNER` names the emulator to
/// run it with.
pub(crate) fn command() -> Command {
    let program = env!("CARGO_BIN_EXE_npymap");
    let runner = std::env::var("NPYMAP_TEST_RUNNER").unwrap_or_default();
    let mut words = runner.split_whitespace();
    let Some(first) = words.next() else { return Command::new(program) };
    let mut command = Command::new(first);
    command.args(words).arg(program);
    command
}

pub(crate) fn npymap<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> RunOutput {
    let Output { stdout, stderr, status } = output_of(command().args(arguments));
    RunOutput {
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
        code: status.code(),
    }
}

/// Runs a command. Wine sometimes cannot start a process, which is error 1359 of Windows:
/// then it is tried again.
fn output_of(command: &mut Command) -> Output {
    for _ in 0..4 {
        match command.output() {
            Err(error) if cfg!(windows) && error.raw_os_error() == Some(1359) => {}
            done => return done.unwrap(),
        }
    }
    command.output().unwrap()
}

/// Runs the program, which must succeed without messages, and returns its
/// output.
#[track_caller]
pub(crate) fn run_ok<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> String {
    let output = npymap(arguments);
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""), "{}", output.out);
    output.out
}

/// As [`run_ok`], for files that may have something after their array, which is noted.
#[track_caller]
pub(crate) fn run_noting<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> String {
    let output = npymap(arguments);
    let is_note = |line: &str| line.starts_with("note: ") && line.contains(" the array");
    assert!(output.code == Some(0) && output.err.lines().all(is_note), "{}", output.err);
    output.out
}

/// Runs the program, which must fail with this status and print nothing, and
/// returns its standard error.
#[track_caller]
pub(crate) fn run_err<A: AsRef<OsStr>>(
    status: i32,
    arguments: impl IntoIterator<Item = A>,
) -> String {
    let output = npymap(arguments);
    assert_eq!((output.code, output.out.as_str()), (Some(status), ""), "{}", output.err);
    output.err
}

/// The directory of the fixtures.
pub(crate) fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data")
}

/// Returns whether long tests are shortened: with `NPYMAP_TEST_QUICK=1`, on
/// emulated processors.
pub(crate) fn is_quick() -> bool {
    std::env::var("NPYMAP_TEST_QUICK").is_ok_and(|value| value == "1")
}

/// Returns whether nothing is left out to save time: with `NPYMAP_TEST_FAULTS=all`.
pub(crate) fn is_thorough() -> bool {
    std::env::var("NPYMAP_TEST_FAULTS").is_ok_and(|value| value == "all")
}

/// The size of an input: in short tests, usually, and if nothing is left out.
pub(crate) fn size<T>(short: T, usual: T, all: T) -> T {
    match () {
        () if is_quick() => short,
        () if is_thorough() => all,
        () => usual,
    }
}

/// All items, or one in 16 if tests are shortened.
pub(crate) fn shortened<T>(all: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    all.into_iter().step_by(if is_quick() { 16 } else { 1 })
}

/// The fixtures that NumPy opens, with the facts it reports.
pub(crate) fn fixtures() -> impl Iterator<Item = (PathBuf, Value)> {
    let text = std::fs::read_to_string(data().join("expect.jsonl")).unwrap();
    let cases: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let opened = cases.into_iter().filter(|case| case["ok"] == true && is_addressable(case));
    opened.map(|case| (data().join(case["path"].as_str().unwrap()), case))
}

/// Returns whether this machine can address an array: the facts are from a NumPy
/// with 64-bit pointers.
fn is_addressable(case: &Value) -> bool {
    let shape = case["shape"].as_array().into_iter().flatten();
    shape.filter_map(Value::as_u64).all(|dim| isize::try_from(dim).is_ok())
}

/// The path of a file in a directory, as text.
pub(crate) fn path_in(directory: impl AsRef<Path>, name: &str) -> String {
    directory.as_ref().join(name).to_str().unwrap().to_owned()
}

/// Copies the penguins data to a file that may be changed.
pub(crate) fn copy_penguins(directory: &Path) -> PathBuf {
    let path = directory.join("penguins.npy");
    std::fs::copy(data().join("../../data/penguins.npy"), &path).unwrap();
    path
}

/// The output of a Python program; `None` if Python or NumPy is not installed.
/// `NPYMAP_PYTHON` names another interpreter than `python3`.
pub(crate) fn python(script: &str, arguments: &[&str]) -> Option<String> {
    let python = std::env::var("NPYMAP_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let numpy = Command::new(&python).args(["-c", "import numpy"]).output();
    if !numpy.is_ok_and(|numpy| numpy.status.success()) {
        eprintln!("nothing was compared, {python} has no numpy");
        return None;
    }
    let run = Command::new(&python).args(["-c", script]).args(arguments).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    Some(String::from_utf8(run.stdout).unwrap())
}

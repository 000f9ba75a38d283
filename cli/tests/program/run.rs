//! Runs the program and takes what it said.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// What the program said, and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: Option<i32>,
}

/// The program, yet without arguments; where its processor is emulated,
/// `NPYMAP_TEST_RUNNER` says by what.
pub(crate) fn command() -> Command {
    let program = env!("CARGO_BIN_EXE_npymap");
    let runner = std::env::var("NPYMAP_TEST_RUNNER").unwrap_or_default();
    let mut words = runner.split_whitespace();
    let Some(first) = words.next() else { return Command::new(program) };
    let mut command = Command::new(first);
    command.args(words).arg(program);
    command
}

pub(crate) fn npymap<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Said {
    let run = command().args(arguments).output();
    let Output { stdout, stderr, status } = run.unwrap();
    Said {
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
        code: status.code(),
    }
}

/// What it printed, when all went well.
#[track_caller]
pub(crate) fn printed<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> String {
    let said = npymap(arguments);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{}", said.out);
    said.out
}

/// What it said on standard error, when it failed with this status.
#[track_caller]
pub(crate) fn refused<A: AsRef<OsStr>>(
    status: i32,
    arguments: impl IntoIterator<Item = A>,
) -> String {
    let said = npymap(arguments);
    assert_eq!((said.code, said.out.as_str()), (Some(status), ""), "{}", said.err);
    said.err
}

/// The fixtures the library is held against.
pub(crate) fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data")
}

/// Whether the parts that take long are left out: with `NPYMAP_TEST_QUICK=1`,
/// where processors are emulated.
pub(crate) fn quick() -> bool {
    std::env::var("NPYMAP_TEST_QUICK").is_ok_and(|value| value == "1")
}

/// Each of these, or one in 16.
pub(crate) fn some<T>(all: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    all.into_iter().step_by(if quick() { 16 } else { 1 })
}

/// What NumPy says of each fixture it opens.
pub(crate) fn fixtures() -> impl Iterator<Item = (PathBuf, Value)> {
    let text = std::fs::read_to_string(data().join("expect.jsonl")).unwrap();
    let cases: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // NumPy was asked where pointers have 64 bits.
    let fits = |case: &Value| {
        let shape = case["shape"].as_array().into_iter().flatten();
        shape.filter_map(Value::as_u64).all(|dim| isize::try_from(dim).is_ok())
    };
    let opened = cases.into_iter().filter(move |case| case["ok"] == true && fits(case));
    opened.map(|case| (data().join(case["path"].as_str().unwrap()), case))
}

/// The penguins, to be changed.
pub(crate) fn penguins(directory: &Path) -> PathBuf {
    let path = directory.join("penguins.npy");
    std::fs::copy(data().join("../../data/penguins.npy"), &path).unwrap();
    path
}

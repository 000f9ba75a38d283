//! The examples in the help of every command run.
#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use tempfile::TempDir;

use crate::run::{copy_penguins, run_ok};

/// The help of every command, by its words: `npz add`.
fn helps() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open = vec![String::new()];
    while let Some(command) = open.pop() {
        let words = command.split_whitespace().chain(["--help"]);
        let help = run_ok(words);
        let inner = help.split("\nCommands:\n").nth(1).unwrap_or("");
        let inner = inner.split("\n\n").next().unwrap_or("");
        let inner =
            inner.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
        // Descriptions are indented further.
        let inner = inner.filter(|name| name.chars().all(|c| c.is_ascii_lowercase()));
        let names: BTreeSet<&str> = inner.filter(|name| *name != "help").collect();
        let is_leaf = names.is_empty();
        open.extend(names.iter().map(|name| format!("{command} {name}")));
        if is_leaf {
            found.push((command.trim().to_owned(), help));
        }
    }
    found
}

/// The lines under `Examples:`.
fn examples(help: &str) -> Vec<String> {
    let part = help.split("\nExamples:\n").nth(1).unwrap_or("").split("\n\n").next().unwrap_or("");
    let lines = part.lines().filter_map(|line| line.strip_prefix("  "));
    lines.map(str::to_owned).collect()
}

/// Runs a script, and returns its exit status and its errors.
fn run_script(directory: &Path, script: &str) -> (Option<i32>, String) {
    let program = Path::new(env!("CARGO_BIN_EXE_npymap")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("sh");
    shell.args(["-ec", script]).current_dir(directory);
    shell.env("PATH", format!("{}:{path}", program.display())).env("HOME", directory);
    let output = shell.output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Makes the files that examples name.
fn prepare() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    copy_penguins(directory.path());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/examples.sh");
    let prepared = run_script(directory.path(), &std::fs::read_to_string(script).unwrap());
    assert_eq!(prepared, (Some(0), String::new()));
    directory
}

/// The files and directories in a directory, and the sizes and times of files.
type Files = BTreeMap<PathBuf, Option<(u64, SystemTime)>>;

fn files(directory: &Path) -> Files {
    let mut found = Files::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let metadata = path.symlink_metadata().unwrap();
        let facts = metadata.is_file().then(|| (metadata.len(), metadata.modified().unwrap()));
        if metadata.is_dir() {
            found.append(&mut files(&path));
        }
        found.insert(path, facts);
    }
    found
}

/// Removes new files, and returns whether the others are as before.
fn restore(directory: &Path, before: &Files) -> bool {
    // Files come after their directory.
    for (path, facts) in files(directory).iter().rev() {
        if !before.contains_key(path) {
            let remove = if facts.is_some() { std::fs::remove_file } else { std::fs::remove_dir };
            remove(path).unwrap();
        }
    }
    files(directory) == *before
}

/// A copy of a directory.
fn copy(prepared: &Path) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let mut copy = Command::new("cp");
    copy.arg("-a").arg(prepared.join(".")).arg(directory.path());
    assert!(copy.status().unwrap().success());
    directory
}

/// Runs an example in a directory, without the files that it creates.
fn run_example(command: &str, example: &str, directory: &Path) {
    let (mut code, mut error) = run_script(directory, example);
    while let Some((path, _)) = error.split_once(": already exists") {
        let path = path.strip_prefix("error: ").unwrap();
        std::fs::remove_file(directory.join(path)).unwrap();
        (code, error) = run_script(directory, example);
    }
    // These exit with 1 if arrays differ, or a member is damaged.
    let may_be_1 = ["diff", "ls", "npz verify"].contains(&command);
    // Some write gigabytes, in a sparse file.
    let is_too_large =
        cfg!(target_pointer_width = "32") && error.contains("exceeds a 32-bit address space");
    assert!(code == Some(0) || (may_be_1 || is_too_large) && code == Some(1), "{example}: {error}");
}

#[test]
fn every_command_has_examples_that_run() {
    if std::env::var_os("NPYMAP_TEST_RUNNER").is_some() {
        return eprintln!("nothing was run, the examples call the program by its name");
    }
    let helps = helps();
    assert!(helps.len() > 25, "{}", helps.len());
    let prepared = prepare();
    // Copied again after an example that changes its files, which takes longer than the example.
    let mut directory = copy(prepared.path());
    let mut before = files(directory.path());
    for (command, help) in helps {
        let examples = examples(&help);
        let is_named = examples.iter().any(|line| line.contains(&format!("npymap {command}")));
        assert!(is_named && help.contains("\nExit status: "), "{help}");
        assert!(help.lines().next().is_some_and(|line| line.len() <= 100), "{help}");
        for example in examples {
            let needs_jq = example.contains(" | jq ");
            if !needs_jq || Command::new("jq").arg("--version").output().is_ok() {
                run_example(&command, &example, directory.path());
                if !restore(directory.path(), &before) {
                    directory = copy(prepared.path());
                    before = files(directory.path());
                }
            }
        }
    }
}

//! Limits of the system on open files and on memory.
#![cfg(unix)]

use std::fs;
use std::process::Command;

use crate::run::{is_quick, is_thorough, path_in, run_ok, size};

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
    for (number, file) in files.iter().enumerate().take(100) {
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

/// A command; words that start with OUT are its output.
type MemoryCommand = &'static [&'static str];

const COMMANDS: [MemoryCommand; 33] = [
    &["info", "--digest", "a.npy"],
    &["ls", "-r", "inputs"],
    &["head", "a.npy"],
    &["tail", "a.npy"],
    &["stats", "a.npy"],
    &["stats", "--axis", "0", "z.npz"],
    &["show", "a.npy"],
    &["show", "a.npy", "-o", "OUT.png"],
    &["get", "a.npy", ":"],
    &["get", "a.npy", ":", "--format", "csv"],
    &["get", "z.npz", "5"],
    &["diff", "a.npy", "f.npy"],
    &["recover", "a.npy"],
    &["header", "a.npy"],
    &["completions", "bash"],
    &["npz", "verify", "z.npz"],
    &["create", "OUT.npy", "--shape", "20000, 4", "--dtype", "f8", "--random", "normal"],
    &["convert", "a.npy", "OUT.npy"],
    &["convert", "a.npy", "OUT.npy", "--dtype", ">f4", "--force"],
    &["convert", "a.npy", "OUT.npy", "--order", "F"],
    &["convert", "a.npy", "OUT.npz", "--deflate", "--dtype", "f4", "--force"],
    &["convert", "a.npy", "OUT.ten"],
    &["convert", "a.npy", "OUT.csv"],
    &["convert", "a.csv", "OUT.npy"],
    &["convert", "a.jsonl", "OUT.npy"],
    &["convert", "a.npy", "OUT.npy", "--where", "value[0] > 0.5"],
    &["npz", "pack", "a.npy", "b.npy", "-o", "OUT.npz", "--deflate"],
    &["npz", "recover", "z.npz", "-o", "OUT.npz"],
    &["npz", "extract", "z.npz", "-d", "OUT.npy"],
    &["concat", "a.npy", "a.npy", "-o", "OUT.npy"],
    &["concat", "f.npy", "a.npy", "--axis", "1", "-o", "OUT.npy"],
    &["sample", "a.npy", "-n", "100"],
    &["shuffle", "a.npy", "OUT.npy"],
];

/// With too little memory, a command works or fails with a message, and leaves no file
/// behind: it neither panics nor aborts, and its output is that with enough memory.
#[cfg(target_os = "linux")]
#[test]
fn too_little_memory_is_an_error() {
    if std::env::var_os("NPYMAP_TEST_RUNNER").is_some() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let [inputs, outputs] = ["inputs", "outputs"].map(|name| directory.path().join(name));
    fs::create_dir(&inputs).unwrap();
    let input = |name: &str| path_in(&inputs, name);
    let array = input("a.npy");
    let shape = format!("{}, 4", size(10_000, 10_000, 20_000));
    run_ok(["create", &array, "--shape", &shape, "--dtype", "<f8", "--random", "uniform"]);
    run_ok(["convert", &array, &input("b.npy"), "--dtype", "<f4", "--force"]);
    run_ok(["convert", &array, &input("f.npy"), "--order", "F"]);
    run_ok(["npz", "pack", &array, "-o", &input("z.npz"), "--deflate"]);
    run_ok(["convert", &array, &input("a.csv")]);
    run_ok(["convert", &array, &input("a.jsonl")]);
    // The least address space, in KiB, in which the program starts.
    let starts = |limit: u64| run_limited(&format!("ulimit -v {limit}"), &["--version"]).0;
    let (mut low, mut high) = (1 << 10, 1 << 21);
    while high - low > 64 {
        let middle = u64::midpoint(low, high);
        if starts(middle) == Some(0) { high = middle } else { low = middle }
    }
    // A sixth of the limits, others for each command, unless all are asked for.
    let every = if is_thorough() { 1 } else { 6 };
    for (position, command) in COMMANDS.into_iter().enumerate() {
        let name = |word: &&str| match *word {
            word if word.starts_with("OUT") => path_in(&outputs, word),
            "inputs" => inputs.to_str().unwrap().to_owned(),
            word if inputs.join(word).is_file() => input(word),
            word => word.to_owned(),
        };
        let arguments: Vec<String> = command.iter().map(name).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let run = |limit: &str| {
            let _ = fs::remove_dir_all(&outputs);
            fs::create_dir(&outputs).unwrap();
            let (code, text) = run_limited(limit, &arguments);
            let entries = fs::read_dir(&outputs).unwrap();
            let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
            files.sort();
            let contents = files.iter().map(|path| match fs::read_dir(path) {
                Ok(inner) => inner.map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect(),
                Err(_) => vec![fs::read(path).unwrap()],
            });
            (code, text, contents.collect::<Vec<_>>().concat())
        };
        let enough = run("true");
        assert!(enough.0 == Some(0), "{command:?}: {}", enough.1);
        let mut successes = 0;
        for step in (position % every..if is_quick() { 8 } else { 36 }).step_by(every) {
            let found = run(&format!("ulimit -v {}", high + 512 * step as u64));
            if found.0 == Some(0) {
                assert_eq!(found.1, enough.1, "{command:?} {step}");
                assert!(found.2 == enough.2, "{command:?} {step}: another output");
                successes += 1;
                if successes * every >= 3 {
                    break;
                }
                continue;
            }
            let is_error = found.1.contains("error:") && !found.1.contains("panicked");
            let expected = if command[0] == "diff" { 2 } else { 1 };
            let (code, text) = (found.0, &found.1);
            assert!(code == Some(expected) && is_error, "{command:?} {step}: {code:?} {text}");
            assert!(found.2.is_empty(), "{command:?} {step}: a file is left: {}", found.1);
        }
        assert!(successes > 0 || is_quick(), "{command:?}");
    }
}

/// The old page stays until the new one is complete.
#[test]
fn manual_pages_are_written_whole_or_not_at_all() {
    if std::env::var_os("NPYMAP_TEST_RUNNER").is_some() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let [complete, pages] = ["complete", "pages"].map(|name| path_in(&directory, name));
    run_ok(["man", &complete]);
    fs::create_dir(&pages).unwrap();
    for page in fs::read_dir(&complete).unwrap() {
        fs::write(format!("{pages}/{}", page.unwrap().file_name().display()), "old").unwrap();
    }
    let (code, text) = run_limited("ulimit -f 2", &["man", &pages]);
    assert!(code == Some(1) && text.contains(".1: cannot write"), "{text}");
    for page in fs::read_dir(&pages).unwrap() {
        let page = page.unwrap();
        let text = fs::read(page.path()).unwrap();
        let new = fs::read(format!("{complete}/{}", page.file_name().display()));
        assert!(text == b"old" || text == new.unwrap(), "{}", page.path().display());
    }
    run_ok(["man", &pages]);
    assert!(fs::read(format!("{pages}/npymap.1")).unwrap().starts_with(b".ie"));
}

//! Files that are larger than memory or the address space, and files that cannot be mapped.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "a filter of system calls")]

use std::fs;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::run::{command, copy_penguins, is_thorough, path_in, run_ok};

/// A command; words that start with OUT are its output.
type Words = &'static [&'static str];

/// The arguments of a command, whose files are in these directories.
fn arguments(words: Words, inputs: &Path, outputs: &Path) -> Vec<String> {
    let name = |word: &&str| match *word {
        word if word.starts_with("OUT") => path_in(outputs, word),
        word => {
            let (at, word) = word.strip_prefix('@').map_or(("", word), |word| ("@", word));
            let file = word.split('[').next().unwrap_or(word);
            let is_file = file.contains('.') && inputs.join(file).is_file();
            if is_file { format!("{at}{}", path_in(inputs, word)) } else { format!("{at}{word}") }
        }
    };
    words.iter().map(name).collect()
}

/// Runs the program and returns its exit status and the most memory it had, in MiB.
fn peak(arguments: &[String]) -> (Option<i32>, usize) {
    let mut child = command().args(arguments).stdout(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        // At the end it has none.
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let found = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
        peak = peak.max(found.unwrap_or(0));
        if let Some(status) = child.try_wait().unwrap() {
            return (status.code(), peak >> 10);
        }
        thread::sleep(Duration::from_micros(500));
    }
}

/// A pass over a file needs memory for a part of it.
#[test]
fn a_pass_has_part_of_a_file_in_memory() {
    /// What each command may have besides what the program needs, in MiB.
    const MOST: usize = 40;
    const PASSES: [Words; 16] = [
        &["info", "--digest", "a.npy"],
        &["diff", "a.npy", "b.npy", "--threads", "1"],
        &["get", "a.npy", "--where", "value[0] < 0", "--format", "csv"],
        &["get", "a.npy", "1:", "-o", "OUT.npy"],
        &["npz", "verify", "z.npz"],
        &["set", "z.npz[a]", "-1, ::2", "5"],
        &["shuffle", "a.npy", "OUT.npy", "--memory", "8"],
        &["stats", "a.npy", "--threads", "1", "--std"],
        &["stats", "a.npy", "--threads", "1", ":, 1::2", "--fail-on", "nan"],
        &["convert", "a.npy", "OUT.npy", "--dtype", "<i4", "--threads", "1"],
        &["convert", "a.npy", "OUT.npz"],
        &["convert", "a.npy", "OUT.ten"],
        &["concat", "a.npy", "b.npy", "-o", "OUT.npy"],
        &["sort", "a.npy", "OUT.npy", "--by", ":, 0", "--memory", "8M"],
        &["unique", "a.npy", ":, ::50", "--memory", "8M"],
        &["set", "b.npy", ":, ::-1", "@a.npy"],
    ];
    /// How many of them are tried unless runs are thorough: these take the least time.
    const SHORT: usize = 6;
    if std::env::var_os("NPYMAP_TEST_RUNNER").is_some() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    // 80 MiB without holes, in long rows so that unoptimized builds are fast.
    let [a, b, z] = ["a.npy", "b.npy", "z.npz"].map(|name| path_in(directory, name));
    run_ok(["create", &a, "--shape", "(80, 131072)", "--dtype", "f8", "--fill", "1"]);
    fs::copy(&a, &b).unwrap();
    run_ok(["npz", "pack", &a, "-o", &z]);
    let (_, own) = peak(&["info".to_owned(), a]);
    for words in PASSES.into_iter().take(if is_thorough() { PASSES.len() } else { SHORT }) {
        let (code, peak) = peak(&arguments(words, directory, directory));
        assert_eq!(code, Some(0), "{words:?}");
        assert!(peak <= own + MOST, "{words:?}: {peak} MiB, and {own} without elements");
        for name in ["OUT.npy", "OUT.npz", "OUT.ten"] {
            let _ = fs::remove_file(directory.join(name));
        }
    }
}

/// Selections of a file that is larger than the address space map what they select, and
/// whole files are mapped in parts.
#[test]
fn files_may_be_larger_than_the_address_space() {
    const COMMANDS: [Words; 19] = [
        &["info", "a.npy"],
        &["ls", "a.npy"],
        &["head", "a.npy"],
        &["tail", "a.npy", "-n", "3", "--json"],
        &["get", "a.npy", "-1", "0", "[5, -1]", "::10000000", ":3, ::-1"],
        &["get", "a.npy", "-3:", "--format", "csv"],
        &["sample", "a.npy", "-n", "5"],
        &["stats", "a.npy", "--threads", "2"],
        &["stats", "a.npy", "-1000:"],
        &["convert", "a.npy", "OUT.npy", "--select", "::1000000"],
        &["convert", "a.npy", "OUT.npy", "--threads", "2"],
        &["show", "a.npy", ":100"],
        &["header", "a.npy"],
        &["recover", "a.npy", "--dry-run"],
        &["unique", "a.npy", ":1000", "--memory", "1M"],
        &["set", "a.npy", "-1", "5"],
        &["set", "a.npy", ":2000, ::2", "1"],
        &["sort", "rows.npy", "OUT.npy", "--by", ":, 0", "--memory", "16M"],
        &["unique", "rows.npy", ":, ::1000", "--memory", "1M"],
    ];
    if std::env::var_os("NPYMAP_TEST_RUNNER").is_some() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let [a, rows] = ["a.npy", "rows.npy"].map(|name| path_in(directory, name));
    // 2 GiB, without a block on the disk, and 160 MiB in long rows.
    run_ok(["create", &a, "--shape", "(67108864, 4)", "--dtype", "<f8", "--sparse"]);
    run_ok(["create", &rows, "--shape", "(160, 131072)", "--dtype", "<f8", "--sparse"]);
    for words in COMMANDS {
        let arguments = arguments(words, directory, directory);
        let script = "ulimit -v $((128 << 10)); exec \"$0\" \"$@\"";
        let mut shell = Command::new("bash");
        shell.args(["-c", script, env!("CARGO_BIN_EXE_npymap")]).args(&arguments);
        let run = shell.output().unwrap();
        let error = String::from_utf8(run.stderr).unwrap();
        assert!(run.status.success() && error.is_empty(), "{words:?}: {error}");
        let _ = fs::remove_file(directory.join("OUT.npy"));
    }
}

/// Makes `mmap` of files fail in a program, as on file systems that can't map.
#[cfg(target_endian = "little")]
fn without_maps(command: &mut Command) {
    let step = |code: u32, jt, jf, k| {
        let code = u16::try_from(code).unwrap();
        libc::sock_filter { code, jt, jf, k }
    };
    let mmap = u32::try_from(libc::SYS_mmap).unwrap();
    let [shared, no_device] = [libc::MAP_SHARED, libc::ENODEV].map(|n| u32::try_from(n).unwrap());
    let (load, jump) = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, libc::BPF_JMP | libc::BPF_K);
    let ret = libc::BPF_RET | libc::BPF_K;
    // The number of the call, and its fourth argument. Libraries are mapped privately.
    let filter = [
        step(load, 0, 0, 0),
        step(jump | libc::BPF_JEQ, 0, 3, mmap),
        step(load, 0, 0, 16 + 3 * 8),
        step(jump | libc::BPF_JSET, 0, 1, shared),
        step(ret, 0, 0, libc::SECCOMP_RET_ERRNO | no_device),
        step(ret, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let set = move || {
        let mut filter = filter;
        let program = libc::sock_fprog { len: 6, filter: filter.as_mut_ptr() };
        // SAFETY: this call has no pointers.
        let allowed = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
        let (option, mode) = (libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER);
        // SAFETY: the program and its filter live until the call returns.
        let set = unsafe { libc::prctl(option, mode, &raw const program) };
        if allowed == 0 && set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    // SAFETY: the closure only makes system calls.
    unsafe { command.pre_exec(set) };
}

/// Where files cannot be mapped, all commands that read give the same output.
#[test]
#[cfg(target_endian = "little")]
fn what_cannot_be_mapped_is_read() {
    const COMMANDS: [Words; 56] = [
        &["info", "a.npy", "--digest"],
        &["info", "z.npz", "--digest"],
        &["info", "t.ten", "--digest"],
        &["info", "--header", "a.npy"],
        &["ls", "a.npy", "z.npz", "t.ten"],
        &["head", "a.npy"],
        &["head", "a.npy", "-n", "3", "::-2, 1:"],
        &["head", "f.npy", "--json"],
        &["head", "a.npy", "--where", "value[3] > 4000"],
        &["head", "r.npy"],
        &["head", "r.npy", "[3, 1].y"],
        &["tail", "a.npy"],
        &["tail", "r.npy", "--json"],
        &["get", "a.npy", ":", "-1", "[5, 7, 5]", ":, [3, 0]", "::100, ::-1"],
        &["get", "f.npy", ":", "-1", "[5, 7, 5]", ":, [3, 0]", "::100, ::-1"],
        &["get", "r.npy", ":", "-1", "[1, 0]", "y", "x, y", "::-2.x"],
        &["get", "r.npy", "--json", ":", "[1, 0].y"],
        &["get", "z.npz[a]", "5"],
        &["get", "t.ten[0]", "5"],
        &["get", "a.npy", "3:, 1", "--format", "csv"],
        &["get", "a.npy", "--where", "value[0] > 58"],
        &["get", "r.npy", "--where", "x > 2", "-o", "OUT.csv"],
        &["get", "a.npy", ":3", "-o", "OUT.npy"],
        &["get", "f.npy", "--format", "raw"],
        &["get", "--raw", "<f8", "--offset", "128", "a.npy", "-1"],
        &["stats", "a.npy", "--std", "--quantiles", "--hist"],
        &["stats", "f.npy", "--axis", "0"],
        &["stats", "r.npy", "z.npz", "t.ten", "--fail-on", "nan"],
        &["stats", "a.npy", "[0, 5], ::-1"],
        &["show", "a.npy"],
        &["show", "a.npy", ":, 3", "-o", "OUT.png"],
        &["sample", "a.npy", "-n", "5"],
        &["sample", "f.npy", "-n", "3", "--json"],
        &["sample", "a.npy", "-n", "5", "--where", "value[0] > 50", "-o", "OUT.npy"],
        &["diff", "a.npy", "f.npy"],
        &["diff", "z.npz", "z.npz"],
        &["header", "a.npy"],
        &["recover", "a.npy", "--dry-run"],
        &["convert", "a.npy", "OUT.npy", "--order", "F"],
        &["convert", "f.npy", "OUT.npy", "--order", "C", "--dtype", ">f4", "--force"],
        &["convert", "r.npy", "OUT.jsonl", "--select", "::-1"],
        &["convert", "r.npy", "OUT.npy", "--field", "y,x", "--where", "x > 2"],
        &["convert", "a.npy", "OUT.npy", "--axes", "1,0"],
        &["convert", "z.npz", "OUT.npz", "--dtype", "f4", "--force", "--deflate"],
        &["convert", "f.npy", "OUT.ten"],
        &["concat", "a.npy", "f.npy", "--axis", "1", "-o", "OUT.npy"],
        &["concat", "a.npy", "f.npy", "-o", "OUT.npy"],
        &["shuffle", "a.npy", "OUT.npy"],
        &["npz", "pack", "a.npy", "f.npy", "-o", "OUT.npz"],
        &["npz", "extract", "z.npz", "-d", "OUT"],
        &["sort", "f.npy", "OUT.npy", "--by", ":, 3"],
        &["unique", "r.npy", "y", "--counts"],
        &["set", "a.npy", ":, 1", "18"],
        &["set", "a.npy", ":, 0", "0", "--where", "value[3] > 4000"],
        &["set", "z.npz[a]", ":, 0", "[0]", "--where", "value[3] > 4000"],
        &["set", "z.npz[f]", "::-1", "@a.npy"],
    ];
    if std::env::var_os("NPYMAP_TEST_RUNNER").is_some() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let [inputs, outputs] = ["inputs", "outputs"].map(|name| directory.path().join(name));
    fs::create_dir(&inputs).unwrap();
    let input = |name: &str| path_in(&inputs, name);
    fs::rename(copy_penguins(directory.path()), input("a.npy")).unwrap();
    run_ok(["convert", &input("a.npy"), &input("f.npy"), "--order", "F"]);
    run_ok(["npz", "pack", &input("a.npy"), &input("f.npy"), "-o", &input("z.npz")]);
    run_ok(["convert", &input("a.npy"), &input("t.ten")]);
    fs::write(input("r.csv"), "x,y\n1,a\n2,b\n3,c\n4,d\n").unwrap();
    run_ok(["convert", &input("r.csv"), &input("r.npy")]);
    // The others, too, in thorough runs.
    for words in COMMANDS.into_iter().step_by(if is_thorough() { 1 } else { 3 }) {
        let run = |prepare: fn(&mut Command)| {
            let _ = fs::remove_dir_all(&outputs);
            fs::create_dir(&outputs).unwrap();
            let mut command = command();
            prepare(command.args(arguments(words, &inputs, &outputs)));
            let run = command.output().unwrap();
            let files = fs::read_dir(&outputs).unwrap().map(|file| file.unwrap().path());
            let mut files: Vec<_> = files.map(|path| fs::read(path).ok()).collect();
            files.sort();
            (
                run.status.code(),
                String::from_utf8_lossy(&run.stderr).into_owned(),
                run.stdout,
                files,
            )
        };
        let expected = run(|_| {});
        assert!(expected.0 == Some(0) || words[0] == "diff", "{words:?}: {}", expected.1);
        let found = run(without_maps);
        assert_eq!((found.0, &found.1), (expected.0, &expected.1), "{words:?}");
        assert!(found == expected, "{words:?}: another output");
    }
}

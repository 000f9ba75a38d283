//! `-` is standard input and standard output; pipes and raw files work like
//! `.npy` files.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Output, Stdio};

use crate::run::{command, copy_penguins, data, path_in, run_err, run_ok};

/// Runs the program with standard input, which must succeed, and returns what
/// it writes.
#[track_caller]
pub(crate) fn run_with_input<A: AsRef<std::ffi::OsStr>>(
    arguments: impl IntoIterator<Item = A>,
    input: impl Into<Stdio>,
) -> Vec<u8> {
    let Output { status, stdout, stderr } =
        command().args(arguments).stdin(input).output().unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    stdout
}

/// Runs the program with bytes in a pipe as standard input.
#[track_caller]
pub(crate) fn run_piped<A: AsRef<std::ffi::OsStr>>(
    arguments: impl IntoIterator<Item = A>,
    input: &[u8],
) -> Vec<u8> {
    let mut command = command();
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // The program may stop reading early.
        scope.spawn(move || stdin.write_all(input));
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        output.stdout
    })
}

/// A file of any kind with an array of four columns.
fn penguins(directory: &Path) -> (String, Vec<u8>) {
    let path = copy_penguins(directory);
    let bytes = fs::read(&path).unwrap();
    (path.to_str().unwrap().to_owned(), bytes)
}

#[test]
fn every_reading_command_reads_standard_input() {
    let directory = tempfile::tempdir().unwrap();
    let (path, bytes) = penguins(directory.path());
    for arguments in [
        &["get", "PATH", "5, 3"][..],
        &["head", "-n", "3", "PATH"],
        &["stats", "--axis", "0", "PATH"],
        &["sample", "-n", "3", "PATH"],
        &["info", "--header", "PATH"],
    ] {
        let with = |name: &'static str| {
            arguments.iter().map(move |&argument| if argument == "PATH" { name } else { argument })
        };
        let expected =
            run_ok(arguments.iter().map(|&a| if a == "PATH" { path.as_str() } else { a }));
        let piped = run_piped(with("-"), &bytes);
        assert_eq!(String::from_utf8(piped).unwrap(), expected, "{arguments:?}");
        let redirected = run_with_input(with("-"), File::open(&path).unwrap());
        assert_eq!(String::from_utf8(redirected).unwrap(), expected, "{arguments:?}");
    }
    let same = run_piped(["diff", &path, "-"], &bytes);
    assert!(String::from_utf8(same).unwrap().contains("equal"));
}

#[test]
fn members_of_archives_are_read_from_standard_input() {
    let directory = tempfile::tempdir().unwrap();
    let (path, _) = penguins(directory.path());
    let archive = path_in(&directory, "a.npz");
    run_ok(["convert", &path, &archive]);
    let bytes = fs::read(&archive).unwrap();
    assert_eq!(run_piped(["get", "-[arr_0]", "0, 3"], &bytes), b"3750.0\n");
    assert_eq!(run_piped(["get", "-", "0, 3"], &bytes), b"3750.0\n");
    let copy = path_in(&directory, "copy.npz");
    run_piped(["convert", "-", &copy], &bytes);
    assert!(run_ok(["diff", &format!("{copy}[arr_0]"), &path]).contains("equal"));
}

#[test]
fn new_files_are_written_to_standard_output() {
    let directory = tempfile::tempdir().unwrap();
    let (path, bytes) = penguins(directory.path());
    assert_eq!(run_piped(["convert", "-", "-"], &bytes), bytes);
    let twice = run_piped(["concat", &path, "-", "-o", "-"], &bytes);
    assert_eq!(twice.len(), 2 * (bytes.len() - 128) + 128);
    let zeros = run_piped(["create", "-", "--shape", "3", "--dtype", "u1"], b"");
    assert_eq!(zeros[128..], [0; 3]);
    let sampled = run_piped(["sample", "-", "-n", "2", "-o", "-"], &bytes);
    assert_eq!(sampled.len(), 128 + 64);
    let shuffled = run_piped(["shuffle", "-", "-"], &bytes);
    assert_eq!(shuffled.len(), bytes.len());
    let large = run_piped(["convert", "--dtype", ">f8", "-", "-"], &shuffled);
    assert_eq!(large.len(), bytes.len());
}

#[test]
fn nothing_is_written_to_standard_output_after_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let (path, _) = penguins(directory.path());
    let refusal = run_err(1, ["convert", "--dtype", "i4", &path, "-"]);
    assert!(refusal.contains("allow it to change with --force"), "{refusal}");
    let none = path_in(&directory, "none");
    let refusal = run_err(1, ["concat", &path, &path, &none, "-o", "-"]);
    assert!(refusal.starts_with(&format!("error: {none}: cannot open")), "{refusal}");
}

#[test]
fn errors_name_standard_input() {
    let mut command = command();
    let output = command.args(["stats", "-"]).stdin(Stdio::null()).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && message.starts_with("error: -: "), "{message}");
    for arguments in [&["set", "-", "0", "1"][..], &["append", "-", "-"]] {
        let refusal = run_err(1, arguments);
        assert!(refusal.starts_with("error: -: a stream cannot be changed in place"), "{refusal}");
    }
}

#[cfg(unix)]
#[test]
fn process_substitutions_are_read_and_written() {
    let directory = tempfile::tempdir().unwrap();
    let (path, bytes) = penguins(directory.path());
    let program = env!("CARGO_BIN_EXE_npymap");
    let out = path_in(&directory, "out.npy");
    let script = format!(
        "set -e; {program} diff <(cat {path}) <(cat {path}); \
         {program} concat <(cat {path}) -o >(cat > {out}) ; wait $!; cmp {out} {path}; \
         {program} get /dev/stdin 0,3 < {path}"
    );
    if std::env::var_os("NPYMAP_TEST_RUNNER").is_some() {
        return;
    }
    let output = std::process::Command::new("bash").args(["-c", &script]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.ends_with("3750.0\n"), "{text}");
    assert_eq!(fs::read(out).unwrap(), bytes);
}

#[test]
fn rows_are_appended_from_pipes_and_raw_files() {
    let directory = tempfile::tempdir().unwrap();
    let log = path_in(&directory, "log.npy");
    run_ok(["create", &log, "--shape", "0, 2", "--dtype", ">i2"]);
    run_piped(["append", &log, "-", "--raw", ">i2"], &[0, 1, 0, 2, 1, 0, 0, 0]);
    assert_eq!(run_ok(["get", &log, ":"]), "[[1, 2],\n [256, 0]]\n");
    let rows = fs::read(&log).unwrap();
    run_piped(["append", &log, "-"], &rows);
    assert_eq!(run_ok(["get", &log, "..., 0"]), "[1, 256, 1, 256]\n");
    let raw = path_in(&directory, "rows.bin");
    fs::write(&raw, [0, 9, 0, 8]).unwrap();
    run_ok(["append", &log, "--raw", ">i2", &raw, &raw]);
    assert_eq!(run_ok(["get", &log, "-2:"]), "[[9, 8],\n [9, 8]]\n");
    fs::write(&raw, [0, 9, 0]).unwrap();
    let refusal = run_err(1, ["append", &log, "--raw", ">i2", &raw]);
    assert!(
        refusal.contains("has 3 bytes of elements, not a multiple of the 4 bytes"),
        "{refusal}"
    );
    let columns = path_in(&directory, "columns.npy");
    run_ok(["create", &columns, "--shape", "2, 0", "--dtype", "u1", "--order", "F"]);
    run_piped(["append", &columns, "-", "--raw", "u1"], &[1, 2, 3, 4]);
    assert_eq!(run_ok(["get", &columns, ":"]), "[[1, 3],\n [2, 4]]\n");
    fs::write(&raw, [0, 5, 0, 6, 7, 8]).unwrap();
    let options = ["--raw", "u1", "--offset=1", "--shape", "2, 2", "--order", "C"];
    run_ok(["append", &columns, &raw].into_iter().chain(options));
    assert_eq!(run_ok(["get", &columns, ":, 2:"]), "[[5, 0],\n [6, 7]]\n");
    let refusal = run_err(1, ["append", &log, "--raw", "u1", "--shape", "-1,2", &raw]);
    assert!(refusal.contains("has dtype '|u1', but"), "{refusal}");
}

#[test]
fn raw_files_are_read_by_every_command() {
    let directory = tempfile::tempdir().unwrap();
    let (path, bytes) = penguins(directory.path());
    let raw = path_in(&directory, "raw.bin");
    fs::write(&raw, &bytes).unwrap();
    let options = ["--raw", "<f8", "--offset", "128", "--shape", "-1,4"];
    for arguments in [&["get", "FILE", "5, 3"][..], &["head", "FILE"], &["stats", "FILE"]] {
        let named = |name: &str| -> Vec<String> {
            arguments
                .iter()
                .map(|a| if *a == "FILE" { name.to_owned() } else { (*a).to_owned() })
                .collect()
        };
        let mut with_options = named(&raw);
        with_options.extend(options.map(str::to_owned));
        assert_eq!(run_ok(with_options), run_ok(named(&path)), "{arguments:?}");
    }
    let out = path_in(&directory, "out.npy");
    run_ok(["convert", &raw, &out].into_iter().chain(options));
    assert_eq!(fs::read(&out).unwrap(), bytes);
    let fortran = ["--raw", "<f8", "--offset=128", "--shape", "(4, -1)", "--order", "F"];
    run_ok(["convert", &raw, &out, "--overwrite"].into_iter().chain(fortran));
    assert_eq!(run_ok(["get", &out, "3, 0"]), "3750.0\n");
    assert!(run_ok(["info", &out]).contains("(4, 342), Fortran order"));
    let info = run_ok(["info", &raw, "--raw", "<f8", "--offset", "128", "--shape", "-1, 4"]);
    assert!(
        info.contains("(342, 4), C order") && info.contains("raw, elements from byte 128"),
        "{info}"
    );
    let json = run_ok(["info", "--json", &raw, "--raw", "<f8", "--offset", "128"]);
    assert!(json.contains("\"shape\":[1368]"), "{json}");
    assert_eq!(run_piped(["get", "-", "1", "--raw", ">u2"], &[0, 1, 2, 3]), b"515\n");
}

#[test]
fn raw_elements_without_bytes_need_a_stream_that_is_not_empty() {
    for raw in [&["--raw", "U0", "--shape", "4"][..], &["--raw", "<f8", "--shape", "(0, 4)"]] {
        let described = run_piped(["info", "-"].iter().chain(raw), b"abc");
        assert!(String::from_utf8(described).unwrap().contains("size   0 B"), "{raw:?}");
        let refusal = run_err(1, ["info", "-"].iter().chain(raw));
        assert!(refusal.contains("-: is empty"), "{refusal}");
    }
}

#[test]
fn raw_options_need_raw_and_a_shape_that_fits() {
    let fixture = data().join("../../data/penguins.npy");
    let fixture = fixture.to_str().unwrap();
    for wrong in [
        &["--offset", "1"][..],
        &["--shape", "3"],
        &["--order", "F"],
        &["--raw", "f8", "--shape", "-1,-1"],
        &["--raw", "f3"],
    ] {
        let output = crate::run::npymap(["get", fixture, "0"].iter().chain(wrong));
        assert_eq!(output.code, Some(2), "{wrong:?}");
    }
    let refusal = run_err(1, ["get", fixture, "0", "--raw", "f8", "--shape", "-1,7"]);
    assert!(refusal.contains("not a multiple of the 56 bytes of an index of axis -1"), "{refusal}");
}

#[cfg(unix)]
#[test]
fn head_reads_no_more_of_a_stream_than_it_prints() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory, "a.npy");
    run_ok(["create", &path, "--shape", "(100000, 2)", "--dtype", "<i4", "--arange"]);
    let bytes = fs::read(&path).unwrap();
    // The rest of the stream is never written.
    for (arguments, rows) in [
        (&["-n", "2"][..], 2),
        (&["-n", "2", "--json"], 2),
        (&["-n", "2", "::10"], 20),
        (&["-n", "3", "5"], 6),
        (&["-n", "2", "6:2:-2"], 7),
        (&["-n", "1", "..., 1"], 100_000),
        (&["-n", "0"], 0),
        (&["-n", "3", "--where", "value[0] > 4"], 8192),
        (&["-n", "3", "--where", "value[0] > 20000"], 16384),
    ] {
        let mut command = command();
        command.arg("head").arg("-").args(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // Fails if the program ended early.
        let _ = stdin.write_all(&bytes[..128 + 8 * rows]);
        let output = child.wait_with_output().unwrap();
        drop(stdin);
        assert!(output.status.success(), "{arguments:?}");
        let expected = run_ok(["head", &path].iter().chain(arguments));
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected, "{arguments:?}");
    }
    // A stream that ends too early, and one in Fortran order.
    let mut command = command();
    command.args(["head", "-", "5:"]).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(&bytes[..150]).unwrap();
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && message.starts_with("error: -: "), "{message}");
    assert!(message.contains("the file at 150:"), "{message}");
    let fortran = path_in(&directory, "f.npy");
    run_ok(["convert", &path, &fortran, "--order", "F"]);
    let piped = run_piped(["head", "-"], &fs::read(&fortran).unwrap());
    assert_eq!(String::from_utf8(piped).unwrap(), run_ok(["head", &fortran]));
}

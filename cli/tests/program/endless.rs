//! Endless inputs: commands look at the first bytes before they copy the others, and
//! copy no more than these say.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::run::{command, path_in, run_ok};

/// The most that may be read of a stream, besides what its headers say: pipes hold 64 KiB,
/// and some of what follows an array is read.
const SLACK: usize = 2 << 20;

/// What an endless stream may cost before the test stops it.
const ENDLESS: usize = 64 << 20;

/// Runs the program with `start` and an endless repetition of `rest` as standard input.
/// Returns its status, its output, and how many bytes it took.
fn run_endless(arguments: &[&str], start: &[u8], rest: &[u8]) -> (Option<i32>, String, usize) {
    let mut command = command();
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let block = rest.repeat((1 << 16) / rest.len());
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || {
            let (mut written, mut next) = (0, start);
            while written < ENDLESS {
                // Fails if the program stopped reading.
                match stdin.write(next) {
                    Ok(n) => {
                        written += n;
                        next = &next[n..];
                    }
                    Err(_) => break,
                }
                if next.is_empty() {
                    next = &block;
                }
            }
            written
        });
        let output = child.wait_with_output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        (output.status.code(), text, writer.join().unwrap())
    })
}

#[test]
fn what_is_no_file_of_arrays_is_refused_at_its_first_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let array = path_in(&directory, "a.npy");
    run_ok(["create", &array, "--shape", "10", "--dtype", "<i4", "--arange"]);
    let out = path_in(&directory, "out.npy");
    let archive = path_in(&directory, "out.npz");
    for arguments in [
        &["info", "-"][..],
        &["info", "--header", "-"],
        &["info", "--digest", "-"],
        &["ls", "-"],
        &["head", "-"],
        &["tail", "-"],
        &["stats", "-"],
        &["show", "-"],
        &["get", "-", "0"],
        &["get", "-[x]", "0"],
        &["diff", "-", &array],
        &["diff", &array, "-"],
        &["sample", "-", "-n", "3"],
        &["shuffle", "-", &out],
        &["convert", "-", &out],
        &["concat", &array, "-", "-o", &out],
        &["append", &array, "-"],
        &["set", &array, ":", "@-"],
        &["npz", "pack", "-", "-o", &archive, "--name", "x"],
        &["npz", "extract", "-", "-d", &directory.path().join("d").display().to_string()],
        &["npz", "verify", "-"],
    ] {
        let (status, text, taken) = run_endless(arguments, b"", b"y\n");
        assert!(matches!(status, Some(1 | 2)), "{arguments:?}: {status:?} {text}");
        assert!(text.contains("error: "), "{arguments:?}: {text}");
        assert!(taken <= SLACK, "{arguments:?}: {taken}");
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn no_more_is_copied_than_headers_say() {
    let directory = tempfile::tempdir().unwrap();
    let array = path_in(&directory, "a.npy");
    run_ok(["create", &array, "--shape", "100000", "--dtype", "<i4", "--arange"]);
    let fortran = path_in(&directory, "f.npy");
    run_ok(["create", &fortran, "--shape", "1000, 100", "--dtype", "<i4", "--order", "F"]);
    let (ten, tar) = (path_in(&directory, "a.ten"), path_in(&directory, "a.tar"));
    run_ok(["convert", &array, &ten]);
    let mut builder = tar::Builder::new(fs::File::create(&tar).unwrap());
    builder.append_path_with_name(&array, "a.npy").unwrap();
    builder.into_inner().unwrap();
    let long = b"\x93NUMPY\x02\x00\xff\xff\xff\xff{";
    for (start, rest, ends_well) in [
        (fs::read(&array).unwrap(), b"y\n", true),
        (fs::read(&fortran).unwrap(), b"y\n", true),
        (fs::read(&tar).unwrap(), b"y\n", true),
        (fs::read(&ten).unwrap(), b"y\n", false),
        // A header that is longer than allowed.
        (long.to_vec(), b"  ", false),
        // A tar file that ends in a wrong header.
        (fs::read(&tar).unwrap()[..512 + 400_384].to_vec(), b"y\n", false),
    ] {
        for arguments in [&["info", "-"][..], &["get", "-", "-1"], &["ls", "-"], &["head", "-"]] {
            let (status, text, taken) = run_endless(arguments, &start, rest);
            let expected = i32::from(!ends_well);
            assert_eq!(status, Some(expected), "{arguments:?}: {text}");
            assert!(taken <= start.len() + SLACK, "{arguments:?}: {taken}");
        }
    }
    // Raw elements of a known shape.
    let (status, text, taken) =
        run_endless(&["get", "-", "7", "--raw", "u1", "--shape", "8"], b"", b"y\n");
    assert_eq!((status, text.as_str()), (Some(0), "10\n"));
    assert!(taken <= SLACK, "{taken}");
}

#[cfg(unix)]
#[test]
fn devices_and_named_pipes_are_refused_at_their_first_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = path_in(&directory, "pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // A copy of more than 4 MiB would fail, with another message.
    let script = "ulimit -f 8192; exec \"$0\" \"$@\"";
    let program = env!("CARGO_BIN_EXE_npymap");
    for path in ["/dev/zero", &pipe] {
        for arguments in [&["info", path][..], &["ls", path], &["get", path, "0"]] {
            let writer = (path == pipe).then(|| {
                let yes = format!("exec yes > {pipe}");
                Command::new("bash").args(["-c", &yes]).stderr(Stdio::null()).spawn().unwrap()
            });
            if std::env::var_os("NPYMAP_TEST_RUNNER").is_some() {
                return;
            }
            let mut limited = Command::new("bash");
            let output = limited.args(["-c", script, program]).args(arguments).output().unwrap();
            let text = String::from_utf8(output.stderr).unwrap();
            let expected = format!("error: {path}: ");
            let is_refused = output.status.code() == Some(1) && text.starts_with(&expected);
            assert!(is_refused && !text.contains("TMPDIR"), "{arguments:?}: {text}");
            if let Some(mut writer) = writer {
                writer.wait().unwrap();
            }
        }
    }
}

#[test]
fn endless_rows_of_text_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let out = path_in(&directory, "out.npy");
    let limit = ["--max-row-len", "2097152"];
    for (format, start, rest, message) in [
        (
            "csv",
            &b"1,\"2\n"[..],
            b"y\n",
            "the row in line 1 has more than 2097152 bytes: close the quote in line 1, or raise the limit with --max-row-len",
        ),
        ("csv", b"", b"\0\0", "the row in line 1 has more than 2097152 bytes: raise"),
        ("jsonl", b"[", b"1,", "the row in line 1 has more than"),
    ] {
        let command = ["convert", "-", &out, "--from", format];
        let (status, text, taken) = run_endless(&[&command[..], &limit].concat(), start, rest);
        assert!(status == Some(1) && text.contains(message), "{text}");
        assert!(taken <= 2 * SLACK + (2 << 20), "{format}: {taken}");
    }
    // The quote is found at its line, also after the first block.
    let text = path_in(&directory, "a.csv");
    let row = "\"1\n2\",3\r\n";
    let rows = (5 << 20) / row.len();
    fs::write(&text, format!("skipped\na,b\n{}4,\"{}", row.repeat(rows), "5\n".repeat(2 << 20)))
        .unwrap();
    let command = ["convert", &text, &out, "--skip", "1", "--dtype", "[('a','S4'),('b','i4')]"];
    let refusal = crate::run::run_err(1, [&command[..], &limit].concat());
    let line = 2 * rows + 3;
    let expected = format!(
        "the row in line {line} has more than 2097152 bytes: close the quote in line {line}"
    );
    assert!(refusal.contains(&expected), "{expected}: {refusal}");
    let refusal = crate::run::run_err(1, command);
    assert!(refusal.contains(&format!("the quote in line {line} is not closed")), "{refusal}");
    let error = crate::run::run_err(2, ["convert", &text, &out, "--max-row-len", "1000"]);
    assert!(error.contains("at least 2097152"), "{error}");
}

//! `head` prints tables that fit the terminal.

use crate::run::{copy_penguins, data, run_err, run_ok};

#[test]
fn tables_have_a_row_for_each_index() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_penguins(directory.path());
    let path = path.to_str().unwrap();
    assert_eq!(
        run_ok(["head", path, "-n", "2"]),
        "       0     1      2       3\n 0  39.1  18.7  181.0  3750.0\n 1  39.5  17.4  186.0  3800.0\n… 340 more rows\n"
    );
    assert_eq!(
        run_ok(["head", path, "-1:, 1:", "--width", "17"]),
        "         1      2\n 341  18.7  198.0\n… 1 more column\n"
    );
    assert_eq!(run_ok(["head", path, "0, 3"]), "  '<f8'\n 3750.0\n");
    assert!(run_err(1, ["head", path, "400"]).contains("index 400"));
}

#[test]
fn records_have_a_column_for_each_field() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("events.npy").to_str().unwrap().to_owned();
    let dtype = "[('t', '>M8[D]'), ('in', [('x', '<i2'), ('v', '<f4', (2,))]), ('s', '<U3')]";
    run_ok(["create", &path, "--shape", "(2, 2)", "--dtype", dtype]);
    run_ok(["set", &path, "0, 1.s", "'a\\nb'"]);
    assert_eq!(
        run_ok(["head", &path, "-n", "3"]),
        "       t           in.x        in.v  s\n 0, 0  1970-01-01     0  [0.0, 0.0]\n 0, 1  1970-01-01     0  [0.0, 0.0]  a\\nb\n 1, 0  1970-01-01     0  [0.0, 0.0]\n… 1 more row\n"
    );
    let narrow = run_ok(["head", &path, "-n", "1", "--width", "24"]);
    assert!(narrow.ends_with("… 3 more rows and 2 more fields\n"), "{narrow}");
}

#[test]
fn head_prints_every_fixture() {
    for name in [
        "shape-0.npy",
        "shape-0d.npy",
        "shape-3-0-2.npy",
        "axes-64.npy",
        "struct-0d.npy",
        "struct-no-fields.npy",
        "struct-all-kinds.npy",
        "header-3000-fields.npy",
        "V0.npy",
        "U7-text.npy",
    ] {
        let path = data().join("numpy-2.4.6").join(name);
        let text = run_ok(["head", path.to_str().unwrap(), "--max-header-len", "1000000"]);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{name}: {text}");
    }
}

#[test]
fn rows_are_printed_as_they_are_read() {
    use std::io::Read as _;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("zeros.npy");
    let path = path.to_str().unwrap();
    run_ok(["create", path, "--shape", "(50000000, 16)", "--sparse", "--dtype", "u1"]);
    for arguments in [&["head", "-n", "50000000", path][..], &["get", path, ":"]] {
        let mut program = crate::run::command();
        program.args(arguments).stdout(std::process::Stdio::piped());
        let mut child = program.spawn().unwrap();
        let mut first = [0; 100];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        // The program ends when the pipe closes, long before 50 million rows.
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn blocks_of_rows_have_the_same_columns() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rows.npy");
    let path = path.to_str().unwrap();
    run_ok(["create", path, "--shape", "(1000, 3)", "--dtype", "i8"]);
    run_ok(["set", path, "999", "-123456"]);
    let text = run_ok(["head", path, "-n", "1000", "--width", "40"]);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 1001);
    assert_eq!((lines[0], lines[1]), ("      0  1  2", "   0  0  0  0"));
    assert_eq!(lines[1000], " 999  -123456  -123456  -123456");
}

/// Runs with too little memory to hold an element many times.
#[cfg(target_os = "linux")]
#[test]
fn elements_of_many_megabytes_are_printed_in_bounded_memory() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("void.npy");
    let path = path.to_str().unwrap();
    run_ok(["create", path, "--shape", "2", "--sparse", "--dtype", "|V8000000"]);
    for rest in ["head", "get --json", "get"] {
        let (command, option) = rest.split_once(' ').unwrap_or((rest, "--max-header-len=9999"));
        let index = if command == "get" { "1" } else { ":" };
        let script = "ulimit -v 150000; exec \"$0\" \"$@\" | tail -c 20 | wc -c";
        let mut shell = std::process::Command::new("bash");
        shell.args(["-o", "pipefail", "-c", script, env!("CARGO_BIN_EXE_npymap")]);
        let run = shell.args([command, option, path, index]).output().unwrap();
        let output = String::from_utf8_lossy(&run.stderr);
        assert_eq!((run.status.code(), output.as_ref()), (Some(0), ""), "{rest}");
    }
}

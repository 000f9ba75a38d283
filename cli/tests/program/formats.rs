//! What prints rows prints them in every format.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Output, Stdio};

use crate::run::{command, path_in, run_err, run_ok};

/// The bytes that the program prints.
fn bytes(arguments: &[&str]) -> Vec<u8> {
    let Output { stdout, stderr, status } = command().args(arguments).output().unwrap();
    assert!(status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&stderr));
    stdout
}

/// A matrix, records, and an array of three axes.
fn arrays(directory: &tempfile::TempDir) -> [String; 3] {
    let [matrix, records, cube] =
        ["matrix.npy", "records.npy", "cube.npy"].map(|name| path_in(directory, name));
    run_ok(["create", &matrix, "--shape", "7, 3", "--arange=0.25,0.5"]);
    let dtype = "[('n', '<i4'), ('pos', '<f4', (2,)), ('_', '|S4'), ('t', '<m8[s]')]";
    run_ok(["create", &records, "--shape", "7", "--dtype", dtype]);
    run_ok(["set", &records, "2:", "(3, [1.5, nan], b'abcd', NaT)"]);
    run_ok(["create", &cube, "--shape", "3, 4, 2", "--dtype", "i2", "--arange"]);
    [matrix, records, cube]
}

#[test]
fn rows_are_the_same_in_every_format_of_every_command() {
    let directory = tempfile::tempdir().unwrap();
    let [matrix, records, _] = arrays(&directory);
    let out = path_in(&directory, "out");
    for path in [&matrix, &records] {
        for format in ["csv", "tsv", "jsonl", "json", "npy", "raw"] {
            let first = bytes(&["get", path, ":3", "--format", format]);
            let last = bytes(&["get", path, "-3:", "--format", format]);
            for (rows, expected) in [
                (&["head", "-n", "3", path][..], &first),
                (&["tail", "-n", "3", path, ":3"], &first),
                (&["tail", "-n", "3", path], &last),
                (&["head", "-n", "3", path, "-3:"], &last),
            ] {
                let printed = [rows, &["--format", format]].concat();
                assert_eq!(bytes(&printed), *expected, "{printed:?}");
                let file = format!("{out}.{}", if format == "raw" { "bin" } else { format });
                run_ok([rows, &["-o", &file, "--overwrite"]].concat());
                assert_eq!(fs::read(&file).unwrap(), *expected, "{rows:?} -o {file}");
            }
            // The same rows are drawn in each format.
            let drawn = path_in(&directory, "drawn.npy");
            run_ok(["sample", path, "-n", "5", "-o", &drawn, "--overwrite"]);
            let sampled = bytes(&["sample", path, "-n", "5", "--format", format]);
            assert_eq!(sampled, bytes(&["get", &drawn, "--format", format]), "{format}");
        }
        for command in ["head", "tail", "sample"] {
            let json = bytes(&[command, path, "--json", "-n", "4"]);
            assert_eq!(json, bytes(&[command, path, "--format", "jsonl", "-n", "4"]));
        }
    }
}

#[test]
fn rows_of_three_axes_are_counted_along_both_of_the_first() {
    let directory = tempfile::tempdir().unwrap();
    let [.., cube] = arrays(&directory);
    let all = run_ok(["get", &cube, "--format", "csv"]);
    let all: Vec<&str> = all.lines().collect();
    let out = path_in(&directory, "rows.npy");
    for count in 0..=13 {
        let number = count.to_string();
        let first = run_ok(["head", "-n", &number, &cube, "--format", "csv"]);
        assert_eq!(first.lines().collect::<Vec<_>>(), all[..count.min(12)]);
        let last = run_ok(["tail", "-n", &number, &cube, "--format", "csv"]);
        assert_eq!(last.lines().collect::<Vec<_>>(), all[12 - count.min(12)..]);
        run_ok(["tail", "-n", &number, &cube, "-o", &out, "--overwrite"]);
        assert_eq!(run_ok(["get", &out, "--format", "csv"]), last);
        let json = run_ok(["tail", "-n", &number, &cube, "--format", "json"]);
        assert_eq!(json, run_ok(["get", &out, ":", "--json"]));
    }
    // `get` and `convert` keep the axes.
    let json = path_in(&directory, "cube.json");
    run_ok(["convert", &cube, &json]);
    assert_eq!(fs::read_to_string(json).unwrap(), run_ok(["get", &cube, ":", "--json"]));
    // A row that is drawn is one line.
    assert_eq!(run_ok(["sample", "-n", "2", &cube, "--format", "jsonl"]).lines().count(), 2);
}

#[test]
fn formats_have_their_options_in_every_command() {
    let directory = tempfile::tempdir().unwrap();
    let [_, records, _] = arrays(&directory);
    let options = ["--format", "csv", "--no-header", "--nan", "NA", "--delimiter", ";"];
    for command in [&["get", &records, "3:5"][..], &["tail", &records, "-n2"]] {
        let out = run_ok(command.iter().chain(&options).chain(&["--precision", "1"]));
        assert_eq!(out, "3;1.5;NA;abcd;NA\n".repeat(2), "{command:?}");
    }
    for command in ["head", "tail", "sample", "get"] {
        for (options, reason) in [
            (&["--format", "json", "--nan", "x"][..], "--no-header and --nan are for"),
            (&["--format", "tsv", "--delimiter", ";"], "--delimiter is for"),
            (&["-o", "x.npz"], "archives are written by `npymap convert`"),
            (&["-o", "x.csv", "--version", "2"], "--version is for .npy"),
            (&["--format", "csv", "--overwrite"], "--overwrite is for --output"),
            (&["--json", "--format", "csv"], "cannot be used with"),
            (&["--json", "-o", "x.jsonl"], "cannot be used with"),
        ] {
            let refusal = run_err(2, [command, &records].iter().chain(options));
            assert!(refusal.contains(reason), "{command} {options:?}: {refusal}");
        }
        let refusal = run_err(1, [command, &records, "-o", "x.txt"]);
        assert!(refusal.contains("use .npy, .csv, .tsv, .jsonl, .json or .bin"), "{refusal}");
    }
    assert!(run_err(2, ["head", &records, "--format", "csv", "--width", "9"]).contains("--width"));
}

/// Windows can't replace a file that is mapped.
#[cfg(not(windows))]
#[test]
fn an_output_may_replace_its_input() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory, "a.npy");
    run_ok(["create", &path, "--shape", "7, 3"]);
    for (command, count) in [("head", "5"), ("tail", "4"), ("sample", "3")] {
        run_ok([command, &path, "-n", count, "-o", &path, "--overwrite"]);
        let info = run_ok(["info", "--json", &path]);
        assert!(info.contains(&format!("\"shape\":[{count},3]")), "{info}");
    }
}

#[test]
fn appended_rows_are_printed_in_formats_without_an_end() {
    let directory = tempfile::tempdir().unwrap();
    let [matrix, records, _] = arrays(&directory);
    let mut program = command();
    program.args(["tail", "-f", "-n", "1", &records, "--format", "csv"]);
    let mut child = program.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    assert_eq!((next(), next()), ("n,pos.0,pos.1,_,t".into(), "3,1.5,nan,abcd,NaT".into()));
    run_ok(["append", &records, &records]);
    let appended: Vec<_> = (0..7).map(|_| next()).collect();
    assert_eq!((&*appended[0], &*appended[6]), ("0,0.0,0.0,,0", "3,1.5,nan,abcd,NaT"));
    child.kill().unwrap();
    child.wait().unwrap();
    for format in ["npy", "json"] {
        let refusal = run_err(2, ["tail", "-f", &matrix, "--format", format]);
        assert!(refusal.contains("--follow has no end"), "{refusal}");
    }
}

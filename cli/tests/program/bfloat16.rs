//! Values of bfloat16, which NumPy stores as void of two bytes.

use crate::run::{command, is_thorough, npymap, path_in, python, run_err, run_ok};

#[test]
fn numbers_are_converted_to_bfloat16_and_back() {
    let directory = tempfile::tempdir().unwrap();
    let [numbers, brain, other, csv] =
        ["n.npy", "b.npy", "o.npy", "t.csv"].map(|name| path_in(&directory, name));
    let script = "import numpy as np, sys
a = np.array([[1.5, -2, np.nan], [np.inf, 0, 3.25]], '>f8')
np.save(sys.argv[1], np.asfortranarray(a))
np.save(sys.argv[2], (a.astype('<f4').view('<u4') >> 16).astype('<u2').view('V2'))";
    if python(script, &[&numbers, &other]).is_none() {
        return;
    }
    run_ok(["convert", &numbers, &brain, "--dtype", "bfloat16"]);
    assert!(run_ok(["info", "--json", &brain]).contains("\"fortran_order\":true"));
    run_ok(["diff", &brain, &other]);
    for path in [&brain, &other] {
        assert_eq!(run_ok(["get", path, "1", "--dtype", "bfloat16"]), "[inf, 0.0, 3.25]\n");
        let matching = ["get", path, ":", "--dtype", "bfloat16", "--where", "value > 1"];
        assert_eq!(run_ok(matching), "1.5\ninf\n3.25\n");
        let stats = run_ok(["stats", "--json", path, "--dtype", "bfloat16"]);
        assert!(stats.contains("\"nan\":1") && stats.contains("\"min\":-2.0"), "{stats}");
        run_ok(["diff", "--values", "--dtype", "bfloat16", path, &numbers]);
        let doubles = ["get", path, ":", "--dtype", "bfloat16", "-o", &csv, "--overwrite"];
        run_ok(doubles);
        assert_eq!(std::fs::read_to_string(&csv).unwrap(), "1.5,-2.0,nan\ninf,0.0,3.25\n");
    }
    // As from a pipe, and from text, whose decimal numbers are rounded.
    run_ok(["convert", &csv, &brain, "--dtype", "bfloat16", "--overwrite", "--no-header"]);
    run_ok(["diff", &brain, &other]);
    run_ok(["create", &other, "--overwrite", "--shape", "(0, 3)"]);
    run_ok(["convert", &other, &brain, "--dtype", "bfloat16", "--overwrite"]);
    assert_eq!(run_ok(["get", &brain, ":", "--dtype", "bfloat16"]), "[]\n");
}

#[test]
fn values_that_bfloat16_cannot_hold_need_force() {
    let directory = tempfile::tempdir().unwrap();
    let [path, out] = ["a.npy", "out.npy"].map(|name| path_in(&directory, name));
    for (dtype, value) in [("f8", "0.1"), ("f4", "257"), ("i8", "9007199254740993")] {
        run_ok(["create", &path, "--overwrite", "--shape", "2", "--dtype", dtype, "--fill", value]);
        let error = run_err(1, ["convert", &path, &out, "--dtype", "bfloat16"]);
        assert!(error.ends_with("can hold exactly: allow it to change with --force\n"), "{error}");
    }
    run_ok(["create", &path, "--overwrite", "--shape", "2", "--fill", "0.1"]);
    run_ok(["convert", &path, &out, "--dtype", "bfloat16", "--force"]);
    assert_eq!(run_ok(["get", &out, "0", "--dtype", "bfloat16"]), "0.100097656\n");
    for arguments in [
        &["convert", &path, &out, "--dtype", "int4"][..],
        &["convert", &path, &out, "--dtype", "float8_e5m2"],
        &["get", &path, ":", "--dtype", "int4"],
        &["head", &path, "--dtype", "int4"],
        &["tail", &path, "--dtype", "float8_e4m3fn"],
        &["sample", &path, "--dtype", "float8_e5m2"],
        &["show", &path, "--dtype", "uint4"],
        &["sort", &path, "--dtype", "int4"],
        &["unique", &path, "--dtype", "float4_e2m1fn"],
    ] {
        let refused = npymap(arguments);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        let expected =
            "of the types of ml_dtypes, only the values of bfloat16 are read and written";
        assert!(refused.err.contains(expected), "{refused:?}");
    }
    let archive = path_in(&directory, "a.npz");
    let to_archive = run_err(2, ["convert", &path, &archive, "--dtype", "bfloat16"]);
    let some_rows = ["--dtype", "bfloat16", "--overwrite", "--where", "value > 1"];
    let some_rows = run_err(2, ["convert", &path, &out].into_iter().chain(some_rows));
    for error in [to_archive, some_rows] {
        assert!(error.contains("convert to one in a first step"), "{error}");
    }
    run_ok(["create", &path, "--overwrite", "--shape", "2", "--dtype", "U1"]);
    let error = run_err(1, ["convert", &path, &out, "--overwrite", "--dtype", "bfloat16"]);
    assert!(error.contains("only real numbers are converted to bfloat16"), "{error}");
}

/// A file of bfloat16 with the values 0 to 11, in 2 rows of 2 lines of 3.
fn arange(directory: &tempfile::TempDir) -> String {
    let [numbers, brain] = ["n.npy", "b.npy"].map(|name| path_in(directory, name));
    run_ok(["create", &numbers, "--shape", "(2, 2, 3)", "--arange"]);
    run_ok(["convert", &numbers, &brain, "--dtype", "bfloat16"]);
    brain
}

#[test]
fn values_are_shown_sampled_and_sorted() {
    let directory = tempfile::tempdir().unwrap();
    let brain = arange(&directory);
    let [out, line] = ["out.npy", "line.npy"].map(|name| path_in(&directory, name));
    let values = |words: &[&str]| {
        let dtype = ["--dtype", "bfloat16"];
        run_ok([words[0], &brain].into_iter().chain(words[1..].iter().copied()).chain(dtype))
    };
    for (words, expected) in [
        (&["head", "-n", "2", "--format", "csv"][..], "0.0,1.0,2.0\n3.0,4.0,5.0\n"),
        (&["head", "-n", "3", "--format", "tsv", "1"], "6.0\t7.0\t8.0\n9.0\t10.0\t11.0\n"),
        (&["head", "-n", "1", "--json", "--where", "value[0] > 3"], "[6.0,7.0,8.0]\n"),
        (&["tail", "-n", "1", "--json"], "[9.0,10.0,11.0]\n"),
        (&["tail", "-n", "2", "--format", "csv", "::-1, 1, 1:"], "10.0,11.0\n4.0,5.0\n"),
        (&["tail", "-n", "1", "--json", "--where", "value[0] < 9"], "[6.0,7.0,8.0]\n"),
        (
            &["sample", "-n", "2", "--format", "csv"],
            "0.0,1.0,2.0\n3.0,4.0,5.0\n6.0,7.0,8.0\n9.0,10.0,11.0\n",
        ),
        (
            &["sort", "--by", ":, 0, 0", "--reverse", "--format", "csv"],
            "6.0,7.0,8.0\n9.0,10.0,11.0\n0.0,1.0,2.0\n3.0,4.0,5.0\n",
        ),
        (&["unique", "1:, 1", "--counts", "--no-header"], "9.0,1\n10.0,1\n11.0,1\n"),
    ] {
        let found = values(words);
        let mut lines: [Vec<_>; 2] = [&*found, expected].map(|text| text.lines().collect());
        if words[0] == "sample" {
            // In the order of the generator.
            for lines in &mut lines {
                lines.sort_unstable();
            }
        }
        assert_eq!(lines[0], lines[1], "{words:?}");
    }
    let table = values(&["head", "-n", "1"]);
    assert_eq!(table, "         0    1    2\n 0, 0  0.0  1.0  2.0\n… 3 more rows\n");
    let table = values(&["tail", "-n", "1"]);
    assert_eq!(table, "         0     1     2\n 1, 1  9.0  10.0  11.0\n");
    for words in [
        &["head", "-n", "4", "-o", &out, "--overwrite"][..],
        &["sample", "-n", "2", "-o", &out, "--overwrite"],
        &["sort", "-o", &out, "--by", ":", "--overwrite"],
        &["unique", "-o", &out, "--overwrite"],
    ] {
        values(words);
        assert!(run_ok(["info", &out]).contains("'<f4'"), "{words:?}");
        assert!(run_ok(["stats", "--json", &out]).contains("\"max\":11.0"), "{words:?}");
    }
    assert!(values(&["show", "1"]).contains("11"));
    run_ok(["get", &brain, ":, 0, 0", "-o", &line]);
    assert!(run_ok(["show", &line, "--dtype", "bfloat16", "--where", "value > 1"]).contains('6'));
}

/// Without `--dtype`, or for another dtype, nothing changes.
/// They are in a temporary file, of which parts of 32 MiB are read.
#[test]
fn values_of_more_than_one_part_are_printed_and_drawn() {
    if !is_thorough() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory, "a.npy");
    run_ok(["create", &path, "--dtype", "V2", "--shape", "(9000000, 1)"]);
    let all = run_ok(["get", &path, ":", "--dtype", "bfloat16", "--format", "jsonl"]);
    assert_eq!(all.lines().filter(|line| *line == "[0.0]").count(), 9_000_000);
    for command in ["get", "show"] {
        assert!(!run_ok([command, &path, ":, 0", "--dtype", "bfloat16"]).is_empty());
    }
}

#[test]
fn elements_of_other_dtypes_are_taken_as_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory, "a.npy");
    run_ok(["create", &path, "--shape", "(3, 2)", "--dtype", "<i2", "--arange"]);
    for words in [&["head"][..], &["tail"], &["sample", "-n", "2"], &["show"], &["unique"]] {
        let plain = [words[0], &path].into_iter().chain(words[1..].iter().copied());
        let plain: Vec<_> = plain.collect();
        let with = run_ok(plain.iter().copied().chain(["--dtype", "bfloat16"]));
        assert_eq!(with, run_ok(plain), "{words:?}");
    }
}

/// Of a pipe, the rows that are printed suffice.
#[test]
#[cfg(unix)]
fn values_of_a_stream_are_printed() {
    let directory = tempfile::tempdir().unwrap();
    let brain = arange(&directory);
    for (words, expected) in [
        (&["head", "-", "-n", "1", "--json"][..], "[0.0,1.0,2.0]\n"),
        (&["head", "-", "-n", "1", "--json", "--where", "value[0] > 2"], "[3.0,4.0,5.0]\n"),
        (&["tail", "-", "-n", "1", "--json"], "[9.0,10.0,11.0]\n"),
    ] {
        let mut cat = std::process::Command::new("cat")
            .arg(&brain)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let pipe = cat.stdout.take().unwrap();
        let dtype = ["--dtype", "bfloat16"];
        let run = command().args(words).args(dtype).stdin(pipe).output().unwrap();
        cat.wait().unwrap();
        assert_eq!(String::from_utf8(run.stdout).unwrap(), expected, "{words:?}");
    }
}

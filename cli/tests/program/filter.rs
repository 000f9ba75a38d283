//! `--where` selects rows.

use std::fs;

use crate::run::{copy_penguins, npymap, path_in, python, run_err, run_ok};

/// Six records.
fn sensors(directory: impl AsRef<std::path::Path>) -> String {
    let (text, path) = (path_in(&directory, "s.csv"), path_in(&directory, "s.npy"));
    let rows = "sensor,temp,n,ok,when,pos.0,pos.1\n\
        alpha,27.5,1,True,2024-01-01,1,2\n\
        beta,26.0,2,True,2024-01-02,3,4\n\
        alpha,nan,3,False,NaT,5,6\n\
        gamma,30.1,-4,True,2024-01-04,7,8\n\
        alpha,28.0,5,False,2024-01-05,9,10\n\
        été,27.0,9007199254740993,True,2024-01-06,11,12\n";
    fs::write(&text, rows).unwrap();
    let dtype = "[('sensor', '<U5'), ('temp', '<f4'), ('n', '>i8'), ('ok', '|b1'), ('when', '<M8[D]'), ('pos', '<u2', (2,))]";
    run_ok(["convert", &text, &path, "--dtype", dtype]);
    path
}

#[test]
fn conditions_name_columns_of_subarrays_of_records() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory, "a.npy");
    let dtype = "[('n', 'i4'), ('p', [('x', 'i4'), ('y', 'f8', (2,))], (2,))]";
    run_ok(["create", &path, "--shape", "2", "--dtype", dtype]);
    run_ok(["set", &path, "1", "(7, [(1, [2, 3]), (4, [5, 6])])"]);
    for condition in ["p.1.x == 4", "p.x.1 == 4", "p.x[1] == 4", "p.1.y.0 == 5", "p.y.1.0 == 5"] {
        assert_eq!(run_ok(["get", &path, ".n", "--where", condition]), "7\n", "{condition}");
    }
    let error = run_err(1, ["get", &path, "--where", "p.1.z > 0"]);
    assert!(error.contains("no field"), "{error}");
}

#[test]
fn conditions_select_rows() {
    let directory = tempfile::tempdir().unwrap();
    let path = sensors(&directory);
    for (condition, numbers) in [
        ("temp > 27 and sensor == \"alpha\"", &[0, 4][..]),
        ("temp > 27", &[0, 3, 4]),
        ("not temp > 27", &[1, 2, 5]),
        ("temp == 30.1", &[3]),
        ("isnan(temp)", &[2]),
        ("isnan(when) or n < 0", &[2, 3]),
        ("when >= '2024-01-04'", &[3, 4, 5]),
        ("when != '2024-01-04'", &[0, 1, 2, 4, 5]),
        ("2 <= n < 5", &[1, 2]),
        ("n == 9007199254740993", &[5]),
        ("n == 9007199254740992", &[]),
        ("n > 4.5", &[4, 5]),
        ("ok", &[0, 1, 3, 5]),
        ("not ok and temp > 0", &[4]),
        ("ok == False", &[2, 4]),
        ("sensor < 'b'", &[0, 2, 4]),
        ("sensor == 'été'", &[5]),
        ("pos[0] > 6", &[3, 4, 5]),
        ("pos.1 == 4 or pos[-1] == 12", &[1, 5]),
        ("pos[0] > n", &[1, 2, 3, 4]),
        ("temp > n", &[0, 1, 3, 4]),
        ("`temp` > pos.1", &[0, 1, 3, 4, 5]),
        ("sensor == sensor", &[0, 1, 2, 3, 4, 5]),
    ] {
        let printed = run_ok(["get", &path, ".n", "--where", condition]);
        let all = [1, 2, 3, -4, 5, 9_007_199_254_740_993_i64];
        let expected: String =
            numbers.iter().map(|&at: &usize| format!("{}\n", all[at])).collect::<Vec<_>>().concat();
        assert_eq!(printed, expected, "{condition}");
    }
}

#[test]
fn text_that_is_not_valid_unicode_equals_no_text() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory, "a.npy");
    let script = "import numpy as np, sys
rows = [(0, 'a', 'a'), (1, '\\ud800', '\\ud801'), (2, '\\ufffd', '\\ufffd')]
np.save(sys.argv[1], np.array(rows, [('n', 'u1'), ('a', '<U1'), ('b', '>U2')]))";
    if python(script, &[&path]).is_none() {
        return;
    }
    for (condition, rows) in [
        ("a == '\u{fffd}'", "2\n"),
        ("a != '\u{fffd}'", "0\n1\n"),
        ("a == b", "0\n2\n"),
        ("a < b", "1\n"),
        ("a > 'b'", "1\n2\n"),
    ] {
        assert_eq!(run_ok(["get", &path, ".n", "--where", condition]), rows, "{condition}");
    }
}

#[test]
fn rows_of_plain_arrays_are_selected_by_value() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_penguins(directory.path());
    let path = path.to_str().unwrap();
    let printed = run_ok(["get", path, "--where", "value[0] > 55 and value[3] < 6000"]);
    assert_eq!(printed.lines().count(), 4);
    assert!(
        printed.starts_with('[') && printed.lines().all(|line| line.ends_with("0]")),
        "{printed}"
    );
    let printed = run_ok(["get", path, ":, 3", "--where", "value[3] >= 6000"]);
    assert_eq!(printed, "6300.0\n6050.0\n6000.0\n6000.0\n");
    let json = run_ok(["get", path, "--json", "--where", "value.3 > 6200"]);
    assert_eq!(json.lines().count(), 1);
    // A double that is between two floats of 32 bits.
    let one = path_in(&directory, "one.npy");
    run_ok(["create", &one, "--shape", "1", "--dtype", "f4", "--fill", "1"]);
    assert_eq!(run_ok(["get", &one, "--where", "value == 1.0000000596046448"]), "1.0\n");
}

#[test]
fn every_output_has_the_selected_rows() {
    let directory = tempfile::tempdir().unwrap();
    let path = sensors(&directory);
    let out = path_in(&directory, "out.npy");
    let condition = "sensor == 'alpha'";
    run_ok(["get", &path, ".pos", "--where", condition, "-o", &out]);
    assert_eq!(run_ok(["get", &out, ":"]), "[[1, 2],\n [5, 6],\n [9, 10]]\n");
    run_ok([
        "convert",
        &path,
        &out,
        "--overwrite",
        "--where",
        condition,
        "--field",
        "temp,n",
        "--select",
        "1:",
    ]);
    assert_eq!(run_ok(["get", &out, ":"]), "[(nan, 3), (28.0, 5)]\n");
    run_ok([
        "convert",
        &path,
        &out,
        "--overwrite",
        "--where",
        condition,
        "--field",
        "n",
        "--dtype",
        "u1",
    ]);
    assert_eq!(run_ok(["get", &out, ":"]), "[1, 3, 5]\n");
    run_ok(["convert", &path, &out, "--overwrite", "--where", "n > 1e300"]);
    assert_eq!(run_ok(["get", &out, ":"]), "[]\n");
    let head = run_ok(["head", &path, "--where", condition, "-n", "2"]);
    assert!(
        head.contains("\n 0  alpha")
            && head.contains("\n 2  alpha")
            && head.ends_with("… more rows\n"),
        "{head}"
    );
    let head = run_ok(["head", &path, ".pos", "--where", condition, "-n", "3"]);
    assert!(head.ends_with("4  9  10\n"), "{head}");
}

#[test]
fn selected_rows_of_a_large_file_are_those_of_all_blocks() {
    let directory = tempfile::tempdir().unwrap();
    let text = path_in(&directory, "t.csv");
    let lines: String =
        (0..200_000).map(|n| format!("{n},{}\n", n % 1000)).collect::<Vec<_>>().concat();
    fs::write(&text, lines).unwrap();
    let (path, out) = (path_in(&directory, "t.npy"), path_in(&directory, "out.npy"));
    run_ok(["convert", &text, &path]);
    run_ok(["convert", &path, &out, "--where", "value[1] == 7"]);
    let expected: String =
        (0..200).map(|n| format!("{}\n", n * 1000 + 7)).collect::<Vec<_>>().concat();
    assert_eq!(run_ok(["get", &out, ":, 0", "--format", "csv"]), expected);
}

#[test]
fn conditions_that_do_not_suit_are_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let path = sensors(&directory);
    for (condition, message) in [
        ("humidity > 3", "humidity"),
        ("sensor > 3", "`sensor` has dtype '<U5': it is not compared with 3: write text in quotes"),
        ("temp == 'x'", "it is not compared with \"x\": write a number"),
        ("when > 3", "write a date of its unit in quotes"),
        ("when > 'yesterday'", "yesterday"),
        ("when == 'NaT'", "write `isnan(FIELD)`"),
        (
            "pos > 3",
            "`pos` has several values in each row: select one by an index for each axis, such as `pos[0]`, up to 1",
        ),
        ("pos[2] > 3", "index 2 of `pos` is out of range for an axis of length 2"),
        ("pos[0, 1] > 3", "`pos` takes at most 1 of the 2 indices"),
        ("temp[0] > 3", "`temp` has a single value in each row: omit the index"),
        ("temp.0 > 3", "`temp` has a single value in each row: omit the index"),
        (&format!("temp{} > 3", ".0".repeat(64)), "`temp` has a single value in each row"),
        (&format!("temp{} > 3", ".0".repeat(300)), "has no fields, asked for `0`"),
        ("temp", "only a boolean is a condition by itself"),
        ("isnan(n)", "isnan() is for floats, dates and time differences"),
        ("sensor == temp", "it is not compared with `temp` of dtype '<f4'"),
    ] {
        let refusal = run_err(1, ["get", &path, "--where", condition]);
        assert!(refusal.contains(message), "{condition}: {refusal}");
    }
    let output = npymap(["get", &path, "--where", "temp = 3"]);
    assert_eq!(output.code, Some(2));
    assert!(
        output
            .err
            .contains("at character 6: expected `and`, `or` or the end, found `=`: write `==`"),
        "{}",
        output.err
    );
    let plain = path_in(&directory, "plain.npy");
    run_ok(["create", &plain, "--shape", "3"]);
    let long = format!("value{}", ".0".repeat(15_000));
    for name in ["x", "x.0", &long] {
        let refusal = run_err(1, ["get", &plain, "--where", &format!("{name} > 3")]);
        let expected = format!("has no field `{name}`: elements are called `value`");
        assert!(refusal.contains(&expected), "{refusal}");
    }
    run_ok(["create", &plain, "--overwrite", "--shape", "()"]);
    assert!(run_err(1, ["get", &plain, "--where", "value > 3"]).contains("its shape is ()"));
}

#[test]
fn statistics_and_samples_are_of_the_selected_rows() {
    let directory = tempfile::tempdir().unwrap();
    let path = sensors(&directory);
    let stats = run_ok(["stats", &path, ".n", "--json", "--where", "sensor == 'alpha'"]);
    assert!(stats.contains("\"count\":3") && stats.contains("\"sum\":9"), "{stats}");
    // Of the four rows that match, those after the first.
    let stats = run_ok(["stats", &path, "--json", "1:3.n", "--where", "ok"]);
    assert!(stats.contains("\"count\":2") && stats.contains("\"sum\":-2"), "{stats}");
    let sampled = run_ok(["sample", &path, "-n", "1", "--where", "n == 5"]);
    assert!(sampled.starts_with("[('alpha', 28.0, 5, False"), "{sampled}");
    let refusal = run_err(1, ["sample", &path, "-n", "4", "--where", "sensor == 'alpha'"]);
    assert!(refusal.contains("3 rows, and 4 were requested"), "{refusal}");
    let out = path_in(&directory, "sampled.npy");
    run_ok(["sample", &path, "-n", "3", "--where", "sensor == 'alpha'", "-o", &out]);
    assert!(run_ok(["stats", &out, ".n", "--json"]).contains("\"sum\":9"));
}

//! `stats` computes the same statistics as NumPy, by field and by column.

use crate::run::{copy_penguins, data, npymap, path_in, run_err, run_ok, size};

fn fixture(name: &str) -> String {
    data().join("numpy-2.4.6").join(name).to_str().unwrap().to_owned()
}

#[test]
fn a_column_of_a_table_is_a_row() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_penguins(directory.path());
    let path = path.to_str().unwrap();
    let lines = run_ok(["stats", path, "--axis", "0"]);
    let lines: Vec<Vec<&str>> =
        lines.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        lines[0],
        ["column", "dtype", "count", "NaN", "infinite", "min", "mean", "max", "sum"]
    );
    assert_eq!(lines[4][..6], [":,", "3", "'<f8'", "342", "0", "0"]);
    assert_eq!((lines[4][6], lines[4][8]), ("2700.0", "6300.0"));
    let whole = run_ok(["stats", "--json", path]);
    let whole: serde_json::Value = serde_json::from_str(&whole).unwrap();
    assert_eq!(
        (&whole["count"], &whole["field"], &whole["index"]),
        (&1368.into(), &().into(), &().into())
    );
    assert_eq!((&whole["min"], &whole["max"]), (&13.1.into(), &6300.0.into()));
    assert_eq!(run_ok(["stats", path, ":, 3"]).lines().count(), 2);
}

/// The lines of `stats --json`.
fn stats(arguments: &[&str]) -> Vec<serde_json::Value> {
    let lines = run_ok([&["stats", "--json"], arguments].concat());
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn fields_dates_and_complex_parts_have_separate_rows() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("events.npy").to_str().unwrap().to_owned();
    let dtype = "[('t', '>M8[D]'), ('in', [('z', '<c8'), ('v', '<f4', (2,))]), ('s', '<U3')]";
    run_ok(["create", &path, "--shape", "(2, 3)", "--dtype", dtype]);
    run_ok(["set", &path, "0, 1.t", "NaT"]);
    run_ok(["set", &path, "1, 2.t", "2020-02-29"]);
    run_ok(["set", &path, "1, 2.in.v", "nan"]);
    run_ok(["set", &path, "0, 0.in.v", "-inf"]);
    let all = stats(&[&path]);
    let names: Vec<_> = all.iter().map(|row| row["field"].as_str().unwrap()).collect();
    assert_eq!(names, ["t", "in.z.real", "in.z.imag", "in.v", "s"]);
    assert_eq!(
        (&all[0]["nat"], &all[0]["min"], &all[0]["max"], &all[0]["mean"]),
        (&1.into(), &"1970-01-01".into(), &"2020-02-29".into(), &().into())
    );
    assert_eq!(
        (&all[3]["count"], &all[3]["nan"], &all[3]["infinite"], &all[3]["min"], &all[3]["mean"]),
        (&12.into(), &2.into(), &2.into(), &"-inf".into(), &"-inf".into())
    );
    let columns = stats(&[&path, "--axis", "1", ".in.v"]);
    let index: Vec<_> = columns.iter().map(|row| row["index"].to_string()).collect();
    assert_eq!(index, ["[0,null,0]", "[0,null,1]", "[1,null,0]", "[1,null,1]"]);
    assert_eq!(columns[3]["nan"], 1);
}

#[test]
fn arrays_of_any_size_have_statistics() {
    assert_eq!(stats(&[&fixture("shape-0d.npy")])[0]["count"], 1);
    assert!(run_ok(["stats", &fixture("shape-3-0-2.npy"), "--axis", "1"]).lines().count() > 6);
    assert!(run_ok(["stats", &fixture("struct-no-fields.npy")]).lines().count() <= 1);
    let refusal = run_err(1, ["stats", &fixture("rank2-C.npy"), "--axis", "2"]);
    assert!(refusal.contains("has shape (3, 4), and axis 2 is out of range -2..2"), "{refusal}");
    assert_eq!(npymap(["stats"]).code, Some(2));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("wide.npy").to_str().unwrap().to_owned();
    run_ok(["create", &path, "--shape", "(2, 70000)", "--dtype", "u1"]);
    let refusal = run_err(1, ["stats", &path, "--axis", "0"]);
    assert!(
        refusal.contains("axis 0 leaves 70000 columns, and at most 65536 are summarized"),
        "{refusal}"
    );
    assert_eq!(run_ok(["stats", &path, "--axis", "1"]).lines().count(), 3);
}

#[test]
fn results_of_threads_are_merged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ones.npy").to_str().unwrap().to_owned();
    let rows: u32 = size(300, 1000, 3000);
    let (shape, last) = (format!("({rows}, 2000)"), format!("{}, 1999", rows - 1));
    let count = rows * 2000;
    for order in ["C", "F"] {
        run_ok(["create", &path, "--shape", &shape, "--fill", "2", "--order", order]);
        run_ok(["set", &path, &last, "5"]);
        let whole = run_ok(["stats", "--json", &path]);
        let whole: serde_json::Value = serde_json::from_str(&whole).unwrap();
        assert_eq!(
            (&whole["count"], &whole["sum"]),
            (&count.into(), &f64::from(2 * count + 3).into())
        );
        let last = run_ok(["stats", "--json", &path, "--axis", "0"]);
        let last: serde_json::Value = serde_json::from_str(last.lines().last().unwrap()).unwrap();
        assert_eq!((&last["count"], &last["sum"]), (&rows.into(), &f64::from(2 * rows + 3).into()));
        std::fs::remove_file(&path).unwrap();
    }
}

/// The sum of an array of these values and zeros, which is the same in the table
/// and as JSON.
fn sum(dtype: &str, values: &[&str], shape: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory, "sums.npy");
    run_ok(["create", &path, "--shape", shape, "--dtype", dtype]);
    for (at, value) in values.iter().enumerate() {
        run_ok(["set", &path, &at.to_string(), value]);
    }
    let table = run_ok(["stats", &path]);
    let last = table.lines().last().unwrap().split_whitespace().last().unwrap().to_owned();
    let json = run_ok(["stats", "--json", &path]);
    let json = json.split(r#""sum":"#).nth(1).unwrap().split(',').next().unwrap().to_owned();
    assert_eq!(json, last);
    json
}

#[test]
fn sums_of_integers_are_exact_and_printed_as_integers() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sums.npy").to_str().unwrap().to_owned();
    let power = "9007199254740992";
    assert_eq!(sum("i8", &[power, "1", "1", "1"], "4"), "9007199254740995");
    let (most, least) = ("18446744073709551615", "-9223372036854775808");
    assert_eq!(sum(">u8", &[most, most, most], "3000"), "55340232221128654845");
    assert_eq!(sum("i8", &[least, least, "1"], "3"), "-18446744073709551615");
    assert_eq!(sum("i2", &["-3", "1"], "5"), "-2");
    assert_eq!(sum("|b1", &["True", "True"], "5"), "2");
    assert_eq!(sum("f8", &["1", "2"], "5"), "3.0");
    let len: u32 = size(300_000, 1_000_000, 5_000_000);
    let shape = len.to_string();
    run_ok(["create", &path, "--overwrite", "--shape", &shape, "--dtype", "u8", "--fill", most]);
    let json = run_ok(["stats", "--json", &path]);
    let sum = u128::from(u64::MAX) * u128::from(len);
    assert!(json.contains(&format!(r#""sum":{sum},"#)), "{json}");
}

/// The output of the program in a terminal with this number of columns.
fn run_with_columns(columns: &str, arguments: &[&str]) -> String {
    let mut program = crate::run::command();
    let run = program.env("COLUMNS", columns).args(arguments).output().unwrap();
    String::from_utf8(run.stdout).unwrap()
}

#[test]
fn wide_rows_are_printed_as_paragraphs() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_penguins(directory.path());
    let path = path.to_str().unwrap();
    let wide = run_with_columns("200", &["stats", path]);
    assert_eq!(wide.lines().count(), 2, "{wide}");
    let long = directory.path().join("a-name-that-is-much-too-long-for-a-narrow-terminal.npy");
    std::fs::copy(path, &long).unwrap();
    for arguments in [&["stats", path][..], &["info", path, long.to_str().unwrap()]] {
        let narrow = run_with_columns("50", arguments);
        assert!(narrow.lines().all(|line| line.chars().count() <= 50), "{narrow}");
        assert!(narrow.contains("<f8"), "{narrow}");
    }
    assert!(run_with_columns("50", &["stats", path]).contains("  max       6300.0\n"));
}

// 32 bits cannot address an array of this size.
#[cfg(target_pointer_width = "64")]
#[test]
fn holes_count_as_the_zeros_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sparse.npy").to_str().unwrap().to_owned();
    // So many that reading them all would take noticeably long.
    run_ok(["create", &path, "--shape", "(1000, 8000000)", "--dtype", "i8", "--sparse"]);
    run_ok(["set", &path, "700, 5", "9"]);
    run_ok(["set", &path, "0, 0", "-2"]);
    let line: serde_json::Value =
        serde_json::from_str(&run_ok(["stats", "--json", &path])).unwrap();
    assert_eq!((&line["count"], &line["sum"]), (&8_000_000_000_u64.into(), &7.into()));
    assert_eq!((&line["min"], &line["max"]), (&(-2).into(), &9.into()));
    let dates = directory.path().join("dates.npy").to_str().unwrap().to_owned();
    let dtype = "[('t', '<M8[D]'), ('v', '<f4', (3,))]";
    run_ok([
        "create",
        &dates,
        "--shape",
        "(500000, 4)",
        "--dtype",
        dtype,
        "--sparse",
        "--order",
        "F",
    ]);
    let table = run_ok(["stats", &dates, "--axis", "0"]);
    let rows: Vec<Vec<&str>> =
        table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!((rows.len(), rows[1][4]), (17, "500000"), "{table}");
    assert!(table.contains("1970-01-01"), "{table}");
}

#[test]
fn an_axis_can_be_counted_from_the_last() {
    let path = fixture("rank2-C.npy");
    assert_eq!(stats(&[&path, "--axis=-1"]), stats(&[&path, "--axis", "1"]));
    assert_eq!(stats(&[&path, "--axis", "-2"]), stats(&[&path, "--axis", "0"]));
    let refusal = run_err(1, ["stats", &path, "--axis", "-3"]);
    assert!(refusal.contains("and axis -3 is out of range -2..2"), "{refusal}");
    let refusal = run_err(1, ["stats", &fixture("shape-0d.npy"), "--axis", "-1"]);
    assert!(refusal.contains("has shape (), so there is no axis -1"), "{refusal}");
}

#[test]
fn quantiles_are_listed_once_and_may_be_infinite() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory, "a.npy");
    run_ok(["create", &path, "--shape", "2", "--fill", "inf"]);
    let line = run_ok(["stats", "--json", "--quantiles=0.5,0,0.5", &path]);
    assert!(line.contains(r#""quantiles":{"0.5":"inf","0":"inf"}"#), "{line}");
    let table = run_ok(["stats", "--quantiles=0.5,0,0.5", &path]);
    assert_eq!(table.matches("50%").count(), 1, "{table}");
    run_ok(["set", &path, "0", "1"]);
    let line = run_ok(["stats", "--json", "--quantiles=0,0.25,0.75,1", &path]);
    // Between different elements, what NumPy computes.
    let expected = r#""quantiles":{"0":1.0,"0.25":"inf","0.75":"nan","1":"inf"}"#;
    assert!(line.contains(expected), "{line}");
}

#[test]
fn places_in_a_selection_are_those_in_the_array() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory, "a.npy");
    run_ok(["create", &path, "--shape", "(10, 4)", "--dtype", "f8"]);
    run_ok(["set", &path, "7, 3", "nan"]);
    for index in
        ["5:, 2:", "::-1, ::-1", "7", "..., 3", "[1, 7]", ":, [3, 0]", "None, 6:", "7, [3, 3]"]
    {
        let error = npymap(["stats", &path, index, "--fail-on", "nan"]).err;
        assert!(error.contains(": [7, 3]"), "{index}: {error}");
    }
    let line = npymap(["stats", "--json", &path, "6:, 2:", "--axis", "0", "--fail-on", "nan"]).out;
    let indices: Vec<serde_json::Value> =
        line.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [first, second] = &indices[..] else { panic!("{line}") };
    assert_eq!(
        (&first["index"], &second["index"]),
        (&serde_json::json!([null, 2]), &serde_json::json!([null, 3]))
    );
    let error = npymap(["stats", &path, "2020.npy"]).err;
    assert!(error.contains("2020.npy"), "{error}");
}

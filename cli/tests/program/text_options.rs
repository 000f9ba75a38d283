//! Delimiters of CSV, and nested objects in JSON lines.

use crate::run::{npymap, path_in, run_err, run_ok};
use crate::streams::run_piped;

#[test]
fn json_objects_are_structs() {
    let directory = tempfile::tempdir().unwrap();
    let lines = b"{\"a\":{\"b\":{\"x\":1,\"y\":[1,2]},\"c.d\":true},\"e\":\"t\",\"a.e\":0.5}\n\
        {\"e\":\"uv\",\"a.e\":2,\"a\":{\"c.d\":false,\"b\":{\"y\":[3,4],\"x\":null}}}\n";
    let path = path_in(&directory, "a.npy");
    run_piped(["convert", "-", "--from", "jsonl", &path], lines);
    let dtype = "[('a', [('b', [('x', '<f8'), ('y', '<i8', (2,))]), ('c.d', '|b1')]), ('e', '<U2'), ('a.e', '<f8')]";
    let info = run_ok(["info", &path]);
    assert!(info.contains(dtype), "{info}");
    assert_eq!(run_ok(["get", &path, "1"]), "(((nan, [3, 4]), False), 'uv', 2.0)\n");
    let back = run_ok(["get", &path, ":1", "--format", "jsonl"]);
    assert_eq!(
        back,
        "{\"a\":{\"b\":{\"x\":1.0,\"y\":[1,2]},\"c.d\":true},\"e\":\"t\",\"a.e\":0.5}\n"
    );
}

#[test]
fn csv_may_have_other_delimiters() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory, "a.npy");
    let dtype = "[('n', '<i4'), ('s', '<U9'), ('t', '<M8[s]')]";
    run_ok(["create", &path, "--shape", "2", "--dtype", dtype]);
    run_ok(["set", &path, "1", "(7, 'a;b|c:d\te', 'NaT')"]);
    let csv = run_ok(["get", &path, "--format", "csv", "--delimiter", ";"]);
    assert_eq!(csv, "n;s;t\n0;;1970-01-01T00:00:00\n7;\"a;b|c:d\te\";NaT\n");
    for delimiter in [";", "|", r"\t", ":"] {
        let text = path_in(&directory, "a.csv");
        let back = path_in(&directory, "b.npy");
        run_ok(["convert", &path, &text, "--overwrite", "--delimiter", delimiter]);
        let dtype = ["--dtype", dtype, "--delimiter", delimiter];
        run_ok(["convert", &text, &back, "--overwrite"].iter().chain(&dtype));
        assert!(run_ok(["diff", &path, &back]).contains("equal"), "{delimiter}");
    }
    for wrong in ["", ";;", "\"", "\n", "é"] {
        assert_eq!(npymap(["get", &path, "--format", "csv", "--delimiter", wrong]).code, Some(2));
    }
    let refusal = run_err(2, ["get", &path, "--format", "tsv", "--delimiter", ";"]);
    assert!(refusal.contains("--delimiter is for --format csv"), "{refusal}");
    let refusal = run_err(2, ["convert", &path, &path_in(&directory, "c.npy"), "--delimiter", ";"]);
    assert!(
        refusal.contains("--delimiter, --from, --skip, --max-row-len, --no-header and --nan"),
        "{refusal}"
    );
}

#[test]
fn options_that_change_nothing_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let [npy, csv, tsv, jsonl] =
        ["a.npy", "a.csv", "a.tsv", "a.jsonl"].map(|name| path_in(&directory, name));
    run_ok(["create", &npy, "--shape", "(3, 2)", "--dtype", "f8"]);
    std::fs::write(&csv, "1,2\n300,4\n").unwrap();
    for (arguments, text) in [
        ([&*npy, &tsv, "--skip", "2"], "--skip is for IN"),
        ([&npy, &tsv, "--delimiter", ";"], "--delimiter is for CSV"),
        ([&npy, &jsonl, "--nan", "x"], "--nan is for OUT"),
        ([&csv, &jsonl, "--nan", "x"], "--nan is for OUT"),
    ] {
        let error = run_err(2, ["convert"].iter().chain(&arguments));
        assert!(error.contains(text), "{arguments:?}: {error}");
    }
    let force = ["convert", &csv, &npy, "--overwrite", "--dtype", "u1", "--force"];
    assert!(run_err(2, force).contains("--force is for arrays"));
    run_ok(["convert", &csv, &tsv, "--delimiter", ",", "--no-header", "--nan", "x"]);
}

#[test]
fn keys_with_dots_are_not_those_of_objects() {
    let directory = tempfile::tempdir().unwrap();
    let [text, array] = ["a.jsonl", "a.npy"].map(|name| path_in(&directory, name));
    let rows = [r#"{"a.b":1,"a":{"b":2}}"#, r#"{"a":{"b":2},"a.b":1}"#];
    std::fs::write(&text, rows.join("\n")).unwrap();
    run_ok(["convert", &text, &array]);
    assert_eq!(run_ok(["get", &array, ":"]), "[(1, (2,)), (1, (2,))]\n");
}

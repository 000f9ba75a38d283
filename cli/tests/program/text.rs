//! CSV, TSV, JSON lines and raw elements, both ways.

use std::fs;

use crate::run::{copy_penguins, npymap, path_in, run_err, run_ok, size};
use crate::streams::run_piped;

/// Creates a file of records with all kinds of fields, the second one not zero.
fn events(directory: impl AsRef<std::path::Path>) -> String {
    let path = path_in(directory, "events.npy");
    let dtype = "[('id', '>u2'), ('pos', '<f4', (2,)), ('n', [('x', '<f8')]), ('t', '<M8[s]'), ('w', '<m8[D]'), ('s', '<U9'), ('b', '|S3'), ('ok', '|b1')]";
    run_ok(["create", &path, "--shape", "2", "--dtype", dtype]);
    run_ok(["set", &path, "1", r#"(7, [0.1, nan], (1e300,), 'NaT', -3, "a,\"b", b'=x', True)"#]);
    path
}

const CSV: &str = "id,pos.0,pos.1,n.x,t,w,s,b,ok\n\
    0,0.0,0.0,0.0,1970-01-01T00:00:00,0,,,False\n\
    7,0.1,nan,1e+300,NaT,-3,\"a,\"\"b\",=x,True\n";

#[test]
fn records_are_lines_with_a_header() {
    let directory = tempfile::tempdir().unwrap();
    let path = events(&directory);
    assert_eq!(run_ok(["get", &path, "--format", "csv"]), CSV);
    let tsv = run_ok(["get", &path, "1:", "--format", "tsv", "--no-header", "--nan", ""]);
    assert_eq!(tsv, "7\t0.1\t\t1e+300\t\t-3\t\"a,\"\"b\"\t=x\tTrue\n");
    let json = run_ok(["get", &path, "1:", "--format", "jsonl"]);
    assert_eq!(
        json,
        "{\"id\":7,\"pos\":[0.1,\"nan\"],\"n\":{\"x\":1e+300},\"t\":null,\"w\":-3,\"s\":\"a,\\\"b\",\"b\":\"=x\",\"ok\":true}\n"
    );
    assert_eq!(run_ok(["get", &path, ".pos", "--format", "csv"]), "0.0,0.0\n0.1,nan\n");
    assert_eq!(run_ok(["get", &path, "-1.n", "--format", "csv"]), "x\n1e+300\n");
    assert_eq!(run_ok(["get", &path, ".s", "--format", "csv"]), "\"\"\n\"a,\"\"b\"\n");
    assert_eq!(run_ok(["get", &path, "1.id", "--format", "raw"]).as_bytes(), [0, 7]);
}

#[test]
fn rows_of_other_arrays_are_lines_without_a_header() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_penguins(directory.path());
    let path = path.to_str().unwrap();
    let csv = run_ok(["get", path, ":2", "--format", "csv"]);
    assert_eq!(csv, "39.1,18.7,181.0,3750.0\n39.5,17.4,186.0,3800.0\n");
    assert_eq!(run_ok(["get", path, ":2, 0", "--format", "csv"]), "39.1\n39.5\n");
    assert_eq!(run_ok(["get", path, "0, 0", "--format", "csv"]), "39.1\n");
    assert_eq!(run_ok(["get", path, "3:3", "--format", "csv"]), "");
    assert_eq!(run_ok(["get", path, ":1", "--format", "jsonl"]), "[39.1,18.7,181.0,3750.0]\n");
    assert_eq!(run_ok(["get", path, ":2, None, :2", "--format", "csv"]), "39.1,18.7\n39.5,17.4\n");
}

#[test]
fn a_selection_is_written_to_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_penguins(directory.path());
    let path = path.to_str().unwrap();
    for (index, back) in [("::50", "::"), ("[5, 2, 2], 1:", ":"), (":3, ::-1", ":"), ("0, 3", "()")]
    {
        let out = path_in(&directory, "out.npy");
        run_ok(["get", path, index, "-o", &out, "--overwrite"]);
        assert_eq!(run_ok(["get", &out, back]), run_ok(["get", path, index]), "{index}");
    }
    let events = events(&directory);
    let out = path_in(&directory, "some.npy");
    run_ok(["convert", &events, &out, "--select", "1:", "--field", "id,pos"]);
    assert!(
        run_ok(["info", &out]).contains("[('id', '>u2'), ('pos', '<f4', (2,))], 2 fields in 10")
    );
    assert_eq!(run_ok(["get", &out, "0"]), "(7, [0.1, nan])\n");
    run_ok([
        "convert",
        &events,
        &out,
        "--overwrite",
        "--field",
        "id",
        "--dtype",
        "f4",
        "--order",
        "F",
    ]);
    assert_eq!(run_ok(["get", &out, ":"]), "[0.0, 7.0]\n");
    let raw = path_in(&directory, "out.bin");
    run_ok(["convert", path, &raw, "--select", ":2, 0", "--dtype", "<i2", "--force"]);
    assert_eq!(fs::read(&raw).unwrap(), [39, 0, 39, 0]);
    run_ok(["get", path, "0, :2", "-o", &raw, "--overwrite"]);
    assert_eq!(fs::read(&raw).unwrap().len(), 16);
    // The input may be replaced by part of it.
    run_ok(["get", path, ":2, 0", "-o", path, "--overwrite"]);
    assert_eq!(run_ok(["get", path, ":"]), "[39.1, 39.5]\n");
}

#[test]
fn csv_is_read_as_it_was_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = events(&directory);
    let dtype = "[('id', '>u2'), ('pos', '<f4', (2,)), ('n', [('x', '<f8')]), ('t', '<M8[s]'), ('w', '<m8[D]'), ('s', '<U9'), ('b', '|S3'), ('ok', '|b1')]";
    for (name, nan) in [("a.csv", None), ("b.csv", Some("")), ("c.tsv", None), ("d.jsonl", None)] {
        let text = path_in(&directory, name);
        let back = path_in(&directory, "back.npy");
        run_ok(
            ["convert", &path, &text]
                .into_iter()
                .chain(nan.into_iter().flat_map(|nan| ["--nan", nan])),
        );
        run_ok(["convert", "--overwrite", &text, &back, "--dtype", dtype]);
        assert!(run_ok(["diff", &path, &back]).contains("equal"), "{name}");
        run_ok(["convert", "--overwrite", &text, &back]);
        let inferred = run_ok(["info", &back]);
        for field in ["\n  id ", "\n  pos ", "\n  t "] {
            assert!(inferred.contains(field), "{inferred}");
        }
        assert!(inferred.contains("'<M8[s]'") && inferred.contains("'<U"), "{inferred}");
        if name.ends_with("jsonl") {
            // A field of an object is a field called `n.x`.
            assert!(inferred.contains("n.x"), "{inferred}");
            continue;
        }
        // Text that was read is written as it was.
        let again = path_in(&directory, &format!("again-{name}"));
        run_ok(
            ["convert", &back, &again]
                .into_iter()
                .chain(nan.into_iter().flat_map(|nan| ["--nan", nan])),
        );
        let (first, second) =
            (fs::read_to_string(&text).unwrap(), fs::read_to_string(&again).unwrap());
        assert_eq!(
            first.replace("1e+300", ""),
            second.replace("1e+300", "").replace("-3.0", "-3"),
            "{name}"
        );
    }
}

/// Converts a text and returns the array with its dtype.
fn read(
    directory: &tempfile::TempDir,
    name: &str,
    text: &str,
    options: &[&str],
) -> (String, String) {
    let (from, to) = (path_in(directory, name), path_in(directory, "read.npy"));
    fs::write(&from, text).unwrap();
    run_ok(["convert", "--overwrite", &from, &to].iter().chain(options));
    let info = run_ok(["info", "--json", &to]);
    let info: serde_json::Value = serde_json::from_str(&info).unwrap();
    let values = run_ok(["get", &to, "..."]);
    (info["descr"].as_str().unwrap().to_owned(), values.trim_end().replace("\n ", " "))
}

#[test]
fn dtypes_are_inferred() {
    let directory = tempfile::tempdir().unwrap();
    for (name, text, options, dtype, values) in [
        ("a.csv", "1,2\n3,4\n", &[][..], "'<i8'", "[[1, 2], [3, 4]]"),
        ("a.csv", "1\n\n2\r\n3", &[], "'<i8'", "[1, 2, 3]"),
        ("a.csv", "1,2.5\n,4\n", &[], "'<f8'", "[[1.0, 2.5], [nan, 4.0]]"),
        ("a.csv", "a,b\n1,x\n2,yy\n", &[], "[('a', '<i8'), ('b', '<U2')]", "[(1, 'x'), (2, 'yy')]"),
        ("a.csv", "1,x\n2,yy\n", &[], "[('f0', '<i8'), ('f1', '<U2')]", "[(1, 'x'), (2, 'yy')]"),
        (
            "a.csv",
            "x,y\nz,w\n",
            &["--no-header"],
            "[('f0', '<U1'), ('f1', '<U1')]",
            "[('x', 'y'), ('z', 'w')]",
        ),
        ("a.csv", "\u{feff}a,a\n1,2\n", &[], "[('a', '<i8'), ('a_1', '<i8')]", "[(1, 2)]"),
        ("a.csv", ",a\n0,True\n", &[], "[('f0', '<i8'), ('a', '|b1')]", "[(0, True)]"),
        ("a.csv", "# made by\n#\n1,2\n", &["--skip", "2"], "'<i8'", "[[1, 2]]"),
        ("a.csv", "a,b\n", &[], "[('a', '<f8'), ('b', '<f8')]", "[]"),
        ("a.csv", "a\n\"x\ny\"\n", &[], "[('a', '<U3')]", "[('x\\ny',)]"),
        ("a.csv", "a,b\n1,2\n3,4\n", &["--dtype", "<f4"], "'<f4'", "[[1.0, 2.0], [3.0, 4.0]]"),
        (
            "a.csv",
            "a,b\n1,2\n3,4\n",
            &["--dtype", "[('b', 'u1')]"],
            "[('b', '|u1')]",
            "[(2,), (4,)]",
        ),
        (
            "a.csv",
            "1,2\n",
            &["--dtype", "[('p', 'u1', (2,))]"],
            "[('p', '|u1', (2,))]",
            "[([1, 2],)]",
        ),
        ("a.csv", "m.0.0,m.0.1\n1,2.5\n", &[], "[('m', '<f8', (1, 2))]", "[([[1.0, 2.5]],)]"),
        (
            "a.tsv",
            "a\tb c\n2020-02-29\t2020-02-29T12:00:00.5\n",
            &[],
            "[('a', '<M8[D]'), ('b c', '<M8[ms]')]",
            "[('2020-02-29', '2020-02-29T12:00:00.500')]",
        ),
        (
            "a.jsonl",
            "{\"a\": 1, \"p\": [1, 2.5], \"s\": \"5\"}\n\n{\"s\": \"x\", \"a\": null}\n",
            &[],
            "[('a', '<f8'), ('p', '<f8', (2,)), ('s', '<U1')]",
            "[(1.0, [1.0, 2.5], '5'), (nan, [nan, nan], 'x')]",
        ),
        ("a.jsonl", "[1, [2, 3]]\n[4, [5, 6]]\n", &[], "'<i8'", "[[1, 2, 3], [4, 5, 6]]"),
        ("a.ndjson", "1\n\"nan\"\n", &[], "'<f8'", "[1.0, nan]"),
        ("a.csv", "9007199254740993\n1\n", &[], "'<i8'", "[9007199254740993, 1]"),
        ("a.csv", "9007199254740994\nNA\n", &[], "'<f8'", "[9007199254740994.0, nan]"),
        (
            "a.csv",
            "9007199254740993\nNA\n",
            &["--dtype", "<f8"],
            "'<f8'",
            "[9007199254740992.0, nan]",
        ),
        ("a.csv", "1.0000000596046448\n", &["--dtype", "<f4"], "'<f4'", "[1.0]"),
        ("a.jsonl", "1.0000000596046448\n", &["--dtype", "<f4"], "'<f4'", "[1.0]"),
        (
            "a.csv",
            "t\n2020-02-29T12:00:00.123Z\n",
            &[],
            "[('t', '<M8[ms]')]",
            "[('2020-02-29T12:00:00.123',)]",
        ),
        ("a.jsonl", "-0\n18446744073709551615\n", &[], "'<u8'", "[0, 18446744073709551615]"),
        ("a.jsonl", "1e300\n-0.0\n", &[], "'<f8'", "[1e+300, -0.0]"),
        (
            "a.jsonl",
            "18446744073709551617\n1.10\n",
            &["--dtype", "<U20"],
            "'<U20'",
            "['18446744073709551617', '1.10']",
        ),
        // JavaScript prints numbers of 64 bits in this way.
        ("a.jsonl", "12345678901234567000\n0.5\n", &[], "'<f8'", "[1.2345678901234567e+19, 0.5]"),
    ] {
        let (found, printed) = read(&directory, name, text, options);
        assert_eq!((found.as_str(), printed.as_str()), (dtype, values), "{text:?}");
    }
}

#[test]
fn a_raw_file_may_have_any_extension() {
    let directory = tempfile::tempdir().unwrap();
    let (from, to) = (path_in(&directory, "a.csv"), path_in(&directory, "a.npy"));
    fs::write(&from, "1,2").unwrap();
    run_ok(["convert", "--raw", "u1", &from, &to]);
    assert_eq!(run_ok(["get", &to, ":"]), "[49, 44, 50]\n");
}

#[test]
fn text_passes_through_pipes() {
    let csv =
        run_piped(["convert", "--from", "jsonl", "--format", "csv", "-", "-"], b"{\"a\":1}\n");
    assert_eq!(csv, b"a\n1\n");
    let npy = run_piped(["convert", "--from", "csv", "-", "-"], b"1,2\n3,4\n");
    assert_eq!(run_piped(["get", "-", "1", "--format", "csv"], &npy), b"3\n4\n");
    let rows = run_piped(
        ["convert", "--from", "tsv", "--format", "jsonl", "--select", "1:", "-", "-"],
        b"1\t2\n3\t4\n",
    );
    assert_eq!(rows, b"[3,4]\n");
}

#[test]
fn errors_name_the_row_and_the_column() {
    let directory = tempfile::tempdir().unwrap();
    let out = path_in(&directory, "out.npy");
    for (name, text, options, message) in [
        ("a.csv", "a,b\n1,2\n3\n", &[][..], "row 1: has 1 field, and the first row has 2"),
        ("a.csv", "a,b\n1,2\n3,x\n", &["--dtype", "i4"], "row 1: column `b`: "),
        (
            "a.csv",
            "1,2\n3,\n",
            &["--dtype", "<i4"],
            "row 1: column 1: is empty, and dtype '<i4' has no NaN",
        ),
        ("a.csv", "", &[], "has no rows to read an array from"),
        ("a.csv", "a\nabc\n", &["--dtype", "<U2"], "row 1: column 0: "),
        ("a.csv", "a\n1\n", &["--dtype", "[('z', 'f8')]"], "has no column `z`, only: a"),
        ("a.csv", "1,2\n", &["--dtype", "[('z', 'f8')]"], "has 2 columns, and the dtype 1"),
        (
            "a.jsonl",
            "{\"a\":1}\n{\"b\":1}\n",
            &[],
            "row 1: has `b`, which the first row does not have",
        ),
        ("a.jsonl", "{\"a\":1}\n{\"a\":\n", &[], "row 1: is not JSON"),
        ("a.csv", "1\n2\n", &["--deflate"], "a .npy can't be deflated"),
        // Nobody has chosen a dtype that rounds them.
        (
            "a.csv",
            "n,x\n1,2\n9007199254740993,3\n,4\n",
            &[],
            "row 1: column `n`: 9007199254740993 would become 9007199254740992 in the inferred dtype '<f8': choose one with --dtype",
        ),
        ("a.csv", "0.5\n-9007199254740993\n", &[], "row 1: column 0: -9007199254740993 would"),
        ("a.tsv", "a\n18446744073709551615\n-1\n", &[], "row 0: column `a`: 18446744073709551615"),
        ("a.jsonl", "{\"a\":9007199254740993}\n{\"a\":null}\n", &[], "row 0: column `a`: 90071"),
        ("a.jsonl", "[1, 0.5]\n[9007199254740993, 2]\n", &[], "row 1: column 0: 90071"),
        (
            "a.jsonl",
            "1\n1e400\n",
            &[],
            "row 1: column 0: 1e+400 would become inf in the inferred dtype",
        ),
        (
            "a.jsonl",
            "1\n18446744073709551617\n",
            &[],
            "row 1: column 0: 18446744073709551617 would become 18446744073709551616",
        ),
        ("a.jsonl", "1\n{\"a\":2}\n", &[], "row 1: has an object, and the first row has none"),
        ("a.jsonl", "[1,2]\n[1,{\"a\":2}]\n", &[], "row 1: has an object, and the first row"),
        ("a.jsonl", "[1]\n{\"a\":1}\n", &[], "row 1: has an object, and the first row has none"),
        ("a.jsonl", "{\"a\":1}\n1\n", &[], "row 1: is not an object, and the first row is"),
    ] {
        let path = path_in(&directory, name);
        fs::write(&path, text).unwrap();
        let status = if message.starts_with("a .npy can't") { 2 } else { 1 };
        let refusal = run_err(status, ["convert", &path, &out].iter().chain(options));
        assert!(refusal.contains(message), "{text:?}: {refusal}");
        assert!(fs::metadata(&out).is_err());
    }
    fs::write(path_in(&directory, "latin.csv"), b"a\n\xe4\n").unwrap();
    let refusal = run_err(1, ["convert", &path_in(&directory, "latin.csv"), &out]);
    assert!(refusal.contains("row 0: is not UTF-8"), "{refusal}");
    let path = events(&directory);
    let archive = path_in(crate::run::data(), "archives/zipfile-others.npz");
    for (arguments, message) in [
        (&["get", &path, "0", "1", "--format", "csv"][..], "take one INDEX"),
        (&["get", &path, "-o", "x.npz"], "archives are written by `npymap convert`"),
        (&["get", &path, "-o", "x.parquet"], "use .npy, .csv"),
        (&["convert", &path, "x.csv", "--dtype", "f4"], "text has no dtype"),
        (&["convert", &path, "x.csv", "--order", "F"], "--order is for .npy"),
        (&["convert", &archive, "x.npz", "--select", "0"], "are for one array: name it as FILE["),
        (
            &["convert", &path, "x.npy", "--skip", "1"],
            "--from, --skip, --max-row-len, --no-header and --nan are for",
        ),
        (&["get", &path, "0", "--nan", ""], "--no-header and --nan are for --format csv and tsv"),
    ] {
        // An extension is part of a file name, so a wrong one is not a usage error.
        let refusal = run_err(if message.starts_with("use .npy") { 1 } else { 2 }, arguments);
        assert!(refusal.contains(message), "{refusal}");
    }
}

#[test]
fn many_rows_need_no_memory_and_keep_their_order() {
    let directory = tempfile::tempdir().unwrap();
    let text = path_in(&directory, "many.csv");
    // At least two blocks of text.
    let rows = size(90_000, 90_000, 300_000);
    let lines: String = (0..rows)
        .map(|n| format!("{n},\"{}\n{}\",{}\n", n % 7, n, f64::from(n) / 3.0))
        .collect::<Vec<_>>()
        .concat();
    fs::write(&text, &lines).unwrap();
    let (npy, back) = (path_in(&directory, "many.npy"), path_in(&directory, "back.csv"));
    run_ok(["convert", &text, &npy]);
    run_ok(["convert", &npy, &back, "--no-header"]);
    assert!(
        fs::read_to_string(&back).unwrap()
            == lines
                .replace("0,\"0\n0\",0\n", "0,\"0\n0\",0.0\n")
                .lines()
                .map(with_point)
                .collect::<Vec<_>>()
                .concat()
    );
    let last = format!("f0 >= {}", rows - 1);
    let selected = run_ok(["get", &npy, "--where", &last, "--format", "csv", "--no-header"]);
    assert_eq!(selected.lines().count(), 2);
}

/// A line with its last number as NumPy prints it: floats have a point.
fn with_point(line: &str) -> String {
    let is_last = line.contains("\",");
    let last = line.rsplit(',').next().unwrap();
    let point = if is_last && !last.contains('.') { ".0" } else { "" };
    format!("{line}{point}\n")
}

/// Readers skip U+FEFF at the start of a file, unless it is in quotes.
#[test]
fn text_that_looks_like_a_byte_order_mark_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory, "a.npy");
    run_ok(["create", &path, "--shape", "3", "--dtype", "U2"]);
    run_ok(["set", &path, "0", "\u{feff}"]);
    run_ok(["set", &path, "1", "\u{feff}x"]);
    let csv = "\"\u{feff}\"\n\u{feff}x\n\"\"\n";
    for format in ["csv", "tsv"] {
        let (text, back) =
            (path_in(&directory, &format!("a.{format}")), path_in(&directory, "b.npy"));
        run_ok(["convert", &path, &text]);
        assert_eq!(fs::read_to_string(&text).unwrap(), csv);
        run_ok(["convert", &text, &back, "--overwrite", "--dtype", "U2"]);
        assert!(run_ok(["diff", &path, &back]).contains("equal"), "{format}");
        let piped = run_piped(["convert", &path, "-", "--format", format], b"");
        assert_eq!(piped, csv.as_bytes());
        let npy = run_piped(["convert", "-", "-", "--from", format, "--dtype", "U2"], &piped);
        assert_eq!(npy, fs::read(&path).unwrap());
    }
    // A mark of the file, before the quotes.
    let text = path_in(&directory, "a.csv");
    fs::write(&text, format!("\u{feff}{csv}")).unwrap();
    run_ok(["convert", &text, &path, "--overwrite", "--dtype", "U2"]);
    assert_eq!(run_ok(["get", &path, ":", "--format", "csv"]), csv);
    // The name of a field, several columns, and other texts.
    let dtype = "[('\u{feff}a', '<f8'), ('b', '<U2')]";
    run_ok(["create", &path, "--overwrite", "--shape", "1", "--dtype", dtype]);
    run_ok(["set", &path, "0", "(nan, 'x')"]);
    let csv = run_ok(["get", &path, "--format", "csv", "--delimiter", ";"]);
    assert_eq!(csv, "\"\u{feff}a\";b\nnan;x\n");
    fs::write(&text, &csv).unwrap();
    let out = path_in(&directory, "c.npy");
    run_ok(["convert", &text, &out, "--delimiter", ";", "--dtype", dtype]);
    assert!(run_ok(["diff", &path, &out]).contains("equal"));
    let csv = run_ok(["get", &path, "--format", "csv", "--no-header", "--nan", "\u{feff}"]);
    assert_eq!(csv, "\"\u{feff}\",x\n");
}

#[test]
fn unknown_formats_are_usage_errors() {
    let output = npymap(["get", "x.npy", "--format", "parquet"]);
    assert_eq!(output.code, Some(2));
    let output = npymap(["get", "x.npy"]);
    assert_eq!(output.code, Some(2));
}

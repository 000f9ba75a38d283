//! `diff` compares arrays by value.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::run::{copy_penguins, data, npymap, run_err, run_ok};

/// Creates an array with the program.
fn create(directory: &Path, name: &str, arguments: &[&str]) -> PathBuf {
    let path = directory.join(name);
    run_ok(["create", "--overwrite", path.to_str().unwrap()].iter().chain(arguments));
    path
}

fn differ(arguments: &[&str]) -> Value {
    let output = npymap(["diff", "--json"].iter().chain(arguments));
    assert!(output.err.is_empty(), "{}", output.err);
    let line: Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(output.code, Some(i32::from(line["equal"] != true)));
    line
}

#[test]
fn the_first_elements_that_differ_are_shown() {
    let directory = tempfile::tempdir().unwrap();
    let penguins = copy_penguins(directory.path());
    let other = directory.path().join("other.npy");
    std::fs::copy(&penguins, &other).unwrap();
    let (a, b) = (penguins.to_str().unwrap(), other.to_str().unwrap());
    let same = run_ok(["diff", a, b]);
    let expected = format!(
        "{a} and {b}: equal\n  dtype   '<f8'\n  shape   (342, 4)\n  values  1368 elements equal\n"
    );
    assert_eq!(same, expected);
    run_ok(["set", b, "3, 1", "19.25"]);
    run_ok(["set", b, "-1, :2", "nan"]);
    let output = npymap(["diff", a, b, "--first", "2"]);
    assert_eq!((output.code, output.err.as_str()), (Some(1), ""));
    let lines: Vec<_> = output.out.lines().map(str::trim_end).collect();
    assert_eq!(lines[3], "  values  3 of 1368 elements differ, by at most 0.05000000000000071");
    let mean = "  mean    3.6603221083455866e-05 absolute difference, rms 0.0013528344518723714";
    assert_eq!(lines[4], mean);
    assert!(lines[6].starts_with(" index"), "{}", output.out);
    assert!(lines[7].split_whitespace().eq(["[3,", "1]", "19.3", "19.25"]), "{}", output.out);
    assert!(lines[8].split_whitespace().eq(["[341,", "0]", "50.2", "nan"]), "{}", output.out);
    assert_eq!(lines[9], "… and 1 more");
    let line = differ(&[a, b, "--first", "1"]);
    let first = json!([{ "index": [3, 1], "a": 19.3, "b": 19.25 }]);
    assert_eq!((&line["differ"], &line["first"]), (&json!(3), &first));
    assert_eq!(differ(&[b, b])["equal"], true, "nan is nan");
}

#[test]
fn tolerance_is_numpys() {
    let directory = tempfile::tempdir().unwrap();
    let [a, b] = [("a.npy", "100.5"), ("b.npy", "100")]
        .map(|(name, fill)| create(directory.path(), name, &["--shape", "3", "--fill", fill]));
    let (a, b) = (a.to_str().unwrap(), b.to_str().unwrap());
    for (options, differing) in [
        (&["--atol", "0.4"][..], 3),
        (&["--atol", "0.5"], 0),
        (&["--rtol", "0.0049"], 3),
        (&["--rtol", "0.005"], 0),
        (&["--rtol", "0.004", "--atol", "0.1"], 0),
    ] {
        let line = differ(&[&[a, b], options].concat());
        assert_eq!(line["differ"], differing, "{options:?}");
        assert_eq!(line["largest"].as_f64(), (differing > 0).then_some(0.5));
    }
    for wrong in ["-1", "x", "nan"] {
        assert_eq!(npymap(["diff", a, b, "--atol", wrong]).code, Some(2), "{wrong}");
    }
}

#[test]
fn complex_numbers_are_compared_by_their_distance() {
    let directory = tempfile::tempdir().unwrap();
    // What `numpy.isclose(a, b, 0, 1.2, equal_nan=True)` says.
    for (a, b, is_close) in [
        ("1+1j", "0j", false),
        ("0.8+0.8j", "0j", true),
        ("1-infj", "0-infj", false),
        ("1+infj", "1+infj", true),
        ("inf+0j", "inf+0.5j", false),
        ("nan+1j", "nan+2j", true),
        ("nan+1j", "1+1j", false),
    ] {
        for dtype in ["c8", "c16"] {
            let [a, b] = [("a.npy", a), ("b.npy", b)]
                .map(|(name, fill)| create_column(&directory, name, dtype, fill));
            let line = differ(&[&a, &b, "--atol", "1.2"]);
            assert_eq!(line["equal"], is_close, "{dtype} {line}");
        }
    }
    // The tolerance is relative to the distance of b from zero.
    let a = create_column(&directory, "a.npy", "c16", "3+4j");
    let b = create_column(&directory, "b.npy", "c16", "0+5j");
    assert_eq!(differ(&[&a, &b, "--rtol", "0.633"])["equal"], true);
    let line = differ(&[&a, &b, "--rtol", "0.632"]);
    assert_eq!((&line["equal"], &line["largest"]), (&json!(false), &json!(f64::hypot(3.0, 1.0))));
    // Pairs with NaN have no distance.
    let a = create_column(&directory, "a.npy", "c16", "nan+infj");
    assert_eq!(differ(&[&a, &b])["mean"], Value::Null);
}

/// Creates an array of shape (2, 1).
fn create_column(directory: &tempfile::TempDir, name: &str, dtype: &str, fill: &str) -> String {
    let arguments = ["--shape", "(2, 1)", "--dtype", dtype, "--fill", fill];
    create(directory.path(), name, &arguments).to_str().unwrap().to_owned()
}

#[test]
fn values_are_compared_whatever_their_dtype_and_order() {
    let directory = tempfile::tempdir().unwrap();
    let penguins = copy_penguins(directory.path());
    let a = penguins.to_str().unwrap();
    let other = directory.path().join("other.npy");
    let b = other.to_str().unwrap();
    run_ok(["convert", a, b, "--byte-order", "big", "--order", "F"]);
    let line = differ(&[a, b]);
    assert_eq!((&line["equal"], &line["differ"]), (&json!(false), &json!(0)));
    assert_eq!(line["descr"], json!(["'<f8'", "'>f8'"]));
    assert_eq!(differ(&[a, b, "--values"])["equal"], true);

    let large = create_column(&directory, "large.npy", "u8", "9007199254740993");
    for (dtype, fill, equal) in [
        ("f8", "9007199254740992", false),
        ("i8", "9007199254740993", true),
        ("i8", "9007199254740992", false),
        ("c16", "9007199254740992", false),
    ] {
        let other = create_column(&directory, "other.npy", dtype, fill);
        assert_eq!(differ(&[&large, &other, "--values"])["equal"], equal, "{dtype} {fill}");
    }
    let int = create_column(&directory, "int.npy", "i2", "3");
    let float = create_column(&directory, "float.npy", ">f4", "3");
    assert_eq!(differ(&[&int, &float, "--values"])["equal"], true);
    let text = create_column(&directory, "text.npy", "U2", "3");
    assert_eq!(differ(&[&int, &text, "--values"])["differ"], Value::Null);
    assert_eq!(differ(&[&int, a])["differ"], Value::Null, "of another shape");
}

#[test]
fn padding_is_ignored() {
    let fixtures = data().join("numpy-2.4.6");
    let dirty = fixtures.join("struct-aligned-dirty.npy");
    let clean = tempfile::tempdir().unwrap();
    let copy = clean.path().join("clean.npy");
    let (a, b) = (dirty.to_str().unwrap(), copy.to_str().unwrap());
    run_ok(["convert", a, b, "--order", "F"]);
    run_ok(["diff", a, b]);
}

#[test]
fn every_fixture_is_equal_to_itself() {
    for (path, case) in crate::run::shortened(crate::run::fixtures().step_by(7)) {
        let text = path.to_str().unwrap();
        let output = npymap(["diff", "--max-header-len", "1000000", text, text]);
        assert_eq!(output.code, Some(0), "{case}: {}", output.err);
    }
}

#[test]
fn equal_is_0_different_is_1_and_trouble_is_2() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_penguins(directory.path());
    let other = directory.path().join("other.npy");
    std::fs::copy(&path, &other).unwrap();
    let (a, b) = (path.to_str().unwrap(), other.to_str().unwrap());
    assert_eq!(npymap(["diff", a, b]).code, Some(0));
    run_ok(["set", b, "0, 0", "1"]);
    assert_eq!(npymap(["diff", a, b]).code, Some(1));
    let output = npymap(["diff", "none.npy", a]);
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""));
    assert!(output.err.starts_with("error: none.npy: cannot open"), "{}", output.err);
    std::fs::write(&other, "no array").unwrap();
    assert_eq!(npymap(["diff", "--json", a, b]).code, Some(2));
    assert_eq!(npymap(["diff", a]).code, Some(2));
}

#[test]
fn directories_may_have_brackets_in_their_names() {
    let directory = tempfile::tempdir().unwrap();
    let [a, b, c] = ["run", "run[1]", "run[2]"].map(|name| {
        let path = directory.path().join(name);
        std::fs::create_dir(&path).unwrap();
        create(
            &path,
            "x.npy",
            &["--shape", "3", "--fill", if name == "run[2]" { "1" } else { "0" }],
        );
        path.to_str().unwrap().to_owned()
    });
    assert!(run_ok(["diff", &a, &b]).contains("1 array: 1 equal"));
    assert_eq!(npymap(["diff", &b, &c]).code, Some(1));
    assert!(run_ok(["ls", &c]).contains("x.npy"));
    // A directory has no members.
    assert_eq!(npymap(["ls", &format!("{a}[zz*]")]).code, Some(1));
    // Files that the pattern leaves out are not opened.
    for path in [&a, &b] {
        std::fs::write(Path::new(path).join("bad.npy"), "no array").unwrap();
    }
    run_ok(["diff", &a, &b, "--match", "x*"]);
    assert_eq!(npymap(["diff", &a, &b]).code, Some(2));
    let listed = npymap(["ls", "-r", "--match", "x*", &a]);
    assert_eq!((listed.code, listed.err.as_str()), (Some(0), ""));
}

#[test]
fn options_for_many_arrays_apply_to_one() {
    let directory = tempfile::tempdir().unwrap();
    let a = create(directory.path(), "a.npy", &["--shape", "3"]);
    let a = a.to_str().unwrap();
    assert_eq!(run_ok(["diff", "--json", "--only-changed", a, a]), "");
    assert!(run_err(2, ["diff", a, a, "--match", "a*"]).contains("--match is for"));
}

#[test]
fn patterns_match_arrays_that_only_one_archive_has() {
    let directory = tempfile::tempdir().unwrap();
    let [a, b] = ["a.npy", "b.npy"].map(|name| create(directory.path(), name, &["--shape", "4"]));
    let [first, second] = ["first", "second"].map(|name| {
        let inner = directory.path().join(name);
        std::fs::create_dir(&inner).unwrap();
        inner
    });
    let pack = |to: &Path, arrays: &[&PathBuf]| {
        let to = to.join("m.npz").to_str().unwrap().to_owned();
        let arrays = arrays.iter().map(|path| path.to_str().unwrap());
        run_ok(["npz", "pack", "-o", &to].into_iter().chain(arrays));
    };
    pack(&first, &[&a]);
    pack(&second, &[&a, &b]);
    let [first, second] = [&first, &second].map(|path| path.to_str().unwrap());
    for pattern in ["{a,b}", "b"] {
        let output = npymap(["diff", first, second, "--match", pattern]);
        assert_eq!(output.code, Some(1), "{}{}", output.out, output.err);
        assert!(output.out.contains("only in"), "{}", output.out);
    }
    assert_eq!(npymap(["diff", first, second, "--match", "a"]).code, Some(0));
}

#[test]
fn differences_have_as_many_digits_as_requested() {
    let directory = tempfile::tempdir().unwrap();
    let a = create(directory.path(), "a.npy", &["--shape", "3", "--fill", "0.1"]);
    let b = create(directory.path(), "b.npy", &["--shape", "3", "--fill", "0.4333333"]);
    let [a, b] = [&a, &b].map(|path| path.to_str().unwrap());
    let output = npymap(["diff", "--precision", "2", a, b]).out;
    assert!(output.contains("differ, by at most 0.33\n"), "{output}");
    assert!(output.contains("0.33 absolute difference, rms 0.33"), "{output}");
}

//! Standard deviations, quantiles and histograms are NumPy's; `stats` of many
//! arrays; `--fail-on`.

use std::path::Path;

use serde_json::Value;

use crate::run::{copy_penguins, npymap, path_in, python, run_err, run_ok};

/// The lines of `stats --json`.
fn stats(arguments: &[&str]) -> Vec<Value> {
    let lines = run_ok([&["stats", "--json"], arguments].concat());
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * b.abs().max(1e-300) || a.to_bits() == b.to_bits()
}

/// A number of `--json`, where infinities are strings.
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| value.as_str().unwrap().parse().unwrap())
}

/// Writes arrays of several dtypes and sizes, and prints their statistics.
const ORACLE: &str = r#"
import json, sys, warnings
import numpy as np
warnings.simplefilter("ignore")
directory, big = sys.argv[1], int(sys.argv[2])
r = np.random.default_rng(7)
arrays = {
    "normal-f8": r.normal(size=10_007),
    "skewed-f4": r.lognormal(3, 2, size=(101, 7)).astype("f4"),
    "halves-f2": r.normal(size=999).astype(">f2"),
    "tied-f8": r.integers(0, 3, 5000).astype("f8"),
    "zeros-f8": np.array([-0.0, 0.0, 0.0, -0.0]),
    "one": np.array([4.25]),
    "bytes": r.integers(0, 256, (50, 50), dtype="u1"),
    "signed": r.integers(-2**62, 2**62, 3001),
    "bools": r.random(77) < 0.3,
    "big-endian-fortran": np.asfortranarray(r.normal(size=(60, 80)).astype(">f8")),
    "not-finite": np.where(r.random(2000) < 0.1, np.nan, r.normal(size=2000)),
    "large": r.standard_cauchy(big),
    "large-tied": np.repeat(r.normal(size=5), big // 5),
}
quantiles = [0, 0.01, 0.25, 0.5, 0.75, 0.99, 1]
out = {}
for name, a in arrays.items():
    np.save(f"{directory}/{name}.npy", a)
    x = a.astype("f8")[~np.isnan(a.astype("f8"))]
    counts, edges = np.histogram(x, bins=20)
    out[name] = {"std": x.std(), "quantiles": np.quantile(x, quantiles).tolist(),
                 "counts": counts.tolist(), "edges": edges.tolist()}
print(json.dumps(out))
"#;

#[test]
fn std_quantiles_and_histograms_are_numpys() {
    let directory = tempfile::tempdir().unwrap();
    // More than is collected at once.
    let big = if crate::run::is_quick() { "1000" } else { "3000000" };
    let Some(expected) = python(ORACLE, &[directory.path().to_str().unwrap(), big]) else { return };
    let expected: Value = serde_json::from_str(&expected).unwrap();
    for (name, expected) in expected.as_object().unwrap() {
        let path = path_in(&directory, &format!("{name}.npy"));
        let options = ["--std", "--quantiles=0,0.01,0.25,0.5,0.75,0.99,1", "--hist=20"];
        let found = &stats(&[&options[..], &[&path]].concat())[0];
        let std = number(&expected["std"]);
        assert!((number(&found["std"]) - std).abs() <= 1e-10 * std, "{name}: {found}");
        let quantiles = found["quantiles"].as_object().unwrap().values().map(number);
        for (found, expected) in quantiles.zip(expected["quantiles"].as_array().unwrap()) {
            assert!(close(found, number(expected)), "{name}: {found} {expected}");
        }
        assert_eq!(found["histogram"]["counts"], expected["counts"], "{name}");
        let edges = found["histogram"]["edges"].as_array().unwrap();
        for (found, expected) in edges.iter().zip(expected["edges"].as_array().unwrap()) {
            assert!(close(number(found), number(expected)), "{name}: {found} {expected}");
        }
    }
}

#[test]
fn any_number_of_threads_prints_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let script = "import numpy as np, sys
np.save(sys.argv[1], np.random.default_rng(1).normal(size=(2100, 2001)))";
    // Three tiles.
    let path = path_in(&directory, "a.npy");
    if python(script, &[&path]).is_none() {
        return;
    }
    let options = ["--std", "--quantiles", "--hist"];
    let one = stats(&[&options[..], &["--threads", "1", &path]].concat());
    let counts = if crate::run::is_quick() { &["7"][..] } else { &["2", "7"] };
    for threads in counts {
        let several = stats(&[&options[..], &["--threads", threads, &path]].concat());
        assert_eq!(several, one, "{threads}");
    }
    assert_eq!(npymap(["stats", "--threads", "0", &path]).code, Some(2));
}

/// Creates an archive of `w`, with the penguins, and `layers.0/b`, three ones.
fn archive(directory: &Path) -> String {
    let penguins = copy_penguins(directory);
    let ones = path_in(directory, "ones.npy");
    run_ok(["create", &ones, "--shape", "3", "--fill", "1", "--dtype", "f4"]);
    let path = path_in(directory, "all.npz");
    let script = "import numpy as np, sys
np.savez(sys.argv[1], **{'w': np.load(sys.argv[2]), 'layers.0/b': np.load(sys.argv[3])})";
    python(script, &[&path, penguins.to_str().unwrap(), &ones]);
    path
}

#[test]
fn every_member_of_every_file_is_summarized() {
    let directory = tempfile::tempdir().unwrap();
    let path = archive(directory.path());
    if !Path::new(&path).exists() {
        return;
    }
    let penguins = path_in(&directory, "penguins.npy");
    let all = stats(&[&path, &penguins]);
    let names: Vec<_> = all.iter().map(|row| row["member"].as_str()).collect();
    assert_eq!(names, [Some("w"), Some("layers.0/b"), None]);
    let table = run_ok(["stats", &path, &penguins]);
    assert_eq!(table.lines().count(), 4, "{table}");
    assert!(table.lines().next().unwrap().starts_with(" file"), "{table}");
    assert_eq!(stats(&[&format!("{path}[layers.*]")])[0]["sum"], 3.0);
    assert_eq!(stats(&[&penguins, ":2, 3"])[0]["count"], 2);
    let refusal = run_err(1, ["stats", &format!("{path}[x*]")]);
    assert!(refusal.contains("no member matches this pattern"), "{refusal}");
    let output = npymap(["stats", "absent.npy", &penguins]);
    assert_eq!(output.code, Some(1));
    assert!(output.out.contains("6300.0") && output.err.starts_with("error: absent.npy"));
}

#[test]
fn unwanted_elements_fail_and_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_penguins(directory.path());
    let path = path.to_str().unwrap();
    run_ok(["stats", "--fail-on", "nan,inf", path]);
    run_ok(["set", path, "3, 1", "nan"]);
    run_ok(["set", path, "7, :2", "inf"]);
    let output = npymap(["stats", path, "--fail-on", "nan"]);
    assert_eq!(output.code, Some(1));
    assert_eq!(output.err, format!("error: {path}: 1 of 1368 elements is NaN: [3, 1]\n"));
    let output = npymap(["stats", path, "--fail-on", "nan,inf", "--first", "2"]);
    let expected = "3 of 1368 elements are NaN or infinite: [3, 1], [7, 0] and 1 more\n";
    assert_eq!(output.err, format!("error: {path}: {expected}"));
    let columns = npymap(["stats", path, "--fail-on", "inf", "--axis", "0"]);
    assert!(columns.err.contains("1 of 342 elements is infinite: [7, 0]"), "{}", columns.err);
    assert_eq!(columns.err.lines().count(), 2);
    let json = npymap(["stats", path, "--fail-on", "nan", "--json"]);
    let json: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["places"], serde_json::json!([[3, 1]]));
    assert_eq!(npymap(["stats", path, "--fail-on", "zero"]).code, Some(2));
}

#[test]
fn finite_statistics_ignore_infinities() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory, "a.npy");
    run_ok(["create", &path, "--shape", "5", "--fill", "2"]);
    for (index, value) in [("0", "inf"), ("1", "nan"), ("2", "5")] {
        run_ok(["set", &path, index, value]);
    }
    let row = &stats(&["--finite", "--std", "--quantiles=0.5", "--hist=1", &path])[0];
    assert_eq!((&row["count"], &row["infinite"]), (&5.into(), &1.into()));
    assert_eq!((&row["max"], &row["mean"], &row["sum"]), (&5.0.into(), &3.0.into(), &9.0.into()));
    assert_eq!((&row["quantiles"]["0.5"], &row["std"]), (&2.0.into(), &2_f64.sqrt().into()));
    let row = &stats(&["--std", "--quantiles=1", "--hist=1", &path])[0];
    assert_eq!((&row["max"], &row["quantiles"]["1"]), (&"inf".into(), &"inf".into()));
    assert_eq!(row["histogram"]["counts"], serde_json::json!([3]));
}

#[test]
fn empty_arrays_and_text_have_no_statistics() {
    let directory = tempfile::tempdir().unwrap();
    for (name, shape, dtype) in [("empty", "0", "f8"), ("text", "3", "U2"), ("dates", "3", "M8[D]")]
    {
        let path = path_in(&directory, &format!("{name}.npy"));
        run_ok(["create", &path, "--shape", shape, "--dtype", dtype]);
        let row = &stats(&["--std", "--quantiles=0.5", "--hist", &path])[0];
        assert_eq!((&row["std"], &row["histogram"]), (&Value::Null, &Value::Null), "{name}");
        assert_eq!(row["quantiles"]["0.5"], Value::Null, "{name}");
        run_ok(["stats", "--std", "--quantiles", "--hist", &path]);
    }
}

#[test]
fn a_histogram_is_a_line_of_bars() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_penguins(directory.path());
    let table = run_ok(["stats", path.to_str().unwrap(), ":, 3", "--hist=8"]);
    assert!(table.lines().nth(1).unwrap().contains("2700 ▂██▆▅▄▃▁ 6300"), "{table}");
    let mut dumb = crate::run::command();
    dumb.env("TERM", "dumb").args(["stats", path.to_str().unwrap(), ":, 3", "--hist=8"]);
    let table = String::from_utf8(dumb.output().unwrap().stdout).unwrap();
    assert!(table.is_ascii(), "{table}");
}

// 32 bits cannot address an array of this size.
#[cfg(target_pointer_width = "64")]
#[test]
fn holes_are_not_read_for_quantiles() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory, "sparse.npy");
    run_ok(["create", &path, "--shape", "(1000, 8000000)", "--dtype", "i8", "--sparse"]);
    run_ok(["set", &path, "700, 5", "9"]);
    let row = &stats(&["--std", "--quantiles=0.5,1", "--hist=2", &path])[0];
    assert_eq!((&row["quantiles"]["0.5"], &row["quantiles"]["1"]), (&0.0.into(), &9.0.into()));
    assert_eq!(row["histogram"]["counts"], serde_json::json!([7_999_999_999_u64, 1]));
}

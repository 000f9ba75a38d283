//! `info --digest` matches the digests that NumPy computes for every fixture.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::run::{data, fixtures, is_quick, npymap, path_in, run_noting, run_ok, shortened};

/// Fixtures that are rejected on purpose, by name.
fn rejected_on_purpose() -> Vec<String> {
    let text = std::fs::read_to_string(data().join("differences.txt")).unwrap();
    text.lines().filter_map(|line| line.split('\t').nth(2)).map(str::to_owned).collect()
}

#[test]
fn digests_are_what_numpy_says() {
    let differences = rejected_on_purpose();
    let mut of_limit: BTreeMap<u64, Vec<(String, Value)>> = BTreeMap::new();
    for (path, case) in shortened(fixtures()) {
        let differs = differences.iter().any(|name| case["path"] == name.as_str());
        if !differs && names_byte_order(&path) {
            let limit = case["max_header"].as_u64().unwrap_or(10_000);
            let files = of_limit.entry(limit).or_default();
            files.push((path.to_str().unwrap().to_owned(), case["sha256"].clone()));
        }
    }
    let mut compared = 0;
    for (limit, files) in of_limit {
        // Command lines are limited.
        for files in files.chunks(100) {
            let limit = limit.to_string();
            let arguments = ["info", "--json", "--digest", "--max-header-len", &limit];
            let paths = files.iter().map(|(path, _)| path.as_str());
            let lines = run_noting(arguments.into_iter().chain(paths));
            assert_eq!(lines.lines().count(), files.len());
            for (line, (path, expected)) in lines.lines().zip(files) {
                let line: Value = serde_json::from_str(line).unwrap();
                assert_eq!(line["sha256"], *expected, "{path}");
                compared += 1;
            }
        }
    }
    assert!(compared > if is_quick() { 10 } else { 200 }, "{compared}");
}

/// Returns whether a header names its byte order. Types without one have that
/// of the machine, and the expected digests were computed on a little-endian
/// one.
fn names_byte_order(path: &Path) -> bool {
    cfg!(target_endian = "little")
        || std::fs::read(path).unwrap().iter().take(128).any(|byte| b"<>|".contains(byte))
}

#[test]
fn text_output_has_the_digest_too() {
    let path = data().join("numpy-2.4.6/f8-le.npy");
    let path = path.to_str().unwrap();
    let digest = fixtures().find(|(found, _)| found.to_str() == Some(path)).unwrap().1;
    let digest = digest["sha256"].as_str().unwrap();
    assert!(run_ok(["info", "--digest", path]).contains(&format!("hash   sha256 {digest}\n")));
    assert!(run_ok(["info", "--digest", path, path]).contains(digest));
    assert!(!run_ok(["info", path]).contains("sha256"));
    assert_eq!(npymap(["info", "--digest", "--header", path]).code, Some(2));
}

#[test]
fn digests_do_not_depend_on_the_number_of_threads() {
    let directory = tempfile::tempdir().unwrap();
    let names = ["a.npy", "b.npy", "c.npy"].map(|name| path_in(&directory, name));
    for (name, seed) in names.iter().zip(["1", "2", "3"]) {
        run_ok(["create", name, "--shape", "1000", "--random", "normal", "--seed", seed]);
    }
    let npz = path_in(&directory, "d.npz");
    let [a, b, c] = names.each_ref();
    run_ok(["npz", "pack", a, b, c, "-o", &npz, "--deflate"]);
    for files in [&[npz.as_str()][..], &[a, &npz, b, c]] {
        let arguments = ["info", "--json", "--digest", "--threads"];
        let one = run_ok(arguments.iter().chain(&["1"]).chain(files));
        assert_eq!(one, run_ok(arguments.iter().chain(&["4"]).chain(files)));
        assert_eq!(one.matches("sha256").count(), if files.len() == 1 { 3 } else { 6 });
    }
    // A file that cannot be opened is reported in its place.
    let output = npymap(["info", "--json", "--digest", a, "absent.npy", b]);
    assert_eq!((output.code, output.out.lines().count()), (Some(1), 3));
    assert!(output.out.lines().nth(1).unwrap().contains("absent.npy"));
}

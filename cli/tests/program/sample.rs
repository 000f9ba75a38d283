//! `sample` and `shuffle`.

use std::path::Path;

use serde_json::Value;

use crate::run::{copy_penguins, path_in, run_err, run_ok};

fn info(path: &Path) -> Value {
    let out = run_ok(["info".as_ref(), "--json".as_ref(), "--digest".as_ref(), path.as_os_str()]);
    serde_json::from_str(&out).unwrap()
}

/// The rows of an array as JSON.
fn rows(path: &Path) -> Vec<String> {
    let all = run_ok(["get".as_ref(), "--json".as_ref(), path.as_os_str(), ":".as_ref()]);
    let all: Value = serde_json::from_str(&all).unwrap();
    all.as_array().unwrap().iter().map(ToString::to_string).collect()
}

fn sorted(mut rows: Vec<String>) -> Vec<String> {
    rows.sort_unstable();
    rows
}

#[test]
fn samples_are_distinct_rows_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_penguins(directory.path());
    let text = path.to_str().unwrap();
    let all = rows(&path);
    let some = run_ok(["sample", text, "-n", "20", "--seed", "3", "--json"]);
    let some: Vec<String> = some.lines().map(str::to_owned).collect();
    assert_eq!(some.len(), 20);
    assert!(some.iter().all(|row| all.contains(row)));
    assert_eq!(run_ok(["sample", text]).lines().count(), 10);
    assert_ne!(run_ok(["sample", text]), run_ok(["sample", text, "--seed", "1"]));

    let out = directory.path().join("some.npy");
    run_ok(["sample", text, "-n", "20", "--seed", "3", "--output", out.to_str().unwrap()]);
    assert_eq!(rows(&out), some);
    assert_eq!(info(&out)["shape"].to_string(), "[20,4]");
    run_ok(["sample", text, "-n", "342", "--output", out.to_str().unwrap(), "--overwrite"]);
    assert_eq!(sorted(rows(&out)), sorted(all));
    run_ok(["sample", text, "-n", "400", "--with-replacement", "--json"]);
    let error = run_err(1, ["sample", text, "-n", "343"]);
    let says = "has 342 rows, and 343 were requested: request fewer, or allow repeats with --with-replacement";
    assert_eq!(error, format!("error: {text}: {says}\n"));
}

#[test]
fn shuffled_files_have_the_same_rows_in_an_order_of_the_seed() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_penguins(directory.path());
    let [one, other] = ["one.npy", "other.npy"].map(|name| directory.path().join(name));
    let texts = [&path, &one, &other].map(|path| path.to_str().unwrap());
    run_ok(["shuffle", texts[0], texts[1], "--memory", "1"]);
    run_ok(["shuffle", texts[0], texts[2]]);
    assert_eq!(info(&one)["sha256"], info(&other)["sha256"]);
    assert_ne!(rows(&one), rows(&path));
    assert_eq!(sorted(rows(&one)), sorted(rows(&path)));
    run_ok(["shuffle", texts[0], texts[0], "--seed", "5", "--overwrite"]);
    assert_ne!(rows(&one), rows(&path));
    assert_eq!(sorted(rows(&one)), sorted(rows(&path)));
    assert!(run_err(1, ["shuffle", texts[0], texts[1]]).contains("exists"));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 3);
}

/// The mean of all elements of an array.
fn mean(path: &str) -> Value {
    let stats = run_ok(["stats", "--json", path]);
    let stats: Value = serde_json::from_str(stats.lines().next().unwrap()).unwrap();
    stats["mean"].clone()
}

#[test]
fn large_files_are_shuffled_block_by_block() {
    let directory = tempfile::tempdir().unwrap();
    let [from, to] = ["from.npy", "to.npy"].map(|name| directory.path().join(name));
    let [from, to] = [&from, &to].map(|path| path.to_str().unwrap());
    run_ok(["create", from, "--shape", "(3000, 1000)", "--dtype", "u1"]);
    run_ok(["set", from, "7", "255"]);
    run_ok(["shuffle", from, to, "--memory", "1", "--seed", "2"]);
    assert_eq!(mean(from), mean(to));
    assert_ne!(run_ok(["get", to, "7, 0"]), "255\n");
}

#[test]
fn arrays_without_rows_are_refused_or_empty() {
    let directory = tempfile::tempdir().unwrap();
    let [none, empty, out] =
        ["none.npy", "empty.npy", "out.npy"].map(|name| directory.path().join(name));
    let [none, empty, out] = [&none, &empty, &out].map(|path| path.to_str().unwrap());
    run_ok(["create", none, "--shape", "()"]);
    run_ok(["create", empty, "--shape", "(0, 3)"]);
    assert!(
        run_err(1, ["sample", none, "-n", "1"]).contains("axis 0 is out of bounds for shape ()")
    );
    assert!(run_err(1, ["sample", empty, "-n", "1"]).contains("has 0 rows"));
    run_ok(["shuffle", empty, out]);
}

/// Writes a file that is only a header, and returns its path.
#[cfg(target_pointer_width = "64")]
fn write_header(directory: &tempfile::TempDir, name: &str, descr: &str, shape: &str) -> String {
    let path = directory.path().join(name);
    let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}");
    let header = format!("{header:117}\n");
    std::fs::write(&path, [b"\x93NUMPY\x01\x00\x76\x00", header.as_bytes()].concat()).unwrap();
    path.to_str().unwrap().to_owned()
}

// Shapes that 32 bits cannot address are rejected.
#[cfg(target_pointer_width = "64")]
#[test]
fn any_number_of_zero_size_rows_can_be_sampled_and_shuffled() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out.npy");
    let out = out.to_str().unwrap();
    let long = write_header(&directory, "long.npy", "'|V0'", "(4611686018427387904,)");
    run_ok(["shuffle", &long, out]);
    assert_eq!(info(Path::new(out))["shape"].to_string(), "[4611686018427387904]");
    run_ok(["sample", &long, "-n", "1000000000000", "--output", out, "--overwrite"]);
    assert_eq!(info(Path::new(out))["shape"].to_string(), "[1000000000000]");
    let wide = write_header(&directory, "wide.npy", "[]", "(10, 1099511627776)");
    for arguments in [&["sample", &wide][..], &["sample", "--json", "-n", "1", &wide]] {
        let error = run_err(1, arguments);
        assert!(error.contains("zero-size elements were requested"), "{error}");
    }
    let error = run_err(1, ["sample", &long, "-n", "1000000000000"]);
    assert!(error.contains("1000000000000 zero-size elements were requested"), "{error}");
    run_ok(["sample", &wide, "-n", "3", "--output", out, "--overwrite"]);
    run_ok(["shuffle", &wide, out, "--overwrite"]);
}

#[test]
fn samples_that_do_not_fit_into_memory_are_refused_or_streamed() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory, "a.npy");
    run_ok(["create", &path, "--shape", "(10, 2)", "--dtype", "f8"]);
    let error = run_err(2, ["sample", &path, "-n", "2000000000", "--with-replacement"]);
    assert!(error.contains("use --json, --format or --output"), "{error}");
    run_ok(["create", &path, "--shape", "0", "--dtype", "f8", "--overwrite"]);
    let error = run_err(1, ["sample", &path, "-n", "3", "--with-replacement"]);
    assert!(error.contains("request fewer") && !error.contains("--with-replacement"), "{error}");
}

//! `append`, `concat`, `fill` and `recover` change arrays on the disk.

use std::fs;
use std::path::Path;

use crate::run::{npymap, penguins, printed, refused};

/// Makes an array of these bytes.
fn bytes(directory: &Path, name: &str, shape: &str, options: &[&str], fill: &str) -> String {
    let path = directory.join(name).to_str().unwrap().to_owned();
    let fixed = ["create", &path, "--shape", shape, "--fill", fill, "--dtype"];
    printed(fixed.iter().chain(options));
    path
}

#[test]
fn rows_are_appended_whatever_their_order() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let log = bytes(at, "log.npy", "(1, 2)", &["<i4"], "1");
    let one = bytes(at, "one.npy", "(2,)", &[">i4"], "2");
    let more = bytes(at, "more.npy", "(2, 2)", &["<i4", "--order", "F"], "3");
    let said = printed(["append", "--flush", &log, &one, &more, &log]);
    assert_eq!(said, format!("{log}: 4 rows added, shape (5, 2)\n"));
    let all = "[[1, 1],\n [2, 2],\n [3, 3],\n [3, 3],\n [1, 1]]\n";
    assert_eq!(printed(["get", &log, ":"]), all);
    let fortran = bytes(at, "f.npy", "(2, 0)", &[">i4", "--order", "F"], "0");
    printed(["append", &fortran, &one, &more]);
    assert_eq!(printed(["get", &fortran, ":"]), "[[2, 3, 3],\n [2, 3, 3]]\n");
}

#[test]
fn rows_that_differ_are_refused_before_any_is_added() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let log = bytes(at, "log.npy", "(1, 2)", &["<i4"], "1");
    let good = bytes(at, "good.npy", "(2, 2)", &["<i4"], "2");
    let float = bytes(at, "float.npy", "(2, 2)", &["<f4"], "2");
    let wide = bytes(at, "wide.npy", "(2, 3)", &["<i4"], "2");
    let before = fs::read(&log).unwrap();
    assert_eq!(
        refused(1, ["append", &log, &good, &float]),
        format!("error: {float}: has dtype '<f4', and {log} has '<i4'\n")
    );
    assert_eq!(
        refused(1, ["append", &log, &good, &wide]),
        format!("error: {wide}: has shape (2, 3), and {log} has (1, 2)\n")
    );
    assert_eq!(
        refused(1, ["concat", &log, &wide, &format!("{log}.out")]),
        format!("error: {wide}: has shape (2, 3), and {log} has (1, 2)\n")
    );
    let scalar = bytes(at, "scalar.npy", "()", &["<i4"], "1");
    assert_eq!(
        refused(1, ["append", &scalar, &log]),
        format!(
            "error: {scalar}: shape () has no axis to grow along: arrays of one axis or more have rows\n"
        )
    );
    refused(1, ["concat", &scalar, &format!("{log}.out")]);
    assert_eq!(fs::read(&log).unwrap(), before);
    assert_eq!(npymap(["append", &log]).code, Some(2));
    assert_eq!(npymap(["concat", &log]).code, Some(2));
    assert_eq!(fs::read_dir(at).unwrap().count(), 5);
}

#[test]
fn arrays_are_joined_along_the_first_axis() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let one = bytes(at, "one.npy", "(1, 2)", &[">i2"], "1");
    let two = bytes(at, "two.npy", "(2, 2)", &["<i2", "--order", "F"], "2");
    let out = at.join("out.npy").to_str().unwrap().to_owned();
    printed(["concat", &one, &two, &one, &out]);
    assert_eq!(printed(["get", &out, ":"]), "[[1, 1],\n [2, 2],\n [2, 2],\n [1, 1]]\n");
    assert!(printed(["info", "--json", &out]).contains(r#""descr":"'>i2'""#));
    refused(1, ["concat", &one, &two, &out]);
    printed(["concat", "--overwrite", &out, &two, &out]);
    assert!(printed(["info", "--json", &out]).contains(r#""shape":[6,2]"#));
    assert_eq!(fs::read_dir(at).unwrap().count(), 3);
}

#[test]
fn files_are_filled_in_place() {
    let directory = tempfile::tempdir().unwrap();
    let path = penguins(directory.path());
    let text = path.to_str().unwrap();
    assert_eq!(printed(["fill", "--flush", text, "-1.5"]), format!("{text}: 1368 elements set\n"));
    assert_eq!(printed(["get", text, "5"]), "[-1.5, -1.5, -1.5, -1.5]\n");
    let before = fs::read(&path).unwrap();
    refused(1, ["fill", text, "many"]);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn what_a_dead_writer_leaves_is_made_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = penguins(directory.path());
    let text = path.to_str().unwrap();
    let whole = fs::read(&path).unwrap();
    assert_eq!(printed(["recover", text]), format!("{text}: whole, shape (342, 4)\n"));
    let longer = [whole.clone(), vec![0; 50]].concat();
    fs::write(&path, &longer).unwrap();
    let becomes = |would: &str| format!("{text}: shape (342, 4) {would}");
    assert_eq!(
        printed(["recover", "--dry-run", text]),
        becomes("would become (343, 4), 18 bytes dropped\n")
    );
    assert_eq!(
        printed(["recover", "--dry-run", "--zero-fill", text]),
        becomes("would become (344, 4), 14 bytes of zeros added\n")
    );
    let json = printed(["recover", "--dry-run", "--json", text]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let expected = serde_json::json!({
        "path": text, "said": [342, 4], "shape": [343, 4], "dropped": 18, "filled": 0, "done": false
    });
    assert_eq!(json, expected);
    assert_eq!(fs::read(&path).unwrap(), longer);
    let refusal = refused(1, ["append", text, text]);
    assert!(refusal.contains("`npymap recover`"), "{refusal}");
    assert_eq!(printed(["recover", text]), becomes("is now (343, 4), 18 bytes dropped\n"));
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    assert_eq!(printed(["recover", text]), becomes("is now (341, 4), 31 bytes dropped\n"));
    fs::write(&path, "no array").unwrap();
    refused(1, ["recover", text]);
}

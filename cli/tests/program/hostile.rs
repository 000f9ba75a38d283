//! Headers that claim more than any file holds.

use std::path::{Path, PathBuf};

use crate::run::{npymap, path_in, run_err, run_ok};

fn file(folder: &Path, descr: &str, shape: &str, fortran: &str) -> PathBuf {
    let text = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
    let len = u16::try_from(text.len()).unwrap().to_le_bytes();
    let path = folder.join("hostile.npy");
    std::fs::write(&path, [b"\x93NUMPY\x01\x00", &len[..], text.as_bytes()].concat()).unwrap();
    path
}

#[test]
fn zero_size_elements_are_not_iterated_over() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.npy");
    for (descr, shape, fortran) in [
        ("'|V0'", format!("({},)", usize::MAX / 4), "False"),
        ("[]", format!("({}, 1000)", usize::MAX / 10_000), "False"),
        ("'<f8'", format!("({}, 0)", usize::MAX / 100), "True"),
    ] {
        let path = file(folder.path(), descr, &shape, fortran);
        run_ok([&path, &path].iter().fold(vec!["diff".as_ref()], |mut all, path| {
            all.push(path.as_os_str());
            all
        }));
        run_ok(["info".as_ref(), "--json".as_ref(), "--digest".as_ref(), path.as_os_str()]);
        run_ok(["head".as_ref(), path.as_os_str()]);
        let dtype = if descr == "'<f8'" { "<f4" } else { "|V0" };
        let arguments = ["convert", "--overwrite", "--dtype", dtype].map(AsRef::as_ref);
        let output = npymap(arguments.into_iter().chain([path.as_os_str(), out.as_os_str()]));
        assert!(matches!(output.code, Some(0 | 1)), "{}", output.err);
    }
}

#[test]
fn printing_zero_size_elements_is_limited() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "'|S0'", "(1000000000,)", "False");
    let output = run_err(1, ["get".as_ref(), path.as_os_str(), "::-1".as_ref()]);
    assert!(output.contains("1000000000 zero-size elements were requested"), "{output}");
    assert_eq!(run_ok(["get".as_ref(), path.as_os_str(), "5".as_ref()]), "b''\n");
}

#[test]
fn rows_without_elements_are_not_written_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let [csv, jsonl, bin] = ["a.csv", "a.jsonl", "a.bin"].map(|name| path_in(folder.path(), name));
    for (shape, order) in [
        (format!("({}, 0)", usize::MAX / 100), "False"),
        (format!("(1000, {}, 0)", usize::MAX / 100_000), "True"),
    ] {
        let path = file(folder.path(), "'<f8'", &shape, order);
        let path = path.to_str().unwrap();
        for arguments in [
            &["convert", path, &csv][..],
            &["convert", path, &jsonl],
            &["convert", path, &jsonl, "--select", "::2"],
            &["get", path, "--format", "csv"],
            &["get", path, "--format", "jsonl"],
            &["get", path, "-o", &csv, "--format", "tsv"],
            &["sample", path, "--with-replacement", "-n", "2000000"],
        ] {
            let error = run_err(1, arguments);
            let expected = "rows without elements were requested, and at most 1048576 are printed";
            assert!(error.contains(expected), "{arguments:?}: {error}");
        }
        assert!(!Path::new(&csv).exists());
        // They have no bytes.
        run_ok(["convert", path, &bin, "--overwrite"]);
        run_ok(["convert", path, &bin, "--overwrite", "--dtype", ">f4"]);
        assert_eq!(std::fs::read(&bin).unwrap(), b"");
        assert_eq!(run_ok(["get", path, "--format", "raw"]), "");
        assert!(run_ok(["get", path, ":1, :2", "--format", "jsonl"]).starts_with("[]\n"));
    }
    // There are no records either.
    let shape = format!("({}, 0)", usize::MAX / 100);
    let path = file(folder.path(), "[('a', '<f8')]", &shape, "False");
    let path = path.to_str().unwrap();
    assert_eq!(run_ok(["get", path, "--format", "csv"]), "a\n");
    assert_eq!(run_ok(["get", path, "--format", "jsonl"]), "");
    assert_eq!(run_ok(["get", path, "--where", "a > 0"]), "");
}

#[test]
fn fields_with_too_many_parts_are_refused_or_cut() {
    let folder = tempfile::tempdir().unwrap();
    let most = "2147483647";
    let descr = format!("[('a', [('c', [('b', '|S0')], ({most},))], ({most},))]");
    let path = file(folder.path(), &descr, "(8,)", "False");
    for command in ["info", "head", "stats"] {
        let output = npymap([command.as_ref(), path.as_os_str()]);
        assert!(matches!(output.code, Some(0 | 1)), "{command}: {}", output.err);
    }
    run_err(1, ["get".as_ref(), path.as_os_str(), "0.a.c".as_ref()]);
}

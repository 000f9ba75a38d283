//! `header` describes the same bytes anew, in place.

use std::fs;
use std::path::Path;

use crate::arguments::python;
use crate::run::{copy_penguins, path_in, run_err, run_ok};

/// The output of `info --json`, as the dtype, shape and order.
fn facts(path: &str) -> (String, serde_json::Value, bool) {
    let info: serde_json::Value = serde_json::from_str(&run_ok(["info", "--json", path])).unwrap();
    let descr = info["descr"].as_str().unwrap().to_owned();
    (descr, info["shape"].clone(), info["fortran_order"] == true)
}

#[test]
fn dtype_shape_and_order_are_described_anew() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_penguins(directory.path());
    let before = fs::read(&path).unwrap();
    let path = path.to_str().unwrap();
    let out = run_ok(["header", path, "--dry-run", "--dtype", "<i4", "--shape", "(-1, 8)"]);
    let old = "'<f8', shape (342, 4), C order";
    assert_eq!(out, format!("{path}: {old} would become '<i4', shape (342, 8), C order\n"));
    assert_eq!(fs::read(path).unwrap(), before);
    let out = run_ok(["header", path, "--dtype", "<i4", "--shape", "-1,8", "--order", "F"]);
    assert_eq!(out, format!("{path}: {old} is now '<i4', shape (342, 8), Fortran order\n"));
    assert_eq!(facts(path), ("'<i4'".into(), serde_json::json!([342, 8]), true));
    assert_eq!(fs::read(path).unwrap()[128..], before[128..]);
    let out =
        run_ok(["header", path, "--order", "C", "--dtype", "<f8", "--shape", "342,4", "--json"]);
    let line: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&line["old"]["fortran_order"], &line["new"]["shape"]),
        (&true.into(), &serde_json::json!([342, 4]))
    );
    assert_eq!((&line["changed"], &line["done"]), (&true.into(), &true.into()));
    assert_eq!(fs::read(path).unwrap(), before);
    let out = run_ok(["header", path]);
    assert_eq!(out, format!("{path}: unchanged, {old}\n"));
}

#[test]
fn a_header_that_does_not_fit_changes_nothing_and_what_would_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_penguins(directory.path());
    let before = fs::read(&path).unwrap();
    let path = path.to_str().unwrap();
    for (options, expected) in [
        (
            &["--shape", "341,4"][..],
            "has 10944 bytes of elements, but shape (341, 4) of '<f8' takes 10912: --shape '(342, 4)' would fit",
        ),
        (
            &["--dtype", "<f4"],
            "has 10944 bytes of elements, but shape (342, 4) of '<f4' takes 5472: --shape '(684, 4)' would fit",
        ),
        (
            &["--shape", "-1,5"],
            "but shape (273, 5) of '<f8' takes 10920: --shape '(273, 5)' would fit",
        ),
        (&["--dtype", "V7", "--shape", "3"], "no shape fits, because it is not a multiple of 7"),
        (
            &[
                "--dtype",
                "[('a_long_name_for_a_field', '<f8'), ('another_long_name', '<f8'), ('c', '<f8'), ('d', '<f8')]",
                "--shape",
                "342",
            ],
            "has 128 bytes for its header, and the new one takes 192: copy the elements with `npymap convert --raw \"[('a_long_name_for_a_field',",
        ),
    ] {
        let error = run_err(1, ["header", path].iter().chain(options));
        if options.contains(&"-1,5") {
            assert!(
                error.contains("shapes of 1368 elements would fit") || error.contains("would fit"),
                "{error}"
            );
            continue;
        }
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(fs::read(path).unwrap(), before);
}

#[test]
fn a_header_that_cannot_be_read_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(directory.path(), "objects.npy");
    write(Path::new(&path), "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }", &[0; 24]);
    let error = run_err(1, ["header", &path]);
    assert!(
        error.contains("has a header that cannot be read")
            && error.contains("give both its --dtype and its --shape"),
        "{error}"
    );
    run_err(1, ["header", &path, "--dtype", "<f8"]);
    let out = run_ok(["header", &path, "--dtype", "<f8", "--shape", "-1"]);
    assert_eq!(out, format!("{path}: is now '<f8', shape (3,), C order\n"));
    assert_eq!(run_ok(["get", &path, ":"]), "[0.0, 0.0, 0.0]\n");
    let error = run_err(1, ["header", "Cargo.toml", "--dtype", "<f8", "--shape", "-1"]);
    assert!(error.starts_with("error: Cargo.toml: "), "{error}");
    assert!(
        error.ends_with(", `npymap convert --raw DTYPE` gives raw elements a header\n"),
        "{error}"
    );
}

/// Writes a file with this text as its header.
fn write(path: &Path, text: &str, elements: &[u8]) {
    let text = format!("{text:<117}\n");
    let len = u16::try_from(text.len()).unwrap().to_le_bytes();
    fs::write(path, [b"\x93NUMPY\x01\x00", &len[..], text.as_bytes(), elements].concat()).unwrap();
}

#[test]
fn names_that_are_not_latin_1_get_another_version_in_the_same_room() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(directory.path(), "a.npy");
    run_ok(["create", &path, "--shape", "3", "--dtype", "[('x', '<i4')]"]);
    run_ok(["header", &path, "--dtype", "[('漢', '<i4')]"]);
    let info = run_ok(["info", "--json", &path]);
    assert!(info.contains(r#""version":[3,0]"#) && info.contains("漢"), "{info}");
}

#[test]
fn members_are_not_mended() {
    let directory = tempfile::tempdir().unwrap();
    let [npy, npz] = ["a.npy", "a.npz"].map(|name| path_in(directory.path(), name));
    run_ok(["create", &npy, "--shape", "3"]);
    run_ok(["convert", &npy, &npz]);
    let error = run_err(1, ["header", &format!("{npz}[arr_0]")]);
    assert!(error.contains("the headers of members cannot be changed in place"), "{error}");
}

const NUMPY_READS: &str = r"
import subprocess, sys
import numpy as np
program, path = sys.argv[1:]
a = np.arange(24, dtype='<i8')
for dtype, shape, order in [('>i4', (2, 24), 'C'), ('<u2', (4, 4, 6), 'F'), ('|S3', (64,), 'C'), ([('x', '<f4'), ('y', 'u1', (4,))], (12, 2), 'F')]:
    np.save(path, a)
    subprocess.run([program, 'header', path, '--dtype', str(np.dtype(dtype).descr if isinstance(dtype, list) else dtype), '--shape', str(shape), '--order', order], check=True)
    expected = np.ndarray(shape, dtype, a.tobytes(), order=order)
    found = np.load(path)
    assert found.dtype == expected.dtype and (found == expected).all() and found.flags.f_contiguous == expected.flags.f_contiguous
";

#[test]
fn numpy_reads_the_array_that_was_described() {
    let directory = tempfile::tempdir().unwrap();
    python(NUMPY_READS, &directory.path().join("a.npy"));
}

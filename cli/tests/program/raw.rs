//! `info --raw` describes files without a header as `info` describes those with one.

use std::fs;

use serde_json::{Value, json};

use crate::run::{data, npymap, path_in, run_err, run_ok};

#[test]
fn json_has_the_keys_of_info() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.bin");
    fs::write(&path, (0..100).collect::<Vec<u8>>()).unwrap();
    let text = path.to_str().unwrap();
    let line: Value =
        serde_json::from_str(&run_ok(["info", "--raw", "u1", "--json", text])).unwrap();
    let expected = json!({
        "path": text, "member": null, "format": "raw", "version": null, "descr": "'|u1'",
        "shape": [100], "fortran_order": false, "data_offset": 0, "itemsize": 1, "nbytes": 100,
        "mapped": true
    });
    assert_eq!(line, expected);
    let info = run_ok(["info", "--json", data().join("../../data/penguins.npy").to_str().unwrap()]);
    let info: Value = serde_json::from_str(&info).unwrap();
    assert!(line.as_object().unwrap().keys().eq(info.as_object().unwrap().keys()), "{line}");

    let options = ["--raw", ">i2", "--shape=(3, 4)", "--offset=5", "--order=F", "--digest"];
    let line = run_ok(["info", "--json", text].into_iter().chain(options));
    let line: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(line["descr"], "'>i2'");
    assert_eq!((&line["shape"], &line["data_offset"]), (&json!([3, 4]), &json!(5)));
    assert_eq!((&line["fortran_order"], &line["nbytes"]), (&json!(true), &json!(24)));
    assert_eq!(line["sha256"].as_str().unwrap().len(), 64);
}

#[test]
fn digests_are_those_of_the_same_array_with_a_header() {
    let path = data().join("numpy-2.4.6/rank2-F-be.npy");
    let text = path.to_str().unwrap();
    let info: Value = serde_json::from_str(&run_ok(["info", "--json", "--digest", text])).unwrap();
    let offset = format!("--offset={}", info["data_offset"]);
    let shape: Vec<_> = info["shape"].as_array().unwrap().iter().map(Value::to_string).collect();
    let shape = format!("--shape={}", shape.join(", "));
    let dtype = info["descr"].as_str().unwrap();
    let raw = ["info", "--json", "--digest", "--raw", dtype, &offset, &shape, "--order=F", text];
    let raw: Value = serde_json::from_str(&run_ok(raw)).unwrap();
    assert_eq!((&raw["sha256"], &raw["nbytes"]), (&info["sha256"], &info["nbytes"]));
}

#[test]
fn text_output_is_a_paragraph() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.bin");
    fs::write(&path, [0; 16]).unwrap();
    let text = path.to_str().unwrap();
    let output = run_ok(["info", text, "--raw", "[('x', '<f4'), ('y', '<f4')]"]);
    let expected = format!(
        "{text}\n  dtype  [('x', '<f4'), ('y', '<f4')], 2 fields in 8 bytes\n  shape  (2,), C order\n  \
         size   16 B: 2 elements of 8 bytes\n  file   raw, elements from byte 0\n  \
         field  byte  dtype  axes  title\n  x         0  '<f4'\n  y         4  '<f4'\n"
    );
    assert_eq!(output, expected);
}

#[test]
fn errors_are_printed_in_json_and_on_standard_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.bin");
    fs::write(&path, [0; 15]).unwrap();
    let text = path.to_str().unwrap();
    let why = format!(
        "{text}: the file has 15 bytes from byte 0 on, not a multiple of the itemsize 2: pass a shape"
    );
    assert_eq!(run_err(1, ["info", text, "--raw", "u2"]), format!("error: {why}\n"));
    let output = npymap(["info", "--json", text, "--raw", "u2"]);
    let line: Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(line, json!({ "path": text, "member": null, "error": why }));
    assert_eq!((output.err, output.code), (format!("error: {why}\n"), Some(1)));
    assert!(
        run_err(1, ["info", "--raw", "u1", text, "--shape", "(4, 4)"]).contains("end at byte 16"),
        "{why}"
    );
    assert_eq!(npymap(["info", text, "--raw", "f3"]).code, Some(2));
    for wrong in
        [["--shape", "(3"], ["--offset", "x"], ["--order", "A"], ["--header", "--color=never"]]
    {
        let arguments = ["info", text, "--raw", "u1"].into_iter().chain(wrong);
        assert_eq!(npymap(arguments).code, Some(2), "{wrong:?}");
    }
    for shape in ["-1,5", "(3, -1)"] {
        assert!(
            run_ok(["info", "--raw", "u1", "--json", "--shape", shape, text])
                .contains("\"shape\":[3,5]")
        );
    }
    assert!(
        run_err(1, ["info", "--raw", "u1", text, "--shape", "-1,4"])
            .contains("not a multiple of the 4")
    );
    assert_eq!(fs::read(&path).unwrap(), [0; 15]);
}

#[test]
fn several_files_are_described_and_each_error_is_printed() {
    let directory = tempfile::tempdir().unwrap();
    let [missing, a, b] = ["missing", "a.bin", "b.bin"].map(|name| path_in(&directory, name));
    fs::write(&a, [0; 16]).unwrap();
    fs::write(&b, [1; 15]).unwrap();
    for options in [&["--digest"][..], &["--json"], &["--shape", "(3, 2)"], &["--order", "F"]] {
        let output = npymap(["info", "--raw", "u2", &missing, &a, &b].iter().chain(options));
        let one_by_one = [&missing, &a, &b]
            .map(|file| npymap(["info", "--raw", "u2", file].iter().chain(options)));
        let texts: Vec<_> = one_by_one.iter().map(|one| one.out.as_str()).collect();
        let texts: Vec<_> = texts.into_iter().filter(|text| !text.is_empty()).collect();
        let gap = if options == ["--json"] { "" } else { "\n" };
        assert_eq!(output.out, texts.join(gap), "{options:?}");
        assert_eq!(output.err, one_by_one.map(|one| one.err).concat(), "{options:?}");
        assert_eq!(output.code, Some(1));
    }
}

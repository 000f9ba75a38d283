//! Text from files never controls the terminal.

use std::fs;
use std::path::Path;

use crate::run::{npymap, run_ok};

const NASTY: &str = "a\u{1b}[2J\u{9b}1m\n\u{202e}b\u{200b}\u{2066}\u{feff}\u{2028}";

/// Writes a file of records with one field, whose name is given as spelled in
/// the header.
fn file(path: &Path, name: &str) {
    let text =
        format!("{{'descr': [('{name}', '<U4')], 'fortran_order': False, 'shape': (2,), }}\n");
    let len = u32::try_from(text.len()).unwrap().to_le_bytes();
    let elements: Vec<u8> =
        ['\u{1b}', '\u{9b}', '\u{202e}', 'x'].map(|c| u32::from(c).to_le_bytes()).concat();
    let parts = [b"\x93NUMPY\x03\x00", &len[..], text.as_bytes(), &elements, &elements];
    fs::write(path, parts.concat()).unwrap();
}

/// Asserts that output has no control characters but line feeds, and nothing
/// invisible from a file.
#[track_caller]
fn is_safe(text: &str) {
    let found = text.chars().find(|&c| {
        (c.is_control() && c != '\n') || NASTY.contains(c) && !c.is_ascii() || c == '\u{1b}'
    });
    assert_eq!(found, None, "{text:?}");
}

#[test]
fn field_names_and_text_do_not_reach_the_terminal_raw() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.npy");
    file(&path, &NASTY.replace('\n', "\\n"));
    let path = path.to_str().unwrap();
    for arguments in [
        &["info", path][..],
        &["info", "--json", path],
        &["info", "--header", path],
        &["head", path],
        &["stats", path],
        &["stats", "--json", path],
        &["get", path, ":"],
        &["get", path, "0", "--json"],
        &["sample", path, "-n", "1"],
        &["diff", path, path, "--json"],
    ] {
        is_safe(&run_ok(arguments));
    }
    assert!(run_ok(["info", path]).contains(r"a\x1b[2J\x9b1m\n\u202eb\u200b"));
    for arguments in [&["get", path, "0.x"][..], &["set", path, "0.x", "1"], &["stats", path, "9"]]
    {
        let output = npymap(arguments);
        assert_eq!((output.code, output.err.lines().count()), (Some(1), 1), "{}", output.err);
        is_safe(&output.err);
    }
    let field = "a\u{1b}[2J\u{9b}1m\n\u{202e}b\u{200b}\u{2066}\u{feff}\u{2028}";
    let line: serde_json::Value =
        serde_json::from_str(&run_ok(["get", path, "0", "--json"])).unwrap();
    assert_eq!(line[field], "\u{1b}\u{9b}\u{202e}x");
}

#[test]
fn text_by_itself_is_on_one_line_without_controls() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.npy").to_str().unwrap().to_owned();
    run_ok(["create", &path, "--shape", "1", "--dtype", "U9"]);
    run_ok(["set", &path, "0", r"'\x1b]0;x\x07\n\x9by'"]);
    assert_eq!(run_ok(["get", &path, "0"]), "\\x1b]0;x\\x07\\n\\x9by\n");
    assert_eq!(run_ok(["get", &path, "0", "--json"]), "\"\\u001b]0;x\\u0007\\n\\u009by\"\n");
    is_safe(&run_ok(["head", &path]));
    is_safe(&run_ok(["diff", &path, &path]));
}

#[test]
fn member_names_are_escaped_in_tables_messages_and_json() {
    let directory = tempfile::tempdir().unwrap();
    let npy = directory.path().join("w.npy");
    run_ok(["create", npy.to_str().unwrap(), "--shape", "2"]);
    let path = directory.path().join("m.tar");
    let mut tar = tar::Builder::new(fs::File::create(&path).unwrap());
    tar.append_path_with_name(&npy, "n\u{1b}[1m\u{9b}\u{202e}.npy").unwrap();
    tar.append_path_with_name(&npy, "other.npy").unwrap();
    tar.finish().unwrap();
    let path = path.to_str().unwrap();
    for arguments in [&["info", path][..], &["info", "--json", path]] {
        is_safe(&run_ok(arguments));
    }
    assert!(run_ok(["info", "--json", path]).contains(r"n\u001b[1m\u009b\u202e.npy"));
    let output = npymap(["info", &format!("{path}[none]")]);
    assert_eq!(output.code, Some(1));
    is_safe(&output.err);
}

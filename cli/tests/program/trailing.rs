//! Bytes after the elements of a `.npy`, such as rows of a writer that died, are noticed
//! and not destroyed.

use std::fs::{self, File};
use std::io::Write as _;

use serde_json::{Value, json};

use crate::run::{command, npymap, path_in, run_err, run_ok};

/// A file of the rows 0, 1, 2, each of two bytes, and what follows them.
fn dead(directory: &tempfile::TempDir, name: &str, rest: &[u8]) -> (String, Vec<u8>) {
    let (new, path) = (path_in(directory, "new.npy"), path_in(directory, name));
    run_ok(["create", &new, "--shape", "(3, 2)", "--dtype", "u1", "--arange"]);
    let mut file = File::options().append(true).open(&new).unwrap();
    file.write_all(rest).unwrap();
    drop(file);
    fs::rename(&new, &path).unwrap();
    let bytes = fs::read(&path).unwrap();
    (path, bytes)
}

#[test]
fn commands_that_replace_a_file_keep_rows_that_are_not_counted() {
    let directory = tempfile::tempdir().unwrap();
    let (plain, _) = dead(&directory, "plain.npy", &[]);
    let archive = path_in(&directory, "a.npz");
    run_ok(["npz", "pack", &plain, "--name", "k", "-o", &archive]);
    let to = directory.path().to_str().unwrap();
    let (k, bytes) = dead(&directory, "k.npy", &[6, 7, 8, 9]);
    for arguments in [
        &["convert", &k, &k][..],
        &["convert", &plain, &k, "--dtype", "f4"],
        &["concat", &k, &plain, "-o", &k],
        &["shuffle", &k, &k],
        &["create", &k, "--shape", "4"],
        &["sample", "-n", "1", &plain, "-o", &k],
        &["get", &plain, ":", "-o", &k],
        &["npz", "extract", &archive, "--directory", to],
    ] {
        fs::write(&k, &bytes).unwrap();
        let refused = [arguments, &["--overwrite"]].concat();
        assert_eq!(
            run_err(1, refused),
            format!(
                "error: {k}: replacing the file would drop 4 bytes after its elements, 2 more \
                 rows: `npymap recover` keeps them, and --discard-trailing drops them\n"
            ),
            "{arguments:?}"
        );
        assert_eq!(fs::read(&k).unwrap(), bytes, "{arguments:?}");
        let allowed = npymap([arguments, &["--overwrite", "--discard-trailing"]].concat());
        assert_eq!(allowed.code, Some(0), "{arguments:?}: {}", allowed.err);
        assert_ne!(fs::read(&k).unwrap(), bytes, "{arguments:?}");
    }
    fs::write(&k, &bytes).unwrap();
    run_err(2, ["convert", &plain, &k, "--discard-trailing"]);
    run_ok(["recover", &k]);
    run_ok(["convert", &k, &k, "--overwrite"]);
    assert_eq!(run_ok(["get", &k, "3:"]), "[[6, 7],\n [8, 9]]\n");
}

#[test]
fn archives_and_images_do_not_replace_rows_that_are_not_counted() {
    let directory = tempfile::tempdir().unwrap();
    let (plain, _) = dead(&directory, "plain.npy", &[]);
    let archive = path_in(&directory, "a.npz");
    run_ok(["npz", "pack", &plain, "-o", &archive]);
    // Whatever the file is called.
    for (name, arguments) in [
        ("k.npz", &["npz", "pack", &plain, "-o"][..]),
        ("k.npz", &["npz", "recover", &archive, "-o"]),
        ("k.npz", &["convert", &plain]),
        ("k.ten", &["convert", &plain, "--dtype", "i8"]),
        ("k.csv", &["convert", &plain]),
        ("k.bin", &["get", &plain, ":", "-o"]),
        ("k.png", &["show", &plain, "-o"]),
    ] {
        let (path, bytes) = dead(&directory, name, &[6]);
        let refused = [arguments, &[&path, "--overwrite"]].concat();
        assert_eq!(
            run_err(1, &refused),
            format!(
                "error: {path}: replacing the file would drop 1 byte after its elements: \
                 --discard-trailing allows it\n"
            )
        );
        assert_eq!(fs::read(&path).unwrap(), bytes, "{arguments:?}");
        run_ok(refused.iter().chain(&["--discard-trailing"]));
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn what_follows_an_array_is_noted_once() {
    let directory = tempfile::tempdir().unwrap();
    let (k, _) = dead(&directory, "k.npy", &[6, 7, 8, 9]);
    let out = path_in(&directory, "out.npy");
    let note =
        format!("note: {k}: 4 bytes follow the array: 2 more rows: `npymap recover` keeps them\n");
    for arguments in [
        &["info", &k][..],
        &["info", "--json", &k],
        &["info", "--header", &k],
        &["info", "--digest", &k],
        &["ls", &k],
        &["get", &k, "0"],
        &["head", &k],
        &["tail", &k],
        &["stats", &k],
        &["show", &k],
        &["sample", "-n", "1", &k],
        &["diff", &k, &k],
        &["set", &k, "0", "1"],
        &["convert", &k, &out],
        &["concat", &k, &k, "-o", &out],
        &["shuffle", &k, &out],
        &["npz", "pack", &k, "-o", "-"],
    ] {
        let output = command().args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), note, "{arguments:?}");
        let _ = fs::remove_file(&out);
    }
    let listed = npymap(["ls", directory.path().to_str().unwrap()]);
    assert_eq!((listed.code, listed.err), (Some(0), note));
    let raw = run_ok(["info", "--raw", "u1", "--shape", "3", &k]);
    assert!(!raw.contains("follow"), "{raw}");
}

#[test]
fn info_describes_what_follows_an_array() {
    let directory = tempfile::tempdir().unwrap();
    let (plain, bytes) = dead(&directory, "plain.npy", &[]);
    let keys = |path: &str| serde_json::from_str::<Value>(&npymap(["info", "--json", path]).out);
    let complete = keys(&plain).unwrap();
    assert_eq!(complete.get("trailing"), None);
    for (rest, line, expected) in [
        (
            vec![6, 7, 8],
            "3 bytes follow the array: 1 more row: `npymap recover` keeps them",
            json!({ "offset": 134, "nbytes": 3, "rows": 1, "array": false }),
        ),
        (
            vec![6],
            "1 byte follows the array",
            json!({ "offset": 134, "nbytes": 1, "rows": 0, "array": false }),
        ),
        (
            bytes,
            "134 bytes follow the array: another array at byte 134: FILE[@134] names it",
            json!({ "offset": 134, "nbytes": 134, "rows": 0, "array": true }),
        ),
    ] {
        let (k, _) = dead(&directory, "k.npy", &rest);
        let text = npymap(["info", &k]).out;
        assert!(text.contains(&format!("\n  rest   {line}\n")), "{text}");
        let found = keys(&k).unwrap();
        assert_eq!(found["trailing"], expected);
        assert_eq!(found.as_object().unwrap().len(), complete.as_object().unwrap().len() + 1);
    }
}

#[test]
#[cfg(unix)]
fn a_second_array_in_a_stream_is_not_dropped() {
    let directory = tempfile::tempdir().unwrap();
    let (log, before) = dead(&directory, "log.npy", &[]);
    let (two, _) = dead(&directory, "two.npy", &before);
    let out = path_in(&directory, "out.npy");
    let archive = path_in(&directory, "out.npz");
    let follows = "134 bytes follow the array: another array at byte 134";
    let piped = |arguments: &[&str], is_pipe: bool| {
        let mut cat = std::process::Command::new("cat")
            .arg(&two)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let pipe = cat.stdout.take().unwrap();
        let mut command = command();
        command.args(arguments);
        if is_pipe {
            command.stdin(pipe)
        } else {
            command.stdin(File::open(&two).unwrap())
        };
        let output = command.output().unwrap();
        drop(command);
        cat.wait().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for arguments in [
        &["append", &log, "-"][..],
        &["append", &log, &log, "-"],
        &["concat", &log, "-", "-o", &out],
        &["concat", "-", &log, "-o", &out],
        &["convert", "-", &out],
        &["shuffle", "-", &out],
    ] {
        for is_pipe in [true, false] {
            let error =
                format!("error: -: {follows}, which would be lost: send one array at a time\n");
            assert_eq!(piped(arguments, is_pipe), (Some(1), error), "{arguments:?}");
            assert_eq!(fs::read(&log).unwrap(), before, "{arguments:?}");
            assert!(!fs::exists(&out).unwrap() && !fs::exists(&archive).unwrap());
        }
    }
    // Archives get both, and lose nothing that follows.
    for (arguments, names) in [
        (&["convert", "-", &archive][..], ["arr_0", "arr_1"]),
        (&["npz", "pack", "-", "--name", "x", "-o", &archive], ["x_0", "x_1"]),
        (&["npz", "pack", "-[@134]", "-", "--name", "y", "-o", &archive], ["y", "arr_1"]),
    ] {
        for is_pipe in [true, false] {
            assert_eq!(piped(arguments, is_pipe), (Some(0), String::new()), "{arguments:?}");
            for name in names {
                assert_eq!(npymap(["diff", &format!("{archive}[{name}]"), &log]).code, Some(0));
            }
            fs::remove_file(&archive).unwrap();
        }
    }
    File::options().append(true).open(&two).unwrap().write_all(&[0]).unwrap();
    for arguments in [&["convert", "-", &archive][..], &["npz", "pack", "-", "-o", &archive]] {
        let error =
            "error: -: 1 byte follows the array, which would be lost: send one array at a time\n";
        assert_eq!(piped(arguments, true), (Some(1), error.to_owned()), "{arguments:?}");
        assert!(!fs::exists(&archive).unwrap());
    }
    // Others show the first array, and say so.
    let follows = "135 bytes follow the array: another array at byte 134";
    for arguments in [&["info", "-"][..], &["get", "-", "0"], &["stats", "-"]] {
        let note = format!("note: -: {follows}: FILE[@134] names it\n");
        assert_eq!(piped(arguments, true), (Some(0), note), "{arguments:?}");
    }
}

/// Three arrays of `u1` and a name in one file, each of 128 bytes and its elements.
fn several(directory: &tempfile::TempDir, name: &str) -> String {
    let path = path_in(directory, name);
    let mut all = Vec::new();
    for (shape, fill) in [("(2, 3)", "1"), ("(4,)", "2"), ("()", "3")] {
        let one = path_in(directory, "one.npy");
        run_ok(["create", &one, "--shape", shape, "--dtype", "u1", "--fill", fill]);
        all.extend(fs::read(&one).unwrap());
        fs::remove_file(one).unwrap();
    }
    fs::write(&path, all).unwrap();
    path
}

#[test]
fn an_array_is_named_by_its_offset() {
    let directory = tempfile::tempdir().unwrap();
    let path = several(&directory, "several.npy");
    let [second, third] = ["[@134]", "[@266]"].map(|at| format!("{path}{at}"));
    for (arguments, output) in [
        (&["get", &second, ":"][..], "[2, 2, 2, 2]\n"),
        (&["get", &second, "-1"], "2\n"),
        (&["get", &third, "..."], "3\n"),
        (&["head", &second, "-n", "1"], "    '|u1'\n 0      2\n… 3 more rows\n"),
    ] {
        let found = npymap(arguments);
        assert_eq!((found.code, &*found.out, &*found.err), (Some(0), output, ""), "{arguments:?}");
    }
    let line = npymap(["info", "--json", &second]).out;
    let found: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&found["member"], &found["data_offset"]), (&json!("@134"), &json!(262)));
    assert_eq!(found["trailing"]["offset"], json!(266));
    assert!(npymap(["info", &second]).out.starts_with(&second));
    assert!(npymap(["info", "--header", &third]).out.contains("'shape': ()"));
    let out = path_in(&directory, "out.npy");
    run_ok(["convert", &second, &out]);
    assert_eq!(run_ok(["get", &out, ":"]), "[2, 2, 2, 2]\n");
    assert_eq!(npymap(["diff", &second, &out]).code, Some(0));
    assert!(run_ok(["stats", &second]).contains('4'));
    assert_eq!(run_ok(["set", &second, "1", "7"]), format!("{second}: 1 element set\n"));
    assert_eq!(run_ok(["get", &second, ":"]), "[2, 7, 2, 2]\n");
    assert_eq!(npymap(["get", &path, ":"]).out, "[[1, 1, 1],\n [1, 1, 1]]\n");
    for (at, text) in [
        ("[@133]", "the array at byte 133: "),
        ("[@9999]", "the array at byte 9999: "),
        ("[x]", "holds a single unnamed array"),
    ] {
        let error = run_err(1, ["get", &format!("{path}{at}"), "..."]);
        assert!(error.contains(text), "{error}");
    }
}

#[test]
fn an_archive_gets_all_arrays_of_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = several(&directory, "several.npy");
    for name in ["all.npz", "all.ten"] {
        let out = path_in(&directory, name);
        let found = npymap(["convert", &path, &out]);
        assert_eq!((found.code, &*found.err), (Some(0), ""));
        let names = if name == "all.npz" { ["arr_0", "arr_1", "arr_2"] } else { ["0", "1", "2"] };
        for (name, at) in names.iter().zip(["[@0]", "[@134]", "[@266]"]) {
            let [member, one] = [format!("{out}[{name}]"), format!("{path}{at}")];
            assert_eq!(npymap(["diff", &member, &one]).code, Some(0), "{member}");
        }
    }
    // What is left is said.
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend([0; 5]);
    fs::write(&path, &bytes).unwrap();
    let out = path_in(&directory, "left.npz");
    let found = npymap(["convert", &path, &out]);
    assert_eq!(found.err, format!("note: {path}: 5 bytes follow the array\n"));
    assert!(run_ok(["ls", &out]).contains("arr_2"));
    // An array that cannot be read is not left out.
    bytes.truncate(266);
    bytes.extend(b"\x93NUMPY\x01\x00\x02\x00{}");
    fs::write(&path, &bytes).unwrap();
    let error = run_err(1, ["convert", "--overwrite", &path, &out]);
    assert!(error.contains("the array at byte 266: "), "{error}");
    assert!(run_ok(["ls", &out]).contains("arr_2"));
}

#[test]
fn archives_are_packed_of_all_arrays_of_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("folder");
    fs::create_dir(&folder).unwrap();
    let (x, _) = dead(&directory, "x.npy", &[]);
    let y = several(&directory, "y.npy");
    let z = path_in(&folder, "z.npy");
    fs::copy(&y, &z).unwrap();
    let out = path_in(&directory, "out.npz");
    let packed = run_ok(["npz", "pack", &x, &y, folder.to_str().unwrap(), "-o", &out]);
    assert_eq!(packed, format!("{out}: 7 members packed\n"));
    let equal = |name: &str, at: &str| {
        let [member, one] = [format!("{out}[{name}]"), format!("{y}{at}")];
        assert_eq!(npymap(["diff", &member, &one]).code, Some(0), "{member}");
    };
    for name in ["y", "z"] {
        for (position, at) in ["[@0]", "[@134]", "[@266]"].into_iter().enumerate() {
            equal(&format!("{name}_{position}"), at);
        }
    }
    run_ok(["npz", "pack", &x, "-o", &out, "--overwrite"]);
    assert_eq!(run_ok(["npz", "add", &out, &y]), format!("{out}: 3 members added\n"));
    equal("y_2", "[@266]");
    // A given name is that of one of them, or the start of all names.
    run_ok(["npz", "add", &out, &format!("{y}[@134]"), "--name", "w"]);
    equal("w", "[@134]");
    run_ok(["npz", "add", &out, &y, "--name", "w"]);
    equal("w_1", "[@134]");
    assert_eq!(run_err(1, ["npz", "add", &out, &y]).matches("y_0").count(), 1);
    // What is left is said, and what cannot be read is not left out.
    let mut bytes = fs::read(&y).unwrap();
    bytes.extend([0; 5]);
    fs::write(&y, &bytes).unwrap();
    let note = npymap(["npz", "add", &out, &y, "--overwrite"]).err;
    assert_eq!(note, format!("note: {y}: 5 bytes follow the array\n"));
    bytes.truncate(266);
    bytes.extend(b"\x93NUMPY\x01\x00\x02\x00{}");
    fs::write(&y, &bytes).unwrap();
    let before = fs::read(&out).unwrap();
    let error = run_err(1, ["npz", "add", &out, &y, "--overwrite"]);
    assert!(error.contains("the array at byte 266: "), "{error}");
    assert_eq!(fs::read(&out).unwrap(), before);
}

#[test]
#[cfg(unix)]
fn an_array_of_a_stream_is_named_by_its_offset() {
    let directory = tempfile::tempdir().unwrap();
    let path = several(&directory, "several.npy");
    let mut cat = std::process::Command::new("cat")
        .arg(&path)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let output =
        command().args(["get", "-[@134]", ":"]).stdin(cat.stdout.take().unwrap()).output().unwrap();
    cat.wait().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "[2, 2, 2, 2]\n");
    let output = command()
        .args(["get", "-[@266]", "..."])
        .stdin(File::open(&path).unwrap())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "3\n");
}

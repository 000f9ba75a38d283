//! Archives are packed, changed and recovered, whole or not at all.

use std::fs;
use std::path::Path;

use crate::arguments::python;
use crate::run::{npymap, path_in, run_err, run_ok};

/// The names of the members, as `info --json` lists them.
fn members(path: &str) -> Vec<String> {
    let lines = run_ok(["info", "--json", path]);
    let lines = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    lines.map(|line| line["member"].as_str().unwrap().to_owned()).collect()
}

/// Creates an array of three numbers.
fn create(directory: &Path, name: &str, value: &str) -> String {
    let path = path_in(directory, name);
    fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
    run_ok(["create", &path, "--shape", "3", "--dtype", "<f8", "--fill", value]);
    path
}

#[test]
fn arrays_are_packed_added_renamed_and_removed() {
    let directory = tempfile::tempdir().unwrap();
    let [x, y] =
        [("x.npy", "1"), ("y.npy", "2")].map(|(name, value)| create(directory.path(), name, value));
    let npz = path_in(directory.path(), "a.npz");
    assert_eq!(run_ok(["npz", "pack", &x, &y, "-o", &npz]), format!("{npz}: 2 members packed\n"));
    assert_eq!(members(&npz), ["x", "y"]);
    let out =
        run_ok(["npz", "add", &npz, &x, &format!("{npz}[y]"), "--name", "x2", "--name", "layer/y"]);
    assert_eq!(out, format!("{npz}: 2 members added\n"));
    assert_eq!(members(&npz), ["x", "y", "x2", "layer/y"]);
    assert_eq!(run_ok(["npz", "mv", &npz, "x2", "z"]), format!("{npz}: 1 member renamed\n"));
    let out = run_ok(["npz", "rm", &npz, "x", "layer/y.npy", "--json"]);
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&out).unwrap()["removed"],
        serde_json::json!(["x", "layer/y.npy"])
    );
    assert_eq!(members(&npz), ["y", "z"]);
    assert_eq!(run_ok(["get", &format!("{npz}[z]"), ":"]), "[1.0, 1.0, 1.0]\n");
    run_ok(["npz", "verify", &npz]);
}

#[test]
fn nothing_is_changed_if_anything_is_wrong() {
    let directory = tempfile::tempdir().unwrap();
    let [x, y] =
        [("x.npy", "1"), ("y.npy", "2")].map(|(name, value)| create(directory.path(), name, value));
    let [npz, none, txt] =
        ["a.npz", "none.npz", "a.txt"].map(|name| path_in(directory.path(), name));
    run_ok(["npz", "pack", &x, "-o", &npz]);
    let before = fs::read(&npz).unwrap();
    for (arguments, expected) in [
        (&["npz", "add", &npz, &y, &x][..], "[x]: already exists: "),
        (
            &["npz", "add", &npz, &y, &y],
            "has the name `y`, as an array before it: choose others with --name",
        ),
        (&["npz", "add", &npz, &npz, &y, "--name", "a", "--name", "a"], "has the name `a`"),
        (&["npz", "add", &none, &y], "none.npz: does not exist: create it with `npymap npz pack`"),
        (&["npz", "rm", &npz, "x", "nope"], "no member `nope`"),
        (&["npz", "mv", &npz, "nope", "z"], "no member `nope`: the only member is `x.npy`"),
        (&["npz", "pack", &x, "-o", &npz], "a.npz: already exists"),
        (&["npz", "pack", &x, "-o", &txt], "this command writes .npz files"),
        (
            &["npz", "pack", directory.path().to_str().unwrap(), "--name", "q", "-o", &none],
            "is a directory, whose arrays are named after their files",
        ),
        (&["npz", "recover", &x, "-o", &none], "x.npy: "),
    ] {
        let error = run_err(1, arguments);
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
    let error = run_err(2, ["npz", "add", &npz, &y, "--name", "a", "--name", "b"]);
    assert!(error.contains("has no IN for the name `b`"), "{error}");
    let two = path_in(directory.path(), "two.npz");
    run_ok(["npz", "pack", &x, &y, "-o", &two]);
    let error = run_err(1, ["npz", "add", &npz, &two, "--name", "a"]);
    assert!(error.contains("contains several arrays"), "{error}");
    assert_eq!(fs::read(&npz).unwrap(), before);
    assert!(!Path::new(&none).exists() && !Path::new(&txt).exists());
    run_ok(["npz", "add", &npz, &y, "--name", "x", "--overwrite"]);
    assert_eq!(run_ok(["get", &format!("{npz}[x]"), "0"]), "2.0\n");
}

/// Names are those of members before the command, not of arrays that it adds.
#[test]
fn added_arrays_do_not_replace_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let [one, two] = [("one.npy", "1"), ("two.npy", "2")]
        .map(|(name, value)| create(directory.path(), name, value));
    let [npz, other] = ["a.npz", "other.npz"].map(|name| path_in(directory.path(), name));
    let first = |name: &str| run_ok(["get", &format!("{npz}[{name}]"), "0"]);
    let names = ["--name", "x", "--name", "x.npy"];
    run_ok([&["npz", "pack", &one, &two, "-o", &other][..], &names].concat());
    for inputs in [&[&*one, &two][..], &[&other]] {
        run_ok(["npz", "pack", &one, "-o", &npz, "--overwrite"]);
        let names = if inputs.len() == 2 { &names[..] } else { &[] };
        run_ok([&["npz", "add", &npz], inputs, names].concat());
        assert_eq!(members(&npz).len(), 3);
        assert_eq!([first("x.npy.npy"), first("one")], ["2.0\n", "1.0\n"]);
        // The same arrays replace these.
        run_ok(["npz", "add", &npz, &two, "--name", "x", "--overwrite"]);
        assert_eq!(members(&npz).len(), 3);
    }
    // Both are the member that exists.
    run_ok(["npz", "pack", &one, "-o", &npz, "--name", "x", "--overwrite"]);
    let error = run_err(1, [&["npz", "add", &npz, &one, &two, "--overwrite"][..], &names].concat());
    assert!(error.contains("has the full name `x.npy`, as an array before it"), "{error}");
    assert_eq!(members(&npz), ["x"]);
}

#[test]
fn paths_of_members_may_start_with_a_dot() {
    let directory = tempfile::tempdir().unwrap();
    let x = create(directory.path(), "x.npy", "1");
    let [npz, to] = ["a.npz", "out"].map(|name| path_in(directory.path(), name));
    run_ok(["npz", "pack", &x, &x, "-o", &npz, "--name", "./a", "--name", "./b/./c"]);
    run_ok(["npz", "extract", &npz, "-d", &to]);
    assert!(["a.npy", "b/c.npy"].iter().all(|name| Path::new(&to).join(name).is_file()));
    run_ok(["npz", "pack", &x, &x, "-o", &npz, "--name", "./a", "--name", "a", "--overwrite"]);
    let error = run_err(1, ["npz", "extract", &npz, "-d", &to, "--overwrite"]);
    assert!(error.contains("another member has the same path"), "{error}");
}

#[test]
fn a_directory_is_packed_and_extracted_again() {
    let directory = tempfile::tempdir().unwrap();
    for (name, value) in [("in/b.npy", "1"), ("in/a/w.npy", "2"), ("in/a/größe.npy", "3")] {
        create(directory.path(), name, value);
    }
    fs::write(directory.path().join("in/notes.txt"), "no array").unwrap();
    let [from, npz, to] = ["in", "a.npz", "out"].map(|name| path_in(directory.path(), name));
    run_ok(["npz", "pack", &from, "-o", &npz, "--deflate"]);
    assert_eq!(members(&npz), ["a/größe", "a/w", "b"]);
    run_ok(["npz", "extract", &npz, "-d", &to]);
    for name in ["b.npy", "a/w.npy", "a/größe.npy"] {
        let [from, to] = [&from, &to].map(|folder| fs::read(Path::new(folder).join(name)).unwrap());
        assert!(from == to, "{name}");
    }
}

/// Nothing else is on standard output then.
#[test]
fn an_archive_is_written_to_standard_output() {
    let directory = tempfile::tempdir().unwrap();
    let x = create(directory.path(), "x.npy", "1");
    let [npz, out] = ["a.npz", "out.npz"].map(|name| path_in(directory.path(), name));
    run_ok(["npz", "pack", &x, &x, "-o", &npz, "--name", "a", "--name", "b"]);
    for arguments in [
        &["npz", "pack", &x, &x, "-o", "-", "--name", "a", "--name", "b"][..],
        &["npz", "recover", &npz, "-o", "-"],
    ] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_npymap"));
        let output = command.args(arguments).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty());
        fs::write(&out, &output.stdout).unwrap();
        assert_eq!(members(&out), ["a", "b"]);
        assert!(output.stdout == fs::read(&npz).unwrap());
        run_err(2, [arguments, &["--json"]].concat());
    }
}

#[test]
fn a_truncated_archive_gives_the_members_before_its_end() {
    let directory = tempfile::tempdir().unwrap();
    let [x, y] =
        [("x.npy", "1"), ("y.npy", "2")].map(|(name, value)| create(directory.path(), name, value));
    let [npz, out] = ["a.npz", "out.npz"].map(|name| path_in(directory.path(), name));
    run_ok(["npz", "pack", &x, &y, "-o", &npz]);
    let bytes = fs::read(&npz).unwrap();
    fs::write(&npz, &bytes[..bytes.len() - 200]).unwrap();
    let output = npymap(["npz", "recover", &npz, "-o", &out]);
    assert_eq!(output.out, format!("{npz}: 1 member recovered, before the damage\n"));
    let note = "a zip archive without an end record: the archive was truncated, or is still being written: members are found by their own headers, up to the first damage";
    assert_eq!((output.code, output.err), (Some(0), format!("note: {npz}: {note}\n")));
    assert_eq!(members(&out), ["x"]);
    let error = run_err(1, ["info", &npz]);
    assert!(error.ends_with(": `npymap npz recover` copies its intact members\n"), "{error}");
    run_ok(["npz", "verify", &out]);
    // Damage inside a member leaves the others.
    let mut bytes = bytes;
    let at = bytes.windows(8).position(|window| window == 1_f64.to_le_bytes()).unwrap();
    bytes[at] ^= 1;
    fs::write(&npz, &bytes).unwrap();
    let output = npymap(["npz", "recover", &npz, "-o", &out, "--overwrite", "--json"]);
    let line: serde_json::Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(
        (output.code, &line["recovered"], &line["damaged"]),
        (Some(0), &serde_json::json!(["y"]), &serde_json::json!(["x"]))
    );
    assert!(output.err.contains("CRC-32"), "{}", output.err);
    fs::write(&npz, &bytes[..60]).unwrap();
    let error = npymap(["npz", "recover", &npz, "-o", &path_in(directory.path(), "no.npz")]);
    assert!(error.code == Some(1) && error.err.contains("has no intact member"), "{}", error.err);
    assert!(!directory.path().join("no.npz").exists());
}

/// cnpy writes offsets of 32 bits, however large the archive is.
#[cfg(unix)]
#[test]
fn members_of_an_archive_with_wrapped_offsets_are_found() {
    use std::io::{Seek as _, SeekFrom, Write as _};

    let directory = tempfile::tempdir().unwrap();
    let [x, y] =
        [("x.npy", "1"), ("y.npy", "2")].map(|(name, value)| create(directory.path(), name, value));
    let [npz, out] = ["a.npz", "out.npz"].map(|name| path_in(directory.path(), name));
    run_ok(["npz", "pack", &x, &y, "-o", &npz]);
    let bytes = fs::read(&npz).unwrap();
    let second = bytes.windows(4).skip(1).position(|part| part == b"PK\x03\x04").unwrap() + 1;
    let mut file = fs::OpenOptions::new().write(true).open(&npz).unwrap();
    file.set_len(u64::try_from(second).unwrap()).unwrap();
    file.seek(SeekFrom::Start((1 << 32) + u64::try_from(second).unwrap())).unwrap();
    file.write_all(&bytes[second..]).unwrap();
    let reason = "an archive of more than 4 GiB with offsets of 32 bits, as cnpy writes it";
    let error = run_err(1, ["info", &npz]);
    let advice = "`npymap npz recover` copies its members";
    assert_eq!(error, format!("error: {npz}: {reason}: {advice}\n"));
    let output = npymap(["npz", "recover", &npz, "-o", &out]);
    assert!(output.err.starts_with(&format!("note: {npz}: {reason}: members are found by")));
    assert_eq!(output.out, format!("{npz}: 1 member recovered, before the damage\n"));
    assert_eq!(members(&out), ["x"]);
}

/// The methods of members, in the local headers and the directory of an archive.
fn set_methods(bytes: &mut [u8], name: &[u8], method: u8) {
    for start in 0..bytes.len() - 46 {
        let at = match &bytes[start..start + 4] {
            b"PK\x03\x04" if bytes[start + 30..].starts_with(name) => start + 8,
            b"PK\x01\x02" if bytes[start + 46..].starts_with(name) => start + 10,
            _ => continue,
        };
        bytes[at] = method;
    }
}

#[test]
fn a_member_that_cannot_be_read_does_not_hide_others() {
    let directory = tempfile::tempdir().unwrap();
    let (x, npz) = (create(directory.path(), "x.npy", "1"), path_in(directory.path(), "a.npz"));
    let names = ["--name", "a", "--name", "é\\b", "--name", "c"];
    run_ok(["npz", "pack", &x, &x, &x, "-o", &npz].iter().chain(&names));
    let mut bytes = fs::read(&npz).unwrap();
    set_methods(&mut bytes, "é".as_bytes(), 12);
    fs::write(&npz, &bytes).unwrap();
    let out = path_in(directory.path(), "out.npz");
    let output = npymap(["npz", "recover", &npz, "-o", &out]);
    let expected = format!("{npz}: 2 members recovered, 1 skipped\n");
    assert_eq!((output.code, output.out), (Some(0), expected));
    assert!(output.err.starts_with("error: ") && output.err.contains("method 12 (BZIP2)"));
    assert_eq!(output.err.lines().count(), 1, "{}", output.err);
    assert_eq!(members(&out), ["a", "c"]);
    let output = npymap(["npz", "recover", &npz, "-o", &out, "--overwrite", "--json"]);
    let line: serde_json::Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(
        (&line["recovered"], &line["damaged"], &line["skipped"]),
        (&serde_json::json!(["a", "c"]), &serde_json::json!([]), &serde_json::json!(["é\\b"]))
    );
    set_methods(&mut bytes, b"", 12);
    fs::write(&npz, &bytes).unwrap();
    let output = npymap(["npz", "recover", &npz, "-o", &out, "--overwrite"]);
    assert_eq!(output.code, Some(1));
    assert!(output.err.contains("has no intact member that can be read"), "{}", output.err);
}

/// Errors of the new file are not those of a member.
#[cfg(target_os = "linux")]
#[test]
fn recovery_ends_if_the_new_archive_cannot_be_written() {
    let directory = tempfile::tempdir().unwrap();
    let [large, npz] = ["a.npy", "a.npz"].map(|name| path_in(directory.path(), name));
    run_ok(["create", &large, "--shape", "1000000", "--dtype", "u1"]);
    run_ok(["npz", "pack", &large, &large, "-o", &npz, "--name", "a", "--name", "b"]);
    let mut shell = std::process::Command::new("sh");
    let script = "ulimit -f 1; exec \"$0\" \"$@\"";
    let program = env!("CARGO_BIN_EXE_npymap");
    let out = path_in(directory.path(), "out.npz");
    shell.args(["-c", script, program, "npz", "recover", &npz, "-o", &out]);
    let run = shell.output().unwrap();
    let error = String::from_utf8_lossy(&run.stderr);
    assert_eq!((run.status.code(), error.lines().count()), (Some(1), 1), "{error}");
    assert!(error.contains("File too large"), "{error}");
    assert!(!Path::new(&out).exists());
}

#[test]
fn extraction_keeps_going_past_obstacles_if_asked() {
    let directory = tempfile::tempdir().unwrap();
    let [x, y] =
        [("x.npy", "1"), ("y.npy", "2")].map(|(name, value)| create(directory.path(), name, value));
    let npz = path_in(directory.path(), "a.npz");
    run_ok([
        "npz", "pack", &x, &y, &x, "-o", &npz, "--name", "x", "--name", "y", "--name", "../up",
    ]);
    let to = path_in(directory.path(), "out");
    fs::create_dir(&to).unwrap();
    fs::write(Path::new(&to).join("x.npy"), "mine").unwrap();
    run_err(1, ["npz", "extract", &npz, "-d", &to]);
    assert!(!Path::new(&to).join("y.npy").exists());
    let output = npymap(["npz", "extract", &npz, "-d", &to, "--keep-going", "--json"]);
    let line: serde_json::Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(
        (output.code, &line["extracted"], &line["failed"]),
        (Some(1), &serde_json::json!(["y"]), &2.into())
    );
    assert_eq!(output.err.lines().count(), 2, "{}", output.err);
    assert_eq!(fs::read(Path::new(&to).join("x.npy")).unwrap(), b"mine");
    assert!(!directory.path().join("up.npy").exists());
}

/// A file and a directory cannot have one name.
#[test]
fn the_member_that_is_not_extracted_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let x = create(directory.path(), "x.npy", "1");
    let [npz, to] = ["a.npz", "out"].map(|name| path_in(directory.path(), name));
    for (names, failed, why) in [
        (["d.npy/x", "d"], "d", "is a file where another member needs a directory"),
        (["d", "d.npy/x"], "d.npy/x", "another member is a file where this one needs a directory"),
    ] {
        let names = ["--overwrite", "--name", names[0], "--name", names[1]];
        run_ok(["npz", "pack", &x, &x, "-o", &npz].iter().chain(&names));
        let output = npymap(["npz", "extract", &npz, "-d", &to, "--keep-going", "--overwrite"]);
        assert!(
            output.err.starts_with(&format!("error: {npz}[{failed}]: {why}")),
            "{}",
            output.err
        );
        fs::remove_dir_all(&to).unwrap();
    }
}

/// The member `b.npy`, which no name finds, would be lost.
#[test]
fn an_archive_is_not_replaced_by_a_part_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let x = create(directory.path(), "x.npy", "1");
    let npz = path_in(directory.path(), "a.npz");
    fs::copy(crate::run::data().join("archives/zipfile-twice.npz"), &npz).unwrap();
    let before = fs::read(&npz).unwrap();
    let error = run_err(1, ["npz", "pack", &npz, &x, "-o", &npz, "--overwrite"]);
    assert!(error.contains("would be lost"), "{error}");
    assert_eq!(fs::read(&npz).unwrap(), before);
}

/// `q` finds the member `q`, and no name without `.npy` finds `q.npy`.
#[test]
fn members_that_are_left_out_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let [npz, out] = ["a.npz", "out.npz"].map(|name| path_in(directory.path(), name));
    let script = "import sys, zipfile, numpy as np
np.save(sys.argv[1] + '.npy', np.arange(3))
with zipfile.ZipFile(sys.argv[1], 'w') as file:
    [file.write(sys.argv[1] + '.npy', name) for name in ('q', 'q.npy')]";
    if crate::run::python(script, &[&npz]).is_none() {
        return;
    }
    let output = npymap(["convert", &npz, &out]);
    assert_eq!(output.code, Some(0));
    let note = format!("note: {npz}[q.npy]: has the same name as another member and is skipped\n");
    assert_eq!(output.err, note);
}

const NUMPY: &str = r"
import os, subprocess, sys
import numpy as np
program, path = sys.argv[1:]
folder = os.path.dirname(path)
def run(*arguments):
    subprocess.run([program, *arguments], check=True, stdout=subprocess.DEVNULL)
arrays = {'a': np.arange(6).reshape(2, 3), 'layer/b': np.ones(4, '>f4'), 'c': np.array('text')}
for save in (np.savez, np.savez_compressed):
    save(path, **arrays)
    np.save(folder + '/d.npy', np.asfortranarray(arrays['a']))
    run('npz', 'add', path, folder + '/d.npy')
    run('npz', 'mv', path, 'layer/b', 'b')
    run('npz', 'rm', path, 'c')
    with np.load(path) as found:
        assert found.files == ['a', 'b', 'd'], found.files
        assert (found['a'] == arrays['a']).all() and (found['b'] == 1).all() and found['d'].flags.f_contiguous
    # A copy whose end is missing: the members that are complete are recovered.
    data = open(path, 'rb').read()
    at = data.index(b'd.npy')
    open(folder + '/cut.npz', 'wb').write(data[:at + 100])
    run('npz', 'recover', folder + '/cut.npz', '-o', folder + '/out.npz', '--overwrite')
    with np.load(folder + '/out.npz') as found:
        assert found.files == ['a', 'b'] and (found['a'] == arrays['a']).all()
    # NumPy's own archive, too.
    save(path, **arrays)
    data = open(path, 'rb').read()
    open(folder + '/cut.npz', 'wb').write(data[:data.index(b'c.npy') + 50])
    run('npz', 'recover', folder + '/cut.npz', '-o', folder + '/out.npz', '--overwrite')
    with np.load(folder + '/out.npz') as found:
        assert found.files == ['a', 'layer/b'] and (found['layer/b'] == 1).all()
";

#[test]
fn numpy_reads_the_archives() {
    let directory = tempfile::tempdir().unwrap();
    python(NUMPY, &directory.path().join("a.npz"));
}

//! `set` broadcasts lists and arrays of files as NumPy does.

use crate::arguments::python;
#[cfg(unix)]
use crate::run::command;
use crate::run::{path_in, run_err, run_ok};

const BROADCASTS: &str = r"
import os, subprocess, sys
import numpy as np
program, path = sys.argv[1:]
folder = os.path.dirname(path)
def run(*arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    return done.returncode, done.stderr
selections = [':', '0', '..., 1', '1, :, 2', '::-1', ':, [2, 0]', '[1, 0]', '0, [2, 0, 2]', '[1, 0], :, 2',
              '0, :, [3, 1]', '1:, ::2', '0, 0, 0', '1:1', ':, :, [0, -1]', '[]', 'None, 0']
values = ['[1, 2, 3, 4]', '[[1], [2], [3]]', '[[[7]]]', '[5]', '[[1, 2], [3, 4]]', '[1, 2, 3]', '[1, 2]', '[]', '[[[1,2,3,4],[5,6,7,8],[9,10,11,12]]]']
good = bad = 0
for order, dtype in (('C', '<i4'), ('F', '>f8')):
    a = np.asarray(np.arange(24).reshape(2, 3, 4), dtype, order=order)
    for text in selections:
        for value in values:
            np.save(path, a)
            expected = a.copy()
            try:
                exec(f'expected[{text}] = np.array({value})')
            except (ValueError, TypeError):
                expected = None
            for kind, own in enumerate((value, '@' + folder + '/value.npy')):
                np.save(path, a)
                np.save(folder + '/value.npy', np.array(eval(value), 'i2'))
                code, error = run('set', path, text, own)
                if expected is None:
                    assert code == 1, (text, value)
                    assert (np.load(path) == a).all(), (text, value)
                    bad += 1
                else:
                    assert code == 0, (text, value, error)
                    assert (np.load(path) == expected).all(), (text, value, np.load(path), expected)
                    good += 1
assert good > 200 and bad > 100, (good, bad)
# Fields, and members of an archive.
r = np.zeros(3, [('x', '<i4'), ('v', '<f8', (2,))])
np.save(path, r)
assert run('set', path, '[0, 2].v', '[1.5, 2.5]')[0] == 0
assert np.load(path)['v'].tolist() == [[1.5, 2.5], [0, 0], [1.5, 2.5]]
assert run('set', path, ':', '[(1, [2, 3]), (4, [5, 6]), (7, [8, 9])]')[0] == 0
assert np.load(path)['x'].tolist() == [1, 4, 7] and np.load(path)['v'].tolist() == [[2, 3], [5, 6], [8, 9]]
archive = folder + '/a.npz'
np.savez(archive, w=np.zeros((2, 3)))
assert run('set', archive + '[w]', '1', '[1, 2, 3]')[0] == 0
assert np.load(archive)['w'].tolist() == [[0, 0, 0], [1, 2, 3]]
d = np.zeros(2, 'M8[D]')
np.save(path, d)
assert run('set', path, ':', '[2020-02-29, NaT]')[0] == 0
assert str(np.load(path)) == str(np.array(['2020-02-29', 'NaT'], 'M8[D]'))
";

#[test]
fn lists_and_files_are_broadcast_as_in_numpy() {
    let directory = tempfile::tempdir().unwrap();
    python(BROADCASTS, &directory.path().join("a.npy"));
}

#[test]
fn values_of_a_file_that_would_change_need_force() {
    let directory = tempfile::tempdir().unwrap();
    let [bytes, row] = ["a.npy", "row.npy"].map(|name| path_in(directory.path(), name));
    run_ok(["create", &bytes, "--shape", "(2, 3)", "--dtype", "u1"]);
    run_ok(["create", &row, "--shape", "3", "--fill", "1.5"]);
    let error = run_err(1, ["set", &bytes, "0", &format!("@{row}")]);
    assert!(error.contains(": allow it to change with --force\n"), "{error}");
    assert_eq!(run_ok(["get", &bytes, ":"]), "[[0, 0, 0],\n [0, 0, 0]]\n");
    run_ok(["set", "--force", &bytes, "0", &format!("@{row}")]);
    assert_eq!(run_ok(["get", &bytes, ":"]), "[[1, 1, 1],\n [0, 0, 0]]\n");
    // Text that is not a number gets no such advice.
    run_ok(["create", "--overwrite", &row, "--shape", "3", "--dtype", "U1", "--fill", "x"]);
    let error = run_err(1, ["set", &bytes, "0", &format!("@{row}")]);
    assert!(error.ends_with(": expected a non-negative integer, for '|u1'\n"), "{error}");
    let out = run_ok(["set", "--json", &bytes, "1", "[7, 8, 9]"]);
    assert!(out.ends_with("\"set\":3}\n"), "{out}");
    let error = run_err(1, ["set", &bytes, "0", &format!("@{bytes}")]);
    assert!(error.contains("is the file to change: copy the array first"), "{error}");
    for (value, expected) in [
        ("[1, [2]]", "`[2]` differs in length or depth from the lists before it"),
        ("[[1], 2]", "`2` is an element where the others are lists"),
        ("[[1, 2], [3]]", "`[3]` differs in length or depth"),
        ("[1, 2", "`[1, 2` lacks a closing `]`"),
        ("[(1]", "has unpaired brackets"),
        ("[1, 300, 2]", "300: expected a value that fits"),
        ("@none.npy", "none.npy: "),
    ] {
        let error = run_err(1, ["set", &bytes, "0", value]);
        assert!(error.contains(expected), "{value}: {error}");
    }
    assert_eq!(run_ok(["get", &bytes, "1"]), "[7, 8, 9]\n");
}

/// The values would change while they are read.
#[cfg(unix)]
#[test]
fn values_are_not_from_the_file_to_change_under_another_name() {
    use std::fs::{self, File};
    let directory = tempfile::tempdir().unwrap();
    let names = ["a.npy", "hard.npy", "soft.npy", "copy.npy"];
    let [path, hard, soft, copy] = names.map(|name| path_in(directory.path(), name));
    run_ok(["create", &path, "--arange", "--shape", "3000000", "--dtype", "i8"]);
    fs::hard_link(&path, &hard).unwrap();
    std::os::unix::fs::symlink(&path, &soft).unwrap();
    fs::copy(&path, &copy).unwrap();
    for other in [&hard, &soft, &path] {
        let error = run_err(1, ["set", &path, "::-1", &format!("@{other}")]);
        assert!(error.starts_with(&format!("error: {other}: is the file to change")), "{error}");
    }
    let mut redirected = command();
    redirected.args(["set", &path, "::-1", "@-"]).stdin(File::open(&path).unwrap());
    let output = redirected.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(fs::read(&path).unwrap() == fs::read(&copy).unwrap());
    run_ok(["set", &path, "::-1", &format!("@{copy}")]);
    assert_eq!(run_ok(["get", &path, "0", "-1"]), "2999999\n0\n");
}

#[test]
fn text_is_not_a_list() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(directory.path(), "t.npy");
    run_ok(["create", &path, "--shape", "2", "--dtype", "U6"]);
    run_ok(["set", &path, "0", "[1, 2]"]);
    run_ok(["set", &path, "1", "'@home'"]);
    assert_eq!(run_ok(["get", &path, ":"]), "['[1, 2]', '@home']\n");
}

#[test]
fn arrays_without_axes_are_set_to_one_element() {
    let directory = tempfile::tempdir().unwrap();
    let [scalar, row, one, ones] =
        ["scalar.npy", "row.npy", "one.npy", "ones.npy"].map(|name| path_in(&directory, name));
    run_ok(["create", &scalar, "--shape", "()", "--dtype", "i8"]);
    run_ok(["create", &row, "--shape", "3", "--dtype", "i8"]);
    run_ok(["create", &one, "--shape", "1", "--dtype", "i8", "--fill", "5"]);
    run_ok(["create", &ones, "--shape", "(1, 1)", "--dtype", "i8", "--fill", "7"]);
    let [one, ones] = [one, ones].map(|path| format!("@{path}"));
    for (path, index, value, expected) in [
        (&scalar, "...", one.as_str(), "5\n"),
        (&scalar, "()", ones.as_str(), "7\n"),
        (&scalar, "...", "[6]", "6\n"),
        (&row, "1, ...", one.as_str(), "5\n"),
        (&row, "1, ...", ones.as_str(), "7\n"),
    ] {
        run_ok(["set", path, index, value]);
        assert_eq!(run_ok(["get", path, index]), expected, "{index} {value}");
    }
    run_err(1, ["set", &row, "1", &one]);
    run_err(1, ["set", &row, "...", "[[1, 2, 3], [4, 5, 6]]"]);
}

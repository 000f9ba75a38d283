//! `convert` gives arrays other axes and `concat` stacks them, as NumPy does.

use std::fs;

use crate::arguments::python;
use crate::run::{path_in, run_err, run_ok};

const NUMPY: &str = r"
import os, subprocess, sys
import numpy as np
program, path = sys.argv[1:]
folder = os.path.dirname(path)
out = folder + '/out.npy'
def run(*arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, (arguments, done.stderr)
    return np.load(out)
for dtype in ('<i4', '>f8'):
    for order in 'CF':
        a = np.asarray(np.arange(60).reshape(3, 4, 5), dtype, order=order)
        np.save(path, a)
        for axes in ((2, 0, 1), (0, 2, 1), (0, 1, 2), (-1, 0, 1), (2, 1, 0)):
            text = ','.join(map(str, axes))
            for options in ((), ('--order', 'F')):
                found = run('convert', path, out, '--overwrite', '--axes', text, *options)
                assert found.dtype == a.dtype and (found == a.transpose(axes)).all()
                assert found.flags.f_contiguous == bool(options)
            for shape in ((-1, 3), (60,), (5, -1, 2), (6, 10)):
                wanted = ','.join(map(str, shape))
                found = run('convert', path, out, '--overwrite', '--axes', text, '--reshape', wanted)
                assert (found == a.transpose(axes).reshape(shape)).all()
        found = run('convert', path, out, '--overwrite', '--reshape', '-1,20', '--dtype', 'f4')
        assert found.dtype == '<f4' and (found == a.reshape(-1, 20)).all()
        found = run('convert', path, out, '--overwrite', '--select', '1:, 0', '--axes', '1,0')
        assert (found == a[1:, 0].T).all()
        b = a + 1
        np.save(folder + '/b.npy', b)
        for axis in (0, 1, 2, 3, -1, -2):
            found = run('concat', '--stack', '--axis', str(axis), path, folder + '/b.npy', path, '-o', out, '--overwrite')
            assert found.dtype == a.dtype and (found == np.stack([a, b, a], axis)).all(), axis
np.save(path, np.array(5.0))
assert (run('concat', '--stack', path, path, '-o', out, '--overwrite') == [5, 5]).all()
assert run('convert', path, out, '--overwrite', '--reshape', '1,1').shape == (1, 1)
np.save(path, np.zeros((0, 3)))
assert run('convert', path, out, '--overwrite', '--axes', '1,0').shape == (3, 0)
assert run('convert', path, out, '--overwrite', '--reshape', '5,0').shape == (5, 0)
";

#[test]
fn axes_and_shapes_are_numpys() {
    let directory = tempfile::tempdir().unwrap();
    python(NUMPY, &directory.path().join("a.npy"));
}

#[test]
fn axes_and_shapes_that_do_not_fit_write_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let [path, other, out, npz] =
        ["a.npy", "b.npy", "out.npy", "out.npz"].map(|name| path_in(directory.path(), name));
    run_ok(["create", &path, "--shape", "(2, 3)"]);
    run_ok(["create", &other, "--shape", "3"]);
    for (arguments, expected) in [
        (
            &["convert", &path, &out, "--axes", "0,0"][..],
            "axes (0, 0) are not a permutation of 0..2",
        ),
        (&["convert", &path, &out, "--axes", "0,1,2"], "axis 2 is out of range -2..2"),
        (
            &["convert", &path, &out, "--reshape", "4"],
            "has 6 elements, which do not have a shape (4,)",
        ),
        (&["convert", &path, &out, "--reshape", "-1,4"], "which do not have a shape (1, 4)"),
        (&["convert", &path, &out, "--reshape", "6", "--order", "F"], "--reshape writes C order"),
        (&["convert", &path, &npz, "--reshape", "6"], "--axes and --reshape are for .npy files"),
        (&["concat", "--stack", &path, &other, "-o", &out], "b.npy: has shape (3,), but"),
        (
            &["concat", "--stack", &path, &path, "--axis", "3", "-o", &out],
            "and axis 3 is out of range -3..3",
        ),
    ] {
        // Options that do not go together, or that do not suit the array.
        let error = run_err(if expected.starts_with("--") { 2 } else { 1 }, arguments);
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
    assert!(!std::path::Path::new(&out).exists() && !std::path::Path::new(&npz).exists());
    run_err(2, ["convert", &path, &out, "--axes", "x"]);
}

#[test]
fn a_length_that_could_be_any_is_not_computed() {
    let directory = tempfile::tempdir().unwrap();
    let [path, out] = ["a.npy", "b.npy"].map(|name| path_in(&directory, name));
    run_ok(["create", &path, "--shape", "(0, 3)"]);
    let error = run_err(1, ["convert", &path, &out, "--reshape", "(0, -1)"]);
    assert!(error.contains("the length of axis -1 can't be computed"), "{error}");
    run_err(1, ["header", &path, "--shape", "(0, -1)"]);
    run_ok(["convert", &path, &out, "--reshape", "(-1, 5)"]);
    assert_eq!(run_ok(["get", "--json", &out, ":"]), "[]\n");
}

#[test]
fn rows_are_copied_with_their_padding() {
    let directory = tempfile::tempdir().unwrap();
    let [path, out] = ["a.npy", "b.npy"].map(|name| path_in(&directory, name));
    run_ok(["create", &path, "--dtype", "[('b', '|u1'), ('', '|V1')]", "--shape", "(2, 2)"]);
    let mut bytes = fs::read(&path).unwrap();
    let start = bytes.len() - 8;
    bytes.splice(start.., 1..=8);
    fs::write(&path, &bytes).unwrap();
    let written = || fs::read(&out).unwrap().split_off(start);
    for select in ["0:2", "[0, 1]"] {
        run_ok(["convert", "--overwrite", "--select", select, &path, &out]);
        assert_eq!(written(), [1, 2, 3, 4, 5, 6, 7, 8], "{select}");
    }
    run_ok(["concat", "--overwrite", "--axis", "1", &path, &path, "-o", &out]);
    assert_eq!(written(), [1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 7, 8, 5, 6, 7, 8]);
}

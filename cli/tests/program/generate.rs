//! `create` generates the numbers that its help documents.

use crate::arguments::python;
use crate::run::{path_in, run_err, run_ok};

const NUMPY: &str = r"
import subprocess, sys
import numpy as np
program, path = sys.argv[1:]
def create(*arguments):
    subprocess.run([program, 'create', path, '--overwrite', *arguments], check=True)
    return np.load(path)
# Numbers in order.
for dtype in ('<i4', '>u2', '<i8', '<u8', '<f8', '>f4', '<f2', '<c16', '<M8[s]', '<m8[ms]'):
    for order in 'CF':
        a = create('--shape', '(5, 3, 2)', '--dtype', dtype, '--order', order, '--arange')
        assert a.dtype == dtype and (a == np.arange(30).astype(dtype).reshape(5, 3, 2)).all(), dtype
        assert a.flags.f_contiguous == (order == 'F')
a = create('--shape', '1000', '--arange=5,-0.25')
assert (a == np.arange(5, 5 - 250, -0.25)).all()
for dtype in ('<f8', '>f4', '<f2', '<c8', '>c16'):
    for start, step in ((0.1, 0.1), (1e-3, 1/3), (-7, 0.03), (2000, 1e-3), (0, 0), (3.3, -1e-7), (2049.00000001, 1), (0, 16.00781250001)):
        expected = np.arange(start, start + 2000 * step, step, dtype=dtype)[:1900] if step else np.zeros(1900, dtype)
        a = create('--shape', '1900', '--dtype', dtype, f'--arange={start!r},{step!r}')
        assert a.dtype == dtype and a.tobytes() == expected.tobytes(), (dtype, start, step)
assert (create('--shape', '3', '--dtype', 'u8', '--arange=18446744073709551613') == np.array([2**64 - 3, 2**64 - 2, 2**64 - 1], 'u8')).all()
assert create('--shape', '(0, 3)', '--arange').shape == (0, 3)
assert create('--shape', '()', '--arange') == 0
# The generator, as documented.
def random(seed, at):
    with np.errstate(over='ignore'):
        z = np.uint64(seed) + (at.astype('u8') + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))
def u(x):
    return (x >> np.uint64(11)) / 2**53
i = np.arange(3000)
for order in 'CF':
    common = ['--shape', '(1000, 3)', '--seed', '7', '--order', order]
    a = create(*common, '--random', 'uniform')
    assert (a.ravel() == u(random(7, i))).all() and a.min() >= 0 and a.max() < 1
    a = create(*common, '--random', 'uniform', '--low', '-2', '--high', '3', '--dtype', 'f4')
    assert (a.ravel() == (-2 + 5 * u(random(7, i))).astype('f4')).all()
    a = create(*common, '--random', 'int', '--low', '1', '--high', '7', '--dtype', 'u1')
    expected = [1 + (int(x) * 6 >> 64) for x in random(7, i)]
    assert (a.ravel() == expected).all() and set(a.ravel()) == set(range(1, 7))
    for dtype, low, bits in (('<i8', -2**63, 64), ('<u8', 0, 64), ('>i2', -2**15, 16)):
        a = create(*common, '--random', 'int', '--dtype', dtype)
        assert a.ravel().tolist() == [low + (int(x) * 2**bits >> 64) for x in random(7, i)]
    a = create(*common, '--random', 'int', '--high', '10', '--dtype', 'f8')
    assert a.ravel().tolist() == [int(x) * 10 >> 64 for x in random(7, i)]
    a = create(*common, '--random', 'normal')
    expected = np.sqrt(-2 * np.log(1 - u(random(7, 2 * i)))) * np.cos(2 * np.pi * u(random(7, 2 * i + 1)))
    assert np.allclose(a.ravel(), expected, rtol=1e-12, atol=1e-14)
    assert abs(a.mean()) < 0.1 and abs(a.std() - 1) < 0.1
";

#[test]
fn numbers_are_those_of_the_documentation() {
    let directory = tempfile::tempdir().unwrap();
    python(NUMPY, &directory.path().join("a.npy"));
}

#[test]
fn random_numbers_are_the_same_on_every_machine() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(directory.path(), "a.npy");
    for (kind, expected) in [("uniform", "133d2ec1f10c9916"), ("normal", "304be6058854a90e")] {
        run_ok(["create", &path, "--overwrite", "--shape", "100000", "--random", kind]);
        let info: serde_json::Value =
            serde_json::from_str(&run_ok(["info", "--json", "--digest", &path])).unwrap();
        let digest = info["sha256"].as_str().unwrap();
        assert!(digest.starts_with(expected), "{kind}: {digest}");
    }
}

#[test]
fn numbers_that_do_not_suit_the_dtype_are_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(directory.path(), "a.npy");
    for (options, expected) in [
        (
            &["--arange", "--dtype", "u1", "--shape", "257"][..],
            "which holds 0 to 255, not 0 to 256",
        ),
        (&["--arange=-1", "--dtype", "u1"], "which holds 0 to 255, not -1 to 1"),
        (&["--arange=1,x", "--dtype", "i4"], "and `x` is not an integer of 64 bits"),
        (&["--arange=nan"], "and `nan` is not a finite number"),
        (&["--arange", "--dtype", "U3"], "only integers and floats"),
        (
            &["--random", "normal", "--dtype", "i4"],
            "whose random numbers are integers: use --random int",
        ),
        (&["--random", "normal", "--low", "1"], "--low and --high are for uniform and int"),
        (&["--random", "uniform", "--low", "1"], "and no numbers from 1 to below 1"),
        (
            &["--random", "uniform", "--low=-1e308", "--high", "1e308"],
            "and 1e308 - -1e308 is infinite",
        ),
        (
            &["--random", "uniform", "--high", "65520", "--dtype", "f2"],
            "whose largest number is 6.5504e4, and not `65520`",
        ),
        (&["--random", "uniform", "--low=-1e39", "--dtype", "c8"], "and not `-1e39`"),
        (&["--random", "int"], "for which --random int needs --high"),
        (
            &["--random", "int", "--dtype", "u1", "--high", "300"],
            "so integers from 0 to below 300 cannot be drawn",
        ),
        (&["--random", "int", "--dtype", "|b1"], "only integers and floats"),
    ] {
        let mut arguments = vec!["create", path.as_str()];
        arguments.extend(options);
        if !options.contains(&"--shape") {
            arguments.extend(["--shape", "3"]);
        }
        let error = run_err(2, &arguments);
        assert!(error.contains(expected), "{options:?}: {error}");
    }
    assert!(std::fs::read_dir(directory.path()).unwrap().next().is_none());
    run_err(2, ["create", &path, "--shape", "3", "--seed", "3"]);
    run_err(2, ["create", &path, "--shape", "3", "--arange", "--fill", "3"]);
}

#[test]
fn ranges_of_floats_fit_their_dtype() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory, "a.npy");
    for (dtype, range) in [("f4", "1e39"), ("f8", "1,1e308"), ("f2", "0,40000"), ("c8", "0,-2e38")]
    {
        let arange = format!("--arange={range}");
        let error = run_err(2, ["create", &path, "--shape", "3", "--dtype", dtype, &arange]);
        assert!(error.contains("whose largest number is"), "{dtype} {range}: {error}");
    }
    run_ok(["create", &path, "--shape", "2", "--dtype", "f2", "--arange=0,40000"]);
}

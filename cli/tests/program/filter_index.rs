//! An INDEX applies to the rows that match `--where`, as NumPy's `a[mask][INDEX]`.

use crate::run::{command, npymap, path_in, python, run_err, run_ok};

/// Writes what the tests use, in C and Fortran order, big-endian: a table whose element
/// (row, column) is 10 * row + column, with NaN in rows 1 and 4, and a vector of its first
/// column.
const ARRAYS: &str = "import numpy as np, sys
a = 10. * np.arange(6)[:, None] + np.arange(4)
a[1, 2] = a[4, 0] = np.nan
for name, order in (('c', 'C'), ('f', 'F')):
    np.save(f'{sys.argv[1]}/{name}.npy', np.asarray(a, '>f4', order=order))
np.save(f'{sys.argv[1]}/v.npy', a[:, 0])
r = np.zeros((2, 3), [('n', '>i2'), ('x', 'f8'), ('pos', [('z', 'i4')])])
r['n'] = np.arange(6).reshape(2, 3)
r['x'][0, 1] = np.nan
np.save(f'{sys.argv[1]}/r.npy', r)
np.save(f'{sys.argv[1]}/cube.npy', np.arange(24).reshape(2, 3, 4))";

#[test]
fn an_index_applies_to_the_rows_that_match() {
    let directory = tempfile::tempdir().unwrap();
    let [c, f, r, cube, empty] =
        ["c.npy", "f.npy", "r.npy", "cube.npy", "empty.npy"].map(|name| path_in(&directory, name));
    if python(ARRAYS, &[directory.path().to_str().unwrap()]).is_none() {
        return;
    }
    for path in [&c, &f] {
        for (index, expected) in [
            (":, 3", "23.0\n33.0\n53.0\n"),
            (":, [3, 0]", "[23.0, 20.0]\n[33.0, 30.0]\n[53.0, 50.0]\n"),
            ("..., -1", "23.0\n33.0\n53.0\n"),
            ("0", "[20.0, 21.0, 22.0, 23.0]\n"),
            ("-1, 1", "51.0\n"),
            ("::-1, 0", "50.0\n30.0\n20.0\n"),
            ("[2, 0], 1", "51.0\n21.0\n"),
            ("1:, ::3", "[30.0, 33.0]\n[50.0, 53.0]\n"),
            ("None, 0", "[[20.0, 21.0, 22.0, 23.0]]\n"),
            ("5:", ""),
        ] {
            let condition = "value[0] > 15";
            let printed = run_ok(["get", path, index, "--where", condition]);
            assert_eq!(printed, expected, "{index}");
        }
        let csv = ["get", path, "1, ::3", "--where", "value[0] > 15", "--format", "csv"];
        assert_eq!(run_ok(csv), "30.0\n33.0\n");
        let error = run_err(1, ["get", path, "3", "--where", "value[0] > 15"]);
        assert!(error.contains("index 3 is out of bounds for axis 0 of shape (3, 4)"), "{error}");
        // A condition about each element selects elements.
        assert_eq!(run_ok(["get", path, ":", "--where", "value > 51"]), "52.0\n53.0\n");
        assert_eq!(run_ok(["get", path, "0", "--where", "isnan(value)"]), "nan\n");
        let error = run_err(1, ["get", path, ":, 1", "--where", "value[0] > 1 and value > 3"]);
        assert!(error.contains("select one by an index for each axis, such as"), "{error}");
    }
    assert_eq!(run_ok(["get", &r, "1.n", "--where", "n > 3"]), "5\n");
    assert_eq!(run_ok(["get", &r, ":.pos.z", "--where", "isnan(x)"]), "0\n");
    assert_eq!(run_ok(["get", &cube, ":, 1", "--where", "value[0] >= 12"]), "13\n17\n21\n");
    let json = run_ok(["get", &cube, "1", "--json", "--where", "value[0] >= 12"]);
    assert_eq!(json, "[16,17,18,19]\n");
    run_ok(["create", &empty, "--shape", "(0, 3)"]);
    assert_eq!(run_ok(["get", &empty, ":, 2", "--where", "value[0] > 1"]), "");
}

#[test]
fn an_index_that_runs_backwards_may_select_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let [rows, none] = ["rows.npy", "none.npy"].map(|name| path_in(&directory, name));
    run_ok(["create", &rows, "--shape", "(10, 4)"]);
    run_ok(["create", &none, "--shape", "(0, 4)"]);
    let never = ["--where", "value[0] > 1"];
    for command in ["head", "tail", "stats", "get"] {
        for arguments in [
            &[&*rows, "-20::-1"][..],
            &[&rows, ":, -20::-1"],
            &[&none, "::-1"],
            &[&none, "-1::-1, 0"],
            &[&rows, "::-1", never[0], never[1]],
            &[&rows, "1:, -20::-1", never[0], never[1]],
        ] {
            run_ok([command].iter().chain(arguments));
        }
    }
    let sorted = path_in(&directory, "sorted.npy");
    run_ok(["sort", &rows, "--by", ":, -20::-1", "-o", &sorted]);
    let error = run_err(1, ["sort", &none, "--by", "::-1", "-o", &sorted, "--overwrite"]);
    assert!(error.contains("--by selects part of each row"), "{error}");
}

#[test]
fn tables_have_the_numbers_of_the_array() {
    let directory = tempfile::tempdir().unwrap();
    let [c, r] = ["c.npy", "r.npy"].map(|name| path_in(&directory, name));
    if python(ARRAYS, &[directory.path().to_str().unwrap()]).is_none() {
        return;
    }
    for (arguments, expected) in [
        (
            &["head", &c, ":, 2:", "-n", "2"][..],
            "     2   3\n 2  22  23\n 3  32  33\n… more rows\n",
        ),
        (
            &["head", &c, "::-1, 2:", "-n", "2"],
            "     2   3\n 5  52  53\n 3  32  33\n… 1 more row\n",
        ),
        (&["tail", &c, ":, 2:", "-n", "2"], "     2   3\n 3  32  33\n 5  52  53\n"),
        (&["tail", &c, "[1, 0], ::2", "-n", "1"], "     0   2\n 2  20  22\n"),
        (&["tail", &c, ":, 1", "--json", "-n", "2"], "31\n51\n"),
    ] {
        let printed = run_ok(arguments.iter().chain(&["--where", "value[0] > 15"]));
        let words: Vec<_> = printed.split_whitespace().map(|word| word.replace(".0", "")).collect();
        let expected: Vec<_> = expected.split_whitespace().collect();
        assert_eq!(words, expected, "{arguments:?}");
    }
    let printed = run_ok(["tail", &r, "n", "-n", "2", "--where", "n < 3"]);
    let words: Vec<_> = printed.split_whitespace().collect();
    assert!(words.ends_with(&["1", "1", "2", "2"]), "{printed}");
}

#[test]
fn rows_that_match_are_followed() {
    let directory = tempfile::tempdir().unwrap();
    let [log, more] = ["log.npy", "more.npy"].map(|name| path_in(&directory, name));
    run_ok(["create", &log, "--shape", "4", "--dtype", "i4", "--arange"]);
    run_ok(["create", &more, "--shape", "4", "--dtype", "i4", "--arange"]);
    let where_odd = ["--where", "value == 1 or value == 3"];
    let refusal = run_err(2, ["tail", "-f", &log, "1:"].into_iter().chain(where_odd));
    assert!(refusal.contains("has to select all rows that match"), "{refusal}");
    let mut program = command();
    program.args(["tail", "-f", "-n", "1", &log]).args(where_odd);
    let mut child = program.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let mut line = || lines.next().unwrap().unwrap();
    assert_eq!([line(), line()].map(|line| line.trim().to_owned()), ["'<i4'", "3      3"]);
    run_ok(["append", &log, &more]);
    assert_eq!([line(), line()].map(|line| line.trim().to_owned()), ["5      1", "7      3"]);
    child.kill().unwrap();
    child.wait().unwrap();
}

const SETS: &str = r"
import os, subprocess, sys
import numpy as np
program, path = sys.argv[1:]
def run(*arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr
table = 10. * np.arange(6)[:, None] + np.arange(4)
table[1, 2] = table[4, 0] = np.nan
r = np.zeros((2, 3), [('n', '>i2'), ('x', 'f8'), ('pos', [('z', 'i4')])])
r['n'] = np.arange(6).reshape(2, 3)
arrays = {
    'c': table.astype('>f4'), 'f': np.asfortranarray(table), 'v': table[:, 0].copy(), 'r': r,
    'cube': np.arange(24).reshape(2, 3, 4), 'turned': np.asfortranarray(np.arange(24, dtype='>i4').reshape(2, 3, 4)),
    'empty': np.zeros((0, 3)), 'none': np.zeros((3, 0)),
}
for names, index, value, condition, assignment in (
    ('c f v empty none', ':', '0', 'isnan(value)', 'a[np.isnan(a)] = 0'),
    ('c f cube turned', '...', '7', 'value > 20', 'a[a > 20] = 7'),
    ('c f', ':, 1:3', '[7, 8]', 'value[0] > 25', 'a[a[:, 0] > 25, 1:3] = [7, 8]'),
    ('c f', '...', '-1', 'value[0] == 30', 'a[a[:, 0] == 30] = -1'),
    ('c f', ':, [3, 0]', '[[1, 2]]', 'value[1] < 15', 'm = a[:, 1] < 15; a[m, 3] = 1; a[m, 0] = 2'),
    ('v', ':', '[5, 6]', 'value >= 30', 'a[a >= 30] = [5, 6]'),
    ('r', 'x', '5', 'n > 1', 'a[\'x\'][a[\'n\'] > 1] = 5'),
    ('r', 'pos.z', '[1, 2]', '2 <= n < 4', 'a[\'pos\'][\'z\'][(a[\'n\'] >= 2) & (a[\'n\'] < 4)] = [1, 2]'),
    ('cube turned', ':, 2', '[1, 2, 3]', '8 <= value[0] < 20', 'a[(a[..., 0] >= 8) & (a[..., 0] < 20), 2] = [1, 2, 3]'),
    ('c f v', ':', '9', 'value > 1e9', 'pass'),
):
    for name in names.split():
        a = arrays[name].copy(order='K')
        np.save(path, a)
        code, text = run('set', path, index, value, '--where', condition)
        assert code == 0, (name, condition, text)
        exec(assignment)
        assert np.load(path).tobytes() == a.tobytes(), (name, condition, np.load(path), a)
# INDEX selects from the rows that match, as for `get`.
# Rows of 64 KiB, 16 of which are a block.
wide = np.arange(40 * 16384, dtype='<i4').reshape(40, -1)
for a, condition, mask, indices in (
    (table, 'value[0] > 15', table[:, 0] > 15, ['-1, 1', '::2, 3', '::-1, 1:', '[2, 0]', '0:2, [3, 0]', '1, [3, 0]',
                                                'None, ::-1, [1, 2]', '5:', '[1, 1, 0], 2']),
    (np.asfortranarray(table), 'value[0] >= 0', table[:, 0] >= 0, ['1', '-2:', '[0, -1], ::3']),
    (table[:, 0].copy(), 'value >= 0', table[:, 0] >= 0, ['-1', '1::2', '[3, 1]']),
    (arrays['cube'], 'value > 7', arrays['cube'] > 7, ['0', '::-1', '2:9']),
    (arrays['turned'], 'value[0] >= 8', arrays['turned'][..., 0] >= 8, ['-1, 2', '[3, 1], 1:']),
    (wide, 'value[1] >= 30000', wide[:, 1] >= 30000, ['::-7, 5', '[0, 37, 14, 13], 1', '10:30, ::4096']),
    (r, 'n > 1', r['n'] > 1, ['0.x', '::-1.n', '[3, 1].x']),
):
    for at, index in enumerate(indices):
        numbers, _, field = index.partition('.')
        target = 'rows' + ''.join(f'[{name!r}]' for name in filter(None, field.split('.')))
        shape = eval(f'{target}[{numbers}].shape', {'rows': a[mask]})
        random = np.random.default_rng(len(index)).integers(0, 100, shape).astype('i2')
        np.save(path + '.value', random)
        for value in ('-3', f'@{path}.value.npy')[at > 0:]:
            np.save(path, a)
            rows = a[mask]
            exec(f'{target}[{numbers}] = ' + ('-3' if value == '-3' else 'random'))
            expected = a.copy(order='K')
            expected[mask] = rows
            code, text = run('set', path, index, value, '--where', condition)
            assert code == 0 and f': {random.size} element' in text, (index, condition, text)
            assert np.load(path).tobytes() == expected.tobytes(), (index, condition, value)
# What does not fit changes nothing.
np.save(path, table)
for index, value, condition, text in (
    (':, 1', '[7, 8, 9]', 'value[0] > 25', '(3,)'),
    (':', 'x', 'value[0] > 25', '`x`: expected a number'),
    ('3', '1', 'value[0] > 25', 'index 3 is out of bounds for axis 0 of shape (2, 4)'),
    ('0', '1', 'value[0] > 1e9', 'index 0 is out of bounds for axis 0 of shape (0, 4)'),
    ('1:', '[[7], [8]]', 'value[0] > -1', '(2, 1)'),
    (':', '1', 'value > 3 and value[0] > 2', 'select one by an index for each axis'),
):
    code, found = run('set', path, index, value, '--where', condition)
    assert code == 1 and text in found, found
assert np.load(path).tobytes() == table.tobytes()
np.save(path, np.zeros(()))
code, found = run('set', path, '...', '1', '--where', 'value == 0')
assert code == 1 and 'has no rows to select: its shape is ()' in found, found
archive = path + '.npz'
np.savez(archive, w=table)
assert run('set', archive + '[w]', ':', '0', '--where', 'isnan(value)')[1].endswith(': 2 elements set\n')
assert not np.isnan(np.load(archive)['w']).any()
";

#[test]
fn what_matches_is_set_as_by_numpy() {
    let directory = tempfile::tempdir().unwrap();
    crate::arguments::python(SETS, &directory.path().join("a.npy"));
}

#[test]
fn every_command_that_reads_rows_has_conditions() {
    let directory = tempfile::tempdir().unwrap();
    let [c, f, out, png] =
        ["c.npy", "f.npy", "out.npy", "out.png"].map(|name| path_in(&directory, name));
    if python(ARRAYS, &[directory.path().to_str().unwrap()]).is_none() {
        return;
    }
    let condition = ["--where", "value[0] > 15"];
    let stats = run_ok(["stats", "--json", &c, "1:, 3"].iter().chain(&condition));
    assert!(stats.contains("\"count\":2") && stats.contains("\"sum\":86.0"), "{stats}");
    run_ok(["convert", &f, &out, "--select", "::-1, [0, 2]"].iter().chain(&condition));
    assert_eq!(run_ok(["get", &out, ":"]), "[[50.0, 52.0],\n [30.0, 32.0],\n [20.0, 22.0]]\n");
    let drawn = run_ok(["show", &c, ":, 3"].iter().chain(&condition));
    assert!(drawn.lines().next().is_some_and(|title| title.contains("(3,)")), "{drawn}");
    run_ok(["show", &c, "--output", &png].iter().chain(&condition));
    run_ok(["set", &f, "0", "77"]);
    assert_eq!(npymap(["diff", &c, &f]).code, Some(1));
    run_ok(["diff", &c, &f].iter().chain(&["--where", "10 < value[0] < 70"]));
    let sample = run_ok(["sample", &c, "-n", "3"].iter().chain(&condition));
    assert_eq!(sample.lines().count(), 3);
}

/// A header can claim rows of any length if there are none of them.
#[test]
fn no_rows_of_any_length_are_set() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory, "none.npy");
    run_ok(["create", &path, "--shape", "(0, 1000000000000)", "--dtype", "<f8"]);
    let done = run_ok(["set", &path, ":", "0", "--where", "value[0] > 1"]);
    assert!(done.ends_with(": 0 elements set\n"), "{done}");
}

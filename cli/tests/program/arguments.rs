//! Arguments reach the commands unchanged.

use std::fs;

use crate::run::{command, npymap, run_ok};

/// Runs the program in a directory and returns its output.
#[track_caller]
fn run_in(directory: &tempfile::TempDir, arguments: &[&str]) -> String {
    let run = command().current_dir(directory.path()).args(arguments).output().unwrap();
    let text = String::from_utf8_lossy(&run.stderr).into_owned();
    assert_eq!((run.status.code(), text.as_str()), (Some(0), ""), "{arguments:?}");
    String::from_utf8(run.stdout).unwrap()
}

#[test]
fn values_and_names_that_start_like_a_negative_number_keep_their_text() {
    let directory = tempfile::tempdir().unwrap();
    run_in(&directory, &["create", "names.npy", "--shape", "3", "--dtype", "U5"]);
    run_in(&directory, &["set", "names.npy", "0", "--", "-1st"]);
    run_in(&directory, &["set", "names.npy", "-1", "-2nd", "--flush"]);
    assert_eq!(run_in(&directory, &["get", "names.npy", ":"]), "['-1st', '', '-2nd']\n");
    run_in(&directory, &["create", "--shape", "2", "--fill", "-1", "--", "-2.npy"]);
    run_in(&directory, &["create", "-3.npy", "--shape", "2", "--fill=-1.5"]);
    assert!(run_in(&directory, &["info", "--", "-2.npy"]).starts_with("-2.npy\n"));
    assert!(run_in(&directory, &["info", "-3.npy", "--json"]).contains(r#""path":"-3.npy""#));
    let mut names: Vec<_> =
        fs::read_dir(directory.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["-2.npy", "-3.npy", "names.npy"]);
    assert_eq!(
        run_in(&directory, &["get", "-2.npy", "-1", "-2:", "--json"]),
        "-1.0\n[-1.0,-1.0]\n"
    );
}

#[test]
fn options_after_negative_numbers_are_still_checked() {
    for wrong in [&["get", "a.npy", "-1", "--nonsense"][..], &["set", "a.npy", "-1"], &["-1"]] {
        assert_eq!(npymap(wrong).code, Some(2), "{wrong:?}");
    }
}

#[test]
fn the_version_names_the_program() {
    assert!(run_ok(["--version"]).starts_with("npymap "));
}

/// A NumPy script that reads and writes what lists of integers select.
const LISTS: &str = r"
import json, subprocess, sys
import numpy as np
program, path = sys.argv[1:]
def run(*arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr
a = np.arange(2 * 3 * 4).reshape(2, 3, 4)
np.save(path, a)
texts = ['[1]', '[1, 0, 1]', '[-1,]', '[]', ':, [2, 0]', '0, [2, 0]', '[1, 0], :, 2', '0, :, [3, 1]',
         '..., [3, 1]', '0, ..., [3, 1]', ':, 1, [3, 1]', '[0], 1', 'None, [1], ..., ::2', '0, None, [2]',
         ':, [], 1', '([1], 0)', '[1, 1], 0, 0', ':, :, [0, -1]', '::-1, [0, 2], 1:3']
for text in texts:
    expected = eval('a[' + text + ']')
    code, out, err = run('get', '--json', path, text)
    assert code == 0 and json.loads(out) == expected.tolist(), (text, out, err)
    changed = a.copy()
    exec('changed[' + text + '] = 99')
    code, out, err = run('set', path, text, '99')
    assert code == 0, (text, err)
    assert (np.load(path) == changed).all(), text
    np.save(path, a)
    if expected.size:
        code, out, err = run('stats', '--json', path, text)
        assert code == 0 and json.loads(out)['sum'] == expected.sum(), (text, out, err)
        assert run('head', path, text)[0] == 0
for text in ['[3]', '[0, 2]', '[0], [1]', '[[0]]', '[0', '[1:2]', '[x]', '[0, True]', '[0.5]', ':, [0,,1]']:
    for command in (['get', path, text], ['set', path, text, '99']):
        code, out, err = run(*command)
        assert code == 1 and err.startswith('error: '), (text, out, err)
    assert (np.load(path) == a).all(), text
r = np.zeros((3,), [('x', '<i4'), ('v', '<f8', (2,))])
np.save(path, r)
assert run('set', path, '[0, 2].v', '1.5')[0] == 0
assert np.load(path)['v'].tolist() == [[1.5, 1.5], [0, 0], [1.5, 1.5]]
assert run('get', '--json', path, '[2, 1].v')[1] == '[[1.5,1.5],[0.0,0.0]]\n'
";

#[test]
fn lists_of_integers_select_what_they_select_in_numpy() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.npy");
    python(LISTS, &path);
}

/// Runs a script with the program and a path, if NumPy is available.
pub(crate) fn python(script: &str, path: &std::path::Path) {
    let python = std::env::var("NPYMAP_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let numpy = std::process::Command::new(&python).args(["-c", "import numpy"]).output();
    if !numpy.is_ok_and(|output| output.status.success()) {
        return eprintln!("nothing was compared, {python} has no numpy");
    }
    let mut script_run = std::process::Command::new(&python);
    let output = script_run.args(["-c", script, env!("CARGO_BIN_EXE_npymap")]).arg(path).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn set_changes_only_rows_in_a_list() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("b.npy").to_str().unwrap().to_owned();
    run_ok(["create", &path, "--shape", "(4, 2)", "--dtype", "u1"]);
    assert_eq!(run_ok(["set", &path, "[1,3]", "99"]), format!("{path}: 4 elements set\n"));
    assert_eq!(run_ok(["get", &path, "[3, 0]"]), "[[99, 99],\n [0, 0]]\n");
    assert_eq!(run_ok(["get", &path, "()"]), "[[0, 0],\n [99, 99],\n [0, 0],\n [99, 99]]\n");
    let scalar = directory.path().join("z.npy").to_str().unwrap().to_owned();
    run_ok(["create", &scalar, "--shape", "()", "--fill", "2"]);
    assert_eq!(run_ok(["get", &scalar, "()"]), "2.0\n");
}

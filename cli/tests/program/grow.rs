//! `append`, `concat` and `recover` write to arrays on disk.

use std::fs;
use std::path::Path;

use crate::run::{copy_penguins, npymap, run_err, run_ok};

/// Writes an array of these bytes.
fn bytes(directory: &Path, name: &str, shape: &str, options: &[&str], fill: &str) -> String {
    let path = directory.join(name).to_str().unwrap().to_owned();
    let fixed = ["create", &path, "--shape", shape, "--fill", fill, "--dtype"];
    run_ok(fixed.iter().chain(options));
    path
}

#[test]
fn rows_are_appended_whatever_their_order() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let log = bytes(at, "log.npy", "(1, 2)", &["<i4"], "1");
    let one = bytes(at, "one.npy", "(2,)", &[">i4"], "2");
    let more = bytes(at, "more.npy", "(2, 2)", &["<i4", "--order", "F"], "3");
    let output = run_ok(["append", "--flush", &log, &one, &more, &log]);
    assert_eq!(output, format!("{log}: 4 rows added, shape (5, 2)\n"));
    let all = "[[1, 1],\n [2, 2],\n [3, 3],\n [3, 3],\n [1, 1]]\n";
    assert_eq!(run_ok(["get", &log, ":"]), all);
    let fortran = bytes(at, "f.npy", "(2, 0)", &[">i4", "--order", "F"], "0");
    run_ok(["append", &fortran, &one, &more]);
    assert_eq!(run_ok(["get", &fortran, ":"]), "[[2, 3, 3],\n [2, 3, 3]]\n");
}

#[test]
fn rows_that_differ_are_refused_before_any_is_added() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let log = bytes(at, "log.npy", "(1, 2)", &["<i4"], "1");
    let good = bytes(at, "good.npy", "(2, 2)", &["<i4"], "2");
    let float = bytes(at, "float.npy", "(2, 2)", &["<f4"], "2");
    let wide = bytes(at, "wide.npy", "(2, 3)", &["<i4"], "2");
    let before = fs::read(&log).unwrap();
    let out = at.join("out.npy").to_str().unwrap().to_owned();
    assert_eq!(
        run_err(1, ["append", &log, &good, &float]),
        format!(
            "error: {float}: has dtype '<f4', but {log} has '<i4': --dtype casts it if no value \
             changes, and `npymap concat --promote` joins both as '<f8'\n"
        )
    );
    assert_eq!(
        run_err(1, ["append", &log, &good, &wide]),
        format!("error: {wide}: has shape (2, 3), but {log} has (1, 2)\n")
    );
    assert_eq!(
        run_err(1, ["concat", &log, &wide, "-o", &out]),
        format!("error: {wide}: has shape (2, 3), but {log} has (1, 2)\n")
    );
    let scalar = bytes(at, "scalar.npy", "()", &["<i4"], "1");
    assert_eq!(
        run_err(1, ["append", &scalar, &log]),
        format!(
            "error: {scalar}: shape () has no axis to append along: rows need at least one axis\n"
        )
    );
    run_err(1, ["concat", &scalar, "-o", &out]);
    assert_eq!(fs::read(&log).unwrap(), before);
    assert_eq!(npymap(["append", &log]).code, Some(2));
    assert_eq!(npymap(["concat", &log]).code, Some(2));
    assert_eq!(fs::read_dir(at).unwrap().count(), 5);
}

#[test]
fn an_omitted_output_is_a_usage_error() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let one = bytes(at, "one.npy", "(1, 2)", &["<i2"], "1");
    let two = bytes(at, "two.npy", "(1, 2)", &["<i2"], "2");
    let before = fs::read(&two).unwrap();
    run_err(2, ["concat", "--overwrite", &one, &two]);
    assert!(fs::read(&two).unwrap() == before);
    run_ok(["concat", "--overwrite", &one, &two, "-o", &two]);
    assert_eq!(run_ok(["get", &two, ":"]), "[[1, 1],\n [2, 2]]\n");
}

#[test]
fn arrays_are_joined_along_the_first_axis() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let one = bytes(at, "one.npy", "(1, 2)", &[">i2"], "1");
    let two = bytes(at, "two.npy", "(2, 2)", &["<i2", "--order", "F"], "2");
    let out = at.join("out.npy").to_str().unwrap().to_owned();
    run_ok(["concat", &one, &two, &one, "-o", &out]);
    assert_eq!(run_ok(["get", &out, ":"]), "[[1, 1],\n [2, 2],\n [2, 2],\n [1, 1]]\n");
    assert!(run_ok(["info", "--json", &out]).contains(r#""descr":"'>i2'""#));
    run_err(1, ["concat", &one, &two, "-o", &out]);
    run_ok(["concat", "--overwrite", &out, &two, "-o", &out]);
    assert!(run_ok(["info", "--json", &out]).contains(r#""shape":[6,2]"#));
    assert_eq!(fs::read_dir(at).unwrap().count(), 3);
}

#[cfg(target_os = "linux")]
#[test]
fn rows_that_were_not_added_are_not_said_to_be() {
    let directory = tempfile::tempdir().unwrap();
    let log = bytes(directory.path(), "log.npy", "10", &["u1"], "1");
    let more = bytes(directory.path(), "more.npy", "1000000", &["u1"], "2");
    let before = std::fs::read(&log).unwrap();
    let mut shell = std::process::Command::new("sh");
    let script = "ulimit -f 1; exec \"$0\" \"$@\"";
    shell.args(["-c", script, env!("CARGO_BIN_EXE_npymap"), "append", "--flush", &log, &more]);
    let run = shell.output().unwrap();
    let error = String::from_utf8_lossy(&run.stderr);
    assert!(error.contains("File too large") && !error.contains("were added"), "{error}");
    assert_eq!((run.status.code(), std::fs::read(&log).unwrap()), (Some(1), before));
}

#[test]
fn recover_repairs_files_of_dead_writers() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_penguins(directory.path());
    let text = path.to_str().unwrap();
    let whole = fs::read(&path).unwrap();
    assert_eq!(run_ok(["recover", text]), format!("{text}: complete, shape (342, 4)\n"));
    let longer = [whole.clone(), vec![0; 50]].concat();
    fs::write(&path, &longer).unwrap();
    let before = format!("{text}: shape (342, 4)");
    assert_eq!(
        run_ok(["recover", "--dry-run", text]),
        format!("{before} would become (343, 4), 18 bytes dropped\n")
    );
    assert_eq!(
        run_ok(["recover", "--dry-run", "--zero-fill", text]),
        format!("{before} would become (344, 4), 14 bytes of zeros added\n")
    );
    let json = run_ok(["recover", "--dry-run", "--json", text]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let expected = serde_json::json!({
        "path": text, "said": [342, 4], "shape": [343, 4], "dropped": 18, "filled": 0, "done": false
    });
    assert_eq!(json, expected);
    assert_eq!(fs::read(&path).unwrap(), longer);
    let refusal = run_err(1, ["append", text, text]);
    assert!(refusal.contains("`npymap recover`"), "{refusal}");
    assert_eq!(run_ok(["recover", text]), format!("{before} is now (343, 4), 18 bytes dropped\n"));
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    assert_eq!(run_ok(["recover", text]), format!("{before} is now (341, 4), 31 bytes dropped\n"));
    fs::write(&path, "no array").unwrap();
    run_err(1, ["recover", text]);
}

#[test]
fn recover_reports_dropped_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_penguins(directory.path());
    let text = path.to_str().unwrap();
    let whole = fs::read(&path).unwrap();
    let unchanged = format!("{text}: shape (342, 4) unchanged");
    fs::write(&path, [&whole[..], &[0; 5]].concat()).unwrap();
    let output = run_ok(["recover", "--dry-run", text]);
    assert_eq!(output, format!("{unchanged}, 5 bytes after its rows would be dropped\n"));
    assert_eq!(run_ok(["recover", text]), format!("{unchanged}, 5 bytes after its rows dropped\n"));
    assert!(fs::read(&path).unwrap() == whole);
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    let output = run_ok(["recover", "--zero-fill", "--dry-run", text]);
    assert_eq!(output, format!("{unchanged}, 1 byte of zeros would be added to its last row\n"));
    let output = run_ok(["recover", "--zero-fill", text]);
    assert_eq!(output, format!("{unchanged}, 1 byte of zeros added to its last row\n"));
    fs::write(&path, &whole[..whole.len() - 32]).unwrap();
    let output = run_ok(["recover", text]);
    assert_eq!(output, format!("{text}: shape (342, 4) is now (341, 4)\n"));
}

#[test]
fn arrays_are_joined_along_any_axis() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let one = bytes(at, "one.npy", "(2, 1, 2)", &[">i2"], "1");
    let two = bytes(at, "two.npy", "(2, 2, 2)", &["<i2", "--order", "F"], "2");
    let none = bytes(at, "none.npy", "(2, 0, 2)", &["<i2"], "0");
    let last = bytes(at, "last.npy", "(2, 1, 3)", &["<i2", "--order", "F"], "3");
    let out = at.join("out.npy").to_str().unwrap().to_owned();
    for axis in ["1", "-2"] {
        run_ok(["concat", "--overwrite", "--axis", axis, &one, &two, &none, &one, "-o", &out]);
        let rows = "[[1, 1], [2, 2], [2, 2], [1, 1]]";
        let nested = rows.replace("], ", "],\n  ");
        assert_eq!(run_ok(["get", &out, ":"]), format!("[{nested},\n\n {nested}]\n"));
        assert!(run_ok(["info", "--json", &out]).contains(r#""descr":"'>i2'""#));
    }
    for axis in ["2", "-1"] {
        run_ok(["concat", "--overwrite", "--axis", axis, &one, &last, &one, "-o", &out]);
        assert_eq!(run_ok(["get", &out, "1, 0"]), "[1, 1, 3, 3, 3, 1, 1]\n");
        assert_eq!(run_ok(["get", &out, "0, 0"]), "[1, 1, 3, 3, 3, 1, 1]\n");
    }
    let before = fs::read(&out).unwrap();
    for axis in ["3", "-4"] {
        let error = run_err(1, ["concat", "--overwrite", "--axis", axis, &one, &two, "-o", &out]);
        let what = format!("has shape (2, 1, 2), and axis {axis} is out of range -3..3");
        assert_eq!(error, format!("error: {one}: {what}\n"));
    }
    let flat = bytes(at, "flat.npy", "(2, 2)", &["<i2"], "1");
    for (axis, second) in [("2", &two), ("0", &two), ("1", &flat)] {
        let error = run_err(1, ["concat", "--overwrite", "--axis", axis, &one, second, "-o", &out]);
        assert!(error.starts_with(&format!("error: {second}: has shape (2, 2")), "{error}");
    }
    assert!(fs::read(&out).unwrap() == before);
    assert_eq!(npymap(["concat", "--axis", "x", &one, "-o", &out]).code, Some(2));
}

/// A NumPy script that joins random arrays and compares the results: shapes,
/// orders and axes vary.
const JOIN: &str = r"
import random, subprocess, sys
import numpy as np
program, directory = sys.argv[1:]
random.seed(5)
for _ in range(60):
    shape = [random.choice([0, 1, 1, 2, 3, 40]) for _ in range(random.randint(1, 4))]
    axis = random.randrange(-len(shape), len(shape))
    dtype = random.choice(['<i4', '>i4', '|u1', '>f8', '<U2', '>c16', [('a', '<i2'), ('b', '>f8')]])
    arrays, paths = [], []
    for _ in range(random.randint(1, 4)):
        shape[axis] = random.choice([0, 1, 1, 2, 7])
        a = np.zeros(shape, dtype)
        flat = np.arange(a.size).reshape(shape) * 3 % 89
        if a.dtype.names:
            a['a'], a['b'] = flat, flat / 2
        else:
            a[...] = flat
            if random.random() < .3:
                a = a.astype(a.dtype.newbyteorder())
        if random.random() < .5:
            a = np.asfortranarray(a)
        paths.append(f'{directory}/{len(paths)}.npy')
        np.save(paths[-1], a)
        arrays.append(a)
    out = f'{directory}/out.npy'
    subprocess.run([program, 'concat', '--overwrite', '--axis', str(axis), *paths, '-o', out], check=True)
    joined = np.load(out)
    assert joined.dtype == arrays[0].dtype, (joined.dtype, dtype)
    np.testing.assert_array_equal(joined, np.concatenate(arrays, axis=axis))
";

#[test]
fn live_numpy_joins_arrays_the_same_way() {
    let numpy = std::process::Command::new("python3").args(["-c", "import numpy"]).output();
    if !numpy.is_ok_and(|output| output.status.success()) {
        return eprintln!("nothing was compared, python3 has no numpy");
    }
    let directory = tempfile::tempdir().unwrap();
    let mut python = std::process::Command::new("python3");
    python.args(["-c", JOIN, env!("CARGO_BIN_EXE_npymap")]).arg(directory.path());
    let output = python.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn arrays_of_different_dtypes_are_joined_on_request() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let small = bytes(at, "small.npy", "(1, 2)", &["<i2"], "3");
    let float = bytes(at, "float.npy", "(2, 2)", &["<f4", "--order", "F"], "0.5");
    let big = bytes(at, "big.npy", "(1, 2)", &[">i8"], "7");
    let [short, long] = [("U2", "ab"), ("U6", "abcdef")]
        .map(|(dtype, fill)| bytes(at, &format!("{dtype}.npy"), "(1,)", &[dtype], fill));
    let out = at.join("out.npy").to_str().unwrap().to_owned();
    for (arguments, dtype, elements) in [
        (&[&small, &float][..], "<f4", "[[3.0, 3.0],\n [0.5, 0.5],\n [0.5, 0.5]]\n"),
        (&[&float, &small], "<f4", "[[0.5, 0.5],\n [0.5, 0.5],\n [3.0, 3.0]]\n"),
        (&[&small, &big, &small], "<i8", "[[3, 3],\n [7, 7],\n [3, 3]]\n"),
        (&[&big, &float], "<f8", "[[7.0, 7.0],\n [0.5, 0.5],\n [0.5, 0.5]]\n"),
        (&[&short, &long], "<U6", "['ab', 'abcdef']\n"),
    ] {
        let fixed = ["concat", "--promote", "--overwrite", "-o", &out];
        run_ok(fixed.into_iter().chain(arguments.iter().map(|name| name.as_str())));
        assert_eq!(run_ok(["get", &out, ":"]), elements, "{arguments:?}");
        assert!(run_ok(["info", "--json", &out]).contains(&format!("\"descr\":\"'{dtype}'\"")));
    }
    run_ok(["concat", "--axis", "1", "--promote", "--overwrite", &small, &big, "-o", &out]);
    assert_eq!(run_ok(["get", &out, ":"]), "[[3, 3, 7, 7]]\n");
    run_ok(["concat", "--dtype", "u1", "--overwrite", &small, &big, "-o", &out]);
    assert!(run_ok(["info", "--json", &out]).contains("\"descr\":\"'|u1'\""));
    let before = fs::read(&out).unwrap();
    let error = run_err(1, ["concat", "--dtype", "i4", "--overwrite", &small, &float, "-o", &out]);
    assert!(error.contains("0.5"), "{error}");
    let error = run_err(1, ["concat", "--promote", "--overwrite", &small, &short, "-o", &out]);
    assert!(error.contains("dtype '<U2', which is not promoted with '<i2'"), "{error}");
    let error = run_err(1, ["concat", "--overwrite", &small, &float, "-o", &out]);
    assert!(error.contains("`npymap concat --promote` joins both as '<f4'"), "{error}");
    assert_eq!(fs::read(&out).unwrap(), before);
}

#[test]
fn rows_of_another_dtype_are_appended_on_request() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let small = bytes(at, "small.npy", "(2, 2)", &["<i2"], "3");
    let whole = bytes(at, "whole.npy", "(2,)", &["<f8"], "4");
    let half = bytes(at, "half.npy", "(2,)", &["<f8"], "0.5");
    let log = bytes(at, "log.npy", "(2, 0)", &[">f4", "--order", "F"], "0");
    run_ok(["append", "--promote", &log, &small]);
    assert_eq!(run_ok(["get", &log, ":"]), "[[3.0, 3.0],\n [3.0, 3.0]]\n");
    let error = run_err(1, ["append", &log, &small]);
    assert!(error.ends_with("has '>f4': --promote casts it\n"), "{error}");
    // The file keeps its dtype.
    let error = run_err(1, ["append", "--promote", &log, &whole]);
    assert!(error.contains("--dtype casts it if no value changes"), "{error}");
    run_ok(["append", "--dtype", "f4", &log, &whole]);
    let counts = bytes(at, "counts.npy", "(0, 2)", &["<i2"], "0");
    run_ok(["append", "--dtype", "i2", &counts, &whole, &small]);
    assert_eq!(run_ok(["get", &counts, ":"]), "[[4, 4],\n [3, 3],\n [3, 3]]\n");
    let before = fs::read(&counts).unwrap();
    run_err(1, ["append", "--dtype", "i2", &counts, &whole, &half]);
    let error = run_err(1, ["append", "--dtype", "i4", &counts, &whole]);
    assert!(error.ends_with("has dtype '<i2', not that of --dtype, '<i4'\n"), "{error}");
    assert_eq!(fs::read(&counts).unwrap(), before);
    assert_eq!(npymap(["append", "--dtype", "i2", "--promote", &counts, &whole]).code, Some(2));
}

#[test]
fn a_file_is_created_for_the_first_rows() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let two = bytes(at, "two.npy", "(2, 3)", &["<i2"], "1");
    let float = bytes(at, "float.npy", "(1, 3)", &["<f4"], "0.5");
    let scalar = bytes(at, "scalar.npy", "()", &["<f4"], "0.5");
    let log = at.join("log.npy").to_str().unwrap().to_owned();
    assert!(run_err(1, ["append", &log, &two]).contains("log.npy"));
    // A refused array leaves no file.
    run_err(1, ["append", "--create", &log, &two, &float]);
    run_err(1, ["append", "--create", &log, &scalar]);
    run_err(2, ["append", "--create", "--raw", &log, &two]);
    assert!(!fs::exists(&log).unwrap());
    let reports = [(2, "(2, 3)"), (1, "(3, 3)")];
    for (input, (count, shape)) in [&two, &float].into_iter().zip(reports) {
        let rows = if count == 1 { "row" } else { "rows" };
        let output = run_ok(["append", "--create", "--dtype", "f4", &log, input]);
        assert_eq!(output, format!("{log}: {count} {rows} added, shape {shape}\n"));
    }
    assert_eq!(run_ok(["get", &log, "1:"]), "[[1.0, 1.0, 1.0],\n [0.5, 0.5, 0.5]]\n");
    fs::remove_file(&log).unwrap();
    run_ok(["append", "--create", "--promote", &log, &two, &float]);
    assert!(run_ok(["info", "--json", &log]).contains(r#""descr":"'<f4'","shape":[3,3]"#));
}

/// Only Unix has locks.
#[cfg(unix)]
#[test]
fn commands_that_start_at_once_create_a_file_once() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let rows: Vec<_> = (0..8)
        .map(|number| bytes(at, &format!("{number}.npy"), "(2,)", &["|u1"], &number.to_string()))
        .collect();
    let log = at.join("log.npy").to_str().unwrap().to_owned();
    let run = |own: &String| {
        crate::run::command().args(["append", "--create", &log, own]).output().unwrap()
    };
    let outputs: Vec<_> = std::thread::scope(|scope| {
        let all: Vec<_> = rows.iter().map(|own| scope.spawn(|| run(own))).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(outputs.iter().all(|output| output.status.success()), "{outputs:?}");
    let mut found = fs::read(&log).unwrap().split_off(128);
    found.sort_unstable();
    assert_eq!(found, (0..8).flat_map(|number| [number; 2]).collect::<Vec<u8>>());
}

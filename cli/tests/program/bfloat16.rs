//! Values of bfloat16, which NumPy stores as void of two bytes.

use crate::run::{npymap, path_in, python, run_err, run_ok};

#[test]
fn numbers_are_converted_to_bfloat16_and_back() {
    let directory = tempfile::tempdir().unwrap();
    let [numbers, brain, other, csv] =
        ["n.npy", "b.npy", "o.npy", "t.csv"].map(|name| path_in(&directory, name));
    let script = "import numpy as np, sys
a = np.array([[1.5, -2, np.nan], [np.inf, 0, 3.25]], '>f8')
np.save(sys.argv[1], np.asfortranarray(a))
np.save(sys.argv[2], (a.astype('<f4').view('<u4') >> 16).astype('<u2').view('V2'))";
    if python(script, &[&numbers, &other]).is_none() {
        return;
    }
    run_ok(["convert", &numbers, &brain, "--dtype", "bfloat16"]);
    assert!(run_ok(["info", "--json", &brain]).contains("\"fortran_order\":true"));
    run_ok(["diff", &brain, &other]);
    for path in [&brain, &other] {
        assert_eq!(run_ok(["get", path, "1", "--dtype", "bfloat16"]), "[inf, 0.0, 3.25]\n");
        let matching = ["get", path, ":", "--dtype", "bfloat16", "--where", "value > 1"];
        assert_eq!(run_ok(matching), "1.5\ninf\n3.25\n");
        let stats = run_ok(["stats", "--json", path, "--dtype", "bfloat16"]);
        assert!(stats.contains("\"nan\":1") && stats.contains("\"min\":-2.0"), "{stats}");
        run_ok(["diff", "--values", "--dtype", "bfloat16", path, &numbers]);
        let doubles = ["get", path, ":", "--dtype", "bfloat16", "-o", &csv, "--overwrite"];
        run_ok(doubles);
        assert_eq!(std::fs::read_to_string(&csv).unwrap(), "1.5,-2.0,nan\ninf,0.0,3.25\n");
    }
    // As from a pipe, and from text, whose decimal numbers are rounded.
    run_ok(["convert", &csv, &brain, "--dtype", "bfloat16", "--overwrite", "--no-header"]);
    run_ok(["diff", &brain, &other]);
    run_ok(["create", &other, "--overwrite", "--shape", "(0, 3)"]);
    run_ok(["convert", &other, &brain, "--dtype", "bfloat16", "--overwrite"]);
    assert_eq!(run_ok(["get", &brain, ":", "--dtype", "bfloat16"]), "[]\n");
}

#[test]
fn values_that_bfloat16_cannot_hold_need_force() {
    let directory = tempfile::tempdir().unwrap();
    let [path, out] = ["a.npy", "out.npy"].map(|name| path_in(&directory, name));
    for (dtype, value) in [("f8", "0.1"), ("f4", "257"), ("i8", "9007199254740993")] {
        run_ok(["create", &path, "--overwrite", "--shape", "2", "--dtype", dtype, "--fill", value]);
        let error = run_err(1, ["convert", &path, &out, "--dtype", "bfloat16"]);
        assert!(error.ends_with("can hold exactly: allow it to change with --force\n"), "{error}");
    }
    run_ok(["create", &path, "--overwrite", "--shape", "2", "--fill", "0.1"]);
    run_ok(["convert", &path, &out, "--dtype", "bfloat16", "--force"]);
    assert_eq!(run_ok(["get", &out, "0", "--dtype", "bfloat16"]), "0.100097656\n");
    for arguments in [
        &["convert", &path, &out, "--dtype", "int4"][..],
        &["convert", &path, &out, "--dtype", "float8_e5m2"],
        &["get", &path, ":", "--dtype", "int4"],
    ] {
        let refused = npymap(arguments);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        let expected =
            "of the types of ml_dtypes, only the values of bfloat16 are read and written";
        assert!(refused.err.contains(expected), "{refused:?}");
    }
    let archive = path_in(&directory, "a.npz");
    let to_archive = run_err(2, ["convert", &path, &archive, "--dtype", "bfloat16"]);
    let some_rows = ["--dtype", "bfloat16", "--overwrite", "--where", "value > 1"];
    let some_rows = run_err(2, ["convert", &path, &out].into_iter().chain(some_rows));
    for error in [to_archive, some_rows] {
        assert!(error.contains("convert to one in a first step"), "{error}");
    }
    run_ok(["create", &path, "--overwrite", "--shape", "2", "--dtype", "U1"]);
    let error = run_err(1, ["convert", &path, &out, "--overwrite", "--dtype", "bfloat16"]);
    assert!(error.contains("only real numbers are converted to bfloat16"), "{error}");
}

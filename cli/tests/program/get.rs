//! `get` prints elements as NumPy does.

use std::io::Read;
use std::process::Stdio;

use crate::run::{command, copy_penguins, data, npymap, path_in, run_err, run_ok};

fn fixture(name: &str) -> String {
    data().join("numpy-2.4.6").join(name).to_str().unwrap().to_owned()
}

/// Creates a file of three records, the second one not zero.
fn events(directory: &std::path::Path) -> String {
    let path = directory.join("events.npy").to_str().unwrap().to_owned();
    let dtype = "[('id', '>u2'), ('pos', [('x', '<f4'), ('z', '<c8')]), ('t', '<M8[s]'), ('w', '<m8[D]'), ('s', '<U3'), ('b', '|S2'), ('m', '<f8', (2,))]";
    run_ok(["create", &path, "--shape", "3", "--dtype", dtype]);
    run_ok([
        "set",
        &path,
        "1",
        r#"(7, (0.1, nan-2j), '2020-02-29', NaT, "a'b", b'\xff', [inf, -0.0])"#,
    ]);
    path
}

#[test]
fn scalars_are_printed_as_numpy_prints_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_penguins(directory.path());
    let path = path.to_str().unwrap();
    assert_eq!(run_ok(["get", path, "0, 3", "-1, 0", "(5,-1)"]), "3750.0\n50.2\n3625.0\n");
}

#[test]
fn each_row_is_on_its_own_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_penguins(directory.path());
    let path = path.to_str().unwrap();
    assert_eq!(run_ok(["get", path, "-1"]), "[50.2, 18.7, 198.0, 3775.0]\n");
    assert_eq!(run_ok(["get", path, ":2, ::3"]), "[[39.1, 3750.0],\n [39.5, 3800.0]]\n");
    assert_eq!(run_ok(["get", path, ":2, None, :2"]), "[[[39.1, 18.7]],\n\n [[39.5, 17.4]]]\n");
    assert_eq!(run_ok(["get", path, "3:3"]), "[]\n");
}

#[test]
fn fields_follow_a_dot() {
    let directory = tempfile::tempdir().unwrap();
    let path = events(directory.path());
    let lines = run_ok([
        "get",
        &path,
        "1",
        "1.pos.x",
        ":.id",
        "..., 1.pos.z",
        ".s",
        "1.m",
        ":2.t",
        "1.w",
        ".w",
    ]);
    assert_eq!(
        lines,
        "(7, (0.1, nan-2.j), '2020-02-29T00:00:00', 'NaT', \"a'b\", b'\\xff', [inf, -0.0])\n\
         0.1\n[0, 7, 0]\n(nan-2j)\n['', \"a'b\", '']\n[inf, -0.0]\n\
         ['1970-01-01T00:00:00', '2020-02-29T00:00:00']\nNaT\n[0, 'NaT', 0]\n"
    );
}

#[test]
fn json_has_a_line_for_each_index() {
    let directory = tempfile::tempdir().unwrap();
    let path = events(directory.path());
    assert_eq!(
        run_ok(["get", &path, "1", "-1:.m", "1.t", ":0", "--json"]),
        "{\"id\":7,\"pos\":{\"x\":0.1,\"z\":[\"nan\",-2.0]},\"t\":\"2020-02-29T00:00:00\",\"w\":null,\
         \"s\":\"a'b\",\"b\":\"\u{ff}\",\"m\":[\"inf\",-0.0]}\n[[0.0,0.0]]\n\"2020-02-29T00:00:00\"\n[]\n"
    );
}

#[test]
fn names_of_fields_are_an_index() {
    let directory = tempfile::tempdir().unwrap();
    let [log, out] = ["log.npy", "out.npy"].map(|name| path_in(&directory, name));
    let dtype = "[('temp', '<f4'), ('sensor', '<U2'), ('a,b', 'i1'), ('pos', [('z', '<i2')])]";
    run_ok(["create", &log, "--shape", "3", "--dtype", dtype]);
    run_ok(["set", &log, "temp", "[1, 2, 3]"]);
    run_ok(["set", &log, "1.sensor", "x"]);
    run_ok(["set", &log, "pos.z", "7"]);
    for (index, expected) in [
        ("temp", "[1.0, 2.0, 3.0]"),
        ("pos.z", "[7, 7, 7]"),
        ("a,b", "[0, 0, 0]"),
        ("temp, sensor", "[(1.0, ''), (2.0, 'x'), (3.0, '')]"),
        ("1:.sensor,temp", "[('x', 2.0), ('', 3.0)]"),
        ("[2, 0].pos,temp", "[((7,), 3.0), ((7,), 1.0)]"),
    ] {
        assert_eq!(run_ok(["get", &log, index]), format!("{expected}\n"), "{index}");
    }
    assert_eq!(run_ok(["get", &log, "temp", "--where", "sensor == 'x'"]), "2.0\n");
    for new in [
        &["get", &log, "sensor, temp", "-o", &out][..],
        &["convert", &log, &out, "--select", "sensor,temp"],
    ] {
        run_ok(new.iter().chain(&["--overwrite"]));
        let info = run_ok(["info", "--json", &out]);
        assert!(info.contains(r#""descr":"[('sensor', '<U2'), ('temp', '<f4')]""#), "{info}");
    }
    assert!(run_ok(["head", "-n", "1", &log, "temp,pos"]).starts_with("    temp"));
    assert!(run_ok(["stats", &log, "temp"]).ends_with("6.0\n"));
    assert!(run_err(1, ["get", &log, "temp,x"]).contains("no field `x`, expected `temp`"));
}

#[test]
fn invalid_indices_are_rejected() {
    let path = fixture("f8-le.npy");
    for (index, reason) in [
        (
            "1x",
            "`1x` is not an index: expected an integer, a slice such as `2:8:2`, `...` or `None`\n",
        ),
        ("1000", "index 1000 is out of bounds for axis 0 of shape"),
        ("-1000", "index -1000 is out of bounds for axis 0 of shape"),
    ] {
        let refusal = run_err(1, ["get", &path, "0", index]);
        assert!(refusal.starts_with(&format!("error: {path}: {reason}")), "{refusal}");
    }
    for index in ["0.x", "x"] {
        let refusal = run_err(1, ["get", &path, "0", index]);
        assert!(refusal.contains("has no fields, asked for `x`"), "{refusal}");
    }
    assert!(run_err(1, ["get", "absent.npy", "0"]).starts_with("error: absent.npy: cannot open: "));
    assert_eq!(npymap(["get", &path]).code, Some(2));
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("zeros.npy");
    run_ok(["create", path.to_str().unwrap(), "--shape", "1000000"]);
    let mut program = command();
    program.args(["get", path.to_str().unwrap(), ":"]);
    let mut child = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 4];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let done = child.wait_with_output().unwrap();
    assert_eq!((done.status.code(), done.stderr), (Some(0), Vec::new()));
}

/// The exit status is an answer even if nothing reads the report.
#[test]
fn a_closed_pipe_does_not_change_verdicts() {
    let directory = tempfile::tempdir().unwrap();
    let [nan, zeros, archive, to] =
        ["nan.npy", "zeros.npy", "damaged.npz", "to"].map(|name| path_in(&directory, name));
    run_ok(["create", &nan, "--shape", "3", "--fill", "nan"]);
    run_ok(["create", &zeros, "--shape", "3"]);
    run_ok(["npz", "pack", &nan, "--output", &archive]);
    let mut bytes = std::fs::read(&archive).unwrap();
    // In the elements, before the directory.
    let at = bytes.windows(4).position(|bytes| bytes == *b"PK\x01\x02").unwrap();
    bytes[at - 32] ^= 1;
    std::fs::write(&archive, bytes).unwrap();
    for arguments in [
        &["stats", "--fail-on", "nan", &nan][..],
        &["stats", "--fail-on", "nan", "--json", &nan],
        &["npz", "verify", "--json", &archive],
        &["npz", "extract", "--keep-going", "--directory", &to, &archive],
        &["diff", &nan, &zeros],
    ] {
        let mut program = command();
        let mut child =
            program.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let done = child.wait_with_output().unwrap();
        assert_eq!(done.status.code(), Some(1), "{arguments:?}");
    }
}

#[test]
fn arrays_without_elements_are_the_lists_of_tolist() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("empty.npy").to_str().unwrap().to_owned();
    for (shape, expected) in
        [("(3, 0)", "[[],[],[]]"), ("(0, 3)", "[]"), ("(2, 1, 0, 5)", "[[[]],[[]]]"), ("0", "[]")]
    {
        run_ok(["create", &path, "--overwrite", "--shape", shape]);
        assert_eq!(run_ok(["get", "--json", &path, ":"]), format!("{expected}\n"), "{shape}");
    }
    run_ok(["create", &path, "--overwrite", "--shape", "(2000, 2000, 0)"]);
    let refusal = run_err(1, ["get", "--json", &path, ":"]);
    assert!(refusal.contains("at most 1048576 are printed"), "{refusal}");
}

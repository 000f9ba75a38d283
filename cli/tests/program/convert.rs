//! `convert` preserves the array in every format, dtype and order.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use crate::run::{
    copy_penguins, data, fixtures, is_thorough, npymap, path_in, run_err, run_noting, run_ok,
    shortened, size,
};

fn digest(path: &str) -> String {
    digests(&[path]).remove(0)
}

fn digests(paths: &[impl AsRef<OsStr>]) -> Vec<String> {
    let options = ["info", "--json", "--digest", "--max-header-len", "100000"].map(OsStr::new);
    let mut digests = Vec::new();
    // Command lines are limited.
    for paths in paths.chunks(100) {
        let lines = run_noting(options.into_iter().chain(paths.iter().map(AsRef::as_ref)));
        for line in lines.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            digests.push(line["sha256"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(digests.len(), paths.len());
    digests
}

/// The fixtures that the program opens.
fn opened() -> impl Iterator<Item = String> {
    let differences = fs::read_to_string(data().join("differences.txt")).unwrap();
    fixtures()
        .filter(move |(_, case)| {
            let name = case["path"].as_str().unwrap();
            !differences.lines().any(|line| line.ends_with(name))
        })
        .map(|(path, _)| path.to_str().unwrap().to_owned())
}

fn convert(from: &str, to: &str, options: &[&str]) {
    let fixed = ["convert", "--overwrite", "--max-header-len", "100000", from, to];
    run_noting(fixed.iter().chain(options));
}

#[test]
fn every_conversion_preserves_the_array() {
    let directory = tempfile::tempdir().unwrap();
    let some = opened().step_by(if is_thorough() { 1 } else { 7 });
    let paths: Vec<String> = shortened(some).collect();
    let copies = |name: &str| -> Vec<String> {
        (0..paths.len()).map(|i| path_in(&directory, &format!("{name}{i}.npy"))).collect()
    };
    let (there, back) = (copies("there"), copies("back"));
    for (path, (there, back)) in paths.iter().zip(there.iter().zip(&back)) {
        convert(path, there, &["--order", "F", "--byte-order", "big", "--version", "3"]);
        convert(there, back, &["--order", "C", "--byte-order", "little"]);
    }
    let expected = digests(&paths);
    for copies in [there, back] {
        for ((path, found), expected) in paths.iter().zip(digests(&copies)).zip(&expected) {
            assert_eq!(found, *expected, "{path}");
        }
    }
}

#[test]
fn without_options_output_equals_np_save() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out.npy");
    let folder = data().join("numpy-2.4.6");
    for name in ["f8-le.npy", "f8-be.npy", "struct-aligned-dirty.npy", "U7-be.npy"] {
        let path = folder.join(name);
        convert(path.to_str().unwrap(), out.to_str().unwrap(), &[]);
        assert_eq!(fs::read(&out).unwrap(), fs::read(&path).unwrap(), "{name}");
    }
}

#[test]
fn large_arrays_go_tile_by_tile() {
    let directory = tempfile::tempdir().unwrap();
    let (rows, columns, turned) = (
        path_in(&directory, "rows.npy"),
        path_in(&directory, "columns.npy"),
        path_in(&directory, "turned.npy"),
    );
    run_ok(["create", &rows, "--shape", "(70, 90, 110)", "--dtype", ">i4"]);
    for index in ["3", ":, 5", "..., 7", "69, 89, 109", "33, 44"] {
        run_ok(["set", &rows, index, &index.len().to_string()]);
    }
    convert(&rows, &columns, &["--order", "F", "--byte-order", "little"]);
    assert_eq!(digest(&columns), digest(&rows));
    assert_eq!(run_ok(["get", &columns, "33, 44, 6:9"]), "[6, 6, 6]\n");
    for threads in ["1", "3"] {
        convert(&columns, &turned, &["--order", "C", "--byte-order", "big", "--threads", threads]);
        assert_eq!(fs::read(&turned).unwrap(), fs::read(&rows).unwrap(), "{threads}");
    }
}

#[test]
fn a_file_can_replace_itself() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.npy");
    let text = path.to_str().unwrap();
    run_ok(["create", text, "--shape", "(20, 30)", "--fill", "2"]);
    let expected = digest(text);
    let refusal = run_err(1, ["convert", text, text, "--order", "F"]);
    assert!(refusal.contains("already exists: choose another name"), "{refusal}");
    convert(text, text, &["--order", "F"]);
    assert!(run_ok(["info", text]).contains("Fortran order"));
    assert_eq!(digest(text), expected);
    keeps_permissions(&path);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[cfg(unix)]
fn keeps_permissions(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, PermissionsExt::from_mode(0o640)).unwrap();
    convert(path.to_str().unwrap(), path.to_str().unwrap(), &[]);
    assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o640);
}

#[cfg(not(unix))]
fn keeps_permissions(_: &Path) {}

#[test]
fn failed_conversions_leave_no_files() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out.npy");
    fs::write(&out, "mine").unwrap();
    let out = out.to_str().unwrap();
    let name = data().join("numpy-2.4.6/name-cjk.npy");
    let refusal =
        run_err(1, ["convert", name.to_str().unwrap(), out, "--overwrite", "--version", "1"]);
    assert!(refusal.starts_with(&format!("error: {out}: version")), "{refusal}");
    assert!(
        run_err(1, ["convert", "absent.npy", out, "--overwrite"])
            .contains("absent.npy: cannot open")
    );
    assert_eq!(fs::read(out).unwrap(), b"mine");
    let nowhere = directory.path().join("no/such.npy");
    let nowhere = nowhere.to_str().unwrap();
    let refusal = run_err(1, ["convert", name.to_str().unwrap(), nowhere]);
    assert!(refusal.starts_with(&format!("error: {nowhere}: cannot create: ")), "{refusal}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    assert_eq!(npymap(["convert", out]).code, Some(2));
}

#[test]
fn a_cast_keeps_every_value_unless_forced() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_penguins(directory.path());
    let (path, out) = (path.to_str().unwrap(), directory.path().join("out.npy"));
    let out = out.to_str().unwrap();
    let refusal = run_err(1, ["convert", path, out, "--dtype", "<f4"]);
    assert_eq!(
        refusal,
        format!(
            "error: {path}: 39.1: expected a value that '<f4' can hold exactly: allow it to change with --force\n"
        )
    );
    assert!(!Path::new(out).exists());
    run_ok(["convert", path, out, "--dtype", ">i2", "--force", "--order", "F"]);
    assert_eq!(run_ok(["get", out, "0"]), "[39, 18, 181, 3750]\n");
    let wide = directory.path().join("wide.npy");
    let wide = wide.to_str().unwrap();
    run_ok(["convert", out, wide, "--dtype", "f8", "--byte-order", "big"]);
    assert!(run_ok(["info", wide]).contains("'>f8', float of 8 bytes"));
    assert_eq!(run_ok(["get", wide, "0"]), "[39.0, 18.0, 181.0, 3750.0]\n");
    assert_eq!(npymap(["convert", path, out, "--force"]).code, Some(2));
    let refusal = run_err(1, ["convert", path, wide, "--overwrite", "--dtype", "[('x', 'f8')]"]);
    assert!(refusal.contains("cannot cast"), "{refusal}");
}

#[test]
fn force_is_advised_only_where_it_helps() {
    let directory = tempfile::tempdir().unwrap();
    let [path, out] = ["a.npy", "out.npy"].map(|name| path_in(&directory, name));
    for (dtype, value, to, reason, helps) in [
        ("U1", "é", "S4", "'é': expected ASCII that fits '|S4'", false),
        ("U3", "abc", "S2", "'abc': expected a value that '|S2' can hold exactly", true),
        ("U3", "abc", "<i4", "`abc`: expected an integer, for '<i4'", false),
        ("U3", "300", "u1", "300: expected a value that fits '|u1'", false),
        ("i4", "12345", "<U3", "12345: expected a value that '<U3' can hold exactly", true),
        ("V2", "b'ab'", "V1", "b'\\x61\\x62': expected a value that '|V1' can hold exactly", true),
        (
            "M8[s]",
            "2020-02-29T12",
            "<M8[D]",
            "2020-02-29T12:00:00: expected a value that '<M8[D]' can hold exactly",
            true,
        ),
        (
            "M8[D]",
            "2500-01-01",
            "<M8[ns]",
            "2500-01-01: expected a value that '<M8[ns]' can hold",
            false,
        ),
        (
            "M8[D]",
            "2020-02-29",
            "<U9",
            "2020-02-29: expected text of at least 10 characters, not '<U9'",
            false,
        ),
    ] {
        run_ok(["create", "--overwrite", &path, "--shape", "1", "--dtype", dtype, "--fill", value]);
        let advice = if helps { ": allow it to change with --force" } else { "" };
        let convert = ["convert", "--overwrite", &path, &out, "--dtype", to];
        assert_eq!(run_err(1, convert), format!("error: {path}: {reason}{advice}\n"));
        let forced = npymap(convert.iter().chain(&["--force"]));
        assert_eq!(forced.code, Some(i32::from(!helps)), "{}", forced.err);
        if !helps {
            assert_eq!(forced.err, format!("error: {path}: {reason}\n"));
        }
    }
}

#[test]
fn a_value_that_would_change_is_reported_with_its_member() {
    let directory = tempfile::tempdir().unwrap();
    let penguins = copy_penguins(directory.path()).to_str().unwrap().to_owned();
    let archive = path_in(&directory, "x.npz");
    let (npy, list) = (path_in(&directory, "out.npy"), path_in(&directory, "out.ten"));
    let reason =
        "39.1: expected a value that '<i2' can hold exactly: allow it to change with --force";
    let doubles = npymap::ndarray::arr1(&[1.0, 39.1]);
    let whole = npymap::ndarray::arr1(&[1.0, 2.0]);
    npymap::npz::savez(&archive, &[("whole", &whole), ("deep/w", &doubles)]).unwrap();
    let member = format!("{archive}[deep/w]");
    for (from, to, name) in [
        (&archive, path_in(&directory, "y.npz"), &member),
        (&archive, list.clone(), &member),
        (&member, list.clone(), &member),
        (&member, npy.clone(), &member),
        (&penguins, path_in(&directory, "y.npz"), &penguins),
        (&penguins, list.clone(), &penguins),
    ] {
        let refusal = run_err(1, ["convert", from, &to, "--dtype", "<i2"]);
        assert_eq!(refusal, format!("error: {name}: {reason}\n"));
        assert!(!Path::new(&to).exists());
    }
    run_ok(["convert", &archive, &list]);
    let refusal = run_err(1, ["convert", &list, &path_in(&directory, "y.npz"), "--dtype", "<i2"]);
    assert_eq!(refusal, format!("error: {list}[1]: {reason}\n"));
    let fields =
        run_err(1, ["convert", &list, &path_in(&directory, "y.npz"), "--dtype", "[('x', 'f8')]"]);
    assert!(fields.starts_with(&format!("error: {list}[0]: cannot cast")), "{fields}");
    assert!(!fields.contains("--force"), "{fields}");
    run_ok(["convert", &member, &list, "--overwrite", "--dtype", "<i2", "--force"]);
    assert_eq!(run_ok(["get", &format!("{list}[0]"), ":"]), "[1, 39]\n");
}

/// Arrays without elements are refused like others.
#[test]
fn no_elements_are_not_cast_to_any_dtype() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory, "e.npy");
    run_ok(["create", &path, "--shape", "0", "--dtype", "[('a', '<f8'), ('b', '<i4')]"]);
    for name in ["o.npz", "o.npy", "o.ten"] {
        let to = path_in(&directory, name);
        let refusal = run_err(1, ["convert", &path, &to, "--dtype", "<f8"]);
        assert!(refusal.contains("cannot cast"), "{name}: {refusal}");
        assert!(!Path::new(&to).exists());
    }
}

#[test]
fn selected_fields_keep_their_titles() {
    let directory = tempfile::tempdir().unwrap();
    let [from, to] = ["a.npy", "b.npy"].map(|name| path_in(&directory, name));
    let dtype = r#"[(("it's \n€", 'n'), '>i2'), ('m', '>M8[s]'), (('t', 'k'), [('', '|V2'), ('x', '<f4')], (2,))]"#;
    run_ok(["create", &from, "--shape", "2", "--dtype", dtype]);
    run_ok(["set", &from, "1.n", "7"]);
    for (fields, options, expected) in [
        ("m,n", &[][..], r#"[('m', '>M8[s]'), (("it's \n€", 'n'), '>i2')]"#),
        ("n,m", &["--byte-order", "little"], r#"[(("it's \n€", 'n'), '<i2'), ('m', '<M8[s]')]"#),
        (
            "k,m",
            &["--where", "n > 0"],
            "[(('t', 'k'), [('', '|V2'), ('x', '<f4')], (2,)), ('m', '>M8[s]')]",
        ),
    ] {
        run_ok(["convert", &from, &to, "--overwrite", "--field", fields].iter().chain(options));
        let info: serde_json::Value =
            serde_json::from_str(&run_ok(["info", "--json", &to])).unwrap();
        assert_eq!(info["descr"], expected);
    }
    run_ok(["convert", &from, &to, "--overwrite", "--field", "n,m", "--byte-order", "little"]);
    assert_eq!(run_ok(["get", &to, ".n"]), "[0, 7]\n");
}

#[test]
fn extensions_of_other_formats_are_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_penguins(directory.path());
    let path = path.to_str().unwrap();
    for name in ["out.xlsx", "out.parquet", "out.h5", "out.txt", "out", "-", "out.npy.gz"] {
        let out = directory.path().join(name);
        let refusal = run_err(1, ["convert", path, out.to_str().unwrap()]);
        assert!(
            refusal.contains("use .npy, .npz, .ten, .csv, .tsv, .jsonl, .json or .bin"),
            "{refusal}"
        );
        let refusal = run_err(1, ["shuffle", path, "-o", out.to_str().unwrap()]);
        assert!(refusal.contains("use the extension .npy"), "{refusal}");
    }
    for name in ["out.npz", "out.csv"] {
        let out = directory.path().join(name);
        for command in
            [&["create", "--shape", "2"][..], &["shuffle", path], &["concat", path, "-o"]]
        {
            let refusal = run_err(1, command.iter().copied().chain([out.to_str().unwrap()]));
            assert!(refusal.contains("use the extension .npy"), "{refusal}");
        }
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    convert(path, directory.path().join("UPPER.NPZ").to_str().unwrap(), &[]);
    assert!(
        run_ok(["info", directory.path().join("UPPER.NPZ").to_str().unwrap()]).contains("arr_0")
    );
}

#[cfg(target_os = "linux")]
#[test]
fn holes_stay_holes() {
    use std::os::unix::fs::MetadataExt as _;
    let directory = tempfile::tempdir().unwrap();
    let (from, to) = (path_in(&directory, "sparse.npy"), path_in(&directory, "copy.npy"));
    let rows = size(400, 400, 2500);
    let shape = format!("({rows}, 14000)");
    let [place, before] = [5000, 4999].map(|column| format!("{}, {column}", rows / 2));
    run_ok(["create", &from, "--shape", &shape, "--dtype", "<f4", "--sparse"]);
    run_ok(["set", &from, &place, "2.5"]);
    let plain = [&[][..], &["--order", "F"], &["--byte-order", "big"], &["--version", "3"]];
    let casts = [&["--dtype", "f8"][..], &["--dtype", ">f8", "--order", "F"]];
    for options in plain.into_iter().chain(casts) {
        convert(&from, &to, options);
        assert!(fs::metadata(&to).unwrap().blocks() * 512 < 2 << 20, "{options:?}");
        assert_eq!(run_ok(["get", &to, &place, &before]), "2.5\n0.0\n");
    }
}

/// Runs with less memory than the numbers of an element would take as wide numbers.
#[cfg(target_os = "linux")]
#[test]
fn long_subarrays_are_cast_in_bounded_memory() {
    let directory = tempfile::tempdir().unwrap();
    let [from, to] = ["a.npy", "b.npy"].map(|name| directory.path().join(name));
    let from = from.to_str().unwrap();
    run_ok(["create", from, "--shape", "2", "--sparse", "--dtype", "[('a','<f4',(5000000,))]"]);
    let mut shell = std::process::Command::new("sh");
    let script = "ulimit -v 400000; exec \"$0\" \"$@\" --dtype \"[('a','<f8',(5000000,))]\"";
    shell.args(["-c", script, env!("CARGO_BIN_EXE_npymap"), "convert", from]).arg(&to);
    let run = shell.output().unwrap();
    let errors = String::from_utf8_lossy(&run.stderr);
    assert_eq!((run.status.code(), errors.as_ref()), (Some(0), ""));
}

#[test]
fn a_condition_is_about_the_rows_of_a_field_that_is_selected() {
    let directory = tempfile::tempdir().unwrap();
    let [records, part, other] = ["r.npy", "p.npy", "o.npy"].map(|name| path_in(&directory, name));
    run_ok(["create", &records, "--shape", "4", "--dtype", "[('b', '?'), ('pos', '<f8')]"]);
    run_ok(["set", &records, "2.b", "True"]);
    run_ok(["set", &records, "2.pos", "1.5"]);
    run_ok(["convert", &records, &part, "--select", ".pos", "--where", "b"]);
    run_ok(["get", &records, ".pos", "--where", "b", "-o", &other]);
    assert_eq!(run_ok(["get", &part, ":"]), run_ok(["get", &other, ":"]));
    assert_eq!(run_ok(["get", &part, ":"]), "[1.5]\n");
}

//! `set` changes the selected elements and nothing else.

use crate::run::{copy_penguins, npymap, path_in, run_err, run_ok};

#[test]
fn selected_elements_get_the_value() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_penguins(directory.path());
    let before = std::fs::read(&path).unwrap();
    let path = path.to_str().unwrap();
    assert_eq!(run_ok(["set", path, "-1, 0", "-1"]), format!("{path}: 1 element set\n"));
    assert_eq!(run_ok(["set", "--flush", path, "-1", "-inf"]), format!("{path}: 4 elements set\n"));
    assert_eq!(
        run_ok(["set", path, ":2, ::-2", "-1.5e3", "--flush"]),
        format!("{path}: 4 elements set\n")
    );
    assert_eq!(
        run_ok(["get", path, "-1", ":3"]),
        "[-inf, -inf, -inf, -inf]\n[[39.1, -1500.0, 181.0, -1500.0],\n [39.5, -1500.0, 186.0, -1500.0],\n [40.3, 18.0, 195.0, 3250.0]]\n"
    );
    let after = std::fs::read(path).unwrap();
    assert_eq!(before[..128], after[..128]);
    assert_eq!(before.len(), after.len());
    assert_eq!(before[128 + 64..after.len() - 32], after[128 + 64..after.len() - 32]);
}

#[test]
fn a_colon_or_dots_are_every_element() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory, "a.npy");
    let count = 360_000;
    for order in ["C", "F"] {
        let new = ["--shape", "(400, 900)", "--order", order, "--dtype", "<f8", "--overwrite"];
        run_ok(["create", &path].into_iter().chain(new));
        for (index, value) in [(":", "-1.5"), ("...", "2.5")] {
            let done = run_ok(["set", &path, index, value, "--flush"]);
            assert_eq!(done, format!("{path}: {count} elements set\n"));
            let expected = value.parse::<f64>().unwrap().to_le_bytes().repeat(count);
            assert!(std::fs::read(&path).unwrap()[128..] == expected, "{order} {index}");
        }
    }
    run_ok(["create", &path, "--shape", "()", "--dtype", "i2", "--overwrite"]);
    assert_eq!(run_ok(["set", &path, "...", "7"]), format!("{path}: 1 element set\n"));
    assert_eq!(run_ok(["get", &path, "..."]), "7\n");
    let error = run_err(1, ["set", &path, ":", "7"]);
    assert!(error.contains("axis 0 is out of bounds for shape ()"), "{error}");
}

#[test]
fn a_value_that_does_not_fit_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_penguins(directory.path());
    let before = std::fs::read(&path).unwrap();
    let text = path.to_str().unwrap();
    assert_eq!(
        run_err(1, ["set", text, ":", "abc"]),
        format!("error: {text}: `abc`: expected a number, for '<f8'\n")
    );
    assert!(
        run_err(1, ["set", text, "400", "1"]).contains("index 400 is out of bounds for axis 0")
    );
    assert!(run_err(1, ["set", text, "0.x", "1"]).contains("has no fields"));
    assert_eq!(npymap(["set", text, "0"]).code, Some(2));
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

/// Runs a shell script as root of a namespace of its own, with a file system of
/// 1 MiB mounted on the directory `$0`. `None` where that is not possible.
#[cfg(target_os = "linux")]
fn on_a_small_disk(directory: &std::path::Path, script: &str) -> Option<std::process::Output> {
    let outputs = ["true", script].map(|script| {
        let script = format!("mount -t tmpfs -o size=1m none \"$0\" && cd \"$0\" && {script}");
        let mut shell = std::process::Command::new("unshare");
        shell.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]);
        shell.arg(directory).arg(env!("CARGO_BIN_EXE_npymap")).output()
    });
    let [Ok(probe), Ok(output)] = outputs else { return None };
    probe.status.success().then_some(output)
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_also_where_the_file_has_holes() {
    let directory = tempfile::tempdir().unwrap();
    for (index, field) in [("...", ""), ("::2", ""), ("...", ".a")] {
        let dtype = if field.is_empty() { "f8" } else { "[('a', 'f4'), ('b', 'f4')]" };
        let script = format!(
            r#"$1 create a.npy --sparse --shape '(1000, 1000)' --dtype "{dtype}" && $1 set a.npy '{index}{field}' 7"#
        );
        let Some(output) = on_a_small_disk(directory.path(), &script) else {
            return eprintln!("nothing was tested, no small file system can be mounted");
        };
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.contains("cannot write the elements: No space left on device"), "{error}");
    }
}

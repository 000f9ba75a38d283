//! `tail` prints the last rows, and those that are appended; rows keep their
//! numbers.

use crate::run::{copy_penguins, npymap, path_in, run_err, run_ok};

#[test]
fn the_last_rows_have_their_numbers() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_penguins(directory.path());
    let path = path.to_str().unwrap();
    let out = run_ok(["tail", "-n", "2", path]);
    let lines: Vec<_> =
        out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
    assert_eq!(lines[0], ["0", "1", "2", "3"]);
    assert_eq!((lines[1][0], lines[2][0], lines.len()), ("340", "341", 3));
    assert_eq!(run_ok(["tail", "-n", "1", "--json", path, ":, 2:"]), "[198.0,3775.0]\n");
    let out = run_ok(["tail", "-n", "1", path, "::-10, [3, 1]"]);
    let lines: Vec<_> =
        out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
    assert_eq!((lines[0].as_slice(), lines[1][0]), (&["3", "1"][..], "1"));
    assert_eq!(run_ok(["tail", "-n", "0", "--json", path]), "");
}

#[test]
fn rows_of_a_selection_have_the_numbers_of_the_array() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_penguins(directory.path());
    let path = path.to_str().unwrap();
    let first_words = |text: &str| -> Vec<String> {
        let rows = text.lines().skip(1).filter(|line| !line.starts_with('…'));
        rows.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
    };
    assert_eq!(first_words(&run_ok(["head", "-n", "3", path, "-3:"])), ["339", "340", "341"]);
    assert_eq!(first_words(&run_ok(["head", "-n", "2", path, "::100, 0"])), ["0", "100"]);
    assert_eq!(first_words(&run_ok(["head", path, "[7, 3]"])), ["7", "3"]);
    let cube = path_in(directory.path(), "cube.npy");
    run_ok(["create", &cube, "--shape", "(2, 3, 4)", "--arange"]);
    assert!(run_ok(["head", &cube, "1:, ::-2"]).lines().nth(1).unwrap().starts_with(" 1, 2  "));
    let lines = run_ok(["head", "-n", "2", "--json", path, "1:, :2"]);
    assert_eq!(lines, "[39.5,17.4]\n[40.3,18.0]\n");
}

/// Returns lines of a program's output as they arrive.
#[cfg(unix)]
fn lines_of(child: &mut std::process::Child) -> impl Fn() -> String + use<> {
    use std::io::BufRead as _;
    let out = std::io::BufReader::new(child.stdout.take().unwrap());
    let (to, from) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        out.lines().map_while(Result::ok).try_for_each(|line| to.send(line).ok())
    });
    move || from.recv_timeout(std::time::Duration::from_secs(100)).unwrap()
}

#[cfg(unix)]
#[test]
fn appended_rows_are_printed_as_they_come() {
    let directory = tempfile::tempdir().unwrap();
    let [path, more] = ["log.npy", "more.npy"].map(|name| path_in(directory.path(), name));
    run_ok(["create", &path, "--shape", "(3, 2)", "--dtype", "i4", "--arange"]);
    run_ok(["create", &more, "--shape", "(2, 2)", "--dtype", "i4", "--fill", "7"]);
    let mut follow = crate::run::command();
    follow.args(["tail", "-f", "-n", "1", "--json", &path]);
    follow.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
    let mut child = follow.spawn().unwrap();
    let lines = lines_of(&mut child);
    assert_eq!(lines(), "[4,5]");
    for _ in 0..3 {
        run_ok(["append", &path, &more]);
        assert_eq!(lines(), "[7,7]");
        assert_eq!(lines(), "[7,7]");
    }
    // A new file is followed from its first row.
    run_ok(["create", &path, "--overwrite", "--shape", "(1, 2)", "--dtype", "i4", "--fill", "9"]);
    assert_eq!(lines(), "[9,9]");
    std::fs::remove_file(&path).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn what_cannot_grow_is_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let [path, npz] = ["f.npy", "a.npz"].map(|name| path_in(directory.path(), name));
    run_ok(["create", &path, "--shape", "(3, 2)", "--order", "F"]);
    run_ok(["convert", &path, &npz]);
    let output = npymap(["tail", "-f", &path]);
    assert!(
        output.code == Some(1) && output.err.contains("grows along its last axis"),
        "{}",
        output.err
    );
    let error = run_err(1, ["tail", "-f", &format!("{npz}[arr_0]")]);
    assert!(error.contains("no rows can be appended to a member"), "{error}");
}

#[test]
fn only_selections_that_grow_at_the_end_are_followed() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory, "a.npy");
    run_ok(["create", &path, "--shape", "5", "--dtype", "f8"]);
    for index in ["::-1", "-3:", "-1", "2", "[0, -1]", "None"] {
        let error = run_err(2, ["tail", "-f", &path, index]);
        assert!(error.contains("needs a slice"), "{index}: {error}");
    }
    assert!(run_err(2, ["tail", "-f", "-"]).contains("streams and URLs cannot be followed"));
}

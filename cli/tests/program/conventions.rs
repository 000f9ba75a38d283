//! Completions, manual pages, colours and digits.

use std::fs;

use crate::run::{copy_penguins, npymap, path_in, run_err, run_ok};

/// All commands, as the help lists them.
fn commands() -> Vec<String> {
    let help = run_ok(["--help"]);
    let listed = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names =
        listed.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn completions_name_all_commands() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = run_ok(["completions", shell]);
        for command in commands() {
            assert!(script.contains(&command), "{shell}: {command}");
        }
        assert!(script.contains("max-header-len"), "{shell}");
    }
    assert_eq!(npymap(["completions", "ksh"]).code, Some(2));
}

#[test]
fn options_of_all_commands_may_come_before_or_after_the_command() {
    let directory = tempfile::tempdir().unwrap();
    let [rows, text, one, two, archive] = ["rows.npy", "rows.csv", "one.npy", "two.npy", "a.npz"]
        .map(|name| path_in(&directory, name));
    let lines: Vec<_> = (0..40_000).map(|at| format!("{:012}\n", at * 7919 % 40_009)).collect();
    fs::write(&text, lines.concat()).unwrap();
    run_ok(["--threads", "1", "convert", "--dtype", "|S12", &text, &one]);
    run_ok(["convert", "--dtype", "|S12", &text, &rows, "--threads", "3"]);
    assert!(fs::read(&one).unwrap() == fs::read(&rows).unwrap());
    fs::remove_file(&one).unwrap();
    run_ok(["sort", &rows, &one, "--threads", "1"]);
    run_ok(["--threads", "2", "sort", &rows, &two]);
    assert!(fs::read(&one).unwrap() == fs::read(&two).unwrap());
    run_ok(["npz", "pack", &rows, "-o", &archive]);
    for before in [true, false] {
        let (limit, command) = (["--max-header-len", "9"], ["info", &*archive]);
        let words = if before { [&limit[..], &command] } else { [&command[..], &limit] };
        let refusal = npymap(words.concat());
        assert!(refusal.err.contains("raise it with --max-header-len"), "{}", refusal.err);
        assert_eq!(refusal.code, Some(1));
    }
    run_ok(["concat", &one, &two, "-o", &rows, "--overwrite", "--axis", " 0"]);
}

#[test]
fn there_is_a_manual_page_for_each_command() {
    let directory = tempfile::tempdir().unwrap();
    let pages = path_in(directory.path(), "share/man/man1");
    run_ok(["man", &pages]);
    for command in commands() {
        let text = fs::read_to_string(path_in(&pages, &format!("npymap-{command}.1"))).unwrap();
        assert!(
            text.contains(".SH NAME") && text.contains(&format!("npymap\\-{command}")),
            "{text}"
        );
    }
    let text = fs::read_to_string(path_in(&pages, "npymap-npz-extract.1")).unwrap();
    assert!(text.contains("keep\\-going") && text.contains("Exit status"), "{text}");
    assert!(fs::read_to_string(path_in(&pages, "npymap.1")).unwrap().contains("npymap\\-stats(1)"));
}

#[test]
fn colours_are_chosen() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_penguins(directory.path());
    let path = path.to_str().unwrap();
    for (color, is_coloured) in [("always", true), ("never", false), ("auto", false)] {
        for arguments in [
            &["head", path, "--color", color][..],
            &["--color", color, "info", path],
            &["stats", "--help", "--color", color],
            &["get", path, "-1", "--color", color, "--nonsense"],
            &["get", path, "500", &format!("--color={color}")],
        ] {
            let output = npymap(arguments);
            let text = output.out + &output.err;
            assert_eq!(text.contains('\u{1b}'), is_coloured, "{arguments:?}: {text:?}");
        }
    }
    assert_eq!(npymap(["info", path, "--color", "purple"]).code, Some(2));
}

#[test]
fn floats_have_as_many_digits_as_asked() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(directory.path(), "a.npy");
    run_ok(["create", &path, "--shape", "2", "--dtype", "[('x', '<f8'), ('n', '<i4')]"]);
    run_ok(["set", &path, "0", "(0.123456, 3)"]);
    run_ok(["set", &path, "1", "(1.5e-9, 3)"]);
    assert_eq!(
        run_ok(["get", "--precision", "3", &path, ":", "0.x"]),
        "[(0.123, 3), (1.5e-09, 3)]\n0.123\n"
    );
    assert!(run_ok(["head", &path, "--precision=2"]).contains(" 0.12 "));
    assert_eq!(run_ok(["get", "--precision", "3", "--json", &path, "0.x"]), "0.123456\n");
    assert_eq!(run_ok(["get", &path, "0.x"]), "0.123456\n");
}

#[test]
fn what_was_written_is_reported_as_json() {
    let directory = tempfile::tempdir().unwrap();
    let [a, b, c, npz, csv] =
        ["a.npy", "b.npy", "c.npy", "d.npz", "e.csv"].map(|name| path_in(directory.path(), name));
    for (arguments, path) in [
        (&["create", &a, "--shape", "(3, 2)", "--dtype", "<i4", "--json"][..], &a),
        (&["concat", &a, &a, "-o", &b, "--json"], &b),
        (&["convert", &a, &c, "--dtype", ">f8", "--json"], &c),
        (&["convert", &a, &npz, "--json"], &npz),
        (&["shuffle", &a, &b, "--overwrite", "--json"], &b),
    ] {
        let report = run_ok(arguments);
        assert_eq!(report, run_ok(["info", "--json", path]), "{arguments:?}");
    }
    let report = parsed(&run_ok(["convert", &a, &csv, "--json"]));
    assert_eq!(report, serde_json::json!({ "path": csv, "format": "csv", "nbytes": 12 }));
    let report = parsed(&run_ok(["append", &a, &b, "--json"]));
    assert_eq!(report, serde_json::json!({ "path": a, "appended": 3, "shape": [6, 2] }));
    let report = parsed(&run_ok(["set", &a, ":", "7", "--json"]));
    assert_eq!(report, serde_json::json!({ "path": a, "set": 12 }));
    for arguments in [
        &["convert", "--json", &a, "-"][..],
        &["create", "--json", "-", "--shape", "3"],
        &["concat", "--json", &a, "-o", "-"],
    ] {
        let refusal = run_err(2, arguments);
        assert!(refusal.contains("--json is for files"), "{refusal}");
    }
}

fn parsed(json: &str) -> serde_json::Value {
    serde_json::from_str(json).unwrap()
}

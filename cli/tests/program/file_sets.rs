//! Directories and quoted patterns are sets of files, in the order of their names.

use std::fs;

use crate::run::{npymap, path_in, run_err, run_ok};

/// Twelve arrays of one element, in two directories, and an archive.
fn arrays(directory: &tempfile::TempDir) -> String {
    let runs = path_in(directory, "runs");
    fs::create_dir_all(path_in(&runs, "more")).unwrap();
    for number in 1..=12 {
        let inner = if number == 11 { "more/" } else { "" };
        let path = path_in(&runs, &format!("{inner}part-{number}.npy"));
        run_ok(["create", &path, "--shape", "1", "--dtype", "i2", "--fill", &number.to_string()]);
    }
    fs::write(path_in(&runs, "notes.txt"), "not an array").unwrap();
    fs::write(path_in(&runs, ".part-0.npy"), "hidden").unwrap();
    fs::create_dir(path_in(&runs, "empty")).unwrap();
    runs
}

fn numbers(path: &str) -> String {
    run_ok(["get", path, ":", "--json"])
}

#[test]
fn arrays_are_joined_in_the_order_of_the_numbers_in_their_names() {
    let directory = tempfile::tempdir().unwrap();
    let runs = arrays(&directory);
    let out = path_in(&directory, "all.npy");
    fs::remove_file(path_in(&runs, ".part-0.npy")).unwrap();
    for (input, expected) in [
        ("", "[11,1,2,3,4,5,6,7,8,9,10,12]\n"),
        ("/part-*.npy", "[1,2,3,4,5,6,7,8,9,10,12]\n"),
        ("/part-[1-3].npy", "[1,2,3]\n"),
        ("/part-{12,2}.npy", "[2,12]\n"),
        ("/part-1?.npy", "[10,12]\n"),
        ("/**/*1.npy", "[11,1]\n"),
        ("/m*", "[11]\n"),
        ("/m*/*", "[11]\n"),
    ] {
        let input = format!("{runs}{input}");
        run_ok(["concat", &input, "-o", &out, "--overwrite"]);
        assert_eq!(numbers(&out), expected, "{input}");
    }
    run_ok(["append", &out, &format!("{runs}/part-1*.npy"), &format!("{runs}/more")]);
    assert_eq!(numbers(&out), "[11,1,10,12,11]\n");
    let refusal = run_err(1, ["concat", &format!("{runs}/x*"), "-o", &out, "--overwrite"]);
    assert!(refusal.contains("no file matches this pattern"), "{refusal}");
    let refusal = run_err(1, ["concat", &format!("{runs}/empty"), "-o", &out, "--overwrite"]);
    assert!(refusal.contains("without files of arrays"), "{refusal}");
}

#[test]
fn commands_that_take_several_files_take_sets() {
    let directory = tempfile::tempdir().unwrap();
    let runs = arrays(&directory);
    fs::remove_file(path_in(&runs, ".part-0.npy")).unwrap();
    let few = format!("{runs}/part-[1-3].npy");
    let each = [1, 2, 3].map(|number| path_in(&runs, &format!("part-{number}.npy")));
    for command in ["info", "stats", "ls"] {
        for options in [&[][..], &["--json"]] {
            let set = run_ok([command, &few].iter().chain(options));
            let one_by_one = [command].into_iter().chain(each.iter().map(String::as_str));
            assert_eq!(set, run_ok(one_by_one.chain(options.iter().copied())), "{command}");
        }
    }
    assert_eq!(run_ok(["info", "--json", &runs]).lines().count(), 12);
    assert_eq!(run_ok(["stats", "--json", &runs, ":1"]).lines().count(), 12);
    // Others are described after an error.
    let output =
        npymap(["info", "--json", &format!("{runs}/x*"), &each[0], &path_in(&runs, "empty")]);
    assert_eq!((output.out.lines().count(), output.code), (1, Some(1)), "{}", output.err);
    assert_eq!(output.err.lines().count(), 2, "{}", output.err);
    let output = npymap(["stats", &path_in(&runs, "empty"), &each[0]]);
    assert_eq!((output.out.is_empty(), output.code), (false, Some(1)), "{}", output.err);

    let [npz, other] = ["a.npz", "b.npz"].map(|name| path_in(&directory, name));
    run_ok(["npz", "pack", &few, "-o", &npz]);
    run_ok(["npz", "pack", &runs, "-o", &other]);
    let listed = |path| -> Vec<String> {
        let listed = run_ok(["ls", "--json", path]);
        let member = |line: &str| line.split('"').nth(7).unwrap().to_owned();
        listed.lines().map(member).collect()
    };
    assert_eq!(listed(&npz), ["part-1", "part-2", "part-3"]);
    assert_eq!(listed(&other)[..3], ["more/part-11", "part-1", "part-2"]);
    run_ok(["npz", "verify", &path_in(&directory, "*.npz")]);
    let members = run_ok(["info", "--json", &path_in(&directory, "*.npz[part-1]")]);
    assert_eq!(members.lines().count(), 2, "{members}");
    run_ok(["npz", "add", &npz, &format!("{runs}/part-{{4,5}}.npy")]);
    assert_eq!(listed(&npz).len(), 5);
}

#[test]
fn sets_are_compared_by_names() {
    let directory = tempfile::tempdir().unwrap();
    let runs = arrays(&directory);
    let others = path_in(&directory, "others");
    fs::create_dir(&others).unwrap();
    for number in [1, 2, 10] {
        let name = format!("part-{number}.npy");
        fs::copy(path_in(&runs, &name), path_in(&others, &name)).unwrap();
    }
    run_ok(["set", &path_in(&others, "part-2.npy"), "0", "7"]);
    let patterns = [&runs, &others].map(|root| format!("{root}/part-[12]*.npy"));
    let output = npymap(["diff", "--json", &patterns[0], &patterns[1]]);
    let names: Vec<_> = output.out.lines().map(|line| line.contains("\"equal\":true")).collect();
    assert_eq!((names, output.code), (vec![true, false, true, false], Some(1)), "{}", output.out);
    let refusal = run_err(2, ["diff", &runs, &path_in(&runs, "part-1.npy")]);
    assert!(refusal.contains("is one file, and the other argument a set"), "{refusal}");
}

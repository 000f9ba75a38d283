//! New files are named by `-o`, or by the last argument of commands with one input.

use std::fs;

use crate::run::{copy_penguins, path_in, run_err, run_ok};

#[test]
fn an_output_is_an_option_or_the_last_argument() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_penguins(directory.path());
    let path = path.to_str().unwrap();
    let archive = path_in(&directory, "archive.npz");
    run_ok(["npz", "pack", path, "-o", &archive]);
    let [one, other] = ["one.npy", "other.npy"].map(|name| path_in(&directory, name));
    let [npz, other_npz] = ["one.npz", "other.npz"].map(|name| path_in(&directory, name));
    for (arguments, one, other) in [
        (&["convert", path, "--order", "F"][..], &one, &other),
        (&["shuffle", path, "--seed", "2"], &one, &other),
        (&["create", "--shape", "3, 4", "--arange"], &one, &other),
        (&["npz", "recover", &archive], &npz, &other_npz),
    ] {
        let command = arguments.join(" ");
        run_ok(arguments.iter().chain(&[one.as_str(), "--overwrite"]));
        run_ok(arguments.iter().chain(&["-o", other, "--overwrite"]));
        assert_eq!(fs::read(one).unwrap(), fs::read(other).unwrap(), "{command}");
        let long = one.replace("one", "long");
        run_ok(arguments.iter().chain(&[&format!("--output={long}")[..], "--overwrite"]));
        assert_eq!(fs::read(one).unwrap(), fs::read(&long).unwrap(), "{command}");
        run_err(2, arguments);
        run_err(2, arguments.iter().chain(&[one.as_str(), "-o", other, "--overwrite"]));
    }
}

#[test]
fn one_member_is_extracted_to_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let [x, npz, out] = ["x.npy", "a.npz", "out.npy"].map(|name| path_in(&directory, name));
    run_ok(["create", &x, "--shape", "3", "--arange"]);
    run_ok(["npz", "pack", &x, &x, "--name", "x", "--name", "../y", "-o", &npz, "--deflate"]);
    let said = run_ok(["npz", "extract", &npz, "x", "-o", &out]);
    assert_eq!(said, format!("{npz}: 1 member extracted\n"));
    assert_eq!(fs::read(&out).unwrap(), fs::read(&x).unwrap());
    assert!(run_err(1, ["npz", "extract", &npz, "x", "-o", &out]).contains("already exists"));
    // A name that points outside does not matter if the file is named.
    run_ok(["npz", "extract", &npz, "../y", "-o", &out, "--overwrite", "--json"]);
    for (arguments, code, reason) in [
        (&["-o", &out][..], 2, "name one after the file"),
        (&["x", "../y", "-o", &out], 2, "name one after the file"),
        (&["x", "-o", &out, "-d", "."], 2, "cannot be used with"),
        (&["z", "-o", &out], 1, "z"),
        (&["x", "-o", "x.csv"], 1, "use the extension .npy"),
        (&["x", "-o", "-", "--json"], 2, "--json is for files"),
    ] {
        let refusal = run_err(code, ["npz", "extract", &npz].iter().chain(arguments));
        assert!(refusal.contains(reason), "{refusal}");
    }
    // A member that is damaged leaves no file.
    let mut bytes = fs::read(&npz).unwrap();
    bytes[100] ^= 1;
    fs::write(&npz, bytes).unwrap();
    fs::remove_file(&out).unwrap();
    run_err(1, ["npz", "extract", &npz, "x", "-o", &out]);
    assert!(!fs::exists(&out).unwrap());
}

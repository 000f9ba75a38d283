//! Messages name options and commands of the program; colours follow the
//! environment.

use std::fs;

use crate::run::{copy_penguins, data, npymap, path_in, run_err, run_ok};

#[test]
fn errors_suggest_options_and_commands() {
    let directory = tempfile::tempdir().unwrap();
    let long = data().join("numpy-2.4.6/header-3000-fields.npy");
    let refusal = run_err(1, ["head", long.to_str().unwrap()]);
    assert!(refusal.contains("raise it with --max-header-len if"), "{refusal}");
    let path = copy_penguins(directory.path());
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let path = path.to_str().unwrap();
    let refusal = run_err(1, ["stats", path]);
    assert!(
        refusal.ends_with("`npymap recover` keeps the complete rows of a .npy file\n"),
        "{refusal}"
    );
    let output = crate::run::npymap(["info", "--json", path]);
    assert!(output.out.contains("`npymap recover`") && output.err.contains("`npymap recover`"));
    run_ok(["recover", path]);
    let refusal = run_err(1, ["npz", "extract", path]);
    assert!(!refusal.contains("MappedArray"), "{refusal}");
}

#[test]
fn advice_fits_the_format() {
    let directory = tempfile::tempdir().unwrap();
    let array = copy_penguins(directory.path());
    let [raw, ten, zip, tar] =
        ["a.bin", "k.ten", "p.npz", "w.tar"].map(|name| path_in(&directory, name));
    fs::write(&raw, "").unwrap();
    let refusal = run_err(1, ["info", "--raw", "u1", &raw]);
    assert_eq!(refusal, format!("error: {raw}: is empty, so there is nothing to map\n"));
    fs::write(&raw, "abc").unwrap();
    let refusal = run_err(1, ["info", &raw, "--raw", "f8", "--shape", "(4,)"]);
    assert!(refusal.contains("the complete rows of a .npy file"), "{refusal}");
    let mut builder = tar::Builder::new(fs::File::create(&tar).unwrap());
    for (path, name) in [(&ten, "k.ten"), (&zip, "p.npz")] {
        run_ok(["convert", array.to_str().unwrap(), path]);
        builder.append_path_with_name(path, name).unwrap();
    }
    builder.into_inner().unwrap();
    let refusal = run_err(1, ["get", &format!("{tar}[k.ten]"), "0"]);
    assert!(refusal.ends_with("FILE.ten[0] or FILE.tar[MEMBER.ten[0]]\n"), "{refusal}");
    run_ok(["get", &format!("{tar}[k.ten[0]]"), "0"]);
    let zipped = format!("{tar}[p.npz]");
    for arguments in [&["get", &zipped, "0"][..], &["header", &zip]] {
        let refusal = run_err(1, arguments);
        assert!(refusal.ends_with("FILE.tar[MEMBER.npz[KEY]], or unpack it first\n"), "{refusal}");
    }
    run_ok(["get", &format!("{tar}[p.npz[arr_0]]"), "0"]);
}

#[test]
fn urls_of_files_are_opened_and_other_schemes_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let array = copy_penguins(directory.path());
    let array = array.to_str().unwrap();
    let path = array.replace('\\', "/");
    let url = format!("file://{}{path}", if cfg!(windows) { "/" } else { "" });
    assert_eq!(run_ok(["get", &url, "0"]), run_ok(["get", array, "0"]));
    for arguments in [&["info", "ftp://h/a.npy"][..], &["get", "hdfs://h/a.npy", "0"]] {
        let refusal = run_err(1, arguments);
        assert!(refusal.contains("a URL of the scheme '"), "{refusal}");
        assert!(
            refusal.ends_with(", expected file://, s3://, gs://, az://, http:// or https://\n")
        );
    }
}

#[test]
fn a_wrong_file_in_the_right_place_names_the_way_out() {
    let directory = tempfile::tempdir().unwrap();
    let array = copy_penguins(directory.path());
    let array = array.to_str().unwrap();
    let [raw, zipped] = ["raw.npy", "a.npy.gz"].map(|name| path_in(&directory, name));
    fs::write(&raw, [0; 24]).unwrap();
    fs::write(&zipped, b"\x1f\x8b\x08 and more").unwrap();
    for (arguments, advice) in [
        (&["info", &raw][..], "--raw DTYPE reads raw elements\n"),
        (&["get", &raw, "0"], "--raw DTYPE reads raw elements\n"),
        (&["stats", "--raw", "V7", array], "the file has an NPY header: open it without --raw\n"),
        (&["head", &zipped], "`gzip -dc FILE | npymap COMMAND -` reads it\n"),
    ] {
        let refusal = run_err(1, arguments);
        assert!(refusal.ends_with(advice), "{refusal}");
    }
    let note = "the file has an NPY header, which is read as elements: omit --raw to open it\n";
    let elements = npymap(["head", "--raw", "f4", array]);
    assert!(elements.code == Some(0) && elements.err.ends_with(note), "{}", elements.err);
    run_ok(["stats", "--raw", "u1", array]);
    run_ok(["stats", "--raw", "f8", "--offset", "128", array]);
    run_ok(["get", &raw, "0", "--raw", "f8"]);
}

#[test]
fn a_time_difference_is_set_as_it_is_printed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("m.npy");
    let path = path.to_str().unwrap();
    for (dtype, text) in [
        ("<m8[ms]", "300 milliseconds"),
        (">m8[25s]", "-75 seconds"),
        ("<m8", "5 generic time units"),
    ] {
        run_ok(["create", path, "--overwrite", "--shape", "1", "--dtype", dtype]);
        run_ok(["set", path, "0", text]);
        assert_eq!(run_ok(["get", path, "0"]), format!("{text}\n"));
    }
    run_ok(["create", path, "--overwrite", "--shape", "1", "--dtype", "<m8[25s]"]);
    for text in ["80 seconds", "75 minutes", "x seconds", "1 2"] {
        run_err(1, ["set", path, "0", text]);
    }
}

/// The output of a command in a pseudoterminal, with an environment variable
/// set.
#[cfg(target_os = "linux")]
fn run_in_terminal(path: &std::path::Path, variable: &str, value: &str, command: &str) -> String {
    let command = format!("{} {command} {}", env!("CARGO_BIN_EXE_npymap"), path.display());
    let mut script = std::process::Command::new("script");
    script.args(["-qec", &command, "/dev/null"]);
    // Each of these enables or disables colours by itself.
    for other in ["CI", "CLICOLOR", "CLICOLOR_FORCE", "NO_COLOR"] {
        script.env_remove(other);
    }
    script.env("TERM", "xterm").env(variable, value);
    String::from_utf8(script.output().unwrap().stdout).unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn no_color_and_dumb_terminals_get_no_bold_text() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_penguins(directory.path());
    for command in ["head", "stats", "info", "diff /dev/null"] {
        for (variable, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
            let output = run_in_terminal(&path, variable, value, command);
            assert!(!output.is_empty() && !output.contains('\u{1b}'), "{command}: {output:?}");
        }
    }
    assert!(run_in_terminal(&path, "LANG", "C", "head").contains("\u{1b}[1m"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_report_that_cannot_be_printed_says_what_was_done() {
    use crate::run::command;

    let directory = tempfile::tempdir().unwrap();
    let [path, archive, to] = ["a.npy", "a.npz", "to"].map(|name| path_in(&directory, name));
    run_ok(["create", &path, "--shape", "3"]);
    run_ok(["npz", "pack", &path, "-o", &archive]);
    for (arguments, done) in [
        (&["set", &path, "0", "5"][..], "the elements were set"),
        (&["set", "--json", &path, ":", "6"], "the elements were set"),
        (&["header", &path, "--dtype", "i8"], "the header was changed"),
        (&["npz", "mv", &archive, "a", "b"], "the members were"),
        (&["npz", "extract", &archive, "-d", &to], "1 member extracted"),
        (&["recover", "--dry-run", &path], "nothing was changed"),
    ] {
        let full = fs::File::create("/dev/full").unwrap();
        let output = command().args(arguments).stdout(full).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {error}");
        assert!(error.contains(done) && error.contains("but cannot write"), "{error}");
    }
}

#[test]
fn options_that_change_nothing_are_wrong_usage() {
    let directory = tempfile::tempdir().unwrap();
    let [path, lines] = ["a.npy", "a.jsonl"].map(|name| path_in(&directory, name));
    run_ok(["create", &path, "--shape", "3"]);
    for arguments in [
        &["get", &path, ":", "--overwrite"][..],
        &["get", &path, ":", "--version", "2"],
        &["get", &path, ":", "--no-wait"],
        &["get", &path, "-o", "x.csv", "--version", "2"],
        &["sample", &path, "--overwrite"],
        &["convert", &path, &lines, "--no-header"],
        &["convert", &path, "-", "--json"],
        &["show", &path, "--log", "--range=-5,-1"],
        &["npz", "pack", &path, "-o", "p.npz", "--name", "x", "--name", "y"],
        &["tail", "-f", "-"],
    ] {
        run_err(2, arguments);
    }
    let error = run_err(1, ["get", &path, "-o", "x.png"]);
    assert!(error.contains("use .npy, .csv, .tsv, .jsonl, .json or .bin, or --format"), "{error}");
    let copy = path_in(&directory, "b.npy");
    run_ok(["get", &path, ":", "--version", "2", "-o", &copy]);
}

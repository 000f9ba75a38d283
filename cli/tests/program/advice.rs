//! Errors advise options that the command has, or that another command in backticks has.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::run::{data, is_thorough, npymap, path_in, run_ok};

/// Commands with a bad input (IN), a good array (OWN), an archive (ZIP), a new file (OUT), one
/// that exists (OLD), and a directory (TO).
const COMMANDS: [&[&str]; 34] = [
    &["info", "IN"],
    &["ls", "IN"],
    &["head", "IN"],
    &["tail", "IN"],
    &["tail", "IN", "-o", "OLD"],
    &["stats", "IN"],
    &["show", "IN", "-o", "OLD"],
    &["get", "IN", "0"],
    &["get", "OWN", "0", "-o", "OLD"],
    &["set", "IN", "0", "1.5"],
    &["set", "OWN", "0", "@IN"],
    &["header", "IN"],
    &["create", "OLD", "--shape", "2", "--dtype", "u1", "--fill", "1.5"],
    &["convert", "IN", "OUT"],
    &["convert", "OWN", "OLD"],
    &["npz", "add", "ZIP", "IN"],
    &["npz", "add", "IN", "OWN"],
    &["npz", "rm", "IN", "x"],
    &["npz", "mv", "IN", "x", "y"],
    &["npz", "pack", "IN", "-o", "OUT.npz"],
    &["npz", "extract", "IN", "-d", "TO"],
    &["npz", "extract", "ZIP", "own", "-o", "OLD"],
    &["npz", "verify", "IN"],
    &["npz", "recover", "IN", "-o", "OUT.npz"],
    &["diff", "OWN", "IN"],
    &["append", "OWN", "IN"],
    &["append", "IN", "OWN"],
    &["concat", "OWN", "IN", "-o", "OUT"],
    &["concat", "OWN", "OWN", "-o", "OLD"],
    &["recover", "IN"],
    &["sample", "IN", "-o", "OUT"],
    &["shuffle", "IN", "OUT"],
    &["sort", "IN", "OUT"],
    &["unique", "IN", "-o", "OUT"],
];

/// The options in a text.
fn options(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    words.filter(|word| word.len() > 3 && word.starts_with("--"))
}

/// The long options of commands, from their help.
#[derive(Default)]
struct Known(BTreeMap<String, BTreeSet<String>>);

impl Known {
    fn has(&mut self, command: &str, option: &str) -> bool {
        let known = self.0.entry(command.to_owned()).or_insert_with(|| {
            let help = run_ok(command.split(' ').chain(["--help"]));
            options(&help).map(str::to_owned).collect()
        });
        known.contains(option)
    }
}

/// The command that the words of a command line start with.
fn command_of(words: &[&str]) -> String {
    let count = if words[0] == "npz" { 2 } else { 1 };
    words[..count].join(" ")
}

#[test]
fn errors_advise_options_that_the_command_has() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| path_in(&directory, name);
    run_ok(["create", &file("own.npy"), "--shape", "(4, 2)", "--dtype", "u1"]);
    run_ok(["npz", "pack", &file("own.npy"), "-o", &file("zip.npz")]);
    run_ok(["create", &file("floats.npy"), "--shape", "(4, 2)", "--fill", "1.5"]);
    run_ok(["create", &file("one.npy"), "--shape", "5", "--dtype", "u1"]);
    let own = fs::read(file("own.npy")).unwrap();
    fs::write(file("raw.npy"), [7; 64]).unwrap();
    fs::write(file("short.npy"), &own[..own.len() - 1]).unwrap();
    fs::write(file("long.npy"), [&own[..], &[7; 5]].concat()).unwrap();
    fs::write(file("zipped.npy"), b"\x1f\x8b\x08 and more").unwrap();
    let zip = fs::read(file("zip.npz")).unwrap();
    fs::write(file("cut.npz"), &zip[..zip.len() - 9]).unwrap();
    let header = data().join("numpy-2.4.6/header-3000-fields.npy");
    fs::copy(header, file("header.npy")).unwrap();
    let inputs = ["raw.npy", "floats.npy", "long.npy", "header.npy", "short.npy", "zipped.npy"];
    let inputs = [&inputs[..], &["cut.npz", "zip.npz", "one.npy", "none.npy"]].concat();
    let mut known = Known::default();
    let (mut advised, mut wrong) = (0, Vec::new());
    for (words, number) in COMMANDS.iter().zip(0..) {
        for (input, at) in inputs.iter().zip(0..) {
            if !is_thorough() && (number + at) % 5 > 0 {
                continue;
            }
            fs::write(file("own.npy"), &own).unwrap();
            fs::write(file("zip.npz"), &zip).unwrap();
            fs::write(file("old.npy"), [&own[..], &[7; 4]].concat()).unwrap();
            let named = |word: &&str| match *word {
                "IN" => file(input),
                "@IN" => format!("@{}", file(input)),
                "OWN" => file("own.npy"),
                "ZIP" => file("zip.npz"),
                "OLD" => file("old.npy"),
                "TO" => file("to"),
                "OUT" => file("out.npy"),
                "OUT.npz" => file("out.npz"),
                word => word.to_owned(),
            };
            let bytes = fs::read(file(input)).ok();
            let run = npymap(words.iter().map(named));
            let command = command_of(words);
            for (part, is_quoted) in run.err.split('`').zip([false, true].into_iter().cycle()) {
                let other: Vec<&str> = part.split(' ').skip(1).collect();
                let is_other = is_quoted && part.starts_with("npymap ");
                let command = if is_other { command_of(&other) } else { command.clone() };
                for option in options(part) {
                    advised += 1;
                    if command != "COMMAND" && !known.has(&command, option) {
                        wrong.push(format!("{words:?} {input}: {option}: {}", run.err));
                    }
                }
            }
            if let Some(bytes) = bytes {
                fs::write(file(input), bytes).unwrap();
            }
            for new in ["out.npy", "out.npz"] {
                let _ = fs::remove_file(file(new));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(advised > 10, "{advised}");
}

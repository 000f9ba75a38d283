//! Names of files and members, and arguments, never control the terminal: in
//! the output and the errors of every command.
#![cfg(unix)]

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

use crate::run::{command, is_quick, path_in, run_ok, shortened, size};

/// Escape sequences, a new line, controls of the direction of text and invisible
/// characters.
const NASTY: &str =
    "a\u{1b}[2J\u{1b}]0;t\u{7}\u{9b}1m\nFAKE \u{202e}b\u{200b}\u{2066}\u{feff}\u{2028}";

/// Names of files: text, bytes that are not UTF-8, and a long name.
fn names() -> Vec<OsString> {
    let bytes = [b"\xff\xfe\x1b[1m".as_slice(), NASTY.as_bytes()].concat();
    vec![NASTY.into(), OsString::from_vec(bytes), "l".repeat(240).into()]
}

/// Runs the program, which must neither panic nor print a control character
/// other than the ends of its lines.
#[track_caller]
fn is_safe<A: AsRef<OsStr>>(arguments: &[A]) {
    let output = command().args(arguments).output().unwrap();
    let shown: Vec<_> = arguments.iter().map(|argument| argument.as_ref().to_owned()).collect();
    assert!(matches!(output.status.code(), Some(0..=2)), "{shown:?}: {output:?}");
    for text in [output.stdout, output.stderr] {
        let text = String::from_utf8(text).unwrap();
        let found = text.chars().find(|&c| {
            (c.is_control() && c != '\n')
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        });
        assert_eq!(found, None, "{shown:?}: {text:?}");
        assert!(!text.lines().any(|line| line.starts_with("FAKE")), "{shown:?}: {text}");
    }
}

/// Arguments with the words of a command, in which `F` is a file, `O` a new
/// file and `X` text.
fn arguments(words: &str, file: &OsStr, new: &OsStr, text: &OsStr) -> Vec<OsString> {
    let words = words.split(' ').map(|word| match word {
        "F" => file.to_owned(),
        "O" => new.to_owned(),
        "X" => text.to_owned(),
        "F[X]" => [file, OsStr::new("["), text, OsStr::new("]")].into_iter().collect(),
        "@F" => [OsStr::new("@"), file].into_iter().collect(),
        "0.X" => [OsStr::new("0."), text].into_iter().collect(),
        _ => word.into(),
    });
    words.collect()
}

/// Commands that only read.
const READING: &[&str] = &[
    "info F",
    "info F F",
    "info --json F",
    "info --header F",
    "info --digest F",
    "info F[X]",
    "head F",
    "head F X",
    "head F 0.X",
    "head F[X]",
    "tail F",
    "tail F X",
    "tail -f F[X]",
    "stats F",
    "stats --json F",
    "stats F X",
    "get F 0",
    "get F X",
    "get F 0.X",
    "get --json F[X] 0",
    "sample F",
    "sample F[X]",
    "diff F F",
    "diff F /dev/null",
    "diff F[X] F",
    "info --raw u1 F",
    "info F --raw X",
    "recover --dry-run F",
    "recover F[X]",
    "header F",
    "header F --dtype X",
    "header F --shape X",
    "header F[X]",
    "npz verify F",
    "npz verify --json F",
    "npz extract F X --directory O",
    "completions X",
    "completions --members F[",
    "X",
    "--X",
    "info --X",
    "info F --X=X",
    "get",
    "set F 0 X",
    "set F X 1",
    "set F 0 @F",
    "set F 0.X 1",
    "append F F[X]",
    "append F[X] F",
    "convert F[X] O",
    "convert F X",
    "create F --shape 3",
    "create O --shape X",
    "create O --shape 3 --dtype X",
    "create O --shape 3 --fill X",
    "create O --shape 3 --arange=X",
    "concat F F[X] -o O",
    "shuffle F[X] O",
    "man F",
    "npz add F F",
    "npz add F X --name X",
    "npz rm F X",
    "npz mv F X X",
    "npz pack F[X] -o O",
    "npz pack X -o F",
    "ls F",
    "ls --json F",
    "ls -r F",
    "ls F[X]",
    "ls X",
    "stats F F",
    "stats F[X]",
    "diff F F --match X",
    "npz recover F -o O",
    "concat F -o X",
    "info F --color X",
    "info F --precision X",
];

/// All commands; if tests are shortened, those from one of them on that `shortened`
/// keeps.
fn some_of<'a>(commands: &'a [&'a str], from: usize) -> impl Iterator<Item = &'a str> + use<'a> {
    let from = if is_quick() { from } else { 0 };
    shortened(commands.iter().copied().skip(from))
}

/// All commands for number 0, and a third of them for each other one, others for the next
/// number, unless nothing is left out.
fn chosen<'a>(commands: &'a [&'a str], number: usize) -> impl Iterator<Item = &'a str> {
    let step = if number == 0 { 1 } else { size(1, 3, 1) };
    some_of(commands, number).skip(number % step).step_by(step)
}

/// Commands that write a file, whose name is new.
const WRITING: &[&str] = &[
    "create O --shape 3",
    "convert F O",
    "concat F F -o O",
    "shuffle F O",
    "sample F -n 2 -o O",
    "set F 0 1",
    "append F F",
    "header F --shape -1",
    "man O",
];

#[test]
fn names_of_files_are_escaped_by_every_command() {
    for (number, name) in names().iter().enumerate() {
        let directory = tempfile::tempdir().unwrap();
        let file =
            directory.path().join([name, OsStr::new(".npy")].into_iter().collect::<OsString>());
        if let Err(error) = fs::write(&file, "") {
            eprintln!("nothing was tested with this name: {error}");
            continue;
        }
        fs::remove_file(&file).unwrap();
        is_safe(&[OsStr::new("create"), file.as_os_str(), "--shape=6".as_ref()]);
        assert!(file.exists());
        let new =
            directory.path().join([name, OsStr::new("2.npy")].into_iter().collect::<OsString>());
        for words in chosen(READING, number) {
            is_safe(&arguments(words, file.as_os_str(), new.as_os_str(), name));
        }
        for words in chosen(WRITING, number) {
            let _ = fs::remove_file(&new);
            is_safe(&arguments(words, file.as_os_str(), new.as_os_str(), name));
        }
        // Files that do not exist, in directories that do not exist.
        let missing = new.join("missing.npy");
        for words in chosen(READING, number + 3).chain(chosen(WRITING, number + 3)) {
            is_safe(&arguments(words, missing.as_os_str(), missing.as_os_str(), name));
        }
        if number == 0 {
            let long = "x".repeat(10_000);
            for words in chosen(READING, 0).chain(chosen(WRITING, 0)) {
                is_safe(&arguments(words, long.as_ref(), long.as_ref(), long.as_ref()));
            }
        }
    }
}

#[test]
fn names_of_members_are_escaped_by_every_command() {
    let directory = tempfile::tempdir().unwrap();
    let npy = path_in(directory.path(), "w.npy");
    run_ok(["create", &npy, "--shape", "3"]);
    let long = "m".repeat(10_000);
    for (number, name) in [NASTY, &long].into_iter().enumerate() {
        let npz = directory.path().join("a.npz");
        write_zip(&npz, name.as_bytes(), &fs::read(&npy).unwrap());
        let new = directory.path().join("new.npz");
        let mut commands = READING.to_vec();
        commands.extend([
            "npz verify F",
            "npz recover F -o O",
            "npz extract F --directory O",
            "npz mv F X other",
            "npz mv F other X",
            "npz add F F",
            "npz add F F --name X",
            "npz rm F X",
            "convert F O",
            "diff F F",
            "npz pack F -o O",
            "set F[X] 0 1",
            "head F[X]",
            "stats F",
            "concat F[X] F[X] -o O",
            "info F",
            "tail F",
        ]);
        for words in chosen(&commands, number) {
            write_zip(&npz, name.as_bytes(), &fs::read(&npy).unwrap());
            let _ = fs::remove_file(&new);
            let _ = fs::remove_dir_all(&new);
            is_safe(&arguments(
                words,
                npz.as_os_str(),
                new.as_os_str(),
                OsStr::from_bytes(name.as_bytes()),
            ));
        }
    }
}

/// Writes an archive with two members of these bytes: one has the name, the
/// other is damaged.
fn write_zip(path: &Path, name: &[u8], data: &[u8]) {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    let other = [name, b"2"].concat();
    for (name, crc) in [(name, crc32(data)), (&other, 1)] {
        let size = u32::try_from(data.len()).unwrap().to_le_bytes();
        let len = u16::try_from(name.len()).unwrap().to_le_bytes();
        let start = u32::try_from(bytes.len()).unwrap().to_le_bytes();
        // UTF-8, stored, a date, CRC-32 and sizes.
        let common = [
            &[20, 0, 0, 8, 0, 0, 0, 0, 33, 0][..],
            &crc.to_le_bytes(),
            &size,
            &size,
            &len,
            &[0, 0],
        ]
        .concat();
        bytes.extend([b"PK\x03\x04", &common[..], name, data].concat());
        directory.extend([b"PK\x01\x02\x14\x00", &common[..], &[0; 10], &start, name].concat());
    }
    let [len, start] =
        [directory.len(), bytes.len()].map(|n| u32::try_from(n).unwrap().to_le_bytes());
    bytes.extend(directory);
    bytes.extend([b"PK\x05\x06\0\0\0\0\x02\0\x02\0", &len[..], &start, &[0, 0]].concat());
    fs::write(path, bytes).unwrap();
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ if crc & 1 == 1 { 0xEDB8_8320 } else { 0 }
        })
    })
}

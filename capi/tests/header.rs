//! Checks that `npymap.h` is current, and that unsafe blocks are in one file.
//!
//! `NPYMAP_WRITE=1 cargo test --manifest-path capi/Cargo.toml` writes the header.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The files of the interface, in the order of the header.
const FILES: [&str; 13] = [
    "status",
    "api/error",
    "api/open",
    "api/info",
    "api/element",
    "api/index",
    "api/rows",
    "api/paging",
    "api/archive",
    "api/save",
    "api/append",
    "api/ragged",
    "objects",
];

/// The objects that only C knows by name.
const OBJECTS: &str = "
/// An open array: a mapped file, a member of an archive, or memory.
pub struct Array {}
/// An open file with any number of arrays.
pub struct Archive {}
/// A `.npy` file to which rows are appended, or the two files of a ragged array, locked
/// against other writers.
pub struct Appender {}
";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// The source of a file as C sees it: our pointer types are pointers.
fn as_seen_by_c(name: &str) -> String {
    if name == "objects" {
        return OBJECTS.to_owned();
    }
    let source = fs::read_to_string(root().join(format!("src/{name}.rs"))).unwrap();
    let mut text = source;
    for (ours, pointer) in [("Handle<", "*mut "), ("Out<", "*mut "), ("In<", "*const ")] {
        while let Some(start) = text.find(ours) {
            let inner = start + ours.len();
            let close = inner + text[inner..].find('>').unwrap();
            text =
                format!("{}{pointer}{}{}", &text[..start], &text[inner..close], &text[close + 1..]);
        }
    }
    text
}

/// The header as it should be, generated once for all tests: they run at the same time,
/// and it takes a folder.
static GENERATED: LazyLock<String> = LazyLock::new(generate);

fn generate() -> String {
    let folder = std::env::temp_dir().join(format!("npymap-header-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let config = cbindgen::Config::from_file(root().join("cbindgen.toml")).unwrap();
    let mut builder = cbindgen::Builder::new().with_config(config);
    for name in FILES {
        let path = folder.join(name.replace('/', "_") + ".rs");
        fs::write(&path, as_seen_by_c(name)).unwrap();
        builder = builder.with_src(path);
    }
    let mut header = Vec::new();
    builder.generate().unwrap().write(&mut header);
    fs::remove_dir_all(folder).unwrap();
    String::from_utf8(header).unwrap()
}

#[test]
fn the_header_is_current() {
    let (path, new) = (root().join("include/npymap.h"), GENERATED.as_str());
    if std::env::var_os("NPYMAP_WRITE").is_some() {
        fs::write(&path, new).unwrap();
    }
    let old = fs::read_to_string(path).unwrap();
    let different = old.lines().zip(new.lines()).position(|(old, new)| old != new);
    assert!(
        old == new,
        "npymap.h differs from line {:?} on: NPYMAP_WRITE=1 cargo test --manifest-path capi/Cargo.toml",
        different.map(|line| line + 1)
    );
}

#[test]
fn unsafe_blocks_are_in_one_file() {
    let folders = [root().join("src"), root().join("src/api")];
    for entry in folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()) {
        let path = entry.unwrap().path();
        if path.is_file() && !path.ends_with("boundary.rs") {
            let text = fs::read_to_string(&path).unwrap();
            assert!(!text.contains("unsafe {"), "{} has an unsafe block", path.display());
        }
    }
}

#[test]
fn names_have_the_prefix() {
    for line in GENERATED.lines() {
        if let Some(name) = line.strip_prefix("#define ") {
            assert!(name.starts_with("NPYMAP_"), "{line}");
        }
    }
}

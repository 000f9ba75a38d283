//! `cli/JSON.md` has the keys of `--json`, and no others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::run::{copy_penguins, npymap, path_in, run_ok};

type Keys = BTreeSet<String>;

/// The commands and the keys of each section of the page.
fn sections() -> Vec<(Vec<String>, BTreeMap<String, String>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("JSON.md");
    let page = fs::read_to_string(path).unwrap().replace("\r\n", "\n");
    let mut found = Vec::new();
    for section in page.split("\n## ").skip(1) {
        let heading = section.lines().next().unwrap();
        let commands = heading.split(", ").map(|name| name.trim_matches('`').to_owned());
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
        let types = rows.map(|(key, rest)| {
            (key.to_owned(), rest.split(" | ").next().unwrap_or_default().to_owned())
        });
        found.push((commands.collect(), types.collect()));
    }
    found
}

/// Checks the keys of an object, and the types of their values, and adds those found.
fn check(found: &mut Keys, documented: &BTreeMap<String, String>, before: &str, object: &Value) {
    for (key, value) in object.as_object().unwrap() {
        let key = format!("{before}{key}");
        let types = documented.get(&key);
        let types = types.unwrap_or_else(|| panic!("{key} is not documented: {object}"));
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "list",
            Value::Object(_) => "object",
        };
        assert!(types.contains(kind) || types == "value", "{key} is {types}: {object}");
        match value {
            // Its keys are the quantiles.
            Value::Object(_) if key == "quantiles" => {}
            Value::Object(_) => check(found, documented, &format!("{key}."), value),
            Value::Array(items) => {
                let objects = items.iter().filter(|item| item.is_object());
                objects.for_each(|item| check(found, documented, &format!("{key}."), item));
            }
            _ => {}
        }
        found.insert(key);
    }
}

/// Makes arrays and archives, some of them damaged.
fn prepare(directory: &tempfile::TempDir) {
    let path = |name: &str| path_in(directory, name);
    copy_penguins(directory.path());
    run_ok(["create", &path("a.npy"), "--shape", "4", "--arange"]);
    run_ok(["create", &path("b.npy"), "--shape", "4", "--dtype", "i4"]);
    run_ok(["create", &path("nan.npy"), "--shape", "4", "--fill", "nan"]);
    run_ok(["create", &path("c.npy"), "--shape", "2", "--dtype", "[('x', 'f4'), ('t', 'M8[s]')]"]);
    run_ok(["npz", "pack", &path("a.npy"), &path("b.npy"), "-o", &path("a.npz")]);
    run_ok(["npz", "pack", &path("a.npy"), &path("c.npy"), "-o", &path("b.npz")]);
    run_ok(["convert", &path("a.npz"), &path("a.ten")]);
    let mut bytes = fs::read(path("a.npz")).unwrap();
    let elements = bytes.windows(8).position(|part| *part == 3_f64.to_le_bytes()).unwrap();
    bytes[elements] ^= 1;
    fs::write(path("damaged.npz"), bytes).unwrap();
    fs::write(path("none.npz"), b"no archive").unwrap();
    // A row that its writer did not count.
    let mut bytes = fs::read(path("a.npy")).unwrap();
    bytes.extend(5_f64.to_le_bytes());
    fs::write(path("longer.npy"), bytes).unwrap();
    fs::create_dir_all(path("set/inner")).unwrap();
    fs::copy(path("a.npz"), path("set/a.npz")).unwrap();
}

/// The objects that a command prints.
fn objects(directory: &tempfile::TempDir, line: &str) -> Vec<Value> {
    let root = directory.path().to_str().unwrap();
    let words = line.split(' ').map(|word| word.replace('@', &format!("{root}/")));
    let output = npymap(words.chain(["--json".to_owned()]));
    assert!(!output.out.is_empty(), "{line}: {}", output.err);
    output.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

const JOBS: &str = "\
info @a.npy @a.npz @a.ten @longer.npy @none.npz --digest
info @a.npy --raw u1
ls @set
ls @set/*.npz
create @new.npy --shape 3
convert @a.npy @new.csv
concat @a.npy @a.npy -o @joined.npy
shuffle @a.npy -o @shuffled.npy
sort @a.npy -o @sorted.npy
unique @a.npy -o @unique.npy --counts
stats @a.npy @a.npz @c.npy --std --hist=2 --quantiles=0.5
stats @penguins.npy --axis 0
stats @nan.npy --fail-on nan
diff @a.npy @b.npy
diff @a.npy @c.npy
diff @a.npz @b.npz
append @joined.npy @a.npy
set @joined.npy 0 7
header @joined.npy --shape 3,4 --dry-run
recover @longer.npy --dry-run
npz add @b.npz @penguins.npy
npz mv @b.npz penguins p
npz rm @b.npz p
npz pack @a.npy -o @packed.npz
npz extract @a.npz b -o @b2.npy
npz verify @damaged.npz @none.npz
npz recover @damaged.npz -o @mended.npz";

#[test]
fn the_page_has_the_keys_of_every_command() {
    let directory = tempfile::tempdir().unwrap();
    prepare(&directory);
    let sections = sections();
    let mut found: Vec<Keys> = vec![Keys::new(); sections.len()];
    let mut unused: BTreeSet<&String> = sections.iter().flat_map(|(names, _)| names).collect();
    for job in JOBS.lines() {
        let is_of = |name: &String| job.starts_with(&format!("{name} "));
        let number = sections.iter().position(|(names, _)| names.iter().any(is_of)).unwrap();
        unused.retain(|name| !is_of(name));
        for object in objects(&directory, job) {
            check(&mut found[number], &sections[number].1, "", &object);
        }
    }
    assert_eq!(unused, BTreeSet::new());
    for ((names, documented), found) in sections.iter().zip(&found) {
        let documented: Keys = documented.keys().cloned().collect();
        let missing: Vec<_> = documented.difference(found).collect();
        // No member of these files is text.
        let missing: Vec<_> = missing.into_iter().filter(|key| *key != "array").collect();
        assert!(missing.is_empty(), "{names:?} do not print {missing:?}");
    }
}

#[test]
fn every_command_with_json_is_on_the_page() {
    let sections = sections();
    let known: Vec<&String> = sections.iter().flat_map(|(names, _)| names).collect();
    let grammar = Path::new(env!("CARGO_MANIFEST_DIR")).join("GRAMMAR.md");
    let grammar = fs::read_to_string(grammar).unwrap();
    let rule = grammar.lines().find_map(|line| line.strip_suffix(". `--json`")).unwrap();
    let column: usize = rule.parse().unwrap();
    let rows = grammar.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    for (command, cells) in rows {
        let has_json = cells.split('|').nth(column).is_some_and(|cell| cell.contains('●'));
        let prints_elements = ["get", "head", "tail", "sample"].contains(&command);
        let is_known = known.iter().any(|known| *known == command);
        assert_eq!(has_json && !prints_elements, is_known, "{command}");
    }
}

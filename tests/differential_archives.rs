//! Archives with inconsistent records, compared with Python's `zipfile`: npymap
//! rejects what it rejects. `COMPATIBILITY.md` lists archives that Python reads
//! and npymap rejects.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use npymap::Source;
use npymap::npz::Npz;
use serde_json::{Value, json};

use crate::handmade_archives::{inconsistent, valid};
use crate::oracle::{Oracle, hex};
use crate::random_zips::{archive, damage};
use crate::seeded::{Random, setting};
use crate::support::directory;

/// Parts of the errors for what is rejected although Python reads it.
const STRICTER: &[&str] = &[
    " but announces ",
    " members are on this disk",
    "a multi-disk archive",
    "the end record and the zip64 record differ",
    "the zip64 record is ",
    "a zip64 record of ",
    " does not end at byte ",
    "an empty archive whose directory starts ",
    "and no member precedes it",
    "the directory ends inside the record of a member",
    "the end record is outside the archive",
    "its extra fields in the directory have ",
    "its extra fields in the directory lack the announced size",
    "the extra fields of its header ",
    "its header and the directory differ ",
    " contains a NUL",
    " overlap the next member or the directory",
    "is on disk ",
    " give it another name",
    "a Unicode path field of the wrong length",
    "is followed by a member that the directory does not list",
    "is followed by an end record, which ",
    " bytes of no member",
    "byte 0 starts a member, but ",
    " starts a member or an end record that is not used",
    "other bytes before and after the archive, ",
    "two directories, at byte ",
    "its deflate stream ends after ",
    "is encrypted",
    "ends at byte ",
    " are stored as ",
    " can't be deflated to ",
    "it decompresses to ",
    "its compressed bytes are not a valid deflate stream",
];

/// Our result for an archive: an error, or each member's name with its bytes or
/// an error.
type Answer = Result<Vec<(String, Result<String, String>)>, String>;

fn ours(bytes: &[u8]) -> Answer {
    let npz = Npz::open(Source::bytes(bytes.to_vec())).map_err(|error| error.to_string())?;
    let members = npz.members().map(|member| {
        let mut content = Vec::new();
        let read = member.reader().map_err(|error| error.to_string());
        let read = read.and_then(|mut reader| {
            reader.read_to_end(&mut content).map_err(|error| error.to_string())
        });
        (member.full_name().to_owned(), read.map(|_| hex(&content)))
    });
    Ok(members.collect())
}

fn pythons(answer: &Value) -> Answer {
    if let Some(error) = answer["error"].as_str() {
        return Err(error.to_owned());
    }
    let members = answer["members"].as_array().unwrap().iter().map(|member| {
        let read = match member["bytes"].as_str() {
            Some(bytes) => Ok(bytes.to_owned()),
            None => Err(member["error"].as_str().unwrap().to_owned()),
        };
        (member["name"].as_str().unwrap().to_owned(), read)
    });
    Ok(members.collect())
}

/// Queries Python about archives.
fn ask(python: &mut Oracle, directory: &Path, archives: &[Vec<u8>]) -> Vec<Answer> {
    let paths = archives.iter().enumerate().map(|(at, bytes)| {
        let path = directory.join(format!("{at}.npz"));
        std::fs::write(&path, bytes).unwrap();
        path
    });
    let paths = paths.collect::<Vec<_>>();
    let answers = python.ask(&json!(["unzipped", paths]));
    answers.as_array().unwrap().iter().map(pythons).collect()
}

/// How often both read or both rejected an archive or member, and how often we
/// were stricter, by reason.
#[derive(Debug, Default)]
struct Counts {
    both_read: usize,
    both_refused: usize,
    stricter: BTreeMap<&'static str, usize>,
}

impl Counts {
    /// Compares one archive or member, or returns why the results disagree.
    fn compare<T: PartialEq + std::fmt::Debug>(
        &mut self,
        ours: &Result<T, String>,
        pythons: &Result<T, String>,
        is_same: impl FnOnce(&T, &T) -> bool,
    ) -> Result<(), String> {
        match (ours, pythons) {
            (Ok(a), Ok(b)) if is_same(a, b) => self.both_read += 1,
            (Ok(a), Ok(b)) => return Err(format!("{a:?} is not {b:?}")),
            (Err(_), Err(_)) => self.both_refused += 1,
            (Ok(_), Err(error)) => return Err(format!("is read, and Python says {error}")),
            (Err(error), Ok(_)) => {
                let Some(reason) = STRICTER.iter().find(|reason| error.contains(**reason)) else {
                    return Err(format!("is refused, and Python reads it: {error}"));
                };
                *self.stricter.entry(reason).or_default() += 1;
            }
        }
        Ok(())
    }

    fn archive(&mut self, ours: &Answer, pythons: &Answer) -> Result<(), String> {
        self.compare(ours, pythons, |a: &Vec<(String, _)>, b: &Vec<(String, _)>| {
            a.iter().map(|member| &member.0).eq(b.iter().map(|member| &member.0))
        })?;
        let (Ok(ours), Ok(pythons)) = (ours, pythons) else { return Ok(()) };
        for ((name, ours), (_, pythons)) in ours.iter().zip(pythons) {
            let compared = self.compare(ours, pythons, |a, b| a == b);
            compared.map_err(|problem| format!("[{name}] {problem}"))?;
        }
        Ok(())
    }
}

#[test]
fn archives_with_inconsistent_records_are_rejected() {
    let cases = inconsistent();
    for (what, bytes, expected, _) in &cases {
        let error = match ours(bytes) {
            Err(error) => error,
            Ok(members) => {
                let errors = members.into_iter().filter_map(|(_, read)| read.err());
                errors.collect::<Vec<_>>().join("; ")
            }
        };
        assert_eq!(error, *expected, "{what}");
    }
    let Some(mut python) = Oracle::start("archives.py") else { return };
    let directory = directory();
    let archives: Vec<_> = cases.iter().map(|(_, bytes, _, _)| bytes.clone()).collect();
    let answers = ask(&mut python, directory.path(), &archives);
    let mut unexplained = Vec::new();
    for ((what, _, text, refuses), answer) in cases.iter().zip(&answers) {
        let is_refused = match answer {
            Err(_) => true,
            Ok(members) => members.iter().any(|(_, read)| read.is_err()),
        };
        let is_stricter = STRICTER.iter().any(|reason| text.contains(reason));
        if is_refused != refuses.unwrap_or(is_refused) || !is_refused && !is_stricter {
            unexplained.push(format!("{what}: {answer:?}"));
        }
    }
    assert!(unexplained.is_empty(), "{unexplained:#?}");
}

#[test]
fn valid_archives_of_all_kinds_are_read() {
    let archives = valid();
    let read: Vec<_> = archives.iter().map(|bytes| ours(bytes)).collect();
    for (at, answer) in read.iter().enumerate() {
        let members = answer.as_ref().unwrap_or_else(|error| panic!("{at}: {error}"));
        let is_read = !members.is_empty() && members.iter().all(|(_, read)| read.is_ok());
        assert!(is_read, "{at}: {answer:?}");
    }
    let Some(mut python) = Oracle::start("archives.py") else { return };
    let directory = directory();
    assert_eq!(ask(&mut python, directory.path(), &archives), read);
}

#[test]
fn damaged_archives_that_python_rejects_are_rejected() {
    let cases = setting("NPYMAP_DIFFERENTIAL_CASES", 3_000);
    let seed = setting("NPYMAP_DIFFERENTIAL_SEED", 20_240_229);
    let Some(mut python) = Oracle::start("archives.py") else { return };
    let directory = directory();
    let (mut counts, mut wrong) = (Counts::default(), Vec::new());
    let mut random = Random(seed);
    let mut left = cases;
    while left > 0 {
        let batch = left.min(500);
        left -= batch;
        let archives: Vec<_> = (0..batch)
            .map(|_| {
                let mut bytes = archive(&mut random);
                for _ in 0..random.below(3) {
                    damage(&mut random, &mut bytes);
                }
                bytes
            })
            .collect();
        let answers = ask(&mut python, directory.path(), &archives);
        for (bytes, pythons) in archives.iter().zip(&answers) {
            if let Err(problem) = counts.archive(&ours(bytes), pythons) {
                wrong.push(format!("{problem}\n    {}", hex(bytes)));
            }
        }
    }
    println!("archives: {counts:?}");
    let shown = wrong.iter().take(10).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {cases} of seed {seed} disagree:\n{shown}", wrong.len());
    assert!(cases < 1_000 || (counts.both_read > 100 && counts.both_refused > 100));
}

//! Random files, compared with NumPy.
//!
//! `NPYMAP_DIFFERENTIAL_CASES` sets their number, `NPYMAP_DIFFERENTIAL_SEED` the
//! seed, and `NPYMAP_DIFFERENTIAL_FIRST` the number of the first one, to repeat a case
//! that failed; `.ci/run differential` runs many. Both must agree on whether a
//! file opens, and on its dtype and elements, except for the differences that
//! `COMPATIBILITY.md` lists: `tests/numpy/differential.py` names the paragraph
//! that applies to a file, and rewrites the file without the difference; then
//! both must agree. A file to which no paragraph applies fails the test.

mod files;
mod header;
mod judge;
mod literal;
mod random;
mod types;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cases::data;
use crate::oracle::Oracle;
use crate::support::directory;

use files::Case;
use judge::{Answer, parse_answer};

/// The number of files per request.
const BATCH: u64 = 200;

/// The number of disagreements that are printed.
const SHOWN: usize = 20;

/// The results for a class of files.
#[derive(Clone, Default)]
struct Counts {
    both_read: u64,
    both_refused: u64,
    /// The differences, by paragraph of `COMPATIBILITY.md`.
    differ: BTreeMap<String, u64>,
}

#[derive(Default)]
struct Outcome {
    classes: Vec<Counts>,
    wrong: Vec<String>,
}

fn setting(name: &str, usual: u64) -> u64 {
    env::var(name).map_or(usual, |text| text.parse().expect("a number"))
}

#[test]
fn random_files_are_read_as_by_numpy() {
    let cases = setting("NPYMAP_DIFFERENTIAL_CASES", 3_000);
    let seed = setting("NPYMAP_DIFFERENTIAL_SEED", 20_240_229);
    let first = setting("NPYMAP_DIFFERENTIAL_FIRST", 0);
    println!("differential: {cases} cases of seed {seed}");
    let next = AtomicU64::new(first);
    let outcomes: Vec<Option<Outcome>> = thread::scope(|scope| {
        let workers: Vec<_> =
            (0..2).map(|_| scope.spawn(|| work(seed, first + cases, &next))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let Some(outcomes) = outcomes.into_iter().collect::<Option<Vec<_>>>() else { return };
    let mut classes = vec![Counts::default(); files::names().count()];
    for counts in outcomes.iter().flat_map(|outcome| outcome.classes.iter().enumerate()) {
        classes[counts.0].add(counts.1);
    }
    report(&classes);
    let wrong: Vec<_> = outcomes.into_iter().flat_map(|outcome| outcome.wrong).collect();
    let shown = wrong.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of seed {seed} disagree:\n{shown}", wrong.len());
    let all: u64 = classes.iter().map(Counts::all).sum();
    assert_eq!(all, cases);
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.both_read += other.both_read;
        self.both_refused += other.both_refused;
        for (rule, count) in &other.differ {
            *self.differ.entry(rule.clone()).or_default() += count;
        }
    }

    fn all(&self) -> u64 {
        self.both_read + self.both_refused + self.differ.values().sum::<u64>()
    }
}

fn report(classes: &[Counts]) {
    println!("{:<12} {:>8} {:>8} {:>8} {:>8}", "class", "cases", "read", "refused", "differ");
    let mut total = Counts::default();
    for (name, counts) in files::names().zip(classes) {
        print_counts(name, counts);
        total.add(counts);
    }
    print_counts("all", &total);
    for (rule, count) in &total.differ {
        println!("{count:>8} differ by: {rule}");
    }
}

fn print_counts(name: &str, counts: &Counts) {
    let differ: u64 = counts.differ.values().sum();
    println!(
        "{name:<12} {:>8} {:>8} {:>8} {differ:>8}",
        counts.all(),
        counts.both_read,
        counts.both_refused
    );
}

/// A directory in memory, if possible, because rewriting files on a disk is
/// slow.
fn quick_directory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| directory())
}

/// Runs batches of cases up to the one with the number `end`.
fn work(seed: u64, end: u64, next: &AtomicU64) -> Option<Outcome> {
    let mut numpy = Oracle::start("differential.py")?;
    let compatibility = fs::read_to_string(data().join("../../COMPATIBILITY.md")).unwrap();
    let directory = quick_directory();
    let mut outcome = Outcome::default();
    outcome.classes.resize(files::names().count(), Counts::default());
    loop {
        let first = next.fetch_add(BATCH, Ordering::Relaxed);
        if first >= end {
            return Some(outcome);
        }
        let batch: Vec<Case> =
            (first..end.min(first + BATCH)).map(|number| files::case(seed, number)).collect();
        for (i, case) in batch.iter().enumerate() {
            fs::write(case_path(&directory, i), &case.bytes).unwrap();
        }
        let all = json!(["judge", directory.path(), batch.len()]);
        let answers = if let Some(answers) = numpy.try_ask(&all) {
            answers
        } else {
            numpy = Oracle::start("differential.py")?;
            json!(
                (0..batch.len())
                    .map(|i| judge_one(&mut numpy, &case_path(&directory, i)))
                    .collect::<Vec<_>>()
            )
        };
        for (i, (case, answer)) in batch.iter().zip(answers.as_array().unwrap()).enumerate() {
            let counts = &mut outcome.classes[case.class];
            match judge::compare(&case.bytes, &case_path(&directory, i), &parse_answer(answer)) {
                Ok(Answer::Read(_)) => counts.both_read += 1,
                Ok(_) => counts.both_refused += 1,
                Err(why) => {
                    match explained(&mut numpy, &case.bytes, &case_path(&directory, i), &why, 0) {
                        Ok(rule) => {
                            assert!(compatibility.contains(&rule), "no paragraph on `{rule}`");
                            *counts.differ.entry(rule).or_default() += 1;
                        }
                        Err(why) => {
                            let bytes = case.bytes.iter().take(400).copied().collect::<Vec<_>>();
                            let number = first + i as u64;
                            outcome
                                .wrong
                                .push(format!("{number}: {why}\n    {}", bytes.escape_ascii()));
                            *counts.differ.entry("Unexplained".to_owned()).or_default() += 1;
                        }
                    }
                }
            }
        }
    }
}

fn case_path(directory: &TempDir, i: usize) -> std::path::PathBuf {
    directory.path().join(format!("{i}.npy"))
}

/// NumPy's result for one file, which may crash it.
fn judge_one(numpy: &mut Oracle, path: &Path) -> Value {
    numpy.try_ask(&json!(["judge_one", path])).unwrap_or_else(|| {
        *numpy = Oracle::start("differential.py").unwrap();
        json!({ "dies": path })
    })
}

/// The paragraph that explains a disagreement, provided that both agree on the
/// file without the difference.
fn explained(
    numpy: &mut Oracle,
    bytes: &[u8],
    path: &Path,
    why: &str,
    depth: usize,
) -> Result<String, String> {
    fs::write(path, bytes).unwrap();
    let explanation = numpy.ask(&json!(["explain", path]));
    let Some(rule) = explanation["rule"].as_str().filter(|_| depth < 6) else {
        return Err(format!("{why}; nothing in COMPATIBILITY.md says so"));
    };
    let Some(rewritten) = explanation["rewritten"].as_str().map(crate::support::unhex) else {
        return Ok(rule.to_owned());
    };
    fs::write(path, &rewritten).unwrap();
    match judge::compare(&rewritten, path, &parse_answer(&judge_one(numpy, path))) {
        Ok(_) => Ok(rule.to_owned()),
        Err(other) => explained(numpy, &rewritten, path, &other, depth + 1)
            .map(|_| rule.to_owned())
            .map_err(|other| format!("{why}; not only by {rule}: {other}")),
    }
}

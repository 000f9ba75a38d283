//! Benchmarks of `npymap` against bare system calls, NumPy, ndarray and other
//! crates. Prints our time divided by the peer's as a Markdown table, and how
//! much memory rows of a file larger than memory leave in use.
//!
//! Arguments: `open`, `views`, `bulk`, `writes`, `sampling`, `epochs`, `loader`, `sparse`,
//! `archives` and `disk` select groups of benchmarks, by default all.
//! Options: `--quick` for fewer rounds; `--json` for JSON instead of a table;
//! `--count N plain|fields` opens one file `N` times and measures nothing, for
//! `instructions.sh`; `--memory` measures only the memory in use during epochs of a
//! file larger than memory, in a control group, and writes `memory.csv`.

mod archives;
mod bare;
mod bulk;
mod disk;
mod epochs;
mod files;
mod loads;
mod memory;
mod numpy;
mod open;
mod opening;
mod parallel;
mod reading;
mod report;
mod ring;
mod rounds;
mod sampling;
mod sparse;
mod views;
mod writes;

use std::error::Error;
use std::hint::black_box;
use std::path::Path;

use files::Files;
use numpy::NumPy;
use rounds::{Benchmark, Row};
use sparse::Growth;

/// The errors are those of files, peers and measurements.
type Result<T, E = Box<dyn Error>> = std::result::Result<T, E>;

const ROUNDS: usize = 21;
const QUICK_ROUNDS: usize = 2;

/// Rounds of the benchmark that takes NumPy a minute; `--quick` skips it.
const LONG_ROUNDS: usize = 3;

/// Rounds of epochs; fewer with `--quick`.
const EPOCH_ROUNDS: usize = 7;

/// The options, besides `--count`.
const OPTIONS: [&str; 2] = ["--quick", "--json"];

/// The groups of benchmarks.
const GROUPS: [&str; 11] = [
    "open", "views", "parallel", "bulk", "writes", "sampling", "epochs", "loader", "sparse",
    "archives", "disk",
];

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["--count", n, file] => open_repeatedly(n.parse()?, file),
        ["--memory"] => memory::run(),
        ["--epoch", arguments @ ..] => memory::epoch(arguments),
        ["--shard", arguments @ ..] => epochs::run_shard(arguments),
        arguments => {
            let known: Vec<&str> = GROUPS.into_iter().chain(OPTIONS).collect();
            if let Some(unknown) = arguments.iter().find(|argument| !known.contains(argument)) {
                let known = known.join(", ");
                return Err(format!("unknown argument {unknown}: expected {known}, --count").into());
            }
            let rounds = if arguments.contains(&"--quick") { QUICK_ROUNDS } else { ROUNDS };
            let mut groups = GROUPS.to_vec();
            if arguments.iter().any(|argument| GROUPS.contains(argument)) {
                groups.retain(|group| arguments.contains(group));
            }
            compare(rounds, &groups, arguments.contains(&"--json"))
        }
    }
}

/// Runs groups of benchmarks and prints the results.
fn compare(rounds: usize, groups: &[&str], json: bool) -> Result<()> {
    let mut rows = Vec::new();
    let mut growths = Vec::new();
    let mut version = None;
    for group in groups {
        let found = match *group {
            "open" => {
                let files = Files::create()?;
                let numpy = numpy(files.directory(), &mut version);
                measured(opening::benchmarks(&files, numpy.as_ref())?, rounds)
            }
            "views" => measured(views::benchmarks(&views::Arrays::create()?)?, rounds),
            "parallel" => measured(parallel::benchmarks(&parallel::Arrays::create()?)?, rounds),
            "bulk" => {
                let arrays = bulk::Arrays::create()?;
                let numpy = numpy(arrays.directory(), &mut version);
                measured(bulk::benchmarks(&arrays, numpy.as_ref())?, rounds)
            }
            _ => {
                let directory = tempfile::TempDir::with_prefix("npymap-benches-")?;
                let numpy = numpy(directory.path(), &mut version);
                let quick = rounds == QUICK_ROUNDS;
                let (directory, numpy) = (directory.path(), numpy.as_ref());
                match *group {
                    "writes" => measured(writes::benchmarks(directory, quick, numpy)?, rounds),
                    "sampling" => measured(sampling::benchmarks(directory, numpy)?, rounds),
                    "epochs" => {
                        let benchmarks = epochs::benchmarks(directory, quick, numpy)?;
                        let rounds = rounds.min(EPOCH_ROUNDS);
                        measured_by(rounds::measure_long, benchmarks, rounds)
                    }
                    "loader" => {
                        let benchmarks = epochs::loader_benchmarks(directory, quick, numpy)?;
                        let rounds = rounds.min(EPOCH_ROUNDS);
                        measured_by(rounds::measure_long, benchmarks, rounds)
                    }
                    "sparse" => sparse(directory, numpy.filter(|_| !quick), &mut growths),
                    "archives" => measured(archives::benchmarks(directory, numpy)?, rounds),
                    _ => {
                        let benchmarks = disk::benchmarks(directory, quick, numpy)?;
                        let rounds = rounds.min(EPOCH_ROUNDS);
                        measured_by(rounds::measure_long, benchmarks, rounds)
                    }
                }
            }
        };
        rows.extend(found?);
    }
    if json {
        println!("{}", report::json(&rows, &growths));
    } else {
        println!("{}", report::markdown(&rows, &growths, rounds, version.as_deref()));
    }
    Ok(())
}

fn measured(benchmarks: Vec<Benchmark<'_>>, rounds: usize) -> Result<Vec<Row>> {
    measured_by(rounds::measure, benchmarks, rounds)
}

/// Runs the benchmarks one after the other, and prints the results of each as progress.
fn measured_by(
    measure: fn(Benchmark<'_>, usize) -> Result<Vec<Row>>,
    benchmarks: Vec<Benchmark<'_>>,
    rounds: usize,
) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for benchmark in benchmarks {
        let found = measure(benchmark, rounds)?;
        for row in &found {
            eprintln!("{}", report::line(row));
        }
        rows.extend(found);
    }
    Ok(rows)
}

/// Measures the time to take rows of a file larger than memory, and how much of
/// it stays in memory.
fn sparse(directory: &Path, numpy: Option<&NumPy>, growths: &mut Vec<Growth>) -> Result<Vec<Row>> {
    let path = match sparse::create(directory) {
        Ok(path) => path,
        Err(error) => {
            eprintln!("skipping the file of 64 GiB: {error}");
            return Ok(Vec::new());
        }
    };
    growths.push(sparse::ours(&path)?);
    let Some(numpy) = numpy else { return Ok(Vec::new()) };
    eprintln!("{}", Growth::NAME);
    let rows = rounds::measure_long(sparse::benchmark(&path, numpy, LONG_ROUNDS), LONG_ROUNDS)?;
    growths.push(sparse::theirs(&path)?);
    Ok(rows)
}

/// Starts NumPy on the files of a directory, if it is installed.
fn numpy(directory: &Path, version: &mut Option<String>) -> Option<NumPy> {
    let started =
        NumPy::start(directory).inspect_err(|error| eprintln!("without NumPy: {error}")).ok();
    let found = started.as_ref().map_or("without NumPy", NumPy::version);
    *version = Some(found.to_owned());
    started
}

/// Opens one file `n` times.
fn open_repeatedly(n: u32, file: &str) -> Result<()> {
    let files = Files::create()?;
    for _ in 0..n {
        match file {
            "plain" => drop(black_box(open::ours(files.small(), 0)?)),
            "fields" => drop(black_box(open::ours_record(files.fields())?)),
            _ => return Err(format!("unknown file {file}: expected plain or fields").into()),
        }
    }
    Ok(())
}

//! Measures what it costs to open a `.npy` file and read one element, and to
//! parse a header: `npymap` against bare system calls, NumPy, ndarray-npy and
//! npyz. Measures what it costs to go through the elements: `npymap`'s views
//! against ndarray. Prints ratios of times, ours over theirs, as a Markdown
//! table. Prints, too, what rows of a file larger than memory leave there.
//!
//! `open`, `views`, `bulk`, `writes`, `sampling`, `sparse`, `archives` or
//! `disk` measures only that.
//! Options: `--quick` for fewer rounds; `--json` for JSON in place of the
//! table; `--count N plain|fields` opens one file `N` times and measures
//! nothing, for `instructions.sh`.

mod archives;
mod bare;
mod bulk;
mod disk;
mod files;
mod numpy;
mod open;
mod report;
mod rounds;
mod sampling;
mod sparse;
mod views;
mod works;
mod writes;

use std::error::Error;
use std::hint::black_box;
use std::path::Path;

use files::Files;
use numpy::NumPy;
use rounds::{Row, Work};
use sparse::Growth;

/// Of a file, a peer or a measurement.
type Result<T, E = Box<dyn Error>> = std::result::Result<T, E>;

const ROUNDS: usize = 21;
const QUICK_ROUNDS: usize = 3;

/// Of what takes NumPy a minute a round; `--quick` leaves it out.
const LONG_ROUNDS: usize = 3;

/// What `main` is asked for.
const OPTIONS: [&str; 2] = ["--quick", "--json"];

/// The groups of works.
const GROUPS: [&str; 8] =
    ["open", "views", "bulk", "writes", "sampling", "sparse", "archives", "disk"];

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["--count", n, what] => count(n.parse()?, what),
        options => {
            let known = || GROUPS.into_iter().chain(OPTIONS);
            if let Some(unknown) =
                options.iter().find(|option| !known().any(|known| known == **option))
            {
                let known = known().collect::<Vec<_>>().join(", ");
                return Err(format!("no option {unknown}, expected {known}, --count").into());
            }
            let asked = |option| options.contains(&option);
            let rounds = if asked("--quick") { QUICK_ROUNDS } else { ROUNDS };
            let all = !GROUPS.into_iter().any(asked);
            let groups: Vec<&str> =
                GROUPS.into_iter().filter(|group| all || asked(group)).collect();
            compare(rounds, &groups, asked("--json"))
        }
    }
}

/// Measures and prints it.
fn compare(rounds: usize, groups: &[&str], json: bool) -> Result<()> {
    let mut rows = Vec::new();
    let mut growths = Vec::new();
    let mut version = None;
    for group in groups {
        let found = match *group {
            "open" => {
                let files = Files::create()?;
                let numpy = numpy(files.directory(), &mut version);
                measured(works::all(&files, numpy.as_ref())?, rounds)
            }
            "views" => measured(views::works(&views::Arrays::create()?)?, rounds),
            "bulk" => {
                let arrays = bulk::Arrays::create()?;
                let numpy = numpy(arrays.directory(), &mut version);
                measured(bulk::works(&arrays, numpy.as_ref())?, rounds)
            }
            _ => {
                let directory = tempfile::TempDir::with_prefix("npymap-benches-")?;
                let numpy = numpy(directory.path(), &mut version);
                let quick = rounds == QUICK_ROUNDS;
                let (directory, numpy) = (directory.path(), numpy.as_ref());
                match *group {
                    "writes" => measured(writes::works(directory, quick, numpy)?, rounds),
                    "sampling" => measured(sampling::works(directory, numpy)?, rounds),
                    "sparse" => sparse(directory, numpy.filter(|_| !quick), &mut growths),
                    "archives" => measured(archives::works(directory, numpy)?, rounds),
                    _ => measured(disk::works(directory, quick, numpy)?, rounds),
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

/// Measures one work after the other.
fn measured(works: Vec<Work<'_>>, rounds: usize) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for work in works {
        eprintln!("{}", work.name());
        rows.extend(rounds::measure(work, rounds)?);
    }
    Ok(rows)
}

/// Measures rows of a file larger than memory, and what stays there of it.
fn sparse(directory: &Path, numpy: Option<&NumPy>, growths: &mut Vec<Growth>) -> Result<Vec<Row>> {
    let path = match sparse::create(directory) {
        Ok(path) => path,
        Err(error) => {
            eprintln!("without the file of 64 GiB: {error}");
            return Ok(Vec::new());
        }
    };
    growths.push(sparse::ours(&path)?);
    let Some(numpy) = numpy else { return Ok(Vec::new()) };
    eprintln!("{}", Growth::WORK);
    let rows = rounds::measure_long(sparse::work(&path, numpy, LONG_ROUNDS), LONG_ROUNDS)?;
    growths.push(sparse::theirs(&path)?);
    Ok(rows)
}

/// NumPy on the files of a directory, if it is there.
fn numpy(directory: &Path, version: &mut Option<String>) -> Option<NumPy> {
    let started =
        NumPy::start(directory).inspect_err(|error| eprintln!("without NumPy: {error}")).ok();
    let found = started.as_ref().map_or("without NumPy", NumPy::version);
    *version = Some(found.to_owned());
    started
}

/// Opens one file `n` times.
fn count(n: u32, what: &str) -> Result<()> {
    let files = Files::create()?;
    for _ in 0..n {
        match what {
            "plain" => drop(black_box(open::ours(files.small(), 0)?)),
            "fields" => drop(black_box(open::ours_record(files.fields())?)),
            _ => return Err(format!("no file {what}, expected plain or fields").into()),
        }
    }
    Ok(())
}

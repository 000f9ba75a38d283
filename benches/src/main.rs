//! Measures what it costs to open a `.npy` file and read one element, and to
//! parse a header: `npymap` against bare system calls, NumPy, ndarray-npy and
//! npyz. Prints ratios of times, ours over theirs, as a Markdown table.
//!
//! Options: `--quick` for fewer rounds; `--json` for JSON in place of the
//! table; `--count N plain|fields` opens one file `N` times and measures
//! nothing, for `instructions.sh`.

mod bare;
mod files;
mod numpy;
mod open;
mod report;
mod rounds;
mod works;

use std::error::Error;
use std::hint::black_box;

use files::Files;
use numpy::NumPy;

/// Of a file, a peer or a measurement.
type Result<T, E = Box<dyn Error>> = std::result::Result<T, E>;

const ROUNDS: usize = 21;
const QUICK_ROUNDS: usize = 3;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["--count", n, what] => count(n.parse()?, what),
        options => {
            let unknown = options.iter().find(|option| !["--quick", "--json"].contains(option));
            if let Some(unknown) = unknown {
                return Err(
                    format!("no option {unknown}, expected --quick, --json, --count").into()
                );
            }
            let rounds = if options.contains(&"--quick") { QUICK_ROUNDS } else { ROUNDS };
            compare(rounds, options.contains(&"--json"))
        }
    }
}

/// Measures everything and prints it.
fn compare(rounds: usize, json: bool) -> Result<()> {
    let files = Files::create()?;
    let numpy = NumPy::start(files.directory())
        .inspect_err(|error| eprintln!("without NumPy: {error}"))
        .ok();
    let mut rows = Vec::new();
    for work in works::all(&files, numpy.as_ref())? {
        rows.extend(rounds::measure(work, rounds)?);
    }
    if json {
        println!("{}", report::json(&rows));
    } else {
        println!("{}", report::markdown(&rows, rounds, numpy.as_ref().map(NumPy::version)));
    }
    Ok(())
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

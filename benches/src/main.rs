//! Measures what it costs to open a `.npy` file and read one element, and to
//! parse a header: `npymap` against bare system calls, NumPy, ndarray-npy and
//! npyz. Measures what it costs to go through the elements: `npymap`'s views
//! against ndarray. Prints ratios of times, ours over theirs, as a Markdown
//! table.
//!
//! `open` or `views` measures only that. Options: `--quick` for fewer rounds; `--json` for JSON in place of the
//! table; `--count N plain|fields` opens one file `N` times and measures
//! nothing, for `instructions.sh`.

mod bare;
mod files;
mod numpy;
mod open;
mod report;
mod rounds;
mod views;
mod works;

use std::error::Error;
use std::hint::black_box;

use files::Files;
use numpy::NumPy;
use views::Arrays;

/// Of a file, a peer or a measurement.
type Result<T, E = Box<dyn Error>> = std::result::Result<T, E>;

const ROUNDS: usize = 21;
const QUICK_ROUNDS: usize = 3;

/// What `main` is asked for.
const OPTIONS: [&str; 4] = ["open", "views", "--quick", "--json"];

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["--count", n, what] => count(n.parse()?, what),
        options => {
            let unknown = options.iter().find(|option| !OPTIONS.contains(option));
            if let Some(unknown) = unknown {
                return Err(format!(
                    "no option {unknown}, expected {}, --count",
                    OPTIONS.join(", ")
                )
                .into());
            }
            let asked = |option| options.contains(&option);
            let rounds = if asked("--quick") { QUICK_ROUNDS } else { ROUNDS };
            let all = asked("open") == asked("views");
            compare(rounds, all || asked("open"), all || asked("views"), asked("--json"))
        }
    }
}

/// Measures and prints it.
fn compare(rounds: usize, open: bool, views: bool, json: bool) -> Result<()> {
    let mut rows = Vec::new();
    let mut numpy = None;
    if open {
        let files = Files::create()?;
        let running = NumPy::start(files.directory())
            .inspect_err(|error| eprintln!("without NumPy: {error}"))
            .ok();
        for work in works::all(&files, running.as_ref())? {
            rows.extend(rounds::measure(work, rounds)?);
        }
        numpy = Some(running.map_or("without NumPy".into(), |numpy| numpy.version().to_owned()));
    }
    if views {
        let arrays = Arrays::create()?;
        for work in views::works(&arrays)? {
            rows.extend(rounds::measure(work, rounds)?);
        }
    }
    if json {
        println!("{}", report::json(&rows));
    } else {
        println!("{}", report::markdown(&rows, rounds, numpy.as_deref()));
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

//! Measures what it costs to open a `.npy` file and read one element, and to
//! parse a header: `npymap` against bare system calls, NumPy, ndarray-npy and
//! npyz. Measures what it costs to go through the elements: `npymap`'s views
//! against ndarray. Prints ratios of times, ours over theirs, as a Markdown
//! table.
//!
//! `open`, `views` or `writes` measures only that. Options: `--quick` for fewer rounds; `--json` for JSON in place of the
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
mod writes;

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
const OPTIONS: [&str; 5] = ["open", "views", "writes", "--quick", "--json"];

/// Elements of the files that are filled: 2 GiB of `f64`; or 256 MiB, quickly.
const FILLED: usize = 1 << 28;
const QUICK_FILLED: usize = 1 << 25;

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
            let all = !["open", "views", "writes"].into_iter().any(asked);
            let parts = ["open", "views", "writes"].map(|part| all || asked(part));
            let filled = if asked("--quick") { QUICK_FILLED } else { FILLED };
            compare(rounds, parts, filled, asked("--json"))
        }
    }
}

/// Measures and prints it.
fn compare(rounds: usize, parts: [bool; 3], filled: usize, json: bool) -> Result<()> {
    let [open, views, writes] = parts;
    let mut rows = Vec::new();
    let mut numpy = None;
    if open || writes {
        let files = Files::create()?;
        let running = NumPy::start(files.directory(), filled)
            .inspect_err(|error| eprintln!("without NumPy: {error}"))
            .ok();
        let mut works = Vec::new();
        if open {
            works.extend(works::all(&files, running.as_ref())?);
        }
        if writes {
            works.extend(writes::works(files.directory(), filled, running.as_ref())?);
        }
        for work in works {
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

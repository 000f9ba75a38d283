//! Summing a file that is not in the page cache, against `read(2)`.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use npymap::ndarray::s;
use npymap::{Header, MappedArray, Order};
use serde_json::Value;

use crate::Result;
use crate::files::{check_space, evict};
use crate::numpy::NumPy;
use crate::rounds::{Batch, Benchmark, Peer};

/// 2 GB of elements.
const LEN: usize = 250_000_000;
const QUICK_LEN: usize = LEN / 50;

pub(crate) fn benchmarks<'a>(
    directory: &'a Path,
    quick: bool,
    numpy: Option<&'a NumPy>,
) -> Result<Vec<Benchmark<'a>>> {
    let len = if quick { QUICK_LEN } else { LEN };
    let path = directory.join("cold.npy");
    check_space(directory, u64::try_from(9 * len)?)?;
    write(&path, len)?;
    let mut peers = vec![by_read(&path)];
    peers.extend(numpy.map(|numpy| numpy.peer("cold-sum", "`load`, `sum()`", None)));
    let name = format!("open and sum {} million `f64` from the disk", len / 1_000_000);
    let mut benchmarks = vec![Benchmark { name, ours: cold(path.clone(), sum), peers }];
    match program() {
        Ok(program) => {
            benchmarks.push(Benchmark {
                name: format!("`npymap stats` of {} million `f64` from the disk", len / 1_000_000),
                ours: cold(path.clone(), move |path| stats(&program, path, len)),
                peers: vec![by_read(&path)],
            });
        }
        Err(error) => eprintln!("skipping the program: {error}"),
    }
    Ok(benchmarks)
}

fn by_read(path: &Path) -> Peer<'static> {
    Peer::new("`read(2)` of 1 MiB at a time", Some(1.1), cold(path.to_owned(), read))
}

/// Builds the program, if necessary, and returns its path.
fn program() -> Result<PathBuf> {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "-q", "-p", "npymap-cli"])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .stderr(Stdio::inherit())
        .output()?;
    let lines = String::from_utf8(built.stdout)?;
    let messages = lines.lines().rev().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut executables =
        messages.filter_map(|message| Some(message.get("executable")?.as_str()?.into()));
    executables.next().ok_or_else(|| "cargo built no executable".into())
}

/// Runs the program on a file of ones and returns the sum it prints.
fn stats(program: &Path, path: &Path, len: usize) -> Result<f64> {
    let printed = Command::new(program).args(["stats", "--json"]).arg(path).output()?;
    let stats: Value = serde_json::from_slice(&printed.stdout)?;
    let sum = stats.get("sum").and_then(Value::as_f64).ok_or("the program printed no sum")?;
    let expected = f64::from(u32::try_from(len)?);
    if (sum - expected).abs() > 0.5 {
        return Err(format!("the program's sum is {sum}, expected {expected}").into());
    }
    Ok(sum)
}

/// Elements that are prefetched at a time: 32 MiB.
const PART: usize = 4 << 20;

/// Writes a file of ones.
fn write(path: &Path, len: usize) -> Result<()> {
    let mut file = File::create(path)?;
    file.write_all(&Header::new("<f8".parse()?, &[len], Order::C)?.encode(None)?.bytes)?;
    let block = 1_f64.to_le_bytes().repeat(len / 1000);
    for _ in 0..1000 {
        file.write_all(&block)?;
    }
    Ok(file.sync_all()?)
}

/// Times a function on a file that was just evicted from the page cache.
fn cold(path: PathBuf, once: impl Fn(&Path) -> Result<f64> + 'static) -> Batch<'static> {
    Box::new(move |times| {
        let mut elapsed = Duration::ZERO;
        for _ in 0..times {
            evict(&path)?;
            let start = Instant::now();
            std::hint::black_box(once(&path)?);
            elapsed += start.elapsed();
        }
        Ok(elapsed)
    })
}

/// Sums a part while the next one is read from the disk.
fn sum(path: &Path) -> Result<f64> {
    // SAFETY: no other process uses the file.
    let array = unsafe { MappedArray::open(path) }?;
    let view = array.view::<f64>()?;
    let mut total = 0.0;
    array.prefetch(part(0, array.len()))?;
    for start in (0..array.len()).step_by(PART) {
        array.prefetch(part(start + PART, array.len()))?;
        total += view.slice(s![part(start, array.len())])?.sum();
    }
    Ok(total)
}

/// The part at `start`, cut off at `len`.
fn part(start: usize, len: usize) -> Range<usize> {
    start.min(len)..(start + PART).min(len)
}

fn read(path: &Path) -> Result<f64> {
    let mut file = File::open(path)?;
    let mut block = vec![0; 1 << 20];
    let mut total = 0.0;
    loop {
        match file.read(&mut block)? {
            0 => return Ok(total),
            n => total += f64::from(u32::try_from(n)?),
        }
    }
}

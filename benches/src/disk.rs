//! A file that is not in memory, opened and summed up, against reading it.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use npymap::ndarray::s;
use npymap::{Header, MappedArray, Order};
use serde_json::Value;

use crate::Result;
use crate::files::{evict, free};
use crate::numpy::NumPy;
use crate::rounds::{Batch, Contestant, Work};

/// Elements: cnpy.h's example has a thousand million doubles.
const LEN: usize = 1_000_000_000;
const QUICK_LEN: usize = LEN / 20;

pub(crate) fn works<'a>(
    directory: &'a Path,
    quick: bool,
    numpy: Option<&'a NumPy>,
) -> Result<Vec<Work<'a>>> {
    let len = if quick { QUICK_LEN } else { LEN };
    let path = directory.join("cold.npy");
    free(directory, u64::try_from(9 * len)?)?;
    write(&path, len)?;
    let reading =
        || Contestant::new("`read(2)` of 1 MiB at a time", Some(1.1), cold(path.clone(), read));
    let mut peers = vec![reading()];
    peers.extend(numpy.map(|numpy| numpy.contestant("cold-sum", "`load`, `sum()`", None)));
    let name = format!("open and sum {} million `f64` from the disk", len / 1_000_000);
    let mut works = vec![Work { name, ours: cold(path.clone(), sum), peers }];
    match program() {
        Ok(program) => {
            works.push(Work {
                name: format!("`npymap stats` of {} million `f64` from the disk", len / 1_000_000),
                ours: cold(path.clone(), move |path| stats(&program, path, len)),
                peers: vec![reading()],
            });
        }
        Err(error) => eprintln!("without the program: {error}"),
    }
    Ok(works)
}

/// The program, built if it has to be.
fn program() -> Result<PathBuf> {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "-q", "-p", "npymap-cli"])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .stderr(Stdio::inherit())
        .output()?;
    let lines = String::from_utf8(built.stdout)?;
    let messages = lines.lines().rev().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut found =
        messages.filter_map(|message| Some(message.get("executable")?.as_str()?.into()));
    found.next().ok_or_else(|| "cargo built none".into())
}

/// What the program prints as the sum, of a file of ones.
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

/// Elements that are asked for at once: 32 MiB.
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

/// Does a thing to a file that was just driven out of memory.
fn cold(path: PathBuf, work: impl Fn(&Path) -> Result<f64> + 'static) -> Batch<'static> {
    Box::new(move |times| {
        let mut elapsed = Duration::ZERO;
        for _ in 0..times {
            evict(&path)?;
            let start = Instant::now();
            std::hint::black_box(work(&path)?);
            elapsed += start.elapsed();
        }
        Ok(elapsed)
    })
}

/// Sums up a part while the next one is on its way from the disk.
fn sum(path: &Path) -> Result<f64> {
    // SAFETY: nobody else knows the file.
    let array = unsafe { MappedArray::open(path) }?;
    let view = array.view::<f64>()?;
    let part = |start: usize| start.min(array.len())..(start + PART).min(array.len());
    let mut total = 0.0;
    array.prefetch(part(0))?;
    for start in (0..array.len()).step_by(PART) {
        array.prefetch(part(start + PART))?;
        total += view.slice(s![part(start)]).sum();
    }
    Ok(total)
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

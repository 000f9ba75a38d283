//! The library's side of `python/benches/peers.py calls`: the same calls in Rust.
//!
//! Takes the path of a file of `f32` rows. Answers each line `call iterations` with the
//! elapsed nanoseconds.
#![allow(unsafe_code)]

use std::error::Error;
use std::hint::black_box;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use npymap::{Appender, ArrayFile, CreateOptions, DType, MappedArray, RowSource as _, Sampler};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The step from one row that is read to the next.
const STEP: usize = 7919;

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).ok_or("expected the path of a file")?;
    let path = Path::new(&path);
    for line in io::stdin().lines() {
        let line = line?;
        let (call, iterations) = line.split_once(' ').ok_or("expected a call and a number")?;
        let elapsed = time(path, call, iterations.parse()?)?;
        writeln!(io::stdout(), "{}", elapsed.as_nanos())?;
    }
    Ok(())
}

fn time(path: &Path, call: &str, iterations: usize) -> Result<Duration> {
    match call {
        "open" => repeat(iterations, |_| {
            // SAFETY: nobody else changes the file of the benchmark.
            black_box(unsafe { MappedArray::open(path)? });
            Ok(())
        }),
        "take" => take(path, iterations, 1),
        "take-256" => take(path, iterations, 256),
        "read" => read(path, iterations),
        "sample" => sample(iterations),
        "append" => append(path, iterations),
        _ => Err(format!("no call `{call}`").into()),
    }
}

/// Times calls, after one that is not counted.
fn repeat(iterations: usize, mut call: impl FnMut(usize) -> Result<()>) -> Result<Duration> {
    call(0)?;
    let start = Instant::now();
    for number in 0..iterations {
        call(number)?;
    }
    Ok(start.elapsed())
}

fn take(path: &Path, iterations: usize, count: usize) -> Result<Duration> {
    // SAFETY: nobody else changes the file of the benchmark.
    let rows = unsafe { MappedArray::open(path)? }.rows()?;
    let mut out = vec![0; count * rows.row_len() * 4];
    repeat(iterations, |number| {
        let indices: Vec<_> =
            (number..number + count).map(|i| i * STEP % rows.row_count()).collect();
        Ok(rows.take_bytes(&indices, &mut out)?)
    })
}

fn read(path: &Path, iterations: usize) -> Result<Duration> {
    let file = ArrayFile::open(path)?;
    let len = *file.shape().first().ok_or("no rows")?;
    let size = file.shape().iter().skip(1).product::<usize>() * 4;
    let mut out = vec![0; size];
    repeat(iterations, |number| Ok(file.take_bytes(&[number * STEP % len], &mut out)?))
}

fn sample(iterations: usize) -> Result<Duration> {
    let mut sampler = Sampler::shuffled(1 << 40, 1);
    repeat(iterations, |_| {
        black_box(sampler.next_batch(256));
        Ok(())
    })
}

fn append(path: &Path, iterations: usize) -> Result<Duration> {
    let path = path.with_file_name("appended-by-rust.npy");
    let options = CreateOptions::new().overwrite(true);
    let mut log = Appender::create(&path, &DType::of::<f32>(), &[64], &options)?;
    let row = [0; 256];
    let elapsed = repeat(iterations, |_| Ok(log.append_bytes(&row)?))?;
    drop(log);
    std::fs::remove_file(path)?;
    Ok(elapsed)
}

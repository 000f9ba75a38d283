//! Whole epochs of a file that is not in the page cache, against reading it.
#![allow(unsafe_code)]

use std::fs::File;
use std::hint::black_box;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use npymap::{Header, MappedArray, Order, Sampler};

use crate::Result;
use crate::files::{check_space, evict};
use crate::numpy::NumPy;
use crate::rounds::{Batch, Benchmark, Peer};

/// Rows of a batch.
const BATCH: usize = 256;

/// Bytes of each file.
const FILE: usize = 512 << 20;
const QUICK_FILE: usize = 64 << 20;

/// How long to wait until a file is evicted, or read.
const PATIENCE: Duration = Duration::from_secs(10);

/// Bytes of a block, and the number of blocks that are mixed.
const BLOCK: usize = 1 << 20;
const BUFFER: usize = 64;

/// Bytes of a row, and the name of the benchmark in `numpy_peer.py`.
const SIZES: [(usize, &str); 2] = [(512, "cold-epoch-512"), (12 << 10, "cold-epoch-12288")];

pub(crate) fn benchmarks<'a>(
    directory: &'a Path,
    quick: bool,
    numpy: Option<&'a NumPy>,
) -> Result<Vec<Benchmark<'a>>> {
    let nbytes = if quick { QUICK_FILE } else { FILE };
    check_space(directory, u64::try_from(3 * nbytes)?)?;
    let mut benchmarks = Vec::new();
    for (size, name) in SIZES {
        let path = directory.join(format!("epoch-{size}.npy"));
        let len = nbytes / size;
        write(&path, len, size)?;
        let orders = [
            ("shuffled", Sampler::shuffled(len, 1)),
            ("sequential", Sampler::sequential(len)),
            ("blocks", Sampler::blocks(len, BLOCK / size, 1).buffer(BUFFER)?),
        ];
        for (order, sampler) in orders {
            let plain = cold(&path, with(&sampler, size, plain_epoch));
            // In any order but the file's, rows can be copied only when it is in memory.
            let (reading, fastest, target) = match order {
                "sequential" => ("the fastest way to read the file", fastest_read(&path), 1.15),
                _ => (
                    "the fastest way to read the file, then copies from the plain map",
                    read_then_copy(&path, &sampler, size),
                    1.25,
                ),
            };
            let mut peers = vec![
                Peer::new(reading, Some(target), fastest),
                Peer::new("copies from the plain map", None, plain),
            ];
            let numpy = numpy.filter(|_| order == "shuffled");
            peers.extend(numpy.map(|numpy| numpy.peer(name, "`mm[idx]` batches", None)));
            benchmarks.push(Benchmark {
                name: format!("epoch of {} MiB, {order} rows of {size} bytes, cold", nbytes >> 20),
                ours: cold(&path, with(&sampler, size, epoch)),
                peers,
            });
        }
    }
    Ok(benchmarks)
}

/// Writes rows of bytes, without holes.
pub(crate) fn write(path: &Path, len: usize, size: usize) -> Result<()> {
    let mut file = File::create(path)?;
    let header = Header::new("|u1".parse()?, &[len, size], Order::C)?;
    file.write_all(&header.encode(None)?.bytes)?;
    let row: Vec<u8> = (0..=250).cycle().take(size).collect();
    for _ in 0..len {
        file.write_all(&row)?;
    }
    Ok(file.sync_all()?)
}

fn open(path: &Path) -> Result<MappedArray> {
    // SAFETY: no other process uses the file, and no one writes to it.
    Ok(unsafe { MappedArray::open(path) }?)
}

/// Runs a function on the file after evicting it.
fn cold(path: &Path, once: impl Fn(&Path) -> Result<()> + 'static) -> Batch<'static> {
    let path = path.to_owned();
    Box::new(move |times| (0..times).map(|_| cold_once(&path, &once)).sum())
}

fn cold_once(path: &Path, once: impl Fn(&Path) -> Result<()>) -> Result<Duration> {
    evict_all(path)?;
    let start = Instant::now();
    once(path)?;
    Ok(start.elapsed())
}

/// Evicts a file. Pages that an earlier epoch still reads, or that its thread has
/// mapped, stay in memory at first.
fn evict_all(path: &Path) -> Result<()> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        evict(path)?;
        let array = open(path)?;
        // The page of the header is in memory again.
        if array.resident_bytes(..)?.is_none_or(|bytes| bytes <= array.nbytes() / 16) {
            return Ok(());
        }
        drop(array);
        std::thread::sleep(Duration::from_millis(10));
    }
    Err("the file could not be evicted from the page cache".into())
}

/// Passes a sampler and the size of a row to a function.
fn with(
    sampler: &Sampler,
    size: usize,
    epoch: fn(&Path, &Sampler, usize) -> Result<()>,
) -> impl Fn(&Path) -> Result<()> + use<> {
    let sampler = sampler.clone();
    move |path| epoch(path, &sampler, size)
}

fn epoch(path: &Path, sampler: &Sampler, size: usize) -> Result<()> {
    let rows = open(path)?.rows()?;
    let mut out = vec![0_u8; BATCH * size];
    for batch in sampler.batches(BATCH).ahead(&rows) {
        let out = out.get_mut(..batch.len() * size).unwrap_or_default();
        rows.take(&batch, out)?;
        black_box(out);
    }
    Ok(())
}

fn plain_epoch(path: &Path, sampler: &Sampler, size: usize) -> Result<()> {
    let array = open(path)?;
    let bytes: &[u8] = array.as_ref();
    let mut out = vec![0_u8; BATCH * size];
    for batch in sampler.batches(BATCH) {
        for (row, out) in batch.iter().zip(out.chunks_exact_mut(size)) {
            let row = bytes.get(row * size..(row + 1) * size).ok_or("a row past the end")?;
            out.copy_from_slice(row);
        }
        black_box(&mut out);
    }
    Ok(())
}

/// Reads the file in several ways, and counts the time of the fastest.
fn fastest_read(path: &Path) -> Batch<'static> {
    let path: PathBuf = path.to_owned();
    let ways: [fn(&Path) -> Result<()>; 3] = [by_read, by_populate, by_prefetch];
    Box::new(move |times| {
        let mut sum = Duration::ZERO;
        for _ in 0..times {
            let found: Result<Vec<Duration>> =
                ways.iter().map(|way| cold_once(&path, way)).collect();
            sum += found?.into_iter().min().ok_or("no way to read")?;
        }
        Ok(sum)
    })
}

/// Reads the file, and copies its rows after that.
fn read_then_copy(path: &Path, sampler: &Sampler, size: usize) -> Batch<'static> {
    let (path, sampler) = (path.to_owned(), sampler.clone());
    let mut read = fastest_read(&path);
    Box::new(move |times| {
        let mut sum = read(times)?;
        for _ in 0..times {
            let start = Instant::now();
            plain_epoch(&path, &sampler, size)?;
            sum += start.elapsed();
        }
        Ok(sum)
    })
}

/// Calls `read(2)` for 1 MiB at a time.
fn by_read(path: &Path) -> Result<()> {
    let mut file = File::open(path)?;
    let mut block = vec![0; 1 << 20];
    while file.read(&mut block)? > 0 {
        black_box(&mut block);
    }
    Ok(())
}

/// Faults 16 MiB in at a time.
fn by_populate(path: &Path) -> Result<()> {
    let array = open(path)?;
    let rows = array.shape().first().copied().unwrap_or(0);
    let step = (16 << 20) * rows / array.nbytes().max(1);
    for start in (0..rows).step_by(step.max(1)) {
        array.populate(start..rows.min(start + step))?;
    }
    Ok(())
}

/// Reads ahead, waits until nearly all of it has arrived, and reads the rest, which the
/// system may have dropped again.
fn by_prefetch(path: &Path) -> Result<()> {
    let array = open(path)?;
    array.prefetch(..)?;
    let (start, most) = (Instant::now(), array.nbytes() / 64 * 63);
    while array.resident_bytes(..)?.is_some_and(|bytes| bytes < most) && start.elapsed() < PATIENCE
    {
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(array.populate(..)?)
}

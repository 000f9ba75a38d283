//! Random rows and windows of tokens, against NumPy: with its defaults, and
//! with `MADV_RANDOM`, which NumPy does not set.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use npymap::{Header, MappedArray, Order, RowSource as _, Rows};

use crate::Result;
use crate::files::{check_space, evict, read_ahead, settle};
use crate::numpy::NumPy;
use crate::ring::Ring;
use crate::rounds::{Batch, Benchmark, Peer};

/// Rows of a batch.
const ROWS: usize = 256;

/// Windows of a batch, and the tokens of one.
const WINDOWS: usize = 64;
const WINDOW: usize = 1025;

/// Bytes of each file.
const FILE: usize = 512 << 20;

/// Bytes that a disk reads at least.
const PAGE: usize = 4096;

/// KiB that most systems read ahead. With more, NumPy is slower by default.
const USUAL_READ_AHEAD: u64 = 128;

/// Bytes of a row, and targets.
const SIZES: [(usize, Targets); 3] = [
    (
        256,
        Targets {
            index: Some(0.70),
            copies: None,
            take: 1.05,
            default: [Some(0.05), Some(0.20)],
            advised: 0.55,
            cached: 1.25,
        },
    ),
    (
        4096,
        Targets {
            index: Some(0.75),
            copies: Some(1.1),
            take: 0.95,
            default: [Some(0.05), Some(0.20)],
            advised: 0.60,
            cached: 1.25,
        },
    ),
    (
        65536,
        Targets {
            index: None,
            copies: Some(1.1),
            take: 1.05,
            default: [None, Some(0.45)],
            advised: 0.25,
            cached: 1.25,
        },
    ),
];

/// Targets against NumPy.
struct Targets {
    /// Warm, against `mm[idx]`, and against plain copies.
    index: Option<f64>,
    copies: Option<f64>,
    /// Warm, against `take(out=)`.
    take: f64,
    /// Cold, with a large and with the usual read-ahead.
    default: [Option<f64>; 2],
    /// Cold, with `MADV_RANDOM`.
    advised: f64,
    /// Cold, against `io_uring` through the page cache.
    cached: f64,
}

/// The names of the benchmarks in `numpy_peer.py`, by the size of a row.
fn names(size: usize) -> [&'static str; 6] {
    match size {
        256 => ["rows-256", "take-256", "ninja-256", "cold-256", "advised-256", "cold-ninja-256"],
        4096 => {
            ["rows-4096", "take-4096", "ninja-4096", "cold-4096", "advised-4096", "cold-ninja-4096"]
        }
        _ => [
            "rows-65536",
            "take-65536",
            "ninja-65536",
            "cold-65536",
            "advised-65536",
            "cold-ninja-65536",
        ],
    }
}

pub(crate) fn benchmarks<'a>(
    directory: &'a Path,
    numpy: Option<&'a NumPy>,
) -> Result<Vec<Benchmark<'a>>> {
    check_space(directory, 5 << 30)?;
    let mut benchmarks = Vec::new();
    let read_ahead = read_ahead(directory)
        .inspect_err(|error| eprintln!("the read-ahead is unknown: {error}"))
        .ok();
    let cold = read_ahead.map_or("cold".to_owned(), |kib| format!("cold, {kib} KiB read ahead"));
    let usual = read_ahead.is_some_and(|kib| kib <= USUAL_READ_AHEAD);
    for (size, targets) in SIZES {
        let path = directory.join(format!("rows-{size}.npy"));
        write(&path, "<f4", &[FILE / size, size / 4])?;
        let [rows, take, ninja, default, advised, cold_ninja] = names(size);
        let [large, small] = targets.default;
        let default_target = if usual { small } else { large };
        benchmarks.push(Benchmark {
            name: format!("{ROWS} random rows of {size} bytes, warm"),
            ours: warm_rows(&path, size)?,
            peers: [
                Some(Peer::new(
                    "copies from a map that has its pages",
                    targets.copies,
                    copies(&path, size)?,
                )),
                by_numpy(numpy, rows, "`mm[idx]`", targets.index),
                by_numpy(numpy, take, "`take(out=)`", Some(targets.take)),
                by_ninja(numpy, ninja),
            ]
            .into_iter()
            .flatten()
            .collect(),
        });
        benchmarks.push(Benchmark {
            name: format!("{ROWS} random rows of {size} bytes, {cold}"),
            ours: cold_rows(path.clone(), size),
            peers: [
                Some(Peer::new(
                    "`io_uring`, all at once, through the page cache",
                    Some(targets.cached),
                    by_cached_ring(path.clone(), size),
                )),
                Some(Peer::new(
                    "`io_uring`, all at once, past the page cache",
                    None,
                    by_ring(path, size),
                )),
                by_numpy(numpy, default, "`mm[idx]`", default_target),
                by_numpy(numpy, advised, "`mm[idx]` with `MADV_RANDOM`", Some(targets.advised)),
                by_ninja(numpy, cold_ninja),
            ]
            .into_iter()
            .flatten()
            .collect(),
        });
    }
    let tokens = directory.join("tokens.npy");
    write(&tokens, "<u2", &[FILE / 2])?;
    benchmarks.push(Benchmark {
        name: format!("{WINDOWS} windows of {WINDOW} tokens to `i64`, warm"),
        ours: warm_windows(&tokens)?,
        peers: by_numpy(numpy, "tokens", "`stack`, `astype`", Some(0.15)).into_iter().collect(),
    });
    benchmarks.push(Benchmark {
        name: format!("{WINDOWS} windows of {WINDOW} tokens to `i64`, {cold}"),
        ours: cold_windows(tokens),
        peers: by_numpy(numpy, "tokens-cold", "`stack`, `astype`", (!usual).then_some(0.05))
            .into_iter()
            .collect(),
    });
    Ok(benchmarks)
}

fn by_numpy<'a>(
    numpy: Option<&'a NumPy>,
    name: &'static str,
    call: &str,
    target: Option<f64>,
) -> Option<Peer<'a>> {
    numpy.map(|numpy| numpy.peer(name, call, target))
}

fn by_ninja<'a>(numpy: Option<&'a NumPy>, name: &'static str) -> Option<Peer<'a>> {
    let numpy = numpy.filter(|numpy| numpy.has("mmap_ninja"));
    numpy.map(|numpy| numpy.package_peer(name, "mmap_ninja `mm[idx]`", None))
}

/// Writes a file of numbers, without holes.
fn write(path: &Path, dtype: &str, shape: &[usize]) -> Result<()> {
    let mut file = File::create(path)?;
    file.write_all(&Header::new(dtype.parse()?, shape, Order::C)?.encode(None)?.bytes)?;
    let block: Vec<u8> = (0..=250).cycle().take(1 << 20).collect();
    for _ in 0..FILE / block.len() {
        file.write_all(&block)?;
    }
    file.sync_all()?;
    settle(path)
}

/// A linear congruential generator.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        usize::try_from(self.0 >> 33).unwrap_or(0) % end
    }

    /// Returns `count` numbers below `end`.
    pub(crate) fn indices(&mut self, count: usize, end: usize) -> Vec<usize> {
        (0..count).map(|_| self.below(end)).collect()
    }
}

fn open(path: &Path) -> Result<MappedArray> {
    // SAFETY: no other process uses the file, and no one writes to it.
    Ok(unsafe { MappedArray::open(path) }?)
}

/// Times only `take`, on new indices each time.
fn timed<T: Default + Clone>(
    rows: &Rows,
    count: usize,
    len: usize,
    random: &mut Random,
    out: &mut [T],
    take: impl Fn(&Rows, &[usize], &mut [T]) -> npymap::Result<()>,
) -> Result<Duration> {
    let indices = random.indices(count, rows.row_count().saturating_sub(len));
    let start = Instant::now();
    take(rows, &indices, out)?;
    Ok(start.elapsed())
}

fn warm_rows(path: &Path, size: usize) -> Result<Batch<'static>> {
    let rows = open(path)?.rows()?;
    let out = RefCell::new(output::<f32>(ROWS * size));
    let mut random = Random(1);
    Ok(Box::new(move |times| {
        let mut out = out.borrow_mut();
        let out = aligned(&mut out);
        (0..times).map(|_| timed(&rows, ROWS, 0, &mut random, out, Rows::take)).sum()
    }))
}

/// The size of a cache line. Copies of 64 KiB take 1.15 times as long if they start at
/// another place in a line than the rows.
const LINE: usize = 64;

/// Room for a number of bytes from the start of a cache line on.
fn output<T: Default + Clone>(nbytes: usize) -> Vec<T> {
    vec![T::default(); (nbytes + LINE) / size_of::<T>()]
}

/// The bytes of an output from the start of a cache line on.
fn aligned<T>(out: &mut [T]) -> &mut [T] {
    let len = out.len() - LINE / size_of::<T>();
    let start = out.as_ptr().align_offset(LINE);
    out.get_mut(start..start + len).unwrap_or_default()
}

/// Copies rows from a map that has its pages: what the memory allows.
fn copies(path: &Path, size: usize) -> Result<Batch<'static>> {
    let array = open(path)?;
    array.populate(..)?;
    let len = array.nbytes() / size;
    let mut out = output::<u8>(ROWS * size);
    let mut random = Random(1);
    Ok(Box::new(move |times| {
        let out = aligned(&mut out);
        let bytes: &[u8] = array.as_ref();
        let mut all = Duration::ZERO;
        for _ in 0..times {
            let indices = random.indices(ROWS, len);
            let start = Instant::now();
            for (row, out) in indices.iter().zip(out.chunks_exact_mut(size)) {
                out.copy_from_slice(bytes.get(row * size..(row + 1) * size).unwrap_or_default());
            }
            all += start.elapsed();
            std::hint::black_box(&mut *out);
        }
        Ok(all)
    }))
}

fn cold_rows(path: PathBuf, size: usize) -> Batch<'static> {
    let mut out = vec![0_f32; ROWS * size / 4];
    let mut random = Random(2);
    Box::new(move |times| {
        (0..times)
            .map(|_| {
                evict(&path)?;
                timed(&open(&path)?.rows()?, ROWS, 0, &mut random, &mut out, Rows::take)
            })
            .sum()
    })
}

/// Reads the blocks that have the rows, or as many, without the page cache: what the disk
/// allows.
fn by_ring(path: PathBuf, size: usize) -> Batch<'static> {
    let size = size.max(PAGE);
    let mut random = Random(2);
    Box::new(move |times| {
        (0..times)
            .map(|_| {
                evict(&path)?;
                let ring = Ring::direct(&path, size)?;
                let blocks = random.indices(ROWS, FILE / size);
                let start = Instant::now();
                ring.read(0, blocks.into_iter(), || true)?;
                Ok(start.elapsed())
            })
            .sum()
    })
}

/// Reads rows as they are in the file, through the page cache.
fn by_cached_ring(path: PathBuf, size: usize) -> Batch<'static> {
    let mut random = Random(2);
    Box::new(move |times| {
        (0..times)
            .map(|_| {
                evict(&path)?;
                let start = open(&path)?.data_offset().ok_or("the array is not in a file")?;
                let ring = Ring::cached(&path, size)?;
                let rows = random.indices(ROWS, FILE / size);
                let timer = Instant::now();
                ring.read(usize::try_from(start)?, rows.into_iter(), || true)?;
                Ok(timer.elapsed())
            })
            .sum()
    })
}

fn windows(rows: &Rows, starts: &[usize], out: &mut [i64]) -> npymap::Result<()> {
    rows.windows(WINDOW)?.take_as(starts, out)
}

fn warm_windows(path: &Path) -> Result<Batch<'static>> {
    let rows = open(path)?.rows()?;
    let mut out = vec![0_i64; WINDOWS * WINDOW];
    let mut random = Random(3);
    Ok(Box::new(move |times| {
        (0..times).map(|_| timed(&rows, WINDOWS, WINDOW, &mut random, &mut out, windows)).sum()
    }))
}

fn cold_windows(path: PathBuf) -> Batch<'static> {
    let mut out = vec![0_i64; WINDOWS * WINDOW];
    let mut random = Random(4);
    Box::new(move |times| {
        (0..times)
            .map(|_| {
                evict(&path)?;
                timed(&open(&path)?.rows()?, WINDOWS, WINDOW, &mut random, &mut out, windows)
            })
            .sum()
    })
}

//! Rows in no order, and windows of tokens, against NumPy: as shipped, and
//! with the advice that its maps don't get by themselves.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use npymap::{Header, MappedArray, Order, Rows};

use crate::Result;
use crate::files::{evict, free, read_ahead, settle};
use crate::numpy::NumPy;
use crate::rounds::{Batch, Contestant, Work};

/// Rows of a batch.
const ROWS: usize = 256;

/// Windows of a batch, and the tokens of one.
const WINDOWS: usize = 64;
const WINDOW: usize = 1025;

/// Bytes of each file.
const FILE: usize = 512 << 20;

/// KiB that most systems read ahead; with more, NumPy as shipped is slower.
const USUAL_READ_AHEAD: u64 = 128;

/// Bytes of a row, and targets.
const SIZES: [(usize, Targets); 3] = [
    (256, Targets { index: 0.70, take: 1.05, shipped: [0.05, 0.20], advised: 0.55 }),
    (4096, Targets { index: 0.75, take: 0.95, shipped: [0.05, 0.20], advised: 0.60 }),
    (65536, Targets { index: 0.95, take: 1.05, shipped: [0.06, 0.45], advised: 0.25 }),
];

/// Warm, against `mm[idx]` and `take(out=)`; cold, against NumPy as shipped,
/// with much read ahead and with the usual, and with advice.
struct Targets {
    index: f64,
    take: f64,
    shipped: [f64; 2],
    advised: f64,
}

/// What NumPy's side calls its works, by the size of a row.
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

pub(crate) fn works<'a>(directory: &'a Path, numpy: Option<&'a NumPy>) -> Result<Vec<Work<'a>>> {
    free(directory, 5 << 30)?;
    let ask = |name, call: &str, target| -> Option<Contestant<'a>> {
        numpy.map(|numpy| numpy.contestant(name, call, target))
    };
    let ninja = |name| -> Option<Contestant<'a>> {
        let numpy = numpy.filter(|numpy| numpy.has("mmap_ninja"));
        numpy.map(|numpy| numpy.other(name, "mmap_ninja `mm[idx]`", None))
    };
    let mut works = Vec::new();
    let read_ahead = read_ahead(directory)
        .inspect_err(|error| eprintln!("how much is read ahead isn't known: {error}"))
        .ok();
    let cold = read_ahead.map_or("cold".to_owned(), |kib| format!("cold, {kib} KiB read ahead"));
    let usual = read_ahead.is_some_and(|kib| kib <= USUAL_READ_AHEAD);
    for (size, Targets { index, take: over, shipped: [much, little], advised: target }) in SIZES {
        let path = directory.join(format!("rows-{size}.npy"));
        write(&path, "<f4", &[FILE / size, size / 4])?;
        let [rows, take, by_ninja, shipped, advised, cold_ninja] = names(size);
        works.push(Work {
            name: format!("{ROWS} random rows of {size} bytes, warm"),
            ours: warm_rows(&path, size)?,
            peers: [
                ask(rows, "`mm[idx]`", Some(index)),
                ask(take, "`take(out=)`", Some(over)),
                ninja(by_ninja),
            ]
            .into_iter()
            .flatten()
            .collect(),
        });
        works.push(Work {
            name: format!("{ROWS} random rows of {size} bytes, {cold}"),
            ours: cold_rows(path, size),
            peers: [
                ask(shipped, "`mm[idx]`", Some(if usual { little } else { much })),
                ask(advised, "`mm[idx]` with `MADV_RANDOM`", Some(target)),
                ninja(cold_ninja),
            ]
            .into_iter()
            .flatten()
            .collect(),
        });
    }
    let tokens = directory.join("tokens.npy");
    write(&tokens, "<u2", &[FILE / 2])?;
    works.push(Work {
        name: format!("{WINDOWS} windows of {WINDOW} tokens to `i64`, warm"),
        ours: warm_windows(&tokens)?,
        peers: ask("tokens", "`stack`, `astype`", Some(0.15)).into_iter().collect(),
    });
    works.push(Work {
        name: format!("{WINDOWS} windows of {WINDOW} tokens to `i64`, {cold}"),
        ours: cold_windows(tokens),
        peers: ask("tokens-cold", "`stack`, `astype`", (!usual).then_some(0.05))
            .into_iter()
            .collect(),
    });
    Ok(works)
}

/// Writes a file of numbers that are no holes.
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

/// Numbers below `end` in no order.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        usize::try_from(self.0 >> 33).unwrap_or(0) % end
    }

    pub(crate) fn some(&mut self, count: usize, end: usize) -> Vec<usize> {
        (0..count).map(|_| self.below(end)).collect()
    }
}

fn open(path: &Path) -> Result<MappedArray> {
    // SAFETY: nobody else knows the file, and no one writes to it.
    Ok(unsafe { MappedArray::open(path) }?)
}

/// Times `take` alone, on indices that differ each time.
fn timed<T: Default + Clone>(
    rows: &Rows,
    count: usize,
    len: usize,
    random: &mut Random,
    out: &mut [T],
    take: impl Fn(&Rows, &[usize], &mut [T]) -> npymap::Result<()>,
) -> Result<Duration> {
    let indices = random.some(count, rows.len().saturating_sub(len));
    let start = Instant::now();
    take(rows, &indices, out)?;
    Ok(start.elapsed())
}

fn warm_rows(path: &Path, size: usize) -> Result<Batch<'static>> {
    let rows = open(path)?.rows()?;
    let out = RefCell::new(vec![0_f32; ROWS * size / 4]);
    let mut random = Random(1);
    Ok(Box::new(move |times| {
        let mut out = out.borrow_mut();
        (0..times).map(|_| timed(&rows, ROWS, 0, &mut random, &mut out, Rows::take)).sum()
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

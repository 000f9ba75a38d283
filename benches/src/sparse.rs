//! Rows of a file larger than memory: the time, and how much stays in memory.
#![allow(unsafe_code)]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use memmap2::Mmap;
use npymap::{CreateOptions, DType, MappedArray, RowSource as _};
use rustix::fs::stat;

use crate::Result;
use crate::files::evict;
use crate::numpy::NumPy;
use crate::rounds::{Benchmark, Peer};
use crate::sampling::Random;

/// 64 GiB of rows of 4 KiB.
const ROWS: usize = 1 << 24;
const ROW: usize = 4096;

/// Rows that are taken in total, and per batch.
const TAKEN: usize = 25_600;
const BATCH: usize = 256;

/// How much of a file stays in memory after rows of it were taken.
#[derive(Debug)]
pub(crate) struct Growth {
    pub(crate) program: String,
    /// Growth of this process's memory in bytes; unknown for NumPy.
    pub(crate) memory: Option<usize>,
    /// Bytes of the file in the page cache.
    pub(crate) cache: usize,
    pub(crate) has_target: bool,
}

impl Growth {
    pub(crate) const NAME: &str = "25600 random rows of a sparse 64 GiB file";
    pub(crate) const TOUCHED: usize = TAKEN * ROW;
    /// The bytes touched, plus a quarter, plus 16 MiB.
    pub(crate) const BOUND: usize = Growth::TOUCHED / 4 * 5 + (16 << 20);

    /// Whether memory and page cache are within the bound.
    pub(crate) fn verdict(&self) -> Option<&'static str> {
        let most = self.cache.max(self.memory.unwrap_or(0));
        self.has_target.then_some(if most <= Growth::BOUND { "pass" } else { "short" })
    }
}

/// Creates the file: a header of one page and a hole, so that each row is a
/// page.
pub(crate) fn create(directory: &Path) -> Result<PathBuf> {
    let path = directory.join("sparse.npy");
    let options = CreateOptions::new().sparse(true).page_aligned(true);
    let shape = [ROWS, ROW / 4];
    // SAFETY: no other process uses the file.
    unsafe { options.create(&path, &DType::of::<f32>(), &shape) }?.close()?;
    if stat(&path)?.st_blocks > 2048 {
        return Err("the file system does not support sparse files".into());
    }
    Ok(path)
}

pub(crate) fn benchmark<'a>(path: &'a Path, numpy: &'a NumPy, rounds: usize) -> Benchmark<'a> {
    let peers: Vec<Peer<'a>> = vec![numpy.peer("sparse", "`mm[idx]`", Some(0.05))];
    Benchmark {
        name: format!("{}, {rounds} rounds", Growth::NAME),
        ours: Box::new(move |times| (0..times).map(|_| take(path).map(|(time, _)| time)).sum()),
        peers,
    }
}

/// Measures how much stays in memory after taking rows with `npymap`.
pub(crate) fn ours(path: &Path) -> Result<Growth> {
    let (_, memory) = take(path)?;
    Ok(Growth {
        program: "npymap".into(),
        memory: Some(memory),
        cache: in_cache(path)?,
        has_target: true,
    })
}

/// Measures how much stays in memory after NumPy, which must have been the last
/// to take rows.
pub(crate) fn theirs(path: &Path) -> Result<Growth> {
    let (program, cache) = ("NumPy `mm[idx]`".into(), in_cache(path)?);
    Ok(Growth { program, memory: None, cache, has_target: false })
}

/// Takes all rows of a file that was just evicted from the page cache; returns
/// the time, and by how much this process's memory grew.
fn take(path: &Path) -> Result<(Duration, usize)> {
    evict(path)?;
    // SAFETY: no other process uses the file, and no one writes to it.
    let rows = unsafe { MappedArray::open(path) }?.rows()?;
    let mut out = vec![1_f32; BATCH * ROW / 4];
    let mut random = Random::new(5);
    let batches: Vec<_> = (0..TAKEN / BATCH).map(|_| random.indices(BATCH, ROWS)).collect();
    let before = resident()?;
    let start = Instant::now();
    for batch in &batches {
        rows.take(batch, &mut out)?;
    }
    let time = start.elapsed();
    Ok((time, resident()?.saturating_sub(before)))
}

/// Resident bytes of this process, including pages of files.
fn resident() -> Result<usize> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes: usize = line
        .and_then(|line| line.split_whitespace().next())
        .ok_or("no VmRSS in /proc/self/status")?
        .parse()?;
    Ok(kibibytes * 1024)
}

/// Bytes of a file that are in the page cache.
fn in_cache(path: &Path) -> Result<usize> {
    /// Bytes per call.
    const PART: usize = 1 << 30;
    let page = rustix::param::page_size();
    // SAFETY: no other process uses the file.
    let map = unsafe { Mmap::map(&File::open(path)?) }?;
    let mut states = vec![0_u8; PART / page];
    let mut pages = 0;
    for part in map.chunks(PART) {
        let address = part.as_ptr().cast_mut().cast();
        // SAFETY: the bytes are mapped and start at a page boundary, and
        // `states` has a byte for each of their pages.
        let failed = unsafe { libc::mincore(address, part.len(), states.as_mut_ptr()) } != 0;
        if failed {
            return Err(std::io::Error::last_os_error().into());
        }
        let states = states.iter().take(part.len().div_ceil(page));
        pages += states.filter(|state| **state & 1 == 1).count();
    }
    Ok(pages * page)
}

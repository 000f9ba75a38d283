//! Rows of a file larger than memory: the time, and what stays in memory.
#![allow(unsafe_code)]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use memmap2::Mmap;
use npymap::{CreateOptions, DType, MappedArray};
use rustix::fs::stat;

use crate::Result;
use crate::files::evict;
use crate::numpy::NumPy;
use crate::rounds::{Contestant, Work};
use crate::sampling::Random;

/// 64 GiB of rows of 4 KiB.
const ROWS: usize = 1 << 24;
const ROW: usize = 4096;

/// How many are taken, and how many at once.
const TAKEN: usize = 25_600;
const BATCH: usize = 256;

/// What is left of a file in memory after rows of it were taken.
#[derive(Debug)]
pub(crate) struct Growth {
    pub(crate) contestant: String,
    /// Bytes of this process' memory; NumPy's is not known.
    pub(crate) memory: Option<usize>,
    /// Bytes of the file in the page cache.
    pub(crate) cache: usize,
    pub(crate) has_target: bool,
}

impl Growth {
    pub(crate) const WORK: &str = "25600 random rows of a sparse file of 64 GiB";
    pub(crate) const TOUCHED: usize = TAKEN * ROW;
    /// A quarter more than is touched, and 16 MiB.
    pub(crate) const BOUND: usize = Growth::TOUCHED / 4 * 5 + (16 << 20);

    /// Whether the bound is kept.
    pub(crate) fn verdict(&self) -> Option<&'static str> {
        let most = self.cache.max(self.memory.unwrap_or(0));
        self.has_target.then_some(if most <= Growth::BOUND { "pass" } else { "short" })
    }
}

/// The file, a hole behind a header of a page, so that a row is a page.
pub(crate) fn create(directory: &Path) -> Result<PathBuf> {
    let path = directory.join("sparse.npy");
    let options = CreateOptions::new().sparse(true).page_aligned(true);
    let shape = [ROWS, ROW / 4];
    // SAFETY: nobody else knows the file.
    unsafe { MappedArray::create(&path, &DType::of::<f32>(), &shape, &options) }?.close()?;
    if stat(&path)?.st_blocks > 2048 {
        return Err("the file system has no sparse files".into());
    }
    Ok(path)
}

pub(crate) fn work<'a>(path: &'a Path, numpy: &'a NumPy, rounds: usize) -> Work<'a> {
    let peers: Vec<Contestant<'a>> = vec![numpy.contestant("sparse", "`mm[idx]`", Some(0.05))];
    let ours = move |times| (0..times).map(|_| take(path).map(|(time, _)| time)).sum();
    Work { name: format!("{}, {rounds} rounds", Growth::WORK), ours: Box::new(ours), peers }
}

/// What our own way leaves in memory.
pub(crate) fn ours(path: &Path) -> Result<Growth> {
    let (_, memory) = take(path)?;
    Ok(Growth {
        contestant: "npymap".into(),
        memory: Some(memory),
        cache: in_cache(path)?,
        has_target: true,
    })
}

/// What NumPy left, which must have been the last to take rows.
pub(crate) fn theirs(path: &Path) -> Result<Growth> {
    let (contestant, cache) = ("NumPy `mm[idx]`".into(), in_cache(path)?);
    Ok(Growth { contestant, memory: None, cache, has_target: false })
}

/// Takes all rows of a file that was just driven out of memory; the time, and
/// by how much this process' memory grew.
fn take(path: &Path) -> Result<(Duration, usize)> {
    evict(path)?;
    // SAFETY: nobody else knows the file, and no one writes to it.
    let rows = unsafe { MappedArray::open(path) }?.rows()?;
    let mut out = vec![1_f32; BATCH * ROW / 4];
    let mut random = Random::new(5);
    let batches: Vec<_> = (0..TAKEN / BATCH).map(|_| random.some(BATCH, ROWS)).collect();
    let before = resident()?;
    let start = Instant::now();
    for batch in &batches {
        rows.take(batch, &mut out)?;
    }
    let time = start.elapsed();
    Ok((time, resident()?.saturating_sub(before)))
}

/// Bytes of this process' memory, pages of files among them.
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
    /// Bytes that are asked about at once.
    const PART: usize = 1 << 30;
    let page = rustix::param::page_size();
    // SAFETY: nobody else knows the file.
    let map = unsafe { Mmap::map(&File::open(path)?) }?;
    let mut states = vec![0_u8; PART / page];
    let mut pages = 0;
    for part in map.chunks(PART) {
        let address = part.as_ptr().cast_mut().cast();
        // SAFETY: the bytes are a map's, from the start of a page on, and
        // there is a byte in `states` for each page of them.
        let failed = unsafe { libc::mincore(address, part.len(), states.as_mut_ptr()) } != 0;
        if failed {
            return Err(std::io::Error::last_os_error().into());
        }
        let asked = states.iter().take(part.len().div_ceil(page));
        pages += asked.filter(|state| **state & 1 == 1).count();
    }
    Ok(pages * page)
}

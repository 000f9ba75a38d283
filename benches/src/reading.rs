//! The fastest way to read a file that is not in the page cache: the limit for epochs.
#![allow(unsafe_code)]

use std::fs::File;
use std::hint::black_box;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use npymap::{CreateOptions, DType, MappedArray};

use crate::Result;
use crate::files::evict;
use crate::rounds::Batch;

/// How long to wait until a file is evicted, or read.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn open(path: &Path) -> Result<MappedArray> {
    // SAFETY: no other process uses the file, and no one writes to it.
    Ok(unsafe { MappedArray::open(path) }?)
}

/// Creates an array of `u1` without values. Returns where the elements start, which is the
/// start of a page.
pub(crate) fn create(path: &Path, len: usize, size: usize) -> Result<u64> {
    let options = CreateOptions::new().page_aligned(true).sparse(true);
    // SAFETY: as in `open`.
    let array = unsafe { options.create(path, &DType::of::<u8>(), &[len, size]) }?;
    Ok(array.data_offset().ok_or("the array is not in a file")?)
}

/// Runs a function on the file after evicting it, and returns its time.
pub(crate) fn cold_once(path: &Path, once: impl Fn(&Path) -> Result<()>) -> Result<Duration> {
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

/// Reads the file in several ways, and counts the time of the fastest.
pub(crate) fn fastest_read(path: &Path) -> Batch<'static> {
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

/// Calls `read(2)` for 1 MiB at a time.
pub(crate) fn by_read(path: &Path) -> Result<()> {
    let mut file = File::open(path)?;
    let mut block = vec![0; 1 << 20];
    while file.read(&mut block)? > 0 {
        black_box(&mut block);
    }
    Ok(())
}

/// Faults 16 MiB in at a time.
pub(crate) fn by_populate(path: &Path) -> Result<()> {
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

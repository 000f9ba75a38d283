//! The files to open, made in a temporary directory.
#![allow(unsafe_code)]

use std::fs::{self, File};
use std::hint::black_box;
use std::path::{Path, PathBuf};

use memmap2::{Advice, Mmap};
use npymap::{DType, Header, Order};
use rustix::fs::{Advice as FileAdvice, fadvise};
use tempfile::TempDir;

use crate::Result;

/// Elements of the large file: 4 GiB of `f64`.
const LARGE_LEN: usize = 1 << 29;

/// The element of the large file that is read, in its middle.
pub(crate) const LARGE_INDEX: usize = LARGE_LEN / 2;

/// Field types of 52 bytes in total; a record repeats them ten times.
const FIELD_TYPES: [&str; 10] =
    ["<f8", "<i4", "|u1", "<f4", "<i2", "|b1", "<u8", "|S8", "<M8[ns]", "<c8"];

/// Bytes of one record.
pub(crate) const RECORD: usize = 520;

/// The files, removed on drop.
#[derive(Debug)]
pub(crate) struct Files {
    directory: TempDir,
    small: PathBuf,
    fields: PathBuf,
    large: Option<PathBuf>,
}

impl Files {
    pub(crate) fn create() -> Result<Files> {
        let directory = TempDir::with_prefix("npymap-benches-")?;
        let small = directory.path().join("small.npy");
        let fields = directory.path().join("fields.npy");
        let large = directory.path().join("large.npy");
        write_small(&small)?;
        write_fields(&fields)?;
        let large = write_large(&large)
            .inspect_err(|error| eprintln!("skipping the 4 GiB file: {error}"))
            .is_ok()
            .then_some(large);
        Ok(Files { directory, small, fields, large })
    }

    /// Holds `small.npy`, `fields.npy` and maybe `large.npy`.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// `f64`, 100 × 10.
    pub(crate) fn small(&self) -> &Path {
        &self.small
    }

    /// Five records of 100 fields.
    pub(crate) fn fields(&self) -> &Path {
        &self.fields
    }

    /// 4 GiB of `f64`, if the file system supports sparse files.
    pub(crate) fn large(&self) -> Option<&Path> {
        self.large.as_deref()
    }
}

fn write_small(path: &Path) -> Result<()> {
    let mut bytes = Header::new(DType::of::<f64>(), &[100, 10], Order::C)?.encode(None)?.bytes;
    for i in 0..1000_i32 {
        bytes.extend(f64::from(i + 1).to_le_bytes());
    }
    write(path, &bytes)
}

fn write_fields(path: &Path) -> Result<()> {
    let types = FIELD_TYPES.iter().cycle().take(100);
    let fields: Vec<_> =
        types.enumerate().map(|(i, dtype)| format!("('field_{i:02}', '{dtype}')")).collect();
    let dtype: DType = format!("[{}]", fields.join(", ")).parse()?;
    assert_eq!(dtype.itemsize(), RECORD, "the field types make up a record");
    let mut bytes = Header::new(dtype, &[5], Order::C)?.encode(None)?.bytes;
    bytes.resize(bytes.len() + 5 * RECORD, 1);
    write(path, &bytes)
}

/// Writes only the header; the elements are a hole.
fn write_large(path: &Path) -> Result<()> {
    let header = Header::new(DType::of::<f64>(), &[LARGE_LEN], Order::C)?;
    write(path, &header.encode(None)?.bytes)?;
    let file = File::options().write(true).open(path)?;
    let layout = header.layout()?;
    file.set_len(u64::try_from(layout.offset() + layout.nbytes())?)?;
    let blocks = rustix::fs::fstat(&file)?.st_blocks;
    if blocks > 2048 { Err("the file system does not support sparse files".into()) } else { Ok(()) }
}

/// Reads a file into the page cache again, in the largest pages the kernel has.
/// After writing, the cache holds smaller ones, which would change all results.
pub(crate) fn settle(path: &Path) -> Result<()> {
    let file = File::open(path)?;
    fadvise(&file, 0, None, FileAdvice::DontNeed)?;
    // SAFETY: no other process uses the file.
    let map = unsafe { Mmap::map(&file) }?;
    // Not every kernel has huge pages for files.
    map.advise(Advice::HugePage).ok();
    black_box(map.iter().step_by(64).map(|&byte| u64::from(byte)).sum::<u64>());
    Ok(())
}

/// Evicts a file from the page cache. Nothing may have it mapped.
pub(crate) fn evict(path: &Path) -> Result<()> {
    Ok(fadvise(&File::open(path)?, 0, None, FileAdvice::DontNeed)?)
}

/// Returns how many KiB the system reads ahead on the device of a directory.
pub(crate) fn read_ahead(directory: &Path) -> Result<u64> {
    let device = rustix::fs::stat(directory)?.st_dev;
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let text = fs::read_to_string(format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb"))?;
    Ok(text.trim().parse()?)
}

/// Checks that a directory's file system has `needed` bytes of free space.
pub(crate) fn check_space(directory: &Path, needed: u64) -> Result<()> {
    let system = rustix::fs::statvfs(directory)?;
    let free = system.f_bavail * system.f_frsize;
    if free < needed {
        return Err(format!(
            "{} MiB are free in {} and {} MiB are needed: set TMPDIR",
            free >> 20,
            directory.display(),
            needed >> 20
        )
        .into());
    }
    Ok(())
}

pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes)?;
    File::open(path)?.sync_all()?;
    Ok(())
}

//! Writing: appending rows, filling files, scattered edits.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use npymap::{Appender, CreateOptions, DType, MappedArray, MappedArrayMut};
use rustix::fs::{Advice, fadvise, fstat};

use crate::Result;
use crate::numpy::NumPy;
use crate::rounds::{Batch, Benchmark, Peer};

/// Bytes of a row, the name of the benchmark in `numpy_peer.py`, and the target.
const ROWS: [(usize, &str, f64); 3] =
    [(256, "append-256", 0.15), (4096, "append-4096", 0.25), (65536, "append-65536", 0.65)];

/// Elements of the file that is edited: 1 GiB of `f64`.
const EDITED: usize = 1 << 27;

/// Elements that are edited before each flush.
const EDITS: usize = 1000;

pub(crate) fn benchmarks<'a>(
    directory: &'a Path,
    quick: bool,
    numpy: Option<&'a NumPy>,
) -> Result<Vec<Benchmark<'a>>> {
    let (mebibytes, fill_name) = if quick { (256, "fill-256") } else { (2048, "fill-2048") };
    let filled: usize = mebibytes << 17;
    let mut benchmarks = Vec::new();
    for (size, name, target) in ROWS {
        for (how, buffer) in [("gathered", 64 << 10), ("visible at once", 0)] {
            let peers = numpy.filter(|numpy| numpy.has("npy-append-array"));
            let peers =
                peers.map(|numpy| numpy.package_peer(name, "npy-append-array", Some(target)));
            let path = directory.join("appended.npy");
            let bare = (buffer == 0).then(|| {
                let path = directory.join("written.npy");
                let batch: Batch = Box::new(move |rows| write_both(&path, size, rows));
                Peer::new("bare `fstat` and two `pwrite`", Some(1.25), batch)
            });
            benchmarks.push(Benchmark {
                name: format!("append a row of {size} bytes, {how}"),
                ours: Box::new(move |rows| append(&path, size, buffer, rows)),
                peers: peers.into_iter().chain(bare).collect(),
            });
        }
    }
    let fills: [(_, _, Fill); 2] =
        [("by writes", 0.8, by_writes), ("through the map", 1.1, by_map)];
    for (how, target, fill) in fills {
        let peers = numpy.map(|numpy| numpy.peer(fill_name, "`open_memmap`", Some(target)));
        let path = directory.join("filled.npy");
        benchmarks.push(Benchmark {
            name: format!("create and fill {mebibytes} MiB {how}"),
            ours: Box::new(move |times| create(&path, filled, fill, times)),
            peers: peers.into_iter().collect(),
        });
    }
    let edited = edited(directory)?;
    for (how, name, target) in [("warm", "edit-warm", 0.4), ("cold", "edit-cold", 0.1)] {
        let peers = numpy.map(|numpy| numpy.peer(name, "`memmap`", Some(target)));
        benchmarks.push(Benchmark {
            name: format!("{EDITS} scattered edits and a flush, {how}"),
            ours: edits(edited.clone(), how == "cold"),
            peers: peers.into_iter().collect(),
        });
    }
    Ok(benchmarks)
}

/// Appends rows to a new file.
fn append(path: &Path, size: usize, buffer: usize, rows: u32) -> Result<Duration> {
    let row = vec![1.5_f64; size / 8];
    let options = CreateOptions::new().overwrite(true);
    let to = Appender::create(path, &DType::of::<f64>(), &[row.len()], &options)?;
    let mut to = to.with_capacity(buffer);
    let start = Instant::now();
    for _ in 0..rows {
        to.append_slice(&row)?;
    }
    to.flush()?;
    let elapsed = start.elapsed();
    drop(to);
    fs::remove_file(path)?;
    Ok(elapsed)
}

/// Writes rows, and after each the digits of a header, if the file ends where the last row
/// did: what a visible row costs at least.
fn write_both(path: &Path, size: usize, rows: u32) -> Result<Duration> {
    let (header, row) = ([b' '; 128], vec![1; size]);
    let file = File::create(path)?;
    file.write_all_at(&header, 0)?;
    let start = Instant::now();
    let mut end = 128;
    for _ in 0..rows {
        if u64::try_from(fstat(&file)?.st_size)? != end {
            return Err("another writer changed the length of the file".into());
        }
        file.write_all_at(&row, end)?;
        file.write_all_at(b"1", 64)?;
        end += u64::try_from(size)?;
    }
    let elapsed = start.elapsed();
    drop(file);
    fs::remove_file(path)?;
    Ok(elapsed)
}

/// Fills a new array.
type Fill = fn(&mut MappedArrayMut) -> npymap::Result<()>;

/// Creates and fills files of `len` elements, one after the other.
fn create(path: &Path, len: usize, fill: Fill, times: u32) -> Result<Duration> {
    let mut elapsed = Duration::ZERO;
    for _ in 0..times {
        let start = Instant::now();
        let dtype = DType::of::<f64>();
        // SAFETY: only this process knows the file, in its own directory.
        #[allow(unsafe_code)]
        let created = unsafe { MappedArray::create(path, &dtype, &[len]) };
        let mut array = created?;
        fill(&mut array)?;
        drop(array);
        elapsed += start.elapsed();
        fs::remove_file(path)?;
    }
    Ok(elapsed)
}

fn by_writes(array: &mut MappedArrayMut) -> npymap::Result<()> {
    array.write_fill_slice([], None, &1.5_f64).map(drop)
}

fn by_map(array: &mut MappedArrayMut) -> npymap::Result<()> {
    array.as_slice_mut()?.fill(1.5_f64);
    Ok(())
}

/// Creates the file that is edited, `edited.npy`.
fn edited(directory: &Path) -> Result<PathBuf> {
    let path = directory.join("edited.npy");
    // SAFETY: only this process knows the file, in its own directory.
    #[allow(unsafe_code)]
    let created = unsafe { MappedArray::create(&path, &DType::of::<f64>(), &[EDITED]) };
    let mut array = created?;
    array.write_fill_slice([], None, &1.0_f64)?;
    array.close()?;
    Ok(path)
}

/// Writes scattered elements of the file, and waits for the disk.
fn edits(path: PathBuf, cold: bool) -> Batch<'static> {
    let mut random = 1_usize;
    Box::new(move |times| {
        let mut elapsed = Duration::ZERO;
        for _ in 0..times {
            if cold {
                evict(&path)?;
            }
            // SAFETY: nobody else edits the file meanwhile: NumPy waits.
            #[allow(unsafe_code)]
            let mut array = unsafe { MappedArray::open_mut(&path)? };
            let start = Instant::now();
            for _ in 0..EDITS {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                array.element_writer()?.write(&[(random >> 33) % EDITED], &[2.0_f64])?;
            }
            array.flush()?;
            elapsed += start.elapsed();
        }
        Ok(elapsed)
    })
}

/// Drops a file from the page cache.
fn evict(path: &Path) -> Result<()> {
    let file = File::open(path)?;
    file.sync_all()?;
    Ok(fadvise(&file, 0, None, Advice::DontNeed)?)
}

//! Whole epochs of a file: cold, against reading it, and in memory, against copies.

use std::fs::File;
use std::hint::black_box;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use npymap::loader::{Concat, RowSource, Shard};
use npymap::{ArrayFile, Loader, Sampler};

use crate::Result;
use crate::files::{check_space, settle};
use crate::numpy::NumPy;
use crate::reading::{by_populate, cold_once, create, fastest_read, open};
use crate::rounds::{Batch, Benchmark, Peer};

/// Rows of a batch, and the most bytes of it.
const BATCH: usize = 256;
const BATCH_BYTES: usize = 4 << 20;

/// Bytes of each file.
const FILE: usize = 512 << 20;
const QUICK_FILE: usize = 64 << 20;

/// Bytes of a block, and the number of blocks that are mixed.
const BLOCK: usize = 1 << 20;
const BUFFER: usize = 64;

/// Processes or threads that share a file.
const WORLD: usize = 4;

/// Bytes of a row, the name of the benchmark in `numpy_peer.py`, and whether it is read
/// in every way.
const SIZES: [(usize, &str, bool); 5] = [
    (256, "cold-epoch-256", false),
    (512, "cold-epoch-512", true),
    (4 << 10, "cold-epoch-4096", false),
    (12 << 10, "cold-epoch-12288", true),
    (600 << 10, "cold-epoch-614400", false),
];

/// Bytes of the rows of a loader, and the names of the benchmarks in `numpy_peer.py`.
const LOADER_SIZES: [(usize, &str, &str); 4] = [
    (512, "loader-512", "cold-loader-512"),
    (4 << 10, "loader-4096", "cold-loader-4096"),
    (12 << 10, "loader-12288", "cold-loader-12288"),
    (150 << 10, "loader-153600", "cold-loader-153600"),
];

/// The rows of a file.
#[derive(Clone)]
struct Work {
    path: PathBuf,
    len: usize,
    /// Bytes of a row.
    size: usize,
    /// Rows of a batch.
    batch: usize,
}

/// A way to read an epoch.
type Way = fn(&Work, &Sampler) -> Result<()>;

pub(crate) fn benchmarks<'a>(
    directory: &'a Path,
    quick: bool,
    numpy: Option<&'a NumPy>,
) -> Result<Vec<Benchmark<'a>>> {
    let nbytes = if quick { QUICK_FILE } else { FILE };
    check_space(directory, u64::try_from((SIZES.len() + 1) * nbytes)?)?;
    let mut benchmarks = Vec::new();
    for (size, name, is_whole) in SIZES {
        let len = nbytes / size;
        let path = directory.join(format!("epoch-{size}.npy"));
        let work = Work { path, len, size, batch: BATCH.min(BATCH_BYTES / size) };
        write(&work.path, len, size)?;
        let of = |what: &str| format!("epoch of {} MiB, {what} of {size} bytes", nbytes >> 20);
        let numpy = numpy.map(|numpy| numpy.peer(name, "`mm[idx]` batches", None));
        benchmarks.push(work.shuffled(&of("shuffled rows"), numpy));
        if is_whole {
            benchmarks.extend(work.in_order(of));
            benchmarks.push(work.blocks(&of("in blocks, rows"))?);
            benchmarks.extend(work.shared(of));
            benchmarks.extend(work.warm(of));
        }
    }
    Ok(benchmarks)
}

/// Epochs as README shows them: each size of rows, by each number of threads, cold and in
/// memory, and without maps.
pub(crate) fn loader_benchmarks<'a>(
    directory: &'a Path,
    quick: bool,
    numpy: Option<&'a NumPy>,
) -> Result<Vec<Benchmark<'a>>> {
    let nbytes = if quick { QUICK_FILE } else { FILE };
    check_space(directory, u64::try_from(LOADER_SIZES.len() * nbytes)?)?;
    let ways: [(&str, Way); 4] = [
        ("", loader::<0>),
        (", 1 thread", loader::<1>),
        (", 2 threads", loader::<2>),
        (", 4 threads", loader::<4>),
    ];
    let mut benchmarks = Vec::new();
    for (size, warm_name, cold_name) in LOADER_SIZES {
        let path = directory.join(format!("loader-{size}.npy"));
        let work = Work { path, len: nbytes / size, size, batch: BATCH };
        write(&work.path, work.len, size)?;
        let sampler = Sampler::shuffled(work.len, 1);
        let name = |what: &str| format!("`batches` of {BATCH} rows of {size} bytes{what}");
        let loop_of = |name| numpy.map(|numpy| numpy.peer(name, "`mm[idx]`", None));
        for (what, way) in ways {
            let mut peers = vec![work.map_then_copy(&sampler)];
            peers.extend(loop_of(warm_name));
            let ours = work.in_memory(&sampler, way);
            benchmarks.push(Benchmark { name: format!("{}, in memory", name(what)), ours, peers });
            let mut peers = vec![work.read_then_copy(&sampler)];
            peers.extend(loop_of(cold_name));
            let ours = work.cold(&sampler, way);
            benchmarks.push(Benchmark { name: format!("{}, cold", name(what)), ours, peers });
        }
        let target = (size >= 4 << 10).then_some(1.5);
        for (what, is_cold) in [(", in memory", false), (", cold", true)] {
            let time = |way| {
                if is_cold { work.cold(&sampler, way) } else { work.in_memory(&sampler, way) }
            };
            benchmarks.push(Benchmark {
                name: name(&format!(" of an `ArrayFile`{what}")),
                ours: time(file_loader),
                peers: vec![
                    Peer::new("the same of `Rows`", target, time(loader::<0>)),
                    Peer::new("`pread` of each row", Some(1.25), time(pread)),
                ],
            });
        }
    }
    Ok(benchmarks)
}

impl Work {
    fn shuffled<'a>(&self, name: &str, numpy: Option<Peer<'a>>) -> Benchmark<'a> {
        let sampler = Sampler::shuffled(self.len, 1);
        let plain = self.cold(&sampler, plain);
        let mut peers = vec![self.read_then_copy(&sampler), Peer::new(PLAIN, None, plain)];
        peers.extend(numpy);
        Benchmark { name: format!("{name}, cold"), ours: self.cold(&sampler, rows), peers }
    }

    fn in_order<'a>(&self, name: impl Fn(&str) -> String) -> [Benchmark<'a>; 3] {
        let sampler = Sampler::sequential(self.len);
        let ways: [(&str, Way); 3] =
            [("rows", rows), ("`ArrayFile` rows", array_file), ("`Concat` rows", concat)];
        ways.map(|(what, way)| Benchmark {
            name: format!("{}, cold", name(&format!("sequential {what}"))),
            ours: self.cold(&sampler, way),
            peers: vec![
                Peer::new("the fastest way to read the file", Some(1.15), fastest_read(&self.path)),
                Peer::new(PLAIN, None, self.cold(&sampler, plain)),
            ],
        })
    }

    fn blocks<'a>(&self, name: &str) -> Result<Benchmark<'a>> {
        let sampler = Sampler::blocks(self.len, BLOCK / self.size, 1).buffer(BUFFER)?;
        let plain = self.cold(&sampler, plain);
        Ok(Benchmark {
            name: format!("{name}, cold"),
            ours: self.cold(&sampler, rows),
            peers: vec![self.read_then_copy(&sampler), Peer::new(PLAIN, None, plain)],
        })
    }

    /// Several threads or processes that share an order.
    fn shared<'a>(&self, name: impl Fn(&str) -> String) -> [Benchmark<'a>; 2] {
        let sampler = Sampler::shuffled(self.len, 1);
        let ways: [(&str, Way); 2] = [("threads", threads), ("processes", processes)];
        ways.map(|(what, way)| Benchmark {
            name: format!("{} by {WORLD} {what}, cold", name("shuffled rows")),
            ours: self.cold(&sampler, way),
            peers: vec![self.read_then_copy(&sampler)],
        })
    }

    /// Epochs in memory, whose pages the map of the rows does not have yet.
    fn warm<'a>(&self, name: impl Fn(&str) -> String) -> [Benchmark<'a>; 1] {
        let sampler = Sampler::shuffled(self.len, 1);
        let copies = Peer::new(
            "copies from a map that has its pages",
            Some(1.1),
            self.clone().populated(sampler.clone(), Work::copy),
        );
        let new_map = Peer::new("copies from a new map", None, self.in_memory(&sampler, plain));
        [Benchmark {
            name: format!("{}, in memory, new `Rows`", name("shuffled rows")),
            ours: self.in_memory(&sampler, rows),
            peers: vec![copies, new_map],
        }]
    }

    /// Maps the file at once, and copies its rows after that, into one buffer.
    fn map_then_copy<'a>(&self, sampler: &Sampler) -> Peer<'a> {
        let way: Way = |work, sampler| {
            let array = open(&work.path)?;
            array.populate(..)?;
            work.copy(array.as_ref(), sampler);
            Ok(())
        };
        Peer::new("plain copies into one buffer", Some(1.1), self.in_memory(sampler, way))
    }

    /// Runs an epoch after evicting the file.
    fn cold<'a>(&self, sampler: &Sampler, way: Way) -> Batch<'a> {
        let (work, sampler) = (self.clone(), sampler.clone());
        let once = move |_: &Path| way(&work, &sampler);
        let path = self.path.clone();
        Box::new(move |times| (0..times).map(|_| cold_once(&path, &once)).sum())
    }

    /// Runs an epoch after reading the file, the first time in huge pages: a cold epoch before
    /// this may have left pages of 4 KiB, which take much longer to map.
    fn in_memory<'a>(&self, sampler: &Sampler, way: Way) -> Batch<'a> {
        let (work, sampler) = (self.clone(), sampler.clone());
        let mut is_settled = false;
        Box::new(move |times| {
            if !std::mem::replace(&mut is_settled, true) {
                cold_once(&work.path, settle)?;
            }
            by_populate(&work.path)?;
            let start = Instant::now();
            for _ in 0..times {
                way(&work, &sampler)?;
            }
            Ok(start.elapsed())
        })
    }

    /// Copies the rows from a map that has its pages.
    fn populated<'a>(self, sampler: Sampler, copy: fn(&Work, &[u8], &Sampler)) -> Batch<'a> {
        Box::new(move |times| {
            let array = open(&self.path)?;
            array.populate(..)?;
            let start = Instant::now();
            for _ in 0..times {
                copy(&self, array.as_ref(), &sampler);
            }
            Ok(start.elapsed())
        })
    }

    /// Reads the file, and copies its rows after that: in any order but the file's, they
    /// can be copied only when it is in memory.
    fn read_then_copy<'a>(&self, sampler: &Sampler) -> Peer<'a> {
        let mut read = fastest_read(&self.path);
        let mut copies = self.clone().populated(sampler.clone(), Work::copy);
        let batch = Box::new(move |times| Ok(read(times)? + copies(times)?));
        Peer::new("the fastest way to read the file, then copies from memory", Some(1.25), batch)
    }

    fn copy(&self, bytes: &[u8], sampler: &Sampler) {
        let mut out = self.buffer();
        for batch in sampler.batches(self.batch) {
            self.copy_batch(bytes, &batch, &mut out);
            black_box(&mut out);
        }
    }

    fn copy_batch(&self, bytes: &[u8], batch: &[usize], out: &mut [u8]) {
        for (row, out) in batch.iter().zip(out.chunks_exact_mut(self.size)) {
            let row = bytes.get(row * self.size..(row + 1) * self.size);
            out.copy_from_slice(row.expect("a row of the file"));
        }
    }

    fn buffer(&self) -> Vec<u8> {
        vec![0; self.batch * self.size]
    }

    /// Takes all rows.
    fn take(&self, sampler: &Sampler, source: &impl RowSource) -> Result<()> {
        let mut out = self.buffer();
        for batch in sampler.batches(self.batch).announce_to(source) {
            let out = out.get_mut(..batch.len() * self.size).unwrap_or_default();
            source.take(&batch, out)?;
            black_box(out);
        }
        Ok(())
    }
}

const PLAIN: &str = "copies from the plain map";

fn plain(work: &Work, sampler: &Sampler) -> Result<()> {
    work.copy(open(&work.path)?.as_ref(), sampler);
    Ok(())
}

fn rows(work: &Work, sampler: &Sampler) -> Result<()> {
    work.take(sampler, &open(&work.path)?.rows()?)
}

fn array_file(work: &Work, sampler: &Sampler) -> Result<()> {
    work.take(sampler, &ArrayFile::open(&work.path)?)
}

fn concat(work: &Work, sampler: &Sampler) -> Result<()> {
    work.take(sampler, &Concat::new([open(&work.path)?])?)
}

/// The way that README shows, with a number of threads or the default.
fn loader<const THREADS: usize>(work: &Work, sampler: &Sampler) -> Result<()> {
    let loader = Loader::new::<u8>(&open(&work.path)?.rows()?);
    let loader = if THREADS == 0 { loader } else { loader.threads(THREADS) };
    for batch in loader.batches(sampler.clone(), work.batch)? {
        black_box(batch?.data());
    }
    Ok(())
}

fn file_loader(work: &Work, sampler: &Sampler) -> Result<()> {
    let file = Arc::new(ArrayFile::open(&work.path)?);
    for batch in file.batches::<u8>(sampler.clone(), work.batch)? {
        black_box(batch?.data());
    }
    Ok(())
}

/// One system call for each row, into one buffer.
fn pread(work: &Work, sampler: &Sampler) -> Result<()> {
    let file = File::open(&work.path)?;
    let start = file.metadata()?.len() - u64::try_from(work.len * work.size)?;
    let mut out = work.buffer();
    for batch in sampler.batches(work.batch) {
        for (&row, out) in batch.iter().zip(out.chunks_exact_mut(work.size)) {
            file.read_exact_at(out, start + u64::try_from(row * work.size)?)?;
        }
        black_box(&mut out);
    }
    Ok(())
}

fn shard(sampler: &Sampler, rank: usize) -> Result<Sampler> {
    let shard = Shard { rank, world_size: WORLD, ..Shard::default() };
    Ok(sampler.clone().shard(shard)?)
}

fn threads(work: &Work, sampler: &Sampler) -> Result<()> {
    let rows = open(&work.path)?.rows()?;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..WORLD)
            .map(|rank| {
                let rows = rows.clone();
                let run = move || work.take(&shard(sampler, rank)?, &rows);
                scope.spawn(move || run().map_err(|error| error.to_string()))
            })
            .collect();
        for thread in threads {
            thread.join().map_err(|_| "a thread panicked")??;
        }
        Ok(())
    })
}

fn processes(work: &Work, _: &Sampler) -> Result<()> {
    let program = std::env::current_exe()?;
    let children: std::io::Result<Vec<_>> = (0..WORLD)
        .map(|rank| {
            let numbers = [rank.to_string(), work.len.to_string(), work.size.to_string()];
            Command::new(&program).arg("--shard").args(numbers).arg(&work.path).spawn()
        })
        .collect();
    for mut child in children? {
        if !child.wait()?.success() {
            return Err("a process failed".into());
        }
    }
    Ok(())
}

/// One of the processes: `--shard RANK LEN SIZE PATH`.
pub(crate) fn run_shard(arguments: &[&str]) -> Result<()> {
    let [rank, len, size, path] = arguments else {
        return Err("expected a rank, two numbers and a path".into());
    };
    let (len, size) = (len.parse()?, size.parse()?);
    let work = Work { path: path.into(), len, size, batch: BATCH.min(BATCH_BYTES / size) };
    rows(&work, &shard(&Sampler::shuffled(work.len, 1), rank.parse()?)?)
}

/// Writes rows of bytes, without holes, that start on a page of their own.
pub(crate) fn write(path: &Path, len: usize, size: usize) -> Result<()> {
    let offset = create(path, len, size)?;
    let mut file = File::options().write(true).open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let row: Vec<u8> = (0..=250).cycle().take(size).collect();
    let rows = row.repeat(((1 << 20) / size).max(1));
    let mut left = len * size;
    while left > 0 {
        let part = rows.get(..left.min(rows.len())).unwrap_or_default();
        file.write_all(part)?;
        left -= part.len();
    }
    Ok(file.sync_all()?)
}

//! The memory in use during epochs of a file that is twice as large as the memory of a
//! control group. Needs the right to make one, as root has.
#![allow(unsafe_code)]

use std::fmt::Write as _;
use std::fs::{self, File};
use std::hint::black_box;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use npymap::{MappedArray, RowSource as _, Sampler};

use crate::Result;
use crate::epochs::write;
use crate::files::{check_space, evict};
use crate::reading::by_read;
use crate::ring::Ring;

/// Bytes of a row, rows of a batch, and rows of the file: 1 GiB.
const ROW: usize = 4096;
const BATCH: usize = 256;
const ROWS: usize = 1 << 18;

/// Bytes of memory that the process may use, with its page cache.
const LIMIT: usize = 512 << 20;

/// Rows of a block of 1 MiB, and of the blocks that are mixed.
const BLOCK: usize = 256;
const BUFFER: usize = 64 * BLOCK;

/// How often memory is measured, and the longest that a process runs.
const INTERVAL: Duration = Duration::from_millis(25);
const LONGEST: Duration = Duration::from_secs(15);

/// How often each epoch runs; memory is that of the round with the median time.
const ROUNDS: usize = 3;

/// The most samples that are written for each epoch.
const POINTS: usize = 60;

/// The orders, and how rows are copied; two only read the bytes, as fast as the disk can.
const EPOCHS: [&str; 9] = [
    "sequential",
    "sequential, read(2)",
    "blocks",
    "blocks, read(2)",
    "blocks of 8 MiB",
    "blocks of 8 MiB, read(2)",
    "shuffled",
    "shuffled, io_uring",
    "shuffled, plain map",
];

/// The memory of a process at one time.
struct Sample {
    time: Duration,
    /// Bytes of the process's resident set, and of these, what is not of files.
    resident: u64,
    anonymous: u64,
    /// Bytes of the file in the page cache.
    cache: u64,
}

/// Runs epochs in processes of their own, prints the most memory that each used, and
/// writes samples to `memory.csv`.
pub(crate) fn run() -> Result<()> {
    let directory = tempfile::TempDir::with_prefix("npymap-benches-")?;
    check_space(directory.path(), u64::try_from(ROWS * ROW)?)?;
    let path = directory.path().join("epoch.npy");
    write(&path, ROWS, ROW)?;
    println!(
        "Epochs of {} MiB in rows of {ROW} bytes, with {} MiB of memory:\n",
        (ROWS * ROW) >> 20,
        LIMIT >> 20
    );
    println!(
        "| epoch | rows, % | time, s: min / median / max | resident, MiB | of these, not of the file | page cache, MiB | read, MiB |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    let mut series = "epoch,seconds,resident,anonymous,cache\n".to_owned();
    let progress = directory.path().join("progress");
    for name in EPOCHS {
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            evict(&path)?;
            let samples = measure(name, &path, &Group::create()?, &progress)?;
            let done = fs::read_to_string(&progress)?;
            let mut numbers = done.split(' ');
            let mut next = || numbers.next().ok_or("no progress");
            let (rows, read): (usize, u64) = (next()?.parse()?, next()?.parse()?);
            rounds.push((next()?.parse::<f64>()?, rows, read, samples));
        }
        rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
        let [(least, ..), (median, rows, read, samples), (longest, ..)] = rounds.as_slice() else {
            return Err("there are three rounds".into());
        };
        let most = |bytes: fn(&Sample) -> u64| samples.iter().map(bytes).max().unwrap_or(0) >> 20;
        println!(
            "| {name} | {} | {least:.2} / **{median:.2}** / {longest:.2} | {} | {} | {} | {} |",
            rows * 100 / ROWS,
            most(|sample| sample.resident),
            most(|sample| sample.anonymous),
            most(|sample| sample.cache),
            read >> 20,
        );
        let step = samples.len().div_ceil(POINTS).max(1);
        for Sample { time, resident, anonymous, cache } in samples.iter().step_by(step) {
            writeln!(
                series,
                "\"{name}\",{:.3},{resident},{anonymous},{cache}",
                time.as_secs_f64()
            )?;
        }
    }
    Ok(fs::write("memory.csv", series)?)
}

/// Starts an epoch, and measures until it ends.
fn measure(name: &str, path: &Path, group: &Group, progress: &Path) -> Result<Vec<Sample>> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["--epoch", name])
        .args([path, &group.directory, progress])
        .spawn()?;
    let start = Instant::now();
    let mut samples = Vec::new();
    loop {
        if let Some(status) = child.try_wait()? {
            return if status.success() {
                Ok(samples)
            } else {
                Err(format!("{name}: {status}").into())
            };
        }
        samples.extend(sample(&child, group, start.elapsed()));
        thread::sleep(INTERVAL);
    }
}

/// Measures a process, unless it has ended.
fn sample(child: &Child, group: &Group, time: Duration) -> Option<Sample> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let kib = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let stat = fs::read_to_string(group.directory.join("memory.stat")).ok()?;
    let mut names = stat.lines().filter_map(|line| line.split_once(' '));
    let cache = names.find(|(name, _)| *name == group.cache)?.1.parse().ok()?;
    Some(Sample { time, resident: kib("VmRSS:")? << 10, anonymous: kib("RssAnon:")? << 10, cache })
}

/// Runs an epoch in a control group: `--epoch NAME PATH GROUP PROGRESS`. Writes the number of
/// rows and of bytes that were read, and the seconds, to a file.
pub(crate) fn epoch(arguments: &[&str]) -> Result<()> {
    let [name, path, group, progress] = arguments else {
        return Err("expected a name, a path, a control group and a path".into());
    };
    fs::write(Path::new(group).join("cgroup.procs"), std::process::id().to_string())?;
    // SAFETY: no other process writes to the file.
    let array = unsafe { MappedArray::open(path) }?;
    let (order, way) = name.split_once(", ").unwrap_or((*name, ""));
    let sampler = match order {
        "sequential" => Sampler::sequential(ROWS),
        "blocks" => blocks(BLOCK)?,
        "blocks of 8 MiB" => blocks(8 * BLOCK)?,
        _ => Sampler::shuffled(ROWS, 1),
    };
    let start = Instant::now();
    let offset = array.data_offset().ok_or("the array is not in a file")?;
    let count = match way {
        "read(2)" if order == "sequential" => by_read(Path::new(path)).map(|()| ROWS)?,
        "read(2)" => {
            let block = if order == "blocks" { BLOCK } else { 8 * BLOCK };
            read_blocks(Path::new(path), offset, &sampler, block)?
        }
        "io_uring" => {
            let rows = sampler.batches(BATCH).flat_map(|batch| batch.to_vec());
            let ring = Ring::direct(Path::new(path), ROW)?;
            ring.read(usize::try_from(offset)?, rows, || start.elapsed() < LONGEST)?
        }
        _ => take_all(&array, &sampler, way == "plain map")?,
    };
    let seconds = start.elapsed().as_secs_f64();
    let io = fs::read_to_string("/proc/self/io")?;
    let read = io.lines().find_map(|line| line.strip_prefix("read_bytes: ")).unwrap_or("0");
    Ok(fs::write(progress, format!("{count} {read} {seconds}"))?)
}

/// Blocks that are mixed in a buffer of 64 MiB.
fn blocks(block: usize) -> Result<Sampler> {
    Ok(Sampler::blocks(ROWS, block, 1).buffer(BUFFER / block)?)
}

/// Reads blocks in the order in which a sampler needs the first row of each. Returns the
/// number of rows.
fn read_blocks(path: &Path, offset: u64, sampler: &Sampler, block: usize) -> Result<usize> {
    let file = File::open(path)?;
    let mut out = vec![0; block * ROW];
    let mut is_read = vec![false; ROWS / block];
    for row in sampler.clone() {
        let number = row / block;
        if is_read.get_mut(number).is_some_and(|is_read| !std::mem::replace(is_read, true)) {
            file.read_exact_at(&mut out, offset + u64::try_from(number * block * ROW)?)?;
            black_box(&mut out);
        }
    }
    Ok(ROWS)
}

/// Takes rows until the time is over, and returns how many.
fn take_all(array: &MappedArray, sampler: &Sampler, is_plain: bool) -> Result<usize> {
    let rows = array.rows()?;
    let bytes: &[u8] = array.as_ref();
    let mut out = vec![0_u8; BATCH * ROW];
    let (start, mut count) = (Instant::now(), 0);
    for batch in sampler.batches(BATCH).announce_to(&rows) {
        if start.elapsed() > LONGEST {
            break;
        }
        if is_plain {
            for (row, out) in batch.iter().zip(out.chunks_exact_mut(ROW)) {
                out.copy_from_slice(bytes.get(row * ROW..(row + 1) * ROW).unwrap_or_default());
            }
        } else {
            rows.take(&batch, &mut out)?;
        }
        black_box(&mut out);
        count += batch.len();
    }
    Ok(count)
}

/// A control group, which is removed when it is dropped.
struct Group {
    directory: PathBuf,
    /// The name of the page cache in `memory.stat`.
    cache: &'static str,
}

impl Group {
    /// Makes a group below that of this process, with a limit of memory.
    fn create() -> Result<Group> {
        let groups = fs::read_to_string("/proc/self/cgroup")?;
        let v1 = groups.lines().find_map(|line| line.split_once(":memory:"));
        let v2 = groups.lines().find_map(|line| line.strip_prefix("0::"));
        let (root, parent, limit, cache) = match (v1, v2) {
            (Some((_, parent)), _) => {
                ("/sys/fs/cgroup/memory", parent, "memory.limit_in_bytes", "cache")
            }
            (None, Some(parent)) => ("/sys/fs/cgroup", parent, "memory.max", "file"),
            (None, None) => return Err("the system has no control groups for memory".into()),
        };
        let directory = PathBuf::from(format!("{root}{parent}/npymap-{}", std::process::id()));
        fs::create_dir(&directory)?;
        let group = Group { directory, cache };
        fs::write(group.directory.join(limit), LIMIT.to_string())?;
        Ok(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        fs::remove_dir(&self.directory).ok();
    }
}

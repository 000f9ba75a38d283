//! Reads remote arrays as commands say, and times each read.

use std::hint::black_box;
use std::io::{self, BufRead as _, Write as _};
use std::sync::Arc;
use std::time::Instant;

use npymap::{ArrayFile, BatchOptions, Npz, OpenOptions, RowSource as _, Sampler};
use npymap_remote::Remote;

use crate::Result;

/// Answers commands until there are no more:
///
/// - `open URL` opens an array, which the others read.
/// - `take COUNT SEED` takes random rows.
/// - `list URL` reads the headers of all members of an `.npz`.
/// - `epoch BATCH THREADS BLOCK SEED` reads all rows: shuffled if `BLOCK` is 1, in
///   shuffled blocks of as many rows, or from first to last if it is 0.
pub(crate) fn run() -> Result<()> {
    let mut array = None;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split(' ').collect();
        let start = Instant::now();
        let read = match (words.as_slice(), &array) {
            (["open", url], _) => {
                let object = Remote::open(url)?;
                let opened = ArrayFile::new(object.source(), OpenOptions::new())?;
                let rows = opened.row_count();
                array = Some(Arc::new(opened));
                rows
            }
            (["list", url], _) => list(url)?,
            (["take", count, seed], Some(array)) => take(array, count.parse()?, seed.parse()?)?,
            (["epoch", batch, threads, block, seed], Some(array)) => {
                let rows = array.row_count();
                let sampler = match (block.parse()?, seed.parse()?) {
                    (0, _) => Sampler::sequential(rows),
                    (1, seed) => Sampler::shuffled(rows, seed),
                    (block, seed) => Sampler::blocks(rows, block, seed),
                };
                epoch(array, &sampler, batch.parse()?, threads.parse()?)?
            }
            _ => return Err(format!("unknown command: {line}").into()),
        };
        println!("{:.6} {read}", start.elapsed().as_secs_f64());
        io::stdout().flush()?;
    }
    Ok(())
}

fn take(array: &ArrayFile, count: usize, seed: u64) -> Result<usize> {
    let indices = Sampler::shuffled(array.row_count(), seed).next_batch(count);
    let mut batch = vec![0_u8; count * array.row_len()];
    array.take(&indices, &mut batch)?;
    Ok(black_box(batch).len())
}

fn list(url: &str) -> Result<usize> {
    let npz = Npz::open(npymap_remote::open(url)?)?;
    npz.prefetch_headers()?;
    let mut count = 0;
    for member in npz.members() {
        count += usize::from(member.header()?.is_some());
    }
    Ok(count)
}

fn epoch(array: &Arc<ArrayFile>, sampler: &Sampler, size: usize, threads: usize) -> Result<usize> {
    let rows = Arc::clone(array);
    let read = move |indices: &[usize], batch: &mut Vec<u8>| rows.take_vec(indices, batch);
    let options = BatchOptions::new().threads(threads).prefetch(2 * threads);
    let mut nbytes = 0;
    for batch in options.start(sampler.batches(size), read)? {
        nbytes += batch?.data().len();
    }
    Ok(nbytes)
}

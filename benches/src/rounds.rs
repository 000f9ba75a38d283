//! Times `npymap` and its peers in turn and compares them round by round.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::Result;

/// The approximate duration of a batch.
const BATCH: Duration = Duration::from_millis(20);

/// Runs a benchmark this many times and returns the elapsed time.
pub(crate) type Batch<'a> = Box<dyn FnMut(u32) -> Result<Duration> + 'a>;

/// An implementation that `npymap` is compared with.
pub(crate) struct Peer<'a> {
    name: String,
    target: Option<f64>,
    batch: Batch<'a>,
}

/// A task, done by `npymap` and its peers.
pub(crate) struct Benchmark<'a> {
    pub(crate) name: String,
    pub(crate) ours: Batch<'a>,
    pub(crate) peers: Vec<Peer<'a>>,
}

/// The times of `npymap` and of one peer.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) benchmark: String,
    pub(crate) peer: String,
    pub(crate) ours_ns: Spread,
    pub(crate) theirs_ns: Spread,
    /// Our time divided by theirs, computed for each round.
    pub(crate) ratio: Spread,
    pub(crate) target: Option<f64>,
}

/// A statistic over the rounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
}

impl<'a> Peer<'a> {
    pub(crate) fn new(name: impl Into<String>, target: Option<f64>, batch: Batch<'a>) -> Peer<'a> {
        Peer { name: name.into(), target, batch }
    }
}

/// Makes a batch from a function that runs the benchmark once.
pub(crate) fn batch<'a, T, E>(mut once: impl FnMut() -> Result<T, E> + 'a) -> Batch<'a>
where
    Box<dyn std::error::Error>: From<E>,
{
    Box::new(move |iterations| {
        let start = Instant::now();
        for _ in 0..iterations {
            black_box(once()?);
        }
        Ok(start.elapsed())
    })
}

/// Compares `npymap` with each peer. Each round times a batch of ours and then
/// one of the peer, so that both run under the same conditions.
pub(crate) fn measure(mut benchmark: Benchmark<'_>, rounds: usize) -> Result<Vec<Row>> {
    let ours = iterations(&mut benchmark.ours)?;
    let counts: Vec<u32> = benchmark
        .peers
        .iter_mut()
        .map(|peer| iterations(&mut peer.batch))
        .collect::<Result<_>>()?;
    compare(benchmark, rounds, ours, &counts)
}

/// As [`measure`], for benchmarks that take a second or longer: in each round, ours and
/// all peers run once, one after the other, without warming up.
pub(crate) fn measure_long(mut benchmark: Benchmark<'_>, rounds: usize) -> Result<Vec<Row>> {
    let mut pairs = vec![Vec::with_capacity(rounds); benchmark.peers.len()];
    for _ in 0..rounds {
        let ours = nanoseconds(&mut benchmark.ours, 1)?;
        for (peer, pairs) in benchmark.peers.iter_mut().zip(&mut pairs) {
            pairs.push((ours, nanoseconds(&mut peer.batch, 1)?));
        }
    }
    Ok(rows(benchmark, &pairs))
}

/// Compares `npymap` with each peer, in batches of the given sizes.
fn compare(
    mut benchmark: Benchmark<'_>,
    rounds: usize,
    ours: u32,
    counts: &[u32],
) -> Result<Vec<Row>> {
    let mut pairs = vec![Vec::with_capacity(rounds); counts.len()];
    for _ in 0..rounds {
        for ((peer, &theirs), pairs) in benchmark.peers.iter_mut().zip(counts).zip(&mut pairs) {
            let ours = nanoseconds(&mut benchmark.ours, ours)?;
            let theirs = nanoseconds(&mut peer.batch, theirs)?;
            pairs.push((ours, theirs));
        }
    }
    Ok(rows(benchmark, &pairs))
}

/// One row for each peer, from its pairs of times.
fn rows(benchmark: Benchmark<'_>, pairs: &[Vec<(f64, f64)>]) -> Vec<Row> {
    let peers = benchmark.peers.into_iter().zip(pairs);
    peers
        .map(|(peer, pairs)| Row {
            benchmark: benchmark.name.clone(),
            peer: peer.name,
            ours_ns: spread(pairs.iter().map(|(ours, _)| *ours)),
            theirs_ns: spread(pairs.iter().map(|(_, theirs)| *theirs)),
            ratio: spread(pairs.iter().map(|(ours, theirs)| ours / theirs)),
            target: peer.target,
        })
        .collect()
}

/// The number of iterations in a batch, measured after a few that warm up. Long
/// benchmarks only run twice.
fn iterations(batch: &mut Batch<'_>) -> Result<u32> {
    let few = if batch(1)? < BATCH / 20 { 20 } else { 1 };
    batch(few)?;
    let one = batch(few)? / few;
    let count = BATCH.as_nanos() / one.as_nanos().max(1);
    Ok(u32::try_from(count)?.max(1))
}

fn nanoseconds(batch: &mut Batch<'_>, iterations: u32) -> Result<f64> {
    Ok(batch(iterations)?.as_secs_f64() * 1e9 / f64::from(iterations))
}

fn spread(values: impl Iterator<Item = f64>) -> Spread {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    Spread {
        min: values.first().copied().unwrap_or(f64::NAN),
        median: values.get(values.len() / 2).copied().unwrap_or(f64::NAN),
        max: values.last().copied().unwrap_or(f64::NAN),
    }
}

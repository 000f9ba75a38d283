//! Times contestants in turn and compares them round by round.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::Result;

/// How long one batch takes, about.
const BATCH: Duration = Duration::from_millis(20);

/// Does the work this many times and says how long that took.
pub(crate) type Batch<'a> = Box<dyn FnMut(u32) -> Result<Duration> + 'a>;

/// Who we are compared with.
pub(crate) struct Contestant<'a> {
    name: String,
    target: Option<f64>,
    batch: Batch<'a>,
}

/// Something that several can do.
pub(crate) struct Work<'a> {
    pub(crate) name: String,
    pub(crate) ours: Batch<'a>,
    pub(crate) peers: Vec<Contestant<'a>>,
}

/// Ours against one contestant.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) work: String,
    pub(crate) contestant: String,
    pub(crate) ours_ns: Spread,
    pub(crate) theirs_ns: Spread,
    /// Ours over theirs, each round by itself.
    pub(crate) ratio: Spread,
    pub(crate) target: Option<f64>,
}

/// Of the rounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
}

impl<'a> Contestant<'a> {
    pub(crate) fn new(
        name: impl Into<String>,
        target: Option<f64>,
        batch: Batch<'a>,
    ) -> Contestant<'a> {
        Contestant { name: name.into(), target, batch }
    }
}

impl Work<'_> {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

/// Makes a batch of a function that does the work once.
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

/// Compares ours with each peer. Each round times a batch of ours and then
/// one of the peer, so that both meet the same machine.
pub(crate) fn measure(mut work: Work<'_>, rounds: usize) -> Result<Vec<Row>> {
    let ours = iterations(&mut work.ours)?;
    let counts: Vec<u32> =
        work.peers.iter_mut().map(|peer| iterations(&mut peer.batch)).collect::<Result<_>>()?;
    compare(work, rounds, ours, &counts)
}

/// As [`measure`], for what takes a minute: it is done once a round, and
/// nothing warms up.
pub(crate) fn measure_long(work: Work<'_>, rounds: usize) -> Result<Vec<Row>> {
    let counts = vec![1; work.peers.len()];
    compare(work, rounds, 1, &counts)
}

/// Compares ours with each peer, in batches of so many.
fn compare(mut work: Work<'_>, rounds: usize, ours: u32, counts: &[u32]) -> Result<Vec<Row>> {
    let mut pairs = vec![Vec::with_capacity(rounds); counts.len()];
    for _ in 0..rounds {
        for ((peer, &theirs), pairs) in work.peers.iter_mut().zip(counts).zip(&mut pairs) {
            let ours = nanoseconds(&mut work.ours, ours)?;
            let theirs = nanoseconds(&mut peer.batch, theirs)?;
            pairs.push((ours, theirs));
        }
    }
    let row = |(peer, pairs): (Contestant<'_>, Vec<(f64, f64)>)| Row {
        work: work.name.clone(),
        contestant: peer.name,
        ours_ns: spread(pairs.iter().map(|(ours, _)| *ours)),
        theirs_ns: spread(pairs.iter().map(|(_, theirs)| *theirs)),
        ratio: spread(pairs.iter().map(|(ours, theirs)| ours / theirs)),
        target: peer.target,
    };
    Ok(work.peers.into_iter().zip(pairs).map(row).collect())
}

/// How many iterations make a batch; the first few warm up. Long work is done
/// twice only.
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
    let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
    Spread { min: at(0), median: at(values.len() / 2), max: at(values.len().saturating_sub(1)) }
}

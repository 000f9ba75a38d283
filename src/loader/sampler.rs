//! Which rows come next: epochs of shuffled rows, without a table of them.

use std::sync::Arc;

use super::order::{EpochOrder, SamplingOrder, check_cumulative, cumulative};
use super::permutation::hash;
use crate::error::invariant::{Invariant, to_u64, to_usize, to_usize_saturating};
use crate::error::{RequestError, Result};

/// The rows of an array in random order, epoch after epoch.
///
/// However many rows there are, it takes a few hundred bytes: the order is a
/// keyed bijection. The same seed gives the same order on every machine and in
/// every version of this crate that can resume its state; see below.
///
/// It iterates over this share's rows of the current epoch; then
/// [`next_epoch`](Sampler::next_epoch) starts another, in another order.
///
/// # The order
///
/// With `mix` the finaliser of `SplitMix64` and
/// `hash(k, x) = mix(k ^ mix((x + 1) · 0x9e3779b97f4a7c15))`, the key of an
/// epoch is `hash(mix(seed), epoch)`. A permutation of `0..n` under a key has
/// `a = ⌈√n⌉`, `b = ⌈n / a⌉` and twelve round keys `mix(key + i ·
/// 0x9e3779b97f4a7c15)`, `i` from 1. An index is `left + right · a`; rounds add
/// `⌊hash(round key, right) · a / 2⁶⁴⌋` to `left` modulo `a`, and in turn, from
/// the new `left`, `⌊hash(round key, left) · b / 2⁶⁴⌋` to `right` modulo `b`;
/// results of `n` and more go through again.
///
/// # Examples
///
/// ```
/// use npymap::Sampler;
///
/// let mut sampler = Sampler::shuffled(1_000_000_000_000, 1);
/// let some: Vec<usize> = sampler.by_ref().take(3).collect();
/// let state = sampler.state();
/// let next = sampler.next();
///
/// let mut resumed = Sampler::shuffled(1_000_000_000_000, 0);
/// resumed.resume(state)?;
/// assert_eq!(resumed.next(), next);
/// # assert_eq!(some.len(), 3);
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sampler {
    len: u64,
    /// Positions of an epoch, of all shares together.
    draws: u64,
    order: SamplingOrder,
    seed: u64,
    epoch: u64,
    /// How many of this share's rows were given out.
    position: u64,
    share: Share,
    tail: Tail,
    /// The order of this epoch.
    current: EpochOrder,
}

/// Which part of an epoch one of several samplers gives out.
///
/// The default is all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Share {
    /// The number of this process.
    pub rank: usize,
    /// How many processes share an epoch.
    pub world: usize,
    /// The number of this worker of the process.
    pub worker: usize,
    /// How many workers share what the process has.
    pub workers: usize,
}

impl Default for Share {
    fn default() -> Share {
        Share { rank: 0, world: 1, worker: 0, workers: 1 }
    }
}

/// What becomes of rows that can't be dealt evenly to all ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tail {
    /// Some ranks get one more: together they are the epoch, once.
    #[default]
    Keep,
    /// Nobody gets them: all ranks have as many.
    Drop,
    /// The first rows of the epoch are dealt again: all ranks have as many.
    Pad,
}

/// Where a sampler stands, as a few integers:
/// [`Sampler::state`], [`Sampler::resume`].
///
/// # Examples
///
/// ```
/// use npymap::{Sampler, loader::SamplerState};
///
/// let words: [u64; 4] = Sampler::shuffled(10, 1).state().into();
/// assert_eq!(SamplerState::from(words), Sampler::shuffled(10, 1).state());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SamplerState {
    /// A hash of what doesn't change: the number of rows, the kind of order,
    /// the share.
    pub fingerprint: u64,
    /// The seed.
    pub seed: u64,
    /// The epoch.
    pub epoch: u64,
    /// How many rows of the epoch this share gave out.
    pub position: u64,
}

impl From<SamplerState> for [u64; 4] {
    fn from(state: SamplerState) -> [u64; 4] {
        [state.fingerprint, state.seed, state.epoch, state.position]
    }
}

impl From<[u64; 4]> for SamplerState {
    fn from([fingerprint, seed, epoch, position]: [u64; 4]) -> SamplerState {
        SamplerState { fingerprint, seed, epoch, position }
    }
}

impl Sampler {
    /// All rows once an epoch, in random order.
    #[must_use]
    pub fn shuffled(len: usize, seed: u64) -> Sampler {
        Sampler::new(SamplingOrder::Shuffled, to_u64(len), to_u64(len), seed)
    }

    /// All rows once an epoch, from first to last.
    #[must_use]
    pub fn sequential(len: usize) -> Sampler {
        Sampler::new(SamplingOrder::Sequential, to_u64(len), to_u64(len), 0)
    }

    /// All rows once an epoch, block by block: blocks of `block` rows in random
    /// order, and the rows of each in random order. Disks that seek slowly
    /// read a block at once; and each share has blocks of its own.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::Sampler;
    ///
    /// let rows: Vec<usize> = Sampler::blocks(10, 4, 1).collect();
    /// let mut first = rows[..4].to_vec();
    /// first.sort();
    /// assert!(first == [0, 1, 2, 3] || first == [4, 5, 6, 7] || rows[0] >= 8);
    /// ```
    #[must_use]
    pub fn blocks(len: usize, block: usize, seed: u64) -> Sampler {
        Sampler::new(SamplingOrder::Blocks(to_u64(block).max(1)), to_u64(len), to_u64(len), seed)
    }

    /// `draws` rows an epoch, each any of them: some come twice, some don't.
    #[must_use]
    pub fn with_replacement(len: usize, draws: usize, seed: u64) -> Sampler {
        let draws = if len == 0 { 0 } else { to_u64(draws) };
        Sampler::new(SamplingOrder::Replacement, to_u64(len), draws, seed)
    }

    /// `draws` rows an epoch, with replacement, each row with a probability
    /// proportional to its weight: `torch.utils.data.WeightedRandomSampler`.
    ///
    /// The weights are added up in `f64`, from the first to the last.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when a weight is
    /// negative or not finite, or when their sum is 0 or not finite.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::Sampler;
    ///
    /// let rows: Vec<usize> = Sampler::weighted([1.0, 0.0, 2.0], 300, 7)?.collect();
    /// assert!(!rows.contains(&1));
    /// assert!((150..250).contains(&rows.iter().filter(|row| **row == 2).count()));
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn weighted(weights: impl AsRef<[f64]>, draws: usize, seed: u64) -> Result<Sampler> {
        Sampler::weighted_cumulative(cumulative(weights.as_ref())?, draws, seed)
    }

    /// As [`weighted`](Sampler::weighted), of cumulative weights: each is the
    /// sum of the weights up to that row and with it. They are shared, not
    /// copied, if they are an `Arc`.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when they fall, are not
    /// finite or end at 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::Sampler;
    ///
    /// let sums = Sampler::weighted_cumulative(vec![1.0, 1.0, 3.0], 300, 7)?;
    /// assert!(sums.eq(Sampler::weighted([1.0, 0.0, 2.0], 300, 7)?));
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn weighted_cumulative(
        cumulative: impl Into<Arc<[f64]>>,
        draws: usize,
        seed: u64,
    ) -> Result<Sampler> {
        let cumulative = cumulative.into();
        check_cumulative(&cumulative)?;
        let len = to_u64(cumulative.len());
        Ok(Sampler::new(SamplingOrder::Weighted(cumulative), len, to_u64(draws), seed))
    }

    fn new(order: SamplingOrder, len: u64, draws: u64, seed: u64) -> Sampler {
        let current = order.epoch(len, seed, 0);
        let (share, tail) = (Share::default(), Tail::default());
        Sampler { len, draws, order, seed, epoch: 0, position: 0, share, tail, current }
    }

    /// Gives out one share only. Ranks are dealt rows in turn, and so are the
    /// workers of each; blocks are dealt in stretches.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) unless `rank < world`
    /// and `worker < workers`.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{Sampler, loader::{Share, Tail}};
    ///
    /// let share = Share { rank: 1, world: 3, ..Share::default() };
    /// let one = Sampler::shuffled(10, 5).share(share)?;
    /// assert_eq!(one.clone().count(), 3);
    /// assert_eq!(one.tail(Tail::Pad).count(), 4);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn share(self, share: Share) -> Result<Sampler> {
        let check = |what: &str, number: usize, count: usize| {
            let value = format!("{what} {number} of {count}");
            let expected = format!("a {what} below the count");
            if number < count {
                Ok(())
            } else {
                Err(crate::error::Error::from(RequestError::Argument { found: value, expected }))
            }
        };
        check("rank", share.rank, share.world)?;
        check("worker", share.worker, share.workers)?;
        Ok(Sampler { share, ..self })
    }

    /// Says what becomes of rows that can't be dealt evenly to all ranks.
    #[must_use]
    pub fn tail(self, tail: Tail) -> Sampler {
        Sampler { tail, ..self }
    }

    /// The number of rows there are to choose from.
    #[must_use]
    pub fn rows(&self) -> usize {
        to_usize(self.len)
    }

    /// The current epoch, from 0.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Starts the next epoch.
    pub fn next_epoch(&mut self) {
        self.set_epoch(self.epoch.wrapping_add(1));
    }

    /// Starts an epoch.
    pub fn set_epoch(&mut self, epoch: u64) {
        self.epoch = epoch;
        self.position = 0;
        self.current = self.order.epoch(self.len, self.seed, epoch);
    }

    /// Goes to a position of this epoch: so many of this share's rows count as
    /// given out.
    pub fn seek(&mut self, position: u64) {
        self.position = position.min(self.own_rows());
    }

    /// Where it stands.
    #[must_use]
    pub fn state(&self) -> SamplerState {
        let Sampler { seed, epoch, position, .. } = *self;
        SamplerState { fingerprint: self.fingerprint(), seed, epoch, position }
    }

    /// Goes on where another sampler of the same rows, kind and share stood,
    /// with its seed.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when that was another
    /// kind of sampler, or of another number of rows, or another share; see
    /// [`seek`](Sampler::seek) then.
    pub fn resume(&mut self, state: SamplerState) -> Result<()> {
        if state.fingerprint != self.fingerprint() || state.position > self.own_rows() {
            let value = format!("a state at row {} of epoch {}", state.position, state.epoch);
            let expected = "the state of a sampler with the same rows, order and share".to_owned();
            return Err(RequestError::Argument { found: value, expected }.into());
        }
        self.seed = state.seed;
        self.set_epoch(state.epoch);
        self.position = state.position;
        Ok(())
    }

    fn fingerprint(&self) -> u64 {
        let Share { rank, world, worker, workers } = self.share;
        let tail = match self.tail {
            Tail::Keep => 0,
            Tail::Drop => 1,
            Tail::Pad => 2,
        };
        let [kind, argument] = self.order.words();
        let share = [rank, world, worker, workers].map(to_u64);
        let words = [self.len, self.draws, kind, argument, tail].into_iter().chain(share);
        words.fold(0, hash)
    }

    /// This epoch's batches of rows from here on, `size` each; the last one may
    /// be shorter. Nothing when `size` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// let lens = npymap::Sampler::shuffled(10, 1).batches(4).map(|batch| batch.len());
    /// assert!(lens.eq([4, 4, 2]));
    /// ```
    pub fn batches(&self, size: usize) -> impl Iterator<Item = Vec<usize>> + Send + use<> {
        let mut rows = self.clone();
        std::iter::from_fn(move || {
            let batch = rows.next_batch(size);
            (!batch.is_empty()).then_some(batch)
        })
    }

    /// The next `size` rows of this epoch, or those that are left of it. The
    /// same as [`next`](Iterator::next) gives one by one, but a shuffled order
    /// is computed several times as fast.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut sampler = npymap::Sampler::shuffled(1000, 1);
    /// let expected: Vec<usize> = sampler.clone().take(256).collect();
    /// assert_eq!(sampler.next_batch(256), expected);
    /// assert_eq!(sampler.state().position, 256);
    /// ```
    pub fn next_batch(&mut self, size: usize) -> Vec<usize> {
        let left = self.own_rows().saturating_sub(self.position);
        let count = left.min(to_u64(size));
        let start = self.position;
        self.position += count;
        let Some((first, step)) = self.progression(start, count) else {
            return (start..start + count).map(|position| self.row(position)).collect();
        };
        let mut rows = vec![0; to_usize(count)];
        self.current.fill(first, step, &mut rows);
        rows.into_iter().map(to_usize).collect()
    }

    /// The first position in the epoch of `count` positions in this share, and
    /// the distance from each to the next; `None` when they start the epoch
    /// again.
    fn progression(&self, start: u64, count: u64) -> Option<(u64, u64)> {
        let Share { world, workers, .. } = self.share;
        let step = if self.order.is_dealt_in_stretches() {
            1
        } else {
            to_u64(world).checked_mul(to_u64(workers))?
        };
        let distance = step.checked_mul(count.checked_sub(1)?)?;
        let first = self.dealt(start);
        let last = first.checked_add(distance)?;
        (last < self.draws).then_some((first, step))
    }

    /// How many rows of an epoch this share has.
    fn own_rows(&self) -> u64 {
        let Share { worker, workers, .. } = self.share;
        let own = self.rank_rows();
        if self.order.is_dealt_in_stretches() {
            stretch(own, worker + 1, workers) - stretch(own, worker, workers)
        } else {
            own.saturating_sub(to_u64(worker)).div_ceil(to_u64(workers))
        }
    }

    /// How many rows of an epoch this rank has.
    fn rank_rows(&self) -> u64 {
        let Share { rank, world, .. } = self.share;
        match self.tail {
            Tail::Drop => self.draws / to_u64(world),
            Tail::Pad => self.draws.div_ceil(to_u64(world)),
            Tail::Keep if self.order.is_dealt_in_stretches() => {
                stretch(self.draws, rank + 1, world) - stretch(self.draws, rank, world)
            }
            Tail::Keep => self.draws.saturating_sub(to_u64(rank)).div_ceil(to_u64(world)),
        }
    }

    /// The position in the epoch of a position in this share. Padded ones are
    /// beyond the epoch, and start it again.
    fn dealt(&self, position: u64) -> u64 {
        let Share { rank, world, worker, workers } = self.share;
        if self.order.is_dealt_in_stretches() {
            let own = stretch(self.rank_rows(), worker, workers) + position;
            return match self.tail {
                Tail::Keep => stretch(self.draws, rank, world) + own,
                Tail::Drop | Tail::Pad => self.wrapped(to_u64(rank), self.rank_rows(), own),
            };
        }
        let own = position * to_u64(workers) + to_u64(worker);
        self.wrapped(own, to_u64(world), to_u64(rank))
    }

    /// `number * step + rest` modulo the positions of an epoch. With padding
    /// that may pass 64 bits first.
    fn wrapped(&self, number: u64, step: u64, rest: u64) -> u64 {
        match number.checked_mul(step).and_then(|product| product.checked_add(rest)) {
            Some(position) if position < self.draws => position,
            _ => {
                let position = u128::from(number) * u128::from(step) + u128::from(rest);
                u64::try_from(position % u128::from(self.draws))
                    .invariant("a remainder is below its divisor")
            }
        }
    }

    fn row(&self, position: u64) -> usize {
        to_usize(self.current.row(self.dealt(position)))
    }
}

impl Iterator for Sampler {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.position >= self.own_rows() {
            return None;
        }
        let row = self.row(self.position);
        self.position += 1;
        Some(row)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = to_usize_saturating(self.own_rows().saturating_sub(self.position));
        (left, Some(left))
    }

    fn nth(&mut self, n: usize) -> Option<usize> {
        self.seek(self.position.saturating_add(to_u64(n)));
        self.next()
    }
}

impl ExactSizeIterator for Sampler {}

/// How much of `whole` the first `number` of `count` have, when it is dealt in
/// stretches.
fn stretch(whole: u64, number: usize, count: usize) -> u64 {
    let product = u128::from(whole) * u128::from(to_u64(number));
    u64::try_from(product / u128::from(to_u64(count))).invariant("a part is at most the whole")
}

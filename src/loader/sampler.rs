//! Samplers: the rows of each epoch, in constant memory.

use std::ops::Range;

use super::block_order::BlockOrder;
use super::order::{EpochOrder, SamplingOrder, cumulative};
use super::permutation::hash;
use super::shard::{SamplerState, Shard, Tail};
use crate::error::invariant::{Invariant, to_u64, to_usize, to_usize_saturating};
use crate::error::{RequestError, Result};

/// An iterator over the row indices of an epoch, in shuffled, sequential or
/// weighted order.
///
/// It takes a few hundred bytes for any number of rows, because the order is a
/// keyed bijection. The same seed gives the same order on every machine, and in
/// every version of this crate that can resume its state.
///
/// It yields the rows of the current epoch that belong to its [`Shard`]. Then
/// [`set_epoch`](Sampler::set_epoch) starts another epoch, in another order.
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
///
/// # The order
///
/// With `mix` the finalizer of `SplitMix64` and
/// `hash(k, x) = mix(k ^ mix((x + 1) · 0x9e3779b97f4a7c15))`, the key of an
/// epoch is `hash(mix(seed), epoch)`. A permutation of `0..n` under a key has
/// `a = ⌈√n⌉`, `b = ⌈n / a⌉` and twelve round keys `mix(key + i ·
/// 0x9e3779b97f4a7c15)`, `i` from 1. An index is `left + right · a`; rounds add
/// `⌊hash(round key, right) · a / 2⁶⁴⌋` to `left` modulo `a`, and alternately,
/// with the new `left`, `⌊hash(round key, left) · b / 2⁶⁴⌋` to `right` modulo
/// `b`. If the result is `n` or more, it is permuted again.
///
/// [`blocks`](Sampler::blocks) are permuted under the key of the epoch. With a
/// [`buffer`](Sampler::buffer) of `m` blocks, the rows of blocks `g · m` to
/// `(g + 1) · m` of that order are listed block after block, and the list is
/// permuted under the key `hash(key, g)`. Without one, the rows of block `i` of
/// the array are permuted under `hash(key, i)`.
#[derive(Clone, Debug)]
pub struct Sampler {
    len: u64,
    /// The number of positions in an epoch, for all shards together.
    draws: u64,
    order: SamplingOrder,
    seed: u64,
    epoch: u64,
    /// The number of this shard's rows that have been yielded.
    position: u64,
    shard: Shard,
    tail: Tail,
    /// The order of this epoch.
    current: EpochOrder,
}

impl Sampler {
    /// Yields all rows once per epoch, in random order.
    #[must_use]
    #[inline]
    pub fn shuffled(len: usize, seed: u64) -> Sampler {
        Sampler::new(SamplingOrder::Shuffled, to_u64(len), to_u64(len), seed)
    }

    /// Yields all rows once per epoch, from first to last.
    #[must_use]
    #[inline]
    pub fn sequential(len: usize) -> Sampler {
        Sampler::new(SamplingOrder::Sequential, to_u64(len), to_u64(len), 0)
    }

    /// Yields all rows once per epoch, in blocks of `block` rows. The blocks
    /// are in random order, and so are the rows of each block.
    /// [`buffer`](Sampler::buffer) mixes the rows of several blocks.
    ///
    /// For arrays that are larger than memory, this reads faster than
    /// [`shuffled`](Sampler::shuffled) if a block has 1 MiB or more: a block is
    /// read from start to end. Each shard has its own blocks, except that its
    /// first and last blocks may be shared with its neighbors.
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
    #[inline]
    pub fn blocks(len: usize, block: usize, seed: u64) -> Sampler {
        let order = SamplingOrder::Blocks { size: to_u64(block).max(1), buffer: 1 };
        Sampler::new(order, to_u64(len), to_u64(len), seed)
    }

    /// Mixes the rows of `count` [`blocks`](Sampler::blocks) that follow each other
    /// in the random order: a shuffle buffer that is computed instead of filled. The
    /// default is 1.
    ///
    /// While `count` blocks are read, all of them have to stay in memory, so `count`
    /// times the size of a block should be well below the available memory.
    ///
    /// A row can be anywhere in the epoch, but the other rows of its block are
    /// at most `count * block - 1` positions away from it. Two rows of a batch
    /// are from the same block with a probability of about `1 / count`. This
    /// matters if neighboring rows are similar. In the worst case, when a block
    /// has rows of one class only, the variance of a batch's mean is `1 + n /
    /// count` times as large as with shuffled rows, for batches of `n` rows.
    /// For 524,288 sorted values, batches of 256 and blocks of 512, the factor
    /// was measured as 256 without a buffer, 17 with 16 blocks, and
    /// 1.4 with 256. A good choice is one block per row of a batch.
    ///
    /// [`IndexBatches::announce_to`](crate::loader::IndexBatches::announce_to) reads the next
    /// blocks in sequence while rows of these are used.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) for a sampler
    /// that is not in blocks.
    ///
    /// # Examples
    ///
    /// Blocks of 1 MiB, mixed in a buffer of 256 blocks, which is 256 MiB:
    ///
    /// ```
    /// use npymap::Sampler;
    ///
    /// let (len, row_bytes) = (1_000_000_000, 512);
    /// let mut sampler = Sampler::blocks(len, (1 << 20) / row_bytes, 1).buffer(256)?;
    /// let batch = sampler.next_batch(256);
    /// let mut blocks: Vec<usize> = batch.iter().map(|row| row / 2048).collect();
    /// blocks.sort();
    /// blocks.dedup();
    /// assert!(blocks.len() > 128);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[inline]
    pub fn buffer(mut self, count: usize) -> Result<Sampler> {
        let SamplingOrder::Blocks { buffer, .. } = &mut self.order else {
            let found = "a buffer of blocks for an order without blocks";
            let expected = "a sampler made by `Sampler::blocks`";
            return Err(RequestError::Call { found, expected }.into());
        };
        *buffer = to_u64(count).max(1);
        self.current = self.order.epoch(self.len, self.seed, self.epoch);
        Ok(self)
    }

    /// Yields `draws` rows per epoch, with replacement.
    #[must_use]
    #[inline]
    pub fn with_replacement(len: usize, draws: usize, seed: u64) -> Sampler {
        let draws = if len == 0 { 0 } else { to_u64(draws) };
        Sampler::new(SamplingOrder::Replacement, to_u64(len), draws, seed)
    }

    /// Yields `draws` rows per epoch, with replacement, each with a probability
    /// proportional to its weight: `torch.utils.data.WeightedRandomSampler`.
    ///
    /// The weights are summed in `f64`, from first to last.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if a weight is
    /// negative or not finite, or if their sum is 0 or not finite.
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
        let cumulative = cumulative(weights.as_ref())?;
        let len = to_u64(cumulative.len());
        Ok(Sampler::new(SamplingOrder::weighted(cumulative), len, to_u64(draws), seed))
    }

    #[inline]
    fn new(order: SamplingOrder, len: u64, draws: u64, seed: u64) -> Sampler {
        let current = order.epoch(len, seed, 0);
        let (shard, tail) = (Shard::default(), Tail::default());
        Sampler { len, draws, order, seed, epoch: 0, position: 0, shard, tail, current }
    }

    /// Yields one shard only. Rows are distributed round-robin among the ranks,
    /// and a rank's rows among its workers. In an order of blocks, shards are
    /// contiguous ranges instead.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) unless `rank <
    /// world_size` and `worker < num_workers`.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{Sampler, loader::{Shard, Tail}};
    ///
    /// let shard = Shard { rank: 1, world_size: 3, ..Shard::default() };
    /// let one = Sampler::shuffled(10, 5).shard(shard)?;
    /// assert_eq!(one.clone().count(), 3);
    /// assert_eq!(one.tail(Tail::Pad).count(), 4);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[inline]
    pub fn shard(self, shard: Shard) -> Result<Sampler> {
        check_number("rank", shard.rank, shard.world_size)?;
        check_number("worker", shard.worker, shard.num_workers)?;
        Ok(Sampler { shard, ..self })
    }

    /// Sets the treatment of rows that can't be distributed evenly among all ranks.
    #[must_use]
    #[inline]
    pub fn tail(self, tail: Tail) -> Sampler {
        Sampler { tail, ..self }
    }

    /// Returns the number of rows to sample from.
    #[must_use]
    #[inline]
    pub fn rows(&self) -> usize {
        to_usize(self.len)
    }

    /// Returns the number of the current epoch, from 0.
    #[must_use]
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Starts the given epoch.
    #[inline]
    pub fn set_epoch(&mut self, epoch: u64) {
        self.epoch = epoch;
        self.position = 0;
        self.current = self.order.epoch(self.len, self.seed, epoch);
    }

    /// Moves to a position in this epoch: the number of this shard's rows to skip.
    #[inline]
    pub fn seek(&mut self, position: u64) {
        self.position = position.min(self.shard_len());
    }

    /// The number of this shard's rows yielded in this epoch.
    #[inline]
    pub(super) fn position(&self) -> u64 {
        // The shard may have been chosen after the position.
        self.position.min(self.shard_len())
    }

    /// The number of this shard, and the number of all shards.
    #[inline]
    pub(super) fn number_of_shard(&self) -> (usize, usize) {
        let Shard { rank, world_size, worker, num_workers } = self.shard;
        let first = rank.saturating_mul(num_workers);
        (first.saturating_add(worker), world_size.saturating_mul(num_workers))
    }

    /// The number of this shard's rows that are left in this epoch.
    #[inline]
    pub(super) fn remaining(&self) -> u64 {
        let len = self.shard_len();
        // The shard may have been chosen after the position.
        len - self.position.min(len)
    }

    /// Returns whether the rows are in the order of the array.
    #[inline]
    pub(super) fn is_sequential(&self) -> bool {
        matches!(self.current, EpochOrder::Sequential)
    }

    /// The order of blocks of this epoch, and the positions in it that are left
    /// in this shard. `None` unless rows are in blocks.
    #[inline]
    pub(super) fn positions_left(&self) -> Option<(&BlockOrder, Range<u64>)> {
        let (EpochOrder::Blocks(order), 1..) = (&self.current, self.remaining()) else {
            return None;
        };
        let first = self.epoch_position(self.position);
        Some((order, first..first + self.remaining().min(self.draws - first)))
    }

    /// Returns the state, for [`resume`](Sampler::resume).
    #[must_use]
    #[inline]
    pub fn state(&self) -> SamplerState {
        let Sampler { seed, epoch, .. } = *self;
        let position = self.position();
        SamplerState { fingerprint: self.fingerprint(), seed, epoch, position }
    }

    /// Continues from the state of a sampler with the same number of rows, kind
    /// of order and shard. The seed comes from the state.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if the number
    /// of rows, the kind of order or the shard differs. Use
    /// [`seek`](Sampler::seek) then.
    #[inline]
    pub fn resume(&mut self, state: SamplerState) -> Result<()> {
        if state.fingerprint != self.fingerprint() || state.position > self.shard_len() {
            let value = format!("a state at row {} of epoch {}", state.position, state.epoch);
            let expected = "the state of a sampler with the same rows, order and shard".to_owned();
            return Err(RequestError::Argument { found: value, expected }.into());
        }
        self.seed = state.seed;
        self.set_epoch(state.epoch);
        self.position = state.position;
        Ok(())
    }

    #[inline]
    fn fingerprint(&self) -> u64 {
        let Shard { rank, world_size, worker, num_workers } = self.shard;
        let tail = match self.tail {
            Tail::Keep => 0,
            Tail::Drop => 1,
            Tail::Pad => 2,
        };
        let [kind, argument] = self.order.identity();
        let shard = [rank, world_size, worker, num_workers].map(to_u64);
        let words = [self.len, self.draws, kind, argument, tail].into_iter().chain(shard);
        words.fold(0, hash)
    }

    /// Returns the next `size` rows of this epoch, or fewer at its end. These
    /// are the rows that [`next`](Iterator::next) yields, but a shuffled order
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
    #[inline]
    pub fn next_batch(&mut self, size: usize) -> Vec<usize> {
        let count = self.remaining().min(to_u64(size));
        let start = self.position;
        self.position += count;
        let Some((first, step)) = self.progression(start, count) else {
            return (start..start + count).map(|position| self.row(position)).collect();
        };
        let mut rows = vec![0; to_usize(count)];
        self.current.fill(first, step, &mut rows);
        rows.into_iter().map(to_usize).collect()
    }

    /// The first epoch position for `count` positions of this shard from
    /// `start` on, and the step to each next one. Returns `None` when they wrap
    /// around the end of the epoch.
    #[inline]
    fn progression(&self, start: u64, count: u64) -> Option<(u64, u64)> {
        let Shard { world_size, num_workers, .. } = self.shard;
        let step = if self.order.has_contiguous_shards() {
            1
        } else {
            to_u64(world_size).checked_mul(to_u64(num_workers))?
        };
        let distance = step.checked_mul(count.checked_sub(1)?)?;
        let first = self.epoch_position(start);
        let last = first.checked_add(distance)?;
        (last < self.draws).then_some((first, step))
    }

    /// How many rows of an epoch are in this shard.
    #[inline]
    fn shard_len(&self) -> u64 {
        let Shard { worker, num_workers, .. } = self.shard;
        let len = self.rank_len();
        if self.order.has_contiguous_shards() {
            range_start(len, worker + 1, num_workers) - range_start(len, worker, num_workers)
        } else {
            share(len, worker, num_workers)
        }
    }

    /// How many rows of an epoch this rank gets.
    #[inline]
    fn rank_len(&self) -> u64 {
        let Shard { rank, world_size, .. } = self.shard;
        match self.tail {
            Tail::Drop => self.draws / to_u64(world_size),
            Tail::Pad => self.draws.div_ceil(to_u64(world_size)),
            Tail::Keep if self.order.has_contiguous_shards() => {
                range_start(self.draws, rank + 1, world_size)
                    - range_start(self.draws, rank, world_size)
            }
            Tail::Keep => share(self.draws, rank, world_size),
        }
    }

    /// The position in the epoch for a position in this shard. Positions of padding
    /// wrap around to the start of the epoch.
    #[inline]
    fn epoch_position(&self, position: u64) -> u64 {
        let Shard { rank, world_size, worker, num_workers } = self.shard;
        if self.order.has_contiguous_shards() {
            let in_rank = range_start(self.rank_len(), worker, num_workers) + position;
            return match self.tail {
                Tail::Keep => range_start(self.draws, rank, world_size) + in_rank,
                Tail::Drop | Tail::Pad => self.wrap(to_u64(rank), self.rank_len(), in_rank),
            };
        }
        let in_rank = position * to_u64(num_workers) + to_u64(worker);
        self.wrap(in_rank, to_u64(world_size), to_u64(rank))
    }

    /// `number * step + rest` modulo the length of an epoch. With padding, the sum
    /// may need more than 64 bits.
    #[inline]
    fn wrap(&self, number: u64, step: u64, rest: u64) -> u64 {
        match number.checked_mul(step).and_then(|product| product.checked_add(rest)) {
            Some(position) if position < self.draws => position,
            _ => {
                let position = u128::from(number) * u128::from(step) + u128::from(rest);
                u64::try_from(position % u128::from(self.draws))
                    .invariant("a remainder is below its divisor")
            }
        }
    }

    #[inline]
    fn row(&self, position: u64) -> usize {
        to_usize(self.current.row(self.epoch_position(position)))
    }
}

impl Iterator for Sampler {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.position >= self.shard_len() {
            return None;
        }
        let row = self.row(self.position);
        self.position += 1;
        Some(row)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = to_usize_saturating(self.remaining());
        (left, Some(left))
    }

    #[inline]
    fn nth(&mut self, n: usize) -> Option<usize> {
        self.position += self.remaining().min(to_u64(n));
        self.next()
    }
}

impl ExactSizeIterator for Sampler {}

/// Checks that a rank or a worker is below the number of them.
#[inline]
fn check_number(name: &str, number: usize, count: usize) -> Result<()> {
    if number < count {
        return Ok(());
    }
    let found = format!("{name} {number} of {count}");
    let expected = format!("a {name} below the count");
    Err(RequestError::Argument { found, expected }.into())
}

/// How many of `len` rows are dealt to `number` of `count`, in turn.
#[inline]
fn share(len: u64, number: usize, count: usize) -> u64 {
    len / to_u64(count) + u64::from(len % to_u64(count) > to_u64(number))
}

/// The start of range `number` when `len` rows are divided into `count`
/// contiguous ranges.
#[inline]
fn range_start(len: u64, number: usize, count: usize) -> u64 {
    let product = u128::from(len) * u128::from(to_u64(number));
    u64::try_from(product / u128::from(to_u64(count))).invariant("a part is at most the whole")
}

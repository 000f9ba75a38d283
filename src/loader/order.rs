//! A sampler's orders of rows.

use std::sync::Arc;

use num_traits::AsPrimitive as _;

use super::block_order::BlockOrder;
use super::permutation::{Permutation, below, hash, mix};
use crate::error::invariant::to_u64;
use crate::error::{Error, RequestError, Result};

/// A sampler's kind of order, for all epochs.
#[derive(Clone, Debug)]
pub(super) enum SamplingOrder {
    /// All rows, from first to last.
    Sequential,
    /// All rows, in random order.
    Shuffled,
    /// All rows, in blocks of `size` rows in random order. The rows of `buffer`
    /// blocks that follow each other in that order are mixed.
    Blocks { size: u64, buffer: u64 },
    /// Random rows with replacement, all with the same probability.
    Replacement,
    /// Random rows with replacement, with probabilities proportional to weights.
    /// These are the cumulative weights, and their hash, so that it is computed once.
    Weighted(Arc<[f64]>, u64),
}

/// The order of one epoch.
#[derive(Clone, Debug)]
pub(super) enum EpochOrder {
    Sequential,
    Shuffled(Permutation),
    Blocks(BlockOrder),
    Replacement { len: u64, key: u64 },
    Weighted { cumulative: Arc<[f64]>, key: u64 },
}

impl SamplingOrder {
    /// The order of draws with these cumulative weights.
    #[inline]
    pub(super) fn weighted(cumulative: Arc<[f64]>) -> SamplingOrder {
        let identity = cumulative.iter().fold(0, |sum, weight| hash(sum, weight.to_bits()));
        SamplingOrder::Weighted(cumulative, identity)
    }

    /// The order of an epoch over `len` rows.
    #[inline]
    pub(super) fn epoch(&self, len: u64, seed: u64, epoch: u64) -> EpochOrder {
        let key = hash(mix(seed), epoch);
        match self {
            SamplingOrder::Sequential => EpochOrder::Sequential,
            SamplingOrder::Shuffled => EpochOrder::Shuffled(Permutation::new(len, key)),
            SamplingOrder::Blocks { size, buffer } => {
                EpochOrder::Blocks(BlockOrder::new(len, *size, *buffer, key))
            }
            SamplingOrder::Replacement => EpochOrder::Replacement { len, key },
            SamplingOrder::Weighted(cumulative, _) => {
                EpochOrder::Weighted { cumulative: Arc::clone(cumulative), key }
            }
        }
    }

    /// Returns whether shards are contiguous ranges of the order, so that each
    /// shard has its own blocks, rather than every `n`th row.
    #[inline]
    pub(super) fn has_contiguous_shards(&self) -> bool {
        matches!(self, SamplingOrder::Blocks { .. })
    }

    /// Two numbers that identify the order, for the fingerprint of a sampler.
    #[inline]
    pub(super) fn identity(&self) -> [u64; 2] {
        match self {
            SamplingOrder::Sequential => [0, 0],
            SamplingOrder::Shuffled => [1, 0],
            SamplingOrder::Blocks { size, buffer: 1 } => [2, *size],
            SamplingOrder::Replacement => [3, 0],
            SamplingOrder::Weighted(_, identity) => [4, *identity],
            SamplingOrder::Blocks { size, buffer } => [5, hash(*size, *buffer)],
        }
    }
}

impl EpochOrder {
    /// The row at a position of the epoch.
    #[inline]
    pub(super) fn row(&self, position: u64) -> u64 {
        match self {
            EpochOrder::Sequential => position,
            EpochOrder::Shuffled(permutation) => permutation.apply(position),
            EpochOrder::Blocks(blocks) => blocks.row(position),
            EpochOrder::Replacement { len, key } => below(hash(*key, position), *len),
            EpochOrder::Weighted { cumulative, key } => {
                to_u64(weighted_row(cumulative, hash(*key, position)))
            }
        }
    }

    /// Fills `out` with the rows at the positions `first`, `first + step`, ….
    #[inline]
    pub(super) fn fill(&self, first: u64, step: u64, out: &mut [u64]) {
        match self {
            EpochOrder::Shuffled(permutation) => return permutation.fill(first, step, out),
            EpochOrder::Blocks(blocks) if step == 1 => return blocks.fill(first, out),
            _ => {}
        }
        let positions = (0..).map(|number: u64| first + number * step);
        out.iter_mut().zip(positions).for_each(|(row, position)| *row = self.row(position));
    }
}

/// The first row with a cumulative weight above a random fraction of the total.
#[inline]
fn weighted_row(cumulative: &[f64], bits: u64) -> usize {
    let total = cumulative.last().copied().unwrap_or(0.0);
    let share: f64 = (bits >> 11).as_();
    // The fraction has 53 bits and is below 1, but rounding the product may give
    // `total`, which no sum is above: then the last row with a weight counts.
    let threshold = share / 9_007_199_254_740_992.0 * total;
    let row = cumulative.partition_point(|&sum| sum <= threshold);
    row.min(cumulative.partition_point(|&sum| sum < total))
}

/// The cumulative sums of weights. Checks that the weights are valid.
#[inline]
pub(super) fn cumulative(weights: &[f64]) -> Result<Arc<[f64]>> {
    let mut sum = 0.0;
    let sums = weights.iter().enumerate().map(|(row, &weight)| {
        if !weight.is_finite() || weight < 0.0 {
            return Err(refused(
                format!("weight {weight} of row {row}"),
                "a finite weight of at least 0",
            ));
        }
        sum += weight;
        Ok(sum)
    });
    let sums: Arc<[f64]> = sums.collect::<Result<_>>()?;
    match sums.last() {
        Some(sum) if *sum > 0.0 && sum.is_finite() => Ok(sums),
        Some(sum) if *sum > 0.0 => {
            Err(refused(format!("weights whose sum is {sum}"), "a finite sum: scale them down"))
        }
        _ => Err(refused("weights whose sum is 0".to_owned(), "at least one weight above 0")),
    }
}

#[inline]
fn refused(value: String, expected: &str) -> Error {
    RequestError::Argument { found: value, expected: expected.to_owned() }.into()
}

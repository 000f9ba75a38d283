//! Sorts keys of 64 bits by their digits, in pieces that stay in the processor's cache.

use npymap::Result;

use crate::input::lengths::to_usize;
use crate::input::memory;

/// The bits of a digit.
const DIGIT: u32 = 11;

const DIGITS: usize = 1 << DIGIT;

/// The digits of a key.
const PASSES: u32 = u64::BITS.div_ceil(DIGIT);

/// How many bits are sorted by digits, besides those that number the keys: the more, the
/// fewer keys are equal in them.
const SPARE: u32 = 9;

/// Fewer keys are compared.
const FEW: usize = 1 << 10;

/// How many keys are sorted at a time.
pub(super) const CHUNK: usize = 1 << 15;

/// How many keys of each piece are merged at a time, at least.
pub(super) const STEP: usize = 128;

/// Memory for sorting keys.
pub(super) struct Radix {
    scratch: Vec<u64>,
    counts: Vec<[usize; DIGITS]>,
}

impl Radix {
    /// Memory for this many keys.
    pub(super) fn new(count: usize) -> Result<Radix> {
        let mut counts = Vec::new();
        counts.resize(to_usize(PASSES.into()), [0; DIGITS]);
        Ok(Radix { scratch: memory::zeros(count)?, counts })
    }

    /// Sorts keys, not more than there is memory for.
    pub(super) fn sort(&mut self, keys: &mut [u64]) {
        if keys.len() < FEW {
            return keys.sort_unstable();
        }
        let least_and_most = |(min, max): (u64, u64), key: &u64| (min.min(*key), max.max(*key));
        let (min, max) = keys.iter().fold((u64::MAX, 0), least_and_most);
        let bits = u64::BITS - (max - min).leading_zeros();
        let passes = bits.min(keys.len().ilog2() + SPARE).div_ceil(DIGIT);
        // The bits below the digits.
        let low = bits - bits.min(passes * DIGIT);
        let Radix { scratch, counts } = self;
        let scratch = scratch.split_at_mut(keys.len()).0;
        let counts = counts.split_at_mut(to_usize(passes.into())).0;
        counts.fill([0; DIGITS]);
        for key in &*keys {
            let mut rest = (key - min) >> low;
            for counts in &mut *counts {
                if let Some(count) = counts.get_mut(digit(rest)) {
                    *count += 1;
                }
                rest >>= DIGIT;
            }
        }
        if let ([counts], 0) = (&*counts, low) {
            return fill(keys, min, counts);
        }
        let (mut from, mut to) = (&mut *keys, scratch);
        let mut shift = low;
        for counts in &mut *counts {
            starts(counts);
            for key in &*from {
                let Some(at) = counts.get_mut(digit((key - min) >> shift)) else { continue };
                if let Some(to) = to.get_mut(*at) {
                    *to = *key;
                }
                *at += 1;
            }
            shift += DIGIT;
            std::mem::swap(&mut from, &mut to);
        }
        if passes % 2 == 1 {
            to.copy_from_slice(from);
        }
        if low > 0 {
            let is_alike = |a: &u64, b: &u64| (a - min) >> low == (b - min) >> low;
            for group in keys.chunk_by_mut(is_alike).filter(|group| group.len() > 1) {
                self.sort(group);
            }
        }
    }
}

/// The lowest digit.
#[inline]
fn digit(rest: u64) -> usize {
    to_usize(rest % (1 << DIGIT))
}

/// Replaces counts with the number of all before each.
fn starts(counts: &mut [usize]) {
    let mut before = 0;
    for count in counts {
        before += *count;
        *count = before - *count;
    }
}

/// Writes keys that are `min` and a digit, of which some are given.
fn fill(mut keys: &mut [u64], min: u64, counts: &[usize]) {
    for (digit, &count) in (0..).zip(counts) {
        let Some((same, rest)) = std::mem::take(&mut keys).split_at_mut_checked(count) else {
            break;
        };
        same.fill(min.wrapping_add(digit));
        keys = rest;
    }
}

/// Merges sorted pieces: calls `visit` with keys, in order.
pub(super) fn merge(
    mut pieces: Vec<&[u64]>,
    visit: &mut dyn FnMut(&[u64]) -> Result<()>,
) -> Result<()> {
    pieces.retain(|piece| !piece.is_empty());
    pieces.sort_unstable_by_key(|piece| piece.first().copied());
    let is_in_turn = |pair: &[&[u64]]| match pair {
        [first, second] => first.last() <= second.first(),
        _ => true,
    };
    if pieces.windows(2).all(is_in_turn) {
        // They were in order before, or in the opposite order.
        return pieces.into_iter().try_for_each(visit);
    }
    let all = pieces.iter().map(|piece| piece.len()).sum();
    let room = CHUNK.max(STEP * pieces.len()).min(all);
    let (mut chunk, mut radix) = (memory::with_capacity(room)?, Radix::new(room)?);
    loop {
        pieces.retain(|piece| !piece.is_empty());
        let step = (room / pieces.len().max(1)).max(1);
        // All keys up to the least of these are among the next of each piece.
        let last = pieces.iter().filter_map(|piece| piece.split_at(step.min(piece.len())).0.last());
        let Some(&last) = last.min() else { return Ok(()) };
        for piece in &mut pieces {
            let next = piece.split_at(step.min(piece.len())).0;
            let (now, later) = piece.split_at(next.partition_point(|&key| key <= last));
            chunk.extend_from_slice(now);
            *piece = later;
        }
        radix.sort(&mut chunk);
        visit(&chunk)?;
        chunk.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys of many kinds.
    fn keys(count: usize) -> Vec<Vec<u64>> {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state ^ state >> 29
        };
        let mut keys = |of: &dyn Fn(u64) -> u64| (0..count).map(|_| of(random())).collect();
        vec![
            keys(&|random| random),
            keys(&|_| 7),
            keys(&|random| random % 1000),
            keys(&|random| u64::MAX - random % 1000),
            keys(&|random| random % 5000),
            keys(&|random| random % (1 << 40) * (random >> 63)),
            // Nearly all are equal in the first digits.
            keys(&|random| if random < 1 << 54 { random } else { random % (1 << 20) }),
            keys(&|random| random >> (random % 64)),
        ]
    }

    #[test]
    fn keys_are_sorted() {
        let mut radix = Radix::new(20_000).unwrap();
        for count in [0, 1, FEW, 20_000] {
            for mut keys in keys(count) {
                let mut expected = keys.clone();
                expected.sort_unstable();
                radix.sort(&mut keys);
                assert!(keys == expected, "{count}");
            }
        }
    }

    #[test]
    fn pieces_are_merged() {
        let sizes = [vec![6000], vec![1, 5998, 0, 1], vec![20; 300]];
        for keys in keys(6000) {
            let mut sorted = keys.clone();
            sorted.sort_unstable();
            let reversed = sorted.iter().rev().copied().collect();
            for (keys, sizes) in [keys, reversed, sorted.clone()]
                .iter()
                .flat_map(|keys| sizes.iter().map(move |sizes| (keys, sizes)))
            {
                let mut keys = keys.clone();
                let (mut pieces, mut rest) = (Vec::new(), keys.as_mut_slice());
                for size in sizes {
                    let (piece, others) = rest.split_at_mut(*size);
                    piece.sort_unstable();
                    pieces.push(&*piece);
                    rest = others;
                }
                let mut merged = Vec::new();
                merge(pieces, &mut |keys| {
                    merged.extend_from_slice(keys);
                    Ok(())
                })
                .unwrap();
                assert!(merged == sorted);
            }
        }
    }
}

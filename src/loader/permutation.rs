//! Permutations of any length without a table of them.
//!
//! A Feistel network over pairs `(left, right)` with `left < a`, `right < b`,
//! `a·b ≥ n`, that adds a keyed hash of one to the other, in turn. Each step
//! can be undone, so the network is a bijection; pairs that stand for a number
//! not below `n` go through it again until one does. As `a` and `b` are near
//! `√n`, that happens to fewer than two in `√n`.
#![expect(clippy::inline_always, reason = "what is not inlined is not compiled for AVX2")]

use crate::error::invariant::Invariant;
use crate::kernel::{self, Job};

/// How often one is hashed into the other, in both directions together.
const ROUNDS: usize = 12;

/// Indices that go through the rounds together. A round waits for the one
/// before, about 10 ns; several indices share that wait, and vector registers.
const LANES: usize = 32;

/// A permutation of `0..n`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Permutation {
    n: u64,
    a: u64,
    b: u64,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// The permutation of `0..n` that belongs to a key.
    pub(super) fn new(n: u64, key: u64) -> Permutation {
        let a = root(n).max(1);
        let b = n.div_ceil(a).max(1);
        let mut state = key;
        let keys = std::array::from_fn(|_| {
            state = state.wrapping_add(STEP);
            mix(state)
        });
        Permutation { n, a, b, keys }
    }

    /// Where an index below `n` goes.
    pub(super) fn apply(&self, index: u64) -> u64 {
        let mut pair = self.split(index);
        loop {
            for keys in self.keys.chunks_exact(2) {
                if let [first, second] = keys {
                    pair.0 = add(pair.0, below(hash(*first, pair.1), self.a), self.a);
                    pair.1 = add(pair.1, below(hash(*second, pair.0), self.b), self.b);
                }
            }
            let found = self.join(pair);
            if found < self.n || self.n == 0 {
                return found;
            }
        }
    }

    /// Where indices below `n` go: from `first` on, each `step` further.
    pub(super) fn fill(&self, first: u64, step: u64, out: &mut [u64]) {
        if self.a.max(self.b) > NARROW {
            let indices = (0..).map(|number: u64| first + number * step);
            out.iter_mut().zip(indices).for_each(|(found, index)| *found = self.apply(index));
            return;
        }
        let (mut next, by) = (self.split(first), self.split(step));
        for chunk in out.chunks_mut(LANES) {
            let (mut lefts, mut rights) = ([0; LANES], [0; LANES]);
            for ((left, right), _) in lefts.iter_mut().zip(&mut rights).zip(&*chunk) {
                (*left, *right) = next;
                let sum = next.0 + by.0;
                let carry = u64::from(sum >= self.a);
                next = (sum - carry * self.a, next.1.wrapping_add(by.1 + carry));
            }
            kernel::run(Rounds { of: self, lefts: &mut lefts, rights: &mut rights });
            for (found, pair) in chunk.iter_mut().zip(lefts.into_iter().zip(rights)) {
                let once = self.join(pair);
                *found = if once < self.n { once } else { self.apply(once) };
            }
        }
    }

    /// The index that goes to `found`.
    pub(super) fn inverse(&self, found: u64) -> u64 {
        let mut pair = self.split(found);
        loop {
            for keys in self.keys.chunks_exact(2).rev() {
                if let [first, second] = keys {
                    pair.1 = subtract(pair.1, below(hash(*second, pair.0), self.b), self.b);
                    pair.0 = subtract(pair.0, below(hash(*first, pair.1), self.a), self.a);
                }
            }
            let index = self.join(pair);
            if index < self.n || self.n == 0 {
                return index;
            }
        }
    }

    fn split(&self, index: u64) -> (u64, u64) {
        (index % self.a, index / self.a)
    }

    fn join(&self, (left, right): (u64, u64)) -> u64 {
        // Above `u64::MAX` only for pairs above all of `0..n`.
        right.saturating_mul(self.a).saturating_add(left)
    }
}

/// All rounds of many indices, as vectors. Both halves are below `2³²`.
struct Rounds<'a> {
    of: &'a Permutation,
    lefts: &'a mut [u64; LANES],
    rights: &'a mut [u64; LANES],
}

impl Job for Rounds<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Rounds { of, lefts, rights } = self;
        for keys in of.keys.chunks_exact(2) {
            if let [first, second] = keys {
                for (left, right) in lefts.iter_mut().zip(&*rights) {
                    *left = add(*left, below_narrow(hash(*first, *right), of.a), of.a);
                }
                for (right, left) in rights.iter_mut().zip(&*lefts) {
                    *right = add(*right, below_narrow(hash(*second, *left), of.b), of.b);
                }
            }
        }
    }
}

/// The largest number of 32 bits.
const NARROW: u64 = 0xffff_ffff;

/// As [`below`], of an end of 32 bits: products of 32 bits are what vectors
/// have.
#[inline(always)]
fn below_narrow(bits: u64, end: u64) -> u64 {
    let end = end & NARROW;
    ((bits >> 32) * end + (((bits & NARROW) * end) >> 32)) >> 32
}

/// The golden ratio's bits, odd: what the state of `SplitMix64` goes on by.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of `SplitMix64` (Steele, Lea and Flood, 2014; Stafford's
/// variant 13): every bit depends on every other.
#[inline(always)]
pub(super) fn mix(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// A hash of a number under a key.
#[inline(always)]
pub(super) fn hash(key: u64, number: u64) -> u64 {
    mix(key ^ mix(number.wrapping_mul(STEP).wrapping_add(STEP)))
}

/// A number below `end` from one of 64 bits: the same share of them for each,
/// but for one in `2⁶⁴ / end`.
pub(super) fn below(bits: u64, end: u64) -> u64 {
    let product = u128::from(bits) * u128::from(end);
    u64::try_from(product >> 64).invariant("half of 128 bits is 64")
}

/// Both are below `end`, which is at most `2³²`, but when `n` is 1.
#[inline(always)]
fn add(x: u64, y: u64, end: u64) -> u64 {
    let sum = x + y;
    if sum >= end { sum - end } else { sum }
}

fn subtract(x: u64, y: u64, end: u64) -> u64 {
    if x >= y { x - y } else { x + end - y }
}

/// The root of a number, rounded up.
fn root(n: u64) -> u64 {
    let floor = n.isqrt();
    if floor * floor < n { floor + 1 } else { floor }
}

#[cfg(test)]
#[allow(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::indexing_slicing
)]
mod tests {
    use super::*;

    const SIZES: [u64; 14] = [1, 2, 3, 4, 5, 7, 16, 17, 100, 255, 256, 1000, 4097, 10_000];

    #[test]
    fn every_index_stands_once_and_goes_back() {
        for (key, n) in SIZES.into_iter().enumerate() {
            let permutation = Permutation::new(n, key as u64);
            let mut found: Vec<u64> = (0..n).map(|i| permutation.apply(i)).collect();
            assert!((0..n).all(|i| permutation.inverse(found[i as usize]) == i));
            found.sort_unstable();
            assert!(found.into_iter().eq(0..n), "{n}");
        }
    }

    #[test]
    fn indices_together_go_where_each_goes() {
        let sizes = SIZES.into_iter().chain([1 << 32, (1 << 40) + 9, u64::MAX - 1, u64::MAX]);
        for (key, n) in sizes.enumerate() {
            let permutation = Permutation::new(n, key as u64);
            for (first, step, count) in [(0, 1, 256), (3, 1, 31), (n / 2, 7, 33), (n - 1, n, 1)] {
                let indices = (0..count).map(|i| first + i * step);
                let indices: Vec<u64> = indices.take_while(|&index| index < n).collect();
                let mut found = vec![0; indices.len()];
                crate::kernel::both_ways(|| {
                    permutation.fill(first, step, &mut found);
                    assert!(indices.iter().zip(&found).all(|(&i, &to)| permutation.apply(i) == to));
                });
            }
        }
    }

    #[test]
    fn the_longest_are_permutations_too() {
        for n in [u64::MAX, u64::MAX - 1, 1 << 63, (1 << 32) + 1, 1 << 32, (1 << 32) - 1] {
            let permutation = Permutation::new(n, 7);
            for i in [0, 1, 2, n / 2, n - 2, n - 1] {
                let found = permutation.apply(i);
                assert!(found < n);
                assert_eq!(permutation.inverse(found), i);
            }
        }
    }

    /// Sum of squared deviations from equal counts, in units of the mean.
    fn chi_square(counts: &[u32]) -> f64 {
        let mean = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
        counts.iter().map(|&count| (f64::from(count) - mean).powi(2) / mean).sum()
    }

    /// More than five standard deviations above what chance gives.
    fn is_uneven(counts: &[u32]) -> bool {
        let freedom = (counts.len() - 1) as f64;
        (chi_square(counts) - freedom) / (2.0 * freedom).sqrt() > 5.0
    }

    #[test]
    fn all_orders_of_a_few_are_as_frequent() {
        for n in 2..=5_u64 {
            let orders = (1..=n).product::<u64>() as usize;
            let mut counts = std::collections::HashMap::new();
            for key in 0..200 * orders as u64 {
                let permutation = Permutation::new(n, mix(key));
                let order: Vec<u64> = (0..n).map(|i| permutation.apply(i)).collect();
                *counts.entry(order).or_insert(0) += 1;
            }
            let counts: Vec<u32> = counts.into_values().collect();
            assert_eq!(counts.len(), orders);
            assert!(!is_uneven(&counts), "{n}: {}", chi_square(&counts));
        }
    }

    #[test]
    fn every_place_is_as_likely_for_every_index() {
        for n in [6_u64, 10, 31] {
            let mut counts = vec![0; (n * n) as usize];
            for key in 0..2000 {
                let permutation = Permutation::new(n, mix(key));
                (0..n).for_each(|i| counts[(i * n + permutation.apply(i)) as usize] += 1);
            }
            assert!(!is_uneven(&counts), "{n}: {}", chi_square(&counts));
        }
    }

    #[test]
    fn neighbours_go_to_any_distance() {
        let n = 1009_u64;
        let mut counts = vec![0; n as usize - 1];
        for key in 0..40 {
            let permutation = Permutation::new(n, mix(key));
            for i in 0..n - 1 {
                let distance = (permutation.apply(i + 1) + n - permutation.apply(i)) % n;
                counts[distance as usize - 1] += 1;
            }
        }
        assert!(!is_uneven(&counts), "{}", chi_square(&counts));
    }

    #[test]
    fn a_permutation_has_as_many_runs_and_fixed_points_as_chance() {
        let (mut rising, mut fixed) = (0_u32, 0_u32);
        for key in 0..200 {
            let permutation = Permutation::new(1000, mix(key));
            rising += (0..999).filter(|&i| permutation.apply(i) < permutation.apply(i + 1)).count()
                as u32;
            fixed += (0..1000).filter(|&i| permutation.apply(i) == i).count() as u32;
        }
        // Rising pairs: mean 1/2, variance 1/12 each; fixed points: 1 and 1 each.
        assert!((f64::from(rising) - 99_900.0).abs() < 5.0 * (200.0 * 1001.0 / 12.0_f64).sqrt());
        assert!((f64::from(fixed) - 200.0).abs() < 5.0 * 200.0_f64.sqrt());
    }
}

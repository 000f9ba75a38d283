//! Pseudorandom permutations of any length in constant memory.
//!
//! A Feistel network over pairs `(left, right)` with `left < a`, `right < b` and
//! `a·b ≥ n`. Its rounds alternately add a keyed hash of one half to the other.
//! Each round can be inverted, so the network is a bijection. A pair that
//! represents a number of `n` or more goes through the network again, until the
//! result is below `n`. Because `a` and `b` are near `√n`, this happens to fewer
//! than two numbers in `√n`.
#![expect(clippy::inline_always, reason = "only inlined code is compiled for AVX2")]

use crate::error::invariant::Invariant;
use crate::kernel::{self, Job};

/// The number of rounds, in both directions together. `Sampler` documents it.
const ROUNDS: usize = 12;

/// The number of indices permuted together. A round depends on the previous
/// one, with a latency of about 10 ns. Several indices hide that latency, and
/// fill vector registers.
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
    /// Creates the permutation of `0..n` for a key.
    #[inline]
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

    /// The image of an index below `n`.
    #[inline]
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

    /// Fills `out` with the images of the indices `first`, `first + step`, …, which
    /// are below `n`.
    #[inline]
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
            self.permute((lefts, rights), chunk);
        }
    }

    /// Replaces indices, which are below `n`, by their images.
    #[inline]
    pub(super) fn apply_all(&self, indices: &mut [u64]) {
        if self.a.max(self.b) > NARROW {
            return indices.iter_mut().for_each(|index| *index = self.apply(*index));
        }
        for chunk in indices.chunks_mut(LANES) {
            let (mut lefts, mut rights) = ([0; LANES], [0; LANES]);
            for ((left, right), index) in lefts.iter_mut().zip(&mut rights).zip(&*chunk) {
                (*left, *right) = self.split(*index);
            }
            self.permute((lefts, rights), chunk);
        }
    }

    /// Fills `out` with the images of indices that are given as halves.
    #[inline]
    fn permute(&self, (mut lefts, mut rights): ([u64; LANES], [u64; LANES]), out: &mut [u64]) {
        kernel::run(Rounds { permutation: self, lefts: &mut lefts, rights: &mut rights });
        for (found, pair) in out.iter_mut().zip(lefts.into_iter().zip(rights)) {
            let image = self.join(pair);
            *found = if image < self.n { image } else { self.apply(image) };
        }
    }

    /// The index with the image `found`.
    #[inline]
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

    #[inline]
    fn split(&self, index: u64) -> (u64, u64) {
        (index % self.a, index / self.a)
    }

    #[inline]
    fn join(&self, (left, right): (u64, u64)) -> u64 {
        // Saturates only for pairs that are not below `n`.
        right.saturating_mul(self.a).saturating_add(left)
    }
}

/// All rounds for [`LANES`] indices with halves below `2³²`.
struct Rounds<'a> {
    permutation: &'a Permutation,
    lefts: &'a mut [u64; LANES],
    rights: &'a mut [u64; LANES],
}

impl Job for Rounds<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Rounds { permutation, lefts, rights } = self;
        let Permutation { a, b, keys, .. } = *permutation;
        for keys in keys.chunks_exact(2) {
            if let [first, second] = keys {
                for (left, right) in lefts.iter_mut().zip(&*rights) {
                    *left = add(*left, below_narrow(hash(*first, *right), a), a);
                }
                for (right, left) in rights.iter_mut().zip(&*lefts) {
                    *right = add(*right, below_narrow(hash(*second, *left), b), b);
                }
            }
        }
    }
}

/// The largest number of 32 bits.
const NARROW: u64 = 0xffff_ffff;

/// Like [`below`], for an `end` below `2³²`. It multiplies only 32-bit numbers,
/// because AVX2 has no 64-bit multiplication.
#[inline(always)]
fn below_narrow(bits: u64, end: u64) -> u64 {
    let end = end & NARROW;
    ((bits >> 32) * end + (((bits & NARROW) * end) >> 32)) >> 32
}

/// `SplitMix64`'s increment: the bits of the golden ratio, made odd.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finalizer of `SplitMix64` (Steele, Lea and Flood, 2014; Stafford's
/// variant 13): every bit of the result depends on every bit of the state.
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

/// Maps a 64-bit number to one below `end`. If the input is uniform, so is the
/// result, except for a bias of at most one in `2⁶⁴ / end`.
#[inline]
pub(super) fn below(bits: u64, end: u64) -> u64 {
    let product = u128::from(bits) * u128::from(end);
    u64::try_from(product >> 64).invariant("half of 128 bits is 64")
}

/// The sum modulo `end`. Both terms are below `end`, which is at most `2³²`,
/// unless `n` is 1.
#[inline(always)]
fn add(x: u64, y: u64, end: u64) -> u64 {
    let sum = x + y;
    if sum >= end { sum - end } else { sum }
}

#[inline]
fn subtract(x: u64, y: u64, end: u64) -> u64 {
    if x >= y { x - y } else { x + end - y }
}

/// The square root of a number, rounded up.
#[inline]
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
    fn a_permutation_is_a_bijection_with_an_inverse() {
        for (key, n) in SIZES.into_iter().enumerate() {
            let permutation = Permutation::new(n, key as u64);
            let mut found: Vec<u64> = (0..n).map(|i| permutation.apply(i)).collect();
            assert!((0..n).all(|i| permutation.inverse(found[i as usize]) == i));
            found.sort_unstable();
            assert!(found.into_iter().eq(0..n), "{n}");
        }
    }

    #[test]
    fn filling_gives_the_image_of_each_index() {
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
                    let mut images = indices.clone();
                    permutation.apply_all(&mut images);
                    assert_eq!(images, found);
                });
            }
        }
    }

    #[test]
    fn permutations_of_up_to_64_bits_have_an_inverse() {
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
    #[inline]
    fn chi_square(counts: &[u32]) -> f64 {
        let mean = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
        counts.iter().map(|&count| (f64::from(count) - mean).powi(2) / mean).sum()
    }

    /// More than five standard deviations above what chance gives.
    #[inline]
    fn is_uneven(counts: &[u32]) -> bool {
        let freedom = (counts.len() - 1) as f64;
        (chi_square(counts) - freedom) / (2.0 * freedom).sqrt() > 5.0
    }

    #[test]
    fn all_orders_of_a_few_numbers_are_equally_frequent() {
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
    fn every_image_of_an_index_is_equally_likely() {
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
    fn images_of_neighbours_have_any_distance() {
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
    fn runs_and_fixed_points_are_as_frequent_as_in_random_permutations() {
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

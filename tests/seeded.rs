//! Random numbers from a seed, and the settings of generated tests.

use std::env;

/// Random numbers from a seed (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// A number from an environment variable.
pub(crate) fn setting(name: &str, usual: u64) -> u64 {
    env::var(name).map_or(usual, |text| text.parse().expect("a number"))
}

/// Seeds for tests of `cases` cases each: `usual`, or in `.ci/run differential`
/// enough for `NPYMAP_DIFFERENTIAL_EDITS` cases.
pub(crate) fn seeds(usual: u64, cases: u64) -> impl Iterator<Item = u64> {
    let wanted = setting("NPYMAP_DIFFERENTIAL_EDITS", 0);
    let shift = if wanted == 0 { 0 } else { setting("NPYMAP_DIFFERENTIAL_SEED", 0) * 1_000_000 };
    (0..wanted.div_ceil(cases).max(1)).map(move |n| usual + shift + n)
}

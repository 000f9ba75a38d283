//! Random choices, and which parts of a file they may make odd.

/// The part of a file that may be odd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The spelling of literals.
    Spelling,
    /// Types, names, titles, subarrays.
    Types,
    /// Axes.
    Shape,
    /// Keys, and the kinds of values.
    Keys,
    /// Magic, version, length, encoding.
    Preamble,
    /// The number of bytes after the header.
    Data,
}

/// Random numbers from a seed (splitmix64), and how often choices are odd.
pub(super) struct Random {
    state: u64,
    parts: &'static [Part],
    /// One choice in this many is odd.
    rarity: usize,
}

impl Random {
    /// Starts the random numbers of one case.
    pub(super) fn new(seed: u64, case: u64) -> Random {
        let mut random = Random { state: seed, parts: &[], rarity: 1 };
        random.state = random.next() ^ case.wrapping_mul(0x2545_f491_4f6c_dd1d);
        random
    }

    /// From now on, these parts are odd with one choice in `rarity`.
    pub(super) fn set_odd_parts(&mut self, parts: &'static [Part], rarity: usize) {
        (self.parts, self.rarity) = (parts, rarity);
    }

    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// True with a probability of 1 in `n`.
    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(super) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    /// Whether a choice about this part should be odd.
    pub(super) fn is_odd(&mut self, part: Part) -> bool {
        self.parts.contains(&part) && self.one_in(self.rarity)
    }

    pub(super) fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}

//! Merges ranges of bytes into runs that are worth reading whole.

use std::ops::Range;

/// The most ranges listed at a time.
pub(super) const MAX_RANGES: usize = 1 << 16;

/// Sorts ranges, and merges ranges that are at most `gap` bytes apart.
#[inline]
pub(super) fn merge(ranges: &mut Vec<Range<usize>>, gap: usize) {
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|next, before| {
        let is_near = next.start.checked_sub(before.end).is_none_or(|apart| apart <= gap);
        if is_near {
            before.end = before.end.max(next.end);
        }
        is_near
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_ranges_become_one_run() {
        let mut ranges = vec![50..60, 0..10, 13..15, 5..7, 61..62, 100..200, 120..130];
        merge(&mut ranges, 3);
        assert_eq!(ranges, [0..15, 50..62, 100..200]);
        merge(&mut ranges, 0);
        assert_eq!(ranges, [0..15, 50..62, 100..200]);
        merge(&mut ranges, usize::MAX);
        assert_eq!(ranges.len(), 1);
        let mut none = Vec::new();
        merge(&mut none, 1);
        assert!(none.is_empty());
    }
}

//! Merges ranges of bytes into runs that are worth reading whole.

use std::ops::Range;

/// The most ranges listed at a time.
pub(super) const MAX_RANGES: usize = 1 << 16;

/// Merges ranges that are at most `gap` bytes apart. The runs are in the order of the first
/// range of each.
#[inline]
pub(super) fn merge(ranges: &mut Vec<Range<usize>>, gap: usize) {
    let mut runs: Vec<(usize, Range<usize>)> = ranges.drain(..).enumerate().collect();
    runs.sort_unstable_by_key(|(_, range)| range.start);
    runs.dedup_by(|(number, next), (first, before)| {
        let is_near = next.start.checked_sub(before.end).is_none_or(|apart| apart <= gap);
        if is_near {
            before.end = before.end.max(next.end);
            *first = (*first).min(*number);
        }
        is_near
    });
    runs.sort_unstable_by_key(|(first, _)| *first);
    ranges.extend(runs.into_iter().map(|(_, run)| run));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_ranges_become_one_run() {
        let mut ranges = vec![50..60, 0..10, 13..15, 5..7, 61..62, 100..200, 120..130];
        merge(&mut ranges, 3);
        assert_eq!(ranges, [50..62, 0..15, 100..200]);
        merge(&mut ranges, 0);
        assert_eq!(ranges, [50..62, 0..15, 100..200]);
        merge(&mut ranges, usize::MAX);
        assert_eq!(ranges.len(), 1);
        let mut none = Vec::new();
        merge(&mut none, 1);
        assert!(none.is_empty());
    }
}

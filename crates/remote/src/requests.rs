//! The requests for ranges of an object: near ranges together, long ranges in parts.

use std::ops::Range;

use crate::invariant::{IN_BUFFER, Invariant, to_u64, to_usize_saturating};
use crate::ranges;

/// Ranges at most this far apart are requested together.
const GAP: u64 = 64 << 10;

/// The most bytes of a request.
pub(super) const PART: u64 = 2 << 20;

/// Where requests start and end.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// They start and end at multiples of this, or at the end of the object.
    pub(super) block: u64,
    /// The size of the object.
    pub(super) size: u64,
    /// The most bytes of a request.
    pub(super) part: u64,
}

impl Limits {
    pub(super) fn widen(self, range: &Range<u64>) -> Range<u64> {
        let end = range.end.checked_next_multiple_of(self.block).unwrap_or(self.size);
        range.start - range.start % self.block..end.min(self.size)
    }
}

/// A range of the object, and its place in the output.
pub(super) struct Request {
    pub(super) range: Range<u64>,
    pub(super) place: usize,
}

/// The parts of an object to request, in order.
pub(super) struct Requests {
    /// The wanted ranges, by their start.
    wanted: Vec<Request>,
    parts: Vec<Range<u64>>,
    /// For each part, the position of the first range that can overlap it.
    first: Vec<usize>,
}

impl Requests {
    pub(super) fn new(mut wanted: Vec<Request>, limits: Limits) -> Requests {
        wanted.retain(|request| !request.range.is_empty());
        wanted.sort_by_key(|request| request.range.start);
        let (mut parts, mut first) = (Vec::new(), Vec::new());
        for (span, position) in spans(&wanted, limits) {
            let mut start = span.start;
            while start < span.end {
                let end = span.end.min(start.saturating_add(limits.part));
                parts.push(start..end);
                first.push(position);
                start = end;
            }
        }
        Requests { wanted, parts, first }
    }

    /// The ranges to request.
    pub(super) fn parts(&self) -> &[Range<u64>] {
        &self.parts
    }

    /// The offset of a part in the object.
    pub(super) fn start(&self, number: usize) -> u64 {
        self.parts.get(number).map_or(0, |range| range.start)
    }

    /// Copies the bytes of a part to their places in `buffer`.
    pub(super) fn copy(&self, number: usize, bytes: &[u8], buffer: &mut [u8]) {
        let (Some(part), Some(&first)) = (self.parts.get(number), self.first.get(number)) else {
            return;
        };
        let wanted = self.wanted.get(first..).unwrap_or_default();
        for Request { range, place } in wanted.iter().take_while(|w| w.range.start < part.end) {
            let start = range.start.max(part.start);
            let end = range.end.min(part.end);
            if start >= end {
                continue;
            }
            let [from, place] =
                [start - part.start, to_u64(*place) + start - range.start].map(to_usize_saturating);
            let len = to_usize_saturating(end - start);
            let to = buffer.get_mut(place..place + len).invariant(IN_BUFFER);
            to.copy_from_slice(bytes.get(from..from + len).invariant(IN_BUFFER));
        }
    }
}

/// Unites overlapping ranges, and near ranges if they are short. Returns each with the
/// position of its first range.
fn spans(wanted: &[Request], limits: Limits) -> Vec<(Range<u64>, usize)> {
    let mut spans: Vec<(Range<u64>, usize)> = Vec::new();
    for (position, Request { range, .. }) in wanted.iter().enumerate() {
        let range = limits.widen(range);
        match spans.last_mut() {
            Some((span, _)) if is_united(span, &range, limits.part) => {
                span.end = span.end.max(range.end);
            }
            _ => spans.push((range, position)),
        }
    }
    spans
}

fn is_united(span: &Range<u64>, range: &Range<u64>, part: u64) -> bool {
    let is_short = ranges::len(&(span.start..range.end)) <= part;
    range.start < span.end || (is_short && range.start - span.end <= GAP)
}

#[cfg(test)]
// Lists of one range are meant.
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use super::*;

    /// Requests ranges in turn, and checks that all their bytes are copied.
    #[track_caller]
    fn assert_parts(ranges: &[Range<u64>], parts: &[Range<u64>]) {
        assert_aligned_parts(ranges, ANY, parts);
    }

    const ANY: Limits = Limits { block: 1, size: u64::MAX, part: PART };

    #[track_caller]
    fn assert_aligned_parts(ranges: &[Range<u64>], limits: Limits, parts: &[Range<u64>]) {
        let (mut wanted, mut place) = (Vec::new(), 0);
        for range in ranges {
            wanted.push(Request { range: range.clone(), place });
            place += to_usize_saturating(ranges::len(range));
        }
        let requests = Requests::new(wanted, limits);
        assert_eq!(requests.parts(), parts);
        let mut buffer = vec![0; place];
        // They arrive in any order.
        for (number, part) in parts.iter().enumerate().rev() {
            requests.copy(number, &bytes(part), &mut buffer);
        }
        assert!(buffer == ranges.iter().map(bytes).collect::<Vec<_>>().concat());
    }

    /// The bytes of a range: each one is its place, modulo 251.
    fn bytes(range: &Range<u64>) -> Vec<u8> {
        let period: Vec<u8> = (0..251).collect();
        let [start, len] = [range.start % 251, ranges::len(range)].map(to_usize_saturating);
        let bytes = period.repeat(len.div_ceil(251) + 1);
        bytes[start..start + len].to_vec()
    }

    #[test]
    fn near_ranges_are_requested_together() {
        assert_parts(&[], &[]);
        assert_parts(&[7..7, 3..3], &[]);
        assert_parts(&[5..9], &[5..9]);
        assert_parts(&[9..12, 5..9, 12 + GAP..20 + GAP], &[5..20 + GAP]);
        assert_parts(&[5..9, 10 + GAP..11 + GAP], &[5..9, 10 + GAP..11 + GAP]);
        assert_parts(&[5..9, 5..9, 6..7, 8..10], &[5..10]);
    }

    #[test]
    fn long_ranges_are_requested_in_parts() {
        assert_parts(
            &[1..2 * PART + 4],
            &[1..1 + PART, 1 + PART..1 + 2 * PART, 1 + 2 * PART..2 * PART + 4],
        );
        assert_parts(&[1..PART, PART..PART + 9], &[1..PART, PART..PART + 9]);
        // They overlap, so they are requested once.
        assert_parts(&[PART - 5..PART + 9, 0..PART, 7..9], &[0..PART, PART..PART + 9]);
    }

    #[test]
    fn whole_blocks_are_requested() {
        let blocks = Limits { block: GAP, size: 9 * GAP + 5, part: PART };
        assert_aligned_parts(&[1..2], blocks, &[0..GAP]);
        assert_aligned_parts(&[1..2, GAP - 1..GAP + 1], blocks, &[0..2 * GAP]);
        assert_aligned_parts(&[3..4, 4 * GAP..5 * GAP], blocks, &[0..GAP, 4 * GAP..5 * GAP]);
        assert_aligned_parts(&[9 * GAP..9 * GAP + 5], blocks, &[9 * GAP..9 * GAP + 5]);
        let large = Limits { block: GAP, ..ANY };
        assert_aligned_parts(
            &[GAP + 1..GAP + PART + 1],
            large,
            &[GAP..GAP + PART, GAP + PART..2 * GAP + PART],
        );
    }

    #[test]
    fn random_ranges_are_requested_once() {
        let mut state = 1_u64;
        for _ in 0..200 {
            let mut ranges = Vec::new();
            for _ in 0..20 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let start = (state >> 33) % (1 << 20);
                ranges.push(start..start + (state >> 20) % 5000);
            }
            let wanted = ranges.iter().map(|range| Request { range: range.clone(), place: 0 });
            let parts = Requests::new(wanted.collect(), ANY).parts().to_vec();
            assert!(parts.windows(2).all(|pair| pair[0].end <= pair[1].start));
            assert_parts(&ranges, &parts);
        }
    }
}

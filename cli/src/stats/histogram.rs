//! Histograms with equal bins, counted as `numpy.histogram` does, and drawn on
//! one line.

use crate::input::lengths::{to_u64, to_usize, whole};
use npymap::element::Real as _;

/// The edges of equal bins.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bins {
    pub(crate) edges: Vec<f64>,
    count: f64,
}

impl Bins {
    /// Bins from `min` to `max`, both finite; around them if they are equal.
    pub(crate) fn new(min: f64, max: f64, count: usize) -> Bins {
        let (min, max) = if min < max { (min, max) } else { (min - 0.5, max + 0.5) };
        let count = to_u64(count.max(1));
        let step = (max - min) / count.to_f64();
        let mut edges: Vec<f64> = if step.is_finite() {
            (0..count).map(|number| number.to_f64() * step + min).collect()
        } else {
            // The difference of the extremes is too large for a number.
            let parts = (0..count).map(|number| number.to_f64() / count.to_f64());
            parts.map(|part| min * (1.0 - part) + max * part).collect()
        };
        edges.push(max);
        Bins { edges, count: count.to_f64() }
    }

    /// The number of bins.
    pub(crate) fn len(&self) -> usize {
        self.edges.len() - 1
    }

    /// The bin of a finite number between the extremes. The last bin has both
    /// of its edges, the others their lower one.
    pub(crate) fn bin(&self, number: f64) -> usize {
        let (Some(&first), Some(&last)) = (self.edges.first(), self.edges.last()) else { return 0 };
        if !(last - first).is_finite() {
            let above = self.edges.partition_point(|edge| *edge <= number);
            // Numbers that change meanwhile may be outside.
            return above.clamp(1, self.len()) - 1;
        }
        // Corrected below if it is rounded.
        let at = to_usize(whole((number - first) / (last - first) * self.count));
        let at = at.min(self.len() - 1);
        if self.edges.get(at).is_some_and(|edge| number < *edge) {
            at.max(1) - 1
        } else if at + 1 < self.len() && self.edges.get(at + 1).is_some_and(|e| number >= *e) {
            at + 1
        } else {
            at
        }
    }
}

const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const LETTERS: [char; 9] = [' ', '_', '.', '-', '~', '=', '+', '*', '#'];

/// Draws counts as bars, the largest one at full height. Bins without elements
/// are blank.
pub(crate) fn sparkline(counts: &[u64], unicode: bool) -> String {
    let levels = if unicode { &BLOCKS } else { &LETTERS };
    let most = u128::from(counts.iter().copied().fold(1, u64::max));
    let bars = counts.iter().map(|&count| {
        let height = (u128::from(count) * 8).div_ceil(most);
        let height = usize::try_from(height).expect("it is at most 8");
        levels.get(height).expect("there is a level for each height")
    });
    bars.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_belong_to_the_upper_bin_and_the_last_one_to_the_last() {
        let bins = Bins::new(0.0, 0.7, 7);
        let found: Vec<_> = bins.edges.iter().map(|edge| bins.bin(*edge)).collect();
        assert_eq!(found, [0, 1, 2, 3, 4, 5, 6, 6]);
        assert_eq!(Bins::new(3.0, 3.0, 2).edges, [2.5, 3.0, 3.5]);
        let wide = Bins::new(-f64::MAX, f64::MAX, 4);
        assert!(wide.edges.iter().all(|edge| edge.is_finite()), "{wide:?}");
        let found: Vec<_> = wide.edges.iter().map(|edge| wide.bin(*edge)).collect();
        assert_eq!(found, [0, 1, 2, 3, 3]);
        assert_eq!(Bins::new(0.0, 1.0, 0).len(), 1);
    }

    #[test]
    fn bars_are_as_high_as_counts() {
        assert_eq!(sparkline(&[0, 1, 4, 8, u64::MAX], true), " ▁▁▁█");
        assert_eq!(sparkline(&[0, 1, 4, 8], true), " ▁▄█");
        assert_eq!(sparkline(&[0, 1, 4, 8], false), " _~#");
        assert_eq!(sparkline(&[], true), "");
    }
}

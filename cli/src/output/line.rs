//! A vector as a line: the extremes of the elements at each place.

use crate::input::lengths::{to_u64, to_usize, whole};
use std::ops::RangeInclusive;

use npymap::element::Real as _;
use npymap::{MappedArray, Result, array::Outline};

use crate::input::parallel;
use crate::output::picture::Norm;
use crate::stats::scan::Ignored;
use crate::stats::summary::Summary;

/// The places of the lowest and the highest value at each position, from 0 to 1;
/// `None` for positions without a value.
pub(crate) struct Line {
    places: Vec<Option<(f64, f64)>>,
}

impl Line {
    /// Computes a line for `width` positions.
    pub(crate) fn compute(
        array: &MappedArray,
        view: &Outline<'_>,
        width: usize,
        norm: Norm,
    ) -> Result<Line> {
        // Fewer elements are connected by lines.
        let count = view.len().min(width);
        let mut extremes = Vec::new();
        parallel::in_order(
            0..count,
            |part| {
                let [start, end] = [part, part + 1].map(|at| place(at, view.len(), count));
                let (_, rest) = view.split_at(0, start)?;
                let (own, _) = rest.split_at(0, end - start)?;
                let mut all = Summary::none(own.dtype(), Ignored::Nothing)?;
                array.for_each_window(&own, |part| {
                    all.merge(Summary::compute(part, Ignored::Nothing)?);
                    Ok(())
                })?;
                Ok(all.finite)
            },
            |found| {
                extremes.push(found.and_then(|extremes| norm_places(extremes, norm)));
                Ok::<_, npymap::Error>(())
            },
        )?;
        let places = if count < width { connect(&extremes, width) } else { extremes };
        Ok(Line { places })
    }

    /// The rows of dots at each position, of `height` rows from the top, such
    /// that neighbours touch; `None` for positions without a value.
    pub(crate) fn dots(&self, height: usize) -> Vec<Option<RangeInclusive<usize>>> {
        let mut previous: Option<(usize, usize)> = None;
        let dots = self.places.iter().map(|places| {
            let own = places.map(|(low, high)| (to_row(high, height), to_row(low, height)));
            let joined = own.map(|(top, bottom)| match previous {
                Some((_, last)) if last + 1 < top => (last + 1, bottom),
                Some((first, _)) if bottom + 1 < first => (top, first - 1),
                _ => (top, bottom),
            });
            previous = own;
            joined.map(|(top, bottom)| top..=bottom)
        });
        dots.collect()
    }
}

/// The start of a part of `count` among `len` elements.
fn place(part: usize, len: usize, count: usize) -> usize {
    let [part, len, count] = [part, len, count].map(|n| u128::from(to_u64(n)));
    usize::try_from(part * len / count.max(1)).expect("at most `len`")
}

/// The places of two extremes; `None` if the greater one has no logarithm.
fn norm_places((low, high): (f64, f64), norm: Norm) -> Option<(f64, f64)> {
    let [low, high] = [low, high].map(|value| norm.place(norm.scale.apply(value)));
    let low = if low.is_nan() { high } else { low };
    (!high.is_nan()).then_some((low, high))
}

/// Lines between points, which are evenly spaced.
fn connect(points: &[Option<(f64, f64)>], width: usize) -> Vec<Option<(f64, f64)>> {
    let last = points.len() - 1;
    let places = (0..width).map(|position| {
        let [position, steps] = [position * last, width.max(2) - 1];
        let (at, part) = (position / steps, position % steps);
        let start = points.get(at).copied().flatten()?.0;
        let Some(end) = points.get(at + 1) else { return Some((start, start)) };
        if part == 0 {
            return Some((start, start));
        }
        let [part, steps] = [part, steps].map(|n| to_u64(n).to_f64());
        let value = start + ((*end)?.0 - start) * part / steps;
        Some((value, value))
    });
    places.collect()
}

/// The row of a place, from the top.
fn to_row(place: f64, height: usize) -> usize {
    let last = to_u64(height - 1);
    to_usize(whole(((1.0 - place.clamp(0.0, 1.0)) * last.to_f64()).round()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_touch_and_gaps_stay() {
        let places = [0.0, 1.0, f64::NAN, 0.5, 0.5];
        let places = places.map(|place| (!place.is_nan()).then_some((place, place)));
        let dots = Line { places: places.to_vec() }.dots(5);
        assert_eq!(dots, [Some(4..=4), Some(0..=3), None, Some(2..=2), Some(2..=2)]);
    }

    #[test]
    fn few_points_are_connected() {
        let points = [Some((0.0, 0.0)), Some((1.0, 1.0)), None];
        let line = connect(&points, 5);
        assert_eq!(line, [Some((0.0, 0.0)), Some((0.5, 0.5)), Some((1.0, 1.0)), None, None]);
        assert_eq!(connect(&points[..1], 2), [Some((0.0, 0.0)); 2]);
    }
}

//! Rasters: the elements of a view averaged over the area of each pixel.

use std::ops::Range;

use npymap::element::Real;
use npymap::{MappedArray, Result, View, array::Outline, with_type};

use crate::input::lengths::to_u64;
use crate::input::memory;
use crate::stats::tiles;

/// How elements are transformed before they are averaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    Linear,
    /// The logarithm to base 10. Numbers that are not positive have none.
    Log,
}

impl Scale {
    pub(crate) fn apply(self, number: f64) -> f64 {
        match self {
            Scale::Linear => number,
            Scale::Log if number > 0.0 => number.log10(),
            Scale::Log => f64::NAN,
        }
    }
}

/// Pixels, row by row, of a picture or of a part of it.
#[derive(Clone, Debug)]
pub(crate) struct Raster {
    top: usize,
    left: usize,
    width: usize,
    pixels: Vec<Pixel>,
}

/// The sum of the elements of a pixel, each weighted by its area in it, and the
/// areas of those with and without a value.
#[derive(Clone, Copy, Debug, Default)]
struct Pixel {
    sum: f64,
    area: f64,
    empty: f64,
}

impl Raster {
    /// Averages elements of an array, of two axes. Along neither axis may there be more pixels
    /// than elements.
    pub(crate) fn compute(
        array: &MappedArray,
        whole: &Outline<'_>,
        [height, width]: [usize; 2],
        scale: Scale,
    ) -> Result<Raster> {
        let mut raster = Raster { top: 0, left: 0, width, pixels: memory::zeros(height * width)? };
        let dims = two(whole.shape());
        tiles::process(
            whole,
            |tile| {
                let ([top, left], [rows, columns]) = (two(&tile.origin), two(tile.part.shape()));
                let spans = [
                    spans(top..top + rows, dims[0], height),
                    spans(left..left + columns, dims[1], width),
                ];
                let window = array.window(&tile.part)?;
                let view = window.view();
                with_type!(view.dtype(), real T => {
                    Raster::of_tile(&view.view::<T>()?, &spans, scale)
                }, _ => Raster::of_tile(&view.view::<f64>()?, &spans, scale))
            },
            |part| raster.add(&part),
        )?;
        Ok(raster)
    }

    /// The pixels of a tile, whose rows and columns have these spans.
    fn of_tile<T: Real>(
        view: &View<'_, T>,
        spans: &[Vec<Span>; 2],
        scale: Scale,
    ) -> Result<Raster> {
        let [rows, columns] = spans;
        let [(top, height), (left, width)] = [rows, columns].map(|spans| pixel_range(spans));
        let mut pixels: Vec<Pixel> = memory::zeros(height * width)?;
        let mut sums: Vec<Pixel> = memory::zeros(width)?;
        for (elements, row) in view.outer_iter().zip(rows) {
            sums.fill(Pixel::default());
            for (element, span) in elements.iter().zip(columns) {
                let value = scale.apply(element.to_f64());
                for (sum, share) in sums.iter_mut().skip(span.pixel - left).zip(span.shares) {
                    sum.add(value, share);
                }
            }
            let own_rows = pixels.chunks_mut(width.max(1)).skip(row.pixel - top);
            for (own, share) in own_rows.zip(row.shares) {
                own.iter_mut().zip(&sums).for_each(|(own, sum)| own.add_row(*sum, share));
            }
        }
        Ok(Raster { top, left, width, pixels })
    }

    fn add(&mut self, part: &Raster) {
        let rows = self.pixels.chunks_mut(self.width.max(1)).skip(part.top);
        for (row, own) in rows.zip(part.pixels.chunks(part.width.max(1))) {
            for (pixel, own) in row.iter_mut().skip(part.left).zip(own) {
                pixel.add_row(*own, 1.0);
            }
        }
    }

    /// The values of a row of pixels. A pixel is NaN if at least half of it has no
    /// value.
    pub(crate) fn row(&self, row: usize) -> Vec<f64> {
        let pixels = self.pixels.iter().skip(row * self.width).take(self.width);
        let values = pixels
            .map(|pixel| if pixel.area > pixel.empty { pixel.sum / pixel.area } else { f64::NAN });
        values.collect()
    }
}

impl Pixel {
    fn add(&mut self, value: f64, share: f64) {
        // Infinity times a share of zero would be NaN.
        if share == 0.0 {
        } else if value.is_nan() {
            self.empty += share;
        } else {
            self.sum += value * share;
            self.area += share;
        }
    }

    fn add_row(&mut self, row: Pixel, share: f64) {
        if share > 0.0 {
            self.sum += row.sum * share;
            self.area += row.area * share;
            self.empty += row.empty * share;
        }
    }
}

fn two(axes: &[usize]) -> [usize; 2] {
    axes.try_into().expect("a matrix has two axes")
}

/// The first pixel that a row or column is part of, and how much of it is part
/// of this and of the next one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Span {
    pixel: usize,
    shares: [f64; 2],
}

/// How some rows or columns, of `dim`, are shared among pixels.
fn spans(range: Range<usize>, dim: usize, pixels: usize) -> Vec<Span> {
    range.map(|at| Span::new(at, dim, pixels)).collect()
}

impl Span {
    /// The span of element `at` of `dim`, in at most `dim` pixels.
    fn new(at: usize, dim: usize, pixels: usize) -> Span {
        let [at, dim, pixels] = [at, dim, pixels].map(|n| u128::from(to_u64(n)));
        // An element is `pixels` units long, and a pixel `dim` units.
        let (start, end) = (at * pixels, (at + 1) * pixels);
        let pixel = start / dim.max(1);
        let edge = (pixel + 1) * dim;
        let shares = [end.min(edge) - start, end - end.min(edge)];
        let shares = shares.map(|share| u64::try_from(share).expect("at most `pixels`").to_f64());
        Span { pixel: usize::try_from(pixel).expect("less than `pixels`"), shares }
    }
}

/// The first pixel of some spans, and their number.
fn pixel_range(spans: &[Span]) -> (usize, usize) {
    let (Some(first), Some(last)) = (spans.first(), spans.last()) else { return (0, 0) };
    let end = last.pixel + if last.shares[1] > 0.0 { 2 } else { 1 };
    (first.pixel, end - first.pixel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_shared_by_area() {
        let spans: Vec<_> = (0..5).map(|at| Span::new(at, 5, 2)).collect();
        let expected =
            [(0, [2.0, 0.0]), (0, [2.0, 0.0]), (0, [1.0, 1.0]), (1, [2.0, 0.0]), (1, [2.0, 0.0])];
        assert_eq!(spans, expected.map(|(pixel, shares)| Span { pixel, shares }));
        assert_eq!(Span::new(3, 4, 4), Span { pixel: 3, shares: [4.0, 0.0] });
        assert_eq!(pixel_range(&spans), (0, 2));
    }
}

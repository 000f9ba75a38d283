//! Rasters: the elements of a view averaged over the area of each pixel.

use std::num::NonZero;

use npymap::element::Real;
use npymap::{Result, view::DynView, with_type};

use crate::progress::Progress;
use crate::tiles::{self, Tile};

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

    /// The number that is transformed to this one.
    pub(crate) fn invert(self, number: f64) -> f64 {
        match self {
            Scale::Linear => number,
            Scale::Log => 10.0_f64.powf(number),
        }
    }
}

/// Pixels, row by row.
#[derive(Clone, Debug)]
pub(crate) struct Raster {
    pub(crate) height: usize,
    pub(crate) width: usize,
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
    /// Averages a view of two axes. If it has fewer elements along an axis than
    /// the raster has pixels, pixels repeat them.
    pub(crate) fn compute(
        view: &DynView<'_>,
        [height, width]: [usize; 2],
        scale: Scale,
        threads: NonZero<usize>,
    ) -> Result<Raster> {
        let mut raster = Raster { height, width, pixels: vec![Pixel::default(); height * width] };
        let [rows, columns] = [(0, height), (1, width)].map(|(axis, pixels)| {
            Shares::new(view.shape().get(axis).copied().unwrap_or(0), pixels)
        });
        let mut progress = Progress::new(view.len().saturating_mul(view.itemsize()));
        tiles::process(
            threads,
            &Tile::split(view)?,
            |tile| with_type!(tile.view.dtype(), real T => {
                Part::compute::<T>(tile, &rows, &columns, scale)
            }, _ => Part::compute::<f64>(tile, &rows, &columns, scale)),
            |tile, part| {
                raster.add(&part);
                progress.add(tile.view.len().saturating_mul(tile.view.itemsize()));
            },
        )?;
        Ok(raster)
    }

    fn add(&mut self, part: &Part) {
        let rows = self.pixels.chunks_mut(self.width.max(1)).skip(part.top);
        for (row, own) in rows.zip(part.pixels.chunks(part.width.max(1))) {
            for (pixel, own) in row.iter_mut().skip(part.left).zip(own) {
                pixel.sum += own.sum;
                pixel.area += own.area;
                pixel.empty += own.empty;
            }
        }
    }

    /// The values of a row of pixels. A pixel of which at least half has no value
    /// is NaN.
    pub(crate) fn row(&self, row: usize) -> impl Iterator<Item = f64> {
        self.pixels.iter().skip(row * self.width).take(self.width).map(|pixel| {
            if pixel.area > pixel.empty { pixel.sum / pixel.area } else { f64::NAN }
        })
    }
}

/// The pixels of a tile.
struct Part {
    top: usize,
    left: usize,
    width: usize,
    pixels: Vec<Pixel>,
}

impl Part {
    fn compute<T: Real>(
        tile: &Tile<'_>,
        rows: &Shares,
        columns: &Shares,
        scale: Scale,
    ) -> Result<Part> {
        let (origin, shape) = (&tile.origin, tile.view.shape());
        let [(first_row, row_count), (first_column, column_count)] =
            [0, 1].map(|axis| (*origin.get(axis).unwrap_or(&0), *shape.get(axis).unwrap_or(&0)));
        let (top, bottom) = rows.pixels(first_row, row_count);
        let (left, right) = columns.pixels(first_column, column_count);
        let width = right - left;
        let mut part = Part { top, left, width, pixels: vec![Pixel::default(); (bottom - top) * width] };
        let mut sums = vec![Pixel::default(); width];
        for (row, elements) in tile.view.view::<T>()?.outer_iter().enumerate() {
            sums.fill(Pixel::default());
            for (column, element) in elements.iter().enumerate() {
                let value = scale.apply(element.to_f64());
                for (pixel, share) in columns.of(first_column + column) {
                    if let Some(sum) = sums.get_mut(pixel - left) {
                        sum.add(value, share);
                    }
                }
            }
            for (pixel, share) in rows.of(first_row + row) {
                let own = part.pixels.iter_mut().skip((pixel - top) * width);
                own.zip(&sums).for_each(|(own, sum)| own.add_row(*sum, share));
            }
        }
        Ok(part)
    }
}

impl Pixel {
    fn add(&mut self, value: f64, share: f64) {
        if value.is_nan() {
            self.empty += share;
        } else {
            self.sum += value * share;
            self.area += share;
        }
    }

    fn add_row(&mut self, row: Pixel, share: f64) {
        self.sum += row.sum * share;
        self.area += row.area * share;
        self.empty += row.empty * share;
    }
}

/// How the elements along an axis are shared among pixels.
struct Shares {
    /// The first pixel that each element is part of, or with fewer elements than
    /// pixels, the first that repeats it.
    dim: usize,
    pixels: usize,
}

impl Shares {
    fn new(dim: usize, pixels: usize) -> Shares {
        Shares { dim, pixels }
    }

    /// The pixels that some elements are part of.
    fn pixels(&self, first: usize, count: usize) -> (usize, usize) {
        let start = self.scaled(first) / wide(self.dim).max(1);
        let end = self.scaled(first + count).div_ceil(wide(self.dim).max(1));
        (narrow(start), narrow(end))
    }

    /// The pixels that an element is part of, with its share of each.
    fn of(&self, element: usize) -> impl Iterator<Item = (usize, f64)> {
        let dim = wide(self.dim);
        let (start, end) = (self.scaled(element), self.scaled(element + 1));
        let (first, last) = self.pixels(element, 1);
        (first..last).map(move |pixel| {
            let (own, next) = (wide(pixel) * dim, wide(pixel + 1) * dim);
            let share = end.min(next).saturating_sub(start.max(own));
            (pixel, narrow_u64(share).to_f64())
        })
    }

    /// The start of an element, in units of which a pixel has `dim`.
    fn scaled(&self, element: usize) -> u128 {
        wide(element) * wide(self.pixels)
    }
}

fn wide(number: usize) -> u128 {
    u128::try_from(number).unwrap_or(u128::MAX)
}

fn narrow(number: u128) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn narrow_u64(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

//! The drawings of `show`: which elements, and how their values become colours.

use npymap::array::Outline;
use npymap::{MappedArray, Result, dtype::Kind};

use crate::output::colors::{self, NAN, Rgb};
use crate::output::raster::{Raster, Scale};

/// A drawing of elements.
pub(crate) struct Picture<'a> {
    /// The array of which elements are drawn.
    pub(crate) array: &'a MappedArray,
    pub(crate) image: Image<'a>,
    pub(crate) norm: Norm,
    /// How many elements are NaN.
    pub(crate) nan: usize,
}

/// The elements to draw.
pub(crate) enum Image<'a> {
    /// A vector, as a line.
    Line(Outline<'a>),
    /// A matrix, in the colours of a map.
    Map(Outline<'a>),
    /// Three matrices: red, green and blue.
    Color(Vec<Outline<'a>>),
}

/// How values become numbers from 0 to 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Norm {
    pub(crate) scale: Scale,
    /// The extremes, as they are.
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Norm {
    pub(crate) fn new(scale: Scale, low: f64, high: f64) -> Norm {
        // A logarithmic scale covers six powers of ten if it could reach zero.
        let low = if scale == Scale::Log && low <= 0.0 { high / 1e6 } else { low };
        Norm { scale, low, high }
    }

    /// The place of a scaled value between the extremes.
    pub(crate) fn place(self, scaled: f64) -> f64 {
        let (low, high) = (self.scale.apply(self.low), self.scale.apply(self.high));
        if high > low { (scaled - low) / (high - low) } else { scaled - low + 0.5 }
    }
}

impl<'a> Picture<'a> {
    /// Height and width, in elements.
    pub(crate) fn dims(&self) -> [usize; 2] {
        let shape = self.views().first().map_or(&[][..], |view| view.shape());
        [0, 1].map(|axis| shape.get(axis).copied().unwrap_or(1))
    }

    /// The elements, those of each colour by themselves.
    pub(crate) fn views(&self) -> &[Outline<'a>] {
        match &self.image {
            Image::Line(view) | Image::Map(view) => std::slice::from_ref(view),
            Image::Color(channels) => channels,
        }
    }

    /// The colour of a place between the extremes, in a map.
    pub(crate) fn color(&self, place: f64) -> Rgb {
        match &self.image {
            Image::Map(view) if view.itemsize() == 1 && view.dtype().kind() != Kind::Int => {
                colors::gray(place)
            }
            _ => colors::viridis(place),
        }
    }

    /// The values of the pixels of a map, or of each colour.
    pub(crate) fn rasters(&self, size: [usize; 2]) -> Result<Vec<Raster>> {
        let (array, scale) = (self.array, self.norm.scale);
        let rasters = self.views().iter();
        rasters.map(|view| Raster::compute(array, view, size, scale)).collect()
    }

    /// The colours of a row of pixels.
    pub(crate) fn row_colors(&self, rows: &[Vec<f64>]) -> Vec<Rgb> {
        match rows {
            [red, green, blue] => {
                let pixels = red.iter().zip(green).zip(blue);
                pixels.map(|((red, green), blue)| self.mixed([*red, *green, *blue])).collect()
            }
            rows => rows.first().into_iter().flatten().map(|value| self.mapped(*value)).collect(),
        }
    }

    fn mapped(&self, scaled: f64) -> Rgb {
        if scaled.is_nan() { NAN } else { self.color(self.norm.place(scaled)) }
    }

    fn mixed(&self, scaled: [f64; 3]) -> Rgb {
        if scaled.iter().any(|value| value.is_nan()) {
            return NAN;
        }
        scaled.map(|value| colors::to_byte(self.norm.place(value).clamp(0.0, 1.0) * 255.0))
    }
}

//! Pictures as PNG files.

use std::io::{self, Write};
use std::path::Path;

use npymap::array::Outline;
use npymap::element::Real;
use npymap::with_type;

use crate::input::error::{At as _, CliError};
use crate::input::progress::Progress;
use crate::output::colors::NAN;
use crate::output::line::Line;
use crate::output::picture::{Image, Picture};

/// The maximum height and width. More would not be opened by most programs.
const MAX_SIDE: usize = 1 << 16;

/// The size of the drawing of a line.
const LINE_HEIGHT: usize = 400;
const LINE_WIDTH: usize = 1200;

/// Writes a picture, in constant memory.
pub(crate) fn write(
    out: &mut impl Write,
    picture: &Picture<'_>,
    path: &Path,
) -> Result<(), CliError> {
    match &picture.image {
        Image::Line(view) => write_line(out, picture, view, path),
        Image::Map(_) | Image::Color(_) => write_rows(out, picture, path),
    }
}

/// Writes a pixel for each element.
fn write_rows(out: &mut impl Write, picture: &Picture<'_>, path: &Path) -> Result<(), CliError> {
    let [height, width] = picture.dims();
    if height.max(width) > MAX_SIDE {
        let step = height.max(width).div_ceil(MAX_SIDE);
        let what = format!(
            "{height} by {width} pixels, and an image has at most {MAX_SIDE} along an axis: select fewer, such as '::{step}, ::{step}'"
        );
        return Err(CliError::mismatch(path, what));
    }
    let mut progress = Progress::new(height * width);
    write_png(out, path, [height, width], |row| {
        let values = picture.views().iter().map(|channel| values(picture, channel, row));
        let values = values.collect::<npymap::Result<Vec<_>>>().at(path)?;
        progress.add(width);
        Ok(picture.row_colors(&values).concat())
    })
}

/// The values of a row of a matrix.
fn values(picture: &Picture<'_>, view: &Outline<'_>, row: usize) -> npymap::Result<Vec<f64>> {
    let (window, scale) = (picture.array.window(&view.index_axis(0, row)?)?, picture.norm.scale);
    let row = window.view();
    with_type!(row.dtype(), real T => {
        Ok(row.view::<T>()?.iter().map(|element| scale.apply(element.to_f64())).collect())
    }, _ => Ok(Vec::new()))
}

/// Writes a line, dark on white.
fn write_line(
    out: &mut impl Write,
    picture: &Picture<'_>,
    view: &Outline<'_>,
    path: &Path,
) -> Result<(), CliError> {
    let line = Line::compute(picture.array, view, LINE_WIDTH, picture.norm);
    let line = line.at(path)?;
    let dots = line.dots(LINE_HEIGHT);
    write_png(out, path, [LINE_HEIGHT, LINE_WIDTH], |row| {
        let pixels = dots.iter().map(|dots| match dots {
            Some(range) if range.contains(&row) => [31, 119, 180],
            None => NAN,
            Some(_) => [255; 3],
        });
        Ok(pixels.collect::<Vec<_>>().concat())
    })
}

/// Writes an image of this height and width, row by row.
fn write_png(
    out: &mut impl Write,
    path: &Path,
    [height, width]: [usize; 2],
    mut row: impl FnMut(usize) -> Result<Vec<u8>, CliError>,
) -> Result<(), CliError> {
    let [height_px, width_px] =
        [height, width].map(|side| u32::try_from(side).expect("at most `MAX_SIDE`"));
    let mut encoder = png::Encoder::new(out, width_px, height_px);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(to_io(path))?;
    let mut stream = writer.stream_writer().map_err(to_io(path))?;
    for number in 0..height {
        stream.write_all(&row(number)?).map_err(CliError::io(path, "write"))?;
    }
    stream.finish().map_err(to_io(path))?;
    writer.finish().map_err(to_io(path))
}

fn to_io(path: &Path) -> impl Fn(png::EncodingError) -> CliError {
    move |error| {
        let error = match error {
            png::EncodingError::IoError(error) => error,
            error => io::Error::other(error),
        };
        CliError::io(path, "write")(error)
    }
}

//! Pictures in a terminal: half blocks in colour, characters without colours.

use crate::input::lengths::to_u64;
use std::io::{self, Write};
use std::iter::repeat_n;

use anstyle::{Ansi256Color, Color, RgbColor, Style};
use npymap::Result;
use npymap::array::Outline;
use npymap::element::Real as _;

use crate::input::escape::safe;
use crate::input::style::{HEADING, LABEL};
use crate::input::text;
use crate::output::colors::{self, NAN, Rgb};
use crate::output::line::Line;
use crate::output::picture::{Image, Picture};
use crate::output::raster::Scale;
use crate::output::table;
use crate::output::terminal::{self, Palette};

/// Shades from dark to bright.
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];
const LETTERS: [char; 8] = [' ', '.', ':', '-', '=', '+', '*', '#'];

/// Lines besides those of the drawing: title, legend and prompt.
const OTHER_LINES: usize = 3;

/// The maximum number of lines of a line.
const LINE_LINES: usize = 16;

/// A matrix with fewer elements along its longer axis is drawn larger.
const SMALL: usize = 32;

/// Lines of text in colour.
pub(crate) type Drawing = Vec<Vec<Cell>>;

/// A character in colour.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    text: char,
    style: Style,
}

impl Cell {
    fn is_blank(&self) -> bool {
        self.text == ' ' && self.style == Style::new()
    }
}

/// Prints a drawing.
pub(crate) fn print(out: &mut impl Write, drawing: &Drawing) -> io::Result<()> {
    for line in drawing {
        let mut style = Style::new();
        let len = line.iter().rposition(|cell| !cell.is_blank()).map_or(0, |last| last + 1);
        for cell in line.iter().take(len) {
            if cell.style != style {
                write!(out, "{style:#}{}", cell.style)?;
                style = cell.style;
            }
            write!(out, "{}", cell.text)?;
        }
        writeln!(out, "{style:#}")?;
    }
    Ok(())
}

fn push(line: &mut Vec<Cell>, text: &str, style: Style) {
    line.extend(text.chars().map(|text| Cell { text, style }));
}

/// Prints what is drawn.
pub(crate) fn print_title(out: &mut impl Write, name: &str, view: &Outline<'_>) -> io::Result<()> {
    let facts = format!("{} {}", view.dtype(), text::shape(view.shape()));
    let room = table::left(terminal::size().0, table::width(&facts) + 2);
    let name = table::truncate_start(&safe(name), room.max(8));
    writeln!(out, "{HEADING}{name}{HEADING:#}  {facts}")
}

/// Draws a picture that fits the terminal.
pub(crate) fn draw(picture: &Picture<'_>) -> Result<Drawing> {
    let palette = terminal::palette();
    match &picture.image {
        Image::Line(view) => draw_line(picture, view, palette),
        Image::Map(_) | Image::Color(_) => draw_pixels(picture, palette),
    }
}

fn draw_pixels(picture: &Picture<'_>, palette: Palette) -> Result<Drawing> {
    let (columns, lines) = terminal::size();
    let lines = table::left(lines, OTHER_LINES).max(4);
    let dims = picture.dims();
    let (mut size, [mut tall, wide]) = fit(dims, [lines * 2, columns]);
    if palette == Palette::None {
        // A character without colours is as high as two pixels.
        (size, tall) =
            if tall > 1 { (size, tall / 2) } else { ([size[0].div_ceil(2), size[1]], 1) };
    }
    let rasters = picture.rasters(size)?;
    let mut rows: Vec<Vec<Vec<f64>>> = Vec::new();
    for row in 0..size[0] {
        let widen = |values: Vec<f64>| values.into_iter().flat_map(|value| repeat_n(value, wide));
        let values = rasters.iter().map(|raster| widen(raster.row(row)).collect());
        rows.extend(repeat_n(values.collect::<Vec<_>>(), tall));
    }
    let mut lines = match palette {
        Palette::None => shaded(picture, &rows),
        _ => half_blocks(picture, &rows, palette),
    };
    let mut legend = legend(picture, [dims, size], palette);
    legend.truncate(columns);
    lines.push(legend);
    Ok(lines)
}

/// The number of pixels of an image that fits into a height and width, and how
/// often each is repeated along both axes. Proportions are kept, unless one side
/// would nearly vanish.
fn fit(dims: [usize; 2], room: [usize; 2]) -> ([usize; 2], [usize; 2]) {
    let [height, width] = dims;
    let longer = height.max(width).max(1);
    if height <= room[0] && width <= room[1] {
        let most = (room[0] / height.max(1)).min(room[1] / width.max(1));
        return (dims, [most.min(SMALL / longer).max(1); 2]);
    }
    if height.min(width) * 8 < longer {
        let size = [height.min(room[0]), width.min(room[1])];
        let repeats = |room: usize, size: usize| (room / size.max(1)).clamp(1, 8);
        return (size, [repeats(room[0], size[0]), repeats(room[1], size[1])]);
    }
    // The side that needs the stronger reduction decides.
    if height * room[1] > width * room[0] {
        ([room[0], (width * room[0] / height).max(1)], [1, 1])
    } else {
        ([(height * room[1] / width).max(1), room[1]], [1, 1])
    }
}

/// Lines of half blocks: each character is two pixels.
fn half_blocks(picture: &Picture<'_>, rows: &[Vec<Vec<f64>>], palette: Palette) -> Vec<Vec<Cell>> {
    let pairs = rows.chunks(2).map(|pair| {
        let mut colors = pair.iter().map(|row| picture.row_colors(row));
        let (top, bottom) = (colors.next().unwrap_or_default(), colors.next());
        let cells = top.iter().enumerate().map(|(at, top)| {
            let below = bottom.as_ref().and_then(|bottom| bottom.get(at));
            let style = style(*top, palette).bg_color(below.map(|rgb| color(*rgb, palette)));
            Cell { text: '▀', style }
        });
        cells.collect()
    });
    pairs.collect()
}

/// Lines of shades: each character is one pixel.
fn shaded(picture: &Picture<'_>, rows: &[Vec<Vec<f64>>]) -> Vec<Vec<Cell>> {
    let lines = rows.iter().map(|row| {
        let shades = picture.row_colors(row).into_iter().enumerate().map(|(at, color)| {
            let is_nan = row.iter().any(|values| values.get(at).is_some_and(|v| v.is_nan()));
            let value = match row.as_slice() {
                [values] => values.get(at).map_or(0.0, |value| picture.norm.place(*value)),
                _ => brightness(color),
            };
            Cell { text: if is_nan { nan_mark() } else { shade(value) }, style: Style::new() }
        });
        shades.collect()
    });
    lines.collect()
}

/// The brightness of a colour, from 0 to 1.
fn brightness([red, green, blue]: Rgb) -> f64 {
    let parts = 0.299 * f64::from(red) + 0.587 * f64::from(green) + 0.114 * f64::from(blue);
    parts / 255.0
}

/// The shade of a number from 0 to 1.
fn shade(number: f64) -> char {
    let shades: &[char] = if terminal::is_unicode() { &SHADES } else { &LETTERS };
    let last = shades.len() - 1;
    let at = number.clamp(0.0, 1.0) * to_u64(last).to_f64();
    *shades.get(usize::from(colors::to_byte(at))).expect("it is at most the last")
}

fn nan_mark() -> char {
    if terminal::is_unicode() { '×' } else { '?' }
}

/// The style of a colour, if there are colours.
fn style(rgb: Rgb, palette: Palette) -> Style {
    let style = Style::new();
    if palette == Palette::None { style } else { style.fg_color(Some(color(rgb, palette))) }
}

fn color(rgb: Rgb, palette: Palette) -> Color {
    let [red, green, blue] = rgb;
    match palette {
        Palette::Rgb => Color::Rgb(RgbColor(red, green, blue)),
        _ => Color::Ansi256(Ansi256Color(colors::nearest_index(rgb))),
    }
}

/// `2.0 ░▒▓█ 9.3  × NaN: 12  12.5 × 8 elements per pixel`
fn legend(picture: &Picture<'_>, [dims, size]: [[usize; 2]; 2], palette: Palette) -> Vec<Cell> {
    let mut line = Vec::new();
    if let Image::Map(_) = &picture.image {
        push(&mut line, &format!("{} ", terminal::brief(picture.norm.low)), Style::new());
        line.extend((0..16).map(|step| f64::from(step) / 15.0).map(|place| {
            let text = if palette == Palette::None { shade(place) } else { '█' };
            Cell { text, style: style(picture.color(place), palette) }
        }));
        let high = terminal::brief(picture.norm.high);
        let log = if picture.norm.scale == Scale::Log { ", logarithmic" } else { "" };
        push(&mut line, &format!(" {high}{log}"), Style::new());
    }
    push_nan(&mut line, picture, palette);
    let ratio = |dim, pixels| to_u64(dim).to_f64() / to_u64(pixels).to_f64();
    let (rows, columns) = (ratio(dims[0], size[0]), ratio(dims[1], size[1]));
    if rows > 1.0 || columns > 1.0 {
        let gap = if line.is_empty() { "" } else { "  " };
        let times = if terminal::is_unicode() { '×' } else { 'x' };
        let [rows, columns] = [rows, columns].map(terminal::brief);
        push(&mut line, &format!("{gap}{rows} {times} {columns} elements per pixel"), LABEL);
    }
    line
}

/// Adds the colour of NaN, and how many there are.
fn push_nan(line: &mut Vec<Cell>, picture: &Picture<'_>, palette: Palette) {
    if picture.nan == 0 {
        return;
    }
    push(line, if line.is_empty() { "" } else { "  " }, Style::new());
    let text = if palette == Palette::None { nan_mark() } else { '█' };
    line.push(Cell { text, style: style(NAN, palette) });
    push(line, &format!(" NaN: {}", picture.nan), Style::new());
}

/// Draws a line in dots, 2 × 4 per character, with labels.
fn draw_line(picture: &Picture<'_>, view: &Outline<'_>, palette: Palette) -> Result<Drawing> {
    let (columns, lines) = terminal::size();
    let lines = table::left(lines, OTHER_LINES).clamp(4, LINE_LINES);
    let (high, low) = (terminal::brief(picture.norm.high), terminal::brief(picture.norm.low));
    let margin = high.len().max(low.len()) + 1;
    let width = table::left(columns, margin + 1).max(8);
    let dots_per_cell = if terminal::is_unicode() { (2, 4) } else { (1, 1) };
    let line = Line::compute(picture.array, view, width * dots_per_cell.0, picture.norm)?;
    let dots = line.dots(lines * dots_per_cell.1);
    let mut drawing = Drawing::new();
    for row in 0..lines {
        let label = match row {
            0 => high.as_str(),
            _ if row + 1 == lines => low.as_str(),
            _ => "",
        };
        let mut cells = Vec::new();
        push(&mut cells, &format!("{label:>0$} ", margin - 1), LABEL);
        for dots in dots.chunks(dots_per_cell.0) {
            let is_gap = row + 1 == lines && dots.iter().all(Option::is_none);
            cells.push(if is_gap {
                Cell { text: nan_mark(), style: style(NAN, palette) }
            } else {
                Cell { text: line_char(dots, row, dots_per_cell.1), style: Style::new() }
            });
        }
        drawing.push(cells);
    }
    drawing.push(line_legend(picture, view, palette, [margin, width]));
    Ok(drawing)
}

/// The indices of the first and the last element, and the number of NaN.
fn line_legend(
    picture: &Picture<'_>,
    view: &Outline<'_>,
    palette: Palette,
    [margin, width]: [usize; 2],
) -> Vec<Cell> {
    let mut line = Vec::new();
    let last = (view.len() - 1).to_string();
    push(&mut line, &format!("{:margin$}0", ""), LABEL);
    push_nan(&mut line, picture, palette);
    if picture.norm.scale == Scale::Log {
        push(&mut line, "  logarithmic", Style::new());
    }
    let room = table::left(margin + width, line.len());
    push(&mut line, &format!("{last:>room$}"), LABEL);
    line
}

/// The character of dots in one line.
fn line_char(dots: &[Option<std::ops::RangeInclusive<usize>>], row: usize, height: usize) -> char {
    const BITS: [[u32; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
    let mut pattern = 0;
    for (dots, bits) in dots.iter().zip(BITS) {
        let Some(dots) = dots else { continue };
        for (dot, bit) in (row * height..(row + 1) * height).zip(bits) {
            pattern |= if dots.contains(&dot) { bit } else { 0 };
        }
    }
    match pattern {
        0 => ' ',
        _ if height == 1 => '*',
        // Braille patterns, one bit for each dot.
        _ => char::from_u32(0x2800 + pattern).expect("each of these is a character"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_fit_and_keep_their_proportions() {
        for (dims, room, expected) in [
            ([1000, 2000], [40, 80], ([40, 80], [1, 1])),
            ([2000, 1000], [40, 80], ([40, 20], [1, 1])),
            ([1000, 1001], [40, 80], ([40, 40], [1, 1])),
            ([4, 4], [40, 80], ([4, 4], [8, 8])),
            ([30, 70], [40, 80], ([30, 70], [1, 1])),
            ([342, 4], [40, 80], ([40, 4], [1, 8])),
            ([1, 1_000_000], [40, 80], ([1, 80], [8, 1])),
        ] {
            let (size, repeats) = fit(dims, room);
            assert!(size[0] * repeats[0] <= room[0] && size[1] * repeats[1] <= room[1], "{dims:?}");
            assert_eq!((size, repeats), expected, "{dims:?}");
        }
    }
}

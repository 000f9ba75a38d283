//! `npymap show`: draws arrays.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use npymap::array::Outline;
use npymap::{DType, MappedArray, dtype::Kind};

use crate::input::array_path::ArrayPath;
use crate::input::error::{At as _, CliError};
use crate::input::stream;
use crate::input::url::{self, shown};
use crate::output::draft::Draft;
use crate::output::overwrite::OverwriteArgs;
use crate::output::picture::{Image, Norm, Picture};
use crate::output::raster::Scale;
use crate::output::{show_png, show_text};
use crate::select::bfloat16::ReadArgs;
use crate::select::filter::Filter;
use crate::select::matching;
use crate::select::selection::IndexArg;
use crate::stats::columns::Columns;
use crate::stats::scan::Ignored;
use crate::stats::stats_rows::{self, Wanted};

/// Draw an array: a matrix as an image, a vector as a line.
///
/// A matrix larger than the terminal is averaged by area. A line shows minima
/// and maxima. Elements without a value, such as NaN, have their own color. An
/// array of three axes is drawn in color if the last axis has length 3 or 4 and
/// the dtype is u1, or with --channels.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap show embeddings.npy
  npymap show embeddings.npy --range p1,p99
  npymap show penguins.npy ':, 3' --log
  npymap show penguins.npy ':, 3' --where 'value[0] > 40'
  npymap show image.npy
  npymap show frames.npy '0, ::2, ::2' -o frame.png

A .png has a pixel for each element of a matrix.

Exit status: 0 on success, 1 if the file or INDEX was rejected, 2 for a usage
error.")]
pub(crate) struct ShowArgs {
    /// The values of the darkest and the brightest color, or percentiles: 0,1
    /// or p1,p99 [default: the extremes, or 0,255 for u1 in color]
    #[arg(long, value_name = "LO,HI", value_parser = parse_range)]
    range: Option<ColorRange>,

    /// Draw in color: the axis of three or four colors is the last or the first
    #[arg(long, value_name = "last|first", value_enum)]
    channels: Option<ChannelAxis>,

    /// Draw logarithms. Only positive numbers have a value
    #[arg(long)]
    log: bool,

    /// New .png file, or - for standard output [default: draw in the terminal]
    #[arg(short, long, value_name = "OUT", value_parser = url::parser())]
    output: Option<PathBuf>,

    /// Draw only rows that match CONDITION, as for `npymap get`. INDEX applies to
    /// these rows, which are copied to a temporary file
    #[arg(long = "where", value_name = "CONDITION")]
    filter: Option<Filter>,

    #[command(flatten)]
    replace: OverwriteArgs,

    #[command(flatten)]
    read: ReadArgs,

    /// .npy file, or FILE[MEMBER] of an .npz, .ten or tar file, or - for
    /// standard input
    file: ArrayPath,

    /// Elements to draw [default: all]
    #[arg(value_name = "INDEX")]
    selection: Option<IndexArg>,
}

/// The values of the darkest and the brightest colour.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ColorRange {
    Values(f64, f64),
    Percentiles(f64, f64),
}

/// Which axis has the colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ChannelAxis {
    Last,
    First,
}

impl ShowArgs {
    pub(crate) fn run(&self) -> Result<(), CliError> {
        let (path, filter) = (self.file.name(), self.filter.as_ref());
        let is_unused = self.replace.overwrite && self.output.is_none();
        CliError::usage_if(is_unused, path, "--overwrite is for --output")?;
        let mut array = self.read.input.array(&self.file).at(path)?;
        if self.filter.is_some() {
            array = self.read.of_array(array).at(path)?;
        }
        let (array, selection) =
            matching::copy_matching(path, array, self.selection.as_ref(), filter)?;
        let all = array.outline();
        let selected = selection.unwrap_or_default().select(&array, &all);
        let selected = selected.and_then(|selected| self.read.of_selected(&array, selected));
        let selected = selected.at(path)?;
        let view = selected.outline();
        let image = self.image(&view)?;
        // A fourth channel is not drawn.
        let drawn = match &image {
            Image::Color(_) => view.split_at(self.color_axis(), 3).at(path)?.0,
            _ => view.clone(),
        };
        let array = selected.array(&array);
        let (norm, nan) = self.norm(array, &drawn, &image)?;
        let picture = Picture { array, image, norm, nan };
        match &self.output {
            Some(output) => self.write_png(output, &picture),
            None => self.print(&view, &picture),
        }
    }

    /// The elements to draw.
    fn image<'a>(&self, view: &Outline<'a>) -> Result<Image<'a>, CliError> {
        let is_real =
            matches!(view.dtype().kind(), Kind::Bool | Kind::Int | Kind::UInt | Kind::Float);
        if !is_real || view.itemsize() > 8 {
            return Err(self.mismatch(format!(
                "elements of dtype {}, and only numbers can be drawn: select a field",
                view.dtype()
            )));
        }
        if view.is_empty() {
            return Err(self.mismatch("no elements to draw".to_owned()));
        }
        let is_photo = *view.dtype() == DType::of::<u8>()
            && view.ndim() == 3
            && matches!(view.shape().last(), Some(3 | 4));
        let channels = self.channels.or(is_photo.then_some(ChannelAxis::Last));
        match (channels, view.ndim()) {
            (None, 1) => Ok(Image::Line(view.clone())),
            (None, 2) => Ok(Image::Map(view.clone())),
            (Some(_), 3) => {
                let axis = self.color_axis();
                let count = view.shape().get(axis).expect("it has three axes");
                if !matches!(count, 3 | 4) {
                    let shape = crate::input::text::shape(view.shape());
                    return Err(self.mismatch(format!(
                        "shape {shape}, with {count} elements along axis {axis}, and a colour has 3 or 4"
                    )));
                }
                let colors = (0..3).map(|number| view.index_axis(axis, number));
                colors.collect::<npymap::Result<_>>().map(Image::Color).at(self.file.name())
            }
            (Some(_), ndim) => Err(self.mismatch(format!(
                "{ndim} axes, and an image in colour has three: select them with INDEX"
            ))),
            (None, 0) => Err(self.mismatch("a single element: print it with `npymap get`".into())),
            (None, ndim) => {
                let example = vec!["0"; ndim - 2].join(", ");
                Err(self.mismatch(format!(
                    "{ndim} axes, and one or two can be drawn: select them with an INDEX such as '{example}'"
                )))
            }
        }
    }

    /// The axis of the colors, of three.
    fn color_axis(&self) -> usize {
        if self.channels == Some(ChannelAxis::First) { 0 } else { 2 }
    }

    /// How values become colours, and how many elements are NaN.
    fn norm(
        &self,
        array: &MappedArray,
        view: &Outline<'_>,
        image: &Image<'_>,
    ) -> Result<(Norm, usize), CliError> {
        let scale = if self.log { Scale::Log } else { Scale::Linear };
        let quantiles = match self.range {
            Some(ColorRange::Percentiles(low, high)) => vec![low / 100.0, high / 100.0],
            _ => Vec::new(),
        };
        let (quantiles, ignored) = (quantiles.as_slice(), Ignored::Infinite);
        let wanted = Wanted { quantiles, ignored, ..Wanted::default() };
        let columns = Columns::new(array, view, None).at(self.file.name())?;
        let rows = stats_rows::compute(&columns, &wanted).at(self.file.name())?;
        let Some(row) = rows.first() else { return Ok((Norm::new(scale, 0.0, 1.0), 0)) };
        let found = row.quantiles.iter().flatten().filter_map(|(_, value)| *value);
        let found: Vec<_> = found.collect();
        let is_byte_color = matches!(image, Image::Color(_)) && *view.dtype() == DType::of::<u8>();
        let (low, high) = match (self.range, found.as_slice()) {
            (Some(ColorRange::Values(low, high)), _) => (low, high),
            (_, [low, high]) => (*low, *high),
            _ if is_byte_color => (0.0, 255.0),
            _ => row.summary.finite.unwrap_or((0.0, 1.0)),
        };
        let nan = row.summary.nan.unwrap_or(0);
        if scale == Scale::Log && high <= 0.0 {
            if matches!(self.range, Some(ColorRange::Values(..))) {
                let reason = "--range has no positive numbers, and --log draws only those";
                return Err(CliError::usage(self.file.name(), reason));
            }
            return Err(self.mismatch("no positive elements, and --log draws only those".into()));
        }
        Ok((Norm::new(scale, low, high), nan))
    }

    fn print(&self, view: &Outline<'_>, picture: &Picture<'_>) -> Result<(), CliError> {
        let out = &mut BufWriter::new(anstream::stdout().lock());
        let name = shown(self.file.name());
        let drawing = show_text::draw(picture).at(self.file.name())?;
        show_text::print_title(out, &name, view)?;
        show_text::print(out, &drawing)?;
        Ok(out.flush()?)
    }

    fn write_png(&self, output: &Path, picture: &Picture<'_>) -> Result<(), CliError> {
        let is_png = output.extension().is_some_and(|own| own.eq_ignore_ascii_case("png"));
        if !is_png && !stream::is_standard(output) {
            let reason = "only images are written: use the extension .png";
            return Err(CliError::rejected(output, reason));
        }
        let draft = Draft::begin(output, self.replace)?;
        let mut out: BufWriter<&File> = BufWriter::new(draft.file());
        show_png::write(&mut out, picture, output)?;
        out.flush().map_err(CliError::io(output, "write"))?;
        drop(out);
        draft.commit_unsynced()
    }

    fn mismatch(&self, what: String) -> CliError {
        CliError::mismatch(self.file.name(), what)
    }
}

/// Parses `0,1` or `p1,p99`.
fn parse_range(text: &str) -> Result<ColorRange, &'static str> {
    const EXPECTED: &str =
        "expected two numbers or percentiles, the lesser one first, such as 0,1 or p1,p99";
    let (low, high) = text.split_once(',').ok_or(EXPECTED)?;
    let percentiles = low.trim().strip_prefix('p').zip(high.trim().strip_prefix('p'));
    let (low, high) = percentiles.unwrap_or((low.trim(), high.trim()));
    let numbers = low.parse::<f64>().ok().zip(high.parse::<f64>().ok());
    let numbers = numbers.filter(|(low, high)| low < high && (high - low).is_finite());
    match (numbers, percentiles) {
        (Some((low, high)), None) => Ok(ColorRange::Values(low, high)),
        (Some((low, high)), Some(_)) if low >= 0.0 && high <= 100.0 => {
            Ok(ColorRange::Percentiles(low, high))
        }
        _ => Err(EXPECTED),
    }
}

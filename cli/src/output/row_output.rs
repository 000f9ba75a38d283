//! Rows as programs read them: in a format that an option or a new file selects.

use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::Args;
use npymap::ndarray::Axis;
use npymap::{
    CreateOptions, DType, MappedArray, Order, Result, array::Outline, element::Casting,
    view::DynView,
};

use crate::input::array_bytes::ArrayBytes;
use crate::input::error::{At as _, CliError};
use crate::input::lengths::{first_len, part};
use crate::input::stream;
use crate::input::text_format::parse_delimiter;
use crate::input::url;
use crate::output::draft::Draft;
use crate::output::elements;
use crate::output::new_file::NewFileArgs;
use crate::output::output_format::OutputFormat;
use crate::output::sink::Sink;
use crate::output::text_output::{self, TextOptions};
use crate::select::cast;
use crate::select::fields::Fields;
use crate::select::filter::leading_axes;
use crate::select::rows::RowSelection;

/// In which format rows are printed, and where to.
#[derive(Debug, Args)]
pub(crate) struct RowFormatArgs {
    /// Print a line of JSON for each row
    #[arg(long, conflicts_with_all = ["format", "output"])]
    pub(crate) json: bool,

    /// Print as csv, tsv, jsonl, json (one list), npy or raw
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<OutputFormat>,

    /// In CSV, the character between fields [default: ,]
    #[arg(long, value_name = "CHAR", value_parser = parse_delimiter)]
    delimiter: Option<u8>,

    /// In CSV and TSV, leave out the names of fields
    #[arg(long)]
    no_header: bool,

    /// In CSV and TSV, write this text for NaN and `NaT`
    #[arg(long, value_name = "TEXT")]
    nan: Option<String>,

    /// New file with an extension that selects the format unless --format does:
    /// .npy, .csv, .tsv, .jsonl, .json or .bin
    #[arg(short, long, value_name = "OUT", value_parser = url::parser())]
    output: Option<PathBuf>,

    #[command(flatten)]
    new_file: NewFileArgs,
}

const ARCHIVE: &str = "archives are written by `npymap convert`, which has --select and --where";

const SEPARATED: &str = "--no-header and --nan are for --format csv and tsv";

const DELIMITER: &str = "--delimiter is for --format csv";

const EXTENSION: &str = "the extension of a new file selects its format: use .npy, .csv, .tsv, .jsonl, .json or .bin, or --format";

impl RowFormatArgs {
    /// The format, unless rows are printed for people or by --json. Rejects options that it
    /// does not have.
    pub(crate) fn format(&self, input: &Path) -> Result<Option<OutputFormat>, CliError> {
        let format = match (self.format, &self.output) {
            (None, Some(output)) => Some(OutputFormat::with_advice(output, EXTENSION)?),
            (format, _) => format,
        };
        let is_separated = matches!(format, Some(OutputFormat::Csv | OutputFormat::Tsv));
        let is_unused = [
            (!is_separated && (self.no_header || self.nan.is_some()), SEPARATED),
            (format != Some(OutputFormat::Csv) && self.delimiter.is_some(), DELIMITER),
        ];
        CliError::usage_if_any(input, is_unused)?;
        let is_archive = matches!(format, Some(OutputFormat::Npz | OutputFormat::Ten));
        CliError::usage_if(is_archive, self.output.as_deref().unwrap_or(input), ARCHIVE)?;
        let is_npy = format == Some(OutputFormat::Npy);
        self.new_file.check(input, self.output.is_some(), is_npy)?;
        Ok(format)
    }

    /// As `format`, where --json is a line of JSON for each row.
    pub(crate) fn row_format(&self, input: &Path) -> Result<Option<OutputFormat>, CliError> {
        let format = self.format(input)?;
        Ok(if self.json { Some(OutputFormat::Jsonl) } else { format })
    }

    /// The options of a new `.npy`.
    pub(crate) fn options(&self) -> CreateOptions {
        self.new_file.options(Order::C)
    }

    /// Starts the output. If it replaces the input, that one is locked from now on, so this is
    /// called before it is read.
    pub(crate) fn begin<'a>(
        &'a self,
        format: OutputFormat,
        input: &'a Path,
    ) -> Result<RowOutput<'a>, CliError> {
        let (output, replace) = (self.output.as_deref(), self.new_file.replace);
        let sink = if format == OutputFormat::Npy {
            let output = output.unwrap_or(Path::new(stream::STANDARD));
            Sink::File(Box::new(Draft::begin(output, replace)?))
        } else {
            Sink::begin(output, replace)?
        };
        let list = JsonList::default();
        Ok(RowOutput { args: self, format, input, sink, is_started: false, list })
    }
}

/// An output of rows that was started.
pub(crate) struct RowOutput<'a> {
    args: &'a RowFormatArgs,
    format: OutputFormat,
    /// The path of the input, for errors.
    input: &'a Path,
    sink: Sink,
    /// Whether the names of the fields were written.
    is_started: bool,
    list: JsonList,
}

impl RowOutput<'_> {
    /// The new file, if it is a `.npy`.
    pub(crate) fn npy(&self) -> Option<&Draft> {
        match &self.sink {
            Sink::File(draft) if self.format == OutputFormat::Npy => Some(draft),
            _ => None,
        }
    }

    /// Writes all rows of a selection. A `.npy` and JSON keep its axes.
    pub(crate) fn write_all(&mut self, rows: &RowSelection<'_>) -> Result<(), CliError> {
        if let Some(draft) = self.npy() {
            let (dtype, shape) = rows.dtype_and_shape().at(rows.path)?;
            let array = draft.array(&dtype, &shape, &self.args.options())?;
            return rows.write(array, draft.path(), Casting::Equiv);
        }
        if self.format == OutputFormat::Json {
            self.list.is_done = true;
            return write_json(rows, &mut self.sink);
        }
        self.write_part(rows)
    }

    /// Writes some of the rows of a view of an array, or of one in memory, which its leading
    /// axes enumerate. A `.npy` gets one axis of them.
    pub(crate) fn write_rows(
        &mut self,
        (array, view): (Option<&MappedArray>, &Outline<'_>),
        range: Range<usize>,
        fields: &Fields,
    ) -> Result<(), CliError> {
        let path = self.input;
        let leading = leading_axes(view.dtype(), view.ndim());
        let mut parts = Vec::new();
        add_parts(&mut parts, view, leading, range.clone()).at(path)?;
        if let Some(draft) = self.npy() {
            let (dtype, _) = selected((path, array), view, fields)?.dtype_and_shape().at(path)?;
            let inner = fields.select(view.clone()).at(path)?;
            let mut shape = inner.shape().split_at(leading).1.to_vec();
            if leading > 0 {
                shape.insert(0, range.len());
            }
            let new = draft.array(&dtype, &shape, &self.args.options())?;
            let mut to = ArrayBytes::new(new).at(draft.path())?;
            for part in &parts {
                let push = |block: &[u8]| to.push(block).at(draft.path());
                selected((path, array), part, fields)?.bytes(&dtype, Casting::Equiv, push)?;
            }
            return to.close().at(draft.path());
        }
        self.list.is_value = leading == 0;
        if parts.is_empty() && !self.is_started {
            // Only the names of the fields.
            let none = view.ndim().checked_sub(1).map(|_| view.split_at(0, 0)).transpose();
            let none = none.at(path)?.map(|(none, _)| none);
            parts.extend(none);
        }
        parts.iter().try_for_each(|part| self.write_part(&selected((path, array), part, fields)?))
    }

    /// Writes each element in memory along the first axis, or in CSV, TSV and raw, the rows in it.
    pub(crate) fn write_items(&mut self, items: &DynView<'_>) -> Result<(), CliError> {
        if !matches!(self.format, OutputFormat::Jsonl | OutputFormat::Json) {
            let leading = leading_axes(items.dtype(), items.ndim());
            let rows: usize = items.shape().iter().take(leading).product();
            return self.write_rows((None, &items.clone().into()), 0..rows, &Fields::default());
        }
        let mut lines = Vec::new();
        for number in 0..first_len(items.shape()) {
            let item = items.index_axis(0, number).at(self.input)?;
            elements::check_json(self.input, &item.clone().into())?;
            elements::print_json(&mut lines, &item)?;
        }
        let is_list = self.format == OutputFormat::Json;
        self.sink.write(&if is_list { self.list.listed(&lines) } else { lines })
    }

    fn write_part(&mut self, rows: &RowSelection<'_>) -> Result<(), CliError> {
        if self.format == OutputFormat::Json {
            rows.check_empty()?;
            let RowOutput { list, sink, .. } = self;
            return rows
                .each_block(text_output::json_lines, |lines| sink.write(&list.listed(&lines)));
        }
        let header = !self.args.no_header && !std::mem::replace(&mut self.is_started, true);
        let text = self.format.text().map(|format| TextOptions {
            format: format.with_delimiter(self.args.delimiter),
            header,
            nan: self.args.nan.as_deref(),
        });
        write(rows, self.format, text, &mut self.sink)
    }

    /// Shows what was written so far to whoever reads it.
    pub(crate) fn flush(&mut self) -> Result<(), CliError> {
        self.sink.flush()
    }

    /// Completes the output.
    pub(crate) fn finish(mut self) -> Result<(), CliError> {
        if self.format == OutputFormat::Json {
            self.sink.write(self.list.end())?;
        }
        self.sink.finish()
    }
}

/// Writes all rows of a selection, as text if there are options for it, as JSON or as raw bytes.
pub(crate) fn write(
    rows: &RowSelection<'_>,
    format: OutputFormat,
    text: Option<TextOptions<'_>>,
    sink: &mut Sink,
) -> Result<(), CliError> {
    match text {
        Some(text) => {
            rows.check_empty()?;
            text.write(rows, sink)
        }
        None if format == OutputFormat::Json => write_json(rows, sink),
        None => write_raw(rows, (&rows.dtype().at(rows.path)?, Casting::Equiv), sink),
    }
}

/// Writes the bytes of all rows of a selection in another dtype.
pub(crate) fn write_raw(
    rows: &RowSelection<'_>,
    (dtype, casting): (&DType, Casting),
    sink: &mut Sink,
) -> Result<(), CliError> {
    rows.bytes(dtype, casting, |block| sink.write(block).map_err(|error| error.of_map(rows.path)))
}

/// Writes all rows of a selection as one JSON value: in the lists of NumPy's `tolist`, or in
/// one list if a condition selects them.
fn write_json(rows: &RowSelection<'_>, sink: &mut Sink) -> Result<(), CliError> {
    let all = rows.template().at(rows.path)?;
    if all.is_empty() && !rows.is_filtered() {
        elements::check_json(rows.path, &all)?;
        let mut text = Vec::new();
        elements::print_json(&mut text, &all.view().at(rows.path)?)?;
        return sink.write(&text);
    }
    rows.check_empty()?;
    let mut list = if rows.is_filtered() { JsonList::default() } else { JsonList::nested(&all) };
    rows.each_block(text_output::json_lines, |lines| sink.write(&list.listed(&lines)))?;
    sink.write(list.end())
}

/// All rows of a view, with some fields.
fn selected<'a>(
    (path, array): (&'a Path, Option<&'a MappedArray>),
    rows: &Outline<'a>,
    fields: &Fields,
) -> Result<RowSelection<'a>, CliError> {
    RowSelection::all(path, array, rows.clone(), fields.clone()).at(path)
}

/// Adds the parts of a view that hold some of its rows, in order.
fn add_parts<'a>(
    found: &mut Vec<Outline<'a>>,
    view: &Outline<'a>,
    leading: usize,
    rows: Range<usize>,
) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    if leading == 0 {
        found.push(view.clone());
        return Ok(());
    }
    // The rows at each index of the first axis; there are some, as there are rows.
    let inner: usize = part(view.shape(), 1..leading).iter().product();
    let (first, last) = (rows.start.div_ceil(inner), rows.end / inner);
    if first > last {
        let start = last * inner;
        let inside = rows.start - start..rows.end - start;
        return add_parts(found, &view.index_axis(0, last)?, leading - 1, inside);
    }
    if let Some(before) = first.checked_sub(1).filter(|_| rows.start < first * inner) {
        let inside = rows.start - before * inner..inner;
        add_parts(found, &view.index_axis(0, before)?, leading - 1, inside)?;
    }
    if first < last {
        let whole = cast::axis_range(view.ndim(), Axis(0), first, last - first);
        found.push(view.slice(whole)?);
    }
    if last * inner < rows.end {
        let inside = 0..rows.end - last * inner;
        add_parts(found, &view.index_axis(0, last)?, leading - 1, inside)?;
    }
    Ok(())
}

/// Makes one JSON list of lines of JSON.
#[derive(Debug, Default)]
struct JsonList {
    /// The lines so far.
    number: usize,
    /// How many lines the lists in it have, from the outer to the inner ones.
    inner: Vec<usize>,
    /// A single value, which is in no list.
    is_value: bool,
    /// It was written already.
    is_done: bool,
}

impl JsonList {
    /// The lists of all axes that enumerate the rows.
    fn nested(view: &Outline<'_>) -> JsonList {
        let dims = view.shape().split_at(leading_axes(view.dtype(), view.ndim())).0;
        let inner = (1..dims.len()).map(|axis| dims.iter().skip(axis).product()).collect();
        JsonList { inner, is_value: dims.is_empty(), ..JsonList::default() }
    }

    /// Lines with the brackets and commas around them.
    fn listed(&mut self, lines: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(lines.len() + 2);
        for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            match self.number {
                0 if self.is_value => {}
                0 => out.push(b'['),
                _ => out.push(b','),
            }
            let at =
                |number: usize| self.inner.iter().filter(move |len| number.is_multiple_of(**len));
            out.extend(at(self.number).map(|_| b'['));
            out.extend_from_slice(line);
            self.number += 1;
            out.extend(at(self.number).map(|_| b']'));
        }
        out
    }

    fn end(&self) -> &'static [u8] {
        match self.number {
            _ if self.is_done => b"",
            _ if self.is_value => b"\n",
            0 => b"[]\n",
            _ => b"]\n",
        }
    }
}

//! Options of `convert` that select part of an array, and those for text.

use std::path::Path;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use npymap::{DType, MappedArray};

use crate::input::array_path::ArrayPath;
use crate::input::error::{At as _, CliError};
use crate::input::open::Temporary;
use crate::input::text_format::{TextFormat, parse_delimiter};
use crate::input::text_input::{BLOCK, MAX_ROW, TextInput, TextInputOptions};

use crate::output::output_format::OutputFormat;
use crate::output::text_output::TextOptions;
use crate::select::filter::Filter;
use crate::select::matching;
use crate::select::rows::RowSelection;
use crate::select::selection::IndexArg;

/// Which part of IN to convert.
#[derive(Args, Clone, Debug)]
pub(crate) struct SelectionArgs {
    /// Only these elements: an INDEX as for `npymap get`
    #[arg(long, value_name = "INDEX")]
    select: Option<IndexArg>,

    /// Keep only these fields. The values of a single field are not wrapped in
    /// records
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    field: Vec<String>,

    /// Only rows that match CONDITION, as for `npymap get`. --select then applies
    /// to these rows
    #[arg(long = "where", value_name = "CONDITION")]
    filter: Option<Filter>,
}

impl SelectionArgs {
    /// Returns whether part of the array is selected.
    pub(crate) fn is_given(&self) -> bool {
        self.select.is_some() || !self.field.is_empty() || self.filter.is_some()
    }

    /// Returns whether rows are selected by a condition.
    pub(crate) fn is_filtered(&self) -> bool {
        self.filter.is_some()
    }

    /// Calls `process` with the selected rows of an array.
    pub(crate) fn with_rows<T>(
        &self,
        path: &Path,
        array: &MappedArray,
        process: impl FnOnce(&RowSelection<'_>) -> Result<T, CliError>,
    ) -> Result<T, CliError> {
        let index = self.select.clone().unwrap_or_default();
        matching::with_rows(path, array, (&index, &self.field), self.filter.as_ref(), process)
    }
}

/// How to read and write text.
#[derive(Args, Clone, Debug)]
pub(crate) struct TextArgs {
    /// Format of OUT: npy, npz, ten, csv, tsv, jsonl, json or raw [default: by its
    /// extension, or npy for -]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<OutputFormat>,

    /// Read IN as text in this format [default: by its extension]
    #[arg(long, value_parser = text_format_parser(), value_name = "csv|tsv|jsonl")]
    from: Option<TextFormat>,

    /// Skip the first N lines of IN, which is text
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip: usize,

    /// Longest row of IN, which is text, in bytes, at least 2097152
    #[arg(long, value_name = "N", default_value_t = MAX_ROW, value_parser = parse_max_row)]
    max_row_len: usize,

    /// The character between the fields of a CSV, IN or OUT [default: ,]
    #[arg(long, value_name = "CHAR", value_parser = parse_delimiter)]
    delimiter: Option<u8>,

    /// CSV and TSV have no names of fields: the first line of IN is data, and OUT
    /// gets none
    #[arg(long)]
    no_header: bool,

    /// In CSV and TSV, write this text for NaN and `NaT`
    #[arg(long, value_name = "TEXT")]
    nan: Option<String>,
}

fn text_format_parser() -> impl TypedValueParser<Value = TextFormat> {
    PossibleValuesParser::new(["csv", "tsv", "jsonl"]).map(|name| match name.as_str() {
        "csv" => TextFormat::Separated(b','),
        "tsv" => TextFormat::Separated(b'\t'),
        _ => TextFormat::JsonLines,
    })
}

impl TextArgs {
    /// Returns whether an option that is only for text is given.
    pub(crate) fn is_given(&self) -> bool {
        self.from.is_some()
            || self.skip > 0
            || self.max_row_len != MAX_ROW
            || self.delimiter.is_some()
            || self.no_header
            || self.nan.is_some()
    }

    /// Rejects options that neither the text that is read nor the one that is written has.
    pub(crate) fn check(
        &self,
        path: &Path,
        input: Option<&TextInputOptions>,
        output: OutputFormat,
    ) -> Result<(), CliError> {
        let separator = |format| match format {
            TextFormat::Separated(separator) => Some(separator),
            TextFormat::JsonLines => None,
        };
        let read = self.input_format(path);
        let reads_csv = read == Some(TextFormat::Separated(b','));
        let reads_separated = read != Some(TextFormat::JsonLines);
        let written = output.text().and_then(separator);
        let is_unused = [
            (self.from.is_some() && input.is_none(), "--from is for IN that is text"),
            (self.skip > 0 && input.is_none(), "--skip is for IN that is text"),
            (
                self.max_row_len != MAX_ROW && input.is_none(),
                "--max-row-len is for IN that is text",
            ),
            (
                self.no_header && written.is_none() && !(reads_separated && input.is_some()),
                "--no-header is for CSV and TSV",
            ),
            (self.nan.is_some() && written.is_none(), "--nan is for OUT that is CSV or TSV"),
            (
                self.delimiter.is_some()
                    && !(reads_csv && input.is_some())
                    && output != OutputFormat::Csv,
                "--delimiter is for CSV: a TSV has tabs",
            ),
        ];
        CliError::usage_if_any(path, is_unused)
    }

    /// The format of IN, if it may be text.
    fn input_format(&self, path: &Path) -> Option<TextFormat> {
        let by_extension = || OutputFormat::from_extension(path).ok()?.text();
        self.from.or_else(by_extension)
    }

    /// The format of the output.
    pub(crate) fn output_format(&self, path: &Path) -> Result<OutputFormat, CliError> {
        self.format.map_or_else(|| OutputFormat::from_extension(path), Ok)
    }

    /// How to read IN, if it is text.
    pub(crate) fn input(
        &self,
        input: &ArrayPath,
        dtype: Option<&DType>,
    ) -> Option<TextInputOptions> {
        let (Some(format), None) = (self.input_format(&input.path), &input.member) else {
            return None;
        };
        Some(TextInputOptions {
            format: format.with_delimiter(self.delimiter),
            skip: self.skip,
            max_row: self.max_row_len,
            header: !self.no_header,
            dtype: dtype.cloned(),
        })
    }

    /// How to write rows in a format, if it is text.
    pub(crate) fn output(&self, format: OutputFormat) -> Option<TextOptions<'_>> {
        let format = format.text()?.with_delimiter(self.delimiter);
        Some(TextOptions { format, header: !self.no_header, nan: self.nan.as_deref() })
    }
}

/// Parses the longest row: blocks of text are not shorter.
fn parse_max_row(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(len @ BLOCK..) => Ok(len),
        _ => Err(format!("expected a number of at least {BLOCK}")),
    }
}

/// Reads a text into a temporary array.
pub(crate) fn read_text(path: &Path, options: TextInputOptions) -> Result<MappedArray, CliError> {
    let file = Temporary::new().map_err(CliError::io(path, "create a copy of"))?;
    let options_of_copy = npymap::CreateOptions::new();
    TextInput::open(path, options)?
        .write(|dtype, shape| file.create(dtype, shape, &options_of_copy).at(path))?;
    file.open().at(path)
}

//! Formats of new files, by their extensions.

use std::path::Path;

use clap::ValueEnum;
use serde::Serialize;

use crate::input::array_path::ArrayPath;
use crate::input::error::CliError;
use crate::input::stream;
use crate::input::text_format::TextFormat;

/// A format that arrays can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OutputFormat {
    Npy,
    Npz,
    Ten,
    /// A line of fields separated by commas for each row.
    Csv,
    /// The same with tabs.
    Tsv,
    /// A line of JSON for each row.
    Jsonl,
    /// One list, as of NumPy's `tolist`.
    Json,
    /// Elements in C order, without a header.
    Raw,
}

impl OutputFormat {
    /// Returns whether files in this format describe their arrays.
    pub(crate) fn has_headers(self) -> bool {
        matches!(self, OutputFormat::Npy | OutputFormat::Npz | OutputFormat::Ten)
    }

    /// The format of text, if it is one.
    pub(crate) fn text(self) -> Option<TextFormat> {
        match self {
            OutputFormat::Csv => Some(TextFormat::Separated(b',')),
            OutputFormat::Tsv => Some(TextFormat::Separated(b'\t')),
            OutputFormat::Jsonl => Some(TextFormat::JsonLines),
            _ => None,
        }
    }

    /// The format that an extension selects. Streams are `.npy` files.
    pub(crate) fn from_extension(path: &Path) -> Result<OutputFormat, CliError> {
        OutputFormat::with_advice(path, ANY)
    }

    /// As `from_extension`, with another error for an unknown extension.
    pub(crate) fn with_advice(path: &Path, advice: &'static str) -> Result<OutputFormat, CliError> {
        ArrayPath::from(path.as_os_str().to_owned()).reject_member()?;
        if stream::is_output(path) {
            return Ok(OutputFormat::Npy);
        }
        let extension = path.extension().and_then(|ending| ending.to_str());
        match extension.map(str::to_ascii_lowercase).as_deref() {
            Some("npy") => Ok(OutputFormat::Npy),
            Some("npz") => Ok(OutputFormat::Npz),
            Some("ten" | "tb") => Ok(OutputFormat::Ten),
            Some("csv") => Ok(OutputFormat::Csv),
            Some("tsv") => Ok(OutputFormat::Tsv),
            Some("jsonl" | "ndjson") => Ok(OutputFormat::Jsonl),
            Some("json") => Ok(OutputFormat::Json),
            Some("bin" | "raw") => Ok(OutputFormat::Raw),
            // A part of a file name, so it is not wrong usage.
            _ => Err(CliError::rejected(path, advice)),
        }
    }
}

/// Rejects a new `.npy` file with the extension of another format.
pub(crate) fn require_npy(path: &Path) -> Result<(), CliError> {
    ArrayPath::from(path.as_os_str().to_owned()).reject_member()?;
    match OutputFormat::from_extension(path) {
        Ok(OutputFormat::Npy) => Ok(()),
        _ => Err(CliError::rejected(path, NPY)),
    }
}

/// Rejects a new `.npz` file with the extension of another format, and a report in JSON
/// if it is a stream.
pub(crate) fn require_npz(path: &Path, json: bool) -> Result<(), CliError> {
    if stream::is_output(path) {
        return if json { Err(CliError::usage(path, STREAM)) } else { Ok(()) };
    }
    match OutputFormat::from_extension(path) {
        Ok(OutputFormat::Npz) => Ok(()),
        _ => Err(CliError::rejected(path, NPZ)),
    }
}

const NPZ: &str = "this command writes .npz files: use the extension .npz";

const ANY: &str = "the extension of a new file selects its format: use .npy, .npz, .ten, .csv, .tsv, .jsonl, .json or .bin, or --format";

const NPY: &str = "this command writes .npy files: use the extension .npy (`npymap convert` also writes .npz and .ten)";

pub(crate) const STREAM: &str = "--json is for files: this output is a stream";

//! `--json` of commands that write new files: what was written.

use std::io::{self, Write as _};
use std::path::Path;

use clap::Args;
use serde_json::json;

use crate::input::array_path::ArrayPath;
use crate::input::error::CliError;
use crate::input::inspect::{Inspector, Wanted};
use crate::input::url;
use crate::input::{escape, header_len, stream};
use crate::output::json;
use crate::output::output_format::{OutputFormat, STREAM};
use crate::output::until_closed::UntilClosed;

/// Whether to report what was written.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ReportArgs {
    /// Print a line of JSON for each written array, like `npymap info --json`
    #[arg(long)]
    pub(crate) json: bool,
}

const URL: &str = "--json is for files: this output is a URL";

impl ReportArgs {
    /// Rejects a report of an output that cannot be read again, or that standard
    /// output gets itself.
    pub(crate) fn check(self, output: &Path) -> Result<(), CliError> {
        CliError::usage_if(self.json && url::is_url(output), output, URL)?;
        CliError::usage_if(self.json && stream::is_output(output), output, STREAM)
    }

    /// Prints the report of a complete file.
    pub(crate) fn print(self, output: &Path, format: OutputFormat) -> Result<(), CliError> {
        if !self.json {
            return Ok(());
        }
        print_lines(output, format).map_err(CliError::after(output, "was written"))
    }
}

/// Prints what was done: the text, or a line of JSON if there is one. If it cannot be printed,
/// the error says that it was done.
pub(crate) fn done(
    path: &Path,
    done: &str,
    json: Option<serde_json::Value>,
    text: &str,
) -> Result<(), CliError> {
    let out = &mut UntilClosed::new(io::stdout());
    let printed = match json {
        Some(line) => escape::json_line(out, &line),
        None => writeln!(out, "{text}"),
    };
    printed.map_err(CliError::after(path, done))
}

fn print_lines(output: &Path, format: OutputFormat) -> Result<(), CliError> {
    let out = &mut io::stdout().lock();
    if format.has_headers() {
        // Whoever wrote the header can read it.
        header_len::set_max(usize::MAX);
        Inspector(Wanted::Facts).for_each_entry(&ArrayPath::from_file(output), &mut |entry| {
            escape::json_line(out, &json::line(output, &entry))
        })?;
        return Ok(());
    }
    let nbytes = output.metadata().map_err(CliError::io(output, "open"))?.len();
    let path = output.to_string_lossy();
    Ok(escape::json_line(out, &json!({ "path": path, "format": format, "nbytes": nbytes }))?)
}

//! `npymap recover`: makes a file whole after its writer died.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use npymap::{
    npy::MAX_HEADER_LEN,
    write::{RecoverOptions, Recovery},
};
use serde_json::json;

use crate::array_path::ArrayPath;
use crate::error::CliError;
use crate::escape::{self, safe};
use crate::locking::WaitArgs;
use crate::{signals, text};

/// Makes a file whole after whoever added rows to it died.
///
/// The array gets as many rows as the file has, whatever its header says. What
/// is left of another row is dropped. The header itself has to be good.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap recover --dry-run log.npy
  npymap recover --zero-fill log.npy

Programs that don't lock the file, as NumPy, may not write to it meanwhile.

Exit status: 0 when the file is whole, or could be made so; 1 when it can't be,
2 for wrong usage.")]
pub(crate) struct RecoverArgs {
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,

    /// Make a whole row, with zeros, of what is left of one
    #[arg(long)]
    zero_fill: bool,

    #[command(flatten)]
    wait: WaitArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// The longest header to read, in characters
    #[arg(long, value_name = "N", default_value_t = MAX_HEADER_LEN)]
    max_header_len: usize,

    /// .npy file
    file: ArrayPath,
}

const MEMBER: &str = "only a .npy file of its own can be recovered: `npymap npz verify` tells which members of an .npz are damaged";

impl RecoverArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        let path = self.file.alone(MEMBER)?;
        let options =
            RecoverOptions::new().zero_fill(self.zero_fill).max_header_len(self.max_header_len);
        signals::watch().map_err(CliError::file(path, "open"))?;
        let done = if self.dry_run {
            options.plan(path)
        } else {
            self.wait.locking(path, |locking| options.clone().locking(locking).recover(path))
        };
        let done = done.map_err(CliError::at(path))?;
        let out = &mut std::io::stdout();
        if self.json {
            escape::json_line(out, &self.json(path, &done))?;
        } else {
            writeln!(out, "{}", self.words(path, &done))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn words(&self, path: &Path, done: &Recovery) -> String {
        let path = safe(path.display());
        let (said, shape) = (text::shape(&done.header_shape), text::shape(&done.shape));
        if done.is_complete() {
            return format!("{path}: whole, shape {shape}");
        }
        let (becomes, are) =
            if self.dry_run { ("would become", "would be") } else { ("is now", "are") };
        let (dropped, filled) =
            (text::bytes_exactly(done.dropped), text::bytes_exactly(done.filled));
        match (done.dropped, done.filled) {
            (_, 0) if said == shape => {
                format!("{path}: shape {shape} stays, {dropped} behind its rows {are} dropped")
            }
            _ if said == shape => {
                format!(
                    "{path}: shape {shape} stays, {filled} of zeros {are} added to its last row"
                )
            }
            (0, 0) => format!("{path}: shape {said} {becomes} {shape}"),
            (_, 0) => format!("{path}: shape {said} {becomes} {shape}, {dropped} dropped"),
            _ => format!("{path}: shape {said} {becomes} {shape}, {filled} of zeros added"),
        }
    }

    fn json(&self, path: &Path, done: &Recovery) -> serde_json::Value {
        let path = path.display().to_string();
        let (said, shape) = (&done.header_shape, &done.shape);
        let (dropped, filled) = (done.dropped, done.filled);
        json!({
            "path": path, "said": said, "shape": shape, "dropped": dropped, "filled": filled,
            "done": !self.dry_run && !done.is_complete(),
        })
    }
}

//! `npymap recover`: repairs a file whose writer died.

use std::path::Path;

use clap::Args;
use npymap::write::{RecoverOptions, Recovery};
use serde_json::json;

use crate::input::array_path::ArrayPath;
use crate::input::error::{At as _, CliError};
use crate::input::escape::safe;
use crate::input::{header_len, text};
use crate::output::edit;
use crate::output::locking::WaitArgs;
use crate::output::report;
use crate::output::signals;

/// Repair a .npy file after an interrupted append.
///
/// The array gets all complete rows in the file, whatever its header says. An
/// incomplete last row is dropped. The header itself must be valid.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap recover --dry-run log.npy
  npymap recover --zero-fill log.npy

Programs that do not lock the file, such as NumPy, must not write to it in the
meantime.

Exit status: 0 if the file is complete or was repaired, 1 if it cannot be
repaired, 2 for a usage error.")]
pub(crate) struct RecoverArgs {
    /// Print what would be done, without doing it
    #[arg(long)]
    dry_run: bool,

    /// Complete the last row with zeros instead of dropping it
    #[arg(long)]
    zero_fill: bool,

    #[command(flatten)]
    wait: WaitArgs,

    /// Print a JSON object
    #[arg(long)]
    json: bool,

    /// .npy file
    file: ArrayPath,
}

const MEMBER: &str = "members of archives cannot be recovered: `npymap npz verify` lists the damaged members of an .npz";

impl RecoverArgs {
    pub(crate) fn run(&self) -> Result<(), CliError> {
        let path = self.file.require_file(MEMBER)?;
        edit::reject_stream(&self.file)?;
        let open = header_len::options();
        let options = RecoverOptions::new().zero_fill(self.zero_fill).open_options(open.clone());
        signals::watch().map_err(CliError::io(path, "open"))?;
        let recovery = if self.dry_run {
            options.plan(path)
        } else {
            self.wait.with_lock(path, |locking| {
                options.clone().open_options(open.clone().locking(locking)).recover(path)
            })
        };
        let recovery = recovery.at(path)?;
        let is_changed = !self.dry_run && !recovery.is_complete();
        let done = if is_changed { "was recovered" } else { "nothing was changed" };
        let line = json!({
            "path": path.display().to_string(),
            "said": recovery.header_shape,
            "shape": recovery.shape,
            "dropped": recovery.dropped,
            "filled": recovery.filled,
            "done": is_changed,
        });
        let text = self.describe(path, &recovery);
        report::done(path, done, self.json.then_some(line), &text)
    }

    fn describe(&self, path: &Path, recovery: &Recovery) -> String {
        let path = safe(path.display());
        let (old_shape, shape) =
            (text::shape(&recovery.header_shape), text::shape(&recovery.shape));
        if recovery.is_complete() {
            return format!("{path}: complete, shape {shape}");
        }
        let (becomes, would_be) =
            if self.dry_run { ("would become", "would be ") } else { ("is now", "") };
        let (dropped, filled) =
            (text::byte_count(recovery.dropped), text::byte_count(recovery.filled));
        match (recovery.dropped, recovery.filled) {
            (_, 0) if old_shape == shape => {
                format!(
                    "{path}: shape {shape} unchanged, {dropped} after its rows {would_be}dropped"
                )
            }
            _ if old_shape == shape => {
                format!(
                    "{path}: shape {shape} unchanged, {filled} of zeros {would_be}added to its last row"
                )
            }
            (0, 0) => format!("{path}: shape {old_shape} {becomes} {shape}"),
            (_, 0) => format!("{path}: shape {old_shape} {becomes} {shape}, {dropped} dropped"),
            _ => format!("{path}: shape {old_shape} {becomes} {shape}, {filled} of zeros added"),
        }
    }
}

//! Updates of archives: locked, and committed whole.

use std::path::Path;

use npymap::npz::NpzUpdate;
use serde_json::json;

use crate::input::error::CliError;
use crate::input::escape::safe;
use crate::input::{open, remote, stream, text};
use crate::output::locking::WaitArgs;
use crate::output::report;
use crate::output::signals;

const STREAM: &str = "a stream cannot be changed in place: name a file";

const ABSENT: &str = "does not exist: create it with `npymap npz pack`";

/// Locks an archive that exists, and starts an update of it.
pub(crate) fn begin<'a>(path: &Path, wait: WaitArgs) -> Result<NpzUpdate<'a>, CliError> {
    remote::reject_change(path)?;
    CliError::rejected_if(stream::is_standard(path), path, STREAM)?;
    CliError::rejected_if(!path.exists(), path, ABSENT)?;
    signals::watch().map_err(CliError::io(path, "create"))?;
    let options = open::npz_options();
    let update = wait.with_lock(path, |locking| options.update(path, locking));
    update.map_err(CliError::Library)
}

/// Prints which members a command has changed, and how: `added`.
pub(crate) fn print(
    path: &Path,
    change: &str,
    members: &[String],
    as_json: bool,
) -> Result<(), CliError> {
    let done = format!("the members were {change}");
    let line = json!({ "path": path.to_string_lossy(), change: members });
    let count = text::plural(members.len(), "member");
    let text = format!("{}: {count} {change}", safe(path.display()));
    report::done(path, &done, as_json.then_some(line), &text)
}

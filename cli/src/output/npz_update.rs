//! Updates of archives: locked, and committed whole.

use std::io::{self, Write as _};
use std::path::Path;

use npymap::npz::NpzUpdate;
use serde_json::json;

use crate::input::error::CliError;
use crate::input::escape::{self, safe};
use crate::input::{open, remote, stream, text};
use crate::output::locking::WaitArgs;
use crate::output::signals;

const STREAM: &str = "a stream cannot be changed in place: name a file";

const ABSENT: &str = "does not exist: create it with `npymap npz pack`";

/// Locks an archive that exists, and starts an update of it.
pub(crate) fn begin<'a>(
    path: &Path,
    wait: WaitArgs,
    max_header_len: usize,
) -> Result<NpzUpdate<'a>, CliError> {
    remote::reject_change(path)?;
    if stream::is_standard(path) {
        return Err(CliError::Rejected { path: path.to_owned(), reason: STREAM });
    }
    if !path.exists() {
        return Err(CliError::Rejected { path: path.to_owned(), reason: ABSENT });
    }
    signals::watch().map_err(CliError::io(path, "create"))?;
    let options = open::npz_options(max_header_len);
    let update = wait.with_lock(path, |locking| options.update(path, locking));
    update.map_err(CliError::Library)
}

/// The members that a command has changed, to be printed.
pub(crate) struct Change<'a> {
    pub(crate) path: &'a Path,
    /// The change, as it is printed: `added`.
    pub(crate) done: &'static str,
    pub(crate) members: &'a [String],
}

impl Change<'_> {
    /// Prints a line of text or of JSON.
    pub(crate) fn print(&self, as_json: bool) -> Result<(), CliError> {
        let done = format!("the members were {}", self.done);
        self.print_line(as_json).map_err(CliError::after(self.path, &done))
    }

    fn print_line(&self, as_json: bool) -> io::Result<()> {
        let out = &mut io::stdout();
        if as_json {
            let line = json!({ "path": self.path.to_string_lossy(), self.done: self.members });
            return escape::json_line(out, &line);
        }
        let count = text::plural(self.members.len(), "member");
        writeln!(out, "{}: {count} {}", safe(self.path.display()), self.done)
    }
}

//! `npymap npz recover`: saves the intact members of a damaged archive.

use std::path::PathBuf;

use clap::Args;
use npymap::ErrorKind;
use npymap::npz::{Member, Npz, NpzWriter};
use serde_json::json;

use crate::input::error::{At as _, CliError};
use crate::input::escape::safe;
use crate::input::inputs::last_of_each_name;
use crate::input::stream::Content;
use crate::input::url::{self, shown};
use crate::input::{messages, open, stream, text};
use crate::output::draft::Draft;
use crate::output::out_args::OutArgs;
use crate::output::output_format;
use crate::output::overwrite::OverwriteArgs;
use crate::output::report;

/// Copy the intact members of a damaged archive to a new archive.
///
/// If the end of the archive with its directory is missing, for example after
/// an interrupted download, this copies the members before the damage.
/// Otherwise, it copies the members with matching checksums. It skips encrypted
/// members and unsupported compression methods. It reads an archive after other
/// bytes only if its end is intact.
#[derive(Debug, Args)]
#[command(mut_arg("output", |arg| arg.help("New .npz file, or - for standard output")), after_help = "\
Examples:
  npymap npz recover broken.npz -o mended.npz

Exit status: 0 if OUT was written, 1 if there is no intact member, 2 for a usage
error.")]
pub(crate) struct RecoverArgs {
    #[command(flatten)]
    replace: OverwriteArgs,

    /// Print a JSON object
    #[arg(long)]
    json: bool,

    /// .npz file
    #[arg(value_parser = url::parser())]
    file: PathBuf,

    #[command(flatten)]
    out: OutArgs,
}

const NOTHING: &str = "has no intact member";

const BY_HEADERS: &str = "members are found by their own headers, up to the first damage";

const NO_METHOD: &str = "has no intact member that can be read";

/// The members that were found in an archive.
#[derive(Default)]
struct Found {
    recovered: Vec<String>,
    damaged: Vec<String>,
    /// Those that may be intact, but are encrypted, or compressed by another method.
    skipped: Vec<String>,
}

impl RecoverArgs {
    pub(crate) fn run(&self) -> Result<(), CliError> {
        output_format::require_npz(self.out.path(), self.json)?;
        let draft = Draft::begin(self.out.path(), self.replace)?;
        // What is before the archive may be damaged, too, so that it is not recognized by its
        // first bytes.
        let map = || open::map(&self.file, Content::ALL);
        let (npz, has_directory) = match map().and_then(|file| open::npz_options().open(file)) {
            Ok(npz) => (npz, true),
            Err(error) if error.kind() == ErrorKind::Io => return Err(CliError::Library(error)),
            Err(error) => match map().and_then(|file| open::npz_options().scan(file)) {
                Ok(npz) => {
                    let (path, reason) = (shown(&self.file), error.reason());
                    messages::print_note(&format_args!("{path}: {reason}: {BY_HEADERS}"));
                    (npz, false)
                }
                Err(_) => return Err(CliError::Library(error)),
            },
        };
        let found = self.copy(&npz, &draft)?;
        drop(npz);
        if found.recovered.is_empty() {
            let reason = if found.skipped.is_empty() { NOTHING } else { NO_METHOD };
            return Err(CliError::rejected(&self.file, reason));
        }
        draft.commit()?;
        self.print(&found, has_directory)
    }

    /// Copies the intact members, and reports the others.
    fn copy(&self, npz: &Npz, draft: &Draft) -> Result<Found, CliError> {
        let members = last_of_each_name(npz.members(), Member::full_name);
        let mut writer = NpzWriter::new_seekable(draft.file()).at(self.out.path())?;
        let mut found = Found::default();
        for member in &members {
            let name = member.name().to_owned();
            match member.verify() {
                Ok(()) => {
                    writer.copy(member).map_err(CliError::Library)?;
                    found.recovered.push(name);
                }
                // Its bytes may be intact.
                Err(error) if error.kind() == ErrorKind::Io => {
                    return Err(CliError::Library(error));
                }
                Err(error) => {
                    messages::print_error(&error);
                    let is_other = error.kind() == ErrorKind::Unsupported;
                    if is_other { &mut found.skipped } else { &mut found.damaged }.push(name);
                }
            }
        }
        writer.into_inner().at(self.out.path())?;
        Ok(found)
    }

    fn print(&self, found: &Found, has_directory: bool) -> Result<(), CliError> {
        if stream::is_output(self.out.path()) {
            return Ok(());
        }
        let line = json!({
            "path": shown(&self.file),
            "recovered": found.recovered,
            "damaged": found.damaged,
            "skipped": found.skipped,
            "directory": has_directory,
        });
        let path = safe(shown(&self.file));
        let recovered = text::plural(found.recovered.len(), "member");
        let rest = match (found.damaged.len(), found.skipped.len(), has_directory) {
            (0, 0, true) => "none is damaged".to_owned(),
            (0, 0, false) => "before the damage".to_owned(),
            (0, skipped, true) => format!("{skipped} skipped"),
            (0, skipped, false) => format!("{skipped} skipped, before the damage"),
            (damaged, 0, _) => format!("{damaged} damaged"),
            (damaged, skipped, _) => format!("{damaged} damaged, {skipped} skipped"),
        };
        let text = format!("{path}: {recovered} recovered, {rest}");
        report::done(self.out.path(), "was written", self.json.then_some(line), &text)
    }
}

//! `npymap npz verify`: checks the bytes of members.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use crate::input::array_path::ArrayPath;
use crate::input::error::CliError;
use crate::input::escape::{self, safe};
use crate::input::file_set;
use crate::input::url::{self, shown, without_queries};
use crate::input::{messages, open, text};
use crate::output::until_closed::UntilClosed;

/// Read all members and verify their lengths and CRC-32 checksums.
///
/// Opening a stored member does not verify its checksum.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap npz verify weights.npz
  npymap npz verify --json *.npz

Exit status: 0 if all members are intact, 1 if one is not, 2 for a usage error.")]
pub(crate) struct VerifyArgs {
    /// .npz files or quoted patterns
    #[arg(required = true, value_name = "FILE", value_parser = url::parser())]
    files: Vec<PathBuf>,

    /// Print a line of JSON for each member
    #[arg(long)]
    json: bool,
}

impl VerifyArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        let out = &mut UntilClosed::new(io::stdout());
        let mut failures = 0;
        let files: Vec<_> = self.files.iter().map(|file| ArrayPath::from_file(file)).collect();
        for path in file_set::matched(&files)? {
            failures += self.verify(out, &path.path)?;
        }
        Ok(if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Verifies an archive and returns how many members are damaged.
    fn verify(&self, out: &mut impl Write, path: &Path) -> io::Result<usize> {
        let npz = match open::npz(path) {
            Ok(npz) => npz,
            Err(error) => {
                let error = CliError::with_path(path)(error);
                messages::print_error(&error);
                self.print_json(out, path, None, Some(&error))?;
                return Ok(1);
            }
        };
        let mut failures = 0;
        for member in npz.members() {
            let checked = member.verify();
            failures += usize::from(checked.is_err());
            if let Err(error) = &checked {
                messages::print_error(error);
            }
            self.print_json(out, path, Some(member.name()), checked.err().as_ref())?;
        }
        if !self.json && failures == 0 {
            let count = text::plural(npz.members().len(), "member");
            writeln!(out, "{}: {count} intact", safe(shown(path)))?;
        }
        Ok(failures)
    }

    fn print_json(
        &self,
        out: &mut impl Write,
        path: &Path,
        member: Option<&str>,
        error: Option<&impl Display>,
    ) -> io::Result<()> {
        if !self.json {
            return Ok(());
        }
        // JSON is Unicode, but file names need not be.
        let path = shown(path);
        let line = match error.map(|error| without_queries(&error.to_string())) {
            None => serde_json::json!({ "path": path, "member": member, "intact": true }),
            Some(error) => serde_json::json!({
                "path": path, "member": member, "intact": false, "error": error,
            }),
        };
        escape::json_line(out, &line)
    }
}

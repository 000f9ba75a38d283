//! `npymap man`: manual pages.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command};

use crate::input::error::CliError;
use crate::input::escape::safe;
use crate::input::text;

/// Write the manual pages of all commands to a directory.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap man man1

For example, run `npymap man ~/.local/share/man/man1` to install them. You can
then read the page of `npymap stats` with `man npymap-stats`.

Exit status: 0 if all pages were written, 1 if not, 2 for a usage error.")]
pub(crate) struct ManArgs {
    /// Directory for the pages, created if it does not exist. This replaces
    /// pages in it
    directory: PathBuf,
}

impl ManArgs {
    pub(crate) fn run(&self, command: Command) -> Result<ExitCode, CliError> {
        let directory = &self.directory;
        fs::create_dir_all(directory).map_err(CliError::io(directory, "create"))?;
        let count = count_commands(&command);
        let written = clap_mangen::generate_to(command, directory);
        written.map_err(CliError::io(directory, "write the pages to"))?;
        let pages = text::plural(count, "page");
        writeln!(io::stdout(), "{}: {pages} written", safe(directory.display()))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The number of commands; each command has a page.
fn count_commands(command: &Command) -> usize {
    command.get_subcommands().map(count_commands).sum::<usize>() + 1
}

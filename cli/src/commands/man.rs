//! `npymap man`: manual pages.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;

use crate::input::error::CliError;
use crate::input::escape::safe;
use crate::input::text;
use crate::input::url;
use crate::output::draft::Draft;
use crate::output::overwrite::OverwriteArgs;

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
    #[arg(value_parser = url::parser())]
    directory: PathBuf,
}

impl ManArgs {
    pub(crate) fn run(&self, command: Command) -> Result<(), CliError> {
        let directory = &self.directory;
        fs::create_dir_all(directory).map_err(CliError::io(directory, "create"))?;
        let mut command = command.disable_help_subcommand(true);
        command.build();
        let count = write_pages(command, directory)?;
        let pages = text::plural(count, "page");
        writeln!(io::stdout(), "{}: {pages} written", safe(directory.display()))?;
        Ok(())
    }
}

/// Writes the page of a command and those of its subcommands, each complete or not at all.
/// Returns their number.
fn write_pages(command: Command, directory: &Path) -> Result<usize, CliError> {
    let mut count = 1;
    for subcommand in command.get_subcommands() {
        count += write_pages(subcommand.clone(), directory)?;
    }
    let page = Man::new(command);
    let path = directory.join(page.get_filename());
    let replace = OverwriteArgs { overwrite: true, ..OverwriteArgs::default() };
    let draft = Draft::begin_at(&path, replace)?;
    let mut text = Vec::new();
    page.render(&mut text)?;
    draft.file().write_all(&text).map_err(CliError::io(&path, "write"))?;
    draft.commit_unsynced()?;
    Ok(count)
}

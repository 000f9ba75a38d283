//! `npymap completions`: completions of commands and options for shells.

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::input::error::CliError;

/// Print completions of commands and options for a shell.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap completions bash > npymap.bash
  npymap completions zsh > _npymap
  npymap completions fish > npymap.fish
  npymap completions powershell > npymap.ps1

Shells look for completions in these directories: bash in
~/.local/share/bash-completion/completions (as `npymap`), zsh in one of $fpath
(as `_npymap`), and fish in ~/.config/fish/completions. In PowerShell, add the
lines to $PROFILE.

Exit status: 0 on success, 1 on failure, 2 for a usage error.")]
pub(crate) struct CompletionsArgs {
    /// bash, zsh, fish, powershell or elvish
    #[arg(value_enum, hide_possible_values = true)]
    shell: Shell,
}

impl CompletionsArgs {
    pub(crate) fn run(&self, mut command: Command) -> Result<ExitCode, CliError> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "npymap", &mut script);
        io::stdout().write_all(&script)?;
        Ok(ExitCode::SUCCESS)
    }
}

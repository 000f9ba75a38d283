//! `npymap completions`: completions of commands, options and members for shells.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_complete::Shell;

use crate::input::error::CliError;
use crate::input::escape::escaped;
use crate::input::{open, url};
use crate::output::completion;

/// Print completions of commands, options and members for a shell.
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
    /// Print each FILE[MEMBER] that starts with WORD, such as 'weights.npz[lay'. The
    /// scripts call this
    #[arg(long, value_name = "WORD", conflicts_with = "shell")]
    members: Option<String>,

    /// With --members, print the names of the members of this file instead
    #[arg(long, value_name = "FILE", requires = "members", value_parser = url::parser())]
    of: Option<PathBuf>,

    /// bash, zsh, fish, powershell or elvish
    #[arg(value_enum, required_unless_present = "members")]
    shell: Option<Shell>,
}

impl CompletionsArgs {
    pub(crate) fn run(&self, command: Command) -> Result<(), CliError> {
        let text = match (self.shell, &self.members) {
            (Some(shell), _) => completion::script(shell, command),
            (None, word) => members(word.as_deref().unwrap_or_default(), self.of.as_deref()),
        };
        Ok(io::stdout().write_all(text.as_bytes())?)
    }
}

/// Each `FILE[MEMBER]`, or member of a file, that starts with a word, in a line.
fn members(word: &str, of: Option<&Path>) -> String {
    let mut paths = word.match_indices('[').map(|(at, _)| word.split_at(at).0);
    let path = paths.rfind(|path| Path::new(path).is_file()).unwrap_or_default();
    let names = open::any(of.unwrap_or(Path::new(path))).map(|file| file.names());
    let arguments = names.unwrap_or_default().into_iter().map(|name| match of {
        Some(_) => name,
        None => format!("{path}[{name}]"),
    });
    // Others can't be typed.
    let shown = arguments.filter(|text| text.starts_with(word) && escaped(text) == *text);
    shown.map(|text| text + "\n").collect()
}

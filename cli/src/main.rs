//! The program `npymap`: inspects, edits, converts and compares NumPy array
//! files.

mod cli;
mod commands;
#[cfg(test)]
mod grammar_tests;
mod help;
mod input;
mod output;
mod select;
mod sort;
mod stats;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _};

use crate::cli::Cli;
use crate::input::{arguments, error, memory, messages, platform};

fn main() -> ExitCode {
    memory::exit_if_exhausted();
    platform::ignore_size_limit_signal();
    let cli = match parse_arguments() {
        Ok(cli) => cli,
        Err(error) => return messages::print_usage_error(error),
    };
    match cli.apply().and_then(|()| cli.command.run()) {
        Ok(code) => code,
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            messages::print_error(&error);
            cli.command.failure_code(&error)
        }
    }
}

fn parse_arguments() -> Result<Cli, clap::Error> {
    let arguments: Vec<_> = std::env::args_os().collect();
    let color = arguments::color_choice(&arguments);
    let mut command = Cli::command().color(color);
    let arguments = arguments::protect_negatives(&mut command, arguments);
    let parsed = command.try_get_matches_from(&arguments);
    // Arranging the help takes as long as everything else that is parsed.
    let needs_help = parsed.as_ref().is_err_and(|error| {
        matches!(
            error.kind(),
            ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        )
    });
    let matches = if needs_help {
        help::arranged(Cli::command()).color(color).try_get_matches_from(&arguments)?
    } else {
        parsed?
    };
    let mut own = &matches;
    while let Some((_, inner)) = own.subcommand() {
        own = inner;
    }
    error::set_reads_raw(own.try_contains_id("raw").is_ok());
    Cli::from_arg_matches(&matches)
}

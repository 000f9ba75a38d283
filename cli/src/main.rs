//! The program `npymap`: looks into NumPy array files.

mod digest;
mod info;
mod json;
mod open;
mod plan;
mod progress;
mod region;
mod style;
mod words;

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Looks into NumPy array files, whatever their size.
#[derive(Debug, Parser)]
#[command(version, styles = style::HELP, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Info(info::Info),
}

fn main() -> ExitCode {
    let Arguments { command } = Arguments::parse();
    let done = match command {
        Command::Info(info) => info.run(),
    };
    match done {
        Ok(code) => code,
        // Whoever read our output has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            words::error(&format_args!("cannot write the output: {error}"));
            ExitCode::FAILURE
        }
    }
}

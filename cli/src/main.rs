//! The program `npymap`: looks into NumPy array files, changes and converts
//! them.

mod append;
mod arguments;
mod bench;
mod cast;
mod change;
mod compare;
mod concat;
mod convert;
mod create;
mod demo;
mod described;
mod diff;
mod digest;
mod draft;
mod ending;
mod escape;
mod failure;
mod fill;
mod found;
mod get;
mod head;
mod info;
mod inputs;
mod json;
mod leaves;
mod locking;
mod made;
mod members;
mod npz;
mod open;
mod outputs;
mod picked;
mod place;
mod platform;
mod progress;
mod raw;
mod recover;
mod rewrite;
mod rows;
mod sample;
mod selection;
mod set;
mod show;
mod shuffle;
mod signals;
mod stats;
mod style;
mod summary;
mod table;
mod tiles;
mod words;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::failure::Failure;

/// Looks into NumPy array files, changes and converts them, whatever their
/// size.
///
/// Elements are mapped into memory, not read. While the program is at work on
/// a file, nobody may truncate it or change its elements.
#[derive(Debug, Parser)]
#[command(name = "npymap", version, styles = style::HELP, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Info(info::Info),
    Head(head::Head),
    Stats(stats::Stats),
    Get(get::Get),
    Set(set::Set),
    Create(create::Create),
    Convert(convert::Convert),
    Npz(npz::Npz),
    Raw(raw::Raw),
    Diff(diff::Diff),
    Demo(demo::Demo),
    Append(append::Append),
    Concat(concat::Concat),
    Fill(fill::Fill),
    Recover(recover::Recover),
    Sample(sample::Sample),
    Shuffle(shuffle::Shuffle),
    Bench(bench::Bench),
}

impl Command {
    /// The status of a command that could not do what it was asked. `diff` has
    /// one for arrays that differ, and this one is another, as with `cmp`.
    fn trouble(&self) -> ExitCode {
        match self {
            Command::Diff(_) => ExitCode::from(2),
            _ => ExitCode::FAILURE,
        }
    }
}

fn main() -> ExitCode {
    platform::bear_size_limits();
    let arguments = std::env::args_os().collect();
    let arguments = arguments::protect_negatives(&Arguments::command(), arguments);
    let Arguments { command } = Arguments::parse_from(arguments);
    let done = match &command {
        Command::Info(info) => info.run().map_err(Failure::from),
        Command::Head(head) => head.run(),
        Command::Stats(stats) => stats.run(),
        Command::Get(get) => get.run(),
        Command::Set(set) => set.run(),
        Command::Create(create) => create.run(),
        Command::Convert(convert) => convert.run(),
        Command::Npz(npz) => npz.run(),
        Command::Raw(raw) => raw.run(),
        Command::Diff(diff) => diff.run(),
        Command::Demo(demo) => demo.run(),
        Command::Append(append) => append.run(),
        Command::Concat(concat) => concat.run(),
        Command::Fill(fill) => fill.run(),
        Command::Recover(recover) => recover.run(),
        Command::Sample(sample) => sample.run(),
        Command::Shuffle(shuffle) => shuffle.run(),
        Command::Bench(bench) => bench.run(),
    };
    match done {
        Ok(code) => code,
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            words::error(&failure);
            command.trouble()
        }
    }
}

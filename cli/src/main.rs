//! The program `npymap`: inspects, edits, converts and compares NumPy array
//! files.

mod append;
mod archive_output;
mod arguments;
mod array_info;
mod array_path;
mod axis_arg;
mod bench;
mod cast;
mod cells;
mod colors;
mod columns;
mod compare;
mod completions;
mod concat;
mod convert;
mod convert_selection;
mod create;
mod demo;
mod describe;
mod diff;
mod diff_many;
mod diff_one;
mod digest;
mod draft;
mod edit;
mod elements;
mod error;
mod escape;
mod fill;
mod filter;
mod float_text;
mod generate;
mod get;
mod globs;
mod head;
mod header;
mod histogram;
mod info;
mod input_args;
mod input_rows;
mod inputs;
mod inspect;
mod json;
mod keys;
mod layout_args;
mod leaf_fields;
mod line;
mod locking;
mod ls;
mod man;
mod messages;
mod new_file;
mod new_value;
mod npz;
mod npz_add;
mod npz_extract;
mod npz_inputs;
mod npz_members;
mod npz_pack;
mod npz_recover;
mod npz_update;
mod npz_verify;
mod open;
mod origins;
mod output_args;
mod output_format;
mod parallel;
mod picture;
mod places;
mod platform;
mod progress;
mod quantiles;
mod raster;
mod raw;
mod recover;
mod remote;
#[cfg(feature = "remote")]
mod remote_object;
mod report;
mod rewrite;
mod row_blocks;
mod row_copy;
mod rows;
mod sample;
mod scan;
mod selection;
mod set;
mod shape_arg;
mod sheet;
mod show;
mod show_png;
mod show_text;
mod shuffle;
mod signals;
mod sink;
mod stats;
mod stats_output;
mod stats_rows;
mod stream;
mod stream_start;
mod style;
mod summary;
mod table;
mod tail;
mod terminal;
mod text;
mod text_format;
mod text_input;
mod text_output;
mod threads;
mod tiles;
mod tolerance;
mod until_closed;
mod walk;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::error::CliError;
use crate::output_args::OutputArgs;

/// Inspects, edits, converts and compares NumPy array files of any size.
///
/// Elements are memory-mapped rather than read. While the program uses a file,
/// no other process may truncate it or change its elements. If standard output
/// is closed, what would be printed is lost without an error.
#[derive(Debug, Parser)]
#[command(name = "npymap", version, styles = style::HELP, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: CliCommand,

    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Subcommand)]
enum CliCommand {
    Info(info::InfoArgs),
    Ls(ls::LsArgs),
    Head(head::HeadArgs),
    Tail(tail::TailArgs),
    Stats(stats::StatsArgs),
    Show(show::ShowArgs),
    Get(get::GetArgs),
    Set(set::SetArgs),
    Header(header::HeaderArgs),
    Create(create::CreateArgs),
    Convert(convert::ConvertArgs),
    Npz(npz::NpzArgs),
    Raw(raw::RawArgs),
    Diff(diff::DiffArgs),
    Demo(demo::DemoArgs),
    Append(append::AppendArgs),
    Concat(concat::ConcatArgs),
    Fill(fill::FillArgs),
    Recover(recover::RecoverArgs),
    Sample(sample::SampleArgs),
    Shuffle(shuffle::ShuffleArgs),
    Bench(bench::BenchArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

impl CliCommand {
    /// The exit status of a command that failed. `diff` exits with 1 if the
    /// arrays differ, so its failures are 2, as in `cmp`.
    fn failure_code(&self, error: &CliError) -> ExitCode {
        match (self, error) {
            (CliCommand::Diff(_), _) | (_, CliError::Usage { .. }) => ExitCode::from(2),
            _ => ExitCode::FAILURE,
        }
    }
}

fn main() -> ExitCode {
    platform::ignore_size_limit_signal();
    let Cli { command, output } = match parse_arguments() {
        Ok(cli) => cli,
        Err(error) => return messages::print_usage_error(error),
    };
    output.color_choice().write_global();
    if let Some(digits) = output.precision {
        float_text::set_precision(digits);
    }
    let result = match &command {
        CliCommand::Info(info) => info.run().map_err(CliError::from),
        CliCommand::Ls(ls) => ls.run().map_err(CliError::from),
        CliCommand::Head(head) => head.run(),
        CliCommand::Tail(tail) => tail.run(),
        CliCommand::Stats(stats) => stats.run(),
        CliCommand::Show(show) => show.run(),
        CliCommand::Get(get) => get.run(),
        CliCommand::Set(set) => set.run(),
        CliCommand::Header(header) => header.run(),
        CliCommand::Create(create) => create.run(),
        CliCommand::Convert(convert) => convert.run(),
        CliCommand::Npz(npz) => npz.run(),
        CliCommand::Raw(raw) => raw.run(),
        CliCommand::Diff(diff) => diff.run(),
        CliCommand::Demo(demo) => demo.run(),
        CliCommand::Append(append) => append.run(),
        CliCommand::Concat(concat) => concat.run(),
        CliCommand::Fill(fill) => fill.run(),
        CliCommand::Recover(recover) => recover.run(),
        CliCommand::Sample(sample) => sample.run(),
        CliCommand::Shuffle(shuffle) => shuffle.run(),
        CliCommand::Bench(bench) => bench.run(),
        CliCommand::Completions(completions) => completions.run(Cli::command()),
        CliCommand::Man(man) => man.run(Cli::command()),
    };
    match result {
        Ok(code) => code,
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            messages::print_error(&error);
            command.failure_code(&error)
        }
    }
}

fn parse_arguments() -> Result<Cli, clap::Error> {
    let arguments: Vec<_> = std::env::args_os().collect();
    let mut command = Cli::command().color(output_args::early_color_choice(&arguments));
    // Subcommands get the options that all have.
    command.build();
    let arguments = arguments::protect_negatives(&command, arguments);
    Cli::from_arg_matches(&command.try_get_matches_from(arguments)?)
}

//! The command line: options and subcommands.

use std::process::ExitCode;

use anstream::ColorChoice;
use clap::{Args, CommandFactory as _, Parser, Subcommand};
use npymap::npy::MAX_HEADER_LEN;

use crate::commands::npz_add::AddArgs;
use crate::commands::npz_extract::ExtractArgs;
use crate::commands::npz_members::{MoveArgs, RemoveArgs};
use crate::commands::npz_pack::PackArgs;
use crate::commands::npz_recover::RecoverArgs;
use crate::commands::npz_verify::VerifyArgs;
use crate::commands::{
    append, completions, concat, convert, create, diff, get, head, header, info, ls, man, recover,
    sample, set, show, shuffle, sort, stats, tail, unique,
};
use crate::input::error::CliError;
use crate::input::{float_text, header_len, remote, style, threads};

/// Inspect, edit, convert and compare NumPy array files of any size.
///
/// This maps elements into memory instead of reading them. While npymap uses a
/// file, you must not truncate it or change its elements by other means. If its
/// output pipe is closed, npymap exits quietly.
#[derive(Parser)]
#[command(name = "npymap", version, styles = style::HELP, arg_required_else_help = true,
    hide_possible_values = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: CliCommand,

    /// Maximum header length, in characters
    #[arg(long, global = true, value_name = "N", default_value_t = MAX_HEADER_LEN)]
    max_header_len: usize,

    /// Number of threads [default: one per CPU]. This does not affect the
    /// output
    #[arg(long, global = true, value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// Use colors and bold text: auto (for terminals only), always or never
    #[arg(
        long,
        global = true,
        value_enum,
        default_value = "auto",
        hide_default_value = true,
        value_name = "WHEN",
        help_heading = "Output"
    )]
    color: clap::ColorChoice,

    /// Digits after the point of floats in text. JSON has all digits
    #[arg(long, global = true, value_name = "N", help_heading = "Output")]
    precision: Option<u16>,

    /// Send a header with each request, as in 'Authorization: Bearer TOKEN'.
    /// Only the server of the URL gets it, so all URLs must be of one server
    #[arg(short = 'H', long, global = true, value_name = "HEADER", help_heading = "URLs")]
    http_header: Vec<String>,
}

// The value may be secret.
const EXPECTED: &str = "expected 'NAME: VALUE', such as 'Authorization: Bearer TOKEN'";

impl Cli {
    /// Applies the options of all commands.
    pub(crate) fn apply(&self) -> Result<(), CliError> {
        header_len::set_max(self.max_header_len);
        self.threads.into_iter().for_each(threads::request);
        let color = match self.color {
            clap::ColorChoice::Auto => ColorChoice::Auto,
            clap::ColorChoice::Always => ColorChoice::Always,
            clap::ColorChoice::Never => ColorChoice::Never,
        };
        color.write_global();
        self.precision.into_iter().for_each(float_text::set_precision);
        let headers = self.http_header.iter().map(|header| {
            let (name, value) = header.split_once(':')?;
            Some((name.trim().to_owned(), value.trim().to_owned()))
        });
        let headers = headers.collect::<Option<_>>();
        let headers = headers.ok_or_else(|| CliError::usage("--http-header".as_ref(), EXPECTED));
        headers.map(remote::set_headers)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
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
    Npz(NpzArgs),
    Diff(diff::DiffArgs),
    Append(append::AppendArgs),
    Concat(concat::ConcatArgs),
    Recover(recover::RecoverArgs),
    Sample(sample::SampleArgs),
    Shuffle(shuffle::ShuffleArgs),
    Sort(sort::SortArgs),
    Unique(unique::UniqueArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

impl CliCommand {
    /// Runs the command.
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        match self {
            CliCommand::Info(info) => return Ok(info.run()?),
            CliCommand::Ls(ls) => return Ok(ls.run()?),
            CliCommand::Stats(stats) => return stats.run(),
            CliCommand::Diff(diff) => return diff.run(),
            CliCommand::Npz(npz) => return npz.run(),
            CliCommand::Head(head) => head.run(),
            CliCommand::Tail(tail) => tail.run(),
            CliCommand::Show(show) => show.run(),
            CliCommand::Get(get) => get.run(),
            CliCommand::Set(set) => set.run(),
            CliCommand::Header(header) => header.run(),
            CliCommand::Create(create) => create.run(),
            CliCommand::Convert(convert) => convert.run(),
            CliCommand::Append(append) => append.run(),
            CliCommand::Concat(concat) => concat.run(),
            CliCommand::Recover(recover) => recover.run(),
            CliCommand::Sample(sample) => sample.run(),
            CliCommand::Shuffle(shuffle) => shuffle.run(),
            CliCommand::Sort(sort) => sort.run(),
            CliCommand::Unique(unique) => unique.run(),
            CliCommand::Completions(completions) => completions.run(Cli::command()),
            CliCommand::Man(man) => man.run(Cli::command()),
        }
        .map(|()| ExitCode::SUCCESS)
    }

    /// The exit status of a command that failed. `diff` exits with 1 if the
    /// arrays differ, so its failures are 2, as in `cmp`.
    pub(crate) fn failure_code(&self, error: &CliError) -> ExitCode {
        match (self, error) {
            (CliCommand::Diff(_), _) | (_, CliError::Usage { .. }) => ExitCode::from(2),
            _ => ExitCode::FAILURE,
        }
    }
}

/// Pack, change, extract, verify and recover .npz archives.
///
/// This locks an archive and replaces it once the new archive is complete.
/// Unchanged members are copied without inflating them. Their dates and
/// comments will not be kept.
#[derive(Debug, Args)]
pub(crate) struct NpzArgs {
    #[command(subcommand)]
    command: NpzCommand,
}

#[derive(Debug, Subcommand)]
enum NpzCommand {
    Add(AddArgs),
    Rm(RemoveArgs),
    Mv(MoveArgs),
    Pack(PackArgs),
    Extract(ExtractArgs),
    Verify(VerifyArgs),
    Recover(RecoverArgs),
}

impl NpzArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        match &self.command {
            NpzCommand::Extract(extract) => return extract.run(),
            NpzCommand::Verify(verify) => return verify.run(),
            NpzCommand::Add(add) => add.run(),
            NpzCommand::Rm(remove) => remove.run(),
            NpzCommand::Mv(rename) => rename.run(),
            NpzCommand::Pack(pack) => pack.run(),
            NpzCommand::Recover(recover) => recover.run(),
        }
        .map(|()| ExitCode::SUCCESS)
    }
}

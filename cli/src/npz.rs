//! `npymap npz`: the commands about archives.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::error::CliError;
use crate::npz_add::AddArgs;
use crate::npz_extract::ExtractArgs;
use crate::npz_members::{MoveArgs, RemoveArgs};
use crate::npz_pack::PackArgs;
use crate::npz_recover::RecoverArgs;
use crate::npz_verify::VerifyArgs;

/// Packs, changes, extracts, verifies and recovers .npz archives.
///
/// Archives that are changed are locked, and replaced when the new one is
/// complete. Members that do not change are copied without inflating them;
/// their dates are not kept, and comments are left out.
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
            NpzCommand::Add(add) => add.run(),
            NpzCommand::Rm(remove) => remove.run(),
            NpzCommand::Mv(rename) => rename.run(),
            NpzCommand::Pack(pack) => pack.run(),
            NpzCommand::Extract(extract) => extract.run(),
            NpzCommand::Verify(verify) => verify.run(),
            NpzCommand::Recover(recover) => recover.run(),
        }
    }
}

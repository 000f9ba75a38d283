//! `npymap npz rm` and `npymap npz mv`: remove and rename members.

use std::path::PathBuf;

use clap::Args;

use crate::input::error::CliError;
use crate::input::url;
use crate::output::locking::WaitArgs;
use crate::output::npz_update;

/// The archive to change.
#[derive(Debug, Args)]
struct ArchiveArgs {
    #[command(flatten)]
    wait: WaitArgs,

    /// Print a JSON object
    #[arg(long)]
    json: bool,

    /// .npz file
    #[arg(value_parser = url::parser())]
    file: PathBuf,
}

/// Remove members of an archive.
///
/// If you name a member that does not exist, the archive stays the same.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap npz rm weights.npz optimizer/step
  npymap npz rm weights.npz layer1/w layer1/b

Exit status: 0 if all were removed, 1 if the archive is unchanged, 2 for a usage
error.")]
pub(crate) struct RemoveArgs {
    #[command(flatten)]
    archive: ArchiveArgs,

    /// Members, with or without .npy
    #[arg(value_name = "MEMBER", required = true)]
    members: Vec<String>,
}

/// Rename a member of an archive.
///
/// Its place, its compression and its bytes stay the same.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap npz mv weights.npz arr_0 layer3/w

Exit status: 0 if the member was renamed, 1 if it does not exist or the new name
is taken, 2 for a usage error.")]
pub(crate) struct MoveArgs {
    #[command(flatten)]
    archive: ArchiveArgs,

    /// Member, with or without .npy
    #[arg(value_name = "OLD")]
    old: String,

    /// Its new name, without .npy
    #[arg(value_name = "NEW")]
    new: String,
}

impl RemoveArgs {
    pub(crate) fn run(&self) -> Result<(), CliError> {
        let ArchiveArgs { wait, json, file } = &self.archive;
        let mut update = npz_update::begin(file, *wait)?;
        for member in &self.members {
            update.remove(member).map_err(CliError::Library)?;
        }
        update.commit().map_err(CliError::Library)?;
        npz_update::print(file, "removed", &self.members, *json)
    }
}

impl MoveArgs {
    pub(crate) fn run(&self) -> Result<(), CliError> {
        let ArchiveArgs { wait, json, file } = &self.archive;
        let mut update = npz_update::begin(file, *wait)?;
        update.rename(&self.old, &self.new).map_err(CliError::Library)?;
        update.commit().map_err(CliError::Library)?;
        npz_update::print(file, "renamed", std::slice::from_ref(&self.new), *json)
    }
}

//! `npymap npz add`: adds arrays to an archive.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::path::PathBuf;

use clap::Args;

use crate::input::array_path::ArrayPath;
use crate::input::error::CliError;
use crate::input::npz_inputs::MemberArgs;
use crate::input::url;
use crate::output::locking::WaitArgs;
use crate::output::npz_update;

/// Add arrays to an archive, or replace some of its members.
///
/// An IN is a .npy file, a directory of them, FILE[MEMBER], or all arrays of an
/// archive. Several arrays in one .npy file or stream are called `NAME_0`, `NAME_1`
/// and so on, after the file or --name. To replace existing members, give --overwrite. They keep their place, and
/// their compression unless you give --deflate.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap npz add weights.npz bias.npy
  npymap npz add weights.npz bias.npy --name layer1/b --overwrite
  npymap npz add weights.npz 'other.npz[scale]' --deflate

Exit status: 0 if all arrays were added, 1 if the archive is unchanged, 2 for a
usage error.")]
pub(crate) struct AddArgs {
    /// Replace members that have the same names
    #[arg(long)]
    overwrite: bool,

    #[command(flatten)]
    wait: WaitArgs,

    /// Print a JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    members: MemberArgs,

    /// .npz file
    #[arg(value_parser = url::parser())]
    file: PathBuf,

    /// Arrays to add
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<ArrayPath>,
}

impl AddArgs {
    pub(crate) fn run(&self) -> Result<(), CliError> {
        let files = self.members.files(&self.inputs, None)?;
        let inputs = files.arrays()?;
        let mut update = npz_update::begin(&self.file, self.wait)?;
        if self.members.deflate.is_some() {
            update.compression(self.members.compression());
        }
        let mut full_names = HashSet::new();
        for input in &inputs {
            let old = update.npz().member(&input.name).ok();
            if !self.overwrite && old.is_some() {
                let path = format!("{}[{}]", self.file.display(), input.name);
                return Err(CliError::exists(path));
            }
            let new = || format!("{}.npy", input.name);
            let full_name = old.map_or_else(new, |member| member.full_name().to_owned());
            if !full_names.insert(full_name.clone()) {
                let what = format!(
                    "the full name `{full_name}`, as an array before it: choose others with --name"
                );
                return Err(CliError::mismatch(&input.path, what));
            }
        }
        let mut changes: Vec<_> = inputs.iter().collect();
        // Names are looked up among members that were set before, too: after `x`, `x.npy`
        // would be taken for it.
        changes.sort_by_key(|input| Reverse(input.name.strip_suffix(".npy").map(str::len)));
        for input in changes {
            update.set_deferred(&input.name, &input.open).map_err(CliError::Library)?;
        }
        let new = update.write().map_err(CliError::Library)?;
        let members: Vec<String> = inputs.iter().map(|input| input.name.clone()).collect();
        // Windows doesn't replace an archive whose members are mapped.
        drop(inputs);
        files.close();
        new.commit_sync().map_err(CliError::Library)?;
        npz_update::print(&self.file, "added", &members, self.json)
    }
}

//! `npymap npz pack`: makes an archive of arrays.

use std::path::PathBuf;

use clap::Args;

use crate::input::array_path::ArrayPath;
use crate::input::error::CliError;
use crate::input::npz_inputs::MemberArgs;
use crate::input::stream;
use crate::input::url;
use crate::output::archive_output::{self, MemberOptions};
use crate::output::draft::Draft;
use crate::output::npz_update;
use crate::output::output_format;
use crate::output::overwrite::OverwriteArgs;

/// Make an archive of arrays, like NumPy's savez.
///
/// An IN is a .npy file, a directory of them, FILE[MEMBER], or all arrays of an
/// archive. The files of a directory are named by their paths in it, so `npymap
/// npz extract` restores the same files. Several arrays in one .npy file or stream
/// are called `NAME_0`, `NAME_1` and so on, after the file or --name.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap npz pack x.npy y.npy -o both.npz
  npymap npz pack layers -o weights.npz --deflate
  npymap npz pack 'run1.npz[loss]' 'run2.npz[loss]' --name loss1 --name loss2 -o losses.npz

Exit status: 0 if OUT was written, 1 if not, 2 for a usage error.")]
pub(crate) struct PackArgs {
    #[command(flatten)]
    replace: OverwriteArgs,

    /// Print a JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    members: MemberArgs,

    /// Arrays to pack
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<ArrayPath>,

    /// New .npz file, or - for standard output
    #[arg(short, long, value_name = "OUT", value_parser = url::parser())]
    output: PathBuf,
}

impl PackArgs {
    pub(crate) fn run(&self) -> Result<(), CliError> {
        output_format::require_npz(&self.output, self.json)?;
        // If the output replaces an input, that one is locked before it is read.
        let draft = Draft::begin(&self.output, self.replace)?;
        let files = self.members.files(&self.inputs, Some(&self.output))?;
        let arrays = files.arrays()?;
        let options = MemberOptions::of(self.members.compression());
        archive_output::write_npz(&draft, &arrays, &options)?;
        let members: Vec<String> = arrays.iter().map(|array| array.name.clone()).collect();
        // Windows does not replace a file that is mapped.
        drop(arrays);
        files.close();
        draft.commit()?;
        if !stream::is_output(&self.output) {
            npz_update::print(&self.output, "packed", &members, self.json)?;
        }
        Ok(())
    }
}

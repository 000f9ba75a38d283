//! Options of commands that may replace a file.

use clap::Args;

use crate::output::locking::WaitArgs;

/// Whether to replace an existing file, which is then locked until the new one replaces it.
/// What follows the elements of a `.npy` must not be lost, unless it may be dropped.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct OverwriteArgs {
    /// Replace an existing file
    #[arg(long)]
    pub(crate) overwrite: bool,

    /// With --overwrite, drop what follows the array in the old file. This is another
    /// array, or rows of a writer that died, which `npymap recover` would keep
    #[arg(long, requires = "overwrite")]
    pub(crate) discard_trailing: bool,

    #[command(flatten)]
    pub(crate) wait: WaitArgs,
}

//! Options of commands that may replace a file.

use clap::Args;

use crate::output::draft::IfExists;
use crate::output::locking::WaitArgs;

/// Whether to replace an existing file.
#[derive(Args, Clone, Copy, Debug)]
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

impl OverwriteArgs {
    /// How to treat an existing file.
    pub(crate) fn if_exists(self) -> IfExists {
        let OverwriteArgs { overwrite, discard_trailing, wait } = self;
        if overwrite { IfExists::Replace { wait, discard_trailing } } else { IfExists::Fail }
    }
}

//! Waits for other writers of a file.

use std::path::Path;

use clap::Args;
use npymap::{ErrorKind, source::Locking};

use crate::text;

/// Whether to wait while another process writes the file.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct WaitArgs {
    /// Fail immediately if another process is writing the file
    #[arg(long)]
    no_wait: bool,
}

impl WaitArgs {
    /// Runs something that locks the file at `path`. If others hold the lock,
    /// says so and waits for them, unless that is not wanted.
    pub(crate) fn locking<T>(
        self,
        path: &Path,
        lock: impl Fn(Locking) -> npymap::Result<T>,
    ) -> npymap::Result<T> {
        match lock(Locking::Try) {
            Err(error) if !self.no_wait && error.kind() == ErrorKind::Locked => {
                text::waiting(path);
                lock(Locking::Wait)
            }
            locked => locked,
        }
    }
}

//! Waiting for other writers of a file.

use std::path::Path;

use clap::Args;
use npymap::{
    ErrorKind,
    source::{FileLock, LockKind, Locking},
};

use crate::input::messages;
use crate::input::url::shown;

/// Whether to wait while another process writes the file.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct WaitArgs {
    /// Fail immediately if another process is writing the file
    #[arg(long)]
    pub(crate) no_wait: bool,
}

impl WaitArgs {
    /// Locks a file that is changed in place, if the system has locks.
    pub(crate) fn lock(self, path: &Path) -> npymap::Result<Option<FileLock>> {
        self.with_lock(path, |locking| FileLock::acquire(path, LockKind::Exclusive, locking))
    }

    /// Calls `lock`, which locks the file at `path`. If another process holds
    /// the lock, prints a note and waits, unless `--no-wait` was given.
    pub(crate) fn with_lock<T>(
        self,
        path: &Path,
        lock: impl Fn(Locking) -> npymap::Result<T>,
    ) -> npymap::Result<T> {
        match lock(Locking::Try) {
            Err(error) if !self.no_wait && error.kind() == ErrorKind::Locked => {
                let waiting = "waiting for another process that is writing it";
                messages::print_note(&format_args!("{}: {waiting}", shown(path)));
                lock(Locking::Wait)
            }
            locked => locked,
        }
    }
}

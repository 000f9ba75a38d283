//! What a signal finds half-made is removed before the program dies of it.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::NamedTempFile;

use crate::platform;

/// Files that have no final name yet.
static DRAFTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Set when there is a thread that waits for signals.
static WATCHED: AtomicBool = AtomicBool::new(false);

fn drafts() -> MutexGuard<'static, Vec<PathBuf>> {
    DRAFTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a file that goes when the program is interrupted.
pub(crate) fn guard(make: impl FnOnce() -> io::Result<NamedTempFile>) -> io::Result<NamedTempFile> {
    if !WATCHED.swap(true, Ordering::Relaxed) {
        watch()?;
    }
    let mut drafts = drafts();
    let new = make()?;
    drafts.push(new.path().to_owned());
    Ok(new)
}

/// Gives such a file its name, undisturbed.
pub(crate) fn release<T>(new: NamedTempFile, name: impl FnOnce(NamedTempFile) -> T) -> T {
    let mut drafts = drafts();
    let path = new.path().to_owned();
    let named = name(new);
    drafts.retain(|draft| *draft != path);
    named
}

/// Removes the drafts when a signal comes, and keeps others from being made or
/// named until it has ended the program.
fn watch() -> io::Result<()> {
    platform::on_interrupt(|| {
        let drafts = drafts();
        for draft in &*drafts {
            let _ = std::fs::remove_file(draft);
        }
        drafts
    })
}

//! What a signal finds half-made is removed before the program dies of it.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::NamedTempFile;

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

/// Waits for signals in a thread of its own.
#[cfg(unix)]
fn watch() -> io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            // Held to the end, so that no other file is made or named.
            let drafts = drafts();
            for draft in &*drafts {
                let _ = std::fs::remove_file(draft);
            }
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    })?;
    Ok(())
}

#[cfg(not(unix))]
fn watch() -> io::Result<()> {
    Ok(())
}

/// Has writes beyond the limit on the size of files fail, instead of the
/// signal for it end the program.
pub(crate) fn bear_size_limits() {
    #[cfg(unix)]
    {
        let seen = std::sync::Arc::default();
        // Without it the program ends as others do.
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, seen);
    }
}

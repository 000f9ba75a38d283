//! Removes unfinished files before a signal ends the program.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use npymap::source::AtomicFile;

use crate::input::platform;

/// Set once a thread waits for signals.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// Waits for signals in a thread. Call this before writing anything.
pub(crate) fn watch() -> io::Result<()> {
    if WATCHED.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    platform::on_interrupt(AtomicFile::remove_unfinished)
}

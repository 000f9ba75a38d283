//! Files without their final names are removed before a signal ends the
//! program.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use npymap::source::AtomicFile;

use crate::platform;

/// Set when there is a thread that waits for signals.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// Waits for signals in a thread. To be called before anything is written.
pub(crate) fn watch() -> io::Result<()> {
    if WATCHED.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    platform::on_interrupt(AtomicFile::remove_unfinished)
}

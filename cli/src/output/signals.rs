//! Removes unfinished files and uploads before a signal ends the program.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use npymap::source::AtomicFile;

use crate::input::{memory, platform, remote};

/// Set once a thread waits for signals.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// Waits for signals in a thread. Call this before writing anything.
pub(crate) fn watch() -> io::Result<()> {
    if WATCHED.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    memory::check_thread().map_err(io::Error::from)?;
    platform::on_interrupt(|is_again| {
        remote::end_upload(is_again);
        AtomicFile::remove_unfinished()
    })
}

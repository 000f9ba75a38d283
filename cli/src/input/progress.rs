//! A progress bar on standard error, on terminals only.

use crate::input::lengths::{to_u64, to_usize};
use std::io::{self, IsTerminal as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use npymap::npz::NpzOptions;

/// Work that takes less time shows no bar.
const PATIENCE: Duration = Duration::from_millis(500);

/// Bytes between two updates.
const STEP: u64 = 4 << 20;

/// The bars of all threads, one below the other.
static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// Whether rows are printed on a terminal, where a bar would be between them.
static IS_HIDDEN: AtomicBool = AtomicBool::new(false);

/// Shows no bars from now on if standard output, which gets rows, is a terminal.
pub(crate) fn hide_on_terminal() {
    if io::stdout().is_terminal() {
        IS_HIDDEN.store(true, Ordering::Relaxed);
    }
}

/// Progress through a number of bytes.
#[derive(Debug)]
pub(crate) struct Progress {
    started: Instant,
    /// `None` for a stream.
    total: Option<u64>,
    done: u64,
    updated: u64,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(crate) fn new(total: usize) -> Progress {
        Progress::start(Some(to_u64(total)))
    }

    /// Progress through a stream, whose length is unknown.
    pub(crate) fn of_stream() -> Progress {
        Progress::start(None)
    }

    fn start(total: Option<u64>) -> Progress {
        Progress { started: Instant::now(), total, done: 0, updated: 0, bar: None }
    }

    /// Counts bytes as done.
    pub(crate) fn add(&mut self, bytes: usize) {
        self.done += to_u64(bytes);
        if self.done - self.updated < STEP {
            return;
        }
        self.updated = self.done;
        if IS_HIDDEN.load(Ordering::Relaxed) {
            return;
        }
        if self.bar.is_none() && self.started.elapsed() >= PATIENCE {
            let bar = bar(self.total).with_position(self.done);
            self.bar = Some(bar.with_elapsed(self.started.elapsed()));
        } else if let Some(bar) = &self.bar {
            bar.set_position(self.done);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Shows the progress of each member that is inflated, copied or verified, one
/// member at a time.
pub(crate) fn show_members(options: NpzOptions) -> NpzOptions {
    let current: Mutex<Option<(String, Progress)>> = Mutex::new(None);
    options.progress(move |unpacked| {
        let mut current = current.lock().unwrap_or_else(PoisonError::into_inner);
        let same = current.take().filter(|(member, progress)| {
            member == unpacked.member && progress.done < unpacked.done
        });
        let (member, mut progress) = same.unwrap_or_else(|| {
            let total = to_usize(unpacked.size);
            (unpacked.member.to_owned(), Progress::new(total))
        });
        progress.add(to_usize(unpacked.done - progress.done));
        if unpacked.done < unpacked.size {
            *current = Some((member, progress));
        }
    })
}

/// A bar that is hidden unless standard error is a terminal.
fn bar(total: Option<u64>) -> ProgressBar {
    let bar = total.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    let template = if total.is_some() {
        "{bar:40.cyan} {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec}, {eta} left"
    } else {
        "{spinner:.cyan} {binary_bytes} read, {binary_bytes_per_sec}"
    };
    let bar = match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    };
    BARS.add(bar)
}

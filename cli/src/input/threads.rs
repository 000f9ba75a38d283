//! `--threads`: on how many threads a command works.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::input::memory;

/// Zero if there was no request.
static REQUESTED: AtomicUsize = AtomicUsize::new(0);

/// Sets the number of threads.
pub(crate) fn request(count: u16) {
    REQUESTED.store(count.into(), Ordering::Relaxed);
}

/// The number of threads: that of processors unless another is requested; one if address
/// space is limited, because the C library reserves 64 MiB of it for each thread.
pub(crate) fn count() -> usize {
    match REQUESTED.load(Ordering::Relaxed) {
        0 if memory::is_limited() => 1,
        0 => thread::available_parallelism().map_or(1, NonZero::get),
        requested => requested,
    }
}

/// The number of threads for work that only computes: at most one for each processor, because
/// each needs memory.
pub(crate) fn computing() -> usize {
    count().min(thread::available_parallelism().map_or(1, NonZero::get))
}

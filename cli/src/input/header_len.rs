//! `--max-header-len`: how many characters the header of a `.npy` may have.

use std::sync::atomic::{AtomicUsize, Ordering};

use npymap::OpenOptions;
use npymap::npy::MAX_HEADER_LEN;

static MAX: AtomicUsize = AtomicUsize::new(MAX_HEADER_LEN);

pub(crate) fn set_max(len: usize) {
    MAX.store(len, Ordering::Relaxed);
}

pub(crate) fn max() -> usize {
    MAX.load(Ordering::Relaxed)
}

/// The options with which `.npy` files are opened.
pub(crate) fn options() -> OpenOptions {
    OpenOptions::new().max_header_len(max())
}

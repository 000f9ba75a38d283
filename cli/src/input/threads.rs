//! `--threads`: on how many threads a command works.

use std::num::NonZero;
use std::thread;

use clap::Args;

use crate::input::memory;

/// The number of threads.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ThreadArgs {
    /// Number of threads [default: one per CPU]. This does not affect the
    /// output
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

impl ThreadArgs {
    /// The number of threads to use.
    pub(crate) fn count(self) -> NonZero<usize> {
        let requested = self.threads.and_then(|threads| NonZero::new(usize::from(threads)));
        requested.unwrap_or_else(processors)
    }
}

/// The number of processors; one if address space is limited, because the C library
/// reserves 64 MiB of it for each thread.
pub(crate) fn processors() -> NonZero<usize> {
    if memory::is_limited() {
        return NonZero::<usize>::MIN;
    }
    thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN)
}

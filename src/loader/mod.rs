//! Rows in random order: read as fast as the disk gives them.

mod array_file;
mod batches;
mod gather;
mod mapped;
#[cfg(all(test, target_pointer_width = "64"))]
#[allow(clippy::duplicate_mod, clippy::unwrap_used, reason = "the same code with other locks")]
mod model;
mod order;
mod permutation;
mod pipeline;
mod ragged;
mod ragged_append;
mod row_source;
mod rows;
mod sampler;
mod stack;
mod stacked;
mod strategy;
mod windows;

/// What the pipeline waits by.
mod sync {
    pub(super) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
}

pub use array_file::FileWindows;
pub use batches::{Batch, BatchError, BatchOptions, Batches};
pub use ragged::Ragged;
pub use ragged_append::RaggedAppender;
pub use row_source::RowSource;
pub use rows::Rows;
pub use sampler::{Sampler, SamplerState, Share, Tail};
pub use stacked::Stacked;

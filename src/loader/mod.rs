//! Random access to rows, at the speed of the disk.

mod ahead;
mod array_rows;
mod batch;
mod batches;
mod block_order;
mod concat;
mod decode;
mod field_rows;
mod file_rows;
mod gather;
mod index_batch;
mod loading;
#[cfg(all(test, target_pointer_width = "64"))]
#[allow(clippy::duplicate_mod, clippy::unwrap_used, reason = "the same code with loom's locks")]
mod model;
mod near_ranges;
mod order;
mod pace;
mod padded;
mod permutation;
mod pipeline;
mod ragged;
mod ragged_append;
mod ragged_bytes;
mod ragged_open;
mod row_source;
mod rows;
mod sampler;
mod shard;
mod stack;
mod windows;

/// The locks of the pipeline. The model test replaces them.
mod sync {
    pub(super) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
}

pub use crate::source::planner::ReadStrategy;
pub use batch::{Batch, BatchError};
pub use batches::{BatchOptions, Batches};
pub use concat::Concat;
pub use field_rows::FieldRows;
pub use index_batch::{BatchIndices, IndexBatch, IndexBatches};
pub use loading::{Column, Columns, Loader};
pub use padded::Padded;
pub use ragged::Ragged;
pub use ragged_append::RaggedAppender;
pub use row_source::RowSource;
pub use rows::Rows;
pub use sampler::Sampler;
pub use shard::{SamplerState, Shard, Tail};
pub use windows::Windows;

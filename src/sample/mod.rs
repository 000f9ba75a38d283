//! Rows in random order: read as fast as the disk gives them.

mod index;
mod order;
mod permutation;
mod rows;
mod sampler;
mod strategy;
mod windows;

pub(crate) use index::resolve;
pub use index::{RowIndex, TakeMode};
pub use rows::Rows;
pub use sampler::{Sampler, SamplerState, Shard, Tail};

//! Whole arrays: read into memory and written from it, without maps.

mod read;
mod write;

pub use read::{read_npy, read_npy_from};
pub use write::{WriteOptions, write_npy, write_npy_to};

/// What is encoded or decoded at once: it stays in the cache, and calls of the
/// system are few.
const BLOCK: usize = 64 * 1024;

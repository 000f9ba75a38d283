//! Reading complete arrays into ndarray and writing them from it, without maps.

mod read;
mod write;

#[cfg(feature = "npz")]
pub(crate) use read::{Length, read_place};
pub use read::{read_npy, read_npy_as, read_npy_from};
pub use write::{WriteOptions, write_npy, write_npy_to};

/// The number of bytes encoded or decoded at a time: few enough to stay in the
/// processor's cache, enough to make few system calls.
const BLOCK: usize = 64 * 1024;

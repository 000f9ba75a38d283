//! Writing arrays to files: complete, or row by row.

pub(crate) mod append;
mod options;
pub(crate) mod read;
pub(crate) mod save;

pub use append::{Appender, RecoverOptions, Recovery, resize};
pub use options::WriteOptions;
pub use save::{Save, WithDType};

/// The number of bytes encoded or decoded at a time: few enough to stay in the
/// processor's cache, enough to make few system calls.
pub(crate) const BLOCK: usize = 64 * 1024;

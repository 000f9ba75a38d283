//! Arrays written to files: whole, or row by row.

pub(crate) mod append;
pub(crate) mod whole;

pub use append::{Appender, RecoverOptions, Recovery, recover, resize};
pub use whole::{WriteOptions, read_npy, read_npy_from, write_npy, write_npy_to};

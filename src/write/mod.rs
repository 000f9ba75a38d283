//! Writing arrays to files: complete ndarray arrays, or row by row.

pub(crate) mod append;
pub(crate) mod ndarray_io;

pub use append::{Appender, RecoverOptions, Recovery, recover, resize};
pub use ndarray_io::{WriteOptions, read_npy, read_npy_as, read_npy_from, write_npy, write_npy_to};

//! Writing arrays to files: complete, in parts, or row by row.

pub(crate) mod append;
pub(crate) mod ndarray_io;
mod npy_writer;

pub use append::{Appender, RecoverOptions, Recovery, recover, resize};
pub use ndarray_io::{WriteOptions, read_npy, read_npy_as, read_npy_from, write_npy, write_npy_to};
pub use npy_writer::NpyWriter;

//! Opens and makes arrays by map: all that is `unsafe` in the program.
//!
//! What maps ask for no program can check, so it is said to who runs it, in
//! the help text: nobody may truncate or change a file while it is at work.
#![allow(unsafe_code)]

use std::fs::File;
use std::path::Path;

use npymap::{CreateOptions, DType, MappedArray, MappedArrayMut, OpenOptions, Result};

/// Maps a file read-only.
pub(crate) fn read(path: &Path, options: &OpenOptions) -> Result<MappedArray> {
    // SAFETY: the program's help asks that nobody truncates or changes the file meanwhile.
    unsafe { options.open(path) }
}

/// Maps a file read-write.
pub(crate) fn write(path: &Path, options: &OpenOptions) -> Result<MappedArrayMut> {
    // SAFETY: the program's help asks that nobody truncates or changes the file meanwhile.
    unsafe { options.open_mut(path) }
}

/// Maps an open file read-only.
pub(crate) fn read_file(file: &File, options: &OpenOptions) -> Result<MappedArray> {
    // SAFETY: the program's help asks that nobody truncates or changes the file meanwhile.
    unsafe { options.open_file(file) }
}

/// Maps an open file read-write.
pub(crate) fn write_file(file: &File, options: &OpenOptions) -> Result<MappedArrayMut> {
    // SAFETY: the program's help asks that nobody truncates or changes the file meanwhile.
    unsafe { options.open_mut_file(file) }
}

/// Makes an array of zeros in an empty file and maps it read-write.
pub(crate) fn create(
    file: &File,
    dtype: &DType,
    shape: &[usize],
    options: &CreateOptions,
) -> Result<MappedArrayMut> {
    // SAFETY: the file is new, under a name made for it, and the program's help asks to leave files alone meanwhile.
    unsafe { MappedArray::create_file(file, dtype, shape, options) }
}

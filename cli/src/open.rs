//! Opens arrays by map: all that is `unsafe` in the program.
//!
//! What maps ask for no program can check, so it is said to who runs it, in
//! the help text: nobody may truncate or change a file while it is at work.
#![allow(unsafe_code)]

use std::path::Path;

use npymap::{MappedArray, OpenOptions, Result};

/// Maps a file read-only.
pub(crate) fn read(path: &Path, options: &OpenOptions) -> Result<MappedArray> {
    // SAFETY: the program's help asks that nobody truncates or changes the file meanwhile.
    unsafe { options.open(path) }
}

//! The file of an archive that gets its name when it is whole.

use std::fs::File;
use std::io::{self, Seek as _, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::invariant::Invariant;
use crate::source::atomic::AtomicFile;

/// A file that gets its name when its archive is finished.
#[derive(Debug)]
pub struct NpzFile {
    pub(super) target: Arc<OutputFile>,
    pub(super) new: AtomicFile,
}

/// Where an archive is written.
#[derive(Debug)]
pub(super) struct OutputFile {
    pub(super) file: File,
    /// Zeros are written, where there is room that is zero already.
    pub(super) skips: AtomicBool,
}

impl Write for NpzFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = &self.target.file;
        if self.target.skips.load(Ordering::Relaxed) {
            file.seek_relative(
                i64::try_from(bytes.len()).invariant("slices have at most `isize::MAX` bytes"),
            )?;
            return Ok(bytes.len());
        }
        file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

//! Sorted runs of records in temporary files without names.

use std::fs::File;
use std::ops::Range;
use std::path::Path;

use npymap::{Result, source::ReadAt};

use crate::input::platform;

/// A file of sorted runs, one after another.
pub(super) struct RunFile(File);

/// A run: a range of bytes of the file.
pub(super) type Run = Range<u64>;

impl RunFile {
    /// Creates a file that nobody can see, and that vanishes with the program.
    pub(super) fn create(directory: Option<&Path>) -> Result<RunFile> {
        let file = match directory {
            Some(directory) => tempfile::tempfile_in(directory),
            None => tempfile::tempfile(),
        };
        Ok(RunFile(file?))
    }

    pub(super) fn write(&self, bytes: &[u8], offset: u64) -> Result<()> {
        Ok(platform::write_all_at(&self.0, bytes, offset)?)
    }

    /// Reads bytes that have been written.
    pub(super) fn read(&self, bytes: &mut [u8], offset: u64) -> Result<()> {
        let end = offset + u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        Ok(self.0.read_ranges_at(std::slice::from_ref(&(offset..end)), bytes)?)
    }
}

//! Sorted runs of records in temporary files without names.

use std::fs::File;
use std::ops::Range;
use std::path::Path;

use npymap::{Result, source::ReadAt};

use crate::input::lengths::{to_u64, to_usize};
use crate::input::platform;

/// A file of consecutive sorted runs.
pub(super) struct RunFile(File);

/// A run, as a byte range in the file.
pub(super) type Run = Range<u64>;

/// Runs in a file, with the size of their records.
#[derive(Clone, Copy)]
pub(super) struct Runs<'a> {
    pub(super) file: &'a RunFile,
    pub(super) size: usize,
    pub(super) ranges: &'a [Run],
}

impl RunFile {
    /// Creates a file without a name, which vanishes with the process.
    pub(super) fn create(directory: &Path) -> Result<RunFile> {
        Ok(RunFile(tempfile::tempfile_in(directory)?))
    }

    pub(super) fn write(&self, bytes: &[u8], offset: u64) -> Result<()> {
        Ok(platform::write_all_at(&self.0, bytes, offset)?)
    }

    /// Reads the next block of a run, of at most `room` bytes.
    pub(super) fn read_next(&self, left: &mut Run, room: usize, bytes: &mut Vec<u8>) -> Result<()> {
        bytes.resize(to_usize(left.end - left.start).min(room), 0);
        self.read(bytes, left.start)?;
        left.start += to_u64(bytes.len());
        Ok(())
    }

    /// Reads bytes written before.
    pub(super) fn read(&self, bytes: &mut [u8], offset: u64) -> Result<()> {
        let end = offset + to_u64(bytes.len());
        Ok(self.0.read_ranges_at(std::slice::from_ref(&(offset..end)), bytes)?)
    }
}

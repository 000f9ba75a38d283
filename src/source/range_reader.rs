//! A reader over a range of a storage.

use std::io::{self, Read, Seek, SeekFrom};

use crate::error::invariant::to_u64;
use crate::error::{Error, ExtentError};
use crate::source::storage::Storage;

impl Storage {
    /// Returns a reader over the bytes from `start` to `end`.
    #[inline]
    pub(crate) fn range_reader(&self, start: u64, end: u64) -> RangeReader<'_> {
        RangeReader { source: self, start, at: start, end }
    }
}

/// Reads a range of a storage. It is an error if the storage ends before the range does.
/// Positions count from the start of the range.
#[derive(Debug)]
pub(crate) struct RangeReader<'a> {
    source: &'a Storage,
    start: u64,
    at: u64,
    end: u64,
}

impl Read for RangeReader<'_> {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read_part(&(0..self.end), buffer, self.at)?;
        if n == 0 && self.at < self.end && !buffer.is_empty() {
            let error = ExtentError::ShortFile { needed: self.end, found: self.at };
            return Err(Error::from(error).into());
        }
        self.at += to_u64(n);
        Ok(n)
    }
}

impl Seek for RangeReader<'_> {
    #[inline]
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(n) => self.start.checked_add(n),
            SeekFrom::Current(n) => self.at.checked_add_signed(n),
            SeekFrom::End(n) => self.end.checked_add_signed(n),
        };
        let at = at.filter(|&at| at >= self.start).ok_or(io::ErrorKind::InvalidInput)?;
        self.at = at;
        Ok(at - self.start)
    }
}

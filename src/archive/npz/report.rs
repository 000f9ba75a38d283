//! Reports of how much of a member has been copied or written.

use std::io::{self, Read, Write};

use super::open::{MemberProgress, ProgressCallback};
use super::reader::STEP;
use crate::error::invariant::to_u64;

/// Reads or writes a member and reports it.
pub(super) struct Reported<'a, T> {
    inner: T,
    progress: &'a ProgressCallback,
    member: &'a str,
    /// In bytes.
    size: u64,
    done: u64,
}

impl<'a, T> Reported<'a, T> {
    pub(super) fn new(
        inner: T,
        progress: &'a ProgressCallback,
        member: &'a str,
        size: u64,
    ) -> Reported<'a, T> {
        Reported { inner, progress, member, size, done: 0 }
    }

    fn add(&mut self, count: usize) {
        self.done += to_u64(count);
        let Reported { progress, member, size, done, .. } = *self;
        progress.report(MemberProgress { member, done, size });
    }
}

impl<T: Read> Read for Reported<'_, T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.add(count);
        Ok(count)
    }
}

impl<T: Write> Write for Reported<'_, T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes.get(..STEP).unwrap_or(bytes))?;
        self.add(count);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

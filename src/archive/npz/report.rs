//! Reports of how much of a member has been copied or written.

use std::io::{self, Read, Write};

use super::open::{MemberProgress, ProgressCallback};
use super::reader::STEP;
use crate::error::Result;
use crate::error::invariant::to_u64;
use crate::layout::Order;
use crate::npy::Header;
use crate::write::Save;
use crate::write::save::sealed;

/// A member and the name to report it under.
#[derive(Clone, Copy)]
pub(super) struct Report<'a> {
    pub(super) member: &'a str,
    /// In bytes.
    pub(super) size: u64,
    pub(super) progress: &'a ProgressCallback,
}

/// Reads or writes a member and reports it.
pub(super) struct Reported<'a, T> {
    inner: T,
    report: Report<'a>,
    done: u64,
}

impl<'a, T> Reported<'a, T> {
    #[inline]
    pub(super) fn new(inner: T, report: Report<'a>) -> Reported<'a, T> {
        Reported { inner, report, done: 0 }
    }

    #[inline]
    fn add(&mut self, count: usize) {
        self.done += to_u64(count);
        let Report { member, size, progress } = self.report;
        progress.report(MemberProgress { member, done: self.done, size });
    }
}

impl<T: Read> Read for Reported<'_, T> {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.add(count);
        Ok(count)
    }
}

impl<T: Write> Write for Reported<'_, T> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes.get(..STEP).unwrap_or(bytes))?;
        self.add(count);
        Ok(count)
    }

    #[inline]
    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// An array that is reported while its elements are written.
pub(super) struct ReportedArray<'a> {
    pub(super) array: &'a dyn Save,
    pub(super) report: Report<'a>,
}

impl Save for ReportedArray<'_> {}

impl sealed::Save for ReportedArray<'_> {
    #[inline]
    fn header(&self) -> Result<Header> {
        self.array.header()
    }

    #[inline]
    fn write_elements(&self, order: Order, to: &mut dyn Write) -> Result<()> {
        self.array.write_elements(order, &mut Reported::new(to, self.report))
    }
}

//! The place of an array in a file, from its header or a [`RawSpec`].

use std::fs::File;
use std::thread;
use std::time::Duration;

use super::{OpenOptions, RawSpec};
use crate::dtype::literal::tuple;
use crate::error::invariant::{IN_BUFFER, Invariant, READ, to_u64, to_usize_saturating};
use crate::error::{
    Error, ErrorDetail, ExtentError, HeaderError, IoContext as _, RequestError, Result, ShapeError,
};
use crate::layout::{Layout, Order};
use crate::npy::{Header, MAGIC, Preamble};
use crate::source::Source;
use crate::source::mode::Mode;
use crate::source::storage::{self, ReadAt, Storage};

/// Enough for any header without many fields.
const FIRST_READ: usize = 1024;
const FIRST_READ_END: u64 = 1024;

/// How often a file is read again.
const RETRIES: usize = 2;

/// The time to wait for a header that is being written, which takes one call and
/// a few bytes.
const PAUSE: Duration = Duration::from_micros(200);

/// A file modified more recently than this may be mid-append. This exceeds the
/// timestamp granularity of every file system.
const RECENT: Duration = Duration::from_secs(2);

/// The facts about an array in a file.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The layout of the elements, at offset 0 unless the array is inside a larger
    /// buffer.
    pub(crate) layout: Layout,
    /// The offset of the first element in the file.
    pub(crate) offset: u64,
    pub(crate) order: Order,
    /// `None` for files without a header, and parts of an array.
    pub(crate) header: Option<Header>,
}

impl Place {
    /// The place of an array with its header at `at`.
    #[inline]
    pub(crate) fn from_header(header: Header, at: u64) -> Result<Place> {
        let layout = header.layout().map_err(Error::treat_as_damage)?.with_offset(0);
        let offset = u64::try_from(header.data_offset).ok().and_then(|own| at.checked_add(own));
        let offset = offset.ok_or_else(|| too_large(&layout).treat_as_damage())?;
        Ok(Place { layout, offset, order: header.order, header: Some(header) })
    }

    /// The place in a file of an array in a member that starts at `start`.
    #[cfg(any(feature = "npz", feature = "tar"))]
    #[inline]
    pub(crate) fn moved_by(mut self, start: u64) -> Place {
        self.offset += start;
        if let Some(header) = &mut self.header {
            header.data_offset = to_usize_saturating(self.offset);
        }
        self
    }

    /// The end of the last element in the file.
    #[inline]
    pub(crate) fn end(&self) -> Result<u64> {
        let end = self.offset.checked_add(to_u64(self.layout.nbytes()));
        end.ok_or_else(|| too_large(&self.layout))
    }

    /// Checks that a file of `len` bytes contains all elements.
    #[inline]
    pub(crate) fn check_inside(&self, len: u64) -> Result<()> {
        let (needed, found) = (self.end()?, len);
        if needed <= found { Ok(()) } else { Err(ExtentError::ShortFile { needed, found }.into()) }
    }
}

#[inline]
fn too_large(layout: &Layout) -> Error {
    let (shape, itemsize) = (tuple(layout.shape()), layout.dtype().itemsize());
    ShapeError::Size { shape, itemsize }.into()
}

impl OpenOptions {
    /// Finds the array of a source and checks that all its elements exist. A
    /// writable file that is too short for a raw array is extended.
    pub(super) fn place_in_source<D>(&self, source: &Source<D>) -> Result<Place> {
        let storage = source.storage();
        match &self.raw {
            Some(raw) if raw.grows && source.mode() == Some(Mode::ReadWrite) => {
                self.extend_for(raw, storage)
            }
            _ => self.place(storage),
        }
    }

    /// Finds an array and checks that all its elements exist.
    pub(crate) fn place(&self, storage: &Storage) -> Result<Place> {
        let len = storage.len();
        let place = match &self.raw {
            // As `numpy.memmap`; but what a description says was mapped before.
            Some(raw) if len == 0 && raw.grows => Err(ExtentError::Empty.into()),
            Some(raw) => {
                let place = raw.place(self.offset, len);
                let place = place.and_then(|place| place.check_inside(len).map(|()| place));
                place.map_err(|error| {
                    let is_npy = raw.offset == 0 && is_npy(storage, self.offset);
                    if is_npy { ExtentError::NotRaw.into() } else { error }
                })
            }
            None => retry_on_append(storage, |len| {
                let mut place = self.header_place(storage, len)?;
                let is_followed = place.end().is_ok_and(|end| end < len);
                if is_followed && storage.file().is_some_and(is_recent) {
                    // As during an append: part of a header that gets one more digit can be
                    // that of an array with fewer axes, or a shorter one.
                    thread::sleep(PAUSE);
                    place = self.header_place(storage, len)?;
                }
                // The rows may be there since the length was queried.
                place.check_inside(len).or_else(|_| place.check_inside(storage.current_len()?))?;
                Ok(place)
            }),
        };
        place.map_err(|error| error.with_offset(self.offset))
    }

    /// Reads the header, and finds the array.
    #[inline]
    fn header_place(&self, storage: &Storage, len: u64) -> Result<Place> {
        Place::from_header(self.read_header(storage, len)?, self.offset)
    }

    /// Reads the header and checks that all elements exist.
    #[inline]
    pub(super) fn checked_header(&self, storage: &Storage) -> Result<Header> {
        self.expect_header()?;
        Ok(self.place(storage)?.header.invariant("only raw binary has no header"))
    }

    /// Rejects options for raw binary, which has no header.
    #[inline]
    pub(crate) fn expect_header(&self) -> Result<()> {
        if self.raw.is_none() {
            return Ok(());
        }
        let expected = "options without `raw`; `open` checks raw binary";
        Err(RequestError::Call { found: "raw binary has no header", expected }.into())
    }

    /// Finds a raw array, and extends the file to contain it.
    #[inline]
    fn extend_for(&self, raw: &RawSpec, storage: &Storage) -> Result<Place> {
        let len = storage.len();
        let place = raw.place(self.offset, len).map_err(|error| error.with_offset(self.offset))?;
        let end = place.end()?;
        if end > len && place.layout.nbytes() > 0 {
            storage.extend(end)?;
        }
        Ok(place)
    }

    /// Reads the header with one system call, or two if it is long.
    pub(crate) fn read_header(&self, from: &(impl ReadAt + ?Sized), len: u64) -> Result<Header> {
        let mut first = [0; FIRST_READ];
        let filled = read_at(from, &mut first, self.offset)?;
        let start = first.get(..filled).invariant(READ);
        let preamble = Preamble::parse(start)?;
        let end = to_usize_saturating(preamble.data_offset());
        if end <= filled || filled < FIRST_READ || preamble.exceeds(self.max_header_len) {
            return Header::parse_after(preamble, start, self.max_header_len);
        }
        let mut bytes = start.to_vec();
        // The file may have become longer since its length was queried.
        let next = self.offset + FIRST_READ_END;
        let available = to_usize_saturating(len.max(next) - self.offset);
        bytes.resize(end.min(available), 0);
        let rest = bytes.get_mut(FIRST_READ..).invariant(IN_BUFFER);
        let found = FIRST_READ + read_at(from, rest, next)?;
        Header::parse_after(preamble, bytes.get(..found).invariant(READ), self.max_header_len)
    }
}

/// Returns whether a `.npy` starts at an offset.
#[cold]
fn is_npy(storage: &Storage, offset: u64) -> bool {
    let mut start = [0; MAGIC.len()];
    storage.read_at(&mut start, offset).is_ok_and(|found| found == start.len()) && start == MAGIC
}

/// Returns whether a file was written a moment ago, or may have been.
#[inline]
fn is_recent(file: &File) -> bool {
    let written = file.metadata().and_then(|metadata| metadata.modified());
    // The clock of a server may be ahead.
    written.map_or(true, |time| time.elapsed().map_or(true, |age| age < RECENT))
}

/// Calls `read` with the length of the storage, and calls it again after an error
/// that a concurrent append can cause.
///
/// An appender writes rows first and then the header, which may be partly written: its
/// number of rows can then be any.
fn retry_on_append<T>(storage: &Storage, read: impl Fn(u64) -> Result<T>) -> Result<T> {
    if storage.file().is_none() {
        return read(storage.len()); // Appenders write to files.
    }
    retry(storage.len(), || storage.current_len(), || thread::sleep(PAUSE), read)
}

/// Like [`retry_on_append`], with functions that query the length and wait.
fn retry<T>(
    mut len: u64,
    query_len: impl Fn() -> Result<u64>,
    wait: impl Fn(),
    read: impl Fn(u64) -> Result<T>,
) -> Result<T> {
    let mut left = RETRIES;
    loop {
        let error = match read(len) {
            Err(error) if left > 0 => error,
            found => return found,
        };
        left -= 1;
        match error.detail() {
            ErrorDetail::Extent(ExtentError::ShortFile { .. })
            | ErrorDetail::Header(
                HeaderError::Syntax { .. } | HeaderError::Value { .. } | HeaderError::Keys { .. },
            ) => {
                wait();
                len = query_len()?;
            }
            _ => return Err(error),
        }
    }
}

/// Reads part of the header.
fn read_at(from: &(impl ReadAt + ?Sized), buffer: &mut [u8], offset: u64) -> Result<usize> {
    storage::read_full_at(from, buffer, offset).context("read the header")
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Returns the number of reads and of waits when every read fails with this
    /// error.
    fn count_attempts(error: impl Fn() -> Error) -> (usize, usize) {
        let (reads, waits) = (Cell::new(0), Cell::new(0));
        let failed = retry::<()>(
            100,
            || Ok(100),
            || waits.set(waits.get() + 1),
            |_| {
                reads.set(reads.get() + 1);
                Err(error())
            },
        );
        assert!(failed.is_err());
        (reads.get(), waits.get())
    }

    fn short_file() -> Error {
        ExtentError::ShortFile { needed: 200, found: 100 }.into()
    }

    #[test]
    fn only_errors_that_an_append_can_cause_are_retried() {
        assert_eq!(count_attempts(short_file), (RETRIES + 1, RETRIES));
        assert_eq!(count_attempts(|| HeaderError::Magic { found: Vec::new() }.into()), (1, 0));
        assert_eq!(count_attempts(|| ExtentError::Empty.into()), (1, 0));
        let half_written = b"\x93NUMPY\x01\x00\x04\x00{'a\n";
        let (reads, waits) = (Cell::new(0), Cell::new(0));
        let found = retry(
            100,
            || Ok(100),
            || waits.set(waits.get() + 1),
            |_| {
                reads.set(reads.get() + 1);
                if reads.get() <= RETRIES { Header::parse(half_written).map(drop) } else { Ok(()) }
            },
        );
        assert!(found.is_ok());
        assert_eq!((reads.get(), waits.get()), (RETRIES + 1, RETRIES));
    }
}

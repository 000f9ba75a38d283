//! Writes one member of an archive: its bytes are counted, and their CRC-32 is
//! taken on the way.

use std::io::{self, BufWriter, Write};

use flate2::Crc;
use flate2::write::DeflateEncoder;
use rawzip::{DataDescriptorOutput, ZipEntryWriter};

use crate::error::invariant::{IN_BUFFER, Invariant, WRITTEN, to_u64, to_usize_saturating};
use crate::error::{ArchiveError, Error, HeaderError, Result, SystemError};

/// Zeros that are skipped at once.
const SKIP: usize = 1 << 20;

/// How members are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// As they are, so that they can be used in place: `numpy.savez`.
    #[default]
    Stored,
    /// Deflated, at a level from 0 to 9: `numpy.savez_compressed`, which takes
    /// level 6.
    Deflated(u32),
}

/// What can be done with an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriterState {
    /// A member may be begun.
    Ready,
    /// A member was begun and not finished.
    InMember,
}

/// A member that is being written. Dropping it without
/// [`finish`](MemberWriter::finish) leaves an archive that can't be finished.
#[derive(Debug)]
pub struct MemberWriter<'a, W: Write> {
    to: MemberOutput<'a, W>,
    crc: Crc,
    size: u64,
    /// Bytes that are still to be written.
    left: u64,
    is_counted: bool,
    state: &'a mut WriterState,
}

#[derive(Debug)]
enum MemberOutput<'a, W: Write> {
    Stored(ZipEntryWriter<'a, BufWriter<W>>),
    Deflated(DeflateEncoder<ZipEntryWriter<'a, BufWriter<W>>>),
}

impl<W: Write> MemberWriter<'_, W> {
    /// Begins the elements behind the entry's header; with `len`, so many bytes
    /// are to follow.
    pub(super) fn new<'a>(
        entry: ZipEntryWriter<'a, BufWriter<W>>,
        compression: Compression,
        len: Option<u64>,
        state: &'a mut WriterState,
    ) -> MemberWriter<'a, W> {
        let to = match compression {
            Compression::Stored => MemberOutput::Stored(entry),
            Compression::Deflated(level) => {
                let level = flate2::Compression::new(level.min(9));
                MemberOutput::Deflated(DeflateEncoder::new(entry, level))
            }
        };
        let left = len.unwrap_or(u64::MAX);
        MemberWriter { to, crc: Crc::new(), size: 0, left, is_counted: len.is_some(), state }
    }

    /// Finishes the member.
    ///
    /// # Errors
    ///
    /// [`Truncated`](crate::ErrorKind::Truncated) when elements are missing,
    /// [`Io`](crate::ErrorKind::Io).
    pub fn finish(self) -> Result<()> {
        if self.is_counted && self.left > 0 {
            let found = to_usize_saturating(self.size);
            let needed = to_usize_saturating(self.size + self.left);
            return Err(HeaderError::Eof { what: "member", needed, found }.into());
        }
        let entry = match self.to {
            MemberOutput::Stored(entry) => entry,
            MemberOutput::Deflated(encoder) => encoder.finish().map_err(write_error())?,
        };
        entry.finish(DataDescriptorOutput::new(self.crc.sum(), self.size)).map_err(zip_error)?;
        *self.state = WriterState::Ready;
        Ok(())
    }

    /// Counts all bytes that are still to be written, as zeros. Their CRC-32
    /// is not taken.
    pub(super) fn skip(&mut self) -> io::Result<()> {
        let zeros = vec![0; SKIP];
        while self.left > 0 {
            let len = usize::try_from(self.left).unwrap_or(SKIP).min(SKIP);
            let n = match &mut self.to {
                MemberOutput::Stored(entry) => {
                    entry.write(zeros.get(..len).invariant(IN_BUFFER))?
                }
                MemberOutput::Deflated(encoder) => {
                    encoder.write(zeros.get(..len).invariant(IN_BUFFER))?
                }
            };
            let n = to_u64(n.min(len));
            self.size += n;
            self.left -= n;
        }
        self.flush()
    }

    /// Takes the CRC-32 of these bytes for that of all that was written.
    pub(super) fn checksum_of(&mut self, parts: &[&[u8]]) {
        self.crc = Crc::new();
        for part in parts {
            self.crc.update(part);
        }
    }

    /// Bytes that are still to be written.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// Where the next byte of a stored member goes.
    pub(super) fn position(&self) -> u64 {
        match &self.to {
            MemberOutput::Stored(entry) => entry.stream_offset(),
            MemberOutput::Deflated(encoder) => encoder.get_ref().stream_offset(),
        }
    }
}

impl<W: Write> Write for MemberWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = to_usize_saturating(self.left).min(bytes.len());
        if len == 0 && !bytes.is_empty() {
            let found = "more bytes than the member's shape requires";
            let expected = "write exactly as many as announced";
            return Err(ArchiveError::misuse(found, expected).into());
        }
        let bytes = bytes.get(..len).invariant(IN_BUFFER);
        let n = match &mut self.to {
            MemberOutput::Stored(entry) => entry.write(bytes)?,
            MemberOutput::Deflated(encoder) => encoder.write(bytes)?,
        };
        // A writer that says it wrote more than it was given isn't believed.
        let n = n.min(bytes.len());
        self.crc.update(bytes.get(..n).invariant(WRITTEN));
        let n64 = to_u64(n);
        self.size += n64;
        self.left -= n64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            MemberOutput::Stored(entry) => entry.flush(),
            // Flushing a deflate stream would make it longer.
            MemberOutput::Deflated(_) => Ok(()),
        }
    }
}

pub(super) fn zip_error(error: rawzip::Error) -> Error {
    match error.into_kind() {
        rawzip::ErrorKind::IO(error) => write_error()(error),
        other => ArchiveError::misuse(other.to_string(), "a zip archive cannot hold this"),
    }
}

pub(super) fn write_error() -> impl FnOnce(io::Error) -> Error {
    SystemError::io("write the archive")
}

//! Writes one member of an archive, and counts its bytes and computes their
//! CRC-32 on the way.

use std::io::{self, Write};

use flate2::Crc;
use flate2::write::DeflateEncoder;

use super::zip_writer::EntryWriter;
use crate::error::invariant::{IN_BUFFER, Invariant, WRITTEN, to_u64, to_usize_saturating};
use crate::error::{ArchiveError, HeaderError, IoContext as _, Result, memory};

/// More bytes than the state and the buffer of an encoder have.
const DEFLATE_STATE: usize = 512 * 1024;

/// The compression of members.
///
/// # Examples
///
/// ```
/// use npymap::{ndarray::arr1, npz::{Compression, NpzWriter}};
///
/// let mut writer = NpzWriter::new(Vec::new());
/// writer.compression(Compression::Deflated(6));
/// writer.write("x", &arr1(&[0.0_f64; 1000]))?;
/// assert!(writer.into_inner()?.len() < 1000);
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Members are stored, so that arrays can be opened in place:
    /// `numpy.savez`.
    #[default]
    Stored,
    /// Deflate with a level from 0 to 9: `numpy.savez_compressed`, which uses
    /// level 6.
    Deflated(u32),
}

/// Whether a member is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriterState {
    /// All members are complete, so another can be started.
    Ready,
    /// A member was started and not finished.
    InMember,
}

/// A writer for the elements of one member. If you drop it without calling
/// [`finish`](MemberWriter::finish), the archive can't be finished either.
///
/// # Examples
///
/// ```
/// use std::io::Write as _;
///
/// use npymap::{DType, Npz, Order, Source, npz::NpzWriter};
///
/// let mut archive = NpzWriter::new(Vec::new());
/// let mut member = archive.begin("counts", &DType::of::<u8>(), &[4], Order::C)?;
/// member.write_all(&[1, 2])?;
/// member.write_all(&[3, 4])?;
/// member.finish()?;
/// let archive = Npz::open(Source::bytes(archive.into_inner()?))?;
/// assert_eq!(archive.get("counts")?.as_slice::<u8>()?, [1, 2, 3, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MemberWriter<'a, W: Write> {
    output: MemberOutput<'a, W>,
    crc: Crc,
    size: u64,
    /// The number of bytes that may still be written.
    remaining: u64,
    state: &'a mut WriterState,
}

#[derive(Debug)]
enum MemberOutput<'a, W: Write> {
    Stored(EntryWriter<'a, W>),
    Deflated(DeflateEncoder<EntryWriter<'a, W>>),
}

impl<W: Write> MemberWriter<'_, W> {
    /// Starts after the local header of `entry`. Exactly `len` bytes must be written.
    pub(super) fn new<'a>(
        entry: EntryWriter<'a, W>,
        compression: Compression,
        len: u64,
        state: &'a mut WriterState,
    ) -> Result<MemberWriter<'a, W>> {
        let output = match compression {
            Compression::Stored => MemberOutput::Stored(entry),
            Compression::Deflated(level) => {
                // The encoder would panic without memory for its state.
                memory::with_capacity::<u8>(DEFLATE_STATE)?;
                let level = flate2::Compression::new(level.min(9));
                MemberOutput::Deflated(DeflateEncoder::new(entry, level))
            }
        };
        Ok(MemberWriter { output, crc: Crc::new(), size: 0, remaining: len, state })
    }

    /// Finishes the member.
    ///
    /// # Errors
    ///
    /// Returns [`Truncated`](crate::ErrorKind::Truncated) if elements are
    /// missing, and [`Io`](crate::ErrorKind::Io) if writing fails.
    pub fn finish(self) -> Result<()> {
        if self.remaining > 0 {
            let found = to_usize_saturating(self.size);
            let needed = to_usize_saturating(self.size + self.remaining);
            return Err(HeaderError::Eof { what: "member", needed, found }.into());
        }
        let entry = match self.output {
            MemberOutput::Stored(entry) => entry,
            MemberOutput::Deflated(encoder) => encoder.finish().context(WRITE_ARCHIVE)?,
        };
        entry.finish(self.crc.sum(), self.size).context(WRITE_ARCHIVE)?;
        *self.state = WriterState::Ready;
        Ok(())
    }
}

impl<W: Write> Write for MemberWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = to_usize_saturating(self.remaining).min(bytes.len());
        if len == 0 && !bytes.is_empty() {
            let found = "more bytes than the member's shape requires";
            let expected = "write exactly as many as announced";
            return Err(ArchiveError::misuse(found, expected).into());
        }
        let bytes = bytes.get(..len).invariant(IN_BUFFER);
        let n = match &mut self.output {
            MemberOutput::Stored(entry) => entry.write(bytes)?,
            MemberOutput::Deflated(encoder) => encoder.write(bytes)?,
        };
        // A wrong implementation of `Write` may return more than it was given.
        let n = n.min(bytes.len());
        self.crc.update(bytes.get(..n).invariant(WRITTEN));
        let n64 = to_u64(n);
        self.size += n64;
        self.remaining -= n64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.output {
            MemberOutput::Stored(entry) => entry.flush(),
            // Flushing the deflate stream would make it longer.
            MemberOutput::Deflated(_) => Ok(()),
        }
    }
}

/// What fails if the archive cannot be written.
pub(super) const WRITE_ARCHIVE: &str = "write the archive";

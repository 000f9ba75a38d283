//! Reads a member's bytes, unpacked, and holds them against what the archive
//! says of them.

use std::io::{self, BufReader, Read};

use flate2::Crc;
use flate2::read::DeflateDecoder;

use super::open::{MemberProgress, ProgressCallback};
use crate::error::invariant::{IN_BUFFER, Invariant, READ, to_u64, to_usize_saturating};
use crate::error::{ArchiveError, Error, HeaderError, Result, SystemError};
use crate::source::range_reader::RangeReader;

/// What is unpacked at once: it stays in the cache until it is summed.
const STEP: usize = 256 * 1024;

/// Enough for any header without many fields.
const START: usize = 1024;

/// What is read from the file at once.
const BUFFER: usize = 64 * 1024;

/// The bytes of a member, unpacked.
///
/// At their end, length and CRC-32 are held against what the archive says, so
/// whoever reads them all knows that they are those that were stored. Errors
/// hold an [`Error`].
#[derive(Debug)]
pub struct MemberReader<'a> {
    from: MemberInput<'a>,
    crc: Crc,
    left: u64,
    size: u64,
    crc32: u32,
    member: &'a str,
    told: &'a ProgressCallback,
}

/// What the archive says of a member.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemberInfo<'a> {
    pub(super) member: &'a str,
    pub(super) is_stored: bool,
    pub(super) size: u64,
    pub(super) crc32: u32,
}

#[derive(Debug)]
enum MemberInput<'a> {
    Stored(BufReader<RangeReader<'a>>),
    Deflated(DeflateDecoder<RangeReader<'a>>),
}

impl<'a> MemberReader<'a> {
    pub(super) fn new(
        part: RangeReader<'a>,
        announced: MemberInfo<'a>,
        told: &'a ProgressCallback,
    ) -> Self {
        let MemberInfo { member, is_stored, size, crc32 } = announced;
        let from = if is_stored {
            MemberInput::Stored(BufReader::with_capacity(START, part))
        } else {
            MemberInput::Deflated(DeflateDecoder::new_with_buf(part, vec![0; BUFFER]))
        };
        MemberReader { from, crc: Crc::new(), left: size, size, crc32, member, told }
    }

    fn step(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.from {
            MemberInput::Stored(part) => part.read(buffer),
            MemberInput::Deflated(decoder) => {
                decoder.read(buffer).map_err(|error| match error.kind() {
                    io::ErrorKind::InvalidInput
                    | io::ErrorKind::InvalidData
                    | io::ErrorKind::UnexpectedEof => {
                        damaged("its compressed bytes are not a valid deflate stream")
                    }
                    _ => error,
                })
            }
        }
    }

    /// What there is at the end of what was announced.
    fn end(&mut self) -> io::Result<usize> {
        if self.step(&mut [0])? > 0 {
            return Err(damaged(&format!("it decompresses to more than its {} bytes", self.size)));
        }
        match self.crc.sum() {
            found if found == self.crc32 => Ok(0),
            found => {
                let expected = self.crc32;
                Err(Error::from(ArchiveError::Checksum { found, expected }).into())
            }
        }
    }

    /// Reads what is left, for what the end tells.
    pub(super) fn finish(mut self) -> Result<()> {
        let mut sink = vec![0; BUFFER];
        while self.read(&mut sink).map_err(SystemError::io("read the member"))? > 0 {}
        Ok(())
    }

    /// Reads until `buffer` is full.
    pub(super) fn fill(&mut self, buffer: &mut [u8], what: &'static str) -> Result<()> {
        let needed = buffer.len();
        let found = crate::npy::fill(self, buffer).map_err(SystemError::io("read the member"))?;
        if found < needed {
            return Err(HeaderError::Eof { what, needed, found }.into());
        }
        Ok(())
    }
}

impl Read for MemberReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        if self.left == 0 {
            return self.end();
        }
        let left = to_usize_saturating(self.left);
        let len = buffer.len().min(left).min(STEP);
        let buffer = buffer.get_mut(..len).invariant(IN_BUFFER);
        let n = self.step(buffer)?;
        if n == 0 {
            let found = self.size - self.left;
            return Err(damaged(&format!("it decompresses to {found} of its {} bytes", self.size)));
        }
        self.crc.update(buffer.get(..n).invariant(READ));
        self.left -= to_u64(n);
        let (size, done) = (self.size, self.size - self.left);
        self.told.tell(MemberProgress { member: self.member, done, size });
        Ok(n)
    }
}

fn damaged(found: &str) -> io::Error {
    let expected = "the archive is damaged";
    ArchiveError::damaged(found, expected).into()
}

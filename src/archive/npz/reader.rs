//! Reads the uncompressed bytes of a member and compares their length and CRC-32
//! with the archive's directory.

use std::io::{self, BufReader, Read};

use flate2::Crc;
use flate2::read::DeflateDecoder;

use super::directory::DirectoryEntry;
use super::name;
use super::open::{MemberProgress, ProgressCallback};
use super::records::Method;
use crate::error::invariant::{IN_BUFFER, Invariant, READ, to_u64, to_usize_saturating};
use crate::error::{ArchiveError, Error, HeaderError, IoContext as _, Result, memory};
use crate::source::range_reader::RangeReader;

/// The most bytes that one call of `read` returns: few enough that they are
/// still in the processor's cache when their CRC-32 is computed.
pub(super) const STEP: usize = 256 * 1024;

/// The buffer for a stored member, and for the header of a deflated one, large enough
/// for most headers.
pub(super) const HEADER_BUFFER: usize = 1024;

/// The buffer for compressed bytes.
pub(super) const BUFFER: usize = 64 * 1024;

/// More bytes than the state of a decoder has.
const INFLATE_STATE: usize = 64 * 1024;

/// A reader for the uncompressed bytes of a member.
///
/// At the end, their length and CRC-32 are compared with the archive's
/// directory, so reading to the end verifies the member. The [`io::Error`] of a
/// failed read contains an [`Error`].
///
/// # Examples
///
/// ```
/// use std::io::Read as _;
///
/// use npymap::{Npz, Source, ndarray::arr1, npz};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("a.npz");
/// npz::savez(&path, &[("x", &arr1(&[1_u8, 2]))])?;
/// let archive = Npz::open(Source::open(&path)?)?;
/// let mut bytes = Vec::new();
/// archive.member("x")?.reader()?.read_to_end(&mut bytes)?; // also verifies the CRC-32
/// assert!(bytes.starts_with(b"\x93NUMPY"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MemberReader<'a> {
    input: MemberInput<'a>,
    crc: Crc,
    remaining: u64,
    stored: u64,
    size: u64,
    crc32: u32,
    member: &'a str,
    progress: &'a ProgressCallback,
}

#[derive(Debug)]
enum MemberInput<'a> {
    Stored(BufReader<RangeReader<'a>>),
    Deflated(DeflateDecoder<RangeReader<'a>>),
}

impl<'a> MemberReader<'a> {
    /// Reads the member from its `part` of the archive, with a `buffer` for compressed bytes.
    #[inline]
    pub(super) fn new(
        part: RangeReader<'a>,
        entry: &'a DirectoryEntry,
        buffer: usize,
        progress: &'a ProgressCallback,
    ) -> Result<Self> {
        let DirectoryEntry { stored, size, crc32, .. } = *entry;
        let member = name::key(&entry.name);
        let input = if entry.method == Method::STORED {
            MemberInput::Stored(BufReader::with_capacity(HEADER_BUFFER, part))
        } else {
            // The decoder would panic without memory for its state.
            memory::with_capacity::<u8>(buffer + INFLATE_STATE)?;
            MemberInput::Deflated(DeflateDecoder::new_with_buf(part, memory::zeros(buffer)?))
        };
        let (crc, remaining) = (Crc::new(), size);
        Ok(MemberReader { input, crc, remaining, stored, size, crc32, member, progress })
    }

    #[inline]
    fn read_input(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.input {
            MemberInput::Stored(part) => part.read(buffer),
            MemberInput::Deflated(decoder) => decoder.read(buffer).map_err(|error| {
                let of_source = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
                if of_source.is_some() || !is_about_bytes(&error) {
                    return error;
                }
                damaged("its compressed bytes are not a valid deflate stream")
            }),
        }
    }

    /// Checks the CRC-32, and that no input remains. A stream reader would scan
    /// leftover input for the next member.
    #[inline]
    fn check_end(&mut self) -> io::Result<()> {
        if self.read_input(&mut [0])? > 0 {
            return Err(damaged(&format!("it decompresses to more than its {} bytes", self.size)));
        }
        if let MemberInput::Deflated(decoder) = &self.input {
            let (found, stored) = (decoder.total_in(), self.stored);
            if found != stored {
                let problem = format!("its deflate stream ends after {found} of {stored} bytes");
                return Err(damaged(&problem));
            }
        }
        let (found, expected) = (self.crc.sum(), self.crc32);
        if found == expected {
            return Ok(());
        }
        Err(Error::from(ArchiveError::Checksum { found, expected }).into())
    }

    /// Reads the remaining bytes, to verify the member.
    #[inline]
    pub(super) fn finish(mut self) -> Result<()> {
        let mut sink = vec![0; BUFFER];
        while self.read(&mut sink).context("read the member")? > 0 {}
        Ok(())
    }

    /// Reads until `buffer` is full.
    #[inline]
    pub(super) fn fill(&mut self, buffer: &mut [u8], what: &'static str) -> Result<()> {
        let needed = buffer.len();
        let found = crate::npy::fill(self, buffer).context("read the member")?;
        if found < needed {
            return Err(HeaderError::Eof { what, needed, found }.into());
        }
        Ok(())
    }
}

impl Read for MemberReader<'_> {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        if self.remaining == 0 {
            return self.check_end().map(|()| 0);
        }
        let len = buffer.len().min(to_usize_saturating(self.remaining)).min(STEP);
        let buffer = buffer.get_mut(..len).invariant(IN_BUFFER);
        let n = self.read_input(buffer)?;
        if n == 0 {
            let found = self.size - self.remaining;
            return Err(damaged(&format!("it decompresses to {found} of its {} bytes", self.size)));
        }
        self.crc.update(buffer.get(..n).invariant(READ));
        self.remaining -= to_u64(n);
        let (size, done) = (self.size, self.size - self.remaining);
        self.progress.report(MemberProgress { member: self.member, done, size });
        Ok(n)
    }
}

/// Returns whether an error says that the bytes are not a complete deflate
/// stream.
#[inline]
pub(super) fn is_about_bytes(error: &io::Error) -> bool {
    use io::ErrorKind as K;
    matches!(error.kind(), K::InvalidInput | K::InvalidData | K::UnexpectedEof)
}

#[inline]
fn damaged(found: &str) -> io::Error {
    let expected = "the archive is damaged";
    ArchiveError::damaged(found, expected).into()
}

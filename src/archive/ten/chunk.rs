//! The chunks of a `.ten` file. Each consists of magic bytes, a length, a payload
//! and padding.

use std::io::Write;

use zerocopy::byteorder::little_endian::I64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{damaged, misuse};
use crate::error::invariant::{IN_BUFFER, Invariant};
use crate::error::{HeaderError, IoContext as _, Result};

const MAGIC: [u8; 8] = *b"~TenBin~";

/// Payloads are padded to a multiple of this.
pub(super) const ALIGN: usize = 64;

#[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned)]
#[repr(C)]
struct ChunkPrefix {
    magic: [u8; 8],
    nbytes: I64,
}

/// The number of bytes before a payload.
pub(super) const PREFIX_LEN: usize = size_of::<ChunkPrefix>();

/// Parses the bytes before a payload and returns the length of the payload. The
/// chunk starts at byte `at` of the file.
#[inline]
pub(super) fn parse_prefix(bytes: &[u8], at: u64) -> Result<u64> {
    let Ok((prefix, _)) = ChunkPrefix::read_from_prefix(bytes) else {
        let (needed, found) = (PREFIX_LEN, bytes.len());
        return Err(HeaderError::Eof { what: "start of a chunk", needed, found }.into());
    };
    if prefix.magic != MAGIC {
        return damaged(
            format!("at byte {at}: a chunk starts with b\"{}\"", prefix.magic.escape_ascii()),
            "expected b\"~TenBin~\"",
        );
    }
    u64::try_from(prefix.nbytes.get()).or_else(|_| {
        damaged(format!("at byte {at}: a chunk of {} bytes", prefix.nbytes), "expected 0 or more")
    })
}

/// Writes one chunk.
pub(super) fn write_chunk(to: &mut impl Write, payload: &[u8]) -> Result<()> {
    write_prefix(to, payload.len())?;
    to.write_all(payload).context(WRITE_CHUNK)?;
    write_padding(to, payload.len())
}

/// Writes the bytes before a payload of `len` bytes.
pub(super) fn write_prefix(to: &mut impl Write, len: usize) -> Result<()> {
    let Ok(nbytes) = i64::try_from(len) else {
        return misuse(format!("a chunk of {len} bytes"), "expected at most 2^63 - 1");
    };
    let prefix = ChunkPrefix { magic: MAGIC, nbytes: I64::new(nbytes) };
    to.write_all(prefix.as_bytes()).context(WRITE_CHUNK)
}

/// Writes the padding of a payload of `len` bytes.
pub(super) fn write_padding(to: &mut impl Write, len: usize) -> Result<()> {
    let padding = len.wrapping_neg() % ALIGN;
    to.write_all([0; ALIGN].get(..padding).invariant(IN_BUFFER)).context(WRITE_CHUNK)
}

/// What fails if a chunk cannot be written.
pub(super) const WRITE_CHUNK: &str = "write the chunk";

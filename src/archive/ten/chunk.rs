//! The chunks of a `.ten` file. Each consists of magic bytes, a length, a payload
//! and padding.

use std::io::{self, Read, Write};

use zerocopy::byteorder::little_endian::I64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{damaged, misuse};
use crate::error::invariant::{IN_BUFFER, Invariant, READ, to_u64, to_usize_saturating};
use crate::error::{HeaderError, Result, SystemError};
use crate::npy::fill;

const MAGIC: [u8; 8] = *b"~TenBin~";

/// Payloads are padded to a multiple of this.
const ALIGN: usize = 64;

#[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned)]
#[repr(C)]
struct ChunkPrefix {
    magic: [u8; 8],
    nbytes: I64,
}

/// The number of bytes before a payload.
pub(super) const PREFIX_LEN: usize = size_of::<ChunkPrefix>();

/// Parses the bytes before a payload and returns the length of the payload. The
/// chunk starts at byte `at` of the file, if that is known.
pub(super) fn parse_prefix(bytes: &[u8], at: Option<u64>) -> Result<u64> {
    let place = || at.map_or_else(String::new, |at| format!("at byte {at}: "));
    let Ok((prefix, _)) = ChunkPrefix::read_from_prefix(bytes) else {
        let (needed, found) = (PREFIX_LEN, bytes.len());
        return Err(HeaderError::Eof { what: "start of a chunk", needed, found }.into());
    };
    if prefix.magic != MAGIC {
        return damaged(
            format!("{}a chunk starts with b\"{}\"", place(), prefix.magic.escape_ascii()),
            "expected b\"~TenBin~\"",
        );
    }
    u64::try_from(prefix.nbytes.get()).or_else(|_| {
        damaged(format!("{}a chunk of {} bytes", place(), prefix.nbytes), "expected 0 or more")
    })
}

/// The length of a payload including its padding.
pub(super) fn padded_len(len: u64) -> Option<u64> {
    len.checked_next_multiple_of(64)
}

/// Writes one chunk: webdataset's `write_chunk`.
///
/// # Errors
///
/// [`Io`](crate::ErrorKind::Io).
///
/// # Examples
///
/// ```
/// use npymap::ten;
///
/// let mut stream = Vec::new();
/// ten::write_chunk(&mut stream, b"one")?;
/// ten::write_chunk(&mut stream, b"two")?;
/// assert_eq!(stream, ten::encode_chunks(&["one", "two"]));
/// # Ok::<(), npymap::Error>(())
/// ```
pub fn write_chunk(mut to: impl Write, payload: &[u8]) -> Result<()> {
    write_prefix(&mut to, payload.len())?;
    to.write_all(payload).map_err(write_error())?;
    write_padding(&mut to, payload.len())
}

/// Writes the bytes before a payload of `len` bytes.
pub(super) fn write_prefix(to: &mut impl Write, len: usize) -> Result<()> {
    let Ok(nbytes) = i64::try_from(len) else {
        return misuse(format!("a chunk of {len} bytes"), "expected at most 2^63 - 1");
    };
    let prefix = ChunkPrefix { magic: MAGIC, nbytes: I64::new(nbytes) };
    to.write_all(prefix.as_bytes()).map_err(write_error())
}

/// Writes the padding of a payload of `len` bytes.
pub(super) fn write_padding(to: &mut impl Write, len: usize) -> Result<()> {
    let padding = len.wrapping_neg() % ALIGN;
    to.write_all([0; ALIGN].get(..padding).invariant(IN_BUFFER)).map_err(write_error())
}

/// Reads one chunk and returns its payload: webdataset's `read_chunk`. Returns
/// `None` at the end of the stream. The padding of the last chunk may be missing.
///
/// Memory use is proportional to the bytes read, not to the length in the file.
///
/// # Errors
///
/// [`Damaged`](crate::ErrorKind::Damaged) for a wrong magic or a negative
/// length, [`Truncated`](crate::ErrorKind::Truncated),
/// [`Io`](crate::ErrorKind::Io).
///
/// # Examples
///
/// ```
/// use npymap::ten;
///
/// let bytes = ten::encode_chunks(&["one", "two"]);
/// let mut stream = bytes.as_slice();
/// while let Some(payload) = ten::read_chunk(&mut stream)? {
///     println!("{} bytes", payload.len());
/// }
/// # Ok::<(), npymap::Error>(())
/// ```
pub fn read_chunk(mut from: impl Read) -> Result<Option<Vec<u8>>> {
    let Some(len) = read_prefix(&mut from)? else { return Ok(None) };
    let mut payload = Vec::new();
    let found = from.by_ref().take(len).read_to_end(&mut payload).map_err(read_error())?;
    check_len("payload of a chunk", len, found)?;
    read_padding(&mut from, len)?;
    Ok(Some(payload))
}

/// Reads the bytes before a payload and returns its length; `None` at the end of
/// the stream.
pub(super) fn read_prefix(from: &mut impl Read) -> Result<Option<u64>> {
    let mut bytes = [0; PREFIX_LEN];
    match fill(from, &mut bytes).map_err(read_error())? {
        0 => Ok(None),
        found => parse_prefix(bytes.get(..found).invariant(READ), None).map(Some),
    }
}

/// Reads the padding of a payload, which may be missing after the last one.
pub(super) fn read_padding(from: &mut impl Read, len: u64) -> Result<()> {
    let padding = padded_len(len).map_or(0, |padded| padded - len);
    io::copy(&mut from.take(padding), &mut io::sink()).map(drop).map_err(read_error())
}

/// Checks that a payload was read completely.
pub(super) fn check_len(what: &'static str, needed: u64, found: usize) -> Result<()> {
    let needed = to_usize_saturating(needed);
    if found == needed { Ok(()) } else { Err(HeaderError::Eof { what, needed, found }.into()) }
}

/// Encodes payloads as chunks in one buffer: webdataset's `encode_chunks`.
///
/// # Examples
///
/// ```
/// use npymap::ten;
///
/// let bytes = ten::encode_chunks(&["one", "two"]);
/// assert_eq!(ten::decode_chunks(&bytes)?, [b"one", b"two"]);
/// # Ok::<(), npymap::Error>(())
/// ```
#[must_use]
pub fn encode_chunks(payloads: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for payload in payloads {
        // Writing to memory does not fail.
        let _ = write_chunk(&mut bytes, payload.as_ref());
    }
    bytes
}

/// Splits a buffer of chunks into their payloads: webdataset's `decode_chunks`.
/// The padding of the last chunk may be missing.
///
/// # Errors
///
/// [`Damaged`](crate::ErrorKind::Damaged) for a wrong magic or a negative
/// length, [`Truncated`](crate::ErrorKind::Truncated).
///
/// # Examples
///
/// ```
/// use npymap::ten;
///
/// let payloads = ten::decode_chunks(&[])?;
/// assert!(payloads.is_empty());
/// assert_eq!(ten::decode_chunks(&ten::encode_chunks(&["one"]))?, [b"one"]);
/// # Ok::<(), npymap::Error>(())
/// ```
pub fn decode_chunks(bytes: &[u8]) -> Result<Vec<&[u8]>> {
    let mut payloads = Vec::new();
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let len = parse_prefix(rest, Some(to_u64(at)))?;
        let rest = rest.get(PREFIX_LEN..).invariant(IN_BUFFER);
        let needed = to_usize_saturating(len);
        let Some(payload) = rest.get(..needed) else {
            let found = rest.len();
            return Err(HeaderError::Eof { what: "payload of a chunk", needed, found }.into());
        };
        payloads.push(payload);
        at += PREFIX_LEN + needed.next_multiple_of(ALIGN).min(rest.len());
    }
    Ok(payloads)
}

pub(super) fn read_error() -> impl FnOnce(io::Error) -> crate::error::Error {
    SystemError::io("read the chunk")
}

pub(super) fn write_error() -> impl FnOnce(io::Error) -> crate::error::Error {
    SystemError::io("write the chunk")
}

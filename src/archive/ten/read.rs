//! Finds the arrays of a list.

use super::chunk::{self, ALIGN, PREFIX_LEN};
use super::damaged;
use super::header::{self, TenHeader};
use crate::error::invariant::{IN_BUFFER, Invariant, READ, to_u64, to_usize_saturating};
use crate::error::{ArchiveError, HeaderError, IoContext as _, Result};

/// One array in a file or buffer.
#[derive(Clone, Debug)]
pub(super) struct TenEntry {
    pub(super) header: TenHeader,
    /// The offset of the elements.
    pub(super) offset: u64,
}

/// Finds all arrays in a file or buffer of `len` bytes, which `read` reads at an
/// offset.
#[inline]
pub(super) fn scan(
    len: u64,
    read: &dyn Fn(&mut [u8], u64) -> std::io::Result<usize>,
) -> Result<Vec<TenEntry>> {
    let mut entries = Vec::new();
    let mut at = 0;
    while at < len {
        let (entry, next) = read_entry(at, len, read)?;
        entries.push(entry);
        at = next;
    }
    Ok(entries)
}

/// The number of bytes read for each array: enough for the chunk of the header
/// and the prefix of the next chunk.
const READ_LEN: usize = (PREFIX_LEN + header::MAX_LEN).next_multiple_of(ALIGN) + 64;

/// Reads the headers of the array at byte `at`. Also returns the offset of the
/// next array.
#[inline]
fn read_entry(
    at: u64,
    len: u64,
    read: &dyn Fn(&mut [u8], u64) -> std::io::Result<usize>,
) -> Result<(TenEntry, u64)> {
    let mut bytes = [0; READ_LEN];
    let found = read(&mut bytes, at).context("read the chunk")?;
    let bytes = bytes.get(..found).invariant(READ);
    let size = chunk::parse_prefix(bytes, at)?;
    let Some(size) = usize::try_from(size).ok().filter(|size| *size <= header::MAX_LEN) else {
        return damaged(
            format!("at byte {at}: the header of an array has {size} bytes"),
            "expected 24 bytes and 8 per axis",
        );
    };
    let rest = bytes.get(PREFIX_LEN..).invariant(IN_BUFFER);
    let Some(payload) = rest.get(..size) else {
        let what = "header of an array";
        return Err(HeaderError::Eof { what, needed: size, found: rest.len() }.into());
    };
    let header = TenHeader::decode(payload)?;
    let next = PREFIX_LEN + size.next_multiple_of(ALIGN);
    let Some(rest) = bytes.get(next..).filter(|rest| !rest.is_empty()) else {
        let found = format!("at byte {at}: a header without elements");
        let expected = "the file was truncated, or is still being written";
        return Err(ArchiveError::truncated(found, expected));
    };
    let start = at + to_u64(next);
    let size = chunk::parse_prefix(rest, start)?;
    let needed = check_nbytes(&header, size)?;
    let offset = start + to_u64(PREFIX_LEN);
    let left = len - offset;
    if size > left {
        let found = to_usize_saturating(left);
        return Err(HeaderError::Eof { what: "elements", needed, found }.into());
    }
    Ok((TenEntry { header, offset }, offset + size.next_multiple_of(to_u64(ALIGN))))
}

/// Checks that a chunk of `size` bytes is as long as its array, and returns that
/// length.
#[inline]
fn check_nbytes(header: &TenHeader, size: u64) -> Result<usize> {
    let needed = header.layout()?.nbytes();
    if u64::try_from(needed).is_ok_and(|needed| needed == size) {
        return Ok(needed);
    }
    damaged(
        format!("an array of {needed} bytes in a chunk of {size}"),
        "the file is damaged: the shape and the number of elements differ",
    )
}

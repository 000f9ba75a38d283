//! Compares the local headers of members with the directory.
//!
//! Programs that read an archive as a stream use the local headers, and other
//! programs use the directory. If the two differ, different programs see
//! different contents, so such members are rejected.

use std::ops::Range;

use zerocopy::FromBytes;

use super::directory::{DirectoryEntry, READ_ARCHIVE, damaged, wrong_signature};
use super::extra::{self, SizeFields};
use super::reader::HEADER_BUFFER;
use super::records::{DESCRIPTOR_LEN, EndRecord, Flags, LocalHeader, len_of, split_descriptor};
use crate::error::invariant::{Invariant, READ, to_u64, to_usize};
use crate::error::{ArchiveError, Error, IoContext as _, Result};
use crate::source::storage::Storage;

/// Headers of at most this length are read with one call, without allocating.
const SHORT: usize = 512;

/// The most bytes of a local header that are requested ahead.
const LONG: u64 = 8 << 10;

/// The ranges read for the headers of a member, if only a data descriptor is
/// between the member and the next member. Returns `None` for a member that is
/// longer than its place, which is refused when it is read.
#[inline]
pub(super) fn header_ranges(entry: &DirectoryEntry) -> Option<[Range<u64>; 2]> {
    let DirectoryEntry { start, stored, limit, .. } = *entry;
    let local_len = limit.checked_sub(start)?.checked_sub(stored)?.min(LONG);
    let end = start.checked_add(local_len + to_u64(HEADER_BUFFER))?;
    Some([start..end, limit - limit.min(FOLLOWING)..limit])
}

/// The range of a member's bytes. Checks that the directory and the local header
/// agree, and that the range does not overlap another member.
#[inline]
pub(super) fn data_range(source: &Storage, entry: &DirectoryEntry) -> Result<(u64, u64)> {
    let mut short = [0; SHORT];
    let found = source.read_at(&mut short, entry.start).context(READ_ARCHIVE)?;
    let Ok((local, rest)) = LocalHeader::read_from_prefix(short.get(..found).invariant(READ))
    else {
        return Err(cut_off());
    };
    if local.signature != LocalHeader::SIGNATURE {
        return Err(wrong_signature("its header", local.signature, LocalHeader::SIGNATURE));
    }
    let name_len = usize::from(local.name_len.get());
    let len = name_len + usize::from(local.extra_len.get());
    // No storage has bytes at offsets from 2⁶³ on.
    let variable = entry.start + len_of::<LocalHeader>();
    let start = variable + to_u64(len);
    if let Some(variable) = rest.get(..len) {
        compare(entry, &local, variable.split_at(name_len))?;
    } else {
        // Many members could claim the same bytes.
        if start > entry.limit {
            let found = "the extra fields of its header overlap the next member or the directory";
            return Err(contradictory(found.to_owned()));
        }
        let mut long = vec![0; len];
        let found = source.read_at(&mut long, variable).context(READ_ARCHIVE)?;
        if found < len {
            return Err(cut_off());
        }
        compare(entry, &local, long.split_at(name_len))?;
    }
    check_range(source, entry, start)
}

/// Checks that a local header agrees with the directory.
#[inline]
fn compare(
    entry: &DirectoryEntry,
    local: &LocalHeader,
    (name, extra): (&[u8], &[u8]),
) -> Result<()> {
    let flags = Flags(local.flags.get());
    let is_same_name = name == entry.raw_name()
        && (flags.has(Flags::UTF8) == entry.flags.has(Flags::UTF8) || name.is_ascii());
    if !is_same_name {
        return Err(differs("name"));
    }
    if flags.reading() != entry.flags.reading() {
        return Err(differs("flags"));
    }
    if local.method.get() != entry.method.0 {
        return Err(differs("method"));
    }
    if entry.wraps {
        // The sizes and the CRC-32 were checked when it was found.
        return extra::check_name(extra, name, &entry.name).map_err(wrong_extra);
    }
    let own = [entry.size, entry.stored, entry.offset];
    let numbers = SizeFields([local.size.get(), local.stored.get()]);
    let numbers = numbers.resolve(extra, |number| own.contains(&number));
    let [size, stored] = numbers.map_err(wrong_extra)?;
    extra::check_name(extra, name, &entry.name).map_err(wrong_extra)?;
    // If a data descriptor follows the member, these fields may be 0.
    let may_be_zero = flags.has(Flags::DESCRIPTOR);
    if (size != entry.size && !(may_be_zero && size == 0))
        || (stored != entry.stored && !(may_be_zero && stored == 0))
    {
        return Err(differs("size"));
    }
    let crc32 = local.crc32.get();
    if crc32 != entry.crc32 && !(may_be_zero && crc32 == 0) {
        return Err(differs("CRC-32"));
    }
    Ok(())
}

/// The range of a member's bytes, which start at byte `start`. Checks that it is
/// inside the archive and does not overlap the next member.
#[inline]
fn check_range(source: &Storage, entry: &DirectoryEntry, start: u64) -> Result<(u64, u64)> {
    let Some(end) = start.checked_add(entry.stored) else { return Err(cut_off()) };
    if end > source.len() {
        return Err(damaged(format!("ends at byte {end} of {}", source.len())));
    }
    if end > entry.limit {
        return Err(contradictory(format!(
            "its bytes {start} to {end} overlap the next member or the directory"
        )));
    }
    check_follows(source, entry, end)?;
    Ok((start, end))
}

/// The most bytes requested after a member.
const FOLLOWING: u64 = 28;

/// The most bytes between searched members.
const MAX_GAP: u64 = 1 << 20;

/// Checks that a member that ends at byte `end` is not followed by one that the
/// directory does not list: programs that read a stream would find it, some of
/// them after any other bytes. Nor by an end record, since some programs use
/// the first record that they find.
#[inline]
fn check_follows(source: &Storage, entry: &DirectoryEntry, end: u64) -> Result<()> {
    let gap = entry.limit - end;
    if gap < to_u64(LocalHeader::SIGNATURE.len()) {
        return Ok(());
    }
    if gap > MAX_GAP {
        return Err(contradictory(format!("is followed by {gap} bytes of no member")));
    }
    let (mut short, mut long) = ([0; DESCRIPTOR_LEN + LocalHeader::SIGNATURE.len()], Vec::new());
    let buffer = if let Some(short) = short.get_mut(..to_usize(gap)) {
        short
    } else {
        long.resize(to_usize(gap), 0);
        &mut long[..]
    };
    let found = source.read_at(buffer, end).context(READ_ARCHIVE)?;
    let bytes = buffer.get(..found).invariant(READ);
    let rest =
        if entry.flags.has(Flags::DESCRIPTOR) { skip_descriptor(entry, bytes) } else { bytes };
    if rest.windows(4).any(|bytes| bytes == LocalHeader::SIGNATURE) {
        let found = "is followed by a member that the directory does not list";
        return Err(contradictory(found.to_owned()));
    }
    if rest.windows(4).any(|bytes| bytes == EndRecord::SIGNATURE) {
        let found = "is followed by an end record, which may be that of another directory";
        return Err(contradictory(found.to_owned()));
    }
    Ok(())
}

/// The bytes after a member's data descriptor. All bytes if there is none.
#[inline]
fn skip_descriptor<'a>(entry: &DirectoryEntry, bytes: &'a [u8]) -> &'a [u8] {
    match split_descriptor(bytes, entry.stored, entry.size) {
        Some((crc32, rest)) if crc32 == entry.crc32 => rest,
        _ => bytes,
    }
}

#[inline]
fn wrong_extra(problem: &str) -> Error {
    damaged(format!("the extra fields of its header {problem}"))
}

#[inline]
fn differs(what: &str) -> Error {
    contradictory(format!("its header and the directory differ in the {what}"))
}

#[inline]
fn cut_off() -> Error {
    damaged("its header is outside the archive".to_owned())
}

/// The error for an archive with contradictory records.
#[inline]
pub(super) fn contradictory(found: String) -> Error {
    let expected = "the archive is damaged, or crafted";
    ArchiveError::damaged(found, expected)
}

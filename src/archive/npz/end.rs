//! Finds the central directory of a zip archive from the records at its end, and
//! checks that these are consistent.
//!
//! Readers differ in the field that they use: some compute the directory's
//! position from its size, some use its offset, some rely on the number of
//! entries. If the fields contradict each other, two readers see two different
//! archives in one file, so such files are rejected.

use zerocopy::FromBytes;

use super::directory::{READ_ARCHIVE, damaged};
use super::records::{
    CentralHeader, EndRecord, IN_ZIP64, IN_ZIP64_SHORT, LocalHeader, Zip64EndRecord, Zip64Locator,
    len_of, read,
};
use crate::error::invariant::{IN_BUFFER, Invariant, READ, to_u64, to_usize};
use crate::error::{ArchiveError, Error, IoContext as _, Result};
use crate::source::storage::Storage;

/// The number of bytes at the end of an archive searched for the end record, of
/// 22 bytes: its comment has at most 65,535.
const SEARCHED: u64 = 22 + 65_535;

/// The number of bytes searched for records at the start, and at the end, of
/// what precedes the first member.
const SEARCHED_BEFORE: u64 = 1 << 20;

/// What offsets in 32 bits are multiples of, if they are too large for them.
const WRAP: u64 = 1 << 32;

/// The position of the central directory, and the number of its entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Location {
    pub(super) start: u64,
    pub(super) size: u64,
    /// The number of entries that the end record announces.
    pub(super) entries: u64,
    pub(super) is_zip64: bool,
    /// The number of bytes before the archive, which its offsets do not include.
    pub(super) prefix: u64,
    /// Whether other bytes follow the end record and its comment.
    pub(super) is_followed: bool,
}

impl Location {
    /// Returns whether the end record allows a directory of `entries` members.
    /// Without zip64 records, the number is stored modulo 65,536.
    #[inline]
    pub(super) fn announces(&self, entries: u64) -> bool {
        entries == self.entries || (!self.is_zip64 && entries & 0xffff == self.entries)
    }
}

/// Finds the central directory.
#[inline]
pub(super) fn locate(source: &Storage) -> Result<Location> {
    let (at, end) = end_record(source)?;
    if [end.disk, end.directory_disk].iter().any(|disk| ![0, IN_ZIP64_SHORT].contains(&disk.get()))
    {
        return Err(several_disks());
    }
    if end.entries_on_disk != end.entries {
        let found = format!("{} of {} members are on this disk", end.entries_on_disk, end.entries);
        return Err(damaged(found));
    }
    let mut location = if let Some((at64, locator, end64)) = zip64_record(source, at)? {
        zip64_location(&end, at64, &locator, &end64)?
    } else {
        let size = u64::from(end.directory_size.get());
        let (start, prefix) = directory_start(at, size, u64::from(end.directory_offset.get()))?;
        let entries = u64::from(end.entries.get());
        Location { start, size, entries, is_zip64: false, prefix, is_followed: false }
    };
    let end_len = len_of::<EndRecord>() + u64::from(end.comment_len.get());
    location.is_followed = source.len() - at > end_len;
    if location.size == 0
        && location.entries == 0
        && ![0, location.start].contains(&location.prefix)
    {
        let found = format!("an empty archive whose directory starts at byte {at}");
        return Err(damaged(found));
    }
    Ok(location)
}

/// Reads the end record, from where Python's `zipfile` finds it: the end of the
/// file, or else the last occurrence of its signature.
#[inline]
fn end_record(source: &Storage) -> Result<(u64, EndRecord)> {
    let len = source.len();
    if let Some(at) = len.checked_sub(len_of::<EndRecord>()) {
        let end = read::<EndRecord>(source, at).context(READ_ARCHIVE)?;
        let end = end.filter(|end| end.signature == EndRecord::SIGNATURE && end.comment_len == 0);
        if let Some(end) = end {
            return Ok((at, end));
        }
    }
    let searched = len.min(SEARCHED);
    let (start, mut tail) = (len - searched, vec![0; to_usize(searched)]);
    let found = source.read_at(&mut tail, start).context(READ_ARCHIVE)?;
    let tail = tail.get(..found).invariant(READ);
    let position = tail.windows(4).rposition(|window| window == EndRecord::SIGNATURE);
    let Some(position) = position else { return Err(no_archive(source)) };
    let rest = tail.get(position..).invariant(IN_BUFFER);
    match EndRecord::read_from_prefix(rest) {
        Ok((end, comment)) if comment.len() >= usize::from(end.comment_len.get()) => {
            Ok((start + to_u64(position), end))
        }
        _ => Err(damaged("the end record is outside the archive".to_owned())),
    }
}

/// Reads the zip64 records before the end record at byte `at`. Also returns the
/// offset of the first record.
#[inline]
fn zip64_record(source: &Storage, at: u64) -> Result<Option<(u64, Zip64Locator, Zip64EndRecord)>> {
    let Some(at_locator) = at.checked_sub(len_of::<Zip64Locator>()) else { return Ok(None) };
    let locator = read::<Zip64Locator>(source, at_locator).context(READ_ARCHIVE)?;
    let Some(locator) = locator.filter(|locator| locator.signature == Zip64Locator::SIGNATURE)
    else {
        return Ok(None);
    };
    let record = match at_locator.checked_sub(len_of::<Zip64EndRecord>()) {
        Some(at64) => {
            read::<Zip64EndRecord>(source, at64).context(READ_ARCHIVE)?.map(|end| (at64, end))
        }
        None => None,
    };
    match record {
        Some((at64, end)) if end.signature == Zip64EndRecord::SIGNATURE => {
            Ok(Some((at64, locator, end)))
        }
        _ => Err(damaged("the zip64 record is not where its locator points".to_owned())),
    }
}

/// The position of the directory according to the zip64 records. The end record
/// must agree.
#[inline]
fn zip64_location(
    end: &EndRecord,
    at: u64,
    locator: &Zip64Locator,
    end64: &Zip64EndRecord,
) -> Result<Location> {
    if locator.disk != 0 || locator.disks.get() > 1 || end64.disk != 0 || end64.directory_disk != 0
    {
        return Err(several_disks());
    }
    if end64.size != Zip64EndRecord::SIZE {
        let found = format!("a zip64 record of {} bytes, not {}", end64.size, Zip64EndRecord::SIZE);
        return Err(damaged(found));
    }
    let (size, offset) = (end64.directory_size.get(), end64.directory_offset.get());
    let entries = end64.entries.get();
    let is_same = end64.entries_on_disk == end64.entries
        && (end.entries == IN_ZIP64_SHORT || u64::from(end.entries.get()) == entries)
        && (end.directory_size == IN_ZIP64 || u64::from(end.directory_size.get()) == size)
        && (end.directory_offset == IN_ZIP64 || u64::from(end.directory_offset.get()) == offset);
    if !is_same {
        return Err(damaged("the end record and the zip64 record differ".to_owned()));
    }
    let (start, prefix) = directory_start(at, size, offset)?;
    if locator.offset.get().checked_add(prefix) != Some(at) {
        let found = format!("the zip64 record is at byte {at}, not at {}", locator.offset);
        return Err(damaged(found));
    }
    Ok(Location { start, size, entries, is_zip64: true, prefix, is_followed: false })
}

/// The start of a directory of `size` bytes that ends at byte `end`, and the
/// number of bytes before the archive, which `offset` does not include.
#[inline]
fn directory_start(end: u64, size: u64, offset: u64) -> Result<(u64, u64)> {
    let start = end.checked_sub(size);
    match start.and_then(|start| Some((start, start.checked_sub(offset)?))) {
        Some(found) => Ok(found),
        None => Err(damaged(format!(
            "a directory of {size} bytes at byte {offset} does not end at byte {end}"
        ))),
    }
}

/// Checks the bytes before the first member, which starts at byte `first`, not
/// at 0. If there is a prefix, a member must start there, since a directory
/// offset that is too small also looks like a prefix. It must not start at byte
/// 0, where only stream readers would find it, or later, where only programs
/// that search would find it.
#[inline]
pub(super) fn check_start(source: &Storage, location: &Location, first: Option<u64>) -> Result<()> {
    let Location { start, prefix, is_followed, .. } = *location;
    let is_listed = first.map_or(Ok(true), |first| is_member_at(source, first))?;
    // Without a prefix, only that member is damaged.
    if !is_listed && prefix > 0 && prefix % WRAP == 0 && is_member_at(source, 0)? {
        let found = "an archive of more than 4 GiB with offsets of 32 bits, as cnpy writes it";
        return Err(ArchiveError::damaged(found, "copy what `NpzOptions::scan` finds"));
    }
    if !is_listed && prefix > 0 {
        let offset = start - prefix;
        return Err(damaged(format!(
            "the directory is at byte {start}, not at {offset}, and no member precedes it"
        )));
    }
    if is_member_at(source, 0)? {
        let listed = match first {
            Some(first) => format!("the first one listed is at byte {first}"),
            None => "none is listed".to_owned(),
        };
        return Err(damaged(format!("byte 0 starts a member, but {listed}")));
    }
    let before = first.map_or(start, |first| first.min(start));
    if let Some(at) = find_record(source, before)? {
        return Err(damaged(format!(
            "byte {at} starts a member or an end record that is not used"
        )));
    }
    // Java searches for another archive, which may be before this one.
    if is_followed && before > 0 {
        let found =
            format!("other bytes before and after the archive, which starts at byte {before}");
        return Err(damaged(found));
    }
    check_unshifted(source, location)
}

/// Finds a local header or an end record before byte `end`.
#[inline]
fn find_record(source: &Storage, end: u64) -> Result<Option<u64>> {
    let parts = if end > 2 * SEARCHED_BEFORE {
        [0..SEARCHED_BEFORE, end - SEARCHED_BEFORE..end]
    } else {
        [0..end, end..end]
    };
    for part in parts {
        let mut bytes = vec![0; to_usize(part.end - part.start)];
        let found = source.read_at(&mut bytes, part.start).context(READ_ARCHIVE)?;
        let bytes = bytes.get(..found).invariant(READ);
        let starts = bytes.windows(4).enumerate().filter(|(_, window)| window.starts_with(b"PK"));
        let mut starts = starts.map(|(at, _)| (bytes.get(at..).invariant(IN_BUFFER), at));
        let found = starts.find(|(rest, at)| is_record(rest, part.start + to_u64(*at), end));
        if let Some((_, at)) = found {
            return Ok(Some(part.start + to_u64(at)));
        }
    }
    Ok(None)
}

/// Returns whether bytes at `start` are a record that ends before `end`. The signatures
/// alone may be numbers in a program that unpacks archives.
#[inline]
fn is_record(bytes: &[u8], start: u64, end: u64) -> bool {
    let is_member = LocalHeader::read_from_prefix(bytes).is_ok_and(|(local, _)| {
        let len = u64::from(local.name_len.get()) + u64::from(local.extra_len.get());
        local.signature == LocalHeader::SIGNATURE
            && local.version_needed.get() < 256
            && local.method.get() < 100
            && local.name_len.get() > 0
            && start + len_of::<LocalHeader>() + len <= end
    });
    let is_end = EndRecord::read_from_prefix(bytes).is_ok_and(|(record, _)| {
        record.signature == EndRecord::SIGNATURE
            && record.disk == record.directory_disk
            && record.entries_on_disk == record.entries
            && u64::from(record.directory_size.get()) <= start
    });
    is_member || is_end
}

/// Checks that the offsets of an archive with a prefix lead to none of its records
/// when they are counted from the start of the file, as some programs do first.
#[inline]
fn check_unshifted(source: &Storage, location: &Location) -> Result<()> {
    let Location { start, size, prefix, is_zip64, .. } = *location;
    if prefix == 0 {
        return Ok(());
    }
    let is_at = |offset, signature| -> Result<bool> {
        Ok(read::<[u8; 4]>(source, offset).context(READ_ARCHIVE)? == Some(signature))
    };
    let directory = start - prefix;
    if is_at(directory, CentralHeader::SIGNATURE)?
        || (is_zip64 && is_at(directory + size, Zip64EndRecord::SIGNATURE)?)
    {
        let found = format!("two directories, at byte {directory} and {prefix} bytes later");
        return Err(damaged(found));
    }
    Ok(())
}

/// Returns whether a local header starts at an offset.
#[inline]
fn is_member_at(source: &Storage, offset: u64) -> Result<bool> {
    let local = read::<LocalHeader>(source, offset).context(READ_ARCHIVE)?;
    Ok(local.is_some_and(|local| local.signature == LocalHeader::SIGNATURE))
}

#[inline]
fn several_disks() -> Error {
    let expected = "join the parts into one file";
    ArchiveError::unsupported("a multi-disk archive", expected)
}

/// The error for a file without an end record.
#[inline]
fn no_archive(source: &Storage) -> Error {
    let mut start = [0; 8];
    // Only the message is shorter without these bytes.
    let found = source.read_at(&mut start, 0).unwrap_or(0);
    let start = start.get(..found).invariant(READ);
    if start.starts_with(b"PK") {
        let expected = "the archive was truncated, or is still being written";
        return ArchiveError::truncated("a zip archive without an end record", expected);
    }
    let found = format!("starts with b\"{}\" and is not a zip archive", start.escape_ascii());
    let expected = if start.starts_with(b"\x93NUMPY") {
        "it is a .npy file, open it with `MappedArray::open`"
    } else {
        "expected an .npz file, as numpy.savez writes them"
    };
    ArchiveError::damaged(found, expected)
}

//! LocalHeader headers of members, held against the directory.
//!
//! Programs that unpack an archive as a stream believe the local headers,
//! others the directory: where the two differ, there are two readings of one
//! file.

use zerocopy::FromBytes;

use super::directory::{DirectoryEntry, damaged, read_error, wrong_signature};
use super::extra::SizeFields;
use super::records::{Flags, LocalHeader, len_of};
use crate::error::invariant::{Invariant, READ, to_u64};
use crate::error::{ArchiveError, Error, Result};
use crate::source::storage::Storage;

/// Headers of up to this many bytes are read at once, without allocating.
const SHORT: usize = 512;

/// Where the bytes of a member are: nowhere else than the directory and its
/// local header say, and where no other member is.
pub(super) fn data_range(source: &Storage, entry: &DirectoryEntry) -> Result<(u64, u64)> {
    let mut short = [0; SHORT];
    let found = source.read_at(&mut short, entry.start).map_err(read_error())?;
    let Ok((local, rest)) = LocalHeader::read_from_prefix(short.get(..found).invariant(READ))
    else {
        return Err(cut_off());
    };
    if local.signature != LocalHeader::SIGNATURE {
        return Err(wrong_signature("its header", local.signature, LocalHeader::SIGNATURE));
    }
    let name_len = usize::from(local.name_len.get());
    let len = name_len + usize::from(local.extra_len.get());
    let variable = entry.start.checked_add(len_of::<LocalHeader>()).ok_or_else(cut_off)?;
    if let Some(variable) = rest.get(..len) {
        compare(entry, &local, variable.split_at(name_len))?;
    } else {
        let mut long = vec![0; len];
        let found = source.read_at(&mut long, variable).map_err(read_error())?;
        if found < len {
            return Err(cut_off());
        }
        compare(entry, &local, long.split_at(name_len))?;
    }
    let start = variable.saturating_add(to_u64(len));
    within(source, entry, start)
}

/// Checks that the local header says what the directory does.
fn compare(
    entry: &DirectoryEntry,
    local: &LocalHeader,
    (name, extra): (&[u8], &[u8]),
) -> Result<()> {
    let flags = Flags(local.flags.get());
    let is_same_name =
        name == entry.raw_name() && (flags.is_utf8() == entry.flags.is_utf8() || name.is_ascii());
    if !is_same_name {
        return Err(differs("name"));
    }
    if flags.reading() != entry.flags.reading() {
        return Err(differs("flags"));
    }
    if local.method.get() != entry.method.as_u16() {
        return Err(differs("method"));
    }
    let numbers = SizeFields([local.size.get(), local.stored.get()]).resolve(extra);
    let [size, stored] =
        numbers.map_err(|problem| damaged(format!("the extra fields of its header {problem}")))?;
    // Sizes that follow the member are zeros here.
    let is_same = |own: u64, other: u64| own == other || (own == 0 && flags.has_descriptor());
    if !is_same(size, entry.size) || !is_same(stored, entry.stored) {
        return Err(differs("size"));
    }
    if !is_same(local.crc32.get().into(), entry.crc32.into()) {
        return Err(differs("CRC-32"));
    }
    Ok(())
}

/// The bytes of a member that start at byte `start`, if no others lie there.
fn within(source: &Storage, entry: &DirectoryEntry, start: u64) -> Result<(u64, u64)> {
    let Some(end) = start.checked_add(entry.stored) else { return Err(cut_off()) };
    if end > source.len() {
        return Err(damaged(format!("ends at byte {end} of {}", source.len())));
    }
    if end > entry.limit {
        return Err(deceitful(format!("its bytes {start} to {end} overlap what follows")));
    }
    Ok((start, end))
}

fn differs(what: &str) -> Error {
    deceitful(format!("its header and the directory differ in the {what}"))
}

fn cut_off() -> Error {
    damaged("its header is outside the archive".to_owned())
}

/// The error of an archive whose parts contradict each other.
pub(super) fn deceitful(found: String) -> Error {
    let expected = "the archive is damaged, or crafted";
    ArchiveError::damaged(found, expected)
}

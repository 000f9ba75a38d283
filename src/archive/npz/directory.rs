//! Reads the central directory of an archive, which lists its members.

use std::io::{self, BufReader, Read};

use zerocopy::{FromZeros, IntoBytes};

use super::end::{self, Location};
use super::extra::{self, SizeFields};
use super::name;
use super::records::{CentralHeader, Flags, IN_ZIP64_SHORT, Method, len_of};
use crate::error::invariant::{to_u64, to_usize, to_usize_saturating};
use crate::error::{ArchiveError, Error, Result, SystemError, plural};
use crate::source::range_reader::RangeReader;
use crate::source::storage::Storage;

/// The newest version of the accepted format, 6.3, as in Python's `zipfile`.
/// Features that are not implemented have their own flags or methods, and are
/// rejected by those.
const NEWEST_VERSION: u8 = 63;

/// The most entries that memory is allocated for before they have been read: a sparse
/// file, or a server, can claim any number.
const MOST_EXPECTED: usize = 4096;

/// The largest buffer for reading the directory.
const BUFFER: u64 = 64 * 1024;

/// The entry of one member in the directory.
#[derive(Debug)]
pub(super) struct DirectoryEntry {
    /// The member's name, decoded.
    pub(super) name: String,
    /// The bytes of the name, if they differ from the decoded name.
    pub(super) raw_name: Option<Box<[u8]>>,
    pub(super) method: Method,
    pub(super) flags: Flags,
    /// The type and the permissions of its file, if it was made on Unix.
    pub(super) mode: Option<u32>,
    pub(super) crc32: u32,
    /// The member's length in the archive.
    pub(super) stored: u64,
    /// The member's uncompressed length.
    pub(super) size: u64,
    /// The offset of the local header.
    pub(super) start: u64,
    /// This offset from the start of the archive, which other bytes may precede.
    pub(super) offset: u64,
    /// The offset of the next member or, for the last member, of the directory.
    pub(super) limit: u64,
    /// Whether its sizes in the local header are those modulo 4 GiB, as cnpy writes them.
    pub(super) wraps: bool,
}

/// Reads the directory of an archive.
#[inline]
pub(super) fn read(source: &Storage) -> Result<Vec<DirectoryEntry>> {
    let location = end::locate(source)?;
    let mut records = DirectoryReader::new(source, &location);
    let most = location.size / len_of::<CentralHeader>();
    let expected = to_usize_saturating(location.entries.min(most));
    let mut entries = Vec::with_capacity(expected.min(MOST_EXPECTED));
    while records.remaining > 0 {
        entries.push(records.entry(location.prefix)?);
    }
    let listed = to_u64(entries.len());
    if !location.announces(listed) {
        let announced = location.entries;
        let listed = plural(listed, "member", "members");
        let found = format!("the directory lists {listed} but announces {announced}");
        return Err(damaged(found));
    }
    set_limits(&mut entries, location.start);
    let first = entries.iter().map(|entry| entry.start).min();
    if first != Some(0) {
        end::check_start(source, &location, first)?;
    }
    Ok(entries)
}

/// Reads the records of a directory.
struct DirectoryReader<'a> {
    reader: BufReader<RangeReader<'a>>,
    remaining: u64,
}

impl<'a> DirectoryReader<'a> {
    #[inline]
    fn new(source: &'a Storage, location: &Location) -> DirectoryReader<'a> {
        let Location { start, size, .. } = *location;
        let part = source.range_reader(start, start + size);
        let capacity = to_usize(size.min(BUFFER));
        DirectoryReader { reader: BufReader::with_capacity(capacity, part), remaining: size }
    }

    #[inline]
    fn entry(&mut self, prefix: u64) -> Result<DirectoryEntry> {
        let mut central = CentralHeader::new_zeroed();
        self.fill(central.as_mut_bytes())?;
        if central.signature != CentralHeader::SIGNATURE {
            return Err(wrong_signature(
                "the directory",
                central.signature,
                CentralHeader::SIGNATURE,
            ));
        }
        let raw_name = self.read_bytes(central.name_len.get())?;
        let extra = self.read_bytes(central.extra_len.get())?;
        self.read_bytes(central.comment_len.get())?;
        let flags = Flags(central.flags.get());
        let name = name::decode(&raw_name, flags.has(Flags::UTF8)).map_err(damaged)?;
        extra::check_name(&extra, &raw_name, &name)
            .map_err(wrong_extra)
            .and_then(|()| read_sizes(&central, &extra, prefix))
            .map(|[size, stored, start]| DirectoryEntry {
                raw_name: (name.as_bytes() != raw_name).then(|| raw_name.into()),
                method: Method(central.method.get()),
                flags,
                mode: central.mode(),
                crc32: central.crc32.get(),
                stored,
                size,
                start,
                offset: start - prefix,
                limit: 0,
                wraps: false,
                name: name.clone(),
            })
            .map_err(|error| error.with_member(name::key(&name)))
    }

    #[inline]
    fn read_bytes(&mut self, len: u16) -> Result<Vec<u8>> {
        let mut bytes = vec![0; usize::from(len)];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    #[inline]
    fn fill(&mut self, buffer: &mut [u8]) -> Result<()> {
        let len = to_u64(buffer.len());
        self.remaining = self.remaining.checked_sub(len).ok_or_else(cut_off)?;
        self.reader.read_exact(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => cut_off(),
            _ => SystemError::io(READ_ARCHIVE, error),
        })
    }
}

/// Checks the header of a member and returns the size, the stored size and the
/// offset of the member.
#[inline]
fn read_sizes(central: &CentralHeader, extra: &[u8], prefix: u64) -> Result<[u64; 3]> {
    let version = central.version_needed;
    if version > NEWEST_VERSION {
        let found = format!("needs version {}.{} of the format", version / 10, version % 10);
        return Err(ArchiveError::unsupported(found, "versions up to 6.3 are supported"));
    }
    if ![0, IN_ZIP64_SHORT].contains(&central.disk.get()) {
        return Err(damaged(format!("is on disk {}", central.disk)));
    }
    let numbers = SizeFields([central.size.get(), central.stored.get(), central.offset.get()]);
    let own = numbers.0.map(u64::from);
    let numbers = numbers.resolve(extra, |number| own.contains(&number));
    let [size, stored, offset] = numbers.map_err(wrong_extra)?;
    let start = offset.checked_add(prefix);
    let start = start.ok_or_else(|| damaged(format!("starts at byte {offset}")))?;
    Ok([size, stored, start])
}

impl DirectoryEntry {
    /// The bytes of the member's name in the archive.
    #[inline]
    pub(super) fn raw_name(&self) -> &[u8] {
        self.raw_name.as_deref().unwrap_or(self.name.as_bytes())
    }
}

/// Limits each member by the start of the next member. Bytes that two members
/// share would be inflated twice, as in zip bombs.
#[inline]
fn set_limits(entries: &mut [DirectoryEntry], directory: u64) {
    let mut order: Vec<(u64, usize)> = entries.iter().map(|entry| entry.start).zip(0..).collect();
    order.sort_unstable();
    let mut limit = directory;
    for (start, position) in order.into_iter().rev() {
        if let Some(entry) = entries.get_mut(position) {
            entry.limit = limit;
        }
        limit = start;
    }
}

#[inline]
fn wrong_extra(problem: &str) -> Error {
    damaged(format!("its extra fields in the directory {problem}"))
}

#[inline]
fn cut_off() -> Error {
    damaged("the directory ends inside the record of a member".to_owned())
}

/// The error for a record that does not start with its signature.
#[inline]
pub(super) fn wrong_signature(what: &str, found: [u8; 4], expected: [u8; 4]) -> Error {
    let (found, expected) = (found.escape_ascii(), expected.escape_ascii());
    damaged(format!("{what} starts with b\"{found}\" instead of b\"{expected}\""))
}

/// The error for an archive with wrong records.
#[inline]
pub(super) fn damaged(found: String) -> Error {
    let expected = "the archive was truncated, or is damaged";
    ArchiveError::damaged(found, expected)
}

/// What fails if the archive cannot be read.
pub(super) const READ_ARCHIVE: &str = "read the archive";

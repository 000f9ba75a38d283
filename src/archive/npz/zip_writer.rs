//! Writes the records of an archive (APPNOTE.TXT 4.3): a header before each
//! member, and the directory after the last member.

use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use zerocopy::IntoBytes;

use super::records::{
    CentralHeader, DESCRIPTOR_SIGNATURE, EndRecord, Flags, IN_ZIP64, IN_ZIP64_SHORT, LocalHeader,
    Method, Zip64EndRecord, Zip64Locator, len_of,
};
use crate::error::invariant::{Invariant, to_u64, to_usize};

/// The modification time of all members: 1980-01-01, the earliest date of the
/// format. It is constant so that equal arrays give equal archives.
const DATE: u32 = 33 << 16;

/// The versions of the format that readers must implement: 2.0, and 4.5 for zip64.
const VERSION: u8 = 20;
const VERSION_ZIP64: u8 = 45;

/// The system in archives with Unix modes.
const UNIX: u16 = 3;

/// The DOS attribute of directories.
const DOS_DIRECTORY: u32 = 0x10;

/// The header ID of the extra field for 64-bit sizes and offsets.
const ZIP64: u16 = 1;

/// The header ID of the extra field that aligns data, as Android's zipalign writes it.
const ALIGNMENT: u16 = 0xd935;

/// Moves the position of a buffered writer.
type SeekFn<W> = fn(&mut BufWriter<W>, SeekFrom) -> io::Result<u64>;

/// Writes an archive, one member after another.
#[derive(Debug)]
pub(super) struct ZipWriter<W: Write> {
    to: BufWriter<W>,
    /// The writer's position where the archive starts.
    base: u64,
    /// The number of bytes written.
    offset: u64,
    /// `None` if what was written cannot be changed, as in a pipe.
    seek: Option<SeekFn<W>>,
    members: Vec<MemberRecord>,
}

/// The CRC-32 of a member, and its lengths in the archive and uncompressed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    pub(super) crc32: u32,
    pub(super) stored: u64,
    pub(super) size: u64,
}

/// A new member, without its bytes and their lengths.
#[derive(Debug)]
pub(super) struct MemberStart<'a> {
    pub(super) name: &'a [u8],
    /// Whether a name that is not ASCII is UTF-8. Otherwise it is in code page 437.
    pub(super) is_utf8: bool,
    pub(super) method: Method,
    /// The type and the permissions of its file on Unix.
    pub(super) mode: Option<u32>,
    /// The number of bytes before its elements, and their alignment, if they are stored
    /// uncompressed.
    pub(super) aligned: Option<(u64, u64)>,
}

/// The contents of a member's headers.
#[derive(Debug)]
struct MemberRecord {
    name: Box<[u8]>,
    flags: u16,
    method: Method,
    mode: Option<u32>,
    /// The offset of the local header.
    start: u64,
    /// The length of the extra fields in the local header.
    local_extra: u16,
    /// Whether the local header has sizes of 64 bits.
    is_large: bool,
    numbers: Numbers,
}

impl<W: Write> ZipWriter<W> {
    /// An archive with the sizes and the CRC-32 after each member, unless they
    /// are known before.
    pub(super) fn new(to: W) -> ZipWriter<W> {
        let (to, members) = (BufWriter::new(to), Vec::new());
        ZipWriter { to, base: 0, offset: 0, seek: None, members }
    }

    /// An archive with the sizes and the CRC-32 before each member, if the
    /// writer can seek.
    pub(super) fn new_seekable(to: W) -> io::Result<ZipWriter<W>>
    where
        W: Seek,
    {
        let mut zip = ZipWriter::new(to);
        if let Some(base) = settable_position(&mut zip.to)? {
            zip.base = base;
            zip.seek = Some(Seek::seek);
        }
        Ok(zip)
    }

    /// Starts a member of `size` bytes. Its CRC-32 and its length in the archive are found
    /// while it is written.
    pub(super) fn start_unknown(
        &mut self,
        member: &MemberStart<'_>,
        size: u64,
    ) -> io::Result<EntryWriter<'_, W>> {
        // Of bytes that cannot be compressed, the fastest level of deflate makes an eighth
        // more, with codes of 9 bits, and some bits for each block.
        let added = if member.method == Method::DEFLATED { size / 7 } else { 0 };
        let stored = size + added;
        self.start(member, Numbers { crc32: 0, stored, size }, false)
    }

    /// Starts a member, with zeros in its local header for numbers that are not known.
    pub(super) fn start(
        &mut self,
        member: &MemberStart<'_>,
        numbers: Numbers,
        is_known: bool,
    ) -> io::Result<EntryWriter<'_, W>> {
        let MemberStart { name, is_utf8, method, mode, aligned } = *member;
        let Numbers { stored, size, .. } = numbers;
        let is_large = [stored, size].iter().any(|&size| size >= u64::from(IN_ZIP64));
        let zip64_len = if is_large { 20 } else { 0 };
        let start = self.offset + len_of::<LocalHeader>() + to_u64(name.len()) + zip64_len;
        let padding =
            aligned.and_then(|(before, align)| padding(self.base + start + before, align));
        let padding = padding.unwrap_or_default();
        let is_streamed = !is_known && self.seek.is_none();
        let is_utf8 = is_utf8 && !name.is_ascii();
        let record = MemberRecord {
            name: name.into(),
            flags: Flags::of_new_member(is_utf8, is_streamed).0,
            method,
            mode,
            start: self.offset,
            local_extra: short(zip64_len + to_u64(padding.len())),
            is_large,
            numbers: if is_known { numbers } else { Numbers { crc32: 0, stored: 0, size: 0 } },
        };
        self.write_all(&record.local_header())?;
        self.write_all(&padding)?;
        Ok(EntryWriter { zip: self, record, is_known, stored: 0 })
    }

    /// Replaces bytes from the offset `at` on, which were written before.
    fn patch(&mut self, seek: SeekFn<W>, at: u64, bytes: &[u8]) -> io::Result<()> {
        let back = signed(self.offset - at);
        let start = seek(&mut self.to, SeekFrom::Current(-back))?;
        check_position(start, self.base + at)?;
        self.to.write_all(bytes)?;
        let rest = back - signed(to_u64(bytes.len()));
        let end = seek(&mut self.to, SeekFrom::Current(rest))?;
        check_position(end, self.base + self.offset)
    }

    /// Writes the directory, and returns the writer.
    pub(super) fn finish(mut self) -> io::Result<W> {
        let start = self.offset;
        let entries = to_u64(self.members.len());
        for member in std::mem::take(&mut self.members) {
            self.write_all(&member.central_header())?;
        }
        let size = self.offset - start;
        let is_zip64 = entries >= u64::from(IN_ZIP64_SHORT)
            || [size, start].iter().any(|&number| number >= u64::from(IN_ZIP64));
        if is_zip64 {
            let end = self.offset;
            let record = Zip64EndRecord {
                size: Zip64EndRecord::SIZE.into(),
                version_made_by: u16::from(VERSION_ZIP64).into(),
                version_needed: u16::from(VERSION_ZIP64).into(),
                entries_on_disk: entries.into(),
                entries: entries.into(),
                directory_size: size.into(),
                directory_offset: start.into(),
                ..Zip64EndRecord::new()
            };
            self.write_all(record.as_bytes())?;
            let locator =
                Zip64Locator { offset: end.into(), disks: 1.into(), ..Zip64Locator::new() };
            self.write_all(locator.as_bytes())?;
        }
        // Too many are counted in the zip64 record.
        let entries = u16::try_from(entries).unwrap_or(IN_ZIP64_SHORT);
        let record = EndRecord {
            entries_on_disk: entries.into(),
            entries: entries.into(),
            directory_size: saturate(size).into(),
            directory_offset: saturate(start).into(),
            ..EndRecord::new()
        };
        self.write_all(record.as_bytes())?;
        self.to.flush()?;
        self.to.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

/// The position of a writer. Returns `None` if it has none, or cannot set it.
/// Devices such as `/dev/null`, and pipes on Windows, are always at 0.
fn settable_position(to: &mut impl Seek) -> io::Result<Option<u64>> {
    use io::ErrorKind::{NotSeekable, Unsupported};
    let start = match to.stream_position() {
        Err(error) if matches!(error.kind(), NotSeekable | Unsupported) => return Ok(None),
        start => start?,
    };
    let next = to.seek(SeekFrom::Current(1))?;
    let end = to.seek(SeekFrom::Current(-1))?;
    Ok((next.checked_sub(1) == Some(start) && end == start).then_some(start))
}

#[inline]
fn check_position(found: u64, expected: u64) -> io::Result<()> {
    if found == expected {
        return Ok(());
    }
    let problem = format!(
        "it is at byte {found} instead of {expected}: a file must not be open for appending"
    );
    Err(io::Error::new(io::ErrorKind::InvalidInput, problem))
}

impl<W: Write> Write for ZipWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A wrong implementation of `Write` may return more than it was given.
        let written = self.to.write(bytes)?.min(bytes.len());
        self.offset += to_u64(written);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Writes the bytes of a member as they are stored.
#[derive(Debug)]
pub(super) struct EntryWriter<'a, W: Write> {
    zip: &'a mut ZipWriter<W>,
    record: MemberRecord,
    is_known: bool,
    /// The number of bytes written.
    stored: u64,
}

impl<W: Write> EntryWriter<'_, W> {
    /// Finishes the member, which has this CRC-32 and this uncompressed length.
    pub(super) fn finish(mut self, crc32: u32, size: u64) -> io::Result<()> {
        if !self.is_known {
            self.record.numbers = Numbers { crc32, stored: self.stored, size };
            if !self.record.is_large && saturate(self.stored.max(size)) == IN_ZIP64 {
                return Err(io::Error::other("a deflated member is larger than expected"));
            }
            match self.zip.seek {
                Some(seek) => {
                    let header = self.record.local_header();
                    self.zip.patch(seek, self.record.start, &header)?;
                }
                None => self.zip.write_all(&self.record.descriptor())?,
            }
        }
        self.zip.members.push(self.record);
        Ok(())
    }
}

impl<W: Write> Write for EntryWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.zip.write(bytes)?;
        self.stored += to_u64(written);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.zip.flush()
    }
}

impl MemberRecord {
    /// The local header, without the padding after it. All have the same length,
    /// whatever the numbers are.
    #[inline]
    fn local_header(&self) -> Vec<u8> {
        let Numbers { crc32, stored, size } = self.numbers;
        let short_size = |size| if self.is_large { IN_ZIP64 } else { saturate(size) };
        let record = LocalHeader {
            version_needed: u16::from(self.version()).into(),
            flags: self.flags.into(),
            method: self.method.0.into(),
            time: DATE.into(),
            crc32: crc32.into(),
            stored: short_size(stored).into(),
            size: short_size(size).into(),
            name_len: short(to_u64(self.name.len())).into(),
            extra_len: self.local_extra.into(),
            ..LocalHeader::new()
        };
        let zip64 = if self.is_large { zip64_field(&[size, stored]) } else { Vec::new() };
        [record.as_bytes(), &self.name, &zip64].concat()
    }

    /// The numbers after the bytes of the member.
    #[inline]
    fn descriptor(&self) -> Vec<u8> {
        let Numbers { crc32, stored, size } = self.numbers;
        let mut bytes = [DESCRIPTOR_SIGNATURE, crc32.to_le_bytes()].concat();
        for size in [stored, size] {
            if self.is_large {
                bytes.extend(size.to_le_bytes());
            } else {
                bytes.extend(saturate(size).to_le_bytes());
            }
        }
        bytes
    }

    /// The header in the directory.
    #[inline]
    fn central_header(&self) -> Vec<u8> {
        let Numbers { crc32, stored, size } = self.numbers;
        let large: Vec<u64> = [size, stored, self.start]
            .into_iter()
            .filter(|&number| saturate(number) == IN_ZIP64)
            .collect();
        let zip64 = if large.is_empty() { Vec::new() } else { zip64_field(&large) };
        let version = self.version();
        let system = if self.mode.is_some() { UNIX } else { 0 };
        let directory = if self.name.ends_with(b"/") { DOS_DIRECTORY } else { 0 };
        let record = CentralHeader {
            version_made_by: (system << 8 | u16::from(version)).into(),
            version_needed: version,
            flags: self.flags.into(),
            method: self.method.0.into(),
            time: DATE.into(),
            crc32: crc32.into(),
            stored: saturate(stored).into(),
            size: saturate(size).into(),
            name_len: short(to_u64(self.name.len())).into(),
            extra_len: short(to_u64(zip64.len())).into(),
            external_attributes: (self.mode.unwrap_or(0) << 16 | directory).into(),
            offset: saturate(self.start).into(),
            ..CentralHeader::new()
        };
        [record.as_bytes(), &self.name, &zip64].concat()
    }

    #[inline]
    fn version(&self) -> u8 {
        let is_zip64 = self.is_large || saturate(self.start) == IN_ZIP64;
        if is_zip64 { VERSION_ZIP64 } else { VERSION }
    }
}

/// The extra field with these numbers.
#[inline]
fn zip64_field(numbers: &[u64]) -> Vec<u8> {
    let len = short(to_u64(8 * numbers.len()));
    let mut field = [ZIP64.to_le_bytes(), len.to_le_bytes()].concat();
    field.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    field
}

/// The extra field that moves data from `start` to the next multiple of
/// `align`. Returns `None` if `start` is one already. Like Android's zipalign,
/// it contains the alignment and zeros.
#[inline]
fn padding(start: u64, align: u64) -> Option<Vec<u8>> {
    /// The length of the field without zeros: ID, length and alignment.
    const MIN: u64 = 6;
    if start % align == 0 {
        return None;
    }
    let len = MIN + (start + MIN).wrapping_neg() % align;
    let mut field = [ALIGNMENT, short(len - 4), short(align)].map(u16::to_le_bytes).concat();
    field.resize(to_usize(len), 0);
    Some(field)
}

/// The 32-bit form of a number. If it does not fit, its 64-bit form is in an
/// extra field.
#[inline]
fn saturate(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(IN_ZIP64)
}

#[inline]
fn short(len: u64) -> u16 {
    u16::try_from(len).invariant("names and extra fields have at most 65,535 bytes")
}

#[inline]
fn signed(len: u64) -> i64 {
    i64::try_from(len).invariant("files have at most `i64::MAX` bytes")
}

#[cfg(test)]
mod tests;

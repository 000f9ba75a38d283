//! Reads the headers of tar files: ustar, pax and GNU's.
//!
//! Finds the same members as Python's `tarfile`. This rejects a file if other
//! programs would find different members.

use std::collections::{HashMap, HashSet};

use super::pax::{Pax, without_slashes};
use crate::error::invariant::{Invariant, to_u64, to_usize};
use crate::error::{ArchiveError, Error, ErrorKind, IoContext as _, Result};
use crate::source::storage::Storage;

/// Headers and members start at multiples of this.
const BLOCK: usize = 512;

/// The longest extension record read into memory: a long name or a pax header.
const MAX_EXTENSION: u64 = 1 << 20;

/// One regular file in a tar file.
#[derive(Clone, Debug)]
pub(super) struct TarEntry {
    pub(super) name: String,
    /// The bytes of the name, if they are not UTF-8.
    pub(super) raw_name: Option<Box<[u8]>>,
    /// The offset of its first byte.
    pub(super) start: u64,
    /// Its length, including the holes of a sparse file.
    pub(super) size: u64,
    /// Whether it is stored without its holes, so that its bytes here are not
    /// the file's contents.
    pub(super) is_sparse: bool,
}

/// The extension records before a member.
#[derive(Default, PartialEq)]
struct Extensions {
    long_name: Option<Vec<u8>>,
    /// The target of a link.
    long_link: Option<Vec<u8>>,
    pax: Option<Pax>,
    /// Whether there is a pax header for all members, which changes none of this.
    has_global: bool,
}

impl Extensions {
    /// Returns whether a name in these records is not that of a directory.
    #[inline]
    fn name_a_file(&self) -> bool {
        let long = self.long_name.as_ref().is_some_and(|name| !name.ends_with(b"/"));
        long || self.pax.as_ref().is_some_and(|pax| pax.name().is_some() && !pax.has_slash)
    }

    /// The name in these records, if there is one.
    #[inline]
    fn name(&self) -> Result<Option<&[u8]>> {
        let pax = self.pax.as_ref().and_then(Pax::name);
        one_of(pax, self.long_name.as_deref(), "a member has two names")
    }

    /// The target of a link in these records, if there is one.
    #[inline]
    fn link(&self) -> Result<Option<&[u8]>> {
        let pax = self.pax.as_ref().and_then(|pax| pax.link.as_deref());
        one_of(pax, self.long_link.as_deref(), "a link has two targets")
    }

    /// Reads a record of `size` bytes at `start`. Returns whether this kind extends members.
    #[inline]
    fn read(&mut self, kind: u8, source: &Storage, start: u64, size: u64) -> Result<bool> {
        match kind {
            b'L' => read_long(&mut self.long_name, "name", source, (start, size))?,
            b'K' => read_long(&mut self.long_link, "target", source, (start, size))?,
            b'x' | b'X' => {
                if self.pax.replace(read_pax(source, start, size)?).is_some() {
                    return Err(damaged("a member has two pax headers"));
                }
            }
            b'g' => {
                if read_pax(source, start, size)? != Pax::default() {
                    return Err(damaged("a global pax header sets a name, target or size"));
                }
                self.has_global = true;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Reads GNU's record of a long name or target, of `size` bytes at `start`.
#[inline]
fn read_long(
    into: &mut Option<Vec<u8>>,
    what: &str,
    source: &Storage,
    (start, size): (u64, u64),
) -> Result<()> {
    let record = read_extension(source, start, size)?;
    // Other readers take the name up to the next NUL.
    if !record.contains(&0) && continues(source, start, size)? {
        return Err(damaged(&format!("a long {what} continues past its size")));
    }
    if into.replace(text(&record).to_vec()).is_some() {
        return Err(damaged(&format!("a member has two long {what}s")));
    }
    Ok(())
}

/// The text in a pax header or in a record of GNU, which must be the same: a directory's
/// name may end in slashes.
#[inline]
fn one_of<'t>(
    pax: Option<&'t [u8]>,
    long: Option<&'t [u8]>,
    problem: &str,
) -> Result<Option<&'t [u8]>> {
    match (pax, long) {
        (Some(pax), Some(long)) if without_slashes(pax) != without_slashes(long) => {
            Err(damaged(problem))
        }
        _ => Ok(pax.or(long)),
    }
}

/// The members of a tar file that are not regular files: the name of each, and the number
/// of files before it.
#[derive(Default)]
struct Others(Vec<(Vec<u8>, usize)>);

impl Others {
    #[inline]
    fn add(&mut self, header: &TarHeader, extensions: &Extensions, files: usize) -> Result<()> {
        let name = header.name_after(extensions)?;
        let link = extensions.link()?.unwrap_or_else(|| text(header.field(157, 100)));
        // A file that is stored twice is stored as a link to itself.
        let is_itself = header.kind() == b'1' && *link == *name;
        if files > 0 && !is_itself {
            self.0.push((without_slashes(&name).to_vec(), files));
        }
        Ok(())
    }

    /// The names of files that one of these members replaces when a program unpacks all.
    #[inline]
    fn replaced(self, entries: &[TarEntry]) -> HashSet<String> {
        let positions = entries.iter().enumerate();
        let last: HashMap<_, _> = positions.map(|(at, entry)| (&*entry.name, at)).collect();
        let names = self.0.into_iter().filter_map(|(name, files)| {
            let name = String::from_utf8_lossy(&name).into_owned();
            last.get(&*name).is_some_and(|&at| at < files).then_some(name)
        });
        names.collect()
    }
}

/// Finds the regular files in a tar file, and the names of files replaced by a
/// link, a device, a directory or a later member of the same name. Reads only
/// headers.
#[inline]
pub(super) fn entries(source: &Storage) -> Result<(Vec<TarEntry>, HashSet<String>)> {
    let (mut entries, mut others) = (Vec::new(), Others::default());
    let mut extensions = Extensions::default();
    let mut offset = 0;
    if source.len() == 0 {
        return Err(damaged("it is empty"));
    }
    while let Some(header) = TarHeader::read(source, offset)? {
        let size = header.size()?;
        let data = offset + block_len();
        let pax_size = extensions.pax.as_ref().and_then(|pax| pax.size);
        let stored = match header.kind() {
            kind if extensions.read(kind, source, data, size)? => size,
            _ if header.is_regular() => {
                let extensions = std::mem::take(&mut extensions);
                let stored = pax_size.unwrap_or(size);
                let map_len = header.sparse_map_len(source, data)?;
                let start = data + map_len;
                entries.push(header.entry(extensions, start, stored)?);
                map_len.checked_add(stored).ok_or_else(|| too_long(stored))?
            }
            // Links, devices and directories have no data.
            kind @ (b'1'..=b'6' | 0 | b'0') => {
                // Python decides by the header's own name, GNU tar by the last one.
                if kind == 0 && extensions.name_a_file() {
                    return Err(damaged("a directory has the name of a file"));
                }
                others.add(&header, &extensions, entries.len())?;
                extensions = Extensions::default();
                if has_ambiguous_size(kind, size, pax_size) {
                    return Err(damaged("a link, device or directory has a size"));
                }
                0
            }
            _ => {
                others.add(&header, &extensions, entries.len())?;
                extensions = Extensions::default();
                pax_size.unwrap_or(size)
            }
        };
        let len = stored.checked_next_multiple_of(block_len());
        let next = len.and_then(|len| data.checked_add(len));
        offset = next.ok_or_else(|| too_long(stored))?;
    }
    if extensions != Extensions::default() {
        return Err(damaged("an extension record is not followed by a member"));
    }
    let replaced = others.replaced(&entries);
    Ok((entries, replaced))
}

/// Returns whether GNU tar skips as many bytes after a member without data as it claims to
/// have, while Python ignores its size: the members after it would differ.
#[inline]
fn has_ambiguous_size(kind: u8, size: u64, pax_size: Option<u64>) -> bool {
    match kind {
        // GNU tar ignores these sizes in headers, where some writers set them.
        b'1' | b'5' => pax_size.is_some_and(|size| size > 0),
        _ => pax_size.unwrap_or(size) > 0,
    }
}

/// The header of a member or of an extension record.
struct TarHeader([u8; BLOCK]);

impl TarHeader {
    /// Reads the header at `offset`. Returns `None` at the end of the tar file,
    /// which is a block of zeros or the end of the source.
    #[inline]
    fn read(source: &Storage, offset: u64) -> Result<Option<TarHeader>> {
        let mut bytes = [0; BLOCK];
        match source.read_at(&mut bytes, offset).context("read the archive")? {
            0 => return Ok(None),
            BLOCK => {}
            _ => return Err(damaged("it ends inside a header")),
        }
        if bytes == [0; BLOCK] {
            return Ok(None);
        }
        let header = TarHeader(bytes);
        if number(header.field(148, 8)).is_none_or(|sum| !header.sums().contains(&Some(sum))) {
            return Err(damaged("the checksum of a header is wrong"));
        }
        if !header.has_numbers() {
            return Err(damaged("a field of a header is not a number"));
        }
        Ok(Some(header))
    }

    /// Returns whether the fields not used here have numbers, as other readers
    /// demand: mode, owner, group, time, device, and the parts of a sparse
    /// member.
    #[inline]
    fn has_numbers(&self) -> bool {
        let parts = if self.kind() == b'S' { self.field(386, 96) } else { &[] };
        [(100, 8), (108, 8), (116, 8), (136, 12), (329, 8), (337, 8)]
            .iter()
            .map(|&(start, len)| self.field(start, len))
            .chain(parts.chunks(12))
            .all(is_number)
    }

    /// The sums of the header's bytes, as unsigned and as signed numbers: old
    /// programs wrote either, of which a negative one is none. The 8 bytes of the checksum count
    /// as spaces.
    #[inline]
    fn sums(&self) -> [Option<u64>; 2] {
        let TarHeader(bytes) = self;
        let others = bytes.iter().take(148).chain(bytes.iter().skip(156));
        let unsigned = others.clone().map(|&byte| u64::from(byte)).sum::<u64>() + 8 * 32;
        // As a signed number, a byte from 128 on is 256 less.
        let negative = others.filter(|&&byte| byte >= 128).count();
        [Some(unsigned), unsigned.checked_sub(256 * to_u64(negative))]
    }

    #[inline]
    fn field(&self, start: usize, len: usize) -> &[u8] {
        self.0.get(start..start + len).invariant("fields are inside the header")
    }

    #[inline]
    fn kind(&self) -> u8 {
        *self.0.get(156).invariant("fields are inside the header")
    }

    #[inline]
    fn is_regular(&self) -> bool {
        match self.kind() {
            // Before ustar, a directory was a regular file whose name ends in
            // a slash.
            0 => !text(self.field(0, 100)).ends_with(b"/"),
            kind => matches!(kind, b'0' | b'7' | b'S'),
        }
    }

    #[inline]
    fn size(&self) -> Result<u64> {
        number(self.field(124, 12)).ok_or_else(size_is_no_number)
    }

    /// The name in the header, after ustar's prefix if there is one.
    #[inline]
    fn name(&self) -> Result<Vec<u8>> {
        let name = text(self.field(0, 100));
        let prefix = text(self.field(345, 155));
        // GNU's format has the times of access and change there.
        let has_times = self.is_gnu()
            && [(345, 12), (357, 12)].iter().all(|&(start, len)| is_number(self.field(start, len)));
        if prefix.is_empty() || has_times {
            return Ok(name.to_vec());
        }
        // Any version: other readers ignore it.
        if self.field(257, 6) != b"ustar\0" {
            return Err(damaged("a name has a prefix, in a format that has none"));
        }
        Ok([prefix, b"/", name].concat())
    }

    /// The name of a member after these records.
    #[inline]
    fn name_after(&self, extensions: &Extensions) -> Result<Vec<u8>> {
        match extensions.name()? {
            Some(name) => Ok(name.to_vec()),
            None => self.name(),
        }
    }

    #[inline]
    fn is_gnu(&self) -> bool {
        self.field(257, 8) == b"ustar  \0"
    }

    /// The entry of this header, with its `stored` bytes from `start` on.
    #[inline]
    fn entry(&self, extensions: Extensions, start: u64, stored: u64) -> Result<TarEntry> {
        let name = self.name_after(&extensions)?;
        let is_directory = extensions.long_name.is_some_and(|name| name.ends_with(b"/"));
        let pax = extensions.pax.unwrap_or_default();
        // GNU tar takes it for a directory, and its contents for members.
        if stored > 0 && (pax.has_slash || is_directory || name.ends_with(b"/")) {
            return Err(damaged("a file with contents has the name of a directory"));
        }
        if self.kind() == b'S' && (pax.is_sparse || !self.is_gnu()) {
            return Err(damaged("a sparse member mixes two formats"));
        }
        let real_size = match self.kind() {
            b'S' => Some(number(self.field(483, 12)).ok_or_else(size_is_no_number)?),
            _ => pax.real_size,
        };
        let text = String::from_utf8_lossy(&name).into_owned();
        Ok(TarEntry {
            raw_name: (text.as_bytes() != name).then(|| name.into()),
            name: text,
            start,
            size: real_size.unwrap_or(stored),
            is_sparse: self.kind() == b'S' || pax.is_sparse,
        })
    }

    /// The length of the blocks after this header that continue the map of a
    /// sparse member in GNU's old format.
    #[inline]
    fn sparse_map_len(&self, source: &Storage, start: u64) -> Result<u64> {
        let mut len = 0;
        let mut is_extended = self.kind() == b'S' && self.field(482, 1) != [0];
        while is_extended {
            let mut block = [0; BLOCK];
            let found = source.read_at(&mut block, start + len);
            if found.context("read the archive")? < BLOCK {
                return Err(damaged("it ends inside the map of a sparse member"));
            }
            if !block.chunks_exact(12).all(is_number) {
                return Err(damaged("the map of a sparse member has a part that is not a number"));
            }
            len += block_len();
            is_extended = block.get(504).is_some_and(|&byte| byte != 0);
        }
        Ok(len)
    }
}

/// Reads a pax header. Python before 3.13 also reads records in its padding.
#[inline]
fn read_pax(source: &Storage, start: u64, size: u64) -> Result<Pax> {
    let record = read_extension(source, start, size)?;
    if continues(source, start, size)? {
        return Err(damaged("a pax header continues past its size"));
    }
    Pax::parse(&record).map_err(damaged)
}

/// Returns whether the padding of an extension record starts with a byte other
/// than NUL.
#[inline]
fn continues(source: &Storage, start: u64, size: u64) -> Result<bool> {
    let has_padding = size % block_len() != 0;
    Ok(has_padding && read_extension(source, start + size, 1)? != [0])
}

/// Reads an extension record of at most [`MAX_EXTENSION`] bytes.
#[inline]
fn read_extension(source: &Storage, start: u64, size: u64) -> Result<Vec<u8>> {
    if size > MAX_EXTENSION {
        let found = format!("an extension record of {size} bytes at byte {start}");
        let expected = "at most 1 MiB is supported for names and pax headers";
        return Err(ArchiveError::with_kind(ErrorKind::LimitExceeded, found, expected));
    }
    let mut bytes = vec![0; to_usize(size)];
    let found = source.read_at(&mut bytes, start).context("read the archive")?;
    if found < bytes.len() {
        return Err(damaged("it ends inside an extension record"));
    }
    Ok(bytes)
}

/// The text in a field, which ends at the first NUL.
#[inline]
fn text(field: &[u8]) -> &[u8] {
    field.split(|&byte| byte == 0).next().invariant("`split` yields at least one slice")
}

/// Parses a number: octal digits, or big-endian bytes after a byte 0x80. GNU tar skips a
/// NUL before them, where other readers end the number, and refuses a field of spaces.
#[inline]
fn number(field: &[u8]) -> Option<u64> {
    if matches!(field, [0, 1..=255, ..]) {
        return None;
    }
    if let Some((&first, rest)) = field.split_first() {
        if first >= 0x80 {
            let (zeros, last) = rest.split_last_chunk::<8>().unwrap_or((&[], &[0xff; 8]));
            let fits = first == 0x80 && zeros.iter().all(|&byte| byte == 0);
            return fits.then(|| u64::from_be_bytes(*last));
        }
    }
    let digits = text(field).trim_ascii();
    if digits.is_empty() && !field.contains(&0) {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, &digit| match digit {
        b'0'..=b'7' => number.checked_mul(8)?.checked_add(u64::from(digit - b'0')),
        _ => None,
    })
}

/// Returns whether a field has a number, which may be negative or large, as Python reads it.
#[inline]
fn is_number(field: &[u8]) -> bool {
    let digits = text(field).trim_ascii();
    let digits = match digits.strip_prefix(b"-") {
        Some([]) => return false,
        Some(digits) => digits,
        None => digits,
    };
    matches!(field.first(), Some(0x80 | 0xff))
        || digits.iter().all(|digit| (b'0'..=b'7').contains(digit))
}

#[inline]
fn block_len() -> u64 {
    to_u64(BLOCK)
}

#[inline]
fn too_long(size: u64) -> Error {
    damaged(&format!("a member has {size} bytes"))
}

#[inline]
fn size_is_no_number() -> Error {
    damaged("the size of a member is not a number")
}

#[inline]
fn damaged(problem: &str) -> Error {
    ArchiveError::damaged(
        format!("not a tar file, or damaged ({problem})"),
        "expected an uncompressed tar file",
    )
}

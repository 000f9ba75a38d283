//! Reads the headers of tar files: ustar, pax and GNU's.
//!
//! Members are found as Python's `tarfile` finds them. Where other programs
//! would find other members, the file is refused.

use std::io;

use super::pax::Pax;
use crate::error::invariant::{Invariant, to_u64, to_usize};
use crate::error::{ArchiveError, Error, ErrorKind, Result, SystemError};
use crate::source::storage::Storage;

/// Headers and members start at multiples of this.
const BLOCK: usize = 512;

/// The longest record of a name or of pax keywords that is read: it is held in
/// memory.
const MAX_EXTENSION: u64 = 1 << 20;

/// One regular file in a tar file.
#[derive(Clone, Debug)]
pub(super) struct TarEntry {
    pub(super) name: String,
    /// Where its bytes start.
    pub(super) start: u64,
    /// Its length, with its holes if it is sparse.
    pub(super) size: u64,
    /// Stored without its holes, so that its bytes are not those of the file.
    pub(super) is_sparse: bool,
}

/// What extension records say of the member that follows them.
#[derive(Default)]
struct Extensions {
    long_name: Option<Vec<u8>>,
    pax: Option<Pax>,
    /// A record that says nothing of its name or bytes, such as the target of
    /// a link.
    other: bool,
}

impl Extensions {
    fn is_empty(&self) -> bool {
        self.long_name.is_none() && self.pax.is_none() && !self.other
    }
}

/// Finds the regular files of a tar file; reads its headers and nothing else.
pub(super) fn entries(source: &Storage) -> Result<Vec<TarEntry>> {
    let mut entries = Vec::new();
    let mut extensions = Extensions::default();
    let mut at = 0;
    if source.len() == 0 {
        return Err(damaged("an empty file"));
    }
    while let Some(header) = TarHeader::read(source, at)? {
        let size = header.size()?;
        let data = at.saturating_add(block_len());
        let pax_size = extensions.pax.as_ref().and_then(|pax| pax.size);
        let stored = match header.kind() {
            b'L' => {
                let name = extension(source, data, size)?;
                // Other readers take the name up to the next NUL of its blocks.
                let is_cut = size % to_u64(BLOCK) != 0 && !name.contains(&0);
                if is_cut && extension(source, data.saturating_add(size), 1)? != [0] {
                    return Err(damaged("a long name continues past its size"));
                }
                let name = name
                    .split(|&byte| byte == 0)
                    .next()
                    .invariant("splitting gives one part at least")
                    .to_vec();
                if extensions.long_name.replace(name).is_some() {
                    return Err(damaged("a member has two long names"));
                }
                size
            }
            b'x' | b'X' => {
                let pax = Pax::parse(&extension(source, data, size)?).map_err(damaged)?;
                if extensions.pax.replace(pax).is_some() {
                    return Err(damaged("a member has two pax headers"));
                }
                size
            }
            b'g' => {
                let pax = Pax::parse(&extension(source, data, size)?).map_err(damaged)?;
                if !pax.is_default() {
                    return Err(damaged("a global pax header sets a name or size"));
                }
                extensions.other = true;
                size
            }
            b'K' => {
                extensions.other = true;
                size
            }
            _ if header.is_regular() => {
                let extensions = std::mem::take(&mut extensions);
                let stored = pax_size.unwrap_or(size);
                let holes = header.skip_map(source, data)?;
                let start = data.saturating_add(holes);
                entries.push(header.entry(extensions, start, stored)?);
                holes.checked_add(stored).ok_or_else(|| too_long(stored))?
            }
            // Links, devices and directories have no data, whatever their size.
            b'1'..=b'6' | 0 | b'0' => {
                extensions = Extensions::default();
                0
            }
            _ => {
                extensions = Extensions::default();
                pax_size.unwrap_or(size)
            }
        };
        let len = stored.checked_next_multiple_of(block_len());
        let next = len.and_then(|len| data.checked_add(len));
        at = next.ok_or_else(|| too_long(stored))?;
    }
    if !extensions.is_empty() {
        return Err(damaged("an extension record is not followed by a member"));
    }
    Ok(entries)
}

/// A header that is not the end of the file.
struct TarHeader([u8; BLOCK]);

impl TarHeader {
    /// Reads the header at byte `at`; `None` at the end of the tar file.
    fn read(source: &Storage, at: u64) -> Result<Option<TarHeader>> {
        let mut bytes = [0; BLOCK];
        match source.read_at(&mut bytes, at).map_err(read_error())? {
            0 => return Ok(None),
            BLOCK => {}
            _ => return Err(damaged("ends inside a header")),
        }
        if bytes == [0; BLOCK] {
            return Ok(None);
        }
        let header = TarHeader(bytes);
        if number(header.field(148, 8)).is_none_or(|sum| !header.sums().contains(&sum)) {
            return Err(damaged("the checksum of a header is wrong"));
        }
        Ok(Some(header))
    }

    /// The sums of the header's bytes, as unsigned and as signed numbers: old
    /// programs wrote either. The checksum itself counts as spaces.
    fn sums(&self) -> [u64; 2] {
        let TarHeader(bytes) = self;
        let others = || bytes.iter().take(148).chain(bytes.iter().skip(156));
        let unsigned = others().map(|&byte| u64::from(byte)).sum::<u64>() + 8 * 32;
        let negative = others().filter(|&&byte| byte >= 128).count();
        let negative = 256 * to_u64(negative);
        [unsigned, unsigned.saturating_sub(negative)]
    }

    fn field(&self, at: usize, len: usize) -> &[u8] {
        self.0.get(at..at.saturating_add(len)).invariant("fields lie inside the header")
    }

    fn kind(&self) -> u8 {
        *self.0.get(156).invariant("fields lie inside the header")
    }

    fn is_regular(&self) -> bool {
        match self.kind() {
            // Before ustar, directories were regular files by that name.
            0 => !text(self.field(0, 100)).ends_with(b"/"),
            kind => matches!(kind, b'0' | b'7' | b'S'),
        }
    }

    fn size(&self) -> Result<u64> {
        number(self.field(124, 12)).ok_or_else(|| damaged("the size of a member is not a number"))
    }

    /// Its own name, with the prefix that ustar has for long ones.
    fn name(&self) -> Vec<u8> {
        let name = text(self.field(0, 100));
        let prefix = text(self.field(345, 155));
        if self.field(257, 8) != b"ustar\x0000" || prefix.is_empty() {
            return name.to_vec();
        }
        [prefix, b"/", name].concat()
    }

    /// The member of this header, whose bytes start at `start`.
    fn entry(&self, extensions: Extensions, start: u64, stored: u64) -> Result<TarEntry> {
        let pax = extensions.pax.unwrap_or_default();
        let name = match (pax.name(), extensions.long_name) {
            (Some(pax), Some(long)) if *pax != *long => {
                return Err(damaged("a member has two names"));
            }
            (Some(name), _) => name.to_vec(),
            (None, Some(name)) => name,
            (None, None) => self.name(),
        };
        if self.kind() == b'S' && (pax.is_sparse || self.field(257, 8) != b"ustar  \0") {
            return Err(damaged("a sparse member mixes two formats"));
        }
        let real_size =
            if self.kind() == b'S' { number(self.field(483, 12)) } else { pax.real_size };
        Ok(TarEntry {
            name: String::from_utf8_lossy(&name).into_owned(),
            start,
            size: real_size.unwrap_or(stored),
            is_sparse: self.kind() == b'S' || pax.is_sparse,
        })
    }

    /// The length of the blocks after this header that continue the map of an
    /// old sparse member.
    fn skip_map(&self, source: &Storage, start: u64) -> Result<u64> {
        let mut len = 0;
        let mut is_extended = self.kind() == b'S' && self.field(482, 1) != [0];
        while is_extended {
            let mut block = [0; BLOCK];
            let found = source.read_at(&mut block, start.saturating_add(len));
            if found.map_err(read_error())? < BLOCK {
                return Err(damaged("ends inside the map of a sparse member"));
            }
            len += block_len();
            is_extended = block.get(504).is_some_and(|&byte| byte != 0);
        }
        Ok(len)
    }
}

/// Reads an extension record, whose length is limited.
fn extension(source: &Storage, start: u64, size: u64) -> Result<Vec<u8>> {
    if size > MAX_EXTENSION {
        let found = format!("an extension record of {size} bytes at byte {start}");
        let expected = "at most 1 MiB is supported for names and pax headers";
        return Err(ArchiveError::with_kind(ErrorKind::LimitExceeded, found, expected));
    }
    let mut bytes = vec![0; to_usize(size)];
    let found = source.read_at(&mut bytes, start).map_err(read_error())?;
    if found < bytes.len() {
        return Err(damaged("ends inside an extension record"));
    }
    Ok(bytes)
}

/// A field of text, up to the first NUL.
fn text(field: &[u8]) -> &[u8] {
    field.split(|&byte| byte == 0).next().invariant("splitting gives one part at least")
}

/// A number in octal digits, or in base 256 after a byte 0x80.
fn number(field: &[u8]) -> Option<u64> {
    if let Some((&first, rest)) = field.split_first() {
        if first >= 0x80 {
            let (zeros, last) = rest.split_last_chunk::<8>().unwrap_or((&[], &[0xff; 8]));
            let fits = first == 0x80 && zeros.iter().all(|&byte| byte == 0);
            return fits.then(|| u64::from_be_bytes(*last));
        }
    }
    let digits = text(field).trim_ascii();
    digits.iter().try_fold(0_u64, |number, &digit| match digit {
        b'0'..=b'7' => number.checked_mul(8)?.checked_add(u64::from(digit - b'0')),
        _ => None,
    })
}

fn block_len() -> u64 {
    to_u64(BLOCK)
}

fn too_long(size: u64) -> Error {
    damaged(&format!("a member of {size} bytes"))
}

fn damaged(problem: &str) -> Error {
    ArchiveError::damaged(
        format!("not a tar file, or damaged ({problem})"),
        "expected an uncompressed tar file",
    )
}

fn read_error() -> impl FnOnce(io::Error) -> Error {
    SystemError::io("read the archive")
}

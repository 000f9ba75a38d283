//! Finds the members of an archive without its directory, which is missing if
//! the end of the archive is.

use std::io::{self, Read};
use std::sync::Arc;

use flate2::Crc;
use flate2::read::DeflateDecoder;

use super::directory::{DirectoryEntry, READ_ARCHIVE, wrong_signature};
use super::extra::SizeFields;
use super::name;
use super::open::NpzOptions;
use super::open::reject_writable;
use super::reader::{BUFFER, is_about_bytes};
use super::records::{
    self, CentralHeader, DESCRIPTOR_LEN, DESCRIPTOR_SIGNATURE, EndRecord, Flags, LocalHeader,
    Method, Zip64EndRecord, len_of, split_descriptor,
};
use super::writer;
use super::{Npz, modified};
use crate::error::invariant::{IN_BUFFER, Invariant, READ, to_u64, to_usize};
use crate::error::{ErrorKind, IoContext as _, Result};
use crate::npy::HeaderText;
use crate::source::Source;
use crate::source::pages::Mapping;
use crate::source::storage::Storage;

/// Sizes of 32 bits are modulo this number. The unit tests have a smaller one, so that they
/// need no archive of this size.
const WRAP: u64 = if cfg!(test) { 1 << 16 } else { 1 << 32 };

impl NpzOptions {
    /// Opens an archive with a missing or damaged directory, for example after
    /// a truncated download, or if its writer died. The members are found by
    /// the headers before each, from the first to the last complete one.
    ///
    /// Members of an unknown compressed size, as written to a stream, are read to
    /// find their ends; of the others, only headers are read. A member may be
    /// damaged inside: see [`Member::verify`](super::Member::verify).
    ///
    /// # Errors
    ///
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if the source does not
    /// start with a member of a zip archive,
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if it is mapped
    /// read-write, and [`Io`](crate::ErrorKind::Io) if reading fails.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::npz::{Npz, NpzOptions, savez};
    /// use npymap::{Source, ndarray::arr1};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("a.npz");
    /// savez(&path, &[("x", &arr1(&[0.5, 1.5])), ("y", &arr1(&[2.5]))])?;
    /// let mut bytes = std::fs::read(&path)?;
    /// bytes.truncate(380);
    ///
    /// assert!(Npz::open(Source::bytes(bytes.clone())).is_err());
    /// let npz = NpzOptions::new().scan(Source::bytes(bytes))?;
    /// assert_eq!(npz.names().collect::<Vec<_>>(), ["x"]);
    /// assert_eq!(npz.get("x")?.as_slice::<f64>()?, [0.5, 1.5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scan<D: Mapping>(&self, source: Source<D>) -> Result<Npz<D>> {
        let storage = source.storage();
        let scanner = Scanner { source: storage, max_header_len: self.max_header_len };
        let found = reject_writable(&source).and_then(|()| scanner.entries());
        let entries = storage.add_path_on_err(found)?;
        let modified = modified(source.storage());
        Ok(Npz::new(Arc::new(source), entries, self, modified))
    }
}

struct Scanner<'a> {
    source: &'a Storage,
    max_header_len: usize,
}

/// The end of a member, and the facts that a data descriptor contains about it.
struct MemberEnd {
    crc32: u32,
    size: u64,
    stored: u64,
    /// The offset of the next member.
    next: u64,
}

impl Scanner<'_> {
    #[inline]
    fn entries(&self) -> Result<Vec<DirectoryEntry>> {
        let mut signature = [0; 4];
        self.source.read_at(&mut signature, 0).context(READ_ARCHIVE)?;
        if ![LocalHeader::SIGNATURE, EndRecord::SIGNATURE].contains(&signature) {
            return Err(wrong_signature("the archive", signature, LocalHeader::SIGNATURE));
        }
        let (mut entries, mut at): (Vec<DirectoryEntry>, _) = (Vec::new(), 0);
        while let Some(entry) = self.entry(at).context(READ_ARCHIVE)? {
            at = entry.limit;
            entries.push(entry);
        }
        Ok(entries)
    }

    /// The member with its header at `start`. Returns `None` if it is
    /// incomplete.
    #[inline]
    fn entry(&self, start: u64) -> io::Result<Option<DirectoryEntry>> {
        let local: Option<LocalHeader> = records::read(self.source, start)?;
        let Some(local) = local.filter(|local| local.signature == LocalHeader::SIGNATURE) else {
            return Ok(None);
        };
        let variable = start + len_of::<LocalHeader>();
        let Some(raw_name) = self.bytes(variable, local.name_len.get().into())? else {
            return Ok(None);
        };
        let after_name = variable + to_u64(raw_name.len());
        let Some(extra) = self.bytes(after_name, local.extra_len.get().into())? else {
            return Ok(None);
        };
        let flags = Flags(local.flags.get());
        let sizes = SizeFields([local.size.get(), local.stored.get()]);
        // The actual sizes follow the member.
        let sizes = sizes.resolve(&extra, |number| number == start || flags.has(Flags::DESCRIPTOR));
        let (Ok(name), Ok([size, stored])) =
            (name::decode(&raw_name, flags.has(Flags::UTF8)), sizes)
        else {
            return Ok(None);
        };
        let method = Method(local.method.get());
        let data = after_name + to_u64(extra.len());
        let known = MemberEnd { crc32: local.crc32.get(), size, stored, next: data };
        let is_whole = method == Method::STORED && size == stored && !flags.has(Flags::DESCRIPTOR);
        let wrapped = if is_whole { self.wrapped_end(&known)? } else { None };
        let wraps = wrapped.is_some();
        let end = if wraps {
            wrapped
        } else if flags.has(Flags::DESCRIPTOR) && stored == 0 {
            self.find_end(method, data)?
        } else {
            self.known_end(&known, flags)?
        };
        Ok(end.map(|MemberEnd { crc32, size, stored, next }| DirectoryEntry {
            mode: Some(writer::new_mode(&raw_name)),
            raw_name: (name.as_bytes() != raw_name).then(|| raw_name.into()),
            name,
            method,
            flags,
            crc32,
            stored,
            size,
            start,
            offset: start,
            limit: next,
            wraps,
        }))
    }

    /// The end of a stored array of more than 4 GiB whose header has its size, and maybe the
    /// CRC-32 of as many bytes, modulo 4 GiB, as cnpy writes it. `None` if it is no such member.
    #[inline]
    fn wrapped_end(&self, member: &MemberEnd) -> io::Result<Option<MemberEnd>> {
        let MemberEnd { crc32, size, next: data, .. } = *member;
        let is_short = |end| self.source.len() - end < WRAP;
        let end = data.checked_add(size).filter(|&end| end <= self.source.len());
        if end.is_none_or(is_short) || end.map_or(Ok(true), |end| self.has_record_at(end))? {
            return Ok(None);
        }
        let rest = self.source.range_reader(data, self.source.len());
        let header = HeaderText::read(io::BufReader::new(rest), self.max_header_len);
        let Ok(header) = header.and_then(|text| text.header()) else { return Ok(None) };
        let Ok(layout) = header.layout() else { return Ok(None) };
        let (start, whole) = (to_u64(header.data_offset), to_u64(layout.end()));
        let end = data.checked_add(whole).filter(|&end| end <= self.source.len());
        let Some(next) = end else { return Ok(None) };
        if whole % WRAP != size || whole < WRAP {
            return Ok(None);
        }
        if !self.has_record_at(next)? {
            return Ok(None);
        }
        // cnpy sums the header, and then the elements.
        let summed = start + (whole - start) % WRAP;
        let (mut crc, mut at, mut block) = (Crc::new(), 0, vec![0; BUFFER]);
        let mut is_right = false;
        while at < whole {
            let end = if at < summed { summed } else { whole };
            let len = to_usize((end - at).min(to_u64(BUFFER)));
            let bytes = block.get_mut(..len).invariant(IN_BUFFER);
            let found = self.source.read_at(bytes, data + at)?;
            crc.update(bytes.get(..found).invariant(READ));
            if found < len {
                return Ok(None);
            }
            at += to_u64(len);
            is_right |= at == summed && crc.sum() == crc32;
        }
        let crc32 = if is_right { crc.sum() } else { crc32 };
        Ok(Some(MemberEnd { crc32, size: whole, stored: whole, next }))
    }

    /// The end of a member with its sizes in the header and its bytes from
    /// `next` on.
    #[inline]
    fn known_end(&self, member: &MemberEnd, flags: Flags) -> io::Result<Option<MemberEnd>> {
        let MemberEnd { crc32, size, stored, next: data } = *member;
        let Some(end) = data.checked_add(stored).filter(|&end| end <= self.source.len()) else {
            return Ok(None);
        };
        if flags.has(Flags::DESCRIPTOR) {
            return self.descriptor(end, size, stored);
        }
        // A writer that died has left zeros for the sizes that it did not know yet.
        if stored == 0 && !self.has_record_at(end)? {
            return Ok(None);
        }
        Ok(Some(MemberEnd { crc32, size, stored, next: end }))
    }

    /// Finds the end of a member if its sizes follow its bytes: by inflating a
    /// deflated member, by the header of a stored array, and otherwise by a
    /// search.
    #[inline]
    fn find_end(&self, method: Method, data: u64) -> io::Result<Option<MemberEnd>> {
        let rest = self.source.range_reader(data, self.source.len());
        let (size, stored) = if method == Method::DEFLATED {
            let mut decoder = DeflateDecoder::new_with_buf(rest, vec![0; BUFFER]);
            let mut sink = vec![0; BUFFER];
            loop {
                match decoder.read(&mut sink) {
                    Ok(0) => break,
                    Ok(_) => {}
                    Err(error) if is_about_bytes(&error) => return Ok(None),
                    Err(error) => return Err(error),
                }
            }
            (decoder.total_out(), decoder.total_in())
        } else if method == Method::STORED {
            let header = HeaderText::read(io::BufReader::new(rest), self.max_header_len);
            let layout = match header.and_then(|text| text.header()?.layout()) {
                Ok(layout) => layout,
                Err(error) if error.kind() == ErrorKind::Io => return Err(error.into()),
                Err(_) => return self.search(data),
            };
            (to_u64(layout.end()), to_u64(layout.end()))
        } else {
            return Ok(None);
        };
        let end = match data.checked_add(stored) {
            Some(end) => self.descriptor(end, size, stored)?,
            None => None,
        };
        // A member may be longer or shorter than its array.
        if end.is_none() && method == Method::STORED { self.search(data) } else { Ok(end) }
    }

    /// Finds the end of stored bytes, which start at `data`: the first data descriptor
    /// of their length and CRC-32 that is followed by a record, or by nothing.
    #[inline]
    fn search(&self, data: u64) -> io::Result<Option<MemberEnd>> {
        let (mut at, mut crc, mut block) = (data, Crc::new(), vec![0; BUFFER]);
        loop {
            let found = self.source.read_at(&mut block, at)?;
            let bytes = block.get(..found).invariant(READ);
            // A descriptor at the end of a block is found at the start of the next one.
            let searched = if found < BUFFER { found } else { BUFFER - DESCRIPTOR_LEN };
            let mut summed = 0;
            for (start, _) in
                bytes.windows(4).enumerate().filter(|(_, word)| *word == DESCRIPTOR_SIGNATURE)
            {
                if start >= searched {
                    break;
                }
                crc.update(bytes.get(summed..start).invariant(IN_BUFFER));
                summed = start;
                let (start, rest) = (at + to_u64(start), bytes.get(start..).invariant(IN_BUFFER));
                let size = start - data;
                let end = parse_descriptor(rest, start, size, size);
                if let Some(end) = end.filter(|end| end.crc32 == crc.sum()) {
                    if end.next == self.source.len() || self.has_record_at(end.next)? {
                        return Ok(Some(end));
                    }
                }
            }
            if found < BUFFER {
                return Ok(None);
            }
            crc.update(bytes.get(summed..searched).invariant(IN_BUFFER));
            at += to_u64(searched);
        }
    }

    /// Reads the data descriptor at `at`, which must have these sizes.
    #[inline]
    fn descriptor(&self, at: u64, size: u64, stored: u64) -> io::Result<Option<MemberEnd>> {
        let mut buffer = [0; DESCRIPTOR_LEN];
        let found = self.source.read_at(&mut buffer, at)?;
        let bytes = buffer.get(..found).invariant(READ);
        Ok(parse_descriptor(bytes, at, size, stored))
    }

    /// Reads exactly `len` bytes. Returns `None` if the archive ends before.
    #[inline]
    fn bytes(&self, at: u64, len: usize) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = vec![0; len];
        let found = self.source.read_at(&mut bytes, at)?;
        Ok((found == len).then_some(bytes))
    }

    /// Returns whether a record of an archive starts at an offset.
    #[inline]
    fn has_record_at(&self, at: u64) -> io::Result<bool> {
        let records = [
            LocalHeader::SIGNATURE,
            CentralHeader::SIGNATURE,
            EndRecord::SIGNATURE,
            Zip64EndRecord::SIGNATURE,
        ];
        Ok(self.bytes(at, 4)?.is_some_and(|found| records.iter().any(|record| *record == *found)))
    }
}

/// Parses the data descriptor at `at`, which must have these sizes.
#[inline]
fn parse_descriptor(bytes: &[u8], at: u64, size: u64, stored: u64) -> Option<MemberEnd> {
    let (crc32, rest) = split_descriptor(bytes, stored, size)?;
    let next = at + to_u64(bytes.len() - rest.len());
    Some(MemberEnd { crc32, size, stored, next })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Order;
    use crate::npy::Header;
    use crate::source::map::MapMut;

    /// A member as cnpy writes it: its size is modulo [`WRAP`], and so is the number of bytes
    /// of its elements that are summed, unless the writer sums all of them.
    fn archive(len: usize, sums_all: bool, change: u32) -> Vec<u8> {
        let header = Header::new("|u1".parse().unwrap(), &[len], Order::C).unwrap();
        let mut member = header.encode(None).unwrap().bytes;
        let start = member.len();
        member.extend((0..251).cycle().take(len));
        let wrap = usize::try_from(WRAP).unwrap();
        let size = u32::try_from(member.len() % wrap).unwrap().to_le_bytes();
        let summed = if sums_all { member.len() } else { start + len % wrap };
        let mut crc = Crc::new();
        crc.update(&member[..summed]);
        let crc = (crc.sum() ^ change).to_le_bytes();
        let start = b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0";
        let parts = [start, &crc[..], &size, &size, b"\x05\0\0\0a.npy", &member, b"PK\x01\x02"];
        parts.concat()
    }

    fn scan(bytes: Vec<u8>) -> Npz<MapMut> {
        NpzOptions::new().scan(Source::bytes(bytes)).unwrap()
    }

    #[test]
    fn arrays_whose_sizes_are_modulo_4_gib_are_found() {
        for sums_all in [false, true] {
            for len in [70_000, 1 << 17, (1 << 17) - 128] {
                let npz = scan(archive(len, sums_all, 0));
                npz.members().try_for_each(|member| member.verify()).unwrap();
                let array = npz.get("a").unwrap();
                assert_eq!(array.shape(), [len]);
                let last = u8::try_from((len - 1) % 251).unwrap();
                assert_eq!(array.as_slice::<u8>().unwrap()[len - 1], last);
            }
        }
        assert_eq!(
            scan(archive(70_000, false, 1))
                .members()
                .try_for_each(|member| member.verify())
                .unwrap_err()
                .kind(),
            ErrorKind::Corrupt
        );
        // Without a record after its elements, it is something else.
        let mut cut = archive(70_000, false, 0);
        cut.truncate(cut.len() - 4);
        assert!(scan(cut).get("a").is_err());
    }
}

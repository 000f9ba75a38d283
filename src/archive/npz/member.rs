//! One member of an archive.

use rawzip::CompressionMethod;

use super::directory::DirectoryEntry;
use super::local::{data_range, deceitful};
use super::reader::{MemberInfo, MemberReader};
use super::{Npz, name};
use crate::array::{MappedArray, MemberContent, Place};
use crate::error::{ArchiveError, Result};
use crate::npy::Header;
use crate::source::map::{Map, MapMut};
use crate::source::pages::Mapping;

/// Deflate makes at most this many bytes of one.
const MAX_RATIO: u64 = 1032;

/// One member of an [`Npz`].
#[derive(Debug)]
pub struct Member<'a, D = Map> {
    npz: &'a Npz<D>,
    entry: &'a DirectoryEntry,
}

impl<D> Clone for Member<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for Member<'_, D> {}

impl<'a, D: Mapping> Member<'a, D> {
    pub(super) fn new(npz: &'a Npz<D>, entry: &'a DirectoryEntry) -> Member<'a, D> {
        Member { npz, entry }
    }

    /// Its name without `.npy`, as NumPy's `files` has it.
    #[must_use]
    pub fn name(&self) -> &'a str {
        name::key(&self.entry.name)
    }

    /// Its name as it stands in the archive.
    #[must_use]
    pub fn full_name(&self) -> &'a str {
        &self.entry.name
    }

    /// True when it is stored as it is, so that it can be used in place.
    #[must_use]
    pub fn is_stored(&self) -> bool {
        self.entry.method == CompressionMethod::STORE
    }

    /// Its length in bytes, as the archive says.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.entry.size
    }

    /// The bytes it takes in the archive, as the archive says.
    #[must_use]
    pub fn stored_size(&self) -> u64 {
        self.entry.stored
    }

    /// The header of the array it is, checked as opening would; `None` when
    /// it is no array. Reads, and unpacks, no more than that.
    ///
    /// # Errors
    ///
    /// As [`open`](Member::open), but for [`Io`](crate::ErrorKind::Io) and
    /// [`Damaged`](crate::ErrorKind::Damaged).
    pub fn header(&self) -> Result<Option<Header>> {
        let found = || self.find_in(&mut self.start()?.1);
        self.named(found()).map(|content| content.header())
    }

    /// Where its elements start in the archive; `None` when it is compressed,
    /// or no array.
    ///
    /// # Errors
    ///
    /// As [`header`](Member::header).
    pub fn data_offset(&self) -> Result<Option<u64>> {
        let found = || {
            let (start, mut reader) = self.start()?;
            Ok(match self.find_in(&mut reader)? {
                MemberContent::Array(place) if self.is_stored() => {
                    Some(place.moved_by(start).offset)
                }
                _ => None,
            })
        };
        self.named(found())
    }

    /// Opens the array it is: in place when it is stored and the source is
    /// mapped, else copied or inflated into memory of its own, with its CRC-32
    /// checked.
    ///
    /// The array needs neither the `Npz` nor its file any more.
    ///
    /// # Errors
    ///
    /// [`Damaged`](crate::ErrorKind::Damaged) when it is no array; [`Damaged`](crate::ErrorKind::Damaged) when
    /// it is encrypted, packed by another method than deflate, overlaps
    /// another, or its sizes are wrong; [`Damaged`](crate::ErrorKind::Damaged),
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded), [`Truncated`](crate::ErrorKind::Truncated) when elements are missing,
    /// [`Truncated`](crate::ErrorKind::Truncated) when the file was truncated since it was opened,
    /// [`Io`](crate::ErrorKind::Io), [`Io`](crate::ErrorKind::Io), and those of
    /// [`Header::parse`] and [`Layout::new`](crate::layout::Layout::new).
    pub fn open(&self) -> Result<MappedArray<D>> {
        self.named(self.array())
    }

    /// Reads its bytes, unpacked, whatever they are.
    ///
    /// # Errors
    ///
    /// [`Damaged`](crate::ErrorKind::Damaged), [`Io`](crate::ErrorKind::Io).
    pub fn reader(&self) -> Result<MemberReader<'a>> {
        Ok(self.named(self.start())?.1)
    }

    /// Reads it whole and checks its length and CRC-32.
    ///
    /// # Errors
    ///
    /// [`Damaged`](crate::ErrorKind::Damaged), [`Damaged`](crate::ErrorKind::Damaged), [`Io`](crate::ErrorKind::Io).
    pub fn verify(&self) -> Result<()> {
        self.named(self.start().and_then(|(_, reader)| reader.finish()))
    }

    /// Names the archive and the member in an error.
    fn named<T>(&self, result: Result<T>) -> Result<T> {
        self.npz.named(result.map_err(|error| error.with_member(self.name())))
    }

    /// Where it starts, and a reader that stands there.
    fn start(&self) -> Result<(u64, MemberReader<'a>)> {
        let (start, end) = self.range()?;
        let DirectoryEntry { size, crc32, .. } = *self.entry;
        let part = self.npz.source().storage().range_reader(start, end);
        let (member, is_stored) = (self.name(), self.is_stored());
        let info = MemberInfo { member, is_stored, size, crc32 };
        Ok((start, MemberReader::new(part, info, self.npz.told())))
    }

    /// Where its bytes lie in the archive: nowhere else than the directory
    /// and its own header say, and where no other member lies.
    fn range(&self) -> Result<(u64, u64)> {
        let DirectoryEntry { method, stored, size, .. } = *self.entry;
        if self.entry.flags.is_encrypted() {
            let expected = "decrypt it with another program";
            return Err(ArchiveError::unsupported("is encrypted", expected));
        }
        if self.entry.flags.is_patched() {
            return Err(ArchiveError::unsupported("is patched data", "store the array itself"));
        }
        if !self.is_stored() && method != CompressionMethod::DEFLATE {
            let name = method.name().map(|name| format!(" ({name})")).unwrap_or_default();
            let found = format!("is compressed with method {}{name}", method.as_u16());
            let expected = "only stored and deflated members are supported";
            return Err(ArchiveError::unsupported(found, expected));
        }
        if self.is_stored() && stored != size {
            return Err(deceitful(format!("{size} bytes are stored as {stored}")));
        }
        if size / MAX_RATIO > stored {
            return Err(deceitful(format!("{stored} bytes can't be deflated to {size}")));
        }
        data_range(self.npz.source().storage(), self.entry)
    }

    fn array(&self) -> Result<MappedArray<D>> {
        let (start, mut reader) = self.start()?;
        let place = self.find_in(&mut reader)?.into_place()?;
        let source = self.npz.source();
        if !self.is_stored() {
            let data = self.unpack(&place, reader)?;
            let path = source.storage().shared_path();
            return Ok(MappedArray::from_unpacked(data, place, path, self.name()));
        }
        let place = place.moved_by(start);
        let data = if source.is_mapped() {
            source.obtain_checked(place.offset, place.layout.nbytes())?
        } else {
            self.unpack(&place, reader)?
        };
        Ok(MappedArray::from_place(source, data, place, Some(self.name())))
    }

    /// Finds the array, or the first bytes of something else, with a reader at
    /// the member's first byte.
    fn find_in(&self, reader: &mut MemberReader<'a>) -> Result<MemberContent> {
        MemberContent::read(reader, self.entry.size, self.npz.max_header_len())
    }

    /// Reads the elements into memory of their own, with a reader at the first
    /// one.
    fn unpack(&self, place: &Place, mut reader: MemberReader<'a>) -> Result<D> {
        let (size, limit) = (self.entry.size, self.npz.max_inflated());
        if !self.is_stored() && size > limit {
            return Err(ArchiveError::Inflated { size, limit }.into());
        }
        let mut data = MapMut::anonymous(place.layout.nbytes())?.with_large_pages();
        reader.fill(data.as_mut(), "elements")?;
        reader.finish()?;
        D::from_memory(data)
    }
}

//! One member of an archive.

use rawzip::CompressionMethod;

use super::directory::Entry;
use super::local::{data_range, deceitful};
use super::reader::{Announced, MemberReader};
use super::{Npz, name};
use crate::array::{self, MappedArray, MappedArrayMut};
use crate::error::{ArchiveError, HeaderError, Result};
use crate::layout::Layout;
use crate::npy::Header;
use crate::source::map::MapMut;
use crate::source::mode::Mode;

/// Deflate makes at most this many bytes of one.
const MAX_RATIO: u64 = 1032;

/// One member of an [`Npz`].
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    npz: &'a Npz,
    entry: &'a Entry,
}

/// An array that a member holds.
struct Found<'a> {
    header: Header,
    layout: Layout,
    /// Where the member starts in the archive.
    start: u64,
    /// Stands at the first element.
    reader: MemberReader<'a>,
}

impl<'a> Member<'a> {
    pub(super) fn new(npz: &'a Npz, entry: &'a Entry) -> Member<'a> {
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
    /// As [`open`](Member::open), but for [`Io`](crate::ErrorKind::Io),
    /// [`Damaged`](crate::ErrorKind::Damaged).
    pub fn header(&self) -> Result<Option<Header>> {
        Ok(self.named(self.find())?.ok().map(|found| found.header))
    }

    /// Where its elements start in the archive; `None` when it is compressed,
    /// or no array.
    ///
    /// # Errors
    ///
    /// As [`header`](Member::header).
    pub fn data_offset(&self) -> Result<Option<u64>> {
        let found = self.named(self.find())?.ok().filter(|_| self.is_stored());
        Ok(found.map(|found| found.offset()))
    }

    /// Opens the array it is, read-only: in place when it is stored and the
    /// archive was opened by [`Npz::open`], else copied or inflated into
    /// memory of its own, with its CRC-32 checked.
    ///
    /// The array needs neither the `Npz` nor its file any more.
    ///
    /// # Errors
    ///
    /// [`Damaged`](crate::ErrorKind::Damaged) when it is no array;
    /// [`Damaged`](crate::ErrorKind::Damaged) when it is encrypted, packed by
    /// another method than deflate, overlaps another, or its sizes are wrong;
    /// [`Damaged`](crate::ErrorKind::Damaged),
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded),
    /// [`Truncated`](crate::ErrorKind::Truncated) when elements are missing,
    /// [`Io`](crate::ErrorKind::Io), and those of [`Header::parse`] and
    /// [`Layout::new`].
    pub fn open(&self) -> Result<MappedArray> {
        let opened = || {
            let found = self.array()?;
            if !self.is_in_place() {
                return self.unpacked(found)?.into_read_only();
            }
            let data = self.npz.source().map(found.offset(), found.layout.nbytes())?;
            Ok(self.made(data, &found, self.npz.source().mode(Mode::ReadOnly)))
        };
        self.named(opened())
    }

    /// As [`open`](Member::open), but the array can be written, which changes
    /// no file: copy-on-write when it is used in place.
    ///
    /// # Errors
    ///
    /// As [`open`](Member::open).
    pub fn open_copy_on_write(&self) -> Result<MappedArrayMut> {
        let opened = || {
            let found = self.array()?;
            if !self.is_in_place() {
                return self.unpacked(found);
            }
            let data = self.npz.source().map_private(found.offset(), found.layout.nbytes())?;
            Ok(self.made(data, &found, self.npz.source().mode(Mode::CopyOnWrite)))
        };
        self.named(opened())
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
    /// [`Damaged`](crate::ErrorKind::Damaged), [`Io`](crate::ErrorKind::Io).
    pub fn verify(&self) -> Result<()> {
        self.named(self.start().and_then(|(_, reader)| reader.finish()))
    }

    /// Names the archive and the member in an error.
    fn named<T>(&self, result: Result<T>) -> Result<T> {
        self.npz.named(result.map_err(|error| error.of_member(self.name())))
    }

    fn is_in_place(&self) -> bool {
        self.is_stored() && self.npz.source().is_mapped()
    }

    /// Where it starts, and a reader that stands there.
    fn start(&self) -> Result<(u64, MemberReader<'a>)> {
        let (start, end) = self.range()?;
        let Entry { size, crc32, .. } = *self.entry;
        let part = self.npz.source().part(start, end);
        let (member, is_stored) = (self.name(), self.is_stored());
        let announced = Announced { member, is_stored, size, crc32 };
        Ok((start, MemberReader::new(part, announced, self.npz.told())))
    }

    /// Where its bytes lie in the archive: nowhere else than the directory
    /// and its own header say, and where no other member lies.
    fn range(&self) -> Result<(u64, u64)> {
        let Entry { method, stored, size, .. } = *self.entry;
        if self.entry.flags.is_encrypted() {
            let expected = "decrypt it with another program";
            return Err(ArchiveError::unsupported("is encrypted", expected));
        }
        if self.entry.flags.is_patched() {
            return Err(ArchiveError::unsupported("is patched data", "store the array itself"));
        }
        if !self.is_stored() && method != CompressionMethod::DEFLATE {
            let name = method.name().map(|name| format!(" ({name})")).unwrap_or_default();
            let found = format!("is packed by method {}{name}", method.as_u16());
            let expected = "members can be stored or deflated, as NumPy writes them";
            return Err(ArchiveError::unsupported(found, expected));
        }
        if self.is_stored() && stored != size {
            return Err(deceitful(format!("{size} bytes are stored as {stored}")));
        }
        if size / MAX_RATIO > stored {
            return Err(deceitful(format!("{stored} bytes can't be deflated to {size}")));
        }
        data_range(self.npz.source(), self.entry)
    }

    fn array(&self) -> Result<Found<'a>> {
        self.find()?.map_err(|found| HeaderError::Magic { found }.into())
    }

    /// Finds the array, or the first bytes of what is none.
    fn find(&self) -> Result<Result<Found<'a>, Vec<u8>>> {
        let (start, mut reader) = self.start()?;
        let max_header_len = self.npz.max_header_len();
        let found = array::find(&mut reader, self.entry.size, max_header_len)?;
        Ok(found.map(|(header, layout)| Found { header, layout, start, reader }))
    }

    /// The array in memory of its own.
    fn unpacked(&self, mut found: Found<'a>) -> Result<MappedArrayMut> {
        let (size, limit) = (self.entry.size, self.npz.max_inflated());
        if !self.is_stored() && size > limit {
            return Err(ArchiveError::Inflated { size, limit }.into());
        }
        let mut data = MapMut::anonymous(found.layout.nbytes())?.in_large_pages();
        found.reader.fill(data.as_mut(), "elements")?;
        let array = self.made(data, &found, None);
        found.reader.finish()?;
        Ok(array)
    }

    fn made<D>(&self, data: D, found: &Found<'a>, mode: Option<Mode>) -> MappedArray<D> {
        let mut header = found.header.clone();
        if self.is_stored() {
            header.data_offset = usize::try_from(found.offset()).unwrap_or(usize::MAX);
        }
        let offset = self.is_stored().then(|| found.offset());
        let id = self.npz.source().id();
        let from = array::Member { path: self.npz.path(), name: self.name(), mode, offset, id };
        MappedArray::of_member(data, found.layout.clone(), Some(&header), from)
    }
}

impl Found<'_> {
    /// Where the first element lies in the archive, if it is stored.
    fn offset(&self) -> u64 {
        self.start.saturating_add(u64::try_from(self.header.data_offset).unwrap_or(u64::MAX))
    }
}

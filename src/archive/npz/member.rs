//! One member of an archive.

use std::io::Write;

use ndarray::{Array, Dimension};

use super::directory::DirectoryEntry;
use super::local::{contradictory, data_range};
use super::open::{ProgressCallback, SILENT};
use super::reader::{BUFFER, HEADER_BUFFER, MemberReader};
use super::records::{Flags, Method};
use super::report::Reported;
use super::{Npz, NpzWriter, name};
use crate::array::{MappedArray, MemberContent, Place};
use crate::element::Element;
use crate::error::invariant::to_u64;
use crate::error::{ArchiveError, Error, ErrorKind, Result};
use crate::kernel::PAGE;
use crate::npy::Header;
use crate::source::map::{Map, MapMut};
use crate::source::pages::Mapping;
use crate::write::read::{Length, read_place};

/// The largest ratio of a member's uncompressed length to its deflated length.
const MAX_RATIO: u64 = 1032;

/// One member of an [`Npz`].
///
/// # Examples
///
/// ```
/// use npymap::{Npz, Source, ndarray::arr1, npz};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("a.npz");
/// npz::savez(&path, &[("x", &arr1(&[0.5_f32, 1.5]))])?;
///
/// let npz = Npz::open(Source::open(&path)?)?;
/// let member = npz.member("x")?;
/// assert_eq!(member.header()?.unwrap().shape, [2]); // reads no elements
/// assert_eq!(member.open()?.as_slice::<f32>()?, [0.5, 1.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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

    /// Returns the member's name without `.npy`, as in NumPy's `files`.
    #[must_use]
    pub fn name(&self) -> &'a str {
        name::key(&self.entry.name)
    }

    /// Returns the member's name in the archive.
    #[must_use]
    pub fn full_name(&self) -> &'a str {
        &self.entry.name
    }

    /// Returns whether the member is stored uncompressed, so that it can be
    /// opened in place.
    #[must_use]
    pub fn is_stored(&self) -> bool {
        self.entry.method == Method::STORED
    }

    /// Returns the member's uncompressed length in bytes, according to the
    /// directory.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.entry.size
    }

    /// Returns the member's length in the archive in bytes, according to the
    /// directory.
    #[must_use]
    pub fn stored_size(&self) -> u64 {
        self.entry.stored
    }

    /// Reads the header of the array, with the same checks as
    /// [`open`](Member::open). Returns `None` when the member is not an array.
    /// Reads and inflates only the header.
    ///
    /// # Errors
    ///
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if the member is not a
    /// valid array, overlaps another member, or has a wrong size. Returns
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if it contains Python
    /// objects, is encrypted, or is compressed by a method other than deflate,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if its header is
    /// longer than the limit, [`Truncated`](crate::ErrorKind::Truncated) if
    /// elements are missing, and [`Io`](crate::ErrorKind::Io) if reading fails.
    /// The CRC-32 is not checked.
    pub fn header(&self) -> Result<Option<Header>> {
        self.name_member(self.find()).map(|(_, found)| found.into_header())
    }

    /// Returns the offset of the array's elements in the archive. Returns
    /// `None` when the member is compressed or not an array.
    ///
    /// # Errors
    ///
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if the member is not a
    /// valid array, overlaps another member, or has a wrong size. Returns
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if it contains Python
    /// objects, is encrypted, or is compressed by a method other than deflate,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if its header is
    /// longer than the limit, [`Truncated`](crate::ErrorKind::Truncated) if
    /// elements are missing, and [`Io`](crate::ErrorKind::Io) if reading fails.
    pub fn data_offset(&self) -> Result<Option<u64>> {
        self.name_member(self.elements_offset())
    }

    /// Like `data_offset`, without names in errors.
    fn elements_offset(&self) -> Result<Option<u64>> {
        Ok(match self.find()? {
            (start, MemberContent::Array(place)) if self.is_stored() => {
                Some(place.moved_by(start).offset)
            }
            _ => None,
        })
    }

    /// Like `elements_offset`. Returns `None` also when the member is damaged,
    /// and can only be copied without alignment.
    fn offset_to_align(&self) -> Result<Option<u64>> {
        match self.elements_offset() {
            Err(error) if error.kind() != ErrorKind::Io => Ok(None),
            found => found,
        }
    }

    /// Opens the array: in place if the member is stored and the source is
    /// mapped. Otherwise, it is copied or inflated into memory, and its CRC-32
    /// is checked.
    ///
    /// The array remains valid after the `Npz` is dropped.
    ///
    /// # Errors
    ///
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if the member is not a
    /// valid array, overlaps another member, or has a wrong size or CRC-32.
    /// Returns [`Unsupported`](crate::ErrorKind::Unsupported) if it contains
    /// Python objects, is encrypted, or is compressed by a method other than
    /// deflate. Returns [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if
    /// its header or its inflated size exceeds the limit,
    /// [`Truncated`](crate::ErrorKind::Truncated) if elements are missing, and
    /// [`Io`](crate::ErrorKind::Io) if reading or mapping fails. Other members
    /// remain usable.
    pub fn open(&self) -> Result<MappedArray<D>> {
        self.name_member(self.open_array())
    }

    /// Reads the array into an ndarray array, decoded to `T`, and checks its
    /// CRC-32.
    ///
    /// Stored and deflated members are read straight into the array. Any byte
    /// order and alignment is decoded. The memory order, C or Fortran, is kept.
    ///
    /// # Errors
    ///
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if the member is not a valid
    /// array, overlaps another member, or has a wrong size or CRC-32. Returns
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if it contains Python
    /// objects, is encrypted, or is compressed by a method other than deflate.
    /// Returns [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if its header or
    /// its inflated size exceeds the limit,
    /// [`Truncated`](crate::ErrorKind::Truncated) if elements are missing, and
    /// [`Io`](crate::ErrorKind::Io) if reading or mapping fails. Returns
    /// [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the elements cannot be
    /// decoded as `T`, and [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if the
    /// array doesn't have the axes of `N`.
    pub fn read_ndarray<T: Element, N: Dimension>(&self) -> Result<Array<T, N>> {
        self.name_member(self.read_array())
    }

    /// Returns a reader of the member's uncompressed bytes, whether or not it is
    /// an array.
    ///
    /// # Errors
    ///
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if the member overlaps
    /// another member or its two headers differ,
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if it is encrypted, or
    /// compressed by a method other than deflate, and
    /// [`Io`](crate::ErrorKind::Io) if reading fails.
    pub fn reader(&self) -> Result<MemberReader<'a>> {
        self.name_member(self.start()).map(|(_, reader)| reader)
    }

    /// Reads the whole member and checks its length and CRC-32.
    ///
    /// # Errors
    ///
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if the member overlaps
    /// another member, or has a wrong size or CRC-32. Returns
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if it is encrypted, or
    /// compressed by a method other than deflate, and
    /// [`Io`](crate::ErrorKind::Io) if reading fails.
    pub fn verify(&self) -> Result<()> {
        self.name_member(self.start().and_then(|(_, reader)| reader.finish()))
    }

    /// Copies the member as it is stored, without inflating it, under a full name
    /// that may be new.
    pub(super) fn copy_to<W: Write>(
        &self,
        writer: &mut NpzWriter<W>,
        file_name: &str,
    ) -> Result<()> {
        self.name_member(self.range().and_then(|(start, end)| {
            let bytes = self.npz.source.storage().range_reader(start, end);
            let progress = &self.npz.options.progress;
            let bytes = Reported::new(bytes, progress, self.name(), self.entry.stored);
            let header_len = self.offset_to_align()?.and_then(|offset| offset.checked_sub(start));
            writer.copy_entry(self.entry, file_name, bytes, header_len)
        }))
    }

    /// Returns whether the elements are stored uncompressed from the start of a
    /// page.
    pub(super) fn is_page_aligned(&self) -> Result<bool> {
        let offset = self.name_member(self.offset_to_align())?;
        Ok(offset.is_some_and(|offset| offset % to_u64(PAGE) == 0))
    }

    /// Adds the path of the archive and the name of the member to an error.
    fn name_member<T>(&self, result: Result<T>) -> Result<T> {
        self.npz.name_file(result.map_err(|error| {
            let is_damage = matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Truncated);
            let error = if is_damage && self.npz.is_modified() { changed() } else { error };
            error.with_member(self.name())
        }))
    }

    /// The offset of the member's first byte, and a reader at that offset.
    fn start(&self) -> Result<(u64, MemberReader<'a>)> {
        self.start_buffered(BUFFER, &self.npz.options.progress)
    }

    /// Like `start`, with a buffer of this size for compressed bytes, and another function that
    /// gets reports.
    fn start_buffered(
        &self,
        buffer: usize,
        progress: &'a ProgressCallback,
    ) -> Result<(u64, MemberReader<'a>)> {
        let (start, end) = self.range()?;
        let part = self.npz.source.storage().range_reader(start, end);
        Ok((start, MemberReader::new(part, self.entry, buffer, progress)?))
    }

    /// The range of the member's bytes in the archive, which must be the same
    /// in the directory and the local header, and must not overlap another
    /// member.
    fn range(&self) -> Result<(u64, u64)> {
        let DirectoryEntry { method, stored, size, .. } = *self.entry;
        // Also of members that can't be read: others may be hidden after them.
        let range = data_range(self.npz.source.storage(), self.entry)?;
        if self.entry.flags.has(Flags::ALL_ENCRYPTED) {
            let expected = "decrypt it with another program";
            return Err(ArchiveError::unsupported("is encrypted", expected));
        }
        if self.entry.flags.has(Flags::PATCHED) {
            return Err(ArchiveError::unsupported("is patched data", "store the array itself"));
        }
        if !self.is_stored() && method != Method::DEFLATED {
            let name = method.name().map_or(String::new(), |name| format!(" ({name})"));
            let found = format!("is compressed with method {}{name}", method.0);
            let expected = "only stored and deflated members are supported";
            return Err(ArchiveError::unsupported(found, expected));
        }
        if self.is_stored() && stored != size {
            return Err(contradictory(format!("{size} bytes are stored as {stored}")));
        }
        if size / MAX_RATIO > stored {
            return Err(contradictory(format!("{stored} bytes can't be deflated to {size}")));
        }
        Ok(range)
    }

    fn open_array(&self) -> Result<MappedArray<D>> {
        let source = &self.npz.source;
        if self.is_stored() && (source.is_mapped() || source.is_on_demand()) {
            let (start, found) = self.find()?;
            let place = found.into_place()?.moved_by(start);
            let data = source.obtain_checked(place.offset, place.layout.nbytes())?;
            return Ok(MappedArray::from_place(source, data, place, Some(self.name())));
        }
        let (start, mut reader) = self.start()?;
        let place = self.find_in(&mut reader)?.into_place()?;
        let data = self.unpack(&place, reader)?;
        if self.is_stored() {
            let place = place.moved_by(start);
            return Ok(MappedArray::from_place(source, data, place, Some(self.name())));
        }
        let path = source.storage.path.clone();
        Ok(MappedArray::from_unpacked(data, place, path, self.name()))
    }

    fn read_array<T: Element, N: Dimension>(&self) -> Result<Array<T, N>> {
        let (_, mut reader) = self.start()?;
        let place = self.find_in(&mut reader)?.into_place()?;
        self.check_inflated()?;
        let array = read_place(place, &mut reader, Length::Checked)?;
        reader.finish()?;
        Ok(array)
    }

    /// The offset of the member's first byte, and the array it is or the bytes
    /// it starts with instead. A header that is read for itself is not reported.
    fn find(&self) -> Result<(u64, MemberContent)> {
        let (start, mut reader) = self.start_buffered(HEADER_BUFFER, &SILENT)?;
        Ok((start, self.find_in(&mut reader)?))
    }

    /// Finds the array, or the first bytes of something else, with a reader at
    /// the member's first byte.
    fn find_in(&self, reader: &mut MemberReader<'a>) -> Result<MemberContent> {
        MemberContent::read(reader, self.entry.size, self.npz.options.max_header_len)
    }

    /// Reads the elements into newly allocated memory, with a reader at the first
    /// element.
    fn unpack(&self, place: &Place, mut reader: MemberReader<'a>) -> Result<D> {
        self.check_inflated()?;
        let mut data = MapMut::anonymous(place.layout.nbytes())?.with_large_pages();
        reader.fill(data.as_mut(), "elements")?;
        reader.finish()?;
        D::from_memory(data)
    }

    /// Rejects a deflated member that is larger than the limit.
    fn check_inflated(&self) -> Result<()> {
        let (size, limit) = (self.entry.size, self.npz.options.max_inflated);
        if !self.is_stored() && size > limit {
            return Err(ArchiveError::Inflated { size, limit }.into());
        }
        Ok(())
    }
}

/// The error for a member of an overwritten file.
#[cold]
fn changed() -> Error {
    let found = "the archive was modified since it was opened";
    ArchiveError::with_kind(ErrorKind::Changed, found, "open it again")
}

//! Tar files of `.npy`, `.npz` and `.ten` members, as webdataset uses them. Members
//! are opened in place.

mod pax;
mod records;

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use self::records::{TarEntry, entries};
use crate::archive::entries::{EntryList, no_member};
#[cfg(feature = "npz")]
use crate::archive::npz::{Npz, NpzOptions};
use crate::archive::ten::{self, Ten};
use crate::array::{MappedArray, MemberContent};
use crate::error::invariant::to_u64;
use crate::error::{ArchiveError, Error, IoContext as _, Result, excerpt};
use crate::npy::{Header, MAX_HEADER_LEN};
use crate::source::Source;
use crate::source::map::Map;
use crate::source::pages::Mapping;

/// The buffer for the header of a member, large enough for most headers.
const HEADER_BUFFER: usize = 1024;

/// An open tar file that contains arrays, for example a shard of a webdataset.
///
/// # Examples
///
/// ```no_run
/// use npymap::{Source, tar::TarFile};
///
/// // SAFETY: no other process writes to or truncates this file.
/// let tar = TarFile::open(unsafe { Source::map("train-000000.tar")? })?;
/// for member in tar.members().filter(|member| member.name().ends_with(".npy")) {
///     println!("{}: {:?}", member.name(), member.open()?.shape());
/// }
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Debug)]
pub struct TarFile<D = Map> {
    source: Arc<Source<D>>,
    entries: Arc<EntryList<TarEntry>>,
    /// The names of files that other members replace.
    replaced: Arc<HashSet<String>>,
}

/// One member of a [`TarFile`].
///
/// # Examples
///
/// ```no_run
/// use npymap::{Source, tar::TarFile};
///
/// // SAFETY: no other process writes to or truncates this file.
/// let tar = TarFile::open(unsafe { Source::map("train-000000.tar")? })?;
/// let member = tar.member("000000.ten")?;
/// println!("{} bytes at offset {}", member.size(), member.offset());
/// let arrays = member.ten()?;
/// let image = arrays.get(arrays.position("img")?)?;
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Debug)]
pub struct Member<'a, D = Map> {
    tar: &'a TarFile<D>,
    entry: &'a TarEntry,
}

impl<D> Clone for TarFile<D> {
    fn clone(&self) -> TarFile<D> {
        let (source, entries) = (Arc::clone(&self.source), Arc::clone(&self.entries));
        TarFile { source, entries, replaced: Arc::clone(&self.replaced) }
    }
}

impl<D> Clone for Member<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for Member<'_, D> {}

impl<D: Mapping> TarFile<D> {
    /// Opens a tar file. Reads all headers, but not the members' bytes.
    ///
    /// # Errors
    ///
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if the source is not a
    /// tar file or is damaged,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if a name or a pax
    /// header is longer than 1 MiB, and [`Io`](crate::ErrorKind::Io) if reading
    /// fails.
    pub fn open(source: Source<D>) -> Result<TarFile<D>> {
        let found = source.storage().add_path_on_err(entries(source.storage()));
        let (entries, replaced) = found?;
        let entries = Arc::new(EntryList::new(entries, |entry| &entry.name));
        Ok(TarFile { source: Arc::new(source), entries, replaced: Arc::new(replaced) })
    }

    /// Returns the members in the order of the file, including members that are
    /// not arrays. Directories and links are left out.
    #[must_use]
    pub fn members(&self) -> impl ExactSizeIterator<Item = Member<'_, D>> {
        self.entries.iter().map(|entry| Member { tar: self, entry })
    }

    /// Finds a member by its name. If several members have the name, the last
    /// member counts, as when `tar` unpacks them.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if no member has this
    /// name, and [`Unsupported`](crate::ErrorKind::Unsupported) if names of
    /// several members differ only in bytes that are not UTF-8, or if the last
    /// of them is a link, a directory or a device.
    pub fn member(&self, name: &str) -> Result<Member<'_, D>> {
        let positions = self.entries.positions(name).iter();
        let mut found = positions.filter_map(|&position| self.entries.get(position));
        match found.next_back() {
            Some(entry) if found.any(|other| other.raw_name != entry.raw_name) => {
                let found = format!("several members are `{}`", excerpt(name));
                let expected = "rename them: their names differ in bytes that are not UTF-8";
                Err(self.name_file(ArchiveError::unsupported(found, expected)))
            }
            Some(_) if self.replaced.contains(name) => {
                let found = format!("the last member `{}` is no regular file", excerpt(name));
                let expected = "unpack the tar file";
                Err(self.name_file(ArchiveError::unsupported(found, expected)))
            }
            Some(entry) => Ok(Member { tar: self, entry }),
            None => {
                Err(self.name_file(no_member(name, self.members().map(|member| member.name()))))
            }
        }
    }

    /// Opens the `.npy` member of this name. See [`Member::open`].
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if no member has this
    /// name, [`Corrupt`](crate::ErrorKind::Corrupt) if it is not a valid `.npy`
    /// file, [`Unsupported`](crate::ErrorKind::Unsupported) if it is sparse or
    /// contains Python objects,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if its header is
    /// longer than the limit, [`Truncated`](crate::ErrorKind::Truncated) if it
    /// ends after the end of the file, and [`Io`](crate::ErrorKind::Io) if
    /// reading or mapping fails.
    pub fn get(&self, name: &str) -> Result<MappedArray<D>> {
        self.member(name)?.open()
    }

    /// Requests the first bytes of all members at once, if each read of the
    /// source takes long, for example from a remote object. For files, it does
    /// nothing.
    ///
    /// Call it before [`Member::header`] or [`Member::is_ten`] of
    /// many members, which then find the headers in memory. At most 16 MiB of
    /// them are kept, until the next call. The rest is read in turn.
    ///
    /// # Errors
    ///
    /// Returns [`Io`](crate::ErrorKind::Io) if the storage cannot read the
    /// ranges.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use npymap::{Source, tar::TarFile};
    ///
    /// let tar = TarFile::open(Source::open("train-000000.tar")?)?;
    /// tar.prefetch_headers()?;
    /// for member in tar.members() {
    ///     println!("{}: {:?}", member.name(), member.header()?);
    /// }
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn prefetch_headers(&self) -> Result<()> {
        let starts = self.entries.iter().map(|entry| {
            let len = entry.size.min(to_u64(HEADER_BUFFER));
            // A sparse member may end before. Its header is at an offset below 2⁶³.
            entry.start..entry.start + len
        });
        self.source.storage().prefetch_headers(starts)
    }

    /// Adds the path of the file to an error.
    pub(in crate::archive) fn name_file(&self, error: Error) -> Error {
        self.source.storage().add_path(error)
    }
}

impl<'a, D: Mapping> Member<'a, D> {
    /// Returns the member's name in the tar file. Bytes that are not UTF-8 are
    /// replaced.
    #[must_use]
    pub fn name(&self) -> &'a str {
        &self.entry.name
    }

    /// Returns the member's length in bytes, including the holes of a sparse
    /// member.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.entry.size
    }

    /// Returns the offset of the member's first byte in the tar file.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.entry.start
    }

    /// Reads the header of a `.npy` member, with the same checks as
    /// [`open`](Member::open). Returns `None` when the member is not a
    /// `.npy`.
    ///
    /// # Errors
    ///
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if the member is not a
    /// valid `.npy` file, [`Unsupported`](crate::ErrorKind::Unsupported) if it
    /// is sparse or contains Python objects,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if its header is
    /// longer than the limit, [`Truncated`](crate::ErrorKind::Truncated) if it
    /// ends after the end of the file, and [`Io`](crate::ErrorKind::Io) if
    /// reading fails.
    pub fn header(&self) -> Result<Option<Header>> {
        self.name_member(self.find()).map(MemberContent::into_header)
    }

    /// Returns whether the member is a `.ten` file: either it starts with the
    /// magic bytes, or it is empty and its name ends in `.ten` or `.tb`. A
    /// sparse member is not one, because it cannot be opened.
    ///
    /// # Errors
    ///
    /// Returns [`Io`](crate::ErrorKind::Io) if reading fails.
    pub fn is_ten(&self) -> Result<bool> {
        if self.entry.size == 0 {
            return Ok(!self.entry.is_sparse && ten::has_extension(Path::new(self.name())));
        }
        Ok(self.magic()? == Some(*b"~TenBin~"))
    }

    /// Opens a `.npy` member: in place if the source is mapped. Otherwise, it
    /// is copied into memory.
    ///
    /// # Errors
    ///
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if the member is not a
    /// valid `.npy` file, [`Unsupported`](crate::ErrorKind::Unsupported) if it
    /// is sparse or contains Python objects,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if its header is
    /// longer than the limit, [`Truncated`](crate::ErrorKind::Truncated) if it
    /// ends after the end of the file, and [`Io`](crate::ErrorKind::Io) if
    /// reading or mapping fails.
    pub fn open(&self) -> Result<MappedArray<D>> {
        self.name_member(self.open_array())
    }

    /// Opens a `.ten` member. Its arrays are opened in place if the source is
    /// mapped. Otherwise, each is copied when you ask for it.
    ///
    /// # Errors
    ///
    /// Returns [`Unsupported`](crate::ErrorKind::Unsupported) if the member is
    /// sparse. Returns [`Corrupt`](crate::ErrorKind::Corrupt) if the bytes have
    /// a wrong magic, a negative length or an unknown type, or describe an
    /// array larger than the address space, and
    /// [`Truncated`](crate::ErrorKind::Truncated) if they end too early.
    /// Returns [`Io`](crate::ErrorKind::Io) if reading fails.
    pub fn ten(&self) -> Result<Ten<D>> {
        self.name_member(self.check_bytes().and_then(|()| {
            let TarEntry { start, size, .. } = *self.entry;
            Ten::open_range(Arc::clone(&self.tar.source), start, size)
        }))
    }

    /// Returns whether the member is a zip archive, by its first bytes. A sparse
    /// member is not one, because it cannot be opened.
    ///
    /// # Errors
    ///
    /// Returns [`Io`](crate::ErrorKind::Io) if reading fails.
    #[cfg(feature = "npz")]
    pub fn is_npz(&self) -> Result<bool> {
        Ok(matches!(self.magic()?, Some([b'P', b'K', 3 | 5 | 6, _])))
    }

    /// Opens an `.npz` member. If the source is mapped, its stored arrays are opened in
    /// place.
    ///
    /// # Errors
    ///
    /// Returns [`Unsupported`](crate::ErrorKind::Unsupported) if the member is
    /// sparse, [`Corrupt`](crate::ErrorKind::Corrupt) if it is not a zip archive or is
    /// damaged, [`InvalidInput`](crate::ErrorKind::InvalidInput) if the source is
    /// [`Source::map_mut`], because a store would not update a checksum,
    /// [`Truncated`](crate::ErrorKind::Truncated) if it ends after the end of the file, and
    /// [`Io`](crate::ErrorKind::Io) if reading fails.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use npymap::{Source, tar::TarFile};
    ///
    /// // SAFETY: no other process writes to or truncates this file.
    /// let tar = TarFile::open(unsafe { Source::map("train-000000.tar")? })?;
    /// let image = tar.member("000000.npz")?.npz()?.get("image")?;
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[cfg(feature = "npz")]
    pub fn npz(&self) -> Result<Npz<D>> {
        self.name_member(self.check_bytes().and_then(|()| {
            let TarEntry { start, size, .. } = *self.entry;
            NpzOptions::new().open_range(Arc::clone(&self.tar.source), start, size)
        }))
    }

    /// The first bytes of a member, if it has as many and can be opened.
    fn magic<const N: usize>(&self) -> Result<Option<[u8; N]>> {
        let mut magic = [0; N];
        if self.entry.is_sparse || self.entry.size < to_u64(N) {
            return Ok(None);
        }
        let found = self.tar.source.storage().read_at(&mut magic, self.entry.start);
        let found = self.name_member(found.context("read the archive"))?;
        Ok((found == N).then_some(magic))
    }

    fn open_array(&self) -> Result<MappedArray<D>> {
        let place = self.find()?.into_place()?.moved_by(self.entry.start);
        let source = &*self.tar.source;
        let data = source.obtain_checked(place.offset, place.layout.nbytes())?;
        Ok(MappedArray::from_place(source, data, place, Some(self.name())))
    }

    fn find(&self) -> Result<MemberContent> {
        self.check_bytes()?;
        let TarEntry { start, size, .. } = *self.entry;
        let mut part = io::BufReader::with_capacity(
            HEADER_BUFFER,
            self.tar.source.storage().range_reader(start, start + size),
        );
        MemberContent::read(&mut part, size, MAX_HEADER_LEN)
    }

    /// Checks that the member's bytes are in the file, and contiguous.
    fn check_bytes(&self) -> Result<()> {
        let TarEntry { start, size, is_sparse, .. } = *self.entry;
        if is_sparse {
            let expected = "extract it with tar";
            return Err(ArchiveError::unsupported("is stored as a sparse file", expected));
        }
        let len = self.tar.source.nbytes();
        if start.checked_add(size).is_some_and(|end| end <= len) {
            return Ok(());
        }
        let found =
            format!("its {size} bytes from byte {start} on exceed the {len} bytes of the file");
        let expected = "the tar file was truncated, or is still being written";
        Err(ArchiveError::truncated(found, expected))
    }

    /// Adds the path of the file and the name of the member to an error.
    fn name_member<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| self.tar.name_file(error.with_member(self.name())))
    }
}

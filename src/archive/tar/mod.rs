//! Tar files of arrays, as webdataset keeps them: `.npy` and `.ten` members,
//! used where they lie.

mod pax;
mod records;

use std::io;
use std::path::Path;
use std::sync::Arc;

use self::records::{TarEntry, entries};
use crate::archive::names::NameIndex;
use crate::archive::ten::{self, Ten};
use crate::array::{MappedArray, MemberContent};
use crate::error::{ArchiveError, Error, Result, SystemError, excerpt};
use crate::npy::{Header, MAX_HEADER_LEN};
use crate::source::Source;
use crate::source::map::Map;
use crate::source::pages::Mapping;

/// A tar file of arrays: a shard of a webdataset.
///
/// # Examples
///
/// ```no_run
/// use npymap::{Source, tar::Shard};
///
/// // SAFETY: nobody changes or truncates the file meanwhile.
/// let shard = Shard::open(unsafe { Source::map("train-000000.tar")? })?;
/// for member in shard.members().filter(|member| member.name().ends_with(".npy")) {
///     println!("{}: {:?}", member.name(), member.open()?.shape());
/// }
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Debug)]
pub struct Shard<D = Map> {
    source: Arc<Source<D>>,
    entries: Vec<TarEntry>,
    index: NameIndex,
}

/// One member of a [`Shard`].
#[derive(Debug)]
pub struct ShardMember<'a, D = Map> {
    shard: &'a Shard<D>,
    entry: &'a TarEntry,
}

impl<D> Clone for Shard<D> {
    fn clone(&self) -> Shard<D> {
        let source = Arc::clone(&self.source);
        Shard { source, entries: self.entries.clone(), index: self.index.clone() }
    }
}

impl<D> Clone for ShardMember<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for ShardMember<'_, D> {}

impl<D: Mapping> Shard<D> {
    /// Opens the tar file that a source holds. All headers are read, and
    /// nothing between them.
    ///
    /// # Errors
    ///
    /// [`Damaged`](crate::ErrorKind::Damaged) when it is no tar file, damaged, or has a name
    /// or pax header of more than 1 MiB;
    /// [`Io`](crate::ErrorKind::Io).
    pub fn open(source: Source<D>) -> Result<Shard<D>> {
        let entries = source.storage().add_path_on_err(entries(source.storage()))?;
        Ok(Shard { source: Arc::new(source), entries, index: NameIndex::default() })
    }

    /// The path it was opened by.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.source.path()
    }

    /// The number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True when there are no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The members in the order of the file, arrays or not; directories and
    /// links are left out.
    #[must_use]
    pub fn members(&self) -> impl ExactSizeIterator<Item = ShardMember<'_, D>> {
        self.entries.iter().map(|entry| ShardMember { shard: self, entry })
    }

    /// A member by its name; the last of equal ones, as `tar` would unpack.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound).
    pub fn member(&self, name: &str) -> Result<ShardMember<'_, D>> {
        let name_at =
            |position| self.entries.get(position).map_or("", |entry: &TarEntry| &entry.name);
        let found = self.index.find(self.entries.len(), name_at, name);
        let entry = found.and_then(|(_, last)| self.entries.get(last));
        entry.map(|entry| ShardMember { shard: self, entry }).ok_or_else(|| {
            let members = match self.len() {
                1 => "there is 1 other member".to_owned(),
                n => format!("there are {n} other members"),
            };
            self.named(ArchiveError::NoMember { asked: excerpt(name), members }.into())
        })
    }

    /// Opens the `.npy` of this name. See [`ShardMember::open`].
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound), and those of [`ShardMember::open`].
    pub fn get(&self, name: &str) -> Result<MappedArray<D>> {
        self.member(name)?.open()
    }

    fn named(&self, error: Error) -> Error {
        self.source.storage().add_path(error)
    }
}

impl<'a, D: Mapping> ShardMember<'a, D> {
    /// Its name as it stands in the tar file; what is no UTF-8 of it is
    /// replaced.
    #[must_use]
    pub fn name(&self) -> &'a str {
        &self.entry.name
    }

    /// Its length in bytes, with its holes if it is stored without them.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.entry.size
    }

    /// Where its first byte lies in the tar file.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.entry.start
    }

    /// The header of the `.npy` it is, checked as opening would; `None` when
    /// it is none.
    ///
    /// # Errors
    ///
    /// As [`open`](ShardMember::open), but for [`Io`](crate::ErrorKind::Io).
    pub fn header(&self) -> Result<Option<Header>> {
        self.named(self.find()).map(|content| content.header())
    }

    /// Returns whether it starts as a `.ten` file does, or is empty and has a
    /// name of one. A sparse member, which cannot be used, is not one.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::ErrorKind::Io).
    pub fn is_ten(&self) -> Result<bool> {
        if self.entry.is_sparse {
            return Ok(false);
        }
        let mut magic = [0; 8];
        let found = self.shard.source.storage().read_at(&mut magic, self.entry.start);
        let found = self.named(found.map_err(SystemError::io("read the archive")))?;
        Ok(if self.entry.size == 0 {
            ten::has_extension(Path::new(self.name()))
        } else {
            found == magic.len() && magic == *b"~TenBin~"
        })
    }

    /// Opens the `.npy` it is: in place, or copied into memory of its own.
    ///
    /// # Errors
    ///
    /// [`Damaged`](crate::ErrorKind::Damaged) when it is none; [`Damaged`](crate::ErrorKind::Damaged) when it
    /// is sparse or ends behind the file; [`Truncated`](crate::ErrorKind::Truncated),
    /// [`Io`](crate::ErrorKind::Io), [`Io`](crate::ErrorKind::Io), those of [`Header::parse`] and
    /// [`Layout::new`](crate::layout::Layout::new).
    pub fn open(&self) -> Result<MappedArray<D>> {
        let opened = || {
            let place = self.find()?.into_place()?.moved_by(self.entry.start);
            let source = &*self.shard.source;
            let data = source.obtain_checked(place.offset, place.layout.nbytes())?;
            Ok(MappedArray::from_place(source, data, place, Some(self.name())))
        };
        self.named(opened())
    }

    /// Opens the `.ten` it is; its arrays are used in place, or copied when
    /// they are asked for.
    ///
    /// # Errors
    ///
    /// As [`Ten::open`].
    pub fn ten(&self) -> Result<Ten<D>> {
        let opened = || {
            self.usable()?;
            Ten::open_range(Arc::clone(&self.shard.source), self.entry.start, self.entry.size)
        };
        self.named(opened())
    }

    fn find(&self) -> Result<MemberContent> {
        self.usable()?;
        let TarEntry { start, size, .. } = *self.entry;
        let mut part = io::BufReader::with_capacity(
            1024,
            self.shard.source.storage().range_reader(start, start.saturating_add(size)),
        );
        MemberContent::read(&mut part, size, MAX_HEADER_LEN)
    }

    /// Checks that its bytes lie in the file, in one piece.
    fn usable(&self) -> Result<()> {
        if self.entry.is_sparse {
            let expected = "extract it with tar";
            return Err(ArchiveError::unsupported("is stored as a sparse file", expected));
        }
        let (end, len) =
            (self.entry.start.checked_add(self.entry.size), self.shard.source.nbytes());
        if end.is_some_and(|end| end <= len) {
            return Ok(());
        }
        let found = format!(
            "its {} bytes from byte {} on exceed the {len} bytes of the file",
            self.entry.size, self.entry.start
        );
        let expected = "the tar file was truncated, or is still being written";
        Err(ArchiveError::truncated(found, expected))
    }

    fn named<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| self.shard.named(error.with_member(self.name())))
    }
}

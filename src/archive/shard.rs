//! Tar files of arrays, as webdataset keeps them: `.npy` and `.ten` members,
//! used where they lie.
#![allow(unsafe_code)]

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::archive::names::NameIndex;
use crate::archive::tar::{Entry, entries};
use crate::archive::ten::{self, Ten};
use crate::array::{self, MappedArray, on};
use crate::error::{ArchiveError, Error, HeaderError, Result, SystemError, excerpt};
use crate::layout::Layout;
use crate::npy::{Header, MAX_HEADER_LEN};
use crate::source::Source;
use crate::source::mode::Mode;

/// A tar file of arrays: a shard of a webdataset.
///
/// # Examples
///
/// ```no_run
/// use npymap::Shard;
///
/// // SAFETY: nobody changes or truncates the file meanwhile.
/// let shard = unsafe { Shard::open("train-000000.tar")? };
/// for member in shard.members().filter(|member| member.name().ends_with(".npy")) {
///     println!("{}: {:?}", member.name(), member.open()?.shape());
/// }
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Shard {
    source: Arc<Source>,
    entries: Vec<Entry>,
    index: NameIndex,
}

/// One member of a [`Shard`].
#[derive(Clone, Copy, Debug)]
pub struct ShardMember<'a> {
    shard: &'a Shard,
    entry: &'a Entry,
}

impl Shard {
    /// Opens a tar file whose arrays are mapped. All headers are read, and
    /// nothing between them.
    ///
    /// # Safety
    ///
    /// As [`MappedArray::open`], for the elements of each array that is taken
    /// from it, as long as that array or a clone lives.
    ///
    /// # Errors
    ///
    /// [`Damaged`](crate::ErrorKind::Damaged) when it is no tar file, damaged,
    /// or has a name or pax header of more than 1 MiB;
    /// [`Io`](crate::ErrorKind::Io).
    pub unsafe fn open(path: impl AsRef<Path>) -> Result<Shard> {
        // SAFETY: asks for the same promises.
        on(path.as_ref(), |path| Shard::of(unsafe { Source::mapped(path, false) }?))
    }

    /// Opens a tar file whose arrays are copied into memory when they are
    /// asked for; safe, since nothing is mapped.
    ///
    /// # Errors
    ///
    /// As [`open`](Shard::open).
    pub fn read(path: impl AsRef<Path>) -> Result<Shard> {
        on(path.as_ref(), |path| Shard::of(Source::read(path)?))
    }

    /// Uses the tar file that stands in `bytes`; arrays are copied when they
    /// are asked for.
    ///
    /// # Errors
    ///
    /// As [`open`](Shard::open).
    pub fn from_bytes(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Result<Shard> {
        Shard::of(Source::memory(Arc::new(bytes)))
    }

    fn of(source: Source) -> Result<Shard> {
        let entries = entries(&source)?;
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
    pub fn members(&self) -> impl ExactSizeIterator<Item = ShardMember<'_>> {
        self.entries.iter().map(|entry| ShardMember { shard: self, entry })
    }

    /// A member by its name; the last of equal ones, as `tar` would unpack.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound).
    pub fn member(&self, name: &str) -> Result<ShardMember<'_>> {
        let name_at = |position| self.entries.get(position).map_or("", |entry: &Entry| &entry.name);
        let found = self.index.find(self.entries.len(), name_at, name);
        let entry = found.and_then(|(_, last)| self.entries.get(last));
        entry.map(|entry| ShardMember { shard: self, entry }).ok_or_else(|| {
            let has = match self.len() {
                1 => "is 1 other".to_owned(),
                n => format!("are {n} others"),
            };
            self.named(ArchiveError::NoMember { asked: excerpt(name), has }.into())
        })
    }

    /// Opens the `.npy` of this name. See [`ShardMember::open`].
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound), and those of
    /// [`ShardMember::open`].
    pub fn get(&self, name: &str) -> Result<MappedArray> {
        self.member(name)?.open()
    }

    fn named(&self, error: Error) -> Error {
        match self.source.path() {
            Some(path) => error.at(path),
            None => error,
        }
    }
}

impl<'a> ShardMember<'a> {
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
        Ok(self.named(self.find())?.ok().map(|(header, _)| header))
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
        let found = self.shard.source.read_at(&mut magic, self.entry.start);
        let found = self.named(found.map_err(SystemError::io("read the archive")))?;
        Ok(if self.entry.size == 0 {
            ten::has_extension(Path::new(self.name()))
        } else {
            found == magic.len() && magic == *b"~TenBin~"
        })
    }

    /// Opens the `.npy` it is, read-only: in place, or copied into memory of
    /// its own.
    ///
    /// # Errors
    ///
    /// [`Damaged`](crate::ErrorKind::Damaged) when it is none;
    /// [`Damaged`](crate::ErrorKind::Damaged) when it is sparse or ends behind
    /// the file; [`Truncated`](crate::ErrorKind::Truncated),
    /// [`Io`](crate::ErrorKind::Io), those of [`Header::parse`] and
    /// [`Layout::new`].
    pub fn open(&self) -> Result<MappedArray> {
        let opened = || {
            let (mut header, layout): (Header, Layout) =
                self.find()?.map_err(|found| Error::from(HeaderError::Magic { found }))?;
            let source = &self.shard.source;
            let offset = self
                .entry
                .start
                .saturating_add(u64::try_from(header.data_offset).unwrap_or(u64::MAX));
            header.data_offset = usize::try_from(offset).unwrap_or(usize::MAX);
            let data = source.map(offset, layout.nbytes())?;
            let (path, mode) = (source.path(), source.mode(Mode::ReadOnly));
            let from = array::Member {
                path,
                name: self.name(),
                mode,
                offset: Some(offset),
                id: source.id(),
            };
            Ok(MappedArray::of_member(data, layout, Some(&header), from))
        };
        self.named(opened())
    }

    /// Opens the `.ten` it is; its arrays are used in place, or copied when
    /// they are asked for.
    ///
    /// # Errors
    ///
    /// As [`Ten::open`].
    pub fn ten(&self) -> Result<Ten> {
        let opened = || {
            self.usable()?;
            Ten::within(Arc::clone(&self.shard.source), self.entry.start, self.entry.size)
        };
        self.named(opened())
    }

    fn find(&self) -> Result<Result<(Header, Layout), Vec<u8>>> {
        self.usable()?;
        let Entry { start, size, .. } = *self.entry;
        let mut part = io::BufReader::with_capacity(
            1024,
            self.shard.source.part(start, start.saturating_add(size)),
        );
        array::find(&mut part, size, MAX_HEADER_LEN)
    }

    /// Checks that its bytes lie in the file, in one piece.
    fn usable(&self) -> Result<()> {
        if self.entry.is_sparse {
            let expected = "unpack it with tar";
            return Err(ArchiveError::unsupported("is stored without its holes", expected));
        }
        let (end, len) = (self.entry.start.checked_add(self.entry.size), self.shard.source.len());
        if end.is_some_and(|end| end <= len) {
            return Ok(());
        }
        let found =
            format!("its {} bytes from {} end behind {len}", self.entry.size, self.entry.start);
        let expected = "the tar file was truncated, or is still being written";
        Err(ArchiveError::truncated(found, expected))
    }

    fn named<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| self.shard.named(error.of_member(self.name())))
    }
}

//! Archives of arrays: the `.npz` files that `numpy.savez` writes, which are
//! zip archives of `.npy` files.

mod copy;
mod create;
mod directory;
mod end;
mod extra;
mod local;
mod member;
mod member_writer;
mod name;
mod open;
mod reader;
mod records;
mod report;
mod scan;
mod update;
mod writer;
mod zip_writer;

use std::sync::Arc;
use std::time::SystemTime;

use crate::archive::entries::{EntryList, no_member};
use crate::array::MappedArray;
use crate::error::Result;
use crate::source::Source;
use crate::source::map::Map;
use crate::source::pages::Mapping;
use crate::source::storage::Storage;

pub use create::savez;
use directory::DirectoryEntry;
pub use member::Member;
pub use member_writer::{Compression, MemberWriter};
pub use open::{MemberProgress, NpzOptions};
pub use reader::MemberReader;
pub use update::NpzUpdate;
pub use writer::NpzWriter;

/// An open `.npz` archive.
///
/// Stored members of a mapped source are used in place, whatever their
/// alignment, and only their elements are mapped. Deflated members are inflated
/// into memory. Both yield a [`MappedArray`] that outlives the archive and can
/// be written if the source's arrays can.
///
/// Names are NumPy's: names in the archive without `.npy`. If two members have
/// the same name, the last member counts. This also lists members that are not
/// arrays.
///
/// # Examples
///
/// ```
/// use npymap::Source;
/// use npymap::ndarray::array;
/// use npymap::npz::{Npz, NpzWriter};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("weights.npz");
/// let mut writer = NpzWriter::create(&path)?;
/// writer.write("layer1/w", &array![[1.5_f32, 2.0], [3.0, 4.0]])?;
/// writer.write("layer1/b", &array![0.5_f32, -0.5])?;
/// writer.finish()?;
///
/// // SAFETY: no other process writes to or truncates this file.
/// let npz = Npz::open(unsafe { Source::map(&path)? })?;
/// assert_eq!(npz.names().collect::<Vec<_>>(), ["layer1/w", "layer1/b"]);
/// let bias = npz.get("layer1/b")?;
/// drop(npz);
/// assert_eq!(bias.as_slice::<f32>()?, [0.5, -0.5]); // in the file, not copied
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Npz<D = Map> {
    source: Arc<Source<D>>,
    entries: EntryList<DirectoryEntry>,
    options: NpzOptions,
    /// When the file was modified last, before its directory was read.
    modified: Option<SystemTime>,
}

impl<D: Mapping> Npz<D> {
    /// The archive with these entries. It was last `modified` before they were read.
    fn new(
        source: Arc<Source<D>>,
        entries: Vec<DirectoryEntry>,
        options: &NpzOptions,
        modified: Option<SystemTime>,
    ) -> Npz<D> {
        let entries = EntryList::new(entries, |entry| &entry.name);
        Npz { source, entries, options: options.clone(), modified }
    }

    /// Opens an archive.
    ///
    /// # Errors
    ///
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if the source is not a
    /// zip archive or is damaged,
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if it is
    /// [`Source::map_mut`](crate::Source::map_mut), because a store would not
    /// update a member's checksum, and [`Io`](crate::ErrorKind::Io) if it
    /// cannot be read.
    pub fn open(source: Source<D>) -> Result<Npz<D>> {
        NpzOptions::new().open(source)
    }

    /// Returns the members in the order of the archive, including members that
    /// are not arrays.
    #[must_use]
    pub fn members(&self) -> impl ExactSizeIterator<Item = Member<'_, D>> {
        self.entries.iter().map(|entry| Member::new(self, entry))
    }

    /// Returns the names of the members, without `.npy`: NumPy's `files`.
    #[must_use]
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.members().map(|member| member.name())
    }

    /// Finds a member by its name, with or without `.npy`. As in NumPy, a
    /// member with the full name `name` comes before a member called
    /// `name.npy`, and the last of several members with the same name counts.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if no member has this
    /// name.
    pub fn member(&self, name: &str) -> Result<Member<'_, D>> {
        let entry = match self.last_entry(name) {
            None => self.last_entry(&format!("{name}.npy")),
            entry => entry,
        };
        match entry {
            Some(entry) => Ok(Member::new(self, entry)),
            None => self.name_file(Err(no_member(name, self.names()))),
        }
    }

    /// Opens an array by its name, with or without `.npy`. See
    /// [`Member::open`].
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if no member has this
    /// name. Returns [`Corrupt`](crate::ErrorKind::Corrupt) if the member is
    /// not a valid array, overlaps another member, or has a wrong size or
    /// CRC-32. Returns [`Unsupported`](crate::ErrorKind::Unsupported) if it
    /// contains Python objects, is encrypted, or is compressed by a method
    /// other than deflate. Returns
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if its header or its
    /// inflated size exceeds the limit,
    /// [`Truncated`](crate::ErrorKind::Truncated) if elements are missing, and
    /// [`Io`](crate::ErrorKind::Io) if reading or mapping fails.
    pub fn get(&self, name: &str) -> Result<MappedArray<D>> {
        self.member(name)?.open()
    }

    /// Requests the headers of all members at once, if each read of the source
    /// takes long, for example from a remote object. For files, it does
    /// nothing.
    ///
    /// Call it before [`Member::header`] or [`Member::data_offset`] of many
    /// members, which then find the headers in memory. At most 16 MiB of them
    /// are kept, until the next call. This is enough for about 10,000 members.
    /// The rest is read in turn.
    ///
    /// # Errors
    ///
    /// Returns [`Io`](crate::ErrorKind::Io) if the storage cannot read the
    /// headers.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{Npz, Source, ndarray::arr1, npz};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("a.npz");
    /// npz::savez(&path, &[("x", &arr1(&[0.5_f32, 1.5])), ("y", &arr1(&[1_u8]))])?;
    ///
    /// let npz = Npz::open(Source::open(&path)?)?;
    /// npz.prefetch_headers()?;
    /// for member in npz.members() {
    ///     println!("{}: {:?}", member.name(), member.header()?);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prefetch_headers(&self) -> Result<()> {
        let ranges = self.entries.iter().filter_map(local::header_ranges).flatten();
        self.source.storage().prefetch_headers(ranges)
    }

    /// The last entry with this full name.
    fn last_entry(&self, full_name: &str) -> Option<&DirectoryEntry> {
        let position = self.entries.positions(full_name).last()?;
        self.entries.get(*position)
    }

    /// Returns whether the file was modified since the archive was opened.
    #[cold]
    fn is_modified(&self) -> bool {
        self.modified.is_some() && modified(self.source.storage()) != self.modified
    }

    /// Adds the path of the archive to an error.
    pub(in crate::archive) fn name_file<T>(&self, result: Result<T>) -> Result<T> {
        self.source.storage().add_path_on_err(result)
    }
}

/// When a file was modified last; `None` for other storage.
#[inline]
fn modified(storage: &Storage) -> Option<SystemTime> {
    // A file system without times is not an error.
    storage.file()?.metadata().ok()?.modified().ok()
}

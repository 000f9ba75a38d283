//! Adds, replaces and removes members of an archive file.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use super::member_writer::Compression;
use super::open::{NpzOptions, ProgressCallback};
use super::writer::{NpzWriter, check_file_name, existing_name, file_name};
use super::{Npz, name};
use crate::archive::entries::no_member;
use crate::array::MappedArray;
use crate::error::invariant::to_usize_saturating;
use crate::error::{ArchiveError, IoContext as _, Result, plural};
use crate::source::Source;
use crate::source::atomic::AtomicFile;
use crate::source::lock::Locking;
use crate::source::map::MapMut;
use crate::write::Save;

/// An update of some members of an archive file, started by [`Npz::update`].
///
/// The changed archive is written to a new file, which replaces the previous
/// archive in [`commit`](NpzUpdate::commit). The file is locked from the start,
/// so that no change by another update is lost. If the process is killed, or
/// the update is dropped, the archive is unchanged.
///
/// The other members are copied as they are stored, without inflating them, so
/// damage in them is neither hidden nor an error. Their names, compression, checksums
/// and Unix modes are kept; dates, comments, extra fields, DOS attributes and bytes after
/// the archive are not. Elements that are stored uncompressed are aligned as [`NpzWriter`]
/// does it, and to pages if they were before.
#[must_use = "nothing changes until it is committed"]
pub struct NpzUpdate<'a> {
    new: AtomicFile,
    old: Npz<MapMut>,
    /// The new members by full name.
    changed: HashMap<String, NewMember<'a>>,
    /// How many members were set.
    sets: usize,
    /// Full names of the old members to leave out.
    removed: Vec<String>,
    /// Full names of members before and after the update.
    renamed: Vec<(String, String)>,
    compression: Option<Compression>,
}

/// A member to add, or to replace all members with this name.
struct NewMember<'a> {
    /// How many members were set before.
    number: usize,
    content: Content<'a>,
    /// `None` for the compression of the member that it replaces.
    compression: Option<Compression>,
}

/// The array of a new member.
enum Content<'a> {
    Array(&'a dyn Save),
    Deferred(&'a dyn Fn() -> Result<MappedArray>),
}

impl NewMember<'_> {
    /// Writes the member. A deferred array is open only meanwhile.
    fn write<W: Write>(
        &self,
        name: &str,
        writer: &mut NpzWriter<W>,
        own: Compression,
        progress: &ProgressCallback,
    ) -> Result<()> {
        writer.compression(self.compression.unwrap_or(own));
        match &self.content {
            Content::Array(array) => writer.write_file(name, *array, progress),
            Content::Deferred(open) => writer.write_file(name, &open()?.in_parts(), progress),
        }
    }
}

impl Npz<MapMut> {
    /// Starts an update of the archive at `path`, which is locked until the update
    /// is committed or dropped. If the file does not exist, a new archive is
    /// created.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if the file does not
    /// exist, [`Locked`](crate::ErrorKind::Locked) if another process has the
    /// lock and `locking` does not wait, [`Corrupt`](crate::ErrorKind::Corrupt)
    /// if the file is not a zip archive or is damaged,
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if it is not a regular
    /// file, or if other bytes precede the archive, which would not be kept,
    /// and [`Io`](crate::ErrorKind::Io) if it cannot be read, or its directory
    /// not be written.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::source::Locking;
    /// use npymap::{Npz, Source, ndarray::arr1, npz};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("run.npz");
    /// npz::savez(&path, &[("steps", &arr1(&[41_u64])), ("old", &arr1(&[0.5]))])?;
    ///
    /// let mut update = Npz::update(&path, Locking::Wait)?;
    /// let mut steps = update.npz().get("steps")?;
    /// steps.as_slice_mut::<u64>()?[0] += 1;
    /// let loss = arr1(&[0.25_f32, 0.125]);
    /// update.set("steps", &steps)?.set("loss", &loss)?.remove("old")?;
    /// update.commit()?;
    ///
    /// let npz = Npz::open(Source::open(&path)?)?;
    /// assert_eq!(npz.names().collect::<Vec<_>>(), ["steps", "loss"]);
    /// assert_eq!(npz.get("steps")?.as_slice::<u64>()?, [42]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update<'a>(path: impl AsRef<Path>, locking: Locking) -> Result<NpzUpdate<'a>> {
        NpzOptions::new().update(path, locking)
    }
}

impl NpzOptions {
    /// Starts an update of an archive file, like [`Npz::update`].
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if the file does not
    /// exist, [`Locked`](crate::ErrorKind::Locked) if another process has the
    /// lock and `locking` does not wait, [`Corrupt`](crate::ErrorKind::Corrupt)
    /// if the file is not a zip archive or is damaged,
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if it is not a regular
    /// file, or if other bytes precede the archive, which would not be kept,
    /// and [`Io`](crate::ErrorKind::Io) if it cannot be read, or its directory
    /// not be written.
    pub fn update<'a>(&self, path: impl AsRef<Path>, locking: Locking) -> Result<NpzUpdate<'a>> {
        let path = path.as_ref();
        // Locked before it is read.
        let new = AtomicFile::update_discarding(path, locking)?;
        let old = if new.replaced().is_some() {
            let old = self.open(Source::open(path)?)?;
            check_prefix(&old).map_err(|error| error.with_path(path))?;
            old
        } else {
            Npz::new(Arc::new(Source::bytes(Vec::new())), Vec::new(), self, None)
        };
        let (changed, removed, renamed) = (HashMap::new(), Vec::new(), Vec::new());
        Ok(NpzUpdate { new, old, changed, sets: 0, removed, renamed, compression: None })
    }
}

impl<'a> NpzUpdate<'a> {
    /// Returns the archive before the update. Its arrays are copies in memory.
    #[must_use]
    #[inline]
    pub fn npz(&self) -> &Npz<MapMut> {
        &self.old
    }

    /// Sets the compression of the members that are set from now on. By default
    /// they are compressed if the member that they replace is.
    #[inline]
    pub fn compression(&mut self, compression: Compression) -> &mut NpzUpdate<'a> {
        self.compression = Some(compression);
        self
    }

    /// Replaces a member, or adds one after the others.
    ///
    /// The member to replace is found as by [`Npz::member`], among the members
    /// after the changes so far, and keeps its full name: of `x` and `x.npy`,
    /// `"x"` replaces `x`, and the other is kept. All members of the same full
    /// name are replaced by one. If none is found, `name` is the key of a new
    /// member, without `.npy`.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if the format
    /// cannot store the name, or it names a directory.
    #[inline]
    pub fn set(&mut self, name: &str, array: &'a dyn Save) -> Result<&mut NpzUpdate<'a>> {
        self.set_content(name, Content::Array(array))
    }

    /// Sets a member to an array that is opened when it is written, and then closed. So an
    /// update can take arrays from more files than a process can have open. If opening
    /// fails, [`commit`](NpzUpdate::commit) or [`write`](NpzUpdate::write) returns the
    /// error.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if the format
    /// cannot store the name, or it names a directory.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::source::Locking;
    /// use npymap::{MappedArray, Npz, Source};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("all.npz");
    /// let mut update = Npz::update(&path, Locking::Wait)?;
    /// let files = [("penguins", "data/penguins.npy")];
    /// let read = |file| MappedArray::load(file)?.into_read_only();
    /// let opens = files.map(|(name, file)| (name, move || read(file)));
    /// for (name, open) in &opens {
    ///     update.set_deferred(name, open)?;
    /// }
    /// update.commit()?;
    /// assert_eq!(Npz::open(Source::open(&path)?)?.get("penguins")?.shape(), [342, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn set_deferred(
        &mut self,
        name: &str,
        open: &'a dyn Fn() -> Result<MappedArray>,
    ) -> Result<&mut NpzUpdate<'a>> {
        self.set_content(name, Content::Deferred(open))
    }

    #[inline]
    fn set_content(&mut self, name: &str, content: Content<'a>) -> Result<&mut NpzUpdate<'a>> {
        let full_name = self.find(name).unwrap_or_else(|| file_name(name));
        check_file_name(&full_name).map_err(|error| error.with_path(self.new.path()))?;
        let (number, compression) = (self.sets, self.compression);
        self.changed.insert(full_name, NewMember { number, content, compression });
        self.sets += 1;
        Ok(self)
    }

    /// Removes a member, looked up as by [`set`](NpzUpdate::set), and all
    /// members with the same full name.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if no member has this
    /// name.
    #[inline]
    pub fn remove(&mut self, name: &str) -> Result<&mut NpzUpdate<'a>> {
        let Some(full_name) = self.find(name) else {
            let error = no_member(name, self.full_names().into_iter());
            return Err(error.with_path(self.new.path()));
        };
        self.changed.remove(&full_name);
        if let Some(old_name) = self.old_name(&full_name).map(str::to_owned) {
            // Another member may get the name that it would have had.
            self.renamed.retain(|(old, _)| *old != old_name);
            self.removed.push(old_name);
        }
        Ok(self)
    }

    /// Renames a member, looked up as by [`set`](NpzUpdate::set). It keeps its
    /// place, its compression and, unless it is set, its bytes.
    ///
    /// `new_name` is a key, without `.npy`, if the full name of the member ends
    /// in `.npy`. Otherwise it is a full name.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if no member has the
    /// old name, and [`InvalidInput`](crate::ErrorKind::InvalidInput) if a
    /// member has the new name, or the format cannot store it.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::source::Locking;
    /// use npymap::{Npz, Source, ndarray::arr1, npz};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("a.npz");
    /// npz::savez(&path, &[("arr_0", &arr1(&[0.5])), ("y", &arr1(&[1.5]))])?;
    ///
    /// let mut update = Npz::update(&path, Locking::Wait)?;
    /// update.rename("arr_0", "x")?;
    /// update.commit()?;
    /// assert_eq!(Npz::open(Source::open(&path)?)?.names().collect::<Vec<_>>(), ["x", "y"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn rename(&mut self, name: &str, new_name: &str) -> Result<&mut NpzUpdate<'a>> {
        let Some(full_name) = self.find(name) else {
            let error = no_member(name, self.full_names().into_iter());
            return Err(error.with_path(self.new.path()));
        };
        let is_array_name = name::key(&full_name) != full_name;
        let new_name = if is_array_name { file_name(new_name) } else { new_name.to_owned() };
        if new_name == full_name {
            return Ok(self);
        }
        check_file_name(&new_name).map_err(|error| error.with_path(self.new.path()))?;
        // By its own name too, which would find the other one.
        let key = name::key(&new_name);
        if self.contains(&new_name) || (key != full_name && self.contains(key)) {
            return Err(existing_name(&new_name).with_path(self.new.path()));
        }
        if let Some(old_name) = self.old_name(&full_name).map(str::to_owned) {
            self.renamed.retain(|(old, _)| *old != old_name);
            self.renamed.push((old_name, new_name.clone()));
        }
        if let Some(member) = self.changed.remove(&full_name) {
            self.changed.insert(new_name, member);
        }
        Ok(self)
    }

    /// The full name of the member that [`Npz::member`] would find after the
    /// changes so far.
    #[inline]
    fn find(&self, name: &str) -> Option<String> {
        [name.to_owned(), file_name(name)].into_iter().find(|full_name| self.contains(full_name))
    }

    #[inline]
    fn contains(&self, full_name: &str) -> bool {
        self.changed.contains_key(full_name) || self.old_name(full_name).is_some()
    }

    /// The full name that a member had in the old archive, unless it is removed.
    #[inline]
    fn old_name<'n>(&'n self, full_name: &'n str) -> Option<&'n str> {
        let renamed = self.renamed.iter().find(|(_, new_name)| new_name == full_name);
        let old_name = match renamed {
            Some((old_name, _)) => old_name,
            None if self.renamed.iter().any(|(old_name, _)| old_name == full_name) => return None,
            None => full_name,
        };
        let exists = !self.is_removed(old_name) && self.old.last_entry(old_name).is_some();
        exists.then_some(old_name)
    }

    /// The full name that an old member will have.
    #[inline]
    fn new_name<'n>(&'n self, full_name: &'n str) -> &'n str {
        let renamed = self.renamed.iter().find(|(old_name, _)| old_name == full_name);
        renamed.map_or(full_name, |(_, new_name)| new_name)
    }

    /// The new members in the order in which they were set.
    #[inline]
    fn new_members(&self) -> Vec<(&str, &NewMember<'a>)> {
        let mut members: Vec<_> = self.changed.iter().map(|(name, new)| (&**name, new)).collect();
        members.sort_unstable_by_key(|(_, new)| new.number);
        members
    }

    /// The full names of the members after the changes so far.
    #[inline]
    fn full_names(&self) -> Vec<&str> {
        let old = self.old.members().map(|member| member.full_name());
        let old = old.filter(|name| !self.is_removed(name)).map(|name| self.new_name(name));
        let kept = old.filter(|name| !self.changed.contains_key(*name));
        kept.chain(self.new_members().into_iter().map(|(name, _)| name)).collect()
    }

    /// Writes the archive, waits until it is on the disk, and replaces the
    /// previous archive.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if a descr
    /// cannot express a dtype, [`Unsupported`](crate::ErrorKind::Unsupported)
    /// if a member to copy is encrypted, or compressed by a method other than
    /// deflate, and [`Corrupt`](crate::ErrorKind::Corrupt) if it overlaps
    /// another member. Returns [`Changed`](crate::ErrorKind::Changed) if
    /// another program replaced the file, and [`Io`](crate::ErrorKind::Io) if
    /// reading, writing or syncing fails. The archive is then unchanged, unless
    /// only the directory could not be synced.
    #[inline]
    pub fn commit(self) -> Result<()> {
        self.write()?.commit_sync()?;
        Ok(())
    }

    /// Writes the archive but does not replace the previous archive yet: that
    /// is done by
    /// [`AtomicFile::commit_sync`](crate::source::AtomicFile::commit_sync). In
    /// between, close arrays of the old archive, because Windows doesn't
    /// replace a mapped file.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if a descr
    /// cannot express a dtype, [`Unsupported`](crate::ErrorKind::Unsupported)
    /// if a member to copy is encrypted, or compressed by a method other than
    /// deflate, [`Corrupt`](crate::ErrorKind::Corrupt) if it overlaps another
    /// member, and [`Io`](crate::ErrorKind::Io) if reading or writing fails.
    /// The archive is unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::source::Locking;
    /// use npymap::{Npz, Source, ndarray::arr1, npz};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("scores.npz");
    /// npz::savez(&path, &[("x", &arr1(&[1, 2]))])?;
    ///
    /// // SAFETY: no other process writes to the file.
    /// let x = Npz::open(unsafe { Source::map(&path)? })?.member("x")?.open()?;
    /// let mut update = Npz::update(&path, Locking::Wait)?;
    /// update.set("y", &x)?;
    /// let new = update.write()?;
    /// drop(x);
    /// new.commit_sync()?;
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[inline]
    pub fn write(self) -> Result<AtomicFile> {
        let written = self.write_members();
        written.map_err(|error| error.with_path(self.new.path()))?;
        let NpzUpdate { new, old, .. } = self;
        // Windows does not replace a file that is open.
        drop(old);
        Ok(new)
    }

    /// Writes all members: replaced members stay in their place, and new
    /// members follow at the end.
    #[inline]
    fn write_members(&self) -> Result<()> {
        let mut writer = NpzWriter::new_seekable(self.new.file())?;
        let (mut written, progress) = (HashSet::new(), &self.old.options.progress);
        for member in self.old.members().filter(|member| !self.is_removed(member.full_name())) {
            writer.page_aligned(member.is_page_aligned()?);
            let name = self.new_name(member.full_name());
            match self.changed.get(name) {
                Some(new) => {
                    let is_stored = member.is_stored();
                    let own =
                        if is_stored { Compression::Stored } else { Compression::Deflated(6) };
                    // Of several old members with this name, the first is replaced.
                    if written.insert(name) {
                        new.write(name, &mut writer, own, progress)?;
                    }
                }
                None => member.copy_to(&mut writer, name)?,
            }
        }
        writer.page_aligned(false);
        let added = self.new_members().into_iter().filter(|(name, _)| !written.contains(name));
        for (name, new) in added {
            new.write(name, &mut writer, Compression::default(), progress)?;
        }
        writer.into_inner()?;
        Ok(())
    }

    #[inline]
    fn is_removed(&self, full_name: &str) -> bool {
        self.removed.iter().any(|name| name == full_name)
    }
}

/// Rejects archives with bytes before them, which would not be kept.
#[inline]
fn check_prefix(old: &Npz<MapMut>) -> Result<()> {
    let first = old.entries.iter().map(|entry| entry.start).min();
    let found = match first {
        Some(0) => return Ok(()),
        Some(first) => plural(to_usize_saturating(first), "byte", "bytes"),
        // An archive without members starts with an end record.
        None => {
            let mut start = [0; 4];
            let found = old.source.storage().read_at(&mut start, 0);
            found.context("read the archive")?;
            if [*b"PK\x05\x06", *b"PK\x06\x06"].contains(&start) {
                return Ok(());
            }
            "other bytes".to_owned()
        }
    };
    let expected = "copy its members to a new archive";
    Err(ArchiveError::unsupported(format!("{found} before the archive"), expected))
}

impl fmt::Debug for NpzUpdate<'_> {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.new_members().into_iter().map(|(full_name, _)| name::key(full_name));
        let names: Vec<&str> = names.collect();
        f.debug_struct("NpzUpdate")
            .field("path", &self.new.path())
            .field("changed", &names)
            .field("removed", &self.removed)
            .field("renamed", &self.renamed)
            .finish_non_exhaustive()
    }
}

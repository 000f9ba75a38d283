//! A cached object: a sparse file with its bytes, and a file with a mark per block, which
//! says whether the block is complete.

use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use super::Cache;
use super::key::{self, HEADER, Key};
use super::marks::{BLOCK, Blocks};
use super::space;
use crate::files::{self, FileId};
use crate::invariant::{to_u64, to_usize_saturating};
use crate::ranges;
use npymap::{Error, ErrorKind, Result};

/// Larger objects are not cached: their marks are read into memory.
const LARGEST: u64 = 8 << 40;

/// A cached object, which is not removed while this exists.
pub(crate) struct Entry {
    cache: Cache,
    key: Key,
    path: PathBuf,
    /// The data is locked as long as it is open, even if a process only has it mapped.
    blocks: Blocks,
    id: FileId,
    is_read_only: bool,
    /// Blocks are no longer written, because an error occurred.
    is_closed: AtomicBool,
}

/// The files of an object in a directory.
pub(super) fn paths(directory: &Path, name: &str) -> [PathBuf; 2] {
    ["data", "blocks"].map(|extension| directory.join(format!("{name}.{extension}")))
}

impl Entry {
    /// Creates the files of an object. The directory must be locked, and must not
    /// have them.
    pub(super) fn create(cache: &Cache, name: &str, key: &Key) -> Option<Entry> {
        let size = key.version.size;
        let header = key.encode(files::boot_id().unwrap_or_default())?;
        if size > LARGEST {
            return None;
        }
        let [data, marks] = paths(cache.directory(), name);
        files::create(&data).and_then(|data| data.set_len(size)).ok()?;
        let marks = files::create(&marks).ok()?;
        marks.set_len(HEADER + size.div_ceil(BLOCK)).ok()?;
        // Until it is complete, the files are damaged ones, which are removed.
        files::write_at(&marks, &header, 0).ok()?;
        Entry::open(cache, name, &key.place)
    }

    /// Opens the files of an object, or returns `None` if they are damaged or belong to a
    /// different object. The directory must be locked, unless it is read-only.
    pub(super) fn open(cache: &Cache, name: &str, place: &str) -> Option<Entry> {
        let [path, marks] = paths(cache.directory(), name);
        let (data, found, is_data_writable) = open(&path)?;
        let (marks, found_marks, is_writable) = open(&marks)?;
        let mut header = vec![0; to_usize_saturating(HEADER)];
        files::read_at(&marks, &mut header, 0).ok()?;
        let (key, boot) = Key::parse(&header)?;
        let size = key.version.size;
        let is_whole = found.len() == size && found_marks.len() == HEADER + size.div_ceil(BLOCK);
        if !is_whole || size > LARGEST || key.place != place {
            return None;
        }
        // Only a process that removes files of an object locks them exclusively.
        if !files::try_lock(&data, false).ok()? {
            return None;
        }
        // Without the lock of the directory, one may have done so before.
        let id = files::id(&found);
        if !files::is_at(&path, id) {
            return None;
        }
        let is_writable = is_writable && is_data_writable;
        let is_same_boot = files::boot_id() == Some(boot);
        let mut entry = Entry {
            cache: cache.clone(),
            path,
            blocks: Blocks::new(data, marks, size, is_same_boot),
            id,
            is_read_only: !is_writable,
            is_closed: AtomicBool::new(false),
            key,
        };
        if is_writable && !is_same_boot && files::boot_id().is_some() {
            entry.forget_written().ok()?;
        }
        // The time of the last use; if it cannot be set, others are removed later.
        let _ = entry.blocks.marks.set_modified(SystemTime::now());
        Some(entry)
    }

    pub(crate) fn key(&self) -> &Key {
        &self.key
    }

    fn size(&self) -> u64 {
        self.key.version.size
    }

    /// Splits a range of the object into parts that are in the cache (`true`) and
    /// parts that are not.
    pub(crate) fn parts(&self, range: &Range<u64>) -> Vec<(Range<u64>, bool)> {
        self.blocks.parts(range)
    }

    /// Returns whether the cache has all bytes.
    pub(crate) fn is_complete(&self) -> bool {
        self.parts(&(0..self.size())).iter().all(|(_, is_complete)| *is_complete)
    }

    /// Fills `buffer` with bytes of the file, which must be in the cache. `false` if
    /// they cannot be read.
    pub(crate) fn read(&self, buffer: &mut [u8], offset: u64) -> bool {
        files::read_at(&self.blocks.data, buffer, offset).is_ok_and(|len| len == buffer.len())
    }

    /// Writes the blocks that some bytes of the object contain completely. After an
    /// error, no more blocks are written.
    pub(crate) fn write(&self, bytes: &[u8], offset: u64) -> Result<()> {
        let end = offset.saturating_add(to_u64(bytes.len()));
        let last = if end == self.size() { end.div_ceil(BLOCK) } else { end / BLOCK };
        let numbers = offset.div_ceil(BLOCK)..last;
        let range = numbers.start * BLOCK..(numbers.end * BLOCK).min(end);
        let is_known = self.parts(&range).iter().all(|(_, is_complete)| *is_complete);
        if numbers.is_empty() || is_known {
            return Ok(());
        }
        if self.is_read_only {
            return Err(error(io::ErrorKind::ReadOnlyFilesystem.into()));
        }
        if self.is_closed.load(Ordering::Relaxed) {
            return Err(error(io::Error::other("a write failed before")));
        }
        if !self.cache.reserve(ranges::len(&range)) {
            return Err(error(io::ErrorKind::StorageFull.into()));
        }
        let start = to_usize_saturating(range.start - offset);
        let len = to_usize_saturating(ranges::len(&range));
        let bytes = bytes.get(start..start + len).unwrap_or_default();
        self.blocks.write(bytes, &numbers).map_err(|source| {
            self.is_closed.store(true, Ordering::Relaxed);
            error(source)
        })
    }

    /// Removes the files of a version that the server no longer sends. Otherwise, if the
    /// server says that the object is unchanged, it would be opened again, and each read
    /// would fail.
    pub(crate) fn forget(&self) {
        let Ok(Some(_lock)) = self.cache.lock() else { return };
        let name = key::file_name(&self.key.place);
        let found = Entry::open(&self.cache, &name, &self.key.place);
        if found.is_some_and(|found| found.key == self.key) {
            space::remove(self.cache.directory(), &name);
        }
    }

    /// Looks for space again at the next write, if there was none or an error before.
    pub(crate) fn look_for_space(&self) {
        self.is_closed.store(false, Ordering::Relaxed);
        self.cache.look_for_space();
    }

    /// Waits until the blocks of all processes are on the disk, and marks them. If that
    /// fails, they may be lost, and are forgotten.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.blocks.sync(self.is_read_only)
    }

    /// Forgets blocks from before the last boot.
    fn forget_written(&mut self) -> io::Result<()> {
        let boot = files::boot_id().unwrap_or_default();
        let header = self.key.encode(boot).ok_or(io::ErrorKind::InvalidData)?;
        self.blocks.forget_written(|marks| files::write_at(marks, &header, 0))
    }

    /// Opens the file again, read-only, with a lock of its own.
    pub(crate) fn reopen(&self) -> Result<File> {
        let file = files::open(&self.path, false).map_err(|error| Error::io("open", error))?;
        let found = file.metadata().map_err(|error| Error::io("open", error))?;
        if files::id(&found) != self.id {
            let text = "its file in the cache was replaced by another one: open it again";
            return Err(Error::new(ErrorKind::Changed, text));
        }
        files::try_lock(&file, false).map_err(|error| Error::io("lock", error))?;
        Ok(file)
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        // Otherwise the blocks are requested again after a restart of the system.
        if self.blocks.is_unsynced() {
            let _ = self.sync();
        }
    }
}

/// Opens a file for reading and writing, or only for reading.
fn open(path: &Path) -> Option<(File, Metadata, bool)> {
    let (file, is_writable) = match files::open(path, true) {
        Ok(file) => (file, true),
        Err(_) => (files::open(path, false).ok()?, false),
    };
    let found = file.metadata().ok()?;
    Some((file, found, is_writable))
}

fn error(source: io::Error) -> Error {
    Error::io("write to the cache", source)
}

//! A directory on the local disk with copies of the objects you read.

mod entry;
mod key;
mod marks;
#[cfg(all(test, target_pointer_width = "64"))]
#[allow(clippy::duplicate_mod, reason = "the same code with loom's atomics")]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test")]
mod model;
mod space;

pub(super) use entry::Entry;
pub(super) use key::Key;
pub(super) use marks::BLOCK;

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::files::{self, Lock};
use npymap::{Error, ErrorKind, Result};

/// What the processes and threads that use an object share. The model test replaces it.
mod shared {
    pub(super) use crate::files::{read_at, write_at};
    pub(super) use std::fs::File;
    pub(super) use std::sync::atomic::AtomicBool;
}

/// Keeps what you read from objects in a directory on the local disk.
///
/// Pass it to [`RemoteOptions::cache`](crate::RemoteOptions::cache). Each object has a
/// sparse file of its size, and one byte per block of 64 KiB that says whether the block is
/// there. Reads request missing blocks as a whole, and take the rest from the file, which is
/// usually in the page cache. [`Remote::download`](crate::Remote::download) requests all
/// missing blocks, so that you can map the file.
///
/// - **Versions**: an object is identified by its URL and entity tag. Opening it takes one
///   request, which transfers no data if the tag is unchanged. A new version replaces the
///   cached version. Objects without a strong tag are not cached.
/// - **Sharing**: any number of processes and threads of one user can share a directory. It
///   should be on a disk of this machine, and not on a network file system. If a process
///   can't lock it for a second, because a different program holds the lock, it reads
///   without the cache, and doesn't wait again until the lock is free.
/// - **Other users**: on Unix, new directories and files are for their owner only, whatever
///   the umask, so each user needs a directory. Links in place of files are not followed,
///   and only regular files are opened.
/// - **Size**: if the files would take more than `max_bytes`, the objects you have not
///   opened for the longest time are removed, unless a process has them open or mapped.
///   If this does not make enough space, you read without keeping the bytes. More than 8
///   processes that write at once can exceed the limit by a little.
/// - **Crashes**: a block is marked as complete after it was written, so you can kill a
///   process at any time. After a restart of the machine, only blocks known to be on the
///   disk count. These are all blocks of objects you closed or downloaded.
/// - **Failures**: damaged or foreign files are replaced or ignored. If the disk is full or
///   read-only, you read without the cache. Only this crate may change the files, because
///   it trusts their bytes.
///
/// # Examples
///
/// ```no_run
/// use npymap_remote::{Cache, RemoteOptions};
/// use npymap::{ArrayFile, OpenOptions, RowSource as _, Source};
///
/// let cache = Cache::open("/var/cache/arrays", 100 << 30)?;
/// let object = RemoteOptions::new().cache(&cache).open("s3://bucket/tokens.npy")?;
/// let tokens = ArrayFile::new(object.source(), OpenOptions::new())?;
/// let mut batch = vec![0_u16; 3 * 1024];
/// tokens.take(&[7_000_000, 3, 12_000], &mut batch)?; // requests three blocks or more
/// tokens.take(&[12_000, 3, 7_000_000], &mut batch)?; // requests nothing
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone)]
pub struct Cache(Arc<Directory>);

struct Directory {
    path: PathBuf,
    max_bytes: u64,
    budget: Mutex<Budget>,
    /// Whether someone else held the lock for a second, so that waiting again is no use.
    is_held: AtomicBool,
}

/// The bytes that may be written before the space is measured again.
#[derive(Default)]
struct Budget {
    bytes: u64,
    /// How many writes are skipped before that, because the space was used up.
    skipped: u32,
}

/// This many writes later, the cache looks for space again.
const SKIPPED: u32 = 256;

/// One part in this many of the free space is used before it is measured again, so
/// that this many processes together can't exceed the limit.
const SHARES: u64 = 8;

impl Cache {
    /// Opens or creates a directory that takes at most `max_bytes` on the disk. It should
    /// have no other files.
    ///
    /// You can open a read-only directory. This serves what is in it, and adds nothing.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](npymap::ErrorKind::InvalidInput) if it is a file,
    /// [`Io`](npymap::ErrorKind::Io) if the directory cannot be created or used, and
    /// [`Unsupported`](npymap::ErrorKind::Unsupported) on platforms and file systems
    /// without locks.
    pub fn open(directory: impl AsRef<Path>, max_bytes: u64) -> Result<Cache> {
        let path = directory.as_ref();
        open(path, max_bytes).map_err(|error| error.with_path(path))
    }

    fn directory(&self) -> &Path {
        &self.0.path
    }

    /// Waits for the lock of the directory, under which files appear and vanish. `None`
    /// if the directory is read-only.
    ///
    /// # Errors
    ///
    /// Also if a different process held the lock for a second. Then the cache is not used,
    /// and this does not wait again until the lock was free once.
    fn lock(&self) -> Result<Option<Lock>> {
        let path = lock_path(&self.0.path);
        // A program that removes old files may have removed it.
        let _ = files::create(&path);
        let locked = files::lock(&path, !self.0.is_held.load(Ordering::Relaxed));
        self.0.is_held.store(matches!(locked, Ok(None)), Ordering::Relaxed);
        match locked {
            Err(error) if is_read_only(&error) => Ok(None),
            Err(error) => Err(Error::io("lock", error)),
            Ok(None) => Err(Error::new(ErrorKind::Locked, "another program holds its lock")),
            Ok(lock) => Ok(lock),
        }
    }

    /// Opens what is known of an object, whatever its version.
    pub(super) fn find(&self, place: &str) -> Option<Entry> {
        let _lock = self.lock().ok()?;
        Entry::open(self, &key::file_name(place), place)
    }

    /// Opens a version of an object, and replaces the files of all other versions.
    pub(super) fn entry(&self, key: &Key) -> Option<Entry> {
        let lock = self.lock().ok()?;
        let name = key::file_name(&key.place);
        let known = Entry::open(self, &name, &key.place).filter(|known| known.key() == key);
        if known.is_some() || lock.is_none() {
            return known;
        }
        space::remove(self.directory(), &name);
        Entry::create(self, &name, key)
    }

    /// Lets the next write look for space, if there was none before.
    fn look_for_space(&self) {
        self.0.budget.lock().unwrap_or_else(PoisonError::into_inner).skipped = 0;
    }

    /// Makes room for the next bytes to write. `false` if there is none.
    fn reserve(&self, bytes: u64) -> bool {
        let mut budget = self.0.budget.lock().unwrap_or_else(PoisonError::into_inner);
        if budget.skipped > 0 {
            budget.skipped -= 1;
            return false;
        }
        if budget.bytes < bytes {
            let free = self.make_room(bytes);
            if free < bytes {
                budget.skipped = SKIPPED;
                return false;
            }
            budget.bytes = bytes.max(free / SHARES);
        }
        budget.bytes -= bytes;
        true
    }

    /// Removes objects until there is room, and some more if that is little. Returns the
    /// free space.
    fn make_room(&self, bytes: u64) -> u64 {
        let max = self.0.max_bytes;
        let Ok(Some(_lock)) = self.lock() else { return 0 };
        let target = max.saturating_sub(bytes.max(max / SHARES));
        let taken = space::reduce_to(self.directory(), target);
        taken.map_or(0, |taken| max.saturating_sub(taken))
    }
}

fn open(path: &Path, max_bytes: u64) -> Result<Cache> {
    if path.exists() && !path.is_dir() {
        let text = "is a file: the cache needs a directory, which is created if there is none";
        return Err(Error::new(ErrorKind::InvalidInput, text));
    }
    files::create_directory(path).map_err(|error| Error::io("create the directory", error))?;
    let path = fs::canonicalize(path).map_err(|error| Error::io("open", error))?;
    // It stays; if it can't be created, the directory is only read.
    let _ = files::create(&lock_path(&path));
    match files::lock(&lock_path(&path), false) {
        Err(error) if files::has_no_locks(&error) => {
            let text = "is on a file system without locks: choose a directory on a local disk";
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        _ => {}
    }
    fs::read_dir(&path).map_err(|error| Error::io("open", error))?;
    let (budget, is_held) = (Mutex::default(), AtomicBool::new(false));
    Ok(Cache(Arc::new(Directory { path, max_bytes, budget, is_held })))
}

/// Returns whether an error means that the directory can only be read.
fn is_read_only(error: &io::Error) -> bool {
    use io::ErrorKind as K;
    matches!(error.kind(), K::PermissionDenied | K::ReadOnlyFilesystem | K::NotFound)
}

fn lock_path(directory: &Path) -> PathBuf {
    directory.join("lock")
}

/// The error for an object without a cache.
pub(super) fn not_cached() -> Error {
    let source = io::Error::new(
        io::ErrorKind::Unsupported,
        "it is not cached: set `RemoteOptions::cache` to a directory that can be written and has space, and use a store that sends strong entity tags",
    );
    Error::io("download", source)
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache")
            .field("directory", &self.0.path)
            .field("max_bytes", &self.0.max_bytes)
            .finish_non_exhaustive()
    }
}

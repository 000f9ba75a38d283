//! Objects in object stores and on web servers, read by requests for ranges of bytes.

mod blocks;
mod errors;
mod executor;
mod object;
mod options;
mod requests;

pub use object_store;
pub use options::RemoteOptions;
pub use tokio;

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::Result;
use crate::error::invariant::{IN_BUFFER, Invariant, to_u64, to_usize_saturating};
use crate::source::map::MapMut;
use crate::source::storage::{ReadAt, Storage};
use crate::source::{Access, Source, file, ranges};
use blocks::{Block, Blocks};
use executor::Executor;
use object::Object;
use requests::{Request, Requests};

/// A read of at least this many bytes is not kept.
const LARGE: usize = 256 << 10;

/// An object of Amazon S3 or a compatible store, Google Cloud Storage or Azure, or a
/// file on a web server, for [`Source::remote`](crate::Source::remote).
///
/// Opening it is one request, which obtains the size and the first 64 KiB: the
/// whole header of nearly every array. Later requests obtain only what is read:
///
/// - The rows of a batch, a slice, or a whole array are requested at the same time:
///   ranges at most 64 KiB apart together, long ones in parts of 2 MiB, at most 256
///   requests and 64 MiB at a time ([`RemoteOptions::concurrency`]).
/// - Directories of archives are read by one request for the last 256 KiB.
/// - Other small reads, such as single elements and headers of members, obtain the
///   64 KiB that follow, and more (up to 4 MiB) if reading continues there. The last
///   8 MiB of these are kept in memory.
///
/// **Failed requests are repeated** as the crate `object_store` does: after errors of
/// the server (5xx, 429), lost connections and timeouts, up to 10 times in 3 minutes.
/// Bytes are never mixed from different versions: every request names the entity tag
/// of the first response, or compares the time of the last change and the size if
/// there is none, and an object that was replaced is an error
/// ([`Changed`](crate::ErrorKind::Changed)).
///
/// A clone is the same object with the same memory.
///
/// # Blocking and asynchronous programs
///
/// All functions block. The requests run on two threads that all objects share and
/// that start with the first one, or on the runtime of
/// [`RemoteOptions::runtime`]. Asynchronous programs call these functions on a
/// thread that may block, such as those of
/// [`spawn_blocking`](tokio::task::spawn_blocking): one call for each batch. A call
/// from a task itself blocks the task's thread, but doesn't panic.
///
/// An object must be opened again in a process that was forked.
///
/// # Examples
///
/// ```no_run
/// use npymap::source::remote::Remote;
/// use npymap::{ArrayFile, OpenOptions, Source};
///
/// let object = Remote::open("s3://bucket/tokens.npy")?; // one request
/// let tokens = ArrayFile::new(Source::remote(&object), OpenOptions::new())?; // none
/// let mut batch = vec![0_u16; 3 * 1024];
/// tokens.take(&[7_000_000, 3, 12_000], &mut batch)?; // three at the same time
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone)]
pub struct Remote(Arc<Shared>);

struct Shared {
    object: Arc<Object>,
    executor: Executor,
    blocks: Mutex<Blocks>,
}

impl Remote {
    /// Opens an object by its URL, with the settings of the environment:
    /// see [`RemoteOptions::open`].
    ///
    /// # Errors
    ///
    /// As [`RemoteOptions::open`].
    pub fn open(url: &str) -> Result<Remote> {
        RemoteOptions::new().open(url)
    }

    fn new(object: Object, start: Vec<u8>, executor: Executor) -> Remote {
        let blocks = Mutex::new(Blocks::new(start, object.size()));
        Remote(Arc::new(Shared { object: Arc::new(object), executor, blocks }))
    }

    /// The URL the object was opened by, or its store and path.
    #[must_use]
    pub fn url(&self) -> &str {
        self.0.object.name()
    }

    /// The size in bytes when the object was opened.
    #[must_use]
    pub fn nbytes(&self) -> u64 {
        self.0.object.size()
    }

    /// The entity tag of the version that is read, if the store has one: it
    /// identifies the contents, in caches for example.
    #[must_use]
    pub fn e_tag(&self) -> Option<&str> {
        self.0.object.e_tag()
    }

    fn blocks(&self) -> MutexGuard<'_, Blocks> {
        self.0.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests ranges that are not in memory, and copies them to their places in
    /// `buffer`.
    fn request(&self, wanted: Vec<Request>, buffer: &mut [u8]) -> Result<()> {
        let requests = Requests::new(wanted);
        if requests.parts().is_empty() {
            return Ok(());
        }
        let parts = self.0.executor.start(&self.0.object, requests.parts().to_vec())?;
        for _ in requests.parts() {
            let part = parts.next()?;
            requests.copy(part.number, &part.bytes, buffer);
        }
        Ok(())
    }

    /// Obtains and keeps the block of bytes at an offset. Copies them, and returns how
    /// many: other threads may replace the block at once.
    fn read_block(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let range = self.blocks().plan(offset);
        let parts = self.0.executor.start(&self.0.object, vec![range.clone()])?;
        let block = Block { start: range.start, bytes: parts.next()?.bytes };
        let len = block.copy(offset, buffer);
        self.blocks().add(block);
        Ok(len)
    }
}

impl ReadAt for Remote {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = to_usize_saturating(self.nbytes().saturating_sub(offset));
        let len = rest.min(buffer.len());
        let buffer = buffer.get_mut(..len).invariant(IN_BUFFER);
        if len == 0 {
            return Ok(0);
        }
        let kept = self.blocks().copy(offset, buffer);
        if kept > 0 {
            return Ok(kept);
        }
        if len >= LARGE {
            let range = offset..offset.saturating_add(to_u64(len));
            self.request(vec![Request { range, place: 0 }], buffer)?;
            return Ok(len);
        }
        Ok(self.read_block(offset, buffer)?)
    }

    fn read_ranges_at(&self, ranges: &[Range<u64>], buffer: &mut [u8]) -> io::Result<()> {
        ranges::check_len(ranges, buffer.len())?;
        let (mut wanted, mut place) = (Vec::new(), 0);
        for range in ranges {
            let len = to_usize_saturating(ranges::len(range));
            let own = buffer.get_mut(place..place + len).invariant(IN_BUFFER);
            if range.end > self.nbytes() {
                let found = to_usize_saturating(self.nbytes().saturating_sub(range.start));
                return Err(file::short_file(range.start, len, found.min(len)).into());
            }
            if self.blocks().copy(range.start, own) < len {
                wanted.push(Request { range: range.clone(), place });
            }
            place += len;
        }
        Ok(self.request(wanted, buffer)?)
    }

    /// Asks the store for the current size: one request.
    fn size(&self) -> io::Result<u64> {
        let object = Arc::clone(&self.0.object);
        Ok(self.0.executor.run(async move { object.check().await })?)
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let object = &self.0.object;
        f.debug_struct("Remote")
            .field("url", &object.name())
            .field("nbytes", &object.size())
            .field("e_tag", &object.e_tag())
            .finish_non_exhaustive()
    }
}

impl Source<MapMut> {
    /// Uses an object in a store or on a web server. Arrays are copies, and the
    /// object's URL takes the place of a path in errors.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use npymap::source::remote::Remote;
    /// use npymap::{Npz, Source};
    ///
    /// let object = Remote::open("https://example.com/model.npz")?;
    /// let npz = Npz::open(Source::remote(&object))?;
    /// let bias = npz.get("bias")?; // reads this member
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[must_use]
    pub fn remote(object: &Remote) -> Source<MapMut> {
        let storage = Storage::from_reader(Arc::new(object.clone()), object.nbytes());
        Source::new(storage.with_path(Path::new(object.url())), Access::Copy)
    }
}

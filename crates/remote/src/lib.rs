#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod appender;
mod blocks;
mod cache;
mod client;
mod connection;
mod errors;
mod executor;
mod files;
mod invariant;
mod object;
mod options;
mod ranges;
mod redirect;
mod requests;
mod stores;
mod upload;
mod waiting;
mod writable;
mod writer;

pub use appender::RemoteAppender;
pub use cache::Cache;
pub use object_store;
pub use options::RemoteOptions;
pub use tokio;
pub use waiting::interruptible;
pub use writer::RemoteWriter;

pub mod guide {
    #![doc = include_str!("remote.md")]
    #![doc = include_str!("remote-epochs.md")]
}

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use crate::invariant::{IN_BUFFER, Invariant, to_u64, to_usize_saturating};
use blocks::{Block, Blocks};
use cache::{BLOCK, Entry};
use executor::{Executor, Part};
use npymap::Source;
use npymap::source::{MapMut, ReadAt, ReadFuture};
use npymap::{Error, ErrorKind, Result};
use object::Object;
use requests::{Limits, PART, Request, Requests};

/// A read of at least this many bytes is not kept.
const LARGE: usize = 256 << 10;

/// The most bytes of a request for headers: a thousand small members are one request.
const HEADERS: u64 = 4 << 20;

/// Opens an object by its URL as a [`Source`] for arrays and archives of every format. The
/// settings come from the environment. [`RemoteOptions::open`] lists the URLs.
///
/// # Errors
///
/// Returns [`InvalidInput`](npymap::ErrorKind::InvalidInput) for other URLs,
/// for a URL with a user or a password, and for invalid settings. Returns
/// [`NotFound`](npymap::ErrorKind::NotFound) if the object does not exist,
/// [`Unsupported`](npymap::ErrorKind::Unsupported) if the server ignores
/// ranges, and [`Io`](npymap::ErrorKind::Io) if a request fails.
///
/// # Examples
///
/// ```no_run
/// let tokens = npymap::MappedArray::from_source(npymap_remote::open("s3://bucket/a.npy")?)?;
/// # Ok::<(), npymap::Error>(())
/// ```
pub fn open(url: &str) -> Result<Source<MapMut>> {
    Ok(Remote::open(url)?.source())
}

/// Reads an object in Amazon S3 or a compatible store, Google Cloud Storage or Azure, or a
/// file on a web server.
///
/// [`source`](Remote::source) passes it to arrays and archives. Opening it takes one
/// request, which returns the size and the first 64 KiB. This is the whole header of nearly
/// every array. Later requests return only what you read:
///
/// - The rows of a batch, a slice or a whole array are requested concurrently: ranges at
///   most 64 KiB apart together, long ranges in parts of 2 MiB, at most 256 requests and
///   64 MiB at once ([`RemoteOptions::concurrency`]).
/// - An archive's directory is read by one request for the last 256 KiB.
///   [`Npz::prefetch_headers`](npymap::Npz::prefetch_headers) requests all member headers
///   concurrently, neighboring headers together in parts of 4 MiB.
/// - Other small reads, such as single elements and member headers, return the next
///   64 KiB, and up to 4 MiB if you continue to read there. The last 8 MiB of these stay
///   in memory.
///
/// **Failed requests are repeated**, like in the crate `object_store`, after server errors
/// (5xx, 429), lost connections and 30 seconds without a byte
/// ([`RemoteOptions::read_timeout`]). They are repeated up to 10 times in 3 minutes, and at
/// most 5 minutes in all ([`RemoteOptions::request_timeout`]). However, a server that has
/// never answered is only asked three times, because its name may be wrong. If a connection
/// is lost within the bytes of an object without an entity tag, its request is also
/// repeated.
///
/// **Bytes from different versions are never mixed**: every request names the entity tag of
/// the first response. Without a tag, it compares the size and the time of the last change,
/// in seconds. If the object was replaced, you will get a
/// [`Changed`](npymap::ErrorKind::Changed) error.
///
/// [`RemoteOptions::cache`] also keeps what you read on the local disk. A clone is the same
/// object with the same memory.
///
/// # Blocking and asynchronous programs
///
/// Functions block, unless their names end in `_async`. You can await
/// [`RemoteOptions::open_async`] and `ArrayFile`'s functions, such as
/// [`select_rows_async`](npymap::ArrayFile::select_rows_async), in any runtime. The requests
/// run on two threads that all objects share, which start with the first object, or on
/// your own [`RemoteOptions::runtime`]. A blocking function blocks the thread of the task
/// that calls it, but doesn't panic. The [`guide`] shows how to call it on another thread.
///
/// After a fork, you should open the object again in the new process.
///
/// # Examples
///
/// ```no_run
/// use npymap_remote::Remote;
/// use npymap::{ArrayFile, OpenOptions, RowSource as _, Source};
///
/// let object = Remote::open("s3://bucket/tokens.npy")?; // one request
/// let tokens = ArrayFile::new(object.source(), OpenOptions::new())?; // none
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
    cached: Option<Entry>,
}

impl Remote {
    /// Opens an object by its URL, with settings from the environment.
    /// [`RemoteOptions::open`] lists the URLs.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](npymap::ErrorKind::InvalidInput) for other
    /// URLs, for a URL with a user or a password, and for invalid settings.
    /// Returns [`NotFound`](npymap::ErrorKind::NotFound) if the object does not
    /// exist, [`Unsupported`](npymap::ErrorKind::Unsupported) if the server
    /// ignores ranges, and [`Io`](npymap::ErrorKind::Io) if a request fails.
    pub fn open(url: &str) -> Result<Remote> {
        RemoteOptions::new().open(url)
    }

    /// Returns the object as a source for arrays and archives of every format. Arrays are
    /// copies, and errors have the object's URL instead of a path.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use npymap::Npz;
    /// use npymap_remote::Remote;
    ///
    /// let object = Remote::open("https://example.com/model.npz")?;
    /// let npz = Npz::open(object.source())?;
    /// let bias = npz.get("bias")?; // reads this member
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[must_use]
    pub fn source(&self) -> Source<MapMut> {
        Source::from_read_at(self.clone()).ok().invariant("the size of an object is known")
    }

    fn new(object: Object, start: Vec<u8>, cached: Option<Entry>, executor: Executor) -> Remote {
        let blocks = Mutex::new(Blocks::new(start, object.size()));
        Remote(Arc::new(Shared { object: Arc::new(object), executor, blocks, cached }))
    }

    /// Returns the URL that you opened, without its query, or the object's store and path.
    #[must_use]
    pub fn url(&self) -> &str {
        self.0.object.name()
    }

    /// Returns the size in bytes when the object was opened.
    #[must_use]
    pub fn nbytes(&self) -> u64 {
        self.0.object.size()
    }

    /// Returns the entity tag of this version, if the store has one. For example, you can
    /// identify the contents by it in your own cache.
    #[must_use]
    pub fn e_tag(&self) -> Option<&str> {
        self.0.object.e_tag()
    }

    /// Returns the time of the last change, for stores without entity tags. Together with
    /// the size, it identifies this version. Returns `None` if there is an entity tag, or no
    /// time.
    #[must_use]
    pub fn last_modified(&self) -> Option<SystemTime> {
        // Where a server sends no time, `object_store` has the start of 1970.
        let changed = self.0.object.changed().filter(|&changed| changed != 0)?;
        let distance = Duration::from_micros(changed.unsigned_abs());
        if changed > 0 {
            SystemTime::UNIX_EPOCH.checked_add(distance)
        } else {
            SystemTime::UNIX_EPOCH.checked_sub(distance)
        }
    }

    /// Downloads the object to the [cache](RemoteOptions::cache), and returns the local
    /// file, opened for reading. This requests only what the cache doesn't have, and waits
    /// until it is on the disk. The file stays in the cache while it is open or mapped.
    ///
    /// You can map it with [`Source::map_file`](npymap::Source::map_file). Its promise holds
    /// if only this crate changes files in the cache.
    ///
    /// # Errors
    ///
    /// Returns [`Io`](npymap::ErrorKind::Io) without a cache, for an object
    /// without a strong entity tag, if the cache or the disk has no room, or if
    /// a request fails.
    ///
    /// # Examples
    ///
    /// See [`RemoteOptions::cache`].
    pub fn download(&self) -> Result<File> {
        let downloaded = self.0.cached.as_ref().ok_or_else(cache::not_cached).and_then(|entry| {
            let missing = entry.parts(&(0..self.nbytes())).into_iter().filter(|(_, known)| !known);
            let missing = missing.map(|(range, _)| Request { range, place: 0 }).collect();
            let requests = Requests::new(missing, self.limits());
            entry.look_for_space();
            self.request_parts(&requests, |part, start| entry.write(&part.bytes, start))?;
            entry.sync().map_err(|error| Error::io("sync", error))?;
            entry.reopen()
        });
        downloaded.map_err(|error| error.with_path(Path::new(self.url())))
    }

    fn blocks(&self) -> MutexGuard<'_, Blocks> {
        self.0.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests ranges that are not in memory, and copies them to their places in
    /// `buffer`.
    fn request(&self, wanted: Vec<Request>, buffer: &mut [u8]) -> Result<()> {
        self.request_within(self.limits(), wanted, buffer)
    }

    /// Requests ranges like `request`, within limits.
    fn request_within(
        &self,
        limits: Limits,
        wanted: Vec<Request>,
        buffer: &mut [u8],
    ) -> Result<()> {
        let requests = self.plan(limits, wanted, buffer);
        self.request_parts(&requests, |part, start| {
            requests.copy(part.number, &part.bytes, buffer);
            self.keep(&part.bytes, start);
            Ok(())
        })
    }

    /// Requests ranges like `request`, but asynchronously.
    async fn request_async(&self, wanted: Vec<Request>, buffer: &mut [u8]) -> Result<()> {
        let requests = self.plan(self.limits(), wanted, buffer);
        if requests.parts().is_empty() {
            return Ok(());
        }
        let mut parts = self.0.executor.start_async(&self.0.object, requests.parts().to_vec())?;
        for _ in requests.parts() {
            let part = parts.next().await.inspect_err(|error| self.forget_replaced(error))?;
            requests.copy(part.number, &part.bytes, buffer);
            self.keep(&part.bytes, requests.start(part.number));
        }
        Ok(())
    }

    /// Copies ranges that the cache has to their places in `buffer`, and plans requests
    /// for the remaining ranges.
    fn plan(&self, limits: Limits, wanted: Vec<Request>, buffer: &mut [u8]) -> Requests {
        let wanted = match &self.0.cached {
            Some(entry) => read_cached(entry, wanted, buffer),
            None => wanted,
        };
        Requests::new(wanted, limits)
    }

    /// Requests parts, and passes each on with its offset as it arrives.
    fn request_parts(
        &self,
        requests: &Requests,
        mut arrived: impl FnMut(&Part, u64) -> Result<()>,
    ) -> Result<()> {
        if requests.parts().is_empty() {
            return Ok(());
        }
        let parts = self.0.executor.start(&self.0.object, requests.parts().to_vec())?;
        for _ in requests.parts() {
            let part = parts.next().inspect_err(|error| self.forget_replaced(error))?;
            arrived(&part, requests.start(part.number))?;
        }
        Ok(())
    }

    /// With a cache, whole blocks are requested.
    fn limits(&self) -> Limits {
        let block = if self.0.cached.is_some() { BLOCK } else { 1 };
        Limits { block, size: self.nbytes(), part: PART }
    }

    /// Writes bytes to the cache. If that fails, they are requested again next time.
    fn keep(&self, bytes: &[u8], offset: u64) {
        let _ = self.0.cached.as_ref().map(|entry| entry.write(bytes, offset));
    }

    /// Removes the object from the cache if the server has a different version.
    fn forget_replaced(&self, error: &Error) {
        if let Some(entry) = &self.0.cached
            && error.kind() == ErrorKind::Changed
        {
            entry.forget();
        }
    }

    /// Copies the ranges that are in memory to their places in `buffer`, and returns the
    /// rest.
    fn copy_kept(&self, ranges: &[Range<u64>], buffer: &mut [u8]) -> io::Result<Vec<Request>> {
        ranges::check_len(ranges, buffer.len())?;
        self.0.executor.check_process()?;
        let (mut wanted, mut place) = (Vec::new(), 0);
        for range in ranges {
            let len = to_usize_saturating(ranges::len(range));
            let own = buffer.get_mut(place..place + len).invariant(IN_BUFFER);
            if range.end > self.nbytes() {
                return Err(ranges::short_object(range.end, self.nbytes()).into());
            }
            if self.blocks().copy(range.start, own) < len {
                wanted.push(Request { range: range.clone(), place });
            }
            place += len;
        }
        Ok(wanted)
    }

    /// Obtains and keeps the block of bytes at an offset. Copies them, and returns how
    /// many: other threads may replace the block at once.
    fn read_block(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let range = self.limits().widen(&self.blocks().plan(offset));
        let parts = self.0.executor.start(&self.0.object, vec![range.clone()])?;
        let part = parts.next().inspect_err(|error| self.forget_replaced(error))?;
        let block = Block { start: range.start, bytes: part.bytes };
        self.keep(&block.bytes, block.start);
        let len = block.copy(offset, buffer);
        self.blocks().add(block);
        Ok(len)
    }

    /// Copies bytes from the cache, and returns how many.
    fn copy_cached(&self, buffer: &mut [u8], offset: u64) -> usize {
        let Some(entry) = &self.0.cached else { return 0 };
        let range = offset..offset.saturating_add(to_u64(buffer.len()));
        let first = entry.parts(&range).into_iter().next();
        let Some((range, true)) = first else { return 0 };
        let len = to_usize_saturating(ranges::len(&range));
        let known = buffer.get_mut(..len).invariant(IN_BUFFER);
        if entry.read(known, offset) { len } else { 0 }
    }
}

/// Copies what a cache has to its places in `buffer`, and returns the rest.
fn read_cached(entry: &Entry, wanted: Vec<Request>, buffer: &mut [u8]) -> Vec<Request> {
    let mut missing = Vec::new();
    for Request { range, place } in wanted {
        for (part, is_known) in entry.parts(&range) {
            let place = place + to_usize_saturating(part.start - range.start);
            let len = to_usize_saturating(ranges::len(&part));
            let own = buffer.get_mut(place..place + len).invariant(IN_BUFFER);
            if !is_known || !entry.read(own, part.start) {
                missing.push(Request { range: part, place });
            }
        }
    }
    missing
}

impl ReadAt for Remote {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = to_usize_saturating(self.nbytes().saturating_sub(offset));
        let len = rest.min(buffer.len());
        let buffer = buffer.get_mut(..len).invariant(IN_BUFFER);
        if len == 0 {
            return Ok(0);
        }
        // Another thread of the process that was forked may have held the lock of the blocks.
        self.0.executor.check_process()?;
        let kept = self.blocks().copy(offset, buffer);
        if kept > 0 {
            return Ok(kept);
        }
        let cached = self.copy_cached(buffer, offset);
        if cached > 0 {
            return Ok(cached);
        }
        if len >= LARGE {
            let range = offset..offset.saturating_add(to_u64(len));
            self.request(vec![Request { range, place: 0 }], buffer)?;
            return Ok(len);
        }
        Ok(self.read_block(offset, buffer)?)
    }

    fn read_ranges_at(&self, ranges: &[Range<u64>], buffer: &mut [u8]) -> io::Result<()> {
        let wanted = self.copy_kept(ranges, buffer)?;
        Ok(self.request(wanted, buffer)?)
    }

    fn read_ranges_async<'a>(
        &'a self,
        ranges: &'a [Range<u64>],
        buffer: &'a mut [u8],
    ) -> ReadFuture<'a> {
        Box::pin(async move {
            let wanted = self.copy_kept(ranges, buffer)?;
            Ok(self.request_async(wanted, buffer).await?)
        })
    }

    /// Requests the ranges concurrently, and keeps at most 16 MiB of them.
    fn prefetch(&self, ranges: &[Range<u64>]) -> io::Result<()> {
        let ranges = self.blocks().plan_ahead(ranges);
        let (mut wanted, mut place) = (Vec::new(), 0);
        for range in &ranges {
            wanted.push(Request { range: range.clone(), place });
            place += to_usize_saturating(ranges::len(range));
        }
        let mut bytes = vec![0; place];
        self.request_within(Limits { part: HEADERS, ..self.limits() }, wanted, &mut bytes)?;
        let mut rest = &bytes[..];
        let blocks = ranges.iter().map(|range| {
            let (own, others) = rest.split_at(to_usize_saturating(ranges::len(range)));
            rest = others;
            Block { start: range.start, bytes: own.to_vec() }
        });
        let blocks = blocks.collect();
        self.blocks().set_ahead(blocks);
        Ok(())
    }

    /// The size when the object was opened.
    fn size(&self) -> io::Result<u64> {
        Ok(self.nbytes())
    }

    /// The URL, without its query.
    fn name(&self) -> Option<&str> {
        Some(self.url())
    }

    /// Asks the store whether the object is still this version: one request.
    fn current_size(&self) -> io::Result<u64> {
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

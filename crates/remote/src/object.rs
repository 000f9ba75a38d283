//! One version of an object. Every byte you read belongs to it.

use std::future::poll_fn;
use std::io;
use std::mem;
use std::ops::{Deref, Range};
use std::process;
use std::sync::Arc;
use std::time::Duration;

use object_store::path::Path;
use object_store::{Error as StoreError, GetOptions, GetRange, GetResult, ObjectMeta, ObjectStore};
use tokio::sync::Semaphore;

use super::blocks::{FIRST, LONGEST};
use super::errors;
use super::waiting::within;
use crate::invariant::to_usize_saturating;
use crate::ranges;
use npymap::{Error, Result};

/// The bytes that one of [`PERMITS`] is for.
const PERMIT: u64 = 256 << 10;

/// The limit on the bytes in flight, in units of [`PERMIT`], and on requests.
pub(super) const PERMITS: u32 = 256;

/// A known version of an object.
pub(super) struct Object {
    place: ObjectPlace,
    version: Version,
    permits: Arc<Semaphore>,
    /// How many permits each request takes at least.
    permits_each: u32,
}

/// Where an object is.
pub(super) struct ObjectPlace {
    pub(super) store: Connections<dyn ObjectStore>,
    pub(super) path: Path,
    /// Its name in errors.
    pub(super) name: String,
    /// Whether it allows only requests with the method GET.
    pub(super) is_presigned: bool,
    /// How long a request takes at most.
    pub(super) limit: Option<Duration>,
    /// How many bytes of it are downloaded at most from a server that sends whole files only.
    pub(super) whole: u64,
}

/// A store and its connections.
pub(super) struct Connections<T: ?Sized> {
    store: Arc<T>,
    process: u32,
}

impl<T: ?Sized> Connections<T> {
    pub(super) fn new(store: Arc<T>) -> Connections<T> {
        Connections { store, process: process::id() }
    }
}

impl<T: ?Sized> Deref for Connections<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.store
    }
}

impl<T: ?Sized> Drop for Connections<T> {
    /// A forked process closes none: it could wait forever for a lock that a thread of
    /// the other process held when it was forked.
    fn drop(&mut self) {
        if self.process != process::id() {
            mem::forget(Arc::clone(&self.store));
        }
    }
}

/// The facts that identify the contents of an object.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Version {
    pub(super) size: u64,
    pub(super) e_tag: Option<String>,
    /// The version number in a store that keeps old versions, without a strong entity tag.
    /// If you upload equal bytes again, they get a new number.
    pub(super) number: Option<String>,
    /// The time of the last change, for a store without entity tags.
    pub(super) changed: Option<i64>,
}

impl Version {
    fn new(meta: ObjectMeta) -> Version {
        let changed = meta.e_tag.is_none().then(|| meta.last_modified.timestamp_micros());
        let is_strong = meta.e_tag.as_ref().is_some_and(|tag| !tag.starts_with("W/"));
        let number = if is_strong { None } else { meta.version };
        Version { size: meta.size, e_tag: meta.e_tag, number, changed }
    }
}

impl ObjectPlace {
    /// Requests the start of the object. The response contains its version. If that is
    /// the known version, which needs no start, this returns `None` instead.
    pub(super) async fn open(&self, known: Option<&Version>) -> Result<(Version, Option<Vec<u8>>)> {
        within(self.limit, self.request_start(known)).await
    }

    async fn request_start(&self, known: Option<&Version>) -> Result<(Version, Option<Vec<u8>>)> {
        let options = GetOptions {
            range: Some(GetRange::Bounded(0..FIRST)),
            if_none_match: known.and_then(|version| version.e_tag.clone()),
            ..GetOptions::default()
        };
        let mut attempts = Attempts::default();
        loop {
            let found = match self.store.get_opts(&self.path, options.clone()).await {
                Ok(found) => found,
                Err(error) => return self.open_without_body(&error, known).await,
            };
            let (range, meta) = (found.range.clone(), found.meta.clone());
            let body = receive(found, &range).await;
            if body.is_ok() || !attempts.another(&meta).await {
                return Ok((Version::new(meta), Some(whole(body, &range)?)));
            }
        }
    }

    /// Opens an object without its start: it is the known version, or empty.
    async fn open_without_body(
        &self,
        error: &StoreError,
        known: Option<&Version>,
    ) -> Result<(Version, Option<Vec<u8>>)> {
        match (error, known) {
            // Some stores answer with the latter.
            (StoreError::NotModified { .. } | StoreError::Precondition { .. }, Some(known)) => {
                return Ok((known.clone(), None));
            }
            _ if self.whole > 0 && errors::is_whole(error) => return self.request_whole().await,
            // An empty object has no range, and some servers send it whole.
            _ if errors::is_range(error) || errors::is_whole(error) => {
                let found = self.store.get_opts(&self.path, GetOptions::default()).await;
                if let Some(found) = found.ok().filter(|found| found.meta.size == 0) {
                    return Ok((Version::new(found.meta), Some(Vec::new())));
                }
            }
            // Without a condition, the server makes no sense, and no object was replaced.
            (StoreError::NotModified { .. } | StoreError::Precondition { .. }, None) => {
                let error = io::Error::other(errors::text(error));
                return Err(Error::io("read the object", error));
            }
            _ => {}
        }
        Err(errors::from_store(error))
    }

    /// Requests all bytes of the object.
    async fn request_whole(&self) -> Result<(Version, Option<Vec<u8>>)> {
        let mut attempts = Attempts::default();
        loop {
            let found = self.store.get_opts(&self.path, GetOptions::default()).await;
            let found = found.map_err(|error| errors::from_store(&error))?;
            if found.meta.size > self.whole {
                return Err(errors::no_ranges());
            }
            let (range, meta) = (found.range.clone(), found.meta.clone());
            let body = receive(found, &range).await;
            if body.is_ok() || !attempts.another(&meta).await {
                return Ok((Version::new(meta), Some(whole(body, &range)?)));
            }
        }
    }

    /// Requests the facts about a version of the object, by the method HEAD if the server
    /// allows it and says that there is this version. Some servers allow only GET, or answer
    /// HEAD with other facts.
    async fn meta(
        &self,
        if_match: Option<String>,
        version: &Version,
    ) -> object_store::Result<ObjectMeta> {
        if !self.is_presigned {
            let options =
                GetOptions { head: true, if_match: if_match.clone(), ..GetOptions::default() };
            match self.store.get_opts(&self.path, options).await.map(|found| found.meta) {
                Ok(meta) if Version::new(meta.clone()) == *version => return Ok(meta),
                // `object_store` makes the status 405 the former.
                Ok(_)
                | Err(
                    StoreError::NotFound { .. }
                    | StoreError::PermissionDenied { .. }
                    | StoreError::NotImplemented { .. },
                ) => {}
                Err(error) if errors::is_without_length(&error) => {}
                Err(error) => return Err(error),
            }
        }
        let range = Some(GetRange::Bounded(0..1));
        let options = GetOptions { range, if_match, ..GetOptions::default() };
        self.store.get_opts(&self.path, options).await.map(|found| found.meta)
    }
}

impl Object {
    /// A version of an object, with at most `concurrency` requests at once.
    pub(super) fn new(place: ObjectPlace, version: Version, concurrency: u32) -> Object {
        let permits = Arc::new(Semaphore::new(usize::try_from(PERMITS).unwrap_or(1)));
        let permits_each = PERMITS.div_ceil(concurrency.clamp(1, PERMITS));
        Object { place, version, permits, permits_each }
    }

    pub(super) fn size(&self) -> u64 {
        self.version.size
    }

    pub(super) fn e_tag(&self) -> Option<&str> {
        self.version.e_tag.as_deref()
    }

    /// The time of the last change in microseconds, without an entity tag.
    pub(super) fn changed(&self) -> Option<i64> {
        self.version.changed
    }

    pub(super) fn name(&self) -> &str {
        &self.place.name
    }

    /// The permits, and how many a request for a range takes.
    pub(super) fn permits(&self, range: &Range<u64>) -> (Arc<Semaphore>, u32) {
        let count = u32::try_from(ranges::len(range).div_ceil(PERMIT)).unwrap_or(PERMITS);
        (Arc::clone(&self.permits), count.clamp(self.permits_each, PERMITS))
    }

    /// Requests a range inside the object. All its bytes belong to this version.
    pub(super) async fn read(&self, range: Range<u64>) -> Result<Vec<u8>> {
        within(self.place.limit, self.request(range)).await
    }

    async fn request(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let options = GetOptions {
            range: Some(GetRange::Bounded(range.clone())),
            if_match: self.condition(),
            ..GetOptions::default()
        };
        let mut attempts = Attempts::default();
        loop {
            let found = self.place.store.get_opts(&self.place.path, options.clone()).await;
            let found = found.map_err(|error| inside_error(&error))?;
            let meta = found.meta.clone();
            self.check_version(meta.clone())?;
            let body = receive(found, &range).await;
            if body.is_ok() || !attempts.another(&meta).await {
                return whole(body, &range);
            }
        }
    }

    /// Checks that the object is still this version, and returns its size.
    pub(super) async fn check(&self) -> Result<u64> {
        within(self.place.limit, self.request_facts()).await
    }

    async fn request_facts(&self) -> Result<u64> {
        match self.place.meta(self.condition(), &self.version).await {
            Ok(meta) => self.check_version(meta)?,
            Err(error) if errors::is_range(&error) && self.version.size == 0 => {}
            Err(error) => return Err(inside_error(&error)),
        }
        Ok(self.version.size)
    }

    /// The condition of requests. Weak tags never match as a condition.
    fn condition(&self) -> Option<String> {
        self.version.e_tag.clone().filter(|tag| !tag.starts_with("W/"))
    }

    fn check_version(&self, meta: ObjectMeta) -> Result<()> {
        if Version::new(meta) == self.version {
            return Ok(());
        }
        Err(errors::replaced())
    }
}

/// Converts an error of a request for a range inside a version.
fn inside_error(error: &StoreError) -> Error {
    // The object is shorter now.
    if errors::is_range(error) {
        return errors::replaced();
    }
    errors::from_store(error)
}

/// The attempts to receive a body of an object without an entity tag. `object_store` does
/// not continue such a body if it breaks off, because the rest could belong to a new
/// version, so all of it is requested again, with the facts about its version.
#[derive(Default)]
struct Attempts {
    failed: u32,
}

impl Attempts {
    /// The most attempts.
    const MOST: u32 = 4;

    /// Returns whether there is another attempt, after a pause.
    async fn another(&mut self, meta: &ObjectMeta) -> bool {
        self.failed += 1;
        if meta.e_tag.is_some() || self.failed == Attempts::MOST {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(100 << (2 * (self.failed - 1)))).await;
        true
    }
}

/// Receives a body, at most one part of it beyond the range.
async fn receive(found: GetResult, range: &Range<u64>) -> object_store::Result<Vec<u8>> {
    let expected = to_usize_saturating(ranges::len(range));
    // A server can claim any length.
    let mut bytes = Vec::with_capacity(expected.min(to_usize_saturating(LONGEST)));
    let mut body = found.into_stream();
    while let Some(part) = poll_fn(|context| body.as_mut().poll_next(context)).await {
        bytes.extend_from_slice(&part?);
        if bytes.len() > expected {
            break;
        }
    }
    Ok(bytes)
}

/// Checks that a body has exactly the bytes of its range.
fn whole(body: object_store::Result<Vec<u8>>, range: &Range<u64>) -> Result<Vec<u8>> {
    let (bytes, expected) = (
        body.map_err(|error| errors::from_store(&error))?,
        to_usize_saturating(ranges::len(range)),
    );
    if bytes.len() == expected {
        return Ok(bytes);
    }
    let sent = if bytes.len() < expected { bytes.len().to_string() } else { "more".to_owned() };
    let text = format!("the store sent {sent} bytes for a range of {expected}");
    Err(Error::io("read the object", io::Error::new(io::ErrorKind::InvalidData, text)))
}

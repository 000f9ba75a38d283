//! Options for opening and writing objects: URLs, credentials and settings of stores.

use std::collections::BTreeMap;
use std::fmt;
use std::path;
use std::sync::Arc;
use std::time::Duration;

use object_store::ObjectStore;
use object_store::multipart::MultipartStore;
use object_store::path::Path;
use rustls::crypto::{CryptoProvider, ring};
use tokio::runtime::Handle;

use super::cache::{Cache, Entry, Key};
use super::connection::Headers;
use super::executor::Executor;
use super::object::{Connections, Object, ObjectPlace, PERMITS, Version};
use super::stores::Timeouts;
use super::writable::{self, Writable};
use super::writer::{self, RemoteWriter, WriterOptions};
use super::{Remote, errors, stores};
use npymap::{Error, ErrorKind, Result};

/// Opens [`Remote`] objects, and writes new objects, with settings that you choose.
///
/// # Examples
///
/// ```no_run
/// use npymap_remote::RemoteOptions;
///
/// let object = RemoteOptions::new()
///     .option("aws_region", "eu-central-1")
///     .option("aws_skip_signature", "true") // no credentials
///     .open("s3://bucket/tokens.npy")?;
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct RemoteOptions {
    settings: Vec<(String, String)>,
    headers: Headers,
    whole: u64,
    concurrency: u32,
    runtime: Option<Handle>,
    name: Option<String>,
    cache: Option<Cache>,
    offline: bool,
    writer: WriterOptions,
    read_timeout: Option<Duration>,
}

impl Default for RemoteOptions {
    fn default() -> RemoteOptions {
        if CryptoProvider::get_default().is_none() {
            // Fails if another thread was faster.
            ring::default_provider().install_default().ok();
        }
        RemoteOptions {
            settings: Vec::new(),
            headers: Headers::default(),
            whole: 0,
            concurrency: PERMITS,
            runtime: None,
            name: None,
            cache: None,
            offline: false,
            writer: WriterOptions { overwrites: false, part_bytes: writer::PART, limit: None },
            read_timeout: None,
        }
    }
}

impl RemoteOptions {
    /// Makes options with the settings of the environment, at most 256 concurrent
    /// requests, and the runtime that all objects share.
    ///
    /// If your program has not installed a default crypto provider for rustls, this
    /// installs ring, because every store needs one.
    pub fn new() -> RemoteOptions {
        RemoteOptions::default()
    }

    /// Sets an option of the store, which takes precedence over the environment: a
    /// configuration key of `object_store`, such as `aws_endpoint`, `google_bucket`,
    /// `azure_storage_account_name` or `proxy_url`. Keys that the store
    /// doesn't have are ignored.
    pub fn option(mut self, key: impl Into<String>, value: impl Into<String>) -> RemoteOptions {
        self.settings.push((key.into(), value.into()));
        self
    }

    /// Adds a header to each request, such as `Authorization` for a private file on a web
    /// server. It replaces a header of the same name that the store would send.
    ///
    /// Only the URL's server will get it, so opening fails if that redirects to a
    /// different server. The object may depend on the header. Therefore it is only
    /// [cached](RemoteOptions::cache) if you give it a [`name`](RemoteOptions::name).
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use npymap_remote::RemoteOptions;
    ///
    /// let token = std::env::var("TOKEN")?;
    /// let object = RemoteOptions::new()
    ///     .header("Authorization", format!("Bearer {token}"))
    ///     .open("https://example.com/private.npy")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> RemoteOptions {
        self.headers.push(name.into(), value.into());
        self
    }

    /// Downloads objects of at most this many bytes into memory when they are opened, if the
    /// server sends whole files only, as `python -m http.server` does. By default, opening
    /// them fails. You should use this only if you read all of an object anyway.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use npymap::MappedArray;
    /// use npymap_remote::RemoteOptions;
    ///
    /// let object = RemoteOptions::new().whole(1 << 30).open("http://localhost:8000/a.npy")?;
    /// let array = MappedArray::from_source(object.source())?;
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn whole(self, max_bytes: u64) -> RemoteOptions {
        RemoteOptions { whole: max_bytes, ..self }
    }

    /// Sets how long a request may take, including its repetitions after errors. The
    /// default is 5 minutes, or the environment variable `NPYMAP_REQUEST_TIMEOUT`, such as
    /// `90s` or `10min`. Then it fails with [`TimedOut`](std::io::ErrorKind::TimedOut).
    ///
    /// This also limits each part of an object that you write, so a slow connection will
    /// need more time for [large](RemoteOptions::part_bytes) parts. Stores passed to
    /// [`open_object`](RemoteOptions::open_object) have their own limits, and this limit
    /// only if you set it.
    pub fn request_timeout(self, limit: Duration) -> RemoteOptions {
        let writer = WriterOptions { limit: Some(limit), ..self.writer };
        RemoteOptions { writer, ..self }
    }

    /// Sets how long a read may wait for the next bytes of an answer before it is repeated.
    /// The default is 30 seconds, or the environment variable `NPYMAP_READ_TIMEOUT`.
    /// A server that has never answered is asked three times. This has no effect when you
    /// write objects, and for stores passed to [`open_object`](RemoteOptions::open_object).
    pub fn read_timeout(self, limit: Duration) -> RemoteOptions {
        RemoteOptions { read_timeout: Some(limit), ..self }
    }

    /// Limits the number of concurrent requests for the object, from 1 to 256, which is
    /// the default.
    pub fn concurrency(self, requests: u32) -> RemoteOptions {
        RemoteOptions { concurrency: requests, ..self }
    }

    /// Runs the requests on your runtime, which must have I/O and time enabled, instead of
    /// this crate's threads. Blocking functions then need another thread that drives the
    /// runtime, so you should not call them on its only thread. Asynchronous functions work
    /// in any runtime.
    pub fn runtime(self, runtime: Handle) -> RemoteOptions {
        RemoteOptions { runtime: Some(runtime), ..self }
    }

    /// Keeps what you read in a directory on the local disk, and reads it from there the
    /// next time. See [`Cache`].
    ///
    /// This makes all requests whole blocks of 64 KiB. Presigned URLs of the same object
    /// share their blocks. However, URLs with other queries are not cached unless you give
    /// the object a [`name`](RemoteOptions::name).
    ///
    /// # Examples
    ///
    /// This maps a local copy of an object, which is transferred only once:
    ///
    /// ```no_run
    /// use npymap_remote::{Cache, RemoteOptions};
    /// use npymap::{MappedArray, Source};
    ///
    /// let cache = Cache::open("/var/cache/arrays", 100 << 30)?;
    /// let object = RemoteOptions::new().cache(&cache).open("s3://bucket/tokens.npy")?;
    /// // SAFETY: only this crate changes files in the cache.
    /// let source = unsafe { Source::map_file(object.download()?)? };
    /// let tokens = MappedArray::from_source(source)?;
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn cache(self, cache: &Cache) -> RemoteOptions {
        RemoteOptions { cache: Some(cache.clone()), ..self }
    }

    /// Opens completely cached objects without any request. You will get the version that
    /// you read last, even if the store has a new one. By default, opening an object asks
    /// the store whether the cached version is current.
    pub fn offline(self, offline: bool) -> RemoteOptions {
        RemoteOptions { offline, ..self }
    }

    /// Names the object in errors and in the [cache](RemoteOptions::cache), where its name
    /// must be unique. The default is the URL. Objects that you open by
    /// [`open_object`](RemoteOptions::open_object) are only cached if you name them.
    pub fn name(self, name: impl Into<String>) -> RemoteOptions {
        RemoteOptions { name: Some(name.into()), ..self }
    }

    /// Allows [`create`](RemoteOptions::create) to replace an object. Otherwise, it returns
    /// an error if the object exists.
    pub fn overwrite(self, overwrite: bool) -> RemoteOptions {
        let writer = WriterOptions { overwrites: overwrite, ..self.writer };
        RemoteOptions { writer, ..self }
    }

    /// Sets the part size of large objects that you write, in bytes: from 5 MiB to 1 GiB,
    /// by default 16 MiB. Stores accept 10,000 parts, so this limits the size of an object.
    /// Up to 10 parts are in memory at once.
    pub fn part_bytes(self, bytes: usize) -> RemoteOptions {
        let writer = WriterOptions { part_bytes: bytes, ..self.writer };
        RemoteOptions { writer, ..self }
    }

    /// Starts to write an object to Amazon S3 or a compatible store, Google Cloud
    /// Storage or Azure. It appears under its name when it is
    /// [finished](RemoteWriter::finish).
    ///
    /// By default, this asks the store first whether the object exists. An object of one
    /// part is then written on condition that it still does not exist. For larger objects,
    /// the store is asked again before the last request, so another writer could create the
    /// object between the two.
    ///
    /// # Errors
    ///
    /// Returns [`AlreadyExists`](npymap::ErrorKind::AlreadyExists) if the
    /// object exists, unless [`overwrite`](RemoteOptions::overwrite) is set,
    /// [`InvalidInput`](npymap::ErrorKind::InvalidInput) for other URLs and
    /// invalid settings, [`Unsupported`](npymap::ErrorKind::Unsupported) for
    /// web servers, which can't make a whole object appear at once, and
    /// [`Io`](npymap::ErrorKind::Io) if a request fails.
    ///
    /// # Examples
    ///
    /// See [`RemoteWriter`].
    pub fn create(&self, url: &str) -> Result<RemoteWriter> {
        let parsed = stores::parse(url)?;
        let timeouts = Timeouts::writing(self.writer.limit)?;
        let settings = stores::settings(&parsed, &self.settings, &timeouts);
        let options = WriterOptions { limit: stores::limit(&settings), ..self.writer };
        let name = self.name_of(url);
        let executor = self.executor()?;
        self.check_headers()?;
        let store = writable::store(&parsed, &settings, &self.headers);
        match store.map_err(|error| error.with_path(path::Path::new(stores::name(url))))? {
            Writable::Amazon(store, path) => {
                RemoteWriter::new(executor, store, path, name, options)
            }
            Writable::Google(store, path) => {
                RemoteWriter::new(executor, store, path, name, options)
            }
            Writable::Azure(store, path) => RemoteWriter::new(executor, store, path, name, options),
        }
    }

    /// Starts to write an object to a store that you made, like
    /// [`create`](RemoteOptions::create).
    ///
    /// # Errors
    ///
    /// Returns [`AlreadyExists`](npymap::ErrorKind::AlreadyExists) if the
    /// object exists, unless [`overwrite`](RemoteOptions::overwrite) is set,
    /// and [`Io`](npymap::ErrorKind::Io) if a request fails.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use npymap::ndarray::array;
    /// use npymap_remote::object_store::{memory::InMemory, path::Path};
    /// use npymap_remote::RemoteOptions;
    /// use npymap::WriteOptions;
    /// use npymap::{MappedArray, Source};
    ///
    /// let (store, path) = (Arc::new(InMemory::new()), Path::from("a.npy"));
    /// let mut writer = RemoteOptions::new().create_object(store.clone(), path.clone())?;
    /// WriteOptions::new().write_to(&mut writer, &array![1, 2, 3])?;
    /// writer.finish()?;
    ///
    /// let object = RemoteOptions::new().open_object(store, path)?;
    /// let array = MappedArray::from_source(object.source())?;
    /// assert_eq!(array.as_slice::<i32>()?, [1, 2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_object<S: ObjectStore + MultipartStore>(
        &self,
        store: Arc<S>,
        path: Path,
    ) -> Result<RemoteWriter> {
        let name = self.name.clone().unwrap_or_else(|| format!("{store}/{path}"));
        RemoteWriter::new(self.executor()?, store, path, name, self.writer)
    }

    /// Opens an object by its URL: `s3://bucket/key`, `gs://bucket/key`,
    /// `az://container/key`, `abfs://…` and `https://…` URLs of these stores, or
    /// `http://` and `https://` URLs of other servers. URLs of a store with a query are
    /// presigned: they need no credentials, and are valid for some time only.
    ///
    /// Credentials and other settings come from environment variables that start with
    /// `AWS_`, `GOOGLE_` or `AZURE_`, like in `object_store`'s `from_env`. This sends one
    /// request.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](npymap::ErrorKind::InvalidInput) for other
    /// URLs, for a URL with a user or a password, and for invalid settings.
    /// Returns [`NotFound`](npymap::ErrorKind::NotFound) if the object does not
    /// exist, [`Unsupported`](npymap::ErrorKind::Unsupported) if the server
    /// ignores ranges, and [`Io`](npymap::ErrorKind::Io) if a request fails.
    /// Its [`io_error`](npymap::Error::io_error) has the kind
    /// [`PermissionDenied`](std::io::ErrorKind::PermissionDenied) if access is
    /// denied, [`NotConnected`](std::io::ErrorKind::NotConnected) after three
    /// attempts if the server cannot be reached, or
    /// [`TimedOut`](std::io::ErrorKind::TimedOut).
    pub fn open(&self, url: &str) -> Result<Remote> {
        let (place, cached_as) = self.place(url)?;
        self.open_place(place, cached_as)
    }

    /// Opens an object by its URL like [`open`](RemoteOptions::open), without blocking the
    /// thread, in any runtime. If you drop the future, the request is cancelled.
    ///
    /// An [`ArrayFile`](npymap::ArrayFile) can then be made without waiting if its header is
    /// in the first 64 KiB of the object: see
    /// [`select_rows_async`](npymap::ArrayFile::select_rows_async).
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](npymap::ErrorKind::InvalidInput) for other
    /// URLs, for a URL with a user or a password, and for invalid settings.
    /// Returns [`NotFound`](npymap::ErrorKind::NotFound) if the object does not
    /// exist, [`Unsupported`](npymap::ErrorKind::Unsupported) if the server
    /// ignores ranges, and [`Io`](npymap::ErrorKind::Io) if a request fails.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use npymap::{ArrayFile, MappedArrayMut, OpenOptions};
    /// use npymap_remote::RemoteOptions;
    ///
    /// async fn batch(rows: &[usize]) -> npymap::Result<MappedArrayMut> {
    ///     let object = RemoteOptions::new().open_async("s3://bucket/tokens.npy").await?;
    ///     let tokens = ArrayFile::new(object.source(), OpenOptions::new())?;
    ///     tokens.select_rows_async(rows).await
    /// }
    /// ```
    pub async fn open_async(&self, url: &str) -> Result<Remote> {
        let (place, cached_as) = self.place(url)?;
        self.open_place_async(place, cached_as).await
    }

    /// Opens an object in a store that you made, for example to set your own limits on
    /// retries. [`option`](RemoteOptions::option) has no effect.
    ///
    /// `object_store` reads whole error pages of such a store, and allocates as much memory
    /// as the server claims that they have. You should use [`open`](RemoteOptions::open) for
    /// servers that you don't trust.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](npymap::ErrorKind::NotFound) if the object does not
    /// exist, [`InvalidInput`](npymap::ErrorKind::InvalidInput) with a cache
    /// and no [`name`](RemoteOptions::name),
    /// [`Unsupported`](npymap::ErrorKind::Unsupported) if the store ignores
    /// ranges, and [`Io`](npymap::ErrorKind::Io) if a request fails.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use npymap_remote::object_store::{memory::InMemory, path::Path};
    /// use npymap_remote::{RemoteOptions, object_store::ObjectStoreExt, tokio};
    /// use npymap::{MappedArray, Source};
    ///
    /// let store = Arc::new(InMemory::new());
    /// let path = Path::from("penguins.npy");
    /// let bytes = std::fs::read("../../data/penguins.npy")?;
    /// let runtime = tokio::runtime::Runtime::new()?;
    /// runtime.block_on(store.put(&path, bytes.into()))?;
    ///
    /// let object = RemoteOptions::new().open_object(store, path)?;
    /// let penguins = MappedArray::from_source(object.source())?;
    /// assert_eq!(penguins.as_slice::<f64>()?[3], 3750.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_object(&self, store: Arc<dyn ObjectStore>, path: Path) -> Result<Remote> {
        let (place, cached_as) = self.place_in(store, path)?;
        self.open_place(place, cached_as)
    }

    /// Opens an object in a store that you made like
    /// [`open_object`](RemoteOptions::open_object), without blocking the thread, in any
    /// runtime.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](npymap::ErrorKind::NotFound) if the object does not
    /// exist, [`InvalidInput`](npymap::ErrorKind::InvalidInput) with a cache
    /// and no [`name`](RemoteOptions::name),
    /// [`Unsupported`](npymap::ErrorKind::Unsupported) if the store ignores
    /// ranges, and [`Io`](npymap::ErrorKind::Io) if a request fails.
    pub async fn open_object_async(
        &self,
        store: Arc<dyn ObjectStore>,
        path: Path,
    ) -> Result<Remote> {
        let (place, cached_as) = self.place_in(store, path)?;
        self.open_place_async(place, cached_as).await
    }

    fn check_headers(&self) -> Result<()> {
        self.headers.check().map_err(|name| {
            let found = format!("the header {name:?}");
            errors::invalid(
                &found,
                "a name of letters, digits and `-`, and a value without control characters",
            )
        })
    }

    /// The name of a URL's object.
    fn name_of(&self, url: &str) -> String {
        self.name.clone().unwrap_or_else(|| stores::name(url).to_owned())
    }

    /// The object of a URL, and its key in the cache, if it has one.
    fn place(&self, url: &str) -> Result<(ObjectPlace, Option<String>)> {
        let parsed = stores::parse(url)?;
        let timeouts = Timeouts::reading(self.writer.limit, self.read_timeout)?;
        let settings = stores::settings(&parsed, &self.settings, &timeouts);
        let name = self.name_of(url);
        let cached_as = [name.clone()].into_iter().chain(store_settings(&settings));
        let is_identified = stores::is_identified_by_name(&parsed) && self.headers.is_empty();
        let is_known = self.name.is_some() || is_identified;
        let cached_as = is_known.then(|| cached_as.collect::<Vec<_>>().join(" "));
        self.check_headers()?;
        let (store, path) = stores::open(&parsed, &settings, &self.headers).map_err(|error| {
            let text = errors::text(&error);
            Error::new(ErrorKind::InvalidInput, text).with_path(path::Path::new(stores::name(url)))
        })?;
        let (is_presigned, limit) = (parsed.query().is_some(), stores::limit(&settings));
        let store = Connections::new(store);
        let whole = self.whole;
        Ok((ObjectPlace { store, path, name, is_presigned, limit, whole }, cached_as))
    }

    /// The object in a caller's store, and its key in the cache.
    fn place_in(
        &self,
        store: Arc<dyn ObjectStore>,
        path: Path,
    ) -> Result<(ObjectPlace, Option<String>)> {
        if self.cache.is_some() && self.name.is_none() {
            let found = "a cache for an object without a name";
            let expected = "a unique one, set by `RemoteOptions::name`";
            return Err(errors::invalid(found, expected));
        }
        let name = self.name.clone().unwrap_or_else(|| format!("{store}/{path}"));
        let store = Connections::new(store);
        let (is_presigned, limit) = (false, self.writer.limit);
        let whole = self.whole;
        let place = ObjectPlace { store, path, name: name.clone(), is_presigned, limit, whole };
        Ok((place, Some(name)))
    }

    /// Opens an object with the cache key `cached_as`.
    fn open_place(&self, place: ObjectPlace, cached_as: Option<String>) -> Result<Remote> {
        let (executor, cached) = (self.executor()?, self.cached(cached_as));
        if let Some(version) = self.offline_version(&cached) {
            return Ok(self.finish(executor, place, cached, (version, None)));
        }
        let name = place.name.clone();
        let opened = executor.run(request(place, cached.version.clone()));
        let (place, opened) = opened.map_err(|error| error.with_path(path::Path::new(&name)))?;
        Ok(self.finish(executor, place, cached, opened))
    }

    /// Opens an object like `open_place`, but asynchronously.
    async fn open_place_async(
        &self,
        place: ObjectPlace,
        cached_as: Option<String>,
    ) -> Result<Remote> {
        let (executor, cached) = (self.executor()?, self.cached(cached_as));
        if let Some(version) = self.offline_version(&cached) {
            return Ok(self.finish(executor, place, cached, (version, None)));
        }
        let name = place.name.clone();
        let opened = executor.run_async(request(place, cached.version.clone())).await;
        let (place, opened) = opened.map_err(|error| error.with_path(path::Path::new(&name)))?;
        Ok(self.finish(executor, place, cached, opened))
    }

    /// The part of an object that is in the cache.
    fn cached(&self, place: Option<String>) -> Cached {
        let cache = self.cache.as_ref().zip(place.as_deref());
        let entry = cache.and_then(|(cache, place)| cache.find(place));
        let version = entry.as_ref().map(|entry| entry.key().version.clone());
        Cached { place, entry, version }
    }

    /// Makes the object of a response. Without the start of the object, it is the version
    /// in the cache.
    fn finish(
        &self,
        executor: Executor,
        place: ObjectPlace,
        cached: Cached,
        (version, start): Opened,
    ) -> Remote {
        let entry = match (&start, self.cache.as_ref().zip(cached.place)) {
            (Some(start), Some((cache, place))) => {
                let entry = cache.entry(&Key { place, version: version.clone() });
                // If it cannot be kept, it is requested again next time.
                entry.inspect(|entry| drop(entry.write(start, 0)))
            }
            _ => cached.entry,
        };
        let object = Object::new(place, version, self.concurrency);
        Remote::new(object, start.unwrap_or_default(), entry, executor)
    }

    /// The version in the cache, if it is used without asking the store.
    fn offline_version(&self, cached: &Cached) -> Option<Version> {
        let is_usable = self.offline && cached.entry.as_ref().is_some_and(Entry::is_complete);
        if is_usable { cached.version.clone() } else { None }
    }

    fn executor(&self) -> Result<Executor> {
        match &self.runtime {
            Some(runtime) => Ok(Executor::new(runtime.clone())),
            None => Executor::shared(),
        }
    }
}

impl fmt::Debug for RemoteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values can be credentials.
        let keys: Vec<&str> = self.settings.iter().map(|(key, _)| key.as_str()).collect();
        f.debug_struct("RemoteOptions")
            .field("options", &keys)
            .field("headers", &self.headers)
            .field("whole", &self.whole)
            .field("concurrency", &self.concurrency)
            .field("name", &self.name)
            .field("cache", &self.cache)
            .field("offline", &self.offline)
            .field("writer", &self.writer)
            .field("read_timeout", &self.read_timeout)
            .finish_non_exhaustive()
    }
}

/// The version of an object, and its start if it was requested.
type Opened = (Version, Option<Vec<u8>>);

/// Requests the start of an object, unless it still is the known version.
async fn request(place: ObjectPlace, known: Option<Version>) -> Result<(ObjectPlace, Opened)> {
    let opened = place.open(known.as_ref()).await?;
    Ok((place, opened))
}

/// What the cache knows about an object before the store is asked.
struct Cached {
    /// Its key in the cache, if it has one.
    place: Option<String>,
    entry: Option<Entry>,
    version: Option<Version>,
}

/// The settings that say which store a URL leads to, in order.
fn store_settings(settings: &[(String, String)]) -> impl Iterator<Item = String> {
    let mut stores: BTreeMap<String, &str> = BTreeMap::new();
    for (key, value) in settings {
        let key = key.to_ascii_lowercase();
        if ["endpoint", "base_url", "account_name", "emulator"]
            .iter()
            .any(|part| key.contains(part))
        {
            stores.insert(key, value);
        }
    }
    stores.into_iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().into_iter()
}

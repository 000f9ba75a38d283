//! Options for opening objects: URLs, credentials and settings of stores.

use std::env;
use std::path;
use std::sync::Arc;

use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreScheme};
use rustls::crypto::{CryptoProvider, ring};
use tokio::runtime::Handle;
use url::Url;

use super::Remote;
use super::errors;
use super::executor::Executor;
use super::object::{ObjectPlace, PERMITS};
use crate::error::{Error, ErrorKind, RequestError, Result, printable};

/// Options for opening a [`Remote`] object.
///
/// # Examples
///
/// ```no_run
/// use npymap::source::remote::RemoteOptions;
///
/// let object = RemoteOptions::new()
///     .option("aws_region", "eu-central-1")
///     .option("aws_skip_signature", "true") // no credentials
///     .open("s3://bucket/tokens.npy")?;
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct RemoteOptions {
    settings: Vec<(String, String)>,
    concurrency: u32,
    runtime: Option<Handle>,
}

impl Default for RemoteOptions {
    fn default() -> RemoteOptions {
        if CryptoProvider::get_default().is_none() {
            // Fails if another thread was faster.
            ring::default_provider().install_default().ok();
        }
        RemoteOptions { settings: Vec::new(), concurrency: PERMITS, runtime: None }
    }
}

impl RemoteOptions {
    /// The settings of the environment, at most 256 requests at a time, and the
    /// runtime that all objects share.
    ///
    /// If the program has no default provider of cryptography for rustls, ring
    /// becomes the default: without one, no store can be made.
    pub fn new() -> RemoteOptions {
        RemoteOptions::default()
    }

    /// Sets an option of the store, which takes precedence over the environment: a
    /// configuration key of `object_store`, such as `aws_endpoint`, `google_bucket`,
    /// `azure_storage_account_name`, `timeout` or `proxy_url`. Keys that the store
    /// doesn't have are ignored.
    pub fn option(mut self, key: impl Into<String>, value: impl Into<String>) -> RemoteOptions {
        self.settings.push((key.into(), value.into()));
        self
    }

    /// The number of requests for the object that run at a time: from 1 to 256, the
    /// default.
    pub fn concurrency(self, requests: u32) -> RemoteOptions {
        RemoteOptions { concurrency: requests, ..self }
    }

    /// Runs the requests on a runtime of the caller, which must have I/O and time
    /// enabled. While a call waits for it, another thread has to drive the
    /// runtime, so do not read on the only thread of a runtime.
    pub fn runtime(self, runtime: Handle) -> RemoteOptions {
        RemoteOptions { runtime: Some(runtime), ..self }
    }

    /// Opens an object by its URL: `s3://bucket/key`, `gs://bucket/key`,
    /// `az://container/key`, `abfs://…` and `https://…` URLs of these stores, or
    /// `http://` and `https://` URLs of other servers.
    ///
    /// Credentials and other settings come from the environment, as for
    /// `object_store`'s `from_env`: variables that start with `AWS_`, `GOOGLE_` or
    /// `AZURE_`. One request is sent.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) for other URLs, those with a
    /// query or a password, and invalid settings;
    /// [`NotFound`](crate::ErrorKind::NotFound);
    /// [`Unsupported`](crate::ErrorKind::Unsupported) when the server ignores
    /// ranges; [`Io`](crate::ErrorKind::Io), with the kind
    /// [`PermissionDenied`](std::io::ErrorKind::PermissionDenied) of its
    /// [`io_error`](crate::Error::io_error) when access is denied, or
    /// [`TimedOut`](std::io::ErrorKind::TimedOut).
    pub fn open(&self, url: &str) -> Result<Remote> {
        let parsed = parse(url)?;
        let settings = environment(&parsed).chain(self.settings.clone());
        let (store, path) = object_store::parse_url_opts(&parsed, settings).map_err(|error| {
            let text = errors::text(&error);
            Error::new(ErrorKind::InvalidInput, text).with_path(path::Path::new(url))
        })?;
        self.open_place(ObjectPlace { store: Arc::from(store), path, name: url.to_owned() })
    }

    /// Opens an object of a store that the caller made, for example with other
    /// limits on retries. [`option`](RemoteOptions::option) has no effect.
    ///
    /// # Errors
    ///
    /// As [`open`](RemoteOptions::open).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use npymap::source::remote::object_store::{memory::InMemory, path::Path};
    /// use npymap::source::remote::{RemoteOptions, object_store::ObjectStoreExt, tokio};
    /// use npymap::{MappedArray, Source};
    ///
    /// let store = Arc::new(InMemory::new());
    /// let path = Path::from("penguins.npy");
    /// let bytes = std::fs::read("data/penguins.npy")?;
    /// let runtime = tokio::runtime::Runtime::new()?;
    /// runtime.block_on(store.put(&path, bytes.into()))?;
    ///
    /// let object = RemoteOptions::new().open_object(store, path)?;
    /// let penguins = MappedArray::from_source(Source::remote(&object))?;
    /// assert_eq!(penguins.as_slice::<f64>()?[3], 3750.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_object(&self, store: Arc<dyn ObjectStore>, path: Path) -> Result<Remote> {
        let name = format!("{store}/{path}");
        self.open_place(ObjectPlace { store, path, name })
    }

    fn open_place(&self, place: ObjectPlace) -> Result<Remote> {
        let executor = match &self.runtime {
            Some(runtime) => Executor::new(runtime.clone()),
            None => Executor::shared()?,
        };
        let (name, concurrency) = (place.name.clone(), self.concurrency);
        let opened = executor.run(async move { place.open(concurrency).await });
        let (object, start) = opened.map_err(|error| error.with_path(path::Path::new(&name)))?;
        Ok(Remote::new(object, start, executor))
    }
}

/// Checks a URL.
fn parse(text: &str) -> Result<Url> {
    let Some(url) = Url::parse(text).ok().filter(|url| store(url).is_some()) else {
        let expected = "s3://bucket/key, gs://, az://, abfs://, http:// or https://";
        return Err(invalid(text, expected));
    };
    if url.password().is_some() {
        let expected = "none with a password, which environment variables are for";
        return Err(invalid(&format!("{}://…", url.scheme()), expected));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(invalid(text, "none with `?` or `#`, which are not supported"));
    }
    Ok(url)
}

fn invalid(url: &str, expected: &str) -> Error {
    let found = format!("the URL '{}'", printable(url));
    RequestError::Argument { found, expected: expected.to_owned() }.into()
}

/// The store of a URL, except local files and memory.
fn store(url: &Url) -> Option<ObjectStoreScheme> {
    let (scheme, _) = ObjectStoreScheme::parse(url).ok()?;
    let is_local = matches!(scheme, ObjectStoreScheme::Local | ObjectStoreScheme::Memory);
    (!is_local).then_some(scheme)
}

/// The settings for a URL from the environment.
fn environment(url: &Url) -> impl Iterator<Item = (String, String)> + use<> {
    let prefix = match store(url) {
        Some(ObjectStoreScheme::AmazonS3) => Some("AWS_"),
        Some(ObjectStoreScheme::GoogleCloudStorage) => Some("GOOGLE_"),
        Some(ObjectStoreScheme::MicrosoftAzure) => Some("AZURE_"),
        _ => None,
    };
    let variables = env::vars_os()
        .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)));
    let own = variables.filter(move |(key, _)| prefix.is_some_and(|start| key.starts_with(start)));
    // The URL says so already.
    let http = (url.scheme() == "http").then(|| ("allow_http".to_owned(), "true".to_owned()));
    own.chain(http)
}

//! Makes the client that sends requests, as `object_store` does, but without redirects.

use std::error::Error as StdError;
use std::hash::{BuildHasher as _, RandomState};
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::str::FromStr;
use std::time::Duration;

use object_store::client::HttpClient;
use object_store::{ClientConfigKey as Key, ClientOptions, Error, Result};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Certificate, ClientBuilder, NoProxy, Proxy, redirect};
use tokio::task;

/// The name of this client in the logs of servers.
const USER_AGENT: &str = concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION"));

/// A client with these options. Unlike `object_store`'s client, it follows no redirects and
/// never sends `Referer`, which has the signature of a presigned URL. Options that have no
/// key are not read: stores of a URL don't have them.
pub(super) fn new(options: &ClientOptions) -> Result<HttpClient> {
    let mut builder = ClientBuilder::new()
        .redirect(redirect::Policy::none())
        .referer(false)
        // The length of a body is that of the object.
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate()
        .https_only(!is_set(options, Key::AllowHttp)?)
        .tls_danger_accept_invalid_certs(is_set(options, Key::AllowInvalidCertificates)?)
        .http2_keep_alive_while_idle(is_set(options, Key::Http2KeepAliveWhileIdle)?)
        .http2_max_frame_size(number(options, Key::Http2MaxFrameSize)?)
        .user_agent(options.get_config_value(&Key::UserAgent).unwrap_or(USER_AGENT.to_owned()));
    for (key, set) in TIMES {
        if let Some(time) = time(options, key)? {
            builder = set(builder, time);
        }
    }
    if let Some(most) = number(options, Key::PoolMaxIdlePerHost)? {
        builder = builder.pool_max_idle_per_host(most);
    }
    if is_set(options, Key::Http1Only)? {
        builder = builder.http1_only();
    }
    if is_set(options, Key::Http2Only)? {
        builder = builder.http2_prior_knowledge();
    }
    if is_set(options, Key::NoSystemCertificates)? {
        builder = builder.tls_certs_only([]);
    }
    if is_set(options, Key::RandomizeAddresses)? {
        builder = builder.dns_resolver(Shuffled);
    }
    if let Some(url) = options.get_config_value(&Key::ProxyUrl) {
        let mut proxy = Proxy::all(url).map_err(error)?;
        if let Some(hosts) = options.get_config_value(&Key::ProxyExcludes) {
            proxy = proxy.no_proxy(NoProxy::from_string(&hosts));
        }
        if let Some(text) = options.get_config_value(&Key::ProxyCaCertificate) {
            let certificate = Certificate::from_pem(text.as_bytes()).map_err(error)?;
            builder = builder.tls_certs_merge([certificate]);
        }
        builder = builder.proxy(proxy);
    }
    Ok(HttpClient::new(builder.build().map_err(error)?))
}

type SetTime = fn(ClientBuilder, Duration) -> ClientBuilder;

/// The timeouts in the options. `within` limits the time of a whole request with its
/// repetitions.
const TIMES: [(Key, SetTime); 6] = [
    (Key::Timeout, |builder, _| builder),
    (Key::ConnectTimeout, ClientBuilder::connect_timeout),
    (Key::ReadTimeout, ClientBuilder::read_timeout),
    (Key::PoolIdleTimeout, |builder, time| builder.pool_idle_timeout(time)),
    (Key::Http2KeepAliveInterval, |builder, time| builder.http2_keep_alive_interval(time)),
    (Key::Http2KeepAliveTimeout, ClientBuilder::http2_keep_alive_timeout),
];

fn time(options: &ClientOptions, key: Key) -> Result<Option<Duration>> {
    let text = options.get_config_value(&key);
    text.map(|text| humantime::parse_duration(&text).map_err(|_| invalid(key, &text))).transpose()
}

fn number<T: FromStr>(options: &ClientOptions, key: Key) -> Result<Option<T>> {
    let text = options.get_config_value(&key);
    text.map(|text| text.parse().map_err(|_| invalid(key, &text))).transpose()
}

fn is_set(options: &ClientOptions, key: Key) -> Result<bool> {
    let text = options.get_config_value(&key).unwrap_or_default();
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "on" | "yes" | "y" => Ok(true),
        "" | "0" | "false" | "off" | "no" | "n" => Ok(false),
        _ => Err(invalid(key, &text)),
    }
}

fn invalid(key: Key, text: &str) -> Error {
    error(format!("the option {}='{text}' cannot be parsed", key.as_ref()))
}

fn error(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
    Error::Generic { store: "HTTP client", source: source.into() }
}

/// Finds the addresses of a name in random order, so that the servers of a store share the
/// connections.
struct Shuffled;

impl Resolve for Shuffled {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = task::spawn_blocking(move || (name.as_str(), 0).to_socket_addrs());
            let mut found: Vec<SocketAddr> = found.await??.collect();
            let random = RandomState::new();
            found.sort_by_cached_key(|address| random.hash_one(address));
            let found: Addrs = Box::new(found.into_iter());
            Ok(found)
        })
    }
}

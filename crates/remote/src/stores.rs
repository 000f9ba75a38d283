//! Makes the store of a URL.

use std::env;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreScheme, Result};
use url::{Position, Url};

use super::connection::{Connector, Headers};
use super::errors;
use npymap::Error;

/// Builds a store from settings, as `object_store::parse_url_opts` does. It ignores
/// settings that the store does not have.
macro_rules! build {
    ($builder:ty, $url:expr, $settings:expr, $headers:expr) => {{
        let connector = Connector($headers.clone());
        let mut builder = <$builder>::new().with_url($url).with_http_connector(connector);
        for (key, value) in $settings {
            builder = match key.to_ascii_lowercase().parse() {
                Ok(key) => builder.with_config(key, value),
                Err(_) => builder,
            };
        }
        Arc::new(builder.build()?)
    }};
}

pub(super) use build;

/// The store of a URL, and the path in it.
pub(super) fn open(
    url: &Url,
    settings: &[(String, String)],
    headers: &Headers,
) -> Result<(Arc<dyn ObjectStore>, Path)> {
    let (scheme, path) = ObjectStoreScheme::parse(url)?;
    let store: Arc<dyn ObjectStore> = match scheme {
        // The query contains the permission, so nothing is signed.
        _ if url.query().is_some() => {
            let query = &url[Position::BeforeQuery..];
            let base = format!("{}/?{query}", &url[..Position::BeforePath]);
            return Ok((
                build!(HttpBuilder, base, settings, headers),
                Path::from_url_path(url.path())?,
            ));
        }
        ObjectStoreScheme::AmazonS3 => build!(AmazonS3Builder, url.as_str(), settings, headers),
        ObjectStoreScheme::GoogleCloudStorage => {
            build!(GoogleCloudStorageBuilder, url.as_str(), settings, headers)
        }
        ObjectStoreScheme::MicrosoftAzure => {
            build!(MicrosoftAzureBuilder, url.as_str(), settings, headers)
        }
        _ => build!(HttpBuilder, &url[..Position::BeforePath], settings, headers),
    };
    Ok((store, path))
}

/// Checks a URL.
pub(super) fn parse(text: &str) -> Result<Url, Error> {
    const SCHEMES: [&str; 8] = ["s3", "s3a", "gs", "az", "abfs", "abfss", "http", "https"];
    let has_path = |url: &Url| Path::from_url_path(url.path()).is_ok();
    let parsed = Url::parse(text).ok();
    if parsed.as_ref().is_some_and(|url| SCHEMES.contains(&url.scheme()) && !has_path(url)) {
        let expected = "a path without `//`, `.` and `..`, and with UTF-8 if it is percent-encoded";
        return Err(bad_url(&without_secrets(text), expected));
    }
    let Some(url) = parsed.filter(|url| scheme(url).is_some()) else {
        let expected = "s3://bucket/key, gs://, az://, abfs://, http:// or https://";
        return Err(bad_url(&without_secrets(text), expected));
    };
    if url.path().len() > 1 && url.path().ends_with('/') {
        let expected =
            "a path that does not end with `/`: without it, it is the path of another object";
        return Err(bad_url(&without_secrets(text), expected));
    }
    // The user of `abfs://container@account…` is a container.
    let has_user = !url.username().is_empty() && !url.scheme().starts_with("abfs");
    if url.password().is_some() || has_user {
        let expected = "none with a user or a password, which environment variables are for";
        return Err(bad_url(&format!("{}://…", url.scheme()), expected));
    }
    let may_have_query = ["http", "https"].contains(&url.scheme());
    if url.fragment().is_some() || (url.query().is_some() && !may_have_query) {
        let expected = "none with `#`, and `?` only after http:// or https://";
        return Err(bad_url(name(text), expected));
    }
    if url.path().to_ascii_lowercase().contains("%2f") {
        let expected = "a path without `%2F`, which the request would have as `/`";
        return Err(bad_url(name(text), expected));
    }
    Ok(url)
}

/// The text of a URL that may not be one, without what can be a secret.
fn without_secrets(text: &str) -> String {
    let text = name(text);
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let (server, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let server = server.rsplit_once('@').map_or(server, |(_, server)| server);
    format!("{scheme}://{server}{path}")
}

/// A URL without its query, which can be a secret.
pub(super) fn name(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or(url)
}

/// Returns whether a URL without its query leads to the same object, because the query is
/// absent or only a signature, without a version for example.
pub(super) fn is_identified_by_name(url: &Url) -> bool {
    let keys: Vec<_> = url.query_pairs().map(|(key, _)| key.to_ascii_lowercase()).collect();
    let is_signed = keys
        .iter()
        .any(|key| ["x-amz-signature", "x-goog-signature", "sig"].contains(&key.as_str()));
    url.query().is_none() || (is_signed && keys.iter().all(|key| is_part_of_signature(key)))
}

/// Returns whether a key of a query belongs to a signature of Amazon, Google or Azure, or
/// changes only headers of the response.
fn is_part_of_signature(key: &str) -> bool {
    const AZURE: [&str; 26] = [
        "sv", "ss", "srt", "sr", "st", "se", "sp", "sip", "spr", "si", "sig", "skoid", "sktid",
        "skt", "ske", "sks", "skv", "saoid", "suoid", "scid", "ses", "rscc", "rscd", "rsce",
        "rscl", "rsct",
    ];
    let prefixes = ["x-amz-", "x-goog-", "response-"];
    key == "x-id" || AZURE.contains(&key) || prefixes.iter().any(|start| key.starts_with(start))
}

fn bad_url(url: &str, expected: &str) -> Error {
    let found = format!("the URL '{}'", errors::printable(url));
    errors::invalid(&found, expected)
}

/// The store of a URL, except local files and memory.
fn scheme(url: &Url) -> Option<ObjectStoreScheme> {
    let (scheme, _) = ObjectStoreScheme::parse(url).ok()?;
    let is_local = matches!(scheme, ObjectStoreScheme::Local | ObjectStoreScheme::Memory);
    (!is_local).then_some(scheme)
}

/// How long requests take, as settings.
pub(super) struct Timeouts {
    /// Used unless another setting says something else.
    defaults: Vec<(String, String)>,
    /// The caller's settings.
    chosen: Vec<(String, String)>,
}

impl Timeouts {
    /// `object_store` stops each request after 30 seconds, which is short for a slow connection
    /// that many requests share. Each object has its own connections, so idle connections are
    /// closed sooner than after 90 seconds.
    pub(super) fn writing(request: Option<Duration>) -> Result<Timeouts, Error> {
        let idle = ("pool_idle_timeout".to_owned(), "15 seconds".to_owned());
        let mut timeouts = Timeouts { defaults: vec![idle], chosen: Vec::new() };
        timeouts.add("timeout", request, "NPYMAP_REQUEST_TIMEOUT", "300 seconds")?;
        Ok(timeouts)
    }

    /// Writes read no bytes while they send, so only reads have the second limit.
    pub(super) fn reading(
        request: Option<Duration>,
        read: Option<Duration>,
    ) -> Result<Timeouts, Error> {
        let mut timeouts = Timeouts::writing(request)?;
        timeouts.add("read_timeout", read, "NPYMAP_READ_TIMEOUT", "30 seconds")?;
        Ok(timeouts)
    }

    fn add(
        &mut self,
        key: &str,
        chosen: Option<Duration>,
        variable: &str,
        default: &str,
    ) -> Result<(), Error> {
        let usual = env::var_os(variable).filter(|value| !value.is_empty());
        let usual = usual.map_or(default.to_owned(), |value| value.to_string_lossy().into_owned());
        if humantime::parse_duration(&usual).is_err() {
            let found = format!("{variable}='{}'", errors::printable(&usual));
            return Err(errors::invalid(&found, "a duration, such as 90s or 10min"));
        }
        self.defaults.push((key.to_owned(), usual));
        let chosen = chosen.map(|time| humantime::format_duration(time).to_string());
        self.chosen.extend(chosen.map(|time| (key.to_owned(), time)));
        Ok(())
    }
}

/// The settings for a URL: default timeouts, then settings from the environment, then the
/// caller's timeouts and options. Later settings take precedence.
pub(super) fn settings(
    url: &Url,
    own: &[(String, String)],
    timeouts: &Timeouts,
) -> Vec<(String, String)> {
    let prefix = match scheme(url) {
        Some(ObjectStoreScheme::AmazonS3) => Some("AWS_"),
        Some(ObjectStoreScheme::GoogleCloudStorage) => Some("GOOGLE_"),
        Some(ObjectStoreScheme::MicrosoftAzure) => Some("AZURE_"),
        _ => None,
    };
    let variables = env::vars_os()
        .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)));
    let variables = variables.filter(|(key, _)| prefix.is_some_and(|start| key.starts_with(start)));
    // The URL says so already.
    let http = (url.scheme() == "http").then(|| ("allow_http".to_owned(), "true".to_owned()));
    let Timeouts { defaults, chosen } = timeouts;
    let defaults = defaults.iter().cloned().chain(variables).chain(http);
    defaults.chain(chosen.iter().cloned()).chain(own.iter().cloned()).collect()
}

/// How long a request takes at most, by the settings.
pub(super) fn limit(settings: &[(String, String)]) -> Option<Duration> {
    const KEYS: [&str; 4] = ["timeout", "aws_timeout", "google_timeout", "azure_timeout"];
    let mut values = settings.iter().rev();
    let (_, value) = values.find(|(key, _)| KEYS.contains(&key.to_ascii_lowercase().as_str()))?;
    humantime::parse_duration(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_caller_replace_timeouts() {
        let url = Url::parse("http://a.b/c").unwrap();
        let own = [("timeout".to_owned(), "1 second".to_owned())];
        let second = Some(Duration::from_secs(2));
        for (chosen, own, expected) in [
            (None, &[][..], Duration::from_secs(300)),
            (second, &[], Duration::from_secs(2)),
            (second, &own, Duration::from_secs(1)),
        ] {
            let timeouts = Timeouts::reading(chosen, chosen).unwrap();
            let settings = settings(&url, own, &timeouts);
            assert_eq!(limit(&settings), Some(expected));
            let (_, read) = settings.iter().rfind(|(key, _)| key == "read_timeout").unwrap();
            assert_eq!(read, if chosen.is_some() { "2s" } else { "30 seconds" });
        }
        let timeouts = Timeouts::writing(second).unwrap();
        let settings = settings(&url, &[], &timeouts);
        assert!(settings.iter().all(|(key, _)| key != "read_timeout"));
    }
}

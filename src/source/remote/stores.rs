//! Makes the store of a URL.

use std::env;
use std::sync::Arc;

use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreScheme, Result};
use url::{Position, Url};

use super::connection::Connector;
use crate::error::{Error, RequestError, printable};

/// Builds a store from settings, as `object_store::parse_url_opts` does. It ignores those
/// that the store does not have.
macro_rules! build {
    ($builder:ty, $url:expr, $settings:expr) => {{
        let mut builder = <$builder>::new().with_url($url).with_http_connector(Connector);
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
) -> Result<(Arc<dyn ObjectStore>, Path)> {
    let (scheme, path) = ObjectStoreScheme::parse(url)?;
    let store: Arc<dyn ObjectStore> = match scheme {
        // The query contains the permission, so nothing is signed.
        _ if url.query().is_some() => {
            let query = &url[Position::BeforeQuery..];
            let base = format!("{}/?{query}", &url[..Position::BeforePath]);
            return Ok((build!(HttpBuilder, base, settings), Path::from_url_path(url.path())?));
        }
        ObjectStoreScheme::AmazonS3 => build!(AmazonS3Builder, url.as_str(), settings),
        ObjectStoreScheme::GoogleCloudStorage => {
            build!(GoogleCloudStorageBuilder, url.as_str(), settings)
        }
        ObjectStoreScheme::MicrosoftAzure => build!(MicrosoftAzureBuilder, url.as_str(), settings),
        _ => build!(HttpBuilder, &url[..Position::BeforePath], settings),
    };
    Ok((store, path))
}

/// Checks a URL.
pub(super) fn parse(text: &str) -> Result<Url, Error> {
    let Some(url) = Url::parse(text).ok().filter(|url| scheme(url).is_some()) else {
        let expected = "s3://bucket/key, gs://, az://, abfs://, http:// or https://";
        return Err(invalid(text, expected));
    };
    if url.password().is_some() {
        let expected = "none with a password, which environment variables are for";
        return Err(invalid(&format!("{}://…", url.scheme()), expected));
    }
    let may_have_query = ["http", "https"].contains(&url.scheme());
    if url.fragment().is_some() || (url.query().is_some() && !may_have_query) {
        let expected = "none with `#`, and `?` only after http:// or https://";
        return Err(invalid(name(text), expected));
    }
    Ok(url)
}

/// A URL without its query, which can be a secret.
pub(super) fn name(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or(url)
}

/// Returns whether a URL without its query leads to the same object: there is none, or it
/// is a signature.
pub(super) fn is_identified_by_name(url: &Url) -> bool {
    let mut keys = url.query_pairs().map(|(key, _)| key.to_ascii_lowercase());
    url.query().is_none()
        || keys.any(|key| ["x-amz-signature", "x-goog-signature", "sig"].contains(&key.as_str()))
}

fn invalid(url: &str, expected: &str) -> Error {
    let found = format!("the URL '{}'", printable(url));
    RequestError::Argument { found, expected: expected.to_owned() }.into()
}

/// The store of a URL, except local files and memory.
fn scheme(url: &Url) -> Option<ObjectStoreScheme> {
    let (scheme, _) = ObjectStoreScheme::parse(url).ok()?;
    let is_local = matches!(scheme, ObjectStoreScheme::Local | ObjectStoreScheme::Memory);
    (!is_local).then_some(scheme)
}

/// The settings for a URL from the environment, and then those of the caller, which take
/// precedence.
pub(super) fn settings(url: &Url, own: &[(String, String)]) -> Vec<(String, String)> {
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
    variables.chain(http).chain(own.iter().cloned()).collect()
}

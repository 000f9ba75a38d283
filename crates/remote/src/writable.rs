//! The stores that objects can be written to.

use std::sync::Arc;

use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::azure::{MicrosoftAzure, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorage, GoogleCloudStorageBuilder};
use object_store::path::Path;
use object_store::{Error as StoreError, ObjectStoreScheme};
use url::Url;

use super::connection::{Connector, Headers};
use super::errors;
use super::stores::build;
use npymap::{Error, ErrorKind, Result};

/// A store that takes objects in parts, and the path of an object.
pub(super) enum Writable {
    Amazon(Arc<AmazonS3>, Path),
    Google(Arc<GoogleCloudStorage>, Path),
    Azure(Arc<MicrosoftAzure>, Path),
}

/// The store of a URL, made as `object_store::parse_url_opts` does, which returns it
/// without the functions for parts.
pub(super) fn store(
    url: &Url,
    settings: &[(String, String)],
    headers: &Headers,
) -> Result<Writable> {
    made(url, settings, headers)
        .map_err(|error| Error::new(ErrorKind::InvalidInput, errors::text(&error)))?
        .ok_or_else(|| Error::new(ErrorKind::Unsupported, NOT_WRITABLE))
}

const NOT_WRITABLE: &str =
    "web servers can only be read: write to s3://, gs://, az:// or abfs://, or to a file";

fn made(
    url: &Url,
    settings: &[(String, String)],
    headers: &Headers,
) -> Result<Option<Writable>, StoreError> {
    let (scheme, path) = ObjectStoreScheme::parse(url)?;
    let path = Path::parse(path)?;
    Ok(Some(match scheme {
        // Those allow one request.
        _ if url.query().is_some() => return Ok(None),
        ObjectStoreScheme::AmazonS3 => {
            Writable::Amazon(build!(AmazonS3Builder, url.as_str(), settings, headers), path)
        }
        ObjectStoreScheme::GoogleCloudStorage => Writable::Google(
            build!(GoogleCloudStorageBuilder, url.as_str(), settings, headers),
            path,
        ),
        ObjectStoreScheme::MicrosoftAzure => {
            Writable::Azure(build!(MicrosoftAzureBuilder, url.as_str(), settings, headers), path)
        }
        _ => return Ok(None),
    }))
}

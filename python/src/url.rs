//! Which paths are URLs, and how errors show them.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use pyo3::prelude::*;

const SCHEMES: [&str; 10] =
    ["s3", "s3a", "gs", "az", "adl", "azure", "abfs", "abfss", "http", "https"];

/// Returns whether a path is a URL. A file of that name is `./https://…`.
#[pyfunction(name = "is_url")]
pub(crate) fn is_url_in_python(path: PathBuf) -> bool {
    is_url(&path)
}

/// As [`is_url_in_python`].
pub(crate) fn is_url(path: &Path) -> bool {
    let parts = path.to_str().and_then(|text| text.split_once("://"));
    parts.is_some_and(|(scheme, _)| SCHEMES.contains(&scheme))
}

/// Return a path or a URL as errors show it.
#[pyfunction(name = "shown")]
pub(crate) fn shown_in_python(path: PathBuf) -> OsString {
    shown(&path).into_owned().into_os_string()
}

/// A path or a URL as errors show it: without a query, because those of presigned URLs are
/// secret, and without a password.
pub(crate) fn shown(path: &Path) -> Cow<'_, Path> {
    let url = if is_url(path) { path.to_str() } else { None };
    let url = url.and_then(|url| url.split(['?', '#']).next());
    let Some((scheme, rest)) = url.and_then(|url| url.split_once("://")) else {
        return Cow::Borrowed(path);
    };
    let (host, name) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    Cow::Owned(format!("{scheme}://{host}{name}").into())
}

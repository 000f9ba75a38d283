//! URLs: objects in stores and files on web servers.

use std::path::Path;

use crate::error::CliError;

#[cfg(feature = "remote")]
pub(crate) use crate::remote_object::{Upload, finish, reader, selected_rows, source, upload};
#[cfg(not(feature = "remote"))]
pub(crate) use missing::{Upload, finish, reader, selected_rows, source, upload};

const SCHEMES: [&str; 10] =
    ["s3", "s3a", "gs", "az", "adl", "azure", "abfs", "abfss", "http", "https"];

/// Returns whether an argument is a URL. A file of that name is `./https://…`.
pub(crate) fn is_url(path: &Path) -> bool {
    let parts = path.to_str().and_then(|text| text.split_once("://"));
    parts.is_some_and(|(scheme, _)| SCHEMES.contains(&scheme))
}

/// Rejects URLs where a file is changed.
pub(crate) fn reject_change(path: &Path) -> Result<(), CliError> {
    if !is_url(path) {
        return Ok(());
    }
    let reason = "objects can't be changed, only replaced: write a new one";
    Err(CliError::Rejected { path: path.to_owned(), reason })
}

/// Removes the queries of URLs from a message, because those of presigned URLs are secret,
/// and logs keep messages. The name of a member after a URL stays.
pub(crate) fn without_queries(message: &str) -> String {
    let words = message.split(' ').map(|word| match word.split_once('?') {
        Some((url, query)) if url.contains("http://") || url.contains("https://") => {
            let rest = query.find('[').and_then(|start| query.get(start..));
            let colon = if query.ends_with(':') { ":" } else { "" };
            format!("{url}{}", rest.unwrap_or(colon))
        }
        _ => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// In builds without the feature, URLs are errors.
#[cfg(not(feature = "remote"))]
mod missing {
    use std::fs::File;
    use std::path::Path;

    use npymap::{Error, ErrorKind, MappedArray, Result, Source, source::MapMut};

    use crate::array_path::ArrayPath;
    use crate::selection::IndexArg;

    /// There is none in these builds.
    #[derive(Clone, Copy, Debug)]
    pub(crate) enum Upload {}

    pub(crate) fn upload(path: &Path, _: bool) -> Result<Option<Upload>> {
        reject(path).map(|()| None)
    }

    pub(crate) fn finish(upload: Upload, _: File) -> Result<()> {
        match upload {}
    }

    const MISSING: &str = "this build of npymap has no support for URLs: install it with `cargo install npymap-cli --features remote`";

    pub(crate) fn source(path: &Path) -> Result<Option<Source<MapMut>>> {
        reject(path).map(|()| None)
    }

    pub(crate) fn reader(path: &Path) -> Result<Option<File>> {
        reject(path).map(|()| None)
    }

    pub(crate) fn selected_rows(
        input: &ArrayPath,
        _: usize,
        _: &[IndexArg],
    ) -> Result<Option<MappedArray>> {
        reject(&input.path).map(|()| None)
    }

    fn reject(path: &Path) -> Result<()> {
        if super::is_url(path) { Err(Error::new(ErrorKind::Unsupported, MISSING)) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::without_queries;

    #[test]
    fn queries_of_urls_are_removed_from_messages() {
        for (text, expected) in [
            ("https://a.b/c.npy?sig=1: no", "https://a.b/c.npy: no"),
            ("http://a.b/c.npz?sig=1[x]: no", "http://a.b/c.npz[x]: no"),
            ("not 'https://a.b/c?x'", "not 'https://a.b/c"),
            ("a?b=c.npy: no", "a?b=c.npy: no"),
        ] {
            assert_eq!(without_queries(text), expected);
        }
    }
}

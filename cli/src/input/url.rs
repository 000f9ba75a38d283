//! Paths that are URLs, and their text without secrets.

use std::path::Path;

const SCHEMES: [&str; 10] =
    ["s3", "s3a", "gs", "az", "adl", "azure", "abfs", "abfss", "http", "https"];

/// Returns whether an argument is a URL. A file of that name is `./https://…`.
pub(crate) fn is_url(path: &Path) -> bool {
    let parts = path.to_str().and_then(|text| text.split_once("://"));
    parts.is_some_and(|(scheme, _)| SCHEMES.contains(&scheme))
}

/// The text of a path or a URL for messages: without the query of a URL, because those of
/// presigned URLs are secret, and without a password. The name of a member stays.
pub(crate) fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    if is_url(path) { without_secrets(&text) } else { text }
}

fn without_secrets(url: &str) -> String {
    let (url, query) = url.split_at(url.find(['?', '#']).unwrap_or(url.len()));
    let member = query.rfind('[').filter(|_| query.ends_with(']'));
    let member = member.and_then(|start| query.get(start..)).unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else { return format!("{url}{member}") };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{scheme}://{host}{path}{member}")
}

/// Removes what is secret of URLs from a message that was not made with [`shown`], as far as
/// they have no spaces.
pub(crate) fn without_queries(message: &str) -> String {
    let words = message.split(' ').map(|word| {
        let schemes = SCHEMES.iter().map(|scheme| format!("{scheme}://"));
        let Some(start) = schemes.filter_map(|scheme| word.find(&scheme)).min() else {
            return word.to_owned();
        };
        let (before, url) = word.split_at(start);
        let end = url.trim_end_matches([':', ',', ';', '.', '`', '\'', '"', ')']).len();
        let (url, after) = url.split_at(end);
        format!("{before}{}{after}", without_secrets(url))
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{shown, without_queries};

    #[test]
    fn secrets_of_urls_are_not_shown() {
        for (text, expected) in [
            ("https://a.b/c.npy?sig=1", "https://a.b/c.npy"),
            ("s3://b/c d.npz?sig=1 2[x]", "s3://b/c d.npz[x]"),
            ("az://b/c.npz?f[a]=1&sig=2", "az://b/c.npz"),
            ("http://me:word@a.b:80/c@d.npz[x]", "http://a.b:80/c@d.npz[x]"),
            ("gs://b/c.npy#x", "gs://b/c.npy"),
            ("a?b=c.npy", "a?b=c.npy"),
        ] {
            assert_eq!(shown(Path::new(text)), expected);
        }
    }

    #[test]
    fn queries_of_urls_are_removed_from_messages() {
        for (text, expected) in [
            ("https://a.b/c.npy?sig=1: no", "https://a.b/c.npy: no"),
            ("http://a.b/c.npz?sig=1[x]: no", "http://a.b/c.npz[x]: no"),
            ("not 'https://a.b/c?x'", "not 'https://a.b/c'"),
            ("s3://a/c?x[y: no", "s3://a/c: no"),
            ("(az://k:w@a/c?x)", "(az://a/c)"),
            ("a?b=c.npy: no", "a?b=c.npy: no"),
        ] {
            assert_eq!(without_queries(text), expected);
        }
    }
}

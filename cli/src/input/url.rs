//! Paths that are URLs, and their text without secrets.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::{PathBufValueParser, TypedValueParser};

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

/// The path of a `file://` URL; any other text as it is.
pub(crate) fn local(text: OsString) -> OsString {
    let path = text.to_str().and_then(|text| text.strip_prefix("file://"));
    let path = path.map(|path| path.strip_prefix("localhost").unwrap_or(path));
    let path = path.filter(|path| path.starts_with('/')).and_then(decoded);
    match path {
        // A path on a drive of Windows: `/C:/a.npy`.
        Some(path) if cfg!(windows) && path.get(2..3) == Some(":") => path.split_at(1).1.into(),
        Some(path) => path.into(),
        None => text,
    }
}

/// Parses the path of a file, which may be a `file://` URL.
pub(crate) fn parser() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().map(|path| PathBuf::from(local(path.into_os_string())))
}

/// The scheme and the server of a URL, without a user.
#[cfg(feature = "remote")]
pub(crate) fn server(url: &Path) -> String {
    let url = shown(url);
    let start = url.find("://").map_or(0, |at| at + 3);
    let len = url.get(start..).and_then(|rest| rest.find(['/', '[']));
    url.split_at(len.map_or(url.len(), |len| start + len)).0.to_owned()
}

/// Decodes what is percent-encoded; `None` if the result is not UTF-8.
fn decoded(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let byte = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(b'%'));
        bytes.extend(part.bytes().skip(if byte.is_some() { 2 } else { 0 }));
    }
    String::from_utf8(bytes).ok()
}

/// The message for a file that does not exist and has the name of a URL of another scheme.
pub(crate) fn of_unknown_scheme(message: &str) -> Option<String> {
    // On Windows, the path is not found.
    let message = match message.strip_suffix("(os error 3)") {
        Some(message) if cfg!(windows) => message,
        _ => message.strip_suffix("(os error 2)")?,
    };
    let (name, _) = message.rsplit_once(": cannot ")?;
    let (scheme, _) = name.split_once("://")?;
    let is_scheme = scheme.len() > 1 && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let known = "file://, s3://, gs://, az://, http:// or https://";
    is_scheme.then(|| format!("{name}: a URL of the scheme '{scheme}', expected {known}"))
}

fn without_secrets(url: &str) -> String {
    let (url, query) = url.split_at(url.find(['?', '#']).unwrap_or(url.len()));
    let member = query.rfind('[').filter(|_| query.ends_with(']'));
    let member = member.map_or("", |start| query.split_at(start).1);
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

    use super::{local, of_unknown_scheme, shown, without_queries};

    #[test]
    fn urls_of_files_are_paths() {
        for (text, expected) in [
            ("file:///a/b.npy", "/a/b.npy"),
            ("file://localhost/a%20b%25.npz[x]", "/a b%.npz[x]"),
            ("file:///%C3%A9%zz%", "/é%zz%"),
            ("file:///%ff", "file:///%ff"),
            ("file://host/a.npy", "file://host/a.npy"),
            ("a.npy", "a.npy"),
        ] {
            assert_eq!(local(text.into()), expected);
        }
    }

    #[test]
    fn other_schemes_are_named() {
        let text = "ftp://h/a.npy: cannot open: No such file or directory (os error 2)";
        let named = of_unknown_scheme(text).unwrap();
        assert!(named.starts_with("ftp://h/a.npy: a URL of the scheme 'ftp', expected file://, "));
        assert_eq!(of_unknown_scheme(&text.replace("ftp://h/", "")), None);
        assert_eq!(of_unknown_scheme(&text.replace("error 2", "error 13")), None);
    }

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

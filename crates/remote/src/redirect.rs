//! Redirects, which take no secret to another server.

use std::error::Error;
use std::fmt;

use object_store::client::{HttpError, HttpErrorKind, HttpRequest, HttpResponse};
use url::Url;

/// The most redirects of a request.
pub(super) const MOST: usize = 10;

/// The headers that another server may get. Any other can be a secret.
const HARMLESS: [&str; 10] = [
    "accept",
    "date",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-unmodified-since",
    "range",
    "user-agent",
    "x-ms-date",
    "x-ms-version",
];

/// The target URL of a redirect.
pub(super) fn location(response: &HttpResponse) -> Option<&str> {
    let is_redirect = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    if !is_redirect {
        return None;
    }
    response.headers().get("location")?.to_str().ok()
}

/// The request to send instead of a redirected request.
pub(super) fn follow(mut request: HttpRequest, location: &str) -> Result<HttpRequest, HttpError> {
    let from = Url::parse(&request.uri().to_string()).map_err(|_| Refusal::Url.into_error())?;
    let to = target(&from, location).ok_or_else(|| Refusal::Url.into_error())?;
    let origin = to.origin().ascii_serialization();
    if !["GET", "HEAD"].contains(&request.method().as_str()) {
        return Err(Refusal::Write(origin).into_error());
    }
    if from.scheme() == "https" && to.scheme() != "https" {
        return Err(Refusal::Unencrypted(origin).into_error());
    }
    let is_harmless = request.headers().keys().all(|name| HARMLESS.contains(&name.as_str()));
    if from.origin() != to.origin() && !is_harmless {
        return Err(Refusal::Secret(origin).into_error());
    }
    *request.uri_mut() = to.as_str().parse().map_err(|_| Refusal::Url.into_error())?;
    Ok(request)
}

/// Where a redirect leads.
fn target(from: &Url, location: &str) -> Option<Url> {
    let mut to = from.join(location).ok()?;
    let is_web = ["http", "https"].contains(&to.scheme());
    to.set_fragment(None);
    to.set_username("").and_then(|()| to.set_password(None)).ok().filter(|()| is_web)?;
    Some(to)
}

/// Why a redirect is not followed. The texts have no path, which can be a secret.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It leads to no URL.
    Url,
    /// The request is not only a read.
    Write(String),
    /// It has credentials, which another server would get.
    Secret(String),
    Unencrypted(String),
    TooMany,
}

impl Refusal {
    pub(super) fn into_error(self) -> HttpError {
        HttpError::new(HttpErrorKind::Unknown, self)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Url => f.write_str("the server redirects to something that is no web address"),
            Refusal::Write(to) => {
                write!(
                    f,
                    "the server redirects a write to {to}: name that server in the URL or as the endpoint"
                )
            }
            Refusal::Secret(to) => write!(
                f,
                "the server redirects to {to}, which does not get the credentials of this one: name that server in the URL or as the endpoint if it is the right one"
            ),
            Refusal::Unencrypted(to) => {
                write!(f, "the server redirects from https to {to}, which is not encrypted")
            }
            Refusal::TooMany => write!(f, "the server redirects more than {MOST} times"),
        }
    }
}

impl Error for Refusal {}

#[cfg(test)]
mod tests {
    use object_store::client::HttpRequestBody;

    use super::*;

    /// Where a request with these headers is redirected.
    fn redirected(
        method: &str,
        from: &str,
        headers: &[&'static str],
        location: &str,
    ) -> Result<String, String> {
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        *request.method_mut() = method.parse().unwrap();
        *request.uri_mut() = from.parse().unwrap();
        for &name in headers {
            request.headers_mut().insert(name, "x".parse().unwrap());
        }
        match follow(request, location) {
            Ok(request) => Ok(request.uri().to_string()),
            Err(error) => Err(error.source().unwrap().to_string()),
        }
    }

    #[test]
    fn redirects_keep_secrets_at_their_server() {
        let from = "https://a.b/c/d?sig=1";
        let followed = |headers: &[&'static str], to: &str| redirected("GET", from, headers, to);
        for (headers, to, expected) in [
            (&[][..], "https://x.y/z?k=2#f", "https://x.y/z?k=2"),
            (&["range", "if-match"], "//x.y:444/z", "https://x.y:444/z"),
            (&["range"], "https://me:word@x.y/z", "https://x.y/z"),
            (&["authorization", "x-amz-security-token"], "e", "https://a.b/c/e"),
            (&["authorization"], "https://A.B:443/e f", "https://a.b/e%20f"),
        ] {
            assert_eq!(followed(headers, to).unwrap(), expected);
        }
        let secret = "the server redirects to https://x.y, which does not get the credentials";
        for (header, to, text) in [
            ("authorization", "https://x.y/sig", secret),
            ("x-amz-security-token", "https://x.y?sig", secret),
            ("x-aws-ec2-metadata-token", "https://x.y/sig", secret),
            ("cookie", "https://x.y/sig", secret),
            ("authorization", "https://a.b:444/sig", "the server redirects to https://a.b:444, "),
            ("range", "http://a.b/sig", "the server redirects from https to http://a.b, which"),
            ("range", "ftp://a.b/sig", "the server redirects to something that is no web address"),
            ("range", "https://[sig", "the server redirects to something that is no web address"),
        ] {
            let error = followed(&[header], to).unwrap_err();
            assert!(error.starts_with(text) && !error.contains("sig"), "{error}");
        }
        assert!(redirected("HEAD", from, &[], "https://x.y/z").is_ok());
        for method in ["PUT", "POST", "DELETE"] {
            let error = redirected(method, from, &[], "/sig").unwrap_err();
            assert!(error.starts_with("the server redirects a write to https://a.b: "), "{error}");
        }
    }
}

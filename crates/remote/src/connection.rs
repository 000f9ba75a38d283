//! Connections that fail soon if there never was one, take no secret to another server, and
//! read little of responses that are not parts of an object.

use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
    HttpResponse, HttpService,
};
use object_store::{ClientOptions, Result as StoreResult};
use reqwest::header::HeaderName;

use super::client;
use super::redirect::{self, Refusal};

/// How often the first connection is tried. A wrong name or port does not become right,
/// but the answer of a name server can be lost.
const ATTEMPTS: u32 = 3;

/// The most bytes to read of a response that is not part of an object.
const SHORT: usize = 64 << 10;

/// Headers of the caller, which each request has. Their values can be credentials.
#[derive(Clone, Default)]
pub(super) struct Headers(Vec<(String, String)>);

impl Headers {
    pub(super) fn push(&mut self, name: String, value: String) {
        self.0.push((name, value));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns what is wrong, if a header is none.
    pub(super) fn check(&self) -> Result<(), String> {
        self.add(&mut HttpRequest::new(HttpRequestBody::empty()))
    }

    /// Adds the headers to a request, in place of its own.
    fn add(&self, request: &mut HttpRequest) -> Result<(), String> {
        self.0.iter().try_for_each(|(name, value)| {
            let parsed = name.parse().ok().zip(value.parse().ok());
            let (name, value) = parsed.ok_or_else(|| name.clone())?;
            request.headers_mut().insert::<HeaderName>(name, value);
            Ok(())
        })
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// Connects as `object_store` does by default, but follows fewer redirects.
#[derive(Debug)]
pub(super) struct Connector(pub(super) Headers);

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> StoreResult<HttpClient> {
        let client = client::new(options)?;
        let (was_answered, failures) = (AtomicBool::new(false), AtomicU32::new(0));
        let headers = self.0.clone();
        Ok(HttpClient::new(Connection { client, headers, was_answered, failures }))
    }
}

/// A client that reports an unreachable server by an error without retries, unless the
/// server has answered before.
#[derive(Debug)]
struct Connection {
    client: HttpClient,
    headers: Headers,
    was_answered: AtomicBool,
    failures: AtomicU32,
}

impl Connection {
    async fn send(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        // They were checked.
        self.headers.add(&mut request).ok();
        let is_get = request.method().as_str() == "GET";
        let has_range = request.headers().contains_key("range");
        let answer = self.follow(request).await;
        let error = match answer {
            Ok(response) => {
                self.was_answered.store(true, Ordering::Relaxed);
                let is_part = is_get && response.status().is_success();
                return match is_part {
                    true if has_range => Ok(with_length(response)),
                    true => Ok(response),
                    false => with_short_body(response).await,
                };
            }
            Err(error) => error,
        };
        let is_unreachable =
            matches!(error.kind(), HttpErrorKind::Connect | HttpErrorKind::Timeout)
                && !self.was_answered.load(Ordering::Relaxed);
        if is_unreachable && self.failures.fetch_add(1, Ordering::Relaxed) + 1 >= ATTEMPTS {
            return Err(HttpError::new(HttpErrorKind::Unknown, Unreachable(error)));
        }
        Err(error)
    }

    /// Sends a request, and follows its redirects.
    async fn follow(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        for _ in 0..=redirect::MOST {
            let response = self.client.execute(request.clone()).await?;
            let Some(location) = redirect::location(&response) else { return Ok(response) };
            request = redirect::follow(request, location)?;
        }
        Err(Refusal::TooMany.into_error())
    }
}

/// Adds the length to the response to a request for a range that is sent in chunks:
/// `object_store` asks for it first.
fn with_length(mut response: HttpResponse) -> HttpResponse {
    let headers = response.headers();
    if !headers.contains_key("content-length") {
        let range = headers.get("content-range").and_then(|range| range.to_str().ok());
        // If there is no range, that is the error, whatever the length.
        let len = range.and_then(len_of).unwrap_or(0);
        response.headers_mut().insert("content-length", len.into());
    }
    response
}

/// The length of the range `bytes first-last/size`.
fn len_of(range: &str) -> Option<u64> {
    let (first, last) = range.strip_prefix("bytes ")?.split_once('/')?.0.split_once('-')?;
    last.parse::<u64>().ok()?.checked_sub(first.parse().ok()?)?.checked_add(1)
}

/// Replaces the body by valid text of limited length. `object_store` allocates as much memory
/// as the server claims to send, and forgets the status of an error if its body is cut or not
/// UTF-8.
async fn with_short_body(response: HttpResponse) -> Result<HttpResponse, HttpError> {
    let (parts, body) = response.into_parts();
    let mut body = body.bytes_stream();
    let mut start = Vec::new();
    while let Some(bytes) = poll_fn(|context| body.as_mut().poll_next(context)).await {
        match bytes {
            Ok(bytes) => start.extend(bytes.iter().take(SHORT - start.len())),
            Err(error) if parts.status.is_success() => return Err(error),
            Err(_) => break,
        }
        if start.len() == SHORT {
            break;
        }
    }
    let text = String::from_utf8_lossy(&start).into_owned();
    Ok(HttpResponse::from_parts(parts, text.into()))
}

type Answer<'a> = Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'a>>;

impl HttpService for Connection {
    // The signature of `async_trait`.
    fn call<'s, 'a>(&'s self, request: HttpRequest) -> Answer<'a>
    where
        's: 'a,
        Self: 'a,
    {
        Box::pin(self.send(request))
    }
}

/// The last error of a server that never answered.
#[derive(Debug)]
pub(super) struct Unreachable(pub(super) HttpError);

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cause: &dyn Error = &self.0;
        while let Some(source) = cause.source() {
            cause = source;
        }
        write!(f, "the server cannot be reached, {ATTEMPTS} attempts: {cause}")
    }
}

impl Error for Unreachable {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

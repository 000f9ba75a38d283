//! Connections that fail soon if there never was one.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
    ReqwestConnector,
};
use object_store::{ClientOptions, Result};

/// How often the first connection is tried. A wrong name or port does not become right,
/// but the answer of a name server can be lost.
const ATTEMPTS: u32 = 3;

/// Connects as `object_store` does by default.
#[derive(Debug)]
pub(super) struct Connector;

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> Result<HttpClient> {
        let client = ReqwestConnector::default().connect(options)?;
        let (was_answered, failures) = (AtomicBool::new(false), AtomicU32::new(0));
        Ok(HttpClient::new(Connection { client, was_answered, failures }))
    }
}

/// A client that reports, in a way that is not retried, that the server can't be
/// reached, unless it has answered before.
#[derive(Debug)]
struct Connection {
    client: HttpClient,
    was_answered: AtomicBool,
    failures: AtomicU32,
}

impl Connection {
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let answer = self.client.execute(request).await;
        let Err(error) = answer else {
            self.was_answered.store(true, Ordering::Relaxed);
            return answer;
        };
        let is_unreachable =
            matches!(error.kind(), HttpErrorKind::Connect | HttpErrorKind::Timeout)
                && !self.was_answered.load(Ordering::Relaxed);
        if is_unreachable && self.failures.fetch_add(1, Ordering::Relaxed) + 1 >= ATTEMPTS {
            return Err(HttpError::new(HttpErrorKind::Unknown, Unreachable(error)));
        }
        Err(error)
    }
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

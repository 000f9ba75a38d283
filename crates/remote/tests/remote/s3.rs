//! A server that takes objects as Amazon S3 does, whole or in parts, and can fail.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use npymap_remote::object_store::aws::{AmazonS3, AmazonS3Builder};
use npymap_remote::object_store::{BackoffConfig, ClientOptions, RetryConfig};

/// The kinds of requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Head,
    Put,
    Start,
    Part,
    Finish,
    Abort,
}

/// How the server answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Answer {
    Normal,
    /// Fails with this status, and does nothing.
    Status(u16),
    /// Closes the connection before it does anything.
    Closed,
    /// Does what was asked, and closes the connection.
    Lost,
    /// Never answers.
    Nothing,
}

#[derive(Default)]
pub(crate) struct Bucket {
    pub(crate) objects: BTreeMap<String, Vec<u8>>,
    /// Incomplete uploads, by their number.
    pub(crate) uploads: BTreeMap<String, BTreeMap<usize, Vec<u8>>>,
    pub(crate) log: Vec<Kind>,
}

type Choose = dyn Fn(usize, Kind) -> Answer + Send + Sync;

struct Shared {
    objects: Mutex<Bucket>,
    choose: Box<Choose>,
}

pub(crate) struct S3 {
    shared: Arc<Shared>,
    pub(crate) endpoint: String,
}

impl S3 {
    pub(crate) fn new() -> S3 {
        S3::failing(|_, _| Answer::Normal)
    }

    /// Chooses the answer to a request by how many of its kind there were before.
    pub(crate) fn failing(choose: impl Fn(usize, Kind) -> Answer + Send + Sync + 'static) -> S3 {
        let shared = Shared { objects: Mutex::default(), choose: Box::new(choose) };
        let shared = Arc::new(shared);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, shared) = (stream.unwrap(), Arc::clone(&accepting));
                thread::spawn(move || while answer(&stream, &shared).is_some() {});
            }
        });
        S3 { shared, endpoint }
    }

    pub(crate) fn objects(&self) -> MutexGuard<'_, Bucket> {
        self.shared.objects.lock().unwrap()
    }

    pub(crate) fn count(&self, kind: Kind) -> usize {
        self.objects().log.iter().filter(|logged| **logged == kind).count()
    }

    /// A store with short waits and at most three retries.
    pub(crate) fn store(&self) -> Arc<AmazonS3> {
        let backoff = BackoffConfig {
            init_backoff: Duration::from_millis(1),
            max_backoff: Duration::from_millis(5),
            ..BackoffConfig::default()
        };
        let retry = RetryConfig { backoff, max_retries: 3, ..RetryConfig::default() };
        let builder = AmazonS3Builder::new()
            .with_endpoint(&self.endpoint)
            .with_client_options(ClientOptions::new().with_allow_http(true))
            .with_bucket_name("bucket")
            .with_skip_signature(true)
            .with_retry(retry);
        Arc::new(builder.build().unwrap())
    }
}

/// Answers one request; `None` if the connection is to be closed.
fn answer(mut stream: &TcpStream, shared: &Shared) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        match reader.read_line(&mut line).ok()? {
            0 => return None,
            2 => break,
            _ => lines.push(line.trim_end().to_owned()),
        }
    }
    let mut words = lines.first()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let len = header(&lines, "content-length").map_or(0, |len| len.parse().unwrap());
    let mut body = vec![0; len];
    reader.read_exact(&mut body).ok()?;
    let kind = match (method, query) {
        ("HEAD", _) => Kind::Head,
        ("PUT", "") => Kind::Put,
        ("POST", "uploads" | "uploads=") => Kind::Start,
        ("PUT", _) => Kind::Part,
        ("POST", _) => Kind::Finish,
        ("DELETE", _) => Kind::Abort,
        _ => panic!("{target}"),
    };
    let mut objects = shared.objects.lock().unwrap();
    let before = objects.log.iter().filter(|logged| **logged == kind).count();
    objects.log.push(kind);
    let chosen = (shared.choose)(before, kind);
    let is_create = header(&lines, "if-none-match").is_some();
    let (status, text) = match chosen {
        Answer::Status(status) => (status, "<Error/>".to_owned()),
        Answer::Closed => return None,
        Answer::Nothing => {
            drop(objects);
            thread::sleep(Duration::from_secs(3600));
            return None;
        }
        Answer::Normal | Answer::Lost => objects.act(kind, path, query, body, is_create),
    };
    drop(objects);
    if chosen == Answer::Lost {
        return None;
    }
    let head = format!(
        "HTTP/1.1 {status} Text\r\nETag: \"tag\"\r\nLast-Modified: Sun, 22 Nov 2026 18:00:00 GMT\r\nContent-Length: {}\r\n\r\n",
        text.len()
    );
    let text = if kind == Kind::Head { "" } else { &text };
    // At once: a second write would wait until the client acknowledges the first one.
    stream.write_all((head + text).as_bytes()).ok()
}

impl Bucket {
    /// Does what was asked, and returns the status and the body.
    fn act(
        &mut self,
        kind: Kind,
        path: &str,
        query: &str,
        body: Vec<u8>,
        is_create: bool,
    ) -> (u16, String) {
        let exists = self.objects.contains_key(path);
        let id = parameter(query, "uploadId").unwrap_or_default();
        match kind {
            Kind::Head if exists => (200, String::new()),
            Kind::Head => (404, String::new()),
            Kind::Put if is_create && exists => (412, "<Error/>".to_owned()),
            Kind::Put => {
                self.objects.insert(path.to_owned(), body);
                (200, String::new())
            }
            Kind::Start => {
                let id = format!("upload-{}", self.log.len());
                self.uploads.insert(id.clone(), BTreeMap::new());
                let text = format!(
                    "<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>"
                );
                (200, text)
            }
            Kind::Part => {
                let number = parameter(query, "partNumber").unwrap().parse().unwrap();
                match self.uploads.get_mut(&id) {
                    Some(parts) => drop(parts.insert(number, body)),
                    None => return (404, "<Error><Code>NoSuchUpload</Code></Error>".to_owned()),
                }
                (200, String::new())
            }
            Kind::Finish => {
                let Some(parts) = self.uploads.remove(&id) else {
                    return (404, "<Error><Code>NoSuchUpload</Code></Error>".to_owned());
                };
                let named = String::from_utf8(body).unwrap().matches("<PartNumber>").count();
                assert_eq!(named, parts.len());
                let last = parts.len();
                assert!(
                    parts.iter().all(|(number, part)| *number == last || part.len() >= 5 << 20)
                );
                let parts: Vec<_> = parts.into_values().collect();
                self.objects.insert(path.to_owned(), parts.concat());
                let text = "<CompleteMultipartUploadResult><ETag>tag</ETag></CompleteMultipartUploadResult>";
                (200, text.to_owned())
            }
            Kind::Abort => {
                self.uploads.remove(&id);
                (204, String::new())
            }
        }
    }
}

fn header(lines: &[String], name: &str) -> Option<String> {
    let mut values = lines.iter().filter_map(|line| line.split_once(": "));
    values.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
}

fn parameter(query: &str, name: &str) -> Option<String> {
    let mut values = query.split('&').filter_map(|pair| pair.split_once('='));
    values.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
}

//! A web server with ranges and entity tags, which counts requests and can fail.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// How the server answers a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Action {
    Answer,
    /// Answers with this status and no file.
    Status(u16),
    /// Answers with this status and a page without an end.
    Endless(u16),
    /// Answers with this status and a page in Latin-1.
    Latin(u16),
    /// Answers with this status and closes the connection inside the page.
    Cut(u16),
    /// Sends the headers and half of the body, and closes the connection.
    Half,
    /// Sends half of the body as if it were all, but says it is the whole range.
    Less,
    /// Sends more than the range.
    More,
    /// Sends the bytes of another range.
    Shifted,
    /// Sends the whole file with status 200.
    Whole,
    /// Sends no entity tag.
    Untagged,
    /// Sends the body in chunks, without its length.
    Chunked,
    /// Sends the whole file with status 200 in chunks, without its length.
    WholeChunked,
    /// Redirects by this status to this URL.
    Redirect(u16, &'static str),
    /// Closes the connection without an answer.
    Close,
    /// Never answers.
    Nothing,
    /// Sends a byte of the body every 20 milliseconds.
    Trickle,
    /// Answers after this number of milliseconds.
    Late(u64),
    /// Answers when this number of requests have arrived and none is answered.
    Together(usize),
}

/// Which entity tags there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Tags {
    Strong,
    Weak,
    None,
    /// There is one, but the server ignores conditions.
    Ignored,
}

/// A request: its method, its path with the query, its range, and whether it has a condition.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) range: Option<(u64, u64)>,
    pub(crate) if_match: Option<String>,
    pub(crate) if_none_match: Option<String>,
}

struct State {
    file: Arc<Vec<u8>>,
    version: u64,
    tags: Tags,
    log: Vec<Request>,
    /// The lines of their headers.
    lines: Vec<Vec<String>>,
    /// The number of requests so far.
    count: usize,
    /// Requests that wait for others.
    waiting: usize,
    /// How often as many as were awaited have waited.
    rounds: usize,
    /// The bytes of pages without an end that were sent.
    sent: usize,
}

type Choose = dyn Fn(usize, &Request) -> Action + Send + Sync;

struct Shared {
    state: Mutex<State>,
    arrived: Condvar,
    choose: Box<Choose>,
}

/// A server with one file, which has every path but `/missing` and those of other errors.
pub(crate) struct Server {
    shared: Arc<Shared>,
    port: u16,
}

impl Server {
    /// Starts a server that answers every request.
    pub(crate) fn new(file: Vec<u8>) -> Server {
        Server::failing(file, Tags::Strong, |_, _| Action::Answer)
    }

    /// Starts a server that chooses what to do with the requests, numbered from 0.
    pub(crate) fn failing(
        file: Vec<u8>,
        tags: Tags,
        choose: impl Fn(usize, &Request) -> Action + Send + Sync + 'static,
    ) -> Server {
        let state = State {
            file: Arc::new(file),
            version: 1,
            tags,
            log: Vec::new(),
            lines: Vec::new(),
            count: 0,
            waiting: 0,
            rounds: 0,
            sent: 0,
        };
        let shared =
            Shared { state: Mutex::new(state), arrived: Condvar::new(), choose: Box::new(choose) };
        let shared = Arc::new(shared);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, shared) = (stream.unwrap(), Arc::clone(&accepting));
                thread::spawn(move || serve(&stream, &shared));
            }
        });
        Server { shared, port }
    }

    pub(crate) fn url(&self, name: &str) -> String {
        format!("http://127.0.0.1:{}/{name}", self.port)
    }

    /// Takes the log of requests.
    pub(crate) fn log(&self) -> Vec<Request> {
        std::mem::take(&mut self.shared.state.lock().unwrap().log)
    }

    /// Takes the lines of all requests, the first ones included.
    pub(crate) fn lines(&self) -> Vec<Vec<String>> {
        std::mem::take(&mut self.shared.state.lock().unwrap().lines)
    }

    /// How often as many requests as were awaited waited at the same time.
    pub(crate) fn rounds(&self) -> usize {
        self.shared.state.lock().unwrap().rounds
    }

    /// The bytes of pages without an end that were sent.
    pub(crate) fn sent(&self) -> usize {
        self.shared.state.lock().unwrap().sent
    }

    /// Replaces the file.
    pub(crate) fn replace(&self, file: Vec<u8>) {
        let mut state = self.shared.state.lock().unwrap();
        state.file = Arc::new(file);
        state.version += 1;
    }

    /// Sends other entity tags from now on.
    pub(crate) fn set_tags(&self, tags: Tags) {
        self.shared.state.lock().unwrap().tags = tags;
    }
}

/// Answers requests until the connection is closed.
fn serve(stream: &TcpStream, shared: &Shared) {
    let mut reader = BufReader::new(stream);
    while let Some((request, lines)) = read_request(&mut reader) {
        let path = request.path.split('?').next().unwrap();
        let number = {
            let mut state = shared.state.lock().unwrap();
            state.log.push(request.clone());
            state.lines.push(lines);
            state.count += 1;
            state.count - 1
        };
        let action = match (shared.choose)(number, &request) {
            _ if path == "/missing" => Action::Status(404),
            _ if path == "/denied" => Action::Status(403),
            _ if path == "/private" => Action::Status(401),
            _ if path == "/bad" => Action::Status(400),
            _ if path == "/loop" => Action::Status(302),
            action => action,
        };
        match action {
            Action::Late(time) => thread::sleep(Duration::from_millis(time)),
            Action::Together(count) => wait_for(shared, count),
            Action::Close => return,
            Action::Nothing => thread::sleep(Duration::from_secs(3600)),
            Action::Endless(status) | Action::Latin(status) | Action::Cut(status) => {
                send_page(stream, shared, action, status);
                return;
            }
            _ => {}
        }
        if !answer(stream, shared, &request, action) {
            return;
        }
    }
}

/// Sends an error page, and closes the connection.
fn send_page(mut stream: &TcpStream, shared: &Shared, action: Action, status: u16) {
    let len = if action == Action::Latin(status) { 7 } else { 1_u64 << 40 };
    let head = format!("HTTP/1.1 {status} Text\r\nContent-Length: {len}\r\n\r\n");
    stream.write_all(&[head.as_bytes(), b"no f\xefle"].concat()).ok();
    let page = vec![b'x'; 1 << 20];
    while action == Action::Endless(status) && stream.write_all(&page).is_ok() {
        shared.state.lock().unwrap().sent += page.len();
    }
}

/// Waits until as many requests have arrived.
fn wait_for(shared: &Shared, count: usize) {
    let mut state = shared.state.lock().unwrap();
    state.waiting += 1;
    if state.waiting == count {
        state.waiting = 0;
        state.rounds += 1;
        shared.arrived.notify_all();
        return;
    }
    let round = state.rounds;
    let wait = shared
        .arrived
        .wait_timeout_while(state, Duration::from_secs(300), |state| state.rounds == round);
    drop(wait.unwrap());
}

fn read_request(reader: &mut BufReader<&TcpStream>) -> Option<(Request, Vec<String>)> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        let found = reader.read_line(&mut line).ok()?;
        match line.trim_end() {
            _ if found == 0 => return None,
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let (method, rest) = lines.first()?.split_once(' ')?;
    let path = rest.split(' ').next()?.to_owned();
    let range = header(&lines, "range").map(|range| {
        let (start, end) = range.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
        (start.parse().unwrap(), end.parse::<u64>().unwrap() + 1)
    });
    let len = header(&lines, "content-length").map_or(0, |len| len.parse().unwrap());
    reader.take(len).read_to_end(&mut Vec::new()).ok()?;
    let [if_match, if_none_match] = ["if-match", "if-none-match"].map(|name| header(&lines, name));
    let method = method.to_owned();
    Some((Request { method, path, range, if_match, if_none_match }, lines))
}

/// The value of a header.
fn header(lines: &[String], name: &str) -> Option<String> {
    let mut values = lines.iter().filter_map(|line| line.split_once(": "));
    values.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
}

/// An entity tag, as it is compared by `If-None-Match`.
fn strong(tag: Option<&String>) -> Option<&str> {
    tag.map(|tag| tag.strip_prefix("W/").unwrap_or(tag))
}

/// Answers a request. Returns whether the connection stays open.
fn answer(mut stream: &TcpStream, shared: &Shared, request: &Request, action: Action) -> bool {
    let (file, version, tags) = {
        let state = shared.state.lock().unwrap();
        (Arc::clone(&state.file), state.version, state.tags)
    };
    let tag = match tags {
        Tags::Strong | Tags::Ignored => Some(format!("\"version {version}\"")),
        Tags::Weak => Some(format!("W/\"version {version}\"")),
        Tags::None => None,
    };
    let is_other = tags != Tags::Ignored && request.if_match.is_some() && request.if_match != tag;
    let size = u64::try_from(file.len()).unwrap();
    let status = match (action, request.range) {
        (Action::Status(status) | Action::Redirect(status, _), _) => status,
        _ if is_other => 412,
        _ if tag.is_some() && strong(request.if_none_match.as_ref()) == strong(tag.as_ref()) => 304,
        (Action::Whole | Action::WholeChunked, _) | (_, None) => 200,
        (_, Some((start, _))) if start >= size => 416,
        _ => 206,
    };
    let (start, end) = match request.range {
        Some((start, end)) if status == 206 => (start, end.min(size)),
        _ => (0, size),
    };
    let (from, to) = match action {
        Action::Shifted => (start + 1, end + 1),
        Action::More => (start, end + 5),
        Action::Less => (start, start + (end - start) / 2),
        _ => (start, end),
    };
    let [from, to] = [from, to].map(|at| usize::try_from(at.min(size)).unwrap());
    let body = if status == 304 {
        &[]
    } else if status < 400 {
        &file[from..to]
    } else {
        b"no file\x1b[31m"
    };
    let len = match action {
        Action::Chunked | Action::WholeChunked => "Transfer-Encoding: chunked".to_owned(),
        _ => format!("Content-Length: {}", body.len()),
    };
    let mut head = vec![
        format!("HTTP/1.1 {status} Text"),
        len,
        format!("Last-Modified: Sun, 22 Nov 2026 18:00:{version:02} GMT"),
    ];
    if let Action::Redirect(_, to) = action {
        head.push(format!("Location: {to}"));
    } else if status == 302 {
        head.push(format!("Location: {}", request.path));
    }
    if tags == Tags::Strong {
        // Equal bytes that are uploaded again get another number.
        let number = shared.state.lock().unwrap().count;
        head.push(format!("x-amz-version-id: {number}"));
    }
    head.extend(tag.filter(|_| action != Action::Untagged).map(|tag| format!("ETag: {tag}")));
    if status == 206 {
        let shift = u64::from(action == Action::Shifted);
        let (first, last) = (start + shift, end + shift - 1);
        head.push(format!("Content-Range: bytes {first}-{last}/{size}"));
    }
    let chunked: Vec<u8>;
    let body = match action {
        _ if request.method == "HEAD" => &[],
        Action::Half => &body[..body.len() / 2],
        Action::Chunked | Action::WholeChunked => {
            let chunks = body.chunks(30_000).chain([&[][..]]);
            let chunks = chunks
                .map(|part| [format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat());
            chunked = chunks.collect::<Vec<_>>().concat();
            &chunked
        }
        _ => body,
    };
    let head = format!("{}\r\n\r\n", head.join("\r\n"));
    let sent = match action {
        Action::Trickle => stream.write_all(head.as_bytes()).and_then(|()| {
            body.iter().try_for_each(|&byte| {
                thread::sleep(Duration::from_millis(20));
                stream.write_all(&[byte])
            })
        }),
        // At once: a second write would wait until the client acknowledges the first one.
        _ => stream.write_all(&[head.as_bytes(), body].concat()),
    };
    sent.is_ok() && action != Action::Half
}

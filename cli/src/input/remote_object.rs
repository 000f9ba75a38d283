//! Reads objects of stores and web servers, and writes them to stores.

use std::env;
use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use npymap::source::MapMut;
use npymap::{Error, ErrorKind, Result, Source};
use npymap_remote::{Cache, Remote, RemoteOptions, RemoteWriter, interruptible};

use crate::input::lengths::to_usize;
use crate::input::progress::Progress;
use crate::input::url::{self, is_url};

/// The objects that were opened: a command opens a file several times.
static OPENED: Mutex<Vec<(PathBuf, Remote)>> = Mutex::new(Vec::new());

/// Opens a URL; `None` for other paths.
fn open_url(path: &Path) -> Result<Option<Remote>> {
    let (Some(url), true) = (path.to_str(), is_url(path)) else { return Ok(None) };
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, object)) = opened.iter().find(|(known, _)| known == path) {
        return Ok(Some(object.clone()));
    }
    check_server(path)?;
    let object = options()?.open(url)?;
    opened.push((path.to_owned(), object.clone()));
    Ok(Some(object))
}

/// The headers of each request.
static HEADERS: OnceLock<Vec<(String, String)>> = OnceLock::new();

/// The server that gets the headers.
static SERVER: OnceLock<String> = OnceLock::new();

/// Sets the headers of each request.
pub(crate) fn set_headers(headers: Vec<(String, String)>) {
    let _ = HEADERS.set(headers);
}

fn headers() -> &'static [(String, String)] {
    HEADERS.get().map(Vec::as_slice).unwrap_or_default()
}

/// Options with these headers.
fn with_headers() -> RemoteOptions {
    headers().iter().fold(RemoteOptions::new(), |all, (name, value)| all.header(name, value))
}

/// Rejects a URL of another server if there are headers, which can be secret.
fn check_server(path: &Path) -> Result<()> {
    if headers().is_empty() {
        return Ok(());
    }
    let server = url::server(path);
    let known = SERVER.get_or_init(|| server.clone());
    if *known == server {
        return Ok(());
    }
    let text = format!(
        "--http-header is for one server, which is {known}: name URLs of one server, and copy those of others to files"
    );
    Err(Error::new(ErrorKind::InvalidInput, text))
}

/// The options with which objects are opened, with the cache that the environment names.
fn options() -> Result<RemoteOptions> {
    let all = with_headers().whole(WHOLE);
    let Some(directory) = env::var_os("NPYMAP_CACHE").filter(|value| !value.is_empty()) else {
        return Ok(all);
    };
    let bytes = match env::var("NPYMAP_CACHE_BYTES") {
        Ok(text) => text.parse().map_err(|_| {
            let text = format!("NPYMAP_CACHE_BYTES='{}': expected a number", text.escape_debug());
            Error::new(ErrorKind::InvalidInput, text)
        })?,
        Err(_) => CACHE_BYTES,
    };
    let cache = Cache::open(&directory, bytes).map_err(|error| {
        let text = format!("NPYMAP_CACHE='{}': {}", directory.display(), error.message());
        // Of another kind, so that it is not taken for one about the object.
        Error::new(ErrorKind::Other, text)
    })?;
    Ok(all.cache(&cache))
}

/// Larger objects are not downloaded from servers that send whole files only.
const WHOLE: u64 = 1 << 30;

/// The size of the cache, by default.
const CACHE_BYTES: u64 = 16 << 30;

/// The source of a URL; `None` for other paths.
pub(crate) fn source(path: &Path) -> Result<Option<Source<MapMut>>> {
    Ok(open_url(path)?.map(|object| object.source()))
}

/// An object that is written.
pub(crate) type Upload = RemoteWriter;

/// Starts to write to a URL; `None` for other paths.
pub(crate) fn upload(path: &Path, overwrites: bool) -> Result<Option<Upload>> {
    let (Some(url), true) = (path.to_str(), is_url(path)) else { return Ok(None) };
    check_server(path)?;
    with_headers().overwrite(overwrites).create(url).map(Some)
}

/// Sends a complete file. If a signal interrupts it, the store removes what it got.
pub(crate) fn finish(upload: Upload, file: File) -> Result<()> {
    let _sending = Sending::start();
    interruptible(|| INTERRUPTED.load(Ordering::Relaxed), || send(upload, file))
}

fn send(mut upload: Upload, mut file: File) -> Result<()> {
    file.rewind()?;
    let mut progress = Progress::new(to_usize(file.metadata()?.len()));
    let mut bytes = vec![0; 1 << 20];
    loop {
        match file.read(&mut bytes)? {
            0 => return upload.finish(),
            len => {
                upload.write_all(bytes.split_at(len).0)?;
                progress.add(len);
            }
        }
    }
}

/// Whether a signal ends the program.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether an object is being sent.
static SENDING: Mutex<bool> = Mutex::new(false);

/// Signals that nothing is being sent any more.
static SENT: Condvar = Condvar::new();

/// The time between two questions whether there was another signal.
const TICK: Duration = Duration::from_millis(50);

/// An object that is being sent. When it is dropped after a signal, the thread of the signal
/// ends the program.
struct Sending;

impl Sending {
    fn start() -> Sending {
        *SENDING.lock().unwrap_or_else(PoisonError::into_inner) = true;
        Sending
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        *SENDING.lock().unwrap_or_else(PoisonError::into_inner) = false;
        SENT.notify_all();
        while INTERRUPTED.load(Ordering::Relaxed) {
            thread::park();
        }
    }
}

/// Ends an upload: waits until the store was asked to remove its parts, or there is another
/// signal.
pub(crate) fn end_upload(is_again: &mut dyn FnMut() -> bool) {
    INTERRUPTED.store(true, Ordering::Relaxed);
    let mut sending = SENDING.lock().unwrap_or_else(PoisonError::into_inner);
    while *sending && !is_again() {
        let waited = SENT.wait_timeout(sending, TICK);
        sending = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

//! A proxy that delays every byte and limits the rate of those from the server, as a
//! long link does.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::channel;
use tokio::time::{Instant, sleep, sleep_until};

use crate::Result;

/// The most bytes that are read at a time.
const CHUNK: usize = 64 << 10;

/// The most chunks of a connection that are under way.
const UNDER_WAY: usize = 1024;

/// The link is kept busy this long ahead, since timers are late by a millisecond.
const SLACK: Duration = Duration::from_millis(3);

/// A link that all connections share.
struct Link {
    /// When it is free.
    free: Mutex<Instant>,
    bytes_per_second: f64,
}

impl Link {
    /// Reserves the link for some bytes, and returns when they have passed it.
    fn reserve(&self, len: usize) -> Instant {
        let len = f64::from(u32::try_from(len).unwrap_or(u32::MAX));
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let time = Duration::from_secs_f64(len / self.bytes_per_second);
        *free = (*free).max(Instant::now()) + time;
        *free
    }
}

/// Delays connections to a port of this machine by `delay` milliseconds in each
/// direction, until the program is killed.
pub(crate) fn run(port: u16, server: u16, delay: u64, bytes_per_second: f64) -> Result<()> {
    let delay = Duration::from_millis(delay);
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build()?.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let link = Arc::new(Link { free: Mutex::new(Instant::now()), bytes_per_second });
        loop {
            let (client, _) = listener.accept().await?;
            tokio::spawn(forward(client, server, delay, Arc::clone(&link)));
        }
    })
}

async fn forward(client: TcpStream, server: u16, delay: Duration, link: Arc<Link>) {
    // The handshake takes a round trip, too.
    sleep(delay * 2).await;
    let Ok(server) = TcpStream::connect(("127.0.0.1", server)).await else { return };
    if client.set_nodelay(true).and(server.set_nodelay(true)).is_err() {
        return;
    }
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::spawn(pump(from_client, to_server, delay, None));
    pump(from_server, to_client, delay, Some(link)).await;
}

/// Copies bytes, each delayed.
async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    delay: Duration,
    link: Option<Arc<Link>>,
) {
    let (sender, mut receiver) = channel::<(Instant, Vec<u8>)>(UNDER_WAY);
    tokio::spawn(async move {
        while let Some((time, bytes)) = receiver.recv().await {
            sleep_until(time).await;
            if to.write_all(&bytes).await.is_err() {
                return;
            }
        }
    });
    loop {
        let mut bytes = Vec::with_capacity(CHUNK);
        if !matches!(from.read_buf(&mut bytes).await, Ok(1..)) {
            return;
        }
        let now = Instant::now();
        let passed = link.as_ref().map_or(now, |link| link.reserve(bytes.len()));
        if sender.send((passed + delay, bytes)).await.is_err() {
            return;
        }
        if passed > now + SLACK {
            sleep_until(passed - SLACK).await;
        }
    }
}

//! Waits for answers, which the caller can interrupt.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::errors;
use super::executor::shut_down;
use npymap::{Error, Result};

/// The time between two questions whether to go on.
const TICK: Duration = Duration::from_millis(50);

type Check = Rc<dyn Fn() -> bool>;

thread_local! {
    /// Whether this thread should go on waiting. `None` if it always should.
    static CHECK: RefCell<Option<Check>> = const { RefCell::new(None) };
    /// When that was checked last.
    static CHECKED: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Calls `run`, and lets you interrupt it while it waits for a server, for example by Ctrl-C.
///
/// Whenever this thread waits in `run`, it calls `is_interrupted` at first and every 50
/// milliseconds. If that returns true, the wait ends with an
/// [`Io`](npymap::ErrorKind::Io) error, and its requests are cancelled. Otherwise, it will
/// take up to [`RemoteOptions::request_timeout`](crate::RemoteOptions::request_timeout), by
/// default 5 minutes. Asynchronous functions don't need this. Drop the future instead.
///
/// # Examples
///
/// ```
/// use std::net::TcpListener;
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// use npymap_remote::{Remote, interruptible};
///
/// static IS_STOPPED: AtomicBool = AtomicBool::new(true); // usually set by a signal handler
///
/// let silent = TcpListener::bind("127.0.0.1:0")?; // a server that never answers
/// let url = format!("http://{}/a.npy", silent.local_addr()?);
/// let opened = interruptible(|| IS_STOPPED.load(Ordering::Relaxed), || Remote::open(&url));
/// assert!(opened.unwrap_err().to_string().ends_with("the wait for the server was interrupted"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn interruptible<T>(is_interrupted: impl Fn() -> bool + 'static, run: impl FnOnce() -> T) -> T {
    /// Puts back the outer call's check, even after a panic.
    struct Restore(Option<Check>);
    impl Drop for Restore {
        fn drop(&mut self) {
            CHECK.set(self.0.take());
        }
    }
    let _restore = Restore(CHECK.replace(Some(Rc::new(is_interrupted))));
    CHECKED.set(None);
    run()
}

/// Awaits a request and its repetitions, at most as long as the limit.
pub(super) async fn within<T>(
    limit: Option<Duration>,
    request: impl Future<Output = Result<T>>,
) -> Result<T> {
    let Some(limit) = limit else { return request.await };
    let answer = tokio::time::timeout(limit, request).await;
    answer.unwrap_or_else(|_| Err(errors::too_slow(limit)))
}

/// Waits for an answer.
pub(super) fn wait<T>(answer: &Receiver<Result<T>>) -> Result<T> {
    let check = CHECK.with_borrow(Clone::clone);
    let Some(is_interrupted) = check else {
        return answer.recv().unwrap_or_else(|_| Err(shut_down()));
    };
    loop {
        // Also if there are always answers.
        if CHECKED.get().is_none_or(|checked| checked.elapsed() >= TICK) {
            CHECKED.set(Some(Instant::now()));
            if is_interrupted() {
                // Not `Interrupted`, after which reads are tried again.
                let error = io::Error::other("the wait for the server was interrupted");
                return Err(Error::io("get an answer", error));
            }
        }
        match answer.recv_timeout(TICK) {
            Ok(answer) => return answer,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(shut_down()),
        }
    }
}

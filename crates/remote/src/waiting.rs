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
    /// Whether what this thread waits for is still wanted; `None` if it always is.
    static CHECK: RefCell<Option<Check>> = const { RefCell::new(None) };
    /// When that was checked last.
    static CHECKED: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Calls `run`, in which waits of this thread for servers can be interrupted: at first and
/// every 50 milliseconds they call `is_interrupted`, and if it returns true, they end with
/// an [`Io`](npymap::ErrorKind::Io) error, and their requests are cancelled.
///
/// Without it, a wait ends after the time of
/// [`RemoteOptions::request_timeout`](crate::RemoteOptions::request_timeout), which is minutes by
/// default. Waits that are awaited need no such function: drop the future.
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
    /// Puts back the check of an outer call, also after a panic.
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

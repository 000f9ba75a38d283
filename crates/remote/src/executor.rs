//! Runs requests on a runtime, and waits for them on any thread, or in any other runtime.

use std::future::Future;
use std::io;
use std::ops::Range;
use std::process;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::{AbortHandle, JoinSet};

use super::errors;
use super::object::Object;
use super::waiting::wait;
use npymap::{Error, Result};

/// This crate's runtime or the caller's.
#[derive(Clone, Debug)]
pub(super) struct Executor {
    handle: Handle,
    /// The process that has the runtime's threads: a forked child does not.
    process: u32,
}

/// This crate's runtime, and the process that started it.
static SHARED: Mutex<Option<(u32, &'static Runtime)>> = Mutex::new(None);

/// The number of threads in this crate's runtime. They wait for the network, decrypt
/// and copy.
const THREADS: usize = 2;

impl Executor {
    /// Uses a runtime of the caller.
    pub(super) fn new(handle: Handle) -> Executor {
        Executor { handle, process: process::id() }
    }

    /// The runtime of this crate, which is started when it is first needed.
    pub(super) fn shared() -> Result<Executor> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, runtime)) = shared.filter(|(process, _)| *process == process::id()) {
            return Ok(Executor::new(runtime.handle().clone()));
        }
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(THREADS).thread_name("npymap remote").enable_all();
        let runtime =
            runtime.build().map_err(|error| Error::io("start threads for requests", error))?;
        // It is never dropped: that would wait for threads which a forked process
        // does not have.
        let runtime: &'static Runtime = Box::leak(Box::new(runtime));
        *shared = Some((process::id(), runtime));
        Ok(Executor::new(runtime.handle().clone()))
    }

    /// Runs a future on the runtime and waits for it.
    pub(super) fn run<T: Send + 'static>(
        &self,
        future: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        self.check_process()?;
        let (sender, receiver) = mpsc::channel();
        let task = self.handle.spawn(async move { sender.send(future.await).ok() });
        let _cancelled = Requesting(task.abort_handle());
        wait(&receiver)
    }

    /// Runs a future like [`run`](Executor::run), but stops waiting after some time.
    pub(super) fn run_for<T: Send + 'static>(
        &self,
        time: Duration,
        future: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        self.check_process()?;
        let (sender, receiver) = mpsc::channel();
        self.handle.spawn(async move { sender.send(future.await).ok() });
        receiver.recv_timeout(time).unwrap_or_else(|_| Err(shut_down()))
    }

    /// Runs a future on the runtime, without waiting for it.
    pub(super) fn spawn(
        &self,
        future: impl Future<Output = ()> + Send + 'static,
    ) -> Result<AbortHandle> {
        self.check_process()?;
        Ok(self.handle.spawn(future).abort_handle())
    }

    /// Runs a future on the runtime and awaits it in any other. If this is cancelled, so is
    /// the future.
    pub(super) async fn run_async<T: Send + 'static>(
        &self,
        future: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        self.check_process()?;
        let mut task = JoinSet::new();
        task.spawn_on(future, &self.handle);
        match task.join_next().await {
            Some(Ok(result)) => result,
            _ => Err(shut_down()),
        }
    }

    /// Requests parts of an object. The number of permits limits the parts in flight.
    pub(super) fn start(&self, object: &Arc<Object>, parts: Vec<Range<u64>>) -> Result<Parts> {
        let (sender, receiver) = mpsc::channel();
        let requests = self.request(object, parts, move |part| drop(sender.send(part)))?;
        Ok(Parts { receiver, _requests: requests })
    }

    /// Requests parts like `start`, but asynchronously. They do not hold permits, because
    /// a future that you don't poll would keep other futures from making requests.
    pub(super) fn start_async(
        &self,
        object: &Arc<Object>,
        parts: Vec<Range<u64>>,
    ) -> Result<AsyncParts> {
        let (sender, receiver) = unbounded_channel();
        let requests = self.request(object, parts, move |part| {
            drop(sender.send(part.map(|part| Part { permit: None, ..part })));
        })?;
        Ok(AsyncParts { receiver, _requests: requests })
    }

    fn request(
        &self,
        object: &Arc<Object>,
        parts: Vec<Range<u64>>,
        deliver: impl Fn(Result<Part>) + Clone + Send + 'static,
    ) -> Result<Requesting> {
        self.check_process()?;
        let task = self.handle.spawn(request_all(Arc::clone(object), parts, deliver));
        Ok(Requesting(task.abort_handle()))
    }

    pub(super) fn check_process(&self) -> Result<()> {
        if self.process == process::id() {
            return Ok(());
        }
        Err(errors::forked())
    }
}

/// Parts of an object that arrive in any order. When it is dropped, requests that
/// have not been answered are cancelled.
pub(super) struct Parts {
    receiver: Receiver<Result<Part>>,
    _requests: Requesting,
}

/// [`Parts`] for asynchronous functions.
pub(super) struct AsyncParts {
    receiver: UnboundedReceiver<Result<Part>>,
    _requests: Requesting,
}

/// Requests that are cancelled when this is dropped.
struct Requesting(AbortHandle);

impl Drop for Requesting {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The bytes of a part.
pub(super) struct Part {
    pub(super) number: usize,
    pub(super) bytes: Vec<u8>,
    /// Held until the bytes are copied, so that not too many wait for it.
    #[expect(dead_code, reason = "it is held until the part is dropped")]
    permit: Option<OwnedSemaphorePermit>,
}

impl Parts {
    /// Waits for the next part. Each arrives once.
    pub(super) fn next(&self) -> Result<Part> {
        wait(&self.receiver)
    }
}

impl AsyncParts {
    /// Awaits the next part. Each arrives once.
    pub(super) async fn next(&mut self) -> Result<Part> {
        self.receiver.recv().await.unwrap_or_else(|| Err(shut_down()))
    }
}

async fn request_all(
    object: Arc<Object>,
    parts: Vec<Range<u64>>,
    deliver: impl Fn(Result<Part>) + Clone + Send + 'static,
) {
    let mut requests = JoinSet::new();
    for (number, range) in parts.into_iter().enumerate() {
        let (permits, count) = object.permits(&range);
        // The semaphore is never closed.
        let Ok(permit) = permits.acquire_many_owned(count).await else { return };
        let (object, deliver) = (Arc::clone(&object), deliver.clone());
        requests.spawn(async move {
            let bytes = object.read(range).await;
            deliver(bytes.map(|bytes| Part { number, bytes, permit: Some(permit) }));
        });
        // Forgets those that have ended.
        while requests.try_join_next().is_some() {}
    }
    drop(deliver);
    while requests.join_next().await.is_some() {}
}

pub(super) fn shut_down() -> Error {
    let error = io::Error::other("the runtime of its requests was shut down");
    Error::io("read the object", error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use npymap::ErrorKind;

    #[test]
    #[cfg(unix)]
    fn a_forked_process_is_told_to_open_the_object_again() {
        let mut executor = Executor::shared().unwrap();
        executor.process += 1;
        let error = executor.run(async { Ok(()) }).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        let text = "was opened before this process was forked: open it again";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn a_runtime_that_was_shut_down_is_an_error() {
        let runtime = Builder::new_current_thread().build().unwrap();
        let executor = Executor::new(runtime.handle().clone());
        drop(runtime);
        let error = executor.run(async { Ok(()) }).unwrap_err();
        let text = "cannot read the object: the runtime of its requests was shut down";
        assert_eq!(error.to_string(), text);
    }
}

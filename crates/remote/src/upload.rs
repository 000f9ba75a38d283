//! Uploads of objects in parts, several at a time.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use object_store::{
    Error as StoreError, MultipartId, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions,
    PutPayload,
};
use tokio::task::AbortHandle;

use super::errors;
use super::executor::Executor;
use super::object::Connections;
use super::waiting::{self, within};
use npymap::Result;

/// The most parts of an object, by the stores.
const MOST_PARTS: usize = 10_000;

/// The number of parts in flight.
const IN_FLIGHT: usize = 8;

/// The longest time that a failed upload takes to remove its parts.
const ABORT: Duration = Duration::from_secs(10);

/// Where an object is written.
pub(super) struct UploadPlace {
    pub(super) store: Connections<dyn ObjectStore>,
    /// The same store.
    pub(super) parts: Connections<dyn MultipartStore>,
    pub(super) path: Path,
    /// Whether to replace an object of the name instead of returning an error.
    pub(super) overwrites: bool,
    /// How long a request takes at most.
    limit: Option<Duration>,
}

impl UploadPlace {
    pub(super) fn new<S: ObjectStore + MultipartStore>(
        store: Arc<S>,
        path: Path,
        overwrites: bool,
        limit: Option<Duration>,
    ) -> Arc<UploadPlace> {
        let parts: Arc<dyn MultipartStore> = store.clone();
        let store: Arc<dyn ObjectStore> = store;
        let (store, parts) = (Connections::new(store), Connections::new(parts));
        Arc::new(UploadPlace { store, parts, path, overwrites, limit })
    }

    /// Returns an error if there is an object that must not be replaced. `can_create` says
    /// that the object may still be written by a single request.
    pub(super) async fn check(&self, can_create: bool) -> Result<()> {
        if self.overwrites {
            return Ok(());
        }
        let found = async {
            match self.store.head(&self.path).await {
                Ok(_) => Err(errors::exists()),
                Err(StoreError::NotFound { .. }) => Ok(()),
                // Credentials that allow writing but not listing get this for any name. A single
                // request creates the object only if there is none.
                Err(StoreError::PermissionDenied { .. }) if can_create => Ok(()),
                Err(error) => Err(errors::from_upload(&error)),
            }
        };
        within(self.limit, found).await
    }

    /// Awaits the answer to a request that writes.
    async fn write<T>(&self, request: impl Future<Output = object_store::Result<T>>) -> Result<T> {
        let answer = async { request.await.map_err(|error| errors::from_upload(&error)) };
        within(self.limit, answer).await
    }

    /// Writes a whole object by one request.
    async fn put(&self, bytes: Vec<u8>) -> Result<()> {
        let payload = PutPayload::from(bytes);
        let mode = if self.overwrites { PutMode::Overwrite } else { PutMode::Create };
        let options = PutOptions { mode, ..PutOptions::default() };
        self.write(self.store.put_opts(&self.path, payload, options)).await?;
        Ok(())
    }
}

/// A started upload. If it is dropped, the store removes its parts, except in a forked
/// process, because it belongs to the parent.
pub(super) struct Upload {
    executor: Executor,
    place: Arc<UploadPlace>,
    /// `None` after it is complete.
    id: Option<MultipartId>,
    running: VecDeque<Running>,
    parts: Vec<Option<PartId>>,
}

/// A part that is being sent.
struct Running {
    number: usize,
    answer: Receiver<Result<PartId>>,
    task: AbortHandle,
}

impl Upload {
    pub(super) fn start(executor: &Executor, place: &Arc<UploadPlace>) -> Result<Upload> {
        let to = Arc::clone(place);
        let id = executor.run(async move {
            // Otherwise, all parts would be sent before it is noticed that the object exists,
            // or that this cannot be found out.
            to.check(false).await?;
            to.write(to.parts.create_multipart(&to.path)).await
        })?;
        let (executor, place) = (executor.clone(), Arc::clone(place));
        let (running, parts) = (VecDeque::new(), Vec::new());
        Ok(Upload { executor, place, id: Some(id), running, parts })
    }

    /// Starts to send a part, numbered from 0. Waits while too many are being sent.
    pub(super) fn send(&mut self, number: usize, bytes: Vec<u8>) -> Result<()> {
        if number >= MOST_PARTS {
            return Err(errors::too_many_parts(bytes.len()));
        }
        while self.running.len() >= IN_FLIGHT {
            self.wait()?;
        }
        let (sender, answer) = mpsc::channel();
        let (place, id) = (Arc::clone(&self.place), self.id.clone().unwrap_or_default());
        let task = self.executor.spawn(async move {
            let part = place.parts.put_part(&place.path, &id, number, bytes.into());
            sender.send(place.write(part).await).ok();
        })?;
        self.running.push_back(Running { number, answer, task });
        Ok(())
    }

    /// Waits for the oldest part.
    fn wait(&mut self) -> Result<()> {
        // It stays in the queue on an error, so that dropping the upload ends it.
        let Some(Running { number, answer, .. }) = self.running.front() else { return Ok(()) };
        let (number, part) = (*number, waiting::wait(answer)?);
        self.running.pop_front();
        if self.parts.len() <= number {
            self.parts.resize(number + 1, None);
        }
        self.parts.iter_mut().skip(number).take(1).for_each(|place| *place = Some(part.clone()));
        Ok(())
    }

    /// Makes the parts, which must all have been sent, an object.
    pub(super) fn finish(mut self) -> Result<()> {
        while !self.running.is_empty() {
            self.wait()?;
        }
        let parts: Vec<_> = self.parts.iter().flatten().cloned().collect();
        let (place, id) = (Arc::clone(&self.place), self.id.clone().unwrap_or_default());
        self.executor.run(async move {
            place.check(false).await?;
            place.write(place.parts.complete_multipart(&place.path, &id, parts)).await?;
            Ok(())
        })?;
        self.id = None;
        Ok(())
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if self.executor.check_process().is_err() {
            return;
        }
        for part in &self.running {
            part.task.abort();
        }
        // Parts that arrive after the upload was removed could be stored, so those that are
        // being sent have to end first.
        for part in &self.running {
            let _ = part.answer.recv_timeout(ABORT);
        }
        let Some(id) = self.id.take() else { return };
        let place = Arc::clone(&self.place);
        // Best effort: stores can be configured to remove incomplete uploads after some days.
        let _ = self.executor.run_for(ABORT, async move {
            place.write(place.parts.abort_multipart(&place.path, &id)).await
        });
    }
}

/// Writes a whole object by one request.
pub(super) fn put(executor: &Executor, place: &Arc<UploadPlace>, bytes: Vec<u8>) -> Result<()> {
    let place = Arc::clone(place);
    executor.run(async move { place.put(bytes).await })
}

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;

    use super::*;

    #[test]
    fn an_object_has_at_most_ten_thousand_parts() {
        let place = UploadPlace::new(Arc::new(InMemory::new()), Path::from("a"), true, None);
        let mut upload = Upload::start(&Executor::shared().unwrap(), &place).unwrap();
        upload.send(9_999, vec![1]).unwrap();
        let error = upload.send(10_000, vec![1; 5 << 20]).unwrap_err();
        assert_eq!(error.io_error().unwrap().kind(), std::io::ErrorKind::FileTooLarge);
        assert_eq!(
            error.to_string(),
            "cannot write the object: it has more than 10000 parts of 5242880 bytes: set larger ones by `RemoteOptions::part_bytes`"
        );
    }
}

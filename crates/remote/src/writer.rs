//! Writing objects from start to end.

use std::fmt;
use std::io::{self, Write};
use std::path;
use std::sync::Arc;
use std::time::Duration;

use object_store::ObjectStore;
use object_store::multipart::MultipartStore;
use object_store::path::Path;

use super::errors;
use super::executor::Executor;
use super::upload::{self, Upload, UploadPlace};
use crate::invariant::{IN_BUFFER, Invariant};
use npymap::{Error, Result};

/// The default size of a part: 10,000 of them are 156 GiB.
pub(super) const PART: usize = 16 << 20;

/// The sizes of a part that stores accept.
pub(super) const PARTS: std::ops::RangeInclusive<usize> = 5 << 20..=1 << 30;

/// Writes an array or an archive to an object store.
///
/// [`RemoteOptions::create`](crate::RemoteOptions::create) makes it. You can pass this
/// [`Write`] to [`WriteOptions::write_to`](npymap::WriteOptions::write_to),
/// [`NpzWriter::new`](npymap::npz::NpzWriter::new) and all other functions for writers. If
/// you don't know the number of rows in advance, use
/// [`RemoteAppender`](crate::RemoteAppender).
///
/// **The object is whole or absent**: it appears under its name when you call
/// [`finish`](RemoteWriter::finish), and never if you drop the writer or the process ends.
/// An object of up to one part ([`RemoteOptions::part_bytes`](crate::RemoteOptions::part_bytes),
/// by default 16 MiB) takes one request. Larger objects are sent in parts while you write,
/// and up to 8 parts are in flight and in memory. Each part is repeated after errors, like
/// [`Remote`](crate::Remote)'s requests.
///
/// Dropping a writer asks the store to remove the parts it has, and waits for the
/// answer at most 10 seconds. If the process is killed, the parts are stored, and
/// charged for, until a lifecycle rule of the bucket removes incomplete uploads.
///
/// # Examples
///
/// ```no_run
/// use npymap::ndarray::array;
/// use npymap::npz::NpzWriter;
/// use npymap_remote::RemoteOptions;
/// use npymap::WriteOptions;
///
/// let options = RemoteOptions::new();
/// let mut writer = options.create("s3://bucket/a.npy")?;
/// WriteOptions::new().write_to(&mut writer, &array![1.0, 2.0, 3.0])?;
/// writer.finish()?;
///
/// let mut npz = NpzWriter::new(options.create("s3://bucket/b.npz")?);
/// npz.write("weights", &array![[1.0, 2.0], [3.0, 4.0]])?;
/// npz.into_inner()?.finish()?;
/// # Ok::<(), npymap::Error>(())
/// ```
pub struct RemoteWriter {
    name: String,
    place: Arc<UploadPlace>,
    executor: Executor,
    part_bytes: usize,
    /// Bytes that are not a part yet.
    buffer: Vec<u8>,
    /// The first part, if it is sent last.
    first: Option<Vec<u8>>,
    keeps_first: bool,
    /// The number of full parts so far.
    filled: usize,
    state: State,
}

enum State {
    /// No part has been sent.
    Buffered,
    Started(Upload),
    /// A part could not be sent.
    Failed,
}

impl RemoteWriter {
    /// Writes an object of a store, unless there is one that must not be replaced.
    pub(super) fn new<S: ObjectStore + MultipartStore>(
        executor: Executor,
        store: Arc<S>,
        path: Path,
        name: String,
        options: WriterOptions,
    ) -> Result<RemoteWriter> {
        let WriterOptions { overwrites, part_bytes, limit } = options;
        if !PARTS.contains(&part_bytes) {
            let found = format!("parts of {part_bytes} bytes");
            let expected = "from 5 MiB (5242880) to 1 GiB".to_owned();
            return Err(errors::invalid(&found, &expected));
        }
        let place = UploadPlace::new(store, path, overwrites, limit);
        let checked = Arc::clone(&place);
        executor
            .run(async move { checked.check(true).await })
            .map_err(|error| error.with_path(path::Path::new(&name)))?;
        let (buffer, first, keeps_first, filled) = (Vec::new(), None, false, 0);
        let state = State::Buffered;
        Ok(RemoteWriter {
            name,
            place,
            executor,
            part_bytes,
            buffer,
            first,
            keeps_first,
            filled,
            state,
        })
    }

    /// Returns the object's URL, or its store and path.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.name
    }

    /// Keeps the first part in memory, so that its first `len` bytes can be replaced
    /// until the end.
    ///
    /// # Errors
    ///
    /// When something was written, and when a part has fewer bytes.
    pub(crate) fn keep_start(&mut self, len: usize) -> Result<()> {
        if len > self.part_bytes {
            let found = format!("a header of {len} bytes");
            let expected = format!("at most {}, as a part has", self.part_bytes);
            return Err(errors::invalid(&found, &expected));
        }
        if self.filled > 0 || !self.buffer.is_empty() {
            let found = "a writer with bytes".to_owned();
            let expected = "one to which nothing was written".to_owned();
            return Err(errors::invalid(&found, &expected));
        }
        self.keeps_first = true;
        Ok(())
    }

    /// Replaces the first bytes, no more than were written and than a part has.
    pub(crate) fn replace_start(&mut self, bytes: &[u8]) {
        let first = self.first.as_mut().unwrap_or(&mut self.buffer);
        first.get_mut(..bytes.len()).invariant(IN_BUFFER).copy_from_slice(bytes);
    }

    /// Sends the rest and makes the object appear under its name.
    ///
    /// # Errors
    ///
    /// Returns [`AlreadyExists`](npymap::ErrorKind::AlreadyExists) if there is
    /// an object that must not be replaced, and [`Io`](npymap::ErrorKind::Io)
    /// if a request fails. No object appears then, unless only the answer to
    /// the last request was lost.
    pub fn finish(mut self) -> Result<()> {
        let done = self.finish_parts();
        done.map_err(|error| error.with_path(path::Path::new(&self.name)))
    }

    fn finish_parts(&mut self) -> Result<()> {
        if matches!(self.state, State::Buffered) && self.filled == 0 {
            return upload::put(&self.executor, &self.place, std::mem::take(&mut self.buffer));
        }
        if !self.buffer.is_empty() {
            self.send_buffer()?;
        }
        if let Some(first) = self.first.take() {
            self.send(0, first)?;
        }
        match std::mem::replace(&mut self.state, State::Failed) {
            State::Started(upload) => upload.finish(),
            State::Buffered | State::Failed => Err(failed()),
        }
    }

    /// Sends the buffer as the next part, or keeps it as the first part.
    fn send_buffer(&mut self) -> Result<()> {
        let bytes = std::mem::take(&mut self.buffer);
        let number = self.filled;
        self.filled += 1;
        if number == 0 && self.keeps_first {
            self.first = Some(bytes);
            return Ok(());
        }
        self.send(number, bytes)
    }

    /// Sends a part. After an error, the upload is removed.
    fn send(&mut self, number: usize, bytes: Vec<u8>) -> Result<()> {
        let mut upload = match std::mem::replace(&mut self.state, State::Failed) {
            State::Buffered => Upload::start(&self.executor, &self.place)?,
            State::Started(upload) => upload,
            State::Failed => return Err(failed()),
        };
        upload.send(number, bytes)?;
        self.state = State::Started(upload);
        Ok(())
    }
}

/// How an object is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct WriterOptions {
    pub(super) overwrites: bool,
    pub(super) part_bytes: usize,
    /// How long a request takes at most.
    pub(super) limit: Option<Duration>,
}

fn failed() -> Error {
    let error = io::Error::other("an earlier part could not be sent, and the upload was removed");
    Error::io("write the object", error)
}

impl Write for RemoteWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if matches!(self.state, State::Failed) {
            return Err(failed().with_path(path::Path::new(&self.name)).into());
        }
        let len = bytes.len().min(self.part_bytes - self.buffer.len());
        self.buffer.extend_from_slice(bytes.get(..len).invariant(IN_BUFFER));
        if self.buffer.len() == self.part_bytes {
            let sent = self.send_buffer();
            sent.map_err(|error| error.with_path(path::Path::new(&self.name)))?;
        }
        Ok(len)
    }

    /// Does nothing: parts must be large, so what is written last is sent when the
    /// object is finished.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for RemoteWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteWriter").field("url", &self.name).finish_non_exhaustive()
    }
}

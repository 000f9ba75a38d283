//! Reads batches ahead on background threads.

use std::any::Any;
use std::error::Error as StdError;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::{self, JoinHandle};

use super::pipeline::{Next, Pipeline};
use crate::error::{Error, Result, SystemError};

/// An iterator over batches that background threads read ahead, in order. Created
/// by [`BatchOptions::start`].
///
/// Only a few batches are read ahead, so memory use is bounded. The memory of a
/// dropped batch is reused for a later one, but the threads never wait for that,
/// so you may keep batches.
///
/// Dropping this waits for batches that are being read, and drops `read` and
/// everything it owns. It does not wait for the iterator of indices: if a
/// thread is blocked in it (by an empty channel, for example), the thread ends,
/// and drops the iterator, when the iterator returns.
pub struct Batches<B> {
    pipeline: Arc<BatchPipeline<B>>,
    /// `None` once this is dropped.
    read: Arc<RwLock<Option<ReadFn<B>>>>,
    threads: Vec<Option<JoinHandle<()>>>,
}

/// Options for reading batches ahead. Setters take the options and return them;
/// [`start`](BatchOptions::start) starts the threads.
///
/// # Examples
///
/// Pictures and their labels:
///
/// ```
/// use npymap::{BatchOptions, DType, MappedArray, Sampler};
///
/// let pictures = MappedArray::anonymous(&DType::of::<u8>(), &[100, 8, 8])?.into_read_only()?;
/// let labels = MappedArray::anonymous(&DType::of::<i64>(), &[100])?.into_read_only()?;
///
/// let (x, y) = (pictures.rows()?, labels.rows()?);
/// let read = move |rows: &[usize], batch: &mut (Vec<f32>, Vec<i64>)| {
///     batch.0.resize(rows.len() * x.row_len(), 0.0);
///     x.take_with(rows, &mut batch.0, |pixel: u8| f32::from(pixel) / 255.0)?;
///     y.take_vec(rows, &mut batch.1)
/// };
/// let batches = Sampler::shuffled(100, 1).batches(32);
/// for batch in BatchOptions::new().threads(2).start(batches, read)? {
///     let batch = batch?;
///     assert_eq!(batch.0.len(), 64 * batch.1.len());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct BatchOptions {
    threads: usize,
    ahead: usize,
}

/// One batch: the data, and the indices of its rows. When it is dropped, its
/// memory is reused.
pub struct Batch<B> {
    number: u64,
    indices: Vec<usize>,
    /// `None` only in `into_data` and `drop`.
    data: Option<B>,
    pool: Arc<Pool<B>>,
}

/// A batch that couldn't be read.
#[derive(Debug)]
#[non_exhaustive]
pub struct BatchError {
    /// The number of the batch, from 0.
    pub number: u64,
    /// The indices of the batch's rows.
    pub indices: Vec<usize>,
    /// The error of `read`.
    pub error: Error,
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "batch {}, rows {}: {}", self.number, format_indices(&self.indices), self.error)
    }
}

impl StdError for BatchError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.error.source()
    }
}

type IndexBatches = Box<dyn Iterator<Item = Vec<usize>> + Send>;
type ReadFn<B> = Box<dyn Fn(&[usize], &mut B) -> Result<()> + Send + Sync>;
type BatchPipeline<B> = Pipeline<IndexBatches, Result<Batch<B>, BatchError>>;

/// The memory of batches that were dropped, for reuse.
struct Pool<B> {
    free: Mutex<Vec<B>>,
    max_len: usize,
}

impl Default for BatchOptions {
    fn default() -> BatchOptions {
        BatchOptions { threads: 1, ahead: 2 }
    }
}

impl BatchOptions {
    /// The defaults: one thread, two batches ahead.
    pub fn new() -> BatchOptions {
        BatchOptions::default()
    }

    /// Sets the number of threads; at least one.
    pub fn threads(self, threads: usize) -> BatchOptions {
        BatchOptions { threads: threads.max(1), ..self }
    }

    /// Sets the number of batches that are read ahead of the consumer; at least
    /// one.
    pub fn ahead(self, ahead: usize) -> BatchOptions {
        BatchOptions { ahead: ahead.max(1), ..self }
    }

    /// Starts the threads. `batches` yields the indices of each batch, and `read`
    /// reads their rows into a `B`, which may contain the data of an earlier batch.
    /// `read` must own the arrays it uses, for example clones.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::ErrorKind::Io) when threads can't be started.
    ///
    /// # Examples
    ///
    /// `read` may fail with any error, here one of the standard library:
    ///
    /// ```
    /// use npymap::{BatchOptions, ErrorKind};
    ///
    /// let read = |numbers: &[usize], files: &mut Vec<Vec<u8>>| -> std::io::Result<()> {
    ///     files.clear();
    ///     for number in numbers {
    ///         files.push(std::fs::read(format!("data/{number}.jpg"))?);
    ///     }
    ///     Ok(())
    /// };
    /// let mut batches = BatchOptions::new().start([vec![0, 1]], read)?;
    /// let error = batches.next().unwrap().unwrap_err();
    /// assert_eq!(error.error.kind(), ErrorKind::NotFound);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn start<B, E>(
        &self,
        batches: impl IntoIterator<Item = Vec<usize>, IntoIter: Send + 'static>,
        read: impl Fn(&[usize], &mut B) -> Result<(), E> + Send + Sync + 'static,
    ) -> Result<Batches<B>>
    where
        B: Default + Send + 'static,
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        let jobs: IndexBatches = Box::new(batches.into_iter());
        let pipeline = Arc::new(Pipeline::new(jobs, self.ahead));
        let pool = Arc::new(Pool { free: Mutex::default(), max_len: self.ahead + self.threads });
        let read: ReadFn<B> = Box::new(move |rows, out| read(rows, out).map_err(Error::other));
        let read = Arc::new(RwLock::new(Some(read)));
        let mut started = Batches { pipeline, read, threads: Vec::new() };
        for number in 0..self.threads {
            let worker = Worker {
                number,
                pipeline: Arc::clone(&started.pipeline),
                pool: Arc::clone(&pool),
                read: Arc::clone(&started.read),
            };
            let thread = thread::Builder::new().name("npymap batches".to_owned());
            let thread = thread.spawn(move || worker.run());
            started.threads.push(Some(thread.map_err(SystemError::io("start a thread"))?));
        }
        Ok(started)
    }
}

/// The state of one of the threads.
struct Worker<B> {
    number: usize,
    pipeline: Arc<BatchPipeline<B>>,
    pool: Arc<Pool<B>>,
    read: Arc<RwLock<Option<ReadFn<B>>>>,
}

impl<B: Default> Worker<B> {
    /// Reads batches until the jobs end.
    fn run(&self) {
        let guard = PanicGuard(self);
        while let Some((number, indices)) = self.pipeline.next_job(self.number) {
            let read = self.read.read().unwrap_or_else(PoisonError::into_inner);
            let Some(read) = &*read else { break };
            let mut data = self.pool.take();
            let result = match read(&indices, &mut data) {
                Ok(()) => {
                    let pool = Arc::clone(&self.pool);
                    Ok(Batch { number, indices, data: Some(data), pool })
                }
                Err(error) => {
                    self.pool.give(data);
                    Err(BatchError { number, indices, error })
                }
            };
            self.pipeline.finish(number, result);
        }
        std::mem::forget(guard);
    }
}

/// Reports when a worker panics.
struct PanicGuard<'a, B>(&'a Worker<B>);

impl<B> Drop for PanicGuard<'_, B> {
    fn drop(&mut self) {
        self.0.pipeline.lose(self.0.number);
    }
}

impl<B: Default> Pool<B> {
    /// Takes free memory, or creates new memory.
    fn take(&self) -> B {
        self.lock().pop().unwrap_or_default()
    }
}

impl<B> Pool<B> {
    fn give(&self, data: B) {
        let mut free = self.lock();
        if free.len() < self.max_len {
            free.push(data);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<B>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<B> Iterator for Batches<B> {
    type Item = Result<Batch<B>, BatchError>;

    /// Waits for the next batch.
    ///
    /// # Panics
    ///
    /// When `read` panicked.
    fn next(&mut self) -> Option<Self::Item> {
        match self.pipeline.next() {
            Next::Result(batch) => Some(batch),
            Next::End => None,
            Next::Lost => {
                if let Some(panic) = self.join().into_iter().next() {
                    resume_unwind(panic);
                }
                None
            }
        }
    }
}

impl<B> Batches<B> {
    /// Waits for all threads except one that is blocked in the caller's iterator.
    /// The jobs must have ended. Returns the panics of the threads.
    fn join(&mut self) -> Vec<Box<dyn Any + Send>> {
        // After this, no thread can call the iterator, because the jobs have ended.
        let blocked = self.pipeline.waiting_for_job();
        let ending = self.threads.iter_mut().enumerate();
        let ending = ending.filter(|(number, _)| Some(*number) != blocked);
        let ended = ending.filter_map(|(_, thread)| thread.take()).map(JoinHandle::join);
        ended.filter_map(std::result::Result::err).collect()
    }
}

impl<B> Drop for Batches<B> {
    fn drop(&mut self) {
        self.pipeline.stop();
        // The caller wants no more batches, so panics are ignored.
        drop(self.join());
        *self.read.write().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl<B> Batch<B> {
    /// The number of the batch, from 0.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The indices of the batch's rows.
    #[must_use]
    pub fn indices(&self) -> &[usize] {
        &self.indices
    }

    /// Returns the data. Its memory is not reused for later batches.
    ///
    /// # Panics
    ///
    /// Never.
    #[must_use]
    pub fn into_data(mut self) -> B {
        self.data.take().expect("`into_data` consumes the batch")
    }
}

const HAS_DATA: &str = "a batch has data until it is dropped";

impl<B> Deref for Batch<B> {
    type Target = B;

    fn deref(&self) -> &B {
        self.data.as_ref().expect(HAS_DATA)
    }
}

impl<B> DerefMut for Batch<B> {
    fn deref_mut(&mut self) -> &mut B {
        self.data.as_mut().expect(HAS_DATA)
    }
}

impl<B> Drop for Batch<B> {
    fn drop(&mut self) {
        if let Some(data) = self.data.take() {
            self.pool.give(data);
        }
    }
}

impl<B> fmt::Debug for Batches<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batches").field("threads", &self.threads.len()).finish_non_exhaustive()
    }
}

impl<B: fmt::Debug> fmt::Debug for Batch<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Batch { number, indices, data, .. } = self;
        f.debug_struct("Batch")
            .field("number", number)
            .field("indices", indices)
            .field("data", data)
            .finish_non_exhaustive()
    }
}

/// Formats the indices of a batch; only the first ones if there are many.
fn format_indices(indices: &[usize]) -> String {
    match indices.get(..8) {
        Some(first) if indices.len() > 8 => {
            let first: Vec<String> = first.iter().map(ToString::to_string).collect();
            format!("[{}, …]", first.join(", "))
        }
        _ => format!("{indices:?}"),
    }
}

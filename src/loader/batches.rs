//! Reads batches ahead on background threads.

use std::any::Any;
use std::error::Error as StdError;
use std::fmt;
use std::panic::resume_unwind;
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::batch::{Batch, BatchError, Pool};
use super::index_batch::{BatchIndices, IndexBatch, Job};
use super::pace::Pace;
use super::pipeline::{CONSUMER, Next, Pipeline, Wait};
use crate::array::MAX_THREADS;
use crate::error::{Error, IoContext as _, RequestError, Result};
use crate::source::platform::{self, Clock};

/// An iterator over batches, in order, which background threads read ahead if that is
/// faster. Created by [`RowSource::batches`](crate::loader::RowSource::batches),
/// [`Loader::batches`](crate::Loader::batches) and [`BatchOptions::start`].
///
/// Only a few batches are read ahead, so memory use is bounded. The memory of a
/// dropped batch is reused for a later one, but the threads never wait for that,
/// so you may keep batches.
///
/// Dropping this waits for batches that are being read, and drops `read` and
/// everything it owns. It does not wait for the iterator of indices: if a
/// thread is blocked in it (by an empty channel, for example), the thread ends,
/// and drops the iterator, when the iterator returns.
///
/// `I` is the type of the indices of a batch, like in [`Batch`].
///
/// # Examples
///
/// ```
/// use npymap::{BatchOptions, MappedArray, RowSource as _, Sampler};
///
/// let rows = MappedArray::load("data/penguins.npy")?.into_read_only()?.rows()?;
/// let sampler = Sampler::shuffled(rows.row_count(), 1);
/// let read = move |indices: &[usize], data: &mut Vec<f64>| rows.take_vec(indices, data);
/// let mut batches = BatchOptions::new().start(sampler.batches(100), read)?;
/// let first = batches.next().unwrap()?;
/// assert_eq!((first.data().len(), batches.count()), (400, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Batches<B, I = IndexBatch> {
    /// The consumer, which also reads batches.
    worker: Worker<B, I>,
    threads: Vec<Option<JoinHandle<()>>>,
    options: BatchOptions,
    /// The number of threads that may read.
    active: usize,
    /// Decides on that number, unless the caller did.
    pace: Option<Pace>,
    /// Where the time begins that `pace` is told.
    start: Clock,
    /// The process that the threads belong to.
    process: u32,
    /// Whether the error of a forked process was returned.
    has_failed: bool,
}

/// Options for batches that your own function reads, for example from your own
/// source or with your own conversion.
///
/// [`Loader`](crate::Loader) needs no function, and announces the order to its
/// sources. [`start`](BatchOptions::start) starts the threads.
///
/// # Examples
///
/// Pictures and their labels:
///
/// ```
/// use npymap::{BatchOptions, DType, MappedArray, RowSource as _, Sampler};
///
/// let pictures = MappedArray::zeros(&DType::of::<u8>(), &[100, 8, 8])?.into_read_only()?;
/// let labels = MappedArray::zeros(&DType::of::<i64>(), &[100])?.into_read_only()?;
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
///     let (pixels, labels) = batch.data();
///     assert_eq!(pixels.len(), 64 * labels.len());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct BatchOptions {
    threads: Option<usize>,
    prefetch: Option<usize>,
    is_prompt: bool,
}

type Jobs<I> = Box<dyn Iterator<Item = Job<I>> + Send>;
type ReadFn<B> = Box<dyn Fn(&[usize], &mut B) -> Result<()> + Send + Sync>;
type BatchPipeline<B, I> = Pipeline<Jobs<I>, Result<Batch<B, I>, BatchError>>;

impl BatchOptions {
    /// Returns the defaults: as many threads as make batches arrive sooner,
    /// which is measured, and two batches ahead per thread.
    #[inline]
    pub fn new() -> BatchOptions {
        BatchOptions::default()
    }

    /// Sets the number of threads that read besides the one that takes the batches, from
    /// 1 to 1,024.
    ///
    /// By default there are none at first, and batches are read when they are taken. Then
    /// the time for some batches is compared with one thread and without it, later with
    /// more and fewer, and the fastest number is kept, up to the number of processors.
    #[inline]
    pub fn threads(self, threads: usize) -> BatchOptions {
        BatchOptions { threads: Some(threads.clamp(1, MAX_THREADS)), ..self }
    }

    /// Sets the number of batches read ahead of the consumer, by all
    /// threads. At least one, by default two per thread, and four for one thread and the
    /// consumer: [`prompt`](BatchOptions::prompt).
    #[inline]
    pub fn prefetch(self, batches: usize) -> BatchOptions {
        BatchOptions { prefetch: Some(batches.max(1)), ..self }
    }

    /// Declares that the iterator of indices never blocks, unlike a channel. Then, while
    /// the next batch is being read, the thread that takes the batches reads one, too,
    /// instead of waiting: two threads read, although `threads` is one. The batches of
    /// a [`Loader`](crate::Loader) do so.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{BatchOptions, MappedArray, RowSource as _, Sampler};
    ///
    /// let rows = MappedArray::load("data/penguins.npy")?.into_read_only()?.rows()?;
    /// let batches = Sampler::shuffled(rows.row_count(), 1).batches(100);
    /// let read = move |indices: &[usize], data: &mut Vec<f64>| rows.take_vec(indices, data);
    /// let batches = BatchOptions::new().threads(1).prompt().start(batches, read)?;
    /// assert_eq!(batches.count(), 4);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[inline]
    pub fn prompt(self) -> BatchOptions {
        BatchOptions { is_prompt: true, ..self }
    }

    /// Starts the threads. `batches` yields the indices of each batch, and `read`
    /// reads their rows into a `B`, which may contain the data of an earlier batch.
    /// `read` must own the arrays it uses, for example clones.
    ///
    /// `batches` is usually [`Sampler::batches`](crate::Sampler::batches), for one
    /// epoch or several. Each batch then has the state to resume from after it. It
    /// may also be any iterator over `Vec<usize>`, or over a `Result` of indices:
    /// an error is returned in the place of its batch.
    ///
    /// # Errors
    ///
    /// Returns [`Io`](crate::ErrorKind::Io) if threads can't be started.
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
    pub fn start<B, E, J>(
        &self,
        batches: impl IntoIterator<Item = J, IntoIter: Send + 'static>,
        read: impl Fn(&[usize], &mut B) -> Result<(), E> + Send + Sync + 'static,
    ) -> Result<Batches<B, J::Indices>>
    where
        B: Default + Send + 'static,
        J: BatchIndices + 'static,
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        let jobs: Jobs<J::Indices> = Box::new(batches.into_iter().map(J::into_indices));
        self.start_jobs(jobs, move |rows, out| read(rows, out).map_err(Error::other))
    }

    /// The number of batches ahead of a number of threads. Two threads and the consumer have
    /// enough of four. With two for one thread and the consumer, each waits for the other: an
    /// epoch in memory took 1.3 to 1.7 times as long, for rows of 512 bytes to 12 KiB.
    fn ahead(&self, threads: usize) -> usize {
        let least = if self.is_prompt { 4 } else { 1 };
        self.prefetch.unwrap_or_else(|| threads.saturating_mul(2).max(least))
    }

    /// Starts the threads.
    pub(super) fn start_jobs<B: Default + Send + 'static, I: AsRef<[usize]> + Send + 'static>(
        &self,
        jobs: Jobs<I>,
        read: impl Fn(&[usize], &mut B) -> Result<()> + Send + Sync + 'static,
    ) -> Result<Batches<B, I>> {
        let read: ReadFn<B> = Box::new(read);
        let most = self.threads.unwrap_or_else(|| {
            thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS)
        });
        let worker = Worker {
            number: CONSUMER,
            pipeline: Arc::new(Pipeline::new(jobs, self.is_prompt)),
            pool: Arc::new(Pool::new(self.ahead(most).saturating_add(most))),
            read: Arc::new(RwLock::new(Some(read))),
        };
        let mut started = Batches {
            worker,
            threads: Vec::new(),
            options: self.clone(),
            active: 0,
            pace: self.threads.is_none().then(|| Pace::new(most)),
            start: Clock::now(),
            process: platform::process_id(),
            has_failed: false,
        };
        started.set_threads(self.threads.unwrap_or(0))?;
        Ok(started)
    }
}

/// What a thread needs to read batches.
struct Worker<B, I> {
    number: usize,
    pipeline: Arc<BatchPipeline<B, I>>,
    pool: Arc<Pool<B>>,
    /// `None` once the batches are dropped.
    read: Arc<RwLock<Option<ReadFn<B>>>>,
}

impl<B: Default, I: AsRef<[usize]>> Worker<B, I> {
    /// Reads batches until the jobs end.
    fn run(&self) {
        let guard = PanicGuard(self);
        while let Some((number, job)) = self.pipeline.next_job(self.number) {
            if !self.read_job(number, job) {
                break;
            }
        }
        std::mem::forget(guard);
    }

    /// Reads a batch; `false` if the batches were dropped.
    fn read_job(&self, number: u64, job: Job<I>) -> bool {
        let read = self.read.read().unwrap_or_else(PoisonError::into_inner);
        let Some(read) = &*read else { return false };
        self.pipeline.finish(number, self.read_batch(number, job, read));
        true
    }

    fn read_batch(
        &self,
        count: u64,
        job: Job<I>,
        read: &ReadFn<B>,
    ) -> Result<Batch<B, I>, BatchError> {
        let (indices, place) = job.map_err(|error| BatchError {
            epoch: None,
            index: count,
            indices: Vec::new(),
            error,
        })?;
        let (epoch, index) = place.map_or((None, count), |(epoch, index)| (Some(epoch), index));
        let mut data = self.pool.take();
        if let Err(error) = read(indices.as_ref(), &mut data) {
            self.pool.give(data);
            return Err(BatchError { epoch, index, indices: indices.as_ref().to_vec(), error });
        }
        Ok(Batch { index, indices, data: Some(data), pool: Arc::clone(&self.pool) })
    }
}

/// Reports when a worker panics.
struct PanicGuard<'a, B, I>(&'a Worker<B, I>);

impl<B, I> Drop for PanicGuard<'_, B, I> {
    fn drop(&mut self) {
        self.0.pipeline.lose(self.0.number);
    }
}

impl<B, I> Iterator for Batches<B, I>
where
    B: Default + Send + 'static,
    I: AsRef<[usize]> + Send + 'static,
{
    type Item = Result<Batch<B, I>, BatchError>;

    /// Waits for the next batch, or reads it. [`wait`](Batches::wait) waits for
    /// a limited time.
    ///
    /// In a forked process, which has none of the threads, it returns one error of the
    /// kind [`InvalidInput`](crate::ErrorKind::InvalidInput), then `None`.
    ///
    /// # Panics
    ///
    /// When `read` panicked.
    fn next(&mut self) -> Option<Self::Item> {
        if self.is_forked() {
            let first = !std::mem::replace(&mut self.has_failed, true);
            return first.then(|| Err(forked()));
        }
        let guard = PanicGuard(&self.worker);
        let mut next = self.worker.pipeline.next();
        while let Next::Job(number, job) = next {
            self.worker.read_job(number, job);
            next = self.worker.pipeline.next();
        }
        std::mem::forget(guard);
        match next {
            Next::Result(batch) => {
                self.adapt();
                Some(batch)
            }
            Next::Lost => self.join().into_iter().next().map(|panic| resume_unwind(panic)),
            Next::End | Next::Job(..) => None,
        }
    }
}

impl<B, I> Batches<B, I>
where
    B: Default + Send + 'static,
    I: AsRef<[usize]> + Send + 'static,
{
    /// Waits until `next` returns without waiting for a thread: with a batch, an error, or
    /// `None`. After `timeout` it gives up and returns false, so that a program can check
    /// whether it was interrupted, and wait again. Without threads it returns true at once.
    ///
    /// If the iterator of indices never blocks ([`prompt`](BatchOptions::prompt)), this reads
    /// batches instead of sleeping, and checks the time after each.
    ///
    /// # Panics
    ///
    /// When `read` panics in this thread.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use npymap::BatchOptions;
    ///
    /// let read = |rows: &[usize], batch: &mut usize| -> Result<(), npymap::Error> {
    ///     *batch = rows.len();
    ///     Ok(())
    /// };
    /// let mut batches = BatchOptions::new().start([vec![5, 3]], read)?;
    /// while !batches.wait(Duration::from_millis(100)) {
    ///     // … return, if the user interrupted the program …
    /// }
    /// assert_eq!(*batches.next().unwrap()?.data(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn wait(&self, timeout: Duration) -> bool {
        if self.is_forked() {
            return true;
        }
        let start = Clock::now();
        loop {
            let left = timeout.saturating_sub(start.elapsed());
            match self.worker.pipeline.wait(left) {
                Wait::Ready => return true,
                Wait::TimedOut => return false,
                Wait::Again => {}
                Wait::Job(number, job) => {
                    let guard = PanicGuard(&self.worker);
                    self.worker.read_job(number, job);
                    std::mem::forget(guard);
                }
            }
        }
    }

    /// Changes the number of threads if that makes batches faster.
    fn adapt(&mut self) {
        let Some(pace) = &mut self.pace else { return };
        let threads = pace.take_batch(self.start.elapsed());
        // Where no thread can be started, the consumer reads.
        if threads != self.active && self.set_threads(threads).is_err() {
            self.pace = None;
        }
    }

    /// Lets this many threads read, and starts the threads that do not run.
    fn set_threads(&mut self, threads: usize) -> Result<()> {
        self.worker.pipeline.set_workers(threads, self.options.ahead(threads));
        self.active = threads;
        for number in 0..threads {
            match self.threads.get(number) {
                Some(Some(thread)) if !thread.is_finished() => continue,
                Some(_) => {}
                None => self.threads.push(None),
            }
            let Worker { pipeline, pool, read, .. } = &self.worker;
            let (pipeline, pool, read) = (Arc::clone(pipeline), Arc::clone(pool), Arc::clone(read));
            let worker = Worker { number, pipeline, pool, read };
            let thread = thread::Builder::new().name("npymap batches".to_owned());
            let thread = thread.spawn(move || worker.run());
            let thread = thread.context("start a thread")?;
            if let Some(place) = self.threads.get_mut(number) {
                *place = Some(thread);
            }
        }
        Ok(())
    }
}

impl<B, I> Batches<B, I> {
    /// Returns whether this process was forked from the one that has the threads. Its
    /// locks may be held by threads that do not exist here.
    fn is_forked(&self) -> bool {
        self.process != platform::process_id()
    }

    /// Waits for all threads except one blocked in the caller's iterator. The
    /// jobs must have ended. Returns the panics of the threads.
    fn join(&mut self) -> Vec<Box<dyn Any + Send>> {
        // After this, no thread can call the iterator, because the jobs have ended.
        let blocked = self.worker.pipeline.waiting_for_job();
        let ending = self.threads.iter_mut().enumerate();
        let ending = ending.filter(|(number, _)| Some(*number) != blocked);
        let ended = ending.filter_map(|(_, thread)| thread.take()).map(JoinHandle::join);
        ended.filter_map(std::result::Result::err).collect()
    }
}

impl<B, I> Drop for Batches<B, I> {
    fn drop(&mut self) {
        if self.is_forked() {
            std::mem::forget(std::mem::take(&mut self.threads));
            return;
        }
        self.worker.pipeline.stop();
        // The caller wants no more batches, so panics are ignored.
        drop(self.join());
        *self.worker.read.write().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// The error for batches with threads in the parent process.
#[inline]
fn forked() -> BatchError {
    let error = RequestError::Forked.into();
    BatchError { epoch: None, index: 0, indices: Vec::new(), error }
}

impl<B, I> fmt::Debug for Batches<B, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batches").field("threads", &self.threads.len()).finish_non_exhaustive()
    }
}

//! One batch that was read ahead, or the error instead of it.

use std::error::Error as StdError;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::index_batch::IndexBatch;
use super::shard::SamplerState;
use crate::error::Error;
use crate::error::invariant::Invariant;
use crate::source::platform;

/// One batch: the [`data`](Batch::data) and the indices of its rows. When it is dropped, its
/// memory is reused; keep it as long as you need.
///
/// `I` is the type of the indices: an [`IndexBatch`], which knows the epoch and
/// the sampler's state, or a `Vec<usize>`.
///
/// # Examples
///
/// ```
/// use npymap::{MappedArray, Sampler, loader::RowSource as _};
///
/// let rows = MappedArray::load("data/penguins.npy")?.into_read_only()?.rows()?;
/// for batch in rows.batches::<f64>(Sampler::shuffled(rows.row_count(), 1), 100)? {
///     let batch = batch?;
///     println!("batch {} of epoch {}: {:?}", batch.index(), batch.state().epoch, &batch.indices()[..3]);
///     assert_eq!(batch.data().len(), 4 * batch.indices().len());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Batch<B, I = IndexBatch> {
    pub(super) index: u64,
    pub(super) indices: I,
    /// `None` only in `into_data` and `drop`.
    pub(super) data: Option<B>,
    pub(super) pool: Arc<Pool<B>>,
}

impl<B, I> Batch<B, I> {
    /// Returns the rows, as they were read: a vector of elements in C order, or
    /// a tuple of one per array of a [`Loader`](crate::Loader).
    #[must_use]
    pub fn data(&self) -> &B {
        self.data.as_ref().invariant(HAS_DATA)
    }

    /// Returns the rows, to change them in place.
    #[must_use]
    pub fn data_mut(&mut self) -> &mut B {
        self.data.as_mut().invariant(HAS_DATA)
    }
}

impl<B, I: AsRef<[usize]>> Batch<B, I> {
    /// Returns the indices of the batch's rows.
    #[must_use]
    pub fn indices(&self) -> &[usize] {
        self.indices.as_ref()
    }

    /// Returns the index of the batch, from 0: in its epoch if its indices
    /// come from a [`Sampler`](crate::Sampler). Otherwise, since the start.
    #[must_use]
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Returns the data. Its memory is not reused for later batches.
    #[must_use]
    pub fn into_data(mut self) -> B {
        self.data.take().invariant(HAS_DATA)
    }
}

impl<B> Batch<B> {
    /// Returns the state of the sampler after this batch, however many batches
    /// have been read ahead: a sampler that [`resume`](crate::Sampler::resume)s
    /// it continues with the next batch.
    #[must_use]
    pub fn state(&self) -> SamplerState {
        self.indices.state()
    }
}

const HAS_DATA: &str = "a batch has data until it is dropped";

impl<B, I> Drop for Batch<B, I> {
    fn drop(&mut self) {
        if let Some(data) = self.data.take() {
            self.pool.give(data);
        }
    }
}

impl<B: fmt::Debug, I: fmt::Debug> fmt::Debug for Batch<B, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Batch { index, indices, data, .. } = self;
        f.debug_struct("Batch")
            .field("index", index)
            .field("indices", indices)
            .field("data", data)
            .finish_non_exhaustive()
    }
}

/// A batch that couldn't be read.
///
/// # Examples
///
/// ```
/// use npymap::{BatchOptions, MappedArray, RowSource as _};
///
/// let rows = MappedArray::load("data/penguins.npy")?.into_read_only()?.rows()?;
/// let read = move |indices: &[usize], data: &mut Vec<f64>| rows.take_vec(indices, data);
/// let mut batches = BatchOptions::new().start([vec![0, 1], vec![2, 900]], read)?;
/// assert!(batches.next().unwrap().is_ok());
/// let error = batches.next().unwrap().unwrap_err();
/// assert_eq!((error.index, error.indices.as_slice()), (1, &[2, 900][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct BatchError {
    /// The epoch of the batch, if its indices come from a sampler.
    pub epoch: Option<u64>,
    /// The index of the batch, like [`Batch::index`].
    pub index: u64,
    /// The indices of the batch's rows; empty if the iterator of indices
    /// returned the error.
    pub indices: Vec<usize>,
    /// The error from `read` or the iterator.
    pub error: Error,
}

impl fmt::Display for BatchError {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(epoch) = self.epoch {
            write!(f, "epoch {epoch}, ")?;
        }
        write!(f, "batch {}", self.index)?;
        if !self.indices.is_empty() {
            write!(f, ", rows {}", format_indices(&self.indices))?;
        }
        write!(f, ": {}", self.error)
    }
}

impl StdError for BatchError {
    #[inline]
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.error.source()
    }
}

/// Formats the indices of a batch. Only the first indices if there are many.
#[inline]
fn format_indices(indices: &[usize]) -> String {
    match indices.get(..8) {
        Some(first) if indices.len() > 8 => {
            let first: Vec<String> = first.iter().map(ToString::to_string).collect();
            format!("[{}, …]", first.join(", "))
        }
        _ => format!("{indices:?}"),
    }
}

/// The memory of dropped batches, for reuse.
pub(super) struct Pool<B> {
    free: Mutex<Vec<B>>,
    max_len: usize,
    /// The process with the threads that use the pool.
    process: u32,
}

impl<B> Pool<B> {
    /// A pool that keeps the memory of at most `max_len` batches.
    pub(super) fn new(max_len: usize) -> Pool<B> {
        Pool { free: Mutex::default(), max_len, process: platform::process_id() }
    }

    pub(super) fn give(&self, data: B) {
        // A thread may have held the lock when this process was forked.
        if self.process != platform::process_id() {
            return;
        }
        let mut free = self.lock();
        if free.len() < self.max_len {
            free.push(data);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<B>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<B: Default> Pool<B> {
    /// Takes free memory, or creates new memory.
    pub(super) fn take(&self) -> B {
        self.lock().pop().unwrap_or_default()
    }
}

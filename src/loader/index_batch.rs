//! Batches of row indices: from a sampler, with its state.

use std::fmt::Debug;
use std::ops::Deref;

use super::ahead::Ahead;
use super::row_source::RowSource;
use super::sampler::Sampler;
use super::shard::SamplerState;
use crate::error::invariant::{to_u64, to_usize_saturating};
use crate::error::{Error, Result};

/// One batch of row indices from a [`Sampler`], with its place in the epochs.
///
/// It derefs to the indices.
///
/// # Examples
///
/// ```
/// use npymap::Sampler;
///
/// let mut sampler = Sampler::shuffled(10, 1);
/// let batches: Vec<_> = sampler.batches(4).collect();
/// assert_eq!((batches[1].index(), batches[1].len()), (1, 4));
///
/// sampler.resume(batches[1].state())?;
/// assert!(sampler.batches(4).eq([batches[2].clone()]));
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexBatch {
    indices: Vec<usize>,
    index: u64,
    state: SamplerState,
}

impl IndexBatch {
    /// Returns the index of the batch in its epoch, from 0, even if the epoch
    /// was resumed.
    #[must_use]
    #[inline]
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Returns the state of the sampler after this batch: a sampler that
    /// [`resume`](Sampler::resume)s it continues with the next batch.
    #[must_use]
    #[inline]
    pub fn state(&self) -> SamplerState {
        self.state
    }
}

impl Deref for IndexBatch {
    type Target = [usize];

    #[inline]
    fn deref(&self) -> &[usize] {
        &self.indices
    }
}

impl<'a> IntoIterator for &'a IndexBatch {
    type Item = &'a usize;
    type IntoIter = std::slice::Iter<'a, usize>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.indices.iter()
    }
}

impl AsRef<[usize]> for IndexBatch {
    #[inline]
    fn as_ref(&self) -> &[usize] {
        &self.indices
    }
}

/// An iterator over the batches of an epoch, created by [`Sampler::batches`].
///
/// # Examples
///
/// ```
/// let sampler = npymap::Sampler::shuffled(10, 1);
/// for batch in sampler.batches(4) {
///     for row in &batch {
///         println!("{row}");
///     }
/// }
/// assert_eq!(sampler.batches(4).len(), 3);
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct IndexBatches {
    sampler: Sampler,
    size: usize,
    drops_last: bool,
    /// The state at the start of this iterator.
    start: SamplerState,
    ahead: Ahead,
}

impl IndexBatches {
    /// Drops the last batch of the epoch if it is shorter than the others:
    /// `drop_last=True` of torch's `DataLoader`.
    ///
    /// # Examples
    ///
    /// ```
    /// let batches = npymap::Sampler::shuffled(10, 1).batches(4).drop_last();
    /// assert_eq!(batches.len(), 2);
    /// assert!(batches.map(|batch| batch.len()).eq([4, 4]));
    /// ```
    #[inline]
    pub fn drop_last(self) -> IndexBatches {
        IndexBatches { drops_last: true, ..self }
    }

    /// Tells a source of rows which batches follow, so that it reads their files in
    /// sequence, in the background, while you use the rows. Call it for each source.
    ///
    /// - A mapped array that fits into memory is read whole after the first
    ///   batch that has to wait for the disk, if the batches need much of it.
    ///   [`ReadStrategy`](crate::loader::ReadStrategy) has the details. Such an array of
    ///   an [`ArrayFile`](crate::ArrayFile) is read from the first batch on,
    ///   and so is one shuffled in several [`shards`](Sampler::shard), because
    ///   each shard begins at a different place.
    ///
    /// - Rows that follow each other, in one shard, are read from the first
    ///   batch on, 128 MiB ahead, whether or not the array fits. All batches
    ///   except the first wait for their rows, up to half a second for each 32
    ///   MiB.
    ///
    /// - Of other arrays that do not fit, the blocks of a sampler in
    ///   [`blocks`](Sampler::blocks) are read: the blocks of the next batch,
    ///   with all that its [`buffer`](Sampler::buffer) mixes, and the same
    ///   number of blocks after these. The next batch is yielded when its own
    ///   blocks have been read. Up to twice the number of blocks in a buffer
    ///   are in memory, which must have room for them.
    ///
    /// - Of other mapped arrays in shuffled orders, the rows of the following batch are
    ///   requested when a batch is yielded.
    ///
    /// This does not read ahead for rows in Fortran order, for buffers of more
    /// than 65,536 blocks, or on systems other than Linux.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{BatchOptions, MappedArray, RowSource as _, Sampler};
    ///
    /// // SAFETY: no other process writes to or truncates this file.
    /// let rows = unsafe { MappedArray::open("data/penguins.npy")? }.rows()?;
    /// let sampler = Sampler::blocks(rows.row_count(), 32, 1).buffer(4)?;
    /// let ahead = rows.clone();
    /// let batches = sampler.epochs(2).flat_map(move |epoch| epoch.batches(16).announce_to(&ahead));
    /// let read = move |indices: &[usize], batch: &mut Vec<f64>| rows.take_vec(indices, batch);
    /// assert_eq!(BatchOptions::new().start(batches, read)?.count(), 2 * 22);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn announce_to(mut self, source: &(impl RowSource + ?Sized)) -> IndexBatches {
        self.ahead.sources.push(source.rows_ahead());
        self
    }

    /// The number of batches that are left.
    #[inline]
    fn remaining(&self) -> u64 {
        let (rows, size) = (self.sampler.remaining(), to_u64(self.size));
        if self.drops_last {
            rows.checked_div(size).unwrap_or(0)
        } else {
            rows.div_ceil(size.max(1)) * size.min(1)
        }
    }
}

impl Iterator for IndexBatches {
    type Item = IndexBatch;

    #[inline]
    fn next(&mut self) -> Option<IndexBatch> {
        if self.remaining() == 0 {
            return None;
        }
        let index = self.sampler.position() / to_u64(self.size);
        self.ahead.advance(&self.sampler, self.size);
        let indices = self.sampler.next_batch(self.size);
        let state = SamplerState { position: self.sampler.position(), ..self.start };
        Some(IndexBatch { indices, index, state })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = to_usize_saturating(self.remaining());
        (left, Some(left))
    }
}

impl ExactSizeIterator for IndexBatches {}

impl Sampler {
    /// Iterates over the remaining rows of this epoch in batches of `size`. The
    /// last batch may be shorter. Yields nothing if `size` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// let lens = npymap::Sampler::shuffled(10, 1).batches(4).map(|batch| batch.len());
    /// assert!(lens.eq([4, 4, 2]));
    /// ```
    #[inline]
    pub fn batches(&self, size: usize) -> IndexBatches {
        let (sampler, start) = (self.clone(), self.state());
        IndexBatches { sampler, size, drops_last: false, start, ahead: Ahead::default() }
    }

    /// Iterates over the epochs from the current one up to, but not including,
    /// epoch `end`: a sampler for each. The first starts at the current position,
    /// the others start at their first row.
    ///
    /// After [`resume`](Sampler::resume), it yields the rest of the epoch and the
    /// epochs after it.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::Sampler;
    ///
    /// let mut sampler = Sampler::shuffled(10, 1);
    /// let batches: Vec<_> = sampler.epochs(3).flat_map(|epoch| epoch.batches(4)).collect();
    /// assert_eq!(batches.len(), 9);
    ///
    /// sampler.resume(batches[4].state())?;
    /// let rest = sampler.epochs(3).flat_map(|epoch| epoch.batches(4));
    /// assert!(rest.eq(batches[5..].iter().cloned()));
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[inline]
    pub fn epochs(&self, end: u64) -> impl Iterator<Item = Sampler> + Send + use<> {
        let first = self.clone();
        (self.epoch()..end).map(move |epoch| {
            let mut sampler = first.clone();
            if epoch != first.epoch() {
                sampler.set_epoch(epoch);
            }
            sampler
        })
    }
}

/// An item of the iterators that
/// [`BatchOptions::start`](crate::BatchOptions::start) accepts: an [`IndexBatch`],
/// a `Vec<usize>`, or a `Result` of these with any error. Sealed.
pub trait BatchIndices: sealed::SealedBatchIndices {
    /// The indices of a batch.
    type Indices: AsRef<[usize]> + Debug + Send + 'static;

    /// The indices, and the epoch and index of the batch, if it has them.
    ///
    /// # Errors
    ///
    /// The error of the iterator.
    #[doc(hidden)]
    fn into_indices(self) -> Job<Self::Indices>;
}

/// The indices of a batch, and its epoch and index if it has them.
pub(super) type Job<I> = Result<(I, Option<(u64, u64)>)>;

mod sealed {
    pub trait SealedBatchIndices {}
}

impl sealed::SealedBatchIndices for IndexBatch {}

impl BatchIndices for IndexBatch {
    type Indices = IndexBatch;

    #[inline]
    fn into_indices(self) -> Job<IndexBatch> {
        let place = (self.state.epoch, self.index);
        Ok((self, Some(place)))
    }
}

impl sealed::SealedBatchIndices for Vec<usize> {}

impl BatchIndices for Vec<usize> {
    type Indices = Vec<usize>;

    #[inline]
    fn into_indices(self) -> Job<Vec<usize>> {
        Ok((self, None))
    }
}

impl<I, E> sealed::SealedBatchIndices for Result<I, E> {}

impl<I, E> BatchIndices for Result<I, E>
where
    I: BatchIndices,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Indices = I::Indices;

    fn into_indices(self) -> Job<I::Indices> {
        self.map_err(Error::other)?.into_indices()
    }
}

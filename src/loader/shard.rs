//! The shard of a sampler in an epoch, and its state.

/// Selects the part of an epoch for one rank and worker, so that together they
/// yield each row once.
///
/// The default is the whole epoch. [`Tail`] decides about rows that cannot be
/// distributed evenly.
///
/// # Examples
///
/// ```
/// use npymap::{Sampler, loader::Shard};
///
/// let ranks = [0, 1].map(|rank| Shard { rank, world_size: 2, ..Shard::default() });
/// let mut rows = Vec::new();
/// for shard in ranks {
///     rows.extend(Sampler::shuffled(10, 1).shard(shard)?);
/// }
/// rows.sort();
/// assert_eq!(rows, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shard {
    /// The number of this process.
    pub rank: usize,
    /// The number of processes that share an epoch.
    pub world_size: usize,
    /// The number of this worker in its process.
    pub worker: usize,
    /// The number of workers that share the part of a process.
    pub num_workers: usize,
}

impl Default for Shard {
    #[inline]
    fn default() -> Shard {
        Shard { rank: 0, world_size: 1, worker: 0, num_workers: 1 }
    }
}

/// The treatment of rows that can't be distributed evenly among all ranks.
///
/// [`Pad`](Tail::Pad) and [`Drop`](Tail::Drop) are `drop_last=False` and
/// `drop_last=True` of torch's `DistributedSampler`. Use one of them if ranks
/// wait for each other in every step. Whether a last, shorter batch is dropped
/// is decided by
/// [`IndexBatches::drop_last`](crate::loader::IndexBatches::drop_last).
///
/// # Examples
///
/// ```
/// use npymap::{Sampler, loader::{Shard, Tail}};
///
/// let shard = Shard { rank: 1, world_size: 2, ..Shard::default() };
/// let rows = |tail| -> npymap::Result<Vec<usize>> {
///     Ok(Sampler::sequential(5).shard(shard)?.tail(tail).collect())
/// };
/// assert_eq!(rows(Tail::Keep)?, [1, 3]);
/// assert_eq!(rows(Tail::Drop)?, [1, 3]);
/// assert_eq!(rows(Tail::Pad)?, [1, 3, 0]);
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tail {
    /// Some ranks get one row more. Together they yield each row of the epoch
    /// once.
    #[default]
    Keep,
    /// These rows are dropped, so that all ranks get the same number of rows.
    Drop,
    /// The first rows of the epoch are repeated, so that all ranks get the same
    /// number of rows.
    Pad,
}

/// The state of a sampler, which is four integers: see
/// [`Sampler::state`](crate::Sampler::state),
/// [`IndexBatch::state`](crate::loader::IndexBatch::state) and
/// [`Sampler::resume`](crate::Sampler::resume). The feature `serde` serializes it.
///
/// # Examples
///
/// ```
/// use npymap::{Sampler, loader::SamplerState};
///
/// let words: [u64; 4] = Sampler::shuffled(10, 1).state().into();
/// assert_eq!(SamplerState::from(words), Sampler::shuffled(10, 1).state());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SamplerState {
    /// A hash of the properties that must be equal when the state is resumed: the
    /// number of rows, the kind of order and the shard.
    pub fingerprint: u64,
    /// The seed.
    pub seed: u64,
    /// The epoch.
    pub epoch: u64,
    /// The number of this shard's rows yielded in the epoch.
    pub position: u64,
}

impl From<SamplerState> for [u64; 4] {
    #[inline]
    fn from(state: SamplerState) -> [u64; 4] {
        [state.fingerprint, state.seed, state.epoch, state.position]
    }
}

impl From<[u64; 4]> for SamplerState {
    #[inline]
    fn from([fingerprint, seed, epoch, position]: [u64; 4]) -> SamplerState {
        SamplerState { fingerprint, seed, epoch, position }
    }
}

//! Row indices in random order.

use std::num::TryFromIntError;
use std::sync::{Mutex, MutexGuard, PoisonError};

use npymap::Sampler as Order;
use npymap::bytemuck::bytes_of;
use npymap::loader::{SamplerState, Shard, Tail};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::memory::BytesMut;
use crate::number::unsigned;

/// More indices than this are drawn without the interpreter.
const DETACHED: usize = 1 << 12;

/// Yields row indices, an epoch at a time.
#[pyclass(frozen, module = "npymap._core")]
#[derive(Debug)]
pub(crate) struct Sampler(Mutex<Order>);

/// The kind of order: its name, the seed, the number of rows of a block, of blocks
/// that are mixed, and of draws, and the weights.
#[derive(Debug)]
pub(crate) struct Kind<'py> {
    name: String,
    seed: u64,
    block: usize,
    buffer: usize,
    draws: Option<usize>,
    weights: Option<Bound<'py, PyAny>>,
}

impl<'py> FromPyObject<'_, 'py> for Kind<'py> {
    type Error = PyErr;

    fn extract(tuple: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (name, seed, block, buffer, draws, weights) = tuple.extract()?;
        let draws: Option<Bound<'py, PyAny>> = draws;
        let seed = unsigned("seed", &seed)?;
        let draws = draws.map(|draws| unsigned("draws", &draws)).transpose()?;
        let (block, buffer) = (unsigned("block", &block)?, unsigned("buffer", &buffer)?);
        Ok(Kind { name, seed, block, buffer, draws, weights })
    }
}

impl Kind<'_> {
    fn order(&self, py: Python<'_>, len: usize) -> PyResult<Order> {
        let (seed, draws) = (self.seed, self.draws.unwrap_or(len));
        if let Some(weights) = &self.weights {
            let weights = PyBuffer::<f64>::get(weights)?.to_vec(py)?;
            if weights.len() != len {
                let text = format!("{} weights for {len} rows", weights.len());
                return Err(PyValueError::new_err(text));
            }
            return py.detach(|| Order::weighted(weights, draws, seed)).or_raise(py);
        }
        Ok(match self.name.as_str() {
            "shuffled" => Order::shuffled(len, seed),
            "sequential" => Order::sequential(len),
            "blocks" => Order::blocks(len, self.block, seed).buffer(self.buffer).or_raise(py)?,
            "replacement" => Order::with_replacement(len, draws, seed),
            name => {
                let expected = "'shuffled', 'sequential', 'blocks' or 'replacement'";
                return Err(PyValueError::new_err(format!("order '{name}', expected {expected}")));
            }
        })
    }
}

impl Sampler {
    fn lock(&self) -> MutexGuard<'_, Order> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the next indices as the bytes of `int64`, and returns their number.
    fn fill(&self, memory: &mut [u8], epoch: Option<u64>) -> Result<usize, TryFromIntError> {
        let Some(mut order) = self.skip(memory.len() / size_of::<i64>(), epoch) else {
            return Ok(0);
        };
        let mut found = 0;
        // In parts, because the list of all may not fit in memory.
        for part in memory.chunks_mut(DETACHED * size_of::<i64>()) {
            let places = part.chunks_exact_mut(size_of::<i64>());
            let indices = order.next_batch(places.len());
            for (place, index) in places.zip(&indices) {
                place.copy_from_slice(bytes_of(&i64::try_from(*index)?));
            }
            found += indices.len();
        }
        Ok(found)
    }

    /// Moves past the next indices, which the returned sampler yields: without the lock, for
    /// which a process that is forked meanwhile would wait forever. `None` in another epoch.
    fn skip(&self, count: usize, epoch: Option<u64>) -> Option<Order> {
        let mut order = self.lock();
        if epoch.is_some_and(|epoch| epoch != order.epoch()) {
            return None;
        }
        let skipped = order.clone();
        order.seek(0);
        let end = order.len() - skipped.len() + count.min(skipped.len());
        order.seek(u64::try_from(end).unwrap_or(u64::MAX));
        Some(skipped)
    }

    /// A copy of the sampler in its present state.
    pub(crate) fn order(&self) -> Order {
        self.lock().clone()
    }
}

#[pymethods]
impl Sampler {
    /// A sampler of `len` rows; `shard` is the rank, the number of ranks, the worker
    /// and the number of workers.
    #[new]
    fn new(
        py: Python<'_>,
        len: &Bound<'_, PyAny>,
        kind: Kind<'_>,
        shard: [Bound<'_, PyAny>; 4],
        tail: &str,
    ) -> PyResult<Sampler> {
        let len = unsigned("length", len)?;
        let [rank, world_size, worker, num_workers] = &shard;
        let (rank, world_size) = (unsigned("rank", rank)?, unsigned("world_size", world_size)?);
        let (worker, num_workers) =
            (unsigned("worker", worker)?, unsigned("num_workers", num_workers)?);
        let tail = match tail {
            "keep" => Tail::Keep,
            "drop" => Tail::Drop,
            "pad" => Tail::Pad,
            _ => {
                let text = format!("tail '{tail}', expected 'keep', 'drop' or 'pad'");
                return Err(PyValueError::new_err(text));
            }
        };
        let shard = Shard { rank, world_size, worker, num_workers };
        let order = kind.order(py, len)?.shard(shard).or_raise(py)?;
        Ok(Sampler(Mutex::new(order.tail(tail))))
    }

    /// The number of rows of an epoch, and of those that are left.
    #[getter]
    fn lengths(&self) -> (usize, usize) {
        let order = self.order();
        let mut first = order.clone();
        first.seek(0);
        (first.len(), order.len())
    }

    /// The number of the epoch.
    #[getter]
    fn epoch(&self) -> u64 {
        self.lock().epoch()
    }

    /// Starts an epoch.
    fn set_epoch(&self, epoch: &Bound<'_, PyAny>) -> PyResult<()> {
        let epoch = unsigned("epoch", epoch)?;
        self.lock().set_epoch(epoch);
        Ok(())
    }

    /// Moves to a row of the epoch.
    fn seek(&self, position: &Bound<'_, PyAny>) -> PyResult<()> {
        let position = unsigned("position", position)?;
        self.lock().seek(position);
        Ok(())
    }

    /// The fingerprint, the seed, the epoch and the position.
    #[getter]
    fn state(&self) -> [u64; 4] {
        self.lock().state().into()
    }

    /// Continues from a state.
    fn resume(&self, py: Python<'_>, state: [u64; 4]) -> PyResult<()> {
        let resumed = self.lock().resume(SamplerState::from(state));
        resumed.or_raise(py)
    }

    /// The next index of an epoch; None after its last one, and in another epoch.
    fn next_index(&self, epoch: u64) -> Option<usize> {
        let mut order = self.lock();
        if order.epoch() == epoch { order.next() } else { None }
    }

    /// Starts the epoch after this one, unless another one has been started.
    fn finish(&self, epoch: u64) {
        let mut order = self.lock();
        if order.epoch() == epoch {
            order.set_epoch(epoch.saturating_add(1));
        }
    }

    /// Writes the next indices into the memory of an array of `int64`: one for
    /// each element, or fewer at the end of the epoch, and none in another epoch than the
    /// one that is given. Returns their number.
    #[pyo3(signature = (memory, epoch=None))]
    fn next_into(
        &self,
        py: Python<'_>,
        memory: &Bound<'_, PyAny>,
        epoch: Option<u64>,
    ) -> PyResult<usize> {
        let mut memory = BytesMut::new(memory)?;
        let memory = memory.as_mut_slice();
        let found = if memory.len() > DETACHED * size_of::<i64>() {
            py.detach(|| self.fill(memory, epoch))
        } else {
            self.fill(memory, epoch)
        };
        Ok(found?)
    }
}

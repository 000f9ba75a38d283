//! Batches that are read ahead on threads, into memory that is reused.

use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use npymap::bytemuck::cast_slice;
use npymap::element::Casting;
use npymap::layout::TakeMode;
use npymap::loader::{Batch, BatchError, Batches as Reader, IndexBatch};
use npymap::{BatchOptions, DType, Error, Result};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::OrRaise;
use crate::memory::{Block, Buffer};
use crate::rows::{Cast, Rows};
use crate::sampler::Sampler;

/// How often a wait is interrupted to handle signals.
const TICK: Duration = Duration::from_millis(50);

/// The rows of several sources that each batch copies, with their casts.
struct Plan(Vec<(Rows, Option<(DType, Casting)>)>);

impl Plan {
    /// Reads the rows of one batch.
    fn read(&self, indices: &[usize], blocks: &mut Vec<Block>) -> Result<()> {
        blocks.resize_with(self.0.len(), Block::default);
        for ((rows, cast), block) in self.0.iter().zip(blocks) {
            let dtype = cast.as_ref().map_or_else(|| rows.dtype(), |(dtype, _)| dtype.clone());
            let each = rows.row_len().checked_mul(dtype.itemsize());
            let nbytes = each.and_then(|each| each.checked_mul(indices.len()));
            let nbytes = nbytes.ok_or_else(|| Error::other("a batch exceeds the memory"))?;
            rows.copy(indices, block.resize(nbytes), cast.as_ref())?;
        }
        Ok(())
    }
}

/// The batches of a sampler, or of indices that are passed in.
enum Source {
    Sampler(Reader<Vec<Block>>),
    Passed(Reader<Vec<Block>, Vec<usize>>),
}

/// A batch of either source: the memory of its arrays, its indices, and the state of the
/// sampler after it.
type Next = (Vec<Buffer>, Vec<usize>, Option<[u64; 4]>);

/// As [`Next`], with the indices as the bytes of `int64`.
type PyBatch<'py> = (Vec<Buffer>, Bound<'py, PyBytes>, Option<[u64; 4]>);

impl Source {
    fn wait(&self, timeout: Duration) -> bool {
        match self {
            Source::Sampler(batches) => batches.wait(timeout),
            Source::Passed(batches) => batches.wait(timeout),
        }
    }

    fn next(&mut self) -> Option<Result<Next, BatchError>> {
        match self {
            Source::Sampler(batches) => batches.next().map(|batch| batch.map(Source::from_sampler)),
            Source::Passed(batches) => batches
                .next()
                .map(|batch| batch.map(|batch| (Buffer::of_batch(batch), Vec::new(), None))),
        }
    }

    fn from_sampler(batch: Batch<Vec<Block>, IndexBatch>) -> Next {
        let (indices, state) = (batch.indices().to_vec(), batch.state().into());
        (Buffer::of_batch(batch), indices, Some(state))
    }
}

/// Reads batches ahead.
#[pyclass(frozen, module = "npymap._core")]
pub(crate) struct Batches {
    /// Locked only without the interpreter, which a waiting thread would keep from
    /// others. `None` when it is closed.
    source: Mutex<Option<Source>>,
    /// Passes indices to the threads; `None` after the last ones.
    indices: Mutex<Option<Sender<Vec<usize>>>>,
}

impl Batches {
    fn lock(&self) -> MutexGuard<'_, Option<Source>> {
        self.source.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Batches {
    /// Starts the threads. `epochs` is the number of the epoch at which to stop.
    /// Without a sampler, indices are passed with `push`.
    #[new]
    #[pyo3(signature = (plan, options, order=None))]
    fn new(
        py: Python<'_>,
        plan: Vec<(Rows, Option<Cast>)>,
        options: (usize, usize),
        order: Option<(PyRef<'_, Sampler>, u64, usize, bool)>,
    ) -> PyResult<Batches> {
        let plan = plan.into_iter().map(|(rows, cast)| {
            let cast = cast.map(|cast| cast.parse()).transpose().or_raise(py)?;
            PyResult::Ok((rows, cast))
        });
        let plan = Plan(plan.collect::<PyResult<_>>()?);
        let sources: Vec<Rows> = plan.0.iter().map(|(rows, _)| rows.clone()).collect();
        let options = BatchOptions::new().threads(options.0).ahead(options.1);
        let read = move |indices: &[usize], blocks: &mut Vec<Block>| plan.read(indices, blocks);
        let (source, sender) = if let Some((sampler, epochs, size, drops_last)) = order {
            let batches = sampler.order().epochs(epochs).flat_map(move |epoch| {
                let batches = epoch.batches(size);
                let batches = sources.iter().fold(batches, |batches, rows| rows.announce(batches));
                if drops_last { batches.drop_last() } else { batches }
            });
            (options.start(batches, read).map(Source::Sampler), None)
        } else {
            let (sender, receiver) = mpsc::channel::<Vec<usize>>();
            (options.start(receiver, read).map(Source::Passed), Some(sender))
        };
        let (source, indices) = (Mutex::new(Some(source.or_raise(py)?)), Mutex::new(sender));
        Ok(Batches { source, indices })
    }

    /// Adds a batch with these indices.
    fn push(&self, py: Python<'_>, rows: &Rows, indices: &Bound<'_, PyAny>) -> PyResult<()> {
        let indices = PyBuffer::<i64>::get(indices)?.to_vec(py)?;
        let indices = rows.resolve(TakeMode::FromEnd, &indices).or_raise(py)?;
        let sender = self.indices.lock().unwrap_or_else(PoisonError::into_inner);
        // The threads have ended if a batch failed to be read by a panic, which
        // `next` reports.
        sender.as_ref().map(|sender| sender.send(indices).ok());
        Ok(())
    }

    /// Ends the batches after those that were added.
    fn finish(&self) {
        *self.indices.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Waits for the next batch. None after the last one.
    fn next<'py>(&self, py: Python<'py>) -> PyResult<Option<PyBatch<'py>>> {
        while !py.detach(|| self.lock().as_ref().is_none_or(|source| source.wait(TICK))) {
            py.check_signals()?;
        }
        let next = py.detach(|| self.lock().as_mut().and_then(Source::next));
        let (memory, indices, state) = match next {
            None => return Ok(None),
            Some(Ok(next)) => next,
            Some(Err(error)) => return Err(error.error).or_raise(py),
        };
        let indices: Vec<i64> =
            indices.into_iter().map(i64::try_from).collect::<std::result::Result<_, _>>()?;
        Ok(Some((memory, PyBytes::new(py, cast_slice(&indices)), state)))
    }

    /// Stops the threads and waits for them.
    fn close(&self, py: Python<'_>) {
        self.finish();
        py.detach(|| drop(self.lock().take()));
    }
}

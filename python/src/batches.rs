//! Batches that are read ahead on threads, into memory that is reused.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use npymap::bytemuck::cast_slice;
use npymap::element::Casting;
use npymap::layout::TakeMode;
use npymap::loader::{Batch, Batches as Reader, IndexBatch};
use npymap::{BatchOptions, DType, Error, Result};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::OrRaise;
use crate::memory::{Block, Buffer};
use crate::number::unsigned;
use crate::ragged::Ragged;
use crate::rows::{Cast, Rows};
use crate::sampler::Sampler;
use crate::waiting::stoppable;

/// How often a wait is interrupted to handle signals.
const TICK: Duration = Duration::from_millis(50);

/// Rows of equal or of different lengths.
#[derive(FromPyObject)]
enum Part {
    Rows(Rows),
    Ragged(Ragged),
}

impl Part {
    /// How many blocks of memory a batch has for the rows: those of different lengths have
    /// one for the elements, and one for the offsets.
    fn blocks(&self) -> usize {
        match self {
            Part::Rows(_) => 1,
            Part::Ragged(_) => 2,
        }
    }
}

/// The rows of several sources that each batch copies, with their casts.
struct Plan(Vec<(Part, Option<(DType, Casting)>)>);

impl Plan {
    /// Reads the rows of one batch.
    fn read(&self, indices: &[usize], blocks: &mut Vec<Block>) -> Result<()> {
        blocks.resize_with(self.0.iter().map(|(part, _)| part.blocks()).sum(), Block::default);
        let mut rest = &mut blocks[..];
        for (part, cast) in &self.0 {
            let (own, others) = rest.split_at_mut(part.blocks());
            rest = others;
            let cast = cast.as_ref();
            match (part, own) {
                (Part::Rows(rows), [block]) => {
                    let out = room(block, indices.len(), nbytes_of(rows, cast))?;
                    rows.copy(indices, out, cast)?;
                }
                (Part::Ragged(ragged), [block, offsets]) => {
                    let spans = ragged.spans_of(indices)?;
                    let mut ends = vec![0_usize];
                    ends.extend(spans.iter().scan(0, |end, span| {
                        *end += span.len();
                        Some(*end)
                    }));
                    let total = ends.last().copied().unwrap_or_default();
                    let out = room(block, total, nbytes_of(ragged.data(), cast))?;
                    ragged.copy(&spans, out, cast)?;
                    // Offsets in memory fit.
                    let ends: Vec<i64> = ends
                        .into_iter()
                        .map(|end| i64::try_from(end).unwrap_or(i64::MAX))
                        .collect();
                    room(offsets, ends.len(), Some(size_of::<i64>()))?
                        .copy_from_slice(cast_slice(&ends));
                }
                _ => return Err(Error::other("a batch without memory")),
            }
        }
        Ok(())
    }
}

/// The size in bytes of a row after a cast; `None` if it is too large.
fn nbytes_of(rows: &Rows, cast: Option<&(DType, Casting)>) -> Option<usize> {
    let dtype = cast.map_or_else(|| rows.dtype(), |(dtype, _)| dtype.clone());
    rows.row_len().checked_mul(dtype.itemsize())
}

/// Memory for a number of rows, each of a size in bytes.
fn room(block: &mut Block, rows: usize, each: Option<usize>) -> Result<&mut [u8]> {
    let nbytes = each.and_then(|each| each.checked_mul(rows));
    let room = nbytes.and_then(|nbytes| block.resize(nbytes)).ok_or_else(|| {
        let nbytes = nbytes.map_or_else(|| "too many".to_owned(), |n| n.to_string());
        let text = format!("cannot allocate {nbytes} bytes for a batch");
        io::Error::new(io::ErrorKind::OutOfMemory, text)
    })?;
    Ok(room)
}

/// The batches of a sampler, or of indices that are passed in.
enum Source {
    Sampler(Reader<Vec<Block>>),
    Passed(Reader<Vec<Block>, Vec<usize>>),
}

/// A batch of either source: the memory of its arrays, and those of a sampler with their
/// indices and its state after them.
type Next = (Vec<Buffer>, Option<(Vec<usize>, [u64; 4])>);

/// The memory of the arrays of a batch, its indices as the bytes of `int64`, and the state
/// of the sampler after it.
type PyBatch<'py> = (Vec<Buffer>, Bound<'py, PyBytes>, Option<[u64; 4]>);

impl Source {
    fn wait(&self, timeout: Duration) -> bool {
        match self {
            Source::Sampler(batches) => batches.wait(timeout),
            Source::Passed(batches) => batches.wait(timeout),
        }
    }

    fn next(&mut self) -> Option<Result<Next>> {
        let next = match self {
            Source::Sampler(batches) => batches.next()?.map(Source::from_sampler),
            Source::Passed(batches) => batches.next()?.map(|batch| (Buffer::of_batch(batch), None)),
        };
        Some(next.map_err(|error| error.error))
    }

    fn from_sampler(batch: Batch<Vec<Block>, IndexBatch>) -> Next {
        let (indices, state) = (batch.indices().to_vec(), batch.state().into());
        (Buffer::of_batch(batch), Some((indices, state)))
    }
}

/// Reads batches ahead.
#[pyclass(frozen, module = "npymap._core")]
pub(crate) struct Batches {
    /// Locked only without the interpreter, which a waiting thread would keep from
    /// others. `None` when it is closed.
    source: Mutex<Option<Source>>,
    /// Passes indices to the threads, or why there are none; `None` after the last ones.
    indices: Mutex<Option<Sender<Result<Vec<usize>>>>>,
    /// The indices of the batches that are under way, as they were passed in.
    passed: Mutex<VecDeque<Vec<i64>>>,
    /// Ends waits for servers.
    is_closed: Arc<AtomicBool>,
}

impl Batches {
    fn lock(&self) -> MutexGuard<'_, Option<Source>> {
        self.source.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn passed(&self) -> MutexGuard<'_, VecDeque<Vec<i64>>> {
        self.passed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next batch, and its indices if they were passed in.
    fn take(&self) -> Option<Result<(Next, Option<Vec<i64>>)>> {
        let mut source = self.lock();
        let next = source.as_mut()?.next()?;
        // Those of a batch that failed are not the next one's.
        let passed = self.passed().pop_front();
        Some(next.map(|next| (next, passed)))
    }
}

impl Drop for Batches {
    /// Waits for the threads without the interpreter.
    fn drop(&mut self) {
        self.is_closed.store(true, Ordering::Relaxed);
        self.finish();
        let source = self.lock().take();
        Python::try_attach(|py| py.detach(|| drop(source)));
    }
}

#[pymethods]
impl Batches {
    /// Starts `threads` that read `prefetch` batches, or as many as turn out to be useful: those
    /// of a number of epochs of a sampler, of a size, and maybe without the last ones of
    /// epochs. Without a sampler, indices are passed with `push`.
    #[new]
    #[pyo3(signature = (plan, options, order=None))]
    fn new(
        py: Python<'_>,
        plan: Vec<(Part, Option<Cast>)>,
        options: (Bound<'_, PyAny>, Bound<'_, PyAny>),
        order: Option<(PyRef<'_, Sampler>, [Bound<'_, PyAny>; 2], bool)>,
    ) -> PyResult<Batches> {
        let plan = plan.into_iter().map(|(part, cast)| {
            let cast = cast.map(|cast| cast.parse()).transpose().or_raise(py)?;
            PyResult::Ok((part, cast))
        });
        let plan = Plan(plan.collect::<PyResult<_>>()?);
        let is_remote = plan.0.iter().any(|(part, _)| match part {
            Part::Rows(rows) => rows.is_remote(),
            Part::Ragged(ragged) => ragged.is_remote(),
        });
        let sources = plan.0.iter().filter_map(|(part, _)| match part {
            Part::Rows(rows) => Some(rows.clone()),
            Part::Ragged(_) => None,
        });
        let sources: Vec<Rows> = sources.collect();
        let (threads, prefetch) = options;
        let mut options = BatchOptions::new();
        if !threads.is_none() {
            options = options.threads(unsigned("threads", &threads)?);
        } else if is_remote {
            // Signals can end a wait for a server at any time, without losing a batch, while
            // another thread reads it.
            options = options.threads(1);
        }
        if !prefetch.is_none() {
            options = options.prefetch(unsigned("prefetch", &prefetch)?);
        }
        let is_closed = Arc::new(AtomicBool::new(false));
        let is_stopped = Arc::clone(&is_closed);
        let read = move |indices: &[usize], blocks: &mut Vec<Block>| {
            let is_stopped = Arc::clone(&is_stopped);
            stoppable(move || is_stopped.load(Ordering::Relaxed), || plan.read(indices, blocks))
        };
        let (source, sender) = if let Some((sampler, [epochs, size], drops_last)) = order {
            let (order, epochs): (_, u64) = (sampler.order(), unsigned("epochs", &epochs)?);
            let size = unsigned("size", &size)?;
            let mut whole = order.clone();
            whole.seek(0);
            // Without batches, an epoch is like all others.
            let is_empty = whole.len() < if drops_last { size } else { 1 };
            let end = order.epoch().saturating_add(if is_empty { 0 } else { epochs });
            let batches = order.epochs(end).flat_map(move |epoch| {
                let batches = epoch.batches(size);
                let batches = sources.iter().fold(batches, |batches, rows| rows.announce(batches));
                if drops_last { batches.drop_last() } else { batches }
            });
            // A wait for a server ends in another thread only.
            let options = if is_remote { options } else { options.prompt() };
            (options.start(batches, read).map(Source::Sampler), None)
        } else {
            let (sender, receiver) = mpsc::channel::<Result<Vec<usize>>>();
            (options.start(receiver, read).map(Source::Passed), Some(sender))
        };
        let (source, indices) = (Mutex::new(Some(source.or_raise(py)?)), Mutex::new(sender));
        Ok(Batches { source, indices, passed: Mutex::default(), is_closed })
    }

    /// Adds a batch with these indices of `rows` rows. If they don't exist, it is an error
    /// instead.
    fn push(&self, py: Python<'_>, rows: usize, indices: &Bound<'_, PyAny>) -> PyResult<()> {
        let indices = PyBuffer::<i64>::get(indices)?.to_vec(py)?;
        let resolved = TakeMode::FromEnd.resolve(&indices, rows);
        self.passed().push_back(indices);
        let sender = self.indices.lock().unwrap_or_else(PoisonError::into_inner);
        // The threads have ended if a batch failed to be read by a panic, which
        // `next` reports.
        sender.as_ref().map(|sender| sender.send(resolved).ok());
        Ok(())
    }

    /// The number of batches that were added and are not yet returned.
    #[getter]
    fn under_way(&self) -> usize {
        self.passed().len()
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
        let Some(next) = py.detach(|| self.take()) else { return Ok(None) };
        // Another thread has closed this one's batches.
        if next.is_err() && self.is_closed.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let ((memory, sampled), passed) = next.or_raise(py)?;
        let (indices, state) = match sampled {
            None => (passed.unwrap_or_default(), None),
            Some((indices, state)) => {
                let indices = indices.into_iter().map(i64::try_from);
                (indices.collect::<std::result::Result<_, _>>()?, Some(state))
            }
        };
        Ok(Some((memory, PyBytes::new(py, cast_slice(&indices)), state)))
    }

    /// Stops the threads and waits for them.
    fn close(&self, py: Python<'_>) {
        self.finish();
        self.is_closed.store(true, Ordering::Relaxed);
        py.detach(|| drop(self.lock().take()));
    }
}

//! Work that threads do ahead of the consumer that waits for it, in order and
//! bounded.
//!
//! `super::sync` are the locks of `std`; the model test puts loom's there.

use std::collections::VecDeque;

use super::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use crate::error::invariant::to_u64;

/// Jobs that are numbered as they are handed out, and their results.
#[derive(Debug)]
pub(super) struct Pipeline<I, R> {
    state: Mutex<PipelineState<I, R>>,
    /// There may be room for another job, or no need for any.
    room: Condvar,
    /// The next result may be there.
    done: Condvar,
}

/// The iterator that jobs come from is the caller's and may block for as long
/// as it likes. So the worker that asks it for a job takes it out, and holds
/// no lock meanwhile: results that are there can be taken, and the pipeline
/// stopped.
#[derive(Debug)]
struct PipelineState<I, R> {
    /// Where jobs come from; `None` while a worker asks it, and in the end.
    jobs: Option<I>,
    /// The worker that asks for its next job.
    asking: Option<usize>,
    /// Whether there are no more jobs, or none are wanted.
    is_ended: bool,
    /// Results not taken yet, from the next one on; `None` while they are
    /// worked on. At most `ahead`.
    results: VecDeque<Option<R>>,
    ahead: usize,
    /// How many results were taken.
    taken: u64,
    /// Whether a worker is gone that had a job.
    is_lost: bool,
}

/// The outcome of waiting for a result.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<R> {
    Result(R),
    End,
    /// A worker is gone that had a job.
    Lost,
}

impl<I: Iterator, R> Pipeline<I, R> {
    /// Of these jobs, at most `ahead` are begun and not taken.
    pub(super) fn new(jobs: I, ahead: usize) -> Pipeline<I, R> {
        let state = PipelineState {
            jobs: Some(jobs),
            asking: None,
            is_ended: false,
            results: VecDeque::new(),
            ahead,
            taken: 0,
            is_lost: false,
        };
        Pipeline { state: Mutex::new(state), room: Condvar::new(), done: Condvar::new() }
    }

    /// Waits for room, then takes the next job; `None` when there is none.
    pub(super) fn next_job(&self, worker: usize) -> Option<(u64, I::Item)> {
        let mut jobs = self.take_jobs(worker)?;
        let job = jobs.next();
        let mut state = self.lock();
        state.asking = None;
        let Some(job) = job.filter(|_| !state.is_ended) else {
            state.is_ended = true;
            drop(state);
            self.wake();
            return None;
        };
        let number = state.taken + to_u64(state.results.len());
        state.results.push_back(None);
        state.jobs = Some(jobs);
        self.room.notify_one();
        Some((number, job))
    }

    /// Waits for room and takes the iterator; `None` when there are no more
    /// jobs.
    fn take_jobs(&self, worker: usize) -> Option<I> {
        let mut state = self.lock();
        while !state.is_ended {
            if state.results.len() < state.ahead {
                if let Some(jobs) = state.jobs.take() {
                    state.asking = Some(worker);
                    return Some(jobs);
                }
            }
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        None
    }

    /// Hands in the result of a job.
    pub(super) fn finish(&self, number: u64, result: R) {
        let mut state = self.lock();
        let at = number.checked_sub(state.taken).and_then(|at| usize::try_from(at).ok());
        if let Some(place) = at.and_then(|at| state.results.get_mut(at)) {
            *place = Some(result);
        }
        self.done.notify_all();
    }

    /// Waits for the next result.
    pub(super) fn next(&self) -> Next<R> {
        let mut state = self.lock();
        loop {
            match state.results.front_mut().map(Option::take) {
                Some(Some(result)) => {
                    state.results.pop_front();
                    state.taken += 1;
                    self.room.notify_one();
                    return Next::Result(result);
                }
                _ if state.is_lost => return Next::Lost,
                None if state.is_ended => return Next::End,
                _ => state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Hands out no more jobs.
    pub(super) fn stop(&self) {
        self.end(|_| {});
        self.room.notify_all();
    }

    /// Reports that a worker is gone that had a job, or the jobs themselves.
    pub(super) fn lose(&self, worker: usize) {
        self.end(|state| {
            state.is_lost = true;
            state.asking = state.asking.filter(|&asking| asking != worker);
        });
        self.wake();
    }

    /// The worker that asks for its next job. Nobody can wake it: after
    /// [`stop`](Pipeline::stop) it ends when the iterator returns.
    pub(super) fn asking(&self) -> Option<usize> {
        self.lock().asking
    }

    /// Ends the jobs. The iterator is dropped without the lock, since that too
    /// may block.
    fn end(&self, change: impl FnOnce(&mut PipelineState<I, R>)) {
        let mut state = self.lock();
        state.is_ended = true;
        change(&mut state);
        let jobs = state.jobs.take();
        drop(state);
        drop(jobs);
    }

    fn wake(&self) {
        self.room.notify_all();
        self.done.notify_all();
    }

    /// A worker that panics while it is locked reports that by
    /// [`lose`](Pipeline::lose).
    fn lock(&self) -> MutexGuard<'_, PipelineState<I, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

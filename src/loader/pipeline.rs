//! A queue of jobs that threads do ahead of a consumer. The results are in order,
//! and their number is bounded.
//!
//! `super::sync` has the locks of `std`, or those of loom in the model test.

use std::collections::VecDeque;
use std::hint;
use std::time::Duration;

use super::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use crate::error::invariant::to_u64;
use crate::source::platform::Clock;

/// How long a consumer looks for a result before it sleeps. A worker takes about 10 us to
/// wake it, a third of the time for a batch of 128 KiB.
const LOOK: Duration = Duration::from_micros(50);

/// How many times a processor pauses between two looks: some microseconds. Workers need the
/// lock, too.
const PAUSES: usize = 100;

/// Jobs, which are numbered as workers take them, and their results.
#[derive(Debug)]
pub(super) struct Pipeline<I, R> {
    state: Mutex<PipelineState<I, R>>,
    /// Signalled when there may be room for another job, or the jobs have ended.
    room: Condvar,
    /// Signalled when the next result may be ready.
    done: Condvar,
    /// Whether a consumer may look for a result without sleeping.
    looks: bool,
}

/// The iterator of jobs is the caller's and may block. So a worker takes the
/// iterator out of the state to call it, and holds no lock meanwhile: the
/// consumer can take results that are ready, and stop the pipeline.
#[derive(Debug)]
struct PipelineState<I, R> {
    /// The iterator of jobs; `None` while a worker calls it, and after the end.
    jobs: Option<I>,
    /// The worker that is calling the iterator.
    waiting: Option<usize>,
    /// The number of workers that sleep until there is room.
    sleeping_workers: usize,
    /// The number of threads that sleep until there is a result.
    sleeping_consumers: usize,
    /// Whether the jobs are finished or the pipeline was stopped.
    is_ended: bool,
    /// The results that have not been taken, from the next one on; `None` while
    /// the job is in progress. At most `ahead`.
    results: VecDeque<Option<R>>,
    ahead: usize,
    /// The number of results that have been taken.
    taken: u64,
    /// Whether the last result that a consumer waited for came soon.
    is_quick: bool,
    /// Whether a worker ended without finishing its job.
    is_lost: bool,
}

impl<I, R> PipelineState<I, R> {
    /// Returns whether the next result, or the end, is known.
    fn has_next(&self) -> bool {
        match self.results.front() {
            Some(result) => result.is_some() || self.is_lost,
            None => self.is_ended || self.is_lost,
        }
    }
}

/// The outcome of waiting for a result.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<R> {
    Result(R),
    End,
    /// A worker ended without finishing its job.
    Lost,
}

impl<I: Iterator, R> Pipeline<I, R> {
    /// Creates a pipeline. At most `ahead` jobs are in progress or have a result
    /// that has not been taken. `looks` is whether a consumer may look for a result for a
    /// moment instead of sleeping, because there is a processor for it.
    pub(super) fn new(jobs: I, ahead: usize, looks: bool) -> Pipeline<I, R> {
        let state = PipelineState {
            jobs: Some(jobs),
            waiting: None,
            sleeping_workers: 0,
            sleeping_consumers: 0,
            is_ended: false,
            results: VecDeque::new(),
            ahead,
            taken: 0,
            is_quick: true,
            is_lost: false,
        };
        Pipeline { state: Mutex::new(state), room: Condvar::new(), done: Condvar::new(), looks }
    }

    /// Waits for room, then takes the next job; `None` after the last one.
    pub(super) fn next_job(&self, worker: usize) -> Option<(u64, I::Item)> {
        let mut jobs = self.take_jobs(worker)?;
        let job = jobs.next();
        let mut state = self.lock();
        state.waiting = None;
        let Some(job) = job.filter(|_| !state.is_ended) else {
            state.is_ended = true;
            drop(state);
            self.wake();
            return None;
        };
        let number = state.taken + to_u64(state.results.len());
        state.results.push_back(None);
        state.jobs = Some(jobs);
        self.offer(state);
        Some((number, job))
    }

    /// Waits for room and takes the iterator; `None` when the jobs have ended.
    fn take_jobs(&self, worker: usize) -> Option<I> {
        let mut state = self.lock();
        while !state.is_ended {
            if state.results.len() < state.ahead {
                if let Some(jobs) = state.jobs.take() {
                    state.waiting = Some(worker);
                    return Some(jobs);
                }
            }
            state.sleeping_workers += 1;
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.sleeping_workers -= 1;
        }
        None
    }

    /// Wakes a worker if it can take a job. While another one calls the iterator, none can.
    fn offer(&self, state: MutexGuard<'_, PipelineState<I, R>>) {
        let has_room = state.results.len() < state.ahead;
        let is_needed = state.sleeping_workers > 0 && state.jobs.is_some() && has_room;
        drop(state);
        if is_needed {
            self.room.notify_one();
        }
    }

    /// Stores the result of a job.
    pub(super) fn finish(&self, number: u64, result: R) {
        let mut state = self.lock();
        let index = number.checked_sub(state.taken).and_then(|index| usize::try_from(index).ok());
        if let Some(place) = index.and_then(|index| state.results.get_mut(index)) {
            *place = Some(result);
        }
        let is_needed = state.sleeping_consumers > 0 && state.has_next();
        drop(state);
        if is_needed {
            self.done.notify_all();
        }
    }

    /// Waits for the next result.
    pub(super) fn next(&self) -> Next<R> {
        loop {
            let mut state = self.lock_with_next(Duration::MAX);
            match state.results.front_mut().map(Option::take) {
                Some(Some(result)) => {
                    state.results.pop_front();
                    state.taken += 1;
                    self.offer(state);
                    return Next::Result(result);
                }
                _ if state.is_lost => return Next::Lost,
                None if state.is_ended => return Next::End,
                _ => {}
            }
        }
    }

    /// Waits until [`next`](Pipeline::next) returns without waiting, but not for
    /// longer than `timeout`; returns whether it does.
    pub(super) fn wait(&self, timeout: Duration) -> bool {
        self.lock_with_next(timeout).has_next()
    }

    /// Locks the state when the next result is ready, or after `timeout`.
    fn lock_with_next(&self, timeout: Duration) -> MutexGuard<'_, PipelineState<I, R>> {
        let mut state = self.lock();
        if state.has_next() {
            return state;
        }
        let (start, look) = (Clock::now(), LOOK.min(timeout));
        while self.looks && state.is_quick && !state.has_next() && start.elapsed() < look {
            drop(state);
            (0..PAUSES).for_each(|_| hint::spin_loop());
            state = self.lock();
        }
        while !state.has_next() {
            let left = timeout.saturating_sub(start.elapsed());
            if left.is_zero() {
                break;
            }
            state.sleeping_consumers += 1;
            let woken = self.done.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
            state.sleeping_consumers -= 1;
        }
        state.is_quick = state.has_next() && start.elapsed() < 2 * LOOK;
        state
    }

    /// Ends the jobs. Workers that wait for one return.
    pub(super) fn stop(&self) {
        self.end(|_| {});
        self.room.notify_all();
    }

    /// Reports that a worker ended without finishing its job, or while calling the
    /// iterator.
    pub(super) fn lose(&self, worker: usize) {
        self.end(|state| {
            state.is_lost = true;
            state.waiting = state.waiting.filter(|&waiting| waiting != worker);
        });
        self.wake();
    }

    /// The worker that is calling the iterator, if there is one. It can't be woken:
    /// after [`stop`](Pipeline::stop), it ends when the iterator returns.
    pub(super) fn waiting_for_job(&self) -> Option<usize> {
        self.lock().waiting
    }

    /// Ends the jobs. The iterator is dropped after the lock is released, because
    /// dropping it may block, too.
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

    /// Ignores poisoning: a worker that panics calls [`lose`](Pipeline::lose).
    fn lock(&self) -> MutexGuard<'_, PipelineState<I, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! A queue of jobs that threads do ahead of a consumer. The results are in order,
//! and their number is bounded.
//!
//! A consumer that would have to wait takes a job itself instead. So without threads it
//! does all of them, and with some it sleeps only while there is no job for it.
//!
//! `super::sync` provides locks from `std`, or from loom in the model test.

use std::collections::VecDeque;
use std::time::Duration;

use super::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use crate::error::invariant::to_u64;
use crate::source::platform::Clock;

/// The consumer's number when it takes a job.
pub(super) const CONSUMER: usize = usize::MAX;

/// Jobs, which are numbered as workers take them, and their results.
#[derive(Debug)]
pub(super) struct Pipeline<I, R> {
    state: Mutex<PipelineState<I, R>>,
    /// Signalled when there may be room for another job, or the jobs have ended.
    room: Condvar,
    /// Signalled when the next result may be ready.
    done: Condvar,
    /// Whether the iterator of jobs never blocks, so that the consumer may call it while
    /// the next result is in progress.
    is_prompt: bool,
}

/// The iterator of jobs is the caller's and may block. So a worker takes the
/// iterator out of the state to call it, without holding a lock: the consumer
/// can take results that are ready, and stop the pipeline.
#[derive(Debug)]
struct PipelineState<I, R> {
    /// The iterator of jobs. Returns `None` while a worker calls it, and after
    /// the end.
    jobs: Option<I>,
    /// The worker that is calling the iterator, or [`CONSUMER`].
    waiting: Option<usize>,
    /// The number of workers that may take jobs: results with smaller numbers.
    workers: usize,
    /// The number of workers that sleep until there is room.
    sleeping_workers: usize,
    /// The number of threads that sleep until there is a result.
    sleeping_consumers: usize,
    /// Whether the jobs are finished or the pipeline was stopped.
    is_ended: bool,
    /// The results that have not been taken, from the next result on. Returns
    /// `None` while the job is in progress. At most `ahead`.
    results: VecDeque<Option<R>>,
    ahead: usize,
    /// Whether a job was finished. The first one is done alone: it shows how the others should
    /// be read.
    has_begun: bool,
    /// The number of results that have been taken.
    taken: u64,
    /// Whether a worker ended without finishing its job.
    is_lost: bool,
}

impl<I, R> PipelineState<I, R> {
    /// Returns whether the next result, or the end, is known.
    fn has_next(&self) -> bool {
        match self.results.front() {
            Some(result) => result.is_some(),
            None => self.is_ended,
        }
    }

    /// Returns whether another job may be taken.
    fn has_room(&self) -> bool {
        self.results.len() < if self.has_begun { self.ahead } else { 1 }
    }

    /// Returns whether the consumer should take a job instead of waiting.
    fn has_job(&self, is_prompt: bool) -> bool {
        let may_call = self.results.is_empty() || (is_prompt && self.has_room());
        self.jobs.is_some() && may_call
    }
}

/// What the consumer gets.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<J, R> {
    Result(R),
    /// A job to do, and its number.
    Job(u64, J),
    End,
    /// A worker ended without finishing its job.
    Lost,
}

/// What the consumer has waited for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wait<J> {
    /// The next result, or the end.
    Ready,
    /// A job to do before it waits again, and its number.
    Job(u64, J),
    /// The end of the jobs: it waits again.
    Again,
    TimedOut,
}

impl<I: Iterator, R> Pipeline<I, R> {
    /// Creates a pipeline without workers. `is_prompt` is whether the iterator never blocks.
    pub(super) fn new(jobs: I, is_prompt: bool) -> Pipeline<I, R> {
        let state = PipelineState {
            jobs: Some(jobs),
            waiting: None,
            workers: 0,
            sleeping_workers: 0,
            sleeping_consumers: 0,
            is_ended: false,
            results: VecDeque::new(),
            ahead: 1,
            has_begun: false,
            taken: 0,
            is_lost: false,
        };
        let (room, done) = (Condvar::new(), Condvar::new());
        Pipeline { state: Mutex::new(state), room, done, is_prompt }
    }

    /// Sets the number of workers, and of jobs that are in progress or have a
    /// result that has not been taken. The remaining workers end after their
    /// job.
    pub(super) fn set_workers(&self, workers: usize, ahead: usize) {
        let mut state = self.lock();
        (state.workers, state.ahead) = (workers, ahead);
        drop(state);
        self.room.notify_all();
    }

    /// Waits for room, then takes the next job. Returns `None` after the last
    /// job, and when there are fewer workers.
    pub(super) fn next_job(&self, worker: usize) -> Option<(u64, I::Item)> {
        let jobs = self.take_jobs(worker)?;
        self.call(jobs)
    }

    /// Takes a job from the iterator, which was taken out of the state.
    fn call(&self, mut jobs: I) -> Option<(u64, I::Item)> {
        let job = jobs.next();
        let mut state = self.lock();
        state.waiting = None;
        let (Some(job), false) = (job, state.is_ended) else {
            state.is_ended = true;
            drop(state);
            self.wake();
            return None;
        };
        let number = state.taken + to_u64(state.results.len());
        state.results.push_back(None);
        state.jobs = Some(jobs);
        let has_room = state.has_room();
        self.offer(state, has_room);
        Some((number, job))
    }

    /// Waits for room and takes the iterator. Returns `None` when the worker
    /// should end.
    fn take_jobs(&self, worker: usize) -> Option<I> {
        let mut state = self.lock();
        while !state.is_ended && worker < state.workers {
            if state.has_room() {
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

    /// Wakes a worker if there is room. While a different worker calls the
    /// iterator, it could not take a job.
    fn offer(&self, state: MutexGuard<'_, PipelineState<I, R>>, has_room: bool) {
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
        let is_first = !std::mem::replace(&mut state.has_begun, true);
        drop(state);
        if is_first {
            self.room.notify_all();
        }
        if is_needed {
            self.done.notify_all();
        }
    }

    /// The next result, or a job for the consumer, who must [`finish`](Pipeline::finish) it.
    /// Waits if there is neither.
    pub(super) fn next(&self) -> Next<I::Item, R> {
        loop {
            let is_ready =
                |state: &PipelineState<I, R>| state.has_next() || state.has_job(self.is_prompt);
            let mut state = self.lock_when(is_ready, Duration::MAX);
            match state.results.front_mut().map(Option::take) {
                Some(Some(result)) => {
                    state.results.pop_front();
                    state.taken += 1;
                    // Waking a worker for one job at a time takes longer than a short job.
                    let has_room = state.results.len() <= state.ahead / 2;
                    self.offer(state, has_room);
                    return Next::Result(result);
                }
                None if state.is_lost => return Next::Lost,
                None if state.is_ended => return Next::End,
                _ => {}
            }
            if !state.has_job(self.is_prompt) {
                continue;
            }
            if let Some(jobs) = state.jobs.take() {
                state.waiting = Some(CONSUMER);
                drop(state);
                if let Some((number, job)) = self.call(jobs) {
                    return Next::Job(number, job);
                }
            }
        }
    }

    /// Waits until [`next`](Pipeline::next) returns without waiting for a worker, or until
    /// the consumer should do a job meanwhile, but not for longer than `timeout`.
    pub(super) fn wait(&self, timeout: Duration) -> Wait<I::Item> {
        let has_own = |state: &PipelineState<I, R>| self.is_prompt && state.has_job(self.is_prompt);
        let is_ready = |state: &PipelineState<I, R>| {
            let is_idle = state.workers == 0 && state.results.is_empty();
            state.has_next() || (is_idle && state.has_job(self.is_prompt))
        };
        let mut state = self.lock_when(|state| is_ready(state) || has_own(state), timeout);
        if is_ready(&state) {
            return Wait::Ready;
        }
        // After the time, none is begun.
        if has_own(&state) && !timeout.is_zero() {
            if let Some(jobs) = state.jobs.take() {
                state.waiting = Some(CONSUMER);
                drop(state);
                // If there are no more, what is in progress is left.
                return self.call(jobs).map_or(Wait::Again, |(number, job)| Wait::Job(number, job));
            }
        }
        Wait::TimedOut
    }

    /// Locks the state when something is true of it, or after `timeout`.
    fn lock_when(
        &self,
        is_ready: impl Fn(&PipelineState<I, R>) -> bool,
        timeout: Duration,
    ) -> MutexGuard<'_, PipelineState<I, R>> {
        let mut state = self.lock();
        if is_ready(&state) {
            return state;
        }
        let start = Clock::now();
        while !is_ready(&state) {
            let left = timeout.saturating_sub(start.elapsed());
            if left.is_zero() {
                break;
            }
            state.sleeping_consumers += 1;
            let woken = self.done.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
            state.sleeping_consumers -= 1;
        }
        state
    }

    /// Ends the jobs. Workers that wait for one return.
    pub(super) fn stop(&self) {
        self.end(|_| VecDeque::new());
        self.room.notify_all();
    }

    /// Reports that a worker ended without finishing its job, or while calling the
    /// iterator. Results that were not taken are lost with it: they may follow it, or
    /// still be in progress.
    pub(super) fn lose(&self, worker: usize) {
        self.end(|state| {
            state.is_lost = true;
            state.waiting = state.waiting.filter(|&waiting| waiting != worker);
            std::mem::take(&mut state.results)
        });
        self.wake();
    }

    /// The worker that is calling the iterator, if there is one. It can't be woken:
    /// after [`stop`](Pipeline::stop), it ends when the iterator returns.
    pub(super) fn waiting_for_job(&self) -> Option<usize> {
        self.lock().waiting
    }

    /// Ends the jobs. The iterator and the results that `take` takes are dropped after the
    /// lock is released, because dropping them may also block.
    fn end(&self, take: impl FnOnce(&mut PipelineState<I, R>) -> VecDeque<Option<R>>) {
        let mut state = self.lock();
        state.is_ended = true;
        let results = take(&mut state);
        let jobs = state.jobs.take();
        drop(state);
        drop((jobs, results));
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

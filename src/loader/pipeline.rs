//! Work that threads do ahead of the one who waits for it, in order and
//! bounded.
//!
//! `super::sync` are the locks of `std`; the model test puts loom's there.

use std::collections::VecDeque;

use super::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Jobs that are numbered as they are handed out, and what came of them.
#[derive(Debug)]
pub(super) struct Pipeline<I, R> {
    state: Mutex<State<I, R>>,
    /// There may be room for another job, or no need for any.
    room: Condvar,
    /// The next result may be there.
    done: Condvar,
}

#[derive(Debug)]
struct State<I, R> {
    /// Where jobs come from; `None` when there are no more.
    jobs: Option<I>,
    /// Results not taken yet, from the next one on; `None` while they are
    /// worked on. At most `ahead`.
    results: VecDeque<Option<R>>,
    ahead: usize,
    /// How many results were taken.
    taken: u64,
    /// Whether a worker is gone that had a job.
    is_lost: bool,
}

/// What waiting for a result comes to.
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
        let (jobs, results) = (Some(jobs), VecDeque::new());
        let state = State { jobs, results, ahead, taken: 0, is_lost: false };
        Pipeline { state: Mutex::new(state), room: Condvar::new(), done: Condvar::new() }
    }

    /// Waits for room, then takes the next job; `None` when there is none.
    pub(super) fn job(&self) -> Option<(u64, I::Item)> {
        let mut state = self.lock();
        while state.jobs.is_some() && state.results.len() >= state.ahead {
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let Some(job) = state.jobs.as_mut()?.next() else {
            state.jobs = None;
            self.room.notify_all();
            self.done.notify_all();
            return None;
        };
        let number = state.taken + u64::try_from(state.results.len()).unwrap_or(u64::MAX);
        state.results.push_back(None);
        Some((number, job))
    }

    /// Hands in what came of a job.
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
                None if state.jobs.is_none() => return Next::End,
                _ => state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Hands out no more jobs.
    pub(super) fn stop(&self) {
        self.lock().jobs = None;
        self.room.notify_all();
    }

    /// Says that a worker is gone that had a job, or the jobs themselves.
    pub(super) fn lose(&self) {
        let mut state = self.lock();
        state.is_lost = true;
        state.jobs = None;
        self.room.notify_all();
        self.done.notify_all();
    }

    /// Who panics while it is locked says so by [`lose`](Pipeline::lose).
    fn lock(&self) -> MutexGuard<'_, State<I, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! Which of some threads does which job, and when the results are merged.
//!
//! `super::sync` provides locks from `std`, or from loom in the model test.

use std::collections::BTreeSet;
use std::mem;

use super::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Jobs that are waiting or being worked on, for each thread.
const AHEAD: usize = 2;

/// What the threads have done.
#[derive(Default)]
pub(super) struct Turns {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Jobs that were prepared, and those that a thread has begun.
    prepared: usize,
    begun: usize,
    /// Jobs that are done, but not merged.
    done: BTreeSet<usize>,
    /// Nothing more is needed.
    ended: bool,
}

impl Turns {
    /// Works on the oldest job that nobody has begun, again and again.
    pub(super) fn work_until_ended(&self, work: &dyn Fn(usize)) {
        loop {
            let mut state = self.wait_while(|state| state.begun == state.prepared);
            if state.ended {
                return;
            }
            let number = state.begun;
            state.begun += 1;
            drop(state);
            let end = End(self);
            work(number);
            mem::forget(end);
            self.lock().done.insert(number);
            self.changed.notify_all();
        }
    }

    /// Prepares and merges jobs in order, on which `threads` other threads work. `prepare`
    /// says whether there was a job, and both return nothing to stop.
    pub(super) fn merge_in_order(
        &self,
        threads: usize,
        prepare: &mut dyn FnMut(usize) -> Option<bool>,
        merge: &mut dyn FnMut(usize) -> Option<bool>,
    ) -> Option<()> {
        let mut merge_next = |number: usize| {
            let mut state = self.wait_while(|state| !state.done.contains(&number));
            if state.ended {
                // A thread has panicked, and so will the scope.
                return None;
            }
            state.done.remove(&number);
            drop(state);
            merge(number)
        };
        let mut prepared = 0;
        let mut merged = 0;
        loop {
            if prepared - merged == threads * AHEAD {
                merge_next(merged)?;
                merged += 1;
            }
            if !prepare(prepared)? {
                break;
            }
            prepared += 1;
            self.lock().prepared = prepared;
            self.changed.notify_all();
        }
        for number in merged..prepared {
            merge_next(number)?;
        }
        Some(())
    }

    /// Waits until a condition is false, or nothing more is needed.
    fn wait_while(&self, condition: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        while condition(&state) && !state.ended {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends all threads when it is dropped.
pub(super) struct End<'a>(pub(super) &'a Turns);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.lock().ended = true;
        self.0.changed.notify_all();
    }
}

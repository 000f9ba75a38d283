//! Computes results on several threads, and uses them in order.

#[cfg(all(test, target_pointer_width = "64"))]
#[allow(clippy::duplicate_mod, clippy::indexing_slicing, clippy::unwrap_used, reason = "a test")]
mod model;
mod turns;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::input::memory;
use crate::input::threads::processors;
use turns::{End, Turns};

/// The locks of the turns. The model test replaces them.
mod sync {
    pub(super) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
}

/// Calls `work` with each number below `count`, on one thread per processor, and
/// `merge` with the results in order, until one of them fails.
pub(crate) fn in_order<T: Send, E: Send>(
    count: usize,
    work: impl Fn(usize) -> Result<T, E> + Sync,
    mut merge: impl FnMut(usize, T) -> Result<(), E>,
) -> Result<(), E> {
    let mut numbers = 0..count;
    pipeline(
        processors().get().min(count),
        || Ok(numbers.next()),
        |number| Ok((number, work(number)?)),
        |(number, result)| merge(number, result),
    )
}

/// Calls `work` with each job that `next` returns, on some threads or on this one, and
/// `merge` with the results in order, until one of them fails.
///
/// Only a few jobs and results are in memory.
pub(crate) fn pipeline<J: Send, T: Send, E: Send>(
    threads: usize,
    mut next: impl FnMut() -> Result<Option<J>, E>,
    work: impl Fn(J) -> Result<T, E> + Sync,
    mut merge: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let jobs = Mutex::new(BTreeMap::new());
    let results = Mutex::new(BTreeMap::new());
    let failure = Cell::new(None);
    let unless_failed = |result: Result<bool, E>| result.map_err(|e| failure.set(Some(e))).ok();
    take_turns(
        if threads == 1 { 0 } else { threads },
        &mut |number| {
            unless_failed(next().map(|job| {
                let more = job.is_some();
                lock(&jobs).extend(job.map(|job| (number, job)));
                more
            }))
        },
        &|number| {
            let job = lock(&jobs).remove(&number);
            let result = job.map(&work);
            lock(&results).extend(result.map(|result| (number, result)));
        },
        &mut |number| {
            let result = lock(&results).remove(&number);
            unless_failed(result.map_or(Ok(()), |result| merge(result?)).map(|()| true))
        },
    );
    failure.into_inner().map_or(Ok(()), Err)
}

/// Prepares, works on and merges jobs by their numbers. `prepare` and `merge` run on this
/// thread, in order. `prepare` says whether there was a job, and both return nothing to
/// stop.
///
/// It is not generic, because its many callers would each compile a copy.
fn take_turns(
    threads: usize,
    prepare: &mut dyn FnMut(usize) -> Option<bool>,
    work: &(dyn Fn(usize) + Sync),
    merge: &mut dyn FnMut(usize) -> Option<bool>,
) {
    let turns = Turns::default();
    thread::scope(|scope| {
        // Ends the threads, also if a closure panics.
        let _end = End(&turns);
        let mut started = 0;
        while started < threads && memory::check_thread().is_ok() {
            let thread =
                thread::Builder::new().spawn_scoped(scope, || turns.work_until_ended(work));
            // If one can't be started, the others do its work.
            if thread.is_err() {
                break;
            }
            started += 1;
        }
        if started > 0 {
            return turns.merge_in_order(started, prepare, merge);
        }
        for number in 0.. {
            if !prepare(number)? {
                break;
            }
            work(number);
            merge(number)?;
        }
        Some(())
    });
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_merged_in_order_until_one_fails() {
        for count in [0, 1, 2, 1000] {
            let mut all = Vec::new();
            let done = in_order::<_, ()>(
                count,
                |n| Ok(n * n),
                |n, square| {
                    all.push((n, square));
                    Ok(())
                },
            );
            assert_eq!((done, all), (Ok(()), (0..count).map(|n| (n, n * n)).collect()));
        }
        let mut merged = 0;
        let failed = in_order(
            1000,
            |n| if n == 500 { Err(n) } else { Ok(n) },
            |_, _| {
                merged += 1;
                Ok(())
            },
        );
        assert_eq!((failed, merged), (Err(500), 500));
        assert_eq!(in_order(1000, Ok, |n, _| if n == 3 { Err(n) } else { Ok(()) }), Err(3));
    }

    #[test]
    fn jobs_that_cannot_be_made_end_the_work() {
        let mut left = 100;
        let failed = pipeline(
            8,
            || {
                left -= 1;
                if left == 0 { Err("no more") } else { Ok(Some(left)) }
            },
            Ok,
            |_| Ok(()),
        );
        assert_eq!(failed, Err("no more"));
    }
}

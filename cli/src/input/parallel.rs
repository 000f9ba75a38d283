//! Computes results on several threads, and uses them in order.

use std::collections::VecDeque;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};

use crate::input::memory;
use crate::input::threads;

/// Calls `work` with each job, on several threads, and `merge` with the results in
/// order, so that sums of floats do not depend on the number of threads, until one of them
/// fails.
pub(crate) fn in_order<J: Send, T: Send, E: Send>(
    jobs: impl ExactSizeIterator<Item = J>,
    work: impl Fn(J) -> Result<T, E> + Sync,
    merge: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    on_threads(threads::count(), jobs, work, merge)
}

/// As [`in_order`], on this many threads.
pub(crate) fn on_threads<J: Send, T: Send, E: Send>(
    threads: usize,
    mut jobs: impl ExactSizeIterator<Item = J>,
    work: impl Fn(J) -> Result<T, E> + Sync,
    merge: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    pipeline(threads.min(jobs.len()), || Ok(jobs.next()), work, merge)
}

/// Jobs that are waiting or being worked on, for each thread.
const AHEAD: usize = 2;

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
    let (jobs, queue) = mpsc::channel();
    let queue = Mutex::new(queue);
    let work = &work;
    thread::scope(|scope| {
        let started = if threads > 1 { start(scope, threads, &queue) } else { 0 };
        let mut run = || {
            let mut pending: VecDeque<Pending<Result<T, E>>> = VecDeque::new();
            loop {
                if started > 0 && pending.len() == started * AHEAD {
                    merge(wait_for_first(&mut pending)?)?;
                }
                let Some(job) = next()? else { break };
                if started == 0 {
                    merge(work(job)?)?;
                    continue;
                }
                let (result, (working, is_done)) = (Arc::default(), mpsc::channel());
                pending.push_back(Pending { result: Arc::clone(&result), is_done });
                let job: Job<'_> = Box::new(move || {
                    let found = work(job);
                    *lock(&result) = Some(found);
                    drop(working);
                });
                jobs.send(job).expect("the queue exists as long as the scope");
            }
            while !pending.is_empty() {
                merge(wait_for_first(&mut pending)?)?;
            }
            Ok(())
        };
        let done = run();
        // Ends the threads. After a failure, nobody needs the jobs that are left.
        drop(jobs);
        lock(&queue).try_iter().for_each(drop);
        done
    })
}

type Job<'j> = Box<dyn FnOnce() + Send + 'j>;

/// A job that a thread does.
struct Pending<R> {
    result: Arc<Mutex<Option<R>>>,
    /// Its other end is dropped when the job is done.
    is_done: Receiver<()>,
}

fn wait_for_first<T, E>(pending: &mut VecDeque<Pending<Result<T, E>>>) -> Result<T, E> {
    let Pending { result, is_done } = pending.pop_front().expect("there is one");
    // There are no messages.
    let _ = is_done.recv();
    lock(&result).take().expect("the thread has not panicked")
}

/// Starts threads that work on jobs until no more can come, and returns their number.
fn start<'s, 'j: 's>(
    scope: &'s Scope<'s, '_>,
    count: usize,
    jobs: &'s Mutex<Receiver<Job<'j>>>,
) -> usize {
    let work = || {
        loop {
            let job = lock(jobs).recv();
            let Ok(job) = job else { return };
            job();
        }
    };
    // If one can't be started, the others do its work.
    let starts = |_: &usize| {
        memory::check_thread().is_ok() && thread::Builder::new().spawn_scoped(scope, work).is_ok()
    };
    (0..count).take_while(starts).count()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::panic::{self, AssertUnwindSafe};

    use super::*;

    #[test]
    fn results_are_merged_in_order_until_one_fails() {
        for count in [0, 1, 2, 1000] {
            let mut all = Vec::new();
            let done = in_order::<_, _, ()>(
                0..count,
                |n| Ok(n * n),
                |square| {
                    all.push(square);
                    Ok(())
                },
            );
            assert_eq!((done, all), (Ok(()), (0..count).map(|n| n * n).collect()));
        }
        let mut merged = 0;
        let failed = in_order(
            0..1000,
            |n| if n == 500 { Err(n) } else { Ok(n) },
            |_| {
                merged += 1;
                Ok(())
            },
        );
        assert_eq!((failed, merged), (Err(500), 500));
        assert_eq!(in_order(0..1000, Ok, |n| if n == 3 { Err(n) } else { Ok(()) }), Err(3));
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

    #[test]
    fn a_panic_of_a_thread_ends_all() {
        let work =
            |number| if number == 5 { panic::resume_unwind(Box::new(())) } else { Ok(number) };
        let ended = AssertUnwindSafe(|| {
            let mut numbers = 0..1000;
            pipeline::<_, _, ()>(4, || Ok(numbers.next()), work, |_| Ok(()))
        });
        assert!(panic::catch_unwind(ended).is_err());
    }
}

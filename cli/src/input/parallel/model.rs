//! Tests the turns of threads with loom, in every order of up to two preemptions.

mod sync {
    pub(super) use loom::sync::{Condvar, Mutex, MutexGuard};
    pub(super) use std::sync::PoisonError;
}

#[path = "turns.rs"]
mod turns;

use std::panic::{self, AssertUnwindSafe};

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;

use turns::{End, Turns};

/// What goes wrong at a job.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Nothing,
    /// A thread panics in it.
    Work(usize),
    /// It cannot be prepared, or merged.
    Prepare(usize),
    Merge(usize),
    /// Merging it panics.
    MergePanic(usize),
}

/// Works on `count` jobs in all orders of threads: the results are merged in order up to the
/// fault, each after it was worked on, and all threads end.
fn check(threads: usize, count: usize, fault: Fault) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(move || {
        let turns = Arc::new(Turns::default());
        let done: Arc<Vec<_>> = Arc::new((0..count).map(|_| AtomicBool::new(false)).collect());
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                let (turns, done) = (Arc::clone(&turns), Arc::clone(&done));
                thread::spawn(move || {
                    let work = |number: usize| {
                        if fault == Fault::Work(number) {
                            panic::resume_unwind(Box::new(()));
                        }
                        assert!(!done[number].swap(true, Ordering::Relaxed), "done twice");
                    };
                    panic::catch_unwind(AssertUnwindSafe(|| turns.work_until_ended(&work))).is_err()
                })
            })
            .collect();
        let mut merged = 0;
        let result = panic::catch_unwind(AssertUnwindSafe(|| {
            let _end = End(&turns);
            turns.merge_in_order(
                threads,
                &mut |number| (fault != Fault::Prepare(number)).then_some(number < count),
                &mut |number| {
                    assert_eq!(number, merged);
                    assert!(done[number].load(Ordering::Relaxed), "merged before it is done");
                    if fault == Fault::MergePanic(number) {
                        panic::resume_unwind(Box::new(()));
                    }
                    merged += 1;
                    (fault != Fault::Merge(number)).then_some(true)
                },
            )
        }));
        let panicked =
            workers.into_iter().map(|worker| worker.join().unwrap()).filter(|panicked| *panicked);
        assert_eq!(panicked.count(), usize::from(matches!(fault, Fault::Work(_))));
        match fault {
            Fault::Nothing => assert_eq!((merged, result.unwrap()), (count, Some(()))),
            // A thread ends the others at once.
            Fault::Work(at) | Fault::Prepare(at) => {
                assert!(merged <= at && result.unwrap().is_none());
            }
            Fault::Merge(at) => assert_eq!((merged, result.unwrap()), (at + 1, None)),
            Fault::MergePanic(at) => assert!(merged == at && result.is_err()),
        }
    });
}

#[test]
fn all_results_are_merged_in_order() {
    check(1, 0, Fault::Nothing);
    check(1, 3, Fault::Nothing);
    check(2, 3, Fault::Nothing);
}

/// More jobs than may be ahead: this thread merges between preparing.
#[test]
fn no_more_jobs_are_prepared_than_may_wait() {
    check(1, 4, Fault::Nothing);
}

#[test]
fn a_panic_of_a_thread_ends_all() {
    for number in 0..3 {
        check(2, 3, Fault::Work(number));
    }
    check(1, 4, Fault::Work(1));
}

#[test]
fn a_failure_of_this_thread_ends_all() {
    check(2, 3, Fault::Prepare(2));
    check(2, 3, Fault::Merge(0));
    check(2, 3, Fault::MergePanic(1));
    check(1, 4, Fault::Merge(0));
}

//! Tests the pipeline with loom, in every possible order of its threads.

mod sync {
    pub(super) use loom::sync::{Condvar, Mutex, MutexGuard};
    pub(super) use std::sync::PoisonError;
}

#[path = "pipeline.rs"]
mod pipeline;

use std::ops::Range;
use std::time::Duration;

use loom::sync::{Arc, Condvar, Mutex};
use loom::thread::{self, JoinHandle};

use pipeline::{CONSUMER, Next, Pipeline, Wait};

type Numbers = Pipeline<Range<u64>, u64>;

fn check(test: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(test);
}

/// A pipeline of the numbers below `count`, with a number of workers, and jobs ahead.
#[inline]
fn numbers(count: u64, workers: usize, ahead: usize, is_prompt: bool) -> Arc<Numbers> {
    let pipeline = Pipeline::new(0..count, is_prompt);
    pipeline.set_workers(workers, ahead);
    Arc::new(pipeline)
}

#[inline]
fn worker(pipeline: &Arc<Numbers>, worker: usize, dies_at: Option<u64>) -> JoinHandle<()> {
    let pipeline = Arc::clone(pipeline);
    thread::spawn(move || {
        while let Some((number, job)) = pipeline.next_job(worker) {
            assert_eq!(number, job);
            if dies_at == Some(job) {
                return pipeline.lose(worker);
            }
            pipeline.finish(number, 10 * job);
        }
    })
}

/// The next result, after the jobs that the consumer has to do for it.
#[inline]
fn next(pipeline: &Numbers) -> Next<u64, u64> {
    loop {
        match pipeline.next() {
            Next::Job(number, job) => {
                assert_eq!(number, job);
                pipeline.finish(number, 10 * job);
            }
            next => return next,
        }
    }
}

#[test]
fn results_come_in_order_and_then_the_end() {
    for is_prompt in [false, true] {
        check(move || {
            let pipeline = numbers(3, 2, 2, is_prompt);
            let workers = [worker(&pipeline, 0, None), worker(&pipeline, 1, None)];
            let found: Vec<_> = (0..4).map(|_| next(&pipeline)).collect();
            let expected = [Next::Result(0), Next::Result(10), Next::Result(20), Next::End];
            assert_eq!(found, expected);
            for worker in workers {
                worker.join().unwrap();
            }
        });
    }
}

#[test]
fn a_consumer_needs_no_workers() {
    check(|| {
        let pipeline = numbers(2, 0, 1, false);
        assert_eq!(pipeline.wait(Duration::ZERO), Wait::Ready);
        assert_eq!(pipeline.next(), Next::Job(0, 0));
        pipeline.finish(0, 5);
        assert_eq!(pipeline.next(), Next::Result(5));
        assert_eq!([next(&pipeline), next(&pipeline)], [Next::Result(10), Next::End]);
    });
}

#[test]
fn workers_can_be_added_and_taken_away() {
    check(|| {
        let pipeline = numbers(4, 0, 1, true);
        assert_eq!(next(&pipeline), Next::Result(0));
        pipeline.set_workers(1, 2);
        let worker = worker(&pipeline, 0, None);
        assert_eq!(next(&pipeline), Next::Result(10));
        pipeline.set_workers(0, 1);
        assert_eq!([next(&pipeline), next(&pipeline)], [Next::Result(20), Next::Result(30)]);
        // It ends although the jobs have not.
        worker.join().unwrap();
        assert_eq!(next(&pipeline), Next::End);
    });
}

#[test]
fn the_first_job_is_done_alone() {
    for is_prompt in [false, true] {
        check(move || {
            let pipeline = numbers(2, 1, 4, is_prompt);
            let Next::Job(0, _) = pipeline.next() else { panic!("there is no worker yet") };
            let worker = worker(&pipeline, 0, None);
            assert_eq!(
                pipeline.wait(Duration::ZERO),
                Wait::TimedOut,
                "neither takes the second job"
            );
            pipeline.finish(0, 0);
            let found = [next(&pipeline), next(&pipeline), next(&pipeline)];
            assert_eq!(found, [Next::Result(0), Next::Result(10), Next::End]);
            worker.join().unwrap();
        });
    }
}

#[test]
fn waiting_ends_when_a_result_or_the_end_is_there() {
    check(|| {
        let pipeline = numbers(1, 1, 1, false);
        let worker = worker(&pipeline, 0, None);
        // Time never passes here.
        assert_eq!(pipeline.wait(Duration::MAX), Wait::Ready);
        assert_eq!(pipeline.wait(Duration::ZERO), Wait::Ready);
        assert_eq!(next(&pipeline), Next::Result(0));
        assert_eq!(pipeline.wait(Duration::MAX), Wait::Ready);
        assert_eq!(next(&pipeline), Next::End);
        worker.join().unwrap();
    });
}

#[test]
fn a_consumer_that_waits_does_jobs_meanwhile() {
    check(|| {
        let pipeline = numbers(3, 0, 1, true);
        assert_eq!(next(&pipeline), Next::Result(0));
        pipeline.set_workers(1, 2);
        let worker = worker(&pipeline, 0, None);
        for expected in [Next::Result(10), Next::Result(20), Next::End] {
            loop {
                match pipeline.wait(Duration::MAX) {
                    Wait::Ready => break,
                    Wait::Job(number, job) => pipeline.finish(number, 10 * job),
                    Wait::Again => {}
                    Wait::TimedOut => panic!("time never passes here"),
                }
            }
            // It has nothing to do but to take the result.
            assert_eq!(pipeline.next(), expected);
        }
        worker.join().unwrap();
    });
}

#[test]
fn a_consumer_begins_no_job_after_its_time() {
    check(|| {
        let pipeline = numbers(4, 1, 3, true);
        assert_eq!(next(&pipeline), Next::Result(0));
        assert_eq!(pipeline.next_job(0), Some((1, 1)));
        assert_eq!(pipeline.wait(Duration::ZERO), Wait::TimedOut);
        assert_eq!(pipeline.wait(Duration::MAX), Wait::Job(2, 2));
    });
}

#[test]
fn nothing_follows_a_panic_of_the_consumer() {
    check(|| {
        let pipeline = numbers(4, 1, 3, true);
        assert_eq!(next(&pipeline), Next::Result(0));
        assert_eq!(pipeline.next_job(0), Some((1, 1)));
        assert_eq!(pipeline.next(), Next::Job(2, 2));
        let finishing = Arc::clone(&pipeline);
        let worker = thread::spawn(move || finishing.finish(1, 10));
        pipeline.lose(CONSUMER);
        assert_eq!(next(&pipeline), Next::Lost);
        worker.join().unwrap();
        assert_eq!(next(&pipeline), Next::Lost);
    });
}

#[test]
fn stopping_wakes_all_workers() {
    check(|| {
        let pipeline = numbers(100, 2, 1, false);
        let workers = [worker(&pipeline, 0, None), worker(&pipeline, 1, None)];
        assert_eq!(next(&pipeline), Next::Result(0));
        pipeline.stop();
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

#[test]
fn a_lost_worker_is_reported() {
    check(|| {
        let pipeline = numbers(3, 2, 2, false);
        let workers = [worker(&pipeline, 0, Some(1)), worker(&pipeline, 1, None)];
        let mut found = 0;
        while let Next::Result(_) = next(&pipeline) {
            found += 1;
        }
        assert!(found <= 3);
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

/// Jobs from a channel, which blocks until enough have been sent.
struct Channel(Arc<(Mutex<u64>, Condvar)>, u64);

impl Iterator for Channel {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        let (sent, changed) = &*self.0;
        let mut sent = sent.lock().unwrap();
        while *sent <= self.1 {
            sent = changed.wait(sent).unwrap();
        }
        self.1 += 1;
        Some(self.1 - 1)
    }
}

#[test]
fn results_can_be_taken_while_the_jobs_block() {
    check(|| {
        let sent = Arc::new((Mutex::new(1), Condvar::new()));
        let pipeline = Arc::new(Pipeline::new(Channel(Arc::clone(&sent), 0), false));
        pipeline.set_workers(1, 2);
        let worker = {
            let pipeline = Arc::clone(&pipeline);
            thread::spawn(move || {
                while let Some((number, job)) = pipeline.next_job(0) {
                    pipeline.finish(number, 10 * job);
                }
            })
        };
        match pipeline.next() {
            // The consumer was sooner.
            Next::Job(0, 0) => pipeline.finish(0, 0),
            next => assert_eq!(next, Next::Result(0)),
        }
        pipeline.stop();
        while !matches!(pipeline.next(), Next::End) {}
        *sent.0.lock().unwrap() = 2;
        sent.1.notify_all();
        worker.join().unwrap();
        assert_eq!(pipeline.waiting_for_job(), None);
    });
}

//! Tests the pipeline with loom, in every order in which its threads can run.

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

use pipeline::{Next, Pipeline};

fn check(test: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(test);
}

fn worker(
    pipeline: &Arc<Pipeline<Range<u64>, u64>>,
    worker: usize,
    dies_at: Option<u64>,
) -> JoinHandle<()> {
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

#[test]
fn results_come_in_order_and_then_the_end() {
    check(|| {
        let pipeline = Arc::new(Pipeline::new(0..3, 2, false));
        let workers = [worker(&pipeline, 0, None), worker(&pipeline, 1, None)];
        let found: Vec<_> = (0..4).map(|_| pipeline.next()).collect();
        let expected = [Next::Result(0), Next::Result(10), Next::Result(20), Next::End];
        assert_eq!(found, expected);
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

#[test]
fn waiting_ends_when_a_result_or_the_end_is_there() {
    check(|| {
        let pipeline = Arc::new(Pipeline::new(0..1, 1, false));
        let worker = worker(&pipeline, 0, None);
        // Time never passes here.
        assert!(pipeline.wait(Duration::MAX) && pipeline.wait(Duration::ZERO));
        assert_eq!(pipeline.next(), Next::Result(0));
        assert!(pipeline.wait(Duration::MAX));
        assert_eq!(pipeline.next(), Next::End);
        worker.join().unwrap();
    });
}

#[test]
fn stopping_wakes_all_workers() {
    check(|| {
        let pipeline = Arc::new(Pipeline::new(0..100, 1, false));
        let workers = [worker(&pipeline, 0, None), worker(&pipeline, 1, None)];
        assert_eq!(pipeline.next(), Next::Result(0));
        pipeline.stop();
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

#[test]
fn a_lost_worker_is_reported() {
    check(|| {
        let pipeline = Arc::new(Pipeline::new(0..3, 2, false));
        let workers = [worker(&pipeline, 0, Some(1)), worker(&pipeline, 1, None)];
        let mut found = 0;
        while let Next::Result(_) = pipeline.next() {
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
        let pipeline = Arc::new(Pipeline::new(Channel(Arc::clone(&sent), 0), 2, false));
        let worker = {
            let pipeline = Arc::clone(&pipeline);
            thread::spawn(move || {
                while let Some((number, job)) = pipeline.next_job(0) {
                    pipeline.finish(number, 10 * job);
                }
            })
        };
        assert_eq!(pipeline.next(), Next::Result(0));
        pipeline.stop();
        assert_eq!(pipeline.next(), Next::End);
        *sent.0.lock().unwrap() = 2;
        sent.1.notify_all();
        worker.join().unwrap();
        assert_eq!(pipeline.waiting_for_job(), None);
    });
}

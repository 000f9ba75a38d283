//! The pipeline under loom: in every order that threads can take.

mod sync {
    pub(super) use loom::sync::{Condvar, Mutex, MutexGuard};
    pub(super) use std::sync::PoisonError;
}

#[path = "pipeline.rs"]
mod pipeline;

use loom::sync::Arc;
use loom::thread::{self, JoinHandle};

use pipeline::{Next, Pipeline};

type Jobs = std::ops::Range<u64>;

fn check(test: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(test);
}

fn worker(pipeline: &Arc<Pipeline<Jobs, u64>>, dies_at: Option<u64>) -> JoinHandle<()> {
    let pipeline = Arc::clone(pipeline);
    thread::spawn(move || {
        while let Some((number, job)) = pipeline.job() {
            assert_eq!(number, job);
            if dies_at == Some(job) {
                return pipeline.lose();
            }
            pipeline.finish(number, 10 * job);
        }
    })
}

#[test]
fn results_come_in_order_and_then_the_end() {
    check(|| {
        let pipeline = Arc::new(Pipeline::new(0..3, 2));
        let workers = [worker(&pipeline, None), worker(&pipeline, None)];
        let found: Vec<_> = (0..4).map(|_| pipeline.next()).collect();
        let expected = [Next::Result(0), Next::Result(10), Next::Result(20), Next::End];
        assert_eq!(found, expected);
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

#[test]
fn stopping_wakes_all_workers() {
    check(|| {
        let pipeline = Arc::new(Pipeline::new(0..100, 1));
        let workers = [worker(&pipeline, None), worker(&pipeline, None)];
        assert_eq!(pipeline.next(), Next::Result(0));
        pipeline.stop();
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

#[test]
fn a_lost_worker_is_told() {
    check(|| {
        let pipeline = Arc::new(Pipeline::new(0..3, 2));
        let workers = [worker(&pipeline, Some(1)), worker(&pipeline, None)];
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

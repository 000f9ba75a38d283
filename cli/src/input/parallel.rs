//! Computes results on several threads, and uses them in order.

use std::num::NonZero;
use std::sync::mpsc;
use std::thread;

/// Jobs that are waiting or being worked on, for each thread.
const AHEAD: usize = 2;

/// Calls `work` with each number below `count`, on one thread per processor, and
/// `merge` with the results in order, until one of them fails.
pub(crate) fn in_order<T: Send, E: Send>(
    count: usize,
    work: impl Fn(usize) -> Result<T, E> + Sync,
    mut merge: impl FnMut(usize, T) -> Result<(), E>,
) -> Result<(), E> {
    let mut numbers = 0..count;
    let mut merged = 0..count;
    pipeline(count, || Ok(numbers.next()), work, |result| merge(merged.next().unwrap_or(0), result))
}

/// Calls `work` with each job that `next` returns, on at most `most` threads, and
/// `merge` with the results in order, until one of them fails.
///
/// Only a few jobs and results are in memory.
pub(crate) fn pipeline<J: Send, T: Send, E: Send>(
    most: usize,
    mut next: impl FnMut() -> Result<Option<J>, E>,
    work: impl Fn(J) -> Result<T, E> + Sync,
    mut merge: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(most);
    if threads < 2 {
        while let Some(job) = next()? {
            merge(work(job)?)?;
        }
        return Ok(());
    }
    let work = &work;
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                let (jobs, waiting) = mpsc::sync_channel::<J>(AHEAD);
                let (done, results) = mpsc::sync_channel(AHEAD);
                scope.spawn(move || {
                    // Nothing is received after an error: the rest is not needed.
                    waiting.into_iter().all(|job| done.send(work(job)).is_ok())
                });
                (jobs, results)
            })
            .collect();
        let mut oldest = workers.iter().cycle();
        let mut in_flight = 0;
        for (jobs, _) in workers.iter().cycle() {
            if in_flight == threads * AHEAD {
                receive(oldest.next().map(|(_, results)| results), &mut merge)?;
                in_flight -= 1;
            }
            let Some(job) = next()? else { break };
            // A thread that panicked receives nothing, and the scope panics too.
            if jobs.send(job).is_err() {
                break;
            }
            in_flight += 1;
        }
        (0..in_flight)
            .try_for_each(|_| receive(oldest.next().map(|(_, results)| results), &mut merge))
    })
}

/// Merges the next result of a worker.
fn receive<T, E>(
    results: Option<&mpsc::Receiver<Result<T, E>>>,
    merge: &mut impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    match results.map(mpsc::Receiver::recv) {
        Some(Ok(result)) => merge(result?),
        // A thread that panicked sends nothing, and the scope panics too.
        _ => Ok(()),
    }
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

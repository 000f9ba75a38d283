//! Distributes the parts of a copy among threads.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use crate::error::{Error, Result, SystemError};

/// Calls `work` with each item, a buffer of the thread, and a function that passes
/// a number to `progress`, which the calling thread runs. Items are started in
/// order. After an error no more are started, and the error of the first item that
/// failed is returned, which is the same for any number of threads.
pub(super) fn for_each<I: Send>(
    items: impl Iterator<Item = I> + Send,
    threads: usize,
    progress: &mut dyn FnMut(usize),
    work: impl Fn(I, &mut Vec<u8>, &mut dyn FnMut(usize)) -> Result<()> + Sync,
) -> Result<()> {
    if threads < 2 {
        let (mut buffer, mut items) = (Vec::new(), items);
        return items.try_for_each(|item| work(item, &mut buffer, progress));
    }
    let queue = Queue { items: Mutex::new(items.enumerate()), is_stopped: AtomicBool::new(false) };
    let (send, receive) = mpsc::channel();
    let (queue, work) = (&queue, &work);
    thread::scope(|scope| {
        let mut running = Vec::new();
        for _ in 0..threads {
            let send = send.clone();
            let thread = thread::Builder::new().name("npymap copy".to_owned());
            match thread.spawn_scoped(scope, move || queue.work(&send, work)) {
                Ok(thread) => running.push(thread),
                Err(error) if running.is_empty() => {
                    return Err(SystemError::io("start a thread", error));
                }
                // The other threads do its work.
                Err(_) => break,
            }
        }
        drop(send);
        receive.into_iter().for_each(progress);
        let results = running.into_iter().map(thread::ScopedJoinHandle::join);
        let failed =
            results.filter_map(|result| result.unwrap_or_else(|panic| resume_unwind(panic)));
        failed.min_by_key(|(number, _)| *number).map_or(Ok(()), |(_, error)| Err(error))
    })
}

/// The items that no thread has started.
struct Queue<I> {
    items: Mutex<I>,
    is_stopped: AtomicBool,
}

impl<T, I: Iterator<Item = (usize, T)>> Queue<I> {
    /// Processes items until there are none left or one fails. Returns the number of
    /// the item that failed on this thread.
    fn work(
        &self,
        progress: &mpsc::Sender<usize>,
        work: &impl Fn(T, &mut Vec<u8>, &mut dyn FnMut(usize)) -> Result<()>,
    ) -> Option<(usize, Error)> {
        let mut buffer = Vec::new();
        while let Some((number, item)) = self.next() {
            let result = work(item, &mut buffer, &mut |nbytes| {
                // Nobody receives if `progress` panicked.
                if progress.send(nbytes).is_err() {
                    self.is_stopped.store(true, Ordering::Relaxed);
                }
            });
            if let Err(error) = result {
                self.is_stopped.store(true, Ordering::Relaxed);
                return Some((number, error));
            }
        }
        None
    }

    fn next(&self) -> Option<(usize, T)> {
        let mut items = self.items.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_stopped.load(Ordering::Relaxed) { None } else { items.next() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::RequestError;

    #[test]
    #[cfg(not(target_family = "wasm"))]
    fn each_item_is_processed_once_by_any_number_of_threads() {
        for threads in [0, 1, 2, 5] {
            let (mut sum, done) = (0, Mutex::new(Vec::new()));
            let result = for_each(0..100, threads, &mut |n| sum += n, |item, _, report| {
                done.lock().unwrap().push(item);
                report(item);
                Ok(())
            });
            result.unwrap();
            let mut done = done.into_inner().unwrap();
            done.sort_unstable();
            assert!(done.into_iter().eq(0..100) && sum == 4950, "{threads}");
        }
    }

    #[test]
    #[cfg(not(target_family = "wasm"))]
    fn a_panic_of_progress_ends_the_work() {
        let started = Mutex::new(0);
        let result = std::panic::catch_unwind(|| {
            for_each(0..100_000, 2, &mut |_| panic!("progress"), |_: usize, _, report| {
                *started.lock().unwrap() += 1;
                thread::sleep(std::time::Duration::from_millis(1));
                report(1);
                Ok(())
            })
        });
        assert!(result.is_err());
        assert!(started.into_inner().unwrap() < 10_000);
    }

    #[test]
    #[cfg(not(target_family = "wasm"))]
    fn the_first_error_is_returned_and_ends_the_work() {
        for threads in [1, 2, 5] {
            let started = Mutex::new(0);
            let error = for_each(0..1_000_000, threads, &mut |_| {}, |item: usize, _, _| {
                *started.lock().unwrap() += 1;
                if item % 50 < 49 {
                    return Ok(());
                }
                // A later item fails first.
                if item == 49 {
                    thread::sleep(std::time::Duration::from_millis(20));
                }
                let (found, expected) = (item.to_string(), String::new());
                Err(RequestError::Argument { found, expected }.into())
            });
            assert!(error.unwrap_err().to_string().starts_with("49"));
            assert!(started.into_inner().unwrap() < 1000, "{threads}");
        }
    }
}

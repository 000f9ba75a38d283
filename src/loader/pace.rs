//! Decides how many threads read batches besides their consumer, by the time that a batch
//! takes with one number of threads and with another.
//!
//! No rule by the numbers of processors or the sizes of batches holds on every
//! machine: a thread helps if the consumer computes, or if the memory is fast
//! enough for two, and it delays a consumer that only copies small rows. So the
//! number is tried out. A trial takes a few batches, and the next trial follows
//! after many times as long.
//!
//! This module reads no clock. Its tests pass the times of simulated machines.

use std::time::Duration;

/// How many batches and how much time it takes at least to judge a number of
/// threads. Shorter periods are often interrupted by other programs.
const BATCHES: u32 = 8;
const TIME: Duration = Duration::from_millis(4);

/// Another thread must make batches faster by this factor, and one less may make them slower
/// by the other.
const GAIN: f64 = 0.95;
const LOSS: f64 = 1.02;

/// After a trial that changed nothing, there is none for this many times as long, and twice
/// as long after each further one, up to the last number.
const REST: u32 = 32;
const MAX_REST: u32 = 1024;

/// The number of threads, and what is known of it.
#[derive(Debug)]
pub(super) struct Pace {
    most: usize,
    threads: usize,
    /// The number of threads compared with the present one, and its time for a
    /// batch.
    compared: Option<(usize, f64)>,
    /// Whether the number was changed since the last rest.
    has_changed: bool,
    /// The number of batches that are not measured, because they began with a
    /// different number of threads, or need new memory.
    skipped: usize,
    /// When the first batch that is measured was taken, and the number of those after it.
    start: Duration,
    count: u32,
    rest: u32,
    rests_until: Duration,
}

impl Pace {
    /// Starts without threads. There are never more than `most`.
    #[inline]
    pub(super) fn new(most: usize) -> Pace {
        Pace {
            most,
            threads: 0,
            compared: None,
            has_changed: false,
            skipped: 1,
            start: Duration::ZERO,
            count: 0,
            rest: REST,
            rests_until: Duration::ZERO,
        }
    }

    /// Notes that a batch was taken, and returns the number of threads from now on.
    #[inline]
    pub(super) fn take_batch(&mut self, now: Duration) -> usize {
        if self.skipped > 0 || now < self.rests_until {
            self.skipped -= self.skipped.min(1);
            (self.start, self.count) = (now, 0);
            return self.threads;
        }
        self.count += 1;
        let elapsed = now.saturating_sub(self.start);
        if self.count >= BATCHES && elapsed >= TIME {
            self.judge(elapsed.as_secs_f64() / f64::from(self.count));
            if self.compared.is_none() {
                self.rests_until = now + elapsed * self.rest;
            }
            (self.start, self.count) = (now, 0);
        }
        self.threads
    }

    /// Chooses the number of threads to try next, or none to rest.
    #[inline]
    fn judge(&mut self, time: f64) {
        let threads = self.threads;
        let Some((other, before)) = self.compared else {
            return self.try_next(time, Some(threads + 1));
        };
        let is_more = threads > other;
        if time < before * if is_more { GAIN } else { LOSS } {
            (self.has_changed, self.rest) = (true, REST);
            let next = if is_more { Some(threads + 1) } else { threads.checked_sub(1) };
            return self.try_next(time, next);
        }
        self.change(other);
        if is_more && !self.has_changed {
            self.try_next(before, other.checked_sub(1));
        } else {
            self.end_trials();
        }
    }

    /// Tries a number of threads, or one less than now if that is not possible.
    #[inline]
    fn try_next(&mut self, time: f64, next: Option<usize>) {
        let next = next.filter(|next| *next <= self.most).or(self.threads.checked_sub(1));
        let Some(next) = next else { return self.end_trials() };
        self.compared = Some((self.threads, time));
        self.change(next);
    }

    #[inline]
    fn end_trials(&mut self) {
        self.compared = None;
        if !self.has_changed {
            self.rest = (2 * self.rest).min(MAX_REST);
        }
        self.has_changed = false;
    }

    #[inline]
    fn change(&mut self, threads: usize) {
        self.skipped = 2 * self.threads.max(threads) + 2;
        self.threads = threads;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::invariant::to_u64;

    /// Takes batches on a machine on which one takes `time` of a number of threads, in
    /// microseconds. Returns the threads of each.
    fn run(
        pace: &mut Pace,
        start: &mut Duration,
        count: usize,
        time: impl Fn(usize) -> u64,
    ) -> Vec<usize> {
        let mut threads = pace.threads;
        let mut all = Vec::new();
        for _ in 0..count {
            all.push(threads);
            *start += Duration::from_micros(time(threads));
            threads = pace.take_batch(*start);
        }
        all
    }

    /// The number of threads that reads nine tenths of the last half of the batches.
    fn usual(threads: &[usize]) -> Option<usize> {
        let half = &threads[threads.len() / 2..];
        let count = |number| half.iter().filter(|threads| **threads == number).count();
        (0..9).find(|number| 10 * count(*number) > 9 * half.len())
    }

    #[test]
    fn the_fastest_number_is_found_and_trials_are_rare() {
        type Machine = fn(usize) -> u64;
        // Threads that only disturb, ones that hide the reading, ones that read as fast.
        let machines: [(Machine, usize); 5] = [
            (|threads| 100 + 50 * to_u64(threads), 0),
            (|threads| if threads == 0 { 1500 } else { 1000 }, 1),
            (|threads| 100_000 / (to_u64(threads) + 1), 4),
            (|threads| [1000, 500, 400, 450, 500][threads], 2),
            (|_| 700, 0),
        ];
        for (time, best) in machines {
            let (mut pace, mut now) = (Pace::new(4), Duration::ZERO);
            let threads = run(&mut pace, &mut now, 20_000, time);
            assert_eq!(usual(&threads), Some(best));
        }
    }

    #[test]
    fn no_more_threads_than_allowed_are_tried() {
        for most in 0..3 {
            let (mut pace, mut now) = (Pace::new(most), Duration::ZERO);
            let threads = run(&mut pace, &mut now, 1000, |threads| 9000 / (to_u64(threads) + 1));
            assert_eq!(threads.iter().max(), Some(&most));
            assert_eq!(usual(&threads), Some(most));
        }
    }

    #[test]
    fn a_consumer_that_changes_gets_another_number() {
        let (mut pace, mut now) = (Pace::new(2), Duration::ZERO);
        let busy = |threads| if threads == 0 { 1900 } else { 1000 };
        assert_eq!(usual(&run(&mut pace, &mut now, 5000, busy)), Some(1));
        let idle = |threads| 100 + 50 * to_u64(threads);
        assert_eq!(usual(&run(&mut pace, &mut now, 100_000, idle)), Some(0));
        assert_eq!(usual(&run(&mut pace, &mut now, 100_000, busy)), Some(1));
    }

    #[test]
    fn without_a_clock_there_are_no_threads() {
        let mut pace = Pace::new(4);
        assert!((0..1000).all(|_| pace.take_batch(Duration::ZERO) == 0));
    }
}

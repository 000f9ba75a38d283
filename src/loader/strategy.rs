//! How rows at random are read: when the system is told which ones are next.
//!
//! A page that isn't in memory is read when it is touched, one after the
//! other, and a disk that could read a hundred at once waits for each. Telling
//! the system about all rows of a batch first (`MADV_WILLNEED`) keeps the disk
//! busy: that was measured to be within 40 % of `io_uring`, with plain calls
//! and no threads. But where the pages are in memory it costs 0.6 µs a row,
//! more than copying a small one. So it adapts:
//!
//! - Rows are copied in groups of 16, and a clock is read after each. A group
//!   slower than memory can be turns advice on, for the rest of the batch and
//!   for later ones.
//! - With advice on, a batch starts by touching four of its rows. When none of
//!   them waits, advice is turned off. Asking the system whether pages are in
//!   memory would be fooled by holes in sparse files; the clock isn't.
//!
//! What a scan wants, reading ahead of a fault, is wrong here: each fault would
//! read some hundred KiB for one row. So the map this works on is one of its
//! own, with `MADV_RANDOM`.

use crate::error::invariant::to_u64;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Rows copied between two looks at the clock.
const GROUP: usize = 16;

/// Rows touched to see whether advice is still needed.
const PROBES: usize = 4;

/// What a row takes at most that is in memory, without its bytes.
const ROW: Duration = Duration::from_micros(20);

/// Bytes of advice that may be ahead of the copy, so that what was read ahead
/// is not dropped again before it is used.
const AHEAD: usize = 64 << 20;

/// Whether the rows of the last batch were in memory.
#[derive(Debug, Default)]
pub(crate) struct Strategy {
    advises: AtomicBool,
}

/// The rows of a batch, and what can be done with them.
pub(crate) trait RowReader {
    /// Reads a byte of a row.
    fn touch(&self, row: usize);

    /// Tells the system that a row is next.
    fn advise(&self, row: usize);

    /// Copies rows to where they go.
    fn copy(&mut self, rows: Range<usize>);

    /// What time it is.
    fn now(&self) -> Duration;
}

impl Strategy {
    /// Copies `count` rows of `nbytes` each.
    pub(crate) fn run(&self, count: usize, nbytes: usize, batch: &mut impl RowReader) {
        let was = self.advises.load(Ordering::Relaxed);
        let advises = Strategy::copy_rows(was, count, nbytes, batch);
        if advises != was {
            self.advises.store(advises, Ordering::Relaxed);
        }
    }

    fn copy_rows(was: bool, count: usize, nbytes: usize, batch: &mut impl RowReader) -> bool {
        let ahead = (AHEAD / nbytes.max(1)).max(GROUP);
        let mut advises = was && !is_in_memory(count, batch);
        let mut told = 0;
        let mut before = batch.now();
        for start in (0..count).step_by(GROUP) {
            let end = count.min(start + GROUP);
            if advises {
                let until = count.min(end.saturating_add(ahead));
                (told.max(start)..until).for_each(|row| batch.advise(row));
                told = until;
            }
            batch.copy(start..end);
            if !advises {
                let now = batch.now();
                advises = now.saturating_sub(before) > limit(end - start, nbytes);
                before = now;
            }
        }
        advises
    }
}

/// The longest that copying rows takes when they are in memory: half a
/// nanosecond a byte, and something for each.
fn limit(rows: usize, nbytes: usize) -> Duration {
    let bytes = Duration::from_nanos(to_u64(nbytes / 2));
    (ROW.saturating_add(bytes)).saturating_mul(u32::try_from(rows).unwrap_or(u32::MAX))
}

/// True when rows from all over a batch are touched without waiting.
fn is_in_memory(count: usize, batch: &impl RowReader) -> bool {
    let step = (count / PROBES).max(1);
    (0..count).step_by(step).take(PROBES).all(|row| {
        let before = batch.now();
        batch.touch(row);
        batch.now().saturating_sub(before) <= ROW
    })
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;

    /// Rows that are in memory or on a disk, and a clock that goes when they
    /// are touched.
    #[derive(Default)]
    struct Fake {
        cold: Vec<Cell<bool>>,
        now: Cell<Duration>,
        advised: RefCell<Vec<usize>>,
        copied: Vec<usize>,
    }

    impl Fake {
        fn new(cold: impl IntoIterator<Item = bool>) -> Fake {
            Fake { cold: cold.into_iter().map(Cell::new).collect(), ..Fake::default() }
        }

        fn run(mut self, strategy: &Strategy) -> usize {
            let count = self.cold.len();
            strategy.run(count, 4096, &mut self);
            assert!(self.copied.iter().copied().eq(0..count), "all rows once, in order");
            let advised = self.advised.into_inner();
            assert!(advised.windows(2).all(|pair| pair[0] < pair[1]), "none twice");
            advised.len()
        }
    }

    impl RowReader for Fake {
        fn touch(&self, row: usize) {
            let wait = if self.cold[row].replace(false) { 80 } else { 1 };
            self.now.set(self.now.get() + Duration::from_micros(wait));
        }

        fn advise(&self, row: usize) {
            self.advised.borrow_mut().push(row);
            self.cold[row].set(false);
        }

        fn copy(&mut self, rows: Range<usize>) {
            rows.clone().for_each(|row| self.touch(row));
            self.copied.extend(rows);
        }

        fn now(&self) -> Duration {
            self.now.get()
        }
    }

    #[test]
    fn rows_in_memory_are_not_advised() {
        let strategy = Strategy::default();
        assert_eq!(Fake::new([false; 256]).run(&strategy), 0);
        assert_eq!(Fake::new([]).run(&strategy), 0);
    }

    #[test]
    fn a_slow_group_turns_advice_on_for_the_rest_and_for_later_batches() {
        let strategy = Strategy::default();
        assert_eq!(Fake::new([true; 256]).run(&strategy), 256 - GROUP);
        assert_eq!(Fake::new([true; 256]).run(&strategy), 256);
        assert_eq!(Fake::new([true; 3]).run(&strategy), 3);
    }

    #[test]
    fn rows_that_are_in_memory_again_turn_it_off() {
        let strategy = Strategy::default();
        Fake::new([true; 256]).run(&strategy);
        assert_eq!(Fake::new([false; 256]).run(&strategy), 0);
        // A few that aren't don't turn it on.
        assert_eq!(Fake::new((0..256).map(|i| i % 16 == 5)).run(&strategy), 0);
    }

    #[test]
    fn advice_goes_ahead_by_a_bounded_number_of_bytes() {
        let strategy = Strategy { advises: AtomicBool::new(true) };
        let mut fake = Fake::new([true; 100]);
        strategy.run(100, AHEAD, &mut fake);
        assert_eq!(fake.advised.into_inner().len(), 100);
        assert!(limit(16, usize::MAX) > limit(16, 64 << 10));
    }
}

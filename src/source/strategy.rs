//! Decides when to advise the kernel of the rows that a batch will read.
//!
//! A page that is not in memory is read when it is first touched, so pages are
//! read in turn, although a disk could read a hundred in parallel. Advising the
//! kernel of all rows of a batch first (`MADV_WILLNEED`) keeps the disk busy.
//! Measured, this is within 40 % of `io_uring`, without threads. But if the
//! pages are already in memory, advice costs 0.6 µs per row, more than copying
//! a small row. So the strategy adapts:
//!
//! - Rows are copied in groups of 16, and the clock is read after each group. Groups
//!   of at least 16 pages that took longer than pages in memory can take turn advice
//!   on, for the rest of the batch and for later batches. One page alone can take as
//!   long because the processor was interrupted.
//! - Where other programs use the processor, all groups can take as long. So if
//!   the kernel counts the waits of a thread for the disk, there must have been
//!   one. The clock is asked first, because it takes a tenth of the time.
//! - The pieces of rows in Fortran order count as rows. If there are many, groups after one
//!   that was fast have 1,024 rows, because their pieces are on the same pages.
//! - Rows of at least 64 KiB, or of at least 16 pieces, are touched before a group of them
//!   is copied, and one that is slow turns advice on.
//! - While advice is on, a batch starts by touching four of its rows. If all of
//!   them are fast, advice is turned off. The clock is more reliable than
//!   asking the kernel whether pages are in memory (`mincore`), which gives the
//!   wrong answer for holes in sparse files.
//!
//! Read-ahead helps a sequential scan, but not random access: each fault would
//! read some hundred KiB for one row. So rows have their own map, with
//! `MADV_RANDOM`, and `loader/reading.rs` decides what else to read.

use crate::error::invariant::to_u64;
use crate::kernel::PAGE;
use crate::source::tuning::{GROUP, PLACE, WINDOW};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Remembers whether the rows of the last batch were in memory.
#[derive(Debug, Default)]
pub(crate) struct Strategy {
    advises: AtomicBool,
}

/// The operations on the rows of a batch, which are numbered from 0.
pub(crate) trait RowReader {
    /// Reads a byte of a row.
    fn touch(&self, row: usize);

    /// Advises the kernel that rows will be read.
    fn advise(&self, rows: Range<usize>);

    /// Copies rows to the output.
    fn copy(&mut self, rows: Range<usize>);

    /// The number of bytes from the first of several rows to the last row, each
    /// included.
    fn span(&self, rows: Range<usize>) -> usize;

    /// The number of places that a row has bytes in: more than one in Fortran order.
    fn pieces(&self) -> usize {
        1
    }

    /// Returns whether the calling thread may have waited for the disk since the batch began.
    fn may_have_waited(&self) -> bool {
        true
    }

    /// The current time, since any fixed point.
    fn now(&self) -> Duration;
}

impl Strategy {
    /// Returns whether some rows of the last batch had to be read from the disk.
    #[inline]
    pub(crate) fn was_cold(&self) -> bool {
        self.advises.load(Ordering::Relaxed)
    }

    /// Copies `count` rows of `nbytes` each. Returns whether some had to be read
    /// from the disk.
    pub(crate) fn run(&self, count: usize, nbytes: usize, batch: &mut impl RowReader) -> bool {
        let was = self.advises.load(Ordering::Relaxed);
        let ahead = (WINDOW / nbytes.max(1)).max(GROUP);
        let mut advises = was && !is_in_memory(count, batch);
        let mut next_row = 0;
        // The first row that was copied after this time.
        let (mut first, mut before) = (0, batch.now());
        let pieces = batch.pieces();
        let (mut end, mut group) = (0, GROUP);
        while end < count {
            let start = end;
            end = count.min(start + group);
            // The pages of one such row would take long enough. Advice for it costs
            // little, compared with the copy.
            let has_many_pages = nbytes >= GROUP * PAGE || pieces >= GROUP;
            advises = advises || (has_many_pages && !is_fast(start, batch));
            if advises {
                let until = count.min(end + ahead);
                batch.advise(next_row.max(start)..until);
                next_row = until;
            }
            batch.copy(start..end);
            if !advises {
                let (now, bytes) = (batch.now(), (end - first).saturating_mul(nbytes));
                let elapsed = now.saturating_sub(before);
                if elapsed > time_limit(1, bytes) {
                    let most = (end - first).saturating_mul(pieces);
                    let places = (batch.span(first..end) / PAGE + 1).min(most);
                    if places < GROUP && end < count {
                        continue;
                    }
                    advises = elapsed > time_limit(places, bytes) && batch.may_have_waited();
                }
                (first, before) = (end, now);
                // Pages with pieces of one row have pieces of others, too.
                group = match pieces {
                    _ if advises => GROUP,
                    ..GROUP => GROUP,
                    _ => 64 * GROUP,
                };
            }
        }
        if advises != was {
            self.advises.store(advises, Ordering::Relaxed);
        }
        advises
    }
}

/// The most time that copying rows in memory takes: half a nanosecond per byte,
/// and [`PLACE`] for each piece of a row, or for each page if there are fewer.
#[inline]
fn time_limit(places: usize, bytes: usize) -> Duration {
    let bytes = Duration::from_nanos(to_u64(bytes / 2));
    PLACE.saturating_mul(u32::try_from(places).unwrap_or(u32::MAX)).saturating_add(bytes)
}

/// Touches a few rows of a batch and returns whether all of them were fast.
fn is_in_memory(count: usize, batch: &impl RowReader) -> bool {
    let step = (count / (GROUP / 4)).max(1);
    (0..count).step_by(step).take(GROUP / 4).all(|row| is_fast(row, batch))
}

/// Touches a row and returns whether it was fast.
fn is_fast(row: usize, batch: &impl RowReader) -> bool {
    let before = batch.now();
    batch.touch(row);
    let elapsed = batch.now().saturating_sub(before);
    elapsed <= time_limit(batch.pieces(), 0) || !batch.may_have_waited()
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;

    /// Rows that are in memory or on a disk, and a clock that advances when they
    /// are touched.
    #[derive(Default)]
    struct Fake {
        cold: Vec<Cell<bool>>,
        /// The number of bytes from one row to the next.
        stride: usize,
        now: Cell<Duration>,
        advised: RefCell<Vec<usize>>,
        copied: Vec<usize>,
        pieces: u32,
        groups: Vec<usize>,
        /// Whether the time is that of other programs.
        is_interrupted: bool,
    }

    impl Fake {
        fn new(cold: impl IntoIterator<Item = bool>) -> Fake {
            let cold = cold.into_iter().map(Cell::new).collect();
            Fake { cold, stride: 100 * PAGE, pieces: 1, ..Fake::default() }
        }

        fn run(mut self, strategy: &Strategy) -> usize {
            let count = self.cold.len();
            let is_cold = strategy.run(count, 4096, &mut self);
            assert_eq!(is_cold, strategy.advises.load(Ordering::Relaxed));
            assert!(self.copied.iter().copied().eq(0..count), "each row is copied once, in order");
            let advised = self.advised.into_inner();
            assert!(advised.windows(2).all(|pair| pair[0] < pair[1]), "no row is advised twice");
            advised.len()
        }
    }

    impl RowReader for Fake {
        fn touch(&self, row: usize) {
            let wait = if self.cold[row].replace(false) { 80 } else { 1 };
            let wait = Duration::from_micros(wait).saturating_mul(self.pieces);
            self.now.set(self.now.get() + wait);
        }

        fn advise(&self, rows: Range<usize>) {
            rows.clone().for_each(|row| self.cold[row].set(false));
            self.advised.borrow_mut().extend(rows);
        }

        fn copy(&mut self, rows: Range<usize>) {
            self.groups.push(rows.len());
            rows.clone().for_each(|row| self.touch(row));
            self.copied.extend(rows);
        }

        fn pieces(&self) -> usize {
            self.pieces.try_into().unwrap()
        }

        fn span(&self, rows: Range<usize>) -> usize {
            rows.len() * self.stride
        }

        fn may_have_waited(&self) -> bool {
            !self.is_interrupted
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
    fn rows_are_not_advised_because_other_programs_run() {
        let slow = || Fake { is_interrupted: true, ..Fake::new([true; 256]) };
        let strategy = Strategy::default();
        assert_eq!(slow().run(&strategy), 0);
        // Also if the last batch waited for the disk.
        Fake::new([true; 256]).run(&strategy);
        assert_eq!(slow().run(&strategy), 0);
    }

    #[test]
    fn a_slow_group_turns_advice_on_for_the_rest_and_for_later_batches() {
        let strategy = Strategy::default();
        assert_eq!(Fake::new([true; 256]).run(&strategy), 256 - GROUP);
        assert_eq!(Fake::new([true; 256]).run(&strategy), 256);
        assert_eq!(Fake::new([true; 3]).run(&strategy), 3);
    }

    #[test]
    fn rows_that_are_in_memory_again_turn_advice_off() {
        let strategy = Strategy::default();
        Fake::new([true; 256]).run(&strategy);
        assert_eq!(Fake::new([false; 256]).run(&strategy), 0);
        // A few rows on the disk don't turn it on.
        assert_eq!(Fake::new((0..256).map(|i| i % 16 == 5)).run(&strategy), 0);
    }

    #[test]
    fn small_rows_one_after_another_are_judged_by_their_pages() {
        let rows = |cold: &dyn Fn(usize) -> bool, count| Fake {
            stride: PAGE / 8,
            ..Fake::new((0..count).map(cold))
        };
        let strategy = Strategy::default();
        let advised = rows(&|row| row % 8 == 0, 256).run(&strategy);
        assert!((100..150).contains(&advised), "{advised}");
        // Batches of less than 16 pages are judged at their end.
        let strategy = Strategy::default();
        rows(&|row| row % 8 == 0, 40).run(&strategy);
        assert_eq!(rows(&|_| true, 8).run(&strategy), 8);
        // One slow page of many does not count.
        assert_eq!(rows(&|row| row == 9, 256).run(&Strategy::default()), 0);
    }

    #[test]
    fn rows_of_many_pieces_are_judged_by_their_pieces_and_copied_in_larger_groups() {
        let scattered = |cold: bool| {
            let mut fake = Fake { pieces: 100, ..Fake::new((0..256).map(|_| cold)) };
            let advises = Strategy::default().run(256, 400, &mut fake);
            (advises, fake.groups)
        };
        assert_eq!(scattered(false), (false, [16, 240].to_vec()));
        assert_eq!(scattered(true), (true, [16; 16].to_vec()));
    }

    #[test]
    fn large_rows_are_advised_before_the_first_is_copied() {
        let large = |cold: &dyn Fn(usize) -> bool| {
            let mut fake = Fake::new((0..40).map(cold));
            let advises = Strategy::default().run(40, GROUP * PAGE, &mut fake);
            (advises, fake.advised.into_inner().len())
        };
        assert_eq!(large(&|_| true), (true, 40));
        assert_eq!(large(&|_| false), (false, 0));
        assert_eq!(large(&|row| row >= 16), (true, 24));
    }

    #[test]
    fn advice_is_ahead_by_a_bounded_number_of_bytes() {
        let strategy = Strategy { advises: AtomicBool::new(true) };
        let mut fake = Fake::new([true; 100]);
        strategy.run(100, WINDOW, &mut fake);
        assert_eq!(fake.advised.into_inner().len(), 100);
        assert!(time_limit(16, usize::MAX) > time_limit(16, 64 << 10));
    }
}

//! The decisions within a batch, on a fake disk with a fake clock.

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
    /// Whether the kernel counts the waits.
    counts_waits: bool,
}

impl Fake {
    fn new(cold: impl IntoIterator<Item = bool>) -> Fake {
        let cold = cold.into_iter().map(Cell::new).collect();
        Fake { cold, stride: 100 * PAGE, pieces: 1, ..Fake::default() }
    }

    fn run(mut self, planner: &Planner) -> usize {
        let count = self.cold.len();
        let is_cold = planner.read(count, 4096, &mut self);
        assert_eq!(is_cold, planner.advises.load(Ordering::Relaxed));
        assert!(self.copied.iter().copied().eq(0..count), "each row is copied once, in order");
        let advised = self.advised.into_inner();
        assert!(advised.windows(2).all(|pair| pair[0] < pair[1]), "no row is advised twice");
        advised.len()
    }
}

impl RowReader for Fake {
    fn touch(&self, row: usize) {
        let wait = if self.cold[row].replace(false) { 80 } else { 1 };
        let wait = Duration::from_micros(wait).checked_mul(self.pieces).unwrap();
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

    fn counts_waits(&self) -> bool {
        self.counts_waits
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
    let planner = Planner::default();
    assert_eq!(Fake::new([false; 256]).run(&planner), 0);
    assert_eq!(Fake::new([]).run(&planner), 0);
}

#[test]
fn rows_are_not_advised_because_other_programs_run() {
    let slow = || Fake { is_interrupted: true, ..Fake::new([true; 256]) };
    let planner = Planner::default();
    assert_eq!(slow().run(&planner), 0);
    // Also if the last batch waited for the disk.
    Fake::new([true; 256]).run(&planner);
    assert_eq!(slow().run(&planner), 0);
}

#[test]
fn a_slow_group_turns_advice_on_for_the_rest_and_for_later_batches() {
    let planner = Planner::default();
    assert_eq!(Fake::new([true; 256]).run(&planner), 256 - GROUP);
    assert_eq!(Fake::new([true; 256]).run(&planner), 256);
    assert_eq!(Fake::new([true; 3]).run(&planner), 3);
}

#[test]
fn the_first_row_tells_where_waits_are_counted() {
    let rows = |cold: &dyn Fn(usize) -> bool, count| {
        let fake = Fake { counts_waits: true, ..Fake::new((0..count).map(cold)) };
        fake.run(&Planner::default())
    };
    assert_eq!(rows(&|_| true, 256), 256);
    assert_eq!(rows(&|_| true, 2), 2);
    assert_eq!(rows(&|_| false, 256), 0);
    assert_eq!(rows(&|row| row > 0, 256), 256 - GROUP, "otherwise, the first group");
    // One row is read as fast without advice.
    assert_eq!(rows(&|_| true, 1), 0);
    let slow = Fake { counts_waits: true, is_interrupted: true, ..Fake::new([true; 256]) };
    assert_eq!(slow.run(&Planner::default()), 0);
}

#[test]
fn rows_that_are_in_memory_again_turn_advice_off() {
    let planner = Planner::default();
    Fake::new([true; 256]).run(&planner);
    assert_eq!(Fake::new([false; 256]).run(&planner), 0);
    // A few rows on the disk don't turn it on.
    assert_eq!(Fake::new((0..256).map(|i| i % 16 == 5)).run(&planner), 0);
}

#[test]
fn small_rows_one_after_another_are_judged_by_their_pages() {
    let rows = |cold: &dyn Fn(usize) -> bool, count| Fake {
        stride: PAGE / 8,
        ..Fake::new((0..count).map(cold))
    };
    let planner = Planner::default();
    let advised = rows(&|row| row % 8 == 0, 256).run(&planner);
    assert!((100..150).contains(&advised), "{advised}");
    // Batches of less than 16 pages are judged at their end.
    let planner = Planner::default();
    rows(&|row| row % 8 == 0, 40).run(&planner);
    assert_eq!(rows(&|_| true, 8).run(&planner), 8);
    // One slow page of many does not count.
    assert_eq!(rows(&|row| row == 9, 256).run(&Planner::default()), 0);
}

#[test]
fn rows_of_many_pieces_are_judged_by_their_pieces_and_copied_in_larger_groups() {
    let scattered = |cold: bool| {
        let mut fake = Fake { pieces: 100, ..Fake::new((0..256).map(|_| cold)) };
        let advises = Planner::default().read(256, 400, &mut fake);
        (advises, fake.groups)
    };
    assert_eq!(scattered(false), (false, [16, 240].to_vec()));
    assert_eq!(scattered(true), (true, [16; 16].to_vec()));
}

#[test]
fn large_rows_are_advised_before_the_first_is_copied() {
    let large = |cold: &dyn Fn(usize) -> bool| {
        let mut fake = Fake::new((0..40).map(cold));
        let advises = Planner::default().read(40, GROUP * PAGE, &mut fake);
        (advises, fake.advised.into_inner().len())
    };
    assert_eq!(large(&|_| true), (true, 40));
    assert_eq!(large(&|_| false), (false, 0));
    assert_eq!(large(&|row| row >= 16), (true, 24));
}

#[test]
fn advice_is_ahead_by_a_bounded_number_of_bytes() {
    let planner = Planner { advises: AtomicBool::new(true), ..Planner::default() };
    let mut fake = Fake::new([true; 100]);
    planner.read(100, WINDOW, &mut fake);
    assert_eq!(fake.advised.into_inner().len(), 100);
    assert!(time_limit(16, u64::MAX) > time_limit(16, 64 << 10));
}

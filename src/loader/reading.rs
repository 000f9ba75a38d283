//! Decides when to read more of an array than the rows that are requested.
//!
//! Reading one page at random takes a disk as long as reading several in sequence.
//! So when many rows of an array are going to be read, reading all of it in
//! sequence, in the background, is faster. But the number of rows that will follow
//! is unknown. This is the ski-rental problem: rent until the total rent equals the
//! price, then buy. So:
//!
//! - The pages of batches that had to wait for the disk are counted. When they
//!   amount to a fraction of the array, and the array fits into the available
//!   memory, all of it is read, starting at the rows of the last batch. If batches
//!   wait for the disk again afterwards, because pages were evicted, twice the
//!   fraction is required the next time.
//! - Reading continues only while batches are taken: each one allows a limited
//!   number of bytes to be queued.
//! - If batches follow each other in the array, the bytes after them are read,
//!   whether or not the array fits.
//!
//! This module does no I/O; its tests use a fake disk and fake memory.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::invariant::to_u64;
use crate::source::read_ahead::{Use, try_lock};

/// How rows are read from the disk: [`Rows::reading`](crate::Rows::reading).
///
/// It makes no difference for rows that are in memory. Systems other than Linux
/// read at most 4 MiB ahead, so arrays that are larger are hardly ever read in
/// sequence there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reading {
    /// Decides by the rows that were requested, the size of the array, and the
    /// available memory.
    ///
    /// - Single rows are read as with [`Pages`](Reading::Pages), but rows of a batch
    ///   that are less than 16 KiB apart are read together.
    /// - An array that fits into three quarters of the available memory (that of
    ///   the machine or of the control group, whichever is less) is read as with
    ///   [`Stream`](Reading::Stream), once batches that had to wait for the disk
    ///   have requested 1/64 of its pages.
    /// - After consecutive batches, the next 32 MiB are read ahead.
    #[default]
    Auto,
    /// Reads only pages that contain requested rows. Use it for a few rows of many
    /// files, or if other programs need the memory.
    Pages,
    /// Reads the whole array in sequence, in the background, from the first batch
    /// that has to wait for the disk, while rows of each batch are requested as
    /// they are needed. Reading pauses when no batches are taken, and ends when the
    /// rows are dropped. Use it for a single epoch of an array that fits into
    /// memory.
    Stream,
}

/// All of an array is read after batches have requested one part in this many from
/// the disk.
const FRACTION: usize = 64;

/// The number of bytes that may be queued when a batch has been taken.
const CREDIT: usize = 64 << 20;

/// The number of bytes to read after consecutive batches.
const WINDOW: usize = 32 << 20;

/// The smallest number of bytes to queue, unless the array ends.
const PIECE: usize = 8 << 20;

/// The size of a page. On systems with larger ones, more is read than is counted.
const PAGE: usize = 4096;

/// Batches that are read in parallel can be this many batches out of order.
const DISORDER: usize = 8;

/// The disk and the memory of an array.
pub(super) trait Disk {
    /// The number of bytes of the array.
    fn nbytes(&self) -> usize;

    /// The number of bytes that have to fit into memory: those of this array and
    /// of others that are used with it.
    fn working_set(&self) -> usize;

    /// The number of bytes of memory that can be used for the array.
    fn available(&self) -> Option<u64>;

    /// The number of bytes that are queued but not yet read.
    fn queued(&self) -> usize;

    /// Queues a range to be read in the background; `false` if that is impossible.
    fn queue(&self, range: Range<usize>, usage: Use) -> bool;
}

/// The rows of a batch.
#[derive(Clone, Debug, Default)]
pub(super) struct Request {
    /// From the first to the last byte of all rows.
    pub(super) span: Range<usize>,
    /// The number of bytes of the rows.
    pub(super) nbytes: usize,
    /// The number of bytes of the pages that contain the rows.
    pub(super) page_bytes: usize,
    /// Whether they had to be read from the disk.
    pub(super) is_cold: bool,
}

impl Request {
    /// Adds a range of bytes of a row.
    pub(super) fn add(&mut self, range: &Range<usize>) {
        if range.is_empty() {
            return;
        }
        let (first, last) = (range.start / PAGE, (range.end - 1) / PAGE);
        let is_shared = self.nbytes > 0 && (self.span.end - 1) / PAGE == first;
        self.page_bytes += (last + 1 - first - usize::from(is_shared)) * PAGE;
        let span = if self.nbytes == 0 { range } else { &self.span };
        self.span = span.start.min(range.start)..span.end.max(range.end);
        self.nbytes = self.nbytes.saturating_add(range.len());
    }
}

/// Decides what to read for the clones of some rows.
#[derive(Debug, Default)]
pub(super) struct Planner {
    reading: Reading,
    /// Whether reading ahead is in progress, so that batches in memory count, too.
    is_active: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    mode: Mode,
    /// The bytes of pages that were requested from the disk in the current mode.
    requested: usize,
    /// How often the array has been read whole.
    streams: u32,
    /// The span of the last batch.
    last: Range<usize>,
    /// Whether that batch did not follow the one before it.
    has_jumped: bool,
}

#[derive(Clone, Copy, Debug, Default)]
enum Mode {
    /// Reads only what is requested.
    #[default]
    Pages,
    /// Reads all of the array; `remaining` bytes from `next` on must still be queued.
    Stream { next: usize, remaining: usize },
    /// Reads the bytes after consecutive batches, which are queued up to `end`.
    Sequence { end: usize },
    /// The system cannot read in the background.
    Never,
}

impl Planner {
    pub(super) fn new(reading: Reading) -> Planner {
        Planner { reading, ..Planner::default() }
    }

    /// The longest gap between rows of a batch that is read, too.
    pub(super) fn gap(&self) -> usize {
        if self.reading == Reading::Pages { 0 } else { super::runs::GAP }
    }

    /// Returns whether a batch can change what is read:
    /// [`update`](Planner::update) is called only for such batches.
    pub(super) fn is_interested(&self, is_cold: bool) -> bool {
        self.reading != Reading::Pages && (is_cold || self.is_active.load(Ordering::Relaxed))
    }

    /// Queues what is worth reading after a batch was taken. Does nothing while
    /// another thread does this: it may be waiting for the system, and if the
    /// process was forked meanwhile, that thread is not in it.
    pub(super) fn update(&self, request: &Request, disk: &impl Disk) {
        let Some(mut state) = try_lock(&self.state) else { return };
        state.mode = state.next_mode(self.reading, request, disk);
        let is_active = matches!(state.mode, Mode::Stream { .. } | Mode::Sequence { .. });
        self.is_active.store(is_active, Ordering::Relaxed);
    }
}

impl State {
    fn next_mode(&mut self, reading: Reading, request: &Request, disk: &impl Disk) -> Mode {
        let is_consecutive = self.is_consecutive(request);
        self.last = request.span.clone();
        // A single batch that is near the last one can be so by chance.
        let is_sequence = is_consecutive && !self.has_jumped;
        self.has_jumped = !is_consecutive;
        let mode = self.mode;
        match mode {
            Mode::Never => Mode::Never,
            Mode::Stream { next, remaining } => stream(next, remaining, disk),
            Mode::Sequence { end } if is_consecutive => read_after(request, end, disk),
            Mode::Pages if self.is_worth_streaming(reading, request, disk) => {
                self.requested = 0;
                self.streams += 1;
                let next = request.span.start.min(disk.nbytes());
                stream(next, disk.nbytes(), disk)
            }
            Mode::Pages if is_sequence => read_after(request, request.span.end, disk),
            Mode::Pages | Mode::Sequence { .. } => Mode::Pages,
        }
    }

    /// Returns whether a batch covers at least half of its span and starts near the
    /// end of the last one, but has other rows: batches of a shuffled block are not
    /// consecutive.
    fn is_consecutive(&self, request: &Request) -> bool {
        let (span, last) = (&request.span, &self.last);
        let len = span.len();
        let common = span.end.min(last.end).saturating_sub(span.start.max(last.start));
        let distance = span.start.abs_diff(last.end);
        len > 0
            && request.nbytes >= len / 2
            && common <= len / 2
            && distance <= DISORDER.saturating_mul(len)
    }

    /// Counts a batch, and returns whether the whole array should be read.
    fn is_worth_streaming(
        &mut self,
        reading: Reading,
        request: &Request,
        disk: &impl Disk,
    ) -> bool {
        if !request.is_cold {
            return false;
        }
        self.requested = self.requested.saturating_add(request.page_bytes);
        let fraction = (disk.nbytes() / FRACTION).saturating_mul(1 << self.streams.min(16));
        if reading == Reading::Stream && self.streams == 0 {
            return true;
        }
        if self.requested < fraction {
            return false;
        }
        // Available memory is not queried again until the same amount was requested.
        self.requested = 0;
        let working_set = to_u64(disk.working_set());
        reading == Reading::Stream
            || disk.available().is_some_and(|available| working_set <= available / 4 * 3)
    }
}

/// Queues more of the array, from `next` on, and then from the start.
fn stream(mut next: usize, mut remaining: usize, disk: &impl Disk) -> Mode {
    let mut credit = CREDIT.saturating_sub(disk.queued());
    while remaining > 0 && credit >= PIECE.min(remaining) {
        let len = (disk.nbytes() - next).min(remaining).min(credit);
        if len > 0 && !disk.queue(next..next + len, Use::Scattered) {
            return Mode::Never;
        }
        credit -= len;
        remaining -= len;
        next = if next + len == disk.nbytes() { 0 } else { next + len };
    }
    if remaining == 0 { Mode::Pages } else { Mode::Stream { next, remaining } }
}

/// Queues the bytes after a batch, unless the disk is behind; those before `end`
/// have been queued already.
fn read_after(request: &Request, end: usize, disk: &impl Disk) -> Mode {
    let start = end.max(request.span.end).min(disk.nbytes());
    let window = request.span.end.saturating_add(WINDOW).min(disk.nbytes());
    let len = window.saturating_sub(start);
    let is_little = len < PIECE && (window < disk.nbytes() || len == 0);
    if is_little || disk.queued() >= WINDOW {
        return Mode::Sequence { end: start };
    }
    if disk.queue(start..window, Use::InOrder) {
        Mode::Sequence { end: window }
    } else {
        Mode::Never
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    const MIB: usize = 1 << 20;

    /// An array on a disk that reads nothing until the test says so.
    struct Fake {
        nbytes: usize,
        others: usize,
        available: Option<u64>,
        works: bool,
        /// The ranges in the queue, and those that were read.
        queue: RefCell<Vec<Range<usize>>>,
        read: RefCell<Vec<Range<usize>>>,
    }

    impl Fake {
        fn new(nbytes: usize, available: usize) -> Fake {
            Fake {
                nbytes,
                others: 0,
                available: Some(to_u64(available)),
                works: true,
                queue: RefCell::default(),
                read: RefCell::default(),
            }
        }

        /// Reads everything that is queued.
        fn read(&self) {
            self.read.borrow_mut().append(&mut self.queue.borrow_mut());
        }

        fn queued_or_read(&self) -> usize {
            self.read.borrow().iter().map(Range::len).sum::<usize>() + self.queued()
        }
    }

    impl Disk for Fake {
        fn nbytes(&self) -> usize {
            self.nbytes
        }

        fn working_set(&self) -> usize {
            self.nbytes + self.others
        }

        fn available(&self) -> Option<u64> {
            self.available
        }

        fn queued(&self) -> usize {
            self.queue.borrow().iter().map(Range::len).sum()
        }

        fn queue(&self, range: Range<usize>, _: Use) -> bool {
            assert!(!range.is_empty() && range.end <= self.nbytes, "{range:?}");
            if self.works {
                self.queue.borrow_mut().push(range);
            }
            self.works
        }
    }

    /// A batch of 256 rows of 512 bytes anywhere in an array.
    fn scattered(disk: &Fake) -> Request {
        let span = disk.nbytes / 8..disk.nbytes - disk.nbytes / 8;
        Request { span, nbytes: 256 * 512, page_bytes: 256 * PAGE, is_cold: true }
    }

    /// A batch of consecutive rows.
    fn consecutive(start: usize) -> Request {
        let len = 128 << 10;
        Request { span: start..start + len, nbytes: len, page_bytes: len, is_cold: true }
    }

    /// The number of scattered batches until something is queued.
    fn batches_until_queued(planner: &Planner, disk: &Fake) -> Option<usize> {
        (1..=10_000).find(|_| {
            planner.update(&scattered(disk), disk);
            disk.queued() > 0
        })
    }

    #[test]
    fn an_array_that_fits_is_streamed_once_enough_was_requested() {
        let disk = Fake::new(512 * MIB, 1024 * MIB);
        let planner = Planner::default();
        assert!(!planner.is_interested(false));
        // 1/64 of the array, at 1 MiB of pages a batch.
        assert_eq!(batches_until_queued(&planner, &disk), Some(8));
        assert!(planner.is_interested(false));
        for _ in 0..100 {
            disk.read();
            planner.update(&Request { is_cold: false, ..scattered(&disk) }, &disk);
        }
        assert!(!planner.is_interested(false));
        let mut read = disk.read.borrow().clone();
        assert_eq!(read.first().map(|range| range.start), Some(64 * MIB));
        read.sort_by_key(|range| range.start);
        assert!(read.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!((read[0].start, read[read.len() - 1].end), (0, 512 * MIB));
    }

    #[test]
    fn an_array_that_does_not_fit_is_not_streamed() {
        let small = Fake::new(512 * MIB, 600 * MIB);
        assert_eq!(batches_until_queued(&Planner::default(), &small), None);
        let unknown = Fake { available: None, ..Fake::new(512 * MIB, 0) };
        assert_eq!(batches_until_queued(&Planner::default(), &unknown), None);
        let others = Fake { others: 512 * MIB, ..Fake::new(512 * MIB, 1024 * MIB) };
        assert_eq!(batches_until_queued(&Planner::default(), &others), None);
        // It is as soon as memory is free.
        let planner = Planner::default();
        assert_eq!(batches_until_queued(&planner, &small), None);
        let freed = Fake::new(512 * MIB, 1024 * MIB);
        assert!(batches_until_queued(&planner, &freed).is_some());
    }

    #[test]
    fn batches_in_memory_start_nothing() {
        let disk = Fake::new(MIB, 1024 * MIB);
        let planner = Planner::default();
        let warm = Request { is_cold: false, ..scattered(&disk) };
        (0..1000).for_each(|_| planner.update(&warm, &disk));
        assert_eq!(disk.queued(), 0);
    }

    #[test]
    fn each_way_can_be_forced() {
        let disk = Fake::new(512 * MIB, 0);
        assert_eq!(batches_until_queued(&Planner::new(Reading::Stream), &disk), Some(1));
        let pages = Planner::new(Reading::Pages);
        assert!(!pages.is_interested(true) && !pages.is_interested(false));
        assert_eq!((pages.gap(), Planner::default().gap()), (0, super::super::runs::GAP));
    }

    #[test]
    fn streaming_stops_when_no_batches_are_taken_and_continues_with_them() {
        let disk = Fake::new(512 * MIB, 1024 * MIB);
        let planner = Planner::new(Reading::Stream);
        planner.update(&scattered(&disk), &disk);
        assert_eq!(disk.queued(), CREDIT);
        planner.update(&scattered(&disk), &disk);
        assert_eq!(disk.queued(), CREDIT, "the queue is limited");
        disk.read();
        assert_eq!(disk.queued(), 0);
        planner.update(&scattered(&disk), &disk);
        assert_eq!(disk.queued_or_read(), 2 * CREDIT);
    }

    #[test]
    fn streaming_again_needs_better_reasons() {
        let disk = Fake::new(512 * MIB, 1024 * MIB);
        let planner = Planner::default();
        for expected in [8, 16, 32] {
            assert_eq!(batches_until_queued(&planner, &disk), Some(expected));
            while planner.is_interested(false) {
                disk.read();
                planner.update(&scattered(&disk), &disk);
            }
            disk.read();
        }
    }

    #[test]
    fn consecutive_batches_are_read_ahead_even_if_the_array_does_not_fit() {
        let disk = Fake::new(512 * MIB, 0);
        let planner = Planner::default();
        let mut start = 0;
        while start < disk.nbytes {
            let batch = consecutive(start);
            planner.update(&batch, &disk);
            disk.read();
            start = batch.span.end;
            let end = disk.read.borrow().last().map_or(0, |range| range.end);
            assert!(end >= (start + WINDOW - PIECE).min(disk.nbytes), "{start} {end}");
            assert!(end <= start + WINDOW);
        }
        let read = disk.read.borrow();
        assert!(read.windows(2).all(|pair| pair[0].end == pair[1].start), "nothing twice");
        planner.update(&consecutive(0), &disk);
        assert!(!planner.is_interested(false), "a jump ends it");
        planner.update(&consecutive(128 << 10), &disk);
        assert!(!planner.is_interested(false), "it may be by chance");
        planner.update(&consecutive(256 << 10), &disk);
        assert!(planner.is_interested(false), "two in a row are not");
    }

    #[test]
    fn consecutive_batches_that_overtake_the_disk_queue_no_more() {
        let disk = Fake::new(512 * MIB, 0);
        let planner = Planner::default();
        for number in 0..4096 {
            planner.update(&consecutive(number * (128 << 10)), &disk);
            assert!(disk.queued() < 2 * WINDOW, "{number}");
        }
        disk.read();
        planner.update(&consecutive(400 * MIB), &disk);
        planner.update(&consecutive(400 * MIB + (128 << 10)), &disk);
        planner.update(&consecutive(400 * MIB + (256 << 10)), &disk);
        assert!(disk.queued() > 0);
    }

    #[test]
    fn batches_that_threads_take_are_consecutive_in_any_order() {
        let disk = Fake::new(512 * MIB, 0);
        let planner = Planner::default();
        for number in [1, 0, 3, 2, 4, 6, 5, 7] {
            planner.update(&consecutive(number * (128 << 10)), &disk);
            assert!(planner.is_interested(false), "{number}");
        }
        let queue = disk.queue.borrow();
        assert!(queue.windows(2).all(|pair| pair[0].end <= pair[1].start), "nothing twice");
    }

    #[test]
    fn rows_of_a_block_are_not_a_sequence() {
        let disk = Fake::new(512 * MIB, 0);
        let planner = Planner::default();
        planner.update(&consecutive(100 * MIB), &disk);
        planner.update(&consecutive(7 * MIB), &disk);
        assert_eq!(disk.queued(), 0);
        // Several batches of each block, and blocks that are neighbours by chance.
        for block in [108 * MIB, 8 * MIB, 16 * MIB, 300 * MIB, 292 * MIB, 300 * MIB] {
            for row in [0, 16 << 10, 0] {
                let span = block + row..block + 8 * MIB - row;
                let (nbytes, page_bytes) = (4 * MIB, 4 * MIB);
                planner.update(&Request { span, nbytes, page_bytes, is_cold: true }, &disk);
                assert_eq!(disk.queued(), 0, "{block}");
            }
        }
    }

    #[test]
    fn a_planner_that_is_in_use_is_not_waited_for() {
        // As in a process that was forked meanwhile.
        let disk = Fake::new(512 * MIB, 1024 * MIB);
        let planner = Planner::new(Reading::Stream);
        let held = planner.state.lock().unwrap();
        planner.update(&scattered(&disk), &disk);
        assert_eq!(disk.queued(), 0);
        drop(held);
        planner.update(&scattered(&disk), &disk);
        assert_eq!(disk.queued(), CREDIT);
    }

    #[test]
    fn a_system_that_cannot_read_ahead_is_asked_once() {
        let disk = Fake { works: false, ..Fake::new(512 * MIB, 1024 * MIB) };
        let planner = Planner::new(Reading::Stream);
        planner.update(&scattered(&disk), &disk);
        assert!(!planner.is_interested(false));
        let works = Fake::new(512 * MIB, 1024 * MIB);
        assert_eq!(batches_until_queued(&planner, &works), None);
    }

    #[test]
    fn a_request_is_the_span_and_the_pages_of_its_rows() {
        let mut request = Request::default();
        // Rows that follow each other on a page count once.
        for range in [4096..4608, 4608..5120, 3..3, 20_000..20_512, 8100..8300, 0..1] {
            request.add(&range);
        }
        assert_eq!((request.span, request.nbytes), (0..20_512, 1024 + 512 + 201));
        assert_eq!(request.page_bytes, 6 * PAGE);
    }

    #[test]
    fn empty_and_tiny_arrays_are_handled() {
        for nbytes in [0, 1, 100] {
            let disk = Fake::new(nbytes, 1024 * MIB);
            let planner = Planner::new(Reading::Stream);
            for _ in 0..3 {
                planner.update(&Request { span: 0..nbytes, ..scattered(&disk) }, &disk);
            }
            assert!(disk.queued_or_read() >= nbytes);
        }
    }
}

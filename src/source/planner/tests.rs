//! The decisions about a fake disk and fake memory.

use super::*;
use std::cell::{Cell, RefCell};

const MIB: usize = 1 << 20;

/// What may be queued of an array that is read whole.
const CREDIT: usize = 1024 * MIB;

/// An array on a disk that reads nothing until the test says so.
struct Fake {
    nbytes: usize,
    others: usize,
    available: Option<u64>,
    works: bool,
    /// The ranges in the queue, and those that were read.
    queue: RefCell<Vec<Range<usize>>>,
    read: RefCell<Vec<Range<usize>>>,
    /// How often a batch waited.
    waits: Cell<usize>,
    /// How many samples are in memory.
    cached: Cell<Option<usize>>,
    /// How often pages were dropped.
    drops: Cell<usize>,
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
            waits: Cell::default(),
            cached: Cell::default(),
            drops: Cell::default(),
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

    fn working_set(&self) -> u64 {
        to_u64(self.nbytes + self.others)
    }

    fn available(&self) -> Option<u64> {
        self.available
    }

    fn wait(&self) {
        self.waits.set(self.waits.get() + 1);
    }

    fn queued(&self) -> usize {
        self.queue.borrow().iter().map(Range::len).sum()
    }

    /// Linux begins to read the pages that it is asked about.
    fn cached(&self) -> Option<usize> {
        self.cached.replace(self.cached.get().and(Some(SAMPLE)))
    }

    fn drop_pages(&self) {
        self.drops.set(self.drops.get() + 1);
    }

    fn queue(&self, range: Range<usize>) -> bool {
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
    Request { span, nbytes: 256 * 512, page_bytes: to_u64(256 * PAGE), is_cold: true }
}

/// A batch of consecutive rows.
fn consecutive(start: usize) -> Request {
    let len = 128 << 10;
    let nbytes = to_u64(len);
    Request { span: start..start + len, nbytes, page_bytes: nbytes, is_cold: true }
}

/// The number of scattered batches until something is queued, by the last one or before the
/// next.
fn batches_until_queued(planner: &Planner, disk: &Fake) -> Option<usize> {
    (1..=10_000).find(|_| {
        planner.update(&scattered(disk), disk);
        if disk.queued() == 0 {
            planner.wait(disk);
        }
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
fn an_array_is_streamed_at_once_if_an_epoch_is_expected() {
    let cold = |planner: &Planner, available: usize| {
        let disk = Fake::new(512 * MIB, available);
        let expected = planner.expect_epoch(&disk, disk.available);
        let warm = Request { is_cold: false, ..scattered(&disk) };
        planner.update(&warm, &disk);
        assert_eq!(disk.queued(), 0, "nothing has to be read");
        (expected, batches_until_queued(planner, &disk))
    };
    assert_eq!(cold(&Planner::default(), 1024 * MIB), (true, Some(1)));
    assert_eq!(cold(&Planner::default(), 600 * MIB), (false, None));
    assert_eq!(cold(&Planner::new(ReadStrategy::Stream), 0), (true, Some(1)));
    let pages = Planner::new(ReadStrategy::Pages);
    assert!(!pages.expect_epoch(&Fake::new(1, 0), Some(1 << 30)) && !pages.is_interested(true));
    // Only the first time: after that, pages were evicted.
    let (planner, disk) = (Planner::default(), Fake::new(512 * MIB, 1024 * MIB));
    planner.expect_epoch(&disk, disk.available);
    streams_after(&planner, &disk, &[1, 16]);
}

/// Streams, and reads all of it, after these numbers of batches in turn.
fn streams_after(planner: &Planner, disk: &Fake, batches: &[usize]) {
    for &expected in batches {
        assert_eq!(batches_until_queued(planner, disk), Some(expected));
        while planner.is_interested(false) {
            disk.read();
            planner.update(&scattered(disk), disk);
        }
        disk.read();
    }
}

#[test]
fn a_sequence_that_others_read_is_not_read_twice() {
    let disk = Fake::new(512 * MIB, 1024 * MIB);
    for reading in [ReadStrategy::Auto, ReadStrategy::Stream] {
        let planner = Planner::new(reading);
        assert!(planner.expect_sequence(100 * MIB, &disk));
        for number in 25..128 {
            let span = number * 4 * MIB..(number + 1) * 4 * MIB;
            let is_cold = number % 2 == 1;
            let nbytes = to_u64(span.len());
            let request = Request { nbytes, page_bytes: nbytes, span, is_cold };
            planner.update(&request, &disk);
        }
        assert_eq!(disk.queued_or_read(), 0, "{reading:?}");
    }
    assert!(!Planner::new(ReadStrategy::Pages).expect_sequence(0, &disk));
    // Other batches are read as before.
    let planner = Planner::default();
    assert!(planner.expect_sequence(0, &disk));
    assert!(batches_until_queued(&planner, &disk).is_some());
    disk.read();
    disk.cached.set(Some(SAMPLE));
    assert!(!planner.expect_sequence(0, &disk));
}

#[test]
fn a_sequence_does_not_end_a_stream() {
    let disk = Fake::new(512 * MIB, 1024 * MIB);
    let planner = Planner::default();
    assert!(batches_until_queued(&planner, &disk).is_some());
    assert!(planner.expect_sequence(0, &disk));
    for _ in 0..100 {
        disk.read();
        planner.update(&Request { is_cold: false, ..scattered(&disk) }, &disk);
    }
    assert_eq!(disk.queued_or_read(), disk.nbytes);
}

#[test]
fn a_shared_epoch_begins_at_the_place_of_its_shard() {
    let disk = Fake::new(512 * MIB, 1024 * MIB);
    let planner = Planner::default();
    planner.expect_epoch(&disk, disk.available);
    planner.start(128 * MIB, &disk);
    assert_eq!(*disk.queue.borrow(), [128 * MIB..512 * MIB, 0..128 * MIB]);
    assert_eq!(waits(&planner, &disk, true), 1, "also the first batch");
    // Threads of a process have the same rows.
    planner.start(256 * MIB, &disk);
    assert_eq!(disk.queued_or_read(), 512 * MIB);
    // What is in memory is not read again.
    disk.read();
    disk.cached.set(Some(SAMPLE));
    let planner = Planner::default();
    planner.expect_epoch(&disk, disk.available);
    planner.start(0, &disk);
    assert!(disk.queued() == 0 && !planner.is_interested(false));
}

#[test]
fn an_array_that_seems_to_be_in_memory_is_read_if_a_batch_is_not() {
    // As in maps of other users' files.
    let disk = Fake::new(512 * MIB, 1024 * MIB);
    let planner = Planner::default();
    planner.expect_epoch(&disk, disk.available);
    disk.cached.set(Some(SAMPLE));
    planner.start(0, &disk);
    assert_eq!(disk.queued(), 0);
    assert_eq!(batches_until_queued(&planner, &disk), Some(1));
}

#[test]
fn an_expected_array_is_asked_about_once_before_it_is_read() {
    let disk = Fake::new(512 * MIB, 1024 * MIB);
    let planner = Planner::default();
    planner.expect_epoch(&disk, disk.available);
    disk.cached.set(Some(1));
    planner.start(0, &disk);
    assert_eq!((disk.drops.get(), disk.queued()), (1, 512 * MIB));
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
    assert_eq!(batches_until_queued(&Planner::new(ReadStrategy::Stream), &disk), Some(1));
    let pages = Planner::new(ReadStrategy::Pages);
    assert!(!pages.is_interested(true) && !pages.is_interested(false));
    assert_eq!((pages.gap(), Planner::default().gap()), (0, GAP));
}

#[test]
fn streaming_stops_when_no_batches_are_taken_and_continues_with_them() {
    let disk = Fake::new(3072 * MIB, 0);
    let planner = Planner::new(ReadStrategy::Stream);
    planner.update(&scattered(&disk), &disk);
    assert_eq!(disk.queued(), CREDIT);
    planner.update(&scattered(&disk), &disk);
    assert_eq!(disk.queued(), CREDIT, "the queue is limited");
    disk.read();
    assert_eq!(disk.queued(), 0);
    planner.update(&scattered(&disk), &disk);
    assert_eq!(disk.queued_or_read(), 2 * CREDIT);
}

/// How often a scattered batch waits.
fn waits(planner: &Planner, disk: &Fake, is_cold: bool) -> usize {
    planner.wait(disk);
    planner.update(&Request { is_cold, ..scattered(disk) }, disk);
    disk.waits.take()
}

#[test]
fn batches_wait_while_the_array_is_read_unless_they_are_in_memory() {
    let disk = Fake::new(2048 * MIB, 3072 * MIB);
    let planner = Planner::default();
    for number in 1..=32 {
        assert_eq!(waits(&planner, &disk, true), 0, "{number}");
    }
    assert_eq!((disk.queued(), disk.drops.get()), (0, 0), "there may be no other batch");
    assert_eq!([true, true, false].map(|is_cold| waits(&planner, &disk, is_cold)), [1; 3]);
    assert_eq!([false, true].map(|is_cold| waits(&planner, &disk, is_cold)), [0; 2]);
    // The queue is filled again, and ends when all has been read.
    for queued in [CREDIT, 0] {
        disk.read();
        assert_eq!(waits(&planner, &disk, true), 1);
        assert_eq!(disk.queued(), queued);
    }
    assert_eq!(waits(&planner, &disk, true), 0);
}

#[test]
fn pages_are_dropped_if_most_of_the_array_is_read_anyway() {
    for (cached, drops) in [(Some(SAMPLE / 4), 1), (Some(SAMPLE / 4 + 1), 0), (None, 0)] {
        let disk = Fake::new(512 * MIB, 1024 * MIB);
        disk.cached.set(cached);
        assert_eq!(batches_until_queued(&Planner::default(), &disk), Some(8));
        assert_eq!(disk.drops.get(), drops, "{cached:?}");
    }
}

#[test]
fn an_array_in_memory_is_not_streamed_again() {
    let disk = Fake::new(512 * MIB, 1024 * MIB);
    let planner = Planner::default();
    // Of files of other users, all pages are reported.
    disk.cached.set(Some(SAMPLE));
    assert_eq!(batches_until_queued(&planner, &disk), Some(8));
    while planner.is_interested(false) {
        disk.read();
        planner.update(&scattered(&disk), &disk);
    }
    assert_eq!(batches_until_queued(&planner, &disk), None);
    disk.cached.set(Some(SAMPLE / 2));
    assert!(batches_until_queued(&planner, &disk).is_some());
}

#[test]
fn consecutive_batches_never_wait() {
    let disk = Fake::new(512 * MIB, 0);
    let planner = Planner::default();
    for number in 0..100 {
        planner.wait(&disk);
        planner.update(&consecutive(number * (128 << 10)), &disk);
    }
    assert!(disk.queued() > 0);
    assert_eq!((disk.waits.get(), disk.drops.get()), (0, 0));
}

#[test]
fn streaming_again_needs_better_reasons() {
    let disk = Fake::new(512 * MIB, 1024 * MIB);
    streams_after(&Planner::default(), &disk, &[8, 16, 32]);
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
        assert!(end >= (start + WINDOW - to_usize(PIECE)).min(disk.nbytes), "{start} {end}");
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
            let (nbytes, page_bytes) = (4 << 20, 4 << 20);
            planner.update(&Request { span, nbytes, page_bytes, is_cold: true }, &disk);
            assert_eq!(disk.queued(), 0, "{block}");
        }
    }
}

#[test]
fn a_planner_that_is_in_use_is_not_waited_for() {
    // As in a process that was forked meanwhile.
    let disk = Fake::new(2048 * MIB, 3072 * MIB);
    let planner = Planner::new(ReadStrategy::Stream);
    let held = planner.state.lock().unwrap();
    planner.update(&scattered(&disk), &disk);
    planner.start(0, &disk);
    assert_eq!(disk.queued(), 0);
    drop(held);
    planner.update(&scattered(&disk), &disk);
    assert_eq!(disk.queued(), CREDIT);
}

#[test]
fn a_system_that_cannot_read_ahead_is_asked_once() {
    let disk = Fake { works: false, ..Fake::new(512 * MIB, 1024 * MIB) };
    let planner = Planner::new(ReadStrategy::Stream);
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
    assert_eq!(request.page_bytes, to_u64(6 * PAGE));
}

#[test]
fn empty_and_tiny_arrays_are_handled() {
    for nbytes in [0, 1, 100] {
        let disk = Fake::new(nbytes, 1024 * MIB);
        let planner = Planner::new(ReadStrategy::Stream);
        for _ in 0..3 {
            planner.update(&Request { span: 0..nbytes, ..scattered(&disk) }, &disk);
        }
        assert!(disk.queued_or_read() >= nbytes);
    }
}

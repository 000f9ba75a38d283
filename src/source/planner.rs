//! Decides which bytes of an array are read from the disk, and when: the rows of a batch before
//! they are copied, and what follows the batch.
//!
//! **Within a batch.** A page that is not in memory is read when it is first touched, so pages
//! are read in turn, although a disk could read a hundred in parallel. Advising the
//! kernel of all rows of a batch first (`MADV_WILLNEED`) keeps the disk busy.
//! Measured, this is within 40 % of `io_uring`, without threads. But if the
//! pages are already in memory, advice costs 0.6 µs per row, more than copying
//! a small row. So:
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
//!   is copied, and one that is slow turns advice on. So is the first row of a batch, if the
//!   kernel counts the waits: otherwise, the first batch of an array on the disk would read
//!   16 rows in turn.
//! - While advice is on, a batch starts by touching four of its rows. If all of
//!   them are fast, advice is turned off. The clock is more reliable than
//!   asking the kernel whether pages are in memory (`mincore`), which gives the
//!   wrong answer for holes in sparse files.
//!
//! Read-ahead helps a sequential scan, but not random access: each fault would
//! read some hundred KiB for one row. So rows have their own map, with
//! `MADV_RANDOM`.
//!
//! **After a batch.** Reading one page at random takes a disk as long as reading several in
//! sequence. So when many rows of an array are going to be read, reading all of it in
//! sequence, in the background, is faster. But the number of rows that will follow
//! is unknown. This is the ski-rental problem: rent until the total rent equals the
//! price, then buy. So:
//!
//! - The pages of batches that had to wait for the disk are counted. When they
//!   amount to a fraction of the array, and the array fits into the available
//!   memory, all of it is read when the next batch begins, starting at the rows of the last
//!   one: there may be no other, and dropping the pages of a batch takes a quarter of the time
//!   that reading them did. If batches wait for the disk again afterwards, because pages were
//!   evicted, twice the fraction is required the next time.
//! - Reading continues only while batches are taken: each one allows a limited
//!   number of bytes to be queued. After a batch that had to wait for the disk,
//!   the next batch first waits until these are read: requesting its pages in
//!   turn would delay them by more than it gains, and the kernel can use no
//!   huge pages around them.
//! - If batches follow each other in the array, the bytes after them are read,
//!   whether or not the array fits.
//!
//! This module does no I/O. Its tests use a fake disk and fake memory.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use crate::error::invariant::{to_u64, to_usize};
use crate::kernel::PAGE;
use crate::source::read_ahead::{lock_within, try_lock};
use crate::source::tuning::{
    DENSE, DISORDER, GAP, GROUP, IN_MEMORY, PATIENCE, PIECE, PLACE, SAMPLE, UNTHREADED, WINDOW,
};

/// Chooses how rows are read from the disk, for [`Rows::reading`](crate::Rows::reading).
///
/// This makes no difference for rows in memory. Systems other than Linux read at
/// most 4 MiB ahead, so larger arrays are hardly ever read in sequence there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReadStrategy {
    /// Decides by the requested rows, the size of the array, and the available
    /// memory.
    ///
    /// - Single rows are read as with [`Pages`](ReadStrategy::Pages), but rows of a batch
    ///   that are at most 8 KiB apart are read together.
    /// - An array that fits into three quarters of the available memory (that of
    ///   the machine or of the control group, whichever is less) is read as with
    ///   [`Stream`](ReadStrategy::Stream), once batches that had to wait for the disk
    ///   have requested 1/64 of its pages and another one follows; sooner if the batches that
    ///   follow are known:
    ///   [`IndexBatches::announce_to`](crate::loader::IndexBatches::announce_to).
    /// - After consecutive batches, the next 64 MiB are read ahead, or 128 MiB if the batches
    ///   that follow are known, which then wait for the disk.
    #[default]
    Auto,
    /// Reads only pages that contain requested rows. Use it for a few rows of many
    /// files, or if other programs need the memory.
    Pages,
    /// Reads the whole array in sequence, in the background, from the first batch
    /// that has to wait for the disk. Batches that are requested sooner than the disk
    /// reads wait for it, up to half a second each, then read their rows.
    /// Reading pauses when no batches are taken, and ends when the rows are dropped.
    /// Use it for a single epoch of an array that fits into memory.
    Stream,
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

    /// Returns whether the kernel counts how often the calling thread waits for the disk.
    fn counts_waits(&self) -> bool {
        false
    }

    /// Returns whether the calling thread may have waited for the disk since the batch began.
    fn may_have_waited(&self) -> bool {
        true
    }

    /// The current time, since any fixed point.
    fn now(&self) -> Duration;
}

/// The disk and the memory of an array.
pub(crate) trait Disk {
    /// The size of the array in bytes.
    fn nbytes(&self) -> usize;

    /// How many bytes have to fit into memory, with the rows of arrays used with this one.
    fn working_set(&self) -> u64;

    /// How much memory can be used for the array, in bytes.
    fn available(&self) -> Option<u64>;

    /// The number of bytes that are queued but not yet read.
    fn queued(&self) -> usize;

    /// Queues a range to be read in the background; `false` if that is impossible.
    fn queue(&self, range: Range<usize>) -> bool;

    /// Waits until nothing is queued, for a limited time.
    fn wait(&self);

    /// How many of [`SAMPLE`] pages of the array are in memory, if the kernel reports it. Some
    /// of the others may be read.
    /// For maps of other users' files it reports all.
    fn cached(&self) -> Option<usize>;

    /// Drops the pages read for batches.
    fn drop_pages(&self);

    /// Whether the array is in memory.
    #[inline]
    fn is_in_memory(&self) -> bool {
        self.cached() == Some(SAMPLE)
    }
}

/// The rows of a batch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    /// From the first to the last byte of all rows.
    pub(crate) span: Range<usize>,
    /// The size of the rows in bytes.
    pub(crate) nbytes: u64,
    /// The size of the pages that contain the rows, in bytes.
    pub(crate) page_bytes: u64,
    /// Whether they had to be read from the disk.
    pub(crate) is_cold: bool,
}

impl Request {
    /// Adds a byte range of a row.
    #[inline]
    pub(crate) fn add(&mut self, range: &Range<usize>) {
        if range.is_empty() {
            return;
        }
        let (first, last) = (range.start / PAGE, (range.end - 1) / PAGE);
        let is_shared = self.nbytes > 0 && (self.span.end - 1) / PAGE == first;
        self.page_bytes += to_u64((last + 1 - first - usize::from(is_shared)) * PAGE);
        let span = if self.nbytes == 0 { range } else { &self.span };
        self.span = span.start.min(range.start)..span.end.max(range.end);
        self.nbytes += to_u64(range.len());
    }
}

/// Decides what to read of an array, for all clones of its rows.
#[derive(Debug, Default)]
pub(crate) struct Planner {
    reading: ReadStrategy,
    /// Whether rows of the last batch had to be read from the disk.
    advises: AtomicBool,
    /// Whether much of an array that fits into memory is going to be needed.
    is_expected: AtomicBool,
    /// Whether reading ahead is in progress, so that batches in memory also
    /// count.
    is_active: AtomicBool,
    /// Whether the whole array is being read, or will be from the next batch on, and the last
    /// batch was not in memory.
    is_behind: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    mode: Mode,
    /// The bytes of pages requested from the disk in the current mode.
    requested: u64,
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
    /// Will read all of the array, from this byte on, when another batch follows.
    Due { start: usize },
    /// Reads all of the array. `remaining` bytes from `next` on must still be
    /// queued.
    Stream { next: usize, remaining: usize },
    /// Reads the bytes after consecutive batches, which are queued up to `end`.
    Sequence { end: usize },
    /// The kernel cannot read in the background.
    Never,
}

impl Planner {
    #[inline]
    pub(crate) fn new(reading: ReadStrategy) -> Planner {
        Planner { reading, ..Planner::default() }
    }

    /// Returns whether some rows of the last batch had to be read from the disk.
    #[inline]
    pub(crate) fn was_cold(&self) -> bool {
        self.advises.load(Ordering::Relaxed)
    }

    /// Copies `count` rows of `nbytes` each. Returns whether some had to be read
    /// from the disk.
    pub(crate) fn read(&self, count: usize, nbytes: usize, batch: &mut impl RowReader) -> bool {
        let was = self.advises.load(Ordering::Relaxed);
        let ahead = (WINDOW / nbytes.max(1)).max(GROUP);
        let mut advises = was && !are_some_fast(count, batch);
        let mut next_row = 0;
        // The first row that was copied after this time.
        let (mut first, mut before) = (0, batch.now());
        let pieces = batch.pieces();
        let (mut end, mut group) = (0, GROUP);
        while end < count {
            let start = end;
            end = count.min(start + group);
            // The pages of one such row would take long enough. Advice for it costs
            // little, compared with the copy. The first row may stand for the others.
            let has_many_pages = nbytes >= GROUP * PAGE || pieces >= GROUP;
            let is_telling = has_many_pages || (start == 0 && count > 1 && batch.counts_waits());
            advises = advises || (is_telling && !is_fast(start, batch));
            if advises {
                let until = count.min(end + ahead);
                batch.advise(next_row.max(start)..until);
                next_row = until;
            }
            batch.copy(start..end);
            if !advises {
                let (now, bytes) = (batch.now(), to_u64(end - first) * to_u64(nbytes));
                if now > before + time_limit(1, bytes) {
                    let most = to_u64(end - first) * to_u64(pieces);
                    let places = batch.span(first..end) / PAGE + 1;
                    let places = to_usize(to_u64(places).min(most));
                    if places < GROUP && end < count {
                        continue;
                    }
                    let is_slow = now > before + time_limit(places, bytes);
                    advises = is_slow && batch.may_have_waited();
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

    /// Announces that batches will need much of the array. Returns whether it fits into
    /// the available memory, so that all of it is read after a batch that has to wait for
    /// the disk.
    #[inline]
    pub(crate) fn expect_epoch(&self, disk: &dyn Disk, available: Option<u64>) -> bool {
        let is_streamed = match self.reading {
            ReadStrategy::Pages => false,
            ReadStrategy::Stream => true,
            ReadStrategy::Auto => fits(disk.working_set(), available),
        };
        self.is_expected.store(is_streamed, Ordering::Relaxed);
        is_streamed
    }

    /// Announces batches that follow each other from a byte on, and that the caller reads the
    /// array for them. Returns `false` if that is not needed: it is in memory, or only
    /// requested pages are to be read.
    pub(crate) fn expect_sequence(&self, start: usize, disk: &dyn Disk) -> bool {
        if self.reading == ReadStrategy::Pages || disk.is_in_memory() {
            return false;
        }
        if let Some(mut state) = try_lock(&self.state) {
            // Another iterator may need all of the array.
            if !matches!(state.mode, Mode::Stream { .. }) {
                state.mode = Mode::Sequence { end: disk.nbytes() };
                (state.last, state.has_jumped) = (start..start, false);
            }
        }
        self.is_active.store(true, Ordering::Relaxed);
        self.is_behind.store(false, Ordering::Relaxed);
        true
    }

    /// Starts to read an expected array before a batch shows that it is on the disk, unless it
    /// is in memory; from a byte on, then from the start. Later, reads more of it.
    ///
    /// If several processes share an epoch, the first batch of one would
    /// otherwise request single pages while a second process already reads the
    /// array, which delays both.
    pub(crate) fn start(&self, from: usize, disk: &dyn Disk) {
        let is_expected = self.is_expected.load(Ordering::Relaxed);
        let request = Request { span: from..from, is_cold: true, ..Request::default() };
        // Another thread may be starting, whose pages this one's would be among.
        self.plan(lock_within(&self.state, PATIENCE / 10), &request, disk);
        if is_expected && !self.is_active.load(Ordering::Relaxed) {
            // The pages of a batch will tell, if the kernel reported others.
            self.is_expected.store(true, Ordering::Relaxed);
        }
    }

    /// Also the longest gap between rows of a read batch.
    #[inline]
    pub(crate) fn gap(&self) -> usize {
        if self.reading == ReadStrategy::Pages { 0 } else { GAP }
    }

    /// Returns whether a batch can change what is read:
    /// [`update`](Planner::update) is called only for such batches.
    #[inline]
    pub(crate) fn is_interested(&self, is_cold: bool) -> bool {
        self.reading != ReadStrategy::Pages && (is_cold || self.is_active.load(Ordering::Relaxed))
    }

    /// Waits, before a batch, until the disk has read more of the array, if the last
    /// batch was faster than the disk.
    #[inline]
    pub(crate) fn wait(&self, disk: &dyn Disk) {
        if !self.is_behind.load(Ordering::Relaxed) {
            return;
        }
        if let Some(mut state) = try_lock(&self.state) {
            if let Mode::Due { start } = state.mode {
                // Other programs may have needed the memory meanwhile.
                state.mode = if fits(disk.working_set(), disk.available()) {
                    state.start_stream(start, true, disk)
                } else {
                    Mode::Pages
                };
                self.note(state.mode, true);
            }
        }
        disk.wait();
    }

    /// Queues what is worth reading after a batch was taken. Does nothing while
    /// another thread does this: it may be waiting for the kernel, and a forked
    /// process does not have that thread.
    pub(crate) fn update(&self, request: &Request, disk: &dyn Disk) {
        self.plan(try_lock(&self.state), request, disk);
    }

    fn plan(&self, state: Option<MutexGuard<'_, State>>, request: &Request, disk: &dyn Disk) {
        let Some(mut state) = state else { return };
        let is_expected = request.is_cold && self.is_expected.swap(false, Ordering::Relaxed);
        state.mode = state.next_mode(self.reading, is_expected, request, disk);
        self.note(state.mode, request.is_cold);
    }

    /// Notes what batches ask for without the lock.
    fn note(&self, mode: Mode, is_cold: bool) {
        let is_active = matches!(mode, Mode::Stream { .. } | Mode::Sequence { .. });
        let is_behind = is_cold && matches!(mode, Mode::Stream { .. } | Mode::Due { .. });
        self.is_active.store(is_active, Ordering::Relaxed);
        self.is_behind.store(is_behind, Ordering::Relaxed);
    }
}

impl State {
    fn next_mode(
        &mut self,
        reading: ReadStrategy,
        is_expected: bool,
        request: &Request,
        disk: &dyn Disk,
    ) -> Mode {
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
            Mode::Pages | Mode::Due { .. } if is_expected => {
                self.start_stream(request.span.start, !request.span.is_empty(), disk)
            }
            Mode::Due { .. } => mode,
            Mode::Pages if self.is_worth_streaming(reading, request, disk) => match reading {
                ReadStrategy::Stream => self.start_stream(request.span.start, true, disk),
                _ => Mode::Due { start: request.span.start },
            },
            Mode::Pages if is_sequence => read_after(request, request.span.end, disk),
            Mode::Pages | Mode::Sequence { .. } => Mode::Pages,
        }
    }

    /// Starts to read the whole array from a byte on: where the rows of a batch are, if there
    /// was one.
    fn start_stream(&mut self, start: usize, has_rows: bool, disk: &dyn Disk) -> Mode {
        self.requested = 0;
        // Asked once, because pages of which the kernel is asked may be read.
        let cached = disk.cached();
        let is_mostly_in_memory = cached.is_some_and(|cached| cached >= SAMPLE / 16 * 15);
        if is_mostly_in_memory && (self.streams > 0 || !has_rows) {
            // A batch was slow because other programs use the processor, or there was none.
            return Mode::Pages;
        }
        if cached.is_some_and(|cached| cached <= SAMPLE / DENSE) {
            disk.drop_pages();
        }
        self.streams += 1;
        stream(start.min(disk.nbytes()), disk.nbytes(), disk)
    }

    /// Returns whether a batch covers at least half of its span and starts near
    /// the end of the last batch, but has other rows: batches of a shuffled
    /// block are not consecutive.
    #[inline]
    fn is_consecutive(&self, request: &Request) -> bool {
        let (span, last) = (&request.span, &self.last);
        let len = span.len();
        let first = span.start.max(last.start);
        let common = span.end.min(last.end).max(first) - first;
        let distance = span.start.abs_diff(last.end);
        len > 0
            && request.nbytes >= to_u64(len / 2)
            && common <= len / 2
            && distance.div_ceil(DISORDER) <= len
    }

    /// Counts a batch, and returns whether the whole array should be read.
    fn is_worth_streaming(
        &mut self,
        reading: ReadStrategy,
        request: &Request,
        disk: &dyn Disk,
    ) -> bool {
        if !request.is_cold {
            return false;
        }
        self.requested += request.page_bytes;
        if reading == ReadStrategy::Stream && self.streams == 0 {
            return true;
        }
        if self.requested >> self.streams.min(16) < to_u64(disk.nbytes() / (16 * DENSE)) {
            return false;
        }
        // Available memory is not queried again until the same amount was requested.
        self.requested = 0;
        reading == ReadStrategy::Stream || fits(disk.working_set(), disk.available())
    }
}

/// Whether `count` rows, each with at least one page of its own, need this many bytes.
#[inline]
pub(crate) fn is_dense(count: u64, span: u64, nbytes: u64) -> bool {
    count >= nbytes.div_ceil(span.max(to_u64(PAGE)))
}

/// Whether arrays fit into the available memory, if that is known, with room for other data.
#[inline]
pub(crate) fn fits(working_set: u64, available: Option<u64>) -> bool {
    available.is_some_and(|available| working_set <= available / 4 * 3)
}

/// Whether consecutive rows of this many bytes are read before their batches: if a window of
/// them fits into memory, and is too long for the calling thread.
#[inline]
pub(crate) fn is_worth_reading_ahead(nbytes: u64, available: Option<u64>) -> bool {
    nbytes > to_u64(UNTHREADED) && fits(nbytes.min(2 * to_u64(WINDOW)), available)
}

/// Queues more of the array, from `next` on, and then from the start. Ends when all
/// of it is being read.
fn stream(mut next: usize, mut remaining: usize, disk: &dyn Disk) -> Mode {
    let mut credit = 16 * WINDOW - disk.queued().min(16 * WINDOW);
    while remaining > 0 && credit >= to_usize(PIECE).min(remaining) {
        let len = (disk.nbytes() - next).min(remaining).min(credit);
        if len > 0 && !disk.queue(next..next + len) {
            return Mode::Never;
        }
        credit -= len;
        remaining -= len;
        next = if next + len == disk.nbytes() { 0 } else { next + len };
    }
    if remaining == 0 && disk.queued() == 0 {
        Mode::Pages
    } else {
        Mode::Stream { next, remaining }
    }
}

/// Queues the bytes after a batch, unless the disk is behind; those before `end`
/// have been queued already.
fn read_after(request: &Request, end: usize, disk: &dyn Disk) -> Mode {
    let start = end.max(request.span.end);
    let window = request.span.end + WINDOW.min(disk.nbytes() - request.span.end);
    let is_little = window < start + to_usize(PIECE) && (window < disk.nbytes() || window <= start);
    if is_little || disk.queued() >= WINDOW {
        return Mode::Sequence { end: start };
    }
    if disk.queue(start..window) { Mode::Sequence { end: window } } else { Mode::Never }
}

/// The most time that copying rows in memory takes: half a nanosecond per byte,
/// and [`PLACE`] for each piece of a row, or for each page if there are fewer.
#[inline]
fn time_limit(places: usize, bytes: u64) -> Duration {
    Duration::from_nanos(to_u64(places) * PLACE + bytes / 2)
}

/// The most time that requesting rows of `span` bytes takes if they are in memory.
#[inline]
pub(crate) fn request_limit(count: usize, span: u64) -> Duration {
    Duration::from_nanos(to_u64(count) * (IN_MEMORY + IN_MEMORY / 15 * (span / to_u64(PAGE))))
}

/// Touches a few rows of a batch and returns whether all of them were fast.
fn are_some_fast(count: usize, batch: &impl RowReader) -> bool {
    let step = (count / (GROUP / 4)).max(1);
    (0..count).step_by(step).take(GROUP / 4).all(|row| is_fast(row, batch))
}

/// Touches a row and returns whether it was fast.
fn is_fast(row: usize, batch: &impl RowReader) -> bool {
    let latest = batch.now() + time_limit(batch.pieces(), 0);
    batch.touch(row);
    batch.now() <= latest || !batch.may_have_waited()
}

#[cfg(test)]
mod batch_tests;
#[cfg(test)]
mod tests;

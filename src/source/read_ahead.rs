//! Reads ranges of files into the page cache, on a separate thread.
//!
//! Linux cuts a read-ahead request to the device's read-ahead window, and
//! blocks when the disk's queue is full. So a thread requests large ranges in
//! pieces. Callers wait for the disk only if they ask to, and at most a millisecond
//! for a lock, because a process forked while another thread held it could never
//! release it.

use std::collections::VecDeque;
use std::fs::File;
use std::ops::Range;
use std::process;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::thread;
use std::time::Duration;

use crate::error::invariant::to_usize;
use crate::source::platform::{self, HUGE_PAGE};
use crate::source::ranges;
use crate::source::storage::read_full_at;
use crate::source::tuning::{PATIENCE, PIECE};

/// What is read after a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The bytes after it, so it can be read in huge pages, with up to 4 MiB more.
    After,
    /// Any other bytes: huge pages are read if at least half of each is in the range.
    Elsewhere,
}

/// A queue of file ranges to read ahead. Reading stops when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct ReadAhead {
    queue: Mutex<Queue>,
    /// Notified when a piece was taken from the queue.
    has_advanced: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    ranges: VecDeque<(Arc<File>, Range<u64>, Next)>,
    /// The file of the last range.
    last: Weak<File>,
    /// The number of bytes that have ever been added, and of those that are not in `ranges`
    /// any more.
    added: u64,
    taken: u64,
    /// The number of bytes taken that are being read in huge pages. Reading a single
    /// page in the meantime would prevent a huge page, so they are not ready
    /// yet.
    unready: u64,
    /// The process that runs the reading thread. A forked child does not inherit
    /// its parent's threads.
    reader: Option<u32>,
}

impl Queue {
    /// Returns whether a thread of this process reads the ranges.
    #[inline]
    fn is_read(&self) -> bool {
        self.reader == Some(process::id())
    }

    /// The number of bytes that nobody has begun to read, although a thread will.
    #[inline]
    fn left(&self) -> u64 {
        if self.is_read() { self.added - self.taken } else { 0 }
    }

    /// The number of bytes read or requested.
    #[inline]
    fn ready(&self) -> u64 {
        self.taken - self.unready
    }
}

impl ReadAhead {
    /// Adds ranges of a file, and starts a thread unless one is running. If
    /// that fails, or the queue stays locked, there is no read-ahead.
    ///
    /// Returns the number of bytes added up to the end of the last range,
    /// for [`wait_for`](ReadAhead::wait_for).
    #[inline]
    pub(crate) fn add(
        self: &Arc<ReadAhead>,
        file: &Arc<File>,
        ranges: impl IntoIterator<Item = Range<u64>>,
        next: Next,
    ) -> u64 {
        let Some(mut queue) = self.lock_soon() else { return 0 };
        let is_read = queue.is_read();
        if !is_read {
            queue.ranges.clear();
            queue.taken = queue.added;
        }
        for range in ranges.into_iter().filter(|range| !range.is_empty()) {
            queue.added += ranges::len(&range);
            queue.ranges.push_back((Arc::clone(file), range, next));
        }
        queue.last = Arc::downgrade(file);
        let added = queue.added;
        if is_read {
            return added;
        }
        queue.reader = Some(process::id());
        drop(queue);
        let ranges = Arc::downgrade(self);
        let thread = thread::Builder::new().name("npymap read-ahead".to_owned());
        if thread.spawn(move || read(&ranges)).is_err() {
            self.lock().reader = None;
        }
        added
    }

    /// The file that was added last, if any of it is still to be read.
    ///
    /// What follows in it should be added with the same `File`: after pages that are in memory,
    /// which an earlier range brought there, Linux reads small pages for a file just opened.
    /// Reading parts of 32 MiB in turn took 1.15 of `read(2)` that way, and 0.91 with one file.
    #[inline]
    pub(crate) fn last_file(&self) -> Option<Arc<File>> {
        self.lock_soon()?.last.upgrade()
    }

    /// The number of bytes that are not being read yet; `u64::MAX` if another
    /// thread uses the queue.
    #[inline]
    pub(crate) fn queued(&self) -> u64 {
        try_lock(&self.queue).map_or(u64::MAX, |queue| queue.left())
    }

    /// Waits until nothing is queued, no longer than [`PATIENCE`].
    #[inline]
    pub(crate) fn wait(&self) {
        let Some(queue) = self.lock_soon() else { return };
        drop(self.has_advanced.wait_timeout_while(queue, PATIENCE, |queue| queue.left() > 0));
    }

    /// Waits until this many of the bytes that were added have been read or requested, as
    /// long as this happens to another piece within [`PATIENCE`].
    #[inline]
    pub(crate) fn wait_for(&self, added: u64) {
        let Some(mut queue) = self.lock_soon() else { return };
        while queue.is_read() && queue.ready() < added {
            let ready = queue.ready();
            let same = |queue: &mut Queue| queue.is_read() && queue.ready() == ready;
            let waited = self.has_advanced.wait_timeout_while(queue, PATIENCE, same);
            let (after, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            if timeout.timed_out() {
                return;
            }
            queue = after;
        }
    }

    /// Returns the next piece. Without one, the calling thread must end.
    #[inline]
    fn next_piece(&self) -> Option<(Arc<File>, Range<u64>, Next)> {
        let mut queue = self.lock();
        queue.unready = 0;
        self.has_advanced.notify_all();
        let Some((file, range, next)) = queue.ranges.front_mut() else {
            queue.reader = None;
            return None;
        };
        let len = match next {
            // Ends at a boundary of huge pages.
            Next::After => PIECE - range.start % PIECE,
            Next::Elsewhere => PIECE,
        };
        let piece = range.start..range.end.min(range.start + len);
        range.start = piece.end;
        let (file, next, is_last) = (Arc::clone(file), *next, range.is_empty());
        if is_last {
            queue.ranges.pop_front();
        }
        queue.taken += ranges::len(&piece);
        queue.unready = if is_long(&piece) { ranges::len(&piece) } else { 0 };
        Some((file, piece, next))
    }

    /// Locks the queue: a thread holds the lock for a moment only.
    #[inline]
    fn lock_soon(&self) -> Option<MutexGuard<'_, Queue>> {
        lock_within(&self.queue, PATIENCE / 500)
    }

    /// Waits for the lock. Only for threads that belong to a reader of this
    /// process: its start has shown that the lock did not stay in another
    /// process.
    #[inline]
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Locks a mutex, unless it is locked. For work that may be skipped.
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Locks a mutex that another thread may hold for some milliseconds. In a
/// forked process, it stays locked.
pub(crate) fn lock_within<T>(mutex: &Mutex<T>, patience: Duration) -> Option<MutexGuard<'_, T>> {
    let start = platform::Clock::now();
    loop {
        let guard = try_lock(mutex);
        if guard.is_some() || start.elapsed() > patience {
            return guard;
        }
        thread::sleep(Duration::from_micros(200));
    }
}

/// Whether a piece is read in huge pages.
#[inline]
fn is_long(piece: &Range<u64>) -> bool {
    ranges::len(piece) >= PIECE / 4
}

/// Reads pieces until there are none left or the queue is dropped.
#[inline]
fn read(ranges: &Weak<ReadAhead>) {
    let mut last = None;
    while let Some((file, piece, next)) = ranges.upgrade().and_then(|ranges| ranges.next_piece()) {
        // Read-ahead only affects speed, so errors are ignored.
        let request = |start: u64, end: u64| platform::read_ahead(&file, start, end - start).ok();
        let is_read = is_long(&piece)
            && match next {
                Next::After => {
                    // After pages that are in memory already, such as that of the header, Linux
                    // would read small pages for as long as it reads ahead.
                    let start = piece.start.next_multiple_of(HUGE_PAGE);
                    request(piece.start, start);
                    platform::read_in(&file, start, to_usize(piece.end - start)).is_ok()
                }
                Next::Elsewhere => {
                    let huge = huge_pages(&piece);
                    // The ends are read meanwhile.
                    request(piece.start, huge.start.max(piece.start));
                    request(huge.end, piece.end.max(huge.end));
                    let len = to_usize(huge.end - huge.start);
                    platform::read_huge_pages(&file, huge.start, len).is_ok()
                }
            };
        if !is_read {
            request(piece.start, piece.end);
        } else if next == Next::After {
            continue;
        }
        let before = last.replace((file, piece.end - 1));
        if let Some((file, before)) = before {
            // Waits for the previous piece. Errors will recur when its elements
            // are accessed.
            read_full_at(&*file, &mut [0], before).ok();
        }
    }
}

/// The huge pages that are at least half inside a range, which is longer than one.
#[inline]
fn huge_pages(range: &Range<u64>) -> Range<u64> {
    let nearest = |at: u64| (at + HUGE_PAGE / 2) / HUGE_PAGE * HUGE_PAGE;
    nearest(range.start)..nearest(range.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_os = "linux")]
    use crate::error::invariant::to_u64;

    #[test]
    #[cfg(target_os = "linux")]
    fn ranges_are_cut_into_pieces_in_order() {
        let ahead = Arc::new(ReadAhead::default());
        let file = Arc::new(tempfile::tempfile().unwrap());
        assert_eq!(ahead.queued(), 0, "nobody reads them");
        ahead.lock().reader = Some(process::id());
        let added = ahead.add(&file, [3..3, 10..PIECE + 11, 5..6], Next::After);
        assert_eq!((added, ahead.queued()), (PIECE + 2, PIECE + 2));
        let pieces: Vec<_> = std::iter::from_fn(|| ahead.next_piece()).map(|next| next.1).collect();
        assert_eq!(pieces, [10..PIECE, PIECE..PIECE + 11, 5..6]);
        assert!(ahead.last_file().is_some_and(|last| Arc::ptr_eq(&last, &file)));
        assert_eq!(Arc::strong_count(&file), 1, "files are closed");
        drop(file);
        assert!(ahead.last_file().is_none());
    }

    #[test]
    fn huge_pages_are_at_least_half_in_the_range() {
        const MIB: u64 = 1 << 20;
        for (range, expected) in [
            (0..8 * MIB, 0..8 * MIB),
            (128..8 * MIB + 128, 0..8 * MIB),
            (MIB - 1..9 * MIB - 1, 0..8 * MIB),
            (MIB..9 * MIB, 2 * MIB..10 * MIB),
            (3 * MIB + 5..13 * MIB, 4 * MIB..14 * MIB),
        ] {
            assert_eq!(huge_pages(&range), expected, "{range:?}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn ranges_are_waited_for_but_not_those_after_them() {
        let ahead = ReadAhead::default();
        let file = Arc::new(tempfile::tempfile().unwrap());
        {
            let mut queue = ahead.lock();
            queue.reader = Some(process::id());
            let ranges = [0..2 * PIECE, 0..PIECE];
            queue.ranges.extend(ranges.map(|range| (Arc::clone(&file), range, Next::Elsewhere)));
            queue.added = 3 * PIECE;
        }
        thread::scope(|scope| {
            scope.spawn(|| {
                loop {
                    let start = platform::Clock::now();
                    ahead.wait_for(2 * PIECE);
                    if ahead.lock().ready() >= 2 * PIECE {
                        break;
                    }
                    // The other thread may not run for longer than that.
                    assert!(start.elapsed() >= PATIENCE);
                }
            });
            while ahead.next_piece().is_some() {
                thread::sleep(Duration::from_millis(2));
            }
        });
        // Nobody reads any more.
        ahead.lock().added = 9 * PIECE;
        ahead.wait_for(9 * PIECE);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_queue_that_is_in_use_is_not_waited_for() {
        // As in a process that was forked meanwhile.
        let ahead = Arc::new(ReadAhead::default());
        let held = ahead.lock();
        assert_eq!(ahead.queued(), u64::MAX);
        let file = Arc::new(tempfile::tempfile().unwrap());
        assert_eq!(ahead.add(&file, Some(0..PIECE), Next::After), 0);
        assert!(held.ranges.is_empty() && held.reader.is_none());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_thread_ends_with_its_ranges_and_another_one_follows() {
        let ahead = Arc::new(ReadAhead::default());
        let files = [(); 2].map(|()| tempfile::tempfile().unwrap());
        for file in &files {
            file.set_len(3 * PIECE).unwrap();
        }
        for round in 1..=2 {
            for (number, file) in files.iter().enumerate() {
                let file = Arc::new(file.try_clone().unwrap());
                // Nothing is added while the reading thread holds the lock for long, because
                // another one runs instead.
                let add = || ahead.add(&file, Some(0..3 * PIECE), Next::After);
                let added = std::iter::repeat_with(add).find(|added| *added > 0).unwrap();
                let before = (round - 1) * 2 + to_u64(number);
                assert_eq!(added, (before + 1) * 3 * PIECE);
            }
            while ahead.lock().reader.is_some() {
                thread::yield_now();
            }
            assert!(ahead.lock().ranges.is_empty());
            assert_eq!(ahead.queued(), 0);
        }
    }
}

//! Reads ranges of files into the page cache, on a separate thread.
//!
//! Linux cuts a read-ahead request to the device's read-ahead window, and blocks
//! when the disk's queue is full. So a thread requests large ranges in pieces.
//! Callers wait for the disk only if they ask to, and never for a lock, which nobody
//! would ever release in a process that was forked while another thread held it.

use std::collections::VecDeque;
use std::fs::File;
use std::ops::Range;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::thread;
use std::time::Duration;

use crate::error::invariant::to_usize_saturating;
use crate::source::{file, platform};

/// The size of a piece in bytes. At most two pieces are in flight, which keeps
/// the disk busy without delaying other reads for long, and whole pieces one by one.
const PIECE: u64 = 8 << 20;

/// The longest that a caller waits for the disk.
const PATIENCE: Duration = Duration::from_millis(250);

/// How often to try to lock the queue.
const ATTEMPTS: usize = 100;

/// How a range is used while it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// From its start on, or not at all.
    InOrder,
    /// Single pages of it are read at the same time. Requests for them are answered
    /// sooner if huge pages are not used, and no piece is waited for.
    Scattered,
}

/// A queue of ranges of files to read ahead. Reading stops when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct ReadAhead {
    queue: Mutex<Queue>,
    /// Notified when a piece was taken from the queue.
    has_advanced: Condvar,
    /// Whether a caller knows what it needs next, and has added it.
    is_announced: AtomicBool,
}

#[derive(Debug, Default)]
struct Queue {
    ranges: VecDeque<(Arc<File>, Range<u64>, Use)>,
    /// The process that runs the reading thread. A forked child does not inherit
    /// its parent's threads.
    reader: Option<u32>,
}

impl Queue {
    /// Returns whether a thread of this process reads the ranges.
    fn is_read(&self) -> bool {
        self.reader.is_some_and(|reader| reader == process::id())
    }

    /// The number of bytes of the ranges.
    fn nbytes(&self) -> u64 {
        self.ranges.iter().map(|(_, range, _)| range.end.saturating_sub(range.start)).sum()
    }
}

impl ReadAhead {
    /// Adds ranges of a file, and starts a thread unless one is running. If
    /// that fails, or the queue stays locked, nothing is read ahead.
    pub(crate) fn add(
        self: &Arc<ReadAhead>,
        file: &Arc<File>,
        ranges: impl IntoIterator<Item = Range<u64>>,
        usage: Use,
    ) {
        if usage == Use::Scattered {
            self.is_announced.store(true, Ordering::Relaxed);
        }
        let Some(mut queue) = self.lock_soon() else { return };
        let is_read = queue.is_read();
        if !is_read {
            queue.ranges.clear();
        }
        queue.ranges.extend(ranges.into_iter().map(|range| (Arc::clone(file), range, usage)));
        if is_read {
            return;
        }
        queue.reader = Some(process::id());
        drop(queue);
        let ranges = Arc::downgrade(self);
        let thread = thread::Builder::new().name("npymap read-ahead".to_owned());
        if thread.spawn(move || read(&ranges)).is_err() {
            self.lock().reader = None;
        }
    }

    /// The number of bytes that are not being read yet; `u64::MAX` if another
    /// thread uses the queue.
    pub(crate) fn queued(&self) -> u64 {
        let Some(queue) = try_lock(&self.queue) else { return u64::MAX };
        if queue.is_read() { queue.nbytes() } else { 0 }
    }

    /// Returns whether ranges with [`Use::Scattered`] were ever added.
    pub(crate) fn is_announced(&self) -> bool {
        self.is_announced.load(Ordering::Relaxed)
    }

    /// Waits until nothing is queued, no longer than [`PATIENCE`].
    pub(crate) fn wait(&self) {
        let Some(queue) = self.lock_soon() else { return };
        drop(
            self.has_advanced
                .wait_timeout_while(queue, PATIENCE, |queue| queue.is_read() && queue.nbytes() > 0),
        );
    }

    /// Returns the next piece. Without one, the calling thread must end.
    fn next_piece(&self) -> Option<(Arc<File>, Range<u64>, Use)> {
        let mut queue = self.lock();
        while let Some((file, range, usage)) = queue.ranges.front_mut() {
            let (file, usage) = (Arc::clone(file), *usage);
            let piece = range.start..range.end.min(range.start.saturating_add(PIECE));
            range.start = piece.end;
            self.has_advanced.notify_all();
            if range.is_empty() {
                queue.ranges.pop_front();
            }
            if !piece.is_empty() {
                return Some((file, piece, usage));
            }
        }
        queue.reader = None;
        self.has_advanced.notify_all();
        None
    }

    /// Tries to lock several times: a thread holds the lock for a moment only.
    fn lock_soon(&self) -> Option<MutexGuard<'_, Queue>> {
        (0..ATTEMPTS).find_map(|_| {
            let queue = try_lock(&self.queue);
            if queue.is_none() {
                thread::yield_now();
            }
            queue
        })
    }

    /// Waits for the lock. Only for threads that belong to a reader of this process:
    /// its start has shown that no other process took the lock along.
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

/// Reads pieces until there are none left or the queue is dropped.
fn read(ranges: &Weak<ReadAhead>) {
    let mut last = None;
    while let Some((file, piece, usage)) = ranges.upgrade().and_then(|ranges| ranges.next_piece()) {
        let len = piece.end - piece.start;
        let is_long = usage == Use::InOrder && len == PIECE;
        if is_long && platform::read_in(&file, piece.start, to_usize_saturating(len)).is_ok() {
            continue;
        }
        // Read-ahead only affects speed, so errors are ignored.
        platform::read_ahead(&file, piece.start, len).ok();
        let before = last.replace((file, piece.end - 1));
        if let Some((file, before)) = before {
            // Waits for the previous piece. Errors will recur when its elements
            // are accessed.
            file::read_at(&file, &mut [0], before).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn ranges_are_cut_into_pieces_in_order() {
        let ahead = ReadAhead::default();
        let ranges = [3..3, 10..PIECE + 11, 5..6];
        let file = Arc::new(tempfile::tempfile().unwrap());
        ahead.lock().ranges.extend(ranges.map(|range| (Arc::clone(&file), range, Use::Scattered)));
        assert_eq!(ahead.queued(), 0, "nobody reads them");
        ahead.lock().reader = Some(process::id());
        assert_eq!(ahead.queued(), PIECE + 2);
        let pieces: Vec<_> = std::iter::from_fn(|| ahead.next_piece()).map(|next| next.1).collect();
        assert_eq!(pieces, [10..PIECE + 10, PIECE + 10..PIECE + 11, 5..6]);
        assert_eq!(Arc::strong_count(&file), 1, "files are closed");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn only_scattered_ranges_were_announced() {
        let (ahead, file) = (Arc::new(ReadAhead::default()), tempfile::tempfile().unwrap());
        let file = Arc::new(file);
        for (usage, expected) in
            [(Use::InOrder, false), (Use::Scattered, true), (Use::InOrder, true)]
        {
            ahead.add(&file, std::iter::once(0..1), usage);
            assert_eq!(ahead.is_announced(), expected, "{usage:?}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_queue_that_is_in_use_is_not_waited_for() {
        // As in a process that was forked meanwhile.
        let ahead = Arc::new(ReadAhead::default());
        let held = ahead.lock();
        assert_eq!(ahead.queued(), u64::MAX);
        ahead.add(
            &Arc::new(tempfile::tempfile().unwrap()),
            std::iter::once(0..PIECE),
            Use::InOrder,
        );
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
        for _ in 0..2 {
            for file in &files {
                ahead.add(
                    &Arc::new(file.try_clone().unwrap()),
                    std::iter::once(0..3 * PIECE),
                    Use::InOrder,
                );
            }
            while ahead.lock().reader.is_some() {
                thread::yield_now();
            }
            assert!(ahead.lock().ranges.is_empty());
            assert_eq!(ahead.queued(), 0);
        }
    }
}

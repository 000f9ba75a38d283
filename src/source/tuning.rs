//! The numbers that decide what is read from the disk before it is needed.
//!
//! Each says what it was measured by. The machines had 2 processors and a virtual
//! disk that delivers 1.1 to 2.6 GB/s: Intel Cascade Lake, or AMD EPYC where this is said.

use std::time::Duration;

// The rows of a batch (`planner.rs`, `loader/file_rows.rs`).

/// The number of rows copied between two readings of the clock, 64 times as many if each
/// has many pieces. A quarter of them is touched to find out whether advice is still needed.
/// Where rows are in memory, a batch of 256 takes up to 12 % longer that way, less if rows are
/// longer.
pub(crate) const GROUP: usize = 16;

/// The most nanoseconds that a row in memory, or several on the same page, take in addition
/// to the time for their bytes. A page from the disk takes 60 µs and more.
pub(crate) const PLACE: u64 = 20_000;

/// The most nanoseconds that the kernel takes to accept a request for a row in memory, and a
/// fifteenth of that more for each page of it. Measured: 0.6 µs for a row of one page.
pub(crate) const IN_MEMORY: u64 = 1500;

/// Ranges at most this far apart are read together, including the bytes between
/// them: a disk reads about this much in the time that another request takes. On AMD EPYC,
/// 128 pairs of pages took as long by one request for each pair as by two if 8 KiB are between
/// them, 0.8 of that for 4 KiB, and 1.4 for 16 KiB.
pub(crate) const GAP: usize = 8 << 10;

// What follows a batch (`planner.rs`, `read_ahead.rs`, `loader/ahead.rs`).

/// The number of bytes requested before they are needed. More could be evicted
/// from memory before it is used. Of an array that is read whole, 16 times as much may be
/// queued after each batch. Twice as much is requested before batches in sequence, which wait
/// for the disk: on AMD EPYC, an epoch of sequential rows took 1.03 of `read(2)` that way, and
/// 1.20 to 1.28 when it did not wait.
pub(crate) const WINDOW: usize = 64 << 20;

/// The size of what the kernel is asked to read at once, in bytes. At most two are in flight,
/// which keeps the disk busy without delaying other reads for long. What is at least a quarter
/// of it is read in huge pages, which took half the time.
///
/// At most half of it is mapped before each batch of an epoch of an array in memory. A
/// shuffled epoch of 256 MiB in a new map took 0.77 to 1.0 of plain copies that way, and 1.13
/// to 1.40 when faults mapped the pages, on a busy machine.
pub(crate) const PIECE: u64 = 32 << 20;

/// The most pieces of rows in sequence that are queued, because each can keep a file open.
pub(crate) const PIECES: usize = 32;

/// The longest range that the calling thread requests itself, in bytes, because
/// requesting this few does not block: it took 1.2 ms on AMD EPYC, in which the disk reads half
/// of it. So thousands of small arrays need no threads.
pub(crate) const UNTHREADED: usize = 4 << 20;

/// Reading single pages takes a disk about this many times as long as reading them in
/// sequence: all of an array is read if batches need one part in this many. If it is not known
/// that they will, it is read after they have requested a sixteenth of that from the disk,
/// which costs at most 1/16 of the time to read it in sequence.
///
/// At most one part in this many is dropped and read again, because the kernel can use no huge
/// pages around pages in memory: epochs of rows of 150 KiB took 1.08 of the limit, and 2.07
/// when the pages of a first batch of 38 MiB were kept.
pub(crate) const DENSE: usize = 4;

/// Batches that are read in parallel can be this many batches out of order. Of 20,000 by 8
/// threads on 2 processors, 99 % were at most 8 away from the one before, by 4 threads 4, and
/// all at most twice as many.
pub(crate) const DISORDER: usize = 8;

/// How many pages tell whether an array is in memory. Asking for them took 57 µs on AMD EPYC,
/// which an epoch does once. If half of the pages are in memory, samples miss it by more than
/// an eighth once in 30 times.
pub(crate) const SAMPLE: usize = 64;

/// The longest that a caller waits for the disk. It waits at most a tenth of this until a
/// second thread starts to read an array.
pub(crate) const PATIENCE: Duration = Duration::from_millis(500);

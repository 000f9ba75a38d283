//! The numbers that decide what is read from the disk before it is needed.
//!
//! Each says what it was measured by, if it was. The machines had 2 processors and a virtual
//! disk that delivers 1.1 to 1.4 GB/s: Intel Cascade Lake, or AMD EPYC where this is said.

use std::time::Duration;

// The rows of a batch (`strategy.rs`).

/// The number of rows copied between two readings of the clock. Where rows are in
/// memory, a batch of 256 takes up to 12 % longer that way, less if rows are longer.
pub(crate) const GROUP: usize = 16;

/// The number of rows copied between two readings if each has many pieces.
pub(crate) const LARGE_GROUP: usize = 1024;

/// The number of rows touched to find out whether advice is still needed.
pub(crate) const PROBES: usize = 4;

/// The most time that a row in memory, or several on the same page, take in addition
/// to the time for their bytes. A page from the disk takes 60 µs and more.
pub(crate) const PLACE: Duration = Duration::from_micros(20);

/// The most time that the kernel takes to accept a request for a row in memory, and for each
/// page of it more. Measured: 0.6 µs for a row of one page.
pub(crate) const IN_MEMORY: Duration = Duration::from_nanos(1500);
pub(crate) const IN_MEMORY_PAGE: Duration = Duration::from_nanos(100);

/// Ranges at most this far apart are read together, including the bytes between
/// them: a disk reads about this much in the time that another request takes.
pub(crate) const GAP: usize = 16 << 10;

// What follows a batch (`loader/reading.rs`, `ahead.rs`, `sequence.rs`, `background.rs`).

/// The number of bytes requested before they are needed. More could be evicted
/// from memory before it is used.
pub(crate) const WINDOW: usize = 64 << 20;

/// The number of bytes requested before batches in sequence, which wait for
/// the disk. On AMD EPYC, an epoch of sequential rows took 1.03 of `read(2)` that way, and 1.20
/// to 1.28 when it did not wait.
pub(crate) const SEQUENCE: u64 = 4 * PIECE;

/// The size of what the kernel is asked to read at once, in bytes. At most two are in flight,
/// which keeps the disk busy without delaying other reads for long.
pub(crate) const PIECE: u64 = 32 << 20;

/// The longest range that the calling thread requests itself, in bytes, because
/// requesting this few does not block. So thousands of small arrays need no threads.
pub(crate) const UNTHREADED: usize = 4 << 20;

/// How much of an array may be queued when a batch has been taken, in bytes.
pub(crate) const CREDIT: usize = 1 << 30;

/// All of an array is read after batches have requested one part in this many from
/// the disk. Single pages take about [`DENSE`] times as long as pages in sequence, so this costs
/// at most 1/16 of the time to read it in sequence.
pub(crate) const FRACTION: usize = 64;

/// Reading single pages takes a disk about this many times as long as reading them in
/// sequence.
pub(crate) const DENSE: u64 = 4;

/// At most one part in this many of an array is dropped and read again. Around
/// pages that are in memory, the kernel can use no huge pages: pages in
/// 1/100 of an array doubled the time for the rest.
pub(crate) const SPARSE: usize = 4;

/// Batches that are read in parallel can be this many batches out of order.
pub(crate) const DISORDER: usize = 8;

/// At most this many bytes of an array in memory are mapped before each batch of an
/// epoch.
pub(crate) const MAPPED: usize = 16 << 20;

/// How many pages tell whether an array is in memory.
pub(crate) const SAMPLE: usize = 64;

/// The longest that a caller waits for the disk.
pub(crate) const PATIENCE: Duration = Duration::from_millis(500);

/// The longest time that a thread waits until a second thread starts to read an
/// array.
pub(crate) const START: Duration = Duration::from_millis(50);

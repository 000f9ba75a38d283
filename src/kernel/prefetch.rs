//! Brings bytes that are next into the first cache while others are copied.
#![cfg_attr(target_arch = "x86_64", allow(unsafe_code))]

/// Bytes of a cache line.
const LINE: usize = 64;

/// Lines fetched. The processor finds by itself how it goes on.
const LINES: usize = 4;

/// Starts fetching the first of some bytes from memory.
///
/// Copying 256 rows at random took 0.63 of the time with it, of 256 bytes and
/// of 4 KiB; one line or two, or a nearer row, did less.
#[inline]
pub(crate) fn prefetch(bytes: &[u8]) {
    for line in bytes.chunks(LINE).take(LINES) {
        fetch(line);
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn fetch(line: &[u8]) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a hint, which reads nothing and can't fault, whatever the
    // address; all processors of this kind have it.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn fetch(_: &[u8]) {}

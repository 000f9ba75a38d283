//! What is asked of the processor itself: the one place where code is chosen
//! by what it can do, and advice about memory that is used next, which brings
//! bytes into the first cache while others are copied, or asks for large pages.
#![cfg_attr(any(target_arch = "x86_64", target_os = "linux"), allow(unsafe_code))]

/// A loop, with what it works on.
pub(crate) trait Job {
    /// What comes out of it.
    type Output;

    /// Does it. Every implementation is `#[inline(always)]`: only what is
    /// compiled into [`run`]'s two callers is compiled for AVX2.
    fn run(self) -> Self::Output;
}

/// Does a job with the best instructions there are.
#[inline]
pub(crate) fn run<J: Job>(job: J) -> J::Output {
    #[cfg(test)]
    if tests::PORTABLE.get() {
        return job.run();
    }
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, as was just asked.
        return unsafe { run_with_avx2(job) };
    }
    job.run()
}

/// # Safety
///
/// The processor must have AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn run_with_avx2<J: Job>(job: J) -> J::Output {
    job.run()
}

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

/// Below this large pages are not worth a system call, in bytes; NumPy's
/// limit.
#[cfg(target_os = "linux")]
const LARGE: usize = 4 << 20;

/// Asks for large pages for memory that is about to be filled: it is then
/// zeroed at once and not page by page. Systems that have none do as ever.
#[cfg(target_os = "linux")]
pub(crate) fn prefer_large_pages(bytes: &mut [u8]) {
    if bytes.len() < LARGE {
        return;
    }
    let (page, len) = pages(bytes);
    // SAFETY: how large the pages are that bytes lie in changes none of them.
    let done = unsafe {
        rustix::mm::madvise(page.cast_mut().cast(), len, rustix::mm::Advice::LinuxHugepage)
    };
    // Where there are none, ordinary ones will do.
    done.ok();
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn prefer_large_pages(_: &mut [u8]) {}

/// The start of the page that bytes begin in, and their distance from there to
/// their end.
#[cfg(unix)]
pub(crate) fn pages(bytes: &[u8]) -> (*const u8, usize) {
    let before = bytes.as_ptr().addr() % rustix::param::page_size();
    (bytes.as_ptr().wrapping_sub(before), before + bytes.len())
}

#[cfg(test)]
pub(super) mod tests {
    use std::cell::Cell;

    thread_local! {
        /// Whether this thread does without AVX2.
        pub(super) static PORTABLE: Cell<bool> = const { Cell::new(false) };
    }

    /// Calls `test` both ways.
    pub(crate) fn both_ways(mut test: impl FnMut()) {
        for portable in [false, true] {
            PORTABLE.set(portable);
            test();
        }
        PORTABLE.set(false);
    }
}

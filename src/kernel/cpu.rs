//! Everything specific to the processor: choosing code by its features,
//! prefetching bytes into the first-level cache, writing past the caches, and asking for
//! large pages.
#![cfg_attr(any(target_arch = "x86_64", target_os = "linux"), allow(unsafe_code))]

/// A loop with its data.
pub(crate) trait Job {
    /// The result.
    type Output;

    /// Runs the loop. Every implementation is `#[inline(always)]`: only code
    /// inlined into `run_with_avx2` is compiled for AVX2.
    fn run(self) -> Self::Output;
}

/// Runs a job with the best available instructions.
#[inline]
pub(crate) fn run<J: Job>(job: J) -> J::Output {
    #[cfg(test)]
    if tests::PORTABLE.get() {
        return job.run();
    }
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: the processor has AVX2, as checked above.
        return unsafe { run_with_avx2(job) };
    }
    job.run()
}

/// Whether the processor has AVX2. It is not generic: detection is much more code
/// than a call, and is needed for every job.
#[cfg(target_arch = "x86_64")]
#[inline]
fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
}

/// # Safety
///
/// The processor must support AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn run_with_avx2<J: Job>(job: J) -> J::Output {
    job.run()
}

/// The size of a cache line in bytes.
const LINE: usize = 64;

/// The number of cache lines to fetch. The hardware prefetcher continues from
/// there.
const LINES: usize = 4;

/// Starts fetching the first cache lines of `bytes` from memory.
///
/// It reduced the time of copying 256 random rows, of 256 bytes or of 4 KiB, to
/// 0.63. Fetching one or two lines, or a row used sooner, gained less.
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
    // SAFETY: the instruction is a hint that reads nothing and cannot fault for
    // any address; all x86-64 processors support it.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn fetch(_: &[u8]) {}

/// Copies each slice of bytes to the other of its pair, of the same length, without
/// reading the cache lines that it overwrites, and without keeping them.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
pub(super) fn stream<'a>(pairs: impl Iterator<Item = (&'a [u8], &'a mut [u8])>) {
    use std::arch::x86_64::{_mm_sfence, _mm_stream_si128};
    for (from, to) in pairs {
        // A line that other stores share would be written to memory in parts.
        let start = to.as_ptr().align_offset(LINE).min(to.len());
        let end = to.len() - (to.len() - start) % LINE;
        let lines = to.get_mut(start..end).unwrap_or_default();
        let (_, words, _) = bytemuck::pod_align_to_mut::<u8, u128>(lines);
        let bytes = from.get(start..end).unwrap_or_default().chunks_exact(size_of::<u128>());
        for (word, bytes) in words.iter_mut().zip(bytes) {
            let value = bytemuck::pod_read_unaligned(bytes);
            // SAFETY: a mutable reference is valid for writing and a `u128` is aligned to 16
            // bytes. The fence below comes before any other access to it.
            unsafe { _mm_stream_si128(std::ptr::from_mut(word).cast(), value) };
        }
        for edge in [0..start, end..to.len()] {
            if let (Some(to), Some(from)) = (to.get_mut(edge.clone()), from.get(edge)) {
                to.copy_from_slice(from);
            }
        }
    }
    // SAFETY: all x86-64 processors support it.
    unsafe { _mm_sfence() };
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline]
pub(super) fn stream<'a>(pairs: impl Iterator<Item = (&'a [u8], &'a mut [u8])>) {
    pairs.for_each(|(from, to)| to.copy_from_slice(from));
}

/// The smallest buffer, in bytes, where large pages are worth a system call.
/// The same as in NumPy.
#[cfg(target_os = "linux")]
const LARGE: usize = 4 << 20;

/// Asks for large pages for a buffer that is about to be filled, so that the
/// kernel zeroes fewer, larger pages. Does nothing on systems without them.
#[cfg(target_os = "linux")]
#[inline]
pub(crate) fn prefer_large_pages(bytes: &mut [u8]) {
    if bytes.len() < LARGE {
        return;
    }
    let (page, len) = pages(bytes);
    // SAFETY: the size of the pages does not affect the bytes in them.
    let done = unsafe {
        rustix::mm::madvise(page.cast_mut().cast(), len, rustix::mm::Advice::LinuxHugepage)
    };
    // Without large pages, ordinary ones are fine.
    done.ok();
}

#[cfg(not(target_os = "linux"))]
#[inline]
pub(crate) fn prefer_large_pages(_: &mut [u8]) {}

/// The start of the page that contains the first byte, and the length from
/// there to the end of `bytes`.
#[cfg(unix)]
#[inline]
pub(crate) fn pages(bytes: &[u8]) -> (*const u8, usize) {
    let before = bytes.as_ptr().addr() % rustix::param::page_size();
    (bytes.as_ptr().wrapping_sub(before), before + bytes.len())
}

#[cfg(test)]
pub(super) mod tests {
    use std::cell::Cell;

    thread_local! {
        /// Whether this thread avoids AVX2.
        pub(super) static PORTABLE: Cell<bool> = const { Cell::new(false) };
    }

    #[test]
    fn streams_copy_all_bytes_at_any_alignment() {
        let from: Vec<u8> = (0..=255).collect();
        for start in 0..20 {
            for len in [0, 1, 15, 16, 17, 31, 32, 100, 200] {
                let bytes = &from[start..start + len];
                let (mut found, mut expected) = (vec![0; 4096], vec![0; 4096]);
                let rows = found[start..].chunks_exact_mut(1001);
                super::stream(rows.map(|row| (bytes, &mut row[..len])));
                for row in expected[start..].chunks_exact_mut(1001) {
                    row[..len].copy_from_slice(bytes);
                }
                assert!(found == expected, "{start} {len}");
            }
        }
    }

    /// Calls `test` with AVX2 and without.
    pub(crate) fn both_ways(mut test: impl FnMut()) {
        for portable in [false, true] {
            PORTABLE.set(portable);
            test();
        }
        PORTABLE.set(false);
    }
}

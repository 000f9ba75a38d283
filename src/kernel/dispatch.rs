//! The one place where code is chosen by what the processor can do.
#![cfg_attr(target_arch = "x86_64", allow(unsafe_code))]

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

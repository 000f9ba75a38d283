//! A monotonic clock.

/// Measures elapsed time. On systems without a clock, such as WebAssembly in a
/// browser, no time ever elapses.
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub(crate) use std::time::Instant as Clock;

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock;

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
impl Clock {
    #[inline]
    pub(crate) fn now() -> Clock {
        Clock
    }

    #[expect(clippy::unused_self, reason = "same signature as `Instant::elapsed`")]
    #[inline]
    pub(crate) fn elapsed(self) -> std::time::Duration {
        std::time::Duration::ZERO
    }
}

//! The identity of this process and of this run of the kernel.

/// The number of this process. It differs in a forked child. The same number is
/// returned to all processes of systems that do not fork.
#[cfg(unix)]
#[inline]
pub(crate) fn process_id() -> u32 {
    std::process::id()
}

#[cfg(not(unix))]
#[inline]
pub(crate) fn process_id() -> u32 {
    0
}

//! The identity of this process and of this run of the system.

/// The number of this process. It differs in a forked child; the same number is
/// returned to all processes of systems that do not fork.
#[cfg(unix)]
pub(crate) fn process_id() -> u32 {
    std::process::id()
}

#[cfg(not(unix))]
pub(crate) fn process_id() -> u32 {
    0
}

//! Conversions between lengths in memory and in files.

/// A length in memory as one in a file.
pub(crate) fn to_u64(n: usize) -> u64 {
    u64::try_from(n).expect("lengths in memory have at most 64 bits")
}

/// A length in a file as one in memory. Returns `usize::MAX` if it is longer: for
/// comparisons, progress and messages.
pub(crate) fn to_usize(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

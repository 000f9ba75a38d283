//! Assertions of facts that this crate has established itself, and conversions of lengths.

/// For ranges computed from the length of the buffer that they index.
pub(crate) const IN_BUFFER: &str = "ranges lie inside their buffer";

/// Unwraps a value that must be present by an invariant.
pub(crate) trait Invariant<T> {
    /// Returns the value, or panics with the name of the invariant: a bug in this crate.
    fn invariant(self, name: &'static str) -> T;
}

impl<T> Invariant<T> for Option<T> {
    #[track_caller]
    fn invariant(self, name: &'static str) -> T {
        match self {
            Some(value) => value,
            None => panic!("broken invariant: {name}"),
        }
    }
}

/// Converts a length or offset in memory to one in an object.
pub(crate) fn to_u64(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// Converts a length or offset in an object, or returns `usize::MAX`.
pub(crate) fn to_usize_saturating(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

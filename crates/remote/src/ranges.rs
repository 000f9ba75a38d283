//! Byte ranges in an object.

use std::io;
use std::ops::Range;

use npymap::{Error, ErrorKind};

use crate::invariant::to_u64;

/// The number of bytes in a range.
pub(crate) fn len(range: &Range<u64>) -> u64 {
    range.end.saturating_sub(range.start)
}

/// Checks that no range ends before its start, and that a buffer has the length of all
/// ranges together.
pub(crate) fn check_len(ranges: &[Range<u64>], found: usize) -> io::Result<()> {
    let mut needed = 0_u128;
    for range in ranges {
        if range.start > range.end {
            let text = format!("the range {}..{} ends before its start", range.start, range.end);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        needed += u128::from(len(range));
    }
    if needed == u128::from(to_u64(found)) {
        return Ok(());
    }
    let text = format!("the buffer has {found} bytes, but the ranges have {needed}");
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

/// The error for a range that ends after an object of `size` bytes.
pub(crate) fn short_object(end: u64, size: u64) -> Error {
    let text = format!(
        "the elements end at byte {end} and the file at {size}: it was truncated, or is still being written"
    );
    Error::new(ErrorKind::Truncated, text)
}

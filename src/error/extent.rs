//! Errors about files and buffers that end before or after the last element.

use super::{ErrorKind, plural};

#[derive(Debug, thiserror::Error)]
pub(crate) enum ExtentError {
    /// The file ends before the last element.
    #[error(
        "the elements end at byte {needed} and the file at {found}: it was truncated, or is still being written"
    )]
    ShortFile { needed: u64, found: u64 },

    /// The buffer of an array ends before its last element.
    #[error("the elements end at byte {needed} and the buffer at {found}")]
    ShortBuffer { needed: usize, found: usize },

    /// An empty file, which cannot be mapped.
    #[error(
        "is empty, so there is nothing to map: for a shape without elements, open it in mode 'r+'"
    )]
    Empty,

    /// The shape of a raw file cannot be derived from its length.
    #[error("{}", remainder(*offset, *itemsize, *found))]
    Remainder { offset: u64, itemsize: usize, found: u64 },

    /// A `.npy` file is opened as raw elements that do not fit it.
    #[error("the file has an NPY header: open it as a .npy, not with `OpenOptions::raw`")]
    NotRaw,

    /// Bytes follow the elements where rows are to be appended.
    #[error(
        "the elements end at byte {end} and the file at {found}: `recover` turns the bytes that follow into rows"
    )]
    Trailing { end: u64, found: u64 },

    /// Bytes follow the elements of a file that would be replaced.
    #[error("{}", dropped(*nbytes, *rows, *is_array))]
    Dropped { nbytes: u64, rows: u64, is_array: bool },

    /// The elements are followed by another array, not by rows.
    #[error("another array follows the elements at byte {end}: no rows can be recovered")]
    Follows { end: u64 },
}

impl ExtentError {
    #[inline]
    pub(super) fn kind(&self) -> ErrorKind {
        match self {
            ExtentError::Remainder { itemsize: 0, .. } | ExtentError::NotRaw => {
                ErrorKind::InvalidInput
            }
            ExtentError::Remainder { offset, found, .. } if offset <= found => ErrorKind::Corrupt,
            ExtentError::ShortFile { .. }
            | ExtentError::ShortBuffer { .. }
            | ExtentError::Remainder { .. }
            | ExtentError::Empty => ErrorKind::Truncated,
            ExtentError::Trailing { .. } | ExtentError::Dropped { .. } => ErrorKind::Corrupt,
            ExtentError::Follows { .. } => ErrorKind::Unsupported,
        }
    }
}

/// Names what is lost if a file is replaced, and what keeps it.
#[inline]
fn dropped(nbytes: u64, rows: u64, is_array: bool) -> String {
    let (what, advice) = match rows {
        _ if is_array => (", another array".to_owned(), "`discard_trailing` allows it"),
        0 => (String::new(), "`discard_trailing` allows it"),
        rows => (
            format!(", {}", plural(rows, "more row", "more rows")),
            "`recover` keeps them, and `discard_trailing` drops them",
        ),
    };
    let bytes = plural(nbytes, "byte", "bytes");
    format!("replacing the file would drop {bytes} after its elements{what}: {advice}")
}

/// Explains why the shape of a raw file cannot be derived from its length.
#[inline]
fn remainder(offset: u64, itemsize: usize, found: u64) -> String {
    match found.checked_sub(offset) {
        _ if itemsize == 0 => {
            "the length of the file does not give the number of zero-size elements: pass a shape"
                .to_owned()
        }
        None => format!("the elements start at byte {offset} and the file ends at {found}"),
        Some(rest) => format!(
            "the file has {} from byte {offset} on, not a multiple of the itemsize {itemsize}: pass a shape",
            plural(rest, "byte", "bytes")
        ),
    }
}

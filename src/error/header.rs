//! Errors about headers that cannot be read, or written as requested.

use super::ErrorKind;

#[derive(Debug, thiserror::Error)]
pub(crate) enum HeaderError {
    /// The first six bytes are not `\x93NUMPY`.
    #[error("starts with b\"{}\", expected b\"\\x93NUMPY\"{}", found.escape_ascii(), format_hint(found))]
    Magic { found: Vec<u8> },

    /// The format version is not one that NumPy defined.
    #[error("format version {major}.{minor}, expected 1.0, 2.0 or 3.0")]
    Version { major: u8, minor: u8 },

    /// The file ends too early to hold a header.
    #[error("ends inside the {what}: found {found} of {needed} bytes")]
    Eof { what: &'static str, needed: usize, found: usize },

    /// The header is longer than allowed.
    #[error(
        "the header has {found} characters, but the limit is {limit}: raise it with `max_header_len` if you trust the file"
    )]
    Limit { found: usize, limit: usize },

    /// A version 3.0 header is not UTF-8.
    #[error("the header is not valid UTF-8 at byte {at}, as version 3.0 requires")]
    Utf8 { at: usize },

    /// The header or the text of a dtype is not a valid Python literal.
    #[error("at character {at}: found {found}, expected {expected}")]
    Syntax { at: usize, found: String, expected: &'static str },

    /// The header's dictionary lacks a key, or has an unknown one.
    #[error("the header's keys are {found}, expected exactly 'descr', 'fortran_order' and 'shape'")]
    Keys { found: String },

    /// A value in the header has the wrong type.
    #[error("`{key}` is `{found}`, expected {expected}")]
    Value { key: &'static str, found: String, expected: &'static str },

    /// The requested format version cannot hold this header.
    #[error(
        "version {asked} cannot hold this header: {reason}; use {works}, or leave the version unset"
    )]
    Encode { asked: String, reason: &'static str, works: String },
}

impl HeaderError {
    /// Returns whether the file has no known format, and may have raw elements.
    #[inline]
    pub(super) fn is_raw(&self) -> bool {
        matches!(self, HeaderError::Magic { found } if format_hint(found).is_empty())
    }

    #[inline]
    pub(super) fn kind(&self) -> ErrorKind {
        match self {
            HeaderError::Magic { found } if found.is_empty() => ErrorKind::Truncated,
            HeaderError::Magic { .. }
            | HeaderError::Utf8 { .. }
            | HeaderError::Keys { .. }
            | HeaderError::Value { .. } => ErrorKind::Corrupt,
            HeaderError::Eof { .. } => ErrorKind::Truncated,
            HeaderError::Version { .. } => ErrorKind::Unsupported,
            HeaderError::Limit { .. } => ErrorKind::LimitExceeded,
            HeaderError::Syntax { .. } | HeaderError::Encode { .. } => ErrorKind::InvalidInput,
        }
    }
}

/// Guesses the format of a file that is not a `.npy` file by its first bytes.
#[inline]
fn format_hint(found: &[u8]) -> &'static str {
    match found {
        [] => ": it is empty",
        [b'P', b'K', 3 | 5, ..] => {
            ": it is a zip archive, open an .npz file with `Npz` or `open_any`"
        }
        [0x80, 2..=5, ..] => ": it is a Python pickle",
        [b'~', b'T', b'e', b'n', b'B', b'i', ..] => {
            ": it is a webdataset .ten file, open it with `Ten` or `open_any`"
        }
        [0x89, b'H', b'D', b'F', ..] => ": it is an HDF5 file",
        [0x1f, 0x8b, ..] => ": it is compressed with gzip, decompress it first",
        _ => "",
    }
}

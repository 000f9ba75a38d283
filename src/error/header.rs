//! Headers that cannot be read, or cannot be written as asked.

use super::ErrorKind;

#[derive(Debug, thiserror::Error)]
pub(crate) enum HeaderError {
    /// The first six bytes are not `\x93NUMPY`.
    #[error("starts with b\"{}\", expected b\"\\x93NUMPY\"{}", found.escape_ascii(), hint_at(found))]
    Magic {
        /// The first bytes of the file, at most six.
        found: Vec<u8>,
    },

    /// The format version is none that NumPy defined.
    #[error("format version {major}.{minor}, expected 1.0, 2.0 or 3.0")]
    Version {
        /// The seventh byte of the file.
        major: u8,
        /// The eighth byte of the file.
        minor: u8,
    },

    /// The file ends too early to hold a header.
    #[error("ends inside the {what}: found {found} of {needed} bytes")]
    Eof {
        /// What ought to have been there.
        what: &'static str,
        /// How many bytes it takes.
        needed: usize,
        /// How many there are.
        found: usize,
    },

    /// The header is longer than allowed.
    #[error(
        "the header has {found} characters, but the limit is {limit}: raise it with `max_header_len` if you trust the file"
    )]
    Limit {
        /// Its length in characters (bytes, when that alone is too much).
        found: usize,
        /// The limit in force, in characters.
        limit: usize,
    },

    /// A version 3.0 header is not UTF-8.
    #[error("the header is not valid UTF-8 at byte {at}, as version 3.0 requires")]
    Utf8 {
        /// How many bytes of the header are good.
        at: usize,
    },

    /// The header (or a dtype's text) is no Python literal.
    #[error("at character {at}: found {found}, expected {expected}")]
    Syntax {
        /// How many characters stand before the place.
        at: usize,
        /// What stands there.
        found: String,
        /// What would be accepted there.
        expected: &'static str,
    },

    /// The header's dictionary lacks a key, or has one too many.
    #[error("the header's keys are {found}, expected exactly 'descr', 'fortran_order' and 'shape'")]
    Keys {
        /// The keys that were found.
        found: String,
    },

    /// A value in the header is of the wrong kind.
    #[error("`{key}` is `{found}`, expected {expected}")]
    Value {
        /// The key the value belongs to.
        key: &'static str,
        /// The value as it is written, shortened.
        found: String,
        /// What would be accepted.
        expected: &'static str,
    },

    /// The asked format version cannot hold this header.
    #[error(
        "version {asked} cannot hold this header: {reason}; use {works}, or leave the version unset"
    )]
    Encode {
        /// The version that was asked for.
        asked: String,
        /// What doesn't fit.
        reason: &'static str,
        /// The version that holds it.
        works: String,
    },
}

impl HeaderError {
    pub(super) fn kind(&self) -> ErrorKind {
        match self {
            HeaderError::Magic { found } if found.is_empty() => ErrorKind::Truncated,
            HeaderError::Magic { .. }
            | HeaderError::Utf8 { .. }
            | HeaderError::Keys { .. }
            | HeaderError::Value { .. } => ErrorKind::Damaged,
            HeaderError::Eof { .. } => ErrorKind::Truncated,
            HeaderError::Version { .. } => ErrorKind::Unsupported,
            HeaderError::Limit { .. } => ErrorKind::LimitExceeded,
            HeaderError::Syntax { .. } | HeaderError::Encode { .. } => ErrorKind::InvalidInput,
        }
    }
}

/// What a file that is no `.npy` seems to be, by its first bytes.
fn hint_at(found: &[u8]) -> &'static str {
    match found {
        [] => ": it is empty",
        [b'P', b'K', 3 | 5, ..] => ": it is a zip archive, like an .npz file",
        [0x80, 2..=5, ..] => ": it is a Python pickle",
        [b'~', b'T', b'e', b'n', b'B', b'i', ..] => ": it is a webdataset .ten file",
        [0x89, b'H', b'D', b'F', ..] => ": it is an HDF5 file",
        [0x1f, 0x8b, ..] => ": it is compressed with gzip, decompress it first",
        _ => "",
    }
}
